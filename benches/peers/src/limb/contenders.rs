//! Who takes part: Kiln's variants as they are linked, the same at other places in memory, and the functions of other
//! libraries. All of them are verified by kiln-runtime before anything else is done with them.
//!
//! Unsafe is needed to vouch for functions that come from elsewhere; see `libraries` and `Twins::place`.

use std::collections::BTreeMap;

use kiln_codegen::backend::machine::assemble;
use kiln_codegen::compile::{Form, compile_plan};
use kiln_codegen::isa::feature::FeatureSet;
use kiln_codegen::plan::plans;
use kiln_codegen::spec::Specs;
use kiln_kernels::catalogue::Kernel;
use kiln_runtime::candidate::{Candidate, Made};
use kiln_runtime::detect::Native;
use kiln_runtime::exec::Code;
use kiln_runtime::provide::facts;
use kiln_runtime::verify::{Checker, Depth, Options, Verified};

use super::peers::Peer;
use crate::ring::Absent;

/// A peer at one n: checked with every pattern and aliasing there, and at no other n, since it may not be called with
/// all that the contract allows (none of them takes n = 0).
///
/// # Errors
/// Why it is not in the race.
pub fn peer(kernel: &'static Kernel, peer: &Peer, n: u64, cpu: &Native) -> Result<Verified, Absent> {
    let name = peer.title();
    let features = FeatureSet::from_names(peer.features).map_err(|unknown| Absent {
        name: name.clone(),
        why: format!("the table of peers names {:?}, which is no known CPU feature", unknown.word),
        failed: true,
    })?;
    let made = Made {
        name: format!("{}/{name}", kernel.name),
        features,
        exact: Some(n),
        startup: false,
        code_hash: String::new(),
        instructions: 0,
    };
    // SAFETY: the table of peers names functions that are linked in, under the kernel whose contract they keep, and `n` is
    // one of the lengths that they may have. They are for the baseline of x86-64 but for the features given; GMP and the
    // rest of the libraries are built on the machine that runs them, as the build script demands.
    let candidate = unsafe { Candidate::made(made, peer.entry) };
    let options = Options { depth: Depth::Full { cases: 16 }, ..Options::default() };
    Checker::new(kernel, options).verify(&candidate, [].into_iter(), cpu).map_err(|why| Absent::rejected(name, &why))
}

/// Machine code of a kernel's shipped variants, to be put anywhere.
pub struct Twins {
    kernel: &'static Kernel,
    code: BTreeMap<String, (Made, Vec<u8>)>,
}

impl Twins {
    /// Generates them from the specs that were compiled in. Portable variants have none.
    pub fn new(kernel: &'static Kernel, specs: &Specs) -> Twins {
        let mut code = BTreeMap::new();
        // The specs were accepted when the kernels were compiled: what cannot be made is simply raced as it was linked.
        for plan in plans(specs).unwrap_or_default() {
            if plan.kernel.kernel.value != kernel.name {
                continue;
            }
            let Ok(compiled) = compile_plan(plan, specs) else { continue };
            let Form::Machine(func) = &compiled.form else { continue };
            let Ok(bytes) = assemble(func) else { continue };
            let same = |variant: &&kiln_kernels::catalogue::Variant| {
                variant.name == compiled.plan.name && variant.code_hash == compiled.code_hash
            };
            if kernel.variants.iter().any(|variant| same(&variant)) {
                code.insert(compiled.plan.name.clone(), (facts(&compiled), bytes));
            }
        }
        Twins { kernel, code }
    }

    /// The variant's code at `places` different offsets in a page; nothing if it has no such code, or if this system
    /// allows none.
    pub fn place(
        &self,
        variant: &str,
        places: u32,
        cpu: &Native,
        left_out: &mut Vec<Absent>,
    ) -> Vec<(usize, Verified)> {
        let Some((made, bytes)) = self.code.get(variant) else { return Vec::new() };
        let mut placed = Vec::new();
        let mut checker = Checker::new(self.kernel, Options::default());
        for place in 0..places {
            let offset = offset(place);
            let filler = vec![0xcc; offset];
            let functions: Vec<&[u8]> = [&filler[..], bytes].into_iter().filter(|part| !part.is_empty()).collect();
            let Ok(code) = Code::publish(&functions) else { continue };
            let Some(&entry) = code.entries().last() else { continue };
            // SAFETY: the bytes were generated from a plan for this kernel, `made` has the union of the features of their
            // instructions, and published code is never unmapped.
            let candidate = unsafe { Candidate::made(made.clone(), entry) };
            match checker.verify(&candidate, [].into_iter(), cpu) {
                Ok(verified) => placed.push((offset, verified)),
                Err(why) => left_out.push(Absent::rejected(format!("{variant} at {offset:#x}"), &why)),
            }
        }
        placed
    }
}

/// Where in a page the copies lie: all multiples of 64 once before any comes again, near ones far apart.
fn offset(place: u32) -> usize {
    64 * (place as usize * 37 % 64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn places_differ_and_stay_in_a_page() {
        let offsets: BTreeSet<usize> = (0..64).map(offset).collect();
        assert_eq!(offsets.len(), 64);
        assert!(offsets.iter().all(|offset| offset % 64 == 0 && *offset < 4096));
    }
}
