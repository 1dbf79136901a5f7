//! Reads the lines of a sweep's file, one at a time and whatever they hold: a line that cannot be used is told with its reason,
//! and the next one is read.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, BufRead};

use kiln_codegen::error::visible;
use serde::Deserialize;

use super::record::{Header, Point, Record, SCHEMA};

/// Longer lines are not read: a point with a million windows is shorter.
pub const LONGEST: usize = 16 << 20;
/// A line of which this much was seen has no end that is worth waiting for: a device, or a file of something else.
const ENDLESS: usize = 64 << 20;
/// How compressed files begin, and what unpacks them.
const COMPRESSED: [(&[u8], &str); 4] =
    [(b"\x1f\x8b", "zcat"), (b"\x28\xb5\x2f\xfd", "zstdcat"), (b"\xfd7zXZ\0", "xzcat"), (b"BZh", "bzcat")];

/// Why a line cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Damage {
    /// It is longer than [`LONGEST`].
    TooLong,
    /// It is not UTF-8 from this byte on.
    NotText {
        /// 0-based.
        byte: usize,
    },
    /// It is the last one and was not written to its end.
    CutOff,
    /// It does not begin as the lines of sweeps do.
    NoObject,
    /// It is no JSON, or a field is missing or of another type.
    Malformed(String),
    /// It is a header of a schema that this version does not know.
    Schema {
        /// The schema.
        schema: String,
        /// The run whose points cannot be used either.
        run: Option<String>,
    },
    /// It is an object of an unknown kind.
    Kind(Option<String>),
    /// A number that no measurement gives.
    Number {
        /// The field.
        field: &'static str,
        /// What is wrong with it.
        why: &'static str,
    },
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Damage::TooLong => write!(f, "the line is longer than {} MiB", LONGEST >> 20),
            Damage::NotText { byte } => write!(f, "the line is not UTF-8 from byte {} on", byte + 1),
            Damage::CutOff => f.write_str("the last line is cut off, as when a sweep is killed"),
            Damage::NoObject => f.write_str("the line is not of a sweep: it is no JSON object"),
            Damage::Malformed(why) => f.write_str(&visible(why)),
            Damage::Schema { schema, .. } => {
                write!(f, "the schema is `{}`; this version reads `{SCHEMA}`", visible(schema))
            }
            Damage::Kind(None) => f.write_str("there is no `kind`: the line is of no sweep"),
            Damage::Kind(Some(kind)) => write!(f, "the kind is `{}`, neither `header` nor `point`", visible(kind)),
            Damage::Number { field, why } => write!(f, "`{field}` {why}"),
        }
    }
}

/// The lines of a file.
pub struct Lines<R> {
    input: R,
    buffer: Vec<u8>,
    number: u64,
}

impl<R: BufRead> Lines<R> {
    /// From the first line on.
    pub fn new(input: R) -> Lines<R> {
        Lines { input, buffer: Vec::new(), number: 0 }
    }

    /// The next line that is not blank: its 1-based number, and what it holds. `None` at the end.
    ///
    /// # Errors
    /// The file cannot be read on, or it is clear that it is none of a sweep: it is compressed, or a line does not end.
    pub fn next_line(&mut self) -> io::Result<Option<(u64, Result<Record, Damage>)>> {
        loop {
            let Some(end) = self.fill()? else { return Ok(None) };
            self.number += 1;
            let blank = self.buffer.iter().all(u8::is_ascii_whitespace);
            if end == End::TooLong {
                return Ok(Some((self.number, Err(Damage::TooLong))));
            }
            if !blank {
                return Ok(Some((self.number, parse(&self.buffer, end == End::File))));
            }
        }
    }

    /// Fills the buffer with the next line.
    fn fill(&mut self) -> io::Result<Option<End>> {
        self.buffer.clear();
        let mut long = false;
        let mut seen = 0;
        loop {
            let available = match self.input.fill_buf() {
                Ok(available) => available,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let (taken, ended) = match available.iter().position(|&byte| byte == b'\n') {
                Some(end) => (end, true),
                None => (available.len(), false),
            };
            if !ended && taken == 0 {
                let end = if long { End::TooLong } else { End::File };
                return Ok((seen > 0).then_some(end));
            }
            if self.number == 0 && seen == 0 {
                refuse_compressed(available)?;
            }
            // The line's end counts, so that an empty line is one.
            seen += taken + usize::from(ended);
            if seen > ENDLESS {
                let why = format!("a line is longer than {} MiB: this is no file of a sweep", ENDLESS >> 20);
                return Err(io::Error::new(io::ErrorKind::InvalidData, why));
            }
            long |= self.buffer.len() + taken > LONGEST;
            if long {
                self.buffer.clear();
            } else {
                self.buffer.extend_from_slice(&available[..taken]);
            }
            self.input.consume(taken + usize::from(ended));
            if ended {
                return Ok(Some(if long { End::TooLong } else { End::Line }));
            }
        }
    }
}

fn refuse_compressed(beginning: &[u8]) -> io::Result<()> {
    match COMPRESSED.iter().find(|(magic, _)| beginning.starts_with(magic)) {
        None => Ok(()),
        Some((_, tool)) => {
            let why = format!("it is compressed; `{tool} FILE | kiln report /dev/stdin` reads it");
            Err(io::Error::new(io::ErrorKind::InvalidData, why))
        }
    }
}

/// How a line ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Line,
    File,
    TooLong,
}

/// As much of a line as says what it is.
#[derive(Deserialize)]
struct Tag<'a> {
    #[serde(borrow, default)]
    schema: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    run: Option<Cow<'a, str>>,
}

/// How a point begins that Kiln has written: nothing more needs to be known to read it as one.
const POINT: &str = "{\"kind\":\"point\",";

fn parse(bytes: &[u8], last: bool) -> Result<Record, Damage> {
    let text = std::str::from_utf8(bytes).map_err(|error| match last {
        true if error.error_len().is_none() => Damage::CutOff,
        _ => Damage::NotText { byte: error.valid_up_to() },
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if !text.trim_start().starts_with('{') {
        return Err(Damage::NoObject);
    }
    let malformed = |error: serde_json::Error| match last && error.is_eof() {
        true => Damage::CutOff,
        false => Damage::Malformed(told(&error)),
    };
    if text.starts_with(POINT) {
        return point(text).map_err(malformed)?;
    }
    let tag: Tag<'_> = serde_json::from_str(text).map_err(malformed)?;
    match tag.kind.as_deref() {
        Some("point") => point(text).map_err(malformed)?,
        Some("header") => match tag.schema.as_deref() {
            Some(SCHEMA) => header(serde_json::from_str(text).map_err(malformed)?),
            schema => {
                Err(Damage::Schema { schema: schema.unwrap_or_default().to_owned(), run: tag.run.map(Cow::into_owned) })
            }
        },
        kind => Err(Damage::Kind(kind.map(str::to_owned))),
    }
}

/// What is wrong, and in which column; the line is known, and is not line 1.
fn told(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rsplit_once(" at line 1 column ") {
        Some((why, column)) => format!("{why} (column {column})"),
        None => text,
    }
}

fn header(header: Header) -> Result<Record, Damage> {
    let number = |field, why| Err(Damage::Number { field, why });
    match &header {
        Header { quantile, .. } if !(*quantile > 0.0 && *quantile < 1.0) => {
            number("quantile", "is not between 0 and 1")
        }
        Header { timer, .. } if timer.ticks_per_microsecond < 0.0 => number("ticks_per_microsecond", "is negative"),
        Header { timer, .. } if timer.ticks_per_microsecond == 0.0 => number("ticks_per_microsecond", "is 0"),
        _ => Ok(Record::from(header)),
    }
}

fn point(text: &str) -> serde_json::Result<Result<Record, Damage>> {
    let point: Point = serde_json::from_str(text)?;
    Ok(match wrong_number(&point) {
        None => Ok(Record::from(point)),
        Some((field, why)) => Err(Damage::Number { field, why }),
    })
}

fn wrong_number(point: &Point) -> Option<(&'static str, &'static str)> {
    let known = &point.known;
    let numbers = [
        ("ticks", point.ticks),
        ("low", point.low),
        ("high", point.high),
        ("limit", point.limit),
        ("critical_path", known.critical_path),
        ("bound", known.bound),
        ("predicted", known.predicted),
    ];
    // JSON has no infinities and no NaN; a number that is too large for a double is malformed already.
    if let Some((field, _)) = numbers.iter().find(|(_, number)| number.is_some_and(|number| number < 0.0)) {
        return Some((field, "is negative"));
    }
    if !(point.level > 0.0 && point.level < 1.0) {
        return Some(("level", "is not between 0 and 1"));
    }
    if point.units == Some(0) {
        return Some(("units", "is 0"));
    }
    if !point.state.is_timed() {
        return None;
    }
    match (point.ticks, point.low, point.high) {
        (None, ..) => Some(("ticks", "is missing from a measured point")),
        (Some(0.0), ..) => Some(("ticks", "is 0")),
        (Some(ticks), Some(low), _) if low > ticks => Some(("low", "is above `ticks`")),
        (Some(ticks), _, Some(high)) if high < ticks => Some(("high", "is below `ticks`")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str =
        r#"{"schema":"kiln.sweep/1","kind":"header","run":"aa","cpu":{},"timer":{"ticks_per_microsecond":2000}}"#;
    const POINT: &str = r#"{"kind":"point","run":"aa","id":"1","kernel":"k","variant":"s.u7","strategy":"s","n":64,"state":"measured","ticks":1.5,"low":1.25,"high":2}"#;

    fn read(bytes: &[u8]) -> Vec<(u64, Result<Record, Damage>)> {
        // A small buffer, so that lines cross its ends.
        let mut lines = Lines::new(io::BufReader::with_capacity(7, bytes));
        let mut all = Vec::new();
        while let Some(line) = lines.next_line().unwrap() {
            all.push(line);
        }
        all
    }

    /// What is wrong with the one bad line between good ones.
    fn damage(line: &[u8]) -> Damage {
        let bytes = [HEADER.as_bytes(), b"\n", line, b"\n", POINT.as_bytes(), b"\n"].concat();
        let mut lines = read(&bytes);
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert!(lines[0].1.is_ok() && lines[2].1.is_ok(), "the rest is kept: {lines:?}");
        let (number, result) = lines.swap_remove(1);
        assert_eq!(number, 2);
        result.expect_err("damaged")
    }

    #[test]
    fn good_lines_are_records() {
        let bytes = format!(
            "\u{feff}{HEADER}\r\n\n  \n{POINT}\n{}",
            POINT.replace("{\"kind\":\"point\",", "{ \"kind\": \"point\", ")
        );
        let lines = read(bytes.as_bytes());
        let numbers: Vec<u64> = lines.iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, [1, 4, 5], "blank lines count and are not told");
        assert!(matches!(lines[0].1, Ok(Record::Header(_))), "{lines:?}");
        assert!(lines[1].1.is_ok() && lines[1].1 == lines[2].1, "{lines:?}");
        assert!(read(b"").is_empty() && read(b"\n\n").is_empty());
    }

    #[test]
    fn every_beginning_of_a_last_line_is_cut_off() {
        let point = POINT.replace("s.u7", "s.\u{e9}");
        for end in 1..point.len() {
            let bytes = [HEADER.as_bytes(), b"\n", &point.as_bytes()[..end]].concat();
            let lines = read(&bytes);
            assert_eq!(lines[1], (2, Err(Damage::CutOff)), "{end}");
            // In the middle of a file it is another matter.
            assert_ne!(damage(&point.as_bytes()[..end]), Damage::CutOff, "{end}");
        }
    }

    #[test]
    fn damage_is_named_and_the_rest_is_kept() {
        assert_eq!(damage(b"{\"kind\":\"point\",\xff\xfe}"), Damage::NotText { byte: 16 });
        for line in [&[0; 100][..], b"[]", b"null", b"name,ticks", b"7"] {
            assert_eq!(damage(line).to_string(), "the line is not of a sweep: it is no JSON object");
        }
        assert_eq!(damage(b"{}").to_string(), "there is no `kind`: the line is of no sweep");
        assert_eq!(damage(br#"{"kind":"Point"}"#), Damage::Kind(Some("Point".into())));
        assert!(damage(br#"{"kind":"point"}"#).to_string().starts_with("missing field `run`"));
        let other = HEADER.replace("sweep/1", "sweep/2");
        assert_eq!(
            damage(other.as_bytes()).to_string(),
            "the schema is `kiln.sweep/2`; this version reads `kiln.sweep/1`"
        );
        assert!(matches!(damage(br#"{"kind":"header"}"#), Damage::Schema { schema, run: None } if schema.is_empty()));
        let deep = format!("{}{}", POINT.replace('}', ",\"new\":"), "[".repeat(100_000));
        assert!(damage(deep.as_bytes()).to_string().starts_with("EOF while parsing"));
        let doubled = POINT.replace("\"n\":64", "\"n\":64,\"n\":64");
        assert!(damage(doubled.as_bytes()).to_string().contains("duplicate field `n`"));
        let glued = format!("{POINT}{POINT}");
        assert!(damage(glued.as_bytes()).to_string().contains("trailing characters"));
        let escape = POINT.replace("\"measured\"", "\"\\u001b[2J\"");
        let text = damage(escape.as_bytes()).to_string();
        assert!(!text.contains('\u{1b}') && text.contains("unknown variant"), "{text}");
    }

    #[test]
    fn impossible_numbers_are_damage() {
        let with = |from: &str, to: &str| damage(POINT.replace(from, to).as_bytes()).to_string();
        assert_eq!(with("\"ticks\":1.5", "\"ticks\":-1.5"), "`ticks` is negative");
        assert_eq!(with("\"ticks\":1.5", "\"ticks\":0.0"), "`ticks` is 0");
        assert_eq!(with("\"ticks\":1.5", "\"ticks\":null"), "`ticks` is missing from a measured point");
        assert_eq!(with("\"low\":1.25", "\"low\":1.75"), "`low` is above `ticks`");
        assert_eq!(with("\"high\":2", "\"high\":1"), "`high` is below `ticks`");
        assert_eq!(with("\"high\":2", "\"high\":2,\"level\":1.0"), "`level` is not between 0 and 1");
        assert_eq!(with("\"high\":2", "\"high\":2,\"units\":0"), "`units` is 0");
        assert_eq!(with("\"high\":2", "\"high\":2,\"static\":{\"bound\":-1}"), "`bound` is negative");
        for number in ["NaN", "Infinity", "1e999", "0x10", "\"1.5\""] {
            assert!(!with("1.5", number).is_empty());
        }
        assert!(with("64", "-64").contains("invalid value"));
        for (rate, why) in [("0", "is 0"), ("-1", "is negative"), ("-0.0", "is 0")] {
            let header = HEADER.replace("2000", rate);
            assert_eq!(damage(header.as_bytes()).to_string(), format!("`ticks_per_microsecond` {why}"));
        }
    }

    #[test]
    fn a_line_without_end_is_skipped() {
        let long = "x".repeat(LONGEST + 1);
        assert_eq!(damage(long.as_bytes()), Damage::TooLong);
        let lines = read(format!("{HEADER}\n{long}").as_bytes());
        assert_eq!(lines[1], (2, Err(Damage::TooLong)));
    }

    #[test]
    fn what_is_clearly_no_sweep_is_given_up() {
        let why = |input: &mut dyn BufRead| Lines::new(input).next_line().expect_err("no sweep").to_string();
        assert!(why(&mut io::BufReader::new(io::repeat(b'x'))).contains("longer than 64 MiB"));
        assert!(why(&mut &b"\x1f\x8b\x08\0"[..]).contains("compressed; `zcat FILE"));
        assert!(why(&mut &b"BZh91AY\n"[..]).contains("compressed"));
    }
}
