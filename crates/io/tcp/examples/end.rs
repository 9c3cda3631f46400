//! One end of one test, for `scripts/bench`: it prints its endpoint, reads its peer's, and prints its figures, a line of
//! JSON each.
//!
//!     end listener|connector ADDRESS to-listener|from-listener|both|latency STREAMS BYTES MILLISECONDS

use std::{io::stdin, sync::atomic::AtomicBool};

use anyhow::{Context, bail};
use crosstie_tcp::{TcpDirection, TcpEndpoint, TcpOpenRequest, TcpRole, TcpTest, TestTimes, open};

#[allow(clippy::print_stdout)]
fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [role, address, test, streams, size, measure] = &arguments[..] else {
        bail!("see the head of this file for its arguments");
    };
    let bandwidth = |direction| TcpTest::Bandwidth { direction };
    let request = TcpOpenRequest {
        address: address.parse()?,
        interface: None,
        role: match role.as_str() {
            "listener" => TcpRole::Listener,
            "connector" => TcpRole::Connector,
            other => bail!("no role is called {other}"),
        },
        test: match test.as_str() {
            "to-listener" => bandwidth(TcpDirection::ToListener),
            "from-listener" => bandwidth(TcpDirection::FromListener),
            "both" => bandwidth(TcpDirection::Both),
            "latency" => TcpTest::Latency,
            other => bail!("no test is called {other}"),
        },
        streams: streams.parse()?,
        size: size.parse()?,
        times: TestTimes {
            warm_up: 500,
            measure: measure.parse()?,
            cool_down: 50,
            silence: 5000,
        },
    };
    let (engine, endpoint) = open(request)?;
    println!("{}", serde_json::to_string(&endpoint)?);
    let mut line = String::new();
    stdin().read_line(&mut line)?;
    let peer: TcpEndpoint = serde_json::from_str(&line).context("the peer's endpoint")?;
    let stop = AtomicBool::new(false);
    let figures = engine.join(&peer, &stop)?.go(&stop, &mut |_| ())?;
    println!("{}", serde_json::to_string(&figures)?);
    Ok(())
}
