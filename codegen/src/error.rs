//! Problems: what is wrong, where it stands and the way out. In goes a reason and a place; out come lines such as
//! ``specs/kernels/limb64_mul_add.toml:24:11: unroll must be between 1 and 64, got 0``. Problems are collected, never
//! thrown one at a time. Knows no stage: spec, plan, family and the passes all report through here.

mod reason;

pub use reason::{Kind, Noun, Reason, Shown, is_unseen, visible};

use miette::{Diagnostic, LabeledSpan, NamedSource, SourceCode};
use serde::ser::{Serialize, SerializeStruct, Serializer};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// A file's name and text, shared by the problems that point into it.
#[derive(Clone, Debug)]
pub struct Source(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    file: String,
    text: String,
    /// Name and text as a terminal may show them: the name with unseen characters spelt out, the text with a `?` for each
    /// of their bytes, so that every span stays right.
    named: NamedSource<String>,
    line_starts: Vec<usize>,
}

impl Source {
    /// A source from the file's name, as the messages shall show it, and its text.
    pub fn new(file: &str, text: &str) -> Source {
        let line_starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        let named = NamedSource::new(visible(file), harmless(text));
        Source(Arc::new(Inner { file: file.to_owned(), text: text.to_owned(), named, line_starts }))
    }

    /// The file's name.
    pub fn file(&self) -> &str {
        &self.0.file
    }

    /// The file's text.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// Line and column of a byte offset, both from 1, the column in characters (a byte-order mark is not one). An
    /// offset past the end means the end; one inside a character means that character.
    pub fn place(&self, offset: usize) -> (usize, usize) {
        let text = self.text();
        let mut offset = offset.min(text.len());
        while !text.is_char_boundary(offset) {
            offset -= 1;
        }
        let line = self.0.line_starts.partition_point(|&start| start <= offset);
        let start = self.0.line_starts.get(line - 1).copied().unwrap_or(0);
        let before = text.get(start..offset).unwrap_or("");
        (line, before.trim_start_matches('\u{feff}').chars().count() + 1)
    }
}

/// The text with `?` for each byte of an unseen character, line ends and tabs apart.
fn harmless(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let line_end = character == '\r' && characters.peek() == Some(&'\n');
        if is_unseen(character) && !matches!(character, '\n' | '\t') && !line_end {
            shown.extend(std::iter::repeat_n('?', character.len_utf8()));
        } else {
            shown.push(character);
        }
    }
    shown
}

/// The way out of a problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hint {
    /// The valid word nearest to the one given.
    Nearest(String),
    /// The key is right, but in another section.
    BelongsIn(Vec<String>),
    /// No valid word is near; these are all of them.
    Words(Vec<String>),
    /// A dotted key became a table; in quotes it is one key.
    QuoteKey(String),
    /// A name that a key of a block cipher's kernel gives a meaning to.
    DefinedBy(&'static str),
    /// `[name]` is one table; `[[name]]` is an entry of a list of them.
    DoubleBrackets(String),
}

impl Hint {
    /// The most useful hint for a word that is not among `words`: the nearest one, or all of them when none is near.
    /// Nothing when there are no words.
    pub fn nearest<'a>(given: &str, words: impl IntoIterator<Item = &'a str>) -> Option<Hint> {
        let words: Vec<&str> = words.into_iter().collect();
        // Longer than any word could be misspelt; the distance is quadratic in the length.
        let near = (given.chars().count() <= 64).then(|| {
            let folded = given.to_lowercase();
            let nearest = words.iter().map(|word| (strsim::damerau_levenshtein(&folded, word), *word)).min();
            nearest.filter(|&(distance, word)| distance <= (word.chars().count() / 3).max(1))
        });
        match near.flatten() {
            Some((_, word)) => Some(Hint::Nearest(word.to_owned())),
            None if words.is_empty() => None,
            None => Some(Hint::Words(words.into_iter().map(str::to_owned).collect())),
        }
    }
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Hint::Nearest(word) => write!(f, "did you mean `{word}`?"),
            Hint::BelongsIn(sections) => write!(f, "it belongs in {}", sections.join(" or ")),
            Hint::Words(words) => match words.as_slice() {
                [only] => write!(f, "valid is {only}"),
                words => write!(f, "valid are {}", words.join(", ")),
            },
            Hint::DefinedBy(key) => write!(f, "`{key}` of a block cipher's kernel defines it"),
            Hint::DoubleBrackets(key) => write!(f, "write [[{key}]]"),
            Hint::QuoteKey(key) => write!(f, "a name that holds a dot needs quotes: \"{key}\""),
        }
    }
}

/// One problem in one file.
#[derive(Clone, Debug)]
pub struct Problem {
    /// The file, as it was named when it was read.
    pub file: String,
    /// Byte offsets into the file's text; `None` for a problem with the whole file.
    pub span: Option<Range<usize>>,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong.
    pub reason: Reason,
    /// The way out, where there is an obvious one.
    pub hint: Option<Hint>,
    source: Option<Source>,
}

impl Problem {
    /// A problem at a place of a file. Spans that are not inside the text are cut to it.
    ///
    /// ```
    /// use kiln_codegen::error::{Problem, Reason, Source};
    /// let source = Source::new("mul_add.toml", "a = 1\nrequires = [\"adx\"]\n");
    /// let reason = Reason::RequiresDiffers { stated: vec!["adx".into()], computed: vec!["adx".into(), "bmi2".into()] };
    /// let problem = Problem::at(&source, 17..24, reason);
    /// assert_eq!(
    ///     problem.to_string(),
    ///     "mul_add.toml:2:12: requires says adx, but the emitted instructions need adx, bmi2"
    /// );
    /// ```
    pub fn at(source: &Source, span: Range<usize>, reason: Reason) -> Problem {
        let start = span.start.min(source.text().len());
        let end = span.end.clamp(start, source.text().len());
        let (line, column) = source.place(start);
        Problem {
            file: source.file().to_owned(),
            span: Some(start..end),
            line,
            column,
            reason,
            hint: None,
            source: Some(source.clone()),
        }
    }

    /// A problem with a whole file: one that cannot be read, say.
    pub fn whole(file: &str, reason: Reason) -> Problem {
        Problem { file: file.to_owned(), span: None, line: 1, column: 1, reason, hint: None, source: None }
    }

    /// The same problem with a way out.
    #[must_use]
    pub fn hint(mut self, hint: Option<Hint>) -> Problem {
        self.hint = hint;
        self
    }

    /// The message without file and place: the reason, and the hint. Unseen characters of the user's words are spelt out.
    pub fn message(&self) -> String {
        match &self.hint {
            Some(hint) => visible(&format!("{}; {hint}", self.reason)),
            None => visible(&self.reason.to_string()),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = visible(&self.file);
        match self.span {
            Some(_) => write!(f, "{file}:{}:{}: {}", self.line, self.column, self.message()),
            None => write!(f, "{file}: {}", self.message()),
        }
    }
}

impl std::error::Error for Problem {}

/// The hint is part of the message, so it is not repeated as help.
impl Diagnostic for Problem {
    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.source.as_ref().map(|source| &source.0.named as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let span = self.span.clone()?;
        let label = LabeledSpan::new_primary_with_span(None, span);
        Some(Box::new(std::iter::once(label)))
    }
}

/// `{file, line, column, message}`, for machine-readable output.
impl Serialize for Problem {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Problem", 4)?;
        fields.serialize_field("file", &self.file)?;
        fields.serialize_field("line", &self.line)?;
        fields.serialize_field("column", &self.column)?;
        fields.serialize_field("message", &self.message())?;
        fields.end()
    }
}

/// Problems of any number of files.
#[derive(Clone, Debug, Default)]
pub struct Problems(Vec<Problem>);

impl Problems {
    /// None yet.
    pub fn new() -> Problems {
        Problems::default()
    }

    /// Adds one.
    pub fn push(&mut self, problem: Problem) {
        self.0.push(problem);
    }

    /// How many were added.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The problems; in order once [`Problems::sort`] or [`Problems::or`] has been called.
    pub fn iter(&self) -> std::slice::Iter<'_, Problem> {
        self.0.iter()
    }

    /// Sorts by file, then place, then message, and drops what is said twice.
    pub fn sort(&mut self) {
        let start = |problem: &Problem| problem.span.as_ref().map(|span| span.start);
        self.0.sort_by_cached_key(|problem| (problem.file.clone(), start(problem), problem.message()));
        self.0.dedup_by(|b, a| a.file == b.file && start(a) == start(b) && a.message() == b.message());
    }

    /// `Ok(value)` when there are no problems, else all of them, sorted.
    ///
    /// # Errors
    /// The problems, when there is at least one.
    pub fn or<T>(mut self, value: T) -> Result<T, Problems> {
        if self.is_empty() {
            return Ok(value);
        }
        self.sort();
        Err(self)
    }
}

impl Extend<Problem> for Problems {
    fn extend<I: IntoIterator<Item = Problem>>(&mut self, problems: I) {
        self.0.extend(problems);
    }
}

impl IntoIterator for Problems {
    type Item = Problem;
    type IntoIter = std::vec::IntoIter<Problem>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a Problems {
    type Item = &'a Problem;
    type IntoIter = std::slice::Iter<'a, Problem>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Problems {
        Problems(vec![problem])
    }
}

/// One problem a line, without a newline after the last.
impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, problem) in self.iter().enumerate() {
            if at > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

impl Diagnostic for Problems {
    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
        Some(Box::new(self.iter().map(|problem| problem as &dyn Diagnostic)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_and_offsets_stay_inside() {
        let source = Source::new("x", "\u{feff}aé = 1\r\nb");
        assert_eq!(source.place(3), (1, 1));
        assert_eq!(source.place(5), (1, 2), "inside é");
        assert_eq!(source.place(6), (1, 3));
        assert_eq!(source.place(12), (2, 1));
        assert_eq!(source.place(999), (2, 2));
        assert_eq!(Source::new("x", "").place(7), (1, 1));
    }

    #[test]
    fn a_renderer_gets_the_line_and_the_place() {
        let source = Source::new("x.toml", "a = 1\nunroll = [0]\nb = 2\n");
        let problem = Problem::at(&source, 16..17, Reason::Empty { label: "unroll".into() });
        let label = problem.labels().and_then(|mut labels| labels.next()).expect("a label");
        assert_eq!((label.offset(), label.len()), (16, 1));
        let code = problem.source_code().expect("the text");
        let contents = code.read_span(label.inner(), 1, 0).expect("inside the text");
        assert_eq!((contents.name(), contents.line()), (Some("x.toml"), 0));
        assert!(contents.data().starts_with(b"a = 1\nunroll = [0"));
    }

    #[test]
    fn no_word_of_a_user_steers_the_terminal() {
        let text = "a = 1 # \u{1b}[2J\u{9b}\u{202e}\r\n\tb = 2\n";
        let source = Source::new("x\u{1b}\n.toml", text);
        assert_eq!(source.text(), text);
        assert_eq!(source.0.named.inner(), "a = 1 # ?[2J?????\r\n\tb = 2\n");
        assert_eq!(source.0.named.inner().len(), text.len());
        let reason = Reason::UnknownKey { key: "\u{7}\u{2066}k".into(), section: "[é]".into() };
        let problem = Problem::at(&source, 0..1, reason);
        let said = r"x\u{1b}\n.toml:1:1: unknown key `\u{7}\u{2066}k` in [é]";
        assert_eq!(problem.to_string(), said);
    }

    #[test]
    fn nearest_words() {
        let words = ["unroll", "exact", "startup"];
        assert_eq!(Hint::nearest("unrol", words), Some(Hint::Nearest("unroll".into())));
        assert_eq!(Hint::nearest("UNROLL", words), Some(Hint::Nearest("unroll".into())));
        assert_eq!(Hint::nearest("zzz", ["exact"]), Some(Hint::Words(vec!["exact".into()])));
        assert_eq!(Hint::nearest("zzz", []), None);
    }

    #[test]
    fn problems_are_sorted_and_said_once() {
        let source = Source::new("b.toml", "a\nb\n");
        let mut problems = Problems::new();
        let empty = |label: &str| Reason::Empty { label: label.into() };
        problems.push(Problem::at(&source, 2..3, empty("b")));
        problems.push(Problem::at(&source, 0..1, empty("a")));
        problems.push(Problem::at(&source, 2..3, empty("b")));
        problems.push(Problem::whole("a.toml", Reason::NoSpecs));
        let text = problems.or(()).expect_err("three problems").to_string();
        assert_eq!(
            text,
            "a.toml: holds no specs: no .toml file in it, in kernels/ or in cpus/\n\
             b.toml:1:1: a must not be empty\nb.toml:2:1: b must not be empty"
        );
    }
}
