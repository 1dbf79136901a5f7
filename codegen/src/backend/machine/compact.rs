//! Takes away the bytes that dynasm spends on registers which are known only at run time, and writes addresses.
//! Source: Intel SDM volume 2, 2.1.5 (ModRM and SIB).

use crate::ir::Mem;
use crate::isa::row::PReg;

/// A REX prefix without a bit set: it means nothing but to an instruction on the low bytes of rsp, rbp, rsi and rdi, which keeps
/// it. It is the first byte, but for a mandatory prefix.
pub(super) fn without_empty_rex(mut bytes: Vec<u8>) -> Vec<u8> {
    let rex = usize::from(matches!(bytes.first(), Some(0x66 | 0xf2 | 0xf3)));
    if bytes.get(rex) == Some(&0x40) {
        bytes.remove(rex);
    }
    bytes
}

/// Gives a VEX prefix of three bytes its short form, where it says nothing that the short form cannot: X and B clear (they are
/// stored inverted), opcode map 0F, W clear. Source: Intel SDM volume 2, 2.3.5.
pub(super) fn with_two_byte_vex(mut bytes: Vec<u8>) -> Vec<u8> {
    if let [0xc4, first, second, ..] = bytes[..]
        && first & 0b0111_1111 == 0b0110_0001
        && second & 0x80 == 0
    {
        bytes.splice(..3, [0xc5, first & 0x80 | second]);
    }
    bytes
}

/// Sets the length bit of a VEX prefix of three bytes: the instruction on ymm registers instead of xmm registers.
pub(super) fn with_256_bits(mut bytes: Vec<u8>) -> Vec<u8> {
    assert!(bytes[0] == 0xc4 && bytes[2] & 0b100 == 0, "dynasm's VEX prefix is {bytes:02x?}");
    bytes[2] |= 0b100;
    bytes
}

/// Puts another opcode behind a VEX prefix of three bytes.
pub(super) fn with_opcode(mut bytes: Vec<u8>, old: u8, new: u8) -> Vec<u8> {
    assert!(bytes[0] == 0xc4 && bytes[3] == old, "dynasm's instruction is {bytes:02x?}");
    bytes[3] = new;
    bytes
}

/// The number in ModRM.rm that says "a SIB follows", and in SIB.index "no index". As a base (rsp, r12) it needs the SIB.
const SIB: u8 = 0b100;
/// The number that, as a base without displacement, would mean "no base" (rbp, r13).
const NO_BASE: u8 = 0b101;

/// Writes the address anew. `bytes` is an instruction with the right registers, opcode and ModRM.reg, whose address dynasm
/// made as ModRM, SIB and a displacement of one byte; behind it are `immediate` bytes.
pub(super) fn with_address(mut bytes: Vec<u8>, mem: &Mem<PReg>, immediate: usize) -> Vec<u8> {
    const DYNASM: usize = 3;
    let tail = bytes.split_off(bytes.len() - immediate);
    let address = bytes.split_off(bytes.len() - DYNASM);
    assert!(address[0] & 0b1100_0111 == 0b0100_0100 && address[2] == 0, "dynasm's address is {address:02x?}");

    let base = mem.base.number & 7;
    let (mode, displacement) = match i8::try_from(mem.disp) {
        Ok(0) if base != NO_BASE => (0b00, vec![]),
        Ok(short) => (0b01, short.to_le_bytes().to_vec()),
        Err(_) => (0b10, mem.disp.to_le_bytes().to_vec()),
    };
    let modrm = mode << 6 | address[0] & 0b0011_1000;
    match mem.index {
        None if base == SIB => bytes.extend([modrm | SIB, SIB << 3 | base]),
        None => bytes.push(modrm | base),
        Some((index, scale)) => {
            let log = u8::try_from(scale.trailing_zeros()).expect("a scale is 1, 2, 4 or 8");
            bytes.extend([modrm | SIB, log << 6 | (index.number & 7) << 3 | base]);
        }
    }
    bytes.extend(displacement);
    bytes.extend(tail);
    bytes
}
