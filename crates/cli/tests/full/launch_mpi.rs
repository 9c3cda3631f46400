//! Debian's Open MPI through `crosstie launch mpirun`, in containers: every rank runs, in the job's units and without ssh
//! between nodes, and the bytes go over the fabric. Its packages are fetched from Debian's archive.

use std::fs;

use crate::common::{
    debian::{install, run},
    jobs::{JobLab, NODES},
};

/// Every rank sends the other 16 MiB and gets as much. Open MPI's header declares these names.
const EXCHANGE: &str = r#"
#include <stdio.h>
#include <unistd.h>
extern struct handle { int unused; } ompi_mpi_comm_world, ompi_mpi_byte;
int MPI_Init(int *, char ***);
int MPI_Comm_rank(void *, int *);
int MPI_Comm_size(void *, int *);
int MPI_Sendrecv(const void *, int, void *, int, int, void *, int, void *, int, int, void *, void *);
int MPI_Finalize(void);
static char out[1 << 24], in[1 << 24];
int main(int argc, char **argv) {
    int rank, size;
    char host[64];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(&ompi_mpi_comm_world, &rank);
    MPI_Comm_size(&ompi_mpi_comm_world, &size);
    out[5] = 40 + rank;
    MPI_Sendrecv(out, sizeof out, &ompi_mpi_byte, (rank + 1) % size, 0, in, sizeof in, &ompi_mpi_byte,
                 (rank + size - 1) % size, 0, &ompi_mpi_comm_world, 0);
    gethostname(host, sizeof host);
    printf("rank %d of %d on %s got %d\n", rank, size, host, in[5]);
    MPI_Finalize();
    return 0;
}
"#;

/// A program that uses it, on both nodes. It is linked there: this machine has no Open MPI.
fn built(jobs: &JobLab) {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("exchange.c"), EXCHANGE).unwrap();
    let unresolved = "-Wl,--unresolved-symbols=ignore-in-shared-libs";
    let library = "-l:libmpi.so.40";
    let config = jobs.lab.ssh_config();
    let config = config.to_str().unwrap();
    let path = format!("/usr/lib/{}-linux-gnu/libmpi.so.40", std::env::consts::ARCH);
    let from = format!("{}:{path}", NODES[0]);
    run(folder, "scp", &["-q", "-F", config, &from, "."]);
    let arguments = ["-o", "exchange", "exchange.c", "-L.", library, unresolved];
    run(folder, "gcc", &arguments);
    for node in NODES {
        let target = format!("{node}:/tmp/exchange");
        run(folder, "scp", &["-q", "-F", config, "exchange", &target]);
        jobs.sh(node, "install /tmp/exchange /opt/exchange");
    }
}

#[test]
fn full_open_mpi_runs_on_all_nodes_and_its_bytes_are_on_the_fabric() {
    let jobs = JobLab::new();
    install(&jobs, "openmpi-bin");
    built(&jobs);
    let sent = |node: &str| -> u64 {
        let text = jobs.sh(node, "cat /sys/class/net/en*np0/statistics/tx_bytes");
        text.lines().map(|line| line.parse::<u64>().unwrap()).sum()
    };
    let before = NODES.map(sent);
    let arguments = [
        "mpirun",
        "--force",
        "--allow-tcp",
        "--wait",
        "--",
        "/opt/exchange",
    ];
    let (code, said) = jobs.run(true, &arguments);
    let (_, log) = jobs.run(true, &["logs"]);
    assert_eq!(code, 0, "{said}\n{log}");
    for wanted in [
        "rank 0 of 2 on spark-a got 41",
        "rank 1 of 2 on spark-b got 40",
    ] {
        assert!(log.contains(wanted), "'{wanted}' not in {log}");
    }
    for (node, before) in NODES.iter().zip(before) {
        let grown = sent(node) - before;
        assert!(grown >= 16 << 20, "{node}: {grown} bytes: {log}");
    }
    jobs.json(true, 0, &["stop"]);
    jobs.has_nothing_left();
}
