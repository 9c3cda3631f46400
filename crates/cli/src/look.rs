//! A look at every node, as root, before something is done there.

use anyhow::bail;
use crosstie_facts::{Raw, facts};
use crosstie_model::Facts;

use crate::{nodes::Fleet, output, parse::parse_with};

/// A node that was looked at.
pub(crate) struct Looked {
    pub(crate) destination: String,
    pub(crate) facts: Facts,
}

/// The facts of every node, in the fleet's order; `None` where one could not be read as root, which is told.
pub(crate) fn look(
    fleet: &Fleet,
    no_root: impl Fn(String) -> String,
) -> anyhow::Result<Option<Vec<Looked>>> {
    let mut looked: Vec<Looked> = Vec::new();
    let mut failed = false;
    let parse = |raw: &Raw| (raw.meta.root_refused.clone(), facts(raw));
    for (destination, parsed) in parse_with(fleet.read(), parse) {
        // Better said before the others have worked for nothing.
        let facts = parsed.and_then(|(refusal, facts)| match refusal {
            Some(why) => Err(no_root(why)),
            None => Ok(facts),
        });
        match facts {
            Ok(facts) => looked.push(Looked { destination, facts }),
            Err(error) => {
                failed = true;
                output::complain(&anyhow::Error::msg(format!("{destination}: {error}")));
            }
        }
    }
    if failed {
        return Ok(None);
    }
    for (index, node) in looked.iter().enumerate() {
        let name = &node.facts.host.name;
        if name.is_empty() {
            bail!("{} does not tell its host name", node.destination);
        }
        let twin = looked[..index]
            .iter()
            .find(|other| other.facts.host.name == *name);
        if let Some(twin) = twin {
            bail!(
                "{} and {} both call themselves {name}: it is one machine, named twice, or the host names must be told apart first",
                twin.destination,
                node.destination
            );
        }
    }
    Ok(Some(looked))
}
