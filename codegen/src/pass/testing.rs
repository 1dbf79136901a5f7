//! For the tests of the passes: an evaluator of both stages, and random programs to run in it.

mod machine;
mod programs;

pub(super) use machine::{run_physical, run_virtual};
pub(super) use programs::{pieces, pointer, program, straight};

use crate::ir::{Func, Stage};
use crate::isa::Op;
use crate::isa::avx::Avx;
use crate::isa::base::Base;
use crate::isa::mmx_sse2::MmxSse2;
use crate::isa::sse2::Sse2;

/// Scrambles a number: the contents of memory and registers that nobody wrote.
pub(super) fn scramble(x: u64) -> u64 {
    let x = (x ^ x >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ x >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^ x >> 32
}

/// Arguments for such a program, with `a` apart from `r` or equal to it.
pub(super) fn arguments(seed: u64, equal: bool) -> [u64; 6] {
    let (r, a) = (0x10_0000, if equal { 0x10_0000 } else { 0x20_0000 });
    [r, a, 0x30_0000, seed % 10, scramble(seed), scramble(seed + 1)]
}

/// The number of instructions other than moves, which allocation may neither add nor drop.
pub(super) fn work<S: Stage>(func: &Func<S>) -> usize {
    let moves = [Base::Mov, Base::Load, Base::Store].map(Op::Base);
    let wide = [MmxSse2::MovqMm, MmxSse2::MovqLoad, MmxSse2::MovqStore].map(Op::MmxSse2);
    let vector = [Sse2::MovdqaXmm, Sse2::MovdquLoad, Sse2::MovdquStore].map(Op::Sse2);
    let vex =
        [Avx::VmovdqaX, Avx::VmovdquLoadX, Avx::VmovdquStoreX, Avx::VmovdqaY, Avx::VmovdquLoadY, Avx::VmovdquStoreY];
    let vex = vex.map(Op::Avx);
    let moves: Vec<Op> = moves.into_iter().chain(wide).chain(vector).chain(vex).collect();
    func.instructions().iter().filter(|inst| !moves.contains(&inst.op)).count()
}
