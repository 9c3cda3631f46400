use crosstie_model::plan::EngineKind;
use proptest::prelude::*;

use super::*;

fn node(values: &[(&str, &str)]) -> NodeEnvironment {
    let setting = |(name, value): &(&str, &str)| EngineSetting {
        engine: EngineKind::Custom,
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

fn written(format: EnvFormat, value: &str) -> Result<String, EnvFormatError> {
    write(format, &[node(&[("NCCL_X", value)])])
}

#[test]
fn what_a_format_cannot_hold_is_refused_and_not_changed() {
    for (format, value) in [
        (EnvFormat::Dotenv, "a${HOME}b"),
        (EnvFormat::Dotenv, "a\rb"),
        (EnvFormat::NcclConf, "a\nb"),
        (EnvFormat::Slurm, "a\nb"),
        (EnvFormat::SparkVllmDocker, "a b"),
        (EnvFormat::SparkVllmDocker, "a*"),
    ] {
        let error = written(format, value).unwrap_err().to_string();
        assert!(
            error.contains("NCCL_X") && error.contains(format.name()),
            "{error}"
        );
    }
    for format in EnvFormat::ALL {
        assert!(written(format, "a\0").is_err(), "{}", format.name());
        let odd = write(format, &[node(&[("A;reboot", "1")])]);
        assert_eq!(odd, Err(EnvFormatError::Name("A;reboot".to_owned())));
    }
}

#[test]
fn reasons_stay_on_their_line() {
    for format in EnvFormat::ALL {
        let text = written(format, "1").unwrap();
        assert!(!text.contains("\nof it"), "{text}");
    }
}

#[test]
fn nccls_file_has_nccls_variables_alone() {
    let text = write(
        EnvFormat::NcclConf,
        &[node(&[("NCCL_X", "=a b"), ("HF_TOKEN", "x")])],
    )
    .unwrap();
    assert!(text.ends_with("NCCL_X==a b\n"), "{text}");
    assert!(!text.contains("HF_TOKEN"));
}

#[test]
fn podman_and_docker_name_gpus_in_their_own_way() {
    assert!(
        written(EnvFormat::Podman, "1")
            .unwrap()
            .contains("--device nvidia.com/gpu=all")
    );
    let docker = written(EnvFormat::Docker, "it's").unwrap();
    assert!(docker.contains("--gpus all"));
    assert!(docker.ends_with("--env 'NCCL_X=it'\\''s'\n"), "{docker}");
}

proptest! {
    /// The YAML's own reader; Kubernetes turns `$$` into `$`.
    #[test]
    fn yaml_says_what_was_meant(value in "[^\0]{0,40}") {
        let text = written(EnvFormat::Kubernetes, &value).unwrap();
        let pod: serde_json::Value = serde_saphyr::from_str(&text).unwrap();
        let read = pod["spec"]["containers"][0]["env"][0]["value"].as_str().unwrap();
        prop_assert_eq!(read.replace("$$", "$"), value.clone());
        let text = written(EnvFormat::Sparkrun, &value).unwrap();
        let recipe: serde_json::Value = serde_saphyr::from_str(&text).unwrap();
        prop_assert_eq!(recipe["env"]["NCCL_X"].as_str().unwrap(), value);
    }
}
