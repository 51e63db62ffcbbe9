//! The model of a transaction: a semi-Markov process for each protocol, and its mean times (`docs/amvia-performability.md` derives it).

use jitterlab_amvia::protocol::{Config, Protocol};
use jitterlab_stats::Error;
use jitterlab_stats::first_passage::{Passage, SemiMarkov, State, Time};

use super::path::{Failures, Losses, Stages};

/// One transaction at a time, over a network that loses frames.
#[derive(Debug, Clone)]
pub struct Model {
    /// Protocol, retransmissions and timeouts. The timeouts have to be fixed: a round trip, and four times its variation, are below
    /// the floor.
    pub config: Config,
    /// The costs.
    pub stages: Stages,
    /// The failures.
    pub failures: Failures,
    /// Bytes of a request, and of a reply.
    pub payload: usize,
}

/// The model's figures of a transaction. Times are in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Forecast {
    /// The time from the request to its end, whatever that is.
    pub response: Passage,
    /// The chance that it ends without a reply.
    pub abandoned: f64,
    /// The chance that it waits for a timer: that something of it fails the first time.
    pub waits: f64,
    /// Its part in timers: the mean where no frame costs anything.
    pub waiting: f64,
    /// Frames that it takes.
    pub frames: Frames,
}

/// The mean numbers of frames of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Frames {
    /// Sent by the initiator: requests, questions, acknowledgements of the reply.
    pub out: f64,
    /// The part of those that arrives.
    pub out_arrived: f64,
    /// Sent by the target: acknowledgements and replies.
    pub back: f64,
    /// The part of those that arrives.
    pub back_arrived: f64,
    /// Acknowledgements among all of them: nobody waits for one.
    pub beside: f64,
    /// The part of those that arrives.
    pub beside_arrived: f64,
}

/// A process under construction: states, and the frames that each visit sends.
struct Process {
    chain: SemiMarkov,
    frames: Vec<Frames>,
    done: State,
    given_up: State,
}

impl Process {
    fn new() -> Process {
        let mut chain = SemiMarkov::default();
        let (done, given_up) = (chain.state(), chain.state());
        Process {
            chain,
            frames: vec![Frames::default(); 2],
            done,
            given_up,
        }
    }

    /// A state in which the initiator sends `out` frames, each lost with the chance `lost`, and the target `back` for each that arrives.
    fn state(&mut self, out: f64, lost: f64, back: f64, lost_back: f64) -> State {
        let arrived = out * (1.0 - lost);
        self.frames.push(Frames {
            out,
            out_arrived: arrived,
            back: arrived * back,
            back_arrived: arrived * back * (1.0 - lost_back),
            ..Frames::default()
        });
        self.chain.state()
    }

    /// Does the same where the target sends an acknowledgement and its reply for what arrives.
    fn acknowledging(&mut self, losses: &Losses) -> State {
        let arrived = 1.0 - losses.request;
        self.frames.push(Frames {
            out: 1.0,
            out_arrived: arrived,
            back: 2.0 * arrived,
            back_arrived: arrived * (2.0 - losses.ack - losses.reply),
            beside: arrived,
            beside_arrived: arrived * (1.0 - losses.ack),
        });
        self.chain.state()
    }

    fn step(&mut self, from: State, to: State, chance: f64, time: f64) {
        self.chain.step(from, to, chance, Time::fixed(time));
    }

    fn gathered(&self, from: State, of: impl Fn(&Frames) -> f64) -> Result<f64, Error> {
        // States are numbered as they were made.
        self.chain
            .gathered(from, |state| of(&self.frames[state.index()]))
    }
}

impl Model {
    /// The end of a transaction.
    ///
    /// # Errors
    /// A chance of loss is 1, so that nothing ends; or the handler fails now and then, and nothing limits its time.
    pub fn forecast(&self) -> Result<Forecast, Error> {
        let fails = self.failures.application();
        if fails > 0.0
            && self.config.protocol == Protocol::Amvia
            && self.config.handler_time.is_none()
        {
            return Err(Error::Parameter {
                name: "the chance that a handler fails whose time has no limit",
                value: fails,
                expected: "0",
            });
        }
        let (process, first) = self.process(&self.stages);
        let ends = [process.done, process.given_up];
        let (timers, begin) = self.process(&Stages::default());
        let count = |of: fn(&Frames) -> f64| process.gathered(first, of);
        let Losses { request, reply, .. } = self.losses();
        Ok(Forecast {
            response: process.chain.passage(first, &ends)?,
            abandoned: process.chain.passage(first, &[process.given_up])?.chance,
            waits: 1.0 - (1.0 - request) * (1.0 - fails) * (1.0 - reply),
            waiting: timers
                .chain
                .passage(begin, &[timers.done, timers.given_up])?
                .mean,
            frames: Frames {
                out: count(|frames| frames.out)?,
                out_arrived: count(|frames| frames.out_arrived)?,
                back: count(|frames| frames.back)?,
                back_arrived: count(|frames| frames.back_arrived)?,
                beside: count(|frames| frames.beside)?,
                beside_arrived: count(|frames| frames.beside_arrived)?,
            },
        })
    }

    /// The time that a request is under way if nobody answers it, in nanoseconds: then the target counts as gone.
    pub fn known_after(&self) -> f64 {
        self.attempts().1
    }

    /// The wait after `tries` retransmissions, where the round trip is `known`, and where it is not.
    fn wait(&self, tries: u16, known: bool) -> f64 {
        let Config {
            min_rto,
            max_rto,
            initial_rto,
            ..
        } = self.config;
        let first = if known {
            min_rto
        } else {
            initial_rto.max(min_rto)
        };
        let factor = 2f64.powi(i32::from(tries));
        (first as f64 * factor).min(max_rto as f64)
    }

    /// When each request goes out, and when the last is given up.
    fn attempts(&self) -> (Vec<f64>, f64) {
        let last = self.config.request_retransmissions;
        let mut times = vec![0.0];
        for tries in 0..last {
            times.push(times[usize::from(tries)] + self.wait(tries, true));
        }
        let mut end = times[usize::from(last)] + self.wait(last, true);
        if self.config.protocol != Protocol::Amvia {
            end = end.max(self.config.reply_wait as f64);
        }
        (times, end)
    }

    /// When the initiator knows that the handler has failed, from a request on that arrives: the target tells it when the handler
    /// is over its time, if that is limited; else the initiator gives up after `rest`. That the word of it is lost is left out.
    fn told(&self, alone: f64, rest: f64) -> f64 {
        match self.config.handler_time {
            Some(limit) if self.config.protocol == Protocol::Amvia => 2.0 * alone + limit as f64,
            Some(limit) => rest.min(2.0 * alone + limit as f64),
            None => rest,
        }
    }

    fn process(&self, stages: &Stages) -> (Process, State) {
        match self.config.protocol {
            // The acknowledgement rides on the reply.
            Protocol::Amvia if self.config.ack_delay > 0 => self.two_way(stages),
            Protocol::Amvia => self.three_way(stages),
            Protocol::TwoWay => self.two_way(stages),
            Protocol::Amudp => self.acknowledged(stages),
        }
    }

    fn losses(&self) -> Losses {
        Losses::of(&self.failures, self.payload)
    }

    /// Request, acknowledgement, reply.
    fn three_way(&self, stages: &Stages) -> (Process, State) {
        let Losses {
            request,
            reply,
            ack,
            question,
        } = self.losses();
        let fails = self.failures.application();
        let (times, end) = self.attempts();
        let alone = stages.alone();
        let mut process = Process::new();
        let (done, given_up) = (process.done, process.given_up);
        let gaps: Vec<f64> = gaps(&times, end);
        // The target has not got the request; it has run it; it has acknowledged it; the handler has failed there.
        let losses = self.losses();
        let missing: Vec<State> = gaps
            .iter()
            .map(|_| process.acknowledging(&losses))
            .collect();
        let run: Vec<State> = gaps
            .iter()
            .map(|_| process.state(1.0, request, 1.0, reply))
            .collect();
        let acked = process.state(0.0, 0.0, 0.0, 0.0);
        let asked: Vec<State> = (1..=self.config.reply_retransmissions)
            .map(|_| process.state(1.0, question, 1.0, reply))
            .collect();
        let follows = |states: &[State], index: usize| *states.get(index).unwrap_or(&given_up);
        for (tries, &gap) in gaps.iter().enumerate() {
            let arrives = 1.0 - request;
            let works = arrives * (1.0 - fails);
            let state = missing[tries];
            process.step(state, follows(&missing, tries + 1), request, gap);
            for (lost, chance) in [(false, 1.0 - ack), (true, ack)] {
                let time = alone + stages.behind(stages.handler, lost);
                process.step(state, done, works * chance * (1.0 - reply), time);
            }
            process.step(state, acked, works * reply * (1.0 - ack), 2.0 * alone);
            process.step(state, follows(&run, tries + 1), works * reply * ack, gap);
            let told = self.told(alone, end - times[tries]);
            process.step(state, given_up, arrives * fails, told);
            let there = arrives * (1.0 - reply);
            let state = run[tries];
            process.step(state, done, there, 2.0 * alone);
            process.step(state, follows(&run, tries + 1), 1.0 - there, gap);
        }
        process.step(acked, follows(&asked, 0), 1.0, self.wait(0, true));
        for (index, &state) in asked.iter().enumerate() {
            let there = (1.0 - question) * (1.0 - reply);
            process.step(state, done, there, 2.0 * alone);
            let wait = self.wait(index as u16 + 1, true);
            process.step(state, follows(&asked, index + 1), 1.0 - there, wait);
        }
        (process, missing[0])
    }

    /// Request and reply; handlers are shorter than an acknowledgement waits for the reply.
    fn two_way(&self, stages: &Stages) -> (Process, State) {
        let Losses { request, reply, .. } = self.losses();
        let fails = self.failures.application();
        let (times, end) = self.attempts();
        let gaps = gaps(&times, end);
        let alone = stages.alone();
        let mut process = Process::new();
        let (done, given_up) = (process.done, process.given_up);
        let make = |process: &mut Process| -> Vec<State> {
            gaps.iter()
                .map(|_| process.state(1.0, request, 1.0, reply))
                .collect()
        };
        let missing = make(&mut process);
        let run = make(&mut process);
        let follows = |states: &[State], index: usize| *states.get(index).unwrap_or(&given_up);
        for (tries, &gap) in gaps.iter().enumerate() {
            let arrives = 1.0 - request;
            let there = arrives * (1.0 - reply);
            let (state, next) = (missing[tries], tries + 1);
            let works = 1.0 - fails;
            process.step(state, done, works * there, 2.0 * alone + stages.handler);
            process.step(state, follows(&missing, next), request, gap);
            process.step(state, follows(&run, next), works * arrives * reply, gap);
            let told = self.told(alone, end - times[tries]);
            process.step(state, given_up, fails * arrives, told);
            process.step(run[tries], done, there, 2.0 * alone);
            process.step(run[tries], follows(&run, next), 1.0 - there, gap);
        }
        (process, missing[0])
    }

    /// Request, reply, acknowledgement of the reply: the target sends its reply again by timers of its own.
    fn acknowledged(&self, stages: &Stages) -> (Process, State) {
        let Losses {
            request,
            reply,
            ack,
            ..
        } = self.losses();
        let fails = self.failures.application();
        let (times, end) = self.attempts();
        let gaps = gaps(&times, end);
        let alone = stages.alone();
        // The first request goes out behind the acknowledgement of the reply before it.
        let begin = (1.0 - ack) * stages.behind(0.0, false) + ack * stages.behind(0.0, true);
        let mut process = Process::new();
        let (done, given_up) = (process.done, process.given_up);
        let missing: Vec<State> = gaps
            .iter()
            .map(|_| process.state(1.0, request, 0.0, 0.0))
            .collect();
        for (tries, &gap) in gaps.iter().enumerate() {
            let lost = *missing.get(tries + 1).unwrap_or(&given_up);
            process.step(missing[tries], lost, request, gap);
            let arrives = 1.0 - request;
            let told = self.told(alone, end - times[tries]);
            process.step(missing[tries], given_up, arrives * fails, told);
            let way = if tries == 0 { begin } else { alone };
            let replied = times[tries] + way + stages.handler;
            // The moments when a reply may come, the chance of each, and the frames for it.
            let mut chances = vec![(replied + alone, 1.0 - reply, false)];
            for &time in &times[tries + 1..] {
                chances.push((time + 2.0 * alone, (1.0 - request) * (1.0 - reply), true));
            }
            let mut resent = replied;
            for resends in 0..self.config.reply_retransmissions {
                resent += self.wait(resends, false);
                chances.push((resent + alone, 1.0 - reply, false));
            }
            chances.retain(|&(time, ..)| time < end);
            chances.sort_by(|a, b| a.0.total_cmp(&b.0));
            let states: Vec<State> = chances
                .iter()
                .map(|&(.., is_asked)| process.answer(is_asked, request, reply, ack))
                .collect();
            let mut from = missing[tries];
            let mut chance = arrives * (1.0 - fails);
            let mut before = times[tries];
            for (&state, &(time, there, _)) in states.iter().zip(&chances) {
                // It is in `state` from the moment at which the answer may come.
                process.step(from, state, chance, time - before);
                process.step(state, done, there, 0.0);
                (from, chance, before) = (state, 1.0 - there, time);
            }
            process.step(from, given_up, chance, end - before);
        }
        (process, missing[0])
    }
}

impl Process {
    /// A state in which an answer of the target may have come, with its frames and the acknowledgement of it.
    fn answer(&mut self, is_asked: bool, request: f64, reply: f64, ack: f64) -> State {
        let asked = f64::from(is_asked);
        let sent = 1.0 - asked * request;
        let arrived = sent * (1.0 - reply);
        self.frames.push(Frames {
            out: asked + arrived,
            out_arrived: asked * (1.0 - request) + arrived * (1.0 - ack),
            back: sent,
            back_arrived: arrived,
            beside: arrived,
            beside_arrived: arrived * (1.0 - ack),
        });
        self.chain.state()
    }
}

/// The waits between the times of attempts, and until the end.
fn gaps(times: &[f64], end: f64) -> Vec<f64> {
    let next = times[1..].iter().copied().chain([end]);
    times
        .iter()
        .zip(next)
        .map(|(time, next)| next - time)
        .collect()
}
