//! Which round keys a key works with: those of the CPU's AES instructions, or bitsliced ones. Decided once for each size of the
//! key, on the whole primitive.

use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use cipher::array::Array;
use kiln_kernels::catalogue::Origin;
use kiln_runtime::candidate::Candidate;
use kiln_runtime::detect;
use kiln_runtime::dispatch::Runtime;
use kiln_runtime::explain::State;
use kiln_runtime::settings::{Settings, TuneMode};

use super::Aes;
use super::kernels::{Block, Serves, Size};

/// A form of the round keys, and the kernels that take them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bundle {
    /// Round keys as FIPS 197 has them, and code with AES instructions.
    Instructions,
    /// Bitsliced round keys, and code without AES instructions.
    Sliced,
}

impl fmt::Display for Bundle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Bundle::Instructions => "instructions",
            Bundle::Sliced => "sliced",
        })
    }
}

/// Why a bundle is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Reason {
    /// It was faster.
    Fastest,
    /// No code with AES instructions may be used here and was found right.
    NoInstructions,
    /// The settings say that nothing is measured, or there was no time to do it.
    NotMeasured,
    /// Another thread is still deciding; this one took what is likely.
    Undecided,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Reason::Fastest => "fastest",
            Reason::NoInstructions => "no AES instructions",
            Reason::NotMeasured => "not measured",
            Reason::Undecided => "undecided",
        })
    }
}

/// What new keys are made for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Choice {
    /// The bundle.
    pub bundle: Bundle,
    /// Why.
    pub reason: Reason,
    /// What the two took for the same work, if it was measured.
    pub times: Option<Times>,
}

/// What the bundles took to encrypt the same blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Times {
    /// With [`Bundle::Instructions`].
    pub instructions: Duration,
    /// With [`Bundle::Sliced`].
    pub sliced: Duration,
}

impl Choice {
    fn of(times: Times) -> Choice {
        let bundle = if times.sliced < times.instructions { Bundle::Sliced } else { Bundle::Instructions };
        Choice { bundle, reason: Reason::Fastest, times: Some(times) }
    }

    fn unmeasured(bundle: Bundle, reason: Reason) -> Choice {
        Choice { bundle, reason, times: None }
    }
}

/// The choice for one size of the key.
pub struct Present {
    /// 0 before it is made, else the bundle. It guards nothing: a reader that is late decides again, and finds the choice.
    bundle: AtomicU8,
    choice: Mutex<Option<Choice>>,
}

const INSTRUCTIONS: u8 = 1;
const SLICED: u8 = 2;

impl Present {
    pub const fn new() -> Present {
        Present { bundle: AtomicU8::new(0), choice: Mutex::new(None) }
    }
}

/// What a new key is made for.
#[inline]
pub fn of_new_keys<S: Size>() -> Bundle {
    match S::present().bundle.load(Ordering::Relaxed) {
        INSTRUCTIONS => Bundle::Instructions,
        SLICED => Bundle::Sliced,
        _ => choice::<S>().bundle,
    }
}

/// The choice, made now if nobody has. Who comes while another thread makes it does not wait.
pub fn choice<S: Size>() -> Choice {
    let present = S::present();
    let mut choice = match present.choice.try_lock() {
        Ok(choice) => choice,
        Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        Err(TryLockError::WouldBlock) => return likely::<S>(),
    };
    if let Some(choice) = *choice {
        return choice;
    }
    let made = make::<S>();
    *choice = Some(made);
    present.bundle.store(code(made.bundle), Ordering::Relaxed);
    made
}

/// Makes the choice again: kernels may have become faster since. Keys that exist keep what they have.
pub fn choose_again<S: Size>() {
    let present = S::present();
    let mut choice = present.choice.lock().unwrap_or_else(PoisonError::into_inner);
    let made = make::<S>();
    *choice = Some(made);
    present.bundle.store(code(made.bundle), Ordering::Relaxed);
}

fn code(bundle: Bundle) -> u8 {
    match bundle {
        Bundle::Instructions => INSTRUCTIONS,
        Bundle::Sliced => SLICED,
    }
}

/// What the choice will most likely be.
fn likely<S: Size>() -> Choice {
    let bundle = if has_instructions::<S>() { Bundle::Instructions } else { Bundle::Sliced };
    Choice::unmeasured(bundle, Reason::Undecided)
}

/// Whether some code with AES instructions may be used here, and was not found wrong.
fn has_instructions<S: Size>() -> bool {
    let cpu = detect::native().without(Settings::global().removed_features);
    let kernel = S::ecb_encrypt().kernel();
    let decided = Runtime::global().explain().remove(kernel.name).unwrap_or_default();
    let quarantined = |name: &str| {
        let mut reports = decided.iter().flat_map(|case| &case.candidates);
        reports.any(|report| report.variant == name && report.state == State::Quarantined)
    };
    let denied = |name: &str| Settings::global().deny.iter().any(|glob| glob.matches(name));
    kernel.variants.iter().any(|variant| {
        variant.origin != Origin::Portable
            && !denied(variant.name)
            && !quarantined(variant.name)
            && Candidate::shipped(variant).eligible(kernel, cpu.cpu()).is_ok()
    })
}

/// Blocks that are encrypted in a race.
const BLOCKS: usize = 64;
/// Calls in a window: over a microsecond with the fastest kernels.
const CALLS: usize = 16;
const ROUNDS: usize = 5;

fn make<S: Size>() -> Choice {
    let tune = Settings::global().tune;
    match (S::ecb_encrypt().serves(BLOCKS), tune) {
        (Serves::Portable, TuneMode::Off) => Choice::unmeasured(Bundle::Sliced, Reason::NotMeasured),
        // Perhaps none was found right, but more likely the time was not enough to look at one.
        (Serves::Portable, _) if has_instructions::<S>() => {
            Choice::unmeasured(Bundle::Instructions, Reason::NotMeasured)
        }
        (Serves::Portable, _) => Choice::unmeasured(Bundle::Sliced, Reason::NoInstructions),
        (Serves::Machine, TuneMode::Off | TuneMode::Static) => {
            Choice::unmeasured(Bundle::Instructions, Reason::NotMeasured)
        }
        (Serves::Machine, TuneMode::Race) => Choice::of(race::<S>()),
    }
}

/// The race. Bitsliced kernels are tuned for it only where that could matter: tuning takes time that others need.
fn race<S: Size>() -> Times {
    let key = Array::default();
    let instructions = Aes::<S>::expand(&key, Bundle::Instructions);
    let keys = S::slice_keys().call(instructions.round_keys());
    let times = by_turns(
        |blocks| instructions.ecb_encrypt(blocks.into()),
        |blocks| S::sliced_ecb_encrypt().call_untuned(blocks.into(), &keys),
    );
    if times.sliced > FAR * times.instructions {
        return times;
    }
    by_turns(
        |blocks| instructions.ecb_encrypt(blocks.into()),
        |blocks| S::sliced_ecb_encrypt().call(blocks.into(), &keys),
    )
}

/// Tuning a kernel does not make it so many times faster.
const FAR: u32 = 4;

/// The best of some windows of each.
fn by_turns(instructions: impl Fn(&mut [Block]), sliced: impl Fn(&mut [Block])) -> Times {
    let mut blocks = [Block::default(); BLOCKS];
    let mut window = |encrypt: &dyn Fn(&mut [Block])| {
        let begun = Instant::now();
        for _ in 0..CALLS {
            encrypt(&mut blocks);
        }
        begun.elapsed()
    };
    let mut best = Times { instructions: Duration::MAX, sliced: Duration::MAX };
    for _ in 0..ROUNDS {
        best.instructions = window(&instructions).min(best.instructions);
        best.sliced = window(&sliced).min(best.sliced);
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_faster_one_is_chosen() {
        let of = |instructions, sliced| {
            let [instructions, sliced] = [instructions, sliced].map(Duration::from_nanos);
            Choice::of(Times { instructions, sliced }).bundle
        };
        assert_eq!(of(100, 2000), Bundle::Instructions);
        assert_eq!(of(2000, 100), Bundle::Sliced);
        // A tie: the smaller keys.
        assert_eq!(of(100, 100), Bundle::Instructions);
    }

    #[test]
    fn a_choice_is_made_once_and_can_be_made_again() {
        use crate::aes::size::Bits192;
        let first = choice::<Bits192>();
        assert_ne!(first.reason, Reason::Undecided);
        assert_eq!(choice::<Bits192>(), first);
        assert_eq!(of_new_keys::<Bits192>(), first.bundle);
        choose_again::<Bits192>();
        assert_eq!(of_new_keys::<Bits192>(), choice::<Bits192>().bundle);
    }
}
