//! The bandwidth ledger of a pair, line by line.

use super::PairRow;
use crate::text::{Palette, TableRow, TextSpan, TextTone, line, plain, quiet, strong, table};

pub(super) fn ledger(pair: &PairRow, palette: Palette, out: &mut String) {
    let Some(ledger) = &pair.ledger else { return };
    let title = format!(
        "where the bandwidth of {} → {} went, Gb/s",
        pair.from, pair.to
    );
    line(palette, &[quiet(title)], out);
    let minus = |gbps: f64| plain(format!("{:>8}", format!("−{}", figure(gbps))));
    let total = |gbps: f64| strong(format!("{:>8}", figure(gbps)));
    let mut rows = vec![TableRow::Cells(
        2,
        vec![plain("port rate"), total(ledger.port_rate)],
    )];
    for one in &ledger.deductions {
        rows.push(TableRow::Cells(
            2,
            vec![plain(format!("  {}", one.what)), minus(one.gbps)],
        ));
    }
    rows.push(TableRow::Cells(
        2,
        vec![plain("ceiling"), total(ledger.ceiling)],
    ));
    for one in &ledger.causes {
        let most = if one.at_most { "at most: " } else { "" };
        let what = TextSpan::new(TextTone::Bad, format!("  {most}{}", one.what));
        rows.push(TableRow::Cells(2, vec![what, minus(one.gbps)]));
    }
    if ledger.unexplained > 0.0 {
        let what = TextSpan::new(TextTone::Bad, "  unexplained");
        rows.push(TableRow::Cells(2, vec![what, minus(ledger.unexplained)]));
    }
    rows.push(TableRow::Cells(
        2,
        vec![plain("measured"), total(ledger.measured)],
    ));
    table(palette, &rows, out);
    out.push('\n');
}

pub(super) fn figure(gbps: f64) -> String {
    // A lab's megabits; what rounds to nothing has no sign.
    if gbps.abs() < 0.0005 {
        "0.000".to_owned()
    } else if gbps.abs() < 0.995 {
        format!("{gbps:.3}")
    } else if gbps < 10.0 {
        format!("{gbps:.2}")
    } else {
        format!("{gbps:.1}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_rounds_to_nothing_has_no_sign() {
        assert_eq!(figure(-0.0004), "0.000");
        assert_eq!(figure(-0.0006), "-0.001");
        assert_eq!(figure(0.107), "0.107");
    }
}
