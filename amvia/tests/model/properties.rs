//! What must hold in each state, and what must be found in some.

use jitterlab_amvia::protocol::{Entry, Protocol, Slot};
use jitterlab_amvia::transaction::InitiatorState;
use stateright::Property;

use super::world::{INITIATOR, Scenario, TARGET, World, initiator};

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

pub fn is_unknown_and_idle(world: &World, slot: Slot) -> bool {
    let connection = initiator(world);
    connection
        .state(slot)
        .is_some_and(InitiatorState::is_unknown)
        && connection.clone().release(slot).is_ok()
}

fn slots(scenario: &Scenario) -> impl Iterator<Item = Slot> {
    (0..scenario.config.window.into()).map(Slot)
}

/// What is under way waits for something that will come: no transaction stays where it is.
fn ends(scenario: &Scenario, world: &World) -> bool {
    let connection = initiator(world);
    slots(scenario).all(|slot| {
        let is_under_way = connection
            .state(slot)
            .is_some_and(|state| !state.is_final())
            && !is_unknown_and_idle(world, slot);
        !is_under_way || connection.deadline() == Some(0)
    })
}

fn is_conserved(scenario: &Scenario, world: &World) -> bool {
    let connection = initiator(world);
    let used = slots(scenario)
        .filter(|&slot| connection.state(slot).is_some())
        .count() as u64;
    let window = u64::from(scenario.config.window);
    let target = &world.nodes[TARGET];
    let credits = if scenario.config.window == 1 {
        connection.credits() + used == window
    } else {
        connection.credits() + used <= window
    };
    let is_quiet = target.connection.deadline().is_none() && world.net.is_empty() && used == 0;
    let buffers =
        scenario.config.protocol != Protocol::Amudp || !is_quiet || target.pool.used() == 0;
    credits && buffers && world.nodes[INITIATOR].pool.used() == 0
}

fn is_logged(scenario: &Scenario, world: &World) -> bool {
    slots(scenario).all(|slot| {
        let record = initiator(world).record(slot);
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
