//! Coming up before the program, following it through `fork`, cleaning up after it.

#![allow(unsafe_code)]

use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Mutex;

use jitterlab_injector::clock::Clock;
use jitterlab_injector::control::{
    Created, Hook, Identity, Page, Settings, TableSource, start_time,
};
use jitterlab_injector::delay::Injection;
use jitterlab_injector::environment;

use crate::config::Config;
use crate::{hooks, state};

/// What is to be done about this process when it ends, and when it forks.
struct Process {
    pid: u32,
    page_file: Option<PathBuf>,
    control_dir: PathBuf,
    report: Option<PathBuf>,
    hooks: u32,
    /// The lineage of the child that is being forked.
    child: u64,
}

static PROCESS: Mutex<Option<Process>> = Mutex::new(None);

#[used]
#[unsafe(link_section = ".init_array")]
static COME_UP: extern "C" fn() = come_up;

#[used]
#[unsafe(link_section = ".fini_array")]
static CLEAN_UP: extern "C" fn() = clean_up;

extern "C" fn come_up() {
    // SAFETY: asks the kernel's auxiliary vector.
    if unsafe { libc::getauxval(libc::AT_SECURE) } != 0 {
        // A program with more rights than its user: nothing of the user's may reach it.
        return;
    }
    let errno = crate::real::errno();
    match Config::from_environment() {
        Ok(config) => start(config),
        Err(reason) => stay_off(&reason),
    }
    crate::real::set_errno(errno);
}

/// Says why nothing is injected, once for a program and its children.
fn stay_off(reason: &str) {
    if std::env::var_os(environment::SILENT).is_some() {
        return;
    }
    say(&format!("latency injection is off: {reason}"));
    // SAFETY: the program has not started: no other thread looks at the environment. The C
    // library copies the words.
    unsafe {
        if let Ok(name) = std::ffi::CString::new(environment::SILENT) {
            libc::setenv(name.as_ptr(), c"1".as_ptr(), 1);
        }
    }
}

/// A line on stderr, past all buffers, wherever stderr goes; a failure has nobody to be told to.
fn say(message: &str) {
    let line = format!("jitterlab: {message}\n");
    // SAFETY: the bytes are ours.
    unsafe { libc::syscall(libc::SYS_write, 2, line.as_ptr(), line.len()) };
}

fn start(config: Config) {
    hooks::prepare_keys();
    // SAFETY: both functions have the type that is asked for and live as long as the process.
    unsafe { libc::pthread_atfork(Some(before_fork), None, Some(in_child)) };
    let mut process = Process {
        pid: std::process::id(),
        page_file: None,
        control_dir: config.control_dir,
        report: config.report,
        hooks: config.hooks,
        child: 0,
    };
    match process.make_page(config.rank, &config.settings, &config.table) {
        Ok(page) => {
            let injection = Injection::new(page, Clock::global(), config.rank);
            state::install(injection, config.hooks);
            *lock() = Some(process);
        }
        Err(error) => stay_off(&format!("no memory for the control page: {error}")),
    }
}

impl Process {
    /// A control page for this process: in a file, or where there can be none, in memory.
    fn make_page(
        &mut self,
        rank: u64,
        settings: &Settings,
        table: &TableSource,
    ) -> std::io::Result<&'static Page> {
        let identity = Identity {
            pid: self.pid,
            start_time: start_time(self.pid).unwrap_or(0),
            rank,
            hooks: self.hooks,
            program: std::env::args_os()
                .next()
                .map(|name| name.to_string_lossy().into_owned())
                .unwrap_or_default(),
        };
        match Page::create(&self.control_dir, &identity, settings, table) {
            Ok(Created { page, path }) => {
                self.page_file = Some(path);
                Ok(page)
            }
            Err(error) => {
                let cause = std::error::Error::source(&error);
                let cause = cause.map(|cause| format!(": {cause}")).unwrap_or_default();
                say(&format!(
                    "injecting, but the program cannot be observed or changed: {error}{cause}"
                ));
                self.page_file = None;
                Page::private(&identity, settings, table)
            }
        }
    }
}

fn lock() -> std::sync::MutexGuard<'static, Option<Process>> {
    PROCESS
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

extern "C" fn before_fork() {
    let mut process = lock();
    if let Some(process) = process.as_mut() {
        process.child = state::with_stream(|stream| stream.next_child());
    }
}

extern "C" fn in_child() {
    let errno = crate::real::errno();
    // Another thread of the parent could only have held the lock while it forked itself or ended
    // the process; then this child has no page of its own and counts in its parent's.
    if let (Ok(mut guard), Some(parent)) = (PROCESS.try_lock(), state::injection())
        && let Some(process) = guard.as_mut()
    {
        let (settings, table) = parent.page().settings();
        let rank = parent.page().identity().rank;
        process.pid = std::process::id();
        if let Ok(page) = process.make_page(rank, &settings, &table) {
            state::install(parent.for_child(page), process.hooks);
            state::with_stream(|stream| stream.set_lineage(process.child));
        }
    }
    crate::real::set_errno(errno);
}

extern "C" fn clean_up() {
    let (Ok(guard), Some(injection)) = (PROCESS.try_lock(), state::injection()) else {
        return;
    };
    // A child made by vfork or clone is not the process that this belongs to.
    let Some(process) = guard
        .as_ref()
        .filter(|process| process.pid == std::process::id())
    else {
        return;
    };
    if let Some(path) = &process.report {
        report(path, injection);
    }
    if let Some(path) = &process.page_file
        && let Ok(path) = std::ffi::CString::new(path.as_os_str().as_bytes())
    {
        // SAFETY: a C string.
        unsafe { libc::unlink(path.as_ptr()) };
    }
}

/// Appends the counters as one line of JSON. The report is an extra: a program is not disturbed
/// because it cannot be written.
fn report(path: &std::path::Path, injection: &Injection) {
    let totals = injection.page().totals();
    let calls: Vec<String> = Hook::ALL
        .iter()
        .map(|hook| format!("\"{}\":{}", hook.name(), totals.calls[*hook as usize]))
        .collect();
    let line = format!(
        "{{\"pid\":{},\"calls\":{{{}}},\"delays\":{},\"asked_ns\":{},\"achieved_ns\":{},\
         \"late_max_ns\":{},\"send_errors\":{},\"compensation_ns\":{:.1}}}\n",
        std::process::id(),
        calls.join(","),
        totals.delays,
        totals.asked_ns,
        totals.achieved_ns,
        totals.late_max_ns,
        totals.send_errors,
        injection.compensation_ns(),
    );
    if let Ok(mut file) = std::fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(path)
    {
        let _ = file.write_all(line.as_bytes());
    }
}
