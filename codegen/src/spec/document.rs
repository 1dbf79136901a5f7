//! A file's bytes to a checked tree: UTF-8, TOML, the kind of spec, the walk. What is not TOML is reported and left
//! out, so that the rest of the file is still checked.

use crate::error::{Hint, Problem, Problems, Reason, Source};
use crate::spec::SourceFile;
use crate::spec::raw::{CpuFile, KernelFile};
use crate::spec::schema::Shape;
use crate::spec::walk::{Damage, walk};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, Deserializer};

/// The largest file that is read: a hundred times the size of a long spec.
pub(crate) const LARGEST: u64 = 256 * 1024;

/// The two kinds of spec file, with what they must look like.
pub(crate) struct Shapes {
    pub kernel: Shape,
    pub cpu: Shape,
}

/// A file that was read, with the keys that were lost to problems.
pub(crate) struct Document {
    pub source: Source,
    pub hash: String,
    pub damage: Damage,
    pub content: Content,
}

/// What a file turned out to be.
pub(crate) enum Content {
    Kernel(KernelFile),
    Cpu(CpuFile),
}

/// Reads one file; nothing when not even its kind can be told, which is then among the problems.
pub(crate) fn read(file: &SourceFile, shapes: &Shapes, problems: &mut Problems) -> Option<Document> {
    if file.bytes.len() as u64 > LARGEST {
        let reason = Reason::TooLarge { bytes: file.bytes.len() as u64, limit: LARGEST };
        problems.push(Problem::whole(&file.path, reason));
        return None;
    }
    let text = String::from_utf8_lossy(&file.bytes);
    let source = Source::new(&file.path, &text);
    if let Some(problem) = not_utf8(&file.bytes, &source) {
        problems.push(problem);
        return None;
    }
    if let Some(problem) = too_deep(&source) {
        problems.push(problem);
        return None;
    }
    let (tree, errors) = DeTable::parse_recoverable(source.text());
    let broken = one_a_line(errors, &source);
    let whole = broken.is_empty();
    let lines: BTreeSet<usize> = broken.iter().map(|problem| problem.line).collect();
    problems.extend(broken);
    if whole {
        return read_tree(&tree, true, file, &source, shapes, problems);
    }
    let rest = without_lines(source.text(), &lines)?;
    let (tree, errors) = DeTable::parse_recoverable(&rest);
    if !errors.is_empty() {
        return None;
    }
    read_tree(&tree, false, file, &source, shapes, problems)
}

fn read_tree(
    tree: &Spanned<DeTable>,
    whole: bool,
    file: &SourceFile,
    source: &Source,
    shapes: &Shapes,
    problems: &mut Problems,
) -> Option<Document> {
    let hash = hash(&file.bytes);
    match sort(tree.get_ref(), &file.path, shapes) {
        Some(Sort::Kernel) => {
            let walked = walk(tree, &shapes.kernel, "kernel spec", whole, source, problems);
            let content = Content::Kernel(typed(walked.tree, source, problems)?);
            Some(Document { source: source.clone(), hash, damage: walked.damage, content })
        }
        Some(Sort::Cpu) => {
            let walked = walk(tree, &shapes.cpu, "CPU file", whole, source, problems);
            let content = Content::Cpu(typed(walked.tree, source, problems)?);
            Some(Document { source: source.clone(), hash, damage: walked.damage, content })
        }
        None if whole => {
            let words = top_keys(&shapes.kernel).chain(top_keys(&shapes.cpu));
            let first = tree.get_ref().keys().min_by_key(|key| key.span().start);
            let near = first.and_then(|key| Hint::nearest(key.get_ref(), words));
            let hint = near.filter(|hint| matches!(hint, Hint::Nearest(_)));
            let span = first.map_or(0..0, Spanned::span);
            problems.push(Problem::at(source, span, Reason::UnknownSort).hint(hint));
            None
        }
        None => None,
    }
}

fn typed<'t, T: Deserialize<'t>>(tree: Spanned<DeTable<'t>>, source: &Source, problems: &mut Problems) -> Option<T> {
    match T::deserialize(Deserializer::from(tree)) {
        Ok(value) => Some(value),
        Err(error) => {
            let reason = Reason::Syntax { message: error.message().to_owned() };
            problems.push(Problem::at(source, error.span().unwrap_or(0..0), reason));
            None
        }
    }
}

enum Sort {
    Kernel,
    Cpu,
}

/// A file's kind: `kernel` makes a kernel spec; else whichever kind has more of its keys; else the folder says.
fn sort(tree: &DeTable, path: &str, shapes: &Shapes) -> Option<Sort> {
    if tree.contains_key("kernel") {
        return Some(Sort::Kernel);
    }
    let kernel = top_keys(&shapes.kernel).filter(|key| tree.contains_key(*key)).count();
    let cpu = top_keys(&shapes.cpu).filter(|key| tree.contains_key(*key)).count();
    let folder = Path::new(path).parent().and_then(Path::file_name).and_then(|name| name.to_str());
    match (kernel.cmp(&cpu), folder) {
        (std::cmp::Ordering::Greater, _) | (std::cmp::Ordering::Equal, Some("kernels")) => Some(Sort::Kernel),
        (std::cmp::Ordering::Less, _) | (std::cmp::Ordering::Equal, Some("cpus")) => Some(Sort::Cpu),
        (std::cmp::Ordering::Equal, _) => None,
    }
}

fn top_keys(shape: &Shape) -> impl Iterator<Item = &str> {
    let table = if let Shape::Table(table) = shape { Some(table) } else { None };
    table.into_iter().flat_map(|table| table.keys.keys().map(String::as_str))
}

/// 16 hexadecimal digits of the SHA-256 of a file, the same whichever line ends a checkout gave it.
fn hash(bytes: &[u8]) -> String {
    let mut digest = Sha256::new();
    let mut lines = bytes.split(|&byte| byte == b'\n').peekable();
    while let Some(line) = lines.next() {
        match lines.peek() {
            Some(_) => {
                digest.update(line.strip_suffix(b"\r").unwrap_or(line));
                digest.update(b"\n");
            }
            None => digest.update(line),
        }
    }
    digest.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// The parser's trees are as deep as the keys in them have parts, and are dropped by recursion: of a kilobyte of stack
/// a level. The parser's own limits (80 nested brackets, 80 parts of a key) still let a tree be 6,400 levels deep, more
/// than a thread's stack holds. Every part of a key but the first has a dot before it, and a key stands in one line; so
/// the dots of a line and the braces bound the depth, whatever is in strings.
fn too_deep(source: &Source) -> Option<Problem> {
    const DEEPEST: usize = 1000;
    const PARSER_LIMIT: usize = 80;
    let mut most = (0, 0..0);
    let mut start = 0;
    for line in source.text().split_inclusive('\n') {
        let comment = line.trim_start().starts_with('#');
        let dots = line.bytes().filter(|&byte| byte == b'.' && !comment).count();
        if dots > most.0 {
            most = (dots, start..start + line.trim_end().len());
        }
        start += line.len();
    }
    let braces = source.text().bytes().filter(|&byte| byte == b'{').count();
    // A header and a key in it are two more places for dots.
    let deepest = (braces.min(PARSER_LIMIT) + 2) * (most.0.min(PARSER_LIMIT) + 1);
    (deepest > DEEPEST).then(|| Problem::at(source, most.1, Reason::TooDeep { dots: most.0 }))
}

fn not_utf8(bytes: &[u8], source: &Source) -> Option<Problem> {
    let mut first = None;
    let mut bad = 0;
    let mut offset = 0;
    for chunk in bytes.utf8_chunks() {
        offset += chunk.valid().len();
        if let Some(&byte) = chunk.invalid().first() {
            bad += 1;
            first = first.or(Some((offset, byte)));
        }
        offset += chunk.invalid().len();
    }
    let (offset, byte) = first?;
    // Up to the first bad byte, the bytes are the source's text; there stands a replacement character of three bytes.
    Some(Problem::at(source, offset..offset + 3, Reason::NotUtf8 { offset, byte, more: bad - 1 }))
}

/// The parser's errors as problems: the first of each line, since the others mostly follow from it.
fn one_a_line(mut errors: Vec<toml::de::Error>, source: &Source) -> Vec<Problem> {
    errors.sort_by_key(|error| error.span().map(|span| (span.start, span.end)));
    let mut problems: Vec<Problem> = Vec::new();
    for error in errors {
        let reason = Reason::Syntax { message: error.message().to_owned() };
        let problem = Problem::at(source, error.span().unwrap_or(0..0), reason);
        if problems.last().is_none_or(|last| last.line != problem.line) {
            problems.push(problem);
        }
    }
    problems
}

/// The text with these lines (from 1) blanked, every other byte at its old offset. Nothing when one of them opens a
/// section: then the keys after it would seem to be another section's.
fn without_lines(text: &str, lines: &BTreeSet<usize>) -> Option<String> {
    let mut rest = String::with_capacity(text.len());
    for (at, line) in text.split_inclusive('\n').enumerate() {
        if !lines.contains(&(at + 1)) {
            rest.push_str(line);
            continue;
        }
        if line.trim_start().starts_with('[') {
            return None;
        }
        rest.extend(line.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }));
    }
    Some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_does_not_depend_on_line_ends() {
        assert_eq!(hash(b"a = 1\nb = 2\n"), hash(b"a = 1\r\nb = 2\r\n"));
        assert_ne!(hash(b"a = 1\nb = 2\n"), hash(b"a = 1\nb = 2"));
        assert_ne!(hash(b"a\r"), hash(b"a"), "a lone carriage return is not a line end");
        assert_eq!(hash(b""), "e3b0c44298fc1c14", "the start of SHA-256 of nothing");
    }

    #[test]
    fn blanked_lines_keep_every_offset() {
        let text = "a = 1\nb = é\nc = 3\n";
        assert_eq!(without_lines(text, &BTreeSet::from([2])).as_deref(), Some("a = 1\n      \nc = 3\n"));
        assert_eq!(without_lines("[[a]\nb = 1\n", &BTreeSet::from([1])), None);
    }
}
