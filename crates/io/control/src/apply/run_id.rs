//! What all nodes of one command share.

use crate::random::{NoRandomNumbers, random};

/// `20261116T175500Z-1f2e3d4c`: sorted as they were begun, by this machine's clock.
pub fn new_run_id() -> Result<String, NoRandomNumbers> {
    let random = u32::from_be_bytes(random()?);
    Ok(format!("{}-{random:08x}", compact(&crosstie_node::now())))
}

/// `2026-11-16T17:55:00Z` as run ids have it.
pub(super) fn compact(time: &str) -> String {
    time.chars().filter(char::is_ascii_alphanumeric).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_id_has_its_time_first_and_is_one_of_many() {
        let (first, second) = (new_run_id().unwrap(), new_run_id().unwrap());
        assert_ne!(first, second);
        let (time, random) = first.split_once('-').unwrap();
        assert_eq!((time.len(), random.len()), (16, 8), "{first}");
        assert!(time.starts_with("20") && time.ends_with('Z'), "{first}");
        assert_eq!(compact("2026-11-16T17:55:00Z"), "20261116T175500Z");
    }
}
