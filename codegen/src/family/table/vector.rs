//! Registers of 128 and of 256 bits: what reads gather in, and what transposes limbs of several entries.

use super::lanes::{Lanes, numbers_of_step};
use super::store::{Rows, Weave, limb};
use super::{LIMB, VECTOR, at};
use crate::family::{Contract, Lowering};
use crate::ir::Builder;
use crate::ir::typed::{Gpr, Place, Xmm, Ymm};

/// For `pshufd`: the halves change places.
const SWAP_HALVES: i32 = 0b01_00_11_10;

/// What the two instruction sets have in common. Registers are written in place.
pub(super) trait Vector {
    type Reg: Copy;
    const BYTES: u32;

    fn zero(b: &mut Builder) -> Self::Reg;
    fn copy(b: &mut Builder, from: Self::Reg) -> Self::Reg;
    /// A constant of the pool.
    fn load_constant(b: &mut Builder, from: Place) -> Self::Reg;
    fn load(b: &mut Builder, from: Place) -> Self::Reg;
    fn store(b: &mut Builder, to: Place, from: Self::Reg);
    /// The low dword in every dword.
    fn spread(b: &mut Builder, from: Gpr) -> Self::Reg;
    fn xor(b: &mut Builder, to: Self::Reg, other: Self::Reg);
    fn and_constant(b: &mut Builder, to: Self::Reg, constant: Place);
    fn add_bytes(b: &mut Builder, to: Self::Reg, constant: Place);
    fn add_dwords(b: &mut Builder, to: Self::Reg, constant: Place);
    fn equal_dwords(b: &mut Builder, to: Self::Reg, other: Self::Reg);
    /// Each qword 2^-by.
    fn shift_down(b: &mut Builder, to: Self::Reg, by: i64);
    fn gather(b: &mut Builder, found: Self::Reg, mask: Self::Reg, from: Place);
    /// The dwords of two registers by turns, from the low and from the high half of each 128 bits; both in one.
    fn join_dwords(b: &mut Builder, low: Self::Reg, high: Self::Reg) -> Self::Reg;
    /// The same of qwords.
    fn join_qwords(b: &mut Builder, low: Self::Reg, high: Self::Reg) -> Self::Reg;
    /// The low 16 bytes := what any 16 bytes have.
    fn fold(b: &mut Builder, from: Self::Reg) -> Xmm;
    /// The low 8 bytes := what any 8 bytes have.
    fn fold_halves(b: &mut Builder, from: Xmm) -> Xmm;
    fn store_16(b: &mut Builder, to: Place, from: Xmm);
    fn store_8(b: &mut Builder, to: Place, from: Xmm);
    fn low_qword(b: &mut Builder, from: Xmm) -> Gpr;
    fn end(b: &mut Builder);
}

/// The wanted number in every lane, and the place of the pool.
pub(super) struct Search<V: Vector> {
    wanted: V::Reg,
    pool: Gpr,
}

impl<V: Vector> Search<V> {
    /// The index, cut so that it fits the lanes: one that is wider than a lane without its sign becomes the largest that fits,
    /// which no entry has.
    fn new(b: &mut Builder, index: Gpr, unit: u32) -> Search<V> {
        let wide = b.gpr();
        b.note("an index that does not fit becomes one that fits and that no entry has");
        b.mov(wide, index);
        b.shr(wide, if unit == 1 { 7 } else { 31 });
        b.neg(wide);
        b.sbb(wide, wide);
        b.or(index, wide);
        if unit == 1 {
            b.and_ri(index, 0x7f);
            let everywhere = b.gpr();
            b.mov_imm32(everywhere, 0x0101_0101);
            b.imul(index, everywhere);
        }
        let wanted = V::spread(b, index);
        let pool = b.gpr();
        b.pool(pool);
        Search { wanted, pool }
    }

    /// A constant of the pool, which says for each byte of a register what it is.
    fn constant(&self, b: &mut Builder, byte: impl Fn(u32) -> u8) -> Place {
        let bytes: Vec<u8> = (0..V::BYTES).map(byte).collect();
        let offset = b.constant(&bytes);
        b.pooled(self.pool, offset)
    }

    /// A constant with a number in each lane that the masks are made of: a byte, or a dword.
    fn numbers(&self, b: &mut Builder, unit: u32, number: impl Fn(u32) -> u8) -> Place {
        let lane = if unit == 1 { 1 } else { 4 };
        self.constant(b, |byte| if byte % lane == 0 { number(byte / unit) } else { 0 })
    }

    fn first(&self, b: &mut Builder, unit: u32) -> V::Reg {
        let numbers = self.numbers(b, unit, |entry| entry as u8);
        V::load_constant(b, numbers)
    }

    fn mask(&self, b: &mut Builder, unit: u32, numbers: V::Reg) -> V::Reg {
        let mask = V::copy(b, numbers);
        let step = numbers_of_step(V::BYTES, unit);
        let step = self.numbers(b, unit, |_| step);
        if unit == 1 {
            b.note("bytes below 128: those that differ get a sign, then a 1, then 0; the others stay 0, then all ones");
            V::xor(b, mask, self.wanted);
            for (constant, and) in [(0x7f, false), (0x80, true)] {
                let constant = self.constant(b, |_| constant);
                if and { V::and_constant(b, mask, constant) } else { V::add_bytes(b, mask, constant) }
            }
            V::shift_down(b, mask, 7);
            let ones = self.constant(b, |_| 0xff);
            V::add_bytes(b, mask, ones);
            V::add_bytes(b, numbers, step);
        } else {
            V::equal_dwords(b, mask, self.wanted);
            V::add_dwords(b, numbers, step);
        }
        mask
    }

    fn limbs(b: &mut Builder, unit: u32, found: &[V::Reg], to: (u8, Gpr)) {
        match unit {
            VECTOR => {
                for (found, place) in found.iter().zip((0..).step_by(V::BYTES as usize)) {
                    let to = at(b, to, place);
                    V::store(b, to, *found);
                }
            }
            LIMB => V::qwords(b, found, to),
            4 => {
                let limbs: Vec<V::Reg> = found.chunks(2).map(|rows| V::join_dwords(b, rows[0], rows[1])).collect();
                V::qwords(b, &limbs, to);
            }
            _ => {
                b.note("one byte of each word is not 0: the sum of all of them is in the highest byte of this product");
                let sums = b.gpr();
                b.mov_imm(sums, 0x0101_0101_0101_0101_i64);
                for (rows, place) in found.chunks(LIMB as usize).zip((0..).step_by(LIMB as usize)) {
                    let limb = b.gpr();
                    b.mov_imm32(limb, 0);
                    for (row, low) in rows.iter().zip((0..).step_by(8)) {
                        let word = V::fold(b, *row);
                        let word = V::fold_halves(b, word);
                        let byte = V::low_qword(b, word);
                        b.imul(byte, sums);
                        b.shr(byte, 56);
                        if low > 0 {
                            b.shl(byte, low);
                        }
                        b.or(limb, byte);
                    }
                    let to = at(b, to, place);
                    b.store(to, limb);
                }
            }
        }
    }
}

/// Limbs from registers with a limb in some qword, and zeros.
trait Qwords: Vector {
    fn qwords(b: &mut Builder, found: &[Self::Reg], to: (u8, Gpr)) {
        for (limbs, place) in found.chunks(2).zip((0..).step_by(2 * LIMB as usize)) {
            let to = at(b, to, place);
            match limbs {
                [low, high] => {
                    let joined = Self::join_qwords(b, *low, *high);
                    let both = Self::fold(b, joined);
                    Self::store_16(b, to, both);
                }
                _ => {
                    let limb = Self::fold(b, limbs[0]);
                    let limb = Self::fold_halves(b, limb);
                    Self::store_8(b, to, limb);
                }
            }
        }
    }
}
impl<V: Vector> Qwords for V {}

impl<V: Vector> Lanes for Search<V> {
    type Reg = V::Reg;
    const BYTES: u32 = V::BYTES;

    fn begin(b: &mut Builder, contract: &Contract, lowering: &Lowering<'_>, index: usize, unit: u32) -> Search<V> {
        let index = lowering.declare(b, contract, index, 0);
        Search::new(b, index, unit)
    }

    fn block(unit: u32) -> u32 {
        // Four registers gather, where a limb has so few rows: eight were slower on Zen 3 in every layout.
        match unit {
            1 => 1,
            4 => 2,
            LIMB => 4,
            _ => V::BYTES / 2,
        }
    }

    fn first(&self, b: &mut Builder, unit: u32) -> V::Reg {
        Search::first(self, b, unit)
    }

    fn mask(&self, b: &mut Builder, unit: u32, numbers: V::Reg) -> V::Reg {
        Search::mask(self, b, unit, numbers)
    }

    fn zero(&self, b: &mut Builder) -> V::Reg {
        V::zero(b)
    }

    fn gather(&self, b: &mut Builder, found: V::Reg, mask: V::Reg, from: Place) {
        V::gather(b, found, mask, from);
    }

    fn limbs(&self, b: &mut Builder, unit: u32, found: &[V::Reg], to: (u8, Gpr)) {
        Search::<V>::limbs(b, unit, found, to);
    }

    fn end(b: &mut Builder) {
        V::end(b);
    }
}

/// SSE2, whose memory operands want an alignment that limbs do not have.
pub(super) struct Sse2;

impl Vector for Sse2 {
    type Reg = Xmm;
    const BYTES: u32 = 16;

    fn zero(b: &mut Builder) -> Xmm {
        let to = b.xmm();
        b.pxor_x(to, to);
        to
    }
    fn copy(b: &mut Builder, from: Xmm) -> Xmm {
        let to = b.xmm();
        b.movdqa_x(to, from);
        to
    }
    fn load_constant(b: &mut Builder, from: Place) -> Xmm {
        let to = b.xmm();
        b.movdqa_load(to, from);
        to
    }
    fn load(b: &mut Builder, from: Place) -> Xmm {
        let to = b.xmm();
        b.movdqu_load(to, from);
        to
    }
    fn store(b: &mut Builder, to: Place, from: Xmm) {
        b.movdqu_store(to, from);
    }
    fn spread(b: &mut Builder, from: Gpr) -> Xmm {
        let to = b.xmm();
        b.movd_in_x(to, from);
        b.pshufd(to, to, 0);
        to
    }
    fn xor(b: &mut Builder, to: Xmm, other: Xmm) {
        b.pxor_x(to, other);
    }
    fn and_constant(b: &mut Builder, to: Xmm, constant: Place) {
        b.pand_x(to, constant);
    }
    fn add_bytes(b: &mut Builder, to: Xmm, constant: Place) {
        b.paddb_x(to, constant);
    }
    fn add_dwords(b: &mut Builder, to: Xmm, constant: Place) {
        b.paddd_x(to, constant);
    }
    fn equal_dwords(b: &mut Builder, to: Xmm, other: Xmm) {
        b.pcmpeqd_x(to, other);
    }
    fn shift_down(b: &mut Builder, to: Xmm, by: i64) {
        b.psrlq_x(to, by);
    }
    fn gather(b: &mut Builder, found: Xmm, mask: Xmm, from: Place) {
        let held = Self::load(b, from);
        b.pand_x(held, mask);
        b.por_x(found, held);
    }
    fn join_dwords(b: &mut Builder, low: Xmm, high: Xmm) -> Xmm {
        let joined = Self::copy(b, low);
        b.punpckhdq(joined, high);
        b.punpckldq(low, high);
        b.por_x(joined, low);
        joined
    }
    fn join_qwords(b: &mut Builder, low: Xmm, high: Xmm) -> Xmm {
        let joined = Self::copy(b, low);
        b.punpckhqdq(joined, high);
        b.punpcklqdq(low, high);
        b.por_x(joined, low);
        joined
    }
    fn fold(_: &mut Builder, from: Xmm) -> Xmm {
        from
    }
    fn fold_halves(b: &mut Builder, from: Xmm) -> Xmm {
        let folded = b.xmm();
        b.pshufd(folded, from, SWAP_HALVES);
        b.por_x(folded, from);
        folded
    }
    fn store_16(b: &mut Builder, to: Place, from: Xmm) {
        b.movdqu_store(to, from);
    }
    fn store_8(b: &mut Builder, to: Place, from: Xmm) {
        b.movq_store_x(to, from);
    }
    fn low_qword(b: &mut Builder, from: Xmm) -> Gpr {
        let to = b.gpr();
        b.movq_out_x(to, from);
        to
    }
    fn end(_: &mut Builder) {}
}

/// AVX2.
pub(super) struct Avx2;

impl Vector for Avx2 {
    type Reg = Ymm;
    const BYTES: u32 = 32;

    fn zero(b: &mut Builder) -> Ymm {
        let to = b.ymm();
        b.vpxor_y(to, to, to);
        to
    }
    fn copy(b: &mut Builder, from: Ymm) -> Ymm {
        let to = b.ymm();
        b.vmovdqa_y(to, from);
        to
    }
    fn load_constant(b: &mut Builder, from: Place) -> Ymm {
        Self::load(b, from)
    }
    fn load(b: &mut Builder, from: Place) -> Ymm {
        let to = b.ymm();
        b.vmovdqu_load_y(to, from);
        to
    }
    fn store(b: &mut Builder, to: Place, from: Ymm) {
        b.vmovdqu_store_y(to, from);
    }
    fn spread(b: &mut Builder, from: Gpr) -> Ymm {
        let to = b.ymm();
        b.vmovd_in_x(to.low(), from);
        b.vpbroadcastd_y(to, to.low());
        to
    }
    fn xor(b: &mut Builder, to: Ymm, other: Ymm) {
        b.vpxor_y(to, to, other);
    }
    fn and_constant(b: &mut Builder, to: Ymm, constant: Place) {
        b.vpand_y(to, to, constant);
    }
    fn add_bytes(b: &mut Builder, to: Ymm, constant: Place) {
        b.vpaddb_y(to, to, constant);
    }
    fn add_dwords(b: &mut Builder, to: Ymm, constant: Place) {
        b.vpaddd_y(to, to, constant);
    }
    fn equal_dwords(b: &mut Builder, to: Ymm, other: Ymm) {
        b.vpcmpeqd_y(to, to, other);
    }
    fn shift_down(b: &mut Builder, to: Ymm, by: i64) {
        b.vpsrlq_y(to, to, by);
    }
    fn gather(b: &mut Builder, found: Ymm, mask: Ymm, from: Place) {
        let kept = b.ymm();
        b.vpand_y(kept, mask, from);
        b.vpor_y(found, found, kept);
    }
    fn join_dwords(b: &mut Builder, low: Ymm, high: Ymm) -> Ymm {
        let (one, other) = (b.ymm(), b.ymm());
        b.vpunpckldq_y(one, low, high);
        b.vpunpckhdq_y(other, low, high);
        b.vpor_y(one, one, other);
        one
    }
    fn join_qwords(b: &mut Builder, low: Ymm, high: Ymm) -> Ymm {
        let (one, other) = (b.ymm(), b.ymm());
        b.vpunpcklqdq_y(one, low, high);
        b.vpunpckhqdq_y(other, low, high);
        b.vpor_y(one, one, other);
        one
    }
    fn fold(b: &mut Builder, from: Ymm) -> Xmm {
        let folded = b.xmm();
        b.vextracti128(folded, from, 1);
        b.vpor_x(folded, folded, from.low());
        folded
    }
    fn fold_halves(b: &mut Builder, from: Xmm) -> Xmm {
        let folded = b.xmm();
        b.vpshufd_x(folded, from, SWAP_HALVES);
        b.vpor_x(folded, folded, from);
        folded
    }
    fn store_16(b: &mut Builder, to: Place, from: Xmm) {
        b.vmovdqu_store_x(to, from);
    }
    fn store_8(b: &mut Builder, to: Place, from: Xmm) {
        b.vmovq_store_x(to, from);
    }
    fn low_qword(b: &mut Builder, from: Xmm) -> Gpr {
        let to = b.gpr();
        b.vmovq_out_x(to, from);
        to
    }
    fn end(b: &mut Builder) {
        b.vzeroupper();
    }
}

/// A unit as vectors.
fn copy<V: Vector>(b: &mut Builder, limbs: u32, entry: Gpr, rows: &Rows) {
    for row in 0..limbs * LIMB / VECTOR {
        for part in (0..VECTOR).step_by(V::BYTES as usize) {
            let from = limb(b, entry, (row * VECTOR + part) / LIMB);
            let held = V::load(b, from);
            let to = rows.row(b, row, part);
            V::store(b, to, held);
        }
    }
}

/// The limbs at that place of two entries.
fn two(b: &mut Builder, entries: &[Gpr], index: u32) -> [Xmm; 2] {
    [0, 1].map(|entry| {
        let (from, to) = (limb(b, entries[entry], index), b.xmm());
        b.movq_load_x(to, from);
        to
    })
}

impl Weave for Sse2 {
    fn entries(unit: u32) -> u32 {
        match unit {
            VECTOR => 1,
            LIMB => 2,
            _ => 4,
        }
    }

    fn weave(b: &mut Builder, unit: u32, limbs: u32, entries: &[Gpr], rows: &Rows) {
        match unit {
            VECTOR => copy::<Sse2>(b, limbs, entries[0], rows),
            LIMB => {
                for index in (0..limbs).step_by(2) {
                    if index + 1 == limbs {
                        let [one, other] = two(b, entries, index);
                        b.punpcklqdq(one, other);
                        let to = rows.row(b, index, 0);
                        b.movdqu_store(to, one);
                        continue;
                    }
                    let [one, other] = [0, 1].map(|entry| {
                        let from = limb(b, entries[entry], index);
                        <Sse2 as Vector>::load(b, from)
                    });
                    let high = <Sse2 as Vector>::copy(b, one);
                    b.punpcklqdq(one, other);
                    b.punpckhqdq(high, other);
                    for (row, held) in [one, high].into_iter().zip(index..).map(|(held, row)| (row, held)) {
                        let to = rows.row(b, row, 0);
                        b.movdqu_store(to, held);
                    }
                }
            }
            4 => {
                for index in 0..limbs {
                    let [low, other] = two(b, entries, index);
                    b.punpckldq(low, other);
                    let [more, other] = two(b, &entries[2..], index);
                    b.punpckldq(more, other);
                    let high = <Sse2 as Vector>::copy(b, low);
                    b.punpcklqdq(low, more);
                    b.punpckhqdq(high, more);
                    for (half, held) in [low, high].into_iter().enumerate() {
                        let to = rows.row(b, 2 * index + half as u32, 0);
                        b.movdqu_store(to, held);
                    }
                }
            }
            _ => unreachable!("no bytes"),
        }
    }

    fn end(_: &mut Builder) {}
}

impl Weave for Avx2 {
    fn entries(unit: u32) -> u32 {
        if unit == VECTOR { 1 } else { 4 }
    }

    fn weave(b: &mut Builder, unit: u32, limbs: u32, entries: &[Gpr], rows: &Rows) {
        if unit == VECTOR {
            return copy::<Avx2>(b, limbs, entries[0], rows);
        }
        assert_eq!(unit, LIMB, "rows of limbs or vectors");
        let whole = limbs - limbs % 4;
        for index in (0..whole).step_by(4) {
            let held = [0, 1, 2, 3].map(|entry| {
                let from = limb(b, entries[entry], index);
                <Avx2 as Vector>::load(b, from)
            });
            let halves = [(held[0], held[1]), (held[2], held[3])].map(|(one, other)| {
                let (even, odd) = (b.ymm(), b.ymm());
                b.vpunpcklqdq_y(even, one, other);
                b.vpunpckhqdq_y(odd, one, other);
                [even, odd]
            });
            for row in 0..4 {
                let [low, high] = halves.map(|pair| pair[row % 2]);
                let joined = b.ymm();
                b.vperm2i128(joined, low, high, if row < 2 { 0x20 } else { 0x31 });
                let to = rows.row(b, index + row as u32, 0);
                <Avx2 as Vector>::store(b, to, joined);
            }
        }
        for index in whole..limbs {
            let pairs = [0, 2].map(|first| {
                let [one, other] = [first, first + 1].map(|entry: usize| {
                    let (from, to) = (limb(b, entries[entry], index), b.xmm());
                    b.vmovq_load_x(to, from);
                    to
                });
                let joined = b.ymm();
                b.vpunpcklqdq_x(joined.low(), one, other);
                joined
            });
            let joined = b.ymm();
            b.vinserti128(joined, pairs[0], pairs[1].low(), 1);
            let to = rows.row(b, index, 0);
            <Avx2 as Vector>::store(b, to, joined);
        }
    }

    fn end(b: &mut Builder) {
        b.vzeroupper();
    }
}
