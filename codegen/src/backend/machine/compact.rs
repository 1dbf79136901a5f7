//! Takes away the bytes that dynasm spends on registers which are known only at run time, and writes addresses.
//! Source: Intel SDM volume 2, 2.1.5 (ModRM and SIB).

use crate::ir::Mem;
use crate::isa::row::PReg;

/// A REX prefix without a bit set: it means nothing here, as no row has an 8-bit register. It is the first byte, but for a
/// mandatory prefix.
pub(super) fn without_empty_rex(mut bytes: Vec<u8>) -> Vec<u8> {
    let rex = usize::from(matches!(bytes.first(), Some(0x66 | 0xf2 | 0xf3)));
    if bytes.get(rex) == Some(&0x40) {
        bytes.remove(rex);
    }
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
