//! Lines to bytes: jumps take their short form where the target is near enough.

use super::{MachineError, assemble_inst, is_byte};
use crate::ir::POOL_ALIGNMENT;
use crate::ir::linear::{Jump, Label, Line};
use crate::isa::Op;
use crate::isa::base::Base;
use dynasm::dynasm;
use dynasmrt::x64::X64Relocation;
use dynasmrt::{DynamicLabel, DynasmApi, DynasmLabelApi, VecAssembler};
use std::collections::BTreeMap;

/// What fills the gap between code and pool.
const INT3: u8 = 0xcc;

/// A line whose bytes are known but for a jump's reach.
enum Piece {
    Bytes(Vec<u8>),
    Label(Label),
    Jump {
        jump: Jump,
        to: Label,
        near: bool,
    },
    Call(Label),
    /// The address of the pool, into a register: its displacement is the last thing in the bytes.
    PoolAddress(Vec<u8>),
    Pool(Vec<u8>),
}

impl Piece {
    fn of(line: &Line) -> Result<Piece, MachineError> {
        use super::direct;
        let frame = |bytes: u32| i32::try_from(bytes).map_err(|_| MachineError::TooFar("rsp"));
        let bytes = match line {
            Line::Inst(inst) if inst.op == Op::Base(Base::Pool) => return Ok(Piece::PoolAddress(assemble_inst(inst)?)),
            Line::Inst(inst) => return Ok(Piece::Bytes(assemble_inst(inst)?)),
            Line::Pool(bytes) => return Ok(Piece::Pool(bytes.clone())),
            Line::Label(label) => return Ok(Piece::Label(*label)),
            Line::Jump(jump, to) => return Ok(Piece::Jump { jump: *jump, to: *to, near: true }),
            Line::Call(to) => return Ok(Piece::Call(*to)),
            Line::Push(reg) => direct!(push Rq(reg.number)),
            Line::Pop(reg) => direct!(pop Rq(reg.number)),
            Line::Reserve(bytes) => match frame(*bytes)? {
                bytes if is_byte(bytes) => direct!(sub rsp, BYTE bytes as i8),
                bytes => direct!(sub rsp, DWORD bytes),
            },
            Line::Release(bytes) => match frame(*bytes)? {
                bytes if is_byte(bytes) => direct!(add rsp, BYTE bytes as i8),
                bytes => direct!(add rsp, DWORD bytes),
            },
            Line::Ret => direct!(ret),
        };
        Ok(Piece::Bytes(super::compact::without_empty_rex(bytes)))
    }

    fn len(&self) -> usize {
        match self {
            Piece::Bytes(bytes) | Piece::PoolAddress(bytes) => bytes.len(),
            // Behind all code.
            Piece::Label(_) | Piece::Pool(_) => 0,
            Piece::Jump { near: true, .. } => 2,
            Piece::Jump { jump: Jump::Always, .. } => 5,
            Piece::Jump { jump: Jump::Zero | Jump::NotZero | Jump::RcxZero, .. } => 6,
            Piece::Call(_) => 5,
        }
    }
}

/// The bytes of a whole function, and how many of them are instructions.
pub(super) fn assemble(lines: &[Line]) -> Result<(Vec<u8>, usize), MachineError> {
    let mut pieces = lines.iter().map(Piece::of).collect::<Result<Vec<_>, _>>()?;
    while lengthen(&mut pieces)? {}
    emit(&pieces)
}

/// Gives the long form to every short jump that does not reach. A longer jump can put others out of reach, never into it
/// again, so repeating this ends with the shortest forms that work together.
fn lengthen(pieces: &mut [Piece]) -> Result<bool, MachineError> {
    let mut places = BTreeMap::new();
    let mut ends = Vec::with_capacity(pieces.len());
    let mut at = 0;
    for piece in pieces.iter() {
        at += piece.len();
        ends.push(at);
        if let Piece::Label(label) = piece {
            places.insert(*label, at);
        }
    }
    let mut changed = false;
    for (piece, end) in pieces.iter_mut().zip(ends) {
        if let Piece::Jump { jump, to, near: near @ true } = piece {
            let place = *places.get(to).ok_or(MachineError::Label)?;
            if i8::try_from(place as i64 - end as i64).is_err() {
                match jump {
                    Jump::RcxZero => return Err(MachineError::TooFar(jump.mnemonic())),
                    Jump::Always | Jump::Zero | Jump::NotZero => *near = false,
                }
                changed = true;
            }
        }
    }
    Ok(changed)
}

fn emit(pieces: &[Piece]) -> Result<(Vec<u8>, usize), MachineError> {
    let length: usize = pieces.iter().map(Piece::len).sum();
    let start = length.next_multiple_of(POOL_ALIGNMENT as usize);
    let mut pool: &[u8] = &[];
    let mut code = VecAssembler::<X64Relocation>::new(0);
    let mut labels: BTreeMap<Label, DynamicLabel> = BTreeMap::new();
    for piece in pieces {
        match piece {
            Piece::Bytes(bytes) => code.extend(bytes),
            Piece::Label(label) => {
                let label = *labels.entry(*label).or_insert_with(|| code.new_dynamic_label());
                dynasm!(code ; .arch x64 ; =>label);
            }
            Piece::Jump { jump, to, near } => {
                let to = *labels.entry(*to).or_insert_with(|| code.new_dynamic_label());
                match (jump, near) {
                    (Jump::Always, true) => dynasm!(code ; .arch x64 ; jmp BYTE =>to),
                    (Jump::Always, false) => dynasm!(code ; .arch x64 ; jmp =>to),
                    (Jump::Zero, true) => dynasm!(code ; .arch x64 ; jz BYTE =>to),
                    (Jump::Zero, false) => dynasm!(code ; .arch x64 ; jz =>to),
                    (Jump::NotZero, true) => dynasm!(code ; .arch x64 ; jnz BYTE =>to),
                    (Jump::NotZero, false) => dynasm!(code ; .arch x64 ; jnz =>to),
                    (Jump::RcxZero, _) => dynasm!(code ; .arch x64 ; jrcxz =>to),
                }
            }
            Piece::PoolAddress(bytes) => {
                let end = code.offset().0 + bytes.len();
                let reach = i32::try_from(start - end).map_err(|_| MachineError::TooFar("lea"))?;
                code.extend(&bytes[..bytes.len() - 4]);
                code.extend(&reach.to_le_bytes());
            }
            Piece::Pool(bytes) => pool = bytes,
            Piece::Call(to) => {
                let to = *labels.entry(*to).or_insert_with(|| code.new_dynamic_label());
                dynasm!(code ; .arch x64 ; call =>to);
            }
        }
    }
    let mut code = code.finalize().map_err(|_| MachineError::Label)?;
    assert_eq!(code.len(), length, "the lengths of the pieces");
    if !pool.is_empty() {
        code.resize(start, INT3);
        code.extend(pool);
    }
    Ok((code, length))
}
