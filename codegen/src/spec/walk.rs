//! The walk: a parsed file against its [`Shape`]. Every unknown key, wrong type, missing key, number out of range,
//! unknown word and repeated item is reported at its place, at every depth; what is left is a tree that serde reads
//! without fail. Knows no meaning: names and choices that must agree are checked after it.

use crate::error::{Hint, Kind, Noun, Problem, Problems, Reason, Shown, Source};
use crate::spec::kernel::is_name;
use crate::spec::schema::{Group, Shape, Table, Words};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

/// The keys that lost a value, or a part of one, to a problem. A check that would only repeat the problem in other
/// words ("startup has 4, which is not in unroll", since unroll was refused) asks here first.
#[derive(Debug, Default)]
pub(crate) struct Damage {
    /// Set when a part of the file is not TOML: then anything may be missing.
    pub all: bool,
    keys: BTreeSet<(usize, String)>,
}

impl Damage {
    /// Whether `key` of the table that stands at `table` was hit.
    pub(crate) fn hit(&self, table: &Range<usize>, key: &str) -> bool {
        self.all || self.keys.contains(&(table.start, key.to_owned()))
    }
}

/// What a walk found and left.
pub(crate) struct Walked<'t> {
    pub tree: Spanned<DeTable<'t>>,
    pub damage: Damage,
}

/// Walks a file. `whole` is false when lines that are not TOML were left out of the tree: then nothing is said to be
/// missing or empty.
pub(crate) fn walk<'t>(
    tree: &Spanned<DeTable<'t>>,
    shape: &Shape,
    title: &str,
    whole: bool,
    source: &Source,
    problems: &mut Problems,
) -> Walked<'t> {
    let title = format!("the {title}");
    let mut sections = BTreeMap::new();
    shape.sections(&title, &mut sections);
    let damage = Damage { all: !whole, keys: BTreeSet::new() };
    let mut walk = Walk { whole, source, problems, damage, sections };
    let clean = match shape {
        Shape::Table(shape) => walk.table(tree.get_ref(), tree.span(), shape, &title, ""),
        _ => DeTable::new(),
    };
    Walked { tree: Spanned::new(tree.span(), clean), damage: walk.damage }
}

struct Walk<'w> {
    whole: bool,
    source: &'w Source,
    problems: &'w mut Problems,
    damage: Damage,
    sections: BTreeMap<String, Vec<String>>,
}

impl Walk<'_> {
    fn report(&mut self, span: Range<usize>, reason: Reason, hint: Option<Hint>) {
        self.problems.push(Problem::at(self.source, span, reason).hint(hint));
    }

    fn written(&self, span: Range<usize>) -> Shown {
        Shown::new(self.source.text().get(span).unwrap_or(""))
    }

    fn table<'t>(
        &mut self,
        table: &DeTable<'t>,
        span: Range<usize>,
        shape: &Table,
        section: &str,
        path: &str,
    ) -> DeTable<'t> {
        let mut clean = DeTable::new();
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            match shape.keys.get(name) {
                Some(field) => {
                    let before = self.problems.len();
                    if let Some(value) = self.value(value, field, &joined(path, name), name) {
                        clean.insert(key.clone(), value);
                    }
                    if self.problems.len() > before {
                        self.damage.keys.insert((span.start, name.to_owned()));
                    }
                }
                None => {
                    let hint = self.hint_for_key(name, shape);
                    if let Some(Hint::Nearest(meant)) = &hint {
                        self.damage.keys.insert((span.start, meant.clone()));
                    }
                    let reason = Reason::UnknownKey { key: shown(name), section: section.to_owned() };
                    self.report(key.span(), reason, hint);
                }
            }
        }
        if self.whole {
            self.missing(table, span, shape, section);
        }
        clean
    }

    /// A key that is another section's belongs there; else the nearest of this section's.
    fn hint_for_key(&self, name: &str, shape: &Table) -> Option<Hint> {
        match self.sections.get(name) {
            Some(sections) => Some(Hint::BelongsIn(sections.clone())),
            None => Hint::nearest(name, shape.keys.keys().map(String::as_str)),
        }
    }

    fn missing(&mut self, table: &DeTable, span: Range<usize>, shape: &Table, section: &str) {
        let section = section.to_owned();
        for key in &shape.required {
            // A misspelt key is reported once, as unknown.
            if !table.contains_key(key.as_str()) && !self.damage.hit(&span, key) {
                self.report(span.clone(), Reason::MissingKey { key: key.clone(), section: section.clone() }, None);
                self.damage.keys.insert((span.start, key.clone()));
            }
        }
        for Group { keys, exclusive } in &shape.groups {
            let given: Vec<&String> = keys.iter().filter(|key| table.contains_key(key.as_str())).collect();
            let misspelt = keys.iter().any(|key| !table.contains_key(key.as_str()) && self.damage.hit(&span, key));
            match given.as_slice() {
                [] if !misspelt => {
                    self.report(
                        span.clone(),
                        Reason::MissingOneOf { keys: keys.clone(), section: section.clone() },
                        None,
                    );
                }
                [first, second, ..] if *exclusive => {
                    let at = table.get_key_value(second.as_str()).map_or(span.clone(), |(key, _)| key.span());
                    let (first, second) = (first.to_string(), second.to_string());
                    self.report(at, Reason::Exclusive { first, second, section: section.clone() }, None);
                }
                _ => {}
            }
        }
    }

    /// Checks a value; gives back what can be kept of it. `label` is what messages call it, `key` its key.
    fn value<'t>(
        &mut self,
        value: &Spanned<DeValue<'t>>,
        shape: &Shape,
        label: &str,
        key: &str,
    ) -> Option<Spanned<DeValue<'t>>> {
        let span = value.span();
        let clean = match (shape, value.get_ref()) {
            (Shape::Table(shape), DeValue::Table(table)) => {
                DeValue::Table(self.table(table, span.clone(), shape, &format!("[{label}]"), label))
            }
            (Shape::Map { words, value }, DeValue::Table(table)) => {
                DeValue::Table(self.map(table, words, value, label))
            }
            (Shape::List { item, empty, unique }, DeValue::Array(items)) => {
                if items.is_empty() && !empty && self.whole {
                    self.report(span.clone(), Reason::Empty { label: label.to_owned() }, None);
                }
                DeValue::Array(self.list(items, item, *unique, label, key))
            }
            (Shape::Tuple(shapes), DeValue::Array(items)) => {
                if items.len() != shapes.len() {
                    let expected = shape.describe(false).trim_matches(['[', ']']).to_owned();
                    let reason = Reason::WrongLength { label: label.to_owned(), expected, got: items.len() };
                    self.report(span.clone(), reason, None);
                    return None;
                }
                let checked = items.iter().zip(shapes).map(|(item, (name, shape))| {
                    let label = format!("{label} {name}");
                    self.value(item, shape, &label, key)
                });
                // To the end, not to the first bad item: every problem is wanted.
                let checked: Vec<_> = checked.collect();
                DeValue::Array(checked.into_iter().collect::<Option<DeArray>>()?)
            }
            (&Shape::Integer { min, max }, DeValue::Integer(number)) => {
                let number = i128::from_str_radix(number.as_str(), number.radix()).ok();
                if !number.is_some_and(|number| (min..=max).contains(&number)) {
                    self.out_of_range(span, label, format!("between {min} and {max}"));
                    return None;
                }
                value.get_ref().clone()
            }
            (Shape::Choice(choices), DeValue::Integer(number)) => {
                let number = i128::from_str_radix(number.as_str(), number.radix()).ok();
                if !number.is_some_and(|number| choices.contains(&number)) {
                    self.out_of_range(span, label, one_of(choices));
                    return None;
                }
                value.get_ref().clone()
            }
            (&Shape::Number { above, max }, DeValue::Integer(_) | DeValue::Float(_)) => {
                if !number(value.get_ref()).is_some_and(|number| number > above && number <= max) {
                    self.out_of_range(span, label, format!("over {above} and at most {max}"));
                    return None;
                }
                value.get_ref().clone()
            }
            (Shape::Text { empty, words }, DeValue::String(text)) => {
                if text.is_empty() && !empty {
                    self.report(span, Reason::Empty { label: label.to_owned() }, None);
                    return None;
                }
                if let Some(words) = words
                    && !self.is_word(text, span.clone(), words, label)
                {
                    return None;
                }
                value.get_ref().clone()
            }
            (Shape::Boolean(only), &DeValue::Boolean(given)) => {
                if let Some(expected) = only.filter(|&only| only != given) {
                    self.report(span, Reason::MustBe { label: label.to_owned(), expected }, None);
                    return None;
                }
                value.get_ref().clone()
            }
            (_, found) => {
                let is_list_of_tables = matches!(shape, Shape::List { item, .. } if matches!(**item, Shape::Table(_)));
                let hint = (is_list_of_tables && found.is_table()).then(|| Hint::DoubleBrackets(label.to_owned()));
                let reason = Reason::WrongType {
                    label: label.to_owned(),
                    expected: shape.describe(false),
                    found: kind(found),
                    got: self.written(span.clone()),
                };
                self.report(span, reason, hint);
                return None;
            }
        };
        Some(Spanned::new(value.span(), clean))
    }

    fn map<'t>(&mut self, table: &DeTable<'t>, words: &Words, shape: &Shape, label: &str) -> DeTable<'t> {
        let mut clean = DeTable::new();
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            // An unquoted name with a dot in it is two keys to TOML.
            if let (DeValue::Table(inner), Some((second, _))) = (value.get_ref(), first(value)) {
                let whole = format!("{name}.{}", second.get_ref());
                let stem = words.stems.iter().any(|stem| whole.starts_with(stem.as_str()));
                if inner.len() == 1 && (words.words.contains(&whole) || stem) {
                    let reason = Reason::UnknownWord {
                        noun: words.noun,
                        word: Shown::new(name),
                        context: format!("in [{label}]"),
                    };
                    self.report(key.span(), reason, Some(Hint::QuoteKey(whole)));
                    continue;
                }
            }
            let known = self.is_word(name, key.span(), words, &format!("the key in [{label}]"));
            let value = self.value(value, shape, &joined(label, name), name);
            if let (true, Some(value)) = (known, value) {
                clean.insert(key.clone(), value);
            }
        }
        clean
    }

    fn list<'t>(&mut self, items: &DeArray<'t>, shape: &Shape, unique: bool, label: &str, key: &str) -> DeArray<'t> {
        let mut seen = BTreeSet::new();
        let mut clean = DeArray::new();
        for item in items {
            let checked = match (shape, item.get_ref()) {
                (Shape::Table(shape), DeValue::Table(table)) => {
                    let table = self.table(table, item.span(), shape, &format!("[[{key}]]"), "");
                    Some(Spanned::new(item.span(), DeValue::Table(table)))
                }
                _ => self.value(item, shape, label, key),
            };
            let Some(checked) = checked else { continue };
            if unique && !identity(checked.get_ref()).is_none_or(|identity| seen.insert(identity)) {
                let reason = Reason::Duplicate { label: label.to_owned(), item: self.written(item.span()) };
                self.report(item.span(), reason, None);
                continue;
            }
            clean.push(checked);
        }
        clean
    }

    fn is_word(&mut self, word: &str, span: Range<usize>, words: &Words, label: &str) -> bool {
        let made_up = |stem: &String| word.strip_prefix(stem.as_str()).is_some_and(is_name);
        if words.words.iter().any(|valid| valid == word) || words.stems.iter().any(made_up) {
            return true;
        }
        let context = match words.noun {
            Noun::Word => format!("for {label}"),
            Noun::Kernel
            | Noun::Strategy
            | Noun::Argument
            | Noun::Feature
            | Noun::CostKey
            | Noun::Schedule
            | Noun::Cpu
            | Noun::Identity => String::new(),
        };
        let hint = Hint::nearest(word, words.words.iter().map(String::as_str));
        self.report(span, Reason::UnknownWord { noun: words.noun, word: Shown::new(word), context }, hint);
        false
    }

    fn out_of_range(&mut self, span: Range<usize>, label: &str, range: String) {
        let got = self.written(span.clone());
        self.report(span, Reason::OutOfRange { label: label.to_owned(), range, got }, None);
    }
}

/// `32, 64 or 128`.
fn one_of(choices: &[i128]) -> String {
    let choices: Vec<String> = choices.iter().map(i128::to_string).collect();
    match choices.split_last() {
        Some((last, before)) if !before.is_empty() => format!("{} or {last}", before.join(", ")),
        _ => choices.concat(),
    }
}

fn first<'v, 't>(
    value: &'v Spanned<DeValue<'t>>,
) -> Option<(&'v Spanned<toml::de::DeString<'t>>, &'v Spanned<DeValue<'t>>)> {
    value.get_ref().as_table()?.iter().next()
}

/// What two items have in common when they are the same item: `0x10` and `16` are.
fn identity(value: &DeValue) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) => i128::from_str_radix(number.as_str(), number.radix()).ok().map(|n| n.to_string()),
        DeValue::Float(_) | DeValue::Boolean(_) | DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => None,
    }
}

fn number(value: &DeValue) -> Option<f64> {
    match value {
        DeValue::Float(number) => number.as_str().parse().ok(),
        // No range of ours comes near 2^53; what does not fit an i32 is out of it.
        DeValue::Integer(number) => i32::from_str_radix(number.as_str(), number.radix()).ok().map(f64::from),
        DeValue::String(_) | DeValue::Boolean(_) | DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => None,
    }
}

fn kind(value: &DeValue) -> Kind {
    match value {
        DeValue::String(_) => Kind::String,
        DeValue::Integer(_) => Kind::Integer,
        DeValue::Float(_) => Kind::Float,
        DeValue::Boolean(_) => Kind::Boolean,
        DeValue::Datetime(_) => Kind::Date,
        DeValue::Array(_) => Kind::List,
        DeValue::Table(_) => Kind::Table,
    }
}

fn joined(path: &str, key: &str) -> String {
    if path.is_empty() { shown(key) } else { format!("{path}.{}", shown(key)) }
}

fn shown(key: &str) -> String {
    Shown::new(key).to_string()
}
