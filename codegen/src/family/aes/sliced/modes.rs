//! A mode on four blocks at a time. Knows what a mode XORs and where, and what is in flight; knows no round.
//!
//! With the rounds in a loop there is one copy of the cipher: the group that is not full comes first, and its missing blocks are
//! 0. With the rounds written out, full groups have a loop without any other in it, which compilers turn into vector code
//! two groups wide, and what is left comes after them. Which blocks there are is public.
//!
//! Where a block waits for the one before it, the places are for messages side by side.

use super::rounds::{Form, Rounds};
use super::{Block, LANES, constant, load, mask, store, sum};
use crate::family::aes::ends::{BLOCK, Ends, INPUT, IV, OUTPUT};
use crate::family::{Contract, Extent, Lowering};
use crate::ir::typed::{Gpr, Place, Val};
use crate::ir::{Builder, Func, Virtual};
use crate::spec::{self, Mode, Term};

/// With round keys as FIPS 197 has them.
pub(in super::super) fn canonical(contract: &Contract, lowering: &Lowering<'_>) -> Func<Virtual> {
    lower(contract, lowering, Form::Canonical)
}

/// With sliced round keys.
pub(in super::super) fn sliced(contract: &Contract, lowering: &Lowering<'_>) -> Func<Virtual> {
    lower(contract, lowering, Form::Sliced)
}

fn lower(contract: &Contract, lowering: &Lowering<'_>, form: Form) -> Func<Virtual> {
    let cipher = lowering.cipher.expect("a kernel of a cipher");
    let mode = cipher.mode.as_ref().expect("a mode");
    let mut builder = Builder::new(lowering.name, contract.limb_bits);
    let b = &mut builder;
    let ends = Ends::declare(b, contract, lowering, mode);

    let rounds = Rounds::new(ends.keys, form, cipher, mode.cipher);
    let exact = match lowering.parameters.extent {
        Extent::Blocks(_) => None,
        Extent::Exact(blocks) => Some(blocks),
        Extent::Whole | Extent::Unrolled(_) => unreachable!("a mode is a loop of blocks"),
    };
    // An exact variant has no loop.
    let looped = exact.is_none() && lowering.parameters.rounds != Some(spec::Rounds::Unrolled);
    if mode.serial() {
        let serial = Serial { rounds: &rounds, mode, ends, looped };
        serial.all(b, exact);
    } else {
        let parallel = Parallel::begin(b, &rounds, mode, ends);
        match exact {
            Some(blocks) => parallel.exactly(b, blocks),
            None if looped => parallel.in_one_loop(b),
            None => parallel.full_groups_first(b),
        }
        parallel.end(b);
    }
    builder.finish(None, exact.map(u64::from))
}

/// What a mode XORs: those of these that it has, in the order of its terms.
struct Terms {
    input: Block,
    chain: Option<Block>,
}

impl Terms {
    /// `start` with the terms.
    fn add(&self, b: &mut Builder, terms: &[Term], start: Option<Block>) -> Block {
        let term = |term: &Term| match term {
            Term::In => self.input,
            Term::PreviousIn | Term::PreviousOut | Term::Counter => self.chain.expect("a mode that chains"),
        };
        let all = start.into_iter().chain(terms.iter().map(term));
        all.reduce(|total, block| sum(b, total, block)).expect("something enters the cipher")
    }
}

/// Blocks of a group that are there together.
#[derive(Clone, Copy)]
struct Part {
    /// The bit of the group's size that says so.
    bit: i32,
    first: u32,
    count: u32,
}

const FULL: Part = Part { bit: LANES as i32, first: 0, count: LANES };
const PAIR: Part = Part { bit: 2, first: 0, count: 2 };
const SINGLE: Part = Part { bit: 1, first: 2, count: 1 };

/// Copies a block over another.
fn assign(b: &mut Builder, to: Block, from: Block) {
    for (to, from) in to.into_iter().zip(from) {
        b.p_copy(to, from);
    }
}

/// What a place of a group holds from the cipher's one side to its other.
#[derive(Clone, Copy)]
struct Lane {
    entering: Block,
    input: Block,
    chain: Block,
}

/// Blocks that do not wait for each other.
struct Parallel<'a> {
    rounds: &'a Rounds,
    mode: &'a Mode,
    ends: Ends,
    /// The block before: of the input or of the output.
    chain: Option<Block>,
    counter: Option<Counter>,
}

impl<'a> Parallel<'a> {
    fn begin(b: &mut Builder, rounds: &'a Rounds, mode: &'a Mode, ends: Ends) -> Parallel<'a> {
        let counter = (mode.counter_bits > 0).then(|| {
            let iv = ends.iv(b, 0);
            Counter::begin(b, mode.counter_bits, iv)
        });
        let chain = (mode.chained() && counter.is_none()).then(|| {
            let iv = ends.iv(b, 0);
            load(b, iv)
        });
        Parallel { rounds, mode, ends, chain, counter }
    }

    /// Groups of which the first may have fewer blocks.
    fn in_one_loop(&self, b: &mut Builder) {
        let (groups, size) = (b.gpr(), b.gpr());
        b.note("the number of groups, and the blocks of the first: 1 to 4");
        b.mov(groups, self.ends.n);
        b.add_ri(groups, i64::from(LANES) - 1);
        b.mov(size, groups);
        b.and_ri(size, i64::from(LANES) - 1);
        b.add_ri(size, 1);
        b.shr(groups, i64::from(LANES.ilog2()));
        b.when_nonzero(groups, |b| {
            b.counted(groups, |b| {
                self.group(b, &[FULL, PAIR, SINGLE], Some(size), true);
                b.mov_imm32(size, i64::from(LANES));
            });
        });
    }

    /// Full groups in a loop of their own, then what is left.
    fn full_groups_first(&self, b: &mut Builder) {
        let trips = b.gpr();
        b.mov(trips, self.ends.n);
        b.shr(trips, i64::from(LANES.ilog2()));
        b.when_nonzero(trips, |b| {
            b.counted(trips, |b| self.group(b, &[FULL], None, false));
        });
        b.when_bits(self.ends.n, LANES as i32 - 1, |b| self.group(b, &[PAIR, SINGLE], Some(self.ends.n), true));
    }

    /// Groups without a loop.
    fn exactly(&self, b: &mut Builder, blocks: u32) {
        for first in (0..blocks).step_by(LANES as usize) {
            let part = Part { bit: 0, first: 0, count: LANES.min(blocks - first) };
            self.group(b, &[part], None, false);
        }
    }

    /// A group of these parts: all of them, or those that `size` has the bits of.
    fn group(&self, b: &mut Builder, parts: &[Part], size: Option<Gpr>, looped: bool) {
        let each = |b: &mut Builder, run: &dyn Fn(&mut Builder, Part)| {
            for part in parts {
                match size {
                    Some(size) => b.when_bits(size, part.bit, |b| run(b, *part)),
                    None => run(b, *part),
                }
            }
        };
        let kept = |term: Term| self.mode.output.contains(&term);
        let (input, chain) = (kept(Term::In), kept(Term::PreviousIn));
        let certain: u32 = if size.is_none() { parts.iter().map(|part| part.count).sum() } else { 0 };
        let lanes: [Lane; 4] = [0, 1, 2, 3].map(|lane: u32| {
            let mut block = |used: bool| {
                // What may stay as it is must be something.
                let zero = used && lane >= certain;
                [(); 2].map(|()| if zero { constant(b, 0) } else { b.val() })
            };
            Lane { entering: block(true), input: block(input), chain: block(chain) }
        });
        b.note("what enters the cipher");
        each(b, &|b, part| self.enter(b, part, &lanes));
        let left = self.rounds.cipher(b, lanes.map(|lane| lane.entering), looped);
        b.note("what leaves it, and what is XORed to that");
        each(b, &|b, part| self.leave(b, part, &lanes, &left));
    }

    fn enter(&self, b: &mut Builder, part: Part, lanes: &[Lane]) {
        let kept = |term: Term| self.mode.output.contains(&term);
        let reads = self.mode.terms().any(|term| matches!(term, Term::In | Term::PreviousIn));
        let mut chain = self.chain;
        for index in 0..part.count {
            let lane = &lanes[(part.first + index) as usize];
            let place = self.ends.input(b, index as i32);
            let input = reads.then(|| load(b, place));
            if let Some(counter) = &self.counter {
                chain = Some(counter.block(b, u64::from(index)));
            }
            // A mode that reads no input has no term that would ask for it.
            let terms = Terms { input: input.unwrap_or(lane.input), chain };
            let entering = terms.add(b, &self.mode.input, None);
            assign(b, lane.entering, entering);
            if kept(Term::In) {
                assign(b, lane.input, terms.input);
            }
            if kept(Term::PreviousIn) {
                assign(b, lane.chain, chain.expect("a mode that chains"));
            }
            if self.mode.terms().any(|term| term == Term::PreviousIn) {
                chain = input;
            }
        }
        match (&self.counter, self.chain, chain) {
            (Some(counter), ..) => counter.advance(b, u64::from(part.count)),
            (None, Some(to), Some(from)) if to != from => assign(b, to, from),
            _ => {}
        }
        b.advance(INPUT, self.ends.input, BLOCK * part.count as i32);
    }

    fn leave(&self, b: &mut Builder, part: Part, lanes: &[Lane], left: &[Block]) {
        let out_chains = self.mode.output.contains(&Term::PreviousOut);
        let mut chain = self.chain;
        for index in 0..part.count {
            let place = (part.first + index) as usize;
            let lane = &lanes[place];
            let terms = Terms { input: lane.input, chain: if out_chains { chain } else { Some(lane.chain) } };
            let output = terms.add(b, &self.mode.output, Some(left[place]));
            let to = self.ends.output(b, index as i32);
            store(b, to, output);
            chain = Some(output);
        }
        if let (true, Some(to), Some(from)) = (out_chains, self.chain, chain) {
            assign(b, to, from);
        }
        b.advance(OUTPUT, self.ends.output, BLOCK * part.count as i32);
    }

    fn end(&self, b: &mut Builder) {
        let last = match &self.counter {
            Some(counter) => Some(counter.block(b, 0)),
            None => self.chain,
        };
        if let Some(last) = last {
            let iv = self.ends.iv(b, 0);
            store(b, iv, last);
        }
    }
}

/// A big-endian counter: where it began and how far it is. Without a carry from one block to the next, so that blocks far apart
/// can be counted at once.
struct Counter {
    bits: u32,
    /// High and low half of the first.
    start: Block,
    /// Blocks before the next one.
    done: Val,
}

impl Counter {
    fn begin(b: &mut Builder, bits: u32, iv: Place) -> Counter {
        let start = load(b, iv).map(|half| swap_bytes(b, half));
        let done = constant(b, 0);
        Counter { bits, start, done }
    }

    /// The counter of the block so many ahead.
    fn block(&self, b: &mut Builder, ahead: u64) -> Block {
        let ahead = constant(b, ahead);
        let number = b.val();
        b.p_wrap_add(number, self.done, ahead);
        let [mut high, start] = self.start;
        let mut low = b.val();
        if self.bits == 128 {
            let (zero, carry, carried) = (constant(b, 0), b.val(), b.val());
            b.p_add_carry(low, carry, start, number, zero);
            b.p_wrap_add(carried, high, carry);
            high = carried;
        } else {
            b.p_wrap_add(low, start, number);
        }
        if self.bits < 64 {
            let counts = (1 << self.bits) - 1;
            let (still, counted) = (mask(b, start, !counts), mask(b, low, counts));
            low = super::or(b, still, counted);
        }
        [swap_bytes(b, high), swap_bytes(b, low)]
    }

    fn advance(&self, b: &mut Builder, blocks: u64) {
        let (blocks, next) = (constant(b, blocks), b.val());
        b.p_wrap_add(next, self.done, blocks);
        b.p_copy(self.done, next);
    }
}

fn swap_bytes(b: &mut Builder, x: Val) -> Val {
    let to = b.val();
    b.p_swap_bytes(to, x);
    to
}

/// Messages whose blocks wait for each other, up to four side by side and one four after the other.
struct Serial<'a> {
    rounds: &'a Rounds,
    mode: &'a Mode,
    ends: Ends,
    looped: bool,
}

impl Serial<'_> {
    /// The messages: `exact` blocks of each, or as many as there are.
    fn all(&self, b: &mut Builder, exact: Option<u32>) {
        let streams = self.mode.streams;
        // From one message to the next, in words.
        let stride = (streams > 1).then(|| {
            let stride = b.gpr();
            b.mov(stride, self.ends.n);
            b.add(stride, self.ends.n);
            stride
        });
        let each = |b: &mut Builder, count: u32| self.messages(b, count, stride, exact);
        let fours = streams / LANES;
        if exact.is_some() || fours == 1 {
            (0..fours).for_each(|_| each(b, LANES));
        } else if fours > 1 {
            let trips = b.gpr();
            b.mov_imm32(trips, i64::from(fours));
            b.counted(trips, |b| each(b, LANES));
        }
        if !streams.is_multiple_of(LANES) {
            each(b, streams % LANES);
        }
    }

    /// The present block of each of the next messages.
    fn walk(
        b: &mut Builder,
        argument: u8,
        start: Gpr,
        count: u32,
        stride: Option<Gpr>,
        mut visit: impl FnMut(&mut Builder, usize, Place),
    ) {
        let Some(stride) = stride else {
            let place = b.at(argument, start, 0);
            return visit(b, 0, place);
        };
        let at = b.gpr();
        b.mov(at, start);
        for message in 0..count {
            if message > 0 {
                step(b, argument, at, stride);
            }
            let place = b.at(argument, at, 0);
            visit(b, message as usize, place);
        }
    }

    /// So many messages, whole; the pointers then stand at the next one.
    fn messages(&self, b: &mut Builder, count: u32, stride: Option<Gpr>, exact: Option<u32>) {
        let Ends { output, input, n, .. } = self.ends;
        let chains: Vec<Block> = (0..count)
            .map(|message| {
                let iv = self.ends.iv(b, message);
                load(b, iv)
            })
            .collect();
        match exact {
            Some(blocks) => (0..blocks).for_each(|_| self.block(b, &chains, stride)),
            None => b.when_nonzero(n, |b| {
                let blocks = b.gpr();
                b.mov(blocks, n);
                b.counted(blocks, |b| self.block(b, &chains, stride));
            }),
        }
        for (message, chain) in (0..).zip(&chains) {
            let iv = self.ends.iv(b, message);
            store(b, iv, *chain);
        }
        b.advance(IV, self.ends.ivs(), BLOCK * count as i32);
        // Past the first message they are already.
        for stride in stride.iter().cycle().take(count as usize - 1) {
            step(b, INPUT, input, *stride);
            step(b, OUTPUT, output, *stride);
        }
    }

    /// One block of each message.
    fn block(&self, b: &mut Builder, chains: &[Block], stride: Option<Gpr>) {
        let Ends { output, input, .. } = self.ends;
        let count = chains.len() as u32;
        b.note("what enters the cipher");
        let mut terms = Vec::new();
        let zero = constant(b, 0);
        let mut entering = [[zero; 2]; LANES as usize];
        Self::walk(b, INPUT, input, count, stride, |b, message, place| {
            let own = Terms { input: load(b, place), chain: Some(chains[message]) };
            entering[message] = own.add(b, &self.mode.input, None);
            terms.push(own);
        });
        let left = self.rounds.cipher(b, entering, self.looped);
        b.note("what leaves it, and what is XORed to that");
        Self::walk(b, OUTPUT, output, count, stride, |b, message, place| {
            let block = terms[message].add(b, &self.mode.output, Some(left[message]));
            store(b, place, block);
            assign(b, chains[message], block);
        });
        b.advance(INPUT, input, BLOCK);
        b.advance(OUTPUT, output, BLOCK);
    }
}

/// Moves a pointer to the next message.
fn step(b: &mut Builder, argument: u8, at: Gpr, stride: Gpr) {
    let mut next = b.at(argument, at, 0);
    next.0.index = Some((stride.0, 8));
    b.lea(at, next);
}
