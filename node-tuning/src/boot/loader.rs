//! The files to which kernel parameters for the next boot are written.

use std::path::PathBuf;

use super::grub::Sources;
use super::{CommandLine, Conflict, Origin, Parameter, Parameters, Verdict};
use crate::cpus::Cpu;
use crate::system::{Loader, Place, System, Value};

/// The file of the boot loader that our parameters stand in.
#[derive(Debug, Clone)]
pub struct BootFile {
    loader: Loader,
    path: PathBuf,
    /// The content of the file; with GRUB it is ours, and says only what we want.
    pub parameters: Parameters,
    /// The files that GRUB's command line is made of; other loaders make it of our file alone.
    sources: Option<Sources>,
    /// The content with which the file has the same effect as none.
    instead: Value,
    /// The command lines that the loader's configuration has, where it is made already and can be
    /// read: what counts at the next boot.
    made: Option<Vec<CommandLine>>,
}

/// Why there is no such file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoLoader {
    /// GRUB reads no drop-ins here.
    #[error(
        "cannot write kernel parameters: this node has GRUB but no /etc/default/grub.d, which GRUB of Debian and Ubuntu reads; elsewhere jitterlab needs systemd-boot with kernel-install"
    )]
    NoDropIns,
    /// None that is known.
    #[error("cannot write kernel parameters: this node has neither GRUB nor systemd-boot")]
    Unknown,
    /// The loader that started the appliance is not in it, and nothing in it outlives the boot.
    #[error(
        "the appliance keeps no kernel parameters; put `tuning: measure` or `tuning: paper` into node.yaml, and the next boot starts the kernel with them, or give them in the boot loader"
    )]
    Appliance,
}

/// The file that says that this node is the appliance.
const APPLIANCE: &str = "/etc/jitterlab/appliance";
/// The directories of systemd-boot's configuration and its entries: on one or two of the places of
/// boot partitions.
const SYSTEMD_BOOT: [&str; 3] = ["/boot/loader", "/efi/loader", "/boot/efi/loader"];
const KERNEL_INSTALL: &str = "/etc/kernel/cmdline";
/// The file with a distribution's parameters for its kernels where that file does not say.
const KERNEL_INSTALL_DEFAULT: &str = "/usr/lib/kernel/cmdline";
const GRUB: &str = "/etc/default/grub";
const GRUB_DROP_INS: &str = "/etc/default/grub.d";
/// After those of cloud images (50-) and of Debian's installer: ours has the last word.
const GRUB_DROP_IN: &str = "/etc/default/grub.d/95-jitterlab.cfg";

/// The beginning and the end of a line of a drop-in for GRUB.
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
        let has_systemd_boot = |path: &str| system.exists(format!("{path}/loader.conf"));
        let (loader, path) = if system.exists(APPLIANCE) {
            return Err(NoLoader::Appliance);
        } else if SYSTEMD_BOOT.iter().any(|path| has_systemd_boot(path)) {
            (Loader::KernelInstall, KERNEL_INSTALL)
        } else if system.exists(GRUB_DROP_INS) {
            (Loader::Grub, GRUB_DROP_IN)
        } else if system.exists(GRUB) {
            return Err(NoLoader::NoDropIns);
        } else {
            return Err(NoLoader::Unknown);
        };
        let made = match loader {
            Loader::Grub => GRUB_MENUS.iter().find_map(|menu| lines(system, menu)),
            Loader::KernelInstall => SYSTEMD_BOOT.iter().find_map(|path| entry(system, path)),
        };
        let parameters = match (loader, system.text(path)) {
            (Loader::Grub, Some(text)) => Parameters::parse(&assigned(&text)),
            (_, Some(text)) => Parameters::parse(&text),
            (Loader::KernelInstall, None) => {
                unwritten(system, made.as_deref().and_then(<[_]>::first))
            }
            (_, None) => Parameters::default(),
        };
        let instead = (loader == Loader::KernelInstall).then(|| format!("{parameters}\n"));
        Ok(BootFile {
            loader,
            path: path.into(),
            parameters,
            sources: (loader == Loader::Grub).then(|| Sources::read(system)),
            instead,
            made,
        })
    }

    /// Takes from an earlier change of this file what it would say to the same effect as there being
    /// none: now that it is there, what it says has ours in it.
    pub(super) fn remember(&mut self, place: &Place) {
        match place {
            Place::BootFile { path, instead, .. } if *path == self.path => {
                self.instead.clone_from(instead);
            }
            _ => {}
        }
    }

    /// Its place.
    pub fn place(&self) -> Place {
        Place::BootFile {
            path: self.path.clone(),
            loader: self.loader,
            instead: self.instead.clone(),
        }
    }

    /// True if a parameter of this name stands in the file.
    pub(super) fn names(&self, wanted: &Parameter) -> bool {
        self.parameters.last(&wanted.key).is_some()
    }

    /// The command line of the next boot when the file says this; and where GRUB's variable is begun anew.
    fn command_line(&self, parameters: &Parameters) -> (CommandLine, Option<Origin>) {
        match &self.sources {
            Some(sources) => sources.command_line(&self.path, &drop_in(parameters)),
            None => {
                let path = self.path.to_string_lossy();
                (at(&path, 1, parameters.clone()), None)
            }
        }
    }

    /// The next kernel's verdict on `wanted`, by the files that its command line is made of.
    pub(super) fn next(&self, wanted: &Parameter, last: Cpu) -> Verdict {
        let (line, _) = self.command_line(&self.parameters);
        line.parameters.verdict(wanted, last)
    }

    /// True if the next kernel does what `wanted` says: the files say so, and what is made of them.
    pub(super) fn gives(&self, wanted: &Parameter, last: Cpu) -> bool {
        self.is_made_with(wanted, last) && self.next(wanted, last) == Verdict::Heeded
    }

    /// The obstacle that would keep the kernel from doing what `wanted` says when all that is `planned` is written here.
    pub(super) fn obstacle(
        &self,
        wanted: &Parameter,
        planned: &[Parameter],
        last: Cpu,
    ) -> Option<Conflict> {
        let (line, begun) = self.command_line(&self.and(planned));
        match (line.parameters.verdict(wanted, last), begun) {
            (Verdict::Absent, Some(origin)) => Some(Conflict::Dropped {
                origin,
                own: self.path.clone(),
            }),
            _ => Conflict::on(&line, wanted, last),
        }
    }

    /// The obstacle in what was made of the files when ours was written: another file has had a part in that.
    pub(super) fn made_otherwise(&self, wanted: &Parameter, last: Cpu) -> Option<Conflict> {
        let told = self.names(wanted) && self.next(wanted, last) == Verdict::Heeded;
        let told = told && !self.is_made_with(wanted, last);
        let lines = self.made.iter().flatten().filter(|_| told);
        lines
            .filter_map(|line| Conflict::on(line, wanted, last))
            .next()
    }

    /// True if the loader's configuration has a parameter, wherever it has it from. One that cannot be
    /// read is taken to have it.
    pub(super) fn is_made_with(&self, wanted: &Parameter, last: Cpu) -> bool {
        let has = |line: &CommandLine| line.parameters.verdict(wanted, last) == Verdict::Heeded;
        self.made.as_ref().is_none_or(|lines| lines.iter().any(has))
    }

    /// The content when `wanted` is put in.
    fn and(&self, wanted: &[Parameter]) -> Parameters {
        let mut parameters = self.parameters.clone();
        for parameter in wanted {
            parameters.set(parameter.clone());
        }
        parameters
    }

    /// Its content with `wanted` put in.
    pub fn with(&self, wanted: &[Parameter]) -> Value {
        let parameters = self.and(wanted);
        Some(match self.loader {
            Loader::Grub => drop_in(&parameters),
            Loader::KernelInstall => format!("{parameters}\n"),
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

/// A drop-in of ours.
fn drop_in(parameters: &Parameters) -> String {
    format!(
        "# Written by `jitterlab tune apply`, which `jitterlab tune revert` undoes.\n{}{parameters}{}\n",
        ASSIGNMENT.0, ASSIGNMENT.1
    )
}

/// The lines of GRUB's configuration, command lines among them.
fn lines(system: &System, menu: &str) -> Option<Vec<CommandLine>> {
    let text = system.whole_text(menu)?;
    let line = |(index, line)| at(menu, index + 1, Parameters::parse(line));
    Some(text.lines().enumerate().map(line).collect())
}

/// A command line that stands in one line of a file.
fn at(path: &str, line: usize, parameters: Parameters) -> CommandLine {
    let path = path.into();
    let origins = vec![Origin { path, line }; parameters.iter().count()];
    CommandLine {
        parameters,
        origins,
    }
}

/// The command line in the entry for the running kernel that systemd-boot has at `path`.
fn entry(system: &System, path: &str) -> Option<Vec<CommandLine>> {
    let directory = format!("{path}/entries");
    let release = system.text("/proc/sys/kernel/osrelease")?;
    let root = running(system).last("root").cloned();
    let options = |name: &String| {
        let path = format!("{directory}/{name}");
        let text = system.whole_text(&path)?;
        let of = |key: &str| {
            let values = text
                .lines()
                .filter_map(|line| line.trim().strip_prefix(key));
            let values = values.filter(|value| value.starts_with(char::is_whitespace));
            values.collect::<String>()
        };
        let options = Parameters::parse(&of("options"));
        // Another system on this node may have a kernel of the same name.
        let is_ours = of("version").trim() == release && options.last("root") == root.as_ref();
        let line = text
            .lines()
            .position(|line| line.trim().starts_with("options"));
        is_ours.then(|| at(&path, line.map_or(1, |line| line + 1), options))
    };
    let found = system.names(&directory).iter().find_map(options)?;
    Some(vec![found])
}

/// The parameters that kernel-install gives a kernel whose file does not say any: the distribution's
/// line, or that of the running kernel. The running kernel may still have what was taken back since it
/// was started; its entry has not.
fn unwritten(system: &System, entry: Option<&CommandLine>) -> Parameters {
    match system.text(KERNEL_INSTALL_DEFAULT) {
        Some(text) => Parameters::parse(&text),
        None => match entry {
            Some(entry) => entry.parameters.clone(),
            None => running(system),
        },
    }
}

/// The running kernel's parameters, but for what the loader adds by itself.
fn running(system: &System) -> Parameters {
    let mut running = Parameters::parse(&system.text("/proc/cmdline").unwrap_or_default());
    running.remove("BOOT_IMAGE");
    running.remove("initrd");
    running
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

        let (_root, system) = node(&[
            ("boot/efi/loader/loader.conf", "timeout 3\n"),
            ("proc/cmdline", "root=UUID=1 quiet\n"),
            ("usr/lib/kernel/cmdline", "root=UUID=1 splash\n"),
        ]);
        let file = BootFile::find(&system).unwrap();
        assert_eq!(file.parameters.to_string(), "root=UUID=1 splash");
    }

    #[test]
    fn the_appliance_has_none_and_nothing_is_said_to_be_nothing() {
        let (_root, system) = node(&[
            ("etc/jitterlab/appliance", ""),
            ("etc/default/grub.d/a.cfg", ""),
        ]);
        assert_eq!(BootFile::find(&system).unwrap_err(), NoLoader::Appliance);
        let (_root, system) = node(&[("etc/default/grub", "")]);
        assert_eq!(BootFile::find(&system).unwrap_err(), NoLoader::NoDropIns);
        let (_root, system) = node(&[("etc/hostname", "")]);
        assert_eq!(BootFile::find(&system).unwrap_err(), NoLoader::Unknown);
    }
}
