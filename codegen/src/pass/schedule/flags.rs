//! Flags as resources: where they are live in a function, and the intervals of a block in which a flag holds a value that
//! somebody reads.

use super::depend::Graph;
use crate::ir::{Control, Func, Inst, Loop, Node, VReg, Virtual};
use crate::isa::row::{COZ, FlagSet, OZ};

/// The flags that are live at the start of straight-line code, from those live at its end.
pub(super) fn before_block(insts: &[Inst<VReg>], live: FlagSet) -> FlagSet {
    insts.iter().rev().fold(live, |live, inst| {
        let flags = inst.op.row().flags;
        live.difference(flags.writes).union(flags.reads)
    })
}

/// Liveness of flags over a whole function.
pub(super) struct Flow {
    subs: Vec<Vec<Node<VReg>>>,
    exits: Vec<FlagSet>,
}

impl Flow {
    pub(super) fn of(func: &Func<Virtual>) -> Flow {
        let mut flow = Flow { subs: func.subs.clone(), exits: vec![FlagSet::default(); func.subs.len()] };
        loop {
            let mut exits = flow.exits.clone();
            flow.calls(&func.body, FlagSet::default(), &mut exits);
            for (index, sub) in func.subs.iter().enumerate() {
                flow.calls(sub, flow.exits[index], &mut exits);
            }
            if exits == flow.exits {
                return flow;
            }
            flow.exits = exits;
        }
    }

    /// The flags that are live where the subroutine returns.
    pub(super) fn exit(&self, sub: usize) -> FlagSet {
        self.exits[sub]
    }

    fn calls(&self, nodes: &[Node<VReg>], mut live: FlagSet, exits: &mut [FlagSet]) {
        for node in nodes.iter().rev() {
            match node {
                Node::Block(_) => {}
                Node::Loop(inner) => self.calls(&inner.body, self.loop_end(inner, live), exits),
                Node::When(inner) => self.calls(&inner.body, live, exits),
                Node::Call(sub) => exits[sub.0 as usize] = exits[sub.0 as usize].union(live),
            }
            live = self.before(node, live);
        }
    }

    /// The flags that are live before a node, from those live after it.
    pub(super) fn before(&self, node: &Node<VReg>, live: FlagSet) -> FlagSet {
        self.before_at(node, live, 0)
    }

    fn before_at(&self, node: &Node<VReg>, live: FlagSet, depth: usize) -> FlagSet {
        match node {
            Node::Block(insts) => before_block(insts, live),
            Node::Loop(inner) => self.before_all(&inner.body, self.loop_end_at(inner, live, depth), depth),
            // The test writes all three.
            Node::When(_) => FlagSet::default(),
            // Subroutines that call each other in a circle are refused by allocation.
            Node::Call(_) if depth > self.subs.len() => COZ,
            Node::Call(sub) => self.before_all(&self.subs[sub.0 as usize], live, depth + 1),
        }
    }

    fn before_all(&self, nodes: &[Node<VReg>], live: FlagSet, depth: usize) -> FlagSet {
        nodes.iter().rev().fold(live, |live, node| self.before_at(node, live, depth))
    }

    /// The flags that are live at the end of a loop's body, before its control.
    pub(super) fn loop_end(&self, inner: &Loop<VReg>, live: FlagSet) -> FlagSet {
        self.loop_end_at(inner, live, 0)
    }

    fn loop_end_at(&self, inner: &Loop<VReg>, live: FlagSet, depth: usize) -> FlagSet {
        let control = match inner.control {
            Control::Decrement => OZ,
            Control::FlagFree => FlagSet::default(),
        };
        // The transfer of a body is "gen or (live and not kill)": the second round is the fixed point.
        let once = live.union(inner.live_flags).difference(control);
        once.union(self.before_all(&inner.body, once, depth).difference(control))
    }
}

/// The live interval of one flag value: who makes it, who reads it.
struct Interval {
    /// `None`: it is live at the start of the block.
    writer: Option<usize>,
    readers: Vec<usize>,
    /// Whether it is live at the end of the block.
    leaves: bool,
}

/// What a block does with one flag.
#[derive(Default)]
struct Flag {
    intervals: Vec<Interval>,
    /// Writes that nobody reads, with the number of intervals before each.
    dead: Vec<(usize, usize)>,
}

impl Flag {
    fn of(insts: &[Inst<VReg>], flag: FlagSet, live: FlagSet) -> Flag {
        let mut out = Flag::default();
        let mut writer = None;
        let mut readers = Vec::new();
        let close = |writer: Option<usize>, readers: Vec<usize>, leaves: bool, out: &mut Flag| {
            if leaves || !readers.is_empty() {
                out.intervals.push(Interval { writer, readers, leaves });
            } else if let Some(writer) = writer {
                out.dead.push((writer, out.intervals.len()));
            }
        };
        for (index, inst) in insts.iter().enumerate() {
            let flags = inst.op.row().flags;
            if flags.reads.contains(flag) {
                readers.push(index);
            }
            if flags.writes.contains(flag) {
                close(writer, std::mem::take(&mut readers), false, &mut out);
                writer = Some(index);
            }
        }
        close(writer, readers, live.contains(flag), &mut out);
        out
    }

    /// The edges that hold in both plans: values flow to their readers, and intervals keep their order.
    fn order_intervals(&self, insts: &[Inst<VReg>], flag: FlagSet, graph: &mut Graph) {
        for (index, interval) in self.intervals.iter().enumerate() {
            if let Some(writer) = interval.writer {
                interval.readers.iter().for_each(|reader| graph.value(writer, *reader));
            }
            // A reader that writes the flag ends the interval: it is the last in the source, and stays the last.
            if let Some((last, others)) = interval.readers.split_last()
                && insts[*last].op.row().flags.writes.contains(flag)
            {
                others.iter().for_each(|reader| graph.edge(*reader, *last, 0));
            }
            if let Some(next) = self.intervals.get(index + 1).and_then(|next| next.writer) {
                interval.readers.iter().for_each(|reader| graph.edge(*reader, next, 0));
            }
        }
    }
}

/// What the list scheduler asks before it takes an instruction.
pub(super) struct FlagPlan {
    /// For each flag and instruction: what issuing it does to the flag.
    effects: [Vec<Effect>; 3],
    /// Readers that are still to come, of the value in each flag.
    pending: [usize; 3],
}

#[derive(Clone, Copy, Default)]
struct Effect {
    reads: bool,
    /// Writes a value that nobody reads.
    writes_dead: bool,
    /// Starts an interval with this many readers; the end of the block counts as one.
    opens: usize,
}

impl FlagPlan {
    /// The plan in which dead writes may go anywhere outside the live intervals. `None` when no order of them is found.
    pub(super) fn free(insts: &[Inst<VReg>], live: FlagSet, graph: &mut Graph) -> Option<FlagPlan> {
        let flags = FlagSet::EACH.map(|flag| Flag::of(insts, flag, live));
        for (flag, set) in flags.iter().zip(FlagSet::EACH) {
            flag.order_intervals(insts, set, graph);
        }
        // An interval may not open before the dead writes on which its readers wait: they could not run inside it.
        for _ in 0..8 {
            if !add_waits(insts.len(), &flags, graph) {
                return Some(FlagPlan::new(insts.len(), &flags));
            }
        }
        None
    }

    /// The plan in which dead writes keep their place among the live intervals: the source order always satisfies it.
    pub(super) fn fixed(insts: &[Inst<VReg>], live: FlagSet, graph: &mut Graph) -> FlagPlan {
        let flags = FlagSet::EACH.map(|flag| Flag::of(insts, flag, live));
        for (flag, set) in flags.iter().zip(FlagSet::EACH) {
            flag.order_intervals(insts, set, graph);
            for (dead, after) in &flag.dead {
                if let Some(previous) = after.checked_sub(1) {
                    flag.intervals[previous].readers.iter().for_each(|reader| graph.edge(*reader, *dead, 0));
                }
                if let Some(writer) = flag.intervals.get(*after).and_then(|next| next.writer) {
                    graph.edge(*dead, writer, 0);
                }
            }
        }
        FlagPlan::new(insts.len(), &flags)
    }

    fn new(count: usize, flags: &[Flag; 3]) -> FlagPlan {
        let mut plan = FlagPlan { effects: [(); 3].map(|()| vec![Effect::default(); count]), pending: [0; 3] };
        for (number, flag) in flags.iter().enumerate() {
            for interval in &flag.intervals {
                let readers = interval.readers.len() + usize::from(interval.leaves);
                interval.readers.iter().for_each(|reader| plan.effects[number][*reader].reads = true);
                match interval.writer {
                    Some(writer) => plan.effects[number][writer].opens = readers,
                    None => plan.pending[number] = readers,
                }
            }
            flag.dead.iter().for_each(|(dead, _)| plan.effects[number][*dead].writes_dead = true);
        }
        plan
    }

    /// Whether the instruction would leave every live flag value alone.
    pub(super) fn allows(&self, index: usize) -> bool {
        (0..3).all(|flag| {
            let effect = self.effects[flag][index];
            let pending = self.pending[flag] - usize::from(effect.reads);
            pending == 0 || !(effect.writes_dead || effect.opens > 0)
        })
    }

    /// Takes note that the instruction was issued.
    pub(super) fn issue(&mut self, index: usize) {
        for flag in 0..3 {
            let effect = self.effects[flag][index];
            self.pending[flag] -= usize::from(effect.reads);
            if effect.opens > 0 {
                self.pending[flag] = effect.opens;
            }
        }
    }
}

/// Adds the missing edges from dead writes to the intervals that must not open before them; whether there were any.
fn add_waits(count: usize, flags: &[Flag; 3], graph: &mut Graph) -> bool {
    if flags.iter().all(|flag| flag.dead.is_empty() || flag.intervals.is_empty()) {
        return false;
    }
    let ancestors = graph.ancestors();
    let words = count.div_ceil(64);
    let mut added = false;
    for flag in flags {
        let mut dead = vec![0_u64; words];
        flag.dead.iter().for_each(|(index, _)| dead[index / 64] |= 1 << (index % 64));
        for interval in &flag.intervals {
            let Some(writer) = interval.writer else { continue };
            for word in 0..words.min(writer / 64 + 1) {
                let waits = interval.readers.iter().fold(0, |waits, reader| waits | ancestors[*reader][word]);
                let waits = if interval.leaves { u64::MAX } else { waits };
                let mut missing = waits & dead[word] & !ancestors[writer][word];
                while missing != 0 {
                    let before = word * 64 + missing.trailing_zeros() as usize;
                    missing &= missing - 1;
                    if before < writer {
                        graph.edge(before, writer, 0);
                        added = true;
                    }
                }
            }
        }
    }
    added
}
