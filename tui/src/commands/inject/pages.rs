//! Finding the control pages of injected programs.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use jitterlab_injector::control::{self, Attached};
use nix::unistd::geteuid;

use crate::outcome::Failure;

/// The directories to look in: one's own, and for root everybody's.
fn directories() -> Vec<PathBuf> {
    let own = control::directory(geteuid().as_raw());
    if !geteuid().is_root() {
        return vec![own];
    }
    let Ok(entries) = std::fs::read_dir("/dev/shm") else {
        return vec![own];
    };
    entries
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let owner = std::fs::symlink_metadata(&path).ok()?.uid();
            (path == control::directory(owner)).then_some(path)
        })
        .collect()
}

/// The pages of programs that run now. Pages that a killed program left behind are removed.
pub fn running() -> Result<Vec<Attached>, Failure> {
    let mut pages = Vec::new();
    for directory in directories() {
        for (pid, path) in control::list(&directory).map_err(Failure::run)? {
            let left = match control::attach(&path) {
                Ok(page) if page.identity().pid != pid => false,
                Ok(page) if page.is_alive() => {
                    pages.push(page);
                    false
                }
                Ok(_) => true,
                // A page may go away, or still be on its way, while we look; without its maker
                // it stays on its way.
                Err(_) => control::start_time(pid).is_none(),
            };
            if left {
                let _ = std::fs::remove_file(&path);
            }
        }
    }
    Ok(pages)
}

/// The page of the program `pid`.
pub fn of(pid: u32) -> Result<Attached, Failure> {
    let mut pages = running()?;
    let others: Vec<String> = pages
        .iter()
        .map(|page| page.identity().pid.to_string())
        .collect();
    match pages.iter().position(|page| page.identity().pid == pid) {
        Some(index) => Ok(pages.swap_remove(index)),
        None if others.is_empty() => Err(Failure::input(format!(
            "no program with pid {pid} is under injection; nor is any other"
        ))),
        None => Err(Failure::input(format!(
            "no program with pid {pid} is under injection; there are {}",
            others.join(", ")
        ))),
    }
}
