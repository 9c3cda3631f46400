//! Attributes in sysfs and configfs.

use std::{fs::OpenOptions, io::Write};

use crosstie_facts::{Gap, Source};

use super::{PortSettingsError, Ports};
use crosstie_node::Local;

impl Ports {
    /// What an attribute says. `None` is one that there is not.
    pub(super) fn read(&self, path: &str) -> Option<String> {
        match Local::at(&self.root).read(path) {
            Err(Gap::Absent) => None,
            // Whoever may not read it, or cannot, hears so again on writing.
            other => Some(String::from_utf8_lossy(&other.unwrap_or_default()).into_owned()),
        }
    }

    /// Writes an attribute that is there, unless it says so already.
    pub(super) fn update(
        &self,
        path: &str,
        value: &str,
        is_so: impl FnOnce(&str) -> bool,
    ) -> Result<(), PortSettingsError> {
        match self.read(path) {
            None => Err(PortSettingsError::NoFile {
                path: format!("/{path}"),
            }),
            Some(found) if is_so(found.trim()) => Ok(()),
            Some(_) => self.write(path, value),
        }
    }

    fn write(&self, path: &str, value: &str) -> Result<(), PortSettingsError> {
        let written = OpenOptions::new()
            .write(true)
            .truncate(true)
            .open(self.root.join(path))
            // Drivers take a value from one call of write(2).
            .and_then(|mut file| file.write_all(value.as_bytes()));
        written.map_err(|source| PortSettingsError::Write {
            path: format!("/{path}"),
            value: value.trim_end().to_owned(),
            source,
        })
    }
}
