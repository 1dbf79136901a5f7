//! A case with its operands and what the reference makes of them: drawn once, then checked with any number of candidates.

use kiln_kernels::catalogue::{Access, ArgumentKind, Entry, Kernel};

use super::arena::Arena;
use super::cases::Case;
use super::memory::Placement;
use super::operands::{self, Aliasing, Operand, Prepare, draw_prepared};
use super::{Failure, Kind};
use crate::random::Random;

/// A case, ready to be run.
#[derive(Debug)]
pub(super) struct Drawn {
    pub case: Case,
    /// One for each argument; equal for those that share memory.
    pub operands: Vec<Operand>,
    /// For each argument that is written, its limbs after the call.
    pub results: Vec<Option<Vec<u64>>>,
    /// What the reference returns.
    pub returned: u64,
    /// Of the addresses.
    skew: u64,
}

/// Draws cases of a kernel.
pub(super) struct Drawer {
    kernel: &'static Kernel,
    prepare: Option<Prepare>,
    apart: Aliasing,
    arena: Arena,
}

impl Drawer {
    pub fn new(kernel: &'static Kernel, prepare: Option<Prepare>) -> Drawer {
        let apart = Aliasing((0..kernel.arguments.len()).collect());
        Drawer { kernel, prepare, apart, arena: Arena::new(kernel) }
    }

    /// Draws the operands and calls the reference, with memory of its own for each argument.
    pub fn draw(&mut self, case: Case) -> Drawn {
        let mut random = Random::new(case.seed);
        let mut operands = draw_prepared(self.kernel, case.n, case.pattern, self.prepare, &mut random);
        case.aliasing.share(self.kernel, &mut operands);
        let skew = random.word();
        let laid = self.arena.lay(case.n, &operands, &self.apart, Placement::Canaries, skew);
        laid.expect("only guard pages can be refused");
        let returned = self.arena.call_reference();
        let arena = &self.arena;
        let results = self.kernel.arguments.iter().enumerate().map(|(index, argument)| match argument.access {
            Access::In | Access::Scratch => None,
            Access::Out | Access::InOut => arena.limbs(index),
        });
        Drawn { results: results.collect(), case, operands, returned, skew }
    }
}

impl Drawn {
    /// Runs the case on a candidate and compares everything.
    ///
    /// # Safety
    /// The entry must be code for this kernel's contract, and the CPU must have the features it needs.
    pub unsafe fn check(&self, kernel: &'static Kernel, entry: Entry, mmx: bool, arena: &mut Arena) -> Vec<Failure> {
        let failure = |kind, expected: String, got: String| Failure {
            seed: self.case.seed,
            n: self.case.n,
            aliasing: self.case.aliasing.words(kernel),
            placement: self.case.placement,
            operands: kernel.arguments.iter().map(|a| a.name).zip(self.operands.iter().map(Operand::hex)).collect(),
            expected,
            got,
            kind,
        };
        // Not where the reference's operands lay, so that nothing rests on one alignment.
        let skew = self.skew.rotate_left(32);
        if arena.lay(self.case.n, &self.operands, &self.case.aliasing, self.case.placement, skew).is_err() {
            return vec![failure(Kind::NoMemory, String::new(), String::new())];
        }
        // SAFETY: the caller vouches for the entry.
        let (mut returned, state) = unsafe { arena.call_checked(entry, mmx) };

        let mut failures: Vec<Failure> =
            state.into_iter().map(|kind| failure(kind, String::new(), String::new())).collect();
        if let Some(kind) = arena.stray_write() {
            failures.push(failure(kind, String::new(), String::new()));
        }
        let mut limb_bits = 64;
        for (index, argument) in kernel.arguments.iter().enumerate().rev() {
            match argument.kind {
                ArgumentKind::Limbs { bits, .. } | ArgumentKind::Limb { bits } => limb_bits = bits,
                ArgumentKind::Count { .. } => {}
            }
            let (want, kind) = match (&self.results[index], &self.operands[index], argument.access) {
                (Some(want), _, Access::Out | Access::InOut) => (want, Kind::WrongResult(argument.name)),
                (_, Operand::Limbs { limbs, .. }, Access::In) if arena.is_read_only(index) => {
                    (limbs, Kind::InputChanged(argument.name))
                }
                (_, Operand::Limbs { .. } | Operand::Integer { .. }, _) => continue,
            };
            if !arena.holds(index, want) {
                let got = arena.limbs(index).unwrap_or_default();
                failures.push(failure(kind, operands::hex(limb_bits, want), operands::hex(limb_bits, &got)));
            }
        }
        if kernel.returns {
            if limb_bits < 64 {
                returned &= (1 << limb_bits) - 1;
            }
            if returned != self.returned {
                let hex = |limb: u64| format!("0x{limb:x}");
                failures.push(failure(Kind::WrongReturn, hex(self.returned), hex(returned)));
            }
        }
        failures
    }
}
