//! ethtool's sets of link modes, with the kernel's own names for the bits.

use super::message::NetlinkAttributes;

// `ETHTOOL_A_BITSET_*`
const NOMASK: u16 = 1;
const BITS: u16 = 3;
const BITS_BIT: u16 = 1;
const BIT_INDEX: u16 = 1;
const BIT_NAME: u16 = 2;
const BIT_VALUE: u16 = 3;

// Bits that are no link mode (`ETHTOOL_LINK_MODE_*_BIT`): the kernel keeps them in one set with those.
const AUTONEG: u32 = 6;
const PAUSE: u32 = 13;
const ASYM_PAUSE: u32 = 14;
const FEC_NONE: u32 = 49;
const FEC_RS: u32 = 50;
const FEC_BASER: u32 = 51;
const FEC_LLRS: u32 = 74;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BitsetBit {
    index: u32,
    pub(super) name: String,
    pub(super) set: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LinkModeClass {
    Port,
    Real,
    Pause,
    Autoneg,
    Fec,
}

/// A set with a mask lists what is supported, and marks what is advertised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BitsetSelection {
    Listed,
    Set,
}

impl BitsetBit {
    pub(super) fn new(index: u32, name: String, set: bool) -> Self {
        Self { index, name, set }
    }

    fn class(&self) -> LinkModeClass {
        match self.index {
            AUTONEG => LinkModeClass::Autoneg,
            7..=11 | 16 => LinkModeClass::Port,
            PAUSE | ASYM_PAUSE => LinkModeClass::Pause,
            FEC_NONE..=FEC_BASER | FEC_LLRS => LinkModeClass::Fec,
            _ => LinkModeClass::Real,
        }
    }

    /// The word that `ethtool --show-fec` has for it.
    pub(super) fn correction(&self) -> &str {
        match self.index {
            FEC_NONE => "Off",
            FEC_RS => "RS",
            FEC_BASER => "BaseR",
            FEC_LLRS => "LLRS",
            _ => &self.name,
        }
    }
}

/// The bits of a set that came with names.
pub(super) fn bits(set: NetlinkAttributes<'_>) -> Vec<BitsetBit> {
    // A list without a mask holds the bits that are set, and they carry no value.
    let list_of_set = set.get(NOMASK).is_some();
    let Some(list) = set.nested(BITS) else {
        return Vec::new();
    };
    let entries = list.iter().filter(|(kind, _)| *kind == BITS_BIT);
    entries
        .filter_map(|(_, entry)| {
            let entry = NetlinkAttributes::new(entry);
            let index = entry.u32(BIT_INDEX)?;
            let name = entry.text(BIT_NAME);
            Some(BitsetBit {
                index,
                name: name.unwrap_or_else(|| format!("BIT{index}")),
                set: list_of_set || entry.get(BIT_VALUE).is_some(),
            })
        })
        .collect()
}

/// The bits of a class, in the kernel's order.
pub(super) fn chosen(
    set: &[BitsetBit],
    class: LinkModeClass,
    which: BitsetSelection,
) -> impl Iterator<Item = &BitsetBit> {
    set.iter()
        .filter(move |bit| bit.class() == class && (bit.set || which == BitsetSelection::Listed))
}

/// How `ethtool` words the two pause bits.
pub(super) fn pause(set: &[BitsetBit], which: BitsetSelection) -> &'static str {
    let has = |index: u32| {
        set.iter()
            .any(|bit| bit.index == index && (bit.set || which == BitsetSelection::Listed))
    };
    match (has(PAUSE), has(ASYM_PAUSE)) {
        (true, true) => "Symmetric Receive-only",
        (true, false) => "Symmetric",
        (false, true) => "Transmit-only",
        (false, false) => "No",
    }
}
