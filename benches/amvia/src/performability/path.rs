//! The way of a frame: what each stage of it costs, and how often it fails there (Kaur, figures 4.8 and 4.9).

use jitterlab_amvia::wire::{Body, HEAD, SEALED_HEAD};
use jitterlab_base::named;

/// A component that a message passes by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Component {
    /// The application: the handler of a request.
    Application,
    /// The library of active messages.
    Library,
    /// The kernel.
    Kernel,
    /// The network interface.
    Nic,
    /// The wire.
    Wire,
    /// The switch.
    Switch,
}

named!(
    Component,
    serde,
    "a component",
    Application => "application",
    Library => "library",
    Kernel => "kernel",
    Nic => "nic",
    Wire => "wire",
    Switch => "switch",
);

/// The costs of a frame at one end, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Costs {
    /// The time in the library.
    pub library: f64,
    /// The time in the kernel.
    pub kernel: f64,
    /// The time in the network interface.
    pub nic: f64,
}

impl Costs {
    /// The time that occupies the processor.
    fn processor(&self) -> f64 {
        self.library + self.kernel
    }
}

/// The costs of a transaction by stage, in nanoseconds. All frames cost the same: they are short.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Stages {
    /// The costs at the end that sends.
    pub send: Costs,
    /// The costs at the end that receives.
    pub receive: Costs,
    /// The time on the wire.
    pub wire: f64,
    /// The time in the switch.
    pub switch: f64,
    /// The time in the application at the target: the handler.
    pub handler: f64,
    /// The time in the application at the initiator, between a reply and the next request.
    pub think: f64,
}

/// The stations of a frame in their order: processor, NIC, wire, switch, NIC, processor.
pub const STATIONS: usize = 6;
/// The last station that a frame passes by where it is lost: loss shows behind the wire.
pub const LOST_AFTER: usize = 2;

impl Stages {
    /// The time that each station serves a frame.
    pub fn stations(&self) -> [f64; STATIONS] {
        [
            self.send.processor(),
            self.send.nic,
            self.wire,
            self.switch,
            self.receive.nic,
            self.receive.processor(),
        ]
    }

    /// The way of a frame alone: o_s + L + o_r.
    pub fn alone(&self) -> f64 {
        self.stations().iter().sum()
    }

    /// When a frame is through that begins `after` the one ahead of it has left the sender's processor, counted from when that one
    /// began. Frames pass each station in their order. `is_lost`: the one ahead ends behind the wire.
    pub fn behind(&self, after: f64, is_lost: bool) -> f64 {
        let stations = self.stations();
        let (mut ahead, mut own) = (0.0, stations[0] + after);
        for (station, time) in stations.iter().enumerate() {
            ahead += time;
            let is_in_the_way = station <= LOST_AFTER || !is_lost;
            own = if is_in_the_way { own.max(ahead) } else { own } + time;
        }
        own
    }
}

/// The rates at which a message fails at each component that it passes by, and at which a bit of it is flipped.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Failures {
    /// The chance that a bit is flipped.
    pub bit_error_rate: f64,
    /// The chance of each [`Component`] to fail for a message that passes. The application fails for a request, and gives no
    /// reply; all others lose the frame.
    pub chances: [f64; Component::ALL.len()],
}

impl Failures {
    /// No failures but flipped bits.
    pub fn of_bits(bit_error_rate: f64) -> Failures {
        Failures {
            bit_error_rate,
            ..Failures::default()
        }
    }

    /// No failures but those of one component.
    pub fn of(component: Component, chance: f64) -> Failures {
        let mut failures = Failures::default();
        failures.chances[component as usize] = chance;
        failures
    }

    /// The chance that the handler fails.
    pub fn application(&self) -> f64 {
        self.chances[Component::Application as usize]
    }

    /// The chance that a frame of `bytes` is lost: a bit of it is flipped, or one of the components fails that it passes by; library,
    /// kernel and NIC at both ends.
    pub fn loss(&self, bytes: usize) -> f64 {
        let passes = [
            (Component::Library, 2.0),
            (Component::Kernel, 2.0),
            (Component::Nic, 2.0),
            (Component::Wire, 1.0),
            (Component::Switch, 1.0),
        ];
        let kept = passes
            .iter()
            .map(|&(component, times)| times * (-self.chances[component as usize]).ln_1p());
        let whole = 8.0 * bytes as f64 * (-self.bit_error_rate).ln_1p();
        -(whole + kept.sum::<f64>()).exp_m1()
    }
}

/// The chances that the frames of a transaction are lost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Losses {
    /// The chance to lose a request.
    pub request: f64,
    /// The chance to lose a reply.
    pub reply: f64,
    /// The chance to lose an acknowledgement.
    pub ack: f64,
    /// The chance to lose another frame, whose head is long: a question, a connect.
    pub question: f64,
}

impl Losses {
    /// The chances where requests and replies carry `payload` bytes, each in one frame.
    pub fn of(failures: &Failures, payload: usize) -> Losses {
        Losses {
            request: failures.loss(SEALED_HEAD + payload),
            reply: failures.loss(SEALED_HEAD + payload),
            ack: failures.loss(SEALED_HEAD),
            question: failures.loss(HEAD),
        }
    }

    /// The chance to lose this frame.
    pub fn loss(&self, body: &Body) -> f64 {
        match body {
            Body::Request(_) => self.request,
            Body::Reply(_) => self.reply,
            Body::Ack { .. } | Body::ReplyAck { .. } => self.ack,
            _ => self.question,
        }
    }
}
