//! A mode on registers of blocks. Knows the rounds, what a mode XORs and where, and what is in flight; knows no instruction.
//!
//! Blocks that do not wait for each other go through the rounds together, a round of all of them before the next. Where a block
//! waits for the one before it, messages go side by side instead, and what can be taken out of the chain is: see [`Serial`].

use super::counter::Counter;
use super::ends::{BLOCK, COUNT, Ends, INPUT, KEYS, OUTPUT};
use super::engine::Engine;
use crate::family::walk::{Carry, Cut};
use crate::family::{Contract, Extent, Lowering};
use crate::ir::typed::{Gpr, Place};
use crate::ir::{Builder, Func, Virtual};
use crate::spec::{Cipher, Direction, Mode, RoundKeys, Rounds, Term, XorAt};

/// Vector registers.
const REGISTERS: u32 = 16;
/// Registers that a group needs beside its blocks: a round key and an operand.
const TEMPORARIES: u32 = 2;
/// The most registers of blocks in one group of an exact variant.
const IN_FLIGHT: u32 = 12;

/// Whole blocks in the mode of the kernel's spec.
pub(super) fn lower<E: Engine>(contract: &Contract, lowering: &Lowering<'_>) -> Func<Virtual> {
    let cipher = lowering.cipher.expect("a kernel of a cipher");
    let mode = cipher.mode.as_ref().expect("a mode");
    let mut builder = Builder::new(lowering.name, contract.limb_bits);
    let b = &mut builder;
    let ends = Ends::declare(b, contract, lowering, mode);

    let largest = match lowering.parameters.extent {
        Extent::Blocks(blocks) => blocks,
        Extent::Exact(blocks) => blocks.min(IN_FLIGHT * E::WIDTH),
        Extent::Whole | Extent::Unrolled(_) => unreachable!("a mode is a loop of blocks"),
    };
    let streams = mode.streams.div_ceil(E::WIDTH);
    // What lives from one group to the next.
    let (states, kept) = match (mode.serial(), mode.counter_bits, mode.chained()) {
        // The chains, and the two outer round keys together.
        (true, ..) => (0, streams + u32::from(lowering.parameters.xor == XorAt::Folded)),
        // The next counter.
        (false, 1.., _) => (largest.div_ceil(E::WIDTH), 1),
        (false, 0, chained) => (largest.div_ceil(E::WIDTH), chained.into()),
    };
    let free = REGISTERS.saturating_sub(states + kept + TEMPORARIES);
    let schedule = KeySchedule::<E>::begin(b, ends.keys, cipher, lowering, free);
    if mode.serial() {
        let serial = Serial::begin(b, &schedule, mode, &ends, lowering);
        each_group(b, &ends, lowering, largest, |b, blocks| serial.group(b, blocks));
        serial.end(b);
    } else {
        let parallel = Parallel::begin(b, &schedule, mode, &ends, lowering);
        each_group(b, &ends, lowering, largest, |b, blocks| parallel.group(b, blocks));
        parallel.end(b);
    }
    E::end(b);
    let exact = lowering.parameters.exact().map(u64::from);
    builder.finish(None, exact)
}

/// Groups of blocks that make up n: a loop of the largest and halving tails, or what an exact number is cut into.
fn each_group(b: &mut Builder, ends: &Ends, lowering: &Lowering<'_>, largest: u32, group: impl Fn(&mut Builder, u32)) {
    match lowering.parameters.extent {
        Extent::Exact(blocks) => {
            let mut left = blocks;
            while left > 0 {
                let now = left.min(largest);
                group(b, now);
                left -= now;
                if left > 0 {
                    ends.advance(b, now);
                }
            }
        }
        _ => {
            let each = |b: &mut Builder, blocks: u32| {
                group(b, blocks);
                ends.advance(b, blocks);
            };
            let max = lowering.arguments[usize::from(COUNT)].count.1;
            let cut = Cut::new(b, ends.n, max, largest, Carry::Folded);
            cut.walk(b, each, |_| {}, each, |_| {});
        }
    }
}

/// The registers of a group: the first block of each, and how many are in it.
fn parts<E: Engine>(blocks: u32) -> Vec<(u32, u32)> {
    let firsts = (0..blocks).step_by(E::WIDTH as usize);
    firsts.map(|first| (first, E::WIDTH.min(blocks - first))).collect()
}

/// The round keys: some in registers, the rest in memory.
struct KeySchedule<E: Engine> {
    keys: Gpr,
    direction: Direction,
    rounds: u32,
    looped: bool,
    /// The first ones.
    held: Vec<E::Reg>,
}

impl<E: Engine> KeySchedule<E> {
    /// `free`: registers that there are for round keys.
    fn begin(b: &mut Builder, keys: Gpr, cipher: &Cipher, lowering: &Lowering<'_>, free: u32) -> KeySchedule<E> {
        let mode = cipher.mode.as_ref().expect("a mode");
        let wanted = if lowering.parameters.keys == RoundKeys::Registers { free.min(cipher.rounds + 1) } else { 0 };
        let held = (0..wanted).map(|round| {
            let key = E::reg(b);
            let place = b.at(KEYS, keys, BLOCK * round as i32);
            E::spread(b, key, place);
            key
        });
        KeySchedule {
            held: held.collect(),
            keys,
            direction: mode.cipher,
            rounds: cipher.rounds,
            looped: lowering.parameters.rounds == Some(Rounds::Looped),
        }
    }

    /// The key of this round, 0 for what goes before the first.
    fn key(&self, b: &mut Builder, round: u32) -> E::Reg {
        if let Some(key) = self.held.get(round as usize) {
            return *key;
        }
        let key = E::reg(b);
        let place = b.at(KEYS, self.keys, BLOCK * round as i32);
        E::spread(b, key, place);
        key
    }

    /// Whether the key of this round is read by the rounds themselves.
    fn direct(&self, round: u32, states: &[(E::Reg, u32)]) -> bool {
        self.held.get(round as usize).is_none() && E::direct(states)
    }

    /// All rounds but the last, of states that have met the key before the first.
    fn rounds(&self, b: &mut Builder, states: &[(E::Reg, u32)]) {
        let all = |b: &mut Builder, key: E::Reg| {
            for (state, blocks) in states {
                E::round(b, self.direction, false, *state, key, *blocks);
            }
        };
        let direct = |b: &mut Builder, key: Place| {
            for (state, _) in states {
                E::round_at(b, self.direction, false, *state, key);
            }
        };
        b.note("the rounds, each of all blocks");
        if self.looped {
            let (trips, at) = (b.gpr(), b.gpr());
            let first = b.at(KEYS, self.keys, BLOCK);
            b.lea(at, first);
            b.mov_imm32(trips, i64::from(self.rounds) - 1);
            b.counted(trips, |b| {
                let place = b.at(KEYS, at, 0);
                if E::direct(states) {
                    direct(b, place);
                } else {
                    let key = E::reg(b);
                    E::spread(b, key, place);
                    all(b, key);
                }
                b.advance(KEYS, at, BLOCK);
            });
        } else {
            for round in 1..self.rounds {
                if self.direct(round, states) {
                    let place = b.at(KEYS, self.keys, BLOCK * round as i32);
                    direct(b, place);
                } else {
                    let key = self.key(b, round);
                    all(b, key);
                }
            }
        }
    }

    fn last(&self, b: &mut Builder, state: E::Reg, key: E::Reg, blocks: u32) {
        E::round(b, self.direction, true, state, key, blocks);
    }
}

/// What a mode XORs to blocks: a register, or blocks of memory.
enum Addend<R> {
    Reg(R),
    Memory(Place),
}

/// Blocks that do not wait for each other.
struct Parallel<'a, E: Engine> {
    schedule: &'a KeySchedule<E>,
    mode: &'a Mode,
    ends: &'a Ends,
    folded: bool,
    /// The input block before the group.
    chain: Option<E::Reg>,
    counter: Option<Counter<E>>,
}

impl<'a, E: Engine> Parallel<'a, E> {
    fn begin(
        b: &mut Builder,
        schedule: &'a KeySchedule<E>,
        mode: &'a Mode,
        ends: &'a Ends,
        lowering: &Lowering<'_>,
    ) -> Parallel<'a, E> {
        let counts = mode.counter_bits > 0;
        let counter = counts.then(|| {
            let iv = ends.iv(b, 0);
            Counter::begin(b, mode.counter_bits, iv)
        });
        let chain = (mode.chained() && !counts).then(|| {
            let (chain, iv) = (E::reg(b), ends.iv(b, 0));
            E::load(b, chain, iv, 1);
            chain
        });
        let folded = lowering.parameters.xor == XorAt::Folded;
        Parallel { schedule, mode, ends, folded, chain, counter }
    }

    /// What the term is for the register of `blocks` blocks that begins with that one.
    fn addend(&self, b: &mut Builder, term: Term, first: u32, blocks: u32) -> Addend<E::Reg> {
        match term {
            Term::In => Addend::Memory(self.ends.input(b, first as i32)),
            Term::PreviousIn if first > 0 => Addend::Memory(self.ends.input(b, first as i32 - 1)),
            Term::PreviousIn => {
                let chain = self.chain.expect("a mode that chains");
                if blocks == 1 {
                    return Addend::Reg(chain);
                }
                let previous = E::reg(b);
                E::copy(b, previous, chain, 1);
                let own = self.ends.input(b, 0);
                E::load_second(b, previous, own);
                Addend::Reg(previous)
            }
            Term::PreviousOut | Term::Counter => unreachable!("no addend of blocks in flight"),
        }
    }

    /// to := from xor addend; another register than `from` unless that is said to be free.
    fn plus(b: &mut Builder, from: E::Reg, addend: Addend<E::Reg>, blocks: u32, free: bool) -> E::Reg {
        match addend {
            Addend::Memory(place) => {
                let to = E::reg(b);
                E::xor_place(b, to, from, place, blocks);
                to
            }
            Addend::Reg(reg) if free => {
                E::xor(b, from, reg, blocks);
                from
            }
            Addend::Reg(reg) => {
                let to = E::reg(b);
                E::copy(b, to, from, blocks);
                E::xor(b, to, reg, blocks);
                to
            }
        }
    }

    fn group(&self, b: &mut Builder, blocks: u32) {
        let parts = parts::<E>(blocks);
        let first_key = self.schedule.key(b, 0);
        let counters = self.counter.as_ref().map(|counter| counter.take(b, blocks, &parts));
        b.note("what enters the cipher, with the first round key");
        let mut states = Vec::new();
        for (index, &(first, count)) in parts.iter().enumerate() {
            let mut state = first_key;
            let mut free = false;
            if let Some(counters) = &counters {
                state = counters[index];
                E::xor(b, state, first_key, count);
                free = true;
            }
            for term in self.mode.input.iter().filter(|term| **term != Term::Counter) {
                let addend = self.addend(b, *term, first, count);
                state = Self::plus(b, state, addend, count, free);
                free = true;
            }
            states.push((state, count));
        }
        self.schedule.rounds(b, &states);

        let key = self.schedule.key(b, self.schedule.rounds);
        b.note("the last round, and what is XORed to what leaves the cipher");
        for (&(first, count), (state, _)) in parts.iter().zip(&mut states) {
            let mut last = key;
            if self.folded {
                for (index, term) in self.mode.output.iter().enumerate() {
                    let addend = self.addend(b, *term, first, count);
                    last = Self::plus(b, last, addend, count, index > 0);
                }
            }
            self.schedule.last(b, *state, last, count);
            if !self.folded {
                for term in &self.mode.output {
                    let addend = self.addend(b, *term, first, count);
                    *state = Self::plus(b, *state, addend, count, true);
                }
            }
        }
        if let Some(chain) = self.chain {
            let last = self.ends.input(b, blocks as i32 - 1);
            E::load(b, chain, last, 1);
        }
        // Only now, since the output may be where the input is.
        for (&(first, count), (state, _)) in parts.iter().zip(&states) {
            let place = self.ends.output(b, first as i32);
            E::store(b, place, *state, count);
        }
    }

    fn end(&self, b: &mut Builder) {
        if let Some(counter) = &self.counter {
            let iv = self.ends.iv(b, 0);
            counter.end(b, iv);
        }
        if let Some(chain) = self.chain {
            let iv = self.ends.iv(b, 0);
            E::store(b, iv, chain, 1);
        }
    }
}

/// Messages whose blocks wait for each other, side by side.
///
/// Folded, the chain from one block to the next is the rounds alone. What the last round leaves is not the output y but
/// y + k0 + p, which enters the next block's rounds as it is: its round key is the last one, k0 and p together (k0: the key
/// before the first round, p: what the mode XORs to the input of the next block). The output is got from it beside the chain.
struct Serial<'a, E: Engine> {
    schedule: &'a KeySchedule<E>,
    ends: &'a Ends,
    /// Whether the input block enters the cipher, and whether it is XORed to what leaves it.
    enters: bool,
    leaves: bool,
    /// For each register the first message and how many there are in it.
    streams: Vec<(u32, u32)>,
    /// From one message to the next, in words of 64 bits.
    stride: Option<Gpr>,
    /// For each register the output before, or, folded, that with k0.
    chains: Vec<E::Reg>,
    /// The outer round keys together, when folded.
    outer: Option<E::Reg>,
}

impl<'a, E: Engine> Serial<'a, E> {
    fn begin(
        b: &mut Builder,
        schedule: &'a KeySchedule<E>,
        mode: &'a Mode,
        ends: &'a Ends,
        lowering: &Lowering<'_>,
    ) -> Serial<'a, E> {
        let streams = parts::<E>(mode.streams);
        let stride = (mode.streams > 1).then(|| {
            let stride = b.gpr();
            b.mov(stride, ends.n);
            b.add(stride, ends.n);
            stride
        });
        let chains: Vec<E::Reg> = streams
            .iter()
            .map(|&(first, count)| {
                let (chain, iv) = (E::reg(b), ends.iv(b, first));
                E::load(b, chain, iv, count);
                chain
            })
            .collect();
        let folded = lowering.parameters.xor == XorAt::Folded;
        let outer = folded.then(|| {
            let first = schedule.key(b, 0);
            for (chain, &(_, count)) in chains.iter().zip(&streams) {
                E::xor(b, *chain, first, count);
            }
            let (outer, last) = (E::reg(b), schedule.key(b, schedule.rounds));
            E::copy(b, outer, last, E::WIDTH);
            E::xor(b, outer, first, E::WIDTH);
            outer
        });
        let (enters, leaves) = (mode.input.contains(&Term::In), mode.output.contains(&Term::In));
        Serial { schedule, ends, enters, leaves, streams, stride, chains, outer }
    }

    /// Places of one block of each message, in their order: what walks from one to the next.
    fn walk(
        &self,
        b: &mut Builder,
        argument: u8,
        start: Gpr,
        block: i32,
        mut visit: impl FnMut(&mut Builder, u32, Place),
    ) {
        let messages: u32 = self.streams.iter().map(|(_, count)| count).sum();
        let Some(stride) = self.stride else {
            let place = b.at(argument, start, BLOCK * block);
            return visit(b, 0, place);
        };
        let at = b.gpr();
        b.mov(at, start);
        for message in 0..messages {
            let place = b.at(argument, at, BLOCK * block);
            visit(b, message, place);
            if message + 1 < messages {
                let mut next = b.at(argument, at, 0);
                next.0.index = Some((stride.0, 8));
                b.lea(at, next);
            }
        }
    }

    /// One block of the input of each message, in registers.
    fn load(&self, b: &mut Builder, block: i32) -> Vec<E::Reg> {
        let regs: Vec<E::Reg> = self.streams.iter().map(|_| E::reg(b)).collect();
        self.walk(b, INPUT, self.ends.input, block, |b, message, place| {
            let reg = regs[(message / E::WIDTH) as usize];
            if message % E::WIDTH == 0 {
                E::load(b, reg, place, 1);
            } else {
                E::load_second(b, reg, place);
            }
        });
        regs
    }

    fn store(&self, b: &mut Builder, block: i32, regs: &[E::Reg]) {
        self.walk(b, OUTPUT, self.ends.output, block, |b, message, place| {
            let reg = regs[(message / E::WIDTH) as usize];
            if message % E::WIDTH == 0 {
                E::store(b, place, reg, 1);
            } else {
                E::store_second(b, place, reg);
            }
        });
    }

    fn states(&self) -> Vec<(E::Reg, u32)> {
        self.chains.iter().zip(&self.streams).map(|(chain, &(_, count))| (*chain, count)).collect()
    }

    fn group(&self, b: &mut Builder, blocks: u32) {
        match self.outer {
            Some(outer) => self.folded(b, blocks, outer),
            None => (0..blocks as i32).for_each(|block| self.apart(b, block)),
        }
    }

    fn apart(&self, b: &mut Builder, block: i32) {
        let states = self.states();
        let first = self.schedule.key(b, 0);
        let own = self.load(b, block);
        for ((state, count), own) in states.iter().zip(&own) {
            if self.enters {
                let entering = E::reg(b);
                E::copy(b, entering, *own, *count);
                E::xor(b, entering, first, *count);
                E::xor(b, *state, entering, *count);
            } else {
                E::xor(b, *state, first, *count);
            }
        }
        self.schedule.rounds(b, &states);
        let last = self.schedule.key(b, self.schedule.rounds);
        for ((state, count), own) in states.iter().zip(&own) {
            self.schedule.last(b, *state, last, *count);
            if self.leaves {
                E::xor(b, *state, *own, *count);
            }
        }
        self.store(b, block, &self.chains);
    }

    fn folded(&self, b: &mut Builder, blocks: u32, outer: E::Reg) {
        let states = self.states();
        let mut own = self.load(b, 0);
        if self.enters {
            for ((state, count), own) in states.iter().zip(&own) {
                E::xor(b, *state, *own, *count);
            }
        }
        for block in 0..blocks as i32 {
            let follows = block + 1 < blocks as i32;
            let next = follows.then(|| self.load(b, block + 1));
            // What goes into the last round key beside the two outer ones.
            let mut keys = Vec::new();
            for (index, (_, count)) in states.iter().enumerate() {
                let key = E::reg(b);
                E::copy(b, key, outer, *count);
                if self.leaves {
                    E::xor(b, key, own[index], *count);
                }
                if let (Some(next), true) = (&next, self.enters) {
                    E::xor(b, key, next[index], *count);
                }
                keys.push(key);
            }
            self.schedule.rounds(b, &states);
            for ((state, count), key) in states.iter().zip(&keys) {
                self.schedule.last(b, *state, *key, *count);
            }
            let first = self.schedule.key(b, 0);
            let outputs: Vec<E::Reg> = states
                .iter()
                .enumerate()
                .map(|(index, (state, count))| {
                    let output = E::reg(b);
                    E::copy(b, output, *state, *count);
                    E::xor(b, output, first, *count);
                    if let (Some(next), true) = (&next, self.enters) {
                        E::xor(b, output, next[index], *count);
                    }
                    output
                })
                .collect();
            self.store(b, block, &outputs);
            own = next.unwrap_or(own);
        }
    }

    fn end(&self, b: &mut Builder) {
        if self.outer.is_some() {
            let first = self.schedule.key(b, 0);
            for (chain, count) in self.states() {
                E::xor(b, chain, first, count);
            }
        }
        for (chain, &(first, count)) in self.chains.iter().zip(&self.streams) {
            let iv = self.ends.iv(b, first);
            E::store(b, iv, *chain, count);
        }
    }
}
