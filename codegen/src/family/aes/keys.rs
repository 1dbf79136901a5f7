//! Round keys with the AES instructions: the key schedule (FIPS 197, section 5.2) and the keys of the equivalent inverse cipher
//! (section 5.3.5). No instruction here takes a time that depends on the key.

use crate::family::{Contract, Lowering};
use crate::ir::typed::{Gpr, Xmm};
use crate::ir::{Builder, Func, Virtual};
use crate::spec::Cipher;

/// Bytes of a round key.
const KEY: i32 = 16;

fn cipher<'a>(lowering: &Lowering<'a>) -> &'a Cipher {
    lowering.cipher.expect("a kernel of a cipher")
}

/// inverse := the keys of the equivalent inverse cipher in the order of their use.
pub(super) fn invert(contract: &Contract, lowering: &Lowering<'_>) -> Func<Virtual> {
    let mut builder = Builder::new(lowering.name, contract.limb_bits);
    let b = &mut builder;
    let inverse = lowering.declare(b, contract, 0, 0);
    let keys = lowering.declare(b, contract, 1, 1);
    let rounds = cipher(lowering).rounds as i32;
    for round in 0..=rounds {
        let key = b.xmm();
        let (from, to) = (b.at(1, keys, KEY * (rounds - round)), b.at(0, inverse, KEY * round));
        b.movdqa_load(key, from);
        if (1..rounds).contains(&round) {
            b.aesimc(key, key);
        }
        b.movdqa_store(to, key);
    }
    builder.finish(None, None)
}

/// keys := the round keys of a key.
pub(super) fn expand(contract: &Contract, lowering: &Lowering<'_>) -> Func<Virtual> {
    let mut builder = Builder::new(lowering.name, contract.limb_bits);
    let b = &mut builder;
    let keys = lowering.declare(b, contract, 0, 0);
    let key = lowering.declare(b, contract, 1, 1);
    let cipher = cipher(lowering);
    let words = cipher.key_bits / 32;
    let (low, high) = (b.xmm(), b.xmm());
    let from = b.at(1, key, 0);
    b.movdqu_load(low, from);
    let from = b.at(1, key, KEY);
    match words {
        4 => {}
        6 => b.movq_load_x(high, from),
        _ => b.movdqu_load(high, from),
    }
    let mut store = Store { keys, at: 0, end: KEY * (cipher.rounds as i32 + 1) };
    let mut constant = 1u8;
    loop {
        store.words(b, low, 4);
        match words {
            4 => {}
            6 => store.words(b, high, 2),
            _ => store.words(b, high, 4),
        }
        if store.done() {
            break;
        }
        b.note("the words after the next round constant");
        let last = if words == 4 { low } else { high };
        let lane = if words == 6 { 0b01_01_01_01 } else { 0b11_11_11_11 };
        let turned = b.xmm();
        b.aeskeygenassist(turned, last, i64::from(constant));
        b.pshufd(turned, turned, lane);
        sums_of_words(b, low, 3);
        b.pxor_x(low, turned);
        match words {
            4 => {}
            6 => {
                let last = b.xmm();
                b.pshufd(last, low, 0b11_11_11_11);
                sums_of_words(b, high, 1);
                b.pxor_x(high, last);
            }
            _ => {
                let substituted = b.xmm();
                b.aeskeygenassist(substituted, low, 0);
                b.pshufd(substituted, substituted, 0b10_10_10_10);
                sums_of_words(b, high, 3);
                b.pxor_x(high, substituted);
            }
        }
        constant = constant << 1 ^ if constant & 0x80 == 0 { 0 } else { 0x1b };
    }
    builder.finish(None, None)
}

/// Each word := the XOR of it and of all (at most `steps`) words below it.
fn sums_of_words(b: &mut Builder, words: Xmm, steps: u32) {
    let shifted = b.xmm();
    b.movdqa_x(shifted, words);
    for _ in 0..steps {
        b.pslldq(shifted, 4);
        b.pxor_x(words, shifted);
    }
}

/// Words on their way into the schedule, which ends before them in the last turn.
struct Store {
    keys: Gpr,
    at: i32,
    end: i32,
}

impl Store {
    fn done(&self) -> bool {
        self.at >= self.end
    }

    fn words(&mut self, b: &mut Builder, words: Xmm, count: i32) {
        let left = (self.end - self.at) / 4;
        let place = b.at(0, self.keys, self.at);
        match count.min(left) {
            ..=0 => {}
            1..=3 => b.movq_store_x(place, words),
            _ => b.movdqu_store(place, words),
        }
        self.at += 4 * count;
    }
}
