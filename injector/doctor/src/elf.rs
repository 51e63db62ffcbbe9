//! The words of an executable file about itself.

use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::unistd::{getgid, getuid};
use object::read::elf::{Dyn, FileHeader, ProgramHeader};
use object::{Endianness, Object, ObjectSection, ObjectSymbol, ReadCache, SectionKind, elf};
use serde::Serialize;

#[cfg(target_arch = "x86_64")]
use super::calls::Call;

/// The note that the Go toolchain leaves in a program.
const GO: &str = ".note.go.buildid";

/// Whether and how the dynamic linker takes part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Linkage {
    /// A 64-bit program for this machine that the dynamic linker starts.
    Dynamic,
    /// Without the dynamic linker.
    Static,
    /// It is for another kind of processor or word, 32-bit programs above all.
    Foreign,
    /// It is for the dynamic linker of another C library than glibc, as musl's or Android's.
    OtherLibc,
    /// A script: its interpreter is what runs.
    Script,
    /// None of these.
    Unknown,
}

/// The facts about an executable that are worth knowing before it runs.
#[derive(Debug, Clone, Serialize)]
pub struct Executable {
    /// Its path.
    pub path: PathBuf,
    /// Whether and how the dynamic linker takes part.
    pub linkage: Linkage,
    /// Functions that it imports and that may send past the hooks.
    pub imports: Vec<String>,
    /// Instructions that make a system call, in the program's own code.
    pub system_calls: usize,
    /// Made by the Go toolchain, whose programs make their system calls themselves.
    pub go: bool,
    /// It brings MPI's functions with it, where no hook can stand before them.
    pub own_mpi: bool,
    /// Libraries that it names to enter a sandbox.
    pub sandbox: Vec<String>,
    /// Libraries that it names to have its memory or threads watched.
    pub sanitizers: Vec<String>,
}

impl Executable {
    /// Looks at the file at `path`; one that cannot be read or understood is [`Linkage::Unknown`].
    pub fn look(path: &Path) -> Self {
        let mut executable = Executable {
            path: path.into(),
            linkage: Linkage::Unknown,
            imports: Vec::new(),
            system_calls: 0,
            go: false,
            own_mpi: false,
            sandbox: Vec::new(),
            sanitizers: Vec::new(),
        };
        let Ok(data) = fs::read(path) else {
            return executable;
        };
        if data.starts_with(b"#!") {
            executable.linkage = Linkage::Script;
            return executable;
        }
        executable.linkage = linkage(&data);
        if let Ok(file) = object::File::parse(&*data) {
            executable.imports = file
                .dynamic_symbols()
                .filter(|symbol| symbol.is_undefined())
                .filter_map(|symbol| Some(symbol.name().ok()?.to_string()))
                .filter(|name| past_hooks(name))
                .collect();
            executable.imports.sort();
            executable.system_calls = file
                .sections()
                .filter(|section| section.kind() == SectionKind::Text)
                .filter_map(|section| section.data().ok())
                .map(system_calls)
                .sum();
            executable.own_mpi = file
                .symbols()
                .chain(file.dynamic_symbols())
                .any(|symbol| symbol.is_definition() && symbol.name() == Ok("PMPI_Send"));
            let needed = needed(&data).unwrap_or_default();
            executable.sanitizers = needed
                .iter()
                .filter(|name| is_sanitizer(name.as_bytes()))
                .cloned()
                .collect();
            executable.sandbox = needed
                .into_iter()
                .filter(|name| name.starts_with("libseccomp.so"))
                .collect();
            executable.go = file.section_by_name(GO).is_some();
        }
        executable
    }
}

/// The libraries that a file names.
fn needed(data: &[u8]) -> Option<Vec<String>> {
    let header = elf::FileHeader64::<Endianness>::parse(data).ok()?;
    let endian = header.endian().ok()?;
    let sections = header.sections(endian, data).ok()?;
    let (entries, strings) = sections.dynamic(endian, data).ok()??;
    let strings = sections.strings(endian, data, strings).ok()?;
    let names = entries
        .iter()
        .filter(|entry| entry.tag32(endian) == Some(elf::DT_NEEDED))
        .filter_map(|entry| entry.string(endian, strings).ok());
    Some(
        names
            .map(|name| String::from_utf8_lossy(name).into_owned())
            .collect(),
    )
}

/// True if a library is the runtime of a sanitizer, of GCC or of Clang.
pub fn is_sanitizer(path: &[u8]) -> bool {
    let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
    let prefixes: [&[u8]; 6] = [
        b"libasan.so",
        b"libhwasan.so",
        b"liblsan.so",
        b"libtsan.so",
        b"libubsan.so",
        b"libclang_rt.",
    ];
    prefixes.iter().any(|prefix| name.starts_with(prefix))
}

/// True if an imported function of this name may send past the hooks.
fn past_hooks(name: &str) -> bool {
    ["syscall", "mlx5dv_init_obj"].contains(&name) || name.starts_with("io_uring_")
}

fn linkage(data: &[u8]) -> Linkage {
    if !data.starts_with(&elf::ELFMAG) {
        return Linkage::Unknown;
    }
    let own = if cfg!(target_arch = "aarch64") {
        elf::EM_AARCH64
    } else {
        elf::EM_X86_64
    };
    let Ok(header) = elf::FileHeader64::<Endianness>::parse(data) else {
        return Linkage::Foreign;
    };
    let Ok(endian) = header.endian() else {
        return Linkage::Unknown;
    };
    if header.e_machine(endian) != own {
        return Linkage::Foreign;
    }
    let Ok(segments) = header.program_headers(endian, data) else {
        return Linkage::Unknown;
    };
    let linker = segments
        .iter()
        // One that is there, but not in what was read, is none that is known.
        .find_map(|segment| segment.interpreter(endian, data).unwrap_or(Some(b"")));
    match linker {
        Some(linker) if is_glibc(Path::new(OsStr::from_bytes(linker))) => Linkage::Dynamic,
        Some(_) => Linkage::OtherLibc,
        None => Linkage::Static,
    }
}

/// True if a dynamic linker is not known to be another C library's. A link may lead from the usual name to another's.
fn is_glibc(linker: &Path) -> bool {
    let target = linker.canonicalize().unwrap_or_default();
    let is_other = |path: &Path| {
        let name = path.to_string_lossy();
        let file = name.rsplit('/').next().unwrap_or_default();
        // musl's is often the C library itself, in a folder that says so; bionic's is `linker` or `linker64`.
        name.contains("musl") || file.contains("uClibc") || file.starts_with("linker")
    };
    !is_other(linker) && !is_other(&target)
}

/// Counts the `syscall` instructions before which the number of a call that sends, or submits, was
/// the last to be put into eax: bytes that look so by chance are rare.
#[cfg(target_arch = "x86_64")]
fn system_calls(text: &[u8]) -> usize {
    const NEAR: usize = 32;
    const SYSCALL: [u8; 2] = [0x0f, 0x05];
    let number_before = |at: usize| {
        text[at.saturating_sub(NEAR)..at]
            .windows(5)
            .rev()
            .find_map(|bytes| match *bytes {
                // mov eax, NUMBER
                [0xb8, low, high, 0, 0] => Some(i64::from(u16::from_le_bytes([low, high]))),
                _ => None,
            })
    };
    text.windows(2)
        .enumerate()
        .filter(|(_, bytes)| *bytes == SYSCALL)
        .filter_map(|(at, _)| number_before(at))
        .filter(|&number| Call::of(number).is_some())
        .count()
}

/// Elsewhere instructions are not looked for.
#[cfg(not(target_arch = "x86_64"))]
fn system_calls(_text: &[u8]) -> usize {
    0
}

/// The beginning of a file, where the headers of executables are.
fn head(path: &Path) -> std::io::Result<(Vec<u8>, fs::Metadata)> {
    const HEAD: u64 = 1 << 16;
    let file = fs::File::open(path)?;
    let metadata = file.metadata()?;
    let mut head = Vec::new();
    file.take(HEAD).read_to_end(&mut head)?;
    Ok((head, metadata))
}

/// The linkage of the program at `path`.
pub fn linkage_of(path: &Path) -> Linkage {
    head(path).map_or(Linkage::Unknown, |(head, _)| linkage(&head))
}

/// The way that the program at `path` sends past the hooks, if it does so wherever it sends; found without reading it whole.
pub fn bypass(path: &Path) -> Option<&'static str> {
    let data = ReadCache::new(fs::File::open(path).ok()?);
    let file = object::File::parse(&data).ok()?;
    let submits = |symbol: &str| symbol.starts_with("io_uring_");
    if file.section_by_name(GO).is_some() {
        Some("it is written in Go, whose programs make their system calls themselves")
    } else if file
        .dynamic_symbols()
        .any(|symbol| symbol.is_undefined() && symbol.name().is_ok_and(submits))
    {
        Some("what it submits through a ring of io_uring passes no hook")
    } else {
        None
    }
}

/// Why the library cannot be preloaded into the program at `path`; `None` if it can, as far as its
/// file says.
pub fn obstacle(path: &Path) -> Option<&'static str> {
    let (head, metadata) = head(path).ok()?;
    let other_user = metadata.mode() & 0o4000 != 0 && metadata.uid() != getuid().as_raw();
    let other_group = metadata.mode() & 0o2000 != 0 && metadata.gid() != getgid().as_raw();
    match linkage(&head) {
        Linkage::Static => Some("it is statically linked"),
        Linkage::Foreign => Some("it is not a 64-bit program of this machine"),
        Linkage::OtherLibc => Some("it is linked against another C library than glibc"),
        _ if other_user || other_group => Some("it runs with the rights of another user or group"),
        _ if has_capabilities(path) => Some("it runs with capabilities of its own"),
        _ => None,
    }
}

/// True if a program gets capabilities from its file; root has them all without.
fn has_capabilities(path: &Path) -> bool {
    // An empty buffer asks for the length.
    !getuid().is_root() && rustix::fs::getxattr(path, "security.capability", &mut [0_u8; 0]).is_ok()
}

/// The file that the system would run for a command.
pub fn find(program: &Path) -> Option<PathBuf> {
    let runs = |path: &Path| {
        fs::metadata(path).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
    };
    if program.as_os_str().to_string_lossy().contains('/') {
        return runs(program).then(|| program.to_path_buf());
    }
    std::env::split_paths(&std::env::var_os("PATH")?)
        .map(|folder| folder.join(program))
        .find(|path| runs(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_program_is_unknown() {
        for data in [&b""[..], b"\x7fELF", b"\x7fELF\x02\x01\x01", b"text"] {
            assert!(matches!(linkage(data), Linkage::Unknown | Linkage::Foreign));
        }
        let own = std::env::current_exe().unwrap();
        assert_eq!(Executable::look(&own).linkage, Linkage::Dynamic);
        assert_eq!(find(&own), Some(own));
        assert_eq!(find(Path::new("/")), None);
        assert!(find(Path::new("sh")).is_some());
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn only_system_calls_that_send_are_counted() {
        // mov eax, 44 (sendto); syscall, and mov eax, 60 (exit); syscall.
        let sendto = [0xb8, 44, 0, 0, 0, 0x0f, 0x05];
        let exit = [0xb8, 60, 0, 0, 0, 0x0f, 0x05];
        assert_eq!(system_calls(&sendto), 1);
        assert_eq!(system_calls(&exit), 0);
        assert_eq!(system_calls(&[sendto, exit].concat()), 1);
        assert_eq!(system_calls(&[0x0f, 0x05]), 0);
    }
}
