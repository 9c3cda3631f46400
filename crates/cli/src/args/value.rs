//! Values of options.

use std::{ops::RangeInclusive, time::Duration};

use clap::builder::{PossibleValuesParser, TypedValueParser};

/// One of some names, and what it stands for.
pub(crate) fn one_of<T: Copy + Send + Sync + 'static, const N: usize>(
    all: [(&'static str, T); N],
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(all.map(|(name, _)| name)).map(move |given| {
        let found = all.iter().find(|(name, _)| *name == given);
        // The parser takes no other name.
        found.unwrap_or(&all[0]).1
    })
}

/// `90`, `90s`, `2m`, `8h`: so many seconds.
pub(crate) fn time_in(text: &str, range: RangeInclusive<u64>) -> Result<Duration, String> {
    let number = text.trim_end_matches(['s', 'm', 'h']);
    let factor = match &text[number.len()..] {
        "" | "s" => Some(1),
        "m" => Some(60),
        "h" => Some(3600),
        _ => None,
    };
    let seconds = number.parse::<u64>().ok();
    match seconds.and_then(|number| number.checked_mul(factor?)) {
        Some(seconds) if range.contains(&seconds) => Ok(Duration::from_secs(seconds)),
        Some(_) => Err(format!(
            "from {} to {}",
            shown(*range.start()),
            shown(*range.end())
        )),
        None => Err("a time, such as 90s, 2m or 8h".to_owned()),
    }
}

fn shown(seconds: u64) -> String {
    match seconds {
        _ if seconds.is_multiple_of(3600) => format!("{}h", seconds / 3600),
        _ if seconds.is_multiple_of(60) => format!("{}m", seconds / 60),
        _ => format!("{seconds}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_seconds_minutes_or_hours() {
        let time = |text: &str| time_in(text, 30..=7200);
        for (text, seconds) in [
            ("90s", 90),
            ("2m", 120),
            ("45", 45),
            ("60m", 3600),
            ("2h", 7200),
        ] {
            assert_eq!(time(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for text in [
            "",
            "m",
            "3h",
            "29s",
            "121m",
            "-2m",
            "1.5m",
            "2d",
            "2mm",
            "99999999999999999999m",
            "18446744073709551615m",
        ] {
            assert!(time(text).is_err(), "{text}");
        }
        assert_eq!(time("1s"), Err("from 30s to 2h".to_owned()));
    }
}
