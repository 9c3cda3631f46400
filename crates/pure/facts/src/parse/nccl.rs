//! NCCL's settings, in NCCL's own order: environment, the file that `NCCL_CONF_FILE` names instead of the one in the
//! home directory, `/etc/nccl.conf`; then what login shells would add.

use crosstie_model::{
    Reading,
    facts::nccl::{NcclSetting, NodeNcclSettings},
};

use crate::{
    RawCapture,
    collect::{HOME_NCCL_CONF, NAMED_NCCL_CONF, is_engine_variable},
};

pub(super) fn settings(raw: &RawCapture) -> NodeNcclSettings {
    let mut settings = Vec::new();
    let environment = raw.command("environment.txt").into_known().unwrap_or("");
    add(&mut settings, environment, "environment");
    let conf_file = raw.text(NAMED_NCCL_CONF);
    let home = match conf_file {
        Reading::Absent => ("~/.nccl.conf", raw.text(HOME_NCCL_CONF)),
        replaced => ("NCCL_CONF_FILE", replaced),
    };
    add(&mut settings, home.1.into_known().unwrap_or(""), home.0);
    for path in ["etc/nccl.conf", "etc/environment"] {
        add(
            &mut settings,
            raw.text(path).into_known().unwrap_or(""),
            &format!("/{path}"),
        );
    }
    for name in raw.names("etc/profile.d") {
        let path = format!("etc/profile.d/{name}");
        let text = raw.text(&path).into_known().unwrap_or("");
        add(&mut settings, text, &format!("/{path}"));
    }
    NodeNcclSettings { settings }
}

/// One variable of the collecting user's environment.
pub(super) fn environment(raw: &RawCapture, name: &str) -> Reading<String> {
    raw.command("environment.txt").and_then(|text| {
        let mut lines = text.lines().filter_map(|line| line.split_once('='));
        lines
            .find(|(found, _)| *found == name)
            .map(|(_, value)| value.to_owned())
            .into()
    })
}

fn add(settings: &mut Vec<NcclSetting>, text: &str, source: &str) {
    for line in text
        .lines()
        .map(str::trim)
        .filter(|line| !line.starts_with('#'))
    {
        let line = line.strip_prefix("export ").unwrap_or(line);
        let Some((name, value)) = line.split_once('=') else {
            continue;
        };
        if is_engine_variable(name.trim()) {
            settings.push(NcclSetting {
                name: name.trim().to_owned(),
                value: value.trim().trim_matches(['"', '\'']).to_owned(),
                source: source.to_owned(),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw::CaptureEntry;

    #[test]
    fn the_environment_wins_and_the_conf_file_replaces_home() {
        let mut raw = RawCapture::default();
        let file = |text: &str| CaptureEntry::File(text.as_bytes().to_vec());
        raw.insert_command("environment.txt", file("NCCL_DEBUG=INFO\nUID=0\n"));
        raw.insert("home/.nccl.conf", file("NCCL_IB_HCA=home\n"));
        raw.insert("home/nccl-conf-file", file("NCCL_IB_HCA==conf\n"));
        raw.insert("etc/nccl.conf", file("NCCL_DEBUG=WARN\nNCCL_IB_HCA=etc\n"));
        let settings = settings(&raw);
        assert_eq!(settings.effective("NCCL_DEBUG").unwrap().value, "INFO");
        assert_eq!(settings.effective("NCCL_IB_HCA").unwrap().value, "=conf");
        assert!(
            !settings
                .settings
                .iter()
                .any(|setting| setting.value == "home")
        );
    }
}
