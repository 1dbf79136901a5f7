//! Executes a function on one call: the meaning that every later form is checked against. Takes both stages; knows no kernel
//! and no encoding.
//!
//! Everything that a CPU would let pass is a [`Fault`]: reading a register, a flag or a spill slot that was never written,
//! an access outside an argument's bytes or rights, a callee-saved register that is not restored, MMX without `emms`, 256 bits
//! without `vzeroupper`; and what a CPU would stop at: an operand that is not aligned as its row says.
//! The virtual form is executed from its nodes, the physical form from its [`lines`](super::Func::lines), so that the two
//! check each other. The direction flag and MXCSR are not modelled: no row touches them.

mod aes;
mod aes_steps;
mod avx;
mod avx2;
mod base;
mod bmi2_adx;
mod fault;
mod machine;
mod mmx_sse2;
mod portable;
mod program;
mod sse2;
mod ssse3_sse41;
mod vaes;
mod vector;
mod watch;

pub use fault::{BadArgument, Fault};
pub use program::{Executable, Program};
pub use watch::{Executed, Touched};

use super::Func;

/// One argument of a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Argument {
    /// A pointer to these bytes, which are exactly what the function may touch.
    Pointer {
        /// Contents at entry.
        bytes: Vec<u8>,
    },
    /// The pointer of the earlier argument with this index.
    Same(usize),
    /// A count or a value. Of a 32-bit value only the low half counts: the upper half arrives as garbage.
    Integer(u64),
}

impl Argument {
    /// A pointer to 64-bit limbs.
    pub fn limbs64(limbs: &[u64]) -> Argument {
        Argument::Pointer { bytes: limbs.iter().flat_map(|limb| limb.to_le_bytes()).collect() }
    }

    /// A pointer to 32-bit limbs.
    pub fn limbs32(limbs: &[u32]) -> Argument {
        Argument::Pointer { bytes: limbs.iter().flat_map(|limb| limb.to_le_bytes()).collect() }
    }
}

/// A call of a function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Call {
    /// The arguments, in order.
    pub arguments: Vec<Argument>,
    /// How many instructions may be executed, so that an endless loop is a fault.
    pub budget: u64,
    /// Whether to keep the trace of accesses.
    pub trace: bool,
}

impl Call {
    /// The budget of a call that names none.
    pub const BUDGET: u64 = 1 << 24;

    /// A call with the usual budget and no trace.
    pub fn new(arguments: Vec<Argument>) -> Call {
        Call { arguments, budget: Call::BUDGET, trace: false }
    }

    /// The same call, with the trace of its accesses kept.
    pub fn traced(self) -> Call {
        Call { trace: true, ..self }
    }
}

/// One access to memory. Addresses depend on the signature alone, so equal traces mean a constant address sequence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// The instruction, as [`Site`](super::site::Site) counts.
    pub instruction: usize,
    /// The first byte's address.
    pub address: u64,
}

/// What a call did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// The value returned, if the function returns one.
    pub returned: Option<u64>,
    /// For each argument the bytes behind it after the call; empty for integers, shared by equal pointers.
    pub memories: Vec<Vec<u8>>,
    /// Instructions executed, loop control and stack work included.
    pub executed: u64,
    /// Accesses in order, when the call asked for them.
    pub trace: Option<Vec<Access>>,
}

impl Outcome {
    /// The memory of an argument as 64-bit limbs; bytes that do not fill a limb are left out.
    pub fn limbs64(&self, argument: usize) -> Vec<u64> {
        self.memories[argument].as_chunks().0.iter().map(|limb| u64::from_le_bytes(*limb)).collect()
    }

    /// The memory of an argument as 32-bit limbs; bytes that do not fill a limb are left out.
    pub fn limbs32(&self, argument: usize) -> Vec<u32> {
        self.memories[argument].as_chunks().0.iter().map(|limb| u32::from_le_bytes(*limb)).collect()
    }
}

/// Executes `func` on `call`. For many calls of one function, make its [`Program`] once.
///
/// # Errors
/// The first fault.
pub fn run<S: Executable>(func: &Func<S>, call: &Call) -> Result<Outcome, Fault> {
    Program::new(func)?.run(call)
}
