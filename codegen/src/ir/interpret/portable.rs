//! What the portable operations do, on limbs of the function's width.

use super::fault::Fault;
use super::machine::Context;
use crate::isa::portable::Portable;

pub(super) fn execute(op: Portable, cx: &mut Context<'_, '_>) -> Result<(), Fault> {
    let bits = cx.limb_bits();
    match op {
        Portable::Load | Portable::Store | Portable::Copy | Portable::Constant => {
            let value = cx.get(1)?;
            cx.set(0, value)
        }
        Portable::MulWide => {
            let product = u128::from(cx.get(2)?) * u128::from(cx.get(3)?);
            cx.set(1, product as u64)?;
            cx.set(0, (product >> bits) as u64)
        }
        Portable::AddCarry => {
            let carry = cx.get(4)?;
            if carry > 1 {
                return Err(Fault::CarryIn { at: cx.at(), value: carry });
            }
            let sum = u128::from(cx.get(2)?) + u128::from(cx.get(3)?) + u128::from(carry);
            cx.set(0, sum as u64)?;
            cx.set(1, (sum >> bits) as u64)
        }
        Portable::Add => {
            let sum = u128::from(cx.get(1)?) + u128::from(cx.get(2)?);
            if sum >> bits != 0 {
                return Err(Fault::LostCarry { at: cx.at() });
            }
            cx.set(0, sum as u64)
        }
        Portable::SubBorrow => {
            let borrow = cx.get(4)?;
            if borrow > 1 {
                return Err(Fault::CarryIn { at: cx.at(), value: borrow });
            }
            let difference = i128::from(cx.get(2)?) - i128::from(cx.get(3)?) - i128::from(borrow);
            cx.set(0, difference as u64)?;
            cx.set(1, u64::from(difference < 0))
        }
        Portable::DivWide => {
            let (hi, lo, d) = (cx.get(2)?, cx.get(3)?, cx.get(4)?);
            if hi >= d {
                return Err(Fault::Divide { at: cx.at() });
            }
            let dividend = u128::from(hi) << bits | u128::from(lo);
            cx.set(0, (dividend / u128::from(d)) as u64)?;
            cx.set(1, (dividend % u128::from(d)) as u64)
        }
        Portable::WrapAdd => binary(cx, u64::wrapping_add),
        Portable::WrapSub => binary(cx, u64::wrapping_sub),
        Portable::MulLow => binary(cx, u64::wrapping_mul),
        Portable::And => binary(cx, |a, b| a & b),
        Portable::Or => binary(cx, |a, b| a | b),
        Portable::Xor => binary(cx, |a, b| a ^ b),
        // A count outside the limb is refused when the function is checked.
        Portable::Shl => binary(cx, |a, count| a << (count & 63)),
        Portable::Shr => binary(cx, |a, count| a >> (count & 63)),
        Portable::Rotate => {
            let (value, count) = (cx.get(1)?, cx.get(2)? as u32 % bits);
            let high = value.checked_shl(bits - count).unwrap_or(0);
            cx.set(0, value >> count | high)
        }
        Portable::SwapBytes => {
            let value = cx.get(1)?;
            cx.set(0, value.swap_bytes() >> (64 - bits))
        }
    }
}

/// dst := operation(a, b), cut to the limb.
fn binary(cx: &mut Context<'_, '_>, operation: fn(u64, u64) -> u64) -> Result<(), Fault> {
    let value = operation(cx.get(1)?, cx.get(2)?);
    cx.set(0, value)
}
