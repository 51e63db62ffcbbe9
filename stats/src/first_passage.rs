//! Semi-Markov processes: how long one takes from a state to its end, and how likely.
//!
//! A semi-Markov process goes from state to state like a Markov chain, and each step takes a time with a distribution of its own:
//! a timer that is fixed is no exponential, and need not be taken for one. Moments of the time to the end depend on the
//! distributions by their moments alone.

use crate::Error;

/// A state of a [`SemiMarkov`] process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State(usize);

impl State {
    /// Its number: states count from 0 in the order in which they are made.
    pub fn index(self) -> usize {
        self.0
    }
}

/// The time that a step takes, by its first two moments.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Time {
    /// Its mean.
    pub mean: f64,
    /// The mean of its square.
    pub square: f64,
}

impl Time {
    /// A time that is always the same.
    pub fn fixed(time: f64) -> Time {
        Time {
            mean: time,
            square: time * time,
        }
    }

    /// An exponential time.
    pub fn exponential(mean: f64) -> Time {
        Time {
            mean,
            square: 2.0 * mean * mean,
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Step {
    to: usize,
    chance: f64,
    time: Time,
}

/// A semi-Markov process with finitely many states. States without steps are its ends.
///
/// ```
/// use jitterlab_stats::first_passage::{SemiMarkov, Time};
///
/// // An answer comes after 1 with the chance 0.9; else the question is asked again after 5.
/// let mut process = SemiMarkov::default();
/// let (asked, done) = (process.state(), process.state());
/// process.step(asked, done, 0.9, Time::fixed(1.0));
/// process.step(asked, asked, 0.1, Time::fixed(5.0));
/// let passage = process.passage(asked, &[done])?;
/// assert!((passage.mean - (1.0 + 5.0 / 9.0)).abs() < 1e-12);
/// # Ok::<(), jitterlab_stats::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct SemiMarkov {
    steps: Vec<Vec<Step>>,
}

/// The passage of a process from a state to an end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Passage {
    /// The chance that it gets there.
    pub chance: f64,
    /// The mean time that it takes, where it gets there; NaN where it never does.
    pub mean: f64,
    /// The variance of that time.
    pub variance: f64,
}

/// The amount by which the chances of a state may miss 1: rounding.
const ROUNDING: f64 = 1e-9;

impl SemiMarkov {
    /// A new state.
    pub fn state(&mut self) -> State {
        self.steps.push(Vec::new());
        State(self.steps.len() - 1)
    }

    /// Adds a step: from `from` the process goes to `to` with this chance, after this time. The chances of a state's steps
    /// have to add up to 1.
    pub fn step(&mut self, from: State, to: State, chance: f64, time: Time) {
        self.steps[from.0].push(Step {
            to: to.0,
            chance,
            time,
        });
    }

    /// The passage from `from` into any of `ends`.
    ///
    /// Let a(i) be the chance to end there from state i; u(i) and w(i) the means of the time and of its square over the passages
    /// that end there; p(i, j) the chance of a step, and t(i, j) its time (Howard, *Dynamic Probabilistic Systems* II, 1971,
    /// section 11.10; for all ends a = 1):
    ///
    /// ```text
    /// a(i) = Σ p(i, j) a(j)
    /// u(i) = Σ p(i, j) (E[t(i, j)] a(j) + u(j))
    /// w(i) = Σ p(i, j) (E[t(i, j)²] a(j) + 2 E[t(i, j)] u(j) + w(j))
    /// ```
    ///
    /// # Errors
    /// The chances of a state do not add up to 1, a time or a chance is negative, or a state that can be reached never ends.
    pub fn passage(&self, from: State, ends: &[State]) -> Result<Passage, Error> {
        let solver = self.solver(from)?;
        let mut chance: Vec<f64> = vec![0.0; self.steps.len()];
        for end in ends {
            chance[end.0] = 1.0;
        }
        let chance = solver.solve(chance, |step, chance| step.chance * chance[step.to]);
        let none = vec![0.0; self.steps.len()];
        let time = solver.solve(none.clone(), |step, _| {
            step.chance * step.time.mean * chance[step.to]
        });
        let square = solver.solve(none, |step, _| {
            step.chance
                * (step.time.square * chance[step.to] + 2.0 * step.time.mean * time[step.to])
        });
        let reaches = chance[from.0];
        let mean = time[from.0] / reaches;
        Ok(Passage {
            chance: reaches,
            mean,
            variance: (square[from.0] / reaches - mean * mean).max(0.0),
        })
    }

    /// The sum that a process that starts in `from` gathers on the mean before it ends. Each visit to a state yields
    /// `reward`. A reward of 1 for one state counts its visits.
    ///
    /// # Errors
    /// As for [`SemiMarkov::passage`].
    pub fn gathered(&self, from: State, reward: impl Fn(State) -> f64) -> Result<f64, Error> {
        let solver = self.solver(from)?;
        let rewards = (0..self.steps.len()).map(|state| reward(State(state)));
        let ends = rewards
            .zip(&self.steps)
            .map(|(reward, steps)| if steps.is_empty() { reward } else { 0.0 })
            .collect();
        let gathered = solver.solve(ends, |step, ends| {
            step.chance * (reward(State(step.from)) + ends[step.to])
        });
        Ok(gathered[from.0])
    }

    /// States that can be reached from `from`, and have steps.
    fn reached(&self, from: State) -> Vec<usize> {
        let mut is_known = vec![false; self.steps.len()];
        let mut found = vec![from.0];
        is_known[from.0] = true;
        let mut looked = 0;
        while looked < found.len() {
            for step in &self.steps[found[looked]] {
                if step.chance > 0.0 && !is_known[step.to] {
                    is_known[step.to] = true;
                    found.push(step.to);
                }
            }
            looked += 1;
        }
        found.retain(|&state| !self.steps[state].is_empty());
        found
    }

    fn solver(&self, from: State) -> Result<Solver<'_>, Error> {
        let reached = self.reached(from);
        for &state in &reached {
            let steps = &self.steps[state];
            let all = |step: &Step| [step.chance, step.time.mean, step.time.square];
            let is_none = |value: &f64| !value.is_finite() || *value < 0.0;
            if let Some(value) = steps.iter().flat_map(all).find(is_none) {
                return Err(Error::Parameter {
                    name: "a chance or a time of a step",
                    value,
                    expected: "0 or more",
                });
            }
            let sum: f64 = steps.iter().map(|step| step.chance).sum();
            if (sum - 1.0).abs() > ROUNDING {
                return Err(Error::Parameter {
                    name: "the sum of a state's chances",
                    value: sum,
                    expected: "1",
                });
            }
        }
        Solver::new(&self.steps, reached)
    }
}

/// The equations x = r + P x over the states that end, ready to be solved for any r.
///
/// Elimination after Grassmann, Taksar and Heyman ("Regenerative Analysis and Steady State Distributions for Markov
/// Chains", Operations Research 33, 1985): 1 - p(k, k) is taken as the sum of the other chances, so that nothing is subtracted,
/// and a chance of 1e-15 loses no digit.
struct Solver<'a> {
    steps: &'a [Vec<Step>],
    /// The states, by their places in the matrix.
    states: Vec<usize>,
    /// Row by row. Left of the diagonal: chances once the states behind have been eliminated; right of it: their factors.
    matrix: Vec<f64>,
    /// The chance of each state to go on to one before it or to an end.
    leaves: Vec<f64>,
}

/// A step as a right side sees it.
struct Seen {
    from: usize,
    to: usize,
    chance: f64,
    time: Time,
}

impl<'a> Solver<'a> {
    fn new(steps: &'a [Vec<Step>], states: Vec<usize>) -> Result<Solver<'a>, Error> {
        let n = states.len();
        let mut place = vec![None; steps.len()];
        for (row, &state) in states.iter().enumerate() {
            place[state] = Some(row);
        }
        let mut matrix = vec![0.0; n * n];
        let mut ends = vec![0.0; n];
        for (row, &state) in states.iter().enumerate() {
            for step in &steps[state] {
                match place[step.to] {
                    Some(column) => matrix[row * n + column] += step.chance,
                    None => ends[row] += step.chance,
                }
            }
        }
        let mut leaves = vec![0.0; n];
        for k in (0..n).rev() {
            let before: f64 = matrix[k * n..k * n + k].iter().sum();
            leaves[k] = before + ends[k];
            if leaves[k] == 0.0 {
                return Err(Error::Parameter {
                    name: "the chance to leave a state for an end",
                    value: 0.0,
                    expected: "more than 0",
                });
            }
            for row in 0..k {
                let factor = matrix[row * n + k] / leaves[k];
                if factor == 0.0 {
                    continue;
                }
                matrix[row * n + k] = factor;
                for column in 0..k {
                    matrix[row * n + column] += factor * matrix[k * n + column];
                }
                ends[row] += factor * ends[k];
            }
        }
        Ok(Solver {
            steps,
            states,
            matrix,
            leaves,
        })
    }

    /// Solves for x, by state. `x` holds its values at the ends; `right` gives what each step adds to r, given that.
    fn solve(&self, mut x: Vec<f64>, right: impl Fn(&Seen, &[f64]) -> f64) -> Vec<f64> {
        let n = self.states.len();
        for &state in &self.states {
            x[state] = 0.0;
        }
        let added = |&from: &usize| {
            let seen = self.steps[from].iter().map(|step| Seen {
                from,
                to: step.to,
                chance: step.chance,
                time: step.time,
            });
            seen.map(|step| right(&step, &x)).sum::<f64>()
        };
        let mut r: Vec<f64> = self.states.iter().map(added).collect();
        for k in (0..n).rev() {
            for row in 0..k {
                r[row] += self.matrix[row * n + k] * r[k];
            }
        }
        for k in 0..n {
            let earlier: f64 = (0..k)
                .map(|column| self.matrix[k * n + column] * x[self.states[column]])
                .sum();
            x[self.states[k]] = (r[k] + earlier) / self.leaves[k];
        }
        x
    }
}
