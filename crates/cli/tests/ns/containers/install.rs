//! Packages that a change installs: whoever goes away meanwhile, dpkg is not cut off.

use std::{process::Child, thread, time::Duration};

use crosstie_lab::Lab;
use rustix::process::{Pid, Signal, kill_process};

use crate::common::{
    changes::{same, shape, start},
    inits,
    lab::{bare_containers, sh},
};

const NODE: &str = "spark-a";

/// Takes its time, and says something to whoever may be gone by then.
const APT_GET: &str =
    "#!/bin/sh\ntouch /var/tmp/begun\nsleep 4\necho Setting up rdma-core\ntouch /var/tmp/done\n";

fn wait_for(lab: &Lab, file: &str) {
    for _ in 0..100 {
        let found = sh(lab, NODE, &format!("ls {file} 2>/dev/null || true"));
        if !found.is_empty() {
            return;
        }
        thread::sleep(Duration::from_millis(200));
    }
    panic!("no {file}; {}", lab.hang_diagnosis(NODE));
}

#[test]
fn an_installation_ends_by_itself_when_nobody_waits_for_it() {
    let directory = tempfile::tempdir().unwrap();
    let cluster = directory.path().join("cluster.toml");
    let lab = bare_containers("two-sparks");
    inits::json(&lab, &["spark-a", "spark-b"], &cluster);
    // As if the package had never been there.
    let forget = "cd /var/lib/dpkg && awk -v RS= -v ORS='\\n\\n' '!/^Package: rdma-core\\n/' status > status-new && \
         mv status-new status";
    sh(&lab, NODE, forget);
    sh(
        &lab,
        NODE,
        &format!(
            "printf '{APT_GET}' > /usr/local/apt-get; chmod 755 /usr/local/apt-get; mount --bind /usr/local/apt-get /usr/bin/apt-get"
        ),
    );
    let before = shape(&lab, NODE);
    let ends: [fn(&mut Child); 2] = [
        |controller| kill_process(Pid::from_child(controller), Signal::INT).unwrap(),
        |controller| controller.kill().unwrap(),
    ];
    for end in ends {
        sh(&lab, NODE, "rm -f /var/tmp/begun /var/tmp/done");
        let mut controller = start(&lab, &cluster, &["apply", NODE, "--yes"]);
        wait_for(&lab, "/var/tmp/begun");
        end(&mut controller);
        let said = controller.wait_with_output().unwrap();
        assert!(!said.status.success(), "{said:?}");
        let ended = sh(&lab, NODE, "ls /var/tmp/done 2>/dev/null || true");
        assert_eq!(ended, "", "it was over before it was cut off");
        wait_for(&lab, "/var/tmp/done");
        same(NODE, &before, &shape(&lab, NODE));
    }
}
