//! `kiln speed aes`: every mode, with the tuned kernels and with the portable ones.

use std::time::Duration;

use kiln::aes::size::{Bits128, Bits192, Bits256, Size};
use kiln::aes::{Aes, BLOCK, Bundle, cbc, ctr, ecb};
use kiln_runtime::timer::{Clock, SystemClock};
use serde::Serialize;

use super::{Speed, on_threads, threads_in_words};
use crate::Context;
use crate::args::{AesMode, AesSpeed};
use crate::canvas::{Canvas, Column, Tone};
use crate::command::Identity;
use crate::failure::Failure;
use crate::progress::Progress;

/// Slices of the time of a row: tuned and portable take turns.
const SLICES: u32 = 3;

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
    bytes: usize,
    threads: usize,
    kernels: Kernels,
    ops_per_second: f64,
    bytes_per_second: f64,
    /// Of one thread.
    ticks_per_op: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Kernels {
    Tuned,
    Portable,
}

/// Measures AES.
pub fn run(context: &Context<'_>, options: &AesSpeed) -> Result<bool, Failure> {
    let clock = SystemClock::new(&context.cpu());
    let (bits, modes, bytes) = (options.bits(), options.modes(), options.bytes());
    let progress = Progress::new(bits.len() * modes.len() * bytes.len());
    let mut rows = Vec::new();
    for bits in bits {
        let mut of = |mode: AesMode, bytes: usize| {
            progress.doing(format!("aes {} with {bits}-bit keys, {bytes} bytes", mode.words()));
            let pair = match bits {
                128 => pair::<Bits128>(16, mode, bytes, options, &clock),
                192 => pair::<Bits192>(24, mode, bytes, options, &clock),
                _ => pair::<Bits256>(32, mode, bytes, options, &clock),
            };
            progress.step();
            for (kernels, Speed { ops, seconds, ticks }) in [Kernels::Tuned, Kernels::Portable].into_iter().zip(pair) {
                // Several messages side by side are work for the instructions, whatever the key is made for.
                if kernels == Kernels::Portable && mode == AesMode::CbcEncryptMany {
                    continue;
                }
                let ops_per_second = ops / seconds;
                rows.push(Row {
                    primitive: "aes",
                    operation: mode.word(),
                    bits,
                    bytes,
                    threads: options.threads,
                    kernels,
                    ops_per_second,
                    bytes_per_second: ops_per_second * bytes as f64,
                    ticks_per_op: ticks * options.threads as f64 / ops,
                });
            }
        };
        for mode in &modes {
            // Eight messages have a block each, or there is nothing to measure.
            let fits = |bytes: &&usize| *mode != AesMode::CbcEncryptMany || **bytes >= 8 * BLOCK;
            bytes.iter().filter(fits).for_each(|bytes| of(*mode, *bytes));
        }
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

/// The tuned kernels and the portable ones, by turns.
fn pair<S: Size>(key_bytes: usize, mode: AesMode, bytes: usize, options: &AesSpeed, clock: &SystemClock) -> [Speed; 2] {
    let secret = vec![0x5a; key_bytes];
    let keys = [Aes::<S>::from_slice(&secret), Aes::with_bundle(&secret, Bundle::Sliced)];
    let keys = keys.map(|key| key.expect("a key of its size"));
    let slice = Duration::from_secs_f64(options.seconds / f64::from(2 * SLICES));
    let mut speeds = [Speed::default(); 2];
    for _ in 0..SLICES {
        for (key, speed) in keys.iter().zip(&mut speeds) {
            let begun = clock.read().time;
            let (ops, seconds) = on_threads(options.threads, slice, 16, || work(key, mode, bytes));
            speed.ticks += clock.read().time.saturating_sub(begun) as f64;
            speed.ops += ops as f64;
            speed.seconds += seconds;
        }
    }
    speeds
}

/// One operation, to be repeated: on buffers of its own, in place.
fn work<S: Size>(key: &Aes<S>, mode: AesMode, bytes: usize) -> impl FnMut() + '_ {
    let mut data = Aligned::new(bytes);
    let mut encryptor = cbc::Encryptor::with_iv(key, &[1; BLOCK]);
    let mut decryptor = cbc::Decryptor::with_iv(key, &[1; BLOCK]);
    let mut counter = ctr::Ctr128::with_iv(key, &[1; BLOCK]);
    let mut ivs = [[1; BLOCK]; 8];
    move || {
        let data = data.bytes();
        // Whole blocks, and eight messages of them.
        let done = match mode {
            AesMode::EcbEncrypt => ecb::encrypt(key, data),
            AesMode::EcbDecrypt => ecb::decrypt(key, data),
            AesMode::CbcEncrypt => encryptor.encrypt(data),
            AesMode::CbcEncryptMany => cbc::encrypt_many(key, data, &mut ivs),
            AesMode::CbcDecrypt => decryptor.decrypt(data),
            AesMode::Ctr => counter.apply(data),
        };
        done.expect("whole blocks");
    }
}

/// Bytes at a multiple of 64, as a program that cares about speed has them.
struct Aligned {
    memory: Vec<u8>,
    start: usize,
    bytes: usize,
}

impl Aligned {
    fn new(bytes: usize) -> Aligned {
        let memory = vec![0; bytes + 64];
        let start = memory.as_ptr().align_offset(64).min(64);
        Aligned { memory, start, bytes }
    }

    fn bytes(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.start + self.bytes]
    }
}

fn draw(document: &Document, canvas: &Canvas) -> String {
    let mut text = format!("{}\n", canvas.paint(Tone::Strong, document.cpu.name()));
    let mut bits: Vec<u32> = document.rows.iter().map(|row| row.bits).collect();
    bits.dedup();
    let threads = document.rows.first().map_or(1, |row| row.threads);
    let on = threads_in_words(threads);
    for bits in bits {
        let rows: Vec<&Row> = document.rows.iter().filter(|row| row.bits == bits).collect();
        let mut sizes: Vec<usize> = rows.iter().map(|row| row.bytes).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let mut operations: Vec<&str> = rows.iter().map(|row| row.operation).collect();
        operations.dedup();
        let mut columns = vec![Column::words("operation")];
        columns.extend(sizes.iter().map(|bytes| Column::numbers(size(*bytes))));
        for operation in operations {
            columns[0].push(Tone::Plain, operation.replace('_', " "));
            for (index, bytes) in sizes.iter().enumerate() {
                let speed = |kernels| {
                    let own = |row: &&&Row| row.operation == operation && row.bytes == *bytes && row.kernels == kernels;
                    rows.iter().find(own).map(|row| row.bytes_per_second)
                };
                let times = if canvas.unicode { '×' } else { 'x' };
                let cell = match (speed(Kernels::Tuned), speed(Kernels::Portable)) {
                    (Some(tuned), Some(portable)) => format!("{:.0} {:>4.0}{times}", tuned / 1e6, tuned / portable),
                    (Some(tuned), None) => format!("{:.0}      ", tuned / 1e6),
                    (None, _) => "-".to_owned(),
                };
                columns[1 + index].push(Tone::Plain, cell);
            }
        }
        let what = "MB/s of calls with so many bytes, and how many times the portable code";
        text += &format!("\nAES with {bits}-bit keys, {on}: {what}\n\n");
        text += &canvas.table(&columns);
    }
    text
}

/// `64 B`, `8 KiB`.
fn size(bytes: usize) -> String {
    if bytes >= 1024 && bytes.is_multiple_of(1024) { format!("{} KiB", bytes / 1024) } else { format!("{bytes} B") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mode_works_at_every_size() {
        for mode in AesMode::ALL {
            for bytes in [128, 1024] {
                let key = Aes::<Bits128>::from_slice(&[1; 16]).unwrap();
                let mut once = work(&key, mode, bytes);
                once();
                once();
            }
        }
    }

    #[test]
    fn a_table_for_each_size_of_the_key() {
        let row = |bits, bytes, kernels, speed| Row {
            primitive: "aes",
            operation: "ctr",
            bits,
            bytes,
            threads: 2,
            kernels,
            ops_per_second: speed / bytes as f64,
            bytes_per_second: speed,
            ticks_per_op: 1.0,
        };
        let rows = [128, 256].into_iter().flat_map(|bits| {
            [64, 8192].into_iter().flat_map(move |bytes| {
                [row(bits, bytes, Kernels::Tuned, 12e9), row(bits, bytes, Kernels::Portable, 2e9)]
            })
        });
        let document = Document {
            schema: "kiln.speed/1",
            cpu: Identity::of(&kiln_runtime::detect::native()),
            seconds: 0.1,
            unit: "ticks",
            rows: rows.collect(),
        };
        let text = draw(&document, &Canvas::plain(100));
        assert!(text.contains("AES with 256-bit keys, 2 threads"), "{text}");
        assert!(text.contains("operation         64 B        8 KiB\n"), "{text}");
        assert!(text.contains("ctr        12000    6x  12000    6x\n"), "{text}");
    }
}
