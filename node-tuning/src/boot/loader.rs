//! Where kernel parameters for the next boot are written.

use std::path::PathBuf;

use super::{Parameter, Parameters};
use crate::system::{Loader, Place, System, Value};

/// The file of the boot loader that our parameters stand in.
#[derive(Debug, Clone)]
pub struct BootFile {
    loader: Loader,
    path: PathBuf,
    /// What the file says now; with GRUB and the appliance it is ours, and says only what we want.
    pub parameters: Parameters,
    /// What it would say to the same effect as there being none.
    instead: Value,
    /// What GRUB's configuration says, where it is made already: what counts at the next boot.
    menu: Option<String>,
}

/// Why there is no such file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoLoader {
    /// GRUB reads no drop-ins here.
    #[error("cannot write kernel parameters: /etc/default/grub.d is missing; is this GRUB?")]
    NoDropIns,
    /// None that is known.
    #[error(
        "no boot loader is found that takes kernel parameters: neither GRUB nor systemd-boot nor the appliance's"
    )]
    Unknown,
}

/// What says that this node is the appliance.
const APPLIANCE: &str = "/etc/jitterlab/appliance";
const APPLIANCE_PARAMETERS: &str = "/etc/jitterlab/kernel-parameters";
/// Where systemd-boot keeps its configuration: on one of the places of the boot partition.
const SYSTEMD_BOOT: [&str; 3] = [
    "/boot/loader/loader.conf",
    "/efi/loader/loader.conf",
    "/boot/efi/loader/loader.conf",
];
const KERNEL_INSTALL: &str = "/etc/kernel/cmdline";
const GRUB: &str = "/etc/default/grub";
const GRUB_DROP_INS: &str = "/etc/default/grub.d";
/// After those of cloud images (50-) and of Debian's installer: ours has the last word.
const GRUB_DROP_IN: &str = "/etc/default/grub.d/95-jitterlab.cfg";

/// How a line of a drop-in for GRUB begins and ends.
///
/// The defaults come last on GRUB's command line, and not on that of rescue entries, which are to boot
/// whatever we want.
const ASSIGNMENT: (&str, &str) = (
    "GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT ",
    "\"",
);
const GRUB_MENUS: [&str; 2] = ["/boot/grub/grub.cfg", "/boot/grub2/grub.cfg"];

impl BootFile {
    /// The file of the loader that this node has.
    ///
    /// # Errors
    /// It has none that is known.
    pub fn find(system: &System) -> Result<Self, NoLoader> {
        let (loader, path) = if system.exists(APPLIANCE) {
            (Loader::Appliance, APPLIANCE_PARAMETERS)
        } else if SYSTEMD_BOOT.iter().any(|path| system.exists(path)) {
            (Loader::KernelInstall, KERNEL_INSTALL)
        } else if system.exists(GRUB_DROP_INS) {
            (Loader::Grub, GRUB_DROP_IN)
        } else if system.exists(GRUB) {
            return Err(NoLoader::NoDropIns);
        } else {
            return Err(NoLoader::Unknown);
        };
        let text = system.text(path);
        let line = match (loader, &text) {
            (Loader::Grub, Some(text)) => assigned(text),
            (_, Some(text)) => text.clone(),
            // Without the file, kernel-install gives a new kernel what the running one has.
            (Loader::KernelInstall, None) => system.text("/proc/cmdline").unwrap_or_default(),
            (_, None) => String::new(),
        };
        let mut parameters = Parameters::parse(&line);
        if loader == Loader::KernelInstall {
            // What the loader adds by itself.
            parameters.remove("BOOT_IMAGE");
            parameters.remove("initrd");
        }
        let instead = (loader == Loader::KernelInstall).then(|| format!("{parameters}\n"));
        let menus = GRUB_MENUS.iter().filter(|_| loader == Loader::Grub);
        let menu = menus.filter_map(|menu| system.text(menu)).next();
        Ok(BootFile {
            loader,
            path: path.into(),
            parameters,
            instead,
            menu,
        })
    }

    /// Its place.
    pub fn place(&self) -> Place {
        Place::BootFile {
            path: self.path.clone(),
            loader: self.loader,
            instead: self.instead.clone(),
        }
    }

    /// Whether the next boot has a parameter from here: the file says so, and what is made of it.
    pub fn gives(&self, wanted: &Parameter) -> bool {
        let made = self
            .menu
            .as_ref()
            .is_none_or(|menu| menu.contains(&wanted.to_string()));
        made && self.parameters.last(&wanted.key) == Some(wanted)
    }

    /// Its content with `wanted` put in.
    pub fn with(&self, wanted: &[Parameter]) -> Value {
        let mut parameters = self.parameters.clone();
        for parameter in wanted {
            parameters.set(parameter.clone());
        }
        Some(match self.loader {
            Loader::Grub => format!(
                "# Written by `jitterlab tune apply`, which `jitterlab tune revert` undoes.\n{}{parameters}{}\n",
                ASSIGNMENT.0, ASSIGNMENT.1
            ),
            Loader::KernelInstall | Loader::Appliance => format!("{parameters}\n"),
        })
    }
}

/// The parameters in a drop-in of ours.
fn assigned(text: &str) -> String {
    text.lines()
        .find_map(|line| line.strip_prefix(ASSIGNMENT.0)?.strip_suffix(ASSIGNMENT.1))
        .unwrap_or_default()
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn node(files: &[(&str, &str)]) -> (tempfile::TempDir, System) {
        let root = tempfile::tempdir().unwrap();
        for (path, content) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        let system = System::at(root.path(), "jitterlab");
        (root, system)
    }

    #[test]
    fn a_drop_in_for_grub_is_ours_alone_and_read_back() {
        let (_root, system) = node(&[(
            "etc/default/grub.d/50-cloud.cfg",
            "GRUB_CMDLINE_LINUX=\"x=1\"\n",
        )]);
        let file = BootFile::find(&system).unwrap();
        let content = file.with(&[Parameter::flag("nosmt"), Parameter::new("isolcpus", "2-3")]);
        system.write(&file.place(), &content).unwrap();
        let again = BootFile::find(&system).unwrap();
        assert_eq!(again.parameters.to_string(), "nosmt isolcpus=2-3");
        assert_eq!(
            again
                .with(&[Parameter::new("isolcpus", "4")])
                .unwrap()
                .lines()
                .last()
                .unwrap(),
            "GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT nosmt isolcpus=4\""
        );
    }

    #[test]
    fn systemd_boot_keeps_what_the_command_line_says_already() {
        let (_root, system) = node(&[
            ("boot/efi/loader/loader.conf", "timeout 3\n"),
            (
                "proc/cmdline",
                "BOOT_IMAGE=/vmlinuz initrd=\\initrd root=UUID=1 quiet\n",
            ),
        ]);
        let file = BootFile::find(&system).unwrap();
        assert_eq!(
            file.with(&[Parameter::flag("nosmt")]).unwrap(),
            "root=UUID=1 quiet nosmt\n"
        );
    }

    #[test]
    fn the_appliance_comes_first_and_nothing_is_said_to_be_nothing() {
        let (_root, system) = node(&[
            ("etc/jitterlab/appliance", ""),
            ("etc/default/grub.d/a.cfg", ""),
        ]);
        assert!(matches!(
            BootFile::find(&system).unwrap().place(),
            Place::BootFile {
                loader: Loader::Appliance,
                ..
            }
        ));
        let (_root, system) = node(&[("etc/default/grub", "")]);
        assert_eq!(BootFile::find(&system).unwrap_err(), NoLoader::NoDropIns);
        let (_root, system) = node(&[("etc/hostname", "")]);
        assert_eq!(BootFile::find(&system).unwrap_err(), NoLoader::Unknown);
    }
}
