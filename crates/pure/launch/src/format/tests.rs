use crosstie_model::plan::Engine;
use proptest::prelude::*;

use super::*;

fn node(values: &[(&str, &str)]) -> NodeEnvironment {
    let setting = |(name, value): &(&str, &str)| Setting {
        engine: Engine::Custom,
        name: (*name).to_owned(),
        value: (*value).to_owned(),
        why: "because\nof it".to_owned(),
    };
    NodeEnvironment {
        node: "spark-a".to_owned(),
        cluster: "sparks".to_owned(),
        settings: values.iter().map(setting).collect(),
        has_gpus: true,
    }
}

fn written(format: Format, value: &str) -> Result<String, FormatError> {
    write(format, &[node(&[("NCCL_X", value)])])
}

#[test]
fn what_a_format_cannot_hold_is_refused_and_not_changed() {
    for (format, value) in [
        (Format::Dotenv, "a${HOME}b"),
        (Format::Dotenv, "a\rb"),
        (Format::NcclConf, "a\nb"),
        (Format::Slurm, "a\nb"),
        (Format::SparkVllmDocker, "a b"),
        (Format::SparkVllmDocker, "a*"),
    ] {
        let error = written(format, value).unwrap_err().to_string();
        assert!(
            error.contains("NCCL_X") && error.contains(format.name()),
            "{error}"
        );
    }
    for format in Format::ALL {
        assert!(written(format, "a\0").is_err(), "{}", format.name());
        let odd = write(format, &[node(&[("A;reboot", "1")])]);
        assert_eq!(odd, Err(FormatError::Name("A;reboot".to_owned())));
    }
}

#[test]
fn reasons_stay_on_their_line() {
    for format in Format::ALL {
        let text = written(format, "1").unwrap();
        assert!(!text.contains("\nof it"), "{text}");
    }
}

#[test]
fn nccls_file_has_nccls_variables_alone() {
    let text = write(
        Format::NcclConf,
        &[node(&[("NCCL_X", "=a b"), ("HF_TOKEN", "x")])],
    )
    .unwrap();
    assert!(text.ends_with("NCCL_X==a b\n"), "{text}");
    assert!(!text.contains("HF_TOKEN"));
}

#[test]
fn podman_and_docker_name_gpus_in_their_own_way() {
    assert!(
        written(Format::Podman, "1")
            .unwrap()
            .contains("--device nvidia.com/gpu=all")
    );
    let docker = written(Format::Docker, "it's").unwrap();
    assert!(docker.contains("--gpus all"));
    assert!(docker.ends_with("--env 'NCCL_X=it'\\''s'\n"), "{docker}");
}

proptest! {
    /// The YAML's own reader; Kubernetes turns `$$` into `$`.
    #[test]
    fn yaml_says_what_was_meant(value in "[^\0]{0,40}") {
        let text = written(Format::Kubernetes, &value).unwrap();
        let pod: serde_json::Value = serde_saphyr::from_str(&text).unwrap();
        let read = pod["spec"]["containers"][0]["env"][0]["value"].as_str().unwrap();
        prop_assert_eq!(read.replace("$$", "$"), value.clone());
        let text = written(Format::Sparkrun, &value).unwrap();
        let recipe: serde_json::Value = serde_saphyr::from_str(&text).unwrap();
        prop_assert_eq!(recipe["env"]["NCCL_X"].as_str().unwrap(), value);
    }
}
