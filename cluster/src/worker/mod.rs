//! The controller's end of a worker.

mod parting;

use std::io::{self, BufReader, BufWriter, Write};
use std::net::IpAddr;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use jitterlab_base::units::Nanos;
use jitterlab_live::Update;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tempfile::NamedTempFile;
use thiserror::Error;

use crate::ended::{Ended, failure, last_line};
use crate::host::Host;
use crate::place::Place;
use crate::protocol::{self, HEARTBEAT, News, Program, Ready, Reply, Request, VERSION};
use crate::ssh;
use crate::trust::Trust;
use parting::{Printed, Stderr};

/// Starting a program and asking it to end. Small commands have ended by then.
pub const PROMPT: Nanos = Nanos(10_000_000_000);

/// A worker that says nothing for this long, beside the time of what it was asked for, is given up.
const PATIENCE: Duration = Duration::from_secs(60);
/// A file may be large, and the way to a worker slow.
const FILE_PATIENCE: Duration = Duration::from_secs(1800);
/// A worker whose stdin has closed ends at once; one that hangs is killed after this time.
const ENDING: Duration = Duration::from_secs(10);
/// One that was given up has hung for long enough.
const ENDING_OF_LOST: Duration = Duration::from_secs(1);

/// A worker, which lives as long as this value, and with it all that it has started.
#[derive(Debug)]
pub struct Worker {
    link: Link,
    node: serde_json::Value,
    /// The place of the program that is run to its end.
    running: Option<String>,
}

/// A host that nothing can be measured on, for people.
#[derive(Debug, Error)]
pub enum Unfit {
    /// It is not there, or starts no programs.
    #[error("{0}")]
    Host(String),
    /// It has not the CPU that its description names.
    #[error("{0}")]
    Cpu(String),
    /// It has not what starts ranks over MPI, or is in no allocation.
    #[error("{0}")]
    Mpi(String),
}

/// The way to a worker; the worker ends with it.
#[derive(Debug)]
struct Link {
    host: String,
    place: Place,
    /// How it was started.
    command: String,
    child: Child,
    stderr: Stderr,
    /// What ssh reads of it, it has read when the worker answers.
    _known_hosts: Option<NamedTempFile>,
    requests: Option<Sender<(Request, Vec<u8>)>>,
    replies: Receiver<io::Result<(Reply, Vec<u8>)>>,
    /// What came instead of its first answer.
    printed: Printed,
    has_answered: bool,
    patience: Duration,
    lost: bool,
}

/// What servers of ours print when they are ready.
#[derive(Deserialize)]
struct Listening<A> {
    listening: A,
}

impl Worker {
    /// Starts the worker of a host: `own` is the program that runs this. `follow` is called, in a thread of its own, when a
    /// program there tells something of itself: with the program as [`Worker::start_program`] names it, or none if it is run to
    /// its end.
    ///
    /// # Errors
    /// It cannot be started, or something else answers; for people.
    pub fn start(
        name: &str,
        host: &Host,
        trust: Trust,
        own: &Path,
        follow: impl Fn(Option<u32>, News) + Send + 'static,
    ) -> Result<Self, String> {
        let known_hosts = known_hosts(name, host)
            .map_err(|error| format!("cannot write down the keys of host {name}: {error}"))?;
        let known = known_hosts
            .as_ref()
            .map_or(Path::new(""), |file| file.path());
        let mut command = command(name, host, trust, known, own);
        // Ctrl-C at a terminal is for the controller alone.
        let mut child = command
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| {
                let program = command.get_program().to_string_lossy().into_owned();
                format!("cannot start a worker for host {name}: {program}: {error}")
            })?;
        let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = streams else {
            return Err(format!("the worker of host {name} has no streams"));
        };
        let printed = Printed::default();
        let mut link = Link {
            host: name.into(),
            place: host.at.clone(),
            command: shown(&command),
            child,
            stderr: Stderr::of(stderr),
            _known_hosts: known_hosts,
            requests: Some(requests(stdin)),
            replies: replies(stdout, &printed, follow),
            printed,
            has_answered: false,
            patience: PATIENCE,
            lost: false,
        };
        match link.ask(&Request::Hello, &[])? {
            (Reply::Here { version, node }, _) if version == VERSION => {
                link.has_answered = true;
                link.stderr.pass_on();
                Ok(Worker {
                    link,
                    node,
                    running: None,
                })
            }
            (Reply::Here { version, .. }, _) => {
                let error = io::Error::other(protocol::other_version(version));
                Err(link.gone(Some(error)))
            }
            (other, _) => Err(link.strange(&other)),
        }
    }

    /// Gives it up when it says nothing for this long, beside the time of what it was asked for [60 s].
    pub fn set_patience(&mut self, patience: Duration) {
        self.link.patience = patience;
    }

    /// Whether it is gone, or was given up: it can do nothing more.
    pub fn is_lost(&self) -> bool {
        self.link.lost
    }

    /// The machine that it is on, as the program there describes it.
    ///
    /// # Errors
    /// It describes something else; for people.
    pub fn node<T: DeserializeOwned>(&self) -> Result<T, String> {
        T::deserialize(&self.node).map_err(|error| {
            let host = &self.link.host;
            format!("host {host} describes itself in words that are not known here: {error}")
        })
    }

    /// Keeps a file there.
    ///
    /// # Errors
    /// It cannot be kept, or the worker is gone; for people. So it is with the others below.
    pub fn put(&mut self, name: &str, content: &[u8]) -> Result<(), String> {
        let name = name.to_string();
        match self.link.ask(&Request::Put { name }, content)? {
            (Reply::Done, _) => Ok(()),
            (other, _) => Err(self.link.strange(&other)),
        }
    }

    /// Takes a file from there.
    pub fn take(&mut self, name: &str) -> Result<Vec<u8>, String> {
        let name = name.to_string();
        match self.link.ask(&Request::Take { name }, &[])? {
            (Reply::Done, content) => Ok(content),
            (other, _) => Err(self.link.strange(&other)),
        }
    }

    /// Lets its directory be found by another path, too.
    pub fn name_directory(&mut self, path: &Path) -> Result<(), String> {
        self.done(&Request::Name { path: path.into() })
    }

    /// A port that is free there.
    pub fn free_port(&mut self, address: IpAddr) -> Result<u16, String> {
        match self.link.ask(&Request::FreePort { address }, &[])? {
            (Reply::Port { port }, _) => Ok(port),
            (other, _) => Err(self.link.strange(&other)),
        }
    }

    /// Whether a program can be started there.
    pub fn has_program(&mut self, program: &str) -> Result<bool, String> {
        let program = program.to_string();
        match self.link.ask(&Request::Find { program }, &[])? {
            (Reply::Found(is_there), _) => Ok(is_there),
            (other, _) => Err(self.link.strange(&other)),
        }
    }

    /// Runs a program; anything but exit status 0 in time is an error.
    pub fn run(&mut self, program: Program, timeout: Nanos) -> Result<Ended, String> {
        let name = program.command.first().cloned().unwrap_or_default();
        good(&name, self.run_to_end(program, timeout)?, timeout)
    }

    /// Runs a program, however it ends.
    pub fn run_to_end(&mut self, program: Program, timeout: Nanos) -> Result<Ended, String> {
        self.run_published(program, jitterlab_live::Place::new_name(), timeout)
    }

    /// The same of a program that publishes to a place of this name.
    pub fn run_published(
        &mut self,
        program: Program,
        live: String,
        timeout: Nanos,
    ) -> Result<Ended, String> {
        self.running = Some(live.clone());
        let request = Request::Run {
            program,
            live,
            timeout,
        };
        let answer = self.link.ask(&request, &[]);
        if !self.is_lost() {
            self.running = None;
        }
        match answer? {
            (Reply::Ended(ended), _) => Ok(ended),
            (other, _) => Err(self.link.strange(&other)),
        }
    }

    /// The place of the program that it ran to its end when it was lost.
    pub fn left_behind(&self) -> Option<&str> {
        self.running.as_deref()
    }

    /// Tells what is published there to a place of this name by what is started from elsewhere, until
    /// [`Worker::unfollow`].
    pub fn follow(&mut self, live: &str) -> Result<(), String> {
        let live = live.to_string();
        self.done(&Request::Follow { live })
    }

    /// Tells the rest of that, and no more.
    pub fn unfollow(&mut self, live: &str) -> Result<(), String> {
        let live = live.to_string();
        self.done(&Request::Unfollow { live })
    }

    /// All that was published there to a place of this name whose worker was killed; nothing where nothing is known.
    pub fn left(&mut self, live: &str) -> Result<Option<Update>, String> {
        let live = live.to_string();
        match self.link.ask(&Request::Left { live }, &[])? {
            (Reply::Left(update), _) => Ok(update),
            (other, _) => Err(self.link.strange(&other)),
        }
    }

    fn done(&mut self, request: &Request) -> Result<(), String> {
        match self.link.ask(request, &[])? {
            (Reply::Done, _) => Ok(()),
            (other, _) => Err(self.link.strange(&other)),
        }
    }

    /// Finds out whether programs can be started there, on a CPU if one is named.
    pub fn try_cpu(&mut self, cpu: Option<usize>) -> Result<(), Unfit> {
        let mut start = |cpu| {
            let command = vec!["true".to_string()];
            self.run(Program { command, cpu }, PROMPT)
        };
        let Err(reason) = start(cpu) else {
            return Ok(());
        };
        let is_cpu = cpu.filter(|_| start(None).is_ok());
        let host = &self.link.host;
        Err(match is_cpu {
            Some(cpu) => Unfit::Cpu(format!(
                "host {host} cannot start programs on CPU {cpu}: {reason}; give it another `cpu`, or none"
            )),
            None => Unfit::Host(format!("host {host} cannot start programs: {reason}")),
        })
    }

    /// Starts a program; gives what [`Worker::stop`] takes.
    pub fn start_program(
        &mut self,
        program: Program,
        ready: Ready,
    ) -> Result<(u32, String), String> {
        let timeout = PROMPT;
        let request = Request::Start {
            program,
            live: jitterlab_live::Place::new_name(),
            ready,
            timeout,
        };
        match self.link.ask(&request, &[])? {
            (Reply::Started { id, line }, _) => Ok((id, line)),
            (other, _) => Err(self.link.strange(&other)),
        }
    }

    /// Starts a server of ours; gives also where it listens.
    pub fn start_server<A: DeserializeOwned>(
        &mut self,
        program: Program,
    ) -> Result<(u32, A), String> {
        let (id, line) = self.start_program(program, Ready::Line("\"listening\"".into()))?;
        let Listening { listening } = serde_json::from_str(&line)
            .map_err(|_| format!("host {}: a server said {line:?}", self.link.host))?;
        Ok((id, listening))
    }

    /// Ends a program that was started: it is asked to.
    ///
    /// # Errors
    /// The worker is gone, or the program has ended before, and not well.
    pub fn stop(&mut self, id: u32) -> Result<Ended, String> {
        let timeout = PROMPT;
        self.ended(&Request::Stop { id, timeout })
    }

    /// Ends a program that was started, and that ends by itself when its stdin is closed.
    ///
    /// # Errors
    /// As those of [`Worker::stop`].
    pub fn finish(&mut self, id: u32) -> Result<Ended, String> {
        let timeout = PROMPT;
        self.ended(&Request::Finish { id, timeout })
    }

    fn ended(&mut self, request: &Request) -> Result<Ended, String> {
        match self.link.ask(request, &[])? {
            (Reply::Ended(ended), _) => Ok(ended),
            (other, _) => Err(self.link.strange(&other)),
        }
    }
}

impl Link {
    fn ask(&mut self, request: &Request, payload: &[u8]) -> Result<(Reply, Vec<u8>), String> {
        match self.answer(request, payload) {
            Ok((Reply::Failed { reason }, _)) => Err(reason),
            Ok(answer) => Ok(answer),
            Err(reason) => {
                // An answer that comes later would be taken for that to another question.
                self.lost = true;
                Err(reason)
            }
        }
    }

    fn answer(&mut self, request: &Request, payload: &[u8]) -> Result<(Reply, Vec<u8>), String> {
        let Some(requests) = self.requests.as_ref().filter(|_| !self.lost) else {
            return Err(format!("the worker of host {} was ended", self.host));
        };
        if requests.send((request.clone(), payload.to_vec())).is_err() {
            return Err(self.gone(None));
        }
        let patience = patience(request, self.patience);
        match self.replies.recv_timeout(patience) {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(self.gone(Some(error))),
            Err(RecvTimeoutError::Disconnected) => Err(self.gone(None)),
            Err(RecvTimeoutError::Timeout) => {
                let said = self.stderr.last(Duration::ZERO);
                let said = last_line(&said.join("\n"), "");
                Err(format!(
                    "the worker of host {} does not answer in {} s{said}",
                    self.host,
                    patience.as_secs()
                ))
            }
        }
    }

    /// That it is gone, and why: what came instead of an answer, or what was said on stderr.
    fn gone(&mut self, error: Option<io::Error>) -> String {
        // One that is still there ends by this.
        drop(self.requests.take());
        let deadline = Instant::now() + ENDING;
        let status = self.ended(deadline);
        let lines = self.stderr.last(left(deadline));
        while self.replies.recv_timeout(left(deadline)).is_ok() {}
        let error = error.map(|error| match self.has_answered {
            true => error,
            false => parting::noise(error, &self.printed.line()),
        });
        let Link {
            host,
            place,
            command,
            ..
        } = self;
        let why = match error {
            Some(error) => error.to_string() + &last_line(&lines.join("\n"), ""),
            None => parting::why(place, status, &lines),
        };
        format!("the worker of host {host} is gone; it was started as `{command}`: {why}")
    }

    /// How it has ended, if it does before the deadline.
    fn ended(&mut self, deadline: Instant) -> Option<ExitStatus> {
        loop {
            match self.child.try_wait() {
                Ok(None) if Instant::now() < deadline => thread::sleep(Duration::from_millis(1)),
                ended => return ended.ok().flatten(),
            }
        }
    }

    fn strange(&self, reply: &Reply) -> String {
        format!("the worker of host {} answered {reply:?}", self.host)
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        drop(self.requests.take());
        let patience = if self.lost { ENDING_OF_LOST } else { ENDING };
        self.ended(Instant::now() + patience);
        // Does nothing to one that has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}

/// How long an answer may take.
fn patience(request: &Request, patience: Duration) -> Duration {
    match request {
        Request::Hello
        | Request::Heartbeat
        | Request::Name { .. }
        | Request::Find { .. }
        | Request::Follow { .. }
        | Request::Unfollow { .. }
        | Request::Left { .. }
        | Request::FreePort { .. } => patience,
        Request::Put { .. } | Request::Take { .. } => FILE_PATIENCE,
        // Starting may end in stopping, which is given the same time again.
        Request::Run { timeout, .. } | Request::Start { timeout, .. } => {
            2 * timeout.as_duration() + patience
        }
        Request::Stop { timeout, .. } => timeout.as_duration() + patience,
        // It may end in being asked to.
        Request::Finish { timeout, .. } => 2 * timeout.as_duration() + patience,
    }
}

/// Passes requests on to a worker, and between them the controller's heartbeat. The worker's stdin closes when
/// nobody can ask any more.
fn requests(stdin: ChildStdin) -> Sender<(Request, Vec<u8>)> {
    let (sender, requests) = channel();
    thread::spawn(move || {
        let mut stdin = BufWriter::new(stdin);
        loop {
            let (request, payload) = match requests.recv_timeout(HEARTBEAT) {
                Ok(asked) => asked,
                Err(RecvTimeoutError::Timeout) => (Request::Heartbeat, Vec::new()),
                Err(RecvTimeoutError::Disconnected) => break,
            };
            if protocol::write(&mut stdin, &request, &payload).is_err() {
                break;
            }
        }
    });
    sender
}

/// What a worker answers, until it ends or says something else.
fn replies(
    stdout: ChildStdout,
    printed: &Printed,
    follow: impl Fn(Option<u32>, News) + Send + 'static,
) -> Receiver<io::Result<(Reply, Vec<u8>)>> {
    let (sender, replies) = channel();
    let mut stdout = BufReader::new(printed.of(stdout));
    thread::spawn(move || {
        while let Some(reply) = protocol::read(&mut stdout).transpose() {
            let reply = match reply {
                Ok((Reply::Live { id, news }, _)) => {
                    follow(id, news);
                    continue;
                }
                other => other,
            };
            let is_answer = reply.is_ok();
            let heard = sender.send(reply);
            if !is_answer {
                // The rest of what it says instead.
                let _ = stdout.get_mut().read_beginning();
            }
            if !is_answer || heard.is_err() {
                break;
            }
        }
    });
    replies
}

/// A command as a person would type it.
fn shown(command: &Command) -> String {
    let arguments = command.get_args();
    let words = std::iter::once(command.get_program()).chain(arguments);
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    words.join(" ")
}

fn good(name: &str, ended: Ended, timeout: Nanos) -> Result<Ended, String> {
    match failure(name, &ended, timeout) {
        None => Ok(ended),
        Some(failure) => Err(failure + &last_line(&ended.stderr, &ended.stdout)),
    }
}

/// The file that ssh finds the keys of a host in, where some are named.
fn known_hosts(name: &str, host: &Host) -> io::Result<Option<NamedTempFile>> {
    if host.host_keys.is_empty() {
        return Ok(None);
    }
    let mut file = NamedTempFile::with_prefix("jitterlab-known-hosts-")?;
    file.write_all(ssh::known_hosts([(name, host)]).as_bytes())?;
    Ok(Some(file))
}

/// The command that starts the worker of a host. `known` is the file of its keys, if some are named.
fn command(name: &str, host: &Host, trust: Trust, known: &Path, own: &Path) -> Command {
    let mut command;
    match &host.at {
        Place::Local => {
            command = Command::new(own);
        }
        Place::Netns(name) => {
            command = Command::new("ip");
            command.args(["netns", "exec", name]).arg(own);
        }
        Place::Ssh(destination) => {
            command = Command::new("ssh");
            command.args(ssh::options(name, host, trust, known));
            command.args(["--", destination]);
            command.arg(host.jitterlab.as_deref().unwrap_or("jitterlab"));
        }
    }
    command.arg("agent");
    command
}
