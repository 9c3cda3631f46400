//! The card is close to the temperature at which it protects itself.

use crosstie_model::facts::pci::Sensor;

use super::{cards, file};
use crate::{Check, CheckFunctions, CheckHit, ExaminedNode};

pub(super) const CHECK: Check = Check {
    id: "nic-hot",
    title: "The card is close to its temperature limit",
    severity: "warning",
    fires: "A temperature that the card reports is within 5 °C of its critical value, or is 100 °C or more.",
    reads: &[
        "/sys/bus/pci/devices/ADDRESS/hwmon/*/temp*_input",
        "/sys/bus/pci/devices/ADDRESS/hwmon/*/temp*_crit",
    ],
    cause: "too little air over the card or its transceivers",
    meaning: "Network cards for servers have no fan of their own and count on the wind of a server's. In a desktop case \
        they get too hot under load, slow down, drop the link, and in the end switch off until the next power cycle.",
    fix: "Give the card air: a fan that blows at its heat sink, a free neighbouring slot, clean filters. Active optical \
        cables and transceivers add heat; copper does not.",
    verify: "Under load the temperature stays 10 °C below the critical value.",
    explained_by: &[],
    run: CheckFunctions::node(run),
};

const HOT: f64 = 100.0;
const MARGIN: f64 = 5.0;

fn run(node: &ExaminedNode) -> Vec<CheckHit> {
    cards(node)
        .filter_map(|card| {
            let (sensor, celsius) = card.sensors.iter().find_map(too_hot)?;
            let directory = file(card.address, "hwmon");
            let hit = CheckHit::warning(card.address).saw(
                format!("temperature ({})", sensor.label),
                format!("{celsius} °C"),
                format!("{directory}/*/temp*_input"),
            );
            Some(match sensor.critical.known() {
                Some(critical) => hit.saw(
                    "critical temperature",
                    format!("{critical} °C"),
                    format!("{directory}/*/temp*_crit"),
                ),
                None => hit,
            })
        })
        .collect()
}

fn too_hot(sensor: &Sensor) -> Option<(&Sensor, f64)> {
    let celsius = *sensor.celsius.known()?;
    // A driver that knows no limit may report 0.
    let limit = sensor
        .critical
        .known()
        .filter(|critical| **critical > 0.0)
        .map_or(HOT, |critical| (critical - MARGIN).min(HOT));
    (celsius >= limit).then_some((sensor, celsius))
}

#[cfg(test)]
mod tests {
    use crosstie_model::Reading;

    use super::*;

    fn hot(celsius: f64, critical: Option<f64>) -> bool {
        too_hot(&Sensor {
            label: "asic".to_owned(),
            celsius: Reading::Value(celsius),
            critical: critical.into(),
        })
        .is_some()
    }

    #[test]
    fn the_limit_is_the_cards_own_and_never_above_a_hundred() {
        assert!(hot(100.0, Some(105.0)) && !hot(99.9, Some(105.0)));
        assert!(hot(70.0, Some(75.0)) && !hot(69.0, Some(75.0)));
        assert!(hot(100.0, None) && hot(100.0, Some(120.0)));
        assert!(!hot(60.0, Some(0.0)));
    }
}
