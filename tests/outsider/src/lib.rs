//! Somebody else's crate: kernels of its own spec file, by `kernels!`. It uses the catalogue directly, without Kiln's
//! runtime, so it names only variants of the baseline; what Kiln offers to programs it uses in a test of its own.

kiln_kernels::kernels! {
    specs: ["specs/row.toml"],
    cpus: ["specs/generic.toml"],
}

#[cfg(test)]
mod tests {
    use super::*;
    use kiln::limb::{self, Divisor, Error, Limb};
    use kiln_kernels::catalogue::Word;

    #[test]
    fn its_own_variants_are_there_and_right() {
        let names: Vec<&str> = LIMB64_MUL_ADD.variants.iter().map(|variant| variant.name).collect();
        assert!(names.contains(&"limb64.mul_add/portable.u3"), "{names:?}");
        if cfg!(target_arch = "x86_64") {
            assert!(names.contains(&"limb64.mul_add/mul.u12.s_source"), "{names:?}");
        }
        for variant in LIMB64_MUL_ADD.variants {
            assert!(variant.features.is_empty(), "{} needs only the baseline", variant.name);
            for n in (0..40).filter(|n| variant.exact.is_none_or(|exact| exact == *n)) {
                for in_place in [false, true] {
                    let mut r: Vec<u64> = (0..n).map(|i| u64::MAX - i).collect();
                    let a: Vec<u64> = (0..n).map(|i| u64::MAX ^ i << 7).collect();
                    let mut expected = r.clone();
                    let other = if in_place { r.clone() } else { a.clone() };
                    let carry = kiln_kernels::reference::limb64_mul_add(&mut expected, &other, u64::MAX);
                    let pointer: *mut u8 = r.as_mut_ptr().cast();
                    let second = if in_place { pointer } else { a.as_ptr().cast::<u8>().cast_mut() };
                    let words =
                        [Word { pointer }, Word { pointer: second }, Word { integer: n }, Word { integer: u64::MAX }];
                    // SAFETY: `r` and `a` are n limbs each, equal or apart; the variant needs no CPU feature.
                    let got = unsafe { (LIMB64_MUL_ADD.call)(variant.entry, &words) };
                    assert_eq!((r, got), (expected, carry), "{} n = {n}, in place: {in_place}", variant.name);
                }
            }
        }
    }

    /// (a + b) w mod d for numbers of any limb, with what Kiln offers to programs.
    fn scaled_sum<L: Limb>(a: &[L], b: &[L], w: L, d: L) -> Result<L, Error> {
        let mut sum = a.to_vec();
        let carry = limb::add_assign(&mut sum, b)?;
        sum.push(carry);
        let mut product = vec![L::default(); 2 * sum.len()];
        let mut factor = vec![L::default(); sum.len()];
        factor[0] = w;
        limb::product(&mut product, &sum, &factor)?;
        let divisor = Divisor::new(d)?;
        product.iter().rev().try_fold(L::default(), |rest, limb| Ok(divisor.divide(rest, *limb)?.1))
    }

    #[test]
    fn the_functions_for_programs_are_there_for_both_sizes_of_limbs() {
        let (a, b, w) = (u128::MAX, 0x0123_4567_89ab_cdef_u128, 0xfedc_ba98_u32);
        let d = 0x8000_0001_u32;
        let limbs = |number: u128| [0, 32, 64, 96].map(|shift| (number >> shift) as u32);
        let wide = |number: u128| [number as u64, (number >> 64) as u64];
        let modulo = |d: u128| {
            // a + b is 2^128 + b - 1.
            let sum = (u128::MAX % d + 1 + (b - 1) % d) % d;
            sum * (u128::from(w) % d) % d
        };
        assert_eq!(scaled_sum(&limbs(a), &limbs(b), w, d).map(u128::from), Ok(modulo(d.into())));
        let d = u64::from(d) << 32;
        assert_eq!(scaled_sum(&wide(a), &wide(b), w.into(), d).map(u128::from), Ok(modulo(d.into())));
        assert_eq!(
            scaled_sum(&wide(a), &wide(b)[1..], 1, d),
            Err(Error::Length { argument: "a", limbs: 1, expected: 2 })
        );
        assert_eq!(scaled_sum(&wide(a), &wide(b), 1, d >> 1), Err(Error::NotNormalised));
    }
}
