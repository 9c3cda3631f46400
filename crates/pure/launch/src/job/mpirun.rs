//! Open MPI's mpirun on the head. What it starts on the other nodes goes through the job's own connection, not ssh, so that it
//! runs in the units that are stopped with the job.

use std::{collections::BTreeSet, net::SocketAddr};

use super::{
    JobEndRule, JobError, JobNode, JobPlan, LaunchEngine, MpirunWorkload, RankCommand, RankPlan,
    addresses::{JobAddresses, socket_settings},
    check_word, environment, meeting,
};

pub(super) fn plan(
    asked: &MpirunWorkload,
    nodes: &[JobNode],
    watch: SocketAddr,
) -> Result<JobPlan, JobError> {
    check_word(
        "the command",
        asked.command.first().map_or("", String::as_str),
    )?;
    let meeting = meeting(nodes).ok_or_else(|| JobError::NoMeeting {
        head: nodes[0].host.clone(),
    })?;
    let slots = asked.processes_per_node;
    let hosts = nodes.iter().map(|node| format!("{}:{slots}", node.host));
    let hosts: Vec<String> = hosts.collect();
    let mut arguments: Vec<String> = ["--host", &hosts.join(","), "-np"]
        .map(str::to_owned)
        .into();
    arguments.push((nodes.len() * slots as usize).to_string());
    // Every node has devices of its own names, so each takes its own environment, and `-x` is not used.
    arguments.extend(["--bind-to", "none"].map(str::to_owned));
    arguments.extend(asked.command.iter().cloned());
    let ranks = (0u32..).zip(nodes).map(|(rank, node)| {
        let mut of_job = socket_settings(&meeting, rank as usize);
        of_job.extend(transport(asked, &meeting, nodes, rank as usize));
        let command = (rank == 0).then(|| RankCommand {
            program: node.program("mpirun").to_owned(),
            arguments: arguments.clone(),
        });
        RankPlan {
            rank,
            host: node.host.clone(),
            command,
            environment: environment(node, of_job),
            listens: None,
            waits_for_peers: rank == 0,
            starts_on_peers: true,
            ports: node.ports.clone(),
        }
    });
    Ok(JobPlan {
        engine: LaunchEngine::Mpirun,
        ending: JobEndRule::WithHead,
        ranks: ranks.collect(),
        watch,
        serves: None,
        notes: meeting.notes(),
    })
}

fn transport(
    asked: &MpirunWorkload,
    meeting: &JobAddresses,
    nodes: &[JobNode],
    rank: usize,
) -> Vec<(String, String)> {
    let mut all = Vec::new();
    let mut set = |name: &str, value: &str| all.push((name.to_owned(), value.to_owned()));
    // Networks, not interfaces: names differ between nodes, and Open MPI passes the head's settings on.
    if let Some((address, interface)) = meeting.nodes.get(rank) {
        let nets = nodes[rank].ports.iter().filter_map(|port| port.address);
        let mut nets = nets.filter(|net| net.addr() == *address);
        let net = nets.next().map(|net| net.trunc().to_string());
        set(
            "OMPI_MCA_oob_tcp_if_include",
            net.as_ref().unwrap_or(interface),
        );
    }
    if asked.allow_tcp {
        let networks = nodes[rank].ports.iter().filter_map(|port| port.address);
        let networks: BTreeSet<String> = networks.map(|net| net.trunc().to_string()).collect();
        let networks: Vec<String> = networks.into_iter().collect();
        set("OMPI_MCA_pml", "ob1");
        set("OMPI_MCA_btl", "self,vader,tcp");
        if !networks.is_empty() {
            set("OMPI_MCA_btl_tcp_if_include", &networks.join(","));
            set("OMPI_MCA_oob_tcp_if_include", &networks.join(","));
        }
    }
    // Open MPI will not run as root unless it is told twice that this is meant.
    set("OMPI_ALLOW_RUN_AS_ROOT", "1");
    set("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    all
}
