//! Pieces of a log to lines, and those that matter to messages.

use crosstie_model::Facts;
use memchr::{memchr, memchr_iter, memmem, memrchr};

use crate::{
    line::{NCCL_MARK, segments, without_colours},
    message::{message, version},
    report::NcclLogReport,
    state::NcclLogState,
};

/// NCCL cuts its lines at 4 KiB; launchers add little. Of a longer line the rest is left out.
const MAX_LINE: usize = 16 << 10;

/// vLLM tells the version of the library that it loaded.
const VLLM_VERSION: &[u8] = b"using nccl==";

/// A log on its way through.
pub struct NcclLogReader {
    state: NcclLogState,
    /// The line that is not complete yet, or its first [`MAX_LINE`] bytes.
    unfinished: Vec<u8>,
    /// Complete lines so far.
    lines: u64,
    mark: memmem::Finder<'static>,
    vllm: memmem::Finder<'static>,
}

impl Default for NcclLogReader {
    fn default() -> Self {
        Self {
            state: NcclLogState::default(),
            unfinished: Vec::new(),
            lines: 0,
            mark: memmem::Finder::new(NCCL_MARK),
            vllm: memmem::Finder::new(VLLM_VERSION),
        }
    }
}

impl NcclLogReader {
    pub fn new() -> Self {
        Self::default()
    }

    /// The next piece of the log, cut anywhere.
    pub fn feed(&mut self, mut piece: &[u8]) {
        if !self.unfinished.is_empty() {
            let end = memchr(b'\n', piece);
            self.extend(&piece[..end.unwrap_or(piece.len())]);
            let Some(end) = end else { return };
            self.finish_line();
            piece = &piece[end + 1..];
        }
        let complete = memrchr(b'\n', piece).map_or(0, |at| at + 1);
        self.block(&piece[..complete]);
        self.extend(&piece[complete..]);
    }

    /// What it all says. The facts of the nodes, where they are known, tell what the log cannot: twins and GPUs.
    pub fn finish(mut self, facts: &[Facts]) -> NcclLogReport {
        if !self.unfinished.is_empty() {
            self.finish_line();
        }
        NcclLogReport::new(&self.state, self.lines, facts)
    }

    fn extend(&mut self, bytes: &[u8]) {
        let room = MAX_LINE - self.unfinished.len();
        self.unfinished
            .extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn finish_line(&mut self) {
        let mut line = std::mem::take(&mut self.unfinished);
        self.lines += 1;
        if self.mark.find(&line).is_some() {
            take(&mut self.state, &self.mark, &line, self.lines);
        }
        if self.vllm.find(&line).is_some() {
            take_vllm(&mut self.state, &line);
        }
        line.clear();
        self.unfinished = line;
    }

    /// Whole lines. Most do not hold the words looked for, so those are searched, not the line ends.
    fn block(&mut self, block: &[u8]) {
        let state = &mut self.state;
        let mut number = self.lines;
        let counted = lines_with(&self.mark, block, |line, skipped| {
            number += skipped;
            take(state, &self.mark, line, number);
        });
        self.lines = number + counted;
        lines_with(&self.vllm, block, |line, _| take_vllm(state, line));
    }
}

/// Calls with each line that holds the words, and how many lines further that is than the one before. Returns how many
/// lines follow.
fn lines_with(words: &memmem::Finder, block: &[u8], mut each: impl FnMut(&[u8], u64)) -> u64 {
    let count = |bytes: &[u8]| memchr_iter(b'\n', bytes).count() as u64;
    let mut from = 0;
    while let Some(found) = words.find(&block[from..]) {
        let found = from + found;
        let start = memrchr(b'\n', &block[from..found]).map_or(from, |at| from + at + 1);
        let end = memchr(b'\n', &block[found..]).map_or(block.len(), |at| found + at);
        let line = &block[start..end.min(start + MAX_LINE)];
        each(line, count(&block[from..start]) + 1);
        from = (end + 1).min(block.len());
    }
    count(&block[from..])
}

fn take(state: &mut NcclLogState, mark: &memmem::Finder, line: &[u8], number: u64) {
    let plain = without_colours(line);
    if plain.starts_with(b"(") && memmem::find(&plain, b"x across cluster]").is_some() {
        state.ray_merged = true;
    }
    let mut spoken = false;
    segments(&plain, mark, |segment| {
        spoken = true;
        state.messages += 1;
        if let Some(message) = message(segment.message) {
            state.take(&segment, number, message);
        }
    });
    // Until 2.23 the version is printed bare.
    if !spoken && let Some(at) = memmem::find(&plain, b"NCCL version ") {
        let text = String::from_utf8_lossy(&plain[at..]);
        if let Some(version) = version(&text) {
            state.version(version);
        }
    }
}

fn take_vllm(state: &mut NcclLogState, line: &[u8]) {
    let Some(at) = memmem::find(line, VLLM_VERSION) else {
        return;
    };
    let text = String::from_utf8_lossy(&line[at + VLLM_VERSION.len()..]);
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.'));
    state.version(text[..end.unwrap_or(text.len())].trim_end_matches('.'));
}
