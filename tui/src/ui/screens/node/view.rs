//! How it is drawn.

use jitterlab_appliance::report::BootReport;
use jitterlab_node_tuning::tune::{State, Survey};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::{Facts, NodeScreen};
use crate::commands::tune::text;
use crate::output::printable;
use crate::ui::parts::text::{put_all, wrapped};
use crate::ui::theme::Theme;

/// Draws it, scrolled no further than to its end.
pub(super) fn draw(buffer: &mut Buffer, area: Rect, screen: &mut NodeScreen, theme: Theme) {
    let lines = match &screen.facts {
        None => vec![Line::from("the node is being read")],
        Some(Err(error)) => wrapped(Span::raw(""), error, theme.bad(), area.width),
        Some(Ok(facts)) => all(facts, area.width, theme),
    };
    screen.last = lines.len().saturating_sub(usize::from(area.height));
    screen.scroll = screen.scroll.min(screen.last);
    put_all(buffer, area, &lines[screen.scroll..]);
}

fn all(facts: &Facts, width: u16, theme: Theme) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    let mut say = |label: &str, text: &str| {
        let label = Span::styled(format!("{label:<12}"), theme.heading());
        lines.extend(wrapped(label, &printable(text), Style::new(), width));
    };
    say("host", &facts.host);
    say("kernel", &format!("Linux {}", facts.kernel));
    for (i, processors) in facts.processors.iter().enumerate() {
        say(if i == 0 { "processors" } else { "" }, processors);
    }
    for (i, address) in facts.addresses.iter().enumerate() {
        say(if i == 0 { "addresses" } else { "" }, address);
    }
    if let Some(report) = &facts.boot {
        lines.push(Line::default());
        lines.push(Line::styled("boot report", theme.heading()));
        lines.extend(boot(report, width, theme));
    }
    lines.push(Line::default());
    match &facts.settings {
        Ok(survey) => lines.extend(settings(survey, facts.tuned, width, theme)),
        Err(refused) => lines.extend(wrapped(
            Span::styled("settings    ", theme.heading()),
            &printable(refused),
            theme.bad(),
            width,
        )),
    }
    lines
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

fn settings(survey: &Survey, tuned: bool, width: u16, theme: Theme) -> Vec<Line<'static>> {
    /// A longer name has its details in the next lines.
    const NAME: usize = 28;
    let says = match tuned {
        true => "as `jitterlab tune verify` says",
        false => "nothing was applied; as `jitterlab tune plan` says",
    };
    let head = Span::styled("settings    ", theme.heading());
    let mut lines = wrapped(head, says, Style::new(), width);
    let counts = text::counts(&survey.settings);
    let counts = counts.trim_start_matches("settings: ");
    let room = || Span::raw(" ".repeat(12));
    lines.extend(wrapped(room(), counts, Style::new(), width));
    let plan = text::plan(&survey.plan);
    let division = printable(plan.lines().next().unwrap_or_default());
    lines.extend(wrapped(room(), &division, Style::new(), width));
    lines.push(Line::default());
    let names = survey.settings.iter().map(|finding| finding.name.len());
    let name = names.max().unwrap_or(0).min(NAME);
    for finding in &survey.settings {
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
