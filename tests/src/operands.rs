//! The operands of one call of a kernel, by the names of its contract, and what comes of a call. Knows no algorithm and runs
//! nothing.

use crate::forms;
use kiln_codegen::ir::interpret::{Argument, Call};
use kiln_kernels::catalogue::{Access, ArgumentKind, Kernel};
use kiln_runtime::random::Random;
use kiln_runtime::verify::{Known, Operand};
use num_bigint::BigUint;
use std::fmt;

/// The value of one argument. Limbs are 64-bit words whatever the limb, least significant first; bytes are limbs of 8 bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// The limbs behind a pointer.
    Limbs(Vec<u64>),
    /// A count, or a limb by value.
    Integer(u64),
}

/// The operands of one call.
#[derive(Clone)]
pub struct Operands {
    kernel: &'static Kernel,
    /// One for each argument; `None` until it is set.
    values: Vec<Option<Value>>,
    /// For each argument the index of the one whose memory it uses: itself if its own.
    owner: Vec<usize>,
}

/// What a call left: each argument that is written, with its limbs, and the limb returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Results {
    /// Arguments that are written, in the order of the contract. Scratch is not among them.
    pub written: Vec<(&'static str, Vec<u64>)>,
    /// The limb returned, if the contract returns one.
    pub returned: Option<u64>,
}

impl Operands {
    /// Operands for a call of the shipped kernel of that name, with none set.
    pub fn new(kernel: &str) -> Operands {
        Operands::of(forms::kernel(kernel))
    }

    /// Operands for a call of a kernel, with none set.
    pub fn of(kernel: &'static Kernel) -> Operands {
        let arguments = kernel.arguments.len();
        Operands { kernel, values: vec![None; arguments], owner: (0..arguments).collect() }
    }

    /// Those of a case that the runtime's verification would run.
    pub fn known(kernel: &'static Kernel, known: &Known) -> Operands {
        let values = known.operands.iter().map(|operand| match operand {
            Operand::Limbs { limbs, .. } => Some(Value::Limbs(limbs.clone())),
            Operand::Integer { value, .. } => Some(Value::Integer(*value)),
        });
        Operands { kernel, values: values.collect(), owner: known.owner.clone() }
    }

    /// With these limbs behind the pointer of that name.
    pub fn limbs(self, name: &str, limbs: &[u64]) -> Operands {
        self.set(name, Value::Limbs(limbs.to_vec()))
    }

    /// With these bytes behind the pointer of that name.
    pub fn bytes(self, name: &str, bytes: &[u8]) -> Operands {
        self.limbs(name, &limbs(8, bytes))
    }

    /// With this count, or limb by value, of that name.
    pub fn integer(self, name: &str, value: u64) -> Operands {
        self.set(name, Value::Integer(value))
    }

    /// With the pointer of one argument equal to that of another, which is set already.
    pub fn same(mut self, name: &str, other: &str) -> Operands {
        let (index, other) = (self.index(name), self.index(other));
        self.owner[index] = self.owner[other];
        self.values[index] = self.values[other].clone();
        self
    }

    /// With noise in every limb that nobody has set, as many as the contract says: what is only written, and scratch.
    pub fn noise(mut self, random: &mut Random) -> Operands {
        for index in 0..self.values.len() {
            let ArgumentKind::Limbs { bits, .. } = self.kernel.arguments[index].kind else { continue };
            if self.values[index].is_none() {
                let limbs = (0..self.length(index)).map(|_| random.word() & mask(bits));
                self.values[index] = Some(Value::Limbs(limbs.collect()));
            }
        }
        self
    }

    fn set(mut self, name: &str, value: Value) -> Operands {
        let index = self.index(name);
        self.values[index] = Some(value);
        self
    }

    fn index(&self, name: &str) -> usize {
        let index = self.kernel.arguments.iter().position(|argument| argument.name == name);
        index.unwrap_or_else(|| panic!("{} has no argument {name}", self.kernel.name))
    }

    /// The limbs that the contract wants behind the pointer at this index.
    fn length(&self, index: usize) -> usize {
        let ArgumentKind::Limbs { length, .. } = self.kernel.arguments[index].kind else { return 0 };
        let count = |index: usize| match self.values[index] {
            Some(Value::Integer(value)) => value,
            _ => panic!("{}: counts are set first", self.kernel.name),
        };
        usize::try_from(length.limbs(count)).expect("small")
    }

    /// The kernel.
    pub fn kernel(&self) -> &'static Kernel {
        self.kernel
    }

    /// Bits of a limb.
    pub fn bits(&self) -> u32 {
        bits(self.kernel)
    }

    /// The first count; 0 without one.
    pub fn n(&self) -> u64 {
        let first = self.kernel.arguments.iter().position(|arg| matches!(arg.kind, ArgumentKind::Count { .. }));
        first.map_or(0, |index| self.integer_at(index))
    }

    /// For each argument the index of the one whose memory it uses.
    pub fn owners(&self) -> &[usize] {
        &self.owner
    }

    /// The value of each argument.
    ///
    /// # Panics
    /// When one is not set, or has another number of limbs than the contract says.
    pub fn values(&self) -> Vec<&Value> {
        let value = |(index, value): (usize, &'_ Option<Value>)| {
            let name = self.kernel.arguments[index].name;
            let value = value.as_ref().unwrap_or_else(|| panic!("{}: {name} is not set", self.kernel.name));
            if let Value::Limbs(limbs) = value {
                assert_eq!(limbs.len(), self.length(index), "limbs of {name} in {}", self.kernel.name);
            }
        };
        self.values.iter().enumerate().for_each(value);
        self.values.iter().flatten().collect()
    }

    /// The count or limb of that name.
    pub fn integer_of(&self, name: &str) -> u64 {
        self.integer_at(self.index(name))
    }

    fn integer_at(&self, index: usize) -> u64 {
        match self.values[index] {
            Some(Value::Integer(value)) => value,
            _ => panic!("{}: {} is no integer", self.kernel.name, self.kernel.arguments[index].name),
        }
    }

    /// The limbs of that name.
    pub fn limbs_of(&self, name: &str) -> &[u64] {
        match &self.values[self.index(name)] {
            Some(Value::Limbs(limbs)) => limbs,
            _ => panic!("{}: {name} has no limbs", self.kernel.name),
        }
    }

    /// The memory of that name.
    pub fn bytes_of(&self, name: &str) -> Vec<u8> {
        bytes(self.bits(), self.limbs_of(name))
    }

    /// The limbs of that name as a number.
    pub fn number(&self, name: &str) -> BigUint {
        BigUint::from_bytes_le(&self.bytes_of(name))
    }

    /// The call for the interpreter. The first argument of those that share memory has it.
    pub fn call(&self) -> Call {
        let argument = |(index, value): (usize, &Value)| match value {
            Value::Integer(value) => Argument::Integer(*value),
            Value::Limbs(limbs) => {
                let first = self.owner.iter().position(|owner| *owner == self.owner[index]).expect("itself");
                if first == index {
                    Argument::Pointer { bytes: bytes(self.bits(), limbs) }
                } else {
                    Argument::Same(first)
                }
            }
        };
        Call::new(self.values().into_iter().enumerate().map(argument).collect())
    }

    /// What is written and what must stay, from the limbs behind each argument after a call.
    ///
    /// # Panics
    /// When an input that shares no memory with an output has changed.
    pub fn results(&self, after: impl Fn(usize) -> Vec<u64>, returned: Option<u64>) -> Results {
        let mut written = Vec::new();
        for (index, (argument, value)) in self.kernel.arguments.iter().zip(self.values()).enumerate() {
            let Value::Limbs(before) = value else { continue };
            match argument.access {
                Access::Out | Access::InOut => written.push((argument.name, after(index))),
                Access::In => {
                    let shared = self.owner.iter().enumerate().any(|(other, owner)| {
                        *owner == self.owner[index] && self.kernel.arguments[other].access != Access::In
                    });
                    assert!(shared || after(index) == *before, "the input {} changed: {self:?}", argument.name);
                }
                Access::Scratch => {}
            }
        }
        Results { written, returned: returned.filter(|_| self.kernel.returns) }
    }
}

/// The operands in hex, for a failure.
impl fmt::Debug for Operands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kernel.name)?;
        for (index, (argument, value)) in self.kernel.arguments.iter().zip(&self.values).enumerate() {
            write!(f, "\n  {} = ", argument.name)?;
            match value {
                None => f.write_str("unset")?,
                Some(Value::Integer(value)) => write!(f, "{value:#x}")?,
                Some(Value::Limbs(limbs)) => write!(f, "{limbs:x?}")?,
            }
            if self.owner[index] != index {
                write!(f, ", the same as {}", self.kernel.arguments[self.owner[index]].name)?;
            }
        }
        Ok(())
    }
}

/// Bits of a kernel's limbs: 8 for bytes.
pub fn bits(kernel: &Kernel) -> u32 {
    let bits = kernel.arguments.iter().find_map(|argument| match argument.kind {
        ArgumentKind::Limbs { bits, .. } | ArgumentKind::Limb { bits } => Some(bits),
        ArgumentKind::Count { .. } => None,
    });
    bits.expect("a kernel has limbs or bytes")
}

/// A limb of ones.
pub fn mask(bits: u32) -> u64 {
    u64::MAX >> (64 - bits)
}

/// Limbs as they lie in memory.
pub fn bytes(bits: u32, limbs: &[u64]) -> Vec<u8> {
    let size = (bits / 8) as usize;
    limbs.iter().flat_map(|limb| limb.to_le_bytes().into_iter().take(size)).collect()
}

/// Limbs from memory.
pub fn limbs(bits: u32, bytes: &[u8]) -> Vec<u64> {
    let limb = |chunk: &[u8]| chunk.iter().rev().fold(0, |limb, byte| limb << 8 | u64::from(*byte));
    bytes.chunks((bits / 8) as usize).map(limb).collect()
}

/// A number as exactly this many limbs.
///
/// # Panics
/// When it is larger.
pub fn limbs_of(bits: u32, number: &BigUint, count: usize) -> Vec<u64> {
    let mut limbs = limbs(bits, &number.to_bytes_le());
    while limbs.last() == Some(&0) {
        limbs.pop();
    }
    assert!(limbs.len() <= count, "{number:x} has more than {count} limbs");
    limbs.resize(count, 0);
    limbs
}
