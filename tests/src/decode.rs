//! Bytes back to text with a decoder that shares nothing with our encoder, in the words of our own text.

use iced_x86::{
    CC_e, CC_ne, Decoder, DecoderOptions, FlowControl, Formatter, Instruction, IntelFormatter, MemorySizeOptions,
    NumberBase,
};
use kiln_codegen::backend::asm_text;
use kiln_codegen::ir::linear::{Label, Line};
use kiln_codegen::ir::{Func, Inst, Operand, Physical};
use kiln_codegen::isa::row::{Kind, PReg, Width};
use std::collections::BTreeMap;

/// The instructions in `bytes`, at their offsets. An undecodable one stands as `(bad)` in the text.
pub fn decode(bytes: &[u8]) -> Vec<Instruction> {
    Decoder::with_ip(64, bytes, 0, DecoderOptions::NONE).into_iter().collect()
}

/// One instruction in the words of [`our_text`].
pub fn text(instruction: &Instruction) -> String {
    let mut formatter = IntelFormatter::new();
    let options = formatter.options_mut();
    options.set_space_after_operand_separator(true);
    options.set_space_between_memory_add_operators(true);
    options.set_always_show_scale(true);
    options.set_number_base(NumberBase::Decimal);
    options.set_memory_size_options(MemorySizeOptions::Always);
    options.set_signed_immediate_operands(true);
    options.set_cc_e(CC_e::z);
    options.set_cc_ne(CC_ne::nz);
    options.set_show_branch_size(false);
    let mut out = String::new();
    formatter.format(instruction, &mut out);
    if instruction.is_ip_rel_memory_operand() {
        // The one thing that is addressed from here.
        let before = out.split_once('[').map_or("", |(before, _)| before);
        return format!("{before}[rip + pool]");
    }
    out
}

/// The text of one of our instructions as a decoder would print it: constants in decimal and signed, and `movabs` has no name
/// of its own in the bytes.
pub fn our_text(inst: &Inst<PReg>) -> String {
    let mut inst = inst.clone();
    for (operand, spec) in inst.operands.iter_mut().zip(inst.op.row().operands) {
        if let (Operand::Imm(value), Kind::Selector) = (operand, spec.kind) {
            *value = i64::from(*value as i8);
        }
    }
    let text = asm_text::instruction(&inst);
    let text = text.strip_prefix("movabs").map(|rest| format!("mov{rest}")).unwrap_or(text);
    match text.split_once("0x") {
        Some((before, hex)) => {
            let bits = u64::from_str_radix(hex, 16).expect("a hexadecimal constant is the last operand");
            format!("{before}{}", bits.cast_signed())
        }
        None => text,
    }
}

/// The listing of a whole function: one line an instruction, with the target of a jump or call as `@` and the index of the
/// instruction there. Two forms of one function have equal listings, whatever the lengths of their encodings.
///
/// # Panics
/// When the bytes do not decode, or a target is not the start of an instruction.
pub fn disassemble(bytes: &[u8]) -> Vec<String> {
    let instructions = decode(bytes);
    let indices: BTreeMap<u64, usize> =
        instructions.iter().enumerate().map(|(index, inst)| (inst.ip(), index)).collect();
    let line = |inst: &Instruction| {
        assert!(!inst.is_invalid(), "bytes at {:#x} do not decode: {:02x?}", inst.ip(), bytes);
        let text = text(inst);
        match inst.flow_control() {
            FlowControl::Next | FlowControl::Return => text,
            FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch | FlowControl::Call => {
                let target = inst.near_branch_target();
                let index = indices.get(&target).unwrap_or_else(|| panic!("{text} at {:#x} goes astray", inst.ip()));
                let mnemonic = text.split(' ').next().expect("a mnemonic");
                format!("{mnemonic} @{index}")
            }
            other => panic!("{text}: no row has control flow {other:?}"),
        }
    };
    instructions.iter().map(line).collect()
}

/// The listing of a function of `count` instructions at the start of `bytes`, whatever follows it.
///
/// # Panics
/// As [`disassemble`].
pub fn disassemble_first(bytes: &[u8], count: usize) -> Vec<String> {
    let end = count.checked_sub(1).and_then(|last| decode(bytes).get(last).map(Instruction::next_ip)).unwrap_or(0);
    disassemble(&bytes[..usize::try_from(end).expect("an offset into the bytes")])
}

/// Where the pool is that the first `count` instructions of a function address, if they do: one offset from the entry.
///
/// # Panics
/// When they address several places.
pub fn pool_offset(bytes: &[u8], count: usize) -> Option<usize> {
    let instructions = decode(bytes);
    let addressing = instructions.iter().take(count).filter(|inst| inst.is_ip_rel_memory_operand());
    let mut offsets: Vec<u64> = addressing.map(Instruction::ip_rel_memory_address).collect();
    offsets.dedup();
    assert!(offsets.len() <= 1, "one pool, not {offsets:x?}");
    offsets.first().map(|offset| usize::try_from(*offset).expect("an offset behind the entry"))
}

/// The listing that [`disassemble`] must give for a function, made from its lines and our text.
pub fn listing(func: &Func<Physical>) -> Vec<String> {
    let lines = func.lines();
    let mut indices: BTreeMap<Label, usize> = BTreeMap::new();
    let mut index = 0;
    for line in &lines {
        match line {
            Line::Label(label) => assert_eq!(indices.insert(*label, index), None, "one label, one place"),
            Line::Pool(_) => {}
            _ => index += 1,
        }
    }
    let line = |line: &Line| {
        Some(match line {
            Line::Inst(inst) => our_text(inst),
            Line::Label(_) => return None,
            Line::Jump(jump, label) => format!("{} @{}", jump.mnemonic(), indices[label]),
            Line::Call(label) => format!("call @{}", indices[label]),
            Line::Push(reg) => format!("push {}", reg.name(Width::W64)),
            Line::Pop(reg) => format!("pop {}", reg.name(Width::W64)),
            Line::Reserve(bytes) => format!("sub rsp, {bytes}"),
            Line::Release(bytes) => format!("add rsp, {bytes}"),
            Line::Ret => "ret".into(),
            Line::Pool(_) => return None,
        })
    };
    lines.iter().filter_map(line).collect()
}
