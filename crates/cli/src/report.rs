//! `crosstie report`: a stored run as a page, and two runs compared.

use std::{
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::bail;
use crosstie_control::{
    files,
    report::{self as control, ReportOptions},
};
use crosstie_report::{
    compare,
    html::{compare_page, run_page},
    run_report::{self, replaced_line},
};
use crosstie_terminal::ColourChoice;

use crate::{args::report::ReportArgs, exit, output};

/// What a page of ours has among the first of its lines, and how far one has to look for it.
const PAGE_MARK: &str = r#"<meta name="generator" content="crosstie "#;
const HEAD_BYTES: u64 = 4096;

/// Where the page of one run goes, if nothing else is asked for.
const DEFAULT_PAGE_FILE: &str = "report.html";

pub(crate) fn run(arguments: &ReportArgs, colour: ColourChoice) -> anyhow::Result<ExitCode> {
    let to_stdout = arguments.output.as_deref() == Some(Path::new("-"));
    if arguments.json && to_stdout {
        bail!("--json and `-o -` both want standard output; give the page a file");
    }
    let page = match &arguments.output {
        None if !arguments.json && arguments.new.is_none() => {
            Some(PathBuf::from(DEFAULT_PAGE_FILE))
        }
        output => output.clone(),
    };
    let options = ReportOptions {
        cluster: &arguments.cluster,
        share: arguments.share,
        page: page.as_deref(),
    };
    let palette = colour.palette();
    if let (Some(old), Some(new)) = (&arguments.run, &arguments.new) {
        let found = control::compare(old, new, &options)?;
        output::print_sentences(&replaced_line(found.replaced.as_deref()));
        if !to_stdout {
            output::report(arguments.json, &found, || compare::view(&found, palette))?;
        }
        write(page.as_deref(), || compare_page(&found))?;
        return Ok(exit::faults_if(found.worse > 0));
    }
    let report = control::report(arguments.run.as_deref(), &options)?;
    output::print_sentences(&replaced_line(report.replaced.as_deref()));
    if arguments.json {
        output::print_json(&report)?;
    }
    if arguments.output.is_none() && page.as_deref().is_some_and(is_foreign) {
        bail!(
            "{DEFAULT_PAGE_FILE} is there, and is no page of Crosstie's: give this one another file by -o, or pass \
             -o {DEFAULT_PAGE_FILE} to replace it"
        );
    }
    write(page.as_deref(), || run_page(&report))?;
    if let Some(page) = page.filter(|_| !to_stdout && !arguments.json) {
        output::print(&run_report::view(&report, palette))?;
        output::print_stderr(&format!("{}\n", page.display()));
    }
    Ok(exit::CLEAN)
}

/// Somebody's own file: its head says who made it. What is no file is not waited for, and refused when it is to be replaced.
fn is_foreign(page: &Path) -> bool {
    if !fs::metadata(page).is_ok_and(|found| found.is_file()) {
        return false;
    }
    let head = File::open(page).and_then(|file| {
        let mut head = Vec::new();
        file.take(HEAD_BYTES).read_to_end(&mut head)?;
        Ok(head)
    });
    !head.is_ok_and(|head| String::from_utf8_lossy(&head).contains(PAGE_MARK))
}

fn write(page: Option<&Path>, text: impl FnOnce() -> String) -> anyhow::Result<()> {
    match page {
        Some(page) if page == Path::new("-") => output::print(&text())?,
        Some(page) => files::replace(page, &text())?,
        None => {}
    }
    Ok(())
}
