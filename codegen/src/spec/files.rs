//! Folders and paths to bytes, in a fixed order. The only part of `spec` that touches the file system.

use crate::error::{Problem, Problems, Reason};
use crate::spec::document::LARGEST;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// A file that may be a spec: its name, as messages shall show it, and its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// The name; a CPU's name is its stem.
    pub path: String,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// Reads the specs of a folder: every `.toml` file directly in it, in its `kernels` and in its `cpus`, sorted by path.
///
/// # Errors
/// A problem for each folder or file that cannot be read, and one for a folder that holds no spec.
pub fn read_folder(dir: &Path) -> Result<Vec<SourceFile>, Problems> {
    read_paths(&[dir])
}

/// Reads files, and folders as [`read_folder`] does, sorted by path; what is named twice is read once.
///
/// # Errors
/// A problem for each folder or file that cannot be read, and one for each folder that holds no spec.
pub fn read_paths<P: AsRef<Path>>(paths: &[P]) -> Result<Vec<SourceFile>, Problems> {
    let (files, problems) = read_what_can_be(paths);
    problems.or(files)
}

/// The files that can be read, and the problems with the others.
pub(crate) fn read_what_can_be<P: AsRef<Path>>(paths: &[P]) -> (Vec<SourceFile>, Problems) {
    let mut problems = Problems::new();
    let mut files: BTreeMap<PathBuf, SourceFile> = BTreeMap::new();
    for path in paths {
        let path = path.as_ref();
        let found = if path.is_dir() { folder(path, &mut problems) } else { vec![path.to_owned()] };
        for path in found {
            let name = name(&path);
            match bytes(&path) {
                Ok(bytes) => {
                    files.insert(path, SourceFile { path: name, bytes });
                }
                Err(reason) => problems.push(Problem::whole(&name, reason)),
            }
        }
    }
    let mut files: Vec<SourceFile> = files.into_values().collect();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    (files, problems)
}

fn folder(dir: &Path, problems: &mut Problems) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let before = problems.len();
    for dir in [dir.to_owned(), dir.join("cpus"), dir.join("kernels")] {
        match tomls(&dir) {
            Ok(files) => found.extend(files),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                problems.push(Problem::whole(&name(&dir), Reason::CannotRead { error: error.kind() }));
            }
        }
    }
    if found.is_empty() && problems.len() == before {
        problems.push(Problem::whole(&name(dir), Reason::NoSpecs));
    }
    found
}

fn tomls(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if path.extension().is_some_and(|extension| extension == "toml") && !hidden {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn bytes(path: &Path) -> Result<Vec<u8>, Reason> {
    let cannot = |error: io::Error| Reason::CannotRead { error: error.kind() };
    // Before it is opened: to open a pipe is to wait for whoever writes to it.
    if !fs::metadata(path).map_err(cannot)?.is_file() {
        return Err(Reason::NotAFile);
    }
    let file = File::open(path).map_err(cannot)?;
    let size = file.metadata().map_err(cannot)?.len();
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(cannot)?;
    let read = bytes.len() as u64;
    if read > LARGEST { Err(Reason::TooLarge { bytes: size.max(read), limit: LARGEST }) } else { Ok(bytes) }
}

/// A path for messages. Bytes that are not UTF-8 are spelt out, so that two paths which differ only there have two names.
fn name(path: &Path) -> String {
    let mut name = String::new();
    for chunk in path.as_os_str().as_encoded_bytes().utf8_chunks() {
        name.push_str(&chunk.valid().replace(std::path::MAIN_SEPARATOR, "/"));
        for byte in chunk.invalid() {
            let _ = write!(name, "\\x{byte:02x}");
        }
    }
    name
}
