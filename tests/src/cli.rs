//! Runs the command line as a person or a script does: words and variables in; exit status, output and errors out.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use kiln_codegen::plan::plans;
use kiln_runtime::provide::Provider;
use serde_json::Value;

use crate::tools::Scratch;

/// Exit status of `kiln-under-test` when the system lets no filter be installed.
pub const CANNOT_REFUSE: u8 = 77;

/// A command line to be run. Overrides that the test itself runs under do not reach it.
#[derive(Debug)]
pub struct Kiln(Command);

impl Kiln {
    /// The program at this path: `env!("CARGO_BIN_EXE_kiln-under-test")`.
    pub fn new(program: &str) -> Kiln {
        let mut command = Command::new(program);
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("KILN_")) {
            command.env_remove(name);
        }
        command.stdin(Stdio::null());
        Kiln(command)
    }

    /// Sets a variable.
    #[must_use]
    pub fn with(mut self, variable: &str, value: impl AsRef<OsStr>) -> Kiln {
        self.0.env(variable, value);
        self
    }

    /// Unsets a variable.
    #[must_use]
    pub fn without(mut self, variable: &str) -> Kiln {
        self.0.env_remove(variable);
        self
    }

    /// Another standard output than a pipe that is read to its end.
    #[must_use]
    pub fn stdout(mut self, stdout: impl Into<Stdio>) -> Kiln {
        self.0.stdout(stdout);
        self
    }

    /// Another standard error than a pipe that is read to its end.
    #[must_use]
    pub fn stderr(mut self, stderr: impl Into<Stdio>) -> Kiln {
        self.0.stderr(stderr);
        self
    }

    /// Runs it with these words, to its end.
    ///
    /// # Panics
    /// When it cannot be run, is ended by a signal, or panics: no words and no variables may lead to that.
    pub fn run<W: AsRef<OsStr>>(mut self, words: &[W]) -> Said {
        self.0.args(words);
        let line = format!("{:?}", self.0);
        let output = self.0.output().unwrap_or_else(|why| panic!("{line}: {why}"));
        Said::new(line, output)
    }
}

/// What a run said.
#[derive(Debug)]
pub struct Said {
    line: String,
    /// The exit status.
    pub status: i32,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Said {
    fn new(line: String, output: Output) -> Said {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap_or_else(|why| panic!("{line}: {why}"));
        let (out, err) = (text(output.stdout), text(output.stderr));
        let status = output.status.code().unwrap_or_else(|| panic!("{line}: {}\n{out}\n{err}", output.status));
        assert!(!err.contains("panicked") && !out.contains("panicked"), "{line}: {out}\n{err}");
        Said { line, status, out, err }
    }

    /// Itself, if the exit status is this one.
    ///
    /// # Panics
    /// When it is not.
    pub fn exits(self, status: i32) -> Said {
        assert_eq!(self.status, status, "{}\n{}\n{}", self.line, self.out, self.err);
        self
    }

    /// The one document on standard output.
    ///
    /// # Panics
    /// When there is anything else, or the document is of another schema.
    pub fn json(&self, schema: &str) -> Value {
        let document: Value = serde_json::from_str(&self.out)
            .unwrap_or_else(|why| panic!("{}: {why}\n{}\n{}", self.line, self.out, self.err));
        assert_eq!(document["schema"], schema, "{}", self.line);
        document
    }

    /// Itself, if nothing was printed and standard error says all of these.
    ///
    /// # Panics
    /// When it does not.
    pub fn refuses(self, parts: &[&str]) -> Said {
        let said = self.exits(2);
        assert_eq!(said.out, "", "{}", said.line);
        for part in parts {
            assert!(said.err.contains(part), "{}: no {part:?} in\n{}", said.line, said.err);
        }
        said
    }
}

/// The rows of a list in a document.
///
/// # Panics
/// When there is no list.
pub fn rows<'a>(document: &'a Value, key: &str) -> &'a [Value] {
    document[key].as_array().unwrap_or_else(|| panic!("`{key}` is a list in {document}"))
}

/// The text at a key.
///
/// # Panics
/// When there is no text.
pub fn text<'a>(row: &'a Value, key: &str) -> &'a str {
    row[key].as_str().unwrap_or_else(|| panic!("`{key}` is text in {row}"))
}

/// The shipped specs, as files.
pub fn shipped_specs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../specs")
}

/// A folder of specs for one test, gone when this is dropped.
#[derive(Debug)]
pub struct Folder(Scratch);

impl Folder {
    /// An empty folder.
    ///
    /// # Panics
    /// When it cannot be made.
    pub fn new(test: &str) -> Folder {
        let folder = Folder(Scratch::new(test));
        for inside in ["kernels", "cpus"] {
            fs::create_dir_all(folder.path().join(inside)).expect("the scratch directory is writable");
        }
        folder
    }

    /// The folder with a copy of the shipped file, changed: each pair is a text that stands in it, and what takes its place.
    ///
    /// # Panics
    /// When a text does not stand in the file.
    #[must_use]
    pub fn with_shipped(self, file: &str, changes: &[(&str, &str)]) -> Folder {
        let path = shipped_specs().join(file);
        let mut text = fs::read_to_string(&path).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
        for (from, to) in changes {
            assert!(text.contains(from), "{file} holds no {from:?}");
            text = text.replace(from, to);
        }
        self.with_file(file, &text)
    }

    /// The folder with a file of this text.
    ///
    /// # Panics
    /// When it cannot be written.
    #[must_use]
    pub fn with_file(self, file: &str, text: &str) -> Folder {
        fs::write(self.path().join(file), text).expect("the scratch directory is writable");
        self
    }

    /// The folder with more variants of `limb64.mul_add` than are shipped: for each strategy but the portable one the unrolls
    /// 3, 5 and 12 and the exact size 6, and for `mul` a schedule for a CPU of the folder's own, `mine`.
    ///
    /// # Panics
    /// When it cannot be written.
    pub fn with_more_variants(test: &str) -> Folder {
        let file = "kernels/limb64_mul_add.toml";
        let shipped = fs::read_to_string(shipped_specs().join(file)).expect("a shipped spec");
        let (head, strategies) = shipped.split_once("[[strategy]]").expect("strategies");
        let more = |strategy: &str| -> String {
            if strategy.contains("name = \"portable\"") {
                return strategy.to_owned();
            }
            let list = |line: &str, extra: &[u32]| {
                let (key, list) = line.split_once('[').expect("a list");
                let list = list.split(']').next().expect("an end");
                let mut numbers: Vec<u32> =
                    list.split(',').map(|word| word.trim().parse().expect("a number")).collect();
                numbers.extend(extra);
                numbers.sort_unstable();
                numbers.dedup();
                let own = strategy.contains("name = \"mul\"") && key.starts_with("unroll");
                format!("{key}{numbers:?}{}", if own { "\nschedule = [\"generic\", \"mine\"]" } else { "" })
            };
            let line = |line: &str| match line.split_once(' ').map_or(line, |(key, _)| key) {
                "unroll" => list(line, &[3, 5, 12]),
                "exact" => list(line, &[6]),
                _ => line.to_owned(),
            };
            strategy.lines().map(line).collect::<Vec<_>>().join("\n")
        };
        let strategies: Vec<String> = strategies.split("[[strategy]]").map(more).collect();
        let text = format!("{head}[[strategy]]{}\n", strategies.join("\n[[strategy]]"));
        Folder::new(test).with_file(file, &text).with_file("cpus/mine.toml", MINE)
    }

    /// The variants that the folder asks for and that are not shipped.
    ///
    /// # Panics
    /// When the folder cannot be used.
    pub fn new_variants(&self) -> BTreeSet<String> {
        let provider = Provider::with_folder(&self.path()).expect("a folder of specs");
        let plans = plans(provider.specs()).expect("plans");
        let shipped: BTreeSet<&str> =
            kiln_kernels::kernels().flat_map(|kernel| kernel.variants.iter().map(|variant| variant.name)).collect();
        plans.into_iter().map(|plan| plan.name).filter(|name| !shipped.contains(name.as_str())).collect()
    }

    /// Where it is.
    pub fn path(&self) -> PathBuf {
        self.0.file("")
    }
}

/// A CPU on which loads take for ever, so that its schedule is unlike the generic one.
const MINE: &str = "\
[machine]
issue_width = 1
window = 64

[cost]
move = [1, 1]
load = [20, 1]
store = [1, 1]
lea = [1, 1]
alu = [1, 1]
carry = [3, 1]
shift = [1, 1]
mul = [9, 0.25]
mulx = [9, 0.25]
div = [60, 0.02]
simd_move = [1, 1]
simd_mul = [5, 1]
simd_alu = [1, 1]
movd = [1, 1]
emms = [13, 0.07]
";

/// Words of a command line, of text and of paths.
pub fn words(words: &[&dyn AsRef<OsStr>]) -> Vec<OsString> {
    words.iter().map(|word| word.as_ref().to_owned()).collect()
}
