//! What many figures say together. Medians, since one interrupted window must not move the answer.

/// `None` of nothing.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    if sorted.len() % 2 == 1 {
        return Some(upper);
    }
    sorted
        .get(middle.wrapping_sub(1))
        .map(|lower| f64::midpoint(*lower, upper))
}

/// A standard deviation that outliers do not move: 1.4826 times the median distance from the median.
pub fn spread(values: &[f64]) -> Option<f64> {
    let centre = median(values)?;
    let distances: Vec<f64> = values.iter().map(|value| (value - centre).abs()).collect();
    median(&distances).map(|distance| distance * 1.4826)
}

pub fn most(values: impl Iterator<Item = f64>) -> Option<f64> {
    values.max_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn known_values() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0]), Some(3.0));
        assert_eq!(median(&[4.0, 1.0]), Some(2.5));
        assert_eq!(median(&[9.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(spread(&[5.0, 5.0, 5.0, 500.0]), Some(0.0));
    }

    proptest! {
        #[test]
        fn a_minority_of_outliers_does_not_move_the_median_out_of_the_rest(
            honest in prop::collection::vec(90.0..100.0, 5..30),
            wild in prop::collection::vec(0.0..1e6, 0..3),
        ) {
            let all: Vec<f64> = honest.iter().chain(&wild).copied().collect();
            let found = median(&all).unwrap();
            prop_assert!((90.0..100.0).contains(&found));
            prop_assert!(spread(&all).unwrap() <= 30.0);
        }
    }
}
