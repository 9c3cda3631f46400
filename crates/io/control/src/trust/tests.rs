//! Visits to nodes that are made up.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use crosstie_agent::CallError;
use crosstie_model::change::{ChangeError, ChangeReply, ChangeRequest};
use crosstie_node::trust::WantedTrust;
use crosstie_reach::{SessionError, secret::PasswordSource};
use crosstie_report::{suggested_command::CommandContext, trust::TrustOutcome};

use super::{
    TrustNode, TrustOptions,
    host_keys::ApprovedNode,
    install::{half_done, untouched},
    login::LoginOptions,
    visits::{TrustVisit, prepare_over},
};
use crate::{
    FleetOptions, FleetRound, NoObserver,
    fake_session::{FakeNode, FakeSession},
};

/// It tells its facts, and is lost as soon as it is to change something.
struct LostMeanwhile;

impl FakeNode for LostMeanwhile {
    fn change(&mut self, _: &ChangeRequest) -> Result<ChangeReply, CallError<ChangeError>> {
        Err(SessionError::Broken.into())
    }
}

fn options(nodes: &[&str]) -> TrustOptions {
    TrustOptions {
        nodes: nodes.iter().map(|&node| node.to_owned()).collect(),
        dry_run: false,
        forget: false,
        fingerprints: Vec::new(),
        password: PasswordSource::Nobody,
        fleet: FleetOptions {
            root: None,
            password_first: false,
            timeout: Duration::from_secs(60),
            overall_timeout: None,
            ssh_config: None,
            agent_dir: None,
            namespaces: false,
            terminal: false,
            labs: Vec::new(),
            offer: CommandContext::default(),
            observer: Arc::new(NoObserver),
        },
    }
}

fn open(index: usize, label: &str, options: &TrustOptions) -> TrustVisit {
    let node = TrustNode::new(label, &options.fleet, &"desk".parse().unwrap()).unwrap();
    let key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGxN8LDhNjGhbFOLZjVCCVVLlxr5eFpW9iVRCEdVNfoB";
    TrustVisit {
        index,
        approved: ApprovedNode {
            key: key.parse().unwrap(),
            route: None,
        },
        wanted: WantedTrust {
            own: node.name.clone(),
            authorize: Vec::new(),
            peers: Vec::new(),
            reached: Vec::new(),
            dry_run: false,
        },
        node,
    }
}

/// The key may be in its `authorized_keys` by then, and `--undo` visits what the journal has.
#[test]
fn a_node_that_is_lost_while_it_is_changed_is_not_forgotten() {
    let options = options(&["spark-a", "spark-b"]);
    let work = [open(0, "spark-a", &options), open(1, "spark-b", &options)];
    let round = FleetRound::begin(&options.fleet.observer, &options.nodes, false);
    let logins = LoginOptions::new(&options, "/nowhere".into(), false, "run", round).unwrap();
    let session = FakeSession {
        name: "spark-b".to_owned(),
        node: Mutex::new(LostMeanwhile),
    };
    let mut outcomes = [(); 2].map(|()| TrustOutcome::default());
    // The first could not be logged in to.
    outcomes[0].error = Some("it did not accept the password".to_owned());
    let lost = prepare_over(&session, &work[1], &logins).err().unwrap();
    outcomes[1].error = Some(lost.to_string());
    let forgotten = untouched(&[], &work, &logins);
    assert_eq!(forgotten, ["spark-a".parse().unwrap()]);
    let hint = half_done(&options, &work, &outcomes, &logins).unwrap();
    assert!(hint.starts_with("spark-b may have been changed"), "{hint}");
    assert!(
        hint.contains("crosstie trust --undo spark-b    # undoes it"),
        "{hint}"
    );
}
