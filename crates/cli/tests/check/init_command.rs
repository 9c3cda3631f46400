//! `crosstie init` as far as it goes without nodes, and what it would write for the sample captures.

use std::{fs, path::Path};

use crosstie_fabric::{
    cabling::{
        CablingReply, FrameSender, FramesFrom, PortReception, detect_cabling, interfaces_to_probe,
        survey_node,
    },
    cages,
    init::{InitCandidate, free_pool, propose},
};
use crosstie_model::{Facts, spec::PortMatch};
use crosstie_report::cluster_file::merge;

use crate::common::{
    command::{Schema, crosstie},
    samples,
};

fn complaint(directory: &Path, arguments: &[&str]) -> String {
    let (code, stdout, stderr) = crosstie(directory, arguments);
    assert_eq!((code, stdout.as_str()), (2, ""));
    stderr
}

#[test]
fn nodes_are_asked_for_and_a_file_that_cannot_be_read_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let refused = complaint(directory.path(), &["init"]);
    assert!(refused.contains("name the nodes"), "{refused}");
    let file = directory.path().join("cluster.toml");
    for (text, why) in [
        (
            "format = 1\nname = 'x'\nfabrik = 1\n",
            "did you mean `fabric`?",
        ),
        ("not toml at all", "cannot use cluster.toml"),
        ("format = 9\nname = 'x'\n", "this build reads format 1"),
    ] {
        fs::write(&file, text).unwrap();
        let refused = complaint(directory.path(), &["init", "."]);
        assert!(refused.contains(why), "{refused}");
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
    }
}

#[test]
fn the_published_schemas_are_current() {
    for name in ["init", "cluster"] {
        Schema::published(name);
    }
}

fn sample(name: &str) -> Facts {
    crosstie_facts::facts(&samples::raw(name))
}

#[test]
fn the_samples_cages_are_found_again_in_the_file() {
    let nodes = [sample("spark-healthy"), sample("spark-b-healthy")];
    let mut heard_by = Vec::new();
    for (index, facts) in nodes.iter().enumerate() {
        let (survey, left_out) = interfaces_to_probe(facts, &cages(facts, None));
        assert_eq!(left_out, []);
        // Whatever is active hears the twins of the other's p1.
        let other = u16::try_from(1 - index).unwrap();
        let ports = survey.ports.iter().map(|port| {
            let is_cabled = port.cage.as_deref() == Some("p1");
            let senders = survey.ports.iter().enumerate();
            let senders = senders.filter(|(_, sender)| sender.cage.as_deref() == Some("p1"));
            let heard = senders.map(|(port, _)| FramesFrom {
                sender: FrameSender {
                    node: other,
                    port: port.try_into().unwrap(),
                },
                frames: 9,
            });
            PortReception {
                carrier: Some(is_cabled),
                heard: heard.filter(|_| is_cabled).collect(),
                ..PortReception::default()
            }
        });
        let listened = CablingReply {
            ports: ports.collect(),
            ..CablingReply::default()
        };
        heard_by.push(survey_node(survey, listened).0);
    }
    let wiring = detect_cabling(&heard_by, None);
    let members: Vec<InitCandidate> = nodes
        .iter()
        .zip(&heard_by)
        .map(|(facts, survey)| InitCandidate {
            facts,
            destination: ".",
            survey,
        })
        .collect();
    let merged = merge(None, "sparks", &propose(&members, &wiring), &wiring).unwrap();
    insta::assert_snapshot!(merged.text);
    for facts in &nodes {
        let members = |spec| -> Vec<_> {
            let cages = cages(facts, spec).into_iter();
            cages.map(|cage| (cage.id, cage.members)).collect()
        };
        assert_eq!(members(Some(&merged.spec)), members(None));
        for cage in &merged.spec.node(&facts.host.name).unwrap().cages {
            assert!(
                cage.ports
                    .iter()
                    .all(|port| matches!(port, PortMatch::Guid { .. }))
            );
        }
    }
}

#[test]
fn a_pool_overlaps_nothing() {
    let pool = |facts: &Facts| free_pool(std::iter::once(facts)).map(|pool| pool.to_string());
    let mut facts = sample("workstation-cx5-healthy");
    assert_eq!(pool(&facts).as_deref(), Some("10.77.0.0/16"));
    let address = facts
        .network
        .interfaces
        .iter_mut()
        .find_map(|interface| interface.addresses.first_mut())
        .unwrap();
    address.net = "10.77.4.1/30".parse().unwrap();
    assert_eq!(pool(&facts).as_deref(), Some("10.78.0.0/16"));
    let routes = &mut facts.network.routes;
    let mut all = routes.known().cloned().unwrap_or_default();
    let mut route = all[0].clone();
    route.destination = Some("10.0.0.0/8".parse().unwrap());
    all.push(route.clone());
    *routes = crosstie_model::Reading::Value(all.clone());
    assert_eq!(pool(&facts).as_deref(), Some("172.31.0.0/16"));
    for net in ["172.16.0.0/12", "192.168.7.0/24"] {
        route.destination = Some(net.parse().unwrap());
        all.push(route.clone());
    }
    facts.network.routes = crosstie_model::Reading::Value(all);
    assert_eq!(pool(&facts), None);
}
