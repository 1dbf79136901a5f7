//! Exact squares in registers. Of the products of different limbs each is made once; the sum is doubled, and the squares
//! of the limbs added.
//!
//! Products are made in L-shapes, from the inside out: with m = n - 1 - k, shape k has a_k a_j for j = k+1..m and then
//! a_i a_m for i = k+1..m-1. Their lowest limbs stand at places 2k+1, 2k+2, ... 2m-1, one after the other, so that one pair of
//! carry chains goes through a whole shape: half as many ends as with rows.

use super::block::{Sum, Work};
use super::product::Product;
use super::{Limbs, block, karatsuba};
use crate::family::{Contract, Extent, Lowering};
use crate::ir::typed::Gpr;
use crate::ir::{Builder, Func, Virtual};
use crate::isa::row::RDX;
use std::collections::BTreeMap;
use std::ops::Range;

/// r := a^2.
pub(super) fn square(contract: &Contract, lowering: &Lowering<'_>) -> Func<Virtual> {
    let mut builder = Builder::new(lowering.name, contract.limb_bits);
    let b = &mut builder;
    let Product { r, a, t, .. } = Product::declare(b, contract, lowering, None, true);
    let Extent::Exact(n) = lowering.parameters.extent else { unreachable!("only exact squares are made in registers") };
    unrolled(b, [&r, &a, &t], n, lowering.parameters.split);
    builder.finish(None, Some(n.into()))
}

/// Limbs whose products stay in registers, as far as these go.
const WIDTH: u32 = 8;

/// r := a^2 for n limbs: by halves `split` times, then in registers.
pub(super) fn unrolled(b: &mut Builder, [r, a, t]: [&Limbs; 3], n: u32, split: u32) {
    if split > 0 && n.is_multiple_of(2) && n >= 4 {
        // One difference and its square leave a quarter of the scratch: enough for halves that are not split again.
        let rest = t.at_limb(n / 2);
        return karatsuba::square(b, [r, a, t], n, &mut |b, [r, a, _]| unrolled(b, [r, a, &rest], n / 2, 0));
    }
    if n <= WIDTH || n == 2 * WIDTH {
        return direct(b, r, a, n);
    }
    // Two squares, and twice the product of the halves between them.
    let (low, high) = (n / 2, n - n / 2);
    unrolled(b, [r, a, t], low, 0);
    unrolled(b, [&r.at_limb(2 * low), &a.at_limb(low), t], high, 0);
    block::unrolled(b, [t, &a.at_limb(low), a], high, low, WIDTH);
    add_twice(b, &r.at_limb(low), t, n, high);
}

/// r := r + 2 t for n limbs, and the carry through `more` limbs above.
fn add_twice(b: &mut Builder, r: &Limbs, t: &Limbs, n: u32, more: u32) {
    let (zero, carry) = (b.gpr(), b.gpr());
    b.note("twice the product of the halves");
    b.xor32(zero, zero);
    for i in 0..n {
        let limb = b.gpr();
        b.load(limb, t.limb(b, i));
        b.adcx(limb, limb);
        b.adox(limb, r.limb(b, i));
        b.store(r.limb(b, i), limb);
    }
    b.mov_imm32(zero, 0);
    b.mov_imm32(carry, 0);
    b.adcx(carry, zero);
    b.adox(carry, zero);
    for i in 0..more {
        if i == 0 {
            b.add_mr(r.limb(b, n), carry);
        } else {
            b.adc_mr(r.limb(b, n + i), zero);
        }
    }
}

/// Limbs of the sum of products that are in registers, by their place in r.
#[derive(Default)]
struct Places(BTreeMap<u32, Gpr>);

/// r := a^2 for up to 8 limbs, or for 16, without scratch.
fn direct(b: &mut Builder, r: &Limbs, a: &Limbs, n: u32) {
    let mut places = Places::default();
    if n <= WIDTH {
        shapes(b, a, 0, n, &mut places, (n == WIDTH).then_some(r));
    } else {
        assert_eq!(n, 2 * WIDTH, "other squares are made of smaller ones");
        shapes(b, a, 0, WIDTH, &mut places, Some(r));
        b.note("the products of the halves: a block, onto the places above the first half");
        let limbs = (WIDTH..2 * WIDTH).map(|place| places.take_or_zero(b, place)).collect();
        let mut sum = Sum { limbs, work: Work::new(b) };
        for i in 0..WIDTH {
            let (by, limb) = (a.limb(b, i), r.limb(b, WIDTH + i));
            sum.rotating_row(b, &a.at_limb(WIDTH), by, limb, false);
        }
        for (place, limb) in (2 * WIDTH..).zip(&sum.limbs) {
            places.0.insert(place, *limb);
        }
        b.note("the lower half is done: it is doubled while the upper one is made");
        let carries = double(b, r, a, 0..WIDTH, n, None, &mut places);
        shapes(b, a, WIDTH, WIDTH, &mut places, None);
        double(b, r, a, WIDTH..n, n, carries, &mut places);
        return;
    }
    double(b, r, a, 0..n, n, None, &mut places);
}

impl Places {
    fn take_or_zero(&mut self, b: &mut Builder, place: u32) -> Gpr {
        self.0.remove(&place).unwrap_or_else(|| {
            let zero = b.gpr();
            b.mov_imm32(zero, 0);
            zero
        })
    }
}

/// The products of different limbs among a[from..from + n], added to the places. With `r`, the outermost shape stores each
/// limb below the place from + n as soon as it is done.
fn shapes(b: &mut Builder, a: &Limbs, from: u32, n: u32, places: &mut Places, r: Option<&Limbs>) {
    for k in (0..n / 2).rev() {
        let m = n - 1 - k;
        let inner = k + 1..m;
        let products = (k + 1..=m).map(|j| (k, j)).chain(inner.map(|i| (m, i)));
        let products: Vec<(u32, u32)> = products.collect();
        let w = b.pinned(RDX);
        let zero = b.gpr();
        // Whether each chain may hold a carry. A fresh limb takes it and passes none on.
        let (mut low_chain, mut high_chain) = (false, false);
        if products.len() > 1 {
            b.note("a shape: both chains start with no carry");
            b.xor32(zero, zero);
        }
        let mut held = None;
        for (index, (by, limb)) in products.iter().enumerate() {
            if held != Some(by) {
                b.load(w, a.limb(b, from + by));
                held = Some(by);
            }
            let place = 2 * from + by + limb;
            let source = a.limb(b, from + limb);
            let last = index + 1 == products.len();
            let (below, above) = (places.0.get(&place).copied(), places.0.get(&(place + 1)).copied());
            let low = below.unwrap_or_else(|| b.gpr());
            let high = above.unwrap_or_else(|| b.gpr());
            // A fresh limb takes its half of the product as it is.
            let (low_half, high_half) =
                (if below.is_some() { b.gpr() } else { low }, if above.is_some() { b.gpr() } else { high });
            b.mulx(high_half, low_half, source, w);
            if below.is_some() {
                b.adcx(low, low_half);
                low_chain = true;
            }
            if above.is_some() {
                b.adox(high, high_half);
                high_chain = true;
            } else if high_chain {
                b.mov_imm32(zero, 0);
                b.adox(high, zero);
                high_chain = false;
            }
            if last && low_chain {
                b.mov_imm32(zero, 0);
                b.adcx(high, zero);
            }
            places.0.insert(place, low);
            places.0.insert(place + 1, high);
            if let (Some(r), 0, true) = (r, k, place + 1 < 2 * from + n) {
                b.store(r.limb(b, place), low);
                places.0.remove(&place);
            }
        }
    }
}

/// r := 2 (places and r) + the squares, for these of the n limbs of a. Takes and returns the carries of both chains, when there
/// are limbs before or after.
fn double(
    b: &mut Builder,
    r: &Limbs,
    a: &Limbs,
    limbs: Range<u32>,
    n: u32,
    carries: Option<[Gpr; 2]>,
    places: &mut Places,
) -> Option<[Gpr; 2]> {
    let zero = b.gpr();
    b.note("CF doubles, OF adds the squares");
    b.xor32(zero, zero);
    if let Some([doubling, adding]) = carries {
        let minus_one = b.gpr();
        b.mov_imm(minus_one, -1);
        b.adcx(doubling, minus_one);
        b.adox(adding, minus_one);
    }
    let end = limbs.end;
    for i in limbs {
        let (w, low, high) = (b.pinned(RDX), b.gpr(), b.gpr());
        b.load(w, a.limb(b, i));
        b.mulx(high, low, w, w);
        for (place, square) in [(2 * i, low), (2 * i + 1, high)] {
            if place == 0 {
                b.store(r.limb(b, 0), square);
                continue;
            }
            if place == 2 * n - 1 {
                if n > 1 {
                    b.mov_imm32(zero, 0);
                    b.adcx(square, zero);
                    b.adox(square, zero);
                }
                b.store(r.limb(b, place), square);
                continue;
            }
            let limb = places.0.remove(&place).unwrap_or_else(|| {
                let limb = b.gpr();
                b.load(limb, r.limb(b, place));
                limb
            });
            b.adcx(limb, limb);
            b.adox(limb, square);
            b.store(r.limb(b, place), limb);
        }
    }
    if end == n {
        return None;
    }
    b.mov_imm32(zero, 0);
    Some([b.gpr(), b.gpr()]).inspect(|[doubling, adding]| {
        b.mov_imm32(*doubling, 0);
        b.adcx(*doubling, zero);
        b.mov_imm32(*adding, 0);
        b.adox(*adding, zero);
    })
}
