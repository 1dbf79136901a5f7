//! The `KILN_*` variables: strings in, [`Settings`] and every malformed value out. [`Settings::from_environment`] is the
//! only place that reads the environment; everything else is a pure function of strings.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use kiln_codegen::isa::feature::{Feature, FeatureSet, UnknownFeature};

use crate::sys;

/// How kernels are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TuneMode {
    /// No choice at all: the portable functions.
    Off,
    /// What the CPU file prefers, without measuring.
    Static,
    /// Measured.
    #[default]
    Race,
}

/// A pattern over variant names: `*` is any run of characters, `?` any one character, the rest itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob(String);

impl Glob {
    /// A pattern. Every string is one.
    pub fn new(pattern: impl Into<String>) -> Glob {
        Glob(pattern.into())
    }

    /// Whether the whole name matches. Linear in practice, quadratic at worst.
    pub fn matches(&self, name: &str) -> bool {
        let (pattern, name) = (self.0.as_bytes(), name.as_bytes());
        let (mut p, mut n) = (0, 0);
        // Where to go on after a mismatch: the latest star takes one character more.
        let mut retry: Option<(usize, usize)> = None;
        while n < name.len() {
            match pattern.get(p) {
                Some(b'*') => {
                    retry = Some((p, n));
                    p += 1;
                }
                Some(&c) if c == b'?' || c == name[n] => {
                    p += 1;
                    n += 1;
                }
                _ => match retry {
                    Some((star, taken)) => {
                        retry = Some((star, taken + 1));
                        p = star + 1;
                        n = taken + 1;
                    }
                    None => return false,
                },
            }
        }
        pattern[p..].iter().all(|&c| c == b'*')
    }
}

impl fmt::Display for Glob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// What is wrong with a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The value is not UTF-8.
    NotText,
    /// The value is longer than any sensible one.
    TooLong,
    /// An empty item between commas, or an empty value.
    EmptyItem,
    /// A feature without the minus sign: an override can only remove.
    NotARemoval(String),
    /// No such feature.
    Feature(UnknownFeature),
    /// An item of `KILN_FORCE` that is not `KERNEL=VARIANT`.
    NotAnAssignment(String),
    /// A kernel that is forced twice.
    Twice(String),
    /// A word that is none of the allowed ones.
    NotOneOf(String, &'static [&'static str]),
    /// Not a number of milliseconds between 0 and 3,600,000.
    NotMilliseconds(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::NotText => f.write_str("the value is not UTF-8"),
            Fault::TooLong => write!(f, "the value is longer than {MAX_LENGTH} bytes"),
            Fault::EmptyItem => f.write_str("an item is empty; unset the variable to have no items"),
            Fault::NotARemoval(item) => {
                write!(f, "{item:?} does not start with '-'; features can only be removed, as in \"-adx,-avx2\"")
            }
            Fault::Feature(unknown) => unknown.fmt(f),
            Fault::NotAnAssignment(item) => {
                write!(f, "{item:?} is not KERNEL=VARIANT, as in \"limb64.mul_add=mulx_adx.u4\"")
            }
            Fault::Twice(kernel) => write!(f, "{kernel:?} is forced twice"),
            Fault::NotOneOf(word, allowed) => write!(f, "{word:?} is not one of {}", allowed.join(", ")),
            Fault::NotMilliseconds(word) => {
                write!(f, "{word:?} is not a whole number of milliseconds between 0 and {MAX_BUDGET_MS}")
            }
        }
    }
}

/// A variable whose value could not be used. The library goes on without it; the command line stops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// The variable.
    pub variable: &'static str,
    /// What is wrong with its value.
    pub fault: Fault,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.variable, self.fault)
    }
}

impl std::error::Error for Malformed {}

const MAX_LENGTH: usize = 4096;
const MAX_BUDGET_MS: u64 = 3_600_000;

/// The items of a list separated by commas, without surrounding blanks.
fn items(value: &str) -> Result<Vec<&str>, Fault> {
    value.split(',').map(str::trim).map(|item| if item.is_empty() { Err(Fault::EmptyItem) } else { Ok(item) }).collect()
}

fn one_of<T: Copy>(value: &str, words: &'static [&'static str], values: &[T]) -> Result<T, Fault> {
    let found = words.iter().position(|word| *word == value.trim()).and_then(|i| values.get(i));
    found.copied().ok_or_else(|| Fault::NotOneOf(value.to_owned(), words))
}

/// `KILN_FEATURES`: features to take away, each with its minus sign.
///
/// # Errors
/// The first item that is malformed.
///
/// ```
/// let removed = kiln_runtime::settings::parse_features("-adx,-avx2").unwrap();
/// assert_eq!(removed.to_string(), "avx2,adx");
/// assert!(kiln_runtime::settings::parse_features("adx").is_err());
/// ```
pub fn parse_features(value: &str) -> Result<FeatureSet, Fault> {
    let mut removed = FeatureSet::EMPTY;
    for item in items(value)? {
        let name = item.strip_prefix('-').ok_or_else(|| Fault::NotARemoval(item.to_owned()))?;
        removed.insert(match Feature::from_name(name) {
            Some(feature) => feature,
            None => return FeatureSet::from_names([name]).map_err(Fault::Feature),
        });
    }
    Ok(removed)
}

/// `KILN_FORCE`: kernel to variant. The variant may be written with or without `KERNEL/`; it is kept without.
///
/// # Errors
/// The first item that is malformed.
pub fn parse_force(value: &str) -> Result<BTreeMap<String, String>, Fault> {
    let mut forced = BTreeMap::new();
    for item in items(value)? {
        let not_an_assignment = || Fault::NotAnAssignment(item.to_owned());
        let (kernel, variant) = item.split_once('=').ok_or_else(not_an_assignment)?;
        let (kernel, variant) = (kernel.trim(), variant.trim());
        let variant = match variant.split_once('/') {
            Some((prefix, rest)) if prefix == kernel => rest,
            Some(_) => return Err(not_an_assignment()),
            None => variant,
        };
        if kernel.is_empty() || variant.is_empty() || variant.contains(['=', '/']) {
            return Err(not_an_assignment());
        }
        if forced.insert(kernel.to_owned(), variant.to_owned()).is_some() {
            return Err(Fault::Twice(kernel.to_owned()));
        }
    }
    Ok(forced)
}

/// `KILN_DENY`: patterns of variant names that are never used.
///
/// # Errors
/// An empty item.
pub fn parse_deny(value: &str) -> Result<Vec<Glob>, Fault> {
    Ok(items(value)?.into_iter().map(Glob::new).collect())
}

/// `KILN_TUNE`: `off`, `static` or `race`.
///
/// # Errors
/// Any other word.
pub fn parse_tune(value: &str) -> Result<TuneMode, Fault> {
    one_of(value, &["off", "static", "race"], &[TuneMode::Off, TuneMode::Static, TuneMode::Race])
}

/// `KILN_MACHINE_CODE`: `on` or `off`.
///
/// # Errors
/// Any other word.
pub fn parse_machine_code(value: &str) -> Result<bool, Fault> {
    one_of(value, &["on", "off"], &[true, false])
}

/// `KILN_BUDGET_MS`: whole milliseconds of CPU that tuning may take in the process.
///
/// # Errors
/// Anything but digits, or too many of them.
pub fn parse_budget(value: &str) -> Result<Duration, Fault> {
    let digits = value.trim();
    // `parse` alone would take "+5".
    let number = if digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse().ok() } else { None };
    match number {
        Some(milliseconds @ 0..=MAX_BUDGET_MS) => Ok(Duration::from_millis(milliseconds)),
        _ => Err(Fault::NotMilliseconds(value.to_owned())),
    }
}

/// Every override, with its default where the variable is absent or malformed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Kernel to variant (without `KERNEL/`).
    pub force: BTreeMap<String, String>,
    /// Variants that are never used.
    pub deny: Vec<Glob>,
    /// Features to take away.
    pub removed_features: FeatureSet,
    /// Whether code may be generated at run time.
    pub machine_code: bool,
    /// How kernels are chosen.
    pub tune: TuneMode,
    /// CPU time for all start-up races of the process; `None` for the default.
    pub budget: Option<Duration>,
    /// Where decisions are remembered.
    pub profile: Option<PathBuf>,
    /// Folder of specs to generate from at run time.
    pub specs: Option<PathBuf>,
    /// Values that could not be used.
    pub malformed: Vec<Malformed>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            force: BTreeMap::new(),
            deny: Vec::new(),
            removed_features: FeatureSet::EMPTY,
            machine_code: true,
            tune: TuneMode::Race,
            budget: None,
            profile: None,
            specs: None,
            malformed: Vec::new(),
        }
    }
}

impl Settings {
    /// Settings from variables. `lookup` gives a variable's value, `None` if unset; `secure` says that the program has
    /// more privilege than its caller, so that every variable is ignored.
    pub fn from_variables(secure: bool, lookup: &dyn Fn(&'static str) -> Option<std::ffi::OsString>) -> Settings {
        let mut settings = Settings::default();
        if secure {
            return settings;
        }
        let mut malformed = Vec::new();
        fn read<T>(
            malformed: &mut Vec<Malformed>,
            lookup: &dyn Fn(&'static str) -> Option<std::ffi::OsString>,
            variable: &'static str,
            parse: impl Fn(&str) -> Result<T, Fault>,
        ) -> Option<T> {
            let value = lookup(variable)?;
            let parsed = match value.to_str() {
                None => Err(Fault::NotText),
                Some(text) if text.len() > MAX_LENGTH => Err(Fault::TooLong),
                Some(text) => parse(text),
            };
            parsed.map_err(|fault| malformed.push(Malformed { variable, fault })).ok()
        }
        settings.force = read(&mut malformed, lookup, "KILN_FORCE", parse_force).unwrap_or_default();
        settings.deny = read(&mut malformed, lookup, "KILN_DENY", parse_deny).unwrap_or_default();
        settings.removed_features = read(&mut malformed, lookup, "KILN_FEATURES", parse_features).unwrap_or_default();
        settings.machine_code = read(&mut malformed, lookup, "KILN_MACHINE_CODE", parse_machine_code).unwrap_or(true);
        settings.tune = read(&mut malformed, lookup, "KILN_TUNE", parse_tune).unwrap_or_default();
        settings.budget = read(&mut malformed, lookup, "KILN_BUDGET_MS", parse_budget);
        let path = |variable| lookup(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
        settings.profile = path("KILN_PROFILE");
        settings.specs = path("KILN_SPECS");
        settings.malformed = malformed;
        settings
    }

    /// Settings from the process's environment, as it is now.
    pub fn from_environment() -> Settings {
        Settings::from_variables(sys::at_secure(), &|variable| std::env::var_os(variable))
    }

    /// The settings of the process: read once, at the first call.
    pub fn global() -> &'static Settings {
        static GLOBAL: OnceLock<Settings> = OnceLock::new();
        GLOBAL.get_or_init(Settings::from_environment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsString;

    #[test]
    fn features_only_go() {
        assert_eq!(parse_features("-adx, -avx2").unwrap().names(), ["avx2", "adx"]);
        for bad in ["", "0", "~bit", "adx", "+adx", "-", "--adx", "-adx,", ",", "-adx -avx2", "-ADX", "-abx"] {
            assert!(parse_features(bad).is_err(), "{bad:?}");
        }
        let message = parse_features("-abx").unwrap_err().to_string();
        assert_eq!(message, "unknown CPU feature \"abx\", did you mean \"adx\"?");
    }

    #[test]
    fn force_names_a_kernel_and_a_variant() {
        let forced = parse_force("limb64.mul_add=mulx_adx.u4, aes128.ctr = aes128.ctr/aesni.b8").unwrap();
        assert_eq!(forced["limb64.mul_add"], "mulx_adx.u4");
        assert_eq!(forced["aes128.ctr"], "aesni.b8");
        for bad in ["", "a", "=", "a=", "=b", "a=b,a=c", "a=b=c", "a=c/b", "a=a/", "a=b,", "a=a/b/c"] {
            assert!(parse_force(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn globs() {
        let matches = |pattern: &str, name: &str| Glob::new(pattern).matches(name);
        assert!(matches("*/vaes256.*", "aes128.ctr/vaes256.b8"));
        assert!(!matches("*/vaes256.*", "aes128.ctr/vaes.b8"));
        assert!(matches("*", ""));
        assert!(matches("**", "a"));
        assert!(!matches("", "a"));
        assert!(matches("a?c*c", "abcabc"));
        assert!(!matches("a?c", "ac"));
        assert!(!matches("limb64.mul_add", "limb64.mul_add/portable"));
        assert!(!matches(&"*a".repeat(200), &"b".repeat(4096)));
    }

    #[test]
    fn words_and_numbers() {
        assert_eq!(parse_tune("static"), Ok(TuneMode::Static));
        assert_eq!(parse_tune("fast").unwrap_err().to_string(), "\"fast\" is not one of off, static, race");
        assert_eq!(parse_machine_code("off"), Ok(false));
        assert!(parse_machine_code("0").is_err());
        assert_eq!(parse_budget("20"), Ok(Duration::from_millis(20)));
        for bad in ["", "-1", "+1", "1.5", "20ms", "3600001", "99999999999999999999999"] {
            assert!(parse_budget(bad).is_err(), "{bad:?}");
        }
    }

    fn variables(list: &'static [(&'static str, &'static str)]) -> impl Fn(&'static str) -> Option<OsString> {
        move |name| list.iter().find(|(variable, _)| *variable == name).map(|(_, value)| OsString::from(value))
    }

    #[test]
    fn a_malformed_variable_is_ignored_and_recorded() {
        let lookup = variables(&[("KILN_FEATURES", "adx"), ("KILN_TUNE", "static"), ("KILN_BUDGET_MS", "soon")]);
        let settings = Settings::from_variables(false, &lookup);
        assert!(settings.removed_features.is_empty());
        assert_eq!(settings.tune, TuneMode::Static);
        assert_eq!(settings.budget, None);
        let named: Vec<_> = settings.malformed.iter().map(|malformed| malformed.variable).collect();
        assert_eq!(named, ["KILN_FEATURES", "KILN_BUDGET_MS"]);
    }

    #[test]
    fn nothing_is_read_under_privilege() {
        let lookup = |_: &'static str| -> Option<OsString> { panic!("read under AT_SECURE") };
        assert_eq!(Settings::from_variables(true, &lookup), Settings::default());
    }

    #[test]
    fn an_overlong_value_is_refused() {
        let lookup = |name: &'static str| (name == "KILN_DENY").then(|| OsString::from("a".repeat(5000)));
        let settings = Settings::from_variables(false, &lookup);
        assert_eq!(settings.malformed, [Malformed { variable: "KILN_DENY", fault: Fault::TooLong }]);
    }

    #[test]
    #[cfg(unix)]
    fn a_value_that_is_not_text_is_refused() {
        use std::os::unix::ffi::OsStringExt;
        let lookup = |name: &'static str| (name == "KILN_FORCE").then(|| OsString::from_vec(vec![0xff]));
        assert_eq!(Settings::from_variables(false, &lookup).malformed[0].fault, Fault::NotText);
    }
}
