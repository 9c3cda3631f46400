//! Numbers as people read them. The full value is in the JSON; a page shows it rounded, in one way each.

use crosstie_model::Bytes;

/// Two decimals below ten, one above; a lab's megabits have three.
pub(super) fn gbps(value: f64) -> String {
    // What rounds to nothing has no sign.
    let value = if value.abs() < 0.0005 { 0.0 } else { value };
    if value.abs() < 0.995 && value.abs() > 0.0 {
        return format!("{value:.3}");
    }
    decimals(value)
}

pub(super) fn microseconds(value: f64) -> String {
    decimals(value)
}

pub(super) fn percent(value: u32) -> String {
    format!("{value} %")
}

/// `64 KiB`
pub(super) fn size(bytes: u64) -> String {
    Bytes(bytes).to_string().replace(".0 ", " ")
}

/// `3 min 20 s`
pub(super) fn duration(milliseconds: u64) -> String {
    let seconds = milliseconds / 1000;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, _) => format!("{}.{} s", seconds, milliseconds % 1000 / 100),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

fn decimals(value: f64) -> String {
    if value.abs() < 9.995 {
        format!("{value:.2}")
    } else {
        format!("{value:.1}")
    }
}
