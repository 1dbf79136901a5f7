//! Pointers as places in slices, and memory as their elements: limbs one by one, or taken out together for a block.

use super::Printer;
use crate::ir::{Func, Inst, Length, Mem, Operand, ParameterKind, Space, VReg, Virtual};
use crate::isa::Op;
use crate::isa::base::Base;
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use std::collections::{BTreeMap, BTreeSet};

impl Printer<'_> {
    /// The slices of which a block uses one stretch of limbs, behind one pointer (or behind pointers that walk in step)
    /// that stays until the last access: those limbs are taken out once, as an array, by the statement that stands here.
    pub(super) fn windows(&self, insts: &[Inst<VReg>]) -> BTreeMap<u8, TokenStream> {
        let mut uses: BTreeMap<u8, Option<(VReg, u8, i32)>> = BTreeMap::new();
        // Two pointers of one argument say nothing of each other.
        let in_step = |one: u8, other: u8| one != other && self.cursor(one) == self.cursor(other);
        let mut moved: BTreeSet<VReg> = BTreeSet::new();
        for inst in insts {
            if let Some((mem, ..)) = inst.memory() {
                let Space::Argument(argument) = mem.space else {
                    unreachable!("portable memory belongs to an argument")
                };
                let slice = self.slice_of[&argument];
                let limbs = mem.disp / self.bytes() + 1;
                let fits = mem.disp >= 0 && mem.index.is_none() && !moved.contains(&mem.base);
                let entry = uses.entry(slice).or_insert(Some((mem.base, argument, limbs)));
                *entry = entry.filter(|(base, other, _)| fits && (*base == mem.base || in_step(*other, argument)));
                if let Some((_, _, most)) = entry {
                    *most = (*most).max(limbs);
                }
            }
            moved.extend(inst.writes());
        }
        let window = |(slice, used): (u8, Option<(VReg, u8, i32)>)| {
            let (base, _, limbs) = used?;
            let (name, at, now) = (self.parameter(slice), self.index(base), self.now(slice));
            let limbs = usize::try_from(limbs).expect("at least one");
            let writes =
                matches!(self.func.parameters[usize::from(slice)].kind, ParameterKind::Pointer { writes: true, .. });
            let chunk = if writes {
                quote!(#name[#at..].first_chunk_mut::<#limbs>())
            } else {
                quote!(#name[#at..].first_chunk::<#limbs>())
            };
            Some((slice, quote!(let #now = #chunk.expect("the count covers every trip");)))
        };
        uses.into_iter().filter_map(window).collect()
    }

    /// Whether a pointer is to bytes.
    pub(super) fn in_bytes(&self, argument: u8) -> bool {
        let kind = self.func.parameters[usize::from(argument)].kind;
        matches!(kind, ParameterKind::Pointer { element_bytes: 1, .. })
    }

    /// How many limbs a pointer is to.
    pub(super) fn in_limbs(&self, argument: u8, length: Length) -> Length {
        if !self.in_bytes(argument) {
            return length;
        }
        let bytes = self.func.limb_bits / 8;
        let whole = |number: u32| {
            assert!(number.is_multiple_of(bytes), "bytes that are no whole limbs: {length:?}");
            number / bytes
        };
        let term = |(index, times): (u8, u16)| (index, u16::try_from(whole(times.into())).expect("no larger"));
        Length::new(&length.terms().map(term).collect::<Vec<_>>(), whole(length.plus()))
    }

    fn cursor(&self, argument: u8) -> u8 {
        match self.func.parameters[usize::from(argument)].kind {
            ParameterKind::Pointer { cursor, .. } => cursor,
            ParameterKind::Count { .. } | ParameterKind::Value { .. } => unreachable!("memory belongs to a pointer"),
        }
    }

    pub(super) fn bytes(&self) -> i32 {
        i32::try_from(self.func.limb_bits / 8).expect("small")
    }

    fn now(&self, slice: u8) -> Ident {
        format_ident!("{}_now", self.parameter(slice))
    }

    /// The name of a pointer's place in its slice.
    pub(super) fn index(&self, reg: VReg) -> Ident {
        format_ident!("{}_at", self.reg(reg))
    }

    /// Limbs of a displacement, without its sign.
    pub(super) fn limbs(&self, mem: &Mem<VReg>) -> usize {
        let bytes = self.bytes();
        assert!(mem.disp % bytes == 0, "portable displacement {mem:?}");
        usize::try_from((mem.disp / bytes).unsigned_abs()).expect("small")
    }

    /// `at + k`, for a displacement in bytes and an index register.
    pub(super) fn place(&self, mem: &Mem<VReg>) -> TokenStream {
        let (at, bytes, limbs) = (self.index(mem.base), self.bytes(), self.limbs(mem));
        let index = mem.index.map(|(reg, scale)| {
            assert_eq!(i32::from(scale), bytes, "portable index {mem:?}");
            let reg = self.reg(reg);
            quote!(+ #reg as usize)
        });
        match mem.disp.signum() {
            0 => quote!(#at #index),
            1 => quote!(#at #index + #limbs),
            _ => quote!(#at #index - #limbs),
        }
    }

    pub(super) fn mem_in_bytes(&self, mem: &Mem<VReg>) -> bool {
        matches!(mem.space, Space::Argument(argument) if self.in_bytes(argument))
    }

    /// The element of a slice that an access is to.
    pub(super) fn element(&self, mem: &Mem<VReg>, windows: &BTreeMap<u8, TokenStream>) -> TokenStream {
        let Space::Argument(argument) = mem.space else { unreachable!("portable memory belongs to an argument") };
        let slice = self.slice_of[&argument];
        if windows.contains_key(&slice) {
            let (now, limb) = (self.now(slice), usize::try_from(mem.disp / self.bytes()).expect("not negative"));
            quote!(#now[#limb])
        } else {
            let (name, place) = (self.parameter(slice), self.place(mem));
            quote!(#name[#place])
        }
    }

    /// The register, if it is a pointer.
    pub(super) fn pointer(&self, operand: &Operand<VReg>) -> Option<VReg> {
        match operand {
            Operand::Reg(reg) if self.pointers.contains_key(reg) => Some(*reg),
            Operand::Reg(_) | Operand::Mem(_) | Operand::Imm(_) => None,
        }
    }
}

/// The registers that hold pointers, each with its argument.
pub(super) fn pointers(func: &Func<Virtual>) -> BTreeMap<VReg, u8> {
    let mut pointers = BTreeMap::new();
    for (index, parameter) in func.parameters.iter().enumerate() {
        if let ParameterKind::Pointer { .. } = parameter.kind {
            pointers.insert(parameter.reg, u8::try_from(index).expect("few parameters"));
        }
    }
    for inst in func.instructions() {
        let found = match (inst.op, inst.operands.as_slice()) {
            (Op::Base(Base::Mov), [Operand::Reg(to), Operand::Reg(from)]) => {
                pointers.get(from).map(|argument| (*to, *argument))
            }
            (Op::Base(Base::Lea), [Operand::Reg(to), Operand::Mem(Mem { space: Space::Argument(argument), .. })]) => {
                Some((*to, *argument))
            }
            _ => None,
        };
        pointers.extend(found);
    }
    pointers
}
