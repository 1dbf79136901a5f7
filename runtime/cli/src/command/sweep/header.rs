//! The line that a run begins with.

use kiln_runtime::detect::Native;
use kiln_runtime::provide::Provider;
use kiln_runtime::random::Random;
use kiln_runtime::timer::{Clock, SystemClock, Unit};
use sha2::{Digest, Sha256};

use crate::args::SweepOptions;
use crate::sweep::record::{Cpu, Header, HeaderKind, QUANTILE, Schema, Search, Timer};

/// An identity for a run.
pub fn run_id(clock: &dyn Clock) -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let mixed = since.as_nanos() as u64 ^ u64::from(std::process::id()).rotate_left(32) ^ clock.now();
    format!("{:016x}", Random::new(mixed).word())
}

/// The first line of a run.
pub fn header(provider: &Provider, cpu: &Native, clock: &SystemClock, options: &SweepOptions, run: &str) -> Header {
    // Of everything, so that sweeps of different kernels by one program agree.
    let spec_hashes = provider.specs().kernels.iter().map(|spec| format!("{} {}", spec.kernel.value, spec.hash));
    let variants = kiln_kernels::kernels().flat_map(|kernel| kernel.variants);
    let code = variants.map(|variant| format!("{} {}", variant.name, variant.code_hash));
    Header {
        schema: Schema,
        kind: HeaderKind,
        run: run.to_owned(),
        kiln: env!("CARGO_PKG_VERSION").to_owned(),
        cpu: Cpu {
            name: cpu.brand.clone(),
            vendor: cpu.vendor.clone(),
            family: cpu.family,
            model: cpu.model,
            stepping: cpu.stepping,
            features: cpu.features.iter().map(|feature| feature.name().to_owned()).collect(),
            cores: std::thread::available_parallelism()
                .map_or(0, |cores| u32::try_from(cores.get()).unwrap_or(u32::MAX)),
        },
        timer: Timer {
            name: if clock.unit() == Unit::Ticks { "time stamp counter" } else { "monotonic clock" }.to_owned(),
            ticks_per_microsecond: clock.microsecond() as f64,
            step: clock.step(),
        },
        load: load(),
        spec_hash: digest(spec_hashes),
        code_hash: digest(code),
        seed: options.seed,
        mode: options.mode,
        precision: Some(options.precision),
        shard: options.shard.map(|shard| format!("{}/{}", shard.index, shard.of)),
        strategy: if options.sample.is_some() && options.strategy == Search::Exhaustive {
            Search::Random
        } else {
            options.strategy
        },
        quantile: QUANTILE,
        started: jiff::Timestamp::now().round(jiff::Unit::Second).unwrap_or_default().to_string(),
        command: std::env::args().skip(1).collect(),
    }
}

/// 16 hex digits of the parts.
fn digest(parts: impl Iterator<Item = String>) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part.as_bytes());
        hasher.update([0]);
    }
    hasher.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// The load averages, where Linux tells them.
fn load() -> Option<[f64; 3]> {
    let text = std::fs::read_to_string("/proc/loadavg").ok()?;
    let numbers: Vec<f64> = text.split_whitespace().take(3).filter_map(|word| word.parse().ok()).collect();
    numbers.try_into().ok()
}
