//! A copy of the stand-in for each test, with faults and queue pairs of its own; and two queue pairs that are connected.

use std::time::{Duration, Instant};

use crosstie_model::Mtu;
use crosstie_verbs::{
    CompletionBatch, CompletionQueue, DeviceContext, Initialised, MemoryRegion, PathMtu,
    PathOptions, PortAddress, ProtectionDomain, QueuePair, QueuePairEndpoint, QueuePairOptions,
    ReadyToSend, RemoteAccess, VerbsDevice, VerbsLibrary,
};

pub(crate) const REGION: usize = 64 * 1024;

pub(crate) const OPTIONS: QueuePairOptions = QueuePairOptions {
    send_depth: 16,
    receive_depth: 16,
    inline_bytes: 220,
};

pub(crate) const PATH: PathOptions = PathOptions {
    timeout: 14,
    retry_count: 7,
    service_level: 0,
    traffic_class: 0,
    reads: 16,
};

pub(crate) struct StandIn(crosstie_verbs_stand_in::VerbsStandIn);

impl StandIn {
    pub(crate) fn new() -> Self {
        Self(crosstie_verbs_stand_in::VerbsStandIn::new().unwrap())
    }

    pub(crate) fn with(fault: &str) -> Self {
        let stand_in = Self::new();
        stand_in.inject(fault);
        stand_in
    }

    pub(crate) fn inject(&self, fault: &str) {
        assert!(self.0.inject(fault), "{fault}");
    }

    pub(crate) fn raise(&self, event: u32, number: u32) {
        assert!(self.0.raise(event, number), "{event} of {number}");
    }

    pub(crate) fn live(&self) -> usize {
        self.0.live().unwrap()
    }

    pub(crate) fn keep_loaded(&self) {
        self.0.keep_loaded().unwrap();
    }

    pub(crate) fn library(&self) -> VerbsLibrary {
        VerbsLibrary::open_at(self.0.path()).unwrap()
    }

    pub(crate) fn open(&self, name: &str) -> DeviceContext {
        let devices = self.library().devices().unwrap();
        VerbsDevice::find(&devices, name).unwrap().open().unwrap()
    }
}

/// One end: a queue pair with its memory.
pub(crate) struct End<Pair> {
    pub(crate) context: DeviceContext,
    pub(crate) domain: ProtectionDomain,
    pub(crate) memory: MemoryRegion,
    pub(crate) queue: CompletionQueue,
    pub(crate) batch: CompletionBatch,
    pub(crate) from: PortAddress,
    pub(crate) endpoint: QueuePairEndpoint,
    pub(crate) pair: Pair,
}

pub(crate) const READ_AND_WRITE: RemoteAccess = RemoteAccess {
    remote_write: true,
    remote_read: true,
    relaxed_ordering: false,
};

/// The address that RoCE devices of the stand-in have.
pub(crate) fn address_of(device: &str) -> Option<std::net::IpAddr> {
    match device {
        "standin_roce0" => Some([192, 0, 2, 1].into()),
        "standin_roce1" => Some([192, 0, 2, 2].into()),
        "standin_instant0" => Some([192, 0, 2, 5].into()),
        _ => None,
    }
}

pub(crate) fn end(
    stand_in: &StandIn,
    device: &str,
    access: RemoteAccess,
) -> End<QueuePair<Initialised>> {
    let context = stand_in.open(device);
    let domain = context.protection_domain().unwrap();
    let memory = domain.register(REGION, access).unwrap();
    let queue = context.completion_queue_with_channel(64).unwrap();
    let port = context.port(1).unwrap();
    let from = context.port_address(&port, address_of(device)).unwrap();
    let pair = domain.queue_pair(1, &queue, &queue, OPTIONS).unwrap();
    let mtu = PathMtu::try_from(Mtu(1024)).unwrap();
    let endpoint = pair.endpoint(&from, mtu, 16, memory.remote());
    End {
        batch: CompletionBatch::new(32),
        context,
        domain,
        memory,
        queue,
        from,
        endpoint,
        pair,
    }
}

impl End<QueuePair<Initialised>> {
    pub(crate) fn connect(self, peer: &QueuePairEndpoint) -> End<QueuePair<ReadyToSend>> {
        let Self {
            context,
            domain,
            memory,
            queue,
            batch,
            from,
            endpoint,
            pair,
        } = self;
        let pair = pair.ready_to_receive(&from, &endpoint, peer, PATH).unwrap();
        let pair = pair.ready_to_send(peer, PATH).unwrap();
        End {
            context,
            domain,
            memory,
            queue,
            batch,
            from,
            endpoint,
            pair,
        }
    }
}

pub(crate) type Connected = End<QueuePair<ReadyToSend>>;

pub(crate) fn connected(stand_in: &StandIn, devices: [&str; 2]) -> [Connected; 2] {
    let [first, second] = devices.map(|device| end(stand_in, device, READ_AND_WRITE));
    // As over a control connection.
    let sent = [&first, &second].map(|end| serde_json::to_string(&end.endpoint).unwrap());
    let [to_second, to_first] =
        sent.map(|text| serde_json::from_str::<QueuePairEndpoint>(&text).unwrap());
    [first.connect(&to_first), second.connect(&to_second)]
}

pub(crate) fn roce(stand_in: &StandIn) -> [Connected; 2] {
    connected(stand_in, ["standin_roce0", "standin_roce1"])
}

pub(crate) fn soon() -> Instant {
    Instant::now() + Duration::from_secs(10)
}

/// An error and what is under it, as a person reads them.
pub(crate) fn told(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        text = format!("{text}: {source}");
        next = source.source();
    }
    text
}

const CHILD: &str = "STAND_IN_CHILD";

/// Whether this process is one that [`itself`] started: then the test does what it was started for.
pub(crate) fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

/// This test program again, for one test: alone in its process.
pub(crate) fn itself(mut command: std::process::Command, test: &str) -> std::process::Command {
    command
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(CHILD, "1");
    command
}
