//! What the hardware allows, and what Kiln aims at: known for one CPU at one frequency, so told only there.

use kiln_peers_rust_crypto::setup::Mode;
use kiln_runtime::detect::Cpu;

/// The limits of a CPU, where they are known. Times are in ticks of the time stamp counter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// What they are valid for.
    pub valid_for: &'static str,
    /// Time of one 64-bit multiplication after the other.
    pub multiplication: f64,
    /// Time of one 256-bit round of AES after the other.
    pub aes_round: f64,
    /// Time of one round of AES that waits for the one before it.
    pub aes_latency: f64,
}

/// One multiplication or two rounds of two blocks a cycle; four cycles for a round; all at 4/3 of the counter's frequency.
const ZEN3: Limit =
    Limit { valid_for: "Zen 3, 2.44 GHz TSC", multiplication: 0.75, aes_round: 0.75 / 2.0, aes_latency: 0.75 * 4.0 };

impl Limit {
    /// Most bytes of AES a tick.
    pub fn aes(&self, mode: Mode, rounds: u32) -> f64 {
        let rounds = f64::from(rounds);
        match mode {
            Mode::CbcEncrypt => 16.0 / (rounds * self.aes_latency),
            Mode::EcbEncrypt | Mode::EcbDecrypt | Mode::CbcDecrypt | Mode::Ctr | Mode::GcmCtr => {
                32.0 / (rounds * self.aes_round)
            }
        }
    }
}

/// What Kiln aims at in a mode, in bytes a tick, on the CPU of the limits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aim {
    mode: Mode,
    bits: u32,
    bytes: usize,
    /// What a plain loop over 16 blocks in eight registers reached, against which the pass mark is set.
    pub probe: Option<f64>,
    /// Through the public API.
    pub api: f64,
    /// A kernel that is called directly; at 8 KiB that is the same.
    pub kernel: f64,
}

/// Of the probe, what the API has to reach at 8 KiB.
pub const PASS: f64 = 0.97;

const fn long(mode: Mode, bits: u32, probe: f64, aim: f64) -> Aim {
    Aim { mode, bits, bytes: 8192, probe: Some(probe), api: aim, kernel: aim }
}

const fn short(mode: Mode, kernel: f64, api: f64) -> Aim {
    Aim { mode, bits: 128, bytes: 64, probe: None, api, kernel }
}

#[rustfmt::skip]
static AIMS: &[Aim] = &[
    long(Mode::EcbEncrypt, 128, 8.06, 8.1), long(Mode::EcbEncrypt, 192, 6.66, 6.7), long(Mode::EcbEncrypt, 256, 5.85, 5.9),
    long(Mode::EcbDecrypt, 128, 8.06, 8.1), long(Mode::EcbDecrypt, 192, 6.66, 6.7), long(Mode::EcbDecrypt, 256, 5.85, 5.9),
    long(Mode::CbcDecrypt, 128, 8.01, 8.0), long(Mode::CbcDecrypt, 192, 6.57, 6.6), long(Mode::CbcDecrypt, 256, 5.63, 5.7),
    long(Mode::Ctr, 128, 7.44, 7.6), long(Mode::Ctr, 192, 6.27, 6.4), long(Mode::Ctr, 256, 5.58, 5.6),
    long(Mode::CbcEncrypt, 128, 0.53, 0.53), long(Mode::CbcEncrypt, 192, 0.44, 0.44), long(Mode::CbcEncrypt, 256, 0.38, 0.38),
    short(Mode::EcbEncrypt, 6.2, 4.5),
    short(Mode::EcbDecrypt, 6.2, 4.5),
    short(Mode::CbcDecrypt, 5.3, 3.9),
    short(Mode::Ctr, 4.6, 3.4),
];

/// The aim for this many bytes, if there is one.
pub fn aim(mode: Mode, bits: u32, bytes: usize) -> Option<&'static Aim> {
    AIMS.iter().find(|aim| (aim.mode, aim.bits, aim.bytes) == (mode, bits, bytes))
}

/// The limit on this CPU with a counter of so many gigahertz.
pub fn limit(cpu: &Cpu, gigahertz: f64) -> Option<Limit> {
    let zen3 = cpu.vendor == "AuthenticAMD" && cpu.family == 25 && matches!(cpu.model, 0..=0xf | 0x20..=0x5f);
    (zen3 && (gigahertz - 2.44).abs() < 0.02).then_some(ZEN3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_aes_are_those_of_its_rounds() {
        let rounded = |mode, rounds| (ZEN3.aes(mode, rounds) * 100.0).round() / 100.0;
        assert_eq!([10, 12, 14].map(|rounds| rounded(Mode::EcbEncrypt, rounds)), [8.53, 7.11, 6.10]);
        assert_eq!([10, 12, 14].map(|rounds| rounded(Mode::CbcEncrypt, rounds)), [0.53, 0.44, 0.38]);
    }

    #[test]
    fn no_aim_is_beyond_the_limit() {
        for aim in AIMS {
            assert!(aim.api <= aim.kernel && aim.kernel <= ZEN3.aes(aim.mode, aim.bits / 32 + 6), "{aim:?}");
        }
    }
}
