//! Debian's Open MPI through `crosstie launch mpirun`, in containers: every rank runs, in the job's units and without ssh
//! between nodes, and the bytes go over the fabric. Its packages are fetched from Debian's archive.

use std::{fs, path::Path, process::Command};

use crate::common::jobs::{JobLab, NODES};

const PACKAGES: [&str; 22] = [
    "libatomic1",
    "libevent-2.1-7",
    "libevent-core-2.1-7",
    "libevent-pthreads-2.1-7",
    "libfabric1",
    "libhwloc15",
    "libltdl7",
    "libmunge2",
    "libnuma1",
    "libopenmpi3",
    "libpciaccess0",
    "libpmix2",
    "libpsm-infinipath1",
    "libpsm2-2",
    "libucx0",
    "libx11-6",
    "libxau6",
    "libxcb1",
    "libxdmcp6",
    "ocl-icd-libopencl1",
    "openmpi-bin",
    "openmpi-common",
];

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

fn run(folder: &Path, program: &str, arguments: &[&str]) {
    let done = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap_or_else(|error| panic!("{program}: {error}"));
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{program} {arguments:?}: {said}");
}

/// A tree of Open MPI with a program that uses it.
fn fetch(folder: &Path) {
    let arguments = [&["download"], &PACKAGES[..]].concat();
    run(folder, "apt-get", &arguments);
    fs::create_dir(folder.join("root")).unwrap();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        if Path::new(&name).extension().is_some_and(|end| end == "deb") {
            run(folder, "dpkg", &["-x", &name, "root"]);
        }
    }
    fs::write(folder.join("exchange.c"), EXCHANGE).unwrap();
    fs::create_dir_all(folder.join("root/opt")).unwrap();
    let library = format!(
        "root/usr/lib/{}-linux-gnu/libmpi.so.40",
        std::env::consts::ARCH
    );
    let arguments = [
        "-o",
        "root/opt/exchange",
        "exchange.c",
        &library,
        "-Wl,--unresolved-symbols=ignore-in-shared-libs",
    ];
    run(folder, "gcc", &arguments);
    run(
        folder,
        "tar",
        &["-czf", "tree.tar.gz", "-C", "root", "usr", "opt"],
    );
}

#[test]
fn open_mpi_runs_on_all_nodes_and_its_bytes_are_on_the_fabric() {
    let folder = tempfile::tempdir().unwrap();
    fetch(folder.path());
    let jobs = JobLab::new();
    let config = jobs.lab.ssh_config();
    for node in NODES {
        let target = format!("{node}:/tmp/tree.tar.gz");
        run(
            folder.path(),
            "scp",
            &["-q", "-F", config.to_str().unwrap(), "tree.tar.gz", &target],
        );
        // The package's script would have made the link.
        jobs.sh(
            node,
            "tar -xzf /tmp/tree.tar.gz -C / --no-same-owner --keep-directory-symlink && ldconfig && \
             ln -sf /usr/bin/mpirun.openmpi /usr/bin/mpirun",
        );
    }
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
