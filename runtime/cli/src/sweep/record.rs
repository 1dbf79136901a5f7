//! The lines of a sweep's file (schema `kiln.sweep/1`): a header for each run, a point for each variant and length. Plain data
//! with serde in both directions. Unknown keys are ignored, so that later versions may add some.
//!
//! A point belongs to the header with the same `run`, wherever in the file that stands: shards may be concatenated and sorted.

use std::collections::BTreeMap;
use std::fmt;

use clap::ValueEnum;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The schema of these records.
pub const SCHEMA: &str = "kiln.sweep/1";

/// The fraction of a point's windows below its statistic, unless the header says otherwise: the lower quartile, as in races.
pub const QUANTILE: f64 = 0.25;

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Record {
    /// The first line of a run.
    Header(Box<Header>),
    /// What became of one point of the space.
    Point(Box<Point>),
}

impl From<Header> for Record {
    fn from(header: Header) -> Record {
        Record::Header(Box::new(header))
    }
}

impl From<Point> for Record {
    fn from(point: Point) -> Record {
        Record::Point(Box::new(point))
    }
}

impl Record {
    /// The JSON object, without the end of the line.
    pub fn line(&self) -> String {
        serde_json::to_string(self).expect("records have text for keys and no other way to fail")
    }
}

/// A word that is always the same.
macro_rules! constant {
    ($(#[$doc:meta])* $name:ident = $word:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name;

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str($word)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<$name, D::Error> {
                struct Word;
                impl Visitor<'_> for Word {
                    type Value = $name;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        write!(f, "{:?}", $word)
                    }

                    fn visit_str<E: Error>(self, text: &str) -> Result<$name, E> {
                        if text == $word { Ok($name) } else { Err(E::invalid_value(serde::de::Unexpected::Str(text), &self)) }
                    }
                }
                deserializer.deserialize_str(Word)
            }
        }
    };
}

constant!(
    /// `"kiln.sweep/1"`.
    Schema = SCHEMA
);
constant!(
    /// `"header"`.
    HeaderKind = "header"
);
constant!(
    /// `"point"`.
    PointKind = "point"
);

/// What a run began with. A run that goes on in an older file writes another header, with its own `run`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Which schema this is.
    pub schema: Schema,
    /// That this is a header.
    pub kind: HeaderKind,
    /// Identity of the run: 16 hex digits.
    pub run: String,
    /// Version of Kiln.
    #[serde(default)]
    pub kiln: String,
    /// The machine.
    pub cpu: Cpu,
    /// The clock.
    pub timer: Timer,
    /// Load averages over 1, 5 and 15 minutes at the start, if the system tells.
    #[serde(default)]
    pub load: Option<[f64; 3]>,
    /// Hash of the specs.
    #[serde(default)]
    pub spec_hash: String,
    /// Hash of the generator and the compiled kernels.
    #[serde(default)]
    pub code_hash: String,
    /// Seed of every random choice.
    #[serde(default)]
    pub seed: u64,
    /// How calls follow each other.
    #[serde(default)]
    pub mode: Mode,
    /// Width that an interval should have at most, as a fraction of the statistic.
    #[serde(default)]
    pub precision: Option<f64>,
    /// Which shard, such as `1/4`; `None` for the whole.
    #[serde(default)]
    pub shard: Option<String>,
    /// How the space was searched.
    #[serde(default)]
    pub strategy: Search,
    /// Fraction of the windows below the statistic.
    #[serde(default = "quantile")]
    pub quantile: f64,
    /// When the run began: RFC 3339.
    #[serde(default)]
    pub started: String,
    /// The words of the command line.
    #[serde(default)]
    pub command: Vec<String>,
}

fn quantile() -> f64 {
    QUANTILE
}

/// Who a machine is. Two headers that agree in all of this are of one machine as far as reports are concerned.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
pub struct Cpu {
    /// Marketing name.
    pub name: String,
    /// CPUID's vendor string.
    pub vendor: String,
    /// Family, extended family included.
    pub family: u32,
    /// Model, extended model included.
    pub model: u32,
    /// Stepping.
    pub stepping: u32,
    /// Features that were in force.
    pub features: Vec<String>,
    /// Logical cores.
    pub cores: u32,
}

/// The clock of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Timer {
    /// Which clock.
    pub name: String,
    /// Its units in a microsecond.
    pub ticks_per_microsecond: f64,
    /// The smallest difference that two readings show.
    pub step: u64,
}

/// How calls follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Independent calls, back to back.
    #[default]
    Throughput,
    /// Each call needs the result of the one before.
    Latency,
    /// The code is not in the instruction cache.
    Cold,
}

impl Mode {
    /// The word in files and on the command line.
    pub const fn word(self) -> &'static str {
        match self {
            Mode::Throughput => "throughput",
            Mode::Latency => "latency",
            Mode::Cold => "cold",
        }
    }
}

/// How a space is searched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Search {
    /// Every point.
    #[default]
    Exhaustive,
    /// A random sample.
    Random,
    /// Many with few windows, then fewer with more.
    Halving,
    /// From neighbour to better neighbour.
    Local,
}

impl Search {
    /// The word in files and on the command line.
    pub const fn word(self) -> &'static str {
        match self {
            Search::Exhaustive => "exhaustive",
            Search::Random => "random",
            Search::Halving => "halving",
            Search::Local => "local",
        }
    }
}

/// What became of a point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Its interval is as narrow as was asked.
    #[default]
    Measured,
    /// It has a time, with a wider interval than was asked.
    Imprecise,
    /// This CPU cannot run it.
    Ineligible,
    /// The generator refuses it.
    Refused,
    /// It was made and is wrong.
    Failed,
}

impl State {
    /// The word in files.
    pub const fn word(self) -> &'static str {
        match self {
            State::Measured => "measured",
            State::Imprecise => "imprecise",
            State::Ineligible => "ineligible",
            State::Refused => "refused",
            State::Failed => "failed",
        }
    }

    /// Whether a point in this state has a time.
    pub const fn is_timed(self) -> bool {
        matches!(self, State::Measured | State::Imprecise)
    }
}

/// One variant at one length, and its time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// That this is a point. First, so that a reader knows it at once.
    pub kind: PointKind,
    /// The run that it belongs to.
    pub run: String,
    /// Its identity in every run and on every machine: see [`point_id`].
    pub id: String,
    /// The kernel.
    pub kernel: String,
    /// The variant, without the kernel.
    pub variant: String,
    /// The strategy of the variant.
    pub strategy: String,
    /// Its parameters.
    #[serde(default)]
    pub set: BTreeMap<String, Value>,
    /// The length.
    pub n: u64,
    /// Of what `ticks` are: `limb`.
    #[serde(default = "unit")]
    pub unit: String,
    /// Units in one call. With it, times follow from windows; without, they are scaled to agree with `ticks`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub units: Option<u64>,
    /// How calls follow each other.
    #[serde(default)]
    pub mode: Mode,
    /// What became of it.
    pub state: State,
    /// Why it has no time, or why it is imprecise.
    #[serde(default)]
    pub why: Option<String>,
    /// What is known without running it.
    #[serde(default, rename = "static")]
    pub known: Static,
    /// The statistic: clock units for one unit of work.
    #[serde(default)]
    pub ticks: Option<f64>,
    /// Lower end of its confidence interval.
    #[serde(default)]
    pub low: Option<f64>,
    /// Upper end of its confidence interval.
    #[serde(default)]
    pub high: Option<f64>,
    /// Level of the interval.
    #[serde(default = "level")]
    pub level: f64,
    /// The least that hardware allows, in the same unit as `ticks`, if it is known.
    #[serde(default)]
    pub limit: Option<f64>,
    /// Calls in a window.
    #[serde(default)]
    pub calls: u64,
    /// Clock units of each window, in the order of the rounds.
    #[serde(default)]
    pub windows: Vec<u64>,
    /// How many of the windows were measured while someone else used the core.
    #[serde(default)]
    pub busy: u64,
    /// Clock units in a cycle of the core while it was measured, if that is known.
    #[serde(default)]
    pub cycle: Option<f64>,
    /// Seconds since the run began.
    #[serde(default)]
    pub at: f64,
}

fn unit() -> String {
    "unit".to_owned()
}

fn level() -> f64 {
    0.95
}

/// What is known of a point without running it; the last three in clock units for one unit of work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Static {
    /// Instructions in the code.
    pub instructions: Option<u64>,
    /// Bytes of the code.
    pub bytes: Option<u64>,
    /// Values that are kept on the stack.
    pub spills: Option<u64>,
    /// Along the longest chain of dependencies.
    pub critical_path: Option<f64>,
    /// Along the busiest port.
    pub bound: Option<f64>,
    /// What the model of the CPU expects.
    pub predicted: Option<f64>,
}

/// A value of a parameter.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Value {
    /// A number.
    Integer(i64),
    /// A word.
    Text(String),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Integer(number) => number.fmt(f),
            Value::Text(text) => f.write_str(text),
        }
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Value {
        Value::Integer(number)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.to_owned())
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Integer(number) => serializer.serialize_i64(*number),
            Value::Text(text) => serializer.serialize_str(text),
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
        struct Either;
        impl Visitor<'_> for Either {
            type Value = Value;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number or text")
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Value, E> {
                Ok(Value::Integer(number))
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Value, E> {
                i64::try_from(number).map(Value::Integer).map_err(|_| E::custom("a number that large"))
            }

            fn visit_bool<E: Error>(self, truth: bool) -> Result<Value, E> {
                Ok(Value::Integer(i64::from(truth)))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
                Ok(Value::from(text))
            }
        }
        deserializer.deserialize_any(Either)
    }
}

/// The identity of a point: 16 hex digits that depend on nothing else, so that shards agree on who measures what.
///
/// FNV-1a over the parts with a byte 0 between them, then the finaliser of SplitMix64, since FNV's upper bits are weak for
/// short text.
pub fn point_id(kernel: &str, variant: &str, n: u64, mode: Mode) -> String {
    let text = format!("{kernel}\0{variant}\0{n}\0{}", mode.word());
    let fnv = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, fnv);
    format!("{:016x}", kiln_runtime::random::Random::new(hash).word())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = r#"{"schema":"kiln.sweep/1","kind":"header","run":"00000000000000aa","cpu":{},"timer":{}}"#;
    const POINT: &str = r#"{"kind":"point","run":"00000000000000aa","id":"1","kernel":"k.m","variant":"s.u7","strategy":"s","n":64,"state":"measured"}"#;

    #[test]
    fn what_is_written_is_read() {
        let mut header: Header = serde_json::from_str(HEADER).unwrap();
        header.load = Some([0.5, 0.25, 0.1]);
        header.cpu.features = vec!["adx".into()];
        header.mode = Mode::Cold;
        let line = Record::from(header.clone()).line();
        assert!(
            line.starts_with(r#"{"schema":"kiln.sweep/1","kind":"header","run":""#) && !line.contains('\n'),
            "{line}"
        );
        assert_eq!(serde_json::from_str::<Header>(&line).unwrap(), header);
        let mut point: Point = serde_json::from_str(POINT).unwrap();
        point.set = [("unroll".to_owned(), Value::from(7)), ("schedule".to_owned(), "seed3\u{7f}\n".into())].into();
        point.known.bound = Some(1.0 / 3.0);
        point.ticks = Some(0.1 + 0.2);
        point.windows = vec![0, u64::MAX];
        let line = Record::from(point.clone()).line();
        assert!(line.starts_with(r#"{"kind":"point","run":""#) && !line.contains('\n'), "{line}");
        assert!(
            line.contains(r#""set":{"schedule":"seed3"#) && line.contains(r#""static":{"instructions":null"#),
            "{line}"
        );
        assert_eq!(serde_json::from_str::<Point>(&line).unwrap(), point);
    }

    #[test]
    fn what_is_missing_has_its_default_and_what_is_unknown_is_ignored() {
        let header: Header = serde_json::from_str(&HEADER.replace("\"cpu\"", "\"new\":[{}],\"cpu\"")).unwrap();
        assert_eq!((header.mode, header.strategy, header.quantile), (Mode::Throughput, Search::Exhaustive, 0.25));
        let point: Point = serde_json::from_str(&POINT.replace("\"n\"", "\"new\":{\"a\":null},\"n\"")).unwrap();
        assert_eq!((point.ticks, point.level, point.windows.len(), point.why), (None, 0.95, 0, None));
        assert_eq!((point.known, point.unit.as_str()), (Static::default(), "unit"));
    }

    #[test]
    fn what_is_needed_is_asked_for() {
        for part in ["\"run\":\"00000000000000aa\",", "\"n\":64,", "\"kernel\":\"k.m\","] {
            let why = serde_json::from_str::<Point>(&POINT.replace(part, "")).unwrap_err().to_string();
            assert!(why.contains("missing field"), "{why}");
        }
        let other = HEADER.replace("sweep/1", "sweep/2");
        let why = serde_json::from_str::<Header>(&other).unwrap_err().to_string();
        assert!(why.contains("\"kiln.sweep/2\", expected \"kiln.sweep/1\""), "{why}");
        for value in ["1.5", "null", "[1]", "99999999999999999999"] {
            let line = POINT.replace("\"n\":64", &format!("\"set\":{{\"unroll\":{value}}},\"n\":64"));
            assert!(serde_json::from_str::<Point>(&line).is_err(), "{line}");
        }
    }

    #[test]
    fn an_identity_is_stable_and_depends_on_every_part() {
        let id = point_id("limb64.mul_add", "mul.u4", 64, Mode::Throughput);
        assert_eq!(id, "712812b74784b3bd", "a changed identity breaks --resume and --shard of every stored file");
        let others = [
            point_id("limb64.mul_add", "mul.u4", 64, Mode::Latency),
            point_id("limb64.mul_add", "mul.u4", 65, Mode::Throughput),
            point_id("limb64.mul_add", "mul.u5", 64, Mode::Throughput),
            point_id("limb64.mul_ad", "dmul.u4", 64, Mode::Throughput),
        ];
        assert!(others.iter().all(|other| *other != id && other.len() == 16), "{others:?}");
    }
}
