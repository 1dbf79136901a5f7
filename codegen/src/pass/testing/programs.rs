//! A maker of random programs.

use super::scramble;
use crate::ir::typed::{Gpr, Mmx, Place, Ymm};
use crate::ir::*;
use crate::isa::VectorEncoding;
use crate::isa::row::{CO, RAX, RCX, RDX};
use proptest::prelude::*;

/// One random step of a program; the numbers choose among what there is.
#[derive(Clone, Copy, Debug)]
pub(in crate::pass) struct Act {
    kind: u8,
    a: u8,
    b: u8,
    c: u8,
}

/// A piece of a random program.
#[derive(Clone, Debug)]
pub(in crate::pass) enum Piece {
    /// A step.
    Act(Act),
    /// A loop of that many trips, flag-free or not.
    Loop(u8, bool, Vec<Piece>),
    /// A tail on a mask of a random value.
    When(u8, u8, Vec<Piece>),
}

fn act() -> impl Strategy<Value = Act> {
    (0..31_u8, any::<u8>(), any::<u8>(), any::<u8>()).prop_map(|(kind, a, b, c)| Act { kind, a, b, c })
}

/// Random pieces: mostly steps, with loops and tails.
pub(in crate::pass) fn pieces() -> impl Strategy<Value = Vec<Piece>> {
    let leaf = prop_oneof![12 => act().prop_map(Piece::Act)];
    let piece = leaf.prop_recursive(3, 120, 40, |inner| {
        prop_oneof![
            8 => act().prop_map(Piece::Act),
            1 => (1..6_u8, any::<bool>(), prop::collection::vec(inner.clone(), 0..40))
                .prop_map(|(trips, free, body)| Piece::Loop(trips, free, body)),
            1 => (any::<u8>(), 0..8_u8, prop::collection::vec(inner, 0..20))
                .prop_map(|(reg, mask, body)| Piece::When(reg, mask, body)),
        ]
    });
    prop::collection::vec(piece, 0..60)
}

/// Random straight-line steps.
pub(in crate::pass) fn straight() -> impl Strategy<Value = Vec<Piece>> {
    prop::collection::vec(act().prop_map(Piece::Act), 0..200)
}

struct Maker {
    builder: Builder,
    pool: Vec<Gpr>,
    wide: Vec<Mmx>,
    vectors: Vec<Ymm>,
    /// How vector instructions are encoded.
    encoding: VectorEncoding,
    pointers: [Gpr; 3],
    most: usize,
    rcx_taken: bool,
}

impl Maker {
    fn pick(&self, choice: u8) -> Gpr {
        self.pool[usize::from(choice) % self.pool.len()]
    }

    /// A value to write: a new one while there is room, else an old one.
    fn target(&mut self, choice: u8) -> Gpr {
        if self.pool.len() < self.most && choice.is_multiple_of(2) {
            let reg = self.builder.gpr();
            self.pool.push(reg);
            return reg;
        }
        self.pick(choice)
    }

    fn place(&self, choice: u8) -> Place {
        let pointer = choice % 3;
        self.builder.at(pointer, self.pointers[usize::from(pointer)], i32::from(choice / 3 % 12) * 4)
    }

    fn act(&mut self, Act { kind, a, b, c }: Act) {
        let (x, y, z) = (self.pick(a), self.pick(b), self.pick(c));
        let place = self.place(c);
        match kind {
            0 | 1 => {
                let to = self.target(a);
                self.builder.load(to, place);
            }
            2 => self.builder.store(place, x),
            3 => self.builder.add(x, y),
            4 | 5 => self.builder.adc(x, y),
            6 | 7 => self.builder.adcx(x, y),
            8 | 9 => self.builder.adox(x, y),
            10 => self.builder.sub(x, y),
            11 => self.builder.sbb(x, y),
            12 => self.builder.xor(x, y),
            13 => {
                let (lo, hi) = (self.builder.pinned(RAX), self.builder.pinned(RDX));
                self.builder.mov(lo, x);
                self.builder.mul(y, lo, hi);
                let (low, high) = (self.target(b), self.target(c));
                self.builder.mov(low, lo);
                self.builder.mov(high, hi);
            }
            14 | 15 => {
                let multiplier = self.builder.pinned(RDX);
                self.builder.mov(multiplier, x);
                let (high, low) = (self.target(b), self.target(c));
                if kind == 14 {
                    self.builder.mulx(high, low, y, multiplier);
                } else {
                    self.builder.mulx(high, low, place, multiplier);
                }
            }
            16 => self.builder.shr(x, i64::from(b % 63) + 1),
            17 => {
                let to = self.target(a);
                self.builder.mov(to, y);
            }
            18 => self.builder.load32(x, place),
            19 => self.builder.store32(place, x),
            20 => self.builder.adc_mr(place, x),
            21 => self.builder.add(x, place),
            22 => {
                let to = self.target(a);
                self.builder.xor(to, to);
            }
            23 => {
                let to = self.target(b);
                let index = Some((z.0, 1 << (a % 4)));
                self.builder.lea(to, Place(Mem { space: Space::Nowhere, base: y.0, index, disp: a.into() }));
            }
            24 => {
                for pointer in 0..2 {
                    self.builder.advance(pointer, self.pointers[usize::from(pointer)], 8);
                }
            }
            25 => self.builder.inc(x),
            26 => {
                let to = self.target(a);
                self.builder.mov_imm(to, scramble(c.into()) as i64);
            }
            27 => self.builder.mov32(x, y),
            28 => self.wide(a, b, c, place),
            _ => self.vector(a, b, c, place),
        }
    }

    fn wide(&mut self, a: u8, b: u8, c: u8, place: Place) {
        if self.wide.is_empty() {
            return;
        }
        let pick = |choice: u8| self.wide[usize::from(choice) % self.wide.len()];
        let (x, y, gpr) = (pick(a), pick(b), self.pick(c));
        match c % 8 {
            0 => self.builder.movd_in(x, gpr),
            1 => self.builder.movd_out(gpr, x),
            2 => self.builder.movq_mm(x, y),
            3 => self.builder.movq_load(x, place),
            4 => self.builder.movq_store(place, x),
            5 => self.builder.pmuludq_mm(x, y),
            6 => self.builder.paddq_mm(x, y),
            _ => self.builder.psrlq_mm(x, i64::from(b % 63) + 1),
        }
    }

    fn vector(&mut self, a: u8, b: u8, c: u8, place: Place) {
        if self.vectors.is_empty() {
            return;
        }
        let pick = |choice: u8| self.vectors[usize::from(choice) % self.vectors.len()];
        let (x, y, gpr) = (pick(a), pick(b), self.pick(c));
        if self.encoding == VectorEncoding::Vex {
            return self.vex(c, x, y, gpr, place);
        }
        let (x, y) = (x.low(), y.low());
        match c % 14 {
            0 => self.builder.movd_in_x(x, gpr),
            1 => self.builder.movd_out_x(gpr, x),
            2 => self.builder.movq_in_x(x, gpr),
            3 => self.builder.movq_out_x(gpr, x),
            4 => self.builder.movd_store_x(place, x),
            5 => self.builder.movq_load_x(x, place),
            6 => self.builder.movdqa_x(x, y),
            7 => self.builder.movdqu_load(x, place),
            8 => self.builder.movdqu_store(place, x),
            9 => self.builder.pmuludq_x(x, y),
            10 => self.builder.paddq_x(x, y),
            11 => self.builder.psubq_x(x, y),
            12 => self.builder.pxor_x(x, y),
            _ => self.builder.pslldq(x, i64::from(b % 15) + 1),
        }
    }

    fn vex(&mut self, choice: u8, x: Ymm, y: Ymm, gpr: Gpr, place: Place) {
        match choice % 12 {
            0 => self.builder.vmovd_in_x(x.low(), gpr),
            1 => self.builder.vmovq_out_x(gpr, x.low()),
            2 => self.builder.vmovdqa_x(x.low(), y.low()),
            3 | 4 => self.builder.vmovdqa_y(x, y),
            5 => self.builder.vmovdqu_load_x(x.low(), place),
            6 => self.builder.vmovdqu_load_y(x, place),
            7 => self.builder.vmovdqu_store_y(place, x),
            8 => self.builder.vpmuludq_y(x, x, y),
            9 => self.builder.vpaddq_y(x, y, place),
            10 => self.builder.vpaddq_x(x.low(), y.low(), x.low()),
            _ => self.builder.vpxor_y(x, y, y),
        }
    }

    fn with<T>(&mut self, builder: &mut Builder, work: impl FnOnce(&mut Maker) -> T) -> T {
        std::mem::swap(&mut self.builder, builder);
        let out = work(self);
        std::mem::swap(&mut self.builder, builder);
        out
    }

    fn pieces(&mut self, pieces: &[Piece]) {
        for piece in pieces {
            match piece {
                Piece::Act(act) => self.act(*act),
                Piece::Loop(trips, free, body) => {
                    let free = *free && !self.rcx_taken;
                    let counter = if free { self.builder.pinned(RCX) } else { self.builder.gpr() };
                    self.builder.mov_imm(counter, i64::from(*trips));
                    let mut own = std::mem::replace(&mut self.builder, Builder::new("", 64));
                    let taken = self.rcx_taken;
                    self.rcx_taken |= free;
                    let inside = |builder: &mut Builder| self.with(builder, |maker| maker.pieces(body));
                    if free {
                        own.counted_flag_free(counter, CO, inside);
                    } else {
                        own.counted(counter, inside);
                    }
                    self.rcx_taken = taken;
                    self.builder = own;
                }
                Piece::When(reg, mask, body) => {
                    let tested = self.pick(*reg);
                    let (pool, wide, vectors) = (self.pool.len(), self.wide.len(), self.vectors.len());
                    let mut own = std::mem::replace(&mut self.builder, Builder::new("", 64));
                    let inside = |builder: &mut Builder| self.with(builder, |maker| maker.pieces(body));
                    if *mask == 0 {
                        own.when_nonzero(tested, inside);
                    } else {
                        own.when_bits(tested, i32::from(*mask), inside);
                    }
                    self.builder = own;
                    // What only the tail makes is nothing when it is skipped.
                    self.pool.truncate(pool);
                    self.wide.truncate(wide);
                    self.vectors.truncate(vectors);
                }
            }
        }
    }
}

/// Pointer parameter.
pub(in crate::pass) fn pointer(cursor: u8) -> ParameterKind {
    ParameterKind::Pointer { element_bytes: 8, length: Length::of(3), reads: true, writes: true, cursor }
}

/// Builds a random program with `live` values from the start to the end, `wide` of them in MMX registers and twice as many
/// in vector registers, of 128 bits if `wide` is even and of 256 if it is odd: r, a (may be r), b, n, w, v.
pub(in crate::pass) fn program(live: usize, wide: usize, limb_bits: u32, body: &[Piece]) -> Func<Virtual> {
    let mut builder = Builder::new("random", limb_bits);
    let r = builder.parameter("r", pointer(0), true, &[]);
    let a = builder.parameter("a", pointer(0), true, &[0]);
    let b = builder.parameter("b", pointer(1), true, &[]);
    let n = builder.parameter("n", ParameterKind::Count { min: 0, max: 9 }, false, &[]);
    let w = builder.parameter("w", ParameterKind::Value { bits: 64 }, true, &[]);
    let v = builder.parameter("v", ParameterKind::Value { bits: 64 }, true, &[]);
    let mut pool = vec![w, n, v];
    pool.truncate(live.max(1));
    for index in 3..live {
        let reg = builder.gpr();
        let place = builder.at(1, a, 8 * index as i32);
        builder.load(reg, place);
        pool.push(reg);
    }
    let mmx: Vec<Mmx> = (0..wide).map(|_| builder.mmx()).collect();
    for (index, reg) in mmx.iter().enumerate() {
        let place = builder.at(0, r, 8 * index as i32);
        builder.movq_load(*reg, place);
    }
    let encoding = if wide % 2 == 1 { VectorEncoding::Vex } else { VectorEncoding::Legacy };
    let vectors: Vec<Ymm> = (0..2 * wide).map(|_| builder.ymm()).collect();
    for (index, reg) in vectors.iter().enumerate() {
        let place = builder.at(0, r, 4 * index as i32);
        match encoding {
            VectorEncoding::Legacy => builder.movdqu_load(reg.low(), place),
            VectorEncoding::Vex => builder.vmovdqu_load_y(*reg, place),
        }
    }
    let most = live.max(4) + 4;
    let pointers = [r, a, b];
    let mut maker = Maker { builder, pool, wide: mmx, vectors, encoding, pointers, most, rcx_taken: false };
    maker.pieces(body);
    let Maker { mut builder, pool, wide, vectors, .. } = maker;
    for (index, reg) in pool.iter().enumerate() {
        let place = builder.at(2, b, 0x1000 + 8 * index as i32);
        builder.store(place, *reg);
    }
    for (index, reg) in wide.iter().enumerate() {
        let place = builder.at(2, b, 0x2000 + 8 * index as i32);
        builder.movq_store(place, *reg);
    }
    for (index, reg) in vectors.iter().enumerate() {
        let place = builder.at(2, b, 0x4000 + 32 * index as i32);
        match encoding {
            VectorEncoding::Legacy => builder.movdqu_store(place, reg.low()),
            VectorEncoding::Vex => builder.vmovdqu_store_y(place, *reg),
        }
    }
    if encoding == VectorEncoding::Vex {
        builder.vzeroupper();
    }
    if !wide.is_empty() {
        builder.emms();
    }
    // Two pointers leave too, so that they live throughout.
    let place = builder.at(2, b, 0x3000);
    builder.store(place, r);
    let place = builder.at(2, b, 0x3008);
    builder.store(place, a);
    builder.finish(pool.last().map(|reg| reg.0), None)
}
