//! Every compiled variant that this CPU has the features for, called as its contract says: what the contract calls secret is
//! undefined. The code is called as it lies in the program; nothing is verified or raced.
//!
//! Unsafe is needed to call an entry: every pointer is to as much as the contract says, equal to another only as it allows.

use std::collections::BTreeMap;

use kiln_kernels::catalogue::{Access, Argument, ArgumentKind, Domain, Kernel, Variant, Word};
use kiln_kernels::reference::aes::slice_keys;
use kiln_kernels::reference::mont::negated_inverse;
use kiln_runtime::candidate::{Candidate, Ineligible};
use kiln_runtime::detect::native;

use crate::memcheck::{make_public, make_secret, secret_bytes};
use crate::{Leaks, watch};

/// Values of the first count: every tail, and some turns.
const LENGTHS: [u64; 11] = [1, 2, 3, 4, 5, 7, 8, 13, 16, 31, 50];

/// Runs the variants of all kernels of a family.
pub fn all_of(family: &str) -> Leaks {
    let cpu = native();
    let (mut leaks, mut run, mut left_out) = (Leaks::new(), BTreeMap::<_, usize>::new(), BTreeMap::<_, usize>::new());
    let mut calls = 0;
    for kernel in kiln_kernels::kernels().filter(|kernel| is_of(kernel, family)) {
        for variant in kernel.variants {
            match Candidate::shipped(variant).eligible(kernel, cpu.cpu()) {
                Ok(()) => {}
                Err(Ineligible::Feature(feature, _)) => {
                    *left_out.entry((variant.strategy, feature)).or_default() += 1;
                    continue;
                }
                Err(why) => panic!("{}: {why}", variant.name),
            }
            *run.entry(variant.strategy).or_default() += 1;
            calls += watch(variant.name, &mut leaks, || calls_of(kernel, variant));
        }
    }
    for (strategy, variants) in &run {
        println!("run: {variants} variants of {strategy}");
    }
    for ((strategy, feature), variants) in &left_out {
        println!("left out: {variants} variants of {strategy}: no {feature}");
    }
    println!("{calls} calls");
    leaks
}

fn is_of(kernel: &Kernel, family: &str) -> bool {
    let own = match kernel.cipher {
        Some(_) => "aes",
        None if kernel.name.starts_with("table.") => "table",
        None if kernel.name.starts_with("mont.") => "mont",
        None => "limb",
    };
    own == family
}

/// Calls a variant with some lengths: all arguments apart, and each that may be equal to another in its place; gives the number
/// of calls.
fn calls_of(kernel: &'static Kernel, variant: &Variant) -> usize {
    let first = kernel.arguments.iter().find_map(|argument| match argument.kind {
        ArgumentKind::Count { min, max } => Some(min..=max),
        ArgumentKind::Limbs { .. } | ArgumentKind::Limb { .. } => None,
    });
    let lengths: Vec<u64> = match (variant.exact, first) {
        (Some(exact), _) => vec![exact],
        (None, Some(range)) => LENGTHS.into_iter().filter(|n| range.contains(n)).collect(),
        (None, None) => vec![0],
    };
    let equal = (0..kernel.arguments.len()).filter(|&index| !kernel.arguments[index].may_equal.is_empty());
    let ways: Vec<Option<usize>> = std::iter::once(None).chain(equal.map(Some)).collect();
    for &n in &lengths {
        for &equal in &ways {
            call(kernel, variant, n, equal);
        }
    }
    lengths.len() * ways.len()
}

/// Memory at a multiple of 64 bytes.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

fn call(kernel: &'static Kernel, variant: &Variant, n: u64, equal: Option<usize>) {
    let arguments = kernel.arguments;
    let integers = integers(arguments, n);
    let mut buffers: Vec<Vec<Line>> =
        arguments.iter().map(|argument| vec![Line([0; 64]); lines(argument, &integers)]).collect();
    for (index, argument) in arguments.iter().enumerate() {
        let length = bytes(argument, &integers);
        fill(argument, &mut buffers[index].as_flattened_bytes()[..length], index);
    }
    // What shares the memory of another brings its values along: they are those of its domain.
    if let Some(index) = equal
        && let Some(&other) = arguments[index].may_equal.first()
    {
        buffers[other] = buffers[index].clone();
    }
    for (index, argument) in arguments.iter().enumerate().filter(|(_, argument)| argument.secret) {
        let length = bytes(argument, &integers);
        make_secret(&mut buffers[index].as_flattened_bytes()[..length]);
    }
    // Whose memory an argument uses.
    let owner = |index: usize| match arguments[index].may_equal.first() {
        Some(&other) if equal == Some(index) => other,
        Some(_) | None => index,
    };
    let pointers: Vec<*mut u8> = buffers.iter_mut().map(|buffer| buffer.as_flattened_bytes().as_mut_ptr()).collect();
    let mut words: Vec<Word> = (0..arguments.len())
        .map(|index| match arguments[index].kind {
            ArgumentKind::Limbs { .. } => Word { pointer: pointers[owner(index)] },
            ArgumentKind::Count { .. } | ArgumentKind::Limb { .. } => Word { integer: integers[index] },
        })
        .collect();
    for (word, argument) in words.iter_mut().zip(arguments) {
        if argument.secret && matches!(argument.kind, ArgumentKind::Limb { .. }) {
            make_secret(std::slice::from_mut(word));
        }
    }
    // SAFETY: the variant is one of this kernel's and eligible on this CPU; one word for each argument, the pointers to as many
    // bytes as the contract says at a multiple of 64, equal only as it says; counts are in their ranges and limbs in their domains.
    let mut returned = [unsafe { (kernel.call)(variant.entry, &words) }];
    make_public(&mut returned);
    for (index, argument) in arguments.iter().enumerate() {
        if !matches!(argument.kind, ArgumentKind::Limbs { .. }) {
            continue;
        }
        let own = &mut buffers[owner(index)].as_flattened_bytes()[..bytes(argument, &integers)];
        // Otherwise nothing would have been looked at.
        if argument.secret && matches!(argument.access, Access::Out | Access::InOut) {
            assert_eq!(
                secret_bytes(own),
                own.len(),
                "{}: bytes of {} that depend on secrets",
                variant.name,
                argument.name
            );
        }
    }
}

trait Bytes {
    fn as_flattened_bytes(&mut self) -> &mut [u8];
}

impl Bytes for Vec<Line> {
    fn as_flattened_bytes(&mut self) -> &mut [u8] {
        // SAFETY: as many bytes as there are in so many lines, which have no padding.
        unsafe { core::slice::from_raw_parts_mut(self.as_mut_ptr().cast(), 64 * self.len()) }
    }
}

/// The counts and the limbs by value, each in its domain; 0 for others.
fn integers(arguments: &[Argument], n: u64) -> Vec<u64> {
    let (mut values, mut first) = (Vec::new(), true);
    for argument in arguments {
        values.push(match argument.kind {
            // A further count is small.
            ArgumentKind::Count { min, max } => {
                if std::mem::take(&mut first) {
                    n
                } else {
                    max.min(min + 3)
                }
            }
            ArgumentKind::Limb { bits } => 0xb7e1_5162_8aed_2a6b >> (64 - bits),
            ArgumentKind::Limbs { .. } => 0,
        });
    }
    for (index, argument) in arguments.iter().enumerate() {
        let ArgumentKind::Limb { bits } = argument.kind else { continue };
        values[index] = match argument.domain {
            // The top bit of the value above is set.
            Domain::Any | Domain::Normalised | Domain::MontgomeryModulus | Domain::SlicedRoundKeys => values[index],
            Domain::EntryOf(entries) => values[index] % entries,
            Domain::Below(other) => values[other] / 3,
            Domain::ReciprocalOf(other) => {
                let square = u128::MAX >> (128 - 2 * bits);
                (square / u128::from(values[other]) - (1 << bits)) as u64
            }
        };
    }
    values
}

/// The bytes behind a pointer.
fn bytes(argument: &Argument, integers: &[u64]) -> usize {
    match argument.kind {
        ArgumentKind::Limbs { bits, length } => length.limbs(|index| integers[index]) as usize * bits as usize / 8,
        ArgumentKind::Count { .. } | ArgumentKind::Limb { .. } => 0,
    }
}

fn lines(argument: &Argument, integers: &[u64]) -> usize {
    assert!(argument.align <= 64);
    bytes(argument, integers).div_ceil(64)
}

/// Some values, in the domain of the argument.
fn fill(argument: &Argument, bytes: &mut [u8], seed: usize) {
    let draw = |bytes: &mut [u8]| {
        for (index, byte) in bytes.iter_mut().enumerate() {
            *byte = (0x9d * index + 0x35 * seed + 0x4f) as u8;
        }
    };
    match argument.domain {
        Domain::SlicedRoundKeys => {
            let mut keys = vec![0; bytes.len() / 4];
            draw(&mut keys);
            slice_keys(bytes, &keys);
        }
        Domain::MontgomeryModulus => {
            draw(bytes);
            bytes[8] |= 1;
            let lowest = u64::from_le_bytes(*bytes[8..].first_chunk().expect("a limb"));
            bytes[..8].copy_from_slice(&negated_inverse(lowest).to_le_bytes());
        }
        // The highest limb of a modulus is not 0; a limb by value has no bytes here.
        Domain::Below(_) => {
            let rest = bytes.len().saturating_sub(8);
            draw(&mut bytes[..rest]);
        }
        Domain::Any | Domain::Normalised | Domain::EntryOf(_) | Domain::ReciprocalOf(_) => draw(bytes),
    }
}
