//! What was measured, on what, and how to do it again.

use jitterlab_amvia_suite::cases::Case as AmviaKind;
use jitterlab_base::show;
use jitterlab_experiment::enough::{POWER, begun, enough};
use jitterlab_experiment::environment::{Node, Resumption};
use jitterlab_experiment::level::Member;
use jitterlab_experiment::record::Transport;
use jitterlab_experiment::spec::{Experiment, InjectedLevels};
use jitterlab_experiment::suites::Case;
use jitterlab_experiment::suites::application::{ApplicationCase, Client};
use jitterlab_experiment::suites::packet::PacketCase;
use jitterlab_injector::control::Mode;
use jitterlab_injector::replay::{Order, Stretch};
use jitterlab_packet::cases as packet;
use maud::{Markup, html};

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

/// How many blocks there are, and why so many.
fn blocks(analysed: &Analysed) -> String {
    let (experiment, attempts) = (analysed.folder.experiment(), analysed.folder.attempts());
    let blocks = begun(experiment, attempts);
    match enough(experiment, attempts) {
        None => format!("{blocks} blocks"),
        Some(enough) => format!(
            "{blocks} blocks, which find a change of {} % with a power of {} % ({} were needed to find one of {} %)",
            words::short(enough.resolves_percent),
            words::short(100.0 * POWER),
            enough.needed,
            words::short(enough.resolve_percent)
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
                    @for sentence in suites(experiment) { (line("Suite", &sentence)) }
                    (line("Level none", "nothing added"))
                    @if let (false, Some(load)) = (experiment.levels.load.is_empty(), &experiment.load) {
                        (line("Levels of load", &format!(
                            "{} of the one-way bandwidth{}, {} messages of {} {}",
                            percent(&experiment.levels.load),
                            match analysed.environment.bandwidth {
                                Some(bandwidth) => format!(" ({})", show::bandwidth(bandwidth)),
                                None => String::new(),
                            },
                            load.transport.name().to_uppercase(), load.message(), load
                        )))
                    }
                    @if let Some(injected) = injected.filter(|injected| injected.imitates()) {
                        (line("Levels injected", &format!(
                            "what load of {} adds to the RTT over {}, as {}",
                            percent(&injected.percent),
                            injected.transport.name().to_uppercase(),
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

/// What a mode does to a message, in words.
fn how(mode: Mode) -> &'static str {
    match mode {
        Mode::Spin => "spin: the sender waits, then sends; the delay is on its CPU",
        Mode::Defer => "defer: the message goes later, and the sender goes on",
        Mode::Pace => "pace: a send goes no earlier than the delay after the one before it",
    }
}

/// That it was stopped, and what was no longer as it had been.
fn went_on(resumption: &Resumption) -> String {
    let changed = match resumption.changed.as_slice() {
        [] => "with everything as it was".into(),
        changed => changed.join("; "),
    };
    format!("{}, after it was stopped: {changed}", resumption.started)
}

fn suites(experiment: &Experiment) -> Vec<String> {
    let packet = experiment.suites.packet.iter().map(|case| {
        let verbs = case.verbs();
        let transports: Vec<String> = case
            .transports
            .iter()
            .map(|transport| match transport {
                Transport::Verbs => format!("verbs ({}, {})", verbs.operation, verbs.service),
                sockets => sockets.name().to_uppercase(),
            })
            .collect();
        let waits = case
            .transports
            .iter()
            .map(|&over| match case.wait(over).name() {
                "poll" => "polling".to_string(),
                _ => "blocking".to_string(),
            });
        let mut waits: Vec<String> = waits.collect();
        waits.dedup();
        format!(
            "packet, {}: {}{}messages over {} from {} to {}, {} after {} of warm-up that is \
             discarded, waiting by {}",
            case.name(),
            in_what_loop(case),
            sizes(case),
            words::list(&transports),
            case.from,
            case.to,
            case.duration,
            case.warmup,
            words::list(&waits)
        )
    });
    let amvia = experiment.suites.amvia.iter().map(|case| {
        let transports = case.transports.iter().map(|it| it.name().to_uppercase());
        let protocols = case.protocols.iter().map(ToString::to_string);
        let how = match case.case {
            AmviaKind::Performability => format!("a fixed timeout of {}", case.timeout()),
            AmviaKind::Rtt | AmviaKind::Bandwidth | AmviaKind::Loggp => {
                show::counted(case.window().into(), "transaction") + " at once"
            }
        };
        format!(
            "amvia, {}: {} over {} from {} to {}, {how}",
            case.name(),
            words::list(&protocols.collect::<Vec<_>>()),
            words::list(&transports.collect::<Vec<_>>()),
            case.from,
            case.to,
        )
    });
    let library = experiment.suites.library.iter().map(|case| {
        let size = case
            .size
            .map(|size| format!(", {size}"))
            .unwrap_or_default();
        format!(
            "library, {}: {} on {} ranks{size}",
            case.name(),
            case.case.name(),
            case.ranks
        )
    });
    let application = experiment.suites.application.iter();
    let application = application.filter_map(|case| match (&case.client, &case.npb) {
        (Some(client), _) => Some(command(case, client)),
        (None, Some(npb)) => Some(format!(
            "application, {}: NPB {}, class {}, on {} ranks",
            case.name,
            npb.kernel.name().to_uppercase(),
            npb.class.name(),
            npb.ranks
        )),
        (None, None) => None,
    });
    packet
        .chain(amvia)
        .chain(library)
        .chain(application)
        .collect()
}

/// The sizes of its messages, where the file says them: `64B `.
fn sizes(case: &PacketCase) -> String {
    let sizes = case.size.iter().chain(&case.sizes);
    let sizes: Vec<String> = sizes.map(ToString::to_string).collect();
    match sizes.is_empty() {
        true => String::new(),
        false => format!("{} ", words::list(&sizes)),
    }
}

/// How the messages of round trips follow each other: `in a closed loop, `.
fn in_what_loop(case: &PacketCase) -> String {
    match (case.case, case.rate) {
        (packet::Case::Rtt, None) => "in a closed loop, ".into(),
        (_, None) => String::new(),
        (_, Some(rate)) => format!(
            "in an open loop of {} messages a second with {} gaps, ",
            rate,
            case.gaps.unwrap_or_default()
        ),
    }
}

/// A program of somebody else's.
fn command(case: &ApplicationCase, client: &Client) -> String {
    let (name, on) = (&case.name, &client.on);
    let command = client.command.join(" ");
    match &case.server {
        Some(server) => format!(
            "application, {name}: {command} on {on} (delayed), against {} on {}",
            server.command.first().cloned().unwrap_or_default(),
            server.on
        ),
        None => format!("application, {name}: {command} on {on}"),
    }
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
                            interface.speed.map_or(String::new(), |speed| format!(", {speed} Mb/s")),
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
