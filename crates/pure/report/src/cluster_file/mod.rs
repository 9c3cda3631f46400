//! The cluster file as text: a new one, or additions to a person's own, whose edits and comments stay.

mod compare;
mod fragment;

use crosstie_fabric::{
    cabling::{CablingNote, DetectedCabling},
    init::{ClusterProposal, cable_numbers, free_numbers, node_numbers},
};
use crosstie_model::{Cable, ClusterSpec, spec::SpecError};
use thiserror::Error;
use toml_edit::{ArrayOfTables, DocumentMut, Item, Table, TomlError};

use fragment::{cable_fragment, cage_fragment, header, node_fragment};

#[derive(Debug, Error)]
pub enum ClusterFileEditError {
    #[error("the cluster file cannot be read; nothing in it was changed")]
    Read(#[source] SpecError),
    #[error("the cluster file cannot be taken apart; nothing in it was changed")]
    Parse(#[source] TomlError),
    #[error(
        "the cluster file has `{0}` as a list in brackets; write it as [[{0}]] tables, so that it can be added to"
    )]
    Inline(&'static str),
    #[error("a name that was found cannot stand in a cluster file; nothing was written")]
    Unusable(#[source] Option<SpecError>),
}

/// What becomes of the file.
#[derive(Debug, Clone, PartialEq)]
pub struct MergedClusterFile {
    pub text: String,
    pub spec: ClusterSpec,
    /// What is new in it, for a person.
    pub added: Vec<String>,
    /// What the file has and was not found, and what was found and the file contradicts.
    pub notes: Vec<CablingNote>,
}

/// A cluster file that is there.
pub struct ExistingClusterFile {
    text: String,
    pub spec: ClusterSpec,
}

impl ExistingClusterFile {
    pub fn read(text: String) -> Result<Self, ClusterFileEditError> {
        let spec = ClusterSpec::from_toml(&text).map_err(ClusterFileEditError::Read)?;
        Ok(Self { text, spec })
    }
}

/// Adds what was found and the file has not.
pub fn merge(
    existing: Option<&ExistingClusterFile>,
    name: &str,
    proposal: &ClusterProposal,
    wiring: &DetectedCabling,
) -> Result<MergedClusterFile, ClusterFileEditError> {
    let spec = existing.map(|existing| &existing.spec);
    let text = existing.map_or_else(|| header(name, proposal), |existing| existing.text.clone());
    let mut document: DocumentMut = text.parse().map_err(ClusterFileEditError::Parse)?;
    let mut added = Vec::new();
    add_nodes(&mut document, spec, proposal, &mut added)?;
    let (new, mut notes) = compare::new_cables(spec, &proposal.cables);
    add_cables(&mut document, spec, &new, &mut added)?;
    add_mtu(&mut document, spec, proposal, &mut added);
    if let Some(spec) = spec {
        notes.extend(compare::gone(spec, proposal, wiring));
    }
    let text = if added.is_empty() && existing.is_some() {
        text
    } else {
        document.to_string()
    };
    let spec = ClusterSpec::from_toml(&text)
        .map_err(|error| ClusterFileEditError::Unusable(Some(error)))?;
    // Names with a colon read as something else.
    if !new.iter().all(|cable| compare::has_cable(&spec, cable)) {
        return Err(ClusterFileEditError::Unusable(None));
    }
    Ok(MergedClusterFile {
        text,
        spec,
        added,
        notes,
    })
}

fn add_nodes(
    document: &mut DocumentMut,
    spec: Option<&ClusterSpec>,
    proposal: &ClusterProposal,
    added: &mut Vec<String>,
) -> Result<(), ClusterFileEditError> {
    let mut numbers = free_numbers(node_numbers(spec));
    for node in &proposal.nodes {
        let position =
            spec.and_then(|spec| spec.nodes.iter().position(|own| own.name == node.name));
        let Some(position) = position else {
            let number = numbers.next().unwrap_or(0);
            push(
                tables(document, "node")?,
                "node",
                &node_fragment(node, number),
            )?;
            added.push(format!("node {}", node.name));
            continue;
        };
        let known = spec.map_or(&[][..], |spec| &spec.nodes[position].cages);
        for cage in &node.cages {
            if known.iter().any(|own| own.id == cage.id) {
                continue;
            }
            let table = tables(document, "node")?.get_mut(position);
            let table = table.ok_or(ClusterFileEditError::Inline("node"))?;
            push(tables(table, "cage")?, "cage", &cage_fragment(cage))?;
            added.push(format!("cage {}:{}", node.name, cage.id));
        }
    }
    Ok(())
}

fn add_cables(
    document: &mut DocumentMut,
    spec: Option<&ClusterSpec>,
    new: &[&Cable],
    added: &mut Vec<String>,
) -> Result<(), ClusterFileEditError> {
    let mut numbers = free_numbers(cable_numbers(spec));
    for cable in new {
        let mut cable = (*cable).clone();
        let what = match &mut cable {
            Cable::Direct { a, b, number } => {
                *number = numbers.next();
                format!("cable {}, {a} – {b}", number.unwrap_or(0))
            }
            Cable::Switched { port, plane } => format!("cable {port} – {plane}"),
        };
        push(tables(document, "cable")?, "cable", &cable_fragment(&cable))?;
        added.push(what);
    }
    Ok(())
}

/// The MTU comes with the first cable. Who has left it out of a file with cables wants none.
fn add_mtu(
    document: &mut DocumentMut,
    spec: Option<&ClusterSpec>,
    proposal: &ClusterProposal,
    added: &mut Vec<String>,
) {
    let (Some(spec), Some(mtu)) = (spec, proposal.mtu) else {
        return;
    };
    if !spec.cables.is_empty() || spec.fabric.mtu.is_some() {
        return;
    }
    let fabric = document
        .entry("fabric")
        .or_insert(Item::Table(Table::new()));
    if let Some(fabric) = fabric.as_table_like_mut() {
        fabric.insert("mtu", toml_edit::value(i64::from(mtu.0)));
        added.push(format!("mtu {}", mtu.0));
    }
}

fn tables<'a>(
    parent: &'a mut Table,
    key: &'static str,
) -> Result<&'a mut ArrayOfTables, ClusterFileEditError> {
    let item = parent
        .entry(key)
        .or_insert(Item::ArrayOfTables(ArrayOfTables::new()));
    item.as_array_of_tables_mut()
        .ok_or(ClusterFileEditError::Inline(key))
}

/// The fragment's table, behind the others.
fn push(tables: &mut ArrayOfTables, key: &str, fragment: &str) -> Result<(), ClusterFileEditError> {
    let mut parsed: DocumentMut = fragment.parse().map_err(ClusterFileEditError::Parse)?;
    let Some(Item::ArrayOfTables(mut found)) = parsed.remove(key) else {
        return Err(ClusterFileEditError::Unusable(None));
    };
    for table in found.iter_mut() {
        forget_positions(table);
        tables.push(table.clone());
    }
    Ok(())
}

/// Tables of another document stand where that one had them, unless they forget.
fn forget_positions(table: &mut Table) {
    table.set_position(None);
    for (_, item) in table.iter_mut() {
        match item {
            Item::Table(table) => forget_positions(table),
            Item::ArrayOfTables(tables) => tables.iter_mut().for_each(forget_positions),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
