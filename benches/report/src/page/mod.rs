//! The report as one HTML page that needs nothing else.

mod environment;
mod methods;
mod tables;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::analysis::answer::Effect;
use crate::analysis::brief::Brief;
use crate::analysis::paper::Finding;
use crate::figures::Figures;
use crate::folder::Analysed;
use crate::svg::Figure;
use crate::table::{Row, Table};

/// A part of the page: what it shows and the words, figures and tables that do.
struct Section<'a> {
    id: &'static str,
    title: &'static str,
    /// Why the reader should care, in a sentence or two.
    question: &'static str,
    findings: &'a [String],
    figures: &'a [Figure],
    /// The names of its tables.
    tables: &'static [&'static str],
}

/// The page.
pub fn page(analysed: &Analysed, figures: &Figures, tables: &[Table]) -> String {
    let summary = &analysed.analysis.summary;
    let sections = [
        Section {
            id: "applications",
            title: "Applications",
            question: "How much longer does a program run when its messages are delayed, and does it \
                matter how much the delays vary, if their mean stays the same?",
            findings: &summary.applications,
            figures: &figures.applications,
            tables: &["fixed-mean", "runtimes", "communication"],
        },
        Section {
            id: "correlations",
            title: "Variation or mean?",
            question: "The paper behind this experiment claims that runtime is more highly correlated \
                with the standard deviation of latency than with its mean. A correlation depends on \
                the levels chosen and is no cause; the comparison at a fixed mean above is the \
                stronger evidence.",
            findings: &summary.correlations,
            figures: &figures.correlations,
            tables: &["correlations"],
        },
        Section {
            id: "paper",
            title: "The paper's findings here",
            question: "What Underwood, Anderson and Apon found on eight nodes with InfiniBand (ICPE 2018): \
                is it so here?",
            findings: &summary.paper,
            figures: &[],
            tables: &["paper"],
        },
        Section {
            id: "library",
            title: "Operations of MPI",
            question: "What do delays that vary do to the operations that programs are made of? A \
                ping-pong waits for one message, a barrier for the slowest of many.",
            findings: &summary.library,
            figures: &figures.library,
            tables: &["library"],
        },
        Section {
            id: "latency",
            title: "Latency under load",
            question: "What does background traffic do to the round trip of a small message?",
            findings: &summary.latency,
            figures: &figures.latency,
            tables: &["latency"],
        },
        Section {
            id: "packet",
            title: "Cases of the packet suite",
            question: "What do load and injected delays do to latency, bandwidth, CPU overhead, completion, buffer reuse and hot \
                spots?",
            findings: &summary.packet,
            figures: &figures.packet,
            tables: &["packet"],
        },
        Section {
            id: "amvia",
            title: "Active messages",
            question: "What does a transaction cost in each protocol, over each transport, what of that is the processor's, the \
                network's and the protocol's, and what do failures add?",
            findings: &summary.amvia,
            figures: &figures.amvia,
            tables: &[
                "amvia",
                "amvia_bandwidth",
                "loggp",
                "loggp_identities",
                "loggp_shifts",
                "performability",
                "performability_excess",
                "performability_throughput",
                "performability_stages",
                "performability_steps",
            ],
        },
        Section {
            id: "fits",
            title: "Fitted distributions",
            question: "Which distribution describes what load adds to a round trip? The delays that \
                are injected are drawn from it.",
            findings: &summary.fits,
            figures: &figures.fits,
            tables: &["fits", "tables", "made"],
        },
        Section {
            id: "emulation",
            title: "Injected against background",
            question: "Is the emulation good: do injected delays make round trips like those under \
                the load that they imitate?",
            findings: &summary.emulation,
            figures: &figures.emulation,
            tables: &["emulation"],
        },
        Section {
            id: "injector",
            title: "The injector",
            question: "Were messages delayed by what was asked for?",
            findings: &summary.injector,
            figures: &[],
            tables: &["injector"],
        },
        Section {
            id: "normality",
            title: "Tests for normality",
            question: "Which statistics are valid depends on whether figures are normally \
                distributed.",
            findings: &summary.normality,
            figures: &[],
            tables: &["normality"],
        },
        Section {
            id: "failures",
            title: "Runs that failed",
            question: "What these runs would have measured is missing. Those that were tried as often as the \
                experiment file says are given up; the others are tried again when the experiment goes on.",
            findings: &[],
            figures: &[],
            tables: &["failures"],
        },
    ];
    let sections: Vec<(&Section, Vec<&Table>)> = sections
        .iter()
        .map(|section| {
            let of_section = tables
                .iter()
                .filter(|table| section.tables.contains(&table.id));
            (section, of_section.collect::<Vec<_>>())
        })
        .filter(|(section, tables)| !tables.is_empty() || !section.findings.is_empty())
        .collect();
    let name = &analysed.folder.experiment().name;
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "Latency variation: " (name) }
                style { (PreEscaped(include_str!("style.css"))) }
            }
            body {
                (contents(&sections))
                main {
                    (first_screen(analysed, figures, tables))
                    @for (section, tables) in &sections { (part(section, tables)) }
                    (environment::section(analysed))
                    (methods::section(analysed))
                    (environment::reproduction(analysed))
                }
            }
        }
    }
    .into_string()
}

/// The question, the answer in one sentence, what it is made from as one figure and one table, and what limits it.
fn first_screen(analysed: &Analysed, figures: &Figures, tables: &[Table]) -> Markup {
    let answer = &analysed.analysis.answer;
    let gaps = &analysed.analysis.summary.gaps;
    let hosts: Vec<String> = environment::machines(analysed);
    html! {
        header id="answer" {
            h1 { (answer.question) }
            p.answer { (answer.sentence) }
            p.meta {
                "Experiment " strong { (analysed.folder.experiment().name) }
                ", started " (analysed.environment.started)
                " on " (crate::words::list(&hosts))
                " · jitterlab " (analysed.environment.jitterlab)
            }
            div.beside {
                @for drawing in &figures.answer { (figure(drawing)) }
                div {
                    @for table in tables.iter().filter(|table| [Effect::ID, Brief::ID].contains(&table.id)) {
                        (tables::table(table, false))
                    }
                    @if !gaps.is_empty() {
                        div.limits {
                            h3 { "What limits these findings" }
                            ul { @for gap in gaps { li { (gap) } } }
                        }
                    }
                }
            }
        }
    }
}

fn contents(sections: &[(&Section, Vec<&Table>)]) -> Markup {
    html! {
        nav aria-label="Contents" {
            ul {
                li { a href="#answer" { "The answer" } }
                @for (section, _) in sections {
                    li { a href={ "#" (section.id) } { (section.title) } }
                }
                li { a href="#measured" { "What was measured" } }
                li { a href="#methods" { "Methods" } }
                li { a href="#reproduce" { "How to reproduce" } }
            }
        }
    }
}

fn part(section: &Section, tables: &[&Table]) -> Markup {
    html! {
        section id=(section.id) {
            h2 { (section.title) }
            p { em { (section.question) } }
            div.words { @for sentence in section.findings { p { (sentence) } } }
            div.figures { @for drawing in section.figures { (figure(drawing)) } }
            @for table in tables { (tables::table(table, table.id != Finding::ID)) }
        }
    }
}

fn figure(figure: &Figure) -> Markup {
    html! {
        figure {
            (PreEscaped(figure.to_svg()))
            figcaption {
                (figure.caption) " "
                @if figure.lacks_an_interval() {
                    "A point or bar without an interval has none: too few runs tell it. "
                }
                a href={ (figure.id) ".svg" } { "SVG" }
            }
        }
    }
}
