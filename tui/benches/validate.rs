//! The findings of `jitterlab validate` in eight network namespaces of this machine, and how often it finds
//! what is not there: `cargo bench -p jitterlab --bench validate [-- udp|tcp [TRIES [SLOWED]]]`, as root.
//! Every try is undisturbed first. In each of the first SLOWED of them [a fifth] a node, and then a pair, is
//! slowed: by a tenth of the typical RTT that was just measured. The number of the try says which node or pair.

#[path = "../tests/cluster/mod.rs"]
mod cluster;
#[path = "../tests/common/mod.rs"]
mod common;

use std::time::Instant;

use cluster::{Cluster, Slow, is_root, slow_nodes, slow_pairs};
use serde_json::Value;

const HOSTS: usize = 8;
/// The keys that differ from a hosts file that says nothing. It takes half an hour in all: what disturbs the
/// machine lasts longer than any of these measurements.
const KEYS: &str = "warmup: 2ms\nduration: 5ms\n";

fn main() {
    if !is_root() {
        return;
    }
    // `cargo bench` adds an option of its own.
    let mut words = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-'));
    let transport = words.next().unwrap_or("udp".into());
    let mut number = |default| {
        let word = words.next();
        word.and_then(|word| word.parse().ok()).unwrap_or(default)
    };
    let tries: usize = number(100);
    let slowed = number(tries.div_ceil(5));
    let cluster = Cluster::new(HOSTS);
    let mut counts = [Count::default(), Count::default(), Count::default()];
    for number in 0..tries {
        let typical = try_once(
            &cluster,
            &transport,
            number,
            Slow::Nothing,
            "0us",
            &mut counts[0],
        );
        if number < slowed {
            let tenth = format!("{:.0}ns", typical / 10.0);
            let node = 1 + number % HOSTS;
            let other = 1 + (number + 1 + number / HOSTS) % HOSTS;
            for (slow, count) in [Slow::Node(node), Slow::Pair(node, other)]
                .into_iter()
                .zip(1..)
            {
                try_once(
                    &cluster,
                    &transport,
                    number,
                    slow,
                    &tenth,
                    &mut counts[count],
                );
            }
        }
    }
    let [nothing, node, pair] = counts;
    println!("over {transport}, {HOSTS} namespaces:");
    println!(
        "  nothing slowed: {} of {} with a false alarm",
        nothing.tries - nothing.right,
        nothing.tries
    );
    for (what, count) in [("node", node), ("pair", pair)] {
        println!(
            "  slowed {what}: found, and nothing else, in {} of {}; slower by {}",
            count.right,
            count.tries,
            count.effects()
        );
    }
}

#[derive(Default)]
struct Count {
    tries: usize,
    right: usize,
    effects: Vec<f64>,
}

impl Count {
    /// Median, least and greatest.
    fn effects(&self) -> String {
        let mut effects = self.effects.clone();
        effects.sort_by(f64::total_cmp);
        match (effects.first(), effects.last()) {
            (Some(least), Some(greatest)) => format!(
                "{:.1} % [{:.1}, {:.1}]",
                100.0 * effects[effects.len() / 2],
                100.0 * least,
                100.0 * greatest
            ),
            _ => "nothing".into(),
        }
    }
}

/// Gives the typical RTT in nanoseconds.
fn try_once(
    cluster: &Cluster,
    transport: &str,
    number: usize,
    slow: Slow,
    delay: &str,
    count: &mut Count,
) -> f64 {
    let start = Instant::now();
    cluster.write(HOSTS, &format!("{KEYS}seed: {number}\n"));
    cluster.slow(slow, delay);
    let (output, validation) = cluster.validated(transport);
    let attempt = &validation["attempts"][0];
    let (nodes, pairs) = (slow_nodes(attempt), slow_pairs(attempt));
    let right = match slow {
        Slow::Nothing => output.status.code() == Some(0),
        Slow::Node(node) => nodes == [format!("n{node}")] && pairs.is_empty(),
        Slow::Pair(a, b) => {
            let (a, b) = (a.min(b), a.max(b));
            nodes.is_empty() && pairs == [[format!("n{a}"), format!("n{b}")]]
        }
    };
    count.tries += 1;
    count.right += usize::from(right);
    let effect = effect(attempt, slow);
    count.effects.extend(effect);
    println!(
        "{number:3} {slow:?} {delay}: {}; outliers {nodes:?} {pairs:?}{}, typical RTT {:.2} us, {:.1} s",
        if right { "right" } else { "WRONG" },
        effect.map_or(String::new(), |effect| format!(
            ", slower by {:.1} %",
            100.0 * effect
        )),
        attempt["typical_ns"].as_f64().unwrap_or(0.0) / 1e3,
        start.elapsed().as_secs_f64()
    );
    attempt["typical_ns"].as_f64().unwrap_or(0.0)
}

/// The measured effect on the node or pair that was slowed.
fn effect(attempt: &Value, slow: Slow) -> Option<f64> {
    let name = |host: usize| format!("n{host}");
    match slow {
        Slow::Nothing => None,
        Slow::Node(node) => {
            let mut nodes = attempt["nodes"].as_array()?.iter();
            nodes.find(|row| row["host"] == name(node))?["adds"].as_f64()
        }
        Slow::Pair(a, b) => {
            let mut pairs = attempt["pairs"].as_array()?.iter();
            let hosts = [name(a.min(b)), name(a.max(b))];
            pairs.find(|row| row["hosts"] == serde_json::json!(hosts))?["beyond"].as_f64()
        }
    }
}
