//! Interfaces that are joined.

use crosstie_model::facts::net::{Interface, NetworkFacts};

/// Without the link's details its name has to do: masters are bridges and VRFs as well.
pub(super) fn is_bond(interface: &Interface) -> bool {
    match interface.kind.known() {
        Some(kind) => kind == "bond",
        None => interface.name.starts_with("bond") && interface.pci.known().is_none(),
    }
}

/// The bond that an interface belongs to.
pub(super) fn bond_above<'a>(
    network: &'a NetworkFacts,
    interface: &Interface,
) -> Option<&'a Interface> {
    let master = network.interface(interface.master.known()?)?;
    is_bond(master).then_some(master)
}
