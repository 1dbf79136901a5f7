//! A laid-out function to Intel-syntax text, one line each. LLVM's assembler (in `naked_asm!`) and GNU as
//! (`.intel_syntax noprefix`) read it alike. Knows no kernel and no encoding.

use crate::ir::linear::{Label, Line};
use crate::ir::{Func, Inst, Mem, Operand, POOL_ALIGNMENT, Physical};
use crate::isa::Op;
use crate::isa::base::Base;
use crate::isa::row::{Kind, PReg, Width};
use std::collections::BTreeMap;

/// What is printed besides instructions and labels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Style {
    /// Call-frame information, so that a debugger, a profiler or a panic can walk through the function.
    pub cfi: bool,
    /// Each instruction's note, as a comment behind it.
    pub notes: bool,
}

impl Style {
    /// For an assembler.
    pub const ASSEMBLER: Style = Style { cfi: true, notes: false };
    /// For a reader.
    pub const READER: Style = Style { cfi: false, notes: true };
}

/// The function's text. Labels are local numbers, unique in the function.
pub fn lines(func: &Func<Physical>, style: Style) -> Vec<String> {
    let laid_out = func.lines();
    let places: BTreeMap<Label, usize> = laid_out
        .iter()
        .enumerate()
        .filter_map(|(at, line)| match line {
            Line::Label(label) => Some((*label, at)),
            _ => None,
        })
        .collect();
    let pool = local_number(Label(u32::try_from(places.len()).expect("fewer than 2^32 labels")));
    let target = |from: usize, label: Label| {
        let direction = if places[&label] < from { 'b' } else { 'f' };
        format!("{}{direction}", local_number(label))
    };
    let mut out = Vec::new();
    let cfi = |out: &mut Vec<String>, directives: &[String]| {
        if style.cfi {
            out.extend_from_slice(directives);
        }
    };
    cfi(&mut out, &[".cfi_startproc".into()]);
    for (at, line) in laid_out.iter().enumerate() {
        match line {
            Line::Inst(inst) => {
                let text = match inst.op {
                    Op::Base(Base::Pool) => pool_address(inst, &format!("{pool}f")),
                    _ => instruction(inst),
                };
                out.push(match inst.note {
                    Some(note) if style.notes => format!("{text} # {note}"),
                    _ => text,
                });
            }
            Line::Label(label) => out.push(format!("{}:", local_number(*label))),
            Line::Jump(jump, label) => out.push(format!("{} {}", jump.mnemonic(), target(at, *label))),
            Line::Call(label) => out.push(format!("call {}", target(at, *label))),
            Line::Push(reg) => {
                let name = reg.name(Width::W64);
                out.push(format!("push {name}"));
                cfi(&mut out, &[".cfi_adjust_cfa_offset 8".into(), format!(".cfi_rel_offset {name}, 0")]);
            }
            Line::Pop(reg) => {
                let name = reg.name(Width::W64);
                out.push(format!("pop {name}"));
                cfi(&mut out, &[".cfi_adjust_cfa_offset -8".into(), format!(".cfi_restore {name}")]);
            }
            Line::Reserve(bytes) => {
                out.push(format!("sub rsp, {bytes}"));
                cfi(&mut out, &[format!(".cfi_adjust_cfa_offset {bytes}")]);
            }
            Line::Release(bytes) => {
                out.push(format!("add rsp, {bytes}"));
                cfi(&mut out, &[format!(".cfi_adjust_cfa_offset -{bytes}")]);
            }
            // The epilogue has undone the prologue, so what follows (a subroutine) has the rules of a function's entry: its
            // return address is at rsp, and the registers that the body saved are found from the body's own frame.
            Line::Ret => out.push("ret".into()),
            // What fills the gap traps, as in the machine backend.
            Line::Pool(bytes) => {
                out.push(format!(".p2align {}, 0xcc", POOL_ALIGNMENT.trailing_zeros()));
                out.push(format!("{pool}:"));
                for bytes in bytes.chunks(16) {
                    let bytes: Vec<String> = bytes.iter().map(|byte| format!("{byte:#04x}")).collect();
                    out.push(format!(".byte {}", bytes.join(", ")));
                }
            }
        }
    }
    cfi(&mut out, &[".cfi_endproc".into()]);
    out
}

/// The address of the pool by its label.
fn pool_address(inst: &Inst<PReg>, label: &str) -> String {
    format!("{} {}, [rip + {label}]", inst.op.row().mnemonic, operand(&inst.operands[0], Kind::Address))
}

/// The text of one instruction, without its note. The pool's address has a name here, and a label in [`lines`].
pub fn instruction(inst: &Inst<PReg>) -> String {
    if inst.op == Op::Base(Base::Pool) {
        return pool_address(inst, "pool");
    }
    let row = inst.op.row();
    let operands: Vec<_> = row.printed().map(|(index, spec)| operand(&inst.operands[index], spec.kind)).collect();
    if operands.is_empty() { row.mnemonic.into() } else { format!("{} {}", row.mnemonic, operands.join(", ")) }
}

fn operand(operand: &Operand<PReg>, kind: Kind) -> String {
    match operand {
        Operand::Reg(reg) => reg.name(width(kind)),
        Operand::Mem(mem) => format!("{}{}", size(kind), address(mem)),
        Operand::Imm(value) => constant(*value),
    }
}

fn width(kind: Kind) -> Width {
    kind.width().unwrap_or(Width::W64)
}

fn size(kind: Kind) -> &'static str {
    match kind.memory() {
        None => "",
        Some(Width::W8) => "byte ptr ",
        Some(Width::W32) => "dword ptr ",
        Some(Width::W64) => "qword ptr ",
        Some(Width::W128) => "xmmword ptr ",
        Some(Width::W256) => "ymmword ptr ",
        Some(Width::Limb) => "limb ptr ",
    }
}

/// The scale is always written: without it, assemblers guess which of two registers is the base.
fn address(mem: &Mem<PReg>) -> String {
    let base = mem.base.name(Width::W64);
    let index = mem.index.map(|(reg, scale)| format!(" + {}*{scale}", reg.name(Width::W64))).unwrap_or_default();
    let disp = match mem.disp {
        0 => String::new(),
        disp if disp < 0 => format!(" - {}", disp.unsigned_abs()),
        disp => format!(" + {disp}"),
    };
    format!("[{base}{index}{disp}]")
}

/// Decimal where a reader reads it as a number, else the bits: assemblers differ on decimal numbers of 64 bits.
fn constant(value: i64) -> String {
    if i32::try_from(value).is_ok() { value.to_string() } else { format!("0x{value:x}") }
}

/// Numbers of digits 0 and 1 alone are left out: LLVM reads `10b` as a binary constant.
fn local_number(label: Label) -> u64 {
    let usable = |number: &u64| number.to_string().chars().any(|digit| !matches!(digit, '0' | '1'));
    (2..).filter(usable).nth(label.0 as usize).expect("numbers do not end")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_binary_digits_are_left_out() {
        let numbers: Vec<_> = (0..100).map(|label| local_number(Label(label))).collect();
        assert_eq!(numbers[..10], [2, 3, 4, 5, 6, 7, 8, 9, 12, 13]);
        assert!([100, 101].iter().all(|number| !numbers.contains(number)));
        assert_eq!(numbers.last(), Some(&105));
    }

    #[test]
    fn constants_wider_than_32_bits_are_bits() {
        assert_eq!(constant(123), "123");
        assert_eq!(constant(-1), "-1");
        assert_eq!(constant(i64::MIN), "0x8000000000000000");
    }
}
