//! What was decided for a kernel and why, as plain data: the rows of `kiln tune --json` and `kiln explain`.

use std::fmt;

use serde::Serialize;

/// Why a variant was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Reason {
    /// Significantly faster than every other.
    Fastest,
    /// Not to be told apart: the earlier decision, or the smaller code.
    Tie,
    /// `KILN_FORCE` (or the API) says so.
    Forced,
    /// A stored decision.
    Remembered,
    /// Time ran out: the best so far, else the CPU file's preference, else portable.
    Budget,
    /// Not measured: the CPU file's preference, or portable.
    Static,
    /// There was no other.
    Only,
}

impl Reason {
    /// The word used in JSON and tables.
    pub const fn word(self) -> &'static str {
        match self {
            Reason::Fastest => "fastest",
            Reason::Tie => "tie",
            Reason::Forced => "forced",
            Reason::Remembered => "remembered",
            Reason::Budget => "budget",
            Reason::Static => "static",
            Reason::Only => "only",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// How a candidate came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Chosen.
    Won,
    /// Not to be told apart from the fastest.
    Tied,
    /// Slower in the final.
    Lost,
    /// Clearly slower before the final.
    Dropped,
    /// Not measured; `why` says why not.
    Unmeasured,
    /// Cannot run here or does not serve this size; `why` says why.
    Ineligible,
    /// Failed its check; `why` says how.
    Quarantined,
    /// Denied by the operator.
    Denied,
}

impl State {
    /// The word used in JSON and tables.
    pub const fn word(self) -> &'static str {
        match self {
            State::Won => "won",
            State::Tied => "tied",
            State::Lost => "lost",
            State::Dropped => "dropped",
            State::Unmeasured => "unmeasured",
            State::Ineligible => "ineligible",
            State::Quarantined => "quarantined",
            State::Denied => "denied",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// One candidate in one case.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CandidateReport {
    /// The variant's name.
    pub variant: String,
    /// How it came out.
    pub state: State,
    /// Why, where the state does not say it all.
    pub why: Option<String>,
    /// Clock units for a unit of work (a limb): the lower quartile.
    pub ticks: Option<f64>,
    /// Distance of the quartiles as a fraction of the lower one.
    pub spread: Option<f64>,
    /// Rounds that count.
    pub rounds: u32,
}

/// The decision for one kernel and size class.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CaseReport {
    /// The kernel.
    pub kernel: String,
    /// The size class: `n=8`; empty for a kernel without sizes.
    pub case: String,
    /// The variant that serves `n` equal to the class.
    pub chosen: String,
    /// What `ticks` are for: `limb` or `call`.
    pub per: &'static str,
    /// Where its code comes from: `portable`, `compiled` or `machine`.
    pub origin: &'static str,
    /// Why it was chosen.
    pub reason: Reason,
    /// How much longer the next best takes, as a fraction.
    pub margin: Option<f64>,
    /// Of the paired sign test against the next best.
    pub p_value: Option<f64>,
    /// The variant that serves the other `n` of the class's range, if it is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub near: Option<String>,
    /// What else is worth knowing: an override that could not be followed, a stored decision that was not used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Every candidate.
    pub candidates: Vec<CandidateReport>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_the_json() {
        for reason in [
            Reason::Fastest,
            Reason::Tie,
            Reason::Forced,
            Reason::Remembered,
            Reason::Budget,
            Reason::Static,
            Reason::Only,
        ] {
            assert_eq!(serde_json::to_value(reason).unwrap(), reason.word());
        }
        for state in [
            State::Won,
            State::Tied,
            State::Lost,
            State::Dropped,
            State::Unmeasured,
            State::Ineligible,
            State::Quarantined,
            State::Denied,
        ] {
            assert_eq!(serde_json::to_value(state).unwrap(), state.word());
        }
    }

    #[test]
    fn the_shape_of_a_case() {
        let case = CaseReport {
            kernel: "k".into(),
            case: "n=8".into(),
            chosen: "k/portable".into(),
            per: "limb",
            origin: "portable",
            reason: Reason::Only,
            margin: None,
            p_value: None,
            near: None,
            notes: Vec::new(),
            candidates: vec![CandidateReport {
                variant: "k/portable".into(),
                state: State::Won,
                why: None,
                ticks: Some(1.5),
                spread: Some(0.25),
                rounds: 3,
            }],
        };
        assert_eq!(
            serde_json::to_string(&case).unwrap(),
            r#"{"kernel":"k","case":"n=8","chosen":"k/portable","per":"limb","origin":"portable","reason":"only","margin":null,"p_value":null,"candidates":[{"variant":"k/portable","state":"won","why":null,"ticks":1.5,"spread":0.25,"rounds":3}]}"#
        );
    }
}
