//! What MMX and its SSE2 additions do. Source: Intel SDM volume 2. The machine tracks `emms`.

use super::fault::Fault;
use super::machine::Context;
use crate::isa::mmx_sse2::MmxSse2;

pub(super) fn execute(op: MmxSse2, cx: &mut Context<'_, '_>) -> Result<(), Fault> {
    match op {
        // 32-bit operands are cut and zero-extended by their kind.
        MmxSse2::MovdIn
        | MmxSse2::MovdOut
        | MmxSse2::MovdStore
        | MmxSse2::MovqMm
        | MmxSse2::MovqLoad
        | MmxSse2::MovqStore => {
            let value = cx.get(1)?;
            cx.set(0, value)
        }
        MmxSse2::Pmuludq => combined(cx, |a, b| (a & 0xffff_ffff) * (b & 0xffff_ffff)),
        MmxSse2::Paddq => combined(cx, u64::wrapping_add),
        MmxSse2::Psubq => combined(cx, u64::wrapping_sub),
        MmxSse2::Pand => combined(cx, |a, b| a & b),
        MmxSse2::Por => combined(cx, |a, b| a | b),
        MmxSse2::Pxor => combined(cx, |a, b| a ^ b),
        // Not masked: a count over 63 leaves 0.
        MmxSse2::Psrlq => combined(cx, |a, count| if count > 63 { 0 } else { a >> count }),
        MmxSse2::Psllq => combined(cx, |a, count| if count > 63 { 0 } else { a << count }),
        MmxSse2::Emms => Ok(()),
    }
}

fn combined(cx: &mut Context<'_, '_>, combine: impl Fn(u64, u64) -> u64) -> Result<(), Fault> {
    let (a, b) = (cx.get(0)?, cx.get(1)?);
    cx.set(0, combine(a, b))
}
