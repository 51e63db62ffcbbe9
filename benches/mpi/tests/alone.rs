//! A rank that nothing has started knows of no other; so does each of several that another MPI's launcher has started.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::process::Command;
use std::thread;

/// What a rank that is alone writes, a string for each write, and its exit status.
fn writes(arguments: &str) -> (Vec<String>, Option<i32>) {
    let (reader, writer) = UnixDatagram::pair().unwrap();
    let [stderr, end] = [(); 2].map(|()| writer.try_clone().unwrap());
    let mut rank = Command::new(env!("CARGO_BIN_EXE_jitterlab-mpi"))
        .args(arguments.split_whitespace())
        .stdout(OwnedFd::from(writer))
        .stderr(OwnedFd::from(stderr))
        .spawn()
        .unwrap();
    // It is read from meanwhile: few writes have room in the socket.
    let status = thread::spawn(move || {
        let status = rank.wait().unwrap();
        end.send(&[]).unwrap();
        status
    });
    let mut buffer = vec![0; 1 << 20];
    let mut writes = Vec::new();
    loop {
        match reader.recv(&mut buffer).unwrap() {
            0 => break,
            length => writes.push(String::from_utf8_lossy(&buffer[..length]).into_owned()),
        }
    }
    let status = status.join().unwrap();
    (writes, status.code())
}

/// Several print at the same time, and what they print has to stay readable: by that it is found out.
#[test]
fn a_rank_says_what_it_says_in_one_write() {
    for (arguments, expected) in [
        (
            "library barrier --iterations 10 --warmup 1ms --format json",
            0,
        ),
        ("npb is --class S --format json", 0),
        ("library ping-pong --iterations 10", 2),
        ("load --pattern pairs --level 10 --format json", 2),
    ] {
        let (writes, status) = writes(arguments);
        assert_eq!(status, Some(expected), "{arguments}: {writes:?}");
        let [line] = writes.as_slice() else {
            panic!("{arguments}: {} writes: {writes:?}", writes.len())
        };
        assert!(
            line.ends_with('\n') && line.lines().count() == 1,
            "{arguments}: {line}"
        );
    }
}
