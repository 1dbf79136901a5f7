//! The rounds of four blocks, with keys in either form. Knows no mode.

use super::{BLOCK, Block, State, copy, layers, load, sbox, sum};
use crate::family::aes::modes::KEYS;
use crate::ir::Builder;
use crate::ir::typed::{Gpr, Place};
use crate::spec::{Cipher, Direction};

/// Rounds of a loop's trip: after them the rows stand where they stood.
const PERIOD: u32 = 4;

/// The form of round keys in memory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// As FIPS 197 has them, in the order of their use; for the way back those of the equivalent inverse cipher (section 5.3.5).
    Canonical,
    /// As states, those of the cipher whichever way it runs.
    Sliced,
}

impl Form {
    /// Bytes of a round key.
    const fn bytes(self) -> i32 {
        match self {
            Form::Canonical => BLOCK,
            Form::Sliced => 4 * BLOCK,
        }
    }
}

/// The cipher, with its keys. Steps count round keys in the order of their use: 0 is that before the first round.
pub(super) struct Rounds {
    pub keys: Gpr,
    pub form: Form,
    pub direction: Direction,
    pub rounds: u32,
}

impl Rounds {
    pub fn new(keys: Gpr, form: Form, cipher: &Cipher, direction: Direction) -> Rounds {
        Rounds { keys, form, direction, rounds: cipher.rounds }
    }

    /// How far the rows have gone when the key of this step is due.
    fn phase(&self, step: u32) -> u32 {
        match self.direction {
            Direction::Encrypt => step % PERIOD,
            Direction::Decrypt => (self.rounds - step) % PERIOD,
        }
    }

    /// Whether round keys are read from the last to the first.
    fn backwards(&self) -> bool {
        self.form == Form::Sliced && self.direction == Direction::Decrypt
    }

    /// Bytes from the first round key to that of this step.
    fn offset(&self, step: u32) -> i32 {
        let index = if self.backwards() { self.rounds - step } else { step };
        self.form.bytes() * index as i32
    }

    /// The round key of this step, at a place.
    fn key(&self, b: &mut Builder, step: u32, place: Place) -> State {
        match self.form {
            Form::Sliced => {
                let [p, q, r, s] = [0, 1, 2, 3].map(|part| {
                    let mut place = place;
                    place.0.disp += BLOCK * part;
                    load(b, place)
                });
                [p[0], p[1], q[0], q[1], r[0], r[1], s[0], s[1]]
            }
            Form::Canonical => {
                let key = load(b, place);
                // The way out adds the constant after each S-box, the way back before each.
                let plain = match self.direction {
                    Direction::Encrypt => step == 0,
                    Direction::Decrypt => step == self.rounds,
                };
                layers::slice_round_key(b, key, self.phase(step), !plain)
            }
        }
    }

    /// One round, with its key at a place.
    fn round(&self, b: &mut Builder, state: State, step: u32, place: Place) -> State {
        let (phase, last) = (self.phase(step), step == self.rounds);
        match self.direction {
            Direction::Encrypt => {
                let state = sbox::FORWARD.apply(b, state);
                let state = if last { state } else { layers::mix_columns(b, state, phase) };
                let key = self.key(b, step, place);
                sum(b, state, key)
            }
            Direction::Decrypt => {
                let state = sbox::BACKWARD.apply(b, state);
                // Canonical keys are mixed already.
                let mix = |b: &mut Builder, state| if last { state } else { layers::inv_mix_columns(b, state, phase) };
                let before = self.form == Form::Canonical;
                let state = if before { mix(b, state) } else { state };
                let key = self.key(b, step, place);
                let state = sum(b, state, key);
                if before { state } else { mix(b, state) }
            }
        }
    }

    /// The rounds of these steps, all written out.
    fn unrolled(&self, b: &mut Builder, mut state: State, steps: std::ops::RangeInclusive<u32>) -> State {
        for step in steps {
            let place = b.at(KEYS, self.keys, self.offset(step));
            state = self.round(b, state, step, place);
        }
        state
    }

    /// Four blocks through the cipher, with all rounds written out or in a loop of periods.
    pub fn cipher(&self, b: &mut Builder, blocks: [Block; 4], looped: bool) -> [Block; 4] {
        b.note("four blocks to the bits of their bytes");
        let state = layers::pack(b, blocks, self.phase(0));
        let place = b.at(KEYS, self.keys, self.offset(0));
        let key = self.key(b, 0, place);
        let mut state = sum(b, state, key);
        let trips = (self.rounds - 1) / PERIOD;
        let mut next = 1;
        if looped && trips > 1 {
            state = self.periods(b, state, trips);
            next += PERIOD * trips;
        }
        b.note("the rounds that no loop has done");
        let state = self.unrolled(b, state, next..=self.rounds);
        b.note("the bits to four blocks");
        layers::unpack(b, state, self.phase(self.rounds))
    }

    /// Trips of four rounds from the first on.
    fn periods(&self, b: &mut Builder, state: State, trips: u32) -> State {
        let running = state.map(|word| copy(b, word));
        let (at, count) = (b.gpr(), b.gpr());
        // The place of the lowest key of the first trip.
        let lowest = self.offset(1).min(self.offset(PERIOD));
        let start = b.at(KEYS, self.keys, lowest);
        b.lea(at, start);
        b.mov_imm32(count, i64::from(trips));
        b.counted(count, |b| {
            let mut state = running;
            b.note("four rounds");
            for step in 1..=PERIOD {
                let place = b.at(KEYS, at, self.offset(step) - lowest);
                state = self.round(b, state, step, place);
            }
            for (word, next) in running.into_iter().zip(state) {
                b.p_copy(word, next);
            }
            let trip = PERIOD as i32 * self.form.bytes();
            b.advance(KEYS, at, if self.backwards() { -trip } else { trip });
        });
        running
    }
}
