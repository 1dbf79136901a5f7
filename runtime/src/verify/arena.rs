//! The arguments of one call in memory: operands and an aliasing in, words for [`Kernel::call`] out. One arena serves any
//! number of calls, so that checking allocates once.
//!
//! Unsafe is needed to call an entry. Everything that makes the call sound is established here: pointers valid for the
//! count, overlap only as the contract allows, and an entry that is trusted (reference), being checked, or verified.

use kiln_kernels::catalogue::{Access, ArgumentKind, Entry, Kernel, Unit, Word};

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
    /// Bits and value of each argument that is passed by value.
    integers: Vec<Option<(u32, u64)>>,
    /// For each argument the index of the one whose memory it uses.
    owner: Vec<usize>,
    /// One for each argument that has ever had memory of its own.
    buffers: Vec<Option<Buffer>>,
    words: Vec<Word>,
    #[cfg(target_arch = "x86_64")]
    trampoline: super::trampoline::Trampoline,
}

impl Arena {
    /// An arena for the kernel, with nothing in it: until operands are laid out it may be asked for nothing.
    pub(super) fn new(kernel: &'static Kernel) -> Arena {
        Arena {
            kernel,
            n: 0,
            integers: Vec::new(),
            owner: Vec::new(),
            buffers: (0..kernel.arguments.len()).map(|_| None).collect(),
            words: Vec::new(),
            #[cfg(target_arch = "x86_64")]
            trampoline: super::trampoline::Trampoline::new(),
        }
    }

    /// Lays operands out in place of those that are there. `aliasing` says whose memory each argument uses, `skew` how
    /// far from alignment it begins.
    pub(super) fn lay(
        &mut self,
        n: u64,
        operands: &[Operand],
        aliasing: &Aliasing,
        placement: Placement,
        mut skew: u64,
    ) -> Result<(), NoMemory> {
        self.n = n;
        self.owner.clone_from(&aliasing.0);
        self.integers.clear();
        for (argument, operand) in operands.iter().enumerate() {
            self.integers.push(match operand {
                Operand::Integer { bits, value } => Some((*bits, *value)),
                Operand::Limbs { .. } => None,
            });
            if let Operand::Limbs { bits, limbs } = operand
                && self.owner[argument] == argument
            {
                let buffer = &mut self.buffers[argument];
                // Bytes begin anywhere, limbs and aligned bytes at a multiple of their alignment.
                let skewed = (skew & 15) as usize * self.kernel.arguments[argument].align;
                skew >>= 4;
                let again = |buffer: &mut Buffer| buffer.relay(*bits, limbs, skewed);
                if placement != Placement::Canaries || !buffer.as_mut().is_some_and(again) {
                    *buffer = Some(Buffer::new(*bits, limbs, placement, skewed)?);
                }
            }
        }
        Ok(())
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
        let mut arena = Arena::new(kernel);
        // Programs align what they care about: bytes are timed at a multiple of 64.
        let skew = if kernel.unit == Unit::Block { 0 } else { random.word() };
        arena.lay(n, &operands, &apart, Placement::Canaries, skew)?;
        Ok(arena)
    }

    /// The kernel whose contract this is for.
    pub fn kernel(&self) -> &'static Kernel {
        self.kernel
    }

    /// The first count.
    pub fn n(&self) -> u64 {
        self.n
    }

    /// One word for each argument, with pointers that hold until the buffers are next looked at.
    fn point(&mut self) {
        self.words.clear();
        for (integer, &owner) in self.integers.iter().zip(&self.owner) {
            self.words.push(match integer {
                Some((_, value)) => Word { integer: *value },
                None => {
                    let buffer = self.buffers.get_mut(owner).and_then(Option::as_mut);
                    // Every owner owns itself (`Aliasing::all`), so its buffer exists.
                    Word { pointer: buffer.map_or(core::ptr::null_mut(), Buffer::pointer) }
                }
            });
        }
    }

    /// Calls the reference.
    pub(super) fn call_reference(&mut self) -> u64 {
        self.point();
        // SAFETY: the reference keeps the contract and needs no feature; the words are one for each argument, with
        // pointers to buffers of as many limbs as the counts say (`draw`), shared only as `may_equal` allows.
        unsafe { (self.kernel.call)(self.kernel.reference, &self.words) }
    }

    /// Calls an entry that is being checked, with all state recorded where this architecture can.
    ///
    /// # Safety
    /// The entry must be code for this kernel's contract, and the CPU must have the features it needs.
    pub(super) unsafe fn call_checked(&mut self, entry: Entry, mmx: bool) -> (u64, Vec<Kind>) {
        self.point();
        #[cfg(target_arch = "x86_64")]
        if self.words.len() <= super::trampoline::MAX_ARGUMENTS {
            let mut registers = [super::trampoline::UNUSED; super::trampoline::MAX_ARGUMENTS];
            for ((register, word), integer) in registers.iter_mut().zip(&self.words).zip(&self.integers) {
                *register = match *integer {
                    // The bits above a narrow integer are the caller's to leave dirty.
                    Some((bits, value)) if bits < 64 => value | u64::MAX << bits,
                    Some((_, value)) => value,
                    // SAFETY: `point` writes a pointer for each operand of limbs.
                    None => unsafe { word.pointer }.expose_provenance() as u64,
                };
            }
            // SAFETY: every argument of a contract is a pointer or an integer of at most 64 bits, at most six here, so
            // System V passes exactly these registers; the pointers are as in `call_reference`; the caller vouches for
            // the entry.
            let (returned, disturbed) = unsafe { self.trampoline.call(entry, registers, mmx) };
            return (returned, disturbed.into_iter().map(Kind::from).collect());
        }
        let _ = mmx;
        // SAFETY: as above, through the contract's own call.
        (unsafe { (self.kernel.call)(entry, &self.words) }, Vec::new())
    }

    /// Whether a candidate is for this contract and this `n`, and the contract allows the `n`.
    fn may_call(&self, verified: &Verified) -> bool {
        core::ptr::eq(self.kernel, verified.kernel())
            && verified.serves(self.n)
            && count_range(self.kernel).contains(&self.n)
    }

    /// Calls a verified candidate over and over on the same buffers. Does nothing if it is for another contract or
    /// another `n`, or if the contract does not allow this `n`.
    pub fn repeat(&mut self, verified: &Verified, calls: u32) {
        let kernel = self.kernel;
        let entry = verified.entry();
        if !self.may_call(verified) {
            return;
        }
        self.point();
        // SAFETY: a verified candidate keeps this contract and this CPU has its features (a `Verified` is made only after both
        // were checked); the words are as in `call_reference`.
        unsafe { (kernel.repeat)(entry, &self.words, calls) };
    }

    /// As [`Arena::repeat`], with calls that wait for one another: each has its pointers and limbs from what the one before
    /// left last, so that it cannot begin before that is there.
    pub fn chain(&mut self, verified: &Verified, calls: u32) {
        let kernel = self.kernel;
        let entry = verified.entry();
        if !self.may_call(verified) {
            return;
        }
        self.point();
        let written = |access| matches!(access, Access::Out | Access::InOut);
        let begins: Vec<Word> = self.words.clone();
        let last = kernel.arguments.iter().enumerate().find_map(|(index, argument)| {
            let bytes = self.buffer(index).filter(|_| written(argument.access))?.length();
            // SAFETY: `point` writes a pointer for each operand of limbs, and only those have a buffer.
            Some(unsafe { begins.get(index)?.pointer }.wrapping_add(bytes.checked_sub(1)?))
        });
        let pointers: Vec<bool> = self.integers.iter().map(Option::is_none).collect();
        // Nobody but the optimiser is to believe that a result could change an address.
        let mask = core::hint::black_box(0_u64);
        for _ in 0..calls {
            // SAFETY: as in `repeat`: the words are what `point` made, since what is added to them below is 0.
            let returned = unsafe { (kernel.call)(entry, &self.words) };
            // SAFETY: the last byte of a buffer of this arena, which is initialised and lives on; nobody else is using it.
            let byte = last.map_or(0, |last| unsafe { last.read_volatile() });
            let nothing = (returned ^ u64::from(byte)) & mask;
            for ((word, begin), pointer) in self.words.iter_mut().zip(&begins).zip(&pointers) {
                if *pointer {
                    // SAFETY: `point` writes a pointer for each operand of limbs.
                    let begin = unsafe { begin.pointer };
                    *word = Word { pointer: begin.wrapping_byte_add(nothing as usize) };
                }
            }
        }
    }

    fn buffer(&self, argument: usize) -> Option<&Buffer> {
        self.buffers.get(*self.owner.get(argument)?)?.as_ref()
    }

    /// The limbs of an argument as they are now.
    pub(super) fn limbs(&self, argument: usize) -> Option<Vec<u64>> {
        if self.integers.get(argument)?.is_some() { None } else { self.buffer(argument).map(Buffer::read) }
    }

    /// Whether an argument's limbs are these.
    pub(super) fn holds(&self, argument: usize, limbs: &[u64]) -> bool {
        self.buffer(argument).is_some_and(|buffer| buffer.holds(limbs))
    }

    /// Whether this argument has memory of its own that no written argument shares.
    pub(super) fn is_read_only(&self, argument: usize) -> bool {
        let owner = self.owner[argument];
        let sharers = self.owner.iter().enumerate().filter(|&(_, &other)| other == owner);
        matches!(self.kernel.arguments[argument].kind, ArgumentKind::Limbs { .. })
            && sharers.into_iter().all(|(sharer, _)| self.kernel.arguments[sharer].access == Access::In)
    }

    /// The first argument with a stray write beside it.
    pub(super) fn stray_write(&self) -> Option<Kind> {
        // A buffer that this case does not use stays from an earlier one and is watched too.
        self.buffers.iter().enumerate().find_map(|(argument, buffer)| {
            let name = self.kernel.arguments[argument].name;
            buffer.as_ref()?.disturbed().map(|side| match side {
                Side::Before => Kind::WroteBefore(name),
                Side::After => Kind::WroteAfter(name),
            })
        })
    }
}
