//! Where this tool keeps what it knows between runs, after the XDG base directory specification.

use std::path::PathBuf;

use crosstie_model::spec::is_cluster_name;

use crate::files::InvalidFolderName;

/// `$XDG_STATE_HOME/crosstie`.
pub fn state_folder() -> PathBuf {
    // The specification asks to ignore relative paths.
    let absolute = |variable| {
        let path = std::env::var_os(variable).map(PathBuf::from);
        path.filter(|path| path.is_absolute())
    };
    let state = absolute("XDG_STATE_HOME").unwrap_or_else(|| {
        let home = absolute("HOME").unwrap_or_else(|| "/var/tmp".into());
        home.join(".local/state")
    });
    state.join("crosstie")
}

const LABS: &str = "labs";

/// One folder a lab.
pub fn labs_folder() -> PathBuf {
    state_folder().join(LABS)
}

/// What is known of a cluster.
pub fn cluster_folder(cluster: &str) -> Result<PathBuf, InvalidFolderName> {
    if !is_cluster_name(cluster) {
        return Err(InvalidFolderName(cluster.to_owned()));
    }
    // That one is the labs'.
    let name = if cluster == LABS { "labs~" } else { cluster };
    Ok(state_folder().join(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clusters_folder_is_one_and_never_the_labs() {
        assert_eq!(
            cluster_folder("sparks").unwrap(),
            state_folder().join("sparks")
        );
        assert_ne!(cluster_folder(LABS).unwrap(), labs_folder());
        for name in ["", ".", "..", "a/b", "/etc"] {
            assert!(cluster_folder(name).is_err(), "{name}");
        }
    }
}
