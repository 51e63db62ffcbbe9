//! The meeting of the ends, over TCP, at the server's address. A client says its plan and where its ring is. The server
//! attaches that ring, and says where its own is, or why it does not do it. The client attaches that one, and says so. Then
//! the files lose their names: nobody else can attach a ring, and nothing is left of an end that is killed.
//!
//! A ring is said by a number, and its file's name follows from it: no word from outside is a path.

use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};

use jitterlab_base::page::{self, Attached, Namespaces, PageError, Standing};
use jitterlab_base::ring::{Consumer, Producer, Ring};
use jitterlab_verbs::exchange::{PATIENCE, prepare};

use super::limits::LINES;
use crate::Error;
use crate::transport::kind::Transport;
use crate::transport::link::{Link, no_connection};
use crate::transport::plan::{Plan, WORDS};
use crate::transport::socket::is_nothing_yet;

/// These words come first, in both directions. They change with what follows them.
const HELLO: &[u8; 8] = b"jlshm  1";
/// The byte of a client that has attached the server's ring.
const READY: u8 = 1;
/// The length of a ring's number.
const NUMBER: usize = 8;
/// The beginning of the name of a ring's file.
const NAME: &str = "packet:";

/// Both rings of a connection, and the TCP connection, which is silent from now on: an end that goes takes it along.
pub struct Joined {
    pub out: Producer<LINES>,
    pub incoming: Consumer<LINES>,
    pub line: TcpStream,
}

/// Meets a server that does its part of the plan.
pub fn meet(address: SocketAddr, plan: &Plan) -> Result<Joined, Error> {
    let failed = |source| no_connection(Transport::Shm, address, source);
    let mut line = TcpStream::connect_timeout(&address, PATIENCE).map_err(failed)?;
    prepare(&line).map_err(failed)?;
    let (out, number) = make()?;
    let incoming = ask(&mut line, address, plan, number);
    out.ring().remove();
    Ok(Joined {
        out,
        incoming: incoming?,
        line,
    })
}

/// Says where this end's ring is; attaches the server's.
fn ask(
    line: &mut TcpStream,
    address: SocketAddr,
    plan: &Plan,
    number: u64,
) -> Result<Consumer<LINES>, Error> {
    let failed = |source| no_connection(Transport::Shm, address, source);
    let ask = [&HELLO[..], &plan.words(), &number.to_le_bytes()].concat();
    line.write_all(&ask).map_err(failed)?;
    let incoming = match hear(line) {
        Ok(Ok(number)) => Consumer::attach(&path(number)?)?,
        Ok(Err(reason)) => return Err(Error::Refused { address, reason }),
        Err(error) if is_nothing_yet(&error) => return Err(Error::BusyPeer { address }),
        // Connected, and then sent away, or told something else.
        Err(_) => return Err(Error::StrangePeer { address }),
    };
    line.write_all(&[READY]).map_err(failed)?;
    Ok(incoming)
}

/// Meets a client; what it plans. None where it is refused.
pub fn attend(mut line: TcpStream) -> io::Result<Option<(Plan, Joined)>> {
    prepare(&line)?;
    let (mut hello, mut words, mut number) = ([0; HELLO.len()], [0; WORDS], [0; NUMBER]);
    line.read_exact(&mut hello)?;
    if hello != *HELLO {
        return Err(io::ErrorKind::InvalidData.into());
    }
    line.read_exact(&mut words)?;
    line.read_exact(&mut number)?;
    let plan = Plan::heard(&words).ok_or(io::ErrorKind::InvalidData)?;
    let rings = Link::Shm.check_plan(&plan).and_then(|()| {
        let incoming = Consumer::attach(&path(u64::from_le_bytes(number))?)?;
        Ok((incoming, make()?))
    });
    let (incoming, (out, number)) = match rings {
        Ok(rings) => rings,
        Err(error) => {
            say(&mut line, Err(&reason(&error)))?;
            return Ok(None);
        }
    };
    let met = say(&mut line, Ok(number)).and_then(|()| line.read_exact(&mut [0]));
    out.ring().remove();
    met?;
    let joined = Joined {
        out,
        incoming,
        line,
    };
    Ok(Some((plan, joined)))
}

/// A server's answer: the number of its ring, or why there is none.
fn say(line: &mut TcpStream, answer: Result<u64, &str>) -> io::Result<()> {
    let mut words = HELLO.to_vec();
    match answer {
        Ok(number) => {
            words.push(0);
            words.extend(number.to_le_bytes());
        }
        Err(reason) => {
            let reason = &reason.as_bytes()[..reason.len().min(u8::MAX.into())];
            words.extend([1, reason.len() as u8]);
            words.extend(reason);
        }
    }
    line.write_all(&words)
}

/// The same, heard.
fn hear(line: &mut impl Read) -> io::Result<Result<u64, String>> {
    let mut first = [0; HELLO.len() + 1];
    line.read_exact(&mut first)?;
    match first.strip_prefix(HELLO) {
        Some([0]) => {
            let mut number = [0; NUMBER];
            line.read_exact(&mut number)?;
            Ok(Ok(u64::from_le_bytes(number)))
        }
        Some([1]) => {
            let mut length = [0];
            line.read_exact(&mut length)?;
            let mut reason = vec![0; length[0].into()];
            line.read_exact(&mut reason)?;
            // It goes to a terminal: nothing in it moves the cursor.
            let shown = |c: char| if c.is_control() { ' ' } else { c };
            let reason = String::from_utf8_lossy(&reason);
            Ok(Err(reason.chars().map(shown).collect()))
        }
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// Why a client is refused, in a line.
fn reason(error: &Error) -> String {
    match error {
        Error::Memory(memory) => {
            let cause = std::error::Error::source(memory);
            let cause = cause.map_or(String::new(), |cause| format!(": {cause}"));
            format!("{memory}{cause}; both ends have to run on one machine, as one user")
        }
        other => other.to_string(),
    }
}

/// A ring of this end, and its number.
fn make() -> Result<(Producer<LINES>, u64), PageError> {
    clear_dead()?;
    // The number is as random as can be had here.
    let number = RandomState::new().hash_one(std::process::id());
    Ok((Producer::make(&path(number)?, number, 0)?, number))
}

fn path(number: u64) -> Result<PathBuf, PageError> {
    Ok(directory()?.join(format!("{NAME}{number:016x}")))
}

fn directory() -> Result<PathBuf, PageError> {
    let directory = page::directory(nix::unistd::geteuid().as_raw());
    page::make_directory::<Ring<LINES>>(&directory)?;
    Ok(directory)
}

/// Clears the rings of processes that were killed between two words.
fn clear_dead() -> Result<(), PageError> {
    let here = Namespaces::own();
    let Ok(entries) = std::fs::read_dir(directory()?) else {
        return Ok(());
    };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    for path in paths.filter(|path| is_ring(path)) {
        let ring: Result<Attached<Ring<LINES>>, _> = page::attach(&path);
        if let Ok(ring) = ring
            && !matches!(ring.standing(here), Standing::Runs(_))
        {
            ring.remove();
        }
    }
    Ok(())
}

fn is_ring(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.starts_with(NAME))
}
