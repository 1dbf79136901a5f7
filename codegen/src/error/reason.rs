//! Every reason for a problem, as data, and its wording. Texts are lower case and say what is wrong with which value.

use std::fmt;
use std::sync::Arc;

/// What is wrong.
#[derive(Clone, Debug)]
pub enum Reason {
    /// A file or folder cannot be read.
    CannotRead {
        /// What the system said.
        error: std::io::ErrorKind,
    },
    /// A pipe, a device, or a folder where a spec is looked for.
    NotAFile,
    /// A folder holds no spec.
    NoSpecs,
    /// A file is larger than any spec.
    TooLarge {
        /// Its size in bytes.
        bytes: u64,
        /// The largest size that is read.
        limit: u64,
    },
    /// A file whose tables may be nested deeper than the stack is.
    TooDeep {
        /// Dots in the line that has most.
        dots: usize,
    },
    /// A file is not UTF-8.
    NotUtf8 {
        /// Offset of the first bad byte in the file.
        offset: usize,
        /// That byte.
        byte: u8,
        /// How many more bad places follow.
        more: usize,
    },
    /// A file is not TOML; or, which the checks before rule out, its tree is not what the types say.
    Syntax {
        /// The parser's message.
        message: String,
    },
    /// A file's keys are those of no kind of spec.
    UnknownSort,
    /// A file lost a part without a problem of its own: a fault of Kiln.
    Incomplete,
    /// A key that its section does not have.
    UnknownKey {
        /// The key.
        key: String,
        /// The section, as in the file: `[[strategy]]`.
        section: String,
    },
    /// A compulsory key is not there.
    MissingKey {
        /// The key.
        key: String,
        /// The section.
        section: String,
    },
    /// None of several keys is there, one of which is needed.
    MissingOneOf {
        /// The keys.
        keys: Vec<String>,
        /// The section.
        section: String,
    },
    /// Two keys of which only one may be there.
    Exclusive {
        /// The first in the list of such keys.
        first: String,
        /// The one that is too many.
        second: String,
        /// The section.
        section: String,
    },
    /// A key that makes sense only beside another.
    Needs {
        /// The key.
        key: String,
        /// The other.
        needs: String,
    },
    /// A value of the wrong type.
    WrongType {
        /// What the value is called.
        label: String,
        /// What it must be.
        expected: String,
        /// What it is.
        found: Kind,
        /// The value as written.
        got: Shown,
    },
    /// A number outside its range.
    OutOfRange {
        /// What the value is called.
        label: String,
        /// The range in words.
        range: String,
        /// The value as written.
        got: Shown,
    },
    /// A string or list that holds nothing.
    Empty {
        /// What the value is called.
        label: String,
    },
    /// A text with a character that is not seen itself, but changes how what is around it is shown.
    Unseen {
        /// What the text is called.
        label: String,
        /// The character.
        character: char,
    },
    /// A list with the wrong number of items.
    WrongLength {
        /// What the list is called.
        label: String,
        /// What the items are.
        expected: String,
        /// How many there are.
        got: usize,
    },
    /// An item that a list has already.
    Duplicate {
        /// What the list is called.
        label: String,
        /// The item as written.
        item: Shown,
    },
    /// A boolean that must have the other value.
    MustBe {
        /// What the value is called.
        label: String,
        /// What it must be.
        expected: bool,
    },
    /// A word that a closed list does not have.
    UnknownWord {
        /// What the word names.
        noun: Noun,
        /// The word.
        word: Shown,
        /// Where it was looked for: `of kernel limb64.mul_add`; may be empty.
        context: String,
    },
    /// A name that cannot be a name in the generated code.
    BadName {
        /// What the name names.
        noun: Noun,
        /// The name.
        name: Shown,
    },
    /// A name that Rust or C keeps for itself.
    Reserved {
        /// What the name names.
        noun: Noun,
        /// The name.
        name: Shown,
    },
    /// A name that is taken.
    Taken {
        /// What the name names.
        noun: Noun,
        /// The name.
        name: Shown,
        /// Where it was given first: `line 3`, or file, line and column.
        first: String,
    },
    /// An argument that must be of another kind.
    WrongArgument {
        /// What refers to it.
        label: String,
        /// The argument.
        name: Shown,
        /// What it should be: `a count`.
        expected: &'static str,
    },
    /// A number of limbs that cannot be read.
    BadLength {
        /// The text.
        got: Shown,
    },
    /// A domain that cannot be read.
    BadDomain {
        /// The text.
        got: Shown,
    },
    /// A domain that bytes cannot have.
    BadDomainOfBytes {
        /// The text.
        got: Shown,
    },
    /// Two arguments that may both be equal to a third, and are not said to be equal to each other.
    NotClosed {
        /// The one.
        one: Shown,
        /// The other.
        other: Shown,
        /// The third.
        third: Shown,
    },
    /// A parameter that a strategy does not have.
    NoSuchParameter {
        /// Its key.
        key: String,
        /// The strategy.
        strategy: Shown,
        /// The kernel.
        kernel: Shown,
        /// The keys that the strategy has.
        valid: Vec<String>,
    },
    /// An argument that may be equal to itself.
    EqualToItself {
        /// The argument.
        name: Shown,
    },
    /// A count marked as secret: lengths are public in every kernel.
    SecretCount,
    /// A lower bound over its upper bound.
    MinOverMax {
        /// The lower bound.
        min: u64,
        /// The upper bound.
        max: u64,
    },
    /// A list that must ascend and does not.
    NotAscending {
        /// What the list is called.
        label: String,
        /// The item before.
        before: u64,
        /// The smaller item after it.
        after: u64,
    },
    /// A number of limbs that the count argument does not allow.
    OutsideCount {
        /// What the value is called.
        label: String,
        /// The value.
        got: u64,
        /// The count argument.
        count: String,
        /// The smallest it allows.
        min: u64,
        /// The largest it allows.
        max: u64,
    },
    /// A start-up choice that is not among those of the list that it chooses from.
    NotInList {
        /// The choice.
        got: u32,
        /// The list's key.
        list: &'static str,
    },
    /// A strategy's `requires` is not what its instructions need.
    RequiresDiffers {
        /// What the spec says.
        stated: Vec<String>,
        /// What was computed from the emitted instructions.
        computed: Vec<String>,
    },
    /// A spec that asks for more variants of its kernel than can be meant.
    TooManyVariants {
        /// How many it asks for.
        count: usize,
        /// The most that are made.
        limit: usize,
    },
    /// A variant needs more registers than there are.
    TooManyRegisters {
        /// The variant's name.
        variant: String,
        /// Registers needed at the tightest place.
        needed: usize,
        /// Registers that there are.
        available: usize,
    },
    /// Another stage's own error, in that stage's own type.
    Stage(Arc<dyn std::error::Error + Send + Sync>),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::CannotRead { error } => write!(f, "cannot be read: {error}"),
            Reason::NotAFile => f.write_str("is not a regular file"),
            Reason::NoSpecs => f.write_str("holds no specs: no .toml file in it, in kernels/ or in cpus/"),
            Reason::TooLarge { bytes, limit } => write!(f, "is too large for a spec: {bytes} bytes, at most {limit}"),
            Reason::TooDeep { dots } => {
                write!(f, "nested too deep for a spec: {dots} dots in one line, and braces around it")
            }
            Reason::NotUtf8 { offset, byte, more } => {
                write!(f, "not UTF-8: byte 0x{byte:02x} at offset {offset}")?;
                match more {
                    0 => Ok(()),
                    more => write!(f, ", and {more} more"),
                }
            }
            Reason::Syntax { message } => f.write_str(message),
            Reason::UnknownSort => f.write_str(
                "neither a kernel spec (which has `kernel`) nor a CPU file (which has `features`, `identify`, `machine`, \
                 `cost` or `prefer`)",
            ),
            Reason::Incomplete => f.write_str("could not be read whole, though nothing is wrong with it: please report"),
            Reason::UnknownKey { key, section } => write!(f, "unknown key `{key}` in {section}"),
            Reason::MissingKey { key, section } => write!(f, "missing key `{key}` in {section}"),
            Reason::MissingOneOf { keys, section } => {
                write!(f, "missing one of {} in {section}", ticked(keys.iter()))
            }
            Reason::Exclusive { first, second, section } => {
                write!(f, "both `{first}` and `{second}` in {section}: only one may be there")
            }
            Reason::Needs { key, needs } => {
                // A key is quoted; words are not.
                let ticks = if needs.contains(' ') { "" } else { "`" };
                write!(f, "`{key}` makes sense only beside {ticks}{needs}{ticks}")
            },
            Reason::WrongType { label, expected, found, got } => {
                write!(f, "{label} must be {expected}, got {found}")?;
                match found {
                    Kind::Table | Kind::List => Ok(()),
                    Kind::String | Kind::Integer | Kind::Float | Kind::Boolean | Kind::Date => write!(f, " {got}"),
                }
            }
            Reason::OutOfRange { label, range, got } => write!(f, "{label} must be {range}, got {got}"),
            Reason::Empty { label } => write!(f, "{label} must not be empty"),
            Reason::Unseen { label, character } => {
                let code = u32::from(*character);
                write!(f, "{label} must be one line of characters that can be seen, got U+{code:04X}")
            }
            Reason::WrongLength { label, expected, got } => {
                let plural = if *got == 1 { "" } else { "s" };
                write!(f, "{label} must be [{expected}], got {got} item{plural}")
            }
            Reason::Duplicate { label, item } => write!(f, "{label} has {item} twice"),
            Reason::MustBe { label, expected } => write!(f, "{label} must be {expected} or absent"),
            Reason::UnknownWord { noun, word, context } => {
                write!(f, "unknown {noun} `{word}`")?;
                if context.is_empty() { Ok(()) } else { write!(f, " {context}") }
            }
            Reason::BadName { noun, name } => {
                write!(f, "`{name}` cannot name {}: a to z first, then a to z, 0 to 9 and _", noun.with_article())
            }
            Reason::Reserved { noun, name } => {
                write!(f, "`{name}` cannot name {}: the word has a meaning of its own", noun.with_article())
            }
            Reason::Taken { noun, name, first } => write!(f, "{noun} `{name}` is already defined at {first}"),
            Reason::WrongArgument { label, name, expected } => {
                write!(f, "{label} names `{name}`, which is not {expected}")
            }
            Reason::BadLength { got } => {
                write!(f, "limbs must be a count or a sum such as `2n`, `n + more` or `8`, got `{got}`")
            }
            Reason::BadDomain { got } => {
                write!(
                    f,
                    "domain must be `normalised`, `entry of 32`, `below d` or `reciprocal of d` with a limb `d`, `montgomery modulus` or `below m` \
                     with such an `m`, got `{got}`"
                )
            }
            Reason::BadDomainOfBytes { got } => {
                write!(f, "domain of bytes must be `sliced round keys` or absent, got `{got}`")
            }
            Reason::NotClosed { one, other, third } => write!(
                f,
                "`{one}` and `{other}` may both be equal to `{third}`, so one of them must name the other in may_equal"
            ),
            Reason::NoSuchParameter { key, strategy, kernel, valid } => {
                write!(f, "`{key}` is no parameter of strategy `{strategy}` of {kernel}, which has {}", listed(valid))
            }
            Reason::EqualToItself { name } => write!(f, "may_equal of `{name}` names `{name}` itself"),
            Reason::SecretCount => f.write_str("a count is public: secret must be false or absent"),
            Reason::MinOverMax { min, max } => write!(f, "count.max must be at least count.min: {max} is under {min}"),
            Reason::NotAscending { label, before, after } => {
                write!(f, "{label} must ascend: {after} comes after {before}")
            }
            Reason::OutsideCount { label, got, count, min, max } => {
                write!(f, "{label} must be between {min} and {max}, as `{count}` is, got {got}")
            }
            Reason::NotInList { got, list } => write!(f, "startup has {got}, which is not in {list}"),
            Reason::RequiresDiffers { stated, computed } => write!(
                f,
                "requires says {}, but the emitted instructions need {}",
                listed(stated),
                listed(computed)
            ),
            Reason::TooManyVariants { count, limit } => {
                write!(f, "the strategies ask for {count} variants, at most {limit}: shorten the lists")
            }
            Reason::TooManyRegisters { variant, needed, available } => {
                write!(f, "{variant} needs {needed} registers, and there are {available}")
            }
            Reason::Stage(error) => write!(f, "{error}"),
        }
    }
}

fn listed(words: &[String]) -> String {
    if words.is_empty() { "nothing".to_owned() } else { words.join(", ") }
}

fn ticked<'a>(words: impl Iterator<Item = &'a String>) -> String {
    words.map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

/// What a word of a spec names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noun {
    /// A kernel.
    Kernel,
    /// A strategy of a kernel.
    Strategy,
    /// An argument of a kernel.
    Argument,
    /// A CPU feature.
    Feature,
    /// A key of `[cost]`: an instruction or a class of them.
    CostKey,
    /// A schedule: `generic`, `source` or a CPU.
    Schedule,
    /// A CPU.
    Cpu,
    /// A CPU's vendor, family and model.
    Identity,
    /// A word of a short list that belongs to one key alone.
    Word,
}

impl Noun {
    fn with_article(self) -> String {
        match self {
            Noun::Argument | Noun::Identity => format!("an {self}"),
            Noun::Kernel | Noun::Strategy | Noun::Feature | Noun::CostKey | Noun::Schedule | Noun::Cpu | Noun::Word => {
                format!("a {self}")
            }
        }
    }
}

impl fmt::Display for Noun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Noun::Kernel => "kernel",
            Noun::Strategy => "strategy",
            Noun::Argument => "argument",
            Noun::Feature => "feature",
            Noun::CostKey => "cost key",
            Noun::Schedule => "schedule",
            Noun::Cpu => "CPU",
            Noun::Identity => "identity",
            Noun::Word => "word",
        })
    }
}

/// The kinds of value that TOML has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A string.
    String,
    /// An integer.
    Integer,
    /// A float.
    Float,
    /// `true` or `false`.
    Boolean,
    /// A date, a time or both.
    Date,
    /// An array.
    List,
    /// A table.
    Table,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::String => "the string",
            Kind::Integer => "the integer",
            Kind::Float => "the float",
            Kind::Boolean => "the boolean",
            Kind::Date => "the date",
            Kind::List => "a list",
            Kind::Table => "a table",
        })
    }
}

/// Whether a character is not seen itself, but changes how a terminal shows what is around it: a control character, or one
/// that turns the direction of the text.
pub fn is_unseen(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The text with every unseen character spelt out, as `\u{1b}`.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if is_unseen(character) {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    shown
}

/// A piece of a user's text that is fit for a message: one line, no control characters, at most 60 characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown(String);

impl Shown {
    const LONGEST: usize = 60;

    /// Makes a text fit to be shown.
    pub fn new(text: &str) -> Shown {
        let mut shown = String::new();
        for (at, character) in text.chars().enumerate() {
            if at == Shown::LONGEST {
                shown.push('…');
                break;
            }
            if is_unseen(character) {
                shown.extend(character.escape_default());
            } else {
                shown.push(character);
            }
        }
        Shown(shown)
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
