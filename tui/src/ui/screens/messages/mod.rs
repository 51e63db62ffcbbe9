//! Active messages: the endpoints of this machine, by the pages that they publish.

#[cfg(test)]
mod tests;
mod view;

use std::any::Any;
use std::time::{Duration, Instant};

use jitterlab_amvia::endpoint::{Published, PublishedPeer, published};
use jitterlab_base::show::printable;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::ui::action::{Action, News, Task};
use crate::ui::keys::{Binding, Hint, Key, MOVES, command, hints, moved};
use crate::ui::parts::sweep::Sweep;
use crate::ui::screen::Screen;
use crate::ui::theme::Theme;

/// The endpoints that there are at a moment.
#[derive(Debug, Clone)]
struct Seen {
    at: Instant,
    endpoints: Result<Vec<Published>, String>,
}

/// Looks for endpoints.
#[derive(Debug)]
struct Look;

impl Task for Look {
    fn run(self: Box<Self>, tell: &mut dyn FnMut(News)) {
        let endpoints = published().map_err(|error| printable(&error.to_string()));
        let at = Instant::now();
        tell(Box::new(Seen { at, endpoints }));
    }
}

/// The counts of a second, since it was looked at last.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Rates {
    requests: f64,
    started: f64,
    retransmissions: f64,
    abandoned: f64,
}

impl std::ops::Add for Rates {
    type Output = Rates;

    fn add(self, other: Rates) -> Rates {
        Rates {
            requests: self.requests + other.requests,
            started: self.started + other.started,
            retransmissions: self.retransmissions + other.retransmissions,
            abandoned: self.abandoned + other.abandoned,
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Does {
    Choose,
    Into,
    Out,
}

const ENDPOINTS: &[Binding<Does>] = &[
    Binding {
        keys: MOVES,
        does: "choose endpoint",
        command: Does::Choose,
    },
    Binding {
        keys: &[Key::Right, Key::Enter],
        does: "its peers",
        command: Does::Into,
    },
];

const PEERS: &[Binding<Does>] = &[
    Binding {
        keys: MOVES,
        does: "choose peer",
        command: Does::Choose,
    },
    Binding {
        keys: &[Key::Left, Key::Escape],
        does: "back",
        command: Does::Out,
    },
];

/// An endpoint: its process, and its name.
type Name = (Option<u32>, String);

/// The screen.
#[derive(Default)]
struct Messages {
    looks: bool,
    /// The endpoints that were seen, and those before.
    seen: Option<Seen>,
    before: Option<Seen>,
    /// The endpoint that is chosen; the first one where none was.
    chosen: Option<Name>,
    /// Its peer that is chosen, by its place, while the arrows lead through peers.
    peer: Option<usize>,
    /// The counts of each second between an endpoint and all its peers.
    history: Option<(Name, Sweep<Rates>)>,
}

/// The screen for the endpoints of this user.
pub fn screen() -> Box<dyn Screen> {
    Box::new(Messages::default())
}

fn all(seen: Option<&Seen>) -> &[Published] {
    let endpoints = seen.and_then(|seen| seen.endpoints.as_ref().ok());
    endpoints.map_or(&[], Vec::as_slice)
}

fn is_of(endpoint: &Published, (process, name): &Name) -> bool {
    (endpoint.process, &endpoint.name) == (*process, name)
}

impl Messages {
    fn endpoints(&self) -> &[Published] {
        all(self.seen.as_ref())
    }

    fn at(&self) -> usize {
        let mut endpoints = self.endpoints().iter();
        let chosen = self.chosen.as_ref();
        let at = endpoints.position(|it| chosen.is_some_and(|chosen| is_of(it, chosen)));
        at.unwrap_or(0)
    }

    /// The endpoint that is chosen.
    fn endpoint(&self) -> Option<&Published> {
        self.endpoints().get(self.at())
    }

    /// Adds the second that is over to the history of the endpoint that is chosen.
    fn add_second(&mut self) {
        let Some(endpoint) = self.endpoint() else {
            return;
        };
        let key = (endpoint.process, endpoint.name.clone());
        let sum = self.sum(endpoint);
        let before = self.history.take().filter(|(other, _)| *other == key);
        let (_, seconds) = self
            .history
            .insert(before.unwrap_or((key, Sweep::default())));
        if let Some(sum) = sum {
            seconds.push(sum);
        }
    }

    /// The counts between an endpoint and all its peers in a second.
    fn sum(&self, endpoint: &Published) -> Option<Rates> {
        let peers = endpoint.peers.iter();
        let rates = peers.filter_map(|peer| self.rates(endpoint, peer));
        rates.reduce(|a, b| a + b)
    }

    /// The place of the peer that is chosen.
    fn peer_at(&self) -> Option<usize> {
        let last = self.endpoint()?.peers.len().checked_sub(1)?;
        self.peer.map(|peer| peer.min(last))
    }

    fn bindings(&self) -> &'static [Binding<Does>] {
        match self.peer_at() {
            Some(_) => PEERS,
            None => ENDPOINTS,
        }
    }

    /// The counts between an endpoint and its peer in a second; none where it was not seen before.
    fn rates(&self, endpoint: &Published, peer: &PublishedPeer) -> Option<Rates> {
        let (seen, before) = (self.seen.as_ref()?, self.before.as_ref()?);
        let seconds = seen.at.saturating_duration_since(before.at).as_secs_f64();
        let key = (endpoint.process, endpoint.name.clone());
        let mut earlier = all(Some(before)).iter();
        let earlier = earlier.find(|it| is_of(it, &key))?;
        let mut peers = earlier.peers.iter();
        let earlier = peers.find(|it| it.endpoint == peer.endpoint)?;
        let rate = |now: u64, before: u64| now.saturating_sub(before) as f64 / seconds;
        (seconds > 0.0).then(|| Rates {
            requests: rate(peer.requests, earlier.requests),
            started: rate(peer.started, earlier.started),
            retransmissions: rate(peer.retransmissions, earlier.retransmissions),
            abandoned: rate(peer.abandoned, earlier.abandoned),
        })
    }
}

impl Screen for Messages {
    fn name(&self) -> &'static str {
        "Messages"
    }

    fn hints(&self) -> Vec<Hint> {
        hints(self.bindings())
    }

    fn key(&mut self, key: Key, _measures: bool) -> Option<Action> {
        match (command(self.bindings(), key)?, self.peer_at()) {
            (Does::Into, _) => self.peer = Some(0),
            (Does::Out, _) => self.peer = None,
            (Does::Choose, Some(peer)) => {
                let peers = self.endpoint().map_or(0, |endpoint| endpoint.peers.len());
                self.peer = moved(key, peer, peers);
            }
            (Does::Choose, None) => {
                let at = moved(key, self.at(), self.endpoints().len())?;
                let endpoint = &self.endpoints()[at];
                self.chosen = Some((endpoint.process, endpoint.name.clone()));
                self.peer = None;
            }
        }
        None
    }

    fn take(&mut self, news: &dyn Any) -> Option<Action> {
        if let Some(seen) = news.downcast_ref::<Seen>() {
            self.looks = false;
            self.before = self.seen.replace(seen.clone());
            self.add_second();
        }
        None
    }

    fn period(&self) -> Option<Duration> {
        Some(Duration::from_secs(1))
    }

    fn look(&mut self, due: bool) -> Option<Action> {
        if !due || self.looks {
            return None;
        }
        self.looks = true;
        Some(Action::work(Look))
    }

    fn draw(&mut self, buffer: &mut Buffer, area: Rect, theme: Theme) {
        view::draw(buffer, area, self, theme);
    }
}
