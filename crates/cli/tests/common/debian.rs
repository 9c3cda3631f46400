//! Packages of Debian's on nodes that have no way out: fetched here, installed there.

use std::{fs, path::Path, process::Command, thread};

use super::jobs::{JobLab, NODES};

pub fn run(folder: &Path, program: &str, arguments: &[&str]) {
    let done = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap_or_else(|error| panic!("{program}: {error}"));
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{program} {arguments:?}: {said}");
}

/// On both nodes, with all that they lack for it: what that is, apt tells from the nodes' own list of packages. The nodes are
/// of this machine's release.
pub fn install(jobs: &JobLab, package: &str) {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let status = jobs.sh(NODES[0], "cat /var/lib/dpkg/status");
    fs::write(folder.join("status"), status).unwrap();
    fs::create_dir_all(folder.join("archives/partial")).unwrap();
    let path = |name: &str| folder.join(name).display().to_string();
    let options = [
        format!("Dir::State::status={}", path("status")),
        format!("Dir::Cache::archives={}", path("archives")),
        "APT::Sandbox::User=root".to_owned(),
        "Debug::NoLocking=1".to_owned(),
    ];
    let mut arguments = vec![
        "install",
        "--yes",
        "--no-install-recommends",
        "--download-only",
    ];
    arguments.extend(options.iter().flat_map(|option| ["-o", option]));
    arguments.push(package);
    run(folder, "apt-get", &arguments);
    let tar = ["-cf", "packages.tar", "-C", "archives", "."];
    run(folder, "tar", &tar);
    let config = jobs.lab.ssh_config();
    let config = config.to_str().unwrap();
    thread::scope(|scope| {
        for node in NODES {
            scope.spawn(move || {
                let target = format!("{node}:/tmp/packages.tar");
                run(folder, "scp", &["-q", "-F", config, "packages.tar", &target]);
                jobs.sh(
                    node,
                    "mkdir /tmp/packages && tar -xf /tmp/packages.tar -C /tmp/packages && \
                     DEBIAN_FRONTEND=noninteractive dpkg --install --recursive /tmp/packages >&2 && \
                     rm -r /tmp/packages /tmp/packages.tar",
                );
            });
        }
    });
}
