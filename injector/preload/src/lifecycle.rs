//! Coming up before the program, following it through `fork`, cleaning up after it.

#![allow(unsafe_code)]

use std::ffi::{CString, OsStr};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::sync::Mutex;

use jitterlab_base::clock::Clock;
use jitterlab_base::page::{self, Namespaces, start_time};
use jitterlab_injector::control::{Created, Ended, Identity, Page, Settings};
use jitterlab_injector::delay::Injection;
use jitterlab_injector::environment;
use jitterlab_injector::table::TableSource;

use crate::config::Config;
use crate::real::system_call;
use crate::{confined, defer, hooks, interpose, recorder, state};

/// The things to do about this process when it ends, and when it forks.
struct Process {
    pid: u32,
    /// True if it has come to its end, and all has been done.
    ended: bool,
    page_file: Option<CString>,
    /// The directory in which the page is made, if not in that of whoever the program runs as.
    control_dir: Option<PathBuf>,
    report: Option<CString>,
    run: u64,
    hooks: u32,
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
pub(crate) fn say(message: &str) {
    let line = format!("jitterlab: {message}\n");
    // SAFETY: the bytes are ours.
    unsafe { system_call()(libc::SYS_write, 2, line.as_ptr(), line.len()) };
}

fn start(config: Config) {
    hooks::prepare_keys();
    // SAFETY: the functions have the type that is asked for and live as long as the process.
    unsafe { libc::pthread_atfork(Some(before_told_fork), Some(in_told_parent), Some(in_child)) };
    let mut process = Process {
        pid: std::process::id(),
        ended: false,
        page_file: None,
        control_dir: config.control_dir,
        report: config.report,
        run: config.run,
        hooks: config.hooks,
    };
    let (page, problem) = process.make_page(config.rank, &config.settings, &config.table);
    if let Some(problem) = problem {
        say(&problem);
    }
    if let Some(page) = page {
        let mut injection = Injection::new(page, Clock::global(), config.rank);
        if let Some((recording, elapsed_ns)) = config.replay {
            injection = injection.replaying(Box::leak(recording), elapsed_ns);
        }
        state::install(injection, config.hooks);
        state::stream().set_lineage(config.lineage);
        if let Some(folder) = config.records {
            recorder::start(folder);
        }
        hooks::ask_for_all();
        interpose::look_around();
        *lock() = Some(process);
    }
}

impl Process {
    /// A control page for this process: in a file, or where there can be none, in memory. Says
    /// what is wrong, if anything is.
    fn make_page(
        &mut self,
        rank: u64,
        settings: &Settings,
        table: &TableSource,
    ) -> (Option<&'static Page>, Option<String>) {
        let identity = Identity {
            pid: self.pid,
            // /proc may be of another pid namespace: not by number.
            start_time: start_time("self").unwrap_or(0),
            namespaces: Namespaces::own(),
            run: self.run,
            rank,
            hooks: self.hooks,
            program: std::env::args_os()
                .next()
                .map(|name| name.to_string_lossy().into_owned())
                .unwrap_or_default(),
            report: self
                .report
                .as_ref()
                .map(|report| OsStr::from_bytes(report.as_bytes()).into())
                .unwrap_or_default(),
        };
        self.page_file = None;
        // SAFETY: asks the kernel.
        let own = || page::directory(unsafe { libc::geteuid() });
        let directory = self.control_dir.clone().unwrap_or_else(own);
        match Page::create(&directory, &identity, settings, table) {
            Ok(Created { page, path }) => {
                self.page_file = CString::new(path.into_os_string().into_vec()).ok();
                (Some(page), None)
            }
            Err(error) => {
                let cause = std::error::Error::source(&error);
                let cause = cause.map(|cause| format!(": {cause}")).unwrap_or_default();
                match Page::private(&identity, settings, table) {
                    Ok(page) => (
                        Some(page),
                        Some(format!(
                            "injecting, but the program cannot be observed or changed: {error}{cause}"
                        )),
                    ),
                    Err(error) => (
                        None,
                        Some(format!(
                            "latency injection is off: no memory for the control page: {error}"
                        )),
                    ),
                }
            }
        }
    }
}

fn lock() -> std::sync::MutexGuard<'static, Option<Process>> {
    PROCESS
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Prepares for a `fork` that the C library tells of: never in the middle of a `dlopen` of the same thread.
extern "C" fn before_told_fork() {
    before_fork();
    interpose::before_fork();
}

extern "C" fn in_told_parent() {
    interpose::after_fork();
    in_parent();
}

pub(crate) fn before_fork() {
    defer::settle_for_child();
    state::before_fork();
    defer::before_fork();
}

pub(crate) fn in_parent() {
    defer::after_fork_in_parent();
}

/// Does what a child made by `_Fork`, maybe in a signal handler, can do: it counts in its parent's page.
pub(crate) fn in_bare_child() {
    defer::after_fork_in_child();
    state::after_fork_in_child();
}

extern "C" fn in_child() {
    let errno = crate::real::errno();
    interpose::after_fork();
    in_bare_child();
    // A child that may not make a page counts in its parent's. So does a child whose parent had the lock held by
    // another thread, which holds it only while it ends the process.
    if !confined::is_on()
        && let (Ok(mut guard), Some(parent)) = (PROCESS.try_lock(), state::injection())
        && let Some(process) = guard.as_mut()
    {
        let (settings, table) = parent.page().settings();
        let rank = parent.page().identity().rank;
        process.pid = std::process::id();
        process.ended = false;
        // A daemon may have put anything in the place of stderr, so a problem is not told.
        if let (Some(page), _) = process.make_page(rank, &settings, &table) {
            state::install(parent.for_child(page), process.hooks);
        }
    }
    crate::real::set_errno(errno);
}

/// The process ends: performs what is deferred, leaves the report and takes the control page away.
/// Runs in signal handlers too (`_exit`), so it does not allocate.
pub(crate) extern "C" fn clean_up() {
    if confined::is_on() {
        return;
    }
    let (Ok(mut guard), Some(injection)) = (PROCESS.try_lock(), state::injection()) else {
        return;
    };
    // A child made by vfork, clone or `_Fork` is not the process that this belongs to; the last may
    // have deferred something.
    let Some(process) = guard
        .as_mut()
        .filter(|process| process.pid == std::process::id())
    else {
        defer::settle_all();
        return;
    };
    state::stop();
    defer::settle_all();
    recorder::leave();
    if std::mem::replace(&mut process.ended, true) {
        return;
    }
    let report = process.report.as_ref();
    let is_told = report.is_none_or(|path| injection.page().report(path, Ended::Exit));
    if is_told && let Some(path) = &process.page_file {
        // SAFETY: a C string.
        unsafe { libc::unlink(path.as_ptr()) };
    }
}
