//! The kernel's log, record by record from `/dev/kmsg`, as `dmesg` prints it.

use std::{
    fmt::Write as _,
    time::{Duration, Instant},
};

use crosstie_facts::{ReadGap, collect::cut_log};
use rustix::{
    fs::{Mode, OFlags},
    io::Errno,
};

use crate::{
    command::{CommandLimits, run},
    local_file_tree::gap,
};

/// One read gives one record; the kernel's own buffer for it is 2 KiB.
const RECORD: usize = 8 << 10;
/// The facility of the kernel's own messages (linux/syslog.h); a priority holds it above the three bits of the level.
const KERNEL: u32 = 0;
const MAX_LOG: usize = 16 << 20;
const READ_TIMEOUT: Duration = Duration::from_secs(2);

pub(super) fn read() -> Result<Vec<u8>, ReadGap> {
    match records() {
        // Containers have no such device, and may have the system call that dmesg falls back to.
        Err(ReadGap::Absent) => {
            let bounds = CommandLimits {
                deadline: READ_TIMEOUT,
                output: MAX_LOG,
            };
            run("dmesg", &["--kernel"], bounds)
        }
        other => other.map(String::into_bytes),
    }
}

fn records() -> Result<String, ReadGap> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let device = rustix::fs::open("/dev/kmsg", flags, Mode::empty()).map_err(gap)?;
    let until = Instant::now() + READ_TIMEOUT;
    let mut text = String::new();
    let mut record = [0; RECORD];
    let mut is_whole = true;
    while text.len() < MAX_LOG && Instant::now() < until {
        match rustix::io::read(&device, &mut record[..]) {
            Ok(0) | Err(Errno::AGAIN) => {
                return Ok(if is_whole { text } else { cut_log(&text) });
            }
            Ok(length) => line(&record[..length], &mut text),
            Err(Errno::INTR) => {}
            // Records were overwritten before they were read, or one is longer than any should be.
            Err(Errno::PIPE | Errno::INVAL) => is_whole = false,
            Err(errno) => return Err(gap(errno)),
        }
    }
    Ok(cut_log(&text))
}

/// `priority,sequence,microseconds,flags;message`, then lines of key and value, which start with a space
/// (Documentation/ABI/testing/dev-kmsg).
fn line(record: &[u8], text: &mut String) {
    let record = String::from_utf8_lossy(record);
    let Some((head, message)) = record.split_once(';') else {
        return;
    };
    // Programs may write to the log too, and write there what they like.
    let priority = head.split(',').next().and_then(|word| word.parse().ok());
    if priority.is_none_or(|priority: u32| priority >> 3 != KERNEL) {
        return;
    }
    let time = head
        .split(',')
        .nth(2)
        .and_then(|time| time.parse::<u64>().ok());
    let Some(time) = time else { return };
    let message = message.split('\n').next().unwrap_or_default();
    let (seconds, rest) = (time / 1_000_000, time % 1_000_000);
    let _ = writeln!(text, "[{seconds:5}.{rest:06}] {message}");
}

#[cfg(test)]
mod tests {
    use crosstie_facts::{CaptureEntry, collect::command};

    use super::*;

    #[test]
    fn records_read_as_dmesg_prints_them() {
        let mut text = String::new();
        for record in [
            &b"6,12,1000042,-;mlx5_core 0000:01:00.0: a; b\n SUBSYSTEM=pci\n DEVICE=+pci:0000:01:00.0\n"[..],
            b"4,13,123456789012,c;late",
            b"no record",
            b"6,1,x,-;no time",
            b"30,14,123456789013,-;systemd[1]: a program's",
            b"\xff\xfe;",
        ] {
            line(record, &mut text);
        }
        let expected = "[    1.000042] mlx5_core 0000:01:00.0: a; b\n[123456.789012] late\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn the_log_is_what_dmesg_shows() {
        let printed = run("dmesg", &["--kernel"], CommandLimits::default());
        match (printed, read()) {
            (Ok(printed), Ok(read)) => {
                let kept = |output| command("dmesg.txt", &CaptureEntry::File(output));
                assert_eq!(kept(read), kept(printed));
            }
            (printed, read) => assert_eq!(read.err(), printed.err()),
        }
    }
}
