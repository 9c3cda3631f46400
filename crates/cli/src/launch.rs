//! `crosstie launch`.

use std::{process::ExitCode, sync::Arc, thread, time::Duration};

use crosstie_control::launch::{JobChoice, JobLogOptions, launch, logs, plan, status, stop};
use crosstie_launch::job::Workload;
use crosstie_report::launch::{
    JobsReport, LaunchOutcome, launched_view, log_line, plan_view, status_view, stopped_view,
};
use crosstie_terminal::{ColourChoice, TerminalConsole, print_to_reader};

use crate::{
    args::launch::{
        JobArgs, JobStatusArgs, JobTargets, LaunchArgs, LaunchCommand, LogsArgs, StopArgs,
    },
    exit, output,
};

const WATCH_INTERVAL: Duration = Duration::from_secs(2);

pub(crate) fn run(arguments: &LaunchArgs, colour: ColourChoice) -> anyhow::Result<ExitCode> {
    match &arguments.command {
        LaunchCommand::Llama(llama) => start(&llama.job, llama.workload(), colour),
        LaunchCommand::Torchrun(torchrun) => start(&torchrun.job, torchrun.workload(), colour),
        LaunchCommand::Mpirun(mpirun) => start(&mpirun.job, mpirun.workload(), colour),
        LaunchCommand::Status(arguments) => show(arguments, colour),
        LaunchCommand::Logs(arguments) => print_logs(arguments, colour),
        LaunchCommand::Stop(arguments) => end(arguments, colour),
    }
}

fn start(
    arguments: &JobArgs,
    workload: Workload,
    colour: ColourChoice,
) -> anyhow::Result<ExitCode> {
    let console = TerminalConsole::new(colour, arguments.json);
    let targets = arguments.targets.targets(&arguments.from);
    let targets = targets.resolve(&console)?;
    let options = arguments.options(workload);
    if arguments.dry_run {
        let plan = plan(&targets, &options)?;
        output::report(arguments.json, &plan, || plan_view(&plan, console.palette))?;
        return Ok(exit::faults_if(!plan.obstacles.is_empty()));
    }
    let launched = launch(&targets, &options)?;
    output::report(arguments.json, &launched, || {
        launched_view(&launched, &targets.options.offer, console.palette)
    })?;
    Ok(exit::faults_if(launched.outcome == LaunchOutcome::Failed))
}

fn fleet(
    targets: &JobTargets,
    console: &Arc<TerminalConsole>,
) -> anyhow::Result<crosstie_control::Fleet> {
    let targets = targets.targets(&[]).resolve(console)?;
    let (_, fleet) = targets.find_live(true)?;
    Ok(fleet)
}

fn show(arguments: &JobStatusArgs, colour: ColourChoice) -> anyhow::Result<ExitCode> {
    let console = TerminalConsole::new(colour, arguments.json || arguments.watch);
    let fleet = fleet(&arguments.targets, &console)?;
    let job = arguments.job.as_deref();
    loop {
        let jobs = status(&fleet, job);
        if !arguments.watch {
            let view = || status_view(&jobs, console.palette);
            output::report(arguments.json, &jobs, view)?;
            return Ok(verdict(&jobs));
        }
        let text = if arguments.json {
            serde_json::to_string(&jobs)? + "\n"
        } else {
            status_view(&jobs, console.palette) + "\n"
        };
        // Whoever read it has left.
        if print_to_reader(&text).is_err() {
            return Ok(exit::CLEAN);
        }
        if jobs.are_over() && jobs.failed_nodes.is_empty() {
            return Ok(verdict(&jobs));
        }
        thread::sleep(WATCH_INTERVAL);
    }
}

fn verdict(jobs: &JobsReport) -> ExitCode {
    if jobs.failed_nodes.is_empty() {
        exit::faults_if(jobs.has_troubles())
    } else {
        exit::tool_failed()
    }
}

fn print_logs(arguments: &LogsArgs, colour: ColourChoice) -> anyhow::Result<ExitCode> {
    // Lines of a log, and nothing else, while it is followed.
    let console = TerminalConsole::new(colour, true);
    let fleet = fleet(&arguments.targets, &console)?;
    let options = JobLogOptions {
        job: arguments.job.clone(),
        follow: arguments.follow,
        lines: arguments.lines,
    };
    let is_one = fleet.names().len() == 1;
    logs(&fleet, &options, move |node, line| {
        print_to_reader(&log_line((!is_one).then_some(node), line)).is_ok()
    })?;
    Ok(exit::CLEAN)
}

fn end(arguments: &StopArgs, colour: ColourChoice) -> anyhow::Result<ExitCode> {
    let console = TerminalConsole::new(colour, arguments.json);
    let fleet = fleet(&arguments.targets, &console)?;
    let choice = match &arguments.job {
        Some(job) => JobChoice::Named(job.clone()),
        None if arguments.all => JobChoice::All,
        None => JobChoice::Only,
    };
    let stopped = stop(&fleet, &choice)?;
    output::report(arguments.json, &stopped, || {
        stopped_view(&stopped, console.palette)
    })?;
    Ok(exit::failed_if(!stopped.is_clean()))
}
