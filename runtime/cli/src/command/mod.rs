//! One file a command: asks, fills in the JSON document, draws it. Here: what several of them ask.

pub mod compare;
pub mod cpu;
pub mod explain;
pub mod list;
pub mod report;
pub mod show;
pub mod spec;
pub mod speed;
pub mod sweep;
pub mod tune;
pub mod verify;

use kiln_kernels::catalogue::Kernel;
use kiln_runtime::candidate::{Candidate, lineup};
use kiln_runtime::detect::Cpu;
use kiln_runtime::provide::{Provided, Provider};
use serde::Serialize;

use crate::Context;
use crate::failure::Failure;
use crate::names::select;

/// The specs in force.
pub fn specs(context: &Context<'_>) -> Result<Provider, Failure> {
    match &context.folder {
        None => Ok(Provider::shipped()),
        Some(folder) => Provider::with_folder(folder).map_err(|problems| context.refused(problems)),
    }
}

/// A kernel and everything that computes it.
pub struct Lineup {
    /// The kernel, with the size classes of the specs in force.
    pub kernel: &'static Kernel,
    /// Candidates that are not shipped.
    pub made: Vec<Candidate>,
    /// Variants that the specs ask for and that were not made.
    pub left_out: Vec<LeftOut>,
}

/// A variant that was not made.
#[derive(Clone, Debug, Serialize)]
pub struct LeftOut {
    /// Its name.
    pub variant: String,
    /// Why.
    pub why: String,
}

impl Lineup {
    /// Every candidate, as the tuner sees them.
    pub fn candidates(&self) -> Vec<Candidate> {
        lineup(self.kernel, self.made.iter().cloned())
    }

    /// The candidate of that name.
    pub fn find(&self, name: &str) -> Option<Candidate> {
        self.candidates().into_iter().find(|candidate| candidate.name() == name)
    }
}

/// The kernels that the words select. Nothing is generated unless a folder of specs is in force.
pub fn lineups(context: &Context<'_>, provider: &Provider, words: &[String]) -> Result<Vec<Lineup>, Failure> {
    let shipped: Vec<&'static Kernel> = kiln_kernels::kernels().collect();
    let mut lineups = Vec::new();
    for kernel in select(&shipped, |kernel| kernel.name, words)? {
        let provided = match context.folder {
            None => Provided::default(),
            Some(_) => provider.provide(kernel).map_err(|problems| context.refused(problems))?,
        };
        let kernel = provider.kernel(kernel).map_err(|problems| context.refused(problems))?;
        let mut made = provided.candidates;
        made.extend((context.hooks.candidates)(kernel));
        let left_out =
            provided.left_out.into_iter().map(|(variant, why)| LeftOut { variant, why: why.to_string() }).collect();
        lineups.push(Lineup { kernel, made, left_out });
    }
    Ok(lineups)
}

/// Who the CPU is, in documents.
#[derive(Clone, Debug, Serialize)]
pub struct Identity {
    /// CPUID's vendor string.
    pub vendor: String,
    /// Marketing name.
    pub brand: String,
    /// Family, extended family included.
    pub family: u32,
    /// Model, extended model included.
    pub model: u32,
    /// Stepping.
    pub stepping: u32,
    /// Microcode revision in hex.
    pub microcode: Option<String>,
    /// Whether a hypervisor shows itself.
    pub hypervisor: bool,
    /// What a stored decision depends on.
    pub fingerprint: String,
}

impl Identity {
    /// That of a CPU.
    pub fn of(cpu: &Cpu) -> Identity {
        Identity {
            vendor: cpu.vendor.clone(),
            brand: cpu.brand.clone(),
            family: cpu.family,
            model: cpu.model,
            stepping: cpu.stepping,
            microcode: cpu.microcode.map(|revision| format!("{revision:#x}")),
            hypervisor: cpu.hypervisor,
            fingerprint: cpu.fingerprint(),
        }
    }

    /// The name for people.
    pub fn name(&self) -> &str {
        if self.brand.is_empty() { "a CPU without a name" } else { &self.brand }
    }
}

/// Whether machine code can be made in this process.
#[derive(Clone, Debug, Serialize)]
pub struct MachineCode {
    /// Whether it can.
    pub available: bool,
    /// Why not.
    pub why: Option<String>,
}

impl MachineCode {
    /// The answer of the probe.
    pub fn probed() -> MachineCode {
        let probe = kiln_runtime::exec::probe();
        MachineCode { available: probe.is_ok(), why: probe.err().map(|refused| refused.to_string()) }
    }

    /// In words.
    pub fn words(&self) -> &str {
        self.why.as_deref().unwrap_or("memory can be made executable (a function in it was run)")
    }
}

/// The name without its kernel.
pub fn short(name: &str) -> &str {
    name.split_once('/').map_or(name, |(_, short)| short)
}
