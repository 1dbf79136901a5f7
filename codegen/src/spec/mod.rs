//! TOML to types. In go files; out come [`Specs`], or every problem of every file, each with its place and, where there
//! is one, the nearest valid word. Knows the shape of specs and the words it is handed, and no algorithm.
//!
//! A file passes `document` (bytes to a tree), `walk` (the tree against the schema) and `kernel` or `cpu` (what must
//! agree). The shape itself is written once, in `raw`.

mod cipher;
mod cpu;
mod document;
mod files;
mod kernel;
mod place;
mod raw;
mod schema;
mod types;
mod vocabulary;
mod walk;

pub use files::{SourceFile, read_folder, read_paths};
pub use place::At;
pub use schema::schema;
pub use types::{
    Access, Argument, ArgumentKind, BackEdge, Cipher, Cost, CpuSpec, Direction, Domain, Identify, KernelSpec, Length,
    Machine, Mode, Returns, RoundKeys, Rounds, Specs, Strategy, Term, Unit, XorAt,
};
pub use vocabulary::Vocabulary;

use crate::error::{Noun, Problem, Problems, Reason, Shown, Source};
use document::{Content, Document, Shapes};
use schema::{Shape, cpu_schema, kernel_schema};
use std::collections::BTreeMap;
use std::path::Path;

impl Specs {
    /// Parses and checks spec files. The result does not depend on the order of the files.
    ///
    /// ```
    /// use kiln_codegen::spec::{SourceFile, Specs};
    /// let file = SourceFile { path: "cpus/tiny.toml".into(), bytes: b"features = [\"adxx\"]\n".to_vec() };
    /// let problems = Specs::parse(&[file], &kiln_codegen::vocabulary(&[])).unwrap_err();
    /// assert_eq!(problems.to_string(), "cpus/tiny.toml:1:13: unknown feature `adxx`; did you mean `adx`?");
    /// ```
    ///
    /// # Errors
    /// Every problem of every file, sorted by file and place.
    pub fn parse(files: &[SourceFile], vocabulary: &Vocabulary) -> Result<Specs, Problems> {
        let mut problems = Problems::new();
        let specs = parse_into(files, vocabulary, &mut problems);
        problems.or(specs)
    }
}

/// Reads and checks files, and folders as [`read_folder`] does: `kiln spec check FILE…`. Files that cannot be read are
/// reported together with what is wrong in the others.
///
/// # Errors
/// Every problem of every file, sorted by file and place.
pub fn check<P: AsRef<Path>>(paths: &[P], vocabulary: &Vocabulary) -> Result<Specs, Problems> {
    let (files, mut problems) = files::read_what_can_be(paths);
    let specs = parse_into(&files, vocabulary, &mut problems);
    problems.or(specs)
}

fn parse_into(files: &[SourceFile], vocabulary: &Vocabulary, problems: &mut Problems) -> Specs {
    let shapes = Shapes { kernel: Shape::of(&kernel_schema(vocabulary)), cpu: Shape::of(&cpu_schema(vocabulary)) };
    let mut files: Vec<&SourceFile> = files.iter().collect();
    files.sort_by(|a, b| (&a.path, &a.bytes).cmp(&(&b.path, &b.bytes)));
    files.dedup();
    let documents: Vec<Document> = files.iter().filter_map(|file| document::read(file, &shapes, problems)).collect();
    let is_cpu = |document: &&Document| matches!(document.content, Content::Cpu(_));
    let cpus: Vec<String> = documents.iter().filter(is_cpu).map(|document| cpu::name(document.source.file())).collect();
    let schedules = schema::schedules(vocabulary, cpus.iter().map(String::as_str));
    let mut taken = Taken::default();
    let mut specs = Specs::default();
    for Document { source, hash, damage, content } in documents {
        let before = problems.len();
        let complete = match content {
            Content::Kernel(file) => {
                taken.kernel(&file, &source, problems);
                let mut check = kernel::Check {
                    source: &source,
                    damage: &damage,
                    vocabulary,
                    schedules: &schedules,
                    constants: &[],
                    problems: &mut *problems,
                };
                let kernels = kernel::kernels(file, &hash, &mut check);
                let complete = kernels.is_some();
                specs.kernels.extend(kernels.into_iter().flatten());
                complete
            }
            Content::Cpu(file) => {
                taken.cpu(&file, &source, problems);
                let cpu = cpu::cpu(file, &source, vocabulary, problems);
                let complete = cpu.is_some();
                specs.cpus.extend(cpu);
                complete
            }
        };
        // Nothing is lost in silence: a spec without a problem is a whole spec.
        let reported = problems.len() > before || problems.iter().any(|problem| problem.file == source.file());
        if !complete && !reported {
            problems.push(Problem::whole(source.file(), Reason::Incomplete));
        }
    }
    specs
}

/// Names that only one file may have, with the place that had them first.
#[derive(Default)]
struct Taken {
    kernels: BTreeMap<String, String>,
    cpus: BTreeMap<String, String>,
    identities: BTreeMap<(String, u32, u32), String>,
}

impl Taken {
    fn kernel(&mut self, file: &raw::KernelFile, source: &Source, problems: &mut Problems) {
        let Some(kernel) = &file.kernel else { return };
        let (line, column) = source.place(kernel.span.start);
        let here = format!("{}:{line}:{column}", source.file());
        for name in cipher::names(file) {
            if let Some(first) = self.kernels.get(&name) {
                let reason = Reason::Taken { noun: Noun::Kernel, name: Shown::new(&name), first: first.clone() };
                problems.push(Problem::at(source, kernel.span.clone(), reason));
            } else {
                self.kernels.insert(name, here.clone());
            }
        }
    }

    fn cpu(&mut self, file: &raw::CpuFile, source: &Source, problems: &mut Problems) {
        let name = cpu::name(source.file());
        if let Some(first) = self.cpus.get(&name) {
            let reason = Reason::Taken { noun: Noun::Cpu, name: Shown::new(&name), first: first.clone() };
            problems.push(Problem::whole(source.file(), reason));
        } else {
            self.cpus.insert(name, source.file().to_owned());
        }
        let Some(identify) = &file.identify else { return };
        let (Some(vendor), Some(family), Some(models)) = (&identify.vendor, &identify.family, &identify.models) else {
            return;
        };
        for model in &models.value {
            let identity = (vendor.value.clone(), family.value, model.value);
            let (line, column) = source.place(model.span.start);
            let here = format!("{}:{line}:{column}", source.file());
            if let Some(first) = self.identities.get(&identity) {
                let name = Shown::new(&format!("{} family {} model {}", identity.0, identity.1, identity.2));
                let reason = Reason::Taken { noun: Noun::Identity, name, first: first.clone() };
                problems.push(Problem::at(source, model.span.clone(), reason));
            } else {
                self.identities.insert(identity, here);
            }
        }
    }
}
