//! Orders each straight-line block for a CPU. Virtual registers in, virtual registers out; no instruction is added, dropped
//! or changed.
//!
//! A list scheduler: of the instructions whose dependences are met, take the one on the longest path to the block's end,
//! within the CPU's issue width and throughputs and within a window past the oldest instruction that is left. The
//! dependences of registers and memory are edges of a graph ([`depend`]); a live flag value is an interval in which nobody
//! else may write the flag ([`flags`]).

mod depend;
mod flags;
#[cfg(test)]
mod tests;

use super::model::CostModel;
use crate::ir::{Func, Inst, Node, VReg, Virtual};
use crate::isa::row::FlagSet;
use depend::{Aliases, Graph};
use flags::{FlagPlan, Flow};

/// Blocks are scheduled in pieces of at most this many instructions: the closure of the graph takes the square of it in bits.
const PIECE: usize = 4096;

/// Schedules every block of a function for a CPU.
pub fn schedule(mut func: Func<Virtual>, model: &CostModel) -> Func<Virtual> {
    let flow = Flow::of(&func);
    let scheduler = Scheduler { model, aliases: Aliases::of(&func), flow: &flow };
    scheduler.nodes(&mut func.body, FlagSet::default());
    for (index, sub) in func.subs.iter_mut().enumerate() {
        scheduler.nodes(sub, flow.exit(index));
    }
    func
}

struct Scheduler<'a> {
    model: &'a CostModel,
    aliases: Aliases,
    flow: &'a Flow,
}

impl Scheduler<'_> {
    /// Schedules nodes after which the flags `live` are live.
    fn nodes(&self, nodes: &mut [Node<VReg>], mut live: FlagSet) {
        for node in nodes.iter_mut().rev() {
            let before = self.flow.before(node, live);
            match node {
                Node::Block(insts) => self.block(insts, live),
                Node::Loop(inner) => {
                    let end = self.flow.loop_end(inner, live);
                    self.nodes(&mut inner.body, end);
                }
                Node::When(inner) => self.nodes(&mut inner.body, live),
                Node::Call(_) => {}
            }
            live = before;
        }
    }

    fn block(&self, insts: &mut Vec<Inst<VReg>>, live: FlagSet) {
        let mut offsets = depend::Offsets::default();
        let mut out = Vec::with_capacity(insts.len());
        let pieces: Vec<_> = insts.chunks(PIECE).collect();
        for (index, piece) in pieces.iter().enumerate() {
            let live = pieces[index + 1..].iter().rev().fold(live, |live, piece| flags::before_block(piece, live));
            let order = self.order(piece, live, &mut offsets);
            out.extend(order.into_iter().map(|index| piece[index].clone()));
        }
        *insts = out;
    }

    fn order(&self, insts: &[Inst<VReg>], live: FlagSet, offsets: &mut depend::Offsets) -> Vec<usize> {
        let base = Graph::of(insts, self.model, &self.aliases, offsets);
        let mut graph = base.clone();
        if let Some(plan) = FlagPlan::free(insts, live, &mut graph)
            && let Some(order) = self.list(insts, &graph, plan)
        {
            return order;
        }
        // The intervals of two flags wait for each other: give up the freedom of writes that nobody reads.
        let mut graph = base;
        let plan = FlagPlan::fixed(insts, live, &mut graph);
        self.list(insts, &graph, plan).unwrap_or_else(|| (0..insts.len()).collect())
    }

    /// One list schedule, or `None` when flag intervals wait for each other.
    fn list(&self, insts: &[Inst<VReg>], graph: &Graph, mut plan: FlagPlan) -> Option<Vec<usize>> {
        let count = insts.len();
        let window = usize::try_from(self.model.window).unwrap_or(usize::MAX).max(1);
        let width = self.model.issue_width.max(1);
        let priority = graph.critical_paths();
        let (keys, steps) = self.throughputs(insts);
        let mut free_at = vec![0.0_f64; steps.len()];
        let mut waiting = graph.predecessor_counts();
        let mut ready_at = vec![0_u64; count];
        let mut available: Vec<usize> = (0..count).filter(|index| waiting[*index] == 0).collect();
        let mut done = vec![false; count];
        let mut oldest = 0;
        let mut order = Vec::with_capacity(count);
        let (mut cycle, mut issued) = (0_u64, 0);
        while order.len() < count {
            while done[oldest] {
                oldest += 1;
            }
            let limit = oldest.saturating_add(window);
            let mut allowed: Vec<usize> =
                available.iter().copied().filter(|index| *index < limit && plan.allows(*index)).collect();
            if allowed.is_empty() {
                // The readers of a live flag lie past the window: only they can free it.
                allowed = available.iter().copied().filter(|index| plan.allows(*index)).collect();
            }
            if self.model.seed.is_some() {
                let best = allowed.into_iter().min_by_key(|index| (self.model.shake(*index), *index))?;
                available.retain(|index| *index != best);
                done[best] = true;
                plan.issue(best);
                for (next, _) in graph.successors(best) {
                    waiting[*next] -= 1;
                    if waiting[*next] == 0 {
                        available.push(*next);
                    }
                }
                order.push(best);
                continue;
            }
            let starts = |index: usize| -> u64 {
                // Cycle counts are far below 2^52, and rounding up needs no more than whole cycles.
                ready_at[index].max(free_at[keys[index]].floor() as u64)
            };
            let earliest = allowed.iter().map(|index| starts(*index)).min()?;
            if issued == width || earliest > cycle {
                cycle = earliest.max(cycle + u64::from(issued == width));
                issued = 0;
                continue;
            }
            let best = allowed.into_iter().filter(|index| starts(*index) <= cycle);
            let best = best.min_by_key(|index| (std::cmp::Reverse(priority[*index]), *index))?;
            available.retain(|index| *index != best);
            done[best] = true;
            issued += 1;
            free_at[keys[best]] = free_at[keys[best]].max(cycle as f64) + steps[keys[best]];
            plan.issue(best);
            for (next, latency) in graph.successors(best) {
                waiting[*next] -= 1;
                ready_at[*next] = ready_at[*next].max(cycle + u64::from(*latency));
                if waiting[*next] == 0 {
                    available.push(*next);
                }
            }
            order.push(best);
        }
        Some(order)
    }

    /// For each instruction the number of its unit, and for each unit the cycles that one instruction keeps it.
    fn throughputs(&self, insts: &[Inst<VReg>]) -> (Vec<usize>, Vec<f64>) {
        let mut units = std::collections::BTreeMap::new();
        let mut steps = Vec::new();
        let unit_of = |inst: &Inst<VReg>| {
            let row = inst.op.row();
            *units.entry(self.model.key(row)).or_insert_with(|| {
                steps.push(1.0 / self.model.per_cycle(row));
                steps.len() - 1
            })
        };
        let keys = insts.iter().map(unit_of).collect();
        (keys, steps)
    }
}
