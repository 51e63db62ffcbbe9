//! Wrong options of `jitterlab packet`.

mod common;

use common::Lab;

/// Options after `packet run --case rtt --transport udp --samples s.csv`, and what is said.
const WRONG: [(&str, &str); 27] = [
    (
        "--size 0",
        "udp carries messages of 8 to 65507 bytes in this case, not 0",
    ),
    (
        "--size 7",
        "udp carries messages of 8 to 65507 bytes in this case, not 7",
    ),
    (
        "--size 64KiB",
        "udp carries messages of 8 to 65507 bytes in this case, not 65536",
    ),
    (
        "--size big",
        "error: invalid value 'big' for '--size <SIZE>': `big` is not a size; write a number of bytes, \
         or a number and one of B, KiB, MiB, GiB (or K, M, G)",
    ),
    (
        "--iterations 0",
        "error: invalid value '0' for '--iterations <ITERATIONS>': the number has to be 1 to \
         134217728",
    ),
    (
        "--iterations 1000000000",
        "error: invalid value '1000000000' for '--iterations <ITERATIONS>': the number has to be 1 to \
         134217728",
    ),
    (
        "--iterations 10K",
        "error: invalid value '10K' for '--iterations <ITERATIONS>': `10K` is not a count; write a whole number, with or without k \
         (1,000) or M (1,000,000), as in `10k`",
    ),
    (
        "--iterations 0.5",
        "error: invalid value '0.5' for '--iterations <ITERATIONS>': `0.5` is not a count; write a whole number, with or without k \
         (1,000) or M (1,000,000), as in `10k`",
    ),
    (
        "--iterations 1 --duration 1s",
        "error: the argument '--iterations <ITERATIONS>' cannot be used with '--duration \
         <DURATION>'",
    ),
    (
        "--warmup 1s --warmup-iterations 1",
        "error: the argument '--warmup <WARMUP>' cannot be used with '--warmup-iterations \
         <WARMUP_ITERATIONS>'",
    ),
    (
        "--size 64kB",
        "error: invalid value '64kB' for '--size <SIZE>': `64kB` is not a size; write KiB or K for 1,024 bytes, as in \
         `64KiB`, or the number of bytes, as in `64000B`",
    ),
    (
        "--size -64KiB",
        "error: invalid value '-64KiB' for '--size <SIZE>': `-64KiB` is not a size of 0 or more, as in `64KiB`",
    ),
    (
        "--duration -10us",
        "error: invalid value '-10us' for '--duration <DURATION>': `-10us` is not a duration of 0 or more, as in \
         `250us`",
    ),
    (
        "--duration 10",
        "error: invalid value '10' for '--duration <DURATION>': `10` is not a duration; write a number \
         and one of ns, us, ms, s, min, h, as in `250us`",
    ),
    (
        "--duration 0s",
        "error: invalid value '0s' for '--duration <DURATION>': the time has to be at least 1us",
    ),
    (
        "--duration 86401s",
        "error: invalid value '86401s' for '--duration <DURATION>': the time has to be at most one day",
    ),
    (
        "--warmup 86401s",
        "error: invalid value '86401s' for '--warmup <WARMUP>': the time has to be at most one day",
    ),
    (
        "--timeout 0ns",
        "error: invalid value '0ns' for '--timeout <TIMEOUT>': the time has to be at least 1us",
    ),
    (
        "--timeout -1s",
        "error: invalid value '-1s' for '--timeout <TIMEOUT>': `-1s` is not a duration of 0 or more, as in `250us`",
    ),
    (
        "--wait sleep",
        "error: invalid value 'sleep' for '--wait <WAIT>': `sleep` is not a way to wait; write block or \
         poll",
    ),
    (
        "--to 127.0.0.1:99999",
        "127.0.0.1:99999 is not a host or HOST:PORT that can be resolved",
    ),
    (
        "--to no.such.host.invalid",
        "no.such.host.invalid is not a host or HOST:PORT that can be resolved",
    ),
    (
        "--cpu 4096",
        "cannot stay on CPU 4096, because this machine does not have it or does not allow it",
    ),
    (
        "--server-cpu 1000",
        "the server for this measurement did not come up: cannot stay on CPU 1000, because this machine does not have it or does not allow it",
    ),
    (
        "--server-cpu 0 --to 127.0.0.1:1",
        "--server-cpu is only for a server that this command starts; start the server that --to \
         names with --cpu",
    ),
    (
        "--format xml",
        "error: invalid value 'xml' for '--format <FORMAT>'",
    ),
    ("--verbs", "error: unexpected argument '--verbs' found"),
];

#[test]
fn wrong_options_are_refused() {
    let lab = Lab::new();
    for (options, message) in WRONG {
        let run = "packet run --case rtt --transport udp --samples s.csv";
        lab.refuses(&format!("{run} {options}"), message);
    }
    lab.refuses(
        "packet run --case rtt --transport tcp --size 0",
        "tcp carries messages of 1 to 16777216 bytes in this case, not 0",
    );
    lab.refuses(
        "packet run --case rtt --transport sctp",
        "error: invalid value 'sctp' for '--transport <TRANSPORT>': `sctp` is not a transport; write \
         udp, tcp, verbs or shm",
    );
    lab.refuses(
        "packet run --case rtt --transport shm --wait block",
        "shared memory needs `--wait poll`, because nothing wakes a receiver that sleeps",
    );
    for option in [
        "--operation send",
        "--service ud",
        "--inline on",
        "--device rxe0",
        "--gid-index 1",
        "--mtu 1024",
    ] {
        let name = option.split(' ').next().unwrap();
        lab.refuses(
            &format!("packet run --case rtt --transport udp {option}"),
            &format!("{name} is for --transport verbs, not for udp"),
        );
    }
    lab.refuses(
        "packet serve --transport tcp --device rxe0",
        "--device is for --transport verbs, not for tcp",
    );
    lab.refuses(
        "packet run --case flood --transport udp",
        "error: invalid value 'flood' for '--case <CASE>': `flood` is not a case; write rtt, latency, bandwidth, \
         bidirectional, overhead, completion, buffer-reuse or hot-spot",
    );
    for (options, message) in [
        (
            "rtt --window 8",
            "--window is for --case bandwidth, bidirectional, overhead, buffer-reuse, not for rtt",
        ),
        (
            "latency --rate 5k",
            "--rate is for --case rtt, not for latency",
        ),
        (
            "rtt --rate 11M",
            "error: invalid value '11M' for '--rate <RATE>': at most 10M messages a second",
        ),
        (
            "rtt --rate 20k/s",
            "error: invalid value '20k/s' for '--rate <RATE>': `20k/s` is not a rate; write how many a second, as a number with \
             or without k or M, as in `20k`",
        ),
        (
            "rtt --rate 5k --seed 1",
            "--seed is for --gaps exponential: fixed gaps have nothing random",
        ),
        (
            "rtt --gaps fixed",
            "error: the following required arguments were not provided:",
        ),
        (
            "latency --reuse 5",
            "--reuse is for --case buffer-reuse, not for latency",
        ),
        (
            "latency --samples s.csv",
            "--samples is for --case rtt, not for latency",
        ),
        (
            "hot-spot --size 8,16",
            "more than one --size is for --case latency, bandwidth, bidirectional, overhead, completion, buffer-reuse, not for hot-spot",
        ),
        (
            "latency --to a,b",
            "more than one --to is for --case hot-spot, not for latency",
        ),
        (
            "completion --wait poll",
            "--case completion measures all ways to wait; leave out --wait",
        ),
        (
            "bidirectional --size 8",
            "udp carries messages of 16 to 65507 bytes in this case, not 8",
        ),
        (
            "buffer-reuse --size 60000 --buffers 1000000",
            "the buffers would take 61440000000 bytes; at most 1 GiB is allowed",
        ),
    ] {
        lab.refuses(
            &format!("packet run --transport udp --case {options}"),
            message,
        );
    }
    for path in ["no/s.csv", "."] {
        lab.refuses(
            &format!("packet run --case rtt --transport udp --samples {path}"),
            &format!("cannot write samples {path}: it has to be a file in a folder that is there"),
        );
    }
}
