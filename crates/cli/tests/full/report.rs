//! Reports in a real browser: nothing is asked for, and nothing is complained of.

use std::{
    fs,
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use crate::made_up;

/// Seconds for one page.
const PATIENCE: &str = "120";

/// Chromium's own traffic is off; what is left is the page's.
fn browse(folder: &Path, page: &Path, more: &[&str]) -> (Output, String) {
    let log = folder.join("net-log.json");
    let profile = folder.join("profile");
    let output = Command::new("timeout")
        .args([
            PATIENCE,
            "chromium",
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
        ])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
        ])
        .args([
            "--disable-default-apps",
            "--disable-extensions",
            "--no-pings",
        ])
        .args(["--enable-logging=stderr", "--log-level=0"])
        // Nobody out there is asked by a test.
        .arg("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1")
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("--log-net-log={}", log.display()))
        .args(more)
        .arg(format!("file://{}", page.display()))
        .output()
        .expect("timeout and chromium (Debian package chromium)");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "chromium failed: {said}");
    let log = fs::read_to_string(log).expect("chromium wrote a log of its requests");
    (output, log)
}

/// Lines of the page's own console.
fn console(output: &Output) -> Vec<String> {
    let said = String::from_utf8_lossy(&output.stderr);
    let lines = said.lines().filter(|line| line.contains("CONSOLE"));
    lines.map(str::to_owned).collect()
}

/// Hosts that Chromium asks for its own sake, whatever the page is: time, accounts, updates.
const BROWSERS_OWN: [&str; 3] = [".google.com/", ".googleapis.com/", ".gvt1.com/"];

/// Whatever the log says was asked of a network, but for the browser's own questions.
fn requests(log: &str) -> Vec<&str> {
    let urls = log.split("\"url\":\"").skip(1);
    let urls = urls.filter_map(|rest| rest.split('"').next());
    let urls = urls.filter(|url| url.starts_with("http") || url.starts_with("ws"));
    urls.filter(|url| !BROWSERS_OWN.iter().any(|own| url.contains(own)))
        .collect()
}

fn pages(folder: &Path) -> Vec<PathBuf> {
    let write = |name: &str, run: &crosstie_model::run::StoredRun| {
        fs::write(folder.join(name), made_up::file(run)).unwrap();
    };
    write("two-sparks.jsonl", &made_up::two_sparks(false));
    write("slow.jsonl", &made_up::two_sparks(true));
    write("sixteen.jsonl", &made_up::sixteen());
    write("hostile.jsonl", &made_up::hostile());
    let report = |arguments: &[&str], page: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crosstie"));
        command
            .arg("report")
            .args(arguments)
            .args(["-o", page])
            .current_dir(folder);
        let output = command.output().unwrap();
        assert!(
            output.status.code() < Some(2),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        folder.join(page)
    };
    vec![
        report(&["two-sparks.jsonl"], "two-sparks.html"),
        report(&["slow.jsonl", "--share"], "slow.html"),
        report(&["sixteen.jsonl"], "sixteen.html"),
        report(&["hostile.jsonl"], "hostile.html"),
        report(&["two-sparks.jsonl", "slow.jsonl"], "compared.html"),
        report(
            &["two-sparks.jsonl", "hostile.jsonl"],
            "compared-hostile.html",
        ),
    ]
}

#[test]
fn full_reports_ask_for_nothing_and_complain_of_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for page in pages(folder.path()) {
        let text = fs::read_to_string(&page).unwrap();
        for own in BROWSERS_OWN {
            assert!(!text.contains(own), "{own}");
        }
        let (output, log) = browse(folder.path(), &page, &["--dump-dom"]);
        let shown = page.display();
        assert_eq!(console(&output), Vec::<String>::new(), "{shown}");
        assert_eq!(requests(&log), Vec::<&str>::new(), "{shown}");
        let dom = String::from_utf8_lossy(&output.stdout);
        assert!(dom.contains("id=\"verdict\""), "{shown}: nothing was drawn");
        for forbidden in [
            "<script",
            "<img",
            "onerror=\"",
            "onload=\"",
            "onmouseover=\"",
        ] {
            assert!(!dom.contains(forbidden), "{shown}: {forbidden}");
        }
        let picture = folder.path().join("page.png");
        let argument = format!("--screenshot={}", picture.display());
        browse(folder.path(), &page, &["--window-size=390,844", &argument]);
        assert!(fs::metadata(&picture).unwrap().len() > 5_000, "{shown}");
        let paper = folder.path().join("page.pdf");
        let argument = format!("--print-to-pdf={}", paper.display());
        browse(folder.path(), &page, &[&argument]);
        assert!(fs::read(&paper).unwrap().starts_with(b"%PDF"), "{shown}");
    }
}

/// The same look finds a request and an error where there are some: silence above is no accident.
#[test]
fn full_a_page_that_asks_is_seen() {
    let folder = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let page = folder.path().join("loud.html");
    let text = format!(
        "<!doctype html><img src=\"http://{address}/x.png\"><script>console.error('loud')</script>"
    );
    fs::write(&page, text).unwrap();
    // Answered by nobody: the request is what counts.
    drop(listener);
    let (output, log) = browse(folder.path(), &page, &["--dump-dom"]);
    assert!(
        console(&output).iter().any(|line| line.contains("loud")),
        "{:?}",
        console(&output)
    );
    assert!(
        requests(&log).iter().any(|url| url.contains("x.png")),
        "{:?}",
        requests(&log)
    );
}
