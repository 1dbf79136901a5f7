//! What the integer instructions of SSE2 do on xmm registers. Source: Intel SDM volume 2.

use super::fault::Fault;
use super::machine::{Context, Lanes};
use super::vector;
use crate::isa::sse2::Sse2;

/// The low 32 bits of a lane.
const LOW: u64 = 0xffff_ffff;

pub(super) fn execute(op: Sse2, cx: &mut Context<'_, '_>) -> Result<(), Fault> {
    match op {
        // Cut and zero-extended by the kinds of the operands.
        Sse2::MovdIn
        | Sse2::MovdOut
        | Sse2::MovdStore
        | Sse2::MovqIn
        | Sse2::MovqOut
        | Sse2::MovqLoad
        | Sse2::MovqStore => {
            let value = cx.get(1)?;
            cx.set(0, value)
        }
        Sse2::MovdqaXmm | Sse2::MovdqaLoad | Sse2::MovdqaStore | Sse2::MovdquLoad | Sse2::MovdquStore => {
            let lanes = cx.lanes(1)?;
            cx.set_lanes(0, lanes)
        }
        Sse2::Pmuludq => each(cx, |a, b| (a & LOW) * (b & LOW)),
        Sse2::Paddq => each(cx, u64::wrapping_add),
        Sse2::Paddd => each(cx, |a, b| (a & !LOW).wrapping_add(b & !LOW) | a.wrapping_add(b) & LOW),
        Sse2::Paddb => both(cx, |a, b| vector::bytes(a, b, u8::wrapping_add)),
        Sse2::Psubq => each(cx, u64::wrapping_sub),
        Sse2::Pand => each(cx, |a, b| a & b),
        Sse2::Pandn => each(cx, |a, b| !a & b),
        Sse2::Por => each(cx, |a, b| a | b),
        Sse2::Pxor => each(cx, |a, b| a ^ b),
        Sse2::Pcmpeqd => both(cx, |a, b| vector::dwords(a, b, |a, b| vector::all_if(a == b) as u32)),
        Sse2::Pcmpgtd => both(cx, |a, b| vector::dwords(a, b, |a, b| vector::all_if(a as i32 > b as i32) as u32)),
        // Not masked: a count past the lane's end leaves 0.
        Sse2::Psrlq => shifted(cx, |lane, count| lane.checked_shr(count).unwrap_or(0)),
        Sse2::Psllq => shifted(cx, |lane, count| lane.checked_shl(count).unwrap_or(0)),
        Sse2::Psrad => {
            let (lanes, count) = (cx.lanes(0)?, cx.get(1)? as u32);
            cx.set_lanes(0, vector::shifted_with_sign(lanes, count))
        }
        Sse2::Psrldq => bytes(cx, |value, bits| value.checked_shr(bits).unwrap_or(0)),
        Sse2::Pslldq => bytes(cx, |value, bits| value.checked_shl(bits).unwrap_or(0)),
        Sse2::Pshufd => {
            let (src, from) = (cx.lanes(1)?, cx.get(2)?);
            let pick = |lane: u32| {
                let index = from >> (2 * lane) & 3;
                src[index as usize / 2] >> (32 * (index % 2)) & LOW
            };
            cx.set_lanes(0, [pick(0) | pick(1) << 32, pick(2) | pick(3) << 32, 0, 0])
        }
        Sse2::Punpckldq => both(cx, |a, b| [a[0] & LOW | b[0] << 32, a[0] >> 32 | b[0] & !LOW, 0, 0]),
        Sse2::Punpckhdq => both(cx, |a, b| [a[1] & LOW | b[1] << 32, a[1] >> 32 | b[1] & !LOW, 0, 0]),
        Sse2::Punpcklqdq => both(cx, |a, b| [a[0], b[0], 0, 0]),
        Sse2::Punpckhqdq => both(cx, |a, b| [a[1], b[1], 0, 0]),
    }
}

/// dst := of dst and src.
fn both(cx: &mut Context<'_, '_>, combine: impl Fn(Lanes, Lanes) -> Lanes) -> Result<(), Fault> {
    let lanes = combine(cx.lanes(0)?, cx.lanes(1)?);
    cx.set_lanes(0, lanes)
}

/// In each lane of 64 bits, dst := of dst and src.
fn each(cx: &mut Context<'_, '_>, combine: impl Fn(u64, u64) -> u64) -> Result<(), Fault> {
    both(cx, |a, b| [0, 1, 2, 3].map(|lane| combine(a[lane], b[lane])))
}

/// Each lane of 64 bits, shifted by a count of bits.
fn shifted(cx: &mut Context<'_, '_>, shift: impl Fn(u64, u32) -> u64) -> Result<(), Fault> {
    let (lanes, count) = (cx.lanes(0)?, cx.get(1)? as u32);
    cx.set_lanes(0, lanes.map(|lane| shift(lane, count)))
}

/// The 128 bits, shifted by a count of bytes.
fn bytes(cx: &mut Context<'_, '_>, shift: impl Fn(u128, u32) -> u128) -> Result<(), Fault> {
    let (lanes, count) = (cx.lanes(0)?, cx.get(1)? as u32);
    let value = shift(u128::from(lanes[1]) << 64 | u128::from(lanes[0]), 8 * count);
    cx.set_lanes(0, [value as u64, (value >> 64) as u64, 0, 0])
}
