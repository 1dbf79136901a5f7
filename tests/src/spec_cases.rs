//! Bad specs with the problems that they must give. A case is a file, or a folder of files that are read together. Its
//! expected problems are comment lines at the top of the file that they are in, `#! LINE:COLUMN: MESSAGE`, or `#! MESSAGE`
//! for a problem with the whole file; a file that cannot hold them (it is not UTF-8) has them beside it in `NAME.expected`.

use std::fs;
use std::path::{Path, PathBuf};

use kiln_codegen::error::Problems;
use kiln_codegen::spec::{SourceFile, Vocabulary};

/// A case.
#[derive(Debug)]
pub struct Case {
    /// The name of the file or folder.
    pub name: String,
    /// The files.
    pub files: Vec<SourceFile>,
    /// The expected problems, sorted.
    pub expected: Vec<String>,
}

/// The words of Kiln, with the shipped CPUs.
pub fn words() -> Vocabulary<'static> {
    kiln_codegen::vocabulary(&["generic", "westmere", "sandybridge", "haswell", "zen3"])
}

/// The cases of a folder of this package, sorted.
///
/// # Panics
/// When it cannot be read.
pub fn cases(folder: &str) -> Vec<Case> {
    let mut cases = Vec::new();
    for path in sorted(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)) {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        if path.is_dir() {
            let inside: Vec<PathBuf> = sorted(&path).into_iter().filter(|path| is_spec(path)).collect();
            cases.push(case(&name, &inside));
        } else if is_spec(&path) {
            cases.push(case(&name, &[path]));
        }
    }
    cases
}

/// Has each case judged, and compares what is found with what it says.
///
/// # Panics
/// With every difference.
pub fn check<T>(cases: &[Case], judge: impl Fn(&[SourceFile]) -> Result<T, Problems>) {
    let mut failures = Vec::new();
    for Case { name, files, expected } in cases {
        let mut found: Vec<String> = match judge(files) {
            Ok(_) => Vec::new(),
            Err(problems) => problems.iter().map(ToString::to_string).collect(),
        };
        found.sort();
        if expected.is_empty() {
            failures.push(format!("{name}: expects nothing, so it is no case; found\n  {}", found.join("\n  ")));
        } else if found != *expected {
            let (expected, found) = (expected.join("\n  "), found.join("\n  "));
            failures.push(format!("{name}: expected\n  {expected}\nfound\n  {found}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

fn sorted(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths
}

fn is_spec(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "toml")
}

fn case(name: &str, paths: &[PathBuf]) -> Case {
    let mut case = Case { name: name.to_owned(), files: Vec::new(), expected: Vec::new() };
    for path in paths {
        let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let file = path.file_name().expect("a file").to_string_lossy().into_owned();
        let beside = path.with_extension("expected");
        let text = if beside.exists() {
            fs::read_to_string(beside).expect("text")
        } else {
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let marked = text.lines().map_while(|line| line.strip_prefix("#! "));
        case.expected.extend(marked.map(|line| match line.starts_with(|first: char| first.is_ascii_digit()) {
            true => format!("{file}:{line}"),
            false => format!("{file}: {line}"),
        }));
        case.files.push(SourceFile { path: file, bytes });
    }
    case.expected.sort();
    case
}
