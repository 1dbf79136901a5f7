//! Exact products and squares in halves, by Karatsuba's rule: with h limbs in a half,
//! `a b = z0 + B^h (z0 + z2 - (a0 - a1)(b0 - b1)) + B^(2h) z2`, where z0 = a0 b0 and z2 = a1 b1.
//!
//! The differences are taken as sizes and signs, without a branch; the scratch holds them (2h limbs) and then their product
//! (2h limbs).

use super::Limbs;
use crate::ir::Builder;
use crate::ir::typed::Gpr;

/// Limbs that are in registers at once.
const CHUNK: u32 = 8;

/// r := a b for a number of limbs.
pub(super) type Leaf<'l> = dyn FnMut(&mut Builder, [&Limbs; 3], u32) + 'l;

/// r := a b for n limbs: halved `split` times as long as n is even, then by `leaf`.
pub(super) fn product(b: &mut Builder, limbs: [&Limbs; 4], n: u32, split: u32, leaf: &mut Leaf<'_>) {
    let [r, x, y, t] = limbs;
    if split == 0 || !n.is_multiple_of(2) || n < 4 {
        return leaf(b, [r, x, y], n);
    }
    let h = n / 2;
    // A product of halves needs scratch of its own when it is halved again: for the first nothing is in r yet, and the other two
    // find the differences used up.
    let differences = [t.at_limb(0), t.at_limb(h)];
    let between = t.at_limb(n);
    let signs = [size(b, x, &differences[0], h), size(b, y, &differences[1], h)];
    let same = b.gpr();
    b.note("all ones when the differences have one sign: their product is subtracted");
    b.mov(same, signs[0]);
    b.xor(same, signs[1]);
    b.not(same);
    let upper = [&r.at_limb(n), &x.at_limb(h), &y.at_limb(h)];
    product(b, [&between, &differences[0], &differences[1], r], h, split - 1, leaf);
    product(b, [r, x, y, t], h, split - 1, leaf);
    product(b, [upper[0], upper[1], upper[2], t], h, split - 1, leaf);
    let carry = halves(b, r, t, n);
    middle(b, r, t, &between, n, Sign::Of(same), carry);
}

/// r := a^2 for n limbs, with `square` for the halves: r, a and n limbs of scratch.
pub(super) fn square(
    b: &mut Builder,
    [r, x, t]: [&Limbs; 3],
    n: u32,
    square: &mut dyn FnMut(&mut Builder, [&Limbs; 3]),
) {
    let h = n / 2;
    let between = t.at_limb(n);
    size(b, x, t, h);
    square(b, [&between, t, r]);
    square(b, [r, x, t]);
    square(b, [&r.at_limb(n), &x.at_limb(h), t]);
    let carry = halves(b, r, t, n);
    middle(b, r, t, &between, n, Sign::Minus, carry);
}

/// to := |x0 - x1| for the halves of x, of h limbs; returns all ones if x0 < x1, else 0.
fn size(b: &mut Builder, x: &Limbs, to: &Limbs, h: u32) -> Gpr {
    b.note("the difference of the halves, and its sign");
    let mut last = Vec::new();
    for i in 0..h {
        let limb = b.gpr();
        b.load(limb, x.limb(b, i));
        if i == 0 {
            b.sub(limb, x.limb(b, h + i));
        } else {
            b.sbb(limb, x.limb(b, h + i));
        }
        if i + CHUNK < h {
            b.store(to.limb(b, i), limb);
        } else {
            last.push(limb);
        }
    }
    let sign = b.gpr();
    b.mov_imm32(sign, 0);
    b.sbb_ri(sign, 0);
    b.note("negated where it is below 0: complement, plus 1");
    let carry = b.gpr();
    b.mov(carry, sign);
    b.neg(carry);
    let kept = h - last.len() as u32;
    for from in (0..h).step_by(CHUNK as usize) {
        let chunk: Vec<Gpr> = (from..h.min(from + CHUNK))
            .map(|i| {
                let limb = if i < kept { b.gpr() } else { last[(i - kept) as usize] };
                if i < kept {
                    b.load(limb, to.limb(b, i));
                }
                b.xor(limb, sign);
                limb
            })
            .collect();
        for (index, limb) in chunk.iter().enumerate() {
            if index == 0 {
                b.add(*limb, carry);
            } else {
                b.adc_ri(*limb, 0);
            }
            b.store(to.limb(b, from + index as u32), *limb);
        }
        if from + CHUNK < h {
            b.mov_imm32(carry, 0);
            b.adc_ri(carry, 0);
        }
    }
    sign
}

/// t := z0 + z2, of n limbs, which are the halves of r; returns the carry.
fn halves(b: &mut Builder, r: &Limbs, t: &Limbs, n: u32) -> Gpr {
    b.note("z0 + z2");
    for i in 0..n {
        let limb = b.gpr();
        b.load(limb, r.limb(b, i));
        if i == 0 {
            b.add(limb, r.limb(b, n + i));
        } else {
            b.adc(limb, r.limb(b, n + i));
        }
        b.store(t.limb(b, i), limb);
    }
    let carry = b.gpr();
    b.mov_imm32(carry, 0);
    b.adc_ri(carry, 0);
    carry
}

/// What is done with the product of the differences.
enum Sign {
    /// It is subtracted.
    Minus,
    /// It is subtracted if this is all ones, and added if it is 0.
    Of(Gpr),
}

/// The middle: r[h..] += z0 + z2 (in t, and `carry`) -+ the product of the differences. To subtract is to add the complement, 1
/// and an endless row of ones above.
fn middle(b: &mut Builder, r: &Limbs, t: &Limbs, between: &Limbs, n: u32, sign: Sign, carry: Gpr) {
    let h = n / 2;
    let (first, second, zero, minus_one) = (b.gpr(), b.gpr(), b.gpr(), b.gpr());
    // The two chains' carries between chunks.
    match sign {
        Sign::Minus => b.mov_imm32(first, 1),
        Sign::Of(same) => {
            b.mov(first, same);
            b.neg(first);
        }
    }
    b.mov_imm32(second, 0);
    b.mov_imm(minus_one, -1);
    let chunk = match sign {
        Sign::Minus => n,
        Sign::Of(_) => CHUNK,
    };
    for from in (0..n).step_by(chunk as usize) {
        let here = from..n.min(from + chunk);
        let mut limbs = Vec::new();
        if let Sign::Of(same) = sign {
            for i in here.clone() {
                let limb = b.gpr();
                b.load(limb, between.limb(b, i));
                b.xor(limb, same);
                limbs.push(limb);
            }
        }
        b.note("the carries of both chains into the flags");
        b.xor32(zero, zero);
        b.adcx(first, minus_one);
        b.adox(second, minus_one);
        for i in here {
            let limb = match sign {
                Sign::Minus => {
                    let limb = b.gpr();
                    b.load(limb, between.limb(b, i));
                    b.not(limb);
                    limb
                }
                Sign::Of(_) => limbs[(i - from) as usize],
            };
            b.adcx(limb, t.limb(b, i));
            b.adox(limb, r.limb(b, h + i));
            b.store(r.limb(b, h + i), limb);
        }
        b.note("and back");
        b.mov_imm32(first, 0);
        b.adcx(first, zero);
        b.mov_imm32(second, 0);
        b.adox(second, zero);
    }
    b.note("what goes into the top quarter: at least 0, at most 2");
    b.add(first, second);
    b.add(first, carry);
    match sign {
        Sign::Minus => b.sub_ri(first, 1),
        Sign::Of(same) => b.add(first, same),
    }
    for i in 0..h {
        if i == 0 {
            b.add_mr(r.limb(b, n + h), first);
        } else {
            b.adc_mr(r.limb(b, n + h + i), zero);
        }
    }
}
