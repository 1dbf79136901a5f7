//! The rounds of four blocks, with keys in either form. Knows no mode.

use super::{Block, State, copy, layers, load, sbox, sum};
use crate::family::aes::ends::{BLOCK, KEYS};
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

    /// The S-box, which begins each round.
    fn substitute(&self, b: &mut Builder, state: State) -> State {
        match self.direction {
            Direction::Encrypt => sbox::FORWARD.apply(b, state),
            Direction::Decrypt => sbox::BACKWARD.apply(b, state),
        }
    }

    /// The rest of a round that is not the last, with its key at a place.
    fn mix(&self, b: &mut Builder, state: State, step: u32, place: Place) -> State {
        let phase = self.phase(step);
        match (self.direction, self.form) {
            (Direction::Encrypt, _) => {
                let state = layers::mix_columns(b, state, phase);
                self.add(b, state, step, place)
            }
            // Their keys are mixed already.
            (Direction::Decrypt, Form::Canonical) => {
                let state = layers::inv_mix_columns(b, state, phase);
                self.add(b, state, step, place)
            }
            (Direction::Decrypt, Form::Sliced) => {
                let state = self.add(b, state, step, place);
                layers::inv_mix_columns(b, state, phase)
            }
        }
    }

    /// The state with the round key of this step, at a place.
    fn add(&self, b: &mut Builder, state: State, step: u32, place: Place) -> State {
        let key = self.key(b, step, place);
        sum(b, state, key)
    }

    /// The same with the key at its own place.
    fn add_own(&self, b: &mut Builder, state: State, step: u32) -> State {
        let place = b.at(KEYS, self.keys, self.offset(step));
        self.add(b, state, step, place)
    }

    /// Four blocks through the cipher, with all rounds written out or in a loop of periods.
    pub fn cipher(&self, b: &mut Builder, blocks: [Block; 4], looped: bool) -> [Block; 4] {
        b.note("four blocks to the bits of their bytes");
        let state = layers::pack(b, blocks, self.phase(0));
        let state = self.add_own(b, state, 0);
        let state = if looped && self.rounds > PERIOD { self.periods(b, state) } else { self.unrolled(b, state) };
        b.note("the last round key");
        let state = self.add_own(b, state, self.rounds);
        b.note("the bits to four blocks");
        layers::unpack(b, state, self.phase(self.rounds))
    }

    /// From the first S-box to the last.
    fn unrolled(&self, b: &mut Builder, mut state: State) -> State {
        for step in 1..self.rounds {
            b.note("the next round");
            state = self.substitute(b, state);
            let place = b.at(KEYS, self.keys, self.offset(step));
            state = self.mix(b, state, step, place);
        }
        self.substitute(b, state)
    }

    /// The same in trips of four rounds, of which the last ends with the last S-box.
    fn periods(&self, b: &mut Builder, state: State) -> State {
        let last = (self.rounds - 1) % PERIOD + 1;
        let running = state.map(|word| copy(b, word));
        let keep = |b: &mut Builder, state: State| {
            for (word, next) in running.into_iter().zip(state) {
                b.p_copy(word, next);
            }
        };
        // The lowest key of a trip's steps before `last`, and of the others, which the last trip does not have.
        let (first_part, second_part) = if self.backwards() { (last - 1, PERIOD) } else { (1, last) };
        let (first_part, second_part) = (self.offset(first_part), self.offset(second_part));
        let trip = PERIOD as i32 * self.form.bytes();

        let (at, trips) = (b.gpr(), b.gpr());
        let start = b.at(KEYS, self.keys, first_part);
        b.lea(at, start);
        b.mov_imm32(trips, i64::from(self.rounds.div_ceil(PERIOD)));
        b.counted(trips, |b| {
            let (more, on) = (b.gpr(), b.gpr());
            b.mov(more, trips);
            b.sub_ri(more, 1);
            let place = b.at(KEYS, at, second_part - first_part);
            b.lea(on, place);
            let mut state = running;
            for step in 1..last {
                b.note("the next round");
                state = self.substitute(b, state);
                let place = b.at(KEYS, at, self.offset(step) - first_part);
                state = self.mix(b, state, step, place);
            }
            b.note("what may be the last S-box");
            state = self.substitute(b, state);
            keep(b, state);
            b.when_nonzero(more, |b| {
                let mut state = running;
                for step in last..=PERIOD {
                    b.note("the rest of the round, and others");
                    if step > last {
                        state = self.substitute(b, state);
                    }
                    let place = b.at(KEYS, on, self.offset(step) - second_part);
                    state = self.mix(b, state, step, place);
                }
                keep(b, state);
            });
            b.advance(KEYS, at, if self.backwards() { -trip } else { trip });
        });
        running
    }
}
