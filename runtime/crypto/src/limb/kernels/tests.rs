//! Whether each kernel has the shape under which the table lists it: what the methods of a shape rest on.

use std::collections::BTreeSet;

use kiln_kernels::catalogue::{Access, ArgumentKind, Domain, Kernel};

use super::*;

/// A contract in words: for each argument its name, use, kind and domain, and the arguments that it may be equal to.
fn contract(kernel: &Kernel, limb_bits: u32) -> String {
    let name = |index: usize| kernel.arguments[index].name;
    let argument = |argument: &kiln_kernels::catalogue::Argument| {
        let what = match argument.kind {
            ArgumentKind::Limbs { bits, length } => {
                assert_eq!(bits, limb_bits, "{}: {}", kernel.name, argument.name);
                let terms = length.terms.iter().map(|&(count, times)| match times {
                    1 => name(count).to_owned(),
                    _ => format!("{times}{}", name(count)),
                });
                let plus = (length.plus > 0).then(|| length.plus.to_string());
                let access = match argument.access {
                    Access::In => "in",
                    Access::Out => "out",
                    Access::InOut => "inout",
                    Access::Scratch => "scratch",
                };
                format!("{access} {}", terms.chain(plus).collect::<Vec<_>>().join(" + "))
            }
            ArgumentKind::Count { min, max } => format!("{min}..={max}"),
            ArgumentKind::Limb { bits } => {
                assert_eq!(bits, limb_bits, "{}: {}", kernel.name, argument.name);
                match argument.domain {
                    Domain::Any => "limb".to_owned(),
                    Domain::Normalised => "normalised".to_owned(),
                    Domain::Below(other) => format!("below {}", name(other)),
                    Domain::ReciprocalOf(other) => format!("reciprocal of {}", name(other)),
                    Domain::MontgomeryModulus => "montgomery modulus".to_owned(),
                    Domain::EntryOf(entries) => format!("entry of {entries}"),
                    Domain::SlicedRoundKeys => "sliced round keys".to_owned(),
                }
            }
        };
        let equal = argument.may_equal.iter().map(|&other| format!(" or {}", name(other)));
        format!("{}: {what}{}", argument.name, equal.collect::<String>())
    };
    let arguments: Vec<String> = kernel.arguments.iter().map(argument).collect();
    format!("{}{}", arguments.join(", "), if kernel.returns { " -> limb" } else { "" })
}

fn check<L: Kernels, Shape>(tuned: Tuned<L, Shape>, bits: u32, name: &str, shape: &str, seen: &mut BTreeSet<String>) {
    let kernel = tuned.slots.get().kernel();
    assert_eq!(kernel.name, format!("limb{bits}.{name}"));
    assert_eq!(contract(kernel, bits), shape, "{}", kernel.name);
    assert!(seen.insert(kernel.name.to_owned()));
}

fn shapes<L: Kernels>(bits: u32, seen: &mut BTreeSet<String>) {
    let row = |access: &str| format!("r: {access} n, a: in n or r, n: 0..=65536, w: limb -> limb");
    check(L::mul(), bits, "mul", &row("out"), seen);
    check(L::mul_add(), bits, "mul_add", &row("inout"), seen);
    check(L::mul_sub(), bits, "mul_sub", &row("inout"), seen);
    let rows = "r: out n, a: in n or r, b: in n or r or a, n: 0..=65536 -> limb";
    check(L::add(), bits, "add", rows, seen);
    check(L::sub(), bits, "sub", rows, seen);
    let long = "r: inout n + more, a: in n, n: 0..=65536, more: 0..=65536, w: limb -> limb";
    check(L::mul_add_prop(), bits, "mul_add_prop", long, seen);
    let long = "r: inout 2n + more, a: in n, n: 0..=65536, more: 0..=65536 -> limb";
    check(L::sqr_add_prop(), bits, "sqr_add_prop", long, seen);
    let product = "r: out 2n, a: in n, b: in n or a, n: 0..=65536, t: scratch 2n";
    check(L::mul_nxn(), bits, "mul_nxn", product, seen);
    check(L::sqr_n(), bits, "sqr_n", "r: out 2n, a: in n, n: 0..=65536, t: scratch 2n", seen);
    check(L::reciprocal(), bits, "reciprocal", "d: normalised -> limb", seen);
    let division = "q: out 1, hi: below d, lo: limb, d: normalised";
    check(L::div_2by1(), bits, "div_2by1", &format!("{division}, v: reciprocal of d -> limb"), seen);
    check(L::div_2by1_public(), bits, "div_2by1_public", &format!("{division} -> limb"), seen);
}

#[test]
fn every_kernel_of_limbs_is_in_the_table_and_has_its_shape() {
    let mut seen = BTreeSet::new();
    shapes::<u64>(64, &mut seen);
    shapes::<u32>(32, &mut seen);
    let all: BTreeSet<String> = limb::KERNELS.iter().map(|kernel| kernel.name.to_owned()).collect();
    assert_eq!(seen, all);
}
