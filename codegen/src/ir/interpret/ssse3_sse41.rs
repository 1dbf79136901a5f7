//! What SSSE3 and SSE4.1 do. Source: Intel SDM volume 2.

use super::fault::Fault;
use super::machine::Context;
use super::vector::{blocks, picked};
use crate::isa::ssse3_sse41::Ssse3Sse41;

pub(super) fn execute(op: Ssse3Sse41, cx: &mut Context<'_, '_>) -> Result<(), Fault> {
    match op {
        Ssse3Sse41::Pshufb => {
            let lanes = blocks(cx.lanes(0)?, cx.lanes(1)?, picked);
            cx.set_lanes(0, lanes)
        }
        Ssse3Sse41::Pinsrq => {
            let (mut lanes, value, lane) = (cx.lanes(0)?, cx.get(1)?, cx.get(2)? & 1);
            lanes[lane as usize] = value;
            cx.set_lanes(0, lanes)
        }
        Ssse3Sse41::Pextrq => {
            let (lanes, lane) = (cx.lanes(1)?, cx.get(2)? & 1);
            cx.set(0, lanes[lane as usize])
        }
    }
}
