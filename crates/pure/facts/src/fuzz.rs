//! Every parser that takes text from outside, by name: what `fuzz/` runs and the corpus test replays.

use crosstie_model::Spec;

/// A parser with its result thrown away: all that is asked of it is to return.
pub type Target = (&'static str, fn(&[u8]));

/// Each has a folder of the same name in `fuzz/corpus/` and a `[[bin]]` in `fuzz/Cargo.toml`.
pub const TARGETS: &[Target] = &[("spec", spec)];

fn spec(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = Spec::from_toml(text);
    }
}
