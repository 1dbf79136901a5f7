//! `kiln speed rsa`: private and public operations, and the private one with every layout of its table.

use std::time::Duration;

use kiln::modular::Weave;
use kiln::rsa::{PrivateKey, PublicKey};
use kiln_runtime::timer::{Clock, SystemClock};
use serde::Serialize;

use super::{Speed, on_threads, threads_in_words};
use crate::Context;
use crate::args::RsaSpeed;
use crate::canvas::{Canvas, Column, Tone};
use crate::command::Identity;
use crate::failure::Failure;
use crate::progress::Progress;

/// Slices of the time of a size: all that is measured takes turns.
const SLICES: u32 = 5;

#[derive(Debug, Serialize)]
struct Document {
    schema: &'static str,
    cpu: Identity,
    seconds: f64,
    /// What `ticks_per_op` counts.
    unit: &'static str,
    rows: Vec<Row>,
}

#[derive(Debug, Serialize)]
struct Row {
    primitive: &'static str,
    operation: &'static str,
    bits: u32,
    threads: usize,
    /// How the powers of a window lie in memory; `None` for what has no table.
    layout: Option<&'static str>,
    /// Whether keys take it unless they are told otherwise.
    usual: bool,
    ops_per_second: f64,
    /// Of one thread.
    ticks_per_op: f64,
}

/// Keys for measuring and nothing else: everybody has them.
fn key(bits: u32) -> PrivateKey {
    let pem = match bits {
        1024 => include_str!("keys/key_1024.pem"),
        2048 => include_str!("keys/key_2048.pem"),
        3072 => include_str!("keys/key_3072.pem"),
        _ => include_str!("keys/key_4096.pem"),
    };
    PrivateKey::from_pem(pem).expect("a key of ours")
}

/// A number below every modulus of this size.
fn number(public: &PublicKey) -> Vec<u8> {
    let mut number = vec![0x5a; public.size()];
    number[0] = 0;
    number
}

/// Measures RSA.
pub fn run(context: &Context<'_>, options: &RsaSpeed) -> Result<bool, Failure> {
    let clock = SystemClock::new(&context.cpu());
    let bits = options.bits();
    let progress = Progress::new(bits.len());
    let mut rows = Vec::new();
    for bits in bits {
        progress.doing(format!("rsa with {bits} bits"));
        rows.extend(rows_of(bits, options, &clock));
        progress.step();
    }
    drop(progress);
    let document = Document {
        schema: "kiln.speed/1",
        cpu: Identity::of(&context.cpu()),
        seconds: options.seconds,
        unit: clock.unit().word(),
        rows,
    };
    context.print(&document, |canvas| draw(&document, canvas))?;
    Ok(true)
}

fn rows_of(bits: u32, options: &RsaSpeed, clock: &SystemClock) -> Vec<Row> {
    let usual = key(bits);
    let woven: Vec<PrivateKey> = Weave::ALL
        .into_iter()
        .map(|weave| {
            let mut key = key(bits);
            key.set_weave(weave);
            key
        })
        .collect();
    let public = usual.public_key();
    let x = number(public);
    let parts = woven.len() + 1;
    let slice = Duration::from_secs_f64(options.seconds / f64::from(SLICES));
    let mut speeds = vec![Speed::default(); parts];
    for _ in 0..SLICES {
        for (index, speed) in speeds.iter_mut().enumerate() {
            let begun = clock.read().time;
            let (ops, seconds) = match woven.get(index) {
                Some(key) => on_threads(options.threads, slice, 1, || || drop(key.apply(&x).expect("a number"))),
                None => on_threads(options.threads, slice, 8, || || drop(public.apply(&x).expect("a number"))),
            };
            speed.ticks += clock.read().time.saturating_sub(begun) as f64;
            speed.ops += ops as f64;
            speed.seconds += seconds;
        }
    }
    let row = |index: usize, Speed { ops, seconds, ticks }: Speed| Row {
        primitive: "rsa",
        operation: if index < woven.len() { "private" } else { "public" },
        bits,
        threads: options.threads,
        layout: Weave::ALL.get(index).map(|weave| weave.word()),
        usual: woven.get(index).is_none_or(|key| key.weave() == usual.weave()),
        ops_per_second: ops / seconds,
        ticks_per_op: ticks * options.threads as f64 / ops,
    };
    speeds.into_iter().enumerate().map(|(index, speed)| row(index, speed)).collect()
}

fn draw(document: &Document, canvas: &Canvas) -> String {
    let mut text = format!("{}\n", canvas.paint(Tone::Strong, document.cpu.name()));
    let threads = document.rows.first().map_or(1, |row| row.threads);
    let mut bits = Column::numbers("bits");
    let mut private = Column::numbers("private");
    let mut public = Column::numbers("public");
    let mut layouts: Vec<Column> = Weave::ALL.iter().map(|weave| Column::numbers(weave.word()).rank(1)).collect();
    let mut sizes: Vec<u32> = document.rows.iter().map(|row| row.bits).collect();
    sizes.dedup();
    for size in sizes {
        let rows: Vec<&Row> = document.rows.iter().filter(|row| row.bits == size).collect();
        let rate = |found: Option<&&Row>| found.map_or(f64::NAN, |row| row.ops_per_second);
        let usual = rate(rows.iter().find(|row| row.operation == "private" && row.usual));
        bits.push(Tone::Plain, size.to_string());
        private.push(Tone::Good, format!("{usual:.0}"));
        public.push(Tone::Plain, format!("{:.0}", rate(rows.iter().find(|row| row.operation == "public"))));
        for (weave, column) in Weave::ALL.iter().zip(&mut layouts) {
            let change = rate(rows.iter().find(|row| row.layout == Some(weave.word()))) / usual - 1.0;
            column.push(Tone::Faint, format!("{:+.1} %", change * 100.0));
        }
    }
    text += &format!("\nRSA, {}: operations a second, private ones blinded and checked;\n", threads_in_words(threads));
    text += "then what the layouts of the powers in memory change of the private ones\n\n";
    let columns: Vec<Column> = [bits, private, public].into_iter().chain(layouts).collect();
    text += &canvas.table(&columns);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_layout_is_measured_and_one_is_usual() {
        let clock = SystemClock::new(&kiln_runtime::detect::native());
        let options = RsaSpeed::of(&["1024"], 0.01);
        let rows = rows_of(1024, &options, &clock);
        assert_eq!(rows.len(), Weave::ALL.len() + 1);
        assert_eq!(rows.iter().filter(|row| row.operation == "private" && row.usual).count(), 1);
        assert!(rows.iter().all(|row| row.ops_per_second > 0.0 && row.ticks_per_op > 0.0));
        let cpu = Identity::of(&kiln_runtime::detect::native());
        let document = Document { schema: "kiln.speed/1", cpu, seconds: 0.01, unit: "ticks", rows };
        let text = draw(&document, &Canvas::plain(120));
        assert!(text.contains("bits  private  public") && text.contains("+0.0 %"), "{text}");
    }
}
