//! What the baseline's instructions do. Source: Intel SDM volume 2.

use super::fault::Fault;
use super::machine::{Context, Flag, POOL};
use crate::isa::base::Base;

const SIGN: u64 = 1 << 63;

pub(super) fn execute(op: Base, cx: &mut Context<'_, '_>) -> Result<(), Fault> {
    match op {
        Base::Mov
        | Base::Load
        | Base::Store
        | Base::MovImm
        | Base::Mov32
        | Base::Load32
        | Base::Store32
        | Base::Store8
        | Base::MovImm32 => {
            let value = cx.get(1)?;
            cx.set(0, value)
        }
        Base::Pool => cx.set(0, POOL),
        Base::Cmovb => {
            let (old, new) = (cx.get(0)?, cx.get(1)?);
            let taken = cx.flag(Flag::Carry)?;
            cx.set(0, if taken { new } else { old })
        }
        Base::Bswap => {
            let value = cx.get(0)?;
            cx.set(0, value.swap_bytes())
        }
        Base::Bswap32 => {
            let value = cx.get(0)?;
            cx.set(0, u64::from((value as u32).swap_bytes()))
        }
        Base::Lea => {
            let address = cx.address(1)?;
            cx.set(0, address)
        }
        Base::Add | Base::AddMr | Base::AddRi => add(cx, false),
        Base::Adc | Base::AdcMr | Base::AdcRi => {
            let carry = cx.flag(Flag::Carry)?;
            add(cx, carry)
        }
        Base::Sub | Base::SubMr | Base::SubRi => subtract(cx, false, true),
        Base::Sbb | Base::SbbMr | Base::SbbRi => {
            let borrow = cx.flag(Flag::Carry)?;
            subtract(cx, borrow, true)
        }
        Base::Cmp | Base::CmpRi => subtract(cx, false, false),
        Base::And | Base::AndRi => logic(cx, |a, b| a & b, true),
        Base::Or => logic(cx, |a, b| a | b, true),
        Base::Xor | Base::Xor32 => logic(cx, |a, b| a ^ b, true),
        Base::Test | Base::TestRi => logic(cx, |a, b| a & b, false),
        Base::Inc => step(cx, 1, SIGN),
        Base::Dec => step(cx, u64::MAX, SIGN - 1),
        Base::Neg => {
            let value = cx.get(0)?;
            cx.set(0, value.wrapping_neg())?;
            cx.set_flags(Some(value != 0), Some(value == SIGN), Some(value == 0));
            Ok(())
        }
        Base::Not => {
            let value = cx.get(0)?;
            cx.set(0, !value)
        }
        // OF is defined for a count of 1 alone: whether the sign changed.
        Base::Shl => shift(cx, |value, count| (value << count, value >> (64 - count) & 1 != 0)),
        Base::Shr => shift(cx, |value, count| (value >> count, value >> (count - 1) & 1 != 0)),
        Base::Sar => shift(cx, |value, count| ((value as i64 >> count) as u64, value >> (count - 1) & 1 != 0)),
        Base::Rol => rotate(cx, u64::rotate_left, |result| (result & 1 != 0, (result ^ result << 63) & SIGN != 0)),
        Base::Ror => rotate(cx, u64::rotate_right, |result| (result & SIGN != 0, (result ^ result << 1) & SIGN != 0)),
        Base::Mul => {
            let product = u128::from(cx.get(0)?) * u128::from(cx.get(1)?);
            let high = (product >> 64) as u64;
            cx.set(1, product as u64)?;
            cx.set(2, high)?;
            cx.set_flags(Some(high != 0), Some(high != 0), None);
            Ok(())
        }
        Base::Imul => {
            let product = i128::from(cx.get(0)? as i64) * i128::from(cx.get(1)? as i64);
            cx.set(0, product as u64)?;
            let lost = i128::from(product as i64) != product;
            cx.set_flags(Some(lost), Some(lost), None);
            Ok(())
        }
        Base::Div => {
            let (divisor, low, high) = (cx.get(0)?, cx.get(1)?, cx.get(2)?);
            if high >= divisor {
                return Err(Fault::Divide { at: cx.at() });
            }
            let dividend = u128::from(high) << 64 | u128::from(low);
            cx.set(1, (dividend / u128::from(divisor)) as u64)?;
            cx.set(2, (dividend % u128::from(divisor)) as u64)?;
            cx.set_flags(None, None, None);
            Ok(())
        }
    }
}

fn add(cx: &mut Context<'_, '_>, carry: bool) -> Result<(), Fault> {
    let (a, b) = (cx.get(0)?, cx.get(1)?);
    let sum = u128::from(a) + u128::from(b) + u128::from(carry);
    let low = sum as u64;
    cx.set(0, low)?;
    cx.set_flags(Some(sum >> 64 != 0), Some((a ^ low) & (b ^ low) & SIGN != 0), Some(low == 0));
    Ok(())
}

fn subtract(cx: &mut Context<'_, '_>, borrow: bool, keep: bool) -> Result<(), Fault> {
    let (a, b) = (cx.get(0)?, cx.get(1)?);
    let low = a.wrapping_sub(b).wrapping_sub(borrow.into());
    if keep {
        cx.set(0, low)?;
    }
    let below = u128::from(a) < u128::from(b) + u128::from(borrow);
    cx.set_flags(Some(below), Some((a ^ b) & (a ^ low) & SIGN != 0), Some(low == 0));
    Ok(())
}

fn logic(cx: &mut Context<'_, '_>, combine: impl Fn(u64, u64) -> u64, keep: bool) -> Result<(), Fault> {
    let value = combine(cx.get(0)?, cx.get(1)?);
    if keep {
        cx.set(0, value)?;
    }
    cx.set_flags(Some(false), Some(false), Some(value == 0));
    Ok(())
}

/// `inc` and `dec`: OF when the result is `overflow`; CF stays.
fn step(cx: &mut Context<'_, '_>, by: u64, overflow: u64) -> Result<(), Fault> {
    let value = cx.get(0)?.wrapping_add(by);
    cx.set(0, value)?;
    cx.set_flag(Flag::Overflow, Some(value == overflow));
    cx.set_flag(Flag::Zero, Some(value == 0));
    Ok(())
}

/// A rotation by `count` mod 64: CF, and OF for a count of 1 alone, follow from the result. A count of 0 leaves the flags; ZF
/// stays.
fn rotate(
    cx: &mut Context<'_, '_>,
    rotated: fn(u64, u32) -> u64,
    flags: impl Fn(u64) -> (bool, bool),
) -> Result<(), Fault> {
    let (value, count) = (cx.get(0)?, (cx.get(1)? & 63) as u32);
    let result = rotated(value, count);
    if count > 0 {
        let (carry, overflow) = flags(result);
        cx.set_flag(Flag::Carry, Some(carry));
        cx.set_flag(Flag::Overflow, (count == 1).then_some(overflow));
    }
    cx.set(0, result)
}

/// A shift by `count` mod 64, from the value to the result and the last bit out. A count of 0 leaves the flags.
fn shift(cx: &mut Context<'_, '_>, shifted: impl Fn(u64, u32) -> (u64, bool)) -> Result<(), Fault> {
    let (value, count) = (cx.get(0)?, (cx.get(1)? & 63) as u32);
    if count == 0 {
        return cx.set(0, value);
    }
    let (result, out) = shifted(value, count);
    cx.set(0, result)?;
    let overflow = (count == 1).then_some((value ^ result) & SIGN != 0);
    cx.set_flags(Some(out), overflow, Some(result == 0));
    Ok(())
}
