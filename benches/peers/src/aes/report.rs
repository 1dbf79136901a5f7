//! What was measured, as one document: JSON for tools, tables for people.

use std::fmt::Write as _;

use comfy_table::{CellAlignment, Table, presets};
use serde::{Serialize, Serializer};

use super::AESNI;
use crate::limits::PASS;
use crate::ring::{Absent, LibraryReport, RESTLESS};

/// Everything.
#[derive(Debug, Serialize)]
pub struct Document {
    /// `kiln.peers.aes/1`.
    pub schema: &'static str,
    /// The CPU's name.
    pub cpu: String,
    /// What speeds are divided by: `ticks` of the time stamp counter, or `ns`.
    pub unit: &'static str,
    /// Billions of them in a second.
    pub gigahertz: f64,
    /// Microseconds in a window, at least.
    pub window_us: u64,
    /// How often everything was raced; the calmest time counts.
    pub passes: u32,
    /// Whether the output went where the input was.
    pub in_place: bool,
    /// Library and version, with what it was built for where that matters.
    pub libraries: Vec<LibraryReport>,
    /// What the limits are valid for; `None` where they are not known.
    pub limits_for: Option<&'static str>,
    /// One for each size of the key.
    pub keys: Vec<KeyReport>,
}

/// A size of the key.
#[derive(Debug, Serialize)]
pub struct KeyReport {
    /// Its bits.
    pub bits: u32,
    /// One for each mode and length.
    pub cases: Vec<Case>,
    /// Who failed the check or may not run here, and why.
    pub left_out: Vec<Absent>,
}

/// Whose code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// Kiln through the crate `kiln`.
    KilnApi,
    /// A kernel of Kiln's, called directly.
    Kiln,
    /// OpenSSL through EVP.
    OpenSsl,
    /// AWS-LC through EVP.
    AwsLc,
    /// RustCrypto's crates of today, built as the program is.
    RustCrypto,
    /// The same, built for the CPU at hand.
    RustCryptoNative,
    /// The generation before.
    RustCryptoBefore,
    /// OpenSSL's assembly, called directly.
    OpenSslAssembly,
}

impl Who {
    /// The rivals, in the order of columns.
    const RIVALS: [Who; 6] =
        [Who::OpenSsl, Who::AwsLc, Who::RustCrypto, Who::RustCryptoNative, Who::RustCryptoBefore, Who::OpenSslAssembly];

    /// The head of a column.
    pub const fn title(self) -> &'static str {
        match self {
            Who::KilnApi => "Kiln API",
            Who::Kiln => "Kiln kernel",
            Who::OpenSsl => "OpenSSL EVP",
            Who::AwsLc => "AWS-LC EVP",
            Who::RustCrypto => "RustCrypto",
            Who::RustCryptoNative => "RustCrypto native",
            Who::RustCryptoBefore => "RustCrypto aes 0.8",
            Who::OpenSslAssembly => "OpenSSL aesni",
        }
    }

    /// Whether it is what a program may call instead of Kiln's API.
    const fn is_peer(self) -> bool {
        match self {
            Who::OpenSsl | Who::AwsLc | Who::RustCrypto | Who::RustCryptoNative | Who::RustCryptoBefore => true,
            Who::KilnApi | Who::Kiln | Who::OpenSslAssembly => false,
        }
    }
}

impl Serialize for Who {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.title())
    }
}

/// A mode at one length.
#[derive(Debug, Serialize)]
pub struct Case {
    /// The mode.
    pub mode: &'static str,
    /// Bytes of a call.
    pub bytes: usize,
    /// Calls in a window.
    pub calls: u32,
    /// Rounds that count.
    pub rounds: u32,
    /// Rounds that were thrown away.
    pub thrown: u32,
    /// Everybody.
    pub contenders: Vec<Time>,
    /// What the CPU allows.
    pub limit: Option<f64>,
    /// What a plain loop over eight registers reached.
    pub probe: Option<f64>,
    /// What is aimed at through the public API.
    pub aim_api: Option<f64>,
    /// What is aimed at by a kernel alone.
    pub aim_kernel: Option<f64>,
    /// Speed of Kiln's API over that of the fastest peer that a program may call.
    pub api_over_peer: Option<f64>,
    /// The same of Kiln's best kernel.
    pub kernel_over_peer: Option<f64>,
}

/// What was measured of somebody.
#[derive(Debug, Serialize)]
pub struct Time {
    /// Whose.
    pub who: Who,
    /// Of Kiln's, the variant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// Bytes a tick, by the lower quartile of its rounds.
    #[serde(rename = "bytes_per_tick")]
    pub speed: f64,
    /// The distance of the quartiles, as a fraction.
    pub spread: f64,
}

/// The strategy in the name of a variant.
pub fn strategy(variant: &str) -> &str {
    variant.split('.').next().unwrap_or(variant)
}

impl Case {
    /// The fastest of them.
    pub fn best(&self, who: Who) -> Option<&Time> {
        fastest(self.contenders.iter().filter(|time| time.who == who))
    }

    /// The fastest of Kiln's kernels that need no VAES.
    fn best_aesni(&self) -> Option<&Time> {
        let aesni = |time: &&Time| time.who == Who::Kiln && time.variant.as_deref().map(strategy) == Some(AESNI);
        fastest(self.contenders.iter().filter(aesni))
    }

    /// The fastest that a program may call instead.
    pub fn best_peer(&self) -> Option<&Time> {
        fastest(self.contenders.iter().filter(|time| time.who.is_peer()))
    }
}

fn fastest<'a>(times: impl Iterator<Item = &'a Time>) -> Option<&'a Time> {
    times.max_by(|a, b| a.speed.total_cmp(&b.speed))
}

/// The document for people.
pub fn text(document: &Document) -> String {
    let mut text = String::new();
    let unit = if document.unit == "ticks" { "tick" } else { document.unit };
    let clock = if document.unit == "ticks" {
        format!("time stamp counter, {:.3} GHz", document.gigahertz)
    } else {
        "monotonic clock, ns".to_owned()
    };
    let _ = writeln!(text, "{}, {clock}", document.cpu);
    for library in &document.libraries {
        let _ = writeln!(text, "{library}");
    }
    let place = if document.in_place { "in place" } else { "from one buffer to another" };
    let _ = writeln!(
        text,
        "windows of {} us or more; the calmest of {} passes; {place}",
        document.window_us, document.passes
    );
    if let Some(valid_for) = document.limits_for {
        let _ = writeln!(text, "limits and aims: {valid_for}");
    }
    for key in &document.keys {
        let _ = writeln!(text, "\nAES-{}: bytes a {unit}, higher is faster", key.bits);
        speeds(&mut text, key, document.limits_for.is_some());
        text.push('\n');
        details(&mut text, key);
        judge(&mut text, key);
        for absent in &key.left_out {
            let _ = writeln!(text, "{absent}");
        }
    }
    text
}

fn speed(speed: f64) -> String {
    if speed < 1.0 { format!("{speed:.3}") } else { format!("{speed:.2}") }
}

fn or_dash<T>(value: Option<T>, show: impl Fn(T) -> String) -> String {
    value.map_or("-".to_owned(), show)
}

fn speeds(text: &mut String, key: &KeyReport, limits: bool) {
    type Cell = Box<dyn Fn(&Case) -> String>;
    let of = |who: Who| -> (String, Cell) {
        (who.title().to_owned(), Box::new(move |case| or_dash(case.best(who), |time| speed(time.speed))))
    };
    let mut columns: Vec<(String, Cell)> = vec![
        ("mode".to_owned(), Box::new(|case| case.mode.to_owned())),
        ("bytes".to_owned(), Box::new(|case| case.bytes.to_string())),
        of(Who::KilnApi),
        of(Who::Kiln),
        (format!("Kiln {AESNI}"), Box::new(|case| or_dash(case.best_aesni(), |time| speed(time.speed)))),
    ];
    columns.extend(Who::RIVALS.map(of));
    if limits {
        let aims = |case: &Case| match (case.aim_api, case.aim_kernel) {
            (Some(api), Some(kernel)) if api != kernel => format!("{} ({})", speed(api), speed(kernel)),
            (api, _) => or_dash(api, speed),
        };
        columns.push(("limit".to_owned(), Box::new(|case| or_dash(case.limit, speed))));
        columns.push(("probe".to_owned(), Box::new(|case| or_dash(case.probe, speed))));
        columns.push(("aim: API (kernel)".to_owned(), Box::new(aims)));
    }
    let ratio = |ratio: f64| format!("{ratio:.2}");
    columns.push(("API / best peer".to_owned(), Box::new(move |case| or_dash(case.api_over_peer, ratio))));
    columns.push(("kernel / best peer".to_owned(), Box::new(move |case| or_dash(case.kernel_over_peer, ratio))));
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(columns.iter().map(|(head, _)| head));
    for case in &key.cases {
        table.add_row(columns.iter().map(|(_, cell)| cell(case)));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let _ = writeln!(text, "{}", table.trim_fmt());
}

/// Who won for Kiln, and how calm it was.
fn details(text: &mut String, key: &KeyReport) {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header([
        "mode",
        "bytes",
        "Kiln API",
        "Kiln kernel",
        "Kiln aesni",
        "best peer",
        "spread: Kiln, peer",
        "rounds: counted, thrown away",
    ]);
    for case in &key.cases {
        let variant = |time: Option<&Time>| or_dash(time.and_then(|time| time.variant.clone()), |variant| variant);
        let percent = |time: Option<&Time>| or_dash(time, |time| format!("{:.1}", 100.0 * time.spread));
        table.add_row([
            case.mode.to_owned(),
            case.bytes.to_string(),
            variant(case.best(Who::KilnApi)),
            variant(case.best(Who::Kiln)),
            variant(case.best_aesni()),
            or_dash(case.best_peer(), |time| time.who.title().to_owned()),
            format!("{}, {} %", percent(case.best(Who::Kiln)), percent(case.best_peer())),
            format!("{}, {}", case.rounds, case.thrown),
        ]);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let _ = writeln!(text, "{}", table.trim_fmt());
    let restless =
        |case: &Case| [case.best(Who::Kiln), case.best_peer()].into_iter().flatten().any(|time| time.spread > RESTLESS);
    if key.cases.iter().any(restless) {
        let _ = writeln!(text, "something else was running: over {:.0} % between the quartiles", 100.0 * RESTLESS);
    }
}

/// The pass mark, and the strategy that older CPUs are left with.
fn judge(text: &mut String, key: &KeyReport) {
    let below = |of: &dyn Fn(&Case) -> Option<(f64, f64)>| -> (usize, Vec<String>) {
        let judged = key.cases.iter().filter_map(|case| Some((case, of(case)?)));
        let missed = judged.clone().filter(|(_, (reached, wanted))| reached < wanted);
        let missed = missed.map(|(case, (reached, wanted))| {
            format!("{} {}: {} of {}", case.mode, case.bytes, speed(reached), speed(wanted))
        });
        (judged.count(), missed.collect())
    };
    let mut say = |what: String, (judged, missed): (usize, Vec<String>)| {
        if judged > 0 {
            let verdict = if missed.is_empty() { "all".to_owned() } else { format!("not {}", missed.join("; ")) };
            let _ = writeln!(text, "{what}: {verdict}");
        }
    };
    say(
        format!("API at {PASS} of the probe or more"),
        below(&|case| Some((case.best(Who::KilnApi)?.speed, PASS * case.probe?))),
    );
    say(
        format!("kernel at {PASS} of the probe or more"),
        below(&|case| Some((case.best(Who::Kiln)?.speed, PASS * case.probe?))),
    );
    say("API at the aim".to_owned(), below(&|case| Some((case.best(Who::KilnApi)?.speed, case.aim_api?))));
    say("kernel at the aim".to_owned(), below(&|case| Some((case.best(Who::Kiln)?.speed, case.aim_kernel?))));
    say(
        format!("{AESNI} as fast as OpenSSL EVP"),
        below(&|case| Some((case.best_aesni()?.speed, case.best(Who::OpenSsl)?.speed))),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(who: Who, variant: Option<&str>, speed: f64) -> Time {
        Time { who, variant: variant.map(str::to_owned), speed, spread: 0.01 }
    }

    fn document() -> Document {
        let case = Case {
            mode: "ctr",
            bytes: 8192,
            calls: 7,
            rounds: 100,
            thrown: 1,
            contenders: vec![
                time(Who::Kiln, Some("vaes256.b24"), 7.0),
                time(Who::Kiln, Some("aesni.b8"), 3.0),
                time(Who::OpenSsl, None, 3.5),
                time(Who::OpenSslAssembly, None, 9.0),
            ],
            limit: Some(8.533),
            probe: Some(7.44),
            aim_api: Some(7.6),
            aim_kernel: Some(7.6),
            api_over_peer: None,
            kernel_over_peer: Some(2.0),
        };
        Document {
            schema: "kiln.peers.aes/1",
            cpu: "a CPU".to_owned(),
            unit: "ticks",
            gigahertz: 2.45,
            window_us: 20,
            passes: 5,
            in_place: false,
            libraries: Vec::new(),
            limits_for: Some("this test"),
            keys: vec![KeyReport { bits: 128, cases: vec![case], left_out: Vec::new() }],
        }
    }

    #[test]
    fn the_best_are_found() {
        let document = document();
        let case = &document.keys[0].cases[0];
        assert_eq!(case.best(Who::Kiln).map(|time| time.speed), Some(7.0));
        assert_eq!(case.best_aesni().map(|time| time.speed), Some(3.0));
        // The bare assembly is nothing that a program calls.
        assert_eq!(case.best_peer().map(|time| time.who), Some(Who::OpenSsl));
    }

    #[test]
    fn what_is_missed_is_told() {
        let text = text(&document());
        assert!(text.contains("kernel at 0.97 of the probe or more: not ctr 8192: 7.00 of 7.22"), "{text}");
        assert!(text.contains("aesni as fast as OpenSSL EVP: not ctr 8192: 3.00 of 3.50"), "{text}");
        assert!(!text.contains("API at"), "{text}");
    }
}
