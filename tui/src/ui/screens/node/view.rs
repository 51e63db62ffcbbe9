//! The drawing of the screen.

use std::cmp::Reverse;

use jitterlab_appliance::report::BootReport;
use jitterlab_base::show::{self, printable};
use jitterlab_node_tuning::topology::Topology;
use jitterlab_node_tuning::tune::{Finding, State, Survey};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::{Facts, NodeScreen, picture};
use crate::commands::tune::text;
use crate::shown::processors;
use crate::ui::parts::beside;
use crate::ui::parts::text::{put_all, wrapped};
use crate::ui::theme::Theme;

/// Draws it, scrolled no further than to its end. Settings are beside the rest where there is room.
pub(super) fn draw(buffer: &mut Buffer, area: Rect, screen: &mut NodeScreen, theme: Theme) {
    const BESIDE: u16 = 140;
    let [left, right] = match area.width >= BESIDE {
        true => beside(area, area.width * 2 / 5),
        false => [area, Rect { width: 0, ..area }],
    };
    screen.settings_at = 0;
    let columns = match &screen.facts {
        None => [vec![Line::from("the node is being read")], Vec::new()],
        Some(Err(error)) => {
            let error = wrapped(Span::raw(""), error, theme.bad(), left.width);
            [error, Vec::new()]
        }
        Some(Ok(facts)) if right.width > 0 => [
            of_node(facts, left.width, theme),
            of_settings(facts, right.width, theme),
        ],
        Some(Ok(facts)) => {
            let mut all = of_node(facts, left.width, theme);
            all.push(Line::default());
            screen.settings_at = all.len();
            all.extend(of_settings(facts, left.width, theme));
            [all, Vec::new()]
        }
    };
    let last = |lines: &Vec<Line>| lines.len().saturating_sub(usize::from(area.height));
    screen.last = columns.iter().map(last).max().unwrap_or(0);
    screen.scroll = screen.scroll.min(screen.last);
    for (area, lines) in [left, right].into_iter().zip(&columns) {
        let first = screen.scroll.min(last(lines));
        put_all(buffer, area, &lines[first..]);
    }
}

/// The parts of the node, and how it came up.
fn of_node(facts: &Facts, width: u16, theme: Theme) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    let mut say = |label: &str, text: &str| {
        let label = Span::styled(format!("{label:<12}"), theme.heading());
        lines.extend(wrapped(label, &printable(text), Style::new(), width));
    };
    say(
        "to begin",
        "3 Suites makes and runs an experiment, 4 Live shows it meanwhile, 7 Results compares",
    );
    say("host", &facts.host);
    say("kernel", &format!("Linux {}", facts.kernel));
    for (i, processors) in processors(&facts.topology).lines().enumerate() {
        say(if i == 0 { "processors" } else { "" }, processors);
    }
    for (i, address) in facts.addresses.iter().enumerate() {
        say(if i == 0 { "addresses" } else { "" }, address);
    }
    if let Ok(survey) = &facts.settings {
        say("settings", &counts(survey));
    }
    lines.push(Line::default());
    let plan = facts.settings.as_ref().ok().map(|survey| &survey.plan);
    lines.extend(picture::draw(&facts.topology, plan, width, theme));
    if !facts.topology.devices.is_empty() {
        lines.push(Line::default());
        lines.push(Line::styled("devices", theme.heading()));
        let plan = plan.and_then(|plan| plan.device.as_deref());
        lines.extend(devices(&facts.topology, plan, width, theme));
    }
    if let Some(report) = &facts.boot {
        lines.push(Line::default());
        lines.push(Line::styled("boot report", theme.heading()));
        lines.extend(boot(report, width, theme));
    }
    lines
}

/// A line for each device; the one that the plan is made for stands out.
fn devices(
    topology: &Topology,
    planned: Option<&str>,
    width: u16,
    theme: Theme,
) -> Vec<Line<'static>> {
    let lines = topology.devices.iter().flat_map(|device| {
        let style = match planned == Some(device.name.as_str()) {
            true => theme.good(),
            false => Style::new(),
        };
        let mut said = vec![if device.up { "up" } else { "down" }.to_string()];
        let speed = device
            .speed_mbps
            .map(|mbps| show::bit_rate(mbps as f64 * 1e6));
        said.extend(speed);
        said.extend(device.driver.clone());
        let near = device.distances.iter().filter(|to| to.local);
        said.extend(near.map(|to| format!("near package {}", to.package)));
        if planned == Some(device.name.as_str()) {
            said.push("the plan is made for it".into());
        }
        let label = Span::styled(format!("  {:<12} ", printable(&device.name)), style);
        wrapped(label, &printable(&said.join(", ")), Style::new(), width)
    });
    lines.collect()
}

fn of_settings(facts: &Facts, width: u16, theme: Theme) -> Vec<Line<'static>> {
    match &facts.settings {
        Ok(survey) => settings(survey, facts.tuned, width, theme),
        Err(refused) => wrapped(
            Span::styled("settings    ", theme.heading()),
            &printable(refused),
            theme.bad(),
            width,
        ),
    }
}

/// The report as `jitterlab boot report` prints it; what somebody has to see stands out.
fn boot(report: &BootReport, width: u16, theme: Theme) -> Vec<Line<'static>> {
    let text = report.text();
    // The first line names host and kernel, which are said already.
    let lines = text.lines().skip(1).flat_map(|line| {
        let style = match line.split_whitespace().next() {
            Some("PROBLEM") => theme.bad(),
            Some("missing") => theme.warning(),
            Some("check") => match report.fit {
                Some(true) => theme.good(),
                Some(false) => theme.bad(),
                None => theme.warning(),
            },
            _ => Style::new(),
        };
        let indent = line.len() - line.trim_start().len();
        // Behind the word that begins a line.
        let label = if indent == 2 { 13 } else { indent };
        let (label, rest) = line.split_at_checked(label).unwrap_or((line, ""));
        let label = Span::styled(printable(label), style);
        wrapped(label, &printable(rest), style, width)
    });
    lines.collect()
}

/// The number of settings in each state.
fn counts(survey: &Survey) -> String {
    let counts = text::counts(&survey.settings);
    counts.trim_start_matches("settings: ").into()
}

fn settings(survey: &Survey, tuned: bool, width: u16, theme: Theme) -> Vec<Line<'static>> {
    /// A longer name has its details in the next lines.
    const NAME: usize = 28;
    let says = match tuned {
        true => "as `jitterlab tune verify` says",
        false => "nothing was applied; as `jitterlab tune plan` says",
    };
    let head = Span::styled("settings    ", theme.heading());
    let mut lines = wrapped(head, says, Style::new(), width);
    let room = || Span::raw(" ".repeat(12));
    lines.extend(wrapped(room(), &counts(survey), Style::new(), width));
    let plan = text::plan(&survey.plan);
    let division = printable(plan.lines().next().unwrap_or_default());
    lines.extend(wrapped(room(), &division, Style::new(), width));
    lines.push(Line::default());
    let names = survey.settings.iter().map(|finding| finding.name.len());
    let name = names.max().unwrap_or(0).min(NAME);
    // The findings that are not as they should be stand first.
    let mut findings: Vec<&Finding> = survey.settings.iter().collect();
    findings.sort_by_key(|finding| Reverse(finding.state));
    for finding in findings {
        let style = style(finding.state, theme);
        let label = format!("{:<11} {:<name$}  ", finding.state.name(), finding.name);
        let mut label = Span::styled(label, style);
        let details = text::details(finding);
        if details.is_empty() {
            lines.push(Line::from(label.clone()));
        }
        for detail in details {
            lines.extend(wrapped(label, &printable(&detail), Style::new(), width));
            label = Span::raw(" ".repeat(14 + name));
        }
    }
    lines
}

fn style(state: State, theme: Theme) -> Style {
    match state {
        State::Held => theme.good(),
        State::Reported | State::Unsupported => theme.aside(),
        State::Reboot | State::Change => theme.warning(),
        State::Conflict | State::Drifted => theme.bad(),
    }
}
