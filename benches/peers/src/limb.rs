//! The race of limbs: Kiln's kernels, placed at several offsets in a page, and the functions of other libraries that keep their
//! contracts.

mod contenders;
mod peers;
#[forbid(unsafe_code)]
mod report;

use kiln_kernels::catalogue::{ArgumentKind, Kernel};
use kiln_runtime::provide::Provider;
use kiln_runtime::timer::{Clock, Unit};
use kiln_runtime::verify::{NoMemory, Verified};

use crate::args::LimbArgs;
use crate::bout::{self, Bout, Length};
use crate::libraries;
use crate::limits::{self, Limit};
use crate::ring::{self, Absent, LibraryReport, Outcome, Ring};
use contenders::Twins;
use peers::{Library, MATCHES, Match, Peer, Per};
use report::{Case, Document, KernelReport, KilnTime, PeerTime};

/// Runs it.
///
/// # Errors
/// What is wrong with the command line.
pub fn race(args: &LimbArgs) -> Result<Outcome, String> {
    let known = |name: &str| MATCHES.iter().any(|entry| entry.kernel == name);
    if let Some(unknown) = args.kernels.iter().find(|name| !known(name)) {
        let names: Vec<&str> = MATCHES.iter().map(|entry| entry.kernel).collect();
        return Err(format!("no peers are known for {unknown:?}; there are some for {}", names.join(", ")));
    }
    let document = Limbs::new(args).document();
    let failed = document.kernels.iter().flat_map(|kernel| &kernel.left_out).any(|absent| absent.failed);
    let text = if args.measuring.json { ring::json(&document) } else { report::text(&document) };
    Ok(Outcome { text, failed })
}

/// Kiln's variants of each sort (any n, this n alone) that come to the final.
const FINALISTS: usize = 4;

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

/// What all its bouts share.
struct Limbs<'a> {
    args: &'a LimbArgs,
    ring: Ring,
    specs: Provider,
    limit: Option<Limit>,
}

impl Limbs<'_> {
    fn new(args: &LimbArgs) -> Limbs<'_> {
        let ring = Ring::new();
        let ticks = ring.clock.unit() == Unit::Ticks;
        let limit = if ticks { limits::limit(&ring.cpu, ring.gigahertz) } else { None };
        Limbs { args, ring, specs: Provider::shipped(), limit }
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
            cpu: self.ring.cpu_name(),
            unit: self.ring.clock.unit().word(),
            gigahertz: self.ring.gigahertz,
            window_us: self.args.measuring.window,
            placements: self.args.placements,
            passes: self.args.measuring.passes,
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
        let variants = self.ring.shipped(kernel, &mut report.left_out);
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
        for pass in 0..self.args.measuring.passes {
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
        let kiln = bout::finalists(kernel, n, variants.iter().collect(), FINALISTS, &self.ring.clock)?
            .into_iter()
            .map(|finalist| {
                let placed = twins.place(finalist.candidate().name(), self.args.placements, &self.ring.cpu, left_out);
                (finalist, placed)
            })
            .collect();
        let mut peers = Vec::new();
        for peer in entry.peers.iter().filter(|peer| peer.lengths.have(n)) {
            match contenders::peer(kernel, peer, n, &self.ring.cpu) {
                Ok(verified) => peers.push((peer, verified)),
                Err(absent) => left_out.push(absent),
            }
        }
        Ok(LineUp { n, kiln, peers })
    }

    fn last(&self, kernel: &'static Kernel, line_up: &LineUp<'_>, pass: u32) -> Result<Bout, NoMemory> {
        let contenders = line_up.contenders();
        let length = Length::new(&self.args.measuring);
        bout::last(kernel, line_up.n, &contenders, &self.ring.clock, length, u64::from(pass))
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
    let report = |library: Library, version, built| LibraryReport { library: library.name(), version, built };
    vec![
        report(Library::Gmp, libraries::gmp_version(), Some(gmp)),
        report(Library::OpenSsl, libraries::openssl_version(), None),
        report(Library::AwsLc, libraries::aws_lc_version(), None),
        report(Library::S2nBignum, "as this AWS-LC carries it".to_owned(), None),
    ]
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
