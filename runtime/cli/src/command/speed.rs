//! `kiln speed`: operations of whole primitives a second, with the tuned kernels and with the portable ones.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use kiln::aes::size::{Bits128, Bits192, Bits256, Size};
use kiln::aes::{Aes, BLOCK, Bundle, cbc, ctr, ecb};
use kiln_runtime::timer::{Clock, SystemClock};
use serde::Serialize;

use crate::Context;
use crate::args::{AesMode, SpeedOptions};
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
pub fn aes(context: &Context<'_>, options: &SpeedOptions) -> Result<bool, Failure> {
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

/// What was done in how much time.
#[derive(Clone, Copy, Debug, Default)]
struct Speed {
    /// Of all threads together.
    ops: f64,
    seconds: f64,
    ticks: f64,
}

/// The tuned kernels and the portable ones, by turns.
fn pair<S: Size>(
    key_bytes: usize,
    mode: AesMode,
    bytes: usize,
    options: &SpeedOptions,
    clock: &SystemClock,
) -> [Speed; 2] {
    let secret = vec![0x5a; key_bytes];
    let keys = [Aes::<S>::from_slice(&secret), Aes::with_bundle(&secret, Bundle::Sliced)];
    let keys = keys.map(|key| key.expect("a key of its size"));
    let slice = Duration::from_secs_f64(options.seconds / f64::from(2 * SLICES));
    let mut speeds = [Speed::default(); 2];
    for _ in 0..SLICES {
        for (key, speed) in keys.iter().zip(&mut speeds) {
            let begun = clock.read().time;
            let (ops, seconds) = on_threads(options.threads, slice, || work(key, mode, bytes));
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

/// Operations that so many threads do together in this time, and the time that it was.
fn on_threads<W: FnMut()>(threads: usize, time: Duration, work: impl Fn() -> W + Sync) -> (u64, f64) {
    let (barrier, stop) = (Barrier::new(threads + 1), AtomicBool::new(false));
    thread::scope(|scope| {
        let one = || {
            let mut work = work();
            // The first use tunes.
            work();
            barrier.wait();
            let mut done = 0;
            // Ordering: the flag carries nothing but itself.
            while !stop.load(Ordering::Relaxed) {
                for _ in 0..16 {
                    work();
                }
                done += 16;
            }
            done
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(one)).collect();
        barrier.wait();
        let begun = Instant::now();
        thread::sleep(time);
        stop.store(true, Ordering::Relaxed);
        let done = workers.into_iter().map(|worker| worker.join().expect("work does not panic")).sum();
        (done, begun.elapsed().as_secs_f64())
    })
}

fn draw(document: &Document, canvas: &Canvas) -> String {
    let mut text = format!("{}\n", canvas.paint(Tone::Strong, document.cpu.name()));
    let mut bits: Vec<u32> = document.rows.iter().map(|row| row.bits).collect();
    bits.dedup();
    let threads = document.rows.first().map_or(1, |row| row.threads);
    let on = if threads == 1 { "one thread".to_owned() } else { format!("{threads} threads") };
    for bits in bits {
        let rows: Vec<&Row> = document.rows.iter().filter(|row| row.bits == bits).collect();
        let mut sizes: Vec<usize> = rows.iter().map(|row| row.bytes).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let mut operations: Vec<&str> = rows.iter().map(|row| row.operation).collect();
        operations.dedup();
        let mut columns = vec![Column::words("operation")];
        columns.extend(sizes.iter().flat_map(|bytes| {
            [Column::numbers(size(*bytes)), Column::numbers(if canvas.unicode { "× portable" } else { "x portable" })]
        }));
        for operation in operations {
            columns[0].push(Tone::Plain, operation.replace('_', " "));
            for (index, bytes) in sizes.iter().enumerate() {
                let speed = |kernels| {
                    let own = |row: &&&Row| row.operation == operation && row.bytes == *bytes && row.kernels == kernels;
                    rows.iter().find(own).map(|row| row.bytes_per_second)
                };
                let [tuned, times] = match (speed(Kernels::Tuned), speed(Kernels::Portable)) {
                    (Some(tuned), Some(portable)) => {
                        [format!("{:.0}", tuned / 1e6), format!("{:.1}", tuned / portable)]
                    }
                    _ => ["-".to_owned(), "-".to_owned()],
                };
                columns[1 + 2 * index].push(Tone::Good, tuned);
                columns[2 + 2 * index].push(Tone::Faint, times);
            }
        }
        text += &format!("\nAES with {bits}-bit keys, {on}: MB/s of a call with so many bytes\n\n");
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
    fn threads_work_until_they_are_stopped() {
        let (done, seconds) = on_threads(3, Duration::from_millis(5), || || ());
        assert!(done >= 48 && seconds >= 0.005, "{done} {seconds}");
    }

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
        assert!(text.contains("operation   64 B  x portable  8 KiB  x portable"), "{text}");
        assert!(text.contains("ctr        12000         6.0  12000         6.0"), "{text}");
    }
}
