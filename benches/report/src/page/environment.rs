//! The measurements, the environment, and the way to repeat them.

use jitterlab_base::show;
use jitterlab_experiment::enough::{POWER, begun, enough};
use jitterlab_experiment::environment::{Node, Resumption};
use jitterlab_experiment::level::Member;
use jitterlab_experiment::spec::InjectedLevels;
use jitterlab_injector::control::Mode;
use jitterlab_injector::replay::{Order, Stretch};
use maud::{Markup, html};

use crate::analysis::results::described;
use crate::folder::Analysed;
use crate::words;

/// The machines by name, each once.
pub fn machines(analysed: &Analysed) -> Vec<String> {
    let mut names: Vec<String> = analysed
        .environment
        .hosts
        .values()
        .map(|node| node.hostname.clone())
        .collect();
    names.sort();
    names.dedup();
    names
}

/// The section on factors, levels and machines.
pub fn section(analysed: &Analysed) -> Markup {
    html! {
        section id="measured" {
            h2 { "What was measured" }
            (factors(analysed))
            h3 { "The machines" }
            @for (names, node) in nodes(analysed) { (machine(&names, node)) }
        }
    }
}

/// Hosts of the experiment that are one machine, together.
fn nodes(analysed: &Analysed) -> Vec<(Vec<String>, &Node)> {
    let mut nodes: Vec<(Vec<String>, &Node)> = Vec::new();
    for (name, node) in &analysed.environment.hosts {
        match nodes
            .iter_mut()
            .find(|(_, known)| known.hostname == node.hostname)
        {
            Some((names, _)) => names.push(name.clone()),
            None => nodes.push((vec![name.clone()], node)),
        }
    }
    nodes
}

/// The number of blocks, and the reason for it.
fn blocks(analysed: &Analysed) -> String {
    let (experiment, attempts) = (analysed.folder.experiment(), analysed.folder.attempts());
    let blocks = begun(experiment, attempts);
    match enough(experiment, attempts) {
        None => format!("{blocks} blocks"),
        Some(enough) => format!(
            "{blocks} blocks, which find a change of {} with a power of {} ({} were needed to find one of {})",
            show::percent(enough.resolves_percent / 100.0),
            show::percent(POWER),
            enough.needed,
            show::percent(enough.resolve_percent / 100.0)
        ),
    }
}

fn factors(analysed: &Analysed) -> Markup {
    let experiment = analysed.folder.experiment();
    let percent = |list: &[u8]| {
        let items: Vec<String> = list.iter().map(u8::to_string).collect();
        format!("{} %", words::list(&items))
    };
    let injected = experiment.levels.injected.as_ref();
    let (schedule, failures) = (analysed.analysis.schedule, &analysed.analysis.failures);
    let given_up = failures.iter().filter(|run| run.is_given_up).count();
    let measured = (schedule.runs - schedule.left).saturating_sub(given_up);
    html! {
        div.scroll {
            table {
                tbody {
                    (line("Repetitions", &format!(
                        "{}; each {} every run once, in an order drawn from seed {}",
                        blocks(analysed),
                        if measured == schedule.runs { "holds" } else { "was to hold" },
                        experiment.seed
                    )))
                    @for sentence in described(experiment) { (line("Suite", &sentence)) }
                    (line("Level none", "nothing added"))
                    @if let (false, Some(load)) = (experiment.levels.load.is_empty(), &experiment.load) {
                        (line("Levels of load", &format!(
                            "{} of the one-way bandwidth{}, {} messages of {} {}",
                            percent(&experiment.levels.load),
                            match analysed.environment.bandwidth {
                                Some(bandwidth) => format!(" ({})", show::bandwidth(bandwidth)),
                                None => String::new(),
                            },
                            words::transport(load.transport.name()), load.message(), load
                        )))
                    }
                    @if let Some(injected) = injected.filter(|injected| injected.imitates()) {
                        (line("Levels injected", &format!(
                            "what load of {} adds to the RTT over {}, as {}",
                            percent(&injected.percent),
                            words::transport(injected.transport.name()),
                            words::list(&imitations(injected))
                        )))
                    }
                    @let given = injected.map(|injected| injected.given()).unwrap_or_default();
                    @if !given.is_empty() {
                        (line("Delays injected", &words::list(
                            &given.iter().map(|level| level.to_string()).collect::<Vec<_>>()
                        )))
                    }
                    @if let Some(injected) = injected { (line("Injected how", how(injected.mode))) }
                    (line("Runs", &format!(
                        "{} measured of {}, {} given up, {} not done",
                        show::count(measured as u64),
                        show::count(schedule.runs as u64),
                        show::count(given_up as u64),
                        show::count(schedule.left as u64)
                    )))
                    @for resumption in &analysed.environment.resumed {
                        (line("Went on", &went_on(resumption)))
                    }
                }
            }
        }
    }
}

/// The tables that are made from a load's excess, in words.
fn imitations(injected: &InjectedLevels) -> Vec<String> {
    let shapes = injected.shapes.iter().map(|&shape| match shape {
        Member::Replay => format!(
            "{shape} ({}, {}; {})",
            shape.description(),
            match injected.replay.order {
                Order::ByTime => "by time: a burst lasts as long as it did",
                Order::ByMessage => "by message: one delay after the other",
                Order::Drawn => "drawn one by one",
            },
            match injected.replay.stretch {
                Stretch::All => "all ranks replay one stretch",
                Stretch::Each => "each rank replays a stretch of its own",
            }
        ),
        _ => format!("{shape} ({})", shape.description()),
    });
    let scaled = injected.scaled.iter();
    let scaled = scaled
        .map(|multiple| format!("the same mean with {multiple} times the standard deviation"));
    shapes.chain(scaled).collect()
}

/// The effect of a mode on a message, in words.
fn how(mode: Mode) -> &'static str {
    match mode {
        Mode::Spin => "spin: the sender waits, then sends; the delay is on its CPU",
        Mode::Defer => "defer: the message goes later, and the sender goes on",
        Mode::Pace => "pace: a send goes no earlier than the delay after the one before it",
    }
}

/// The sentence that the experiment was stopped, and what was no longer as it had been.
fn went_on(resumption: &Resumption) -> String {
    let changed = match resumption.changed.as_slice() {
        [] => "with everything as it was".into(),
        changed => changed.join("; "),
    };
    format!("{}, after it was stopped: {changed}", resumption.started)
}

fn line(name: &str, text: &str) -> Markup {
    html! { tr { th.name scope="row" { (name) } td.long { (text) } } }
}

fn machine(names: &[String], node: &Node) -> Markup {
    html! {
        div.scroll {
            table {
                tbody {
                    (line("Host", &format!("{} ({})", words::list(names), node.hostname)))
                    (line("CPU", &format!(
                        "{}, {} online{}", node.cpu, node.cpus,
                        if node.virtual_machine { ", a virtual machine" } else { "" }
                    )))
                    (line("Memory", &show::size(node.memory as f64)))
                    (line("Kernel", &node.kernel))
                    (line("System", &node.system))
                    @for interface in &node.interfaces {
                        (line(&format!("Interface {}", interface.name), &format!(
                            "MTU {}{}{}", interface.mtu,
                            interface.speed.map_or(String::new(), |mbps| format!(", {}", show::bit_rate(mbps as f64 * 1e6))),
                            interface.driver.as_ref().map_or(String::new(), |driver| format!(", driver {driver}"))
                        )))
                    }
                    (line("jitterlab", &node.jitterlab))
                }
            }
        }
        details {
            summary { "Settings of the system" }
            div.scroll {
                table {
                    tbody { @for (name, value) in &node.settings { (line(name, value)) } }
                }
            }
        }
        @if let Some(tuning) = &node.tuning {
            details {
                summary {
                    @if tuning.applied { "Tuning: applied" } @else { "Tuning: none applied; the default plan" }
                    ", measuring CPUs " (tuning.measuring)
                }
                div.scroll {
                    table {
                        tbody { @for (name, state) in &tuning.settings { (line(name, state.name())) } }
                    }
                }
            }
        }
    }
}

/// The section on doing it again.
pub fn reproduction(analysed: &Analysed) -> Markup {
    html! {
        section id="reproduce" {
            h2 { "How to reproduce" }
            p {
                "Everything in this report is computed from the folder that it stands in: "
                code { "jitterlab report DIR" } " makes it again, byte for byte. To measure again, \
                save the experiment file below and run " code { "jitterlab run FILE" }
                "; its seed gives the same order of runs. The delays are fitted anew, to what load adds then."
            }
            pre { code { (analysed.experiment_file) } }
        }
    }
}
