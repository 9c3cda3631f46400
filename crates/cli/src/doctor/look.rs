//! Looks at nodes: facts, and what the doctor needs beside them.

use crosstie_doctor::ClockOffset;
use crosstie_model::Facts;

use crate::{nodes::Fleet, parse::parse, targets::Reading};

/// One look at one node.
pub(super) struct Look {
    pub(super) name: String,
    /// Or why there are none.
    pub(super) facts: Result<Facts, String>,
    pub(super) clock: Option<ClockOffset>,
}

pub(super) fn live(fleet: &Fleet) -> Vec<Look> {
    let mut looks = parsed(fleet.read());
    for (look, clock) in looks.iter_mut().zip(fleet.clocks()) {
        look.clock = clock;
    }
    looks
}

fn parsed(readings: Vec<Reading>) -> Vec<Look> {
    let look = |(name, facts)| Look {
        name,
        facts,
        clock: None,
    };
    parse(readings).into_iter().map(look).collect()
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
    for look in parsed(readings) {
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
