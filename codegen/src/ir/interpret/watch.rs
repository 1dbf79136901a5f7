//! What whoever watches an execution sees of an instruction.

use super::program::Slot;
use crate::ir::{Inst, Mem};
use crate::isa::row::{Row, Width};

/// Memory that an instruction touches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Touched {
    /// The first byte.
    pub address: u64,
    /// How many bytes.
    pub bytes: u32,
    /// Whether they are read.
    pub reads: bool,
    /// Whether they are written.
    pub writes: bool,
}

/// An instruction that is about to be executed. Registers are numbers: the same register, the same number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Executed {
    /// Its row; `None` for jumps, calls, returns and stack work, of which nothing else is told.
    pub row: Option<&'static Row>,
    /// Registers whose values the result depends on, those of addresses included.
    pub reads: Vec<u32>,
    /// Those among them that only make an address.
    pub address: Vec<u32>,
    /// Registers written.
    pub writes: Vec<u32>,
    /// Memory touched.
    pub memory: Option<Touched>,
}

impl Executed {
    pub(super) const CONTROL: Executed =
        Executed { row: None, reads: Vec::new(), address: Vec::new(), writes: Vec::new(), memory: None };

    pub(super) fn new<E>(
        inst: &Inst<Slot>,
        forgets: bool,
        address_of: impl FnOnce(&Mem<Slot>) -> Result<u64, E>,
    ) -> Result<Executed, E> {
        let numbers = |slots: Vec<Slot>| slots.into_iter().map(|slot| slot.0).collect::<Vec<u32>>();
        let memory = match inst.memory() {
            None => None,
            Some((mem, reads, writes)) => {
                let bytes = inst.access().unwrap_or(Width::W64).bytes(64);
                Some((mem, Touched { address: address_of(mem)?, bytes, reads, writes }))
            }
        };
        let address = memory.map_or(Vec::new(), |(mem, _)| {
            let index = mem.index.map(|(index, _)| index);
            std::iter::once(mem.base).chain(index).collect()
        });
        Ok(Executed {
            row: Some(inst.op.row()),
            reads: if forgets { Vec::new() } else { numbers(inst.reads()) },
            address: numbers(address),
            writes: numbers(inst.writes()),
            memory: memory.map(|(_, touched)| touched),
        })
    }
}
