//! What a capture holds besides files: the kernel's tables, and other programs' answers, cut down to what may be
//! posted in public.

mod environment;
mod fabric;
mod gpu;
mod kernel_log;
mod links;

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError, mpsc},
    time::Instant,
};

use crosstie_facts::{Entry, Gap, Source, collect};
use serde_json::Value;

use crate::{
    Local,
    command::{Bounds, run},
    netlink,
};

pub use fabric::fabric_interfaces;

/// Most of the work is waiting for others.
const THREADS: usize = 8;

/// Whole answers, by the names that they have in a capture.
type Answers = Vec<(String, Result<Vec<u8>, Gap>)>;
type Task<'a> = Box<dyn FnOnce() -> Answers + Send + 'a>;

/// Reads everything at once; `fabric` names the interfaces whose links are looked at closely (see
/// [`fabric_interfaces`]). Answers come sorted by name, with a [`Gap`] for what is there and could not be read.
pub fn gather(fabric: &[String]) -> Vec<(String, Entry)> {
    let machine = Local::machine();
    // Interface names go into file names and on command lines.
    let fabric: Vec<&str> = fabric
        .iter()
        .map(String::as_str)
        .filter(|name| links::is_safe(name))
        .collect();
    let machine = &machine;
    // The slowest first.
    let mut tasks: VecDeque<Task<'_>> = VecDeque::new();
    tasks.push_back(Box::new(move || one("nvidia-smi.xml", gpu::read(machine))));
    tasks.push_back(Box::new(move || one("timedatectl.txt", clock(machine))));
    tasks.push_back(Box::new(move || one("nft.json", firewall(machine))));
    tasks.push_back(Box::new(|| one("dmesg.txt", kernel_log::read())));
    for interface in fabric.clone() {
        tasks.push_back(Box::new(move || links::driver_counters(interface)));
    }
    tasks.push_back(Box::new(move || links::settings(&fabric)));
    tasks.push_back(Box::new(tables));
    tasks.push_back(Box::new(move || {
        one("rdma-resource.json", queue_pairs(machine))
    }));
    tasks.push_back(Box::new(move || {
        let text = environment::read(machine);
        one("environment.txt", Ok(text.into_bytes()))
    }));
    let mut entries: Vec<(String, Entry)> = all(tasks).into_iter().filter_map(reduced).collect();
    entries.sort_by(|left, right| left.0.cmp(&right.0));
    entries
}

/// What a capture keeps of an answer. That a thing is not there needs no entry.
fn reduced((name, answer): (String, Result<Vec<u8>, Gap>)) -> Option<(String, Entry)> {
    let entry = match answer {
        Ok(output) => collect::command(&name, &output)?,
        Err(Gap::Absent) => return None,
        Err(gap) => Entry::Gap(gap),
    };
    Some((name, entry))
}

/// Runs the tasks on a few threads.
fn all(tasks: VecDeque<Task<'_>>) -> Answers {
    let threads = tasks.len().min(THREADS);
    let tasks = Mutex::new(tasks);
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let (tasks, sender) = (&tasks, sender.clone());
            scope.spawn(move || {
                loop {
                    let task = tasks
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .pop_front();
                    let Some(task) = task else { return };
                    let started = Instant::now();
                    let entries = task();
                    let name = entries.first().map_or("nothing", |(name, _)| name);
                    tracing::debug!(name, elapsed = ?started.elapsed(), "gathered");
                    let _ = sender.send(entries);
                }
            });
        }
    });
    drop(sender);
    receiver.into_iter().flatten().collect()
}

fn one(name: &str, read: Result<Vec<u8>, Gap>) -> Answers {
    vec![(name.to_owned(), read)]
}

fn json(value: Result<Value, Gap>) -> Result<Vec<u8>, Gap> {
    serde_json::to_vec(&value?).map_err(|error| Gap::Failed(error.to_string()))
}

fn tables() -> Answers {
    let tables = netlink::tables();
    [
        ("ip-addr.json", tables.addresses),
        ("ip-route.json", tables.routes),
        ("ip-rule.json", tables.rules),
        ("ip-neigh.json", tables.neighbours),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), json(value)))
    .collect()
}

/// Opening the socket would load the RDMA modules where they are not wanted.
fn queue_pairs(machine: &Local) -> Result<Vec<u8>, Gap> {
    machine.list("sys/class/infiniband")?;
    json(netlink::queue_pairs())
}

fn clock(machine: &Local) -> Result<Vec<u8>, Gap> {
    // There only where systemd is what booted the machine.
    machine.list("run/systemd/system")?;
    run("timedatectl", &["show"], Bounds::default())
}

fn firewall(machine: &Local) -> Result<Vec<u8>, Gap> {
    if !rustix::process::geteuid().is_root() {
        return Err(Gap::Denied);
    }
    if !is_there(machine, "nf_tables") {
        return Err(Gap::Absent);
    }
    // Most nodes of a fabric have no rules: the program need not be started to say so.
    if netlink::has_packet_filter() == Ok(false) {
        return Ok(br#"{"nftables":[]}"#.to_vec());
    }
    let output = run("nft", &["-j", "list", "ruleset"], Bounds::default())?;
    Ok(output)
}

/// Whether a kernel module is loaded or built in. Asking what is not there would make the kernel load it, and a scan
/// changes nothing.
fn is_there(machine: &Local, module: &str) -> bool {
    if machine.list(&format!("sys/module/{module}")).is_ok() {
        return true;
    }
    let release = machine
        .read("proc/sys/kernel/osrelease")
        .unwrap_or_default();
    let release = String::from_utf8_lossy(&release);
    let modules = format!("lib/modules/{}", release.trim());
    match machine.read(&format!("{modules}/modules.builtin")) {
        Ok(built_in) => {
            let file = format!("/{module}.ko");
            String::from_utf8_lossy(&built_in)
                .lines()
                .any(|line| line.ends_with(&file))
        }
        // No modules to load: the kernel has it or has it not.
        Err(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_has_a_name_and_an_answer() {
        let interfaces = ["lo".to_owned(), "-S".to_owned(), "../x".to_owned()];
        let entries = gather(&interfaces);
        let get = |name: &str| {
            entries
                .iter()
                .find(|(found, _)| found == name)
                .map(|(_, entry)| entry)
        };
        let Some(Entry::File(addresses)) = get("ip-addr.json") else {
            panic!("{entries:?}")
        };
        let addresses: Vec<Value> = serde_json::from_slice(addresses).unwrap();
        assert!(addresses.iter().any(|link| link["ifname"] == "lo"));
        for name in [
            "dmesg.txt",
            "environment.txt",
            "ip-neigh.json",
            "ip-route.json",
            "ip-rule.json",
        ] {
            assert!(get(name).is_some(), "{name}");
        }
        // A loopback has no bridging: what is not there needs no entry, nor do names that are none.
        assert_eq!(get("dcb-lo.json"), None);
        assert!(
            !entries
                .iter()
                .any(|(name, _)| name.contains("..") || name.contains("--"))
        );
    }
}
