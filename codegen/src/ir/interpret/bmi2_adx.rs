//! What BMI2 and ADX do. Source: Intel SDM volume 2.

use super::fault::Fault;
use super::machine::{Context, Flag};
use crate::isa::bmi2_adx::Bmi2Adx;

pub(super) fn execute(op: Bmi2Adx, cx: &mut Context<'_, '_>) -> Result<(), Fault> {
    match op {
        Bmi2Adx::Mulx => {
            let product = u128::from(cx.get(2)?) * u128::from(cx.get(3)?);
            // The high half last: it stays when both halves go to one register.
            cx.set(1, product as u64)?;
            cx.set(0, (product >> 64) as u64)
        }
        Bmi2Adx::Rorx => counted(cx, u64::rotate_right),
        Bmi2Adx::Shlx => counted(cx, |value, count| value << count),
        Bmi2Adx::Shrx => counted(cx, |value, count| value >> count),
        Bmi2Adx::Adcx => add(cx, Flag::Carry),
        Bmi2Adx::Adox => add(cx, Flag::Overflow),
    }
}

fn counted(cx: &mut Context<'_, '_>, shifted: impl Fn(u64, u32) -> u64) -> Result<(), Fault> {
    let (value, count) = (cx.get(1)?, (cx.get(2)? & 63) as u32);
    cx.set(0, shifted(value, count))
}

/// A sum whose carry goes in and out by one flag alone.
fn add(cx: &mut Context<'_, '_>, chain: Flag) -> Result<(), Fault> {
    let carry = cx.flag(chain)?;
    let sum = u128::from(cx.get(0)?) + u128::from(cx.get(1)?) + u128::from(carry);
    cx.set(0, sum as u64)?;
    cx.set_flag(chain, Some(sum >> 64 != 0));
    Ok(())
}
