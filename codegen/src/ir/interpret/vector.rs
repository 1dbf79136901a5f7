//! What vector instructions do with lanes, whatever their encoding, and what AVX and AVX2 have in common. Source: Intel SDM
//! volume 2.
//!
//! Instructions on 256 bits do in each half what those on 128 bits do in one, so both are written once, on two halves.

use super::fault::Fault;
use super::machine::{Context, Lanes};

/// All bits of a lane, if so.
pub(super) fn all_if(so: bool) -> u64 {
    if so { u64::MAX } else { 0 }
}

/// In each lane of 64 bits.
pub(super) fn qwords(a: Lanes, b: Lanes, combine: impl Fn(u64, u64) -> u64) -> Lanes {
    [0, 1, 2, 3].map(|lane| combine(a[lane], b[lane]))
}

/// In each lane of 32 bits.
pub(super) fn dwords(a: Lanes, b: Lanes, combine: impl Fn(u32, u32) -> u32) -> Lanes {
    qwords(a, b, |a, b| {
        let half = |shift: u32| u64::from(combine((a >> shift) as u32, (b >> shift) as u32)) << shift;
        half(0) | half(32)
    })
}

/// In each byte.
pub(super) fn bytes(a: Lanes, b: Lanes, combine: impl Fn(u8, u8) -> u8) -> Lanes {
    qwords(a, b, |a, b| {
        let (a, b) = (a.to_le_bytes(), b.to_le_bytes());
        u64::from_le_bytes([0, 1, 2, 3, 4, 5, 6, 7].map(|byte| combine(a[byte], b[byte])))
    })
}

/// In each 128 bits.
pub(super) fn halves(a: Lanes, b: Lanes, combine: impl Fn(u128, u128) -> u128) -> Lanes {
    let half = |lanes: Lanes, low: usize| u128::from(lanes[low + 1]) << 64 | u128::from(lanes[low]);
    let [low, high] = [0, 2].map(|at| combine(half(a, at), half(b, at)));
    [low as u64, (low >> 64) as u64, high as u64, (high >> 64) as u64]
}

/// In each 128 bits, as bytes.
pub(super) fn blocks(a: Lanes, b: Lanes, combine: impl Fn([u8; 16], [u8; 16]) -> [u8; 16]) -> Lanes {
    halves(a, b, |a, b| u128::from_le_bytes(combine(a.to_le_bytes(), b.to_le_bytes())))
}

/// Each lane of 32 bits shifted right by bits, its sign from the left. A count past the lane's end leaves signs alone.
pub(super) fn shifted_with_sign(lanes: Lanes, count: u32) -> Lanes {
    dwords(lanes, lanes, |lane, _| (lane as i32 >> count.min(31)) as u32)
}

/// Bytes of `values` where `picks` says; 0 where its high bit is set.
pub(super) fn picked(values: [u8; 16], picks: [u8; 16]) -> [u8; 16] {
    picks.map(|pick| if pick & 0x80 != 0 { 0 } else { values[usize::from(pick & 15)] })
}

/// One of the four 32-bit lanes of 128 bits.
fn dword(value: u128, index: u32) -> u128 {
    value >> (32 * index) & 0xffff_ffff
}

/// The 32-bit lanes that a selector names.
pub(super) fn shuffled(value: u128, from: u64) -> u128 {
    (0..4).fold(0, |all, lane| all | dword(value, (from >> (2 * lane) & 3) as u32) << (32 * lane))
}

/// Two 32-bit lanes of each by turns, from lane `first` on.
pub(super) fn dwords_by_turns(a: u128, b: u128, first: u32) -> u128 {
    let second = first + 1;
    dword(a, first) | dword(b, first) << 32 | dword(a, second) << 64 | dword(b, second) << 96
}

/// 16 bytes of `high:low` from byte `count` on.
pub(super) fn aligned_right(high: u128, low: u128, count: u32) -> u128 {
    let bits = 8 * count;
    let from_low = low.checked_shr(bits).unwrap_or(0);
    let from_high = match bits {
        0 => 0,
        1..128 => high << (128 - bits),
        _ => high.checked_shr(bits - 128).unwrap_or(0),
    };
    from_low | from_high
}

/// dst := of the two sources of an instruction with three operands.
pub(super) fn of_two(cx: &mut Context<'_, '_>, combine: impl Fn(Lanes, Lanes) -> Lanes) -> Result<(), Fault> {
    let lanes = combine(cx.lanes(1)?, cx.lanes(2)?);
    cx.set_lanes(0, lanes)
}

/// dst := of the source and the count of an instruction with three operands.
pub(super) fn of_one(cx: &mut Context<'_, '_>, change: impl Fn(Lanes, u32) -> Lanes) -> Result<(), Fault> {
    let (lanes, count) = (cx.lanes(1)?, cx.get(2)? as u32);
    cx.set_lanes(0, change(lanes, count))
}

/// A copy between registers and memory.
pub(super) fn copy(cx: &mut Context<'_, '_>) -> Result<(), Fault> {
    let lanes = cx.lanes(1)?;
    cx.set_lanes(0, lanes)
}

/// The instructions that AVX has on xmm and AVX2 on ymm registers, and the arms of those that one of them has alone.
macro_rules! on_both_widths {
    ($set:ident, $op:expr, $cx:expr, { $($alone:tt)* }) => {{
        use $crate::ir::interpret::vector::*;
        let low = |value: u64| value & 0xffff_ffff;
        match $op {
            $set::Vpxor => of_two($cx, |a, b| qwords(a, b, |a, b| a ^ b)),
            $set::Vpand => of_two($cx, |a, b| qwords(a, b, |a, b| a & b)),
            $set::Vpandn => of_two($cx, |a, b| qwords(a, b, |a, b| !a & b)),
            $set::Vpor => of_two($cx, |a, b| qwords(a, b, |a, b| a | b)),
            $set::Vpaddb => of_two($cx, |a, b| bytes(a, b, u8::wrapping_add)),
            $set::Vpaddd => of_two($cx, |a, b| dwords(a, b, u32::wrapping_add)),
            $set::Vpaddq => of_two($cx, |a, b| qwords(a, b, u64::wrapping_add)),
            $set::Vpsubd => of_two($cx, |a, b| dwords(a, b, u32::wrapping_sub)),
            $set::Vpsubq => of_two($cx, |a, b| qwords(a, b, u64::wrapping_sub)),
            $set::Vpmuludq => of_two($cx, |a, b| qwords(a, b, |a, b| low(a) * low(b))),
            $set::Vpcmpeqd => of_two($cx, |a, b| dwords(a, b, |a, b| all_if(a == b) as u32)),
            $set::Vpcmpeqq => of_two($cx, |a, b| qwords(a, b, |a, b| all_if(a == b))),
            $set::Vpcmpgtd => of_two($cx, |a, b| dwords(a, b, |a, b| all_if(a as i32 > b as i32) as u32)),
            $set::Vpcmpgtq => of_two($cx, |a, b| qwords(a, b, |a, b| all_if(a as i64 > b as i64))),
            $set::Vpunpckldq => of_two($cx, |a, b| halves(a, b, |a, b| dwords_by_turns(a, b, 0))),
            $set::Vpunpckhdq => of_two($cx, |a, b| halves(a, b, |a, b| dwords_by_turns(a, b, 2))),
            $set::Vpunpcklqdq => of_two($cx, |a, b| [a[0], b[0], a[2], b[2]]),
            $set::Vpunpckhqdq => of_two($cx, |a, b| [a[1], b[1], a[3], b[3]]),
            $set::Vpshufb => of_two($cx, |a, b| blocks(a, b, picked)),
            $set::Vpalignr => {
                let count = $cx.get(3)? as u32;
                of_two($cx, |a, b| halves(a, b, |a, b| aligned_right(a, b, count)))
            }
            $set::Vpshufd => of_one($cx, |a, from| halves(a, a, |a, _| shuffled(a, from.into()))),
            // Not masked: a count past the lane's end leaves 0.
            $set::Vpsllq => of_one($cx, |a, count| a.map(|lane| lane.checked_shl(count).unwrap_or(0))),
            $set::Vpsrlq => of_one($cx, |a, count| a.map(|lane| lane.checked_shr(count).unwrap_or(0))),
            $set::Vpsrad => of_one($cx, shifted_with_sign),
            $set::Vpslldq => of_one($cx, |a, count| halves(a, a, |a, _| a.checked_shl(8 * count).unwrap_or(0))),
            $set::Vpsrldq => of_one($cx, |a, count| halves(a, a, |a, _| a.checked_shr(8 * count).unwrap_or(0))),
            $($alone)*
        }
    }};
}
pub(super) use on_both_widths;
