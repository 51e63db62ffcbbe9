//! Runs a program under the library, with every delay zero, and watches from outside what it asks
//! of the kernel: what the kernel sees and the hooks do not has bypassed them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use jitterlab_base::page;
use jitterlab_injector::control::{self, Attached, Hook};
use jitterlab_injector::environment;
use nix::errno::Errno;
use nix::sys::ptrace::Options;
use nix::sys::signal::{Signal, raise};
use nix::unistd::Pid;
use thiserror::Error;

use super::calls::{self, Call, Socket};
use super::ending::{Alive, Ending, ending_signals};
use super::ptrace;

/// A program that could not be watched.
#[derive(Debug, Error)]
pub enum WatchError {
    /// Registers are read of one kind of processor alone.
    #[error("the doctor works on x86-64 alone: it reads the registers of a program's system calls")]
    Processor,
    /// The system allows no tracer.
    #[error(
        "the program cannot be traced: {0}; the doctor needs ptrace, which this system or container forbids"
    )]
    Forbidden(Errno),
    /// The system refused.
    #[error("cannot {action}")]
    System {
        /// What was tried.
        action: &'static str,
        /// Why not.
        source: io::Error,
    },
    /// It ended before it began.
    #[error("the program did not start: it ended with {ending}")]
    NotStarted {
        /// How.
        ending: Ending,
    },
}

/// What was seen of one program in one process: a process that executes another begins anew.
#[derive(Default)]
pub struct Seen {
    /// The executable.
    pub program: PathBuf,
    /// Whether the library was in it, which shows in its control page.
    pub loaded: bool,
    /// Whether it runs with more rights than its user, so that the dynamic linker preloads nothing.
    pub secure: bool,
    /// Calls of the hooks, in the order of [`Hook::ALL`].
    pub hooked: [u64; Hook::ALL.len()],
    /// System calls that sent on sockets of the hooks' kind, by the file whose code made them.
    pub sent: BTreeMap<Call, BTreeMap<String, u64>>,
    /// Sends on other network sockets.
    pub other_network: u64,
    /// Sends, or writes to files, on descriptors that the system keeps from this user.
    pub hidden: u64,
    /// Rings of io_uring that it made.
    pub rings: u64,
    /// RDMA and other devices that a program drives past the kernel.
    pub devices: BTreeSet<String>,
    /// The libraries that it opened.
    pub libraries: BTreeSet<String>,
    /// Whether it has entered a sandbox.
    pub sandboxed: bool,
    /// Libraries that send and that it opened when it had begun.
    pub opened_later: BTreeSet<String>,
}

/// What was seen of a program and everything that it started.
pub struct Run {
    pub seen: Vec<Seen>,
    pub ending: Ending,
}

/// Devices that programs send through without the kernel.
const DEVICES: [&str; 5] = [
    "/dev/infiniband/uverbs",
    "/dev/hfi1_",
    "/dev/ipath",
    "/dev/vfio/",
    "/dev/uio",
];

/// Libraries through which programs send, by the beginning of their names.
const SENDERS: [&str; 10] = [
    "libibverbs",
    "libmlx5",
    "librdmacm",
    "libmpi",
    "libmpich",
    "libucp",
    "libuct",
    "libfabric",
    "libpsm2",
    "libnccl",
];

/// Runs a program to its end, by a command that starts it as [`crate::examine`] says.
pub fn run(command: Command, pages: &Path) -> Result<Run, WatchError> {
    if !cfg!(target_arch = "x86_64") {
        return Err(WatchError::Processor);
    }
    let mut watcher = Watcher::start(command, pages)?;
    watcher.follow()?;
    let ending = watcher.ending.unwrap_or(Ending::ExitStatus(0));
    if !watcher.started {
        return Err(WatchError::NotStarted { ending });
    }
    Ok(Run {
        seen: watcher.done,
        ending,
    })
}

/// Stops this process until its watcher, the parent, lets it go on. It then is to become the program.
///
/// # Errors
/// The system allows no tracer.
pub fn stop_for_watcher() -> Result<(), WatchError> {
    nix::sys::ptrace::traceme().map_err(WatchError::Forbidden)?;
    // The watcher has blocked them, and this process inherits that.
    let let_through = ending_signals().thread_unblock();
    let_through
        .and_then(|()| raise(Signal::SIGSTOP))
        .map_err(|errno| system("stop for the watcher")(errno.into()))
}

fn system(action: &'static str) -> impl Fn(io::Error) -> WatchError {
    move |source| WatchError::System { action, source }
}

struct Watcher {
    /// Where the control pages are.
    pages: PathBuf,
    root: i32,
    /// Whether the program has taken the place of ours.
    started: bool,
    alive: Alive,
    /// The process of each thread, and the send that it is in.
    threads: HashMap<i32, Thread>,
    processes: HashMap<i32, Process>,
    done: Vec<Seen>,
    ending: Option<Ending>,
}

struct Thread {
    process: i32,
    sending: Option<(Call, Socket, u64)>,
}

#[derive(Default)]
struct Process {
    seen: Seen,
    /// Where its page is, once it has one.
    page_file: Option<PathBuf>,
    page: Option<Attached>,
    /// The file that the instruction at an address belongs to.
    places: HashMap<u64, String>,
}

impl Watcher {
    fn start(mut command: Command, pages: &Path) -> Result<Self, WatchError> {
        let alive = Alive::default();
        alive
            .end_by_signals()
            .map_err(|errno| system("wait for signals")(errno.into()))?;
        // Not to be waited for by its handle: all processes are waited for together.
        let child = command
            .env(environment::CONTROL_DIR, pages)
            .env_remove(environment::REPORT)
            // It traces the program itself, which only one can.
            .env("LSAN_OPTIONS", "detect_leaks=0")
            .spawn()
            .map_err(system("start the program"))?;
        Ok(Watcher {
            pages: pages.into(),
            root: child.id() as i32,
            started: false,
            alive,
            threads: HashMap::new(),
            processes: HashMap::new(),
            done: Vec::new(),
            ending: None,
        })
    }

    /// Watches until the last process has ended.
    fn follow(&mut self) -> Result<(), WatchError> {
        loop {
            match ptrace::wait() {
                Ok(Some((tid, status))) => self.happened(tid, status)?,
                Ok(None) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(system("wait for the program")(error)),
            }
        }
    }

    fn happened(&mut self, tid: i32, status: i32) -> Result<(), WatchError> {
        if libc::WIFEXITED(status) {
            self.ended(tid, Ending::ExitStatus(libc::WEXITSTATUS(status)));
            return Ok(());
        }
        if libc::WIFSIGNALED(status) {
            self.ended(tid, Ending::Signal(libc::WTERMSIG(status)));
            return Ok(());
        }
        let signal = libc::WSTOPSIG(status);
        let new = !self.threads.contains_key(&tid);
        if new {
            self.begin(tid)?;
        }
        let deliver = match (signal, status >> 16) {
            (libc::SIGTRAP, libc::PTRACE_EVENT_EXEC) => {
                self.executed(tid);
                0
            }
            (_, event) if event != 0 => 0,
            (signal, _) if signal == libc::SIGTRAP | 0x80 => {
                self.system_call(tid);
                0
            }
            // A tracee cannot be stopped and traced on: it is not stopped. New ones begin so.
            (libc::SIGSTOP | libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU, _) => 0,
            (signal, _) => signal,
        };
        // One that was killed while it was stopped is reported by its end.
        let _ = ptrace::to_next_system_call(tid, deliver);
        Ok(())
    }

    /// A thread or process that is seen for the first time.
    fn begin(&mut self, tid: i32) -> Result<(), WatchError> {
        if tid == self.root {
            let options = Options::PTRACE_O_TRACESYSGOOD
                | Options::PTRACE_O_TRACEEXEC
                | Options::PTRACE_O_TRACECLONE
                | Options::PTRACE_O_TRACEFORK
                | Options::PTRACE_O_TRACEVFORK
                | Options::PTRACE_O_EXITKILL;
            nix::sys::ptrace::setoptions(Pid::from_raw(tid), options)
                .map_err(|errno| system("watch the program")(errno.into()))?;
        }
        let process = process_of(tid).unwrap_or(tid);
        self.alive.lock().insert(process);
        self.threads.insert(
            tid,
            Thread {
                process,
                sending: None,
            },
        );
        self.processes
            .entry(process)
            .or_insert_with(|| Process::of(process, &self.pages));
        Ok(())
    }

    /// The process has become another program.
    fn executed(&mut self, pid: i32) {
        if let Some(process) = self.processes.remove(&pid)
            && self.started
        {
            self.done.push(process.finish());
        }
        self.started |= pid == self.root;
        // Its other threads are gone, and not all of them say so.
        self.threads.retain(|_, thread| thread.process != pid);
        // The page is the earlier program's; one without the library would not replace it.
        let mut process = Process::of(pid, &self.pages);
        if let Some(page) = &process.page_file {
            let _ = fs::remove_file(page);
        }
        process.seen.secure = is_secure(pid);
        self.processes.insert(pid, process);
        self.threads.insert(
            pid,
            Thread {
                process: pid,
                sending: None,
            },
        );
    }

    fn ended(&mut self, tid: i32, ending: Ending) {
        self.threads.remove(&tid);
        self.alive.lock().remove(&tid);
        if let Some(process) = self.processes.remove(&tid)
            && self.started
        {
            self.done.push(process.finish());
        }
        if tid == self.root {
            self.ending = Some(ending);
        }
    }

    /// A thread stands at the beginning or the end of a system call.
    fn system_call(&mut self, tid: i32) {
        let (Some(thread), Some(registers)) = (self.threads.get_mut(&tid), registers(tid)) else {
            return;
        };
        let pid = thread.process;
        let Some(process) = self.processes.get_mut(&pid) else {
            return;
        };
        if process.page.is_none() {
            process.attach();
        }
        match registers.result {
            None => thread.sending = process.sends(pid, &registers),
            Some(result) => {
                if let Some((call, socket, at)) = thread.sending.take() {
                    process.sent(pid, call, socket, at, result);
                }
                if is_open(registers.number) && result >= 0 {
                    process.opened(pid, result);
                }
                process.seen.sandboxed |= registers.enters_sandbox() && result >= 0;
                if registers.number == libc::SYS_io_uring_setup && result >= 0 {
                    process.seen.rings += 1;
                }
            }
        }
    }
}

impl Process {
    /// `pages` is the folder of the control pages.
    fn of(pid: i32, pages: &Path) -> Self {
        let program = fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
        let seen = Seen {
            program,
            ..Seen::default()
        };
        let page_file = page::file_name(pid.cast_unsigned());
        Process {
            seen,
            page_file: page_file.map(|name| pages.join(name)),
            ..Process::default()
        }
    }

    fn attach(&mut self) {
        // Not there yet, or not yet whole: there will be another system call.
        let page = self.page_file.as_ref();
        self.page = page.and_then(|path| control::attach(path).ok());
    }

    /// The send that begins with these registers.
    fn sends(&self, pid: i32, registers: &Registers) -> Option<(Call, Socket, u64)> {
        let call = Call::of(registers.number)?;
        let socket = if call == Call::IoUringEnter {
            match calls::has_hooked_socket(pid) {
                true => Socket::Hooked,
                false => Socket::Local,
            }
        } else {
            calls::socket(pid, registers.arguments[call.descriptor()])
        };
        (socket != Socket::Local).then_some((call, socket, registers.instruction))
    }

    /// The send has been made, or refused.
    fn sent(&mut self, pid: i32, call: Call, socket: Socket, at: u64, result: i64) {
        // ERESTARTSYS and its kin (include/linux/errno.h): a signal came first, and the same call
        // will be made once more without passing the hook again.
        if (-516..=-512).contains(&result) {
            return;
        }
        match socket {
            Socket::Hooked => {}
            Socket::OtherNetwork => {
                self.seen.other_network += 1;
                return;
            }
            Socket::Hidden => {
                self.seen.hidden += 1;
                return;
            }
            Socket::Local => return,
        }
        let place = self.places.entry(at).or_insert_with(|| place(pid, at));
        let places = self.seen.sent.entry(call).or_default();
        *places.entry(place.clone()).or_default() += 1;
    }

    fn opened(&mut self, pid: i32, fd: i64) {
        let Ok(path) = fs::read_link(format!("/proc/{pid}/fd/{fd}")) else {
            return;
        };
        let path = path.to_string_lossy();
        if DEVICES.iter().any(|device| path.starts_with(device)) {
            self.seen.devices.insert(path.into_owned());
        } else if path.contains(".so") {
            let name = path.rsplit('/').next().unwrap_or_default();
            // The library comes up when all that the program is linked to is there.
            if self.page.is_some() && SENDERS.iter().any(|sender| name.starts_with(sender)) {
                self.seen.opened_later.insert(name.into());
            }
            self.seen.libraries.insert(path.into_owned());
        }
    }

    fn finish(self) -> Seen {
        let mut seen = self.seen;
        if let Some(page) = self.page {
            seen.loaded = true;
            seen.hooked = page.totals().calls;
        }
        seen
    }
}

/// What a thread asks of the kernel, and what it was given.
struct Registers {
    number: i64,
    arguments: [u64; 6],
    /// Where the instruction is.
    instruction: u64,
    /// `None` at the beginning of the call.
    result: Option<i64>,
}

impl Registers {
    /// Whether the call gives up others: a filter or strict mode of seccomp, or Landlock.
    fn enters_sandbox(&self) -> bool {
        /// `PR_SET_SECCOMP` of <linux/prctl.h>.
        const SET_SECCOMP: u64 = 22;
        match self.number {
            libc::SYS_seccomp => self.arguments[0] <= libc::SECCOMP_SET_MODE_FILTER.into(),
            libc::SYS_prctl => self.arguments[0] == SET_SECCOMP,
            number => number == libc::SYS_landlock_restrict_self,
        }
    }
}

#[cfg(target_arch = "x86_64")]
fn registers(tid: i32) -> Option<Registers> {
    let r = nix::sys::ptrace::getregs(Pid::from_raw(tid)).ok()?;
    // At the beginning the place of the result holds this error, and at the end hardly ever: only
    // of calls that do not exist.
    let result = r.rax as i64;
    Some(Registers {
        number: r.orig_rax as i64,
        arguments: [r.rdi, r.rsi, r.rdx, r.r10, r.r8, r.r9],
        instruction: r.rip,
        result: (result != -i64::from(libc::ENOSYS)).then_some(result),
    })
}

/// On other processors the end of a call cannot be told from its beginning by the registers alone.
#[cfg(not(target_arch = "x86_64"))]
fn registers(_tid: i32) -> Option<Registers> {
    None
}

#[cfg(target_arch = "x86_64")]
fn is_open(number: i64) -> bool {
    [libc::SYS_open, libc::SYS_openat, libc::SYS_openat2].contains(&number)
}

#[cfg(not(target_arch = "x86_64"))]
fn is_open(_number: i64) -> bool {
    false
}

/// The process that a thread belongs to.
fn process_of(tid: i32) -> Option<i32> {
    let status = fs::read_to_string(format!("/proc/{tid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("Tgid:"))?;
    line.trim().parse().ok()
}

/// AT_SECURE of the auxiliary vector: pairs of words, key and value.
fn is_secure(pid: i32) -> bool {
    let vector = fs::read(format!("/proc/{pid}/auxv")).unwrap_or_default();
    let words: Vec<u64> = vector
        .chunks_exact(8)
        .filter_map(|bytes| Some(u64::from_ne_bytes(bytes.try_into().ok()?)))
        .collect();
    words
        .chunks_exact(2)
        .any(|pair| pair[0] == libc::AT_SECURE && pair[1] != 0)
}

/// The file that is mapped at an address of a process.
fn place(pid: i32, address: u64) -> String {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    let holds = |line: &&str| {
        let range = line
            .split(' ')
            .next()
            .and_then(|range| range.split_once('-'));
        let parsed = range.and_then(|(from, to)| {
            let number = |text| u64::from_str_radix(text, 16).ok();
            Some(number(from)?..number(to)?)
        });
        parsed.is_some_and(|range| range.contains(&address))
    };
    maps.lines()
        .find(holds)
        .and_then(|line| line.split_ascii_whitespace().nth(5))
        .unwrap_or("memory that is no file's")
        .to_string()
}
