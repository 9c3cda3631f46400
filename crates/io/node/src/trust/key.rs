//! A party's own key pair, made where it stays.

use std::{fs, path::Path, time::Duration};

use crosstie_durable::{RealDisk, parent_folder, publish, remove};
use crosstie_facts::ReadGap;
use crosstie_model::distribution::DEBIAN;
use crosstie_trust::{KeyOwner, PublicKey};

use super::HomeTrustError;
use crate::command::{CommandLimits, run};

const TEMPORARY: &str = ".id_new";
const TEMPORARY_PUBLIC: &str = ".id_new.pub";

/// All that may be found of it.
pub(super) const FILES: [&str; 4] = ["id_ed25519", "id_ed25519.pub", TEMPORARY, TEMPORARY_PUBLIC];

/// The public half, where there is a pair.
pub(super) fn public(identity: &Path) -> Result<Option<PublicKey>, HomeTrustError> {
    if !identity.is_file() {
        return Ok(None);
    }
    let path = identity.with_extension("pub");
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(_) => keygen(&["-y", "-f", &identity.display().to_string()])?,
    };
    let key = text.parse();
    key.map(Some)
        .map_err(|source| HomeTrustError::Key { path, source })
}

/// The private half gets its name last: where it is, the pair is whole.
pub(super) fn make(identity: &Path, owner: &KeyOwner) -> Result<PublicKey, HomeTrustError> {
    let folder = parent_folder(identity);
    let [private_half, public_half] = [TEMPORARY, TEMPORARY_PUBLIC].map(|name| folder.join(name));
    let failed = |error| HomeTrustError::io("make", identity)(error);
    for path in [&private_half, &public_half] {
        remove(path).map_err(failed)?;
    }
    let comment = format!("crosstie:{owner}");
    let path = private_half.display().to_string();
    keygen(&["-q", "-t", "ed25519", "-N", "", "-C", &comment, "-f", &path])?;
    let public_name = identity.with_extension("pub");
    let names = [(&*public_half, &*public_name), (&*private_half, identity)];
    publish(&RealDisk, &names).map_err(failed)?;
    public(identity)?.ok_or_else(|| HomeTrustError::Keygen {
        why: format!("ssh-keygen left no key in {}", identity.display()),
    })
}

fn keygen(arguments: &[&str]) -> Result<String, HomeTrustError> {
    let bounds = CommandLimits {
        deadline: Duration::from_secs(20),
        output: 64 << 10,
    };
    let output = run("ssh-keygen", arguments, bounds).map_err(|gap| HomeTrustError::Keygen {
        why: match gap {
            ReadGap::Absent => format!(
                "there is no ssh-keygen ({} package {})",
                DEBIAN.name, DEBIAN.packages.ssh_client
            ),
            other => format!("ssh-keygen: {other:?}"),
        },
    })?;
    Ok(String::from_utf8_lossy(&output).into_owned())
}
