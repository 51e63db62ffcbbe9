//! What the report tells of active messages.

mod synthetic;

use synthetic::{World, analysed, files, rows};

#[test]
fn what_frames_cost_is_told_with_what_follows_from_it() {
    let (directory, analysed) = analysed(&World {
        messages: true,
        application: false,
        ..World::default()
    });
    let report = directory.path().join("synthetic/report");
    analysed.write_report().unwrap();
    let costs = rows(&report, "loggp");
    assert_eq!(costs.len(), 2);
    for row in &costs {
        let figure = |name: &str| row[name].parse::<f64>().unwrap();
        assert!((figure("send_us") - 0.5).abs() < 0.01, "{row:?}");
        assert!((figure("receive_us") - 0.7).abs() < 0.01, "{row:?}");
        assert!((figure("latency_us") - 0.4).abs() < 0.01, "{row:?}");
        assert!((figure("gap_per_byte_ns") - 0.5).abs() < 0.01, "{row:?}");
        // The processor is what limits.
        assert_eq!(row["gap_us"], "not visible");
    }
    // Of two-way there is no round trip to hold its own against: amvia-riding was not measured.
    let identities = rows(&report, "loggp_identities");
    let told: Vec<[&str; 3]> = identities
        .iter()
        .map(|row| [&row["protocol"], &row["time"], &row["verdict"]].map(String::as_str))
        .collect();
    assert_eq!(
        told,
        [
            ["amvia", "interval", "closes"],
            ["amvia", "round trip", "closes"],
            ["two-way", "interval", "closes"]
        ]
    );
    let shifts = rows(&report, "loggp_shifts");
    assert_eq!(shifts.len(), 2 * 2 * 3);
    assert!(
        shifts.iter().all(|row| row["verdict"] == "as expected"),
        "{shifts:?}"
    );
    assert_eq!(rows(&report, "amvia").len(), 2);
    assert_eq!(rows(&report, "amvia_bandwidth").len(), 4);

    let excess = rows(&report, "performability_excess");
    let told: Vec<[&str; 3]> = excess[..5]
        .iter()
        .map(|row| [&row["failing"], &row["chance"], &row["verdict"]].map(String::as_str))
        .collect();
    assert_eq!(
        told,
        [
            ["bits", "1e-7", ""],
            ["bits", "1e-5", "agrees"],
            ["bits", "1e-4", "differs"],
            ["application", "1e-3", ""],
            ["wire", "1e-3", "agrees"],
        ]
    );
    assert_eq!(
        (excess.len(), &excess[0]["experiment_us"][..]),
        (10, "not measurable")
    );
    assert_eq!(excess[1]["losses"], "3600");
    // Where nothing was measured nothing is off.
    assert_eq!(excess[0]["off"], "");
    let off: f64 = excess[1]["off"].parse().unwrap();
    assert!((off - 1.0).abs() <= 0.15, "{off}");
    let components = String::from_utf8(files(&report)["amvia-components-shm.svg"].clone()).unwrap();
    assert!(components.contains("experiment"));
    assert_eq!(rows(&report, "performability_stages").len(), 2);
    let steps = rows(&report, "performability_steps");
    let told = ["step", "component", "median_us", "traced_round_trip_us"];
    assert_eq!(steps.len(), 2);
    assert_eq!(
        told.map(|it| &steps[0][it][..]),
        ["driver", "nic", "0.21", "9.1"]
    );
    let throughput = rows(&report, "performability_throughput");
    let told = throughput[..5].iter();
    assert_eq!(
        told.map(|row| ["failing", "chance", "outstanding"].map(|it| &row[it][..]))
            .collect::<Vec<_>>(),
        [
            ["nothing", "0e0", "1"],
            ["nothing", "0e0", "4"],
            ["bits", "1e-6", "4"],
            ["library", "1e-3", "4"],
            ["wire", "1e-3", "4"],
        ]
    );
    let of_components = &files(&report)["amvia-throughput-components-shm.svg"];
    let of_components = String::from_utf8(of_components.clone()).unwrap();
    assert!(of_components.contains("library") && of_components.contains("wire"));
    assert_eq!(rows(&report, "performability").len(), 2);

    let files = files(&report);
    for figure in [
        "rtt",
        "bandwidth",
        "signature-shm",
        "bytes-shm",
        "bits-shm",
        "components-shm",
        "throughput-shm",
        "throughput-components-shm",
    ] {
        let name = format!("amvia-{figure}.svg");
        let svg = String::from_utf8(files[&name].clone()).unwrap();
        assert!(svg.contains("two-way"), "{name}");
    }
    let page = String::from_utf8(files["index.html"].clone()).unwrap();
    assert!(page.contains("Of 3 relations between the parameters of LogGP, 3 hold"));
    assert!(page.contains("Of 12 shifts by delays that are known, 12 are what"));
    assert!(
        files["amvia-stages.svg"]
            .windows(7)
            .any(|it| it == b"library")
    );
    assert!(page.contains(
        "Of 10 excess times of a transaction by failures, 6 could be measured; 4 of these agree"
    ));
    assert!(page.contains("Over shared memory, the median round trip of two-way is"));
}
