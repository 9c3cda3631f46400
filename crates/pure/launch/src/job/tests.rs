use std::net::{IpAddr, SocketAddr};

use crosstie_model::plan::{EngineKind, EngineSetting};

use super::*;

fn setting(engine: EngineKind, name: &str, value: &str) -> EngineSetting {
    EngineSetting {
        engine,
        name: name.to_owned(),
        value: value.to_owned(),
        why: String::new(),
    }
}

fn node(host: &str, number: u8) -> JobNode {
    let port = |rail: u8| JobPort {
        device: format!("rocep{number}s{rail}"),
        number: 1,
        interface: Some(format!("enp{number}s{rail}")),
        address: Some(format!("192.168.{rail}.{number}/24").parse().unwrap()),
        cable: "spark-a:p0 ↔ spark-b:p0".to_owned(),
    };
    JobNode {
        host: host.to_owned(),
        ports: vec![port(100), port(101)],
        management: Some(("eth0".to_owned(), IpAddr::from([10, 0, 0, number]))),
        settings: vec![
            setting(EngineKind::Gloo, "GLOO_SOCKET_IFNAME", "eth0"),
            setting(EngineKind::Custom, "HF_TOKEN", "hf_secret"),
        ],
        memory: Some(u64::from(number) << 33),
        has_gpus: false,
        program: None,
        options: vec!["-fit".to_owned()],
    }
}

fn pair() -> Vec<JobNode> {
    vec![node("spark-a", 1), node("spark-b", 3)]
}

const PORTS: HeadPorts = HeadPorts {
    watch: 29_400,
    rendezvous: 29_500,
};

fn llama(prompt: Option<&str>) -> Workload {
    Workload::Llama(LlamaWorkload {
        model: "m.gguf".to_owned(),
        layers: Some(8),
        prompt: prompt.map(str::to_owned),
        tokens: 24,
        context: 256,
        rpc_port: 50_052,
        listen: "127.0.0.1:8080".parse().unwrap(),
        allow_tcp: false,
        arguments: vec!["-t".to_owned(), "1".to_owned()],
    })
}

fn words(rank: &RankPlan) -> String {
    let command = rank.command.as_ref().unwrap();
    format!("{} {}", command.program, command.arguments.join(" "))
}

#[test]
fn llamas_servers_are_on_the_fabric_and_layers_follow_memory() {
    let job = plan(&llama(Some("It's")), &pair(), PORTS).unwrap();
    assert_eq!(
        words(&job.ranks[1]),
        "stdbuf -oL ggml-rpc-server -H 192.168.100.3 -p 50052"
    );
    let listens: SocketAddr = "192.168.100.3:50052".parse().unwrap();
    assert_eq!(job.ranks[1].listens, Some(listens));
    // A quarter of the memory is the head's, which has no GPU: of 8 layers 6 go.
    assert_eq!(
        words(&job.ranks[0]),
        "llama-completion -m m.gguf --rpc 192.168.100.3:50052 -ngl 6 -c 256 -fit off -p It's -n 24 --temp 0 --top-k 1 \
         --seed 1 -no-cnv --no-warmup --no-display-prompt -t 1"
    );
    assert!(job.ranks[0].waits_for_peers && job.ranks[0].listens.is_none());
    assert_eq!(job.watch, "10.0.0.1:29400".parse().unwrap());
    let job = plan(&llama(None), &pair(), PORTS).unwrap();
    assert_eq!(job.serves, Some("127.0.0.1:8080".parse().unwrap()));
    assert!(words(&job.ranks[0]).contains("llama-server -m m.gguf"));
}

#[test]
fn with_gpus_the_head_is_the_last_of_the_split() {
    let mut nodes = vec![node("a", 1), node("b", 2), node("c", 4)];
    for node in &mut nodes {
        node.has_gpus = true;
        node.options.clear();
    }
    let job = plan(&llama(None), &nodes, PORTS).unwrap();
    let words = words(&job.ranks[0]);
    assert!(words.contains("-ngl 999 -ts 16,32,8 "), "{words}");
    assert!(!words.contains("-fit"), "{words}");
}

#[test]
fn llama_is_never_exposed_beyond_the_fabric() {
    let mut nodes = pair();
    nodes[1].ports.clear();
    let error = plan(&llama(None), &nodes, PORTS).unwrap_err();
    assert!(matches!(error, JobError::NoFabric { .. }), "{error}");
    let alone = plan(&llama(None), &nodes[..1], PORTS);
    assert_eq!(alone, Err(JobError::OneNode));
}

#[test]
fn torchrun_meets_on_the_fabric_where_all_share_a_subnet() {
    let workload = Workload::Torchrun(TorchrunWorkload {
        script: "train.py".to_owned(),
        arguments: vec!["--lr".to_owned(), "1 2".to_owned()],
        processes_per_node: 2,
    });
    let job = plan(&workload, &pair(), PORTS).unwrap();
    assert_eq!(
        words(&job.ranks[1]),
        "torchrun --nnodes=2 --node_rank=1 --nproc_per_node=2 --master_addr=192.168.100.1 --master_port=29500 --max_restarts=0 \
         train.py --lr 1 2"
    );
    let value = |rank: usize, name: &str| {
        let mut all = job.ranks[rank].environment.iter();
        all.find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    };
    assert_eq!(value(1, "GLOO_SOCKET_IFNAME"), Some("enp3s100"));
    assert_eq!(value(0, "NCCL_SOCKET_IFNAME"), Some("=enp1s100"));
    assert_eq!(value(0, "HF_TOKEN"), Some("hf_secret"));
    for name in [
        "HF_TOKEN",
        "PASSWD",
        "DB_PASS",
        "MYSQL_PWD",
        "GH_PAT",
        "AUTH",
        "SSH_PRIVATE",
        "cookie",
    ] {
        assert_eq!(shown_value(name, "hf_secret"), "(hidden)", "{name}");
    }
    assert_eq!(shown_value("PATH", "/bin"), "/bin");
    assert_eq!(shown_value("NCCL_IB_HCA", "=a"), "=a");

    let mut apart = pair();
    apart[1].ports.clear();
    let job = plan(&workload, &apart, PORTS).unwrap();
    assert!(words(&job.ranks[0]).contains("--master_addr=10.0.0.1 --master_port=29500"));
    assert_eq!(job.notes.len(), 1);
    apart[1].management = apart[0].management.clone();
    let error = plan(&workload, &apart, PORTS).unwrap_err();
    assert!(matches!(error, JobError::NoMeeting { .. }), "{error}");
}

#[test]
fn mpirun_runs_at_the_head_alone() {
    let workload = Workload::Mpirun(MpirunWorkload {
        command: vec!["./ring".to_owned(), "a b".to_owned()],
        processes_per_node: 1,
        allow_tcp: true,
    });
    let job = plan(&workload, &pair(), PORTS).unwrap();
    assert_eq!(
        words(&job.ranks[0]),
        "mpirun --host spark-a:1,spark-b:1 -np 2 --bind-to none ./ring a b"
    );
    assert!(job.ranks[1].command.is_none() && job.ranks[1].starts_on_peers);
    let include = (
        "OMPI_MCA_btl_tcp_if_include",
        "192.168.100.0/24,192.168.101.0/24",
    );
    let pairs = &job.ranks[0].environment;
    let has = |pair: &(&str, &str)| pairs.iter().any(|(a, b)| (a.as_str(), b.as_str()) == *pair);
    assert!(has(&include), "{pairs:?}");
    let odd = Workload::Mpirun(MpirunWorkload {
        command: vec!["--version".to_owned()],
        processes_per_node: 1,
        allow_tcp: false,
    });
    let error = plan(&odd, &pair(), PORTS).unwrap_err();
    assert_eq!(error, JobError::Argument("the command"));
}
