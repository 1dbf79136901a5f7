//! What AVX does. Source: Intel SDM volume 2. The machine tracks `vzeroupper`.

use super::fault::Fault;
use super::machine::Context;
use super::vector::on_both_widths;
use crate::isa::avx::Avx;

pub(super) fn execute(op: Avx, cx: &mut Context<'_, '_>) -> Result<(), Fault> {
    on_both_widths!(Avx, op, cx, {
        // Cut and zero-extended by the kinds of the operands.
        Avx::VmovdIn
        | Avx::VmovdOut
        | Avx::VmovdStore
        | Avx::VmovqIn
        | Avx::VmovqOut
        | Avx::VmovqLoad
        | Avx::VmovqStore => {
            let value = cx.get(1)?;
            cx.set(0, value)
        }
        Avx::Vpinsrq => {
            let (mut lanes, value, lane) = (cx.lanes(1)?, cx.get(2)?, cx.get(3)? & 1);
            lanes[lane as usize] = value;
            cx.set_lanes(0, lanes)
        }
        Avx::Vpextrq => {
            let (lanes, lane) = (cx.lanes(1)?, cx.get(2)? & 1);
            cx.set(0, lanes[lane as usize])
        }
        Avx::VmovdqaX
        | Avx::VmovdquLoadX
        | Avx::VmovdquStoreX
        | Avx::VmovdqaY
        | Avx::VmovdquLoadY
        | Avx::VmovdquStoreY => copy(cx),
        Avx::Vzeroupper => {
            cx.clear_upper_halves();
            Ok(())
        }
    })
}
