//! The programs under injection, by their pages; and what is done with the page of one that has ended without the library.

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::unistd::geteuid;

use jitterlab_base::page::{Namespaces, Standing, directory, is_deserted, list};

use super::{Attached, Ended, attach};
use crate::environment::CONTROL_DIR;

/// A program that runs.
pub struct Program {
    /// Its page.
    pub page: Attached,
    /// Its number here. `None`: it has none here, since its namespace is another one, as a container's.
    pub pid: Option<u32>,
}

/// The one for whom programs are looked for.
#[derive(Debug, Clone, Copy)]
pub enum Collector<'a> {
    /// Nobody's: all programs count. Lines go to the reports that the pages name, if these are the caller's own files.
    Anybody,
    /// One `inject run`'s, whose programs alone count: lines go to its report.
    Run(u64, &'a Path),
}

/// The programs that run now. The page of one that was killed, or has ended in another way that the library did not see, is
/// removed; its counters go to its report first.
///
/// # Errors
/// A directory of pages cannot be read.
pub fn programs(collector: Collector) -> io::Result<Vec<Program>> {
    let here = Namespaces::own();
    let mut programs = Vec::new();
    for directory in directories() {
        for path in list(&directory)? {
            let is_deserted = is_deserted(&path);
            let page = match attach(&path) {
                Ok(page) => page,
                // The page is on its way, or of an earlier version: it is a program's as long as that has it in its memory.
                Err(_) => {
                    if is_deserted {
                        let _ = std::fs::remove_file(&path);
                    }
                    continue;
                }
            };
            if let Collector::Run(run, _) = collector
                && page.identity().run != run
            {
                continue;
            }
            match page.0.standing(here) {
                Standing::Runs(pid) if !is_deserted => programs.push(Program { page, pid }),
                Standing::BecameAnother => page.collect(collector, here, What::Sends),
                _ => page.collect(collector, here, What::All),
            }
        }
    }
    Ok(programs)
}

/// The directories of pages: the caller's own, for root everybody's, and the one that the environment names.
fn directories() -> Vec<PathBuf> {
    let own = directory(geteuid().as_raw());
    let mut directories = vec![own.clone()];
    if geteuid().is_root()
        && let Ok(entries) = std::fs::read_dir("/dev/shm")
    {
        directories.extend(entries.filter_map(|entry| {
            let path = entry.ok()?.path();
            let owner = std::fs::symlink_metadata(&path).ok()?.uid();
            (path != own && path == directory(owner)).then_some(path)
        }));
    }
    directories.extend(std::env::var_os(CONTROL_DIR).map(PathBuf::from));
    directories
}

/// The part of a page that is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    /// Its counters.
    All,
    /// Its counters, if anything was sent: a process goes on, and has a line when it ends.
    Sends,
}

impl Attached {
    /// Removes the page that an earlier program of the calling process has left, or an earlier process of its number; what
    /// that has sent is reported.
    pub(super) fn replace(self) {
        let report = self.identity().report;
        self.clear_away(&report, What::Sends);
    }

    /// The program has ended: its counters go to the report, and the page goes.
    fn collect(self, collector: Collector, here: Namespaces, what: What) {
        let identity = self.identity();
        let is_own = self.0.uid().is_ok_and(|uid| uid == geteuid().as_raw());
        match collector {
            Collector::Run(_, report) => self.clear_away(report, what),
            Collector::Anybody if identity.report.as_os_str().is_empty() => {
                self.clear_away(Path::new(""), what);
            }
            // The report that another user's page names is not for us to write to, and left for them.
            Collector::Anybody if !is_own => {}
            // Elsewhere the path is another file's.
            Collector::Anybody if identity.namespaces.mount != here.mount => {
                self.clear_away(Path::new(""), what);
            }
            Collector::Anybody => self.clear_away(&identity.report, what),
        }
    }

    /// If several come to clear it away, one does so, and the others wait for it.
    fn clear_away(self, report: &Path, what: What) {
        let Ok(_locked) = self.lock() else {
            return;
        };
        let has_sent = || self.totals().calls.iter().any(|&calls| calls > 0);
        if let Ok(report) = CString::new(report.as_os_str().as_bytes())
            && !report.is_empty()
            && (what == What::All || has_sent())
        {
            self.report(&report, Ended::Unseen);
        }
        self.0.remove();
    }
}
