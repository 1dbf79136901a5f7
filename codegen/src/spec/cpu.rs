//! The meaning of a CPU file: its name, and what it prefers.

use crate::error::{Hint, Noun, Problem, Problems, Reason, Shown, Source};
use crate::spec::kernel::is_name;
use crate::spec::raw::CpuFile;
use crate::spec::types::{Cost, CpuSpec, Identify, Machine};
use crate::spec::vocabulary::Vocabulary;
use std::path::Path;

/// A CPU's name: the stem of its file.
pub(crate) fn name(file: &str) -> String {
    Path::new(file).file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The CPU of a file; nothing when a part of it is missing, which is then among the problems.
pub(crate) fn cpu(file: CpuFile, source: &Source, vocabulary: &Vocabulary, problems: &mut Problems) -> Option<CpuSpec> {
    let name = name(source.file());
    if !is_name(&name) {
        let reason = Reason::BadName { noun: Noun::Cpu, name: Shown::new(&name) };
        problems.push(Problem::whole(source.file(), reason));
    } else if name == "source" {
        let reason = Reason::Reserved { noun: Noun::Cpu, name: Shown::new(&name) };
        problems.push(Problem::whole(source.file(), reason));
    }
    let prefer = file.prefer.map(|prefer| prefer.value).unwrap_or_default();
    for (kernel, variant) in &prefer {
        let valid = (vocabulary.strategies)(kernel);
        for alternative in variant.split('|') {
            let strategy = alternative.trim().split('.').next().unwrap_or_default();
            if !valid.contains(&strategy) {
                let hint = Hint::nearest(strategy, valid.iter().copied());
                let context = format!("of kernel {}", kernel.value);
                let reason = Reason::UnknownWord { noun: Noun::Strategy, word: Shown::new(strategy), context };
                problems.push(Problem::at(source, variant.span.clone(), reason).hint(hint));
            }
        }
    }
    let identify = match file.identify {
        Some(table) => {
            let table = table.value;
            let models = table.models?.value.iter().map(|model| model.value).collect();
            Some(Identify { vendor: table.vendor?, family: table.family?, models })
        }
        None => None,
    };
    let machine = match file.machine {
        Some(table) => Machine { issue_width: table.value.issue_width?.value, window: table.value.window?.value },
        None => Machine::default(),
    };
    let cost = file.cost.map(|cost| cost.value).unwrap_or_default();
    Some(CpuSpec {
        file: source.file().to_owned(),
        text: source.text().to_owned(),
        name,
        features: file.features.map(|features| features.value).unwrap_or_default(),
        identify,
        machine,
        cost: cost
            .into_iter()
            .map(|(key, pair)| (key.value, Cost { latency: pair.0.0, per_cycle: pair.1.0 }))
            .collect(),
        prefer: prefer.into_iter().map(|(kernel, variant)| (kernel.value, variant)).collect(),
    })
}
