//! A job is started on all its nodes at once, and stopped on all of them where one of them fails.

use std::{
    fmt::Write,
    time::{Instant, SystemTime, UNIX_EPOCH},
};

use crosstie_agent::{JobCall, call};
use crosstie_launch::job::{JobPlan, Workload};
use crosstie_launch::job_protocol::{JobRequest, RankFile};
use crosstie_report::launch::{LaunchPlan, LaunchReport};

use super::{
    ASK_TIMEOUT, LaunchError, LaunchOptions, ObstacleLines,
    check::{by_fleet_index, check},
    nodes::{JobNodes, read},
    ready::{ReadinessWait, wait_until_ready},
    status::stop_on,
};
use crate::{
    ControlEvent, Fleet, NodeError, NodesFailed, RequestedTargets, TargetsError, random::random,
};

/// What would run; with live nodes also what stands in its way.
pub fn plan(
    targets: &RequestedTargets,
    options: &LaunchOptions,
) -> Result<LaunchPlan, LaunchError> {
    let mut job = read(targets, options)?;
    let mut checked = check(&mut job, options)?;
    checked.obstacles.splice(0..0, job.obstacles);
    let obstacles = checked.obstacles;
    Ok(LaunchPlan::new(
        &job.cluster,
        &checked.plan,
        obstacles,
        job.notes,
    ))
}

/// Starts it, and waits until it is ready, or has ended where that is asked for.
pub fn launch(
    targets: &RequestedTargets,
    options: &LaunchOptions,
) -> Result<LaunchReport, LaunchError> {
    let began = Instant::now();
    let mut job = read(targets, options)?;
    let mut checked = check(&mut job, options)?;
    checked.obstacles.splice(0..0, job.obstacles.drain(..));
    if !checked.obstacles.is_empty() {
        return Err(LaunchError::Obstacles(ObstacleLines(checked.obstacles)));
    }
    let JobNodes {
        cluster,
        fleet: Some(fleet),
        places,
        notes,
        ..
    } = job
    else {
        return Err(TargetsError::CapturesUnchanged.into());
    };
    let engine = checked.plan.engine;
    let name = format!("{}-{}", engine.name(), hexadecimal(random::<4>()?));
    let offer = &targets.options.offer;
    let stop = offer.job("stop", &name);
    let words = format!("The job {name} goes on by itself; `{stop}` ends it on all nodes.");
    targets.options.last_words(&words);
    start(
        &fleet,
        &places,
        rank_files(&name, &cluster, &checked.plan, options)?,
    )
    .map_err(|source| fail(&fleet, &name, source))?;
    let text = format!("{name} is started on {} nodes", places.len());
    targets
        .options
        .observer
        .observe(ControlEvent::Notice(&text));
    let mut launched = LaunchReport::new(&name, &cluster, engine);
    launched.serves = checked.plan.serves.map(|address| address.to_string());
    launched.notes = checked.plan.notes.into_iter().chain(notes).collect();
    let ready = ReadinessWait {
        fleet: &fleet,
        places: &places,
        job: &name,
        options,
        serves: checked.plan.serves,
        until: Instant::now() + options.start_timeout,
    };
    if let Err(error) = wait_until_ready(&ready, &mut launched) {
        let _ = stop_on(&fleet, Some(&name));
        targets.options.last_words("");
        return Err(error);
    }
    let is_over = launched.outcome != crosstie_report::launch::LaunchOutcome::Running;
    let is_one_answer =
        matches!(&options.workload, Workload::Llama(llama) if llama.prompt.is_some());
    if is_over && is_one_answer {
        // All that it was for is in the answer.
        let _ = stop_on(&fleet, Some(&name));
    }
    targets.options.last_words("");
    launched.seconds = began.elapsed().as_secs_f64();
    Ok(launched)
}

fn hexadecimal<const LENGTH: usize>(bytes: [u8; LENGTH]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn rank_files(
    name: &str,
    cluster: &str,
    plan: &JobPlan,
    options: &LaunchOptions,
) -> Result<Vec<RankFile>, LaunchError> {
    let secret = hexadecimal(random::<32>()?);
    let hosts: Vec<String> = plan.ranks.iter().map(|rank| rank.host.clone()).collect();
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let created = since.map_or(0, |since| since.as_secs());
    let files = plan.ranks.iter().map(|rank| RankFile {
        job: name.to_owned(),
        cluster: cluster.to_owned(),
        engine: plan.engine,
        ending: plan.ending,
        hosts: hosts.clone(),
        plan: rank.clone(),
        directory: options.directory.clone(),
        watch: plan.watch,
        secret: secret.clone(),
        serves: plan.serves,
        stop_on_hang: options.stop_on_hang,
        created,
    });
    Ok(files.collect())
}

fn start(fleet: &Fleet, places: &[usize], files: Vec<RankFile>) -> Result<(), NodesFailed> {
    let of_place = by_fleet_index(fleet.names().len(), places, files);
    let answers = fleet.call_together(ASK_TIMEOUT, move |place, session, _| {
        if let Some(file) = of_place.get(place).cloned().flatten() {
            let ask = JobRequest::Start(Box::new(file));
            call::<JobCall>(session, &ask, ASK_TIMEOUT, &mut |()| ())?;
        }
        Ok::<(), NodeError>(())
    });
    let failed = answers
        .into_iter()
        .filter_map(|(name, answer)| Some((name, answer.err()?)));
    let failed: Vec<(String, NodeError)> = failed.collect();
    if failed.is_empty() {
        Ok(())
    } else {
        Err(NodesFailed(failed))
    }
}

fn fail(fleet: &Fleet, job: &str, source: NodesFailed) -> LaunchError {
    let _ = stop_on(fleet, Some(job));
    LaunchError::NotStarted {
        job: job.to_owned(),
        source,
    }
}
