//! What this machine lets an engine have: processors and memory. Also pinning to what was chosen of it.

use crosstie_fabric::placement::{MemoryLimits, Processor, ThreadPlacement, place};
use crosstie_facts::FileTree;
use rustix::{
    process::{Resource, getrlimit},
    thread::{CpuSet, sched_getaffinity, sched_setaffinity},
};

use crate::LocalFileTree;

/// How much less often a thread runs that shares its processor.
const NICE_STEP: i32 = 5;
/// `CAP_IPC_LOCK`: whoever has it may lock any amount.
const IPC_LOCK: u64 = 1 << 14;

/// Processors that this thread may run on.
pub fn processors(machine: &LocalFileTree) -> Vec<Processor> {
    let Ok(allowed) = sched_getaffinity(None) else {
        return Vec::new();
    };
    let numbers = (0..CpuSet::MAX_CPU).filter(|number| allowed.is_set(*number));
    let numbers = numbers.filter_map(|number| u32::try_from(number).ok());
    numbers.map(|number| processor(machine, number)).collect()
}

fn processor(machine: &LocalFileTree, number: u32) -> Processor {
    let folder = format!("sys/devices/system/cpu/cpu{number}");
    let read = |name: &str| number_in(machine, &format!("{folder}/{name}"));
    let small = |name: &str| read(name).and_then(|value| u32::try_from(value).ok());
    let nodes = machine.list(&folder).unwrap_or_default();
    let numa_node = nodes
        .iter()
        .find_map(|name| name.strip_prefix("node")?.parse().ok());
    // arm64 tells how much work a core does at its best; elsewhere frequencies differ at most.
    let speed = read("cpu_capacity").or_else(|| read("cpufreq/cpuinfo_max_freq"));
    Processor {
        number,
        numa_node,
        core: (
            small("topology/physical_package_id").unwrap_or(0),
            small("topology/core_id").unwrap_or(number),
        ),
        speed: speed.unwrap_or(0),
    }
}

/// The NUMA node of an RDMA device; software has none, nor has a machine with a single one.
pub fn numa_node_of(machine: &LocalFileTree, device: &str) -> Option<u32> {
    let path = format!("sys/class/infiniband/{device}/device/numa_node");
    // -1 where there is none.
    text(machine, &path)?.parse().ok()
}

/// Where one of several threads that work with an RDMA device should run. With a device that is software, anywhere: the kernel
/// does the device's work on the processor that posted it, and a thread that is pinned there only competes with it.
pub fn placement_for(
    machine: &LocalFileTree,
    device: &str,
    index: usize,
    count: usize,
) -> ThreadPlacement {
    let card_node = numa_node_of(machine, device);
    let placement = place(&processors(machine), card_node, index, count);
    let is_hardware = machine
        .list(&format!("sys/class/infiniband/{device}/device"))
        .is_ok();
    ThreadPlacement {
        processor: placement.processor.filter(|_| is_hardware),
        ..placement
    }
}

pub fn memory_limits(machine: &LocalFileTree) -> MemoryLimits {
    MemoryLimits {
        free: free_memory(machine),
        locked: locked_memory(machine),
        control_group: group_memory(machine),
    }
}

fn free_memory(machine: &LocalFileTree) -> Option<u64> {
    let text = text(machine, "proc/meminfo")?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

fn locked_memory(machine: &LocalFileTree) -> Option<u64> {
    let status = text(machine, "proc/self/status")?;
    let held = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))?;
    let held = u64::from_str_radix(held.trim(), 16).ok()?;
    if held & IPC_LOCK != 0 {
        return None;
    }
    getrlimit(Resource::Memlock).current
}

/// The least that is left in this process's control group and those above it.
fn group_memory(machine: &LocalFileTree) -> Option<u64> {
    let groups = text(machine, "proc/self/cgroup")?;
    let own = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let mut folder = own.trim_matches('/').to_owned();
    let mut least: Option<u64> = None;
    while !folder.is_empty() {
        let read = |name: &str| number_in(machine, &format!("sys/fs/cgroup/{folder}/{name}"));
        // `max` is no number: no limit here.
        if let (Some(most), Some(used)) = (read("memory.max"), read("memory.current")) {
            let left = most.saturating_sub(used);
            least = Some(least.map_or(left, |least| least.min(left)));
        }
        folder.truncate(folder.rfind('/').unwrap_or(0));
    }
    least
}

fn text(machine: &LocalFileTree, path: &str) -> Option<String> {
    let bytes = machine.read(path).ok()?;
    Some(String::from_utf8_lossy(&bytes).trim().to_owned())
}

fn number_in(machine: &LocalFileTree, path: &str) -> Option<u64> {
    text(machine, path)?.parse().ok()
}

/// Pins this thread, and nobody else's. Memory that it touches first from now on is on its NUMA node. Where processors are
/// short, it also steps back behind whoever else wants one. Whether it could be pinned.
pub fn pin(placement: &ThreadPlacement) -> bool {
    if placement.is_short {
        // Without this right it stays as it was, which is no harm.
        let _ = rustix::process::nice(NICE_STEP);
    }
    let Some(number) = placement.processor else {
        return false;
    };
    let mut set = CpuSet::new();
    set.set(number as usize);
    sched_setaffinity(None, &set).is_ok()
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::*;

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn processors_are_read_as_sysfs_shows_them() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let cpu = "sys/devices/system/cpu/cpu3";
        write(root, &format!("{cpu}/topology/physical_package_id"), "1\n");
        write(root, &format!("{cpu}/topology/core_id"), "7\n");
        write(
            root,
            &format!("{cpu}/cpufreq/cpuinfo_max_freq"),
            "3900000\n",
        );
        write(root, &format!("{cpu}/node1/cpulist"), "3\n");
        let found = processor(&LocalFileTree::at(root), 3);
        assert_eq!(
            found,
            Processor {
                number: 3,
                numa_node: Some(1),
                core: (1, 7),
                speed: 3_900_000
            }
        );
        write(root, &format!("{cpu}/cpu_capacity"), "1024\n");
        assert_eq!(processor(&LocalFileTree::at(root), 3).speed, 1024);
        let bare = processor(&LocalFileTree::at(root), 4);
        assert_eq!((bare.core, bare.numa_node, bare.speed), ((0, 4), None, 0));
        assert!(!processors(&LocalFileTree::machine()).is_empty());
    }

    #[test]
    fn limits_are_read_and_the_tightest_group_counts() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        write(
            root,
            "proc/meminfo",
            "MemTotal: 9 kB\nMemAvailable:    2048 kB\n",
        );
        write(root, "proc/self/cgroup", "0::/user.slice/session-1.scope\n");
        write(root, "sys/fs/cgroup/user.slice/memory.max", "5000\n");
        write(root, "sys/fs/cgroup/user.slice/memory.current", "1000\n");
        let scope = "sys/fs/cgroup/user.slice/session-1.scope";
        write(root, &format!("{scope}/memory.max"), "max\n");
        write(root, &format!("{scope}/memory.current"), "500\n");
        write(root, "proc/self/status", "CapEff:\t0000000000004000\n");
        let machine = LocalFileTree::at(root);
        let expected = MemoryLimits {
            free: Some(2 << 20),
            locked: None,
            control_group: Some(4000),
        };
        assert_eq!(memory_limits(&machine), expected);
        write(root, "sys/class/infiniband/mlx5_0/device/numa_node", "1\n");
        write(root, "sys/class/infiniband/mlx5_1/device/numa_node", "-1\n");
        let nodes = ["mlx5_0", "mlx5_1", "rxe0"].map(|name| numa_node_of(&machine, name));
        assert_eq!(nodes, [Some(1), None, None]);
        // Soft-RoCE has no device behind it.
        let places = ["mlx5_0", "rxe0"].map(|name| placement_for(&machine, name, 0, 1).processor);
        assert!(places[0].is_some() && places[1].is_none(), "{places:?}");
    }

    #[test]
    fn only_this_thread_is_pinned() {
        let before = sched_getaffinity(None).unwrap();
        let placement =
            crosstie_fabric::placement::place(&processors(&LocalFileTree::machine()), None, 0, 1);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                assert!(pin(&placement));
                assert_eq!(sched_getaffinity(None).unwrap().count(), 1);
            });
        });
        assert_eq!(sched_getaffinity(None).unwrap(), before);
    }
}
