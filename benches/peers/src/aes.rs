//! The race of AES: Kiln's kernels and its public API against OpenSSL, AWS-LC and RustCrypto, on whole buffers.

mod api;
mod buffers;
mod evp;
mod kiln;
mod native;
#[forbid(unsafe_code)]
mod report;
#[forbid(unsafe_code)]
mod task;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::rc::Rc;

use kiln_peers_rust_crypto::call::Contender;
use kiln_peers_rust_crypto::rust_crypto;
use kiln_peers_rust_crypto::setup::{Block, Mode, Setup};
use kiln_runtime::dispatch::Runtime;
use kiln_runtime::explain::CaseReport;
use kiln_runtime::race::{Bench, Entrant, Sample};
use kiln_runtime::random::Random;
use kiln_runtime::timer::{Clock, SystemClock, Unit};
use kiln_runtime::verify::{NoMemory, Verified};

use crate::args::AesArgs;
use crate::bout::{self, Bout, Length};
use crate::libraries;
use crate::limits::{self, Limit};
use crate::ring::{self, Absent, LibraryReport, Outcome, Ring};
use buffers::Buffers;
use report::{Case, Document, KeyReport, Time, Who};
use task::{Cases, Make, Task};

/// Kiln's variants of each sort (any n, this n alone), of all and of `aesni` alone, that come to the final.
const FINALISTS: usize = 2;
/// The strategy that CPUs without VAES are left with.
const AESNI: &str = "aesni";

/// Sets up somebody who is not one of Kiln's kernels.
type Peer = fn(&Setup<'_>) -> Option<Box<dyn Contender>>;

/// Everybody but Kiln's kernels.
const PEERS: &[(Who, Peer)] = &[
    (Who::KilnApi, api::make),
    (Who::OpenSsl, evp::openssl::make),
    (Who::AwsLc, evp::aws_lc::make),
    (Who::RustCrypto, rust_crypto::today::make),
    (Who::RustCryptoNative, native::make),
    (Who::RustCryptoBefore, rust_crypto::before::make),
    (Who::OpenSslAssembly, evp::assembly::make),
];

/// Runs it.
pub fn race(args: &AesArgs) -> Outcome {
    let document = Race::new(args).document();
    let failed = document.keys.iter().flat_map(|key| &key.left_out).any(|absent| absent.failed);
    let text = if args.measuring.json { ring::json(&document) } else { report::text(&document) };
    Outcome { text, failed }
}

/// Somebody in a final.
struct Entry {
    who: Who,
    /// Of Kiln's, the variant.
    variant: Option<String>,
    make: Rc<Make>,
}

/// A final: a task at one length, and how its calmest pass was.
struct Final {
    task: Task,
    bytes: usize,
    entries: Vec<Entry>,
    calmest: Option<Bout>,
}

/// What all finals share.
struct Race<'a> {
    args: &'a AesArgs,
    ring: Ring,
    limit: Option<Limit>,
}

impl Race<'_> {
    fn new(args: &AesArgs) -> Race<'_> {
        let ring = Ring::new();
        let ticks = ring.clock.unit() == Unit::Ticks;
        let limit = if ticks { limits::limit(&ring.cpu, ring.gigahertz) } else { None };
        Race { args, ring, limit }
    }

    fn document(&self) -> Document {
        let mut left_out: BTreeMap<u32, Vec<Absent>> = BTreeMap::new();
        let mut finals = Vec::new();
        for &bits in &self.args.bits {
            for &mode in &self.args.modes {
                finals.extend(self.finals(mode, bits, left_out.entry(bits).or_default()));
            }
        }
        // The passes of one final are as far apart as the others take: what disturbs one may be gone in the next.
        for pass in 0..self.args.measuring.passes {
            for last in &mut finals {
                let bout = self.last(last, u64::from(pass));
                if last.calmest.as_ref().is_none_or(|calmest| bout.total() < calmest.total()) {
                    last.calmest = Some(bout);
                }
            }
        }
        let keys = left_out.into_iter().map(|(bits, mut left_out)| {
            left_out.dedup();
            let own = finals.iter().filter(|last| last.task.bits == bits);
            KeyReport { bits, cases: own.filter_map(|last| self.case(last)).collect(), left_out }
        });
        Document {
            schema: "kiln.peers.aes/1",
            cpu: self.ring.cpu_name(),
            unit: self.ring.clock.unit().word(),
            gigahertz: self.ring.gigahertz,
            window_us: self.args.measuring.window,
            passes: self.args.measuring.passes,
            in_place: self.args.in_place,
            libraries: libraries(),
            limits_for: self.limit.map(|limit| limit.valid_for),
            keys: keys.collect(),
        }
    }

    /// The finals of a mode at one size of the key. Everybody in them has been checked.
    fn finals(&self, mode: Mode, bits: u32, left_out: &mut Vec<Absent>) -> Vec<Final> {
        let mut absent = |name: &str, why: String, failed| {
            left_out.push(Absent { name: format!("{} {bits}, {name}", mode.word()), why, failed });
        };
        let Some(task) = Task::new(mode, bits) else {
            absent("all", "Kiln has no such kernel in this build".to_owned(), false);
            return Vec::new();
        };
        let mut rejected = Vec::new();
        let variants = self.ring.shipped(task.kernel, &mut rejected);
        for one in rejected {
            absent(&one.name, one.why, one.failed);
        }
        // What the API calls: the winners of all that may win at start-up, with all the time that takes.
        let tuned = Runtime::global().tune(task.kernel, Vec::new(), None, &mut |_| ());

        let cases = Cases::new(&task, &self.args.bytes);
        let mut check = |name: &str, make: &Make, only: Option<u64>| match cases.check(make, only) {
            Some(Ok(())) => true,
            Some(Err(wrong)) => {
                absent(name, wrong.to_string(), true);
                false
            }
            None => {
                absent(name, "does not have it".to_owned(), false);
                false
            }
        };
        let mut peers: Vec<(Who, Rc<Make>)> = Vec::new();
        for &(who, make) in PEERS {
            let make: Make = Box::new(make);
            if check(who.title(), &make, None) {
                peers.push((who, Rc::new(make)));
            }
        }
        let mut kernels: BTreeMap<String, Option<Rc<Make>>> = BTreeMap::new();
        let mut finals = Vec::new();
        for &bytes in &self.args.bytes {
            let entry = |(who, make): &(Who, Rc<Make>)| {
                let variant = if *who == Who::KilnApi { chosen(&task, &tuned, bytes) } else { None };
                Entry { who: *who, variant, make: make.clone() }
            };
            let mut entries: Vec<Entry> = peers.iter().map(entry).collect();
            for variant in self.finalists(&task, bytes, &variants) {
                let name = variant.candidate().short_name().to_owned();
                let make = kernels.entry(name.clone()).or_insert_with(|| {
                    let make = kiln::kernel(variant);
                    check(&name, &make, variant.candidate().exact()).then(|| Rc::new(make))
                });
                if let Some(make) = make {
                    entries.push(Entry { who: Who::Kiln, variant: Some(name), make: make.clone() });
                }
            }
            finals.push(Final { task, bytes, entries, calmest: None });
        }
        finals
    }

    /// The best of Kiln's variants, and the best for a CPU without VAES.
    fn finalists<'v>(&self, task: &Task, bytes: usize, variants: &'v [Verified]) -> Vec<&'v Verified> {
        let n = bytes as u64 / 16;
        let aesni = variants.iter().filter(|variant| report::strategy(variant.candidate().short_name()) == AESNI);
        let mut chosen: Vec<&Verified> = Vec::new();
        for field in [variants.iter().collect::<Vec<_>>(), aesni.collect()] {
            let best = bout::finalists(task.kernel, n, field, FINALISTS, &self.ring.clock);
            for variant in best.unwrap_or_else(|NoMemory| Vec::new()) {
                let same = |other: &&Verified| other.candidate().name() == variant.candidate().name();
                if !chosen.iter().any(same) {
                    chosen.push(variant);
                }
            }
        }
        chosen
    }

    /// One pass: everybody anew, with the same key and chain, on the same buffers.
    fn last(&self, last: &Final, pass: u64) -> Bout {
        let seed = last.bytes as u64 ^ pass << 32;
        let mut random = Random::new(seed);
        let key = task::fill(&mut random, last.task.bits as usize / 8);
        let iv = Block::try_from(task::fill(&mut random, 16)).expect("16 bytes");
        let setup = Setup { mode: last.task.mode, key: &key, iv };
        let mut buffers = Buffers::new(last.bytes, self.args.in_place, 0);
        let input = task::fill(&mut random, last.bytes);
        buffers.input_mut().copy_from_slice(&input);
        // They were all set up for the check.
        let contenders = last.entries.iter().map(|entry| (entry.make)(&setup)).collect();
        let entrants = vec![Entrant::default(); last.entries.len()];
        let clock = &self.ring.clock;
        let mut timed = Timed { buffers, contenders, clock };
        bout::to_the_end(&mut timed, &entrants, clock, Length::new(&self.args.measuring), seed)
    }

    fn case(&self, last: &Final) -> Option<Case> {
        let bout = last.calmest.as_ref()?;
        let time = |(entry, measured): (&Entry, &kiln_runtime::race::Measured)| {
            Some(Time {
                who: entry.who,
                variant: entry.variant.clone(),
                speed: last.bytes as f64 / measured.time?,
                spread: measured.spread?,
            })
        };
        let (mode, bits, bytes) = (last.task.mode, last.task.bits, last.bytes);
        let aim = self.limit.and_then(|_| limits::aim(mode, bits, bytes));
        let mut case = Case {
            mode: mode.word(),
            bytes,
            calls: bout.calls,
            rounds: bout.measured.iter().map(|measured| measured.rounds).max().unwrap_or(0),
            thrown: bout.thrown,
            contenders: last.entries.iter().zip(&bout.measured).filter_map(time).collect(),
            limit: self.limit.map(|limit| limit.aes(mode, last.task.rounds())),
            probe: aim.and_then(|aim| aim.probe),
            aim_api: aim.map(|aim| aim.api),
            aim_kernel: aim.map(|aim| aim.kernel),
            api_over_peer: None,
            kernel_over_peer: None,
        };
        let over = |kiln: Option<&Time>, peer: Option<&Time>| Some(kiln?.speed / peer?.speed);
        case.api_over_peer = over(case.best(Who::KilnApi), case.best_peer());
        case.kernel_over_peer = over(case.best(Who::Kiln), case.best_peer());
        Some(case)
    }
}

/// The variant that the dispatcher calls for so many bytes.
fn chosen(task: &Task, tuned: &[CaseReport], bytes: usize) -> Option<String> {
    let n = bytes as u64 / 16;
    let sizes = || task.kernel.sizes.iter().copied();
    let class = sizes().filter(|class| *class >= n).min().or(sizes().max())?;
    let report = tuned.iter().find(|report| report.case == format!("n={class}"))?;
    let name = if class == n { &report.chosen } else { report.near.as_ref().unwrap_or(&report.chosen) };
    Some(name.rsplit('/').next().unwrap_or(name).to_owned())
}

/// Everyone on one set of buffers.
struct Timed<'a> {
    buffers: Buffers,
    contenders: Vec<Option<Box<dyn Contender>>>,
    clock: &'a SystemClock,
}

impl Bench for Timed<'_> {
    fn window(&mut self, candidate: usize, calls: u32) -> Sample {
        let Some(Some(contender)) = self.contenders.get_mut(candidate) else {
            return Sample { time: None, core: kiln_runtime::timer::Core::Unknown };
        };
        bout::window(self.clock, calls, |calls| contender.repeat(self.buffers.span(), calls))
    }
}

/// Versions, and for which CPU RustCrypto was built.
fn libraries() -> Vec<LibraryReport> {
    let report = |library, version, built| LibraryReport { library, version, built };
    let stock = if cfg!(target_feature = "vaes") { "for this CPU" } else { "for any x86-64" };
    let native = if native::has_vaes() { "with VAES" } else { "without VAES" };
    let built = format!("built {stock}; native: once more, for this CPU, {native}");
    vec![
        report("OpenSSL", libraries::openssl_version(), None),
        report("AWS-LC", libraries::aws_lc_version(), None),
        report("RustCrypto", env!("KILN_PEERS_RUST_CRYPTO").to_owned(), Some(built)),
        report("RustCrypto before", env!("KILN_PEERS_RUST_CRYPTO_BEFORE").to_owned(), None),
    ]
}
