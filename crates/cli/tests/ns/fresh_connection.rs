//! A change is confirmed over a connection of its own, though the user's ssh shares one that is open.

use std::{fs, process::Command, time::Duration};

use crosstie_agent::open;
use crosstie_reach::{
    ConnectOptions, NodeRoute,
    binary::AgentBinaries,
    ssh::{SshLogin, SshOptions},
};

use crate::common::sshd::{NodeSetup, SshNodes};

#[test]
fn ns_a_new_connection_is_no_share_of_an_open_one() {
    let mut place = SshNodes::new();
    // The way there is what counts: whatever logs in is sent away at once.
    let furnish = NodeSetup {
        forced: Some("exit 7".to_owned()),
        ..NodeSetup::default()
    };
    let port = place.node("spark-a", &furnish).port;
    let socket = place.path("master");
    let shared = format!(
        "ControlMaster auto\nControlPath {}\nControlPersist 20\n",
        socket.display()
    );
    place.configure("shared", port, &shared);
    // Logins are counted in sshd's log.
    let logins = || {
        let log = fs::read_to_string(place.path("spark-a.log")).unwrap();
        log.matches("Accepted publickey").count()
    };
    assert_eq!(place.ssh("shared", "true").status.code(), Some(7));
    assert!(socket.exists());
    assert_eq!(logins(), 1);
    let route = NodeRoute::Ssh {
        destination: "shared".parse().unwrap(),
        options: SshOptions {
            config: Some(place.path("ssh_config")),
            prompts: false,
            connect: Duration::from_secs(10),
            alone: false,
            pin: None,
            login: SshLogin::Configured,
        },
    };
    let visit = |route: &NodeRoute| {
        let wanted = ConnectOptions {
            binaries: &AgentBinaries::default(),
            root: None,
            deadline: Duration::from_secs(60),
            progress: &|_| (),
        };
        assert!(open(route, &wanted).is_err());
    };
    visit(&route);
    assert_eq!(logins(), 1, "the user's ssh does not share here");
    visit(&route.alone());
    assert_eq!(logins(), 2);
    let ended = Command::new("ssh")
        .arg("-F")
        .arg(place.path("ssh_config"))
        .args(["-O", "exit", "shared"])
        .status();
    assert!(ended.unwrap().success());
}
