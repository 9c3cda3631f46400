//! What differs between the machines of two architectures.

use crate::arch::Arch;

pub(super) struct QemuBoard {
    /// QEMU's `-machine`.
    pub(super) machine: &'static str,
    /// `-cpu` where it is emulated.
    pub(super) emulated_cpu: &'static str,
    /// The serial console, as the kernel calls it.
    pub(super) console: &'static str,
    pub(super) devices: &'static [&'static str],
}

const X86: QemuBoard = QemuBoard {
    machine: "q35,vmport=off,smbus=off,hpet=off",
    // Five-level paging costs a level on every miss of the emulated TLB.
    emulated_cpu: "max,la57=off",
    console: "ttyS0",
    // Tells the kernel to reseed its random numbers after a snapshot was loaded. QEMU's ARM board has no such device.
    devices: &["-device", "vmgenid,guid=auto"],
};

const ARM: QemuBoard = QemuBoard {
    machine: "virt,gic-version=max",
    // The architected pointer authentication takes an emulated CPU most of its time.
    emulated_cpu: "max,pauth-impdef=on",
    console: "ttyAMA0",
    devices: &[],
};

impl QemuBoard {
    pub(super) const fn of(arch: Arch) -> Self {
        match arch {
            Arch::X86 => X86,
            Arch::Arm => ARM,
        }
    }
}
