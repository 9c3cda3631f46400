//! Real nodes brought up with `crosstie up`, and rolled back: netplan, `NetworkManager`, systemd, sshd, Soft-RoCE.

use crate::common::{
    changes::{json, outcomes, reboot, same, shape},
    ups::{all_answer, nodes, proven_two_sparks},
};

use super::two_sparks::write_bandwidth;

#[test]
fn lab_up_is_proven_survives_a_boot_and_is_rolled_back() {
    let proven = proven_two_sparks();
    let (lab, cluster) = (&proven.lab, &proven.cluster);
    let names = nodes(lab);
    let all = |outcome: &str| {
        let with_outcome = |node: &&str| ((*node).to_owned(), outcome.to_owned());
        names.iter().map(with_outcome).collect()
    };
    let changed = serde_json::json!({ "nodes": proven.told["changes"] });
    assert_eq!(outcomes(&changed), all("confirmed"), "{:#}", proven.told);
    all_answer(lab);
    reboot(lab, &names);
    all_answer(lab);
    write_bandwidth(lab, &["rocep1s0f0"]);

    let back = json(lab, cluster, 0, &["rollback", "--yes"]);
    assert_eq!(outcomes(&back), all("rolled-back"), "{back:#}");
    for (node, before) in names.iter().zip(&proven.before) {
        same(node, before, &shape(lab, node));
    }
}
