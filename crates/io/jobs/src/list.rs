//! Every job's rank on this node.

use crosstie_launch::job_protocol::{JobCallError, RankStatus};

use crate::{
    folder::{JobFolder, SystemdManager},
    now, unit,
};

pub(crate) fn list() -> Result<Vec<RankStatus>, JobCallError> {
    let folders = JobFolder::all()?;
    // One that cannot be read was cut off while it was made; `stop` ends it by its name.
    let known = folders
        .iter()
        .filter_map(|folder| Some((folder, folder.rank().ok()?)));
    let statuses = known.map(|(folder, rank)| RankStatus {
        job: rank.job,
        cluster: rank.cluster,
        engine: rank.engine,
        rank: rank.plan.rank,
        hosts: rank.hosts,
        serves: rank.serves,
        created: rank.created,
        unit: match unit::show(folder) {
            Ok(state) if state.active.is_empty() => "unknown".to_owned(),
            Ok(state) => state.active,
            Err(gap) => format!("unknown: {gap}"),
        },
        is_system_unit: folder.manager == SystemdManager::System,
        state: folder.state(),
        now: now(),
    });
    Ok(statuses.collect())
}
