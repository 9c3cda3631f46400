//! What a capture holds besides files: the kernel's tables, and other programs' answers, cut down to what may be
//! posted in public.

mod environment;
mod fabric;
mod gpu;
mod kernel_log;
mod links;

use std::{
    sync::{Mutex, PoisonError, mpsc},
    time::Instant,
};

use crosstie_facts::{CaptureEntry, FileTree, ReadGap, collect};
use serde_json::Value;

use crate::{
    LocalFileTree,
    child_processes::inherited,
    command::{CommandLimits, run},
    netlink,
};

pub use fabric::fabric_interfaces;

/// At most this many other programs and drivers are waited for at once.
const THREADS: usize = 8;

/// Whole answers, by the names that they have in a capture.
type Answers = Vec<Answer>;
type Answer = (String, Result<Vec<u8>, ReadGap>);
type Task<'a> = Box<dyn FnOnce() -> Answer + Send + 'a>;

/// Whether somebody else has to be asked.
enum Ready {
    Ask,
    /// It is plain what they would say.
    Known(Result<Vec<u8>, ReadGap>),
}

/// Reads everything at once; `fabric` names the interfaces whose links are looked at closely (see
/// [`fabric_interfaces`]). Entries come sorted by name, with a [`ReadGap`] for what is there and could not be read.
pub fn gather(fabric: &[String]) -> Vec<(String, CaptureEntry)> {
    let machine = LocalFileTree::machine();
    // Interface names go into file names and on command lines.
    let fabric: Vec<&str> = fabric
        .iter()
        .map(String::as_str)
        .filter(|name| crate::names::is_interface(name))
        .collect();
    let (mut answers, waits) = read_by_programs(&machine, &fabric);
    answers.extend(run_beside(waits, || read_by_netlink(&machine, &fabric)));
    let mut entries: Vec<(String, CaptureEntry)> =
        answers.into_iter().filter_map(reduced).collect();
    entries.sort_by(|left, right| left.0.cmp(&right.0));
    entries
}

/// What the kernel tells us itself: done before a thread for it would have started.
fn read_by_netlink(machine: &LocalFileTree, fabric: &[&str]) -> Answers {
    let mut answers = tables();
    answers.push(("dmesg.txt".to_owned(), kernel_log::read()));
    answers.push(("rdma-resource.json".to_owned(), queue_pairs(machine)));
    let environment = environment::read(machine).into_bytes();
    answers.push(("environment.txt".to_owned(), Ok(environment)));
    answers.extend(links::settings(fabric));
    answers
}

/// What others have to be asked for, and what need not be asked since it is plain that they have no answer.
fn read_by_programs<'a>(machine: &LocalFileTree, fabric: &[&'a str]) -> (Answers, Vec<Task<'a>>) {
    let mut answers = Answers::new();
    let mut waits: Vec<Task<'a>> = Vec::new();
    let mut ask = |name: &str, ready: Ready, question: fn() -> Result<Vec<u8>, ReadGap>| {
        let name = name.to_owned();
        match ready {
            Ready::Ask => waits.push(Box::new(move || (name, question()))),
            Ready::Known(answer) => answers.push((name, answer)),
        }
    };
    ask("nvidia-smi.xml", gpu::ready(machine), gpu::read);
    ask("timedatectl.txt", clock_ready(machine), clock);
    ask("nft.json", firewall_ready(machine), firewall);
    for interface in fabric.iter().copied() {
        waits.push(Box::new(move || links::driver_counters(interface)));
    }
    (answers, waits)
}

/// What a capture keeps of an answer. That a thing is not there needs no entry.
fn reduced((name, answer): (String, Result<Vec<u8>, ReadGap>)) -> Option<(String, CaptureEntry)> {
    let output = match answer {
        Ok(output) => CaptureEntry::File(output),
        Err(ReadGap::Absent) => return None,
        Err(gap) => CaptureEntry::Gap(gap),
    };
    let entry = collect::command(&name, &output)?;
    Some((name, entry))
}

/// Runs the tasks on a few threads, and `work` on this one.
fn run_beside(tasks: Vec<Task<'_>>, work: impl FnOnce() -> Answers) -> Answers {
    let threads = tasks.len().min(THREADS);
    let tasks = Mutex::new(tasks.into_iter());
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let (tasks, sender) = (&tasks, sender.clone());
            scope.spawn(inherited(move || {
                loop {
                    let next = tasks.lock().unwrap_or_else(PoisonError::into_inner).next();
                    let Some(task) = next else { return };
                    let started = Instant::now();
                    let answer = task();
                    tracing::debug!(name = answer.0, elapsed = ?started.elapsed(), "gathered");
                    let _ = sender.send(answer);
                }
            }));
        }
        drop(sender);
        let started = Instant::now();
        let mut answers = work();
        tracing::debug!(elapsed = ?started.elapsed(), "asked the kernel");
        answers.extend(receiver);
        answers
    })
}

fn json(value: Result<Value, ReadGap>) -> Result<Vec<u8>, ReadGap> {
    serde_json::to_vec(&value?).map_err(|error| ReadGap::Failed(error.to_string()))
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
fn queue_pairs(machine: &LocalFileTree) -> Result<Vec<u8>, ReadGap> {
    machine.list("sys/class/infiniband")?;
    json(netlink::queue_pairs())
}

/// There only where systemd is what booted the machine.
fn clock_ready(machine: &LocalFileTree) -> Ready {
    match machine.list("run/systemd/system") {
        Ok(_) => Ready::Ask,
        Err(gap) => Ready::Known(Err(gap)),
    }
}

fn clock() -> Result<Vec<u8>, ReadGap> {
    run("timedatectl", &["show"], CommandLimits::default())
}

fn firewall_ready(machine: &LocalFileTree) -> Ready {
    if !rustix::process::geteuid().is_root() {
        return Ready::Known(Err(ReadGap::Denied));
    }
    if !is_there(machine, "nf_tables") {
        return Ready::Known(Err(ReadGap::Absent));
    }
    // Most nodes of a fabric have no rules: the program need not be started to say so.
    if netlink::has_packet_filter() == Ok(false) {
        return Ready::Known(Ok(br#"{"nftables":[]}"#.to_vec()));
    }
    Ready::Ask
}

fn firewall() -> Result<Vec<u8>, ReadGap> {
    run("nft", &["-j", "list", "ruleset"], CommandLimits::default())
}

/// Whether a kernel module is loaded or built in. Asking what is not there would make the kernel load it, and a scan
/// changes nothing.
fn is_there(machine: &LocalFileTree, module: &str) -> bool {
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
        let Some(CaptureEntry::File(addresses)) = get("ip-addr.json") else {
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
