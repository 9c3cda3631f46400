//! Kernel parameters, as GRUB's drop-ins on Debian and Ubuntu set them.

use crate::Hit;

impl Hit {
    /// The commands that add a kernel parameter for every later start. A parameter that is given twice has its last
    /// value, and drop-ins come last.
    #[must_use]
    pub fn kernel_parameter(self, parameter: &str) -> Self {
        let name = parameter.split('=').next().unwrap_or(parameter);
        let file = format!("/etc/default/grub.d/99-{}.cfg", name.replace('.', "-"));
        let line =
            format!(r#"GRUB_CMDLINE_LINUX_DEFAULT="$GRUB_CMDLINE_LINUX_DEFAULT {parameter}""#);
        self.command(format!("echo '{line}' | sudo tee {file}"))
            .command("sudo update-grub")
            .command("sudo systemctl reboot")
    }
}
