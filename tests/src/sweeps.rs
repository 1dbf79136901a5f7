//! Sweeps that nobody made: the lines of a file as `kiln sweep` would write them, from a seed and a cost that is known.

use kiln_runtime::random::Random;
use serde_json::{Map, Value, json};

/// A machine that does not exist.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Machine {
    /// Its name.
    pub name: &'static str,
    /// CPUID's family.
    pub family: u32,
    /// Ticks of its clock in a microsecond.
    pub rate: u32,
    /// How many ticks a limb costs here for one on the first machine, for each strategy in turn.
    pub factors: [f64; 4],
}

/// Two machines that disagree about strategies.
pub const MACHINES: [Machine; 2] = [
    Machine { name: "Example Rocket 9", family: 25, rate: 2445, factors: [1.0, 1.0, 1.0, 1.0] },
    Machine { name: "Example Turtle 3", family: 6, rate: 3000, factors: [1.1, 1.25, 1.05, 1.45] },
];

/// The strategies: name, ticks a limb, ticks a call, ticks a turn of the loop, features.
const STRATEGIES: [(&str, f64, f64, f64); 4] =
    [("portable", 2.5, 7.0, 0.6), ("mul", 1.95, 5.0, 0.5), ("mulx", 1.5, 5.5, 1.2), ("mulx_adx", 1.03, 6.5, 2.4)];

/// What is swept, and how noisy it is.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// Seed of the noise.
    pub seed: u64,
    /// Identity of the run.
    pub run: String,
    /// When it began.
    pub started: String,
    /// Where.
    pub machine: Machine,
    /// The kernels.
    pub kernels: Vec<String>,
    /// Unroll factors.
    pub unrolls: Vec<u32>,
    /// Lengths.
    pub sizes: Vec<u64>,
    /// Schedules: names of seeds.
    pub schedules: Vec<String>,
    /// Windows of a point.
    pub windows: usize,
    /// Standard deviation of a window, as a fraction.
    pub noise: f64,
    /// What the whole sweep costs more.
    pub factor: f64,
    /// Variants that cost more, and how many times: by a part of their name.
    pub changed: Vec<(String, f64)>,
}

impl Sweep {
    /// The sweep that the issue asks for: 4 strategies, 16 unrolls, 6 sizes.
    pub fn usual(seed: u64) -> Sweep {
        Sweep {
            seed,
            run: format!("{:016x}", Random::new(seed).word()),
            started: format!("2026-11-30T12:00:{:02}Z", seed % 60),
            machine: MACHINES[0],
            kernels: vec!["limb64.mul_add".to_owned()],
            unrolls: vec![1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32],
            sizes: vec![4, 8, 16, 32, 64, 128],
            schedules: vec!["source".to_owned()],
            windows: 40,
            noise: 0.004,
            factor: 1.0,
            changed: Vec::new(),
        }
    }

    /// The true cost of a variant: ticks a limb.
    fn cost(&self, strategy: usize, unroll: u32, schedule: usize, n: u64) -> f64 {
        let (_, limb, call, turn) = STRATEGIES[strategy];
        let (u, n) = (f64::from(unroll), n as f64);
        let tail = (n % u).min(u / 2.0) * 0.35 + u * 0.12;
        let cache = (u - 20.0).max(0.0) * 0.004;
        let order = 1.0 + 0.006 * schedule as f64 * if unroll.is_multiple_of(2) { 1.0 } else { -0.5 };
        (limb * order + cache + turn / u + (call + tail) / n) * self.machine.factors[strategy] * self.factor
    }

    /// The lines, the header first.
    pub fn lines(&self) -> Vec<String> {
        let mut random = Random::new(self.seed);
        let mut lines = vec![ordered(&self.header(), &["schema", "kind"])];
        for kernel in &self.kernels {
            for &n in &self.sizes {
                for strategy in 0..STRATEGIES.len() {
                    for (schedule, word) in self.schedules.iter().enumerate() {
                        for &unroll in &self.unrolls {
                            let point = self.point(kernel, n, strategy, (schedule, word), unroll, &mut random);
                            lines.push(ordered(&point, &["kind"]));
                        }
                    }
                }
            }
        }
        lines
    }

    /// The text of the file.
    pub fn text(&self) -> String {
        self.lines().join("\n") + "\n"
    }

    fn header(&self) -> Value {
        json!({
            "schema": "kiln.sweep/1", "kind": "header", "run": self.run, "kiln": "0.1.0",
            "cpu": {
                "name": self.machine.name, "vendor": "ExampleChips", "family": self.machine.family, "model": 1, "stepping": 0,
                "features": ["sse2", "bmi2", "adx"], "cores": 2,
            },
            "timer": {"name": "time stamp counter", "ticks_per_microsecond": self.machine.rate, "step": 36},
            "load": [0.25, 0.5, 0.5], "spec_hash": "1122334455667788", "code_hash": "8877665544332211", "seed": self.seed,
            "mode": "throughput", "precision": 0.01, "shard": null, "strategy": "exhaustive", "started": self.started,
            "command": ["kiln", "sweep", "limb64.mul_add"],
        })
    }

    fn point(
        &self,
        kernel: &str,
        n: u64,
        strategy: usize,
        (schedule, word): (usize, &str),
        unroll: u32,
        random: &mut Random,
    ) -> Value {
        let name = STRATEGIES[strategy].0;
        let ending = if word == "source" { String::new() } else { format!(".s_{word}") };
        let variant = format!("{name}.u{unroll}{ending}");
        let mut set = Map::new();
        set.insert("unroll".to_owned(), unroll.into());
        set.insert("schedule".to_owned(), word.into());
        let id = format!("{:016x}", fingerprint(&format!("{kernel}/{variant}/{n}")));
        let mut point = json!({
            "kind": "point", "run": self.run, "id": id, "kernel": kernel, "variant": variant, "strategy": name, "set": set, "n": n,
            "unit": "limb", "mode": "throughput", "level": 0.95, "at": 0.5,
        });
        let fields = point.as_object_mut().expect("an object");
        if name == "mulx_adx" && unroll == 28 {
            fields.insert("state".to_owned(), "refused".into());
            fields.insert("why".to_owned(), "unroll 28 needs 17 registers".into());
            return point;
        }
        let changed = self.changed.iter().filter(|(part, _)| variant.contains(part.as_str()));
        let factor: f64 = changed.map(|(_, factor)| factor).product();
        let cost = self.cost(strategy, unroll, schedule, n) * factor;
        let calls = (20_000.0 / (cost * n as f64)).ceil();
        let windows: Vec<u64> =
            (0..self.windows).map(|_| (cost * n as f64 * calls * self.noise(random)).round() as u64).collect();
        let mut sorted = windows.clone();
        sorted.sort_unstable();
        let scale = 1.0 / (n as f64 * calls);
        let at = |index: usize| sorted[index.min(sorted.len() - 1)] as f64 * scale;
        let quartile = ((sorted.len() - 1) as f64 * 0.25) as usize;
        // About a 95 % interval: 1.96 standard deviations of a binomial count.
        let away = (1.96 * (sorted.len() as f64 * 0.1875).sqrt()).ceil() as usize;
        let (_, limb, call, turn) = STRATEGIES[strategy];
        let predicted =
            (limb * 0.96 + turn * 0.8 / f64::from(unroll) + call * 1.1 / n as f64) * self.machine.factors[strategy];
        let instructions = 12 + unroll * (4 + strategy as u32);
        let rest = json!({
            "state": "measured", "why": null, "units": n, "limit": 1.0, "calls": calls as u64, "windows": windows,
            "ticks": at(quartile), "low": at(quartile.saturating_sub(away)), "high": at(quartile + away),
            "static": {
                "instructions": instructions, "bytes": instructions * 5, "spills": u32::from(unroll > 16),
                "critical_path": predicted * 0.7, "bound": predicted * 0.9, "predicted": predicted,
            },
        });
        fields.extend(rest.as_object().expect("an object").clone());
        point
    }

    /// Nearly normal, with an interrupt now and then.
    fn noise(&self, random: &mut Random) -> f64 {
        let unit = |random: &mut Random| random.word() as f64 / u64::MAX as f64;
        let sum: f64 = (0..6).map(|_| unit(random)).sum();
        let interrupt = if random.below(50) == 0 { 1.0 + unit(random) } else { 1.0 };
        (1.0 + (sum - 3.0) / 0.5f64.sqrt() * self.noise) * interrupt
    }
}

/// The object in a line, these keys first.
fn ordered(object: &Value, first: &[&str]) -> String {
    let mut rest = object.as_object().expect("an object").clone();
    let taken = first.iter().map(|key| format!("\"{key}\":{}", rest.remove(*key).expect("the key")));
    let taken = taken.collect::<Vec<_>>().join(",");
    format!("{{{taken},{}", &Value::Object(rest).to_string()[1..])
}

/// FNV-1a.
fn fingerprint(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}
