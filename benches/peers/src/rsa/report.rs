//! What was measured, as one document: JSON for tools, a table for people.

use std::fmt::Write as _;

use comfy_table::{CellAlignment, Table, presets};
use serde::{Serialize, Serializer};

use crate::ring::{Absent, LibraryReport, RESTLESS};

/// Everything.
#[derive(Debug, Serialize)]
pub struct Document {
    /// `kiln.peers.rsa/1`.
    pub schema: &'static str,
    /// The CPU's name.
    pub cpu: String,
    /// What the clock counts: `ticks` of the time stamp counter, or `ns`.
    pub unit: &'static str,
    /// Billions of them in a second.
    pub gigahertz: f64,
    /// How often everything was raced; the calmest time counts.
    pub passes: u32,
    /// Of a size and operation, all passes together.
    pub seconds: f64,
    /// Library and version.
    pub libraries: Vec<LibraryReport>,
    /// One for each size of the modulus.
    pub sizes: Vec<Size>,
}

/// A size of the modulus.
#[derive(Debug, Serialize)]
pub struct Size {
    /// Its bits.
    pub bits: u32,
    /// One for each operation.
    pub cases: Vec<Case>,
    /// Who failed the check or refuses this size, and why.
    pub left_out: Vec<Absent>,
}

/// Whose code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// Kiln through the crate `kiln`.
    Kiln,
    /// OpenSSL through EVP.
    OpenSsl,
    /// AWS-LC through EVP.
    AwsLc,
    /// The crate `ring`.
    Ring,
    /// The crate `graviola`.
    Graviola,
    /// The crate `rsa`.
    RustCrypto,
}

impl Who {
    /// All, in the order of columns.
    const ALL: [Who; 6] = [Who::Kiln, Who::OpenSsl, Who::AwsLc, Who::Ring, Who::Graviola, Who::RustCrypto];

    /// The head of a column.
    pub const fn title(self) -> &'static str {
        match self {
            Who::Kiln => "Kiln",
            Who::OpenSsl => "OpenSSL EVP",
            Who::AwsLc => "AWS-LC EVP",
            Who::Ring => "ring",
            Who::Graviola => "graviola",
            Who::RustCrypto => "RustCrypto",
        }
    }
}

impl Serialize for Who {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.title())
    }
}

/// An operation at one size.
#[derive(Debug, Serialize)]
pub struct Case {
    /// `sign` or `verify`.
    pub operation: &'static str,
    /// Operations in a window.
    pub operations: u32,
    /// Rounds that count.
    pub rounds: u32,
    /// Rounds that were thrown away.
    pub thrown: u32,
    /// Everybody.
    pub contenders: Vec<Time>,
    /// Speed of Kiln over that of the fastest peer.
    #[serde(rename = "kiln_over_peer")]
    pub over_peer: Option<f64>,
}

/// What was measured of somebody.
#[derive(Debug, Serialize)]
pub struct Time {
    /// Whose.
    pub who: Who,
    /// Operations a second, by the lower quartile of its rounds' times.
    #[serde(rename = "ops_per_second")]
    pub speed: f64,
    /// The distance of the quartiles, as a fraction.
    pub spread: f64,
}

impl Case {
    /// Its.
    pub fn of(&self, who: Who) -> Option<&Time> {
        self.contenders.iter().find(|time| time.who == who)
    }

    /// The fastest but Kiln.
    pub fn best_peer(&self) -> Option<&Time> {
        let peers = self.contenders.iter().filter(|time| time.who != Who::Kiln);
        peers.max_by(|a, b| a.speed.total_cmp(&b.speed))
    }
}

/// The document for people.
pub fn text(document: &Document) -> String {
    let mut text = String::new();
    let clock = if document.unit == "ticks" {
        format!("time stamp counter, {:.3} GHz", document.gigahertz)
    } else {
        "monotonic clock, ns".to_owned()
    };
    let _ = writeln!(text, "{}, {clock}", document.cpu);
    for library in &document.libraries {
        let _ = writeln!(text, "{library}");
    }
    let _ = writeln!(text, "the calmest of {} passes, {} s together or longer", document.passes, document.seconds);
    let _ = writeln!(text, "\nRSA, PKCS#1 v1.5 with SHA-256, one thread: operations a second, higher is faster");
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let ends = ["Kiln / best peer", "best peer", "spread: Kiln, peer", "rounds: counted, thrown away"];
    table.set_header(["operation", "bits"].into_iter().chain(Who::ALL.map(Who::title)).chain(ends));
    let cases = || document.sizes.iter().flat_map(|size| size.cases.iter().map(move |case| (size.bits, case)));
    for operation in ["sign", "verify"] {
        for (bits, case) in cases().filter(|(_, case)| case.operation == operation) {
            let percent = |time: Option<&Time>| or_dash(time, |time| format!("{:.1}", 100.0 * time.spread));
            let mut row = vec![case.operation.to_owned(), bits.to_string()];
            row.extend(Who::ALL.map(|who| or_dash(case.of(who), |time| format!("{:.0}", time.speed))));
            row.push(or_dash(case.over_peer, |ratio| format!("{ratio:.2}")));
            row.push(or_dash(case.best_peer(), |time| time.who.title().to_owned()));
            row.push(format!("{}, {} %", percent(case.of(Who::Kiln)), percent(case.best_peer())));
            row.push(format!("{}, {}", case.rounds, case.thrown));
            table.add_row(row);
        }
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let _ = writeln!(text, "{}", table.trim_fmt());
    let restless =
        |case: &Case| [case.of(Who::Kiln), case.best_peer()].into_iter().flatten().any(|time| time.spread > RESTLESS);
    if cases().any(|(_, case)| restless(case)) {
        let _ = writeln!(text, "something else was running: over {:.0} % between the quartiles", 100.0 * RESTLESS);
    }
    for absent in document.sizes.iter().flat_map(|size| &size.left_out) {
        let _ = writeln!(text, "{absent}");
    }
    text
}

fn or_dash<T>(value: Option<T>, show: impl Fn(T) -> String) -> String {
    value.map_or("-".to_owned(), show)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_absent_is_named_and_has_a_dash() {
        let time = |who, speed| Time { who, speed, spread: 0.01 };
        let mut case = Case {
            operation: "sign",
            operations: 32,
            rounds: 10,
            thrown: 0,
            contenders: vec![time(Who::Kiln, 9000.0), time(Who::OpenSsl, 6000.0), time(Who::Graviola, 7500.0)],
            over_peer: None,
        };
        assert_eq!(case.best_peer().map(|time| time.who), Some(Who::Graviola));
        case.over_peer = Some(1.2);
        let absent = Absent { name: "ring, sign 1024".to_owned(), why: "refuses the key".to_owned(), failed: false };
        let document = Document {
            schema: "kiln.peers.rsa/1",
            cpu: "a CPU".to_owned(),
            unit: "ticks",
            gigahertz: 2.45,
            passes: 3,
            seconds: 6.0,
            libraries: Vec::new(),
            sizes: vec![Size { bits: 1024, cases: vec![case], left_out: vec![absent] }],
        };
        let text = text(&document);
        let row = text.lines().find(|line| line.trim_start().starts_with("sign")).expect("a row");
        let cells: Vec<&str> = row.split_whitespace().collect();
        assert_eq!(cells[..10], ["sign", "1024", "9000", "6000", "-", "-", "7500", "-", "1.20", "graviola"], "{text}");
        assert!(text.contains("not here: ring, sign 1024: refuses the key"), "{text}");
    }
}
