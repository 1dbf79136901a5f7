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
    }
}
