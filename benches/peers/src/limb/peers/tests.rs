//! The table of peers against references of its own: it is checked before the kernels that it waits for exist. In a race
//! kiln-runtime checks each of them again, against the kernel's reference and for stray writes.

use super::*;
use kiln_codegen::isa::feature::FeatureSet;
use kiln_runtime::detect::native;
use kiln_runtime::random::Random;
use std::collections::BTreeSet;

/// Every entry takes at most six words; those that it does not take are in registers that it does not read.
type Words = unsafe extern "sysv64" fn(u64, u64, u64, u64, u64, u64) -> u64;

/// Limbs above n in a kernel that goes on above them.
const MORE: usize = 3;

/// r after the call and what is returned, from r before it, a, b and w; n is the length of a.
type Reference = fn(&mut [u64], &[u64], &[u64], u64) -> u64;

fn mul(r: &mut [u64], a: &[u64], _b: &[u64], w: u64) -> u64 {
    r.fill(0);
    mul_add(r, a, _b, w)
}

/// With the carry through all of r.
fn mul_add(r: &mut [u64], a: &[u64], _b: &[u64], w: u64) -> u64 {
    let mut carry = 0;
    for (i, r) in r.iter_mut().enumerate() {
        let sum = u128::from(a.get(i).copied().unwrap_or(0)) * u128::from(w) + u128::from(*r) + carry;
        *r = sum as u64;
        carry = sum >> 64;
    }
    carry as u64
}

fn mul_sub(r: &mut [u64], a: &[u64], _b: &[u64], w: u64) -> u64 {
    let mut borrow = 0;
    for (r, a) in r.iter_mut().zip(a) {
        let product = u128::from(*a) * u128::from(w) + borrow;
        let (difference, below) = r.overflowing_sub(product as u64);
        *r = difference;
        borrow = (product >> 64) + u128::from(below);
    }
    borrow as u64
}

fn add(r: &mut [u64], a: &[u64], b: &[u64], _w: u64) -> u64 {
    r.copy_from_slice(a);
    mul_add(r, b, &[], 1)
}

fn sub(r: &mut [u64], a: &[u64], b: &[u64], _w: u64) -> u64 {
    r.copy_from_slice(a);
    mul_sub(r, b, &[], 1)
}

fn product(r: &mut [u64], a: &[u64], b: &[u64], _w: u64) -> u64 {
    r.fill(0);
    for (i, &digit) in b.iter().enumerate() {
        mul_add(&mut r[i..], a, &[], digit);
    }
    0
}

fn square(r: &mut [u64], a: &[u64], _b: &[u64], _w: u64) -> u64 {
    product(r, a, a, 0)
}

/// How a kernel is called, and its reference on 64-bit limbs.
fn contract(kernel: &str) -> (Shape, Reference) {
    match kernel {
        "mul" => (Shape::Row, mul),
        "mul_add" => (Shape::Row, mul_add),
        "mul_sub" => (Shape::Row, mul_sub),
        "mul_add_prop" => (Shape::LongRow, mul_add),
        "add" => (Shape::Sum, add),
        "sub" => (Shape::Sum, sub),
        "mul_nxn" => (Shape::Product, product),
        "sqr_n" => (Shape::Square, square),
        other => panic!("no reference for {other}"),
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Shape {
    /// (r, a, n, w)
    Row,
    /// (r, a, n, more, w)
    LongRow,
    /// (r, a, b, n)
    Sum,
    /// (r, a, b, n), r of 2n limbs, nothing returned
    Product,
    /// (r, a, n), r of 2n limbs, nothing returned
    Square,
}

/// Limbs of random density, so that carries run and die.
fn limbs(random: &mut Random, count: usize) -> Vec<u64> {
    let extreme = [0, 1, u64::MAX, u64::MAX - 1, 1 << 63];
    let how = random.below(4);
    (0..count)
        .map(|_| match how {
            0 => extreme[random.below(extreme.len() as u64) as usize],
            1 => u64::MAX,
            _ => random.word(),
        })
        .collect()
}

/// One test, because scratch has one user.
#[test]
fn every_peer_computes_what_its_kernel_does() {
    let cpu = native();
    let mut random = Random::new(7);
    let mut calls = 0;
    for entry in MATCHES {
        let (limb, kernel) = entry.kernel.split_once('.').unwrap();
        let narrow = limb == "limb32";
        let (shape, reference) = contract(kernel);
        for peer in entry.peers {
            let needs = FeatureSet::from_names(peer.features).unwrap_or_default();
            if needs.difference(cpu.features).iter().next().is_some() {
                println!("not here: {}", peer.title());
                continue;
            }
            // SAFETY: each entry is a System V function of at most six words.
            let call: Words = unsafe { core::mem::transmute(peer.entry.address()) };
            for n in (1..=70u64).filter(|&n| peer.lengths.have(n)) {
                for _ in 0..20 {
                    let count = if narrow { n as usize / 2 } else { n as usize };
                    let w = if narrow { random.word() >> 32 } else { limbs(&mut random, 1)[0] };
                    let (a, b) = (limbs(&mut random, count), limbs(&mut random, count));
                    let length = match shape {
                        Shape::Row | Shape::Sum => count,
                        Shape::LongRow => count + MORE,
                        Shape::Product | Shape::Square => 2 * count,
                    };
                    let before = limbs(&mut random, length);
                    let mut expected = before.clone();
                    let returns = reference(&mut expected, &a, &b, w);
                    // One limb more, which has to stay.
                    let mut r = before.clone();
                    r.push(0x5a5a_5a5a_5a5a_5a5a);
                    let (r_at, a_at, b_at) = (r.as_mut_ptr() as u64, a.as_ptr() as u64, b.as_ptr() as u64);
                    // The bits above a narrow limb are the caller's to leave dirty.
                    let dirty = if narrow { w | 0xdead << 32 } else { w };
                    let words = match shape {
                        Shape::Row => [r_at, a_at, n, dirty, 1, 2],
                        Shape::LongRow => [r_at, a_at, n, MORE as u64, dirty, 1],
                        Shape::Sum | Shape::Product => [r_at, a_at, b_at, n, 1, 2],
                        Shape::Square => [r_at, a_at, n, 1, 2, 3],
                    };
                    let [w0, w1, w2, w3, w4, w5] = words;
                    // SAFETY: the words are those of the kernel's contract, the memory has its lengths, this CPU has the
                    // features, and no other test calls a peer.
                    let returned = unsafe { call(w0, w1, w2, w3, w4, w5) };
                    assert_eq!(r.pop(), Some(0x5a5a_5a5a_5a5a_5a5a), "{} at n = {n}", peer.title());
                    assert_eq!(r, expected, "{} at n = {n}: {a:x?} {b:x?} {w:x}", peer.title());
                    if !matches!(shape, Shape::Product | Shape::Square) {
                        assert_eq!(returned, returns, "{} at n = {n}: {a:x?} {b:x?} {w:x}", peer.title());
                    }
                    calls += 1;
                }
            }
        }
    }
    assert!(calls > 10_000, "{calls} calls");
}

#[test]
fn every_kernel_is_there_once_and_every_length_has_a_peer() {
    let names: BTreeSet<&str> = MATCHES.iter().map(|entry| entry.kernel).collect();
    assert_eq!(names.len(), MATCHES.len());
    for entry in MATCHES {
        let rivals = entry.peers.iter().filter(|peer| !peer.control);
        assert!(entry.sizes.iter().all(|&n| rivals.clone().any(|peer| peer.lengths.have(n))), "{}", entry.kernel);
        assert!(entry.peers.iter().all(|peer| FeatureSet::from_names(peer.features).is_ok()), "{}", entry.kernel);
    }
}

#[test]
fn lengths_are_what_they_say() {
    assert!(!Any.have(0) && Any.have(1));
    assert!(Only(8).have(8) && !Only(8).have(16));
    assert!(!UpTo(32).have(0) && UpTo(32).have(32) && !UpTo(32).have(33));
    assert!(!Powers(16, 64).have(8) && Powers(16, 64).have(32) && !Powers(16, 64).have(48));
    assert!(!Even.have(0) && !Even.have(7) && Even.have(8));
}
