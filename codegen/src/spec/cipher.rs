//! The meaning of a block cipher's keys, rounds and mode, and the kernels for each size of its key. Knows no round.

use crate::error::{Reason, Shown};
use crate::spec::kernel::Check;
use crate::spec::place::At;
use crate::spec::raw::{KernelFile, ModeTable, Term};
use crate::spec::types::{Argument, ArgumentKind, Cipher, KernelSpec, Length, Mode};
use std::fmt;
use std::sync::Arc;

/// Names that stand for numbers in the lengths of a cipher's arguments.
pub(crate) const CONSTANTS: &[&str] = &["rounds", "key_bytes"];

/// The key that says what such a name stands for.
pub(crate) fn defines(constant: &str) -> Option<&'static str> {
    match constant {
        "rounds" => Some("rounds"),
        "key_bytes" => Some("key_bits"),
        _ => None,
    }
}

/// The kernel of `spec` for one size of the key: named after it, with its constants in the lengths.
pub(crate) fn of_key(spec: &KernelSpec, cipher: Cipher) -> KernelSpec {
    let constant = |name: &str| match name {
        "rounds" => Some(cipher.rounds),
        "key_bytes" => Some(cipher.key_bits / 8),
        _ => None,
    };
    let known = |length: &Length| {
        let value = |(name, times): &(String, u32)| constant(name).map(|value| value * times);
        Length {
            terms: length.terms.iter().filter(|(name, _)| constant(name).is_none()).cloned().collect(),
            plus: length.terms.iter().filter_map(value).sum::<u32>() + length.plus,
        }
    };
    let argument = |argument: &Argument| {
        let kind = match &argument.kind {
            ArgumentKind::Limbs { length } => ArgumentKind::Limbs { length: known(length) },
            ArgumentKind::Bytes { length, align } => ArgumentKind::Bytes { length: known(length), align: *align },
            kind @ (ArgumentKind::Count { .. } | ArgumentKind::Limb) => kind.clone(),
        };
        Argument { kind, ..argument.clone() }
    };
    let kernel = At::new(name_of(&spec.kernel, cipher.key_bits), spec.kernel.span.clone());
    let arguments = spec.arguments.iter().map(argument).collect();
    KernelSpec { kernel, arguments, cipher: Some(cipher), ..spec.clone() }
}

/// `aes.cbc_decrypt` and 128 to `aes128.cbc_decrypt`: the number stands behind the cipher.
fn name_of(kernel: &str, key_bits: u32) -> String {
    let cipher = kernel.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(kernel.len());
    let (cipher, rest) = kernel.split_at(cipher);
    format!("{cipher}{key_bits}{rest}")
}

/// The names of a file's kernels, for messages about names that are taken.
pub(crate) fn names(file: &KernelFile) -> Vec<String> {
    let Some(kernel) = &file.kernel else { return Vec::new() };
    match &file.key_bits {
        None => vec![kernel.value.clone()],
        Some(bits) => bits.iter().map(|bits| name_of(kernel, bits.value)).collect(),
    }
}

/// Why a cipher's tables do not agree.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Odd {
    MadeName { made: Shown, name: Shown },
    KeyBits,
    Rounds(usize, usize),
    Counter,
    CounterOutput,
    ChainOutput,
    TwoChains,
    Streams,
}

impl fmt::Display for Odd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Odd::MadeName { made, name } => {
                write!(
                    f,
                    "`{made}` is what a made kernel is called: write `{name}`, and the size of its key in key_bits"
                )
            }
            Odd::KeyBits => f.write_str("the bits of a key are a multiple of 64"),
            Odd::Rounds(got, keys) => {
                write!(f, "rounds has one number for each of key_bits, which are {keys}; there are {got}")
            }
            Odd::Counter => f.write_str("counter_bits and the word `counter` in input go together"),
            Odd::CounterOutput => f.write_str("a counter is enciphered: it stands in input"),
            Odd::ChainOutput => f.write_str("the output block before is enciphered: `previous out` stands in input"),
            Odd::TwoChains => {
                f.write_str("of `previous in`, `previous out` and `counter` a mode has one: the iv is its first")
            }
            Odd::Streams => {
                f.write_str("streams are for a mode whose input has `previous out`: others have blocks in flight")
            }
        }
    }
}

impl std::error::Error for Odd {}

impl Check<'_> {
    /// The ciphers of a file's kernels; `Some(None)` for one that is of no cipher, `None` after a problem.
    pub(super) fn ciphers(&mut self, file: &KernelFile) -> Option<Option<Vec<Cipher>>> {
        let Some(bits) = &file.key_bits else {
            // What is missing has been said once, of the kernel or of a key that was meant to be this one.
            if self.lacks_key_bits(file) {
                return None;
            }
            let needs = || "key_bits".to_owned();
            if let Some(rounds) = &file.rounds {
                self.report(rounds.span.clone(), Reason::Needs { key: "rounds".to_owned(), needs: needs() }, None);
            }
            if let Some(mode) = &file.mode {
                self.report(mode.span.clone(), Reason::Needs { key: "mode".to_owned(), needs: needs() }, None);
            }
            let none = file.rounds.is_none() && file.mode.is_none();
            return none.then_some(None);
        };
        let Some(rounds) = &file.rounds else {
            if self.damage.hit(&self.whole(), "rounds") {
                return None;
            }
            let reason = Reason::Needs { key: "key_bits".to_owned(), needs: "rounds".to_owned() };
            self.report(bits.span.clone(), reason, None);
            return None;
        };
        let mut odd = None;
        if let Some(bits) = bits.iter().find(|bits| bits.value % 64 != 0) {
            odd = Some((bits.span.clone(), Odd::KeyBits));
        } else if rounds.len() != bits.len() {
            odd = Some((rounds.span.clone(), Odd::Rounds(rounds.len(), bits.len())));
        }
        if let Some((span, odd)) = odd {
            self.report(span, Reason::Stage(Arc::new(odd)), None);
            return None;
        }
        let mode = match &file.mode {
            None => None,
            Some(table) => Some(self.mode(table)?),
        };
        let cipher = |(bits, rounds): (&At<u32>, &At<u32>)| Cipher {
            key_bits: bits.value,
            rounds: rounds.value,
            mode: mode.clone(),
        };
        Some(Some(bits.iter().zip(rounds.iter()).map(cipher).collect()))
    }

    fn mode(&mut self, table: &At<ModeTable>) -> Option<Mode> {
        let values = |list: &Option<At<Vec<At<Term>>>>| -> Vec<Term> {
            list.iter().flat_map(|list| &list.value).map(|term| term.value).collect()
        };
        let mode = Mode {
            input: values(&table.input),
            cipher: table.cipher.as_ref()?.value,
            output: values(&table.output),
            counter_bits: table.counter_bits.as_ref().map_or(0, |bits| bits.value),
            streams: table.streams.as_ref().map_or(1, |streams| streams.value),
        };
        // A part that was refused may be what the others lack.
        let hidden = ["input", "output", "counter_bits"].iter().any(|key| self.damage.hit(&table.span, key));
        if mode.input.is_empty() || hidden {
            return None;
        }
        let chains = [Term::PreviousIn, Term::PreviousOut, Term::Counter];
        let chains = chains.into_iter().filter(|chain| mode.terms().any(|term| term == *chain)).count();
        let counts = mode.input.contains(&Term::Counter);
        let odd = if mode.output.contains(&Term::Counter) {
            Some(Odd::CounterOutput)
        } else if mode.output.contains(&Term::PreviousOut) {
            Some(Odd::ChainOutput)
        } else if counts != (mode.counter_bits > 0) {
            Some(Odd::Counter)
        } else if chains > 1 {
            Some(Odd::TwoChains)
        } else if mode.streams > 1 && !mode.serial() {
            Some(Odd::Streams)
        } else {
            None
        };
        if let Some(odd) = odd {
            self.report(table.span.clone(), Reason::Stage(Arc::new(odd)), None);
            return None;
        }
        Some(mode)
    }

    /// A cipher's kernel says how long its keys are, and no other kernel does.
    pub(super) fn keyed(&mut self, file: &KernelFile) {
        let Some(kernel) = &file.kernel else { return };
        let keyed = (self.vocabulary.is_keyed)(kernel);
        if let Some(name) = self.of_a_made(kernel) {
            let odd = Odd::MadeName { made: Shown::new(kernel), name: Shown::new(&name) };
            self.report(kernel.span.clone(), Reason::Stage(Arc::new(odd)), None);
            return;
        }
        match &file.key_bits {
            None if keyed && !self.damage.hit(&self.whole(), "key_bits") => {
                let needs = "key_bits".to_owned();
                self.report(kernel.span.clone(), Reason::Needs { key: kernel.value.clone(), needs }, None);
            }
            Some(bits) if !keyed => {
                let needs = "a block cipher's kernel".to_owned();
                self.report(bits.span.clone(), Reason::Needs { key: "key_bits".to_owned(), needs }, None);
            }
            _ => {}
        }
    }

    /// Whether a file is meant to have `key_bits` and has not, so that its constants and its mode wait for them.
    pub(super) fn lacks_key_bits(&self, file: &KernelFile) -> bool {
        let of_cipher = |kernel: &At<String>| (self.vocabulary.is_keyed)(kernel) || self.of_a_made(kernel).is_some();
        let hidden = self.damage.hit(&self.whole(), "key_bits");
        file.key_bits.is_none() && (hidden || file.kernel.as_ref().is_some_and(of_cipher))
    }

    /// `aes128.ctr32` to `aes.ctr32`: what a spec is called that makes the kernel of this name.
    fn of_a_made(&self, kernel: &str) -> Option<String> {
        let digits = kernel.find(|c: char| !c.is_ascii_lowercase())?;
        let (cipher, rest) = kernel.split_at(digits);
        let name = format!("{cipher}{}", rest.trim_start_matches(|c: char| c.is_ascii_digit()));
        (name != kernel && (self.vocabulary.is_keyed)(&name)).then_some(name)
    }
}
