//! Whether each kernel has the shape and the round keys under which the table lists it: what the calls rest on.

use std::collections::BTreeSet;

use kiln_kernels::catalogue::{Access, Argument, ArgumentKind};

use super::*;

/// A contract in words: each argument's name, use, size, alignment, and the arguments that it may be equal to.
fn contract(kernel: &Kernel) -> String {
    let argument = |argument: &Argument| {
        let name = |index: usize| kernel.arguments[index].name;
        let what = match argument.kind {
            ArgumentKind::Limbs { bits, length } => {
                assert_eq!(bits, 8, "{}: {}", kernel.name, argument.name);
                let terms = length.terms.iter().map(|&(count, times)| format!("{times}{}", name(count)));
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
            ArgumentKind::Limb { bits } => format!("limb of {bits}"),
        };
        let align = if argument.align > 1 { format!(" at {}", argument.align) } else { String::new() };
        let equal = argument.may_equal.iter().map(|&other| format!(" or {}", name(other)));
        format!("{}: {what}{align}{}", argument.name, equal.collect::<String>())
    };
    let arguments: Vec<String> = kernel.arguments.iter().map(argument).collect();
    format!("{}{}", arguments.join(", "), if kernel.returns { " -> limb" } else { "" })
}

fn keys<K>() -> String {
    format!("{} at {}", size_of::<K>(), align_of::<K>())
}

struct Check<'a>(&'a mut BTreeSet<&'static str>);

impl Check<'_> {
    fn is<S: Shape, K: Keys>(&mut self, tuned: &Tuned<S, K>, name: String, shape: String) {
        let kernel = tuned.kernel();
        assert_eq!(kernel.name, name);
        assert_eq!(contract(kernel), shape, "{name}");
        assert!(self.0.insert(kernel.name), "{name} twice");
    }

    fn blocks<K: Keys>(&mut self, tuned: &Tuned<Blocks, K>, name: String) {
        let (most, keys) = (Tuned::<Blocks, K>::MOST, keys::<K>());
        self.is(tuned, name, format!("output: out 16n, input: in 16n or output, n: 0..={most}, keys: in {keys}"));
    }

    fn chain<const STREAMS: usize, K: Keys>(&mut self, tuned: &Tuned<Chain<STREAMS>, K>, name: String) {
        let (most, keys, bytes) = (Tuned::<Chain<STREAMS>, K>::MOST, keys::<K>(), 16 * STREAMS);
        let shape = format!(
            "output: out {bytes}n, input: in {bytes}n or output, n: 0..={most}, keys: in {keys}, iv: inout {bytes}"
        );
        self.is(tuned, name, shape);
    }
}

fn shapes<S: Size>(seen: &mut BTreeSet<&'static str>) {
    let mut check = Check(seen);
    let name = |own: &str| format!("aes{}.{own}", S::BITS);
    let sliced = |own: &str| format!("aes{}_sliced.{own}", S::BITS);
    check.blocks(S::ecb_encrypt(), name("ecb_encrypt"));
    check.blocks(S::ecb_decrypt(), name("ecb_decrypt"));
    check.chain(S::cbc_encrypt(), name("cbc_encrypt"));
    check.chain(S::cbc_encrypt_x2(), name("cbc_encrypt_x2"));
    check.chain(S::cbc_encrypt_x4(), name("cbc_encrypt_x4"));
    check.chain(S::cbc_encrypt_x8(), name("cbc_encrypt_x8"));
    check.chain(S::cbc_decrypt(), name("cbc_decrypt"));
    check.chain(S::ctr128(), name("ctr128"));
    check.chain(S::ctr32(), name("ctr32"));
    check.blocks(S::sliced_ecb_encrypt(), sliced("ecb_encrypt"));
    check.blocks(S::sliced_ecb_decrypt(), sliced("ecb_decrypt"));
    check.chain(S::sliced_cbc_encrypt(), sliced("cbc_encrypt"));
    check.chain(S::sliced_cbc_decrypt(), sliced("cbc_decrypt"));
    check.chain(S::sliced_ctr128(), sliced("ctr128"));
    check.chain(S::sliced_ctr32(), sliced("ctr32"));
    let sliced_keys = keys::<S::SlicedKeys>();
    let keys = keys::<S::RoundKeys>();
    check.is(S::slice_keys(), sliced("slice_keys"), format!("sliced: out {sliced_keys}, keys: in {keys}"));
    check.is(S::expand_key(), name("expand_key"), format!("keys: out {keys}, key: in {}", S::BITS / 8));
    check.is(S::invert_keys(), name("invert_keys"), format!("inverse: out {keys}, keys: in {keys}"));
}

#[test]
fn every_kernel_of_aes_is_in_the_table_and_has_its_shape() {
    let mut seen = BTreeSet::new();
    shapes::<Bits128>(&mut seen);
    shapes::<Bits192>(&mut seen);
    shapes::<Bits256>(&mut seen);
    assert_eq!(seen, aes::KERNELS.iter().chain(aes_sliced::KERNELS).map(|kernel| kernel.name).collect());
}
