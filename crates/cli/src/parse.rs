//! From what was read of nodes to what it means: all nodes beside each other, each with a deadline, so that none holds up
//! another.

use std::time::Duration;

use crosstie_facts::{Raw, facts};
use crosstie_model::Facts;
use crosstie_reach::{BOUND, fan_out};

use crate::targets::Reading;

/// The largest machine takes a second. Whoever made a capture that takes longer meant it to.
const PARSE_TIMEOUT: Duration = Duration::from_secs(30);

/// A node, and what came of it.
pub(crate) type Parsed<T> = (String, Result<T, String>);

/// The facts of each node that was read, in their order.
pub(crate) fn parse(readings: Vec<Reading>) -> Vec<Parsed<Facts>> {
    parse_with(readings, facts)
}

/// What `work` makes of each node that was read, in their order.
pub(crate) fn parse_with<T: Send + 'static>(
    readings: Vec<Reading>,
    work: impl Fn(&Raw) -> T + Send + Sync + 'static,
) -> Vec<Parsed<T>> {
    within(readings, PARSE_TIMEOUT, work)
}

fn within<T: Send + 'static>(
    readings: Vec<Reading>,
    timeout: Duration,
    work: impl Fn(&Raw) -> T + Send + Sync + 'static,
) -> Vec<Parsed<T>> {
    let names: Vec<String> = readings.iter().map(|(name, _)| name.clone()).collect();
    let results = fan_out(readings, BOUND, timeout, move |_, (_, raw)| match raw {
        Ok(raw) => Ok(work(raw)),
        Err(error) => Err(error.clone()),
    });
    let results = results.into_iter().map(|result| match result {
        Ok(result) => result,
        Err(unfinished) => Err(format!("cannot parse what was read of it: {unfinished}")),
    });
    names.into_iter().zip(results).collect()
}

#[cfg(test)]
mod tests {
    use std::{thread, time::Instant};

    use crosstie_facts::Meta;

    use super::*;

    fn reading(host: &str) -> Reading {
        let meta = Meta {
            host: host.to_owned(),
            ..Meta::default()
        };
        (host.to_owned(), Ok(Raw::new(meta)))
    }

    #[test]
    fn a_slow_capture_holds_up_nobody_and_is_given_up() {
        let started = Instant::now();
        let readings = vec![
            reading("slow"),
            reading("small"),
            ("lost".to_owned(), Err("no answer".to_owned())),
        ];
        let timeout = Duration::from_secs(1);
        let parsed = within(readings, timeout, move |raw| {
            if raw.meta.host == "slow" {
                thread::sleep(Duration::from_secs(30));
            }
            (facts(raw).host.name, started.elapsed())
        });
        let [(_, slow), (_, small), (_, lost)] = &parsed[..] else {
            panic!("{parsed:?}")
        };
        let error = slow.as_ref().unwrap_err();
        assert!(error.contains("given up after 1 s"), "{error}");
        let (name, took) = small.as_ref().unwrap();
        assert_eq!(name, "small");
        assert!(*took < timeout, "{took:?}");
        assert_eq!(lost.as_ref().unwrap_err(), "no answer");
        assert!(started.elapsed() < Duration::from_secs(10));
    }
}
