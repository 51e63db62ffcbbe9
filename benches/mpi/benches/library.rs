//! Ping-pong and barrier beside plain C programs on the same MPI: `cargo bench -p jitterlab-mpi --bench library`.
//!
//! Two ranks, shared memory and TCP. The two programs take turns, and who begins alternates. What is compared is each
//! pair's ratio; the machine is not the same from minute to minute.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use jitterlab_stats::bootstrap::Bootstrap;
use jitterlab_stats::sorted;
use jitterlab_stats::summary::quantile;

const PAIRS: usize = 30;
const SIZE: &str = "8";

struct Way {
    name: &'static str,
    /// The option for Open MPI.
    btl: &'static str,
    /// The number of operations that a run measures; a fifth of them are discarded before. Ours warms up by time, and as long.
    operations: usize,
    warmup: &'static str,
}

const WAYS: [Way; 2] = [
    Way {
        name: "shared memory",
        btl: "self,vader",
        operations: 200_000,
        warmup: "20ms",
    },
    Way {
        name: "TCP",
        btl: "self,tcp",
        operations: 20_000,
        warmup: "50ms",
    },
];

fn main() {
    let folder = tempfile::tempdir().expect("a folder for the peers");
    println!(
        "{PAIRS} pairs of runs on 2 ranks; ratios: jitterlab-mpi over C, the median of \
         the pairs' with its 95 % bootstrap interval"
    );
    for (case, source) in [("ping-pong", "ping_pong.c"), ("barrier", "barrier.c")] {
        let peer = compile(source, folder.path());
        for way in &WAYS {
            compare(case, way, &peer, folder.path());
        }
    }
}

fn compile(source: &str, folder: &Path) -> PathBuf {
    let program = folder.join(source.trim_end_matches(".c"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("benches/peer")
        .join(source);
    let compiled = Command::new("mpicc")
        .args(["-O3", "-march=native", "-o"])
        .args([&program, &source])
        .status();
    assert!(compiled.expect("mpicc").success());
    program
}

fn compare(case: &str, way: &Way, peer: &Path, folder: &Path) {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for pair in 0..PAIRS {
        for turn in [pair % 2, 1 - pair % 2] {
            if turn == 0 {
                ours.push(run_ours(case, way, folder));
            } else {
                theirs.push(run_peer(way, peer));
            }
        }
    }
    for (what, p) in [("median", 0.5), ("99.9 %", 0.999)] {
        let at = |runs: &[Vec<f64>]| -> Vec<f64> {
            runs.iter().map(|samples| quantile(samples, p)).collect()
        };
        let (ours, theirs) = (at(&ours), at(&theirs));
        let ratios: Vec<f64> = ours.iter().zip(&theirs).map(|(a, b)| a / b).collect();
        let ratio = Bootstrap::default()
            .percentile(&ratios, median)
            .expect("ratios are numbers");
        println!(
            "{case:<10} {:<14} {what:<7} ours {:>10.0} ns, C {:>10.0} ns, ratio {:.3} [{:.3}, {:.3}], n = {PAIRS}",
            way.name,
            median(&ours),
            median(&theirs),
            ratio.estimate,
            ratio.low,
            ratio.high
        );
    }
}

fn run_ours(case: &str, way: &Way, folder: &Path) -> Vec<f64> {
    let samples = folder.join("samples");
    let mut run = mpirun(way);
    run.arg(env!("CARGO_BIN_EXE_jitterlab-mpi"))
        .args(["library", case, "--warmup", way.warmup, "--iterations"])
        .arg(way.operations.to_string())
        .arg("--samples")
        .arg(&samples);
    if case == "ping-pong" {
        run.args(["--size", SIZE]);
    }
    output(run);
    numbers(&fs::read_to_string(samples).expect("samples"))
}

fn run_peer(way: &Way, peer: &Path) -> Vec<f64> {
    let mut run = mpirun(way);
    run.arg(peer)
        .arg(SIZE)
        .args([way.operations / 5, way.operations].map(|count| count.to_string()));
    numbers(&output(run))
}

fn mpirun(way: &Way) -> Command {
    let mut run = Command::new("mpirun");
    run.env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        .args(["-n", "2", "--oversubscribe", "--mca", "btl", way.btl]);
    run
}

fn output(mut run: Command) -> String {
    let output = run.output().expect("mpirun");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{run:?}: {stderr}");
    String::from_utf8(output.stdout).expect("text")
}

fn numbers(text: &str) -> Vec<f64> {
    let numbers: Vec<f64> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.parse().expect("a number a line"))
        .collect();
    sorted(&numbers).expect("numbers")
}

fn median(values: &[f64]) -> f64 {
    quantile(&sorted(values).expect("numbers"), 0.5)
}
