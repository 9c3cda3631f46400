//! How large the buffers of a TCP socket may grow.

use crosstie_model::Facts;

use crate::files::paths;

/// What one stream on a fast cable needs: 256 MiB.
pub const SOCKET_BUFFER_BYTES: u64 = 256 << 20;

const LIMITS: [&str; 2] = ["net.core.rmem_max", "net.core.wmem_max"];

/// Limits that are too low. One that is ours stays ours; one that somebody set higher is left alone.
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
        is_low(facts, name) || (is_ours && facts.sysctls.get(*name) == Some(&wanted))
    };
    let names = LIMITS.iter().filter(|name| is_wanted(name));
    names
        .map(|name| ((*name).to_owned(), wanted.clone()))
        .collect()
}

fn is_low(facts: &Facts, name: &str) -> bool {
    let value = facts.sysctls.get(name);
    let value = value.and_then(|value| value.trim().parse::<u64>().ok());
    value.is_some_and(|value| value < SOCKET_BUFFER_BYTES)
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
