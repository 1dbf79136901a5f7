//! What to use on this CPU before anything is measured: the CPU files' `prefer` tables, as compiled in.

use std::collections::BTreeMap;

use crate::detect::Cpu;
use kiln_kernels::catalogue::CpuPreference;

/// Kernel to the preferred variant (without `KERNEL/`): that of the file which identifies this CPU, and for kernels
/// that it does not name, or when none does, that of the generic file. A preference may name what is not eligible; tuning
/// passes over it.
pub fn preferences(cpu: &Cpu) -> BTreeMap<String, String> {
    choose(cpu, kiln_kernels::preferences())
}

fn choose(cpu: &Cpu, files: impl Iterator<Item = &'static CpuPreference>) -> BTreeMap<String, String> {
    let mut chosen = BTreeMap::new();
    let mut own = Vec::new();
    for file in files {
        match file.identity {
            None => own.insert(0, file),
            Some(identity) => {
                let same = identity.vendor == cpu.vendor && identity.family == cpu.family;
                if same && identity.models.contains(&cpu.model) {
                    own.push(file);
                }
            }
        }
    }
    for (kernel, variant) in own.iter().flat_map(|file| file.prefer) {
        let short = variant.split_once('/').map_or(*variant, |(_, short)| short);
        chosen.insert((*kernel).to_owned(), short.to_owned());
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;
    use kiln_kernels::catalogue::CpuIdentity;

    static FILES: [CpuPreference; 2] = [
        CpuPreference {
            name: "mine",
            identity: Some(CpuIdentity { vendor: "Someone", family: 6, models: &[1, 2] }),
            prefer: &[("k.a", "k.a/fast.u8")],
        },
        CpuPreference { name: "generic", identity: None, prefer: &[("k.a", "k.a/slow"), ("k.b", "k.b/slow")] },
    ];

    fn chosen(vendor: &str, model: u32) -> Vec<(String, String)> {
        let mut cpu = crate::detect::native().cpu().clone();
        cpu.vendor = vendor.to_owned();
        cpu.family = 6;
        cpu.model = model;
        choose(&cpu, FILES.iter()).into_iter().collect()
    }

    #[test]
    fn the_cpus_own_file_goes_before_the_generic_one() {
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(chosen("Someone", 2), [pair("k.a", "fast.u8"), pair("k.b", "slow")]);
        assert_eq!(chosen("Someone", 3), [pair("k.a", "slow"), pair("k.b", "slow")]);
        assert_eq!(chosen("Other", 2), [pair("k.a", "slow"), pair("k.b", "slow")]);
    }
}
