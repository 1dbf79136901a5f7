//! What the meaning of an instruction sees of the machine.

use super::super::fault::Fault;
use super::super::program::Slot;
use super::{Flag, Lanes, Machine, little_endian};
use crate::ir::site::Site;
use crate::ir::{Inst, Operand};
use crate::isa::VectorEncoding;
use crate::isa::row::{OperandSpec, Width};

/// One instruction's view of the machine: its operands by their number in the row, and the flags.
pub(in super::super) struct Context<'m, 'p> {
    pub(super) machine: &'m mut Machine<'p>,
    pub(super) inst: &'p Inst<Slot>,
    pub(super) specs: &'static [OperandSpec],
    pub(super) forgets: bool,
    pub(super) at: Site,
}

impl Context<'_, '_> {
    /// Bits of an operand.
    fn bits(&self, operand: usize) -> u32 {
        self.specs[operand].kind.width().unwrap_or(Width::W64).bytes(self.limb_bits()) * 8
    }

    /// Bits of a limb of the function.
    pub fn limb_bits(&self) -> u32 {
        self.machine.program.limb_bits
    }

    /// The instruction, for faults.
    pub fn at(&self) -> Site {
        self.at
    }

    /// The value of an operand, cut to its width; of a vector register, the low 64 bits.
    pub fn get(&mut self, operand: usize) -> Result<u64, Fault> {
        let bits = self.bits(operand).min(64);
        let value = match &self.inst.operands[operand] {
            Operand::Reg(slot) if self.forgets => self.machine.values[slot.0 as usize],
            Operand::Reg(slot) => self.machine.read(self.at, *slot)?,
            Operand::Imm(value) => *value as u64,
            Operand::Mem(mem) => little_endian(self.machine.load(self.at, mem, bits / 8)?),
        };
        Ok(value & u64::MAX >> (64 - bits))
    }

    /// The value of a vector register or of vector memory.
    pub fn lanes(&mut self, operand: usize) -> Result<Lanes, Fault> {
        let bytes = self.bits(operand) / 8;
        let mut lanes = [0; 4];
        match &self.inst.operands[operand] {
            Operand::Reg(slot) => {
                if !self.forgets {
                    self.machine.read(self.at, *slot)?;
                }
                lanes[0] = self.machine.values[slot.0 as usize];
                lanes[1..].copy_from_slice(&self.machine.upper[slot.0 as usize]);
            }
            Operand::Mem(mem) => {
                let (words, _) = self.machine.load(self.at, mem, bytes)?.as_chunks();
                lanes.iter_mut().zip(words).for_each(|(lane, word)| *lane = u64::from_le_bytes(*word));
            }
            Operand::Imm(_) => unreachable!("a constant for a vector in {:?}", self.inst.op.row()),
        }
        lanes[bytes as usize / 8..].fill(0);
        Ok(lanes)
    }

    /// Writes a vector register or vector memory.
    pub fn set_lanes(&mut self, operand: usize, lanes: Lanes) -> Result<(), Fault> {
        let words = self.bits(operand) as usize / 64;
        match &self.inst.operands[operand] {
            Operand::Reg(slot) => {
                self.machine.write(*slot, lanes[0]);
                self.set_upper(*slot, words, lanes);
                Ok(())
            }
            Operand::Mem(mem) => {
                let bytes = lanes.map(u64::to_le_bytes);
                self.machine.store(self.at, mem, bytes[..words].as_flattened())
            }
            Operand::Imm(_) => unreachable!("a written constant in {:?}", self.inst.op.row()),
        }
    }

    /// Writes the lanes of a register past the first, of which `words` are the operand's.
    fn set_upper(&mut self, slot: Slot, words: usize, lanes: Lanes) {
        let legacy = self.inst.op.vector_encoding() == Some(VectorEncoding::Legacy);
        let upper = &mut self.machine.upper[slot.0 as usize];
        for (lane, held) in (1..).zip(upper) {
            if lane < words {
                *held = lanes[lane];
            } else if !legacy {
                *held = 0;
            }
        }
    }

    /// Clears bits 128 to 255 of every vector register.
    pub fn clear_upper_halves(&mut self) {
        self.machine.upper.iter_mut().for_each(|upper| upper[1..].fill(0));
    }

    /// Writes an operand, cut to its width and zero-extended.
    pub fn set(&mut self, operand: usize, value: u64) -> Result<(), Fault> {
        let bits = self.bits(operand);
        let wide = bits > 64;
        let value = value & u64::MAX >> (64 - bits.min(64));
        match &self.inst.operands[operand] {
            Operand::Reg(slot) => {
                self.machine.write(*slot, value);
                if wide {
                    self.set_upper(*slot, 2, [value, 0, 0, 0]);
                }
                Ok(())
            }
            Operand::Mem(mem) => self.machine.store(self.at, mem, &value.to_le_bytes()[..bits as usize / 8]),
            Operand::Imm(_) => unreachable!("a written constant in {:?}", self.inst.op.row()),
        }
    }

    /// The address that an operand names.
    pub fn address(&self, operand: usize) -> Result<u64, Fault> {
        match &self.inst.operands[operand] {
            Operand::Mem(mem) => self.machine.address(self.at, mem),
            Operand::Reg(_) | Operand::Imm(_) => unreachable!("no address in {:?}", self.inst.op.row()),
        }
    }

    /// A flag's value.
    pub fn flag(&self, flag: Flag) -> Result<bool, Fault> {
        debug_assert!(self.inst.op.row().flags.reads.contains(flag.set()), "{:?}", self.inst.op.row());
        self.machine.flags[flag as usize].ok_or(Fault::UndefinedFlag { at: self.at, flag: flag.set() })
    }

    /// Writes a flag; `None` leaves it undefined.
    pub fn set_flag(&mut self, flag: Flag, value: Option<bool>) {
        debug_assert!(self.inst.op.row().flags.writes.contains(flag.set()), "{:?}", self.inst.op.row());
        self.machine.flags[flag as usize] = value;
    }

    /// Writes CF, OF and ZF.
    pub fn set_flags(&mut self, carry: Option<bool>, overflow: Option<bool>, zero: Option<bool>) {
        self.set_flag(Flag::Carry, carry);
        self.set_flag(Flag::Overflow, overflow);
        self.set_flag(Flag::Zero, zero);
    }
}
