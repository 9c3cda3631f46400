//! What stands between a job and its start, by node, with evidence and the fix.

use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    job::Workload,
    job_protocol::{FileCheckReply, JobCheckReply},
};

/// Why a job would not run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LaunchObstacle {
    pub host: String,
    pub what: String,
    pub evidence: String,
    pub fix: String,
}

/// Of the nodes by rank: host name and what was found there.
pub fn obstacles(workload: &Workload, nodes: &[(String, JobCheckReply)]) -> Vec<LaunchObstacle> {
    let mut all = Vec::new();
    for (rank, (host, found)) in nodes.iter().enumerate() {
        let mut add = |what: String, evidence: String, fix: String| {
            all.push(LaunchObstacle {
                host: host.clone(),
                what,
                evidence,
                fix,
            });
        };
        if let Some(why) = &found.no_units {
            let fix = "pass --sudo, or log in once so that systemd starts a manager for this user";
            let what = "no unit can be started".to_owned();
            add(what, why.clone(), fix.to_owned());
        }
        let program = workload.program(rank);
        if found.program.is_none() {
            let what = format!("{program} is not installed");
            let evidence = format!("it is in no folder of {}'s PATH", found.user);
            add(what, evidence, install(workload).to_owned());
        }
        if let Some(limit) = found.memlock {
            let what = "locked memory is limited: RDMA would fail, or fall to TCP in silence";
            let evidence = format!("a unit here may lock {} KiB", limit / 1024);
            let fix = "pass --sudo, or set LimitMEMLOCK=infinity for user@.service";
            add(what.to_owned(), evidence, fix.to_owned());
        }
        for (address, why) in &found.taken {
            let what = format!("{address} is taken");
            let fix = "end what listens there, or choose another port";
            add(what, why.clone(), fix.to_owned());
        }
        for file in &found.files {
            if let Some(problem) = &file.problem {
                let what = format!("{} cannot be read", file.path);
                let fix = format!("copy it there, or name the path that it has on {host}");
                add(what, problem.clone(), fix);
            }
        }
    }
    all.extend(different_files(nodes));
    all.extend(too_large(workload, nodes));
    all.extend(different_versions(nodes));
    all
}

fn install(workload: &Workload) -> &'static str {
    match workload {
        Workload::Llama(_) => {
            "build llama.cpp with GGML_RPC=ON and GGML_RPC_RDMA=ON, or name its folder with --programs DIR"
        }
        Workload::Torchrun(_) => {
            "install PyTorch, or name the folder of its virtual environment with --programs DIR/bin"
        }
        Workload::Mpirun(_) => {
            "install openmpi-bin, or name the folder of Open MPI with --programs DIR/bin"
        }
    }
}

/// Each file is the head's on every node that has it.
fn different_files(nodes: &[(String, JobCheckReply)]) -> Vec<LaunchObstacle> {
    let Some(((head, first), others)) = nodes.split_first() else {
        return Vec::new();
    };
    let mut all = Vec::new();
    for file in readable(&first.files) {
        for (host, found) in others {
            let mut theirs = readable(&found.files).filter(|other| other.path == file.path);
            if let Some(other) = theirs.find(|other| is_another(file, other)) {
                all.push(LaunchObstacle {
                    host: host.clone(),
                    what: format!("{} is another file than on {head}", file.path),
                    evidence: format!(
                        "{} bytes ({}) here, {} bytes ({}) there",
                        other.bytes, other.identity, file.bytes, file.identity
                    ),
                    fix: format!("copy it from {head}"),
                });
            }
        }
    }
    all
}

fn readable(files: &[FileCheckReply]) -> impl Iterator<Item = &FileCheckReply> {
    files.iter().filter(|file| file.problem.is_none())
}

fn is_another(one: &FileCheckReply, other: &FileCheckReply) -> bool {
    one.bytes != other.bytes || one.identity != other.identity
}

fn too_large(workload: &Workload, nodes: &[(String, JobCheckReply)]) -> Option<LaunchObstacle> {
    let Workload::Llama(llama) = workload else {
        return None;
    };
    let (head, first) = nodes.first()?;
    let file = readable(&first.files).find(|file| file.path == llama.model)?;
    let free: Option<Vec<u64>> = nodes.iter().map(|(_, found)| found.memory).collect();
    let free: u64 = free?.iter().sum();
    let gib = |bytes: u64| bytes.div_ceil(1 << 30);
    (file.bytes > free).then(|| LaunchObstacle {
        host: head.clone(),
        what: "the model is larger than the memory of all nodes together".to_owned(),
        evidence: format!("{} GiB of weights, {} GiB free", gib(file.bytes), gib(free)),
        fix: "end what uses memory, add a node, or take a smaller quantisation".to_owned(),
    })
}

/// Nodes that run the same program must run the same version of it; architectures may differ.
fn different_versions(nodes: &[(String, JobCheckReply)]) -> Vec<LaunchObstacle> {
    let name = |found: &JobCheckReply| {
        let path = found.program.as_deref()?;
        path.rsplit('/').next().map(str::to_owned)
    };
    let mut all = Vec::new();
    for (place, (host, found)) in nodes.iter().enumerate() {
        let same = |other: &&(String, JobCheckReply)| name(&other.1) == name(found);
        let Some((first, other)) = nodes[..place].iter().find(same) else {
            continue;
        };
        if let (Some(own), Some(theirs)) = (&found.version, &other.version)
            && own != theirs
        {
            all.push(LaunchObstacle {
                host: host.clone(),
                what: format!("another version than on {first}"),
                evidence: format!("'{own}' here, '{theirs}' there"),
                fix: "install the same version on all nodes".to_owned(),
            });
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::TorchrunWorkload;

    fn found(version: &str) -> JobCheckReply {
        JobCheckReply {
            user: "alice".to_owned(),
            program: Some("/usr/bin/torchrun".to_owned()),
            version: Some(version.to_owned()),
            files: vec![FileCheckReply {
                path: "train.py".to_owned(),
                problem: None,
                bytes: 10,
                identity: "sha256 aa".to_owned(),
                layers: None,
            }],
            ..JobCheckReply::default()
        }
    }

    fn torchrun() -> Workload {
        Workload::Torchrun(TorchrunWorkload {
            script: "train.py".to_owned(),
            arguments: Vec::new(),
            processes_per_node: 1,
        })
    }

    #[test]
    fn every_obstacle_has_its_node_evidence_and_fix() {
        let good = [
            ("spark-a".to_owned(), found("torch 2.9")),
            ("spark-b".to_owned(), found("torch 2.9")),
        ];
        assert_eq!(obstacles(&torchrun(), &good), []);
        let mut other = found("torch 2.8");
        other.files[0].identity = "sha256 bb".to_owned();
        other.memlock = Some(65_536);
        let address = "192.0.2.1:50052".parse();
        other
            .taken
            .extend(address.map(|address| (address, "Address already in use".to_owned())));
        let mut bad = good.to_vec();
        bad[1].1 = other;
        bad.push(("spark-c".to_owned(), JobCheckReply::default()));
        let all = obstacles(&torchrun(), &bad);
        let lines: Vec<String> = all
            .iter()
            .map(|one| format!("{}: {} ({})", one.host, one.what, one.evidence))
            .collect();
        for wanted in [
            "spark-b: locked memory is limited: RDMA would fail, or fall to TCP in silence (a unit here may lock 64 KiB)",
            "spark-b: 192.0.2.1:50052 is taken (Address already in use)",
            "spark-c: torchrun is not installed (it is in no folder of 's PATH)",
            "spark-b: train.py is another file than on spark-a (10 bytes (sha256 bb) here, 10 bytes (sha256 aa) there)",
            "spark-b: another version than on spark-a ('torch 2.8' here, 'torch 2.9' there)",
        ] {
            assert!(
                lines.iter().any(|line| line == wanted),
                "{wanted}: {lines:#?}"
            );
        }
        assert_eq!(all.len(), 5, "{lines:#?}");
        assert!(all.iter().all(|one| !one.fix.is_empty()));
    }
}
