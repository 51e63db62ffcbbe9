//! Events of the kernel in some threads, with readings of the counter of time stamps.

use std::path::Path;

use super::{Error, Instance, find};

/// The clock of the kernel's trace that reads what the x86 reads as [`jitterlab_base::clock::Clock::counter`]. Its time stamps are
/// printed in full, those in nanoseconds are not.
const CLOCK: &str = "x86-tsc";

/// An event that a thread has met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event<'a> {
    /// The thread, by its number.
    pub thread: i32,
    /// When, by the counter of time stamps.
    pub at: u64,
    /// The event, without the name of its system.
    pub name: &'a str,
}

/// Events are recorded from when it is made.
pub struct Recording(Instance);

impl Recording {
    /// Records events, each by its name (`net:netif_rx`), in `threads`. `root` is `/`, except in tests.
    ///
    /// # Errors
    /// Why that cannot be, in words: there is no tracing file system, not for this user, or without one of the events or the clock.
    pub fn begin(root: &Path, events: &[&str], threads: &[i32]) -> Result<Recording, String> {
        let (tracing, known) = find(root, "available_events")?;
        let is_known = |event: &&str| known.lines().any(|line| line.trim() == *event);
        if let Some(missing) = events.iter().find(|event| !is_known(event)) {
            return Err(format!("this kernel was built without the event {missing}"));
        }
        let (_, clocks) = find(root, "trace_clock")?;
        let mut clocks = clocks.split_whitespace();
        if !clocks.any(|clock| clock.trim_matches(['[', ']']) == CLOCK) {
            return Err(format!("the trace of this kernel has no clock {CLOCK}"));
        }
        let instance = Instance::new(&tracing).map_err(|error| error.to_string())?;
        let threads: Vec<String> = threads.iter().map(i32::to_string).collect();
        let begun = || -> Result<(), Error> {
            instance.write("tracing_on", "0")?;
            instance.write("trace_clock", CLOCK)?;
            instance.write("set_event_pid", &threads.join(" "))?;
            for event in events {
                let folder = event.replace(':', "/");
                instance.write(&format!("events/{folder}/enable"), "1")?;
            }
            instance.write("tracing_on", "1")
        };
        begun().map_err(|error| error.to_string())?;
        Ok(Recording(instance))
    }

    /// Ends it, and gives the text of [`events`].
    ///
    /// # Errors
    /// Why the trace cannot be read, or its instance not be removed, in words.
    pub fn end(self) -> Result<String, String> {
        let text = self.0.stop();
        self.0.remove().map_err(|error| error.to_string())?;
        text.map_err(|error| error.to_string())
    }
}

/// The events of a trace.
pub fn events(text: &str) -> impl Iterator<Item = Event<'_>> {
    text.lines().filter_map(event)
}

/// A line of a trace: `task-thread [cpu] flags time stamp: event: what it says`. Other lines (`CPU:0 [LOST 5 EVENTS]`) are none.
fn event(line: &str) -> Option<Event<'_>> {
    let (before, after) = line.split_once(": ")?;
    // A task may have a bracket or a dash in its name.
    let (task, rest) = before.rsplit_once('[')?;
    let (_, thread) = task.trim_end().rsplit_once('-')?;
    let (name, _) = after.split_once(':')?;
    Some(Event {
        thread: thread.parse().ok()?,
        at: rest.split_whitespace().next_back()?.parse().ok()?,
        name: name.trim(),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_of_a_trace_are_read() {
        let text = "# tracer: nop\n#\nCPU:0 [LOST 5 EVENTS]\n\
            \x20     a-b [c]-859     [003] d.h1.  8163722001: netif_rx: dev=lo skbaddr=00000000a1 len=104\n\
            \x20       <...>-1234567 [001] .....  8163722009: net_dev_queue: dev=lo skbaddr=00000000a1 len=118\n";
        let found: Vec<Event> = events(text).collect();
        let of = |thread, at, name| Event { thread, at, name };
        let expected = [
            of(859, 8_163_722_001, "netif_rx"),
            of(1_234_567, 8_163_722_009, "net_dev_queue"),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn what_a_kernel_does_not_have_is_said() {
        let root = tempfile::tempdir().unwrap();
        let reason = |events: &[&str]| Recording::begin(root.path(), events, &[1]).err().unwrap();
        assert!(reason(&["net:netif_rx"]).contains("mount -t tracefs"));
        let tracing = root.path().join("sys/kernel/tracing");
        std::fs::create_dir_all(&tracing).unwrap();
        let write = |name: &str, text: &str| std::fs::write(tracing.join(name), text).unwrap();
        write("available_events", "net:netif_rx\nnet:net_dev_queue\n");
        write("trace_clock", "[local] global mono\n");
        assert_eq!(
            reason(&["net:netif_rx", "sock:sk_data_ready"]),
            "this kernel was built without the event sock:sk_data_ready"
        );
        assert_eq!(
            reason(&["net:netif_rx"]),
            "the trace of this kernel has no clock x86-tsc"
        );
        write("trace_clock", "local [x86-tsc]\n");
        let refused = reason(&["net:netif_rx"]);
        assert!(refused.starts_with("cannot make "), "{refused}");
    }

    proptest! {
        #[test]
        fn no_text_stops_the_reader(text in "[ -~\n]{0,200}") {
            let _ = events(&text).count();
        }

        #[test]
        fn no_line_stops_the_reader(task in "[ -~]{0,16}", rest in "[0-9 :\\[\\].-]{0,60}") {
            let _ = events(&format!("{task}-1 [0] {rest}")).count();
        }
    }
}
