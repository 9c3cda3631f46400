//! llama.cpp: RPC servers on the fabric's addresses alone, the model at the head.

use std::net::{IpAddr, SocketAddr};

use super::{
    JobEndRule, JobError, JobNode, JobPlan, LaunchEngine, LlamaWorkload, RankCommand, RankPlan,
    addresses::rail_between, check_word, environment,
};

pub(super) fn plan(
    asked: &LlamaWorkload,
    nodes: &[JobNode],
    watch: SocketAddr,
) -> Result<JobPlan, JobError> {
    check_word("the model's path", &asked.model)?;
    let [head, others @ ..] = nodes else {
        return Err(JobError::NoNodes);
    };
    if others.is_empty() {
        return Err(JobError::OneNode);
    }
    let servers = others.iter().map(|node| {
        let rail = rail_between(head, node).map(|(_, theirs)| theirs);
        let address = rail.ok_or_else(|| JobError::NoFabric {
            head: head.host.clone(),
            node: node.host.clone(),
        })?;
        Ok(SocketAddr::new(address, asked.rpc_port))
    });
    let servers = servers.collect::<Result<Vec<SocketAddr>, JobError>>()?;
    let mut ranks = vec![RankPlan {
        rank: 0,
        host: head.host.clone(),
        command: Some(head_command(asked, head, others, &servers)),
        environment: environment(head, Vec::new()),
        listens: asked.prompt.is_none().then_some(asked.listen),
        waits_for_peers: true,
        starts_on_peers: false,
        ports: head.ports.clone(),
    }];
    for ((rank, node), server) in (1u32..).zip(others).zip(&servers) {
        // Into a pipe it says nothing until it has said 4 KiB.
        let mut arguments = vec!["-oL".to_owned(), node.program("ggml-rpc-server").to_owned()];
        arguments.extend(["-H".to_owned(), bare(server.ip())]);
        arguments.extend(["-p".to_owned(), server.port().to_string()]);
        ranks.push(RankPlan {
            rank,
            host: node.host.clone(),
            command: Some(RankCommand {
                program: "stdbuf".to_owned(),
                arguments,
            }),
            environment: environment(node, Vec::new()),
            listens: Some(*server),
            waits_for_peers: false,
            starts_on_peers: false,
            ports: node.ports.clone(),
        });
    }
    Ok(JobPlan {
        engine: LaunchEngine::Llama,
        ending: JobEndRule::WithHead,
        ranks,
        watch,
        serves: asked.prompt.is_none().then_some(asked.listen),
        notes: Vec::new(),
    })
}

fn bare(address: IpAddr) -> String {
    address.to_string()
}

fn head_command(
    asked: &LlamaWorkload,
    head: &JobNode,
    others: &[JobNode],
    servers: &[SocketAddr],
) -> RankCommand {
    let list: Vec<String> = servers.iter().map(ToString::to_string).collect();
    let mut arguments: Vec<String> = ["-m", &asked.model, "--rpc", &list.join(",")]
        .map(str::to_owned)
        .into();
    arguments.extend(split(asked, head, others));
    let mut add = |name: &str, value: String| arguments.extend([name.to_owned(), value]);
    add("-c", asked.context.to_string());
    if head.options.iter().any(|option| option == "-fit") {
        // The layers are split here, by memory that was measured on every node.
        add("-fit", "off".to_owned());
    }
    let called = if let Some(prompt) = &asked.prompt {
        add("-p", prompt.clone());
        add("-n", asked.tokens.to_string());
        add("--temp", "0".to_owned());
        add("--top-k", "1".to_owned());
        add("--seed", "1".to_owned());
        let flags = ["-no-cnv", "--no-warmup", "--no-display-prompt"];
        arguments.extend(flags.map(str::to_owned));
        "llama-completion"
    } else {
        add("--host", asked.listen.ip().to_string());
        add("--port", asked.listen.port().to_string());
        "llama-server"
    };
    arguments.extend(asked.arguments.iter().cloned());
    RankCommand {
        program: head.program(called).to_owned(),
        arguments,
    }
}

/// Layers by memory. RPC servers are devices before the head's own; without a GPU the head takes the layers that are not
/// offloaded.
fn split(asked: &LlamaWorkload, head: &JobNode, others: &[JobNode]) -> Vec<String> {
    const GIB: u64 = 1 << 30;
    let mut words = Vec::new();
    let far: Option<Vec<u64>> = others.iter().map(|node| node.memory).collect();
    let (Some(far), Some(near)) = (far, head.memory) else {
        // It then splits by what it finds itself.
        return vec!["-ngl".to_owned(), "999".to_owned()];
    };
    let total: u64 = far.iter().sum();
    let all = u128::from(total) + u128::from(near);
    let offloaded = match asked.layers {
        _ if head.has_gpus => 999,
        Some(layers) if all > 0 => {
            let share = u128::from(layers) * u128::from(total) / all;
            u32::try_from(share).unwrap_or(layers).clamp(1, layers)
        }
        _ => 999,
    };
    words.extend(["-ngl".to_owned(), offloaded.to_string()]);
    let mut parts: Vec<u64> = far;
    if head.has_gpus {
        parts.push(near);
    }
    if parts.len() > 1 {
        // Small machines have less than one.
        let unit = if parts.iter().any(|part| *part < GIB) {
            1 << 20
        } else {
            GIB
        };
        let parts: Vec<String> = parts
            .iter()
            .map(|part| (part / unit).max(1).to_string())
            .collect();
        words.extend(["-ts".to_owned(), parts.join(",")]);
    }
    words
}
