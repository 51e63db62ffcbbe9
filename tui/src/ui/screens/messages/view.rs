//! The drawing of the screen.

use jitterlab_amvia::endpoint::{Published, PublishedPeer};
use jitterlab_amvia::transaction::{InitiatorState, TargetState};
use jitterlab_base::show::{count, counted, number, printable};
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::{Messages, Rates};
use crate::shown::cut;
use crate::ui::parts::curves::{self, Curve};
use crate::ui::parts::sweep::Sweep;
use crate::ui::parts::text::{first_shown, put, put_all, wrapped};
use crate::ui::theme::Theme;

/// Draws it.
pub(super) fn draw(buffer: &mut Buffer, area: Rect, screen: &Messages, theme: Theme) {
    let says = |text: &str, style| wrapped(Span::raw(""), text, style, area.width);
    let endpoints = match screen.seen.as_ref().map(|seen| &seen.endpoints) {
        None => return put_all(buffer, area, &says("looking", Style::new())),
        Some(Err(error)) => return put_all(buffer, area, &says(error, theme.bad())),
        Some(Ok(endpoints)) if endpoints.is_empty() => {
            let text = "No endpoint of active messages: `jitterlab amvia serve` makes one, and so does every program that uses the library.";
            return put_all(buffer, area, &says(text, Style::new()));
        }
        Some(Ok(endpoints)) => endpoints,
    };
    // The endpoints take a third of the screen at most.
    let rows = (endpoints.len() + 2).min(usize::from(area.height / 3).max(3));
    let [list, peers] = Layout::vertical([
        Constraint::Length(u16::try_from(rows).unwrap_or(u16::MAX)),
        Constraint::Fill(1),
    ])
    .areas(area);
    let at = screen.at();
    put(buffer, list, 0, &Line::styled("endpoints", theme.heading()));
    let rows = rows.saturating_sub(2);
    let first = first_shown(at, rows);
    for (row, (place, endpoint)) in endpoints
        .iter()
        .enumerate()
        .skip(first)
        .take(rows)
        .enumerate()
    {
        let style = if place == at {
            theme.here()
        } else {
            Style::new()
        };
        let line = Line::styled(endpoint_line(endpoint, area.width), style);
        put(buffer, list, row + 1, &line);
    }
    let endpoint = &endpoints[at];
    let head = peers_head(endpoint, screen.sum(endpoint), area.width, theme);
    let room = usize::from(peers.height).saturating_sub(head.len());
    let (below, last) = all_peers(endpoint, screen, area.width, theme);
    // All of the peer that is chosen is seen.
    let first = first_shown(last, room).min(below.len());
    let mut lines = head;
    lines.extend_from_slice(&below[first..]);
    put_all(buffer, peers, &lines);
    /// The rows that curves take, at least.
    const LEAST: u16 = 12;
    let above = u16::try_from(lines.len() + 1).unwrap_or(u16::MAX);
    let own = screen.history.iter();
    let mut own = own.filter(|(of, _)| *of == (endpoint.process, endpoint.name.clone()));
    if let (Some((_, seconds)), true) = (own.next(), peers.height >= above.saturating_add(LEAST)) {
        let below = Rect {
            y: peers.y + above,
            height: peers.height - above,
            ..peers
        };
        draw_curves(buffer, below, seconds, theme);
    }
}

/// The head above the peers: if there are several, what happened with all of them.
fn peers_head(
    endpoint: &Published,
    sum: Option<Rates>,
    width: u16,
    theme: Theme,
) -> Vec<Line<'static>> {
    let mut lines = vec![Line::styled("its peers", theme.heading())];
    match (endpoint.peers.len(), sum) {
        (0, _) => lines.push(Line::styled("none yet", theme.aside())),
        (2.., Some(sum)) => lines.extend(row("all, a second   ", &rates_text(sum), width, theme)),
        _ => {}
    }
    lines
}

/// The lines of all peers, and the last one of the peer that is chosen.
fn all_peers(
    endpoint: &Published,
    screen: &Messages,
    width: u16,
    theme: Theme,
) -> (Vec<Line<'static>>, usize) {
    let chosen = screen.peer_at();
    let (mut lines, mut last) = (Vec::new(), 0);
    for (place, peer) in endpoint.peers.iter().enumerate() {
        let rates = screen.rates(endpoint, peer);
        let is_chosen = Some(place) == chosen;
        lines.extend(peer_lines(endpoint, peer, rates, is_chosen, width, theme));
        if is_chosen {
            last = lines.len() - 1;
        }
    }
    (lines, last)
}

/// What had to be sent again, and what was abandoned; above that, where there is room, all that was sent and taken.
fn draw_curves(buffer: &mut Buffer, area: Rect, seconds: &Sweep<Rates>, theme: Theme) {
    /// So many rows show both.
    const BOTH: u16 = 24;
    let [above, below] = match area.height >= BOTH {
        true => Layout::vertical([Constraint::Fill(1); 2]).areas(area),
        false => [Rect::default(), area],
    };
    let width = curves::columns(area);
    let curve = |name, of: fn(&Rates) -> f64| {
        let columns = seconds.columns(width);
        let points = columns.map(|(column, rates)| (column, of(rates))).collect();
        Curve { name, points }
    };
    let messages = [
        curve("requests a second", |it| it.requests),
        curve("handlers a second", |it| it.started),
    ];
    let troubles = [
        curve("retransmissions a second", |it| it.retransmissions),
        curve("abandoned a second", |it| it.abandoned),
    ];
    for (area, curves) in [(above, messages), (below, troubles)] {
        curves::draw(buffer, area, &curves, curves::number_of, theme);
    }
}

fn endpoint_line(endpoint: &Published, width: u16) -> String {
    let process = endpoint
        .process
        .map_or("?".into(), |process| process.to_string());
    let text = format!(
        "{process:>8}  {}  {}, {} credits each",
        printable(&endpoint.name),
        counted(endpoint.peers.len(), "peer"),
        endpoint.window
    );
    cut(&text, width.into())
}

fn row(label: &'static str, text: &str, width: u16, theme: Theme) -> Vec<Line<'static>> {
    wrapped(
        Span::styled(label, theme.aside()),
        text,
        Style::new(),
        width,
    )
}

fn rates_text(it: Rates) -> String {
    format!(
        "{} requests, {} handlers, {} retransmissions, {} abandoned",
        number(it.requests),
        number(it.started),
        number(it.retransmissions),
        number(it.abandoned)
    )
}

/// The number of transactions in each state.
fn states_text<S: std::fmt::Debug>(states: impl Iterator<Item = (S, u64)>) -> String {
    let some = states.filter(|(_, n)| *n > 0);
    let some: Vec<String> = some.map(|(state, n)| format!("{n} {state:?}")).collect();
    match some.is_empty() {
        true => "none under way".into(),
        false => some.join(", "),
    }
}

fn peer_lines(
    endpoint: &Published,
    peer: &PublishedPeer,
    rates: Option<Rates>,
    is_chosen: bool,
    width: u16,
    theme: Theme,
) -> Vec<Line<'static>> {
    let name = match is_chosen {
        true => theme.here(),
        false => theme.heading(),
    };
    let (standing, style) = match peer.connected {
        Some(true) => ("connected", theme.good()),
        Some(false) => ("connecting", theme.warning()),
        None => ("unreachable", theme.bad()),
    };
    let credits = format!("  {} of {} credits free", peer.credits, endpoint.window);
    let called = match peer.name.as_str() {
        "" => peer.endpoint.to_string(),
        name => printable(name),
    };
    let mut lines = vec![Line::from(vec![
        Span::styled(called, name),
        Span::styled(format!("  {standing}"), style),
        Span::raw(credits),
    ])];
    let row = |label, text: &str| row(label, text, width, theme);
    let states = InitiatorState::ALL.into_iter().zip(peer.states);
    // One that is released is no transaction any more.
    let states = states.filter(|(state, _)| *state != InitiatorState::Released);
    lines.extend(row("  own requests  ", &states_text(states)));
    let targets = TargetState::ALL.into_iter().zip(peer.targets);
    lines.extend(row("  its requests  ", &states_text(targets)));
    if let Some(it) = rates {
        lines.extend(row("  a second      ", &rates_text(it)));
    }
    let text = format!(
        "{} requests, {} handlers, {} retransmissions ({} needless), {} abandoned, {} duplicates, {} without room",
        count(peer.requests),
        count(peer.started),
        count(peer.retransmissions),
        count(peer.needless),
        count(peer.abandoned),
        count(peer.duplicates),
        count(peer.no_room)
    );
    lines.extend(row("  in all        ", &text));
    lines
}
