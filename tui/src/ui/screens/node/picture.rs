//! Packages, cores and threads as a picture.

use jitterlab_node_tuning::cpus::Cpu;
use jitterlab_node_tuning::plan::Plan;
use jitterlab_node_tuning::topology::{Core, Topology};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::ui::theme::Theme;

/// A box for each core, with its threads in it, in as many lines as its package takes; a letter says what the plan has a CPU do.
pub fn draw(
    topology: &Topology,
    plan: Option<&Plan>,
    width: u16,
    theme: Theme,
) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    let digits = topology.online.last().unwrap_or(0).to_string().len();
    for package in &topology.packages {
        let head = format!("package {}", package.id);
        lines.push(Line::styled(head, theme.heading()));
        let cores = topology.cores.iter();
        let cores = cores.filter(|core| core.package == package.id);
        let mut line = Line::default();
        for core in cores {
            let threads = of_core(core, plan, digits, theme);
            let more: usize = threads.iter().map(Span::width).sum();
            if line.width() + more > width.into() && line.width() > 0 {
                lines.push(std::mem::take(&mut line));
            }
            line.spans.extend(threads);
        }
        lines.push(line);
    }
    if !topology.offline.is_empty() {
        lines.push(Line::from(format!("offline: CPU {}", topology.offline)));
    }
    if plan.is_some() {
        let legend = [Role::Measures, Role::Housekeeping, Role::Empty].map(|role| {
            let (letter, meaning, style) = role.look(theme);
            Span::styled(format!("{letter} {meaning}  "), style)
        });
        lines.push(Line::from(legend.to_vec()));
    }
    lines
}

fn of_core(core: &Core, plan: Option<&Plan>, digits: usize, theme: Theme) -> Vec<Span<'static>> {
    let mut spans = vec![Span::raw("[")];
    for (n, cpu) in core.cpus.iter().enumerate() {
        let (letter, style) = match plan.and_then(|plan| Role::of(cpu, plan)) {
            Some(role) => {
                let (letter, _, style) = role.look(theme);
                (letter, style)
            }
            None => ("", Style::new()),
        };
        let space = if n == 0 { "" } else { " " };
        spans.push(Span::styled(
            format!("{space}{cpu:>digits$}{letter}"),
            style,
        ));
    }
    spans.push(Span::raw("] "));
    spans
}

/// The purpose of a CPU.
#[derive(Debug, Clone, Copy)]
enum Role {
    Measures,
    Housekeeping,
    Empty,
}

impl Role {
    fn of(cpu: Cpu, plan: &Plan) -> Option<Self> {
        let roles = [
            (&plan.measuring, Role::Measures),
            (&plan.housekeeping, Role::Housekeeping),
            (&plan.idle, Role::Empty),
        ];
        let found = roles.into_iter().find(|(cpus, _)| cpus.contains(cpu))?;
        Some(found.1)
    }

    fn look(self, theme: Theme) -> (&'static str, &'static str, Style) {
        match self {
            Role::Measures => ("m", "measures", theme.good().patch(theme.heading())),
            Role::Housekeeping => ("h", "housekeeping", theme.warning()),
            Role::Empty => ("e", "left empty: its sibling measures", theme.aside()),
        }
    }
}
