//! How large the buffers of a TCP socket may grow.

use crosstie_model::Facts;

use crate::files::paths;

/// What one stream on a fast cable needs: 256 MiB.
pub const SOCKET_BUFFER_BYTES: u64 = 256 << 20;

const LIMITS: [&str; 2] = ["net.core.rmem_max", "net.core.wmem_max"];

/// What the file has to hold: a limit that is right by now came from somewhere, maybe from a file of ours that was lost,
/// and with a boot only what is written counts. One that somebody set higher is left alone, and a line of ours stays.
pub(super) fn sysctls(facts: &Facts) -> Vec<(String, String)> {
    if facts.system.container.known().is_some() {
        return Vec::new();
    }
    let own = facts
        .managed
        .files
        .get(&paths::sysctl(&facts.distribution().folders));
    let wanted = SOCKET_BUFFER_BYTES.to_string();
    let is_wanted = |name: &&str| {
        let line = format!("{} = {wanted}", name.replace('.', "/"));
        let is_ours = own.is_some_and(|text| text.lines().any(|own| own == line));
        is_ours || running(facts, name).is_some_and(|value| value <= SOCKET_BUFFER_BYTES)
    };
    let names = LIMITS.iter().filter(|name| is_wanted(name));
    names
        .map(|name| ((*name).to_owned(), wanted.clone()))
        .collect()
}

/// A limit that somebody set higher since is not lowered.
pub(super) fn is_set_higher(facts: &Facts, name: &str) -> bool {
    LIMITS.contains(&name) && running(facts, name).is_some_and(|value| value > SOCKET_BUFFER_BYTES)
}

fn running(facts: &Facts, name: &str) -> Option<u64> {
    facts.sysctls.get(name)?.trim().parse().ok()
}

fn is_low(facts: &Facts, name: &str) -> bool {
    running(facts, name).is_some_and(|value| value < SOCKET_BUFFER_BYTES)
}

/// These are the kernel's, and so the host's.
pub(super) fn note(facts: &Facts) -> Option<String> {
    facts.system.container.known()?;
    let low = LIMITS.iter().any(|name| is_low(facts, name));
    low.then(|| {
        format!(
            "{} are below {SOCKET_BUFFER_BYTES}: raise them on the host of this container",
            LIMITS.join(" and ")
        )
    })
}
