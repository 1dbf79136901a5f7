//! What the races share: the CPU and its clock, Kiln's variants that pass here, and who does not take part.

use std::fmt;
use std::time::{Duration, Instant};

use kiln_kernels::catalogue::Kernel;
use kiln_runtime::candidate::Candidate;
use kiln_runtime::detect::{Native, native};
use kiln_runtime::timer::{Clock, SystemClock};
use kiln_runtime::verify::{Checker, Options, Rejected, Verified};
use serde::Serialize;

/// Where it is raced.
pub struct Ring {
    /// The CPU.
    pub cpu: Native,
    /// Its clock.
    pub clock: SystemClock,
    /// Billions of the clock's units in a second.
    pub gigahertz: f64,
}

impl Ring {
    /// This machine. Takes 50 milliseconds.
    pub fn new() -> Ring {
        let cpu = native();
        let clock = SystemClock::new(&cpu);
        let gigahertz = gigahertz(&clock);
        Ring { cpu, clock, gigahertz }
    }

    /// The CPU's name.
    pub fn cpu_name(&self) -> String {
        if self.cpu.brand.is_empty() { self.cpu.vendor.clone() } else { self.cpu.brand.clone() }
    }

    /// A kernel's shipped variants that pass here.
    pub fn shipped(&self, kernel: &'static Kernel, left_out: &mut Vec<Absent>) -> Vec<Verified> {
        let candidates: Vec<Candidate> = kernel.variants.iter().map(Candidate::shipped).collect();
        let mut checker = Checker::new(kernel, Options::default());
        let mut verified = Vec::new();
        for candidate in &candidates {
            match checker.verify(candidate, candidates.iter(), &self.cpu) {
                Ok(passed) => verified.push(passed),
                Err(why) => left_out.push(Absent::rejected(candidate.short_name().to_owned(), &why)),
            }
        }
        verified
    }
}

/// Clock units in a nanosecond, over 50 milliseconds.
fn gigahertz(clock: &SystemClock) -> f64 {
    let (start, ticks) = (Instant::now(), clock.now());
    while start.elapsed() < Duration::from_millis(50) {
        std::hint::spin_loop();
    }
    let ticks = clock.now().saturating_sub(ticks);
    ticks as f64 / start.elapsed().as_nanos() as f64
}

/// Who does not take part.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Absent {
    /// Whose.
    pub name: String,
    /// Why.
    pub why: String,
    /// Whether it failed its check, rather than not being for this CPU or length.
    pub failed: bool,
}

impl Absent {
    /// A candidate that kiln-runtime rejected.
    pub fn rejected(name: String, why: &Rejected) -> Absent {
        Absent { name, why: why.to_string(), failed: matches!(why, Rejected::Failed(_)) }
    }
}

impl fmt::Display for Absent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not here: {}: {}", self.name, self.why)
    }
}

/// A library, with its version.
#[derive(Clone, Debug, Serialize)]
pub struct LibraryReport {
    /// Its name.
    pub library: &'static str,
    /// Its version, as itself says.
    pub version: String,
    /// For which CPU it was built, and from which files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub built: Option<String>,
}

impl fmt::Display for LibraryReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.library, self.version)?;
        self.built.as_ref().map_or(Ok(()), |built| write!(f, "\n  {built}"))
    }
}

/// What a race came to.
pub struct Outcome {
    /// To be printed.
    pub text: String,
    /// Whether somebody failed the check.
    pub failed: bool,
}

/// The document in JSON.
pub fn json(document: &impl Serialize) -> String {
    serde_json::to_string_pretty(document).expect("the document has string keys and finite numbers") + "\n"
}

/// Distance of the quartiles from which the machine is called busy.
pub const RESTLESS: f64 = 0.10;
