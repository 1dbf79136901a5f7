//! `kiln cpu`: what was detected.

use kiln_codegen::isa::feature::Feature;
use kiln_runtime::detect::{Cpu, Hidden};
use kiln_runtime::provide::Provider;
use kiln_runtime::timer::{Clock, SystemClock, Unit};
use serde::Serialize;

use crate::Context;
use crate::canvas::{Canvas, Tone};
use crate::command::{Identity, MachineCode, specs};
use crate::failure::Failure;

#[derive(Debug, Serialize)]
struct Document {
    schema: &'static str,
    cpu: Identity,
    features: Vec<&'static str>,
    hidden: Vec<HiddenFeature>,
    errata: Vec<Erratum>,
    absent: Vec<&'static str>,
    cpu_file: Option<CpuFile>,
    timer: Timer,
    machine_code: MachineCode,
}

#[derive(Debug, Serialize)]
struct HiddenFeature {
    feature: &'static str,
    why: String,
}

#[derive(Debug, Serialize)]
struct Erratum {
    name: &'static str,
    what: &'static str,
    features: Vec<&'static str>,
}

#[derive(Debug, Serialize)]
struct CpuFile {
    name: String,
    file: String,
}

#[derive(Debug, Serialize)]
struct Timer {
    kind: &'static str,
    unit: &'static str,
    step: u64,
    per_microsecond: u64,
}

/// Describes the CPU.
pub fn run(context: &Context<'_>) -> Result<bool, Failure> {
    let provider = specs(context)?;
    let native = context.cpu();
    let clock = SystemClock::new(&native);
    let document = describe(&native, &provider, timer(&clock), MachineCode::probed());
    context.print(&document, |canvas| draw(&document, canvas))?;
    Ok(true)
}

fn describe(cpu: &Cpu, provider: &Provider, timer: Timer, machine_code: MachineCode) -> Document {
    let hidden =
        cpu.hidden.iter().map(|(feature, why)| HiddenFeature { feature: feature.name(), why: why.to_string() });
    let mut errata: Vec<Erratum> = Vec::new();
    for (feature, why) in &cpu.hidden {
        if let Hidden::Erratum(name, what) = *why {
            match errata.iter_mut().find(|erratum| (erratum.name, erratum.what) == (name, what)) {
                Some(erratum) => erratum.features.push(feature.name()),
                None => errata.push(Erratum { name, what, features: vec![feature.name()] }),
            }
        }
    }
    let is_absent =
        |feature: &Feature| !cpu.features.contains(*feature) && !cpu.hidden.iter().any(|(hidden, _)| hidden == feature);
    Document {
        schema: "kiln.cpu/1",
        cpu: Identity::of(cpu),
        features: cpu.features.names(),
        hidden: hidden.collect(),
        errata,
        absent: Feature::ALL.iter().filter(|feature| is_absent(feature)).map(|feature| feature.name()).collect(),
        cpu_file: provider.cpu_file(cpu).map(|file| CpuFile { name: file.name.clone(), file: file.file.clone() }),
        timer,
        machine_code,
    }
}

fn timer(clock: &SystemClock) -> Timer {
    Timer {
        kind: match clock.unit() {
            Unit::Ticks => "time stamp counter",
            Unit::Nanoseconds => "monotonic clock",
        },
        unit: clock.unit().word(),
        step: clock.step(),
        per_microsecond: clock.microsecond(),
    }
}

fn draw(document: &Document, canvas: &Canvas) -> String {
    let cpu = &document.cpu;
    let line = |label: &str, words: &str| canvas.wrapped(&format!("  {label:<14}"), words.split(' '));
    let mut text = format!("{}\n\n", canvas.paint(Tone::Strong, cpu.name()));
    if !cpu.vendor.is_empty() {
        let microcode = cpu.microcode.as_ref().map(|revision| format!(", microcode {revision}")).unwrap_or_default();
        let hypervisor = if cpu.hypervisor { ", under a hypervisor" } else { "" };
        let (family, model, stepping) = (cpu.family, cpu.model, cpu.stepping);
        let identity =
            format!("{}, family {family}, model {model}, stepping {stepping}{microcode}{hypervisor}", cpu.vendor);
        text += &line("identity", &identity);
    }
    text += &line(
        "CPU file",
        &match &document.cpu_file {
            Some(file) => format!("{} ({})", file.name, file.file),
            None => "none recognises it; the generic one is used".to_owned(),
        },
    );
    text += &line("features", &document.features.join(" "));
    if !document.absent.is_empty() {
        text += &line("not reported", &document.absent.join(" "));
    }
    for hidden in &document.hidden {
        text += &line("hidden", &format!("{}: {}", hidden.feature, hidden.why));
    }
    text += &line(
        "errata",
        &match document.errata.as_slice() {
            [] => "none applies".to_owned(),
            errata => errata
                .iter()
                .map(|erratum| format!("{}: {}", erratum.name, erratum.what))
                .collect::<Vec<_>>()
                .join("; "),
        },
    );
    let timer = &document.timer;
    let rate = match timer.unit {
        "ns" => String::new(),
        unit => format!("{} {unit}/us, ", timer.per_microsecond),
    };
    text += &line("timer", &format!("{}, {rate}smallest step {} {}", timer.kind, timer.step, timer.unit));
    text += &line("machine code", document.machine_code.words());
    text += &line("fingerprint", &cpu.fingerprint);
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use kiln_codegen::isa::feature::FeatureSet;

    fn fixed() -> Document {
        let cpu = Cpu {
            vendor: "AuthenticAMD".into(),
            brand: "AMD Ryzen 9 5950X".into(),
            family: 25,
            model: 33,
            stepping: 0,
            microcode: Some(0xa20_1016),
            hypervisor: false,
            invariant_tsc: true,
            features: Feature::ALL.iter().copied().take(16).collect::<FeatureSet>(),
            hidden: vec![(Feature::Avx512f, Hidden::Erratum("X1", "it faults"))],
        };
        let timer = Timer { kind: "time stamp counter", unit: "ticks", step: 36, per_microsecond: 3400 };
        describe(&cpu, &Provider::shipped(), timer, MachineCode { available: true, why: None })
    }

    #[test]
    fn the_text_fits_and_says_it_all() {
        let text = draw(&fixed(), &Canvas::plain(100));
        assert!(text.lines().all(|line| line.len() <= 100 || line.contains("features=")), "{text}");
        for part in [
            "AMD Ryzen 9 5950X\n",
            "  identity      AuthenticAMD, family 25, model 33, stepping 0, microcode 0xa201016\n",
            "  CPU file      zen3 (specs/cpus/zen3.toml)\n",
            "  not reported  avx512ifma\n",
            "  hidden        avx512f: erratum X1: it faults\n",
            "  errata        X1: it faults\n",
            "  timer         time stamp counter, 3400 ticks/us, smallest step 36 ticks\n",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }

    #[test]
    fn the_document_has_its_shape() {
        let document = serde_json::to_value(fixed()).unwrap();
        assert_eq!(document["schema"], "kiln.cpu/1");
        assert_eq!(document["cpu"]["family"], 25);
        assert_eq!(document["cpu_file"]["name"], "zen3");
        assert_eq!(document["hidden"][0]["feature"], "avx512f");
        assert_eq!(document["errata"][0]["features"][0], "avx512f");
        assert_eq!(document["timer"]["unit"], "ticks");
        assert_eq!(document["machine_code"]["available"], true);
    }
}
