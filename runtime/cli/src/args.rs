//! The command line: words in, [`Args`] out. Does nothing.

use std::num::IntErrorKind;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

use crate::sweep::record::{Mode, Search};
use crate::sweep::set::Set;

/// What was asked for.
#[derive(Debug, Parser)]
#[command(
    name = "kiln",
    version,
    about = "Fires short TOML specs into fast, checked, CPU-specific kernels, and calls the fastest of them.",
    after_help = "Exit status: 0 done, 1 a check failed, 2 wrong usage or a bad spec.\n\
                  Overrides: KILN_FORCE, KILN_DENY, KILN_FEATURES, KILN_MACHINE_CODE, KILN_TUNE, KILN_BUDGET_MS, KILN_SPECS.",
    max_term_width = 100
)]
pub struct Args {
    /// Print one JSON document instead of text
    #[arg(long, global = true)]
    pub json: bool,
    /// Folder of specs that are added to the shipped ones, or replace them [env: KILN_SPECS]
    #[arg(long, global = true, value_name = "DIR")]
    pub specs: Option<PathBuf>,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Find the fastest variant of each kernel on this machine
    ///
    /// Every variant that can run here is verified in a child process and raced against the others, for each size class.
    Tune {
        /// Kernels, `*` and `?` allowed; all if none is named
        #[arg(value_name = "KERNEL")]
        kernels: Vec<String>,
        /// CPU time for all races together, in milliseconds; as much as it takes if not given
        #[arg(long, value_name = "MS", value_parser = whole(1..=3_600_000), allow_negative_numbers = true)]
        budget: Option<u64>,
    },
    /// List kernels and variants, and which of them can run here
    List {
        /// Kernels, `*` and `?` allowed; all if none is named
        #[arg(value_name = "KERNEL")]
        kernels: Vec<String>,
    },
    /// Show one variant: also one that this CPU cannot run, and any other point of a known strategy
    Show {
        /// The variant, such as limb64.mul_add/mulx_adx.u8
        #[arg(value_name = "VARIANT")]
        variant: String,
        /// In which form [default: asm; rust for a portable variant]
        #[arg(long = "as", value_name = "FORM")]
        form: Option<Form>,
    },
    /// Check variants against the reference: natively in a child process, and in the interpreter
    Verify {
        /// Kernels, `*` and `?` allowed; all if none is named
        #[arg(value_name = "KERNEL")]
        kernels: Vec<String>,
        /// Random cases for each length and way of sharing memory, besides the fixed ones
        #[arg(long, value_name = "N", default_value_t = 8, value_parser = cases, allow_negative_numbers = true)]
        cases: u32,
        /// Seed that all operands follow from, decimal or 0x…; another one each time if not given
        #[arg(long, value_name = "S", value_parser = seed, allow_negative_numbers = true)]
        seed: Option<u64>,
    },
    /// Explain which variant is in force for each kernel and size class, and why
    Explain {
        /// Kernels, `*` and `?` allowed; all if none is named
        #[arg(value_name = "KERNEL")]
        kernels: Vec<String>,
    },
    /// Measure every point of a kernel's parameters, whatever is shipped, and write each to a file of JSON Lines
    ///
    /// A point is a variant at one length. It is generated here, checked in a child process, and measured in rounds in which all
    /// points of that length take turns, until its confidence interval is narrow enough.
    Sweep(SweepOptions),
    /// Measure whole primitives: operations a second with the tuned kernels, and against the portable ones
    #[command(subcommand)]
    Speed(SpeedCommand),
    /// Draw what sweeps have measured: one page, on one machine or several
    ///
    /// Without a file to write, the winners are printed.
    Report(ReportOptions),
    /// Say what changed between two sweeps
    ///
    /// Exit status 1 if a variant is significantly slower than before, by more than the threshold, or is wrong now.
    Compare(CompareOptions),
    /// Describe the CPU: features, what is hidden and why, the timer
    Cpu,
    /// Work on spec files
    #[command(subcommand)]
    Spec(SpecCommand),
    /// The child of `tune` and `verify`
    #[command(name = crate::check::COMMAND, hide = true)]
    CheckInChild {
        /// Random cases
        #[arg(long)]
        cases: u32,
        /// Seed of all operands
        #[arg(long)]
        seed: u64,
        /// Points of a sweep and not shipped variants
        #[arg(long)]
        sweep: bool,
        /// The sweep's lists
        #[arg(long = "set", value_parser = crate::sweep::set::parse)]
        sets: Vec<Set>,
    },
}

/// What is swept, and how.
#[derive(Debug, clap::Args)]
pub struct SweepOptions {
    /// Kernels, `*` and `?` allowed
    #[arg(value_name = "KERNEL", required = true)]
    pub kernels: Vec<String>,
    /// Other values for a parameter, in every strategy that has it: unroll=1..32, schedule=generic,seed:1..20, strategy=mulx,
    /// exact=none. What is not set is as in the spec
    #[arg(long = "set", value_name = "KEY=VALUES", value_parser = crate::sweep::set::parse)]
    pub sets: Vec<Set>,
    /// Lengths: 4,8,16..64:16 [default: the size classes of each kernel]
    #[arg(long, value_name = "N,…", value_parser = sizes, allow_negative_numbers = true)]
    pub sizes: Option<Sizes>,
    /// The file that points are appended to
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// Go on in a file that exists: points that are in it are not measured again. Machine, specs, build, --seed, --mode,
    /// --precision, --strategy and --shard must be those of the file
    #[arg(long)]
    pub resume: bool,
    /// Measure the I-th of N parts alone; which points are in it depends on nothing but their names
    #[arg(long, value_name = "I/N", value_parser = shard)]
    pub shard: Option<Shard>,
    /// How the space is searched: random needs --sample, local may have one, halving looks at every point and takes none
    #[arg(long, value_name = "HOW", default_value = "exhaustive")]
    pub strategy: Search,
    /// Points of a random sample; with --strategy local, of each kernel and length [default there: 64]
    #[arg(long, value_name = "N", value_parser = whole(1..=100_000_000), allow_negative_numbers = true)]
    pub sample: Option<u64>,
    /// Seed of samples, operands and the order of rounds, decimal or 0x…
    #[arg(long, value_name = "S", value_parser = seed, default_value = "1", allow_negative_numbers = true)]
    pub seed: u64,
    /// Widest confidence interval (95 %), as a fraction or in percent
    #[arg(long, value_name = "P", value_parser = precision, default_value = "1%", allow_hyphen_values = true)]
    pub precision: f64,
    /// Time for all of it, in seconds; as long as it takes if not given
    #[arg(long, value_name = "S", value_parser = seconds, allow_negative_numbers = true)]
    pub time: Option<f64>,
    /// How calls follow each other
    #[arg(long, value_name = "MODE", default_value = "throughput")]
    pub mode: Mode,
}

/// Lengths to sweep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sizes(pub Vec<u64>);

/// One part of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Which, from 1.
    pub index: u64,
    /// Of how many.
    pub of: u64,
}

fn sizes(word: &str) -> Result<Sizes, String> {
    crate::sweep::set::numbers(word).map(Sizes)
}

fn shard(word: &str) -> Result<Shard, String> {
    let parts = word.split_once('/').and_then(|(index, of)| Some((index.parse().ok()?, of.parse().ok()?)));
    match parts {
        Some((index, of)) if (1..=of).contains(&index) => Ok(Shard { index, of }),
        _ => Err("not I/N with I from 1 to N, such as 1/4".to_owned()),
    }
}

/// What is reported, and where to.
#[derive(Debug, clap::Args)]
pub struct ReportOptions {
    /// Files of `kiln sweep`, or pipes: /dev/stdin
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// The page: one file that needs no network. `-` is standard output, instead of what is printed otherwise
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Every point, for spreadsheets; `-` as well
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Every picture as a file of its own
    #[arg(long, value_name = "DIR")]
    pub svg: Option<PathBuf>,
    /// The tables, for notes; `-` as well
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
    /// The parameter on the axis [default: unroll, else blocks, else the number that has most values]
    #[arg(long, value_name = "KEY")]
    pub x: Option<String>,
    /// How much slower than the best is good enough for the atlas
    #[arg(
        long,
        value_name = "PERCENT",
        value_delimiter = ',',
        default_value = "1%,2%,5%",
        value_parser = fraction,
        allow_hyphen_values = true
    )]
    pub within: Vec<f64>,
    /// Take each file for a machine of its own
    #[arg(long)]
    pub by_file: bool,
}

/// What is compared, and what counts.
#[derive(Debug, clap::Args)]
pub struct CompareOptions {
    /// The sweep before
    #[arg(value_name = "OLD")]
    pub old: PathBuf,
    /// The sweep after
    #[arg(value_name = "NEW")]
    pub new: PathBuf,
    /// Changes up to this are none
    #[arg(long, value_name = "PERCENT", default_value = "2%", value_parser = fraction, allow_hyphen_values = true)]
    pub threshold: f64,
    /// How likely a wrong alarm may be when nothing has changed, over all comparisons together
    #[arg(long, value_name = "P", default_value_t = 0.01, value_parser = level, allow_negative_numbers = true)]
    pub level: f64,
}

/// The primitives that are measured.
#[derive(Debug, Subcommand)]
pub enum SpeedCommand {
    /// AES in its modes, in place, through the public API
    Aes(AesSpeed),
    /// RSA: private operations, blinded and checked, and public ones, without padding, through the public API
    Rsa(RsaSpeed),
}

/// What is measured, and how long.
#[derive(Debug, clap::Args)]
pub struct AesSpeed {
    /// Sizes of the key [default: all]
    #[arg(long, value_name = "BITS", value_delimiter = ',', value_parser = ["128", "192", "256"])]
    bits: Vec<String>,
    /// Modes [default: all]
    #[arg(long, value_name = "MODE", value_delimiter = ',')]
    modes: Vec<AesMode>,
    /// Bytes of a call, multiples of 128 up to 1 GiB; or 64 [default: 64,256,1024,8192,65536]
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = bytes, allow_negative_numbers = true)]
    bytes: Vec<usize>,
    /// Time for each row of the table
    #[arg(long, value_name = "S", default_value_t = 0.1, value_parser = seconds, allow_negative_numbers = true)]
    pub seconds: f64,
    /// Threads that work at once, each on a buffer of its own, with one key
    #[arg(long, value_name = "T", default_value_t = 1, value_parser = threads, allow_negative_numbers = true)]
    pub threads: usize,
}

impl AesSpeed {
    /// Sizes of the key.
    pub fn bits(&self) -> Vec<u32> {
        let given: Vec<u32> = self.bits.iter().filter_map(|bits| bits.parse().ok()).collect();
        if given.is_empty() { vec![128, 192, 256] } else { given }
    }

    /// Modes.
    pub fn modes(&self) -> Vec<AesMode> {
        if self.modes.is_empty() { AesMode::ALL.to_vec() } else { self.modes.clone() }
    }

    /// Bytes of a call.
    pub fn bytes(&self) -> Vec<usize> {
        if self.bytes.is_empty() { vec![64, 256, 1024, 8192, 65_536] } else { self.bytes.clone() }
    }
}

/// What is measured of RSA, and how long.
#[derive(Debug, clap::Args)]
pub struct RsaSpeed {
    /// Bits of the modulus [default: all]
    #[arg(long, value_name = "BITS", value_delimiter = ',', value_parser = ["1024", "2048", "3072", "4096"])]
    bits: Vec<String>,
    /// Time for each operation and size
    #[arg(long, value_name = "S", default_value_t = 1.0, value_parser = seconds, allow_negative_numbers = true)]
    pub seconds: f64,
    /// Threads that work at once, with one key
    #[arg(long, value_name = "T", default_value_t = 1, value_parser = threads, allow_negative_numbers = true)]
    pub threads: usize,
}

impl RsaSpeed {
    /// For so many seconds of one thread.
    #[cfg(test)]
    pub fn of(bits: &[&str], seconds: f64) -> RsaSpeed {
        RsaSpeed { bits: bits.iter().map(|&bits| bits.to_owned()).collect(), seconds, threads: 1 }
    }

    /// Sizes of the key.
    pub fn bits(&self) -> Vec<u32> {
        let given: Vec<u32> = self.bits.iter().filter_map(|bits| bits.parse().ok()).collect();
        if given.is_empty() { vec![1024, 2048, 3072, 4096] } else { given }
    }
}

/// What is done with AES.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AesMode {
    /// Blocks one by one
    EcbEncrypt,
    /// And back
    EcbDecrypt,
    /// Cipher block chaining
    CbcEncrypt,
    /// Eight messages side by side, in calls of at least a block each
    CbcEncryptMany,
    /// And back
    CbcDecrypt,
    /// Counter mode, 128 bits
    Ctr,
}

impl AesMode {
    /// All of them.
    pub const ALL: [AesMode; 6] = [
        AesMode::EcbEncrypt,
        AesMode::EcbDecrypt,
        AesMode::CbcEncrypt,
        AesMode::CbcEncryptMany,
        AesMode::CbcDecrypt,
        AesMode::Ctr,
    ];

    /// The word in documents.
    pub const fn word(self) -> &'static str {
        match self {
            AesMode::EcbEncrypt => "ecb_encrypt",
            AesMode::EcbDecrypt => "ecb_decrypt",
            AesMode::CbcEncrypt => "cbc_encrypt",
            AesMode::CbcEncryptMany => "cbc_encrypt_many",
            AesMode::CbcDecrypt => "cbc_decrypt",
            AesMode::Ctr => "ctr",
        }
    }

    /// The word for people.
    pub fn words(self) -> String {
        self.word().replace('_', " ")
    }
}

/// The commands on spec files.
#[derive(Debug, Subcommand)]
pub enum SpecCommand {
    /// Check spec files, and the specs in folders; every problem at once
    Check {
        /// Files and folders
        #[arg(value_name = "FILE", required = true)]
        paths: Vec<PathBuf>,
    },
    /// Print the JSON Schema of spec files, for editors
    Schema,
}

/// In which form a variant is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Form {
    /// Assembly in Intel syntax
    Asm,
    /// The IR that the interpreter runs
    Ir,
    /// The Rust item
    Rust,
    /// Machine code, disassembled
    Bytes,
}

impl Form {
    /// The word of the command line.
    pub const fn word(self) -> &'static str {
        match self {
            Form::Asm => "asm",
            Form::Ir => "ir",
            Form::Rust => "rust",
            Form::Bytes => "bytes",
        }
    }
}

fn bytes(word: &str) -> Result<usize, String> {
    let bytes = integer(word)?;
    let whole = bytes == 64 || bytes > 0 && bytes.is_multiple_of(128) && bytes <= 1 << 30;
    if let (true, Ok(bytes)) = (whole, usize::try_from(bytes)) {
        Ok(bytes)
    } else {
        Err("not a multiple of 128 from 128 to 1073741824, nor 64".to_owned())
    }
}

fn precision(word: &str) -> Result<f64, String> {
    match fraction(word)? {
        0.0 => Err("no interval is that narrow".to_owned()),
        fraction => Ok(fraction),
    }
}

fn seconds(word: &str) -> Result<f64, String> {
    let seconds = decimal(word)?;
    if (0.001..=86_400.0).contains(&seconds) { Ok(seconds) } else { Err("not from 0.001 to 86400".to_owned()) }
}

fn threads(word: &str) -> Result<usize, String> {
    whole(1..=1024)(word).map(|threads| threads as usize)
}

/// `2%`, or `0.02`.
fn fraction(word: &str) -> Result<f64, String> {
    let (digits, unit) = match word.strip_suffix('%') {
        Some(digits) => (digits.trim_end(), 100.0),
        None => (word, 1.0),
    };
    let number = decimal(digits)?;
    if (0.0..1.0).contains(&(number / unit)) {
        Ok(number / unit)
    } else {
        Err("not from 0% to below 100%, such as 2% or 0.02".to_owned())
    }
}

fn level(word: &str) -> Result<f64, String> {
    let level = decimal(word)?;
    if level > 0.0 && level < 1.0 { Ok(level) } else { Err("not between 0 and 1".to_owned()) }
}

fn seed(word: &str) -> Result<u64, String> {
    let number = match word.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => word.parse(),
    };
    number.map_err(|error| match error.kind() {
        IntErrorKind::PosOverflow => "more than 64 bits".to_owned(),
        _ => "no whole number, decimal or 0x…".to_owned(),
    })
}

fn cases(word: &str) -> Result<u32, String> {
    whole(0..=1_000_000)(word).map(|cases| cases as u32)
}

/// Reads a whole number of a range.
fn whole(range: RangeInclusive<u64>) -> impl Fn(&str) -> Result<u64, String> + Clone {
    move |word| {
        let number = integer(word)?;
        let (least, most) = (range.start(), range.end());
        if range.contains(&number) { Ok(number) } else { Err(format!("not from {least} to {most}")) }
    }
}

/// A whole number; those beyond 64 bits, which no range has, are as good as the nearest of them.
fn integer(word: &str) -> Result<u64, String> {
    let digits = word.strip_prefix('-').unwrap_or(word);
    match word.parse() {
        Ok(number) => Ok(number),
        Err(_) if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) => match digits == word {
            true => Ok(u64::MAX),
            false => Err("it is negative".to_owned()),
        },
        Err(_) => Err("no whole number".to_owned()),
    }
}

fn decimal(word: &str) -> Result<f64, String> {
    word.parse().map_err(|_| "no number".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_sound() {
        Args::command().debug_assert();
    }

    #[test]
    fn options_stand_anywhere() {
        let args = Args::parse_from(["kiln", "--json", "tune", "limb64.*", "--specs", "dir", "--budget", "20"]);
        assert!(args.json && args.specs.is_some_and(|dir| dir.as_os_str() == "dir"));
        assert!(matches!(args.command, Command::Tune { kernels, budget: Some(20) } if kernels == ["limb64.*"]));
    }

    #[test]
    fn wrong_words_are_refused() {
        let lines: [&[&str]; 30] = [
            &["kiln"],
            &["kiln", "tun"],
            &["kiln", "tune", "--budget", "0"],
            &["kiln", "tune", "--budget", "-1"],
            &["kiln", "verify", "--seed", "x"],
            &["kiln", "verify", "--cases", "99999999999"],
            &["kiln", "show"],
            &["kiln", "show", "a/b", "--as", "c"],
            &["kiln", "speed"],
            &["kiln", "speed", "aes", "--bits", "129"],
            &["kiln", "speed", "aes", "--bytes", "100"],
            &["kiln", "speed", "aes", "--seconds", "0"],
            &["kiln", "speed", "aes", "--threads", "0"],
            &["kiln", "speed", "aes", "--modes", "ofb"],
            &["kiln", "sweep", "limb64.mul_add"],
            &["kiln", "sweep", "--out", "x"],
            &["kiln", "sweep", "k", "--out", "x", "--set", "unroll"],
            &["kiln", "sweep", "k", "--out", "x", "--shard", "0/4"],
            &["kiln", "sweep", "k", "--out", "x", "--shard", "5/4"],
            &["kiln", "sweep", "k", "--out", "x", "--precision", "0"],
            &["kiln", "sweep", "k", "--out", "x", "--sizes", "8..4"],
            &["kiln", "sweep", "k", "--out", "x", "--strategy", "best"],
            &["kiln", "report"],
            &["kiln", "report", "a", "--within", "2"],
            &["kiln", "report", "a", "--within", "100%"],
            &["kiln", "report", "a", "--within", "1%,,2%"],
            &["kiln", "compare", "a"],
            &["kiln", "compare", "a", "b", "--threshold", "-1%"],
            &["kiln", "compare", "a", "b", "--threshold", "NaN"],
            &["kiln", "compare", "a", "b", "--level", "1"],
        ];
        for line in lines {
            assert!(Args::try_parse_from(line).is_err(), "{line:?}");
        }
        // In our words, and not in those of a parser of numbers.
        let told: [(&[&str], &str); 9] = [
            (&["tune", "--budget", "-1"], "it is negative"),
            (&["tune", "--budget", "99999999999999999999999"], "not from 1 to 3600000"),
            (&["sweep", "k", "--out", "x", "--time", "-1"], "not from 0.001 to 86400"),
            (&["sweep", "k", "--out", "x", "--time", "soon"], "no number"),
            (&["sweep", "k", "--out", "x", "--precision", "-1%"], "not from 0% to below 100%"),
            (&["sweep", "k", "--out", "x", "--seed", "-1"], "no whole number"),
            (&["report", "a", "--within", "-1%"], "not from 0% to below 100%"),
            (&["compare", "a", "b", "--level", "-1"], "not between 0 and 1"),
            (&["speed", "aes", "--bytes", "many"], "no whole number"),
        ];
        for (line, why) in told {
            let error = Args::try_parse_from([&["kiln"], line].concat()).expect_err("wrong").to_string();
            assert!(error.contains(why) && !error.contains("tip:"), "{error}");
        }
        assert_eq!(seed("0xff"), Ok(255));
        assert_eq!(shard("3/4"), Ok(Shard { index: 3, of: 4 }));
        assert_eq!((fraction("2%"), fraction("0.5 %"), fraction("0.02")), (Ok(0.02), Ok(0.005), Ok(0.02)));
    }
}
