//! Somebody else's crate: kernels of its own spec file, by `kernels!`. It uses the catalogue directly, without Kiln's
//! runtime, so it names only variants of the baseline.

kiln_kernels::kernels! {
    specs: ["specs/row.toml"],
    cpus: ["specs/generic.toml"],
}

#[cfg(test)]
mod tests {
    use super::*;
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
}
