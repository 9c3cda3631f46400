//! The log checks: when each fires. Their texts stand in the doctor's table.

mod completion_error;
mod gdr_off;
mod gid_linklocal;
mod memory_registration;
mod mixed_transport;
mod no_ib_device;
mod no_libibverbs;
mod plugin_foreign;
mod qp_no_gid;
mod qp_timeout;
mod single_rail;
mod socket_fallback;

use crosstie_doctor::CheckHit;
use crosstie_model::Finding;

use crate::run::NcclRun;

pub(crate) use plugin_foreign::foreign;

type Fire = fn(&NcclRun) -> Vec<CheckHit>;

const FIRE: &[(&str, Fire)] = &[
    ("nccl-socket-fallback", socket_fallback::fire),
    ("nccl-mixed-transport", mixed_transport::fire),
    ("nccl-no-ib-device", no_ib_device::fire),
    ("nccl-no-libibverbs", no_libibverbs::fire),
    ("nccl-qp-no-gid", qp_no_gid::fire),
    ("nccl-qp-timeout", qp_timeout::fire),
    ("nccl-completion-error", completion_error::fire),
    ("nccl-memory-registration", memory_registration::fire),
    ("nccl-single-rail", single_rail::fire),
    ("nccl-gid-linklocal", gid_linklocal::fire),
    ("nccl-gdr-off", gdr_off::fire),
    ("nccl-plugin-foreign", plugin_foreign::fire),
];

pub(crate) fn findings(run: &NcclRun) -> Vec<Finding> {
    let with_texts = FIRE
        .iter()
        .filter_map(|(id, fire)| Some((crosstie_doctor::checks::find(id)?, fire)));
    with_texts
        .flat_map(|(check, fire)| fire(run).into_iter().map(|hit| hit.finding(check)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstie_doctor::checks;

    #[test]
    fn every_log_check_of_the_table_is_fired_here_and_no_other() {
        let log = checks::all().filter(|check| check.run.log);
        let mut declared: Vec<&str> = log.map(|check| check.id).collect();
        let mut fired: Vec<&str> = FIRE.iter().map(|(id, _)| *id).collect();
        declared.sort_unstable();
        fired.sort_unstable();
        assert_eq!(declared, fired);
    }
}
