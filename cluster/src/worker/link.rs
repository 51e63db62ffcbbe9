//! The way to a worker.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, ErrorKind, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{self, Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::controller::{Controller, Way};
use super::copy::{self, Found};
use super::parting::{self, Printed, Stderr};
use crate::ended::last_line;
use crate::host::Host;
use crate::identity::OWN_VERSION;
use crate::place::Place;
use crate::protocol::{self, HEARTBEAT, News, Reply, Request, VERSION};
use crate::ssh;

/// A worker that says nothing for this long, beside the time of what it was asked for, is given up.
const PATIENCE: Duration = Duration::from_secs(60);
/// A file may be large, and the way to a worker slow.
const FILE_PATIENCE: Duration = Duration::from_secs(1800);
/// A worker whose stdin has closed ends at once; one that hangs is killed after this time.
const ENDING: Duration = Duration::from_secs(10);
/// One that was given up has hung for long enough.
const ENDING_OF_LOST: Duration = Duration::from_secs(1);

/// The way to a worker; the worker ends with it.
#[derive(Debug)]
pub struct Link {
    /// The name of the host.
    pub host: String,
    place: Place,
    /// The command that started it.
    command: String,
    child: Child,
    stderr: Stderr,
    /// A file that ssh reads before the worker answers.
    _known_hosts: Option<File>,
    requests: Option<Sender<(Request, Vec<u8>)>>,
    replies: Receiver<io::Result<(Reply, Vec<u8>)>>,
    /// The output that came instead of its first answer.
    printed: Printed,
    has_answered: bool,
    /// There is no program to start, or it is of another version.
    is_missing: bool,
    /// It is given up when it says nothing for this long, beside the time of what it was asked for.
    pub patience: Duration,
    /// It is gone, or was given up.
    pub lost: bool,
}

/// A worker that was not started.
pub struct NotStarted {
    /// The reason, for people.
    pub reason: String,
    /// There is no program to start, or it is of another version.
    pub is_missing: bool,
}

impl From<String> for NotStarted {
    fn from(reason: String) -> Self {
        NotStarted {
            reason,
            is_missing: false,
        }
    }
}

impl Link {
    /// Starts the worker of a host in this way.
    ///
    /// # Errors
    /// It cannot be started, or something else answers.
    pub fn open(
        name: &str,
        host: &Host,
        controller: &Controller,
        way: Way,
        follow: impl Fn(Option<u32>, News) + Send + 'static,
    ) -> Result<Self, NotStarted> {
        let known_hosts = known_hosts(name, host)
            .map_err(|error| format!("cannot write down the keys of host {name}: {error}"))?;
        let known = known_hosts
            .as_ref()
            .map_or_else(PathBuf::new, path_of_nameless);
        let mut command = controller.command(name, host, &known, way);
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
            return Err(format!("the worker of host {name} has no streams").into());
        };
        let is_named = !matches!(host.at, Place::Ssh(_)) || host.jitterlab.is_some();
        let mut link = Link {
            host: name.into(),
            place: host.at.clone(),
            command: match is_named {
                true => shown(&command),
                false => format!("jitterlab at the end of {}", host.at),
            },
            child,
            stderr: Stderr::of(stderr),
            _known_hosts: known_hosts,
            requests: None,
            replies: channel().1,
            printed: Printed::default(),
            has_answered: false,
            is_missing: false,
            patience: PATIENCE,
            lost: false,
        };
        let (stdin, stdout) = match is_named {
            true => (stdin, stdout),
            false => link.find(stdin, stdout, controller)?,
        };
        link.requests = Some(requests(stdin));
        link.replies = replies(stdout, &link.printed, follow);
        let reason = match link.ask(&Request::Hello, &[]) {
            Ok((Reply::Here { version, jitterlab }, _)) => {
                if version == VERSION && (jitterlab == *OWN_VERSION || host.jitterlab.is_some()) {
                    link.has_answered = true;
                    link.stderr.pass_on();
                    return Ok(link);
                }
                link.is_missing = true;
                let error = io::Error::other(protocol::other_version(version));
                link.gone(Some(error))
            }
            Ok((other, _)) => link.strange(&other),
            Err(reason) => reason,
        };
        Err(NotStarted {
            reason,
            is_missing: link.is_missing,
        })
    }

    /// Waits for what a shell at the end of ssh has found there, and sends it a copy of this program where that is nothing; gives the
    /// streams of the worker.
    fn find(
        &mut self,
        mut stdin: ChildStdin,
        mut stdout: ChildStdout,
        controller: &Controller,
    ) -> Result<(ChildStdin, ChildStdout), NotStarted> {
        let printed = self.printed.clone();
        let begun = within(self.patience, move || {
            let found = copy::found(&mut printed.of(&mut stdout))?;
            Ok((stdin, stdout, found))
        });
        let found;
        (stdin, stdout, found) = match begun {
            Ok(begun) => begun,
            Err(error) if error.kind() == ErrorKind::TimedOut => {
                self.lost = true;
                return Err(self.silent(self.patience).into());
            }
            // ssh says the cause of an end without a word.
            Err(error) => {
                let has_said = !self.printed.line().is_empty();
                return Err(NotStarted {
                    reason: self.gone(has_said.then_some(error)),
                    is_missing: self.is_missing,
                });
            }
        };
        // The output before the line that was waited for says nothing of the worker.
        self.printed = Printed::default();
        let Found::Nothing { machine } = found else {
            return Ok((stdin, stdout));
        };
        self.command = format!("a copy of this program at the end of {}", self.place);
        let copied = controller.copied()?;
        let sent = within(FILE_PATIENCE, move || {
            copied.send(&machine, &mut stdin, &mut stdout)?;
            Ok((stdin, stdout))
        });
        sent.map_err(|error| {
            let _ = self.child.kill();
            let said = self.stderr.last(ENDING).join(" | ");
            let why = if said.is_empty() { error.to_string() } else { said };
            let host = &self.host;
            format!("host {host} has no jitterlab of this version, and a copy of this program cannot be started there: {why}").into()
        })
    }

    /// Asks the worker for something, and waits for the answer.
    ///
    /// # Errors
    /// It could not be done, or the worker is gone; for people.
    pub fn ask(&mut self, request: &Request, payload: &[u8]) -> Result<(Reply, Vec<u8>), String> {
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
            Err(RecvTimeoutError::Timeout) => Err(self.silent(patience)),
        }
    }

    /// The message that nothing has come of it for so long.
    fn silent(&self, patience: Duration) -> String {
        let said = self.stderr.last(Duration::ZERO);
        let said = last_line(&said.join("\n"), "");
        format!(
            "the worker of host {} does not answer in {} s{said}",
            self.host,
            patience.as_secs()
        )
    }

    /// The message that it is gone, and why: what came instead of an answer, or what was said on stderr.
    fn gone(&mut self, error: Option<io::Error>) -> String {
        // One that is still there ends by this.
        drop(self.requests.take());
        let deadline = Instant::now() + ENDING;
        let status = self.ended(deadline);
        let lines = self.stderr.last(left(deadline));
        while self.replies.recv_timeout(left(deadline)).is_ok() {}
        let code = status.and_then(|status| status.code());
        let is_other = |error: &io::Error| error.kind() == ErrorKind::Unsupported;
        if !self.has_answered {
            self.is_missing |=
                matches!(code, Some(126 | 127)) || error.as_ref().is_some_and(is_other);
        }
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
        if error.is_none()
            && let Some(cause) = parting::cause(place, code, &lines)
        {
            return match self.has_answered {
                true => format!("the worker of host {host} is gone: {cause}"),
                false => format!("host {host} does not come up: {cause}"),
            };
        }
        if self.has_answered && matches!(place, Place::Ssh(_)) && code == Some(255) {
            return format!("the worker of host {host} is gone: the connection to it has ended");
        }
        let why = match error {
            Some(error) => error.to_string() + &last_line(&lines.join("\n"), ""),
            None => parting::why(status, &lines),
        };
        format!("the worker of host {host} is gone; it was started as `{command}`: {why}")
    }

    /// The status it ended with, if it does before the deadline.
    fn ended(&mut self, deadline: Instant) -> Option<ExitStatus> {
        loop {
            match self.child.try_wait() {
                Ok(None) if Instant::now() < deadline => thread::sleep(Duration::from_millis(1)),
                ended => return ended.ok().flatten(),
            }
        }
    }

    /// The message that it answered something else.
    pub fn strange(&self, reply: &Reply) -> String {
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

/// The time that an answer may take.
fn patience(request: &Request, patience: Duration) -> Duration {
    match request {
        Request::Hello
        | Request::Describe
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

/// Does something that may take so long.
fn within<T: Send + 'static>(
    patience: Duration,
    act: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let (sender, done) = channel();
    thread::spawn(move || sender.send(act()));
    let done = done.recv_timeout(patience);
    done.unwrap_or_else(|_| Err(ErrorKind::TimedOut.into()))
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

/// The answers of a worker, until it ends or says something else.
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

/// The file that ssh finds the keys of a host in, where some are named. It has no name in any folder: nothing of it stays, however this
/// program ends.
fn known_hosts(name: &str, host: &Host) -> io::Result<Option<File>> {
    if host.host_keys.is_empty() {
        return Ok(None);
    }
    let mut file = tempfile::tempfile()?;
    file.write_all(ssh::known_hosts([(name, host)]).as_bytes())?;
    Ok(Some(file))
}

/// The path at which another program opens a file of this one that has no name.
fn path_of_nameless(file: &File) -> PathBuf {
    format!("/proc/{}/fd/{}", process::id(), file.as_raw_fd()).into()
}
