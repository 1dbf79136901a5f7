//! What `--set` says: a key of a spec's strategies and the values that it takes.

use std::fmt;
use std::num::{IntErrorKind, ParseIntError};

/// Most values of one key.
const MOST: u64 = 100_000;

/// The key that selects strategies themselves.
pub const STRATEGY: &str = "strategy";

/// One `--set KEY=VALUES`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Set {
    /// The key, as in a spec.
    pub key: String,
    /// The values in the order in which they were written.
    pub values: Vec<String>,
}

impl Set {
    /// Whether the values are words in a spec, in quotes.
    pub fn is_of_words(&self) -> bool {
        self.values.iter().any(|value| value.parse::<u32>().is_err())
    }

    /// The value as TOML.
    pub fn toml(&self, value: &str) -> toml::Value {
        match value.parse::<i64>() {
            Ok(number) if !self.is_of_words() => toml::Value::Integer(number),
            _ => toml::Value::String(value.to_owned()),
        }
    }
}

impl fmt::Display for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.key, self.values.join(","))
    }
}

/// Reads `KEY=ITEM,ITEM,…`, where an item is a number, a word, a range `A..B` with both ends, with a step `A..B:S`, or `word:A..B`
/// for `wordA` to `wordB`.
///
/// # Errors
/// What is wrong, in words.
pub fn parse(text: &str) -> Result<Set, String> {
    let (key, items) = text.split_once('=').ok_or("it must be KEY=VALUES, such as unroll=1..8")?;
    if key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_') {
        return Err(format!("`{key}` is no key of a strategy"));
    }
    let mut values: Vec<String> = Vec::new();
    for item in items.split(',') {
        for value in expand(item.trim())? {
            if !values.contains(&value) {
                values.push(value);
            }
        }
        if values.len() as u64 > MOST {
            return Err(format!("more than {MOST} values"));
        }
    }
    Ok(Set { key: key.to_owned(), values })
}

/// A list of numbers: numbers and ranges, as for `--set`.
///
/// # Errors
/// What is wrong, in words.
pub fn numbers(text: &str) -> Result<Vec<u64>, String> {
    let mut all: Vec<u64> = Vec::new();
    for item in text.split(',') {
        for value in expand(item.trim())? {
            all.push(number(&value).map_err(|why| format!("`{value}` {why}"))?);
        }
    }
    all.sort_unstable();
    all.dedup();
    Ok(all)
}

/// A number, or why it is none.
fn number(digits: &str) -> Result<u64, &'static str> {
    digits.parse().map_err(|error: ParseIntError| match error.kind() {
        IntErrorKind::PosOverflow => "is too large",
        _ => "is no number",
    })
}

fn expand(item: &str) -> Result<Vec<String>, String> {
    if item.is_empty() {
        return Err("a value is missing".to_owned());
    }
    let Some((before, after)) = item.split_once("..") else { return Ok(vec![item.to_owned()]) };
    let (word, first) = before.rsplit_once(':').unwrap_or(("", before));
    let (last, step) = after.split_once(':').unwrap_or((after, "1"));
    let last = last.strip_prefix('=').unwrap_or(last);
    let part = |digits: &str| number(digits).map_err(|why| format!("`{digits}` in `{item}` {why}"));
    let (first, last, step) = (part(first)?, part(last)?, part(step)?);
    if step == 0 {
        return Err(format!("the step of the range `{item}` is 0"));
    }
    if first > last {
        return Err(format!("the range `{item}` has nothing in it"));
    }
    if (last - first) / step >= MOST {
        return Err(format!("the range `{item}` has more than {MOST} values"));
    }
    Ok((first..=last)
        .step_by(usize::try_from(step).unwrap_or(usize::MAX))
        .map(|number| format!("{word}{number}"))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Vec<String> {
        parse(text).unwrap().values
    }

    #[test]
    fn ranges_have_both_ends() {
        assert_eq!(values("unroll=1..4,8,4"), ["1", "2", "3", "4", "8"]);
        assert_eq!(values("unroll=4..17:4"), ["4", "8", "12", "16"]);
        assert_eq!(values("unroll=2..=3"), ["2", "3"]);
        assert_eq!(values("schedule=generic, seed:9..11,zen3"), ["generic", "seed9", "seed10", "seed11", "zen3"]);
        assert_eq!(numbers("64,1..3,2"), Ok(vec![1, 2, 3, 64]));
    }

    #[test]
    fn numbers_and_words_are_told_apart() {
        assert_eq!(parse("unroll=8").unwrap().toml("8"), toml::Value::Integer(8));
        assert_eq!(parse("back_edge=live").unwrap().toml("live"), toml::Value::String("live".into()));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, part) in [
            ("unroll", "KEY=VALUES"),
            ("=1", "no key"),
            ("Unroll=1", "no key"),
            ("unroll=", "missing"),
            ("unroll=1,,2", "missing"),
            ("unroll=4..1", "nothing in it"),
            ("unroll=1..9:0", "the step of the range `1..9:0` is 0"),
            ("unroll=1..99999999999999999999", "`99999999999999999999` in `1..99999999999999999999` is too large"),
            ("unroll=1..x", "`x` in `1..x` is no number"),
            ("unroll=0..18446744073709551615", "more than"),
            ("unroll=-1..3", "no number"),
        ] {
            let why = parse(text).unwrap_err();
            assert!(why.contains(part), "{text}: {why}");
        }
        assert_eq!(numbers("a"), Err("`a` is no number".to_owned()));
        assert_eq!(numbers("99999999999999999999999"), Err("`99999999999999999999999` is too large".to_owned()));
    }
}
