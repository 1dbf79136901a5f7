//! The text of a function, for people: `kiln show --as ir`. One instruction a line, bodies indented under their control.
//! Takes both stages; the text is the same for the same function, always.

use super::site::Name;
use super::{Control, Func, Inst, Mem, Node, Operand, Parameter, ParameterKind, Space, Stage};
use crate::isa::Op;
use crate::isa::base::Base;
use crate::isa::row::{FlagSet, Kind, Width};
use std::fmt::{self, Write};

/// What the text shows besides the instructions.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Show {
    /// The flags that each instruction reads and writes, as a comment.
    pub flags: bool,
}

/// The text of `func`.
///
/// A register is `v12:gpr` (`v12:gpr32` in a 32-bit operand), pinned `v3:rdx`, or `rdx` once allocated; memory is
/// `qword a[v1:gpr + 8]` with the parameter's name, `qword frame[rsp + 8]`, or `[v3:rcx - 1]` for an address alone. Operands
/// that the assembler leaves out are in the text, since the IR names them.
pub fn text<S: Stage>(func: &Func<S>, show: Show) -> String
where
    S::Reg: Into<Name>,
{
    let mut out = String::new();
    Printer { func, show, out: &mut out }.function().expect("a String takes any text");
    out
}

struct Printer<'f, 'o, S: Stage> {
    func: &'f Func<S>,
    show: Show,
    out: &'o mut String,
}

impl<S: Stage> Printer<'_, '_, S>
where
    S::Reg: Into<Name>,
{
    fn function(&mut self) -> fmt::Result {
        let func = self.func;
        write!(self.out, "func {}, limbs of {} bits", func.name, func.limb_bits)?;
        if let Some(exact) = func.exact {
            write!(self.out, ", n = {exact}")?;
        }
        writeln!(self.out)?;
        for parameter in &func.parameters {
            self.parameter(parameter)?;
        }
        writeln!(self.out, "body:")?;
        self.nodes(&func.body, 1)?;
        if let Some(reg) = func.returns {
            writeln!(self.out, "    return {}", reg.into())?;
        }
        for (index, sub) in func.subs.iter().enumerate() {
            writeln!(self.out, "sub {index}:")?;
            self.nodes(sub, 1)?;
        }
        if !func.pool.is_empty() {
            writeln!(self.out, "pool:")?;
        }
        for line in func.pool.chunks(16) {
            let bytes: Vec<String> = line.iter().map(|byte| format!("{byte:02x}")).collect();
            writeln!(self.out, "    {}", bytes.join(" "))?;
        }
        Ok(())
    }

    fn name(&self, parameter: u8) -> &str {
        self.func.parameters.get(usize::from(parameter)).map_or("?", |parameter| &parameter.name)
    }

    fn parameter(&mut self, parameter: &Parameter<S::Reg>) -> fmt::Result {
        let reg = parameter.reg.into();
        write!(self.out, "    {} in {reg}: ", parameter.name)?;
        match parameter.kind {
            ParameterKind::Pointer { element_bytes, length, reads, writes, cursor } => {
                let rights = match (reads, writes) {
                    (true, true) => "read and written",
                    (true, false) => "read",
                    (false, true) => "written",
                    (false, false) => "not accessed",
                };
                let count = length.text(|index| self.name(index));
                write!(self.out, "{count} elements of {element_bytes} bytes, {rights}, cursor {cursor}")?;
            }
            ParameterKind::Count { min, max } => write!(self.out, "count, {min} to {max}")?,
            ParameterKind::Value { bits } => write!(self.out, "value of {bits} bits")?,
        }
        if parameter.secret {
            write!(self.out, ", secret")?;
        }
        if parameter.align > 1 {
            write!(self.out, ", aligned to {}", parameter.align)?;
        }
        for other in &parameter.may_equal {
            let other = self.name(*other).to_string();
            write!(self.out, ", may equal {other}")?;
        }
        writeln!(self.out)
    }

    fn indent(&mut self, depth: usize) -> fmt::Result {
        write!(self.out, "{:1$}", "", depth * 4)
    }

    fn nodes(&mut self, nodes: &[Node<S::Reg>], depth: usize) -> fmt::Result {
        for node in nodes {
            match node {
                Node::Block(insts) => {
                    for inst in insts {
                        self.indent(depth)?;
                        self.inst(inst)?;
                    }
                }
                Node::Loop(inner) => {
                    let how = match inner.control {
                        Control::Decrement => "dec; jnz",
                        Control::FlagFree => "lea; jrcxz",
                    };
                    self.indent(depth)?;
                    write!(self.out, "loop {} times ({how})", inner.counter.into())?;
                    if inner.live_flags != FlagSet::default() {
                        write!(self.out, ", {} live", inner.live_flags)?;
                    }
                    writeln!(self.out, ":")?;
                    self.nodes(&inner.body, depth + 1)?;
                }
                Node::When(inner) => {
                    self.indent(depth)?;
                    match inner.mask {
                        Some(mask) => writeln!(self.out, "when {} & {mask:#x}:", inner.reg.into())?,
                        None => writeln!(self.out, "when {}:", inner.reg.into())?,
                    }
                    self.nodes(&inner.body, depth + 1)?;
                }
                Node::Call(sub) => {
                    self.indent(depth)?;
                    writeln!(self.out, "call sub {}", sub.0)?;
                }
            }
        }
        Ok(())
    }

    fn inst(&mut self, inst: &Inst<S::Reg>) -> fmt::Result {
        let row = inst.op.row();
        self.out.push_str(row.mnemonic);
        for (index, (operand, spec)) in inst.operands.iter().zip(row.operands).enumerate() {
            self.out.push_str(if index == 0 { " " } else { ", " });
            self.operand(operand, spec.kind)?;
        }
        if inst.op == Op::Base(Base::Pool) {
            self.out.push_str(", pool");
        }
        let mut comment = Vec::new();
        comment.extend(inst.note.map(String::from));
        let portable = matches!(inst.op, Op::Portable(_));
        if self.show.flags && !portable {
            let flags = row.flags;
            comment.push(format!("reads {}, writes {}", flags.reads, flags.writes.difference(flags.undefined)));
            if !flags.undefined.is_empty() {
                comment.push(format!("leaves {} undefined", flags.undefined));
            }
        }
        if !comment.is_empty() {
            write!(self.out, "  ; {}", comment.join("; "))?;
        }
        writeln!(self.out)
    }

    fn operand(&mut self, operand: &Operand<S::Reg>, kind: Kind) -> fmt::Result {
        let width = kind.width();
        match operand {
            Operand::Reg(reg) => {
                let name: Name = (*reg).into();
                write!(self.out, "{}", name.text(width.unwrap_or(Width::W64)))
            }
            Operand::Imm(value) => write!(self.out, "{value}"),
            Operand::Mem(mem) => {
                match width {
                    Some(Width::W8) => write!(self.out, "byte ")?,
                    Some(Width::W32) => write!(self.out, "dword ")?,
                    Some(Width::W64) => write!(self.out, "qword ")?,
                    Some(Width::W128) => write!(self.out, "xmmword ")?,
                    Some(Width::W256) => write!(self.out, "ymmword ")?,
                    Some(Width::Limb) => write!(self.out, "limb ")?,
                    None => {}
                }
                self.memory(mem)
            }
        }
    }

    fn memory(&mut self, mem: &Mem<S::Reg>) -> fmt::Result {
        match mem.space {
            Space::Argument(argument) => {
                let name = self.name(argument).to_string();
                write!(self.out, "{name}")?;
            }
            Space::Pointed => write!(self.out, "pointed")?,
            Space::Frame => write!(self.out, "frame")?,
            Space::Pool => write!(self.out, "pool")?,
            Space::Nowhere => {}
        }
        write!(self.out, "[{}", mem.base.into())?;
        if let Some((index, scale)) = mem.index {
            write!(self.out, " + {}*{scale}", index.into())?;
        }
        match mem.disp {
            0 => {}
            disp if disp < 0 => write!(self.out, " - {}", disp.unsigned_abs())?,
            disp => write!(self.out, " + {disp}")?,
        }
        write!(self.out, "]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Builder, Length};
    use crate::isa::row::{CO, RCX, RDX};

    #[test]
    fn vectors_and_constants() {
        let mut b = Builder::new("test/constants", 64);
        let kind =
            ParameterKind::Pointer { element_bytes: 8, length: Length::fixed(4), reads: true, writes: true, cursor: 0 };
        let p = b.parameter("p", kind, false, &[]);
        b.aligned(0, 32);
        let (base, y) = (b.gpr(), b.ymm());
        let offset = b.constant(&[1, 2]);
        b.pool(base);
        let (place, constant) = (b.at(0, p, 0), b.pooled(base, offset));
        b.vmovdqu_load_y(y, place);
        b.vpaddq_x(y.low(), y.low(), constant);
        b.vextracti128(place, y, 1);
        let expected = "\
func test/constants, limbs of 64 bits
    p in v0:gpr: 4 elements of 8 bytes, read and written, cursor 0, aligned to 32
body:
    lea v1:gpr, pool
    vmovdqu v2:ymm, ymmword p[v0:gpr]
    vpaddq v2:xmm, v2:xmm, xmmword pool[v1:gpr]
    vextracti128 xmmword p[v0:gpr], v2:ymm, 1
pool:
    01 02 00 00 00 00 00 00 00 00 00 00 00 00 00 00
    00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
";
        assert_eq!(text(&b.finish(None, None), Show::default()), expected);
    }

    #[test]
    fn the_text_is_this() {
        let mut b = Builder::new("test/print", 64);
        let kind =
            ParameterKind::Pointer { element_bytes: 8, length: Length::of(1), reads: true, writes: false, cursor: 0 };
        let a = b.parameter("a", kind, true, &[]);
        let n = b.parameter("n", ParameterKind::Count { min: 1, max: 64 }, false, &[]);
        let (hi, lo, word, rcx) = (b.gpr(), b.gpr(), b.pinned(RDX), b.pinned(RCX));
        b.mov(rcx, n);
        b.note("the chains are empty");
        b.xor32(hi, hi);
        b.counted_flag_free(rcx, CO, |b| {
            let place = b.at(0, a, 8);
            b.load(word, place);
            b.mulx(hi, lo, place, word);
            b.advance(0, a, 8);
        });
        b.when_bits(n, 3, |b| b.add(hi, lo));
        let func = b.finish(Some(hi.0), None);
        let expected = "\
func test/print, limbs of 64 bits
    a in v0:gpr: n elements of 8 bytes, read, cursor 0, secret
    n in v1:gpr: count, 1 to 64
body:
    mov v5:rcx, v1:gpr  ; reads no flag, writes no flag
    xor v2:gpr32, v2:gpr32  ; the chains are empty; reads no flag, writes CF+OF+ZF
    loop v5:rcx times (lea; jrcxz), CF+OF live:
        mov v4:rdx, qword a[v0:gpr + 8]  ; reads no flag, writes no flag
        mulx v2:gpr, v3:gpr, qword a[v0:gpr + 8], v4:rdx  ; reads no flag, writes no flag
        lea v0:gpr, a[v0:gpr + 8]  ; reads no flag, writes no flag
    when v1:gpr & 0x3:
        add v2:gpr, v3:gpr  ; reads no flag, writes CF+OF+ZF
    return v2:gpr
";
        assert_eq!(text(&func, Show { flags: true }), expected);
        assert!(!text(&func, Show::default()).contains("reads"));
    }
}
