//! The dependences of a block that hold whatever the flags do: registers, MMX state and memory.

use crate::ir::{Func, Inst, Mem, Operand, ParameterKind, Space, VReg, Virtual};
use crate::isa::Op;
use crate::isa::avx::Avx;
use crate::isa::base::Base;
use crate::isa::mmx_sse2::MmxSse2;
use crate::isa::row::RegClass;
use crate::pass::model::CostModel;
use crate::pass::{Resource, reads_and_writes};
use std::collections::{BTreeMap, BTreeSet};

/// Which arguments may share bytes, and whose offsets can be compared.
pub(super) struct Aliases {
    /// For each parameter, the representative of those it may equal.
    group: Vec<usize>,
    cursor: Vec<Option<u8>>,
    /// Arguments that the function reaches through one base register only: that one walks with the cursor.
    single: Vec<bool>,
    limb_bits: u32,
}

impl Aliases {
    pub(super) fn of(func: &Func<Virtual>) -> Aliases {
        let count = func.parameters.len();
        let mut group: Vec<usize> = (0..count).collect();
        for (index, parameter) in func.parameters.iter().enumerate() {
            for other in parameter.may_equal.iter().map(|other| usize::from(*other)).filter(|other| *other < count) {
                let (from, to) = (group[other], group[index]);
                group.iter_mut().filter(|root| **root == from).for_each(|root| *root = to);
            }
        }
        let cursor_of = |kind| match kind {
            ParameterKind::Pointer { cursor, .. } => Some(cursor),
            ParameterKind::Count { .. } | ParameterKind::Value { .. } => None,
        };
        let cursor = func.parameters.iter().map(|parameter| cursor_of(parameter.kind)).collect();
        let mut bases = vec![BTreeSet::new(); count];
        for inst in func.instructions() {
            if let Some((mem, ..)) = inst.memory()
                && let Space::Argument(argument) = mem.space
                && let Some(bases) = bases.get_mut(usize::from(argument))
            {
                bases.insert(Resource::of(mem.base));
            }
        }
        let single = bases.iter().map(|bases| bases.len() <= 1).collect();
        Aliases { group, cursor, single, limb_bits: func.limb_bits }
    }

    fn group(&self, space: Space) -> Option<usize> {
        match space {
            Space::Argument(argument) => self.group.get(usize::from(argument)).copied(),
            Space::Pointed | Space::Frame | Space::Pool | Space::Nowhere => None,
        }
    }

    /// Whether two accesses may touch the same byte.
    fn conflict(&self, a: &MemoryUse, b: &MemoryUse) -> bool {
        let comparable = match (a.space, b.space) {
            (Space::Argument(x), Space::Argument(y)) => {
                if self.group(a.space) != self.group(b.space) {
                    return false;
                }
                let (x, y) = (usize::from(x), usize::from(y));
                let in_step = || self.single[x] && self.single[y] && self.cursor[x] == self.cursor[y];
                a.base == b.base || (x != y && in_step())
            }
            (Space::Frame, Space::Frame) | (Space::Pointed, Space::Pointed) => a.base == b.base,
            (Space::Pointed, Space::Argument(_)) | (Space::Argument(_), Space::Pointed) => false,
            (Space::Pointed, Space::Frame) | (Space::Frame, Space::Pointed) => return false,
            (Space::Argument(_), Space::Frame) | (Space::Frame, Space::Argument(_)) => return false,
            // Nothing writes the pool.
            (Space::Pool, _) | (_, Space::Pool) => return false,
            // An access that names no memory may be anywhere.
            (Space::Nowhere, _) | (_, Space::Nowhere) => false,
        };
        match (a.offset, b.offset) {
            (Some(x), Some(y)) if comparable => x < y + i64::from(b.bytes) && y < x + i64::from(a.bytes),
            _ => true,
        }
    }
}

/// What is known of the bases of a block: the bytes that each moved since the block's start, `None` when unknown.
#[derive(Clone, Default)]
pub(super) struct Offsets(BTreeMap<Resource, Option<i64>>);

impl Offsets {
    fn of(&self, mem: &Mem<VReg>) -> Option<i64> {
        let moved = self.0.get(&Resource::of(mem.base)).copied().unwrap_or(Some(0))?;
        mem.index.is_none().then_some(moved + i64::from(mem.disp))
    }

    fn step(&mut self, inst: &Inst<VReg>) {
        let own_step = match (inst.op, &inst.operands[..]) {
            (Op::Base(Base::Lea), [Operand::Reg(dst), Operand::Mem(mem)])
                if Resource::of(*dst) == Resource::of(mem.base) =>
            {
                self.of(mem)
            }
            _ => None,
        };
        for reg in inst.writes() {
            self.0.insert(Resource::of(reg), own_step);
        }
    }
}

struct MemoryUse {
    inst: usize,
    space: Space,
    base: Resource,
    offset: Option<i64>,
    bytes: u32,
    writes: bool,
}

/// The order that an order must keep: edges from an instruction to a later one, with the cycles between their starts.
#[derive(Clone)]
pub(super) struct Graph {
    successors: Vec<Vec<(usize, u32)>>,
    latency: Vec<u32>,
}

#[derive(Default)]
struct Last {
    writer: Option<usize>,
    readers: Vec<usize>,
}

impl Graph {
    /// The dependences of registers and memory. `offsets` is what was known at the start; it is moved on.
    pub(super) fn of(insts: &[Inst<VReg>], model: &CostModel, aliases: &Aliases, offsets: &mut Offsets) -> Graph {
        let latency = insts.iter().map(|inst| model.latency(inst.op.row())).collect();
        let mut graph = Graph { successors: vec![Vec::new(); insts.len()], latency };
        let mut last: BTreeMap<Resource, Last> = BTreeMap::new();
        // The MMX unit's state: `emms` writes it, every other MMX instruction reads it. Upper halves of vector registers alike.
        let (mut unit, mut upper) = (Last::default(), Last::default());
        let mut uses: Vec<MemoryUse> = Vec::new();
        for (index, inst) in insts.iter().enumerate() {
            let (reads, writes) = reads_and_writes(inst);
            for reg in reads {
                graph.read(last.entry(Resource::of(reg)).or_default(), index);
            }
            for reg in writes {
                graph.write(last.entry(Resource::of(reg)).or_default(), index);
            }
            if inst.op == Op::MmxSse2(MmxSse2::Emms) {
                graph.write(&mut unit, index);
            } else if touches_mmx(inst) {
                graph.read(&mut unit, index);
            }
            if inst.op == Op::Avx(Avx::Vzeroupper) {
                graph.write(&mut upper, index);
            } else if inst.is_wide() {
                graph.read(&mut upper, index);
            }
            if let Some(here) = memory_use(inst, index, offsets, aliases.limb_bits) {
                for earlier in &uses {
                    if (earlier.writes || here.writes) && aliases.conflict(earlier, &here) {
                        graph.edge(earlier.inst, index, if earlier.writes { graph.latency[earlier.inst] } else { 0 });
                    }
                }
                uses.push(here);
            }
            offsets.step(inst);
        }
        graph
    }

    fn read(&mut self, last: &mut Last, index: usize) {
        if let Some(writer) = last.writer {
            self.edge(writer, index, self.latency[writer]);
        }
        last.readers.push(index);
    }

    fn write(&mut self, last: &mut Last, index: usize) {
        if let Some(writer) = last.writer {
            self.edge(writer, index, 0);
        }
        for reader in std::mem::take(&mut last.readers) {
            self.edge(reader, index, 0);
        }
        last.writer = Some(index);
    }

    /// Adds an edge, unless it leads from an instruction to itself.
    pub(super) fn edge(&mut self, from: usize, to: usize, latency: u32) {
        debug_assert!(from <= to, "edges follow the source order");
        if from != to {
            self.successors[from].push((to, latency));
        }
    }

    /// Adds an edge along which a value flows.
    pub(super) fn value(&mut self, from: usize, to: usize) {
        self.edge(from, to, self.latency[from]);
    }

    pub(super) fn successors(&self, index: usize) -> &[(usize, u32)] {
        &self.successors[index]
    }

    pub(super) fn predecessor_counts(&self) -> Vec<u32> {
        let mut counts = vec![0; self.successors.len()];
        self.successors.iter().flatten().for_each(|(to, _)| counts[*to] += 1);
        counts
    }

    /// Cycles from the start of each instruction to the end of the block along the longest path.
    pub(super) fn critical_paths(&self) -> Vec<u64> {
        let mut paths = vec![0; self.successors.len()];
        for index in (0..paths.len()).rev() {
            let after = self.successors[index].iter().map(|(to, latency)| paths[*to] + u64::from(*latency)).max();
            paths[index] = after.unwrap_or(0).max(u64::from(self.latency[index]));
        }
        paths
    }

    /// For each instruction, the set of those that must come before it.
    pub(super) fn ancestors(&self) -> Vec<Vec<u64>> {
        let count = self.successors.len();
        let mut sets = vec![vec![0_u64; count.div_ceil(64)]; count];
        for from in 0..count {
            let (before, after) = sets.split_at_mut(from + 1);
            for (to, _) in &self.successors[from] {
                let set = &mut after[to - from - 1];
                set.iter_mut().zip(&before[from]).for_each(|(word, other)| *word |= other);
                set[from / 64] |= 1 << (from % 64);
            }
        }
        sets
    }
}

fn touches_mmx(inst: &Inst<VReg>) -> bool {
    inst.operands.iter().flat_map(Operand::registers).any(|reg| reg.class == RegClass::Mmx)
}

fn memory_use(inst: &Inst<VReg>, index: usize, offsets: &Offsets, limb_bits: u32) -> Option<MemoryUse> {
    let (mem, _, writes) = inst.memory()?;
    let (offset, bytes) = (offsets.of(mem), inst.access()?.bytes(limb_bits));
    Some(MemoryUse { inst: index, space: mem.space, base: Resource::of(mem.base), offset, bytes, writes })
}
