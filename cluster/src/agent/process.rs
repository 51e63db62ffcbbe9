//! A program that a worker has started.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::net::TcpStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use jitterlab_live::PLACE;
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::{AccessFlags, Pid, access};
use regex::Regex;

use crate::ended::{Ended, last_line};
use crate::pattern;
use crate::protocol::{Program, Ready};

/// The process groups that a worker has started and that have not ended.
#[derive(Debug, Clone, Default)]
pub struct Groups(Arc<Mutex<BTreeSet<i32>>>);

impl Groups {
    fn with<T>(&self, act: impl FnOnce(&mut BTreeSet<i32>) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Asks them all to end, and kills them [`GRACE`] later, or when the programs that they belong to have ended.
    pub fn end(&self) {
        let groups = self.with(|groups| groups.clone());
        let groups = || groups.iter().map(|&group| Pid::from_raw(group));
        for group in groups() {
            let _ = killpg(group, Signal::SIGTERM);
        }
        let deadline = Instant::now() + GRACE;
        while groups().any(|group| kill(group, None).is_ok()) && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(1));
        }
        for group in groups() {
            let _ = killpg(group, Signal::SIGKILL);
        }
    }
}

/// The reports of a program's threads: once each, so that no program can print faster than somebody
/// listens.
enum Event {
    Ready(String),
    Closed,
    Exited(ExitStatus, Instant),
}

/// Programs that have to end have this long for it. What starts ranks on other machines ends them when it is asked to
/// end; if it is killed, ranks that srun has started live on.
const GRACE: Duration = Duration::from_secs(5);

/// A program's output is kept up to at least so many of its last bytes.
const KEPT: usize = 1 << 20;

/// The end of what a program has printed.
#[derive(Debug, Clone, Default)]
struct Tail(Arc<Mutex<Vec<u8>>>);

impl Tail {
    fn with<T>(&self, act: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn push(&self, bytes: &[u8]) {
        self.with(|kept| {
            kept.extend_from_slice(bytes);
            if kept.len() > 2 * KEPT {
                kept.drain(..kept.len() - KEPT);
            }
        });
    }

    fn text(&self) -> String {
        self.with(|kept| String::from_utf8_lossy(kept).into_owned())
    }

    /// The last line that says something, its first so many bytes; of a line that is written over, what is to be seen.
    fn last_line(&self) -> String {
        const SHOWN: usize = 200;
        self.with(|kept| {
            let mut lines = kept.rsplit(|byte| b"\n\r".contains(byte));
            let line = lines.find(|line| !line.trim_ascii().is_empty());
            let line = line.unwrap_or_default().trim_ascii();
            String::from_utf8_lossy(&line[..line.len().min(SHOWN)]).into_owned()
        })
    }
}

/// The output of a program while it runs.
#[derive(Debug, Clone)]
pub struct Said {
    stdout: Tail,
    stderr: Tail,
}

impl Said {
    /// The line that it printed last: on stdout, or where it says nothing there, on stderr.
    pub fn last_line(&self) -> String {
        match self.stdout.last_line() {
            nothing if nothing.is_empty() => self.stderr.last_line(),
            line => line,
        }
    }
}

/// A program that was started.
#[derive(Debug)]
pub struct Process {
    name: String,
    group: Pid,
    groups: Groups,
    started: Instant,
    events: Receiver<Event>,
    /// Held open: servers of ours end when it closes.
    stdin: Option<ChildStdin>,
    stdout: Tail,
    stderr: Tail,
    open_streams: u32,
    exited: Option<(ExitStatus, Instant)>,
}

impl Process {
    /// Starts a program in `directory`, with a process group of its own. It is killed when the
    /// calling thread ends, however that comes. `ready` is what [`Process::ready`] will wait for, and `live` is the name of
    /// the place that it publishes to.
    pub fn start(
        program: &Program,
        ready: &Ready,
        directory: &Path,
        live: &str,
        groups: &Groups,
    ) -> Result<Self, String> {
        let name = program.command.first();
        let name = name.ok_or("there is no program to start")?.clone();
        let pattern = match ready {
            Ready::Line(pattern) => {
                Some(pattern::compile(pattern).map_err(|error| format!("`{pattern}`: {error}"))?)
            }
            Ready::Now | Ready::Accepts(_) => None,
        };
        let command = command_of(program);
        let mut child = Command::new(&command[0])
            .args(&command[1..])
            .env(PLACE, live)
            .current_dir(directory)
            .env("PATH", search_path())
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("cannot start {name}: {error}"))?;
        let started = Instant::now();
        let group = Pid::from_raw(child.id().cast_signed());
        groups.with(|groups| groups.insert(group.as_raw()));
        let (sender, events) = channel();
        let stdin = child.stdin.take();
        let (stdout, stderr) = (Tail::default(), Tail::default());
        let mut open_streams = 0;
        if let Some(stream) = child.stdout.take() {
            keep(stream, stdout.clone(), pattern.clone(), sender.clone());
            open_streams += 1;
        }
        if let Some(stream) = child.stderr.take() {
            keep(stream, stderr.clone(), pattern, sender.clone());
            open_streams += 1;
        }
        wait(child, sender);
        Ok(Process {
            name,
            group,
            groups: groups.clone(),
            started,
            events,
            stdin,
            stdout,
            stderr,
            open_streams,
            exited: None,
        })
    }

    /// Its output while it runs.
    pub fn said(&self) -> Said {
        Said {
            stdout: self.stdout.clone(),
            stderr: self.stderr.clone(),
        }
    }

    /// Waits until it is ready; gives the line that it was ready with.
    pub fn ready(&mut self, ready: &Ready, timeout: Duration) -> Result<String, String> {
        let deadline = Instant::now() + timeout;
        match ready {
            Ready::Now => Ok(String::new()),
            Ready::Line(_) => loop {
                match self.next(deadline) {
                    Some(Some(line)) => return Ok(line),
                    Some(None) if self.exited.is_none() || self.open_streams > 0 => {}
                    _ => return Err(self.not_ready()),
                }
            },
            Ready::Accepts(address) => loop {
                const TRY_AGAIN: Duration = Duration::from_millis(5);
                if TcpStream::connect_timeout(address, Duration::from_secs(1)).is_ok() {
                    return Ok(String::new());
                }
                // Also the pause between two tries.
                self.next((Instant::now() + TRY_AGAIN).min(deadline));
                if self.exited.is_some() || Instant::now() >= deadline {
                    return Err(self.not_ready());
                }
            },
        }
    }

    fn not_ready(&self) -> String {
        let ended = if self.exited.is_some() {
            "ended before it was"
        } else {
            "did not get"
        };
        let said = last_line(&self.stderr.text(), &self.stdout.text());
        format!("{} {ended} ready{said}", self.name)
    }

    /// Waits for its end; after `timeout` it is asked to end, and after [`GRACE`] killed.
    pub fn end(mut self, timeout: Duration) -> Ended {
        drop(self.stdin.take());
        self.wait(timeout);
        let timed_out = self.exited.is_none();
        if timed_out {
            let _ = killpg(self.group, Signal::SIGTERM);
            self.wait(GRACE);
        }
        // The processes that it has left behind go with it.
        let _ = killpg(self.group, Signal::SIGKILL);
        while self.exited.is_none() || self.open_streams > 0 {
            // A process that left the group may hold the streams open; it is not waited for.
            const LEFT: Duration = Duration::from_secs(2);
            if self.next(Instant::now() + LEFT).is_none() {
                break;
            }
        }
        self.groups
            .with(|groups| groups.remove(&self.group.as_raw()));
        let (status, at) = match self.exited {
            Some((status, at)) => (Some(status), at),
            None => (None, Instant::now()),
        };
        Ended {
            status: status.and_then(|status| status.code()),
            signal: status.and_then(|status| status.signal()),
            timed_out,
            seconds: (at - self.started).as_secs_f64(),
            stdout: self.stdout.text(),
            stderr: self.stderr.text(),
        }
    }

    fn wait(&mut self, patience: Duration) {
        let deadline = Instant::now() + patience;
        while self.exited.is_none() && self.next(deadline).is_some() {}
    }

    /// The failure, if it has ended by itself and not well. A server that leaves a daemon behind
    /// ends well.
    pub fn failure(&mut self) -> Option<String> {
        while self.next(Instant::now()).is_some() {}
        let (status, _) = self.exited.filter(|(status, _)| !status.success())?;
        let said = last_line(&self.stderr.text(), &self.stdout.text());
        Some(format!(
            "{} ended before it was stopped ({status}){said}",
            self.name
        ))
    }

    /// Asks it to end; kills it after `timeout`.
    pub fn stop(self, timeout: Duration) -> Ended {
        let _ = killpg(self.group, Signal::SIGTERM);
        self.end(timeout)
    }

    /// Takes in the next thing that happens: the line that it is ready with, or something else;
    /// nothing at the deadline.
    fn next(&mut self, deadline: Instant) -> Option<Option<String>> {
        let left = deadline.saturating_duration_since(Instant::now());
        match self.events.recv_timeout(left) {
            Ok(Event::Ready(line)) => Some(Some(line)),
            Ok(Event::Closed) => {
                self.open_streams -= 1;
                Some(None)
            }
            Ok(Event::Exited(status, at)) => {
                self.exited = Some((status, at));
                Some(None)
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => None,
        }
    }
}

/// The command with what ties the program to its worker and to its CPU.
fn command_of(program: &Program) -> Vec<String> {
    let mut command: Vec<String> = ["setpriv", "--pdeathsig", "KILL", "--"]
        .map(String::from)
        .into();
    if let Some(cpu) = program.cpu {
        // taskset will not do: it knows nothing of a partition of isolated CPUs that would have to be entered first.
        let keep = ["jitterlab", "agent", "--cpu", &cpu.to_string(), "--"];
        command.extend(keep.map(String::from));
    }
    command.extend(program.command.iter().cloned());
    command
}

/// The path that programs are looked for in: first beside the worker's own, so that `jitterlab` is this one.
fn search_path() -> OsString {
    let own = std::env::current_exe().ok();
    let beside = own.as_deref().and_then(Path::parent).map(Path::to_path_buf);
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/sbin:/usr/bin:/sbin:/bin".into());
    let places = beside.into_iter().chain(std::env::split_paths(&path));
    std::env::join_paths(places).unwrap_or(path)
}

/// True if a program is where one that is started in `directory` is looked for.
pub fn is_there(program: &str, directory: &Path) -> bool {
    let can_start = |place: &Path| {
        let path = directory.join(place).join(program);
        path.is_file() && access(&path, AccessFlags::X_OK).is_ok()
    };
    match program.contains('/') {
        true => can_start(Path::new("")),
        false => std::env::split_paths(&search_path()).any(|place| can_start(&place)),
    }
}

/// Reads a stream to its end, whoever cares: a program must not stop because nobody reads what it
/// prints. What it has printed is there at once, whether a line ends with it or not.
fn keep(
    stream: impl Read + Send + 'static,
    tail: Tail,
    mut awaited: Option<Regex>,
    events: Sender<Event>,
) {
    thread::spawn(move || {
        let mut reader = BufReader::new(stream);
        let mut line = Vec::new();
        loop {
            let printed = match reader.fill_buf() {
                Ok(printed) if !printed.is_empty() => printed,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                _ => break,
            };
            tail.push(printed);
            let length = printed.len();
            if let Some(pattern) = &awaited {
                line.extend_from_slice(printed);
                if let Some(found) = whole_lines(&mut line).find(|line| pattern.is_match(line)) {
                    let _ = events.send(Event::Ready(found));
                    awaited = None;
                }
            }
            reader.consume(length);
        }
        if let Some(found) = awaited.and_then(|pattern| {
            let last = String::from_utf8_lossy(&line).into_owned();
            pattern.is_match(&last).then_some(last)
        }) {
            let _ = events.send(Event::Ready(found));
        }
        let _ = events.send(Event::Closed);
    });
}

/// Takes the lines that have ended out of `text`, without their ends. A line that is longer than what is kept counts as ended.
fn whole_lines(text: &mut Vec<u8>) -> impl Iterator<Item = String> {
    let end = match text.iter().rposition(|&byte| byte == b'\n') {
        Some(end) => end + 1,
        None if text.len() >= KEPT => text.len(),
        None => 0,
    };
    let ended: Vec<u8> = text.drain(..end).collect();
    let lines = String::from_utf8_lossy(&ended).into_owned();
    let lines: Vec<String> = lines
        .split_terminator('\n')
        .map(|line| line.trim_end_matches('\r').to_string())
        .collect();
    lines.into_iter()
}

fn wait(mut child: Child, events: Sender<Event>) {
    thread::spawn(move || {
        if let Ok(status) = child.wait() {
            let _ = events.send(Event::Exited(status, Instant::now()));
        }
    });
}
