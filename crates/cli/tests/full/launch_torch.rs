//! Debian's `PyTorch` through `crosstie launch torchrun`, in containers, with gloo: sums are right and go over the fabric, and a
//! rank that is killed ends the job everywhere. Its packages are fetched from Debian's archive.

#![allow(clippy::print_stdout)] // what a person wants to see of it

use std::{
    thread,
    time::{Duration, Instant},
};

use crate::common::{
    debian::install,
    jobs::{JobLab, NODES, PROGRAMS},
};

/// All ranks add 8 MiB of numbers, so often.
const TRAIN: &str = r#"
import sys
import torch
import torch.distributed as distributed

distributed.init_process_group("gloo")
rank = distributed.get_rank()
for _ in range(int(sys.argv[1])):
    numbers = torch.full((2 << 20,), float(rank + 1))
    distributed.all_reduce(numbers)
    assert numbers.eq(3).all()
print("torch", torch.__version__, "rank", rank, "sum", numbers[0].item(), flush=True)
"#;

/// Debian 12's does not start with its Python unless output is redirected.
const TORCHRUN: &str = "#!/bin/sh\nexec /usr/bin/torchrun --redirects 1 --tee 1 \"$@\"";

/// A killed rank is told by then.
const END_TIMEOUT: Duration = Duration::from_secs(60);

fn sent(jobs: &JobLab, node: &str) -> u64 {
    let text = jobs.sh(node, "cat /sys/class/net/en*np0/statistics/tx_bytes");
    text.lines().map(|line| line.parse::<u64>().unwrap()).sum()
}

#[test]
fn full_torchrun_adds_over_the_fabric_and_a_killed_rank_ends_all() {
    let jobs = JobLab::new();
    install(&jobs, "python3-torch");
    jobs.program("torchrun", TORCHRUN);
    for node in NODES {
        jobs.sh(node, &format!("cat > /opt/train.py <<'END'\n{TRAIN}\nEND"));
    }
    let train = [
        "torchrun",
        "train.py",
        "--programs",
        PROGRAMS,
        "--directory",
        "/opt",
        "--force",
    ];

    let before = NODES.map(|node| sent(&jobs, node));
    let (code, said) = jobs.run(true, &[&train[..], &["--wait", "--", "4"]].concat());
    let (_, log) = jobs.run(true, &["logs"]);
    println!("{log}");
    assert_eq!(code, 0, "{said}\n{log}");
    for wanted in ["rank 0 sum 3.0", "rank 1 sum 3.0"] {
        assert!(log.contains(wanted), "'{wanted}' not in {log}");
    }
    for (node, before) in NODES.iter().zip(before) {
        let grown = sent(&jobs, node) - before;
        assert!(grown >= 4 * (8 << 20) / 2, "{node}: {grown} bytes: {log}");
    }
    jobs.json(true, 0, &["stop"]);
    jobs.has_nothing_left();

    let (code, said) = jobs.run(true, &[&train[..], &["--", "1000000"]].concat());
    assert_eq!(code, 0, "{said}");
    jobs.sh(
        "spark-b",
        "timeout 60 sh -c 'until pgrep -f \"[t]rain.py 1000000\"; do sleep 0.2; done' && sleep 5 && \
         pkill -KILL -n -f '[t]rain.py 1000000'",
    );
    let began = Instant::now();
    loop {
        let (code, said) = jobs.run(true, &["status"]);
        if code == 1 && said.contains("spark-b") && said.contains("ended") {
            println!("after {:.1} s: {said}", began.elapsed().as_secs_f64());
            break;
        }
        assert!(began.elapsed() < END_TIMEOUT, "{said}");
        thread::sleep(Duration::from_millis(500));
    }
    for node in NODES {
        let gone = "timeout 40 sh -c 'while pgrep -f \"[t]rain.py\"; do sleep 0.2; done'";
        jobs.sh(node, gone);
    }
    jobs.json(true, 0, &["stop"]);
    jobs.has_nothing_left();
}
