//! Whether every thread gets right answers when eight of them use all kernels for the first time at once.

#[path = "limb/reference.rs"]
mod reference;

use std::sync::Barrier;
use std::thread;

use kiln::limb;
use reference::{Checked, Operands};

const THREADS: usize = 8;

#[test]
fn eight_threads_use_every_kernel_for_the_first_time() {
    let start = &Barrier::new(THREADS);
    thread::scope(|scope| {
        for turn in 0..THREADS {
            scope.spawn(move || {
                start.wait();
                for round in 0..8 {
                    // Each begins somewhere else, so that each kernel has its first use in several threads.
                    for step in 0..8 {
                        let mut operands = Operands((turn << 16 | round << 8 | step) as u64);
                        let n = [4, 5, 8, 13, 16, 32, 33, 64][(turn + round) % 8];
                        one::<u64>((turn + step) % 8, n, &mut operands);
                        one::<u32>((turn + step + 4) % 8, n, &mut operands);
                    }
                }
            });
        }
    });
    // A kernel that is used while another is tuned has to wait for a later use, and so perhaps for this one.
    for which in 0..8 {
        one::<u64>(which, 8, &mut Operands(1));
        one::<u32>(which, 8, &mut Operands(1));
    }
    assert_eq!(kiln::explain().len(), kiln_kernels::limb::KERNELS.len());
}

fn one<L: Checked>(which: usize, n: usize, operands: &mut Operands) {
    let reference = &L::REFERENCE;
    let (a, b, w) = (operands.limbs::<L>(n), operands.limbs::<L>(n), operands.limb::<L>());
    let mut r = operands.limbs::<L>(2 * n + 3);
    let mut expected = r.clone();
    match which {
        0 => {
            let carry = limb::mul(&mut r[..n], &a, w).expect("lengths");
            assert_eq!(carry, (reference.mul)(&mut expected[..n], &a, w));
            let carry = limb::mul_add(&mut r[1..=n], &b, w).expect("lengths");
            assert_eq!(carry, (reference.mul_add)(&mut expected[1..=n], &b, w));
        }
        1 => {
            let borrow = limb::mul_sub(&mut r[..n], &a, w).expect("lengths");
            assert_eq!(borrow, (reference.mul_sub)(&mut expected[..n], &a, w));
        }
        2 => {
            let carry = limb::add(&mut r[..n], &a, &b).expect("lengths");
            assert_eq!(carry, (reference.add)(&mut expected[..n], &a, &b));
        }
        3 => {
            let borrow = limb::sub(&mut r[..n], &a, &b).expect("lengths");
            assert_eq!(borrow, (reference.sub)(&mut expected[..n], &a, &b));
        }
        4 => {
            let carry = limb::mul_add_prop(&mut r, &a, w).expect("lengths");
            assert_eq!(carry, (reference.mul_add_prop)(&mut expected, &a, w));
            let carry = limb::sqr_add_prop(&mut r, &b).expect("lengths");
            assert_eq!(carry, (reference.sqr_add_prop)(&mut expected, &b));
        }
        5 => {
            limb::product(&mut r[..2 * n], &a, &b).expect("lengths");
            (reference.mul_nxn)(&mut expected[..2 * n], &a, &b, &mut []);
        }
        6 => {
            limb::square(&mut r[..2 * n], &a).expect("lengths");
            (reference.sqr_n)(&mut expected[..2 * n], &a, &mut []);
        }
        _ => {
            let d = w.normalised();
            let hi = a[0].below(d);
            let mut quotient = [L::default()];
            let remainder = (reference.division)(&mut quotient, hi, b[0], d);
            let divisor = limb::Divisor::new(d).expect("normalised");
            assert_eq!(divisor.divide(hi, b[0]), Ok((quotient[0], remainder)));
            assert_eq!(limb::divide_public(hi, b[0], d), Ok((quotient[0], remainder)));
        }
    }
    assert_eq!(r, expected);
}
