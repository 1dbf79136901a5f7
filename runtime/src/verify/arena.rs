//! The arguments of one call in memory: operands and an aliasing in, words for [`Kernel::call`] out.
//!
//! Unsafe is needed to call an entry. Everything that makes the call sound is established here: pointers valid for the
//! count, overlap only as the contract allows, and an entry that is trusted (reference), being checked, or verified.

use kiln_kernels::catalogue::{ArgumentKind, Entry, Kernel, Word};

use super::memory::{Buffer, NoMemory, Placement, Side};
use super::operands::{Aliasing, Operand, Prepare, draw_prepared};
use super::{Kind, Pattern, Verified};
use crate::candidate::count_range;
use crate::random::Random;

/// Most limbs that are timed.
const LARGEST_TIMED: u64 = 1 << 20;

/// Operands in memory, ready to be called with.
pub struct Arena {
    kernel: &'static Kernel,
    n: u64,
    operands: Vec<Operand>,
    owner: Vec<usize>,
    buffers: Vec<Option<Buffer>>,
}

impl Arena {
    /// Lays the operands out. `owner` says whose memory each argument uses.
    pub(super) fn new(
        kernel: &'static Kernel,
        n: u64,
        operands: Vec<Operand>,
        aliasing: &Aliasing,
        placement: Placement,
        random: &mut Random,
    ) -> Result<Arena, NoMemory> {
        let mut buffers = Vec::with_capacity(operands.len());
        for (argument, operand) in operands.iter().enumerate() {
            buffers.push(match operand {
                Operand::Limbs { bits, limbs } if aliasing.0.get(argument) == Some(&argument) => {
                    Some(Buffer::new(*bits, limbs, placement, random.below(8) as usize)?)
                }
                Operand::Limbs { .. } | Operand::Integer { .. } => None,
            });
        }
        Ok(Arena { kernel, n, operands, owner: aliasing.0.clone(), buffers })
    }

    /// Random operands out of place, to time with.
    ///
    /// # Errors
    /// The system has no memory.
    pub fn for_timing(kernel: &'static Kernel, n: u64, seed: u64, prepare: Option<Prepare>) -> Result<Arena, NoMemory> {
        let mut random = Random::new(seed);
        if n > LARGEST_TIMED {
            return Err(NoMemory);
        }
        let operands = draw_prepared(kernel, n, Some(Pattern::Random), prepare, &mut random);
        let apart = Aliasing::all(kernel).swap_remove(0);
        Arena::new(kernel, n, operands, &apart, Placement::Canaries, &mut random)
    }

    /// The kernel whose contract this is for.
    pub fn kernel(&self) -> &'static Kernel {
        self.kernel
    }

    /// The first count.
    pub fn n(&self) -> u64 {
        self.n
    }

    fn words(&mut self) -> Vec<Word> {
        let mut words = Vec::with_capacity(self.operands.len());
        for (argument, operand) in self.operands.iter().enumerate() {
            words.push(match operand {
                Operand::Integer { value, .. } => Word { integer: *value },
                Operand::Limbs { .. } => {
                    let buffer = self.buffers.get_mut(self.owner[argument]).and_then(Option::as_mut);
                    // Every owner owns itself (`Aliasing::all`), so its buffer exists.
                    Word { pointer: buffer.map_or(core::ptr::null_mut(), Buffer::pointer) }
                }
            });
        }
        words
    }

    /// Calls the reference.
    pub(super) fn call_reference(&mut self) -> u64 {
        let kernel = self.kernel;
        let words = self.words();
        // SAFETY: the reference keeps the contract and needs no feature; the words are one for each argument, with
        // pointers to buffers of as many limbs as the counts say (`draw`), shared only as `may_equal` allows.
        unsafe { (kernel.call)(kernel.reference, &words) }
    }

    /// Calls an entry that is being checked, with all state recorded where this architecture can.
    ///
    /// # Safety
    /// The entry must be code for this kernel's contract, and the CPU must have the features it needs.
    pub(super) unsafe fn call_checked(&mut self, entry: Entry, mmx: bool) -> (u64, Vec<Kind>) {
        let kernel = self.kernel;
        let words = self.words();
        #[cfg(target_arch = "x86_64")]
        if words.len() <= super::trampoline::MAX_ARGUMENTS {
            let registers: Vec<u64> = self
                .operands
                .iter()
                .zip(&words)
                .map(|(operand, word)| match operand {
                    // The bits above a narrow integer are the caller's to leave dirty.
                    Operand::Integer { bits, value } if *bits < 64 => value | u64::MAX << bits,
                    Operand::Integer { value, .. } => *value,
                    // SAFETY: `words` has a pointer for each operand of limbs.
                    Operand::Limbs { .. } => unsafe { word.pointer }.expose_provenance() as u64,
                })
                .collect();
            // SAFETY: every argument of a contract is a pointer or an integer of at most 64 bits, at most six here, so
            // System V passes exactly these registers; the pointers are as in `call_reference`; the caller vouches for
            // the entry.
            let (returned, disturbed) = unsafe { super::trampoline::call(entry, &registers, mmx) };
            return (returned, disturbed.into_iter().map(Kind::from).collect());
        }
        let _ = mmx;
        // SAFETY: as above, through the contract's own call.
        (unsafe { (kernel.call)(entry, &words) }, Vec::new())
    }

    /// Calls a verified candidate over and over on the same buffers. Does nothing if it is for another contract or
    /// another `n`, or if the contract does not allow this `n`.
    pub fn repeat(&mut self, verified: &Verified, calls: u32) {
        let kernel = self.kernel;
        let entry = verified.entry();
        if !core::ptr::eq(kernel, verified.kernel())
            || !verified.serves(self.n)
            || !count_range(kernel).contains(&self.n)
        {
            return;
        }
        let words = self.words();
        for _ in 0..calls {
            // SAFETY: a verified candidate keeps this contract and this CPU has its features (a `Verified` is made only
            // after both were checked); the words are as in `call_reference`.
            let returned = unsafe { (kernel.call)(entry, &words) };
            core::hint::black_box(returned);
        }
    }

    /// The limbs of an argument as they are now.
    pub(super) fn limbs(&self, argument: usize) -> Option<Vec<u64>> {
        self.buffers.get(*self.owner.get(argument)?)?.as_ref().map(Buffer::read)
    }

    /// Whether this argument has memory of its own that no written argument shares.
    pub(super) fn is_read_only(&self, argument: usize) -> bool {
        use kiln_kernels::catalogue::Access;
        let owner = self.owner[argument];
        let sharers = self.owner.iter().enumerate().filter(|&(_, &other)| other == owner);
        matches!(self.kernel.arguments[argument].kind, ArgumentKind::Limbs { .. })
            && sharers.into_iter().all(|(sharer, _)| self.kernel.arguments[sharer].access == Access::In)
    }

    /// The first argument with a stray write beside it.
    pub(super) fn stray_write(&self) -> Option<Kind> {
        self.buffers.iter().enumerate().find_map(|(argument, buffer)| {
            let name = self.kernel.arguments[argument].name;
            buffer.as_ref()?.disturbed().map(|side| match side {
                Side::Before => Kind::WroteBefore(name),
                Side::After => Kind::WroteAfter(name),
            })
        })
    }
}
