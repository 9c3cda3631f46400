//! One end of one test, for `scripts/bench`: it prints its endpoint, reads its peer's, and prints its figures, a line of
//! JSON each.
//!
//!     end listener|connector ADDRESS to-listener|from-listener|both|latency STREAMS BYTES MILLISECONDS

use std::{io::stdin, sync::atomic::AtomicBool};

use anyhow::{Context, bail};
use crosstie_tcp::{Direction, Endpoint, OpenRequest, Role, Test, Times, open};

#[allow(clippy::print_stdout)]
fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [role, address, test, streams, size, measure] = &arguments[..] else {
        bail!("see the head of this file for its arguments");
    };
    let bandwidth = |direction| Test::Bandwidth { direction };
    let request = OpenRequest {
        address: address.parse()?,
        interface: None,
        role: match role.as_str() {
            "listener" => Role::Listener,
            "connector" => Role::Connector,
            other => bail!("no role is called {other}"),
        },
        test: match test.as_str() {
            "to-listener" => bandwidth(Direction::ToListener),
            "from-listener" => bandwidth(Direction::FromListener),
            "both" => bandwidth(Direction::Both),
            "latency" => Test::Latency,
            other => bail!("no test is called {other}"),
        },
        streams: streams.parse()?,
        size: size.parse()?,
        times: Times {
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
    let peer: Endpoint = serde_json::from_str(&line).context("the peer's endpoint")?;
    let stop = AtomicBool::new(false);
    let figures = engine.join(&peer, &stop)?.go(&stop, &mut |_| ())?;
    println!("{}", serde_json::to_string(&figures)?);
    Ok(())
}
