//! Specs to candidates while the program runs: reads the specs that were compiled in and a folder of new or changed ones,
//! generates what is not shipped with the machine backend and publishes it. Judges nothing: what comes out is unverified.

use crate::candidate::{Candidate, Made};
use crate::detect::Cpu;
use crate::exec::{Code, Refused};
use crate::settings::Settings;
use kiln_codegen::backend::machine::{self, MachineError};
use kiln_codegen::compile::{Compiled, Form, compile_plan};
use kiln_codegen::error::{Problem, Problems, Reason};
use kiln_codegen::plan::plans;
use kiln_codegen::spec::{ArgumentKind, CpuSpec, KernelSpec, SourceFile, Specs, read_folder};
use kiln_kernels::catalogue::{Kernel, KernelParts, Origin, SpecText};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// The specs in force: the shipped ones, with those of a folder over them.
#[derive(Debug)]
pub struct Provider {
    specs: Specs,
}

/// What a provider has for one kernel.
#[derive(Debug, Default)]
pub struct Provided {
    /// Generated, published, unverified.
    pub candidates: Vec<Candidate>,
    /// Names of shipped variants whose spec has changed so that their code differs: the candidate of that name stands in
    /// for them.
    pub replaced: Vec<String>,
    /// Variants that the specs ask for and that could not be made, with the reason.
    pub left_out: Vec<(String, LeftOut)>,
}

/// Why a variant was not made.
#[derive(Clone, Debug)]
pub enum LeftOut {
    /// Portable variants are Rust, and there is no compiler at run time.
    Portable,
    /// The encoder cannot.
    Encoder(MachineError),
    /// There is no executable memory.
    Memory(Refused),
    /// It has other arguments than the kernel that was compiled in.
    Contract(OtherContract),
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LeftOut::Portable => f.write_str("portable variants are compiled Rust: they cannot be made at run time"),
            LeftOut::Encoder(error) => write!(f, "{error}"),
            LeftOut::Memory(refused) => write!(f, "{refused}"),
            LeftOut::Contract(other) => write!(f, "{other}"),
        }
    }
}

/// Why a folder's kernel cannot be used with the shipped ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OtherContract {
    kernel: &'static str,
}

impl fmt::Display for OtherContract {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the arguments of {} differ from those that this program was built with: names, limits, secrecy, equal \
             pointers and a cipher's mode are part of the contract",
            self.kernel
        )
    }
}

impl std::error::Error for OtherContract {}

/// A folder's kernel that this program does not have: without its reference nothing can be checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NotCompiled;

impl fmt::Display for NotCompiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("this kernel is not compiled into the program: a call of `kernels!` must name its spec")
    }
}

impl std::error::Error for NotCompiled {}

/// What is given for a folder of specs is something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAFolder;

impl fmt::Display for NotAFolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("is not a folder; specs are given by the folder that they are in")
    }
}

impl std::error::Error for NotAFolder {}

impl Provider {
    /// The specs that were compiled in.
    ///
    /// # Panics
    /// Never for specs that `kernels!` accepted: they were parsed by the same code.
    pub fn shipped() -> Provider {
        let files: Vec<SourceFile> = kiln_kernels::specs().chain(kiln_kernels::cpus()).map(source_file).collect();
        match Specs::parse(&files, &kiln_codegen::vocabulary(&[])) {
            Ok(specs) => Provider { specs },
            Err(problems) => panic!("the shipped specs are broken: {problems}"),
        }
    }

    /// The shipped specs, with every `.toml` of the folder over them: a kernel or a CPU of the same name is replaced.
    ///
    /// # Errors
    /// Every problem of every file of the folder; it is no folder.
    pub fn with_folder(folder: &Path) -> Result<Provider, Problems> {
        if folder.exists() && !folder.is_dir() {
            let reason = Reason::Stage(Arc::new(NotAFolder));
            return Err(Problem::whole(&folder.display().to_string(), reason).into());
        }
        let mut specs = Provider::shipped().specs;
        let cpus: Vec<&str> = specs.cpus.iter().map(|cpu| cpu.name.as_str()).collect();
        let own = Specs::parse(&read_folder(folder)?, &kiln_codegen::vocabulary(&cpus))?;
        let mut problems = Problems::new();
        for kernel in &own.kernels {
            if !kiln_kernels::kernels().any(|compiled| compiled.name == kernel.kernel.value) {
                problems.push(kernel.problem(kernel.kernel.span.clone(), Reason::Stage(Arc::new(NotCompiled)), None));
            }
        }
        problems.or(())?;
        specs.kernels.retain(|kernel| own.kernel(&kernel.kernel).is_none());
        specs.cpus.retain(|cpu| own.cpu(&cpu.name).is_none());
        specs.kernels.extend(own.kernels);
        specs.cpus.extend(own.cpus);
        specs.kernels.sort_by(|a, b| a.kernel.value.cmp(&b.kernel.value));
        specs.cpus.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Provider { specs })
    }

    /// The specs in force.
    pub fn specs(&self) -> &Specs {
        &self.specs
    }

    /// The CPU file that recognises this CPU.
    pub fn cpu_file(&self, cpu: &Cpu) -> Option<&CpuSpec> {
        self.specs.cpus.iter().find(|file| {
            file.identify.as_ref().is_some_and(|identify| {
                identify.vendor.value == cpu.vendor
                    && identify.family.value == cpu.family
                    && identify.models.contains(&cpu.model)
            })
        })
    }

    /// As [`crate::prefer::preferences`], by the CPU files in force.
    pub fn preferences(&self, cpu: &Cpu) -> BTreeMap<String, String> {
        let files = self.specs.cpu("generic").into_iter().chain(self.cpu_file(cpu));
        let short = |variant: &str| variant.split_once('/').map_or(variant, |(_, short)| short).to_owned();
        files.flat_map(|file| &file.prefer).map(|(kernel, variant)| (kernel.clone(), short(&variant.value))).collect()
    }

    /// The kernel with the size classes that the specs in force give it. The contract must be the compiled one.
    ///
    /// # Errors
    /// When it is not, at the kernel's place in its file.
    pub fn kernel(&self, shipped: &'static Kernel) -> Result<&'static Kernel, Problems> {
        let Some(spec) = self.specs.kernel(shipped.name) else { return Ok(shipped) };
        if spec.hash == shipped.spec_hash {
            return Ok(shipped);
        }
        same_contract(spec, shipped)?;
        // A changed spec lives as long as the process, as the kernels made from it do.
        let parts = KernelParts {
            sizes: Vec::leak(spec.sizes.clone()),
            spec_file: String::leak(spec.file.clone()),
            spec_text: String::leak(spec.text.clone()),
            spec_hash: String::leak(spec.hash.clone()),
            ..**shipped
        };
        // SAFETY: the contract, the reference and the variants are the shipped kernel's; the size classes are of a checked
        // spec with the same count argument.
        Ok(Box::leak(Box::new(unsafe { Kernel::new(parts) })))
    }

    /// Makes the variants of `kernel` that the specs in force ask for and that are not shipped as they are.
    ///
    /// # Errors
    /// What the generator has against a spec.
    pub fn provide(&self, kernel: &'static Kernel) -> Result<Provided, Problems> {
        let mut provided = Provided::default();
        let Some(spec) = self.specs.kernel(kernel.name) else { return Ok(provided) };
        same_contract(spec, kernel)?;
        let mut fresh = Vec::new();
        let mut problems = Problems::new();
        let shipped = |name: &str| kernel.variants.iter().find(|variant| variant.name == name);
        for plan in plans(&self.specs)?.into_iter().filter(|plan| plan.kernel.kernel.value == kernel.name) {
            match compile_plan(plan, &self.specs) {
                Ok(compiled) => {
                    let twin = shipped(&compiled.plan.name);
                    if twin.is_none_or(|twin| twin.code_hash != compiled.code_hash) {
                        fresh.push(compiled);
                    }
                }
                Err(found) => problems.extend(found),
            }
        }
        let fresh = problems.or(fresh)?;
        for (compiled, made) in fresh.iter().zip(publish(kernel, &fresh)) {
            let name = &compiled.plan.name;
            match made {
                Ok(Published { candidate, .. }) => {
                    if shipped(name).is_some_and(|variant| variant.origin != Origin::Portable) {
                        provided.replaced.push(name.clone());
                    }
                    provided.candidates.push(candidate);
                }
                Err(why) => provided.left_out.push((name.clone(), why)),
            }
        }
        Ok(provided)
    }
}

/// A variant that was made at run time.
#[derive(Clone, Debug)]
pub struct Published {
    candidate: Candidate,
    made: Made,
    code: Arc<[u8]>,
}

impl Published {
    /// It, unverified.
    pub fn candidate(&self) -> &Candidate {
        &self.candidate
    }

    /// Bytes of its code, with its constants.
    pub fn bytes(&self) -> usize {
        self.code.len()
    }
}

/// The same code once more, at other addresses, in this order. Where code lies is worth some percent on many CPUs: who wants to
/// know what a variant is worth looks at it in several places.
///
/// # Errors
/// Why there is no executable memory.
pub fn publish_again(published: &[&Published]) -> Result<Vec<Candidate>, Refused> {
    let functions: Vec<&[u8]> = published.iter().map(|one| &*one.code).collect();
    let code = Code::publish(&functions)?;
    let moved = published.iter().zip(code.entries()).map(|(one, entry)| {
        // SAFETY: the bytes are those that `publish` vouches for, which do not depend on their address (a function is one piece
        // that refers to nothing but itself) as long as that is a multiple of `exec::ALIGNMENT`, as that of every function is.
        unsafe { Candidate::made(one.made.clone(), *entry) }
    });
    Ok(moved.collect())
}

/// Makes machine code of compiled variants, and publishes it as one batch: one outcome for each, in their order.
pub fn publish(kernel: &'static Kernel, compiled: &[Compiled<'_>]) -> Vec<Result<Published, LeftOut>> {
    let assembled: Vec<Result<Vec<u8>, LeftOut>> = compiled
        .iter()
        .map(|compiled| match &compiled.form {
            _ if first_difference(compiled.plan.kernel, kernel).is_some() => {
                Err(LeftOut::Contract(OtherContract { kernel: kernel.name }))
            }
            Form::Portable => Err(LeftOut::Portable),
            Form::Machine(func) => machine::assemble(func).map_err(LeftOut::Encoder),
        })
        .collect();
    let functions: Vec<&[u8]> = assembled.iter().flatten().map(Vec::as_slice).collect();
    let code = if functions.is_empty() { Err(Refused::Empty) } else { Code::publish(&functions) };
    let mut entries = code.iter().flat_map(Code::entries);
    let outcome = |(compiled, bytes): (&Compiled<'_>, Result<Vec<u8>, LeftOut>)| {
        let bytes = bytes?;
        let entry = match (&code, entries.next()) {
            (Err(refused), _) => return Err(LeftOut::Memory(*refused)),
            // One entry for each function.
            (Ok(_), None) => return Err(LeftOut::Memory(Refused::Empty)),
            (Ok(_), Some(entry)) => *entry,
        };
        // SAFETY: the entry was generated just now from this plan, for the contract of the kernel that its name begins with
        // (`kernel`, whose contract was compared above; a candidate of another name is not eligible for it), the features are the
        // union over its instructions, and published code is never unmapped.
        let candidate = unsafe { Candidate::made(facts(compiled), entry) };
        Ok(Published { candidate, made: facts(compiled), code: bytes.into() })
    };
    compiled.iter().zip(assembled).map(outcome).collect()
}

/// The specs in force by `KILN_SPECS`; `None` when it is not set. A folder that cannot be used is told once on standard error
/// and ignored.
pub fn in_environment() -> Option<&'static Provider> {
    static PROVIDER: OnceLock<Option<Provider>> = OnceLock::new();
    let provider = PROVIDER.get_or_init(|| {
        let folder = Settings::global().specs.as_ref()?;
        Provider::with_folder(folder).inspect_err(ignored).ok()
    });
    provider.as_ref()
}

/// What the folder of `KILN_SPECS` adds to a kernel: nothing when it is not set or cannot be used. Size classes stay those
/// that were compiled in.
pub fn from_environment(kernel: &'static Kernel) -> Vec<Candidate> {
    let Some(provider) = in_environment() else { return Vec::new() };
    match provider.provide(kernel) {
        Ok(provided) => provided.candidates,
        Err(problems) => {
            ignored(&problems);
            Vec::new()
        }
    }
}

fn ignored(problems: &Problems) {
    // `eprintln!` would panic if it cannot be written, and there is nowhere to say so.
    let _ = writeln!(std::io::stderr(), "kiln: KILN_SPECS is ignored: {problems}");
}

/// What the runtime keeps of a compiled plan.
pub fn facts(compiled: &Compiled<'_>) -> Made {
    Made {
        name: compiled.plan.name.clone(),
        features: compiled.features,
        exact: compiled.func.exact,
        startup: compiled.plan.startup,
        code_hash: compiled.code_hash.clone(),
        instructions: compiled.instructions,
    }
}

fn source_file(text: &SpecText) -> SourceFile {
    SourceFile { path: text.path.to_owned(), bytes: text.text.as_bytes().to_vec() }
}

/// Whether a spec has the contract of the kernel as it was compiled.
fn same_contract(spec: &KernelSpec, shipped: &Kernel) -> Result<(), Problems> {
    let Some(wrong) = first_difference(spec, shipped) else { return Ok(()) };
    let reason = Reason::Stage(Arc::new(OtherContract { kernel: shipped.name }));
    let span = spec.arguments.get(wrong).map_or(spec.kernel.span.clone(), |wrong| wrong.name.span.clone());
    Err(spec.problem(span, reason, None).into())
}

/// Whether a spec's key, rounds and mode are those of the kernel as it was compiled.
fn same_cipher(spec: &KernelSpec, shipped: &Kernel) -> bool {
    use kiln_codegen::spec::{Direction, Term as Written};
    use kiln_kernels::catalogue::Term;
    let term = |term: &Term| match term {
        Term::In => Written::In,
        Term::PreviousIn => Written::PreviousIn,
        Term::PreviousOut => Written::PreviousOut,
        Term::Counter => Written::Counter,
    };
    let compiled = shipped.cipher.map(|cipher| kiln_codegen::spec::Cipher {
        key_bits: cipher.key_bits,
        rounds: cipher.rounds,
        mode: cipher.mode.map(|mode| kiln_codegen::spec::Mode {
            input: mode.input.iter().map(term).collect(),
            cipher: if mode.decrypts { Direction::Decrypt } else { Direction::Encrypt },
            output: mode.output.iter().map(term).collect(),
            counter_bits: mode.counter_bits,
            streams: mode.streams as u32,
        }),
    });
    spec.cipher == compiled
}

/// The index of the first argument that is not the shipped contract's; one past the last when some are missing, or when it is
/// the returned limb.
fn first_difference(spec: &KernelSpec, shipped: &Kernel) -> Option<usize> {
    use kiln_codegen::spec::Access as Written;
    use kiln_codegen::spec::Domain as Bounds;
    use kiln_kernels::catalogue::{Access, ArgumentKind as Compiled, Domain};
    let same_length = |length: &kiln_codegen::spec::Length, compiled: &kiln_kernels::catalogue::Length| {
        let name = |index: usize| shipped.arguments.get(index).map_or("", |argument| argument.name);
        let ours: BTreeSet<_> = length.terms.iter().map(|(count, by)| (count.as_str(), u64::from(*by))).collect();
        let theirs = compiled.terms.iter().map(|&(count, by)| (name(count), by)).collect();
        ours == theirs && u64::from(length.plus) == compiled.plus
    };
    let same = |(ours, theirs): (&kiln_codegen::spec::Argument, &kiln_kernels::catalogue::Argument)| {
        let kind = match (&ours.kind, theirs.kind) {
            (ArgumentKind::Limbs { length }, Compiled::Limbs { bits: 32 | 64, length: compiled }) => {
                same_length(length, &compiled)
            }
            (ArgumentKind::Bytes { length, align }, Compiled::Limbs { bits: 8, length: compiled }) => {
                same_length(length, &compiled) && *align as usize == theirs.align
            }
            (ArgumentKind::Count { min, max }, Compiled::Count { min: low, max: high }) => (*min, *max) == (low, high),
            (ArgumentKind::Limb, Compiled::Limb { .. }) => true,
            _ => false,
        };
        let access = matches!(
            (ours.access, theirs.access),
            (Written::In, Access::In)
                | (Written::Out, Access::Out)
                | (Written::InOut, Access::InOut)
                | (Written::Scratch, Access::Scratch)
        );
        let name_at = |index: usize| shipped.arguments.get(index).map_or("", |argument| argument.name).to_owned();
        let domain = match theirs.domain {
            Domain::Any => Bounds::Any,
            Domain::Normalised => Bounds::Normalised,
            Domain::Below(other) => Bounds::Below(name_at(other)),
            Domain::ReciprocalOf(other) => Bounds::ReciprocalOf(name_at(other)),
            Domain::MontgomeryModulus => Bounds::MontgomeryModulus,
            Domain::EntryOf(entries) => Bounds::EntryOf(u32::try_from(entries).unwrap_or(u32::MAX)),
            Domain::SlicedRoundKeys => Bounds::SlicedRoundKeys,
        } == ours.domain;
        let name_of = |index: &usize| shipped.arguments.get(*index).map(|other| other.name);
        let equal = theirs.may_equal.iter().filter_map(name_of).collect::<BTreeSet<_>>()
            == ours.may_equal.iter().map(|at| at.value.as_str()).collect::<BTreeSet<_>>();
        ours.name.value == theirs.name && kind && access && domain && ours.secret == theirs.secret && equal
    };
    let wrong = spec.arguments.iter().zip(shipped.arguments).position(|pair| !same(pair));
    let whole = same_cipher(spec, shipped)
        && spec.arguments.len() == shipped.arguments.len()
        && spec.returns.is_some() == shipped.returns;
    wrong.or_else(|| (!whole).then_some(shipped.arguments.len()))
}
