//! The standing of a node with Slurm, and what a health check may do about it: only what is its own.

use std::process::Command;

use super::nodelist::is_name;
use crate::ended::last_line;

/// Reasons that begin with this are ours.
const OURS: &str = "jitterlab: ";
/// Seconds that a question to Slurm may take.
const PATIENCE: &str = "10";

/// This machine, as a node of Slurm.
#[derive(Debug)]
pub struct SlurmNode {
    name: String,
}

/// The standing of a node: its state with its flags, and who has said why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    states: Vec<String>,
    reason: Option<String>,
}

/// The finding of a health check on a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fit {
    /// It fits.
    Fit,
    /// It does not, for this reason.
    Unfit(String),
    /// It fits as far as it was looked at: whether a reason that begins with this holds is not known.
    Unknown(&'static str),
}

/// The change that a node needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// It is drained for this reason, or gets it in the place of an older one of ours.
    Drain(String),
    /// It is taken back into use.
    Resume,
    /// It is as it is to be.
    Nothing,
    /// Somebody else has decided about it: so it stands.
    Leave(String),
}

impl Standing {
    /// Reads what `scontrol show node` prints.
    ///
    /// ```
    /// use jitterlab_cluster::schedulers::{Act, Fit, Standing};
    /// let shown = "NodeName=n1 CPUAlloc=0\n   State=IDLE+DRAIN Weight=1\n   Reason=bad DIMM [root@2026-01-02T03:04:05]\n";
    /// let standing = Standing::read(shown).unwrap();
    /// assert!(matches!(standing.act(&Fit::Fit), Act::Leave(_)));
    /// ```
    pub fn read(shown: &str) -> Option<Self> {
        let value = |key: &str| shown.lines().find_map(|line| line.trim().strip_prefix(key));
        let states = value("State=")?.split_whitespace().next()?;
        // The brackets at the end say who set it, and when.
        let reason = value("Reason=").map(|text| match text.rsplit_once(" [") {
            Some((reason, _)) => reason.into(),
            None => text.into(),
        });
        Some(Standing {
            // A star says that a node does not answer; others are of nodes that are switched off.
            states: states
                .split('+')
                .map(|state| {
                    state
                        .trim_end_matches(|c: char| !c.is_ascii_alphabetic())
                        .into()
                })
                .collect(),
            reason,
        })
    }

    /// True if no job runs on it.
    pub fn is_idle(&self) -> bool {
        self.states[0] == "IDLE" && !self.states.iter().any(|state| state == "COMPLETING")
    }

    /// The change for a node with this finding.
    pub fn act(&self, fit: &Fit) -> Act {
        let is = |begin: &str| self.states.iter().any(|state| state.starts_with(begin));
        let works = ["IDLE", "ALLOC", "MIXED"].iter().any(|state| is(state));
        let excluded = ["DOWN", "FAIL", "MAINT", "REBOOT", "POWER"]
            .iter()
            .any(|state| is(state));
        let ours = self
            .reason
            .as_deref()
            .and_then(|reason| reason.strip_prefix(OURS));
        let is_theirs = self.reason.is_some() && ours.is_none();
        match (fit, is("DRAIN"), ours) {
            (Fit::Fit | Fit::Unknown(_), false, _) => Act::Nothing,
            _ if is_theirs || excluded || !works => Act::Leave(self.said()),
            // Drained without a reason: by somebody who gave none.
            (_, true, None) => Act::Leave(self.said()),
            (Fit::Unfit(reason), true, Some(ours)) if ours == reason => Act::Nothing,
            (Fit::Unfit(reason), ..) => Act::Drain(reason.clone()),
            (Fit::Unknown(begin), true, Some(ours)) if ours.starts_with(begin) => Act::Nothing,
            (Fit::Fit | Fit::Unknown(_), true, Some(_)) => Act::Resume,
        }
    }

    fn said(&self) -> String {
        let states = self.states.join("+");
        match &self.reason {
            Some(reason) => format!("{states}, reason: {reason}"),
            None => states,
        }
    }
}

impl SlurmNode {
    /// The node that this machine is: as slurmd says, or else called as the machine is.
    pub fn here() -> Self {
        let named = std::env::var(super::NODE);
        let name = named.unwrap_or_else(|_| {
            let hostname = nix::unistd::gethostname().unwrap_or_default();
            let hostname = hostname.to_string_lossy();
            hostname.split('.').next().unwrap_or_default().into()
        });
        SlurmNode { name }
    }

    /// Its standing.
    ///
    /// # Errors
    /// Slurm does not say; for people.
    pub fn standing(&self) -> Result<Standing, String> {
        if !is_name(&self.name) {
            return Err("this machine has no name that a node could have".into());
        }
        let shown = scontrol(&["show", "node", &self.name])?;
        Standing::read(&shown)
            .ok_or_else(|| format!("scontrol does not tell the state of {}", self.name))
    }

    /// Drains it: what runs there may end, and nothing begins.
    ///
    /// # Errors
    /// Slurm refuses; for people.
    pub fn drain(&self, reason: &str) -> Result<(), String> {
        self.update(&["State=DRAIN", &format!("Reason={OURS}{reason}")])
    }

    /// Takes it back into use. A node that is down stays down, as it does not with `RESUME`.
    ///
    /// # Errors
    /// Slurm refuses; for people.
    pub fn resume(&self) -> Result<(), String> {
        self.update(&["State=UNDRAIN"])
    }

    fn update(&self, what: &[&str]) -> Result<(), String> {
        let node = format!("NodeName={}", self.name);
        scontrol(&[&["update", node.as_str()], what].concat()).map(drop)
    }
}

/// Asks Slurm; gives what it prints. A controller that is gone is not waited for.
fn scontrol(arguments: &[&str]) -> Result<String, String> {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=1", PATIENCE, "scontrol"]);
    let output = command.args(arguments).output();
    let output = output.map_err(|error| format!("cannot start scontrol: {error}"))?;
    let [stdout, stderr] =
        [&output.stdout, &output.stderr].map(|said| String::from_utf8_lossy(said));
    match output.status.code() {
        Some(0) => Ok(stdout.into_owned()),
        Some(124 | 137) => Err(format!("scontrol did not answer within {PATIENCE} s")),
        Some(127) => Err("there is no scontrol".into()),
        _ => Err(format!("scontrol failed{}", last_line(&stderr, &stdout))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn standing(states: &str, reason: Option<&str>) -> Standing {
        let reason =
            reason.map(|reason| format!("   Reason={reason} [root@2026-11-26T08:00:00]\n"));
        let shown = format!(
            "NodeName=n1 CPUAlloc=0\n   OS=Linux \n   State={states} ThreadsPerCore=1\n{}   Comment=\n",
            reason.unwrap_or_default()
        );
        Standing::read(&shown).unwrap()
    }

    #[test]
    fn a_node_is_drained_and_resumed_for_our_own_reason() {
        let unfit = || Fit::Unfit("a".into());
        let unknown = || Fit::Unknown("noise: ");
        let drain = || Act::Drain("a".into());
        for (states, reason, fit, act) in [
            ("IDLE", None, Fit::Fit, Act::Nothing),
            ("IDLE", None, unfit(), drain()),
            ("IDLE", None, unknown(), Act::Nothing),
            ("MIXED+PLANNED", None, unfit(), drain()),
            ("IDLE+DRAIN", Some("jitterlab: a"), unfit(), Act::Nothing),
            ("IDLE+DRAIN", Some("jitterlab: b"), unfit(), drain()),
            ("IDLE+DRAIN", Some("jitterlab: a"), Fit::Fit, Act::Resume),
            (
                "ALLOCATED+DRAIN*",
                Some("jitterlab: a [b] c"),
                Fit::Fit,
                Act::Resume,
            ),
            // A thing that was not looked at may still be so.
            ("IDLE+DRAIN", Some("jitterlab: a"), unknown(), Act::Resume),
            (
                "IDLE+DRAIN",
                Some("jitterlab: noise: CPU 3"),
                unknown(),
                Act::Nothing,
            ),
            (
                "IDLE+DRAIN",
                Some("jitterlab: noise: CPU 3"),
                Fit::Fit,
                Act::Resume,
            ),
        ] {
            let found = standing(states, reason).act(&fit);
            assert_eq!(found, act, "{states} {reason:?} {fit:?}");
        }
    }

    #[test]
    fn what_somebody_else_has_decided_stands() {
        for (states, reason) in [
            ("IDLE+DRAIN", Some("bad DIMM")),
            ("IDLE+DRAIN", Some("not jitterlab: a")),
            ("IDLE+DRAIN", None),
            ("DOWN", Some("Not responding")),
            ("DOWN+DRAIN", Some("jitterlab: a")),
            ("IDLE+MAINT", None),
            ("IDLE+FAIL", None),
        ] {
            let act = standing(states, reason).act(&Fit::Unfit("b".into()));
            assert!(matches!(act, Act::Leave(_)), "{states} {reason:?}: {act:?}");
        }
        for (reason, fit) in [
            (Some("bad DIMM"), Fit::Fit),
            (None, Fit::Fit),
            (Some("bad DIMM"), Fit::Unknown("noise: ")),
        ] {
            let act = standing("IDLE+DRAIN", reason).act(&fit);
            assert!(matches!(act, Act::Leave(_)), "{reason:?}: {act:?}");
        }
        assert_eq!(
            standing("IDLE+DRAIN", Some("bad DIMM")).act(&Fit::Fit),
            Act::Leave("IDLE+DRAIN, reason: bad DIMM".into())
        );
    }

    proptest! {
        #[test]
        fn a_reason_of_somebody_else_is_never_touched(
            states in "(IDLE|ALLOCATED|MIXED|DOWN|UNKNOWN)(\\+(DRAIN|MAINT|FAIL|PLANNED|COMPLETING)){0,3}[*~#]?",
            reason in "[ -~]{1,40}",
            fit in prop_oneof![
                Just(Fit::Fit),
                Just(Fit::Unknown("noise: ")),
                "[a-z]{1,9}".prop_map(Fit::Unfit),
            ],
        ) {
            prop_assume!(!reason.trim_start().starts_with("jitterlab: "));
            let act = standing(&states, Some(&reason)).act(&fit);
            prop_assert!(matches!(act, Act::Leave(_) | Act::Nothing), "{:?}", act);
        }
    }
}
