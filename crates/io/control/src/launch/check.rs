//! Before anything is started: every node is asked what a job would meet there.

use std::net::SocketAddr;

use crosstie_agent::{JobCall, call};
use crosstie_launch::{
    job::{self, HeadPorts, JobPlan, Workload},
    job_protocol::{FileCheckRequest, JobCheckReply, JobCheckRequest, JobReply, JobRequest},
    preflight::{LaunchObstacle, obstacles},
};
use crosstie_reach::SessionError;

use super::{CHECK_TIMEOUT, LaunchError, LaunchOptions, VERIFY_TIMEOUT, nodes::JobNodes};
use crate::{Fleet, NodeError, NodesFailed};

/// Of the head: for its watcher, and for engines to meet at.
const FREE_PORTS: u32 = 2;

pub(super) struct CheckedJob {
    pub(super) plan: JobPlan,
    pub(super) obstacles: Vec<LaunchObstacle>,
}

/// What would run, with what the nodes said of it.
pub(super) fn check(
    job: &mut JobNodes,
    options: &LaunchOptions,
) -> Result<CheckedJob, LaunchError> {
    let unknown = HeadPorts {
        watch: 0,
        rendezvous: 0,
    };
    let draft = job::plan(&options.workload, &job.nodes, unknown)?;
    let Some(fleet) = &job.fleet else {
        return Ok(CheckedJob {
            plan: draft,
            obstacles: Vec::new(),
        });
    };
    let asks = check_requests(&draft, options);
    let found = check_request(fleet, &job.places, asks, options)?;
    let hosts = job.nodes.iter().map(|node| node.host.clone());
    let found: Vec<(String, JobCheckReply)> = hosts.zip(found).collect();
    let mut obstacles = obstacles(&options.workload, &found);
    let mut workload = options.workload.clone();
    if let (Workload::Llama(llama), Some((_, head))) = (&mut workload, found.first()) {
        let mut files = head.files.iter();
        let model = files.find(|file| file.path == llama.model);
        llama.layers = model.and_then(|file| file.layers);
    }
    for (node, (_, found)) in job.nodes.iter_mut().zip(&found) {
        node.program.clone_from(&found.program);
        node.options.clone_from(&found.options);
        node.memory = node.memory.or(found.memory);
        let wanted = options.directory.is_some() && found.directory.is_none();
        if wanted {
            obstacles.push(LaunchObstacle {
                host: node.host.clone(),
                what: "there is no such directory".to_owned(),
                evidence: options.directory.clone().unwrap_or_default(),
                fix: "make it, or name another with --directory".to_owned(),
            });
        }
    }
    let ports = found.first().map_or(&[][..], |(_, head)| &head.free_ports);
    let [watch, rendezvous] = ports else {
        return Err(LaunchError::NoPorts {
            node: job.nodes[0].host.clone(),
            address: draft.watch.ip(),
            count: FREE_PORTS,
        });
    };
    let ports = HeadPorts {
        watch: *watch,
        rendezvous: *rendezvous,
    };
    Ok(CheckedJob {
        plan: job::plan(&workload, &job.nodes, ports)?,
        obstacles,
    })
}

fn check_requests(draft: &JobPlan, options: &LaunchOptions) -> Vec<JobCheckRequest> {
    let ranks = draft.ranks.iter().enumerate();
    let asks = ranks.map(|(rank, planned)| {
        let name = options.workload.program(rank);
        let program = match &options.programs {
            Some(folder) => format!("{}/{name}", folder.trim_end_matches('/')),
            None => name.to_owned(),
        };
        let listens: Vec<SocketAddr> = planned.listens.into_iter().collect();
        let is_llama_head = rank == 0 && matches!(options.workload, Workload::Llama(_));
        JobCheckRequest {
            program,
            options: if is_llama_head {
                vec!["-fit".to_owned()]
            } else {
                Vec::new()
            },
            directory: options.directory.clone(),
            files: files(rank, options),
            listens,
            free_ports: (rank == 0).then_some((draft.watch.ip(), FREE_PORTS)),
        }
    });
    asks.collect()
}

/// A model is the head's: the others are sent their layers. A script has to be everywhere.
fn files(rank: usize, options: &LaunchOptions) -> Vec<FileCheckRequest> {
    let own = match &options.workload {
        Workload::Llama(llama) if rank == 0 => Some(llama.model.clone()),
        Workload::Torchrun(torchrun) => Some(torchrun.script.clone()),
        _ => None,
    };
    let paths = own.into_iter().chain(options.same.iter().cloned());
    let whole = options.verify_weights;
    paths.map(|path| FileCheckRequest { path, whole }).collect()
}

fn check_request(
    fleet: &Fleet,
    places: &[usize],
    asks: Vec<JobCheckRequest>,
    options: &LaunchOptions,
) -> Result<Vec<JobCheckReply>, LaunchError> {
    let limit = if options.verify_weights {
        VERIFY_TIMEOUT
    } else {
        CHECK_TIMEOUT
    };
    let of_place = by_fleet_index(fleet.names().len(), places, asks);
    let answers = fleet.call(limit, move |place, session, _| {
        let Some(ask) = of_place.get(place).cloned().flatten() else {
            return Ok(None);
        };
        match call::<JobCall>(session, &JobRequest::Check(ask), limit, &mut |()| ())? {
            JobReply::Checked(found) => Ok(Some(*found)),
            _ => Err(NodeError::Session(SessionError::WrongAnswer)),
        }
    });
    let mut failed = Vec::new();
    let mut found = Vec::new();
    for (name, answer) in answers {
        match answer {
            Ok(answer) => found.push(answer),
            Err(error) => {
                failed.push((name, error));
                found.push(None);
            }
        }
    }
    if !failed.is_empty() {
        return Err(LaunchError::Nodes(NodesFailed(failed)));
    }
    let ranked = places
        .iter()
        .filter_map(|place| found.get(*place).cloned().flatten());
    Ok(ranked.collect())
}

/// What is for ranks, in the fleet's order; nothing for nodes that take no part.
pub(super) fn by_fleet_index<T>(count: usize, places: &[usize], ranked: Vec<T>) -> Vec<Option<T>> {
    let mut all: Vec<Option<T>> = (0..count).map(|_| None).collect();
    for (place, item) in places.iter().zip(ranked) {
        if let Some(slot) = all.get_mut(*place) {
            *slot = Some(item);
        }
    }
    all
}
