//! How long is one call of each variant that can run here, at each size class? Every candidate is verified first, so that a
//! bench is also a test. `kiln tune` gives paired comparisons; this gives absolute times and criterion's history.
#![forbid(unsafe_code)]
#![allow(missing_docs, reason = "criterion's macros define undocumented functions")]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use kiln_runtime::candidate::Candidate;
use kiln_runtime::detect::native;
use kiln_runtime::verify::{Arena, Options, verify};
use std::time::Duration;

/// Calls in one iteration, so that a call through the register-keeping harness is not most of what is timed.
const CALLS: u32 = 16;

fn limb(criterion: &mut Criterion) {
    let cpu = native();
    for kernel in kiln_kernels::kernels() {
        let mut verified = Vec::new();
        for variant in kernel.variants {
            match verify(kernel, &Candidate::shipped(variant), &cpu, &Options::default()) {
                Ok(candidate) => verified.push(candidate),
                Err(why) => println!("not here: {}: {why}", variant.name),
            }
        }
        for &n in kernel.sizes {
            let mut group = criterion.benchmark_group(format!("{}/n={n}", kernel.name));
            group.throughput(Throughput::Elements(n * u64::from(CALLS)));
            for candidate in verified.iter().filter(|candidate| candidate.serves(n)) {
                let mut arena = Arena::for_timing(kernel, n, 1, None).expect("memory for the operands");
                let id = BenchmarkId::from_parameter(candidate.candidate().short_name());
                group.bench_function(id, |bencher| bencher.iter(|| arena.repeat(candidate, CALLS)));
            }
            group.finish();
        }
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(Duration::from_millis(200)).measurement_time(Duration::from_millis(500));
    targets = limb
}
criterion_main!(benches);
