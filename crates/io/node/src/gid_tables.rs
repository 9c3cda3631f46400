//! This machine's file tree, with GID tables as long as what is in them.
//!
//! sysfs has a file for every place of a table, and Soft-RoCE a thousand places a port, nearly all of them empty. Which are in use
//! the kernel tells at once; these alone are listed, and read as ever. Cards have at most 256, and opening one costs more than
//! reading those.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::OnceLock,
};

use crosstie_facts::{FileTree, ReadGap};
use crosstie_verbs::gid_places;

use crate::LocalFileTree;

/// Where sysfs has devices that are software.
const SOFTWARE: &str = "sys/devices/virtual/infiniband/";
const VERBS_CLASS: &str = "sys/class/infiniband_verbs";

#[derive(Debug)]
pub(crate) struct GidTableOverlay {
    local: LocalFileTree,
    tables: OnceLock<Tables>,
}

/// Port and index of the places in use, by device, where the kernel tells them.
type Tables = BTreeMap<String, BTreeSet<(u32, u32)>>;

impl GidTableOverlay {
    pub(crate) fn new(local: LocalFileTree) -> Self {
        Self {
            local,
            tables: OnceLock::new(),
        }
    }

    /// The places of a port's table that are in use; `None` where sysfs has to be asked.
    fn places(&self, path: &str) -> Option<Vec<String>> {
        let (device, rest) = path.strip_prefix(SOFTWARE)?.split_once("/ports/")?;
        let port: u32 = rest.strip_suffix("/gids")?.parse().ok()?;
        let tables = self.tables.get_or_init(|| read(&self.local));
        let places = tables.get(device)?;
        let of_port = places.iter().filter(|(of, _)| *of == port);
        let mut names: Vec<String> = of_port.map(|(_, index)| index.to_string()).collect();
        names.sort_unstable();
        Some(names)
    }
}

fn read(local: &LocalFileTree) -> Tables {
    let files = local.list(VERBS_CLASS).unwrap_or_default();
    let tables = files.iter().filter_map(|file| {
        let device = local.read(&format!("{VERBS_CLASS}/{file}/ibdev")).ok()?;
        let device = String::from_utf8(device).ok()?.trim().to_owned();
        local.read(&format!("{SOFTWARE}{device}/node_type")).ok()?;
        let places = match gid_places(&Path::new("/dev/infiniband").join(file)) {
            Ok(places) => places,
            Err(error) => {
                tracing::debug!(device, %error, "its GID tables are read from sysfs");
                return None;
            }
        };
        let places = places.into_iter().map(|place| (place.port, place.index));
        Some((device, places.collect()))
    });
    tables.collect()
}

impl FileTree for GidTableOverlay {
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadGap> {
        self.local.read(path)
    }

    fn read_pieces(&self, path: &str, piece: &mut dyn FnMut(&[u8])) -> Result<(), ReadGap> {
        self.local.read_pieces(path, piece)
    }

    fn list(&self, path: &str) -> Result<Vec<String>, ReadGap> {
        match self.places(path) {
            Some(places) => Ok(places),
            None => self.local.list(path),
        }
    }

    fn read_link(&self, path: &str) -> Result<String, ReadGap> {
        self.local.read_link(path)
    }

    fn access(&self, path: &str) -> Result<(), ReadGap> {
        self.local.access(path)
    }
}
