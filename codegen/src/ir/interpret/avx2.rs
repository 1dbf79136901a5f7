//! What AVX2 does. Source: Intel SDM volume 2.

use super::fault::Fault;
use super::machine::{Context, Lanes};
use super::vector::on_both_widths;
use crate::isa::avx2::Avx2;

pub(super) fn execute(op: Avx2, cx: &mut Context<'_, '_>) -> Result<(), Fault> {
    on_both_widths!(Avx2, op, cx, {
        Avx2::VpblenddX | Avx2::VpblenddY => {
            let from = cx.get(3)?;
            // Each bit of the selector is a lane of 32 bits.
            let mask = [0, 2, 4, 6].map(|bit| {
                let all = |bit: u64| all_if(from >> bit & 1 != 0) & 0xffff_ffff;
                all(bit) | all(bit + 1) << 32
            });
            of_two(cx, |a, b| qwords(qwords(a, mask, |a, mask| a & !mask), qwords(b, mask, |b, mask| b & mask), |a, b| a | b))
        }
        Avx2::VpbroadcastdX | Avx2::VpbroadcastdY => {
            let value = cx.get(1)?;
            cx.set_lanes(0, [value | value << 32; 4])
        }
        Avx2::VpbroadcastqX | Avx2::VpbroadcastqY => {
            let value = cx.get(1)?;
            cx.set_lanes(0, [value; 4])
        }
        Avx2::Vbroadcasti128 => {
            let [low, high, ..] = cx.lanes(1)?;
            cx.set_lanes(0, [low, high, low, high])
        }
        Avx2::Vinserti128 => {
            let (a, src, half) = (cx.lanes(1)?, cx.lanes(2)?, cx.get(3)? & 1);
            let lanes = if half == 0 { [src[0], src[1], a[2], a[3]] } else { [a[0], a[1], src[0], src[1]] };
            cx.set_lanes(0, lanes)
        }
        Avx2::Vextracti128 => {
            let (src, half) = (cx.lanes(1)?, cx.get(2)? & 1);
            let low = 2 * half as usize;
            cx.set_lanes(0, [src[low], src[low + 1], 0, 0])
        }
        Avx2::Vperm2i128 => {
            let (a, b, from) = (cx.lanes(1)?, cx.lanes(2)?, cx.get(3)?);
            let ([low, high], [low2, high2]) = (half(a, b, from), half(a, b, from >> 4));
            cx.set_lanes(0, [low, high, low2, high2])
        }
        Avx2::Vpermq => {
            let (src, from) = (cx.lanes(1)?, cx.get(2)?);
            cx.set_lanes(0, [0, 2, 4, 6].map(|shift| src[(from >> shift & 3) as usize]))
        }
    })
}

/// One of the four halves of `a` and `b`, or 0.
fn half(a: Lanes, b: Lanes, from: u64) -> [u64; 2] {
    let source = if from & 2 == 0 { a } else { b };
    let low = 2 * (from & 1) as usize;
    if from & 8 == 0 { [source[low], source[low + 1]] } else { [0, 0] }
}
