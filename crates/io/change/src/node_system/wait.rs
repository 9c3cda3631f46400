//! Waiting for a moment that is counted from the boot, sleep of the machine included.

use std::{
    env, io,
    os::{
        linux::net::SocketAddrExt,
        unix::ffi::OsStrExt,
        unix::net::{SocketAddr, UnixDatagram},
    },
    time::Duration,
};

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

/// What the one who waits says of itself to systemd.
pub(super) fn status(until: Duration) -> String {
    format!("waits until {} ms after the boot", until.as_millis())
}

/// Tells systemd, then returns at `until` of `CLOCK_BOOTTIME`: at once where that has passed, or passes while the machine
/// sleeps and it wakes up.
pub(crate) fn wait_until(until: Duration) -> io::Result<()> {
    let timer = timerfd_create(TimerfdClockId::Boottime, TimerfdFlags::CLOEXEC)?;
    let moment = Timespec {
        tv_sec: i64::try_from(until.as_secs()).unwrap_or(i64::MAX),
        // Zero would switch the timer off.
        tv_nsec: i64::from(until.subsec_nanos().max(1)),
    };
    let never = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    timerfd_settime(
        &timer,
        TimerfdTimerFlags::ABSTIME,
        &Itimerspec {
            it_interval: never,
            it_value: moment,
        },
    )?;
    notify(&format!("READY=1\nSTATUS={}", status(until)))?;
    let mut count = [0; 8];
    rustix::io::retry_on_intr(|| rustix::io::read(&timer, &mut count))?;
    Ok(())
}

/// `sd_notify(3)`. Whoever starts this by hand has no socket for it.
fn notify(text: &str) -> io::Result<()> {
    let Some(path) = env::var_os("NOTIFY_SOCKET") else {
        return Ok(());
    };
    let address = match path.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(&path)?,
    };
    UnixDatagram::unbound()?.send_to_addr(text.as_bytes(), &address)?;
    Ok(())
}
