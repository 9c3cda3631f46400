//! The architectures of nodes. One that is not this machine's is emulated.

use std::fmt;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Arch {
    #[serde(rename = "x86_64")]
    X86,
    #[serde(rename = "aarch64")]
    Arm,
}

impl Arch {
    /// Of this machine, where the program runs that was built for it.
    pub const HOST: Self = if cfg!(target_arch = "aarch64") {
        Self::Arm
    } else {
        Self::X86
    };

    /// As `uname -m` says it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::X86 => "x86_64",
            Self::Arm => "aarch64",
        }
    }

    pub(crate) const fn debian(self) -> &'static str {
        match self {
            Self::X86 => "amd64",
            Self::Arm => "arm64",
        }
    }

    pub(crate) const fn emulator(self) -> &'static str {
        match self {
            Self::X86 => "qemu-system-x86_64",
            Self::Arm => "qemu-system-aarch64",
        }
    }

    /// Runs single programs of this architecture, on behalf of the kernel's `binfmt_misc`.
    pub(crate) const fn user_emulator(self) -> &'static str {
        match self {
            Self::X86 => "qemu-x86_64-static",
            Self::Arm => "qemu-aarch64-static",
        }
    }
}

impl Default for Arch {
    fn default() -> Self {
        Self::HOST
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn here_is_what_the_kernel_says() {
        let system = rustix::system::uname();
        assert_eq!(system.machine().to_bytes(), Arch::HOST.name().as_bytes());
    }
}
