//! Every form of every variant, shipped or of the specs of this crate: interpreted before and after allocation, compiled, and generated at run time.

use crate::made_up;
use crate::skips::Skips;
use kiln_codegen::backend::machine;
use kiln_codegen::compile::{Compiled, Form, compile};
use kiln_codegen::family::Extent;
use kiln_codegen::ir::interpret::Program;
use kiln_codegen::spec::{SourceFile, Specs};
use kiln_kernels::catalogue::{Kernel, Origin};
use kiln_runtime::candidate::Candidate;
use kiln_runtime::detect::Native;
use kiln_runtime::exec::Code;
use kiln_runtime::provide::{Provider, facts};

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

/// Every plan of the kernels of this crate's own specs, compiled.
pub fn made_up() -> &'static [Compiled<'static>] {
    static SPECS: std::sync::OnceLock<Specs> = std::sync::OnceLock::new();
    static COMPILED: std::sync::OnceLock<Vec<Compiled<'static>>> = std::sync::OnceLock::new();
    COMPILED.get_or_init(|| {
        let texts = made_up::SPECS.iter().chain(made_up::CPUS);
        let files: Vec<SourceFile> =
            texts.map(|spec| SourceFile { path: spec.path.into(), bytes: spec.text.as_bytes().to_vec() }).collect();
        let specs = SPECS.get_or_init(|| {
            Specs::parse(&files, &kiln_codegen::vocabulary(&[])).expect("the specs of this crate are good")
        });
        compile(specs).expect("the specs of this crate compile")
    })
}

/// Every plan of the kernel of that name, compiled.
pub fn compiled_of(kernel: &str) -> impl Iterator<Item = &'static Compiled<'static>> {
    let all = if made_up::KERNELS.iter().any(|own| own.name == kernel) { made_up() } else { compiled() };
    all.iter().filter(move |compiled| compiled.plan.kernel.kernel.value == kernel)
}

/// The kernels with a mode of a block cipher, shipped and made up.
pub fn modes() -> impl Iterator<Item = &'static Kernel> {
    let all = kiln_kernels::kernels().chain(made_up::KERNELS.iter().copied());
    all.filter(|kernel| kernel.cipher.is_some_and(|cipher| cipher.mode.is_some()))
}

/// The names of the shipped kernels on limbs: rows, products, divisions and what is made of them.
pub fn limb_kernels() -> impl Iterator<Item = &'static str> {
    let others = |kernel: &&Kernel| kernel.cipher.is_none() && !kernel.name.starts_with("table.");
    kiln_kernels::kernels().filter(others).map(|kernel| kernel.name)
}

/// The names of the shipped kernels of tables.
pub fn table_kernels() -> impl Iterator<Item = &'static str> {
    kiln_kernels::kernels().map(|kernel| kernel.name).filter(|name| name.starts_with("table."))
}

/// The kernel of that name, shipped or made up.
///
/// # Panics
/// When there is none.
pub fn kernel(name: &str) -> &'static Kernel {
    let mut all = kiln_kernels::kernels().chain(made_up::KERNELS.iter().copied());
    all.find(|kernel| kernel.name == name).unwrap_or_else(|| panic!("there is no kernel {name}"))
}

/// The compiled-in variant of a plan.
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

/// The limbs of a turn of a compiled plan's loop, if it has one.
pub fn unroll(compiled: &Compiled<'_>) -> Option<u64> {
    match compiled.plan.parameters.extent {
        Extent::Unrolled(limbs) | Extent::Blocks(limbs) => Some(limbs.into()),
        Extent::Whole | Extent::Exact(_) => None,
    }
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
