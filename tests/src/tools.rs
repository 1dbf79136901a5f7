//! Programs that a test may find on the machine. What is missing is a skip that is printed, or a failure when the variable
//! `KILN_REQUIRE` (words with commas between) names it.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A directory for one test's files, gone when this is dropped.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    /// An empty directory.
    ///
    /// # Panics
    /// When it cannot be made.
    pub fn new(test: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("kiln-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a scratch directory");
        Scratch(path)
    }
    /// A file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What is left behind in a temporary directory harms nothing.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Whether all these programs run; prints how many `cases` are skipped if not.
///
/// # Panics
/// When one is missing and `KILN_REQUIRE` names it.
pub fn found(programs: &[&str], cases: usize) -> bool {
    let required = std::env::var("KILN_REQUIRE").unwrap_or_default();
    programs.iter().all(|program| {
        // The only one that has a command for it: older ones know no option.
        let version = if *program == "openssl" { "version" } else { "--version" };
        let runs = Command::new(program).arg(version).output().is_ok_and(|output| output.status.success());
        assert!(runs || !required.split(',').any(|word| word == *program), "{program} is required and does not run");
        if !runs {
            println!("skipped {cases} cases: {program} does not run here");
        }
        runs
    })
}

/// Runs a program to its end; gives its output.
///
/// # Panics
/// When it cannot be run or fails, with what it said.
pub fn run(program: impl AsRef<std::ffi::OsStr>, arguments: &[&dyn AsRef<std::ffi::OsStr>]) -> String {
    let mut command = Command::new(program);
    command.args(arguments.iter().map(|argument| argument.as_ref()));
    let output = command.output().unwrap_or_else(|why| panic!("{command:?}: {why}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{said}", output.status);
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Assembles Intel-syntax lines with GNU as into the object file `object`; gives the bytes of its text.
///
/// # Panics
/// When the assembler refuses a line.
pub fn gnu_assemble(scratch: &Scratch, lines: &[String], object: &Path) -> Vec<u8> {
    let (source, text) = (scratch.file("input.s"), scratch.file("text.bin"));
    let whole = format!(".intel_syntax noprefix\n.text\n{}\n", lines.join("\n"));
    std::fs::write(&source, whole).expect("the scratch directory is writable");
    run("as", &[&"--64", &"-o", &object, &source]);
    run("objcopy", &[&"-O", &"binary", &"--only-section=.text", &object, &text]);
    std::fs::read(text).expect("objcopy wrote its output")
}
