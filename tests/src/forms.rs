//! Every form of every shipped variant: interpreted before and after allocation, compiled, and generated at run time.

use kiln_codegen::backend::machine;
use kiln_codegen::compile::{Compiled, Form, compile};
use kiln_codegen::ir::interpret::{Argument, Call, Program};
use kiln_codegen::spec::Specs;
use kiln_kernels::catalogue::{Kernel, Origin};
use kiln_runtime::candidate::Candidate;
use kiln_runtime::detect::Native;
use kiln_runtime::exec::Code;
use kiln_runtime::provide::{Provider, facts};
use std::collections::BTreeMap;

/// The shipped specs.
pub fn specs() -> &'static Specs {
    static PROVIDER: std::sync::OnceLock<Provider> = std::sync::OnceLock::new();
    PROVIDER.get_or_init(Provider::shipped).specs()
}

/// Every shipped plan, compiled.
pub fn compiled() -> &'static [Compiled<'static>] {
    static COMPILED: std::sync::OnceLock<Vec<Compiled<'static>>> = std::sync::OnceLock::new();
    COMPILED.get_or_init(|| compile(specs()).expect("the shipped specs compile"))
}

/// The shipped kernel of that name.
pub fn kernel(name: &str) -> &'static Kernel {
    kiln_kernels::kernels().find(|kernel| kernel.name == name).expect("a shipped kernel")
}

/// The shipped variant of a compiled plan.
pub fn shipped(compiled: &Compiled<'_>) -> Candidate {
    let kernel = kernel(&compiled.plan.kernel.kernel);
    let variant = kernel.variants.iter().find(|variant| variant.name == compiled.plan.name);
    Candidate::shipped(variant.unwrap_or_else(|| panic!("{} is not in the catalogue", compiled.plan.name)))
}

/// A compiled plan as run-time code: `None` for a portable one, or where there is no executable memory.
pub fn generated(compiled: &Compiled<'_>) -> Option<Candidate> {
    let Form::Machine(func) = &compiled.form else { return None };
    let bytes = machine::assemble(func).unwrap_or_else(|error| panic!("{}: {error}", compiled.plan.name));
    let code = Code::publish(&[&bytes]).expect("executable memory");
    // SAFETY: generated just now from this plan for its kernel's contract; the manifest is computed; never unmapped.
    Some(unsafe { Candidate::made(facts(compiled), code.entries()[0]) })
}

/// The forms of one variant that can be interpreted.
pub fn programs(compiled: &Compiled<'_>) -> Vec<(&'static str, Program)> {
    let mut programs = vec![("virtual", Program::new(&compiled.func).expect("well-formed"))];
    if let Form::Machine(func) = &compiled.form {
        programs.push(("physical", Program::new(func).expect("well-formed")));
    }
    programs
}

/// The forms of one variant that can run here, with what cannot counted in `skips`.
pub fn natives(compiled: &Compiled<'_>, cpu: &Native, skips: &mut Skips) -> Vec<Candidate> {
    let candidate = shipped(compiled);
    let kernel = kernel(&compiled.plan.kernel.kernel);
    if let Err(why) = candidate.eligible(kernel, cpu) {
        skips.skip(compiled.features.names(), &why.to_string());
        return Vec::new();
    }
    let twin = generated(compiled);
    assert!(twin.is_some() || candidate.origin() == Origin::Portable, "{} has a run-time twin", candidate.name());
    std::iter::once(candidate).chain(twin).collect()
}

/// What could not run here. `KILN_REQUIRE=avx2,vaes` turns a skip for such a feature into a failure.
#[derive(Debug, Default)]
pub struct Skips(BTreeMap<String, usize>);

impl Skips {
    /// Counts one skip that happened for want of `features`.
    pub fn skip(&mut self, features: Vec<&str>, why: &str) {
        let required = std::env::var("KILN_REQUIRE").unwrap_or_default();
        let required: Vec<&str> = required.split(',').collect();
        let wanted = features.iter().find(|feature| required.contains(feature));
        assert!(wanted.is_none(), "KILN_REQUIRE has {wanted:?}, but: {why}");
        *self.0.entry(why.to_owned()).or_default() += 1;
    }

    /// Says what was skipped.
    pub fn report(&self) {
        for (why, count) in &self.0 {
            println!("skipped {count}: {why}");
        }
    }
}

/// The operands of `limb*.mul_add`, in 64-bit words whatever the limb.
#[derive(Clone, Debug)]
pub struct MulAdd {
    /// Bits of a limb.
    pub bits: u32,
    /// The accumulator.
    pub r: Vec<u64>,
    /// The multiplicand; equal to `r` when the pointers are equal.
    pub a: Vec<u64>,
    /// The multiplier.
    pub w: u64,
    /// Whether `a` is the same memory as `r`.
    pub in_place: bool,
}

impl MulAdd {
    fn bytes(&self, limbs: &[u64]) -> Vec<u8> {
        let size = (self.bits / 8) as usize;
        limbs.iter().flat_map(|limb| limb.to_le_bytes().into_iter().take(size)).collect()
    }

    /// The call for the interpreter.
    pub fn call(&self) -> Call {
        let r = Argument::Pointer { bytes: self.bytes(&self.r) };
        let a = if self.in_place { Argument::Same(0) } else { Argument::Pointer { bytes: self.bytes(&self.a) } };
        Call::new(vec![r, a, Argument::Integer(self.r.len() as u64), Argument::Integer(self.w)])
    }

    /// Runs a program and returns the row and the carry.
    pub fn interpret(&self, program: &Program) -> (Vec<u64>, u64) {
        let outcome = program.run(&self.call()).unwrap_or_else(|fault| panic!("{fault}\n{}", self.hex()));
        let limbs = match self.bits {
            64 => outcome.limbs64(0),
            _ => outcome.limbs32(0).into_iter().map(u64::from).collect(),
        };
        (limbs, outcome.returned.expect("a carry limb"))
    }

    /// Runs a native entry and returns the row and the carry.
    pub fn run(&self, candidate: &Candidate) -> (Vec<u64>, u64) {
        let kernel = kernel(candidate.kernel());
        // Aligned memory: whole 64-bit words hold the bytes.
        let words = |mut bytes: Vec<u8>| -> Vec<u64> {
            bytes.resize(bytes.len().next_multiple_of(8).max(8), 0);
            bytes.as_chunks().0.iter().map(|chunk| u64::from_le_bytes(*chunk)).collect()
        };
        let (mut r, mut a) = (words(self.bytes(&self.r)), words(self.bytes(&self.a)));
        let r_pointer: *mut u8 = r.as_mut_ptr().cast();
        let a_pointer: *mut u8 = if self.in_place { r_pointer } else { a.as_mut_ptr().cast() };
        let call = [
            kiln_kernels::catalogue::Word { pointer: r_pointer },
            kiln_kernels::catalogue::Word { pointer: a_pointer },
            kiln_kernels::catalogue::Word { integer: self.r.len() as u64 },
            kiln_kernels::catalogue::Word { integer: self.w },
        ];
        // SAFETY: the pointers are to `n` limbs each, equal or apart, and the candidate was found eligible.
        let carry = unsafe { (kernel.call)(candidate.entry(), &call) };
        let bytes: Vec<u8> = r.iter().flat_map(|word| word.to_le_bytes()).collect();
        let size = (self.bits / 8) as usize;
        let limbs = bytes.chunks(size).take(self.r.len()).map(|limb| {
            let mut word = [0; 8];
            word[..size].copy_from_slice(limb);
            u64::from_le_bytes(word)
        });
        (limbs.collect(), carry)
    }

    /// The right answer, by big integers.
    pub fn expected(&self) -> (Vec<u64>, u64) {
        use num_bigint::BigUint;
        let number = |limbs: &[u64]| BigUint::from_bytes_le(&self.bytes(limbs));
        let a = if self.in_place { &self.r } else { &self.a };
        let sum = number(&self.r) + number(a) * BigUint::from(self.w);
        let n = self.r.len();
        let mut digits = sum.iter_u32_digits().map(u64::from).collect::<Vec<_>>();
        digits.resize(2 * n + 2, 0);
        let mut limbs: Vec<u64> = match self.bits {
            64 => digits.as_chunks::<2>().0.iter().map(|[low, high]| low | high << 32).collect(),
            _ => digits,
        };
        limbs.truncate(n + 1);
        let carry = limbs.pop().expect("n + 1 limbs");
        (limbs, carry)
    }

    /// The operands in hex, for a failure.
    pub fn hex(&self) -> String {
        format!("{:x?}", self)
    }
}
