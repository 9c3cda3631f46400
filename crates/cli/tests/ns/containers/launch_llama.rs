//! `crosstie launch llama` with programs that stand in for llama.cpp's, on nodes without verbs: what counts as an answer, and
//! that TCP is never taken for RDMA. llama.cpp itself needs a machine's Soft-RoCE.

use crate::common::{
    changes::json,
    jobs::{JobLab, PROGRAMS},
};

/// Listens where it is told to: `-H ADDRESS -p PORT`.
const RPC_SERVER: &str = r#"#!/bin/sh
exec python3 -c '
import socket, sys, time
server = socket.socket()
server.bind((sys.argv[2], int(sys.argv[4])))
server.listen()
time.sleep(7777)' "$@""#;

const COMPLETION: &str = r"#!/bin/sh
case $1 in --version | --help) echo 'version: 1'; exit ;; esac
echo 'llama_model_loader: loaded' >&2
echo 'so it goes'";

/// Answers with its number, if `/tmp/changes` is there.
const SERVER: &str = r#"#!/bin/sh
case $1 in --version | --help) echo 'version: 1'; exit ;; esac
exec python3 -c '
import http.server, os
count = 0
class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        global count
        count += 1
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.end_headers()
        word = str(count) if os.path.exists("/tmp/changes") else "again"
        self.wfile.write(b"{\"content\": \"once %s\"}" % word.encode())
http.server.HTTPServer(("127.0.0.1", 8080), Handler).serve_forever()'"#;

const ENDS_BEFORE_ITS_STOP: &str = r#"
mv /usr/bin/systemctl /usr/bin/systemctl.real
cat > /usr/bin/systemctl <<'END'
#!/bin/sh
case "$*" in *stop*) /usr/bin/systemctl.real "$@" ;; esac
exec /usr/bin/systemctl.real "$@"
END
chmod 755 /usr/bin/systemctl"#;

fn prepared() -> JobLab {
    let jobs = JobLab::new();
    jobs.program("ggml-rpc-server", RPC_SERVER);
    jobs.program("llama-completion", COMPLETION);
    jobs.program("llama-server", SERVER);
    jobs.sh("spark-a", "echo model > /opt/model.gguf");
    jobs
}

const START: [&str; 5] = [
    "llama",
    "/opt/model.gguf",
    "--programs",
    PROGRAMS,
    "--force",
];

#[test]
fn what_is_not_seen_on_rdma_counters_is_stopped_unless_tcp_is_allowed() {
    let jobs = prepared();
    let prompt = [&START[..], &["--prompt", "Hello"]].concat();
    for arguments in [&prompt[..], &START[..]] {
        let (code, said) = jobs.run(true, arguments);
        assert_eq!(code, 2, "{said}");
        for wanted in [
            "it generated, but not over RDMA",
            "no packet on the RDMA counters of spark-a",
            "--allow-tcp",
        ] {
            assert!(said.contains(wanted), "'{wanted}' not in {said}");
        }
        jobs.has_nothing_left();
    }
    let launched = jobs.json(true, 0, &[&prompt[..], &["--allow-tcp"]].concat());
    assert_eq!(launched["outcome"], "ended", "{launched:#}");
    assert_eq!(launched["generated"], "so it goes", "{launched:#}");
    jobs.has_nothing_left();
}

#[test]
fn a_server_counts_as_started_once_it_has_answered_twice_the_same() {
    let jobs = prepared();
    let arguments = [&START[..], &["--allow-tcp"]].concat();
    let launched = jobs.json(true, 0, &arguments);
    assert_eq!(launched["outcome"], "running", "{launched:#}");
    assert_eq!(launched["generated"], "once again");
    assert_eq!(launched["serves"], "127.0.0.1:8080");
    // Nothing but the fabric's address is listened at, and a second job is told what is in its way.
    let listeners = jobs.sh("spark-b", "ss -Hltn 'sport = :50052' | awk '{print $4}'");
    assert!(
        !listeners.contains("0.0.0.0") && !listeners.contains("10.77.0."),
        "{listeners}"
    );
    let (code, said) = jobs.run(true, &arguments);
    assert_eq!(code, 2);
    assert!(
        said.contains("spark-b: ") && said.contains(":50052 is taken"),
        "{said}"
    );
    // Nothing else could end it once its folder is gone.
    let refused = json(&jobs.lab, &jobs.cluster, 1, &["uninstall", "--yes"]);
    for node in refused["nodes"].as_array().unwrap() {
        assert_eq!(node["outcome"], "refused", "{refused:#}");
        let why = node["why"].as_str().unwrap();
        assert!(why.contains("crosstie launch stop"), "{why}");
    }
    // Its unit is gone by the time that it is stopped, as when the other rank's end was quicker.
    jobs.sh("spark-a", ENDS_BEFORE_ITS_STOP);
    jobs.json(true, 0, &["stop"]);
    jobs.has_nothing_left();
    jobs.sh("spark-a", "touch /tmp/changes");
    let (code, said) = jobs.run(true, &arguments);
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("answered 'once 1', then 'once 2'"), "{said}");
    jobs.has_nothing_left();
}
