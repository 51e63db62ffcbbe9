//! Putting back what was changed.

use std::path::PathBuf;

use super::{Error, Left, Reverted, chain, put, this_boot};
use crate::journal::{Change, Writer};
use crate::settings;
use crate::system::{Place, System, Value};

/// Puts back what was changed, the last first. A value that somebody else has changed since is left
/// unless `force`. `observe` is told of each value before it is put back.
pub fn revert(
    system: &System,
    force: bool,
    observe: &mut dyn FnMut(&Change),
) -> Result<Reverted, Error> {
    let writer = Writer::open(system)?;
    let this_boot = this_boot(system);
    let mut changes: Vec<Change> = writer.journal.changes.iter().rev().cloned().collect();
    // A CPU that is offline can be in nobody's mask: those that were taken away come back first.
    changes.sort_by_key(|change| change.setting != settings::SMT_CONTROL.name);
    // What is in a directory that we made goes with it.
    let made: Vec<PathBuf> = changes
        .iter()
        .filter_map(|change| match &change.place {
            Place::Directory { path } if change.old.is_none() => Some(path.clone()),
            _ => None,
        })
        .collect();
    let mut reverted = Reverted::default();
    let mut kept = Vec::new();
    for change in changes {
        system.sweep(&change.place);
        let left = |found: Value, reason: Option<String>| Left {
            setting: change.setting.clone(),
            place: change.place.to_string(),
            old: change.old.clone(),
            found,
            reason,
        };
        if change.boot != this_boot && !change.place.survives_reboot() {
            reverted.gone += 1;
            continue;
        }
        let found = match system.read(&change.place) {
            Ok(found) => found,
            Err(error) => {
                reverted.failed.push(left(None, Some(chain(&error))));
                kept.push(change);
                continue;
            }
        };
        let is_over = found.is_none()
            && match &change.place {
                Place::Affinity { .. } => true,
                Place::Kernel { path, .. } => {
                    made.iter().any(|directory| path.starts_with(directory))
                }
                _ => false,
            };
        if is_over {
            reverted.gone += 1;
        } else if found != change.old && found != change.new && !force {
            reverted.left.push(left(found, None));
            kept.push(change);
        } else if found != change.old {
            observe(&change);
            match put(system, &change.place, &change.old) {
                Ok(()) => {
                    reverted.restored += 1;
                    reverted.reboot |= matches!(change.place, Place::BootFile { .. });
                }
                Err(reason) => {
                    reverted.failed.push(left(
                        system.read(&change.place).unwrap_or(None),
                        Some(reason),
                    ));
                    kept.push(change);
                }
            }
        }
    }
    // Oldest first again.
    kept.reverse();
    writer.finish(kept)?;
    Ok(reverted)
}
