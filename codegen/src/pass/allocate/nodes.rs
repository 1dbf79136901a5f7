//! Loops and tails: where the ways through a function meet, every value has one place.

use super::AllocateError;
use super::analysis::{FIRST_FREE, Part, Set, Var};
use super::state::{Loc, State};
use super::walk::{OpenLoop, Out, Walk};
use crate::ir::{Loop, Node, When};
use crate::isa::row::PReg;

/// How many times a loop's body is walked to find places that need no moves at its end.
const LOOP_ROUNDS: usize = 4;

/// What the instructions of these nodes weigh, where a loop's count for more.
fn weight(nodes: &[Node<PReg>]) -> usize {
    let of = |node: &Node<PReg>| match node {
        Node::Block(insts) => insts.len(),
        Node::Loop(inner) => 8 * weight(&inner.body),
        Node::When(inner) => weight(&inner.body),
        Node::Call(_) => 1,
    };
    nodes.iter().map(of).sum()
}

impl<'a> Walk<'a> {
    /// Gives every live variable that was never written a place, so that all ways to a point agree on it.
    fn settle(&self, live: &Set, at: u32, state: &mut State) {
        for var in live.unpinned().filter(|var| !state.loc(*var).is_somewhere()).collect::<Vec<_>>() {
            match self.free(var, at, 0, state).filter(|reg| self.leaves(var, *reg, at).is_none()) {
                Some(reg) => state.put(var, reg),
                None => {
                    state.slot(var, self.moves(var).slots());
                    state.set_valid(var, true);
                }
            }
        }
    }

    pub(super) fn counted(&mut self, part: &'a Part, state: &mut State, out: &mut Out) -> Result<(), AllocateError> {
        let Part::Loop { head, end, counter, control, live_flags, body, live_head, live_exit } = part else {
            unreachable!("called for loops")
        };
        let (head, end) = (*head, *end);
        let count = self.program.var(*counter);
        state.retain(live_head);
        self.settle(live_head, head, state);
        if count >= FIRST_FREE {
            self.bring(count, head, 0, 0, state, out)?;
        }
        let base = state.clone();
        let mut wanted = self.next_header(live_head, head, end, &base);
        let mut best: Option<(usize, State, Out, Out)> = None;
        for _ in 0..LOOP_ROUNDS {
            let mut trial = base.clone();
            let mut before = Out::default();
            self.reconcile(&wanted, head, &mut trial, &mut before);
            // The slot of a value that the loop changes is stale from the second trip on.
            for (var, loc) in trial.places() {
                if loc.reg.is_some() && self.program.written_in(var, head, end) {
                    trial.set_valid(var, false);
                }
            }
            let header = trial.places();
            trial.protect(&header);
            let homes = header.iter().filter_map(|(var, loc)| Some((*var, loc.reg?))).collect();
            self.loops.push(OpenLoop { head, end, live_head, homes });
            let mut inside = Out::default();
            self.parts(body, &mut trial, &mut inside)?;
            let mut live_end = live_head.clone();
            live_end.union(live_exit);
            if count >= FIRST_FREE {
                self.bring(count, end, 0, 0, &mut trial, &mut inside)?;
                trial.set_valid(count, false);
            }
            let next = self.next_header(live_head, head, end, &trial);
            self.reconcile(&header, end, &mut trial, &mut inside);
            self.loops.pop();
            trial.unprotect(&header);
            let cost = weight(&before.nodes) + 8 * weight(&inside.nodes);
            let settled = next == wanted;
            if best.as_ref().is_none_or(|(least, ..)| cost < *least) {
                best = Some((cost, trial, before, inside));
            }
            if settled {
                break;
            }
            wanted = next;
        }
        let (_, mut trial, before, inside) = best.expect("a loop is walked at least once");
        for node in before.nodes {
            match node {
                Node::Block(insts) => insts.into_iter().for_each(|inst| out.push(inst)),
                other => out.nodes.push(other),
            }
        }
        let counter =
            if count < FIRST_FREE { count as u8 } else { trial.loc(count).reg.expect("counters are brought in") };
        out.nodes.push(Node::Loop(Loop {
            counter: self.target.register(counter),
            control: *control,
            live_flags: *live_flags,
            body: inside.nodes,
        }));
        trial.retain(live_exit);
        *state = trial;
        Ok(())
    }

    /// The places in which the next walk of a loop starts: those in which this one ended.
    fn next_header(&self, live_head: &Set, head: u32, end: u32, state: &State) -> Vec<(Var, Loc)> {
        let mut places = state.places();
        places.retain(|(var, _)| live_head.contains(*var));
        for (var, loc) in &mut places {
            // A value that the loop only reads is stored once, before it.
            loc.valid &= loc.reg.is_none() || !self.program.written_in(*var, head, end);
            loc.slot = None;
        }
        places
    }

    pub(super) fn tail(&mut self, part: &'a Part, state: &mut State, out: &mut Out) -> Result<(), AllocateError> {
        let Part::When { at, end, reg, mask, body, live_body, live_join } = part else {
            unreachable!("called for tails")
        };
        let test = self.program.var(*reg);
        let tested = if test < FIRST_FREE {
            test as u8
        } else {
            self.bring(test, *at, 0, 0, state, out)?;
            state.loc(test).reg.expect("just brought in")
        };
        let mut live = live_body.clone();
        live.union(live_join);
        state.retain(&live);
        self.settle(&live, *at, state);
        let mut header = state.places();
        state.protect(&header);
        let protected = header.clone();
        state.retain(live_body);
        // A value that the body makes anew is dead at its start; nobody else gets its place.
        header.retain(|(var, _)| live_join.contains(*var));
        let stale: Vec<Var> = header.iter().filter(|(_, loc)| !loc.valid).map(|(var, _)| *var).collect();
        // A slot beside a register may be stale after the body.
        header.iter_mut().for_each(|(_, loc)| loc.valid &= loc.reg.is_none());
        let mut inside = Out::default();
        self.parts(body, state, &mut inside)?;
        self.reconcile(&header, *end, state, &mut inside);
        // When the body is skipped, a slot is as it was before.
        stale.into_iter().for_each(|var| state.set_valid(var, false));
        state.unprotect(&protected);
        state.retain(live_join);
        out.nodes.push(Node::When(When { reg: self.target.register(tested), mask: *mask, body: inside.nodes }));
        Ok(())
    }
}
