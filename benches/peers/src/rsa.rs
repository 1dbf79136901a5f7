//! The race of RSA: Kiln's public API against OpenSSL, AWS-LC, ring, graviola and RustCrypto, signing and verifying.

mod crates;
mod evp;
mod kiln;
#[forbid(unsafe_code)]
mod report;
#[forbid(unsafe_code)]
mod task;
#[cfg(test)]
mod tests;

use kiln_runtime::race::{Bench, Entrant, Sample};
use kiln_runtime::timer::{Clock, Core, SystemClock};

use crate::args::RsaArgs;
use crate::bout::{self, Bout, Length};
use crate::libraries;
use crate::ring::{self, Absent, LibraryReport, Outcome, Ring};
use report::{Case, Document, Size, Time, Who};
use task::{Sides, Sign, Task, Verify};

/// Private operations of a call of the race: who blinds with a number for some 32 of them, as Kiln, OpenSSL and AWS-LC do, has the
/// cost of the next one in each call.
const TURN: u32 = 32;

/// Microseconds in a window of public operations.
const WINDOW: u64 = 200;

/// Sets somebody up.
type Make = fn(&Task) -> Sides;

/// Everybody.
const CONTENDERS: &[(Who, Make)] = &[
    (Who::Kiln, kiln::make),
    (Who::OpenSsl, evp::openssl::make),
    (Who::AwsLc, evp::aws_lc::make),
    (Who::Ring, crates::ring::make),
    (Who::Graviola, crates::graviola::make),
    (Who::RustCrypto, crates::rust_crypto::make),
];

/// Runs it.
pub fn race(args: &RsaArgs) -> Outcome {
    let document = document(args);
    let failed = document.sizes.iter().flat_map(|size| &size.left_out).any(|absent| absent.failed);
    let text = if args.json { ring::json(&document) } else { report::text(&document) };
    Outcome { text, failed }
}

/// All that take part in an operation, and how their calmest pass was.
struct Final {
    bits: u32,
    operation: Operation,
    calmest: Option<Bout>,
}

/// What is timed.
enum Operation {
    /// Private ones, into a buffer.
    Sign(Vec<(Who, Sign)>, Vec<u8>),
    /// Public ones, of a signature.
    Verify(Vec<(Who, Verify)>, Vec<u8>),
}

impl Operation {
    const fn word(&self) -> &'static str {
        match self {
            Operation::Sign(..) => "sign",
            Operation::Verify(..) => "verify",
        }
    }

    /// Operations of a call.
    const fn turn(&self) -> u32 {
        match self {
            Operation::Sign(..) => TURN,
            Operation::Verify(..) => 1,
        }
    }

    fn who(&self) -> Vec<Who> {
        match self {
            Operation::Sign(all, _) => all.iter().map(|(who, _)| *who).collect(),
            Operation::Verify(all, _) => all.iter().map(|(who, _)| *who).collect(),
        }
    }

    /// So many operations of one of them; whether it is there.
    fn repeat(&mut self, index: usize, operations: u32) -> bool {
        match self {
            Operation::Sign(all, to) => {
                let Some((_, sign)) = all.get_mut(index) else { return false };
                for _ in 0..operations {
                    assert!(sign(to), "it signed when it was checked");
                }
            }
            Operation::Verify(all, signature) => {
                let Some((_, verify)) = all.get_mut(index) else { return false };
                for _ in 0..operations {
                    assert!(verify(signature), "it verified when it was checked");
                }
            }
        }
        true
    }
}

fn document(args: &RsaArgs) -> Document {
    let ring = Ring::new();
    kiln::tune();
    let mut finals = Vec::new();
    let mut sizes = Vec::new();
    for &bits in &args.bits {
        // The words of the command line allow no other sizes.
        let task = Task::new(bits).expect("a key of each size");
        let mut size = Size { bits, cases: Vec::new(), left_out: Vec::new() };
        finals.extend(checked(&task, &mut size.left_out));
        sizes.push(size);
    }
    // The passes of one final are as far apart as the others take: what disturbs one may be gone in the next.
    for pass in 0..args.passes {
        for last in &mut finals {
            let seed = u64::from(last.bits) ^ u64::from(pass) << 32;
            let entrants = vec![Entrant::default(); last.operation.who().len()];
            let length = Length::timed(args.seconds / f64::from(args.passes), WINDOW, entrants.len());
            let mut timed = Timed { operation: &mut last.operation, clock: &ring.clock };
            let bout = bout::to_the_end(&mut timed, &entrants, &ring.clock, length, seed);
            if last.calmest.as_ref().is_none_or(|calmest| bout.total() < calmest.total()) {
                last.calmest = Some(bout);
            }
        }
    }
    for size in &mut sizes {
        let own = finals.iter().filter(|last| last.bits == size.bits);
        size.cases = own.filter_map(|last| case(last, ring.gigahertz)).collect();
    }
    Document {
        schema: "kiln.peers.rsa/1",
        cpu: ring.cpu_name(),
        unit: ring.clock.unit().word(),
        gigahertz: ring.gigahertz,
        passes: args.passes,
        seconds: args.seconds,
        libraries: libraries(),
        sizes,
    }
}

/// The finals of a key. Everybody in them has been checked.
fn checked(task: &Task, left_out: &mut Vec<Absent>) -> [Final; 2] {
    let (mut signers, mut verifiers) = (Vec::new(), Vec::new());
    for &(who, make) in CONTENDERS {
        let mut absent = |operation: &str, why: String, failed| {
            left_out.push(Absent { name: format!("{}, {operation} {}", who.title(), task.bits), why, failed });
        };
        let Sides { sign, verify } = make(task);
        match sign {
            Ok(mut sign) => match task.check_sign(&mut sign) {
                Ok(()) => signers.push((who, sign)),
                Err(why) => absent("sign", why, true),
            },
            Err(why) => absent("sign", why, false),
        }
        match verify {
            Ok(mut verify) => match task.check_verify(&mut verify) {
                Ok(()) => verifiers.push((who, verify)),
                Err(why) => absent("verify", why, true),
            },
            Err(why) => absent("verify", why, false),
        }
    }
    let bits = task.bits;
    [Operation::Sign(signers, vec![0; task.signature.len()]), Operation::Verify(verifiers, task.signature.clone())]
        .map(|operation| Final { bits, operation, calmest: None })
}

fn case(last: &Final, gigahertz: f64) -> Option<Case> {
    let bout = last.calmest.as_ref()?;
    let time = |(who, measured): (Who, &kiln_runtime::race::Measured)| {
        let seconds = measured.time? / (gigahertz * 1e9);
        Some(Time { who, speed: f64::from(last.operation.turn()) / seconds, spread: measured.spread? })
    };
    let mut case = Case {
        operation: last.operation.word(),
        operations: bout.calls * last.operation.turn(),
        rounds: bout.measured.iter().map(|measured| measured.rounds).max().unwrap_or(0),
        thrown: bout.thrown,
        contenders: last.operation.who().into_iter().zip(&bout.measured).filter_map(time).collect(),
        over_peer: None,
    };
    case.over_peer = case.of(Who::Kiln).zip(case.best_peer()).map(|(kiln, peer)| kiln.speed / peer.speed);
    Some(case)
}

/// Everyone with one key.
struct Timed<'a> {
    operation: &'a mut Operation,
    clock: &'a SystemClock,
}

impl Bench for Timed<'_> {
    fn window(&mut self, candidate: usize, calls: u32) -> Sample {
        let mut there = true;
        let operations = calls.saturating_mul(self.operation.turn());
        let sample = bout::window(self.clock, operations, |operations| {
            there &= self.operation.repeat(candidate, operations);
        });
        if there { sample } else { Sample { time: None, core: Core::Unknown } }
    }
}

/// Whether a signature is as long as its place, and puts it there.
fn copy(to: &mut [u8], signature: &[u8]) -> bool {
    let fits = to.len() == signature.len();
    if fits {
        to.copy_from_slice(signature);
    }
    fits
}

/// Versions. Those of crates stand in the lock file, exactly as in `Cargo.toml`.
fn libraries() -> Vec<LibraryReport> {
    let report = |library, version| LibraryReport { library, version, built: None };
    vec![
        report("OpenSSL", libraries::openssl_version()),
        report("AWS-LC", libraries::aws_lc_version()),
        report("ring", env!("KILN_PEERS_RING").to_owned()),
        report("graviola", env!("KILN_PEERS_GRAVIOLA").to_owned()),
        report("RustCrypto rsa", env!("KILN_PEERS_RSA").to_owned()),
    ]
}
