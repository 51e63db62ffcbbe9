//! What `packet run` prints for people: microseconds, and megabytes (a million bytes) a second.

use jitterlab_packet::cases::{
    Case, Setting, bandwidth, bidirectional, buffer_reuse, completion, hot_spot, latency, overhead,
    rtt,
};
use jitterlab_packet::transport::Wait;

use crate::output::aligned;

fn us(ns: f64) -> String {
    format!("{:.3}", ns / 1e3)
}

fn mb(bytes_per_second: f64) -> String {
    format!("{:.2}", bytes_per_second / 1e6)
}

/// The case, and what it was measured over.
fn head(case: Case, setting: &Setting, more: &str) -> String {
    let path = setting.path.as_ref();
    let path = path.map_or(String::new(), |path| format!(" ({path})"));
    format!(
        "{case} over {}{path}, {}{more}\n",
        setting.transport,
        waiting(setting)
    )
}

fn waiting(setting: &Setting) -> &'static str {
    setting.wait.map_or("", Wait::name)
}

/// Those of the rows, by their first column, that ended before their time.
fn early(rows: impl IntoIterator<Item = (String, bool)>) -> String {
    let full = rows.into_iter().filter(|(_, memory_full)| *memory_full);
    let names: Vec<String> = full.map(|(name, _)| name).collect();
    match names.is_empty() {
        true => String::new(),
        false => format!(
            "ended before its time, the memory for samples was full: {}\n",
            names.join(", ")
        ),
    }
}

fn clock(setting: &Setting) -> String {
    format!("clock: a reading takes {:.1} ns\n", setting.clock_read_ns)
}

fn table(names: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let names = names.iter().map(|name| name.to_string()).collect();
    let rows: Vec<Vec<String>> = std::iter::once(names).chain(rows).collect();
    aligned(&rows)
}

pub fn rtt(report: &rtt::Report) -> String {
    let rtt::Report { setting, point, .. } = report;
    let rtt = &point.rtt_ns;
    let early = if point.memory_full {
        "ended before its time: the memory for samples was full\n"
    } else {
        ""
    };
    let path = setting.path.as_ref();
    let path = path.map_or(String::new(), |path| format!(" ({path})"));
    format!(
        "ping-pong over {}{path}, {} B, {}: {} round trips, {} lost, {} reordered, {} duplicates\n\
         RTT in us: least {}, median {}, mean {}, std {}, 90 % {}, 99 % {}, 99.9 % {}, greatest {}\n\
         one-way (half the RTT), median: {} us\n\
         {}{early}",
        setting.transport,
        point.size,
        waiting(setting),
        rtt.n,
        point.lost,
        point.reordered,
        point.duplicates,
        us(rtt.min),
        us(rtt.median),
        us(rtt.mean),
        rtt.std.map_or("-".into(), us),
        us(rtt.p90),
        us(rtt.p99),
        us(rtt.p999),
        us(rtt.max),
        us(point.one_way_median_ns),
        clock(setting),
    )
}

pub fn latency(report: &latency::Report) -> String {
    let rows = report.points.iter().map(|point| {
        let rtt = &point.rtt_ns;
        vec![
            point.size.to_string(),
            us(point.one_way_median_ns),
            us(rtt.median),
            us(rtt.mean),
            rtt.std.map_or("-".into(), us),
            us(rtt.p99),
            us(rtt.p999),
            rtt.n.to_string(),
            point.lost.to_string(),
        ]
    });
    let names = [
        "bytes",
        "one-way us",
        "RTT median",
        "mean",
        "std",
        "99 %",
        "99.9 %",
        "n",
        "lost",
    ];
    let points = report.points.iter();
    let early = early(points.map(|point| (point.size.to_string(), point.memory_full)));
    head(Case::Latency, &report.setting, "")
        + &table(&names, rows)
        + &clock(&report.setting)
        + &early
}

pub fn bandwidth(report: &bandwidth::Report) -> String {
    let rows = report.points.iter().map(|point| {
        vec![
            point.size.to_string(),
            mb(point.bytes_per_second),
            format!("{:.0}", point.messages_per_second),
            us(point.half_window_ns.median),
            us(point.half_window_ns.p999),
            point.messages.to_string(),
            point.missing.to_string(),
        ]
    });
    let names = [
        "bytes",
        "MB/s",
        "messages/s",
        "half window us",
        "99.9 %",
        "n",
        "missing",
    ];
    let more = format!(", {} under way", report.window);
    let points = report.points.iter();
    let early = early(points.map(|point| (point.size.to_string(), point.memory_full)));
    head(Case::Bandwidth, &report.setting, &more) + &table(&names, rows) + &early
}

pub fn bidirectional(report: &bidirectional::Report) -> String {
    let rows = report.points.iter().map(|point| {
        vec![
            point.size.to_string(),
            us(point.latency_ns.median),
            us(point.latency_ns.p999),
            mb(point.out.bytes_per_second),
            mb(point.back_bytes_per_second),
            mb(point.bytes_per_second),
            (point.lost + point.out.missing).to_string(),
        ]
    });
    let names = [
        "bytes",
        "latency us",
        "99.9 %",
        "out MB/s",
        "back",
        "both",
        "lost",
    ];
    let more = format!(", {} under way in each direction", report.window);
    let early = early(report.points.iter().map(|point| {
        let memory_full = point.memory_full || point.out.memory_full;
        (point.size.to_string(), memory_full)
    }));
    head(Case::Bidirectional, &report.setting, &more)
        + &table(&names, rows)
        + &clock(&report.setting)
        + &early
}

pub fn overhead(report: &overhead::Report) -> String {
    let rows = report.points.iter().map(|point| {
        vec![
            point.size.to_string(),
            us(point.send_ns.median),
            us(point.receive_ns.median),
            us(point.cpu_ns_per_round_trip),
            us(point.rtt_median_ns),
        ]
    });
    let names = ["bytes", "send us", "receive us", "CPU a round trip", "RTT"];
    let calls = table(&names, rows);
    let rows = report.beside.iter().map(|beside| {
        vec![
            us(beside.computing_ns as f64),
            format!("{:.1}", beside.share * 100.0),
            mb(beside.bytes_per_second),
            format!("{:.1}", beside.left * 100.0),
        ]
    });
    let names = ["computing us", "% of the time", "MB/s", "% left"];
    let room = match report.room {
        Some(share) => format!(
            "bandwidth holds (95 %) with computing in {:.1} % of the time\n",
            share * 100.0
        ),
        None => "bandwidth drops as soon as anything is computed\n".into(),
    };
    let points = report.points.iter();
    let points = points.map(|point| (point.size.to_string(), point.memory_full));
    let streams = report.beside.iter().map(|beside| beside.memory_full);
    let stream = streams.fold(report.alone.memory_full, |any, full| any | full);
    let early = early(points.chain([("the stream".into(), stream)]));
    format!(
        "{}{calls}a stream of {} B, {} under way: {} MB/s alone\n{}{room}{}{early}",
        head(Case::Overhead, &report.setting, ""),
        report.bandwidth_size,
        report.window,
        mb(report.alone.bytes_per_second),
        table(&names, rows),
        clock(&report.setting),
    )
}

pub fn completion(report: &completion::Report) -> String {
    let rows = report.points.iter().map(|point| {
        vec![
            point.way.words().to_string(),
            point.operation.map_or(String::new(), |way| way.to_string()),
            us(point.one_way_median_ns),
            us(point.added_ns),
            us(point.rtt_ns.p999),
            point.rtt_ns.n.to_string(),
        ]
    });
    let names = ["by", "", "one-way us", "added", "RTT 99.9 %", "n"];
    let points = report.points.iter();
    let early = early(points.map(|point| (point.way.words().into(), point.memory_full)));
    let path = report.points.iter().find_map(|point| point.path.as_ref());
    let device = path.map_or(String::new(), |path| format!(" ({})", path.device));
    format!(
        "completion over {}{device}, {} B, in {} turns\n{}{}{early}",
        report.setting.transport,
        report.size,
        report.turns,
        table(&names, rows),
        clock(&report.setting)
    )
}

pub fn buffer_reuse(report: &buffer_reuse::Report) -> String {
    let pattern = |point: &buffer_reuse::Point| match (point.fifo, point.reuse_percent) {
        (Some(count), _) => format!("{count} in turn"),
        (None, percent) => format!("{} % in one", percent.unwrap_or(0)),
    };
    let rows = report.points.iter().map(|point| {
        vec![
            pattern(point),
            point.buffers.to_string(),
            us(point.latency.one_way_median_ns),
            us(point.latency.rtt_ns.p999),
            mb(point.bandwidth.bytes_per_second),
        ]
    });
    let names = ["pattern", "buffers", "one-way us", "RTT 99.9 %", "MB/s"];
    let size = report.points.first().map_or(0, |point| point.latency.size);
    let more = format!(", {size} B, {} under way in a stream", report.window);
    let early = early(report.points.iter().map(|point| {
        let memory_full = point.latency.memory_full || point.bandwidth.memory_full;
        (pattern(point), memory_full)
    }));
    head(Case::BufferReuse, &report.setting, &more)
        + &table(&names, rows)
        + &clock(&report.setting)
        + &early
}

pub fn hot_spot(report: &hot_spot::Report) -> String {
    let rows = report.points.iter().map(|point| {
        vec![
            point.slaves.to_string(),
            us(point.send_ns.median),
            us(point.send_ns.p999),
            us(point.receive_ns.median),
            us(point.receive_ns.p999),
            point.lost.to_string(),
        ]
    });
    let names = [
        "slaves",
        "send us",
        "99.9 %",
        "receive us",
        "99.9 %",
        "lost",
    ];
    let more = format!(", {} B and {} B", report.size, report.short);
    let points = report.points.iter();
    let early = early(points.map(|point| (format!("{} slaves", point.slaves), point.memory_full)));
    head(Case::HotSpot, &report.setting, &more)
        + &table(&names, rows)
        + &clock(&report.setting)
        + &early
}
