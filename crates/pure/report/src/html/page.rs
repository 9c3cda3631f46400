//! The frame of a page.

use base64::{Engine, engine::general_purpose::STANDARD};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

use crate::text::is_hostile;

const STYLE: &str = include_str!("style.css");

pub(super) struct HtmlPage<'a> {
    pub(super) title: &'a str,
    /// Below the title.
    pub(super) meta: &'a str,
    /// Ids and names, for the navigation.
    pub(super) sections: &'a [(&'a str, &'a str)],
    pub(super) body: Markup,
}

pub(super) fn page(page: &HtmlPage) -> String {
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy());
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="referrer" content="no-referrer";
                meta name="robots" content="noindex";
                meta name="generator" content=(concat!("crosstie ", env!("CARGO_PKG_VERSION")));
                title { (page.title) }
                // An empty icon, else a browser asks the server for one.
                link rel="icon" href="data:,";
                style { (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#verdict" { "Skip to the verdict" }
                header.top {
                    h1 { (page.title) }
                    p.meta { (page.meta) }
                    nav aria-label="Sections" {
                        ul {
                            @for (id, name) in page.sections {
                                li { a href={ "#" (id) } { (name) } }
                            }
                        }
                    }
                }
                main { (page.body) }
                footer {
                    p {
                        "Made by Crosstie " (env!("CARGO_PKG_VERSION"))
                        ". This page is one file: it loads nothing and sends nothing."
                    }
                }
            }
        }
    };
    neutral(&markup.into_string())
}

/// Nothing but this very style sheet: a page that was tampered with still runs and loads nothing.
fn policy() -> String {
    let digest = STANDARD.encode(Sha256::digest(STYLE));
    format!(
        "default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    )
}

/// Characters that hide or reorder what stands around them are shown as replaced. Line ends are ours and do no harm.
fn neutral(page: &str) -> String {
    let keep = |c: char| c == '\n' || !is_hostile(c);
    page.chars()
        .map(|c| if keep(c) { c } else { '\u{fffd}' })
        .collect()
}
