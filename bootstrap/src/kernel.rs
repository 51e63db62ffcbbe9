//! Starting the same kernel again, with other parameters.

use std::convert::Infallible;
use std::fs;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use jitterlab_base::show;
use jitterlab_node_tuning::boot::{Parameter, Parameters};

use crate::command::{self, Error, of_file};
use crate::time::monotonic_ns;

/// Says that this kernel was started by another one, so that it does not start a third; its value is when that one
/// started, in milliseconds of the wall clock. What stands behind it is what tuning takes.
const RESTARTED: &str = "jitterlab.restarted";
/// The device that the kernel before this one chose to measure with.
const DEVICE: &str = "jitterlab.device";
/// Says that the kernel before this one had the volume JITTERLAB.
const VOLUME: &str = "jitterlab.volume";
/// `no` keeps the kernel that the boot loader has started.
const ALLOWED: &str = "jitterlab.kexec";
/// After how many seconds a kernel that panics is started again.
const PANIC: (&str, &str) = ("panic", "30");
/// The root's image, as the initrd has left it: a device.
const IMAGE: &str = "/run/jitterlab/image";
/// The name of that in an initrd.
const IMAGE_NAME: &str = "root.squashfs";
/// The name of `node.yaml` in an initrd, if it came from the network.
const FETCHED_NAME: &str = "node.yaml";
/// The place where the initrd leaves that.
const FETCHED: &str = "/run/jitterlab/node.yaml";
/// The place where an initrd is put together: in memory, as all of the root.
const WHOLE: &str = "/var/tmp/initrd";
const KERNEL: &str = "/vmlinuz";
/// The file that the root is mounted from; the image is joined to it.
const INITRD: &str = "/initrd.img";

/// The message of a kernel to the one that it starts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Before {
    /// When it started, in milliseconds of the wall clock: the only clock that goes on.
    pub started_ms: u64,
    /// The device that it chose to measure with.
    pub device: Option<String>,
    /// True if it had the volume JITTERLAB.
    pub had_volume: bool,
}

impl Before {
    /// The message of the kernel before the running one; none where there was no such kernel.
    pub fn of(running: &Parameters) -> Option<Self> {
        let value = |key| running.last(key)?.value.clone();
        running.last(RESTARTED)?;
        Some(Before {
            started_ms: value(RESTARTED)
                .and_then(|ms| ms.parse().ok())
                .unwrap_or_default(),
            device: value(DEVICE),
            had_volume: running.last(VOLUME).is_some(),
        })
    }

    /// The `node.yaml` that it fetched, if it did.
    pub fn fetched(&self) -> Option<String> {
        fs::read_to_string(FETCHED).ok()
    }

    /// The time that this kernel ran, in nanoseconds; 0 where its clock was another one.
    pub fn ran_ns(&self) -> u64 {
        const HOUR_MS: u64 = 3_600_000;
        let ran_ms = started_ms().saturating_sub(self.started_ms);
        if ran_ms < HOUR_MS {
            ran_ms * 1_000_000
        } else {
            0
        }
    }

    /// The parameters to start again with: those of the running kernel, and what tuning takes in the place of their like.
    pub fn parameters(&self, running: &Parameters, wanted: &Parameters) -> Parameters {
        let mut parameters = running.clone();
        // Loaders add these of their own.
        for own in ["BOOT_IMAGE", "initrd"] {
            parameters.remove(own);
        }
        if let Some(device) = &self.device {
            parameters.set(Parameter::new(DEVICE, device));
        }
        if self.had_volume {
            parameters.set(Parameter::flag(VOLUME));
        }
        // Nobody may be there to see it.
        if running.last(PANIC.0).is_none() {
            parameters.set(Parameter::new(PANIC.0, PANIC.1));
        }
        parameters.set(Parameter::new(RESTARTED, self.started_ms.to_string()));
        for parameter in wanted.iter() {
            parameters.set(parameter.clone());
        }
        parameters
    }
}

/// When the running kernel started, in milliseconds of the wall clock.
pub fn started_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now_ms = now.map_or(0, |now| now.as_millis() as u64);
    now_ms.saturating_sub(monotonic_ns() / 1_000_000)
}

/// True if the kernel may be started again: nobody has said `jitterlab.kexec=no`.
pub fn is_allowed(running: &Parameters) -> bool {
    let said = running.last(ALLOWED);
    said.is_none_or(|parameter| parameter.value.as_deref() != Some("no"))
}

/// What tuning took of the kernel before this one.
pub fn added(running: &Parameters) -> String {
    let added = running.iter().skip_while(|added| added.key != RESTARTED);
    let words: Vec<String> = added.skip(1).map(Parameter::to_string).collect();
    words.join(" ")
}

/// Loads the kernel, with the image that the running system came from, and the `node.yaml` that was fetched, if it was; of the
/// parameters, `wanted` are what it is started again for.
///
/// # Errors
/// It is not possible here: with the reason.
pub fn load(
    parameters: &Parameters,
    wanted: &Parameters,
    fetched: Option<&str>,
) -> Result<(), Error> {
    if !Path::new(IMAGE).exists() {
        return Err(Error::Said(format!(
            "there is no {IMAGE}: only the appliance keeps what it was started from"
        )));
    }
    let whole = Path::new(WHOLE);
    let loaded = has_room()
        .and_then(|()| joined(whole, fetched).map_err(of_file(whole)))
        .and_then(|()| load_with(whole, parameters));
    // It is in the kernel now, or of no use.
    let _ = fs::remove_file(whole);
    loaded.map_err(|error| {
        let why = error.why();
        Error::Said(format!(
            "the kernel cannot be started again with what tuning takes: {why}; where these parameters are given by the boot \
             loader, it need not be: {wanted}"
        ))
    })
}

/// Whether memory has room for what the kernel is started again with: the initrd as a file, in kexec, and in the kernel.
fn has_room() -> Result<(), Error> {
    const TIMES: u64 = 3;
    let length = |path| {
        let mut file = fs::File::open(path).map_err(of_file(path))?;
        // A device says its length nowhere else.
        file.seek(SeekFrom::End(0)).map_err(of_file(path))
    };
    let takes = TIMES * (length(INITRD)? + length(IMAGE)?);
    let memory = fs::read_to_string("/proc/meminfo").map_err(of_file("/proc/meminfo"))?;
    match available(&memory) {
        Some(free) if free < takes => Err(Error::Said(format!(
            "that takes {} of memory, and {} are free",
            show::size(takes as f64),
            show::size(free as f64)
        ))),
        _ => Ok(()),
    }
}

/// The memory that programs can have by /proc/meminfo, in bytes.
fn available(memory: &str) -> Option<u64> {
    let line = memory
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kib << 10)
}

fn load_with(initrd: &Path, parameters: &Parameters) -> Result<(), Error> {
    let option = |name: &str, value: &str| format!("--{name}={value}");
    command::run(
        "kexec",
        [
            "--load".into(),
            // Summing up the image before it is used takes longer than all the rest of it.
            "--kexec-syscall".into(),
            "--no-checks".into(),
            KERNEL.into(),
            option("initrd", &initrd.to_string_lossy()),
            option("command-line", &parameters.to_string()),
        ] as [String; 6],
    )
    .map(drop)
}

/// The initrd with the root's image behind it, as a loader brings it, and what was fetched: the kernel unpacks one archive
/// after the other.
fn joined(whole: &Path, fetched: Option<&str>) -> io::Result<()> {
    let mut file = fs::File::create(whole)?;
    let mut small = fs::File::open(INITRD)?;
    let length = io::copy(&mut small, &mut file)?;
    // The kernel takes an archive for one only where it begins at a multiple of four.
    file.write_all(padding(length))?;
    let mut image = fs::File::open(IMAGE)?;
    // A device says its length nowhere else.
    let length = image.seek(SeekFrom::End(0))?;
    image.rewind()?;
    file.write_all(&entry(IMAGE_NAME, 0o100_644, length))?;
    io::copy(&mut image, &mut file)?;
    file.write_all(padding(length))?;
    if let Some(text) = fetched {
        file.write_all(&small_file(FETCHED_NAME, text))?;
    }
    file.write_all(&entry("TRAILER!!!", 0, 0))
}

/// A file of the archive with its text.
fn small_file(name: &str, text: &str) -> Vec<u8> {
    let length = text.len() as u64;
    let mut file = entry(name, 0o100_600, length);
    file.extend(text.bytes());
    file.extend(padding(length));
    file
}

/// The head of a file in an archive of cpio's format "newc": 13 numbers of eight hexadecimal digits, and its name. The
/// kernel's documentation, driver-api/early-userspace/buffer-format, has them.
fn entry(name: &str, mode: u32, length: u64) -> Vec<u8> {
    // The length is the only one of these counts that says something of the file; names end with a zero.
    let (inode, owner, links, time, device, sum) = (1, 0, 1, 0, 0, 0);
    let numbers = [
        inode,
        u64::from(mode),
        owner,
        owner,
        links,
        time,
        length,
        device,
        device,
        device,
        device,
        name.len() as u64 + 1,
        sum,
    ];
    let mut entry = b"070701".to_vec();
    for number in numbers {
        entry.extend(format!("{number:08x}").bytes());
    }
    entry.extend(name.bytes());
    entry.push(0);
    let zeros = padding(entry.len() as u64);
    entry.extend(zeros);
    entry
}

/// The zeros up to a multiple of four.
fn padding(length: u64) -> &'static [u8] {
    &[0; 3][..(length.next_multiple_of(4) - length) as usize]
}

/// Starts what was loaded.
///
/// # Errors
/// The running kernel refuses.
pub fn start() -> Result<Infallible, Error> {
    nix::unistd::sync();
    command::run("kexec", ["--exec"])?;
    Err(Error::Said("kexec came back".into()))
}

/// Takes back what was loaded, if anything was: a kernel that stays needs its memory.
pub fn unload() {
    let _ = command::run("kexec", ["--unload"]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_of_an_archive_is_what_the_kernel_reads() {
        let found = entry("root.squashfs", 0o100_644, 0x1234);
        let expected = "070701\
             00000001000081a40000000000000000000000010000000000001234\
             000000000000000000000000000000000000000e00000000root.squashfs\0";
        assert_eq!(String::from_utf8(found).unwrap(), expected);
        let text = "hostname: a\nranks: 4\n";
        let expected = "070701\
             00000001000081800000000000000000000000010000000000000015\
             000000000000000000000000000000000000000a00000000node.yaml\0\
             hostname: a\nranks: 4\n\0\0\0";
        let found = small_file(FETCHED_NAME, text);
        assert_eq!(String::from_utf8(found).unwrap(), expected);
        for length in 0..8 {
            assert_eq!((length + padding(length).len() as u64) % 4, 0);
        }
    }

    #[test]
    fn what_programs_can_have_is_read() {
        let memory = "MemTotal:         655360 kB\nMemAvailable:       1024 kB\nBuffers: 0 kB\n";
        assert_eq!(available(memory), Some(1 << 20));
        assert_eq!(available("MemTotal: 1 kB\n"), None);
    }

    #[test]
    fn the_next_kernel_has_what_this_one_has_and_what_is_wanted() {
        let running =
            Parameters::parse("BOOT_IMAGE=/vmlinuz initrd=initrd quiet isolcpus=1 console=ttyS0");
        assert_eq!(Before::of(&running), None);
        assert_eq!(added(&running), "");
        let wanted = Parameters::parse("isolcpus=2-3 nosmt");
        let before = Before {
            started_ms: 4_321,
            device: Some("eth1".into()),
            had_volume: true,
        };
        let next = before.parameters(&running, &wanted);
        assert_eq!(
            next.to_string(),
            "quiet console=ttyS0 jitterlab.device=eth1 jitterlab.volume panic=30 jitterlab.restarted=4321 isolcpus=2-3 nosmt"
        );
        assert_eq!(Before::of(&next), Some(before));
        let typed = Before::of(&Parameters::parse("jitterlab.restarted")).unwrap();
        assert_eq!(typed.ran_ns(), 0);
        assert_eq!(added(&next), "isolcpus=2-3 nosmt");
        assert!(is_allowed(&next) && !is_allowed(&Parameters::parse("jitterlab.kexec=no")));
    }
}
