//! What must hold in each state, and what must be found in some.

use std::collections::BTreeSet;

use jitterlab_amvia::protocol::{Action, Connection, Entry, Place, Protocol, Slot};
use jitterlab_amvia::transaction::InitiatorState;
use stateright::Property;

use super::node::{TARGET, number};
use super::world::{HANDLER, Scenario, World, initiator};

pub const ONCE: &str = "each handler runs at most once";
pub const OWN_REPLY: &str = "no reply for another request, no two ends";
pub const TRUE: &str = "what is told is true";
pub const LOGGED: &str = "what is acknowledged is in the target's log";
pub const ENDS: &str = "each run ends in a terminal state";
pub const CONSERVED: &str = "credits and buffers are conserved";

pub fn all(scenario: &Scenario) -> Vec<Property<Scenario>> {
    let mut all = vec![
        Property::always(ONCE, |_, world: &World| {
            world.ledger.iter().all(|fate| fate.runs <= 1)
        }),
        Property::always(OWN_REPLY, |_, world: &World| {
            world.ledger.iter().all(|fate| !fate.is_contradicted)
        }),
        Property::always(TRUE, is_true),
        Property::always(ENDS, ends),
        Property::always(CONSERVED, is_conserved),
    ];
    if scenario.config.protocol == Protocol::Amvia && scenario.target_keeps_log {
        all.push(Property::always(LOGGED, is_logged));
    }
    all.extend(scenario.reaches.iter().map(|&state| reached(state)));
    all.retain(|property| scenario.only.is_none_or(|only| only == property.name));
    all
}

/// Some application is told each of these states: a property for each.
macro_rules! reached {
    ($($state:ident),+ $(,)?) => {
        fn reached(state: InitiatorState) -> Property<Scenario> {
            match state {
                $(InitiatorState::$state => Property::sometimes(stringify!($state), |_, world: &World| {
                    world.ledger.iter().any(|fate| fate.told == Some(InitiatorState::$state))
                }),)+
                other => unreachable!("{other} is no state that an application is told"),
            }
        }
    };
}

reached!(
    Processed,
    ReplyGone,
    AckNotFound,
    RequestRtxExceeded,
    ReplyRtxExceeded,
    HandlerTimeExceeded,
    NotRun,
    Indeterminate,
    Stale,
);

fn is_true(_: &Scenario, world: &World) -> bool {
    world.ledger.iter().all(|fate| match fate.told {
        Some(
            InitiatorState::Processed
            | InitiatorState::HandlerTimeExceeded
            | InitiatorState::ReplyGone,
        ) => fate.runs == 1,
        Some(InitiatorState::NotRun | InitiatorState::AckNotFound) => fate.runs == 0,
        // Only what the initiator has given up is stale, and it gives nothing up before it is told.
        Some(InitiatorState::Stale) => false,
        _ => true,
    })
}

pub fn is_unknown_and_idle(connection: &Connection, slot: Slot) -> bool {
    connection
        .state(slot)
        .is_some_and(InitiatorState::is_unknown)
        && connection.clone().release(slot).is_ok()
}

/// What is under way waits for something that will come: no transaction stays where it is.
fn ends(scenario: &Scenario, world: &World) -> bool {
    scenario.transactions().all(|(node, slot)| {
        let connection = initiator(world, node);
        let is_under_way = connection
            .state(slot)
            .is_some_and(|state| !state.is_final())
            && !is_unknown_and_idle(connection, slot);
        !is_under_way || connection.deadline() == Some(0)
    })
}

fn is_conserved(scenario: &Scenario, world: &World) -> bool {
    let window = u64::from(scenario.config.window);
    let used = |initiator: &Connection| {
        let slots = (0..scenario.config.window.into()).map(Slot);
        slots
            .filter(|&slot| initiator.state(slot).is_some())
            .count() as u64
    };
    // A credit comes back in the order of the requests: one that is released before an earlier one waits for that.
    let credits = scenario.initiators().all(|node| {
        let connection = initiator(world, node);
        match used(connection) {
            0 => connection.credits() == window,
            used => connection.credits() + used <= window,
        }
    });
    let target = &world.nodes[TARGET];
    let mut ends = target.connections.iter();
    let is_quiet = ends.all(|end| end.deadline().is_none())
        && world.net.is_empty()
        && target.waiting.is_empty()
        && target.running.is_empty()
        && (scenario.initiators()).all(|node| used(initiator(world, node)) == 0);
    let buffers =
        scenario.config.protocol != Protocol::Amudp || !is_quiet || target.pool.used() == 0;
    let is_unused = (scenario.initiators()).all(|node| world.nodes[node].pool.used() == 0);
    let finds_room =
        !is_quiet || (scenario.initiators()).all(|node| has_room(scenario, world, node));
    credits && buffers && is_unused && finds_room
}

/// At rest as many requests as the window holds find a slot each. A pool that is not shared keeps the records of what is released until
/// their slots are taken, so that it is no sign of a lost slot that one is in use.
fn has_room(scenario: &Scenario, world: &World, node: usize) -> bool {
    let mut from = initiator(world, node).clone();
    let target = &world.nodes[TARGET];
    let (mut to, mut pool) = (
        target.connections[number(TARGET, node)].clone(),
        target.pool.clone(),
    );
    let knows = |one: &Connection, incarnation: u32| {
        one.hello()
            .is_some_and(|hello| hello.incarnation.0 == incarnation)
    };
    if !knows(&from, target.incarnation) || !knows(&to, world.nodes[node].incarnation) {
        // It has to connect first.
        return true;
    }
    let mut taken = BTreeSet::new();
    for _ in 0..scenario.config.window {
        if from.request(0, HANDLER, scenario.length).is_err() {
            return false;
        }
        while let Some(action) = from.next() {
            if let Action::Send { head, .. } = action
                && let Some(Place::Request { slot, .. }) = to.frame(0, &head, true, &mut pool)
            {
                taken.insert(slot);
            }
        }
    }
    taken.len() == usize::from(scenario.config.window)
}

fn is_logged(scenario: &Scenario, world: &World) -> bool {
    scenario.transactions().all(|(node, slot)| {
        let record = initiator(world, node).record(slot);
        let Some(record) =
            record.filter(|record| record.state == InitiatorState::RequestProcessing)
        else {
            return true;
        };
        let log = world.nodes[TARGET].log.values();
        log.filter_map(|logged| match logged.entry {
            Entry::Received(received) => Some(received.id),
            Entry::Sent(_) => None,
        })
        .any(|id| id == record.id)
    })
}
