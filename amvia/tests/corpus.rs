//! What fuzzers have found stays harmless: each input of `amvia/fuzz/corpus` goes through its decoder, or through the machines.

#[path = "../fuzz/decoders.rs"]
mod decoders;
#[path = "../fuzz/machines.rs"]
mod machines;

use std::fs;
use std::path::Path;

fn replay(name: &str, decoder: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fuzz/corpus")
        .join(name);
    let mut replayed = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        println!("{}", path.display());
        decoder(&fs::read(path).unwrap());
        replayed += 1;
    }
    assert!(replayed > 0);
}

#[test]
fn of_the_wire() {
    replay("wire", decoders::wire);
}

#[test]
fn of_the_log() {
    replay("log", decoders::log);
}

#[test]
fn of_the_name_server() {
    replay("names", decoders::names);
}

#[test]
fn of_the_machines() {
    replay("machines", machines::machines);
}
