//! The meaning of a kernel spec: names that must exist, choices that must agree. What the walk has already refused is
//! not refused again in other words.

use crate::error::{Hint, Noun, Problem, Problems, Reason, Shown, Source, is_unseen};
use crate::spec::cipher;
use crate::spec::place::At;
use crate::spec::raw::{ArgumentTable, KernelFile, List, StrategyTable};
use crate::spec::types::{Access, Argument, ArgumentKind, Domain, KernelSpec, Length, Strategy, Unit};
use crate::spec::vocabulary::Vocabulary;
use crate::spec::walk::Damage;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// What the checks look things up in, and where they report.
pub(crate) struct Check<'c> {
    pub source: &'c Source,
    pub damage: &'c Damage,
    pub vocabulary: &'c Vocabulary<'c>,
    pub schedules: &'c BTreeSet<&'c str>,
    /// Names that stand for numbers in lengths.
    pub constants: &'static [&'static str],
    pub problems: &'c mut Problems,
}

/// The kernels of a file: one, or one for each size of a cipher's key; nothing when a part is missing, which is then among the
/// problems.
pub(crate) fn kernels(file: KernelFile, hash: &str, check: &mut Check) -> Option<Vec<KernelSpec>> {
    if let Some(math) = &file.math {
        check.can_be_seen("math", math);
    }
    check.keyed(&file);
    let ciphers = check.ciphers(&file);
    let keyed = file.key_bits.is_some() || check.lacks_key_bits(&file);
    check.constants = if keyed { cipher::CONSTANTS } else { &[] };
    let arguments = check.arguments(file.argument.as_deref().unwrap_or_default());
    let count = first_count(&arguments);
    let counted = Counted::of(file.argument.as_deref(), check.damage);
    check.classes(&file.sizes, counted);
    let sizes = file.sizes.map(|sizes| sizes.value).unwrap_or_default();
    check.ascending("sizes", &sizes);
    check.inside_count("sizes", &sizes, &count);
    let strategies = file.strategy.as_deref().unwrap_or_default();
    let strategies = check.strategies(strategies, file.kernel.as_ref(), &count, counted);
    let spec = KernelSpec {
        file: check.source.file().to_owned(),
        text: check.source.text().to_owned(),
        hash: hash.to_owned(),
        kernel: file.kernel?,
        math: file.math?.value,
        returns: file.returns.map(|returns| returns.value),
        sizes: sizes.into_iter().map(|size| size.value).collect(),
        unit: file.unit.map_or(if counted == Counted::No { Unit::Call } else { Unit::Limb }, |unit| unit.value),
        cipher: None,
        arguments: arguments.into_iter().collect::<Option<_>>()?,
        strategies: strategies.into_iter().collect::<Option<_>>()?,
    };
    Some(match ciphers? {
        None => vec![spec],
        Some(ciphers) => ciphers.into_iter().map(|cipher| cipher::of_key(&spec, cipher)).collect(),
    })
}

/// The name and bounds of the count that sizes are compared with: the first.
fn first_count(arguments: &[Option<Argument>]) -> Option<(String, u64, u64)> {
    arguments.iter().flatten().find_map(|argument| match argument.kind {
        ArgumentKind::Count { min, max } if min <= max => Some((argument.name.value.clone(), min, max)),
        ArgumentKind::Count { .. } | ArgumentKind::Limbs { .. } | ArgumentKind::Bytes { .. } | ArgumentKind::Limb => {
            None
        }
    })
}

/// Whether a kernel has a count, by which its sizes and loops go.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Counted {
    Yes,
    No,
    /// What would say so was refused or is missing.
    Unknown,
}

impl Counted {
    fn of(arguments: Option<&[At<ArgumentTable>]>, damage: &Damage) -> Counted {
        let tables = arguments.unwrap_or_default();
        let hidden = tables.iter().any(|table| damage.hit(&table.span, "count"));
        let kinds =
            |table: &At<ArgumentTable>| pointed(table).is_some() || table.limb.is_some() || table.count.is_some();
        if tables.iter().any(|table| table.count.is_some()) {
            Counted::Yes
        } else if tables.is_empty() || hidden || !tables.iter().all(kinds) {
            Counted::Unknown
        } else {
            Counted::No
        }
    }
}

/// How many limbs or bytes are behind a pointer; nothing for a value.
fn pointed(table: &ArgumentTable) -> Option<&At<String>> {
    table.limbs.as_ref().or(table.bytes.as_ref())
}

impl Check<'_> {
    /// A kernel has size classes when it has a count, and only then.
    fn classes(&mut self, sizes: &List<u64>, counted: Counted) {
        match (sizes, counted) {
            (None, Counted::Yes | Counted::Unknown) if !self.damage.hit(&self.whole(), "sizes") => {
                let section = "the kernel spec".to_owned();
                self.report(0..0, Reason::MissingKey { key: "sizes".to_owned(), section }, None);
            }
            (Some(sizes), Counted::No) => {
                let needs = "a count argument".to_owned();
                self.report(sizes.span.clone(), Reason::Needs { key: "sizes".to_owned(), needs }, None);
            }
            _ => {}
        }
    }

    /// The place of what is missing: the whole file, which begins at 0.
    pub(super) fn whole(&self) -> Range<usize> {
        0..self.source.text().len()
    }

    pub(super) fn report(&mut self, span: Range<usize>, reason: Reason, hint: Option<Hint>) {
        self.problems.push(Problem::at(self.source, span, reason).hint(hint));
    }

    /// A text that is printed must not steer the terminal, nor end the comment that it becomes.
    fn can_be_seen(&mut self, label: &str, text: &At<String>) {
        let Some(character) = text.chars().find(|&character| is_unseen(character)) else { return };
        // As written when it is written as itself; an escape has the place of the whole text.
        let written = self.source.text().get(text.span.clone()).and_then(|written| written.find(character));
        let span = written.map_or(text.span.clone(), |at| {
            let start = text.span.start + at;
            start..start + character.len_utf8()
        });
        self.report(span, Reason::Unseen { label: label.to_owned(), character }, None);
    }

    fn arguments(&mut self, tables: &[At<ArgumentTable>]) -> Vec<Option<Argument>> {
        self.names(Noun::Argument, tables.iter().filter_map(|table| table.name.as_ref()));
        let arguments = tables.iter().map(|table| self.argument(table)).collect();
        // A name that was refused may be the one that is looked for.
        let hidden = ["name", "limbs", "bytes", "count", "limb"];
        if !tables.iter().any(|table| hidden.iter().any(|key| self.damage.hit(&table.span, key))) {
            tables.iter().for_each(|table| self.references(table, tables));
            self.closed(tables);
        }
        arguments
    }

    /// Equality is transitive: what may be equal to one argument may be equal to each other, and must say so.
    fn closed(&mut self, tables: &[At<ArgumentTable>]) {
        let name = |table: &At<ArgumentTable>| table.name.as_ref().map(|name| name.value.clone()).unwrap_or_default();
        let lists = |a: &At<ArgumentTable>, b: &At<ArgumentTable>| {
            let pointers = pointed(a).is_some() && pointed(b).is_some();
            pointers && a.may_equal.iter().flat_map(|list| &list.value).any(|other| other.value == name(b))
        };
        let equal = |a, b| lists(a, b) || lists(b, a);
        for (index, one) in tables.iter().enumerate() {
            for other in &tables[index + 1..] {
                let third = tables.iter().find(|third| {
                    name(third) != name(one) && name(third) != name(other) && equal(one, third) && equal(third, other)
                });
                if let (Some(third), false) = (third, equal(one, other)) {
                    let at = other.may_equal.as_ref().or(one.may_equal.as_ref()).map(|list| list.span.clone());
                    let shown = |table: &At<ArgumentTable>| Shown::new(&name(table));
                    let reason = Reason::NotClosed { one: shown(one), other: shown(other), third: shown(third) };
                    self.report(at.unwrap_or_else(|| other.span.clone()), reason, None);
                }
            }
        }
    }

    fn argument(&mut self, table: &At<ArgumentTable>) -> Option<Argument> {
        if let Some(name) = &table.name {
            self.argument_name(name);
        }
        let limbs = pointed(table).is_some() || ["limbs", "bytes"].iter().any(|key| self.damage.hit(&table.span, key));
        let other = table.count.is_some() || table.limb.is_some();
        if limbs && table.access.is_none() && !self.damage.hit(&table.span, "access") {
            let of = if table.bytes.is_some() { "bytes" } else { "limbs" };
            let section = format!("an [[argument]] of {of}");
            self.report(table.span.clone(), Reason::MissingKey { key: "access".to_owned(), section }, None);
        }
        if other && !limbs {
            let needs = || "limbs".to_owned();
            if let Some(access) = &table.access {
                self.report(access.span.clone(), Reason::Needs { key: "access".to_owned(), needs: needs() }, None);
            }
            if let Some(equal) = &table.may_equal {
                self.report(equal.span.clone(), Reason::Needs { key: "may_equal".to_owned(), needs: needs() }, None);
            }
        }
        let domain = table.domain.as_ref().and_then(|domain| parse_domain(domain));
        let (has_domain, needs) = match &domain {
            Some(Domain::SlicedRoundKeys) => (table.bytes.is_some(), "bytes"),
            Some(Domain::MontgomeryModulus) => (table.limbs.is_some(), "limbs"),
            Some(Domain::Below(_)) => (table.limb.is_some() || table.limbs.is_some(), "limb"),
            Some(Domain::Any | Domain::Normalised | Domain::ReciprocalOf(_) | Domain::EntryOf(_)) | None => {
                (table.limb.is_some(), "limb")
            }
        };
        let kinds = limbs || other;
        let of_bytes = matches!(domain, Some(Domain::SlicedRoundKeys));
        if let (Some(domain), Some(_), false) = (&table.domain, &table.bytes, of_bytes)
            && table.limb.is_none()
        {
            self.report(domain.span.clone(), Reason::BadDomainOfBytes { got: Shown::new(domain) }, None);
        } else if let (Some(domain), true, false) = (&table.domain, kinds, has_domain) {
            let reason = Reason::Needs { key: "domain".to_owned(), needs: needs.to_owned() };
            self.report(domain.span.clone(), reason, None);
        }
        self.alignment(table);
        if let (Some(_), Some(secret)) = (&table.count, &table.secret)
            && secret.value
        {
            self.report(secret.span.clone(), Reason::SecretCount, None);
        }
        if let Some(count) = &table.count
            && let (Some(min), Some(max)) = (&count.min, &count.max)
            && min.value > max.value
        {
            self.report(max.span.clone(), Reason::MinOverMax { min: min.value, max: max.value }, None);
        }
        let kind = match (&table.limbs, &table.bytes, &table.count, &table.limb) {
            (Some(length), None, None, None) => ArgumentKind::Limbs { length: parse_length(length)? },
            (None, Some(length), None, None) => {
                let align = table.align.as_ref().map_or(1, |align| align.value);
                ArgumentKind::Bytes { length: parse_length(length)?, align }
            }
            (None, None, Some(count), None) => {
                ArgumentKind::Count { min: count.min.as_ref()?.value, max: count.max.as_ref()?.value }
            }
            (None, None, None, Some(_)) => ArgumentKind::Limb,
            _ => return None,
        };
        Some(Argument {
            name: table.name.clone()?,
            access: match kind {
                ArgumentKind::Limbs { .. } | ArgumentKind::Bytes { .. } => table.access.as_ref()?.value,
                ArgumentKind::Count { .. } | ArgumentKind::Limb => Access::In,
            },
            kind,
            may_equal: items(&table.may_equal),
            domain: table.domain.as_ref().map_or(Some(Domain::Any), |domain| parse_domain(domain))?,
            secret: table.secret.as_ref().is_some_and(|secret| secret.value),
            span: table.span.clone(),
        })
    }

    /// An alignment is a power of two, and one of bytes: limbs have that of their type.
    fn alignment(&mut self, table: &At<ArgumentTable>) {
        let Some(align) = &table.align else { return };
        if table.bytes.is_none() {
            let reason = Reason::Needs { key: "align".to_owned(), needs: "bytes".to_owned() };
            self.report(align.span.clone(), reason, None);
        } else if !align.value.is_power_of_two() {
            let range = "a power of two from 1 to 64".to_owned();
            let got = Shown::new(&align.value.to_string());
            self.report(align.span.clone(), Reason::OutOfRange { label: "align".to_owned(), range, got }, None);
        }
    }

    /// An argument's name becomes a name in Rust and in C.
    fn argument_name(&mut self, name: &At<String>) {
        let shown = Shown::new(name);
        if !is_name(name) {
            self.report(name.span.clone(), Reason::BadName { noun: Noun::Argument, name: shown }, None);
        } else if C_WORDS.contains(&name.as_str()) || syn::parse_str::<syn::Ident>(name).is_err() {
            self.report(name.span.clone(), Reason::Reserved { noun: Noun::Argument, name: shown }, None);
        }
    }

    /// What an argument says about others.
    fn references(&mut self, table: &At<ArgumentTable>, all: &[At<ArgumentTable>]) {
        let counts = |other: &ArgumentTable| other.count.is_some();
        let pointers = |other: &ArgumentTable| pointed(other).is_some();
        if let Some(length) = pointed(table) {
            let label = if table.limbs.is_some() { "limbs" } else { "bytes" };
            match parse_length(length) {
                Some(parsed) => {
                    for (count, _) in parsed.terms {
                        if !self.constants.contains(&count.as_str()) {
                            self.reference(label, &At::new(count, length.span.clone()), all, "a count", counts);
                        }
                    }
                }
                None => self.report(length.span.clone(), Reason::BadLength { got: Shown::new(length) }, None),
            }
        }
        if let (Some(domain), None) = (&table.domain, &table.bytes) {
            match parse_domain(domain) {
                Some(parsed) => {
                    if let Some(other) = parsed.of() {
                        let other = At::new(other.to_owned(), domain.span.clone());
                        if table.limbs.is_some() {
                            self.reference("domain", &other, all, "a montgomery modulus", is_modulus);
                        } else {
                            self.reference("domain", &other, all, "a limb by value", |other| other.limb.is_some());
                        }
                    }
                }
                None => self.report(domain.span.clone(), Reason::BadDomain { got: Shown::new(domain) }, None),
            }
        }
        let own = table.name.as_ref().map(|name| name.value.as_str());
        for equal in table.may_equal.iter().flat_map(|list| &list.value) {
            if own == Some(equal.as_str()) {
                self.report(equal.span.clone(), Reason::EqualToItself { name: Shown::new(equal) }, None);
            } else if pointed(table).is_some() {
                self.reference("may_equal", equal, all, "a pointer", pointers);
            }
        }
    }

    fn reference(
        &mut self,
        label: &str,
        name: &At<String>,
        all: &[At<ArgumentTable>],
        expected: &'static str,
        fits: impl Fn(&ArgumentTable) -> bool,
    ) {
        let named = |table: &&At<ArgumentTable>| table.name.as_ref().is_some_and(|other| other == name);
        match all.iter().find(named) {
            Some(argument) if fits(argument) => {}
            Some(_) => {
                let label = label.to_owned();
                self.report(name.span.clone(), Reason::WrongArgument { label, name: Shown::new(name), expected }, None);
            }
            None => {
                let valid = all.iter().filter(|other| fits(other));
                let valid = valid.filter_map(|other| other.name.as_ref().map(|name| name.value.as_str()));
                let hint = match cipher::defines(name) {
                    Some(key) => Some(Hint::DefinedBy(key)),
                    None => Hint::nearest(name, valid),
                };
                let context = format!("in {label}");
                let reason = Reason::UnknownWord { noun: Noun::Argument, word: Shown::new(name), context };
                self.report(name.span.clone(), reason, hint);
            }
        }
    }

    fn strategies(
        &mut self,
        tables: &[At<StrategyTable>],
        kernel: Option<&At<String>>,
        count: &Option<(String, u64, u64)>,
        counted: Counted,
    ) -> Vec<Option<Strategy>> {
        self.names(Noun::Strategy, tables.iter().filter_map(|table| table.name.as_ref()));
        tables.iter().map(|table| self.strategy(table, kernel, count, counted)).collect()
    }

    /// A kernel with a count says how its loops are unrolled; one without has no loop.
    fn extents(&mut self, table: &At<StrategyTable>, counted: Counted) {
        let given = [
            ("unroll", &table.unroll),
            ("blocks", &table.blocks),
            ("exact", &table.exact),
            ("startup", &table.startup),
        ];
        if counted == Counted::No {
            for (key, list) in given {
                if let Some(list) = list {
                    let needs = "a count argument".to_owned();
                    self.report(list.span.clone(), Reason::Needs { key: key.to_owned(), needs }, None);
                }
            }
        } else if given[..3].iter().all(|(key, list)| list.is_none() && !self.damage.hit(&table.span, key)) {
            let keys = given[..3].iter().map(|(key, _)| (*key).to_owned()).collect();
            let section = "[[strategy]]".to_owned();
            self.report(table.span.clone(), Reason::MissingOneOf { keys, section }, None);
        }
    }

    fn strategy(
        &mut self,
        table: &At<StrategyTable>,
        kernel: Option<&At<String>>,
        count: &Option<(String, u64, u64)>,
        counted: Counted,
    ) -> Option<Strategy> {
        self.extents(table, counted);
        if let Some(name) = &table.name {
            self.strategy_name(name, kernel);
        }
        let unroll = items(&table.unroll);
        let blocks = items(&table.blocks);
        if let (Some(blocks), true) = (&table.blocks, table.unroll.is_some()) {
            let (first, second) = ("unroll".to_owned(), "blocks".to_owned());
            let reason = Reason::Exclusive { first, second, section: "[[strategy]]".to_owned() };
            self.report(blocks.span.clone(), reason, None);
        }
        let exact = items(&table.exact);
        let startup = items(&table.startup);
        let loops = table.unroll.is_some() || self.damage.hit(&table.span, "unroll");
        let (list, choices) = match (&table.unroll, &table.blocks) {
            (Some(_), _) => ("unroll", &unroll),
            (None, Some(_)) => ("blocks", &blocks),
            (None, None) => ("exact", &exact),
        };
        if !["unroll", "blocks", "exact"].iter().any(|key| self.damage.hit(&table.span, key)) && counted != Counted::No
        {
            for choice in startup.iter().filter(|choice| !choices.contains(choice)) {
                self.report(choice.span.clone(), Reason::NotInList { got: choice.value, list }, None);
            }
        }
        if let Some(back_edge) = table.back_edge.as_ref().filter(|_| !loops) {
            let reason = Reason::Needs { key: "back_edge".to_owned(), needs: "unroll".to_owned() };
            self.report(back_edge.span.clone(), reason, None);
        }
        let wide: Vec<At<u64>> = exact.iter().map(|n| At::new(u64::from(n.value), n.span.clone())).collect();
        self.inside_count("exact", &wide, count);
        for schedule in items(&table.schedule) {
            if !self.schedules.contains(schedule.value.as_str()) && crate::plan::seed(&schedule.value).is_none() {
                let hint = Hint::nearest(&schedule, self.schedules.iter().copied());
                let reason =
                    Reason::UnknownWord { noun: Noun::Schedule, word: Shown::new(&schedule), context: String::new() };
                self.report(schedule.span.clone(), reason, hint);
            }
        }
        let requires = table
            .requires
            .as_ref()
            .map(|list| At::new(list.value.iter().map(|feature| feature.value.clone()).collect(), list.span.clone()));
        Some(Strategy {
            name: table.name.clone()?,
            unroll,
            blocks,
            exact,
            startup,
            back_edge: items(&table.back_edge),
            rows: items(&table.rows),
            overlap: items(&table.overlap),
            block: items(&table.block),
            split: items(&table.split),
            rounds: items(&table.rounds),
            round_keys: items(&table.round_keys),
            xor: items(&table.xor),
            schedule: given_or(items(&table.schedule), "generic".to_owned(), &table.span),
            requires,
            span: table.span.clone(),
        })
    }

    /// A strategy must be one of its kernel's; of any kernel's, when this kernel's name was refused.
    fn strategy_name(&mut self, name: &At<String>, kernel: Option<&At<String>>) {
        let strategies = |kernel: &str| (self.vocabulary.strategies)(kernel);
        let (valid, context): (BTreeSet<&str>, String) = match kernel {
            Some(kernel) => (strategies(kernel).into_iter().collect(), format!("of kernel {}", kernel.value)),
            None => (self.vocabulary.kernels.iter().flat_map(|kernel| strategies(kernel)).collect(), String::new()),
        };
        if !valid.contains(name.value.as_str()) {
            let hint = Hint::nearest(name, valid);
            let reason = Reason::UnknownWord { noun: Noun::Strategy, word: Shown::new(name), context };
            self.report(name.span.clone(), reason, hint);
        }
    }

    /// Names that are given twice.
    fn names<'n>(&mut self, noun: Noun, names: impl Iterator<Item = &'n At<String>>) {
        let mut first: BTreeMap<&str, usize> = BTreeMap::new();
        for name in names {
            let (line, _) = self.source.place(name.span.start);
            match first.get(name.value.as_str()) {
                Some(line) => {
                    let first = format!("line {line}");
                    self.report(name.span.clone(), Reason::Taken { noun, name: Shown::new(name), first }, None);
                }
                None => {
                    first.insert(&name.value, line);
                }
            }
        }
    }

    fn ascending(&mut self, label: &str, list: &[At<u64>]) {
        for pair in list.windows(2) {
            if let [before, after] = pair
                && before.value > after.value
            {
                let (label, before) = (label.to_owned(), before.value);
                self.report(after.span.clone(), Reason::NotAscending { label, before, after: after.value }, None);
            }
        }
    }

    fn inside_count(&mut self, label: &str, list: &[At<u64>], count: &Option<(String, u64, u64)>) {
        let Some((name, min, max)) = count else { return };
        for item in list.iter().filter(|item| !(*min..=*max).contains(&item.value)) {
            let (label, count) = (label.to_owned(), name.clone());
            let reason = Reason::OutsideCount { label, got: item.value, count, min: *min, max: *max };
            self.report(item.span.clone(), reason, None);
        }
    }
}

/// `n`, `2n`, `n + more`, `2n + 1`, `8`: each count at most once, at most two of them, no number above 65535.
fn parse_length(text: &str) -> Option<Length> {
    let mut length = Length { terms: Vec::new(), plus: 0 };
    let mut constant = false;
    for term in text.split('+').map(str::trim) {
        let digits = term.len() - term.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, name) = term.split_at(digits);
        let number = if number.is_empty() { None } else { Some(u32::from(number.parse::<u16>().ok()?)) };
        match (number, name) {
            (Some(plus), "") if !constant => {
                constant = true;
                length.plus = plus;
            }
            (times, name) if is_name(name) && times != Some(0) => {
                if length.terms.len() == 2 || length.terms.iter().any(|(other, _)| other == name) {
                    return None;
                }
                length.terms.push((name.to_owned(), times.unwrap_or(1)));
            }
            _ => return None,
        }
    }
    Some(length)
}

/// Whether an argument is a modulus with its negated inverse.
fn is_modulus(table: &ArgumentTable) -> bool {
    table.domain.as_ref().is_some_and(|domain| parse_domain(domain) == Some(Domain::MontgomeryModulus))
}

/// `normalised`, `below d`, `reciprocal of d`, `montgomery modulus`, `entry of 32`, `sliced round keys`.
fn parse_domain(text: &str) -> Option<Domain> {
    let words: Vec<&str> = text.split_whitespace().collect();
    match words.as_slice() {
        ["normalised"] => Some(Domain::Normalised),
        ["below", other] if is_name(other) => Some(Domain::Below((*other).to_owned())),
        ["reciprocal", "of", other] if is_name(other) => Some(Domain::ReciprocalOf((*other).to_owned())),
        ["montgomery", "modulus"] => Some(Domain::MontgomeryModulus),
        ["entry", "of", entries] => {
            entries.parse::<u16>().ok().filter(|entries| *entries > 0).map(|n| Domain::EntryOf(n.into()))
        }
        ["sliced", "round", "keys"] => Some(Domain::SlicedRoundKeys),
        _ => None,
    }
}

fn items<T: Clone>(list: &List<T>) -> Vec<At<T>> {
    list.as_ref().map(|list| list.value.clone()).unwrap_or_default()
}

fn given_or<T>(given: Vec<At<T>>, default: T, span: &Range<usize>) -> Vec<At<T>> {
    if given.is_empty() { vec![At::new(default, span.clone())] } else { given }
}

/// Whether a word can be a name in a symbol, in Rust and in C: what `pattern` says in the schema.
pub(crate) fn is_name(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_lowercase())
        && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

/// The words of C that are not also words of Rust; `syn` knows those.
#[rustfmt::skip]
const C_WORDS: &[&str] = &[
    "auto", "case", "char", "default", "double", "float", "goto", "inline", "int", "long", "register", "restrict",
    "short", "signed", "sizeof", "switch", "typedef", "union", "unsigned", "void", "volatile",
];
