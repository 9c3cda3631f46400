//! Tables that nobody's choice of names can slow down.

use std::collections::HashMap;

const CACHE_SLOTS: usize = 4096;

/// What was looked up lately, at a place that a cheap sum of the key gives. It stands before a hash table; two keys that
/// share a place cost the look-up there, no more.
pub(crate) struct RecentCache<K, V> {
    places: Vec<Option<(K, V)>>,
}

impl<K: PartialEq, V: Copy> Default for RecentCache<K, V> {
    fn default() -> Self {
        Self {
            places: std::iter::repeat_with(|| None).take(CACHE_SLOTS).collect(),
        }
    }
}

impl<K: PartialEq, V: Copy> RecentCache<K, V> {
    pub(crate) fn get<Q: PartialEq<K> + ?Sized>(&self, sum: u64, key: &Q) -> Option<V> {
        let (known, value) = self.places[place(sum)].as_ref()?;
        (key == known).then_some(*value)
    }

    pub(crate) fn put(&mut self, sum: u64, key: K, value: V) {
        self.places[place(sum)] = Some((key, value));
    }
}

fn place(sum: u64) -> usize {
    // Fibonacci hashing: the upper bits depend on all of the sum.
    let mixed = sum.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 52) as usize % CACHE_SLOTS
}

/// The last eight bytes and the length: names of processes end in what tells them apart.
pub(crate) fn sum_of_end(bytes: &[u8]) -> u64 {
    let length = bytes.len() as u64;
    match bytes.last_chunk::<8>() {
        Some(end) => u64::from_le_bytes(*end) ^ length,
        None => bytes
            .iter()
            .fold(length, |sum, byte| sum << 8 | u64::from(*byte)),
    }
}

/// Bytes to be compared with kept ones.
pub(crate) struct ByteKey<'a>(pub(crate) &'a [u8]);

impl PartialEq<Box<[u8]>> for ByteKey<'_> {
    fn eq(&self, other: &Box<[u8]>) -> bool {
        *self.0 == **other
    }
}

/// Names by number.
#[derive(Default)]
pub(crate) struct NameTable {
    list: Vec<String>,
    ids: HashMap<String, u32>,
}

impl NameTable {
    pub(crate) fn get(&self, id: u32) -> &str {
        self.list.get(id as usize).map_or("?", String::as_str)
    }

    pub(crate) fn id(&mut self, name: &str, most: usize) -> Option<u32> {
        // Most logs have two or three, and comparing those is quicker than hashing.
        if let Some(early) = self.list.iter().take(4).position(|known| known == name) {
            return u32::try_from(early).ok();
        }
        if let Some(id) = self.ids.get(name) {
            return Some(*id);
        }
        let id = u32::try_from(self.list.len())
            .ok()
            .filter(|_| self.list.len() < most)?;
        self.list.push(name.to_owned());
        self.ids.insert(name.to_owned(), id);
        Some(id)
    }
}
