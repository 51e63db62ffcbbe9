//! Putting back what was changed.

use std::collections::HashMap;
use std::path::PathBuf;

use jitterlab_base::show;

use super::{Error, Left, Reverted, put};
use crate::cpus::CpuSet;
use crate::journal::{Change, Writer};
use crate::settings;
use crate::system::{Place, System, Value};

/// Puts back what was changed, the last first. A value that somebody else has changed since is left
/// unless `force`. `observe` is told of each change before it is taken back, and what stands at its place then.
pub fn revert(
    system: &System,
    force: bool,
    observe: &mut dyn FnMut(&Change, &Value),
) -> Result<Reverted, Error> {
    let writer = Writer::open(system)?;
    let changes = &writer.journal.changes;
    let mut work = Work {
        system,
        force,
        observe,
        this_boot: system.this_boot(),
        made: made(changes),
        reverted: Reverted::default(),
    };
    let mut left = Vec::new();
    for history in histories(changes) {
        if !work.put_back(&history) {
            left.extend(history.into_iter().cloned());
        }
    }
    left.extend(work.heirs(changes));
    let reverted = work.reverted;
    writer.finish(left)?;
    Ok(reverted)
}

/// The changes of each place, oldest first; the place that was changed last comes first, but for
/// simultaneous multithreading: a CPU that is offline can be in nobody's mask.
fn histories(changes: &[Change]) -> Vec<Vec<&Change>> {
    let mut histories: Vec<Vec<&Change>> = Vec::new();
    let mut numbers = HashMap::new();
    for change in changes {
        let number = *numbers.entry(&change.place).or_insert(histories.len());
        match histories.get_mut(number) {
            Some(history) => history.push(change),
            None => histories.push(vec![change]),
        }
    }
    histories.reverse();
    histories.sort_by_key(|history| history[0].setting != settings::SMT_CONTROL.name);
    histories
}

/// The directories that we made.
fn made(changes: &[Change]) -> Vec<PathBuf> {
    let directories = changes.iter().filter_map(|change| match &change.place {
        Place::Directory { path } if change.old.is_none() => Some(path.clone()),
        _ => None,
    });
    directories.collect()
}

struct Work<'a> {
    system: &'a System,
    force: bool,
    observe: &'a mut dyn FnMut(&Change, &Value),
    this_boot: String,
    made: Vec<PathBuf>,
    reverted: Reverted,
}

impl Work<'_> {
    /// Puts a place back to what it was; says whether there is nothing left to be done there.
    fn put_back(&mut self, history: &[&Change]) -> bool {
        let place = &history[0].place;
        self.system.sweep(place);
        let lives = |change: &&&Change| change.boot == self.this_boot || place.survives_reboot();
        let history: Vec<&Change> = history.iter().filter(lives).copied().collect();
        let Some(last) = history.last() else {
            self.reverted.gone += 1;
            return true;
        };
        let change = Change {
            old: self.before(&history),
            ..(*last).clone()
        };
        let found = match self.system.read(place) {
            Ok(found) => found,
            Err(error) => return self.failed(&change, None, show::causes(&error)),
        };
        if found.is_none() && change.old.is_some() && self.is_over(place) {
            self.reverted.gone += 1;
            return true;
        }
        if !self.is_ours(&history, &found) && !self.force {
            self.reverted.left.push(left(&change, found, None));
            return false;
        }
        // The configuration may not have been made yet from a boot loader's file, and a request to init may still be on
        // its way.
        let is_made = !matches!(place, Place::BootFile { .. } | Place::Service { .. });
        if self.system.same(place, &found, &change.old) && is_made {
            return true;
        }
        self.put(&change, &found)
    }

    /// Takes a change back where `found` stands.
    fn put(&mut self, change: &Change, found: &Value) -> bool {
        (self.observe)(change, found);
        match put(self.system, &change.place, &change.old) {
            Ok(()) => {
                self.reverted.restored += 1;
                self.reverted.reboot |= matches!(change.place, Place::BootFile { .. });
                true
            }
            Err(reason) => {
                let found = self.system.read(&change.place).unwrap_or(None);
                self.failed(change, found, reason)
            }
        }
    }

    fn failed(&mut self, change: &Change, found: Value, reason: String) -> bool {
        self.reverted.failed.push(left(change, found, Some(reason)));
        false
    }

    /// The value at a place before we changed it. If somebody else has changed it between two of our
    /// changes, it is what he put there.
    fn before(&self, history: &[&Change]) -> Value {
        let mut old = &history[0].old;
        for (index, change) in history.iter().enumerate().skip(1) {
            if !self.is_ours(&history[..index], &change.old) {
                old = &change.old;
            }
        }
        old.clone()
    }

    /// Whether a value is one that our changes of a place, finished or not, account for.
    fn is_ours(&self, history: &[&Change], found: &Value) -> bool {
        history.iter().any(|change| {
            let Change {
                place,
                old,
                new,
                kept,
                ..
            } = change;
            *kept && self.system.is_disturbed(place, old, found)
                || self.system.same(place, found, old)
                || self.system.same(place, found, new)
                || self.system.is_between(place, old, new, found)
        })
    }

    /// True if a place that has nothing any more has gone with something else: a thread that has
    /// ended, a directory of ours, a device that was taken out.
    fn is_over(&self, place: &Place) -> bool {
        match place {
            Place::Affinity { .. } | Place::Ethtool { .. } => true,
            Place::Kernel { path, .. } => {
                let ours = self
                    .made
                    .iter()
                    .any(|directory| path.starts_with(directory));
                ours || !self.system.exists(path)
            }
            _ => false,
        }
    }

    /// Gives threads that were started meanwhile what those had before from whom they have their
    /// CPUs: a thread begins with those of the one that starts it. Gives those that it could not be
    /// done for.
    fn heirs(&mut self, changes: &[Change]) -> Vec<Change> {
        let online = self.system.online();
        let on = |list: &str| list.parse().map(|cpus: CpuSet| cpus.and(&online)).ok();
        let (mut moved, mut latest) = (Vec::new(), 0);
        for change in changes {
            let of_now = change.boot == self.this_boot && !change.kept;
            if let (Place::Affinity { started, .. }, true) = (&change.place, of_now) {
                moved.extend(
                    change
                        .new
                        .as_deref()
                        .and_then(on)
                        .map(|cpus| (cpus, change)),
                );
                latest = latest.max(*started);
            }
        }
        let mut left = Vec::new();
        if moved.is_empty() {
            return left;
        }
        let mut threads = self.system.threads().unwrap_or_default();
        threads.retain(|thread| thread.started > latest && !thread.fixed);
        for thread in threads {
            let has = thread.cpus.and(&online);
            let Some((_, from)) = moved.iter().find(|(cpus, _)| *cpus == has) else {
                continue;
            };
            let change = Change {
                place: thread.place(),
                new: Some(thread.cpus.to_string()),
                ..Change::clone(from)
            };
            if !self.put(&change, &change.new) {
                left.push(change);
            }
        }
        left
    }
}

fn left(change: &Change, found: Value, reason: Option<String>) -> Left {
    Left {
        setting: change.setting.clone(),
        place: change.place.to_string(),
        old: change.old.clone(),
        found,
        reason,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::Journal;
    use std::fs;

    #[test]
    fn what_was_started_meanwhile_and_cannot_be_put_back_stays_in_the_journal() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, content: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        };
        let own = |file: &str| fs::read_to_string(format!("/proc/thread-self/{file}")).unwrap();
        write("proc/7/task/7/stat", &own("stat"));
        write("proc/7/task/7/status", &own("status"));
        write("sys/devices/system/cpu/online", "0-4095\n");
        fs::create_dir_all(root.path().join("var/lib")).unwrap();
        let system = System::at(root.path(), "jitterlab");
        let [thread] = &system.threads().unwrap()[..] else {
            panic!("one thread")
        };
        let moved = Change {
            setting: "user-tasks".into(),
            place: Place::Affinity {
                thread: 6,
                started: 1,
                name: "a".into(),
            },
            old: Some("0-4095".into()),
            new: Some(thread.cpus.to_string()),
            boot: system.this_boot(),
            kept: false,
        };
        let mut writer = Writer::open(&system).unwrap();
        writer.keep(&[moved]).unwrap();
        drop(writer);
        // A copied tree has no threads that could be moved.
        let reverted = revert(&system, false, &mut |_, _| {}).unwrap();
        let failed: Vec<&str> = reverted.failed.iter().map(|left| &left.place[..]).collect();
        assert_eq!(failed.len(), 2, "{failed:?}");
        let left = Journal::read(&system).unwrap().changes;
        assert_eq!(left.len(), 2, "{left:?}");
        assert_eq!(
            (&left[1].place, &left[1].old),
            (&thread.place(), &left[0].old)
        );
    }
}
