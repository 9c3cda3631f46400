//! `crosstie report`: a stored run as a page, and two runs compared.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::bail;
use clap::ColorChoice;
use crosstie_control::{
    files,
    runs::{newest_run_of, read_run},
};
use crosstie_model::run::Run;
use crosstie_report::{
    compare::{self, comparison},
    html::{compare_page, run_page},
    run_report::{self, Replaced, RunReport, report_of},
    share::{share, share_together},
};

use crate::{args::report::Report, exit, output};

/// Where the page of one run goes, if nothing else is asked for.
const PAGE: &str = "report.html";

pub(crate) fn run(arguments: &Report, colour: ColorChoice) -> anyhow::Result<ExitCode> {
    if arguments.json && arguments.output.as_deref() == Some(Path::new("-")) {
        bail!("--json and `-o -` both want standard output; give the page a file");
    }
    match (&arguments.run, &arguments.new) {
        (Some(old), Some(new)) => two(arguments, [old, new], colour),
        (Some(run), None) => one(arguments, run, colour),
        (None, _) => one(arguments, &newest_run_of(&arguments.cluster)?, colour),
    }
}

/// A page never takes the place of a run that it is made of.
fn refuse_to_replace(run: &Path, output: Option<&PathBuf>) -> anyhow::Result<()> {
    let real = |path: &Path| path.canonicalize().ok();
    let output = output.filter(|page| real(page).is_some() && real(page) == real(run));
    match output {
        Some(page) => bail!(
            "{} is the run itself: give the page another file by -o",
            page.display()
        ),
        None => Ok(()),
    }
}

fn one(arguments: &Report, path: &Path, colour: ColorChoice) -> anyhow::Result<ExitCode> {
    refuse_to_replace(path, arguments.output.as_ref())?;
    let stored = read_run(path)?;
    let report = if arguments.share {
        let (shared, replaced) = share(&stored);
        tell_replaced(&replaced);
        report_of(&shared, Some(replaced))
    } else {
        report_of(&stored, None)
    };
    if arguments.json {
        output::print(&output::json(&report)?)?;
    }
    let page = match &arguments.output {
        None if arguments.json => None,
        output => Some(output.clone().unwrap_or_else(|| PathBuf::from(PAGE))),
    };
    if let Some(page) = page {
        write(&page, &run_page(&report))?;
        if page != Path::new("-") && !arguments.json {
            said(&report, &page, colour)?;
        }
    }
    Ok(exit::CLEAN)
}

fn said(report: &RunReport, page: &Path, colour: ColorChoice) -> anyhow::Result<()> {
    output::print(&run_report::view(report, output::palette(colour)))?;
    output::tell(&format!("{}\n", page.display()));
    Ok(())
}

fn two(arguments: &Report, paths: [&PathBuf; 2], colour: ColorChoice) -> anyhow::Result<ExitCode> {
    for path in paths {
        refuse_to_replace(path, arguments.output.as_ref())?;
    }
    let stored: [Run; 2] = [read_run(paths[0])?, read_run(paths[1])?];
    let (runs, replaced) = if arguments.share {
        let (runs, replaced) = share_together(&stored);
        tell_replaced(&replaced);
        (runs, Some(replaced))
    } else {
        (stored, None)
    };
    let [old, new] = &runs;
    let reports = [report_of(old, None), report_of(new, None)];
    let found = comparison([old, new], [&reports[0], &reports[1]], replaced);
    let to_stdout = arguments.output.as_deref() == Some(Path::new("-"));
    if arguments.json {
        output::print(&output::json(&found)?)?;
    } else if !to_stdout {
        output::print(&compare::view(&found, output::palette(colour)))?;
    }
    if let Some(page) = &arguments.output {
        write(page, &compare_page(&found))?;
    }
    Ok(if found.worse > 0 {
        exit::faults()
    } else {
        exit::CLEAN
    })
}

fn write(page: &Path, text: &str) -> anyhow::Result<()> {
    if page == Path::new("-") {
        output::print(text)?;
    } else {
        files::replace(page, text)?;
    }
    Ok(())
}

/// On stderr: what is shared is on its way elsewhere.
fn tell_replaced(replaced: &[Replaced]) {
    let words: Vec<String> = replaced.iter().map(ToString::to_string).collect();
    let words = if words.is_empty() {
        "nothing: there was no name in it".to_owned()
    } else {
        words.join(", ")
    };
    output::tell(&format!("replaced: {words}\n"));
}
