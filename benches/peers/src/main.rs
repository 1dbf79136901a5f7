//! The binary `kiln-peers`: Kiln's limb kernels against those of other libraries, in one run. See README.md.

mod args;
mod bout;
mod contenders;
mod libraries;
#[forbid(unsafe_code)]
mod limits;
mod peers;
#[forbid(unsafe_code)]
mod report;

use std::io::Write;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use args::Args;
use bout::{Bout, Length};
use clap::Parser;
use contenders::{Twins, shipped};
use kiln_kernels::catalogue::{ArgumentKind, Kernel};
use kiln_runtime::detect::{Native, native};
use kiln_runtime::provide::Provider;
use kiln_runtime::timer::{Clock, SystemClock, Unit};
use kiln_runtime::verify::{NoMemory, Verified};
use limits::Limit;
use peers::{MATCHES, Match, Peer, Per};
use report::{Absent, Case, Document, KernelReport, KilnTime, LibraryReport, PeerTime};

fn main() -> ExitCode {
    let args = Args::parse();
    let known = |name: &str| MATCHES.iter().any(|entry| entry.kernel == name);
    if let Some(unknown) = args.kernels.iter().find(|name| !known(name)) {
        let names: Vec<&str> = MATCHES.iter().map(|entry| entry.kernel).collect();
        eprintln!("kiln-peers: no peers are known for {unknown:?}; there are some for {}", names.join(", "));
        return ExitCode::from(2);
    }
    let document = Ring::new(&args).document();
    let failed = document.kernels.iter().flat_map(|kernel| &kernel.left_out).any(|absent| absent.failed);
    let text = if args.json {
        serde_json::to_string_pretty(&document).expect("the document has string keys and finite numbers") + "\n"
    } else {
        report::text(&document)
    };
    // A closed pipe is nobody's fault.
    let _ = std::io::stdout().write_all(text.as_bytes());
    ExitCode::from(u8::from(failed))
}

/// The final at one n.
struct LineUp<'a> {
    n: u64,
    /// Kiln's finalists, each with its copies at several places.
    kiln: Vec<(&'a Verified, Vec<(usize, Verified)>)>,
    peers: Vec<(&'a Peer, Verified)>,
}

impl LineUp<'_> {
    /// One for each place of each finalist, or itself if it has none; then the peers.
    fn contenders(&self) -> Vec<&Verified> {
        let mut contenders: Vec<&Verified> = Vec::new();
        for (finalist, placed) in &self.kiln {
            if placed.is_empty() {
                contenders.push(finalist);
            }
            contenders.extend(placed.iter().map(|(_, verified)| verified));
        }
        contenders.extend(self.peers.iter().map(|(_, verified)| verified));
        contenders
    }
}

/// What all races share.
struct Ring<'a> {
    args: &'a Args,
    cpu: Native,
    clock: SystemClock,
    specs: Provider,
    limit: Option<Limit>,
    gigahertz: f64,
}

impl Ring<'_> {
    fn new(args: &Args) -> Ring<'_> {
        let cpu = native();
        let clock = SystemClock::new(&cpu);
        let gigahertz = gigahertz(&clock);
        let limit = if clock.unit() == Unit::Ticks { limits::limit(&cpu, gigahertz) } else { None };
        Ring { args, cpu, clock, specs: Provider::shipped(), limit, gigahertz }
    }

    fn document(&self) -> Document {
        let wanted = |name: &str| self.args.kernels.is_empty() || self.args.kernels.iter().any(|kernel| kernel == name);
        let kernels = MATCHES.iter().filter(|entry| wanted(entry.kernel)).map(|entry| self.kernel(entry)).collect();
        let without_peers = kiln_kernels::kernels()
            .map(|kernel| kernel.name)
            .filter(|name| self.args.kernels.is_empty() && !MATCHES.iter().any(|entry| entry.kernel == *name))
            .collect();
        Document {
            schema: "kiln.peers/1",
            cpu: if self.cpu.brand.is_empty() { self.cpu.vendor.clone() } else { self.cpu.brand.clone() },
            unit: self.clock.unit().word(),
            gigahertz: self.gigahertz,
            window_us: self.args.window,
            placements: self.args.placements,
            passes: self.args.passes,
            libraries: libraries(),
            limits_for: self.limit.map(|limit| limit.valid_for),
            kernels,
            without_peers,
        }
    }

    fn kernel(&self, entry: &Match) -> KernelReport {
        let kernel = kiln_kernels::kernels().find(|kernel| kernel.name == entry.kernel);
        let mut report = KernelReport {
            kernel: entry.kernel,
            math: kernel.map(|kernel| kernel.math),
            per: match entry.per {
                Per::Limb => "limb",
                Per::Call => "call",
            },
            cases: Vec::new(),
            left_out: Vec::new(),
        };
        let Some(kernel) = kernel else { return report };
        let variants = shipped(kernel, &self.cpu, &mut report.left_out);
        let twins = Twins::new(kernel, self.specs.specs());
        let sizes = if self.args.sizes.is_empty() { entry.sizes } else { &self.args.sizes };
        let mut finals = Vec::new();
        for &n in sizes {
            let line_up = if allows(kernel, n) {
                self.line_up(entry, kernel, &variants, &twins, n, &mut report.left_out)
                    .map_err(|NoMemory| "no memory for the operands")
            } else {
                Err("the contract does not allow it")
            };
            match line_up {
                Ok(line_up) => finals.push((line_up, None)),
                Err(why) => {
                    report.left_out.push(Absent { name: format!("n = {n}"), why: why.to_owned(), failed: false });
                }
            }
        }
        // The passes of one length are as far apart as the other lengths take: what disturbs one may be gone in the next.
        for pass in 0..self.args.passes {
            for (line_up, calmest) in &mut finals {
                let Ok(bout) = self.last(kernel, line_up, pass) else { continue };
                if calmest.as_ref().is_none_or(|calmest: &Bout| bout.total() < calmest.total()) {
                    *calmest = Some(bout);
                }
            }
        }
        for (line_up, calmest) in &finals {
            match calmest {
                Some(bout) => report.cases.push(self.case(entry, line_up, bout)),
                None => report.left_out.push(Absent {
                    name: format!("n = {}", line_up.n),
                    why: "no memory for the operands".to_owned(),
                    failed: false,
                }),
            }
        }
        report.left_out.dedup_by(|a, b| (&a.name, &a.why) == (&b.name, &b.why));
        report
    }

    /// Who is in the final at one n.
    fn line_up<'a>(
        &self,
        entry: &'a Match,
        kernel: &'static Kernel,
        variants: &'a [Verified],
        twins: &Twins,
        n: u64,
        left_out: &mut Vec<Absent>,
    ) -> Result<LineUp<'a>, NoMemory> {
        let kiln = bout::finalists(kernel, n, variants, &self.clock)?
            .into_iter()
            .map(|finalist| {
                let placed = twins.place(finalist.candidate().name(), self.args.placements, &self.cpu, left_out);
                (finalist, placed)
            })
            .collect();
        let mut peers = Vec::new();
        for peer in entry.peers.iter().filter(|peer| peer.lengths.have(n)) {
            match contenders::peer(kernel, peer, n, &self.cpu) {
                Ok(verified) => peers.push((peer, verified)),
                Err(absent) => left_out.push(absent),
            }
        }
        Ok(LineUp { n, kiln, peers })
    }

    fn last(&self, kernel: &'static Kernel, line_up: &LineUp<'_>, pass: u32) -> Result<Bout, NoMemory> {
        let length = match self.args.seconds {
            Some(seconds) => Length::Time(Duration::from_secs_f64(seconds / f64::from(self.args.passes))),
            None => Length::Rounds(self.args.rounds),
        };
        let contenders = line_up.contenders();
        bout::last(kernel, line_up.n, &contenders, &self.clock, self.args.window, length, u64::from(pass))
    }

    fn case(&self, entry: &Match, line_up: &LineUp<'_>, bout: &Bout) -> Case {
        let n = line_up.n;
        let work = match entry.per {
            Per::Limb => n as f64,
            Per::Call => 1.0,
        };
        let times: Vec<Option<(f64, f64)>> =
            bout.measured.iter().map(|measured| Some((measured.time? / work, measured.spread?))).collect();
        let mut next = times.iter().copied();
        let mut kiln: Vec<KilnTime> = Vec::new();
        for (finalist, placed) in &line_up.kiln {
            let times: Vec<Option<(f64, f64)>> = next.by_ref().take(placed.len().max(1)).collect();
            let Some((ticks, spread)) = median(times.iter().flatten().map(|time| time.0))
                .zip(median(times.iter().flatten().map(|time| time.1)))
            else {
                continue;
            };
            let at = placed.iter().zip(&times).filter_map(|((offset, _), time)| Some((*offset, (*time)?.0)));
            kiln.push(KilnTime {
                variant: finalist.candidate().short_name().to_owned(),
                exact: finalist.candidate().exact().is_some(),
                ticks,
                spread,
                placed: at.collect(),
            });
        }
        kiln.sort_by(|a, b| a.exact.cmp(&b.exact).then(a.ticks.total_cmp(&b.ticks)));
        let peers: Vec<PeerTime> = line_up
            .peers
            .iter()
            .zip(next)
            .filter_map(|((peer, _), time)| {
                let (ticks, spread) = time?;
                Some(PeerTime {
                    library: peer.library.name(),
                    function: peer.function,
                    title: peer.title(),
                    adapter: peer.adapter,
                    control: peer.control,
                    ticks,
                    spread,
                })
            })
            .collect();
        let products = entry.products.map(|products| products(n) as f64);
        let mut case = Case {
            n,
            calls: bout.calls,
            rounds: bout.measured.iter().map(|measured| measured.rounds).max().unwrap_or(0),
            thrown: bout.thrown,
            kiln,
            peers,
            limit: self.limit.zip(products).map(|(limit, products)| limit.multiplication * products / work),
            ratio: None,
        };
        case.ratio = case.best_of_all().zip(case.best_peer()).map(|(kiln, peer)| kiln.ticks / peer.ticks);
        case
    }
}

/// Versions, and for which CPU GMP was built.
fn libraries() -> Vec<LibraryReport> {
    let gmp = format!("built for {} ({}): {}", env!("KILN_PEERS_GMP_HOST"), env!("KILN_PEERS_GMP_CFLAGS"), {
        env!("KILN_PEERS_GMP_FILES")
    });
    let report = |library: peers::Library, version, built| LibraryReport { library: library.name(), version, built };
    vec![
        report(peers::Library::Gmp, libraries::gmp_version(), Some(gmp)),
        report(peers::Library::OpenSsl, libraries::openssl_version(), None),
        report(peers::Library::AwsLc, libraries::aws_lc_version(), None),
        report(peers::Library::S2nBignum, "as this AWS-LC carries it".to_owned(), None),
    ]
}

/// Clock units in a nanosecond, over 50 milliseconds.
fn gigahertz(clock: &SystemClock) -> f64 {
    let (start, ticks) = (Instant::now(), clock.now());
    while start.elapsed() < Duration::from_millis(50) {
        std::hint::spin_loop();
    }
    let ticks = clock.now().saturating_sub(ticks);
    ticks as f64 / start.elapsed().as_nanos() as f64
}

/// Whether the contract allows this n.
fn allows(kernel: &Kernel, n: u64) -> bool {
    kernel.arguments.iter().any(|argument| match argument.kind {
        ArgumentKind::Count { min, max } => (min..=max).contains(&n),
        ArgumentKind::Limbs { .. } | ArgumentKind::Limb { .. } => false,
    })
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let upper = values.get(middle)?;
    Some(if values.len() % 2 == 1 { *upper } else { (values[middle - 1] + upper) / 2.0 })
}
