//! `jitterlab amvia`: servers, and commands that end.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

/// A server that this test has started, and its address.
pub struct Server(pub Child, pub String);

impl Server {
    /// Starts it with options.
    pub fn start(options: &[&str]) -> Server {
        Server::start_by(Command::new(env!("CARGO_BIN_EXE_jitterlab")), options)
    }

    /// The program is the last word of `program`.
    pub fn start_by(mut program: Command, options: &[&str]) -> Server {
        let mut child = program
            .args(["amvia", "serve", "--until-stdin-closes"])
            .args(options)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap())
            .read_line(&mut line)
            .unwrap();
        let said: Value = serde_json::from_str(&line).unwrap();
        Server(child, said["listening"].as_str().unwrap().into())
    }

    /// What a call is made to.
    pub fn target(&self) -> String {
        format!("server@{}", self.1)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs `jitterlab amvia` to its end.
pub fn amvia(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_jitterlab"))
        .arg("amvia")
        .args(arguments)
        .output()
        .unwrap()
}

/// What it has printed.
pub fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// What it has said on stderr.
pub fn error(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}
