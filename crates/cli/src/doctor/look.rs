//! Looks at nodes: facts, and what the doctor needs beside them.

use std::{num::NonZeroUsize, thread};

use crosstie_doctor::ClockOffset;
use crosstie_facts::facts;
use crosstie_model::Facts;

use crate::{nodes::Fleet, targets::Reading};

/// One look at one node.
pub(super) struct Look {
    pub(super) name: String,
    /// Or why there are none.
    pub(super) facts: Result<Facts, String>,
    pub(super) clock: Option<ClockOffset>,
}

pub(super) fn live(fleet: &Fleet) -> Vec<Look> {
    let mut looks = parsed(&fleet.read());
    for (look, clock) in looks.iter_mut().zip(fleet.clocks()) {
        look.clock = clock;
    }
    looks
}

/// Parses on every core: a thousand captures are a few seconds' work for one.
fn parsed(readings: &[Reading]) -> Vec<Look> {
    let workers = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let share = readings.len().div_ceil(workers).max(1);
    let parse = |part: &[Reading]| -> Vec<Look> {
        let one = |(name, raw): &Reading| Look {
            name: name.clone(),
            facts: raw.as_ref().map(facts).map_err(Clone::clone),
            clock: None,
        };
        part.iter().map(one).collect()
    };
    thread::scope(|scope| {
        let mut parts = readings.chunks(share);
        let first = parts.next().unwrap_or_default();
        let others: Vec<_> = parts.map(|part| scope.spawn(move || parse(part))).collect();
        let mut looks = parse(first);
        for other in others {
            match other.join() {
                Ok(part) => looks.extend(part),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        looks
    })
}

/// The latest look at each node of some captures, and the one before it where there is one: two captures of a node
/// since one boot are two looks at it.
pub(super) fn captured(mut readings: Vec<Reading>) -> (Vec<Look>, Vec<Option<Look>>) {
    readings.sort_by(|(_, a), (_, b)| match (a, b) {
        (Ok(a), Ok(b)) => (&a.meta.host, &a.meta.captured).cmp(&(&b.meta.host, &b.meta.captured)),
        _ => a.is_err().cmp(&b.is_err()),
    });
    let mut now: Vec<Look> = Vec::new();
    let mut before: Vec<Option<Look>> = Vec::new();
    for look in parsed(&readings) {
        if now.last().is_some_and(|last| is_same_boot(last, &look)) {
            before.pop();
            before.push(now.pop());
        } else {
            before.push(None);
        }
        now.push(look);
    }
    (now, before)
}

fn is_same_boot(a: &Look, b: &Look) -> bool {
    let identity = |look: &Look| {
        let host = &look.facts.as_ref().ok()?.host;
        let (boot, machine) = (host.boot_id.known()?, host.machine_id.known()?);
        Some((boot.clone(), machine.clone(), host.name.clone()))
    };
    identity(a).is_some_and(|first| identity(b) == Some(first))
}
