//! torchrun on every node, which meet at the head.

use std::net::SocketAddr;

use super::{
    HeadPorts, JobEndRule, JobError, JobNode, JobPlan, LaunchEngine, RankCommand, RankPlan,
    TorchrunWorkload, addresses::socket_settings, check_word, environment, meeting,
};

pub(super) fn plan(
    asked: &TorchrunWorkload,
    nodes: &[JobNode],
    watch: SocketAddr,
    ports: HeadPorts,
) -> Result<JobPlan, JobError> {
    check_word("the script", &asked.script)?;
    let meeting = meeting(nodes).ok_or_else(|| JobError::NoMeeting {
        head: nodes[0].host.clone(),
    })?;
    let endpoint = SocketAddr::new(meeting.nodes[0].0, ports.rendezvous);
    let ranks = (0u32..).zip(nodes).map(|(rank, node)| {
        let option = |name: &str, value: String| format!("--{name}={value}");
        // Addresses alone: other ways to meet have it resolve its host name, often to 127.0.1.1. Names with underscores are
        // those that every release takes.
        let mut arguments = vec![
            option("nnodes", nodes.len().to_string()),
            option("node_rank", rank.to_string()),
            option("nproc_per_node", asked.processes_per_node.to_string()),
            option("master_addr", endpoint.ip().to_string()),
            option("master_port", endpoint.port().to_string()),
            // A rank that failed is not started again: the job ends on all nodes.
            option("max_restarts", "0".to_owned()),
            asked.script.clone(),
        ];
        arguments.extend(asked.arguments.iter().cloned());
        RankPlan {
            rank,
            host: node.host.clone(),
            command: Some(RankCommand {
                program: node.program("torchrun").to_owned(),
                arguments,
            }),
            environment: environment(node, socket_settings(&meeting, rank as usize)),
            listens: None,
            waits_for_peers: false,
            starts_on_peers: false,
            ports: node.ports.clone(),
        }
    });
    Ok(JobPlan {
        engine: LaunchEngine::Torchrun,
        ending: JobEndRule::WithAll,
        ranks: ranks.collect(),
        watch,
        serves: None,
        notes: meeting.notes(),
    })
}
