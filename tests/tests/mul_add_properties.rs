//! Are all forms right for every n from 0 to 3 x unroll + 2, for operands of random density, in place and out of place?
//! Natives run between guard pages, with registers and state checked; the interpreter knows each argument's bounds.

use kiln_codegen::family::Parameters;
use kiln_runtime::detect::native;
use kiln_runtime::verify::{Depth, Options, verify};
use kiln_tests::forms::{self, MulAdd, Skips};

/// SplitMix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators" (2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A limb of random bit density: all zeros and all ones among them.
    fn limb(&mut self, bits: u32) -> u64 {
        let raw = match self.next() % 8 {
            0 => 0,
            1 => u64::MAX,
            2 => 1 << (self.next() % 64),
            3 => self.next() & self.next() & self.next(),
            4 => self.next() | self.next() | self.next(),
            5 => u64::MAX << (self.next() % 64),
            _ => self.next(),
        };
        if bits == 64 { raw } else { raw & 0xffff_ffff }
    }
}

fn lengths(parameters: Parameters) -> Vec<usize> {
    match parameters {
        Parameters::Unrolled { unroll, .. } => (0..=3 * unroll as usize + 2).collect(),
        Parameters::Exact(limbs) => vec![limbs as usize],
    }
}

#[test]
fn the_interpreter_agrees_with_big_integers() {
    for compiled in forms::compiled() {
        let (name, bits) = (&compiled.plan.name, compiled.func.limb_bits);
        let programs = forms::programs(compiled);
        let seed = 0x6b69_6c6e;
        let mut random = Random(seed);
        for n in lengths(compiled.plan.parameters) {
            for case in 0..12 {
                let mut row = || (0..n).map(|_| random.limb(bits)).collect::<Vec<_>>();
                let (r, a) = (row(), row());
                let in_place = case % 3 == 2;
                let a = if in_place { r.clone() } else { a };
                let operands = MulAdd { bits, r, a, w: random.limb(bits), in_place };
                for (stage, program) in &programs {
                    let got = operands.interpret(program);
                    assert_eq!(got, operands.expected(), "{name}, {stage}, seed {seed:#x}: {}", operands.hex());
                }
            }
        }
    }
}

#[test]
fn natives_agree_between_guard_pages() {
    let cpu = &native();
    let mut skips = Skips::default();
    let mut cases = 0;
    for compiled in forms::compiled() {
        let kernel = forms::kernel(&compiled.plan.kernel.kernel);
        for native in forms::natives(compiled, cpu, &mut skips) {
            let options = Options { depth: Depth::Full { cases: 8 }, guard_pages: true, ..Options::default() };
            let origin = native.origin().word();
            match verify(kernel, &native, cpu, &options) {
                Ok(verified) => cases += verified.report().cases,
                Err(rejected) => panic!("{} ({origin}): {rejected:?}", compiled.plan.name),
            }
        }
    }
    skips.report();
    println!("{cases} native cases");
    assert!(cases > 10_000);
}
