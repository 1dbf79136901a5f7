//! Prints a function of the portable ISA as safe Rust: one function for distinct memory and, where the contract lets a
//! read-only argument be the same memory as a written one, one for that. Sees IR and a banner, never TOML.
//!
//! The shape that it prints: in each body, all accesses come before the pointers walk on. A body's limbs are split off the
//! slices once, as arrays, so that the accesses inside need no bounds checks.

use crate::ir::{Func, Inst, Mem, Node, Operand, Parameter, ParameterKind, Space, VReg, Virtual};
use crate::isa::Op;
use crate::isa::base::Base;
use crate::isa::portable::Portable;
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use std::collections::{BTreeMap, BTreeSet};

/// The Rust form of a portable function.
#[derive(Debug)]
pub struct PortableItems {
    /// `fn ident(r: &mut [u64], a: &[u64], w: u64) -> u64`: counts are the slices' lengths.
    pub distinct: TokenStream,
    /// One for each way that arguments which are only read may be the memory of one that is written.
    pub in_place: Vec<InPlace>,
}

/// `fn ident_in_place(r: &mut [u64], w: u64) -> u64`: some arguments share the slice of another.
#[derive(Debug)]
pub struct InPlace {
    /// The arguments without a slice of their own, each with the written argument whose memory it is.
    pub shares: Vec<(u8, u8)>,
    /// The function's name.
    pub ident: String,
    /// The function.
    pub item: TokenStream,
}

/// The pairs of an argument that is only read and a written one that may be the same memory, directly or by way of other
/// arguments that are only read.
pub fn sharing(parameters: &[Parameter<VReg>]) -> Vec<(u8, u8)> {
    let written = |index: usize| matches!(parameters[index].kind, ParameterKind::Pointer { writes: true, .. });
    let equal = |a: usize, b: usize| {
        let names = |a: usize, b: usize| parameters[a].may_equal.iter().any(|other| usize::from(*other) == b);
        names(a, b) || names(b, a)
    };
    let mut pairs = Vec::new();
    for writer in (0..parameters.len()).filter(|index| written(*index)) {
        let mut class = vec![writer];
        let mut next = 0;
        while next < class.len() {
            let more = (0..parameters.len()).filter(|other| !class.contains(other) && !written(*other));
            let more: Vec<usize> = more.filter(|other| equal(class[next], *other)).collect();
            class.extend(more);
            next += 1;
        }
        pairs.extend(class[1..].iter().map(|reader| (*reader as u8, writer as u8)));
    }
    pairs
}

/// Every non-empty choice of pairs with each reader at most once; the largest first.
fn choices(pairs: &[(u8, u8)]) -> Vec<Vec<(u8, u8)>> {
    let mut all = vec![Vec::new()];
    for pair in pairs {
        let with = |chosen: &Vec<(u8, u8)>| chosen.iter().copied().chain([*pair]).collect();
        let free = |chosen: &&Vec<(u8, u8)>| chosen.iter().all(|(reader, _)| *reader != pair.0);
        let more: Vec<Vec<(u8, u8)>> = all.iter().filter(free).map(with).collect();
        all.extend(more);
    }
    all.retain(|chosen| !chosen.is_empty());
    all.sort_by_key(|chosen| core::cmp::Reverse(chosen.len()));
    all
}

/// Prints `func`. Both functions panic when the slices' lengths differ.
///
/// # Panics
/// On IR that is not of the portable ISA or not of the shape described above: a fault of a family.
pub fn items(func: &Func<Virtual>, ident: &str, banner: &str) -> PortableItems {
    let distinct = Printer::new(func, &[]).function(&format_ident!("{ident}"), banner);
    let choices = choices(&sharing(&func.parameters));
    let alone = choices.len() == 1;
    let in_place = choices.into_iter().map(|shares| {
        let mut ident = format!("{ident}_in_place");
        for index in shares.iter().flat_map(|(reader, writer)| [*reader, *writer]).filter(|_| !alone) {
            ident = format!("{ident}_{}", func.parameters[usize::from(index)].name);
        }
        let item = Printer::new(func, &shares).function(&format_ident!("{ident}"), banner);
        InPlace { shares, ident, item }
    });
    let in_place = in_place.collect();
    PortableItems { distinct, in_place }
}

struct Printer<'a> {
    func: &'a Func<Virtual>,
    limb: Ident,
    wide: Ident,
    /// For each pointer parameter, the parameter whose slice it is printed as.
    slice_of: BTreeMap<u8, u8>,
    /// Registers that are written more than once, or inside a body and read outside it.
    shared: BTreeSet<VReg>,
}

impl<'a> Printer<'a> {
    fn new(func: &'a Func<Virtual>, shares: &[(u8, u8)]) -> Printer<'a> {
        let mut slice_of = BTreeMap::new();
        for (index, parameter) in func.parameters.iter().enumerate() {
            if let ParameterKind::Pointer { .. } = parameter.kind {
                let own = u8::try_from(index).expect("few parameters");
                let target = shares.iter().find(|(reader, _)| *reader == own).map_or(own, |(_, writer)| *writer);
                slice_of.insert(own, target);
            }
        }
        let (limb, wide) = match func.limb_bits {
            64 => ("u64", "u128"),
            _ => ("u32", "u64"),
        };
        let mut shared = BTreeSet::new();
        let mut first = BTreeMap::new();
        let mut scopes = 0;
        find_shared(&func.body, 0, &mut scopes, &mut first, &mut shared);
        // The result is read at the end of the function, outside every body.
        shared.extend(func.returns.filter(|returned| first.get(returned).is_some_and(|scope| *scope != 0)));
        // A parameter has its name from the signature.
        shared.retain(|reg| func.parameters.iter().all(|parameter| parameter.reg != *reg));
        Printer { func, limb: format_ident!("{limb}"), wide: format_ident!("{wide}"), slice_of, shared }
    }

    fn parameter(&self, index: u8) -> Ident {
        format_ident!("{}", self.func.parameters[usize::from(index)].name)
    }

    /// The name of a register: a parameter's own, or a number.
    fn reg(&self, reg: VReg) -> Ident {
        match self.func.parameters.iter().find(|parameter| parameter.reg == reg) {
            Some(parameter) => format_ident!("{}", parameter.name),
            None => format_ident!("v{}", reg.index),
        }
    }

    fn function(&self, ident: &Ident, banner: &str) -> TokenStream {
        let limb = &self.limb;
        let mut parameters = Vec::new();
        let mut checks = Vec::new();
        let mut lengths = BTreeMap::new();
        for (index, parameter) in self.func.parameters.iter().enumerate() {
            let index = u8::try_from(index).expect("few parameters");
            let name = format_ident!("{}", parameter.name);
            match parameter.kind {
                ParameterKind::Pointer { writes, count, .. } if self.slice_of[&index] == index => {
                    parameters.push(if writes { quote!(mut #name: &mut [#limb]) } else { quote!(mut #name: &[#limb]) });
                    let count = self.parameter(count);
                    match lengths.get(&count) {
                        None => {
                            checks.push(quote!(let #count = #name.len() as u64;));
                            lengths.insert(count, name);
                        }
                        Some(first) => {
                            let message = format!("{first} and {name} have the same length");
                            checks.push(quote!(assert_eq!(#first.len(), #name.len(), #message);));
                        }
                    }
                }
                ParameterKind::Pointer { .. } | ParameterKind::Count { .. } => {}
                ParameterKind::Value { .. } => parameters.push(quote!(#name: #limb)),
            }
        }
        if let Some(exact) = self.func.exact {
            let count = lengths.keys().next().expect("an exact function has a count");
            let message = format!("exactly {exact} limbs");
            checks.push(quote!(assert_eq!(#count, #exact, #message);));
        }
        let shared = self.shared.iter().map(|reg| {
            let name = self.reg(*reg);
            match reg.class {
                crate::isa::row::RegClass::Portable => quote!(let mut #name: #limb = 0;),
                _ => quote!(let mut #name: u64 = 0;),
            }
        });
        let body = self.body(&self.func.body);
        let (returns, result) = match self.func.returns {
            Some(reg) => {
                let name = self.reg(reg);
                (quote!(-> #limb), quote!(#name))
            }
            None => (TokenStream::new(), TokenStream::new()),
        };
        // Line by line, as a person would write them.
        let docs = banner.lines().map(|line| if line.is_empty() { String::new() } else { format!(" {line}") });
        quote! {
            #(#[doc = #docs])*
            #[allow(clippy::all, unused_mut, unused_assignments, unused_variables, reason = "generated")]
            pub fn #ident(#(#parameters),*) #returns {
                #(#checks)*
                #(#shared)*
                #body
                #result
            }
        }
    }

    /// The statements of one body.
    fn body(&self, nodes: &[Node<VReg>]) -> TokenStream {
        let mut out = TokenStream::new();
        out.extend(self.split(nodes));
        for node in nodes {
            match node {
                Node::Block(insts) => insts.iter().for_each(|inst| out.extend(self.inst(inst))),
                Node::Loop(inner) => {
                    let counter = self.reg(inner.counter);
                    let body = self.body(&inner.body);
                    out.extend(quote!(for _ in 0..#counter { #body }));
                }
                Node::When(inner) => {
                    let reg = self.reg(inner.reg);
                    let body = self.body(&inner.body);
                    out.extend(match inner.mask {
                        None => quote!(if #reg != 0 { #body }),
                        Some(mask) => {
                            let mask = u64::from(mask.unsigned_abs());
                            quote!(if #reg & #mask != 0 { #body })
                        }
                    });
                }
                Node::Call(_) => unreachable!("portable functions have no subroutines"),
            }
        }
        out
    }

    /// Splits the limbs of one body off each slice that it touches.
    fn split(&self, nodes: &[Node<VReg>]) -> TokenStream {
        let mut touched: BTreeMap<u8, i32> = BTreeMap::new();
        for node in nodes {
            let Node::Block(insts) = node else { continue };
            for inst in insts {
                if let Some((mem, ..)) = inst.memory() {
                    let (slice, element) = self.element(mem);
                    let limbs = touched.entry(slice).or_default();
                    *limbs = (*limbs).max(i32::try_from(element).expect("a small index") + 1);
                }
            }
        }
        let mut out = TokenStream::new();
        for (slice, limbs) in touched {
            let name = self.parameter(slice);
            let (now, rest) = (format_ident!("{name}_now"), format_ident!("{name}_rest"));
            let limbs = usize::try_from(limbs).expect("at least one");
            let ParameterKind::Pointer { writes, .. } = self.func.parameters[usize::from(slice)].kind else {
                unreachable!("memory belongs to a pointer")
            };
            let split = if writes {
                quote!(core::mem::take(&mut #name).split_first_chunk_mut::<#limbs>())
            } else {
                quote!(#name.split_first_chunk::<#limbs>())
            };
            out.extend(quote! {
                let (#now, #rest) = #split.expect("the count covers every trip");
                #name = #rest;
            });
        }
        out
    }

    /// The slice that a memory operand is in, and the index in the body's limbs.
    fn element(&self, mem: &Mem<VReg>) -> (u8, usize) {
        let Space::Argument(argument) = mem.space else { unreachable!("portable memory belongs to an argument") };
        let bytes = i32::try_from(self.func.limb_bits / 8).expect("small");
        assert!(mem.index.is_none() && mem.disp >= 0 && mem.disp % bytes == 0, "portable index {mem:?}");
        (self.slice_of[&argument], usize::try_from(mem.disp / bytes).expect("not negative"))
    }

    /// `let name = value;`, or an assignment to a shared register.
    fn set(&self, operand: &Operand<VReg>, value: TokenStream) -> TokenStream {
        let Operand::Reg(reg) = operand else { unreachable!("a register is written") };
        let name = self.reg(*reg);
        if self.shared.contains(reg) { quote!(#name = #value;) } else { quote!(let mut #name = #value;) }
    }

    fn value(&self, operand: &Operand<VReg>) -> TokenStream {
        match operand {
            Operand::Reg(reg) => {
                let name = self.reg(*reg);
                quote!(#name)
            }
            Operand::Imm(value) => {
                let value = proc_macro2::Literal::i64_unsuffixed(*value);
                quote!(#value)
            }
            Operand::Mem(mem) => {
                let (slice, index) = self.element(mem);
                let now = format_ident!("{}_now", self.parameter(slice));
                quote!(#now[#index])
            }
        }
    }

    fn inst(&self, inst: &Inst<VReg>) -> TokenStream {
        let (limb, wide) = (&self.limb, &self.wide);
        let bits = self.func.limb_bits;
        let operands = &inst.operands;
        let value = |index: usize| self.value(&operands[index]);
        let set = |index: usize, to: TokenStream| self.set(&operands[index], to);
        match inst.op {
            Op::Portable(op) => match op {
                Portable::Load | Portable::Copy | Portable::Constant => set(0, value(1)),
                Portable::Store => {
                    let (place, value) = (value(0), value(1));
                    quote!(#place = #value;)
                }
                Portable::MulWide => {
                    let (a, b) = (value(2), value(3));
                    let product = format_ident!("p{}", operand_number(&operands[0]));
                    let (hi, lo) = (set(0, quote!((#product >> #bits) as #limb)), set(1, quote!(#product as #limb)));
                    quote! { let #product = #a as #wide * #b as #wide; #hi #lo }
                }
                Portable::AddCarry => {
                    let (a, b, carry_in) = (value(2), value(3), value(4));
                    let sum = format_ident!("s{}", operand_number(&operands[0]));
                    let (dst, carry) = (set(0, quote!(#sum as #limb)), set(1, quote!((#sum >> #bits) as #limb)));
                    quote! { let #sum = #a as #wide + #b as #wide + #carry_in as #wide; #dst #carry }
                }
                Portable::Add => {
                    let (a, b) = (value(1), value(2));
                    set(0, quote!(#a.wrapping_add(#b)))
                }
            },
            // Counts and pointers.
            Op::Base(op) => match op {
                Base::Mov | Base::MovImm | Base::MovImm32 => set(0, value(1)),
                Base::Shr => self.update(&operands[0], quote!(>>), value(1)),
                Base::AndRi => self.update(&operands[0], quote!(&), value(1)),
                Base::Imul => self.update(&operands[0], quote!(*), value(1)),
                Base::Sub => self.update(&operands[0], quote!(-), value(1)),
                // A pointer walks on: `split` has done that already.
                Base::Lea => TokenStream::new(),
                _ => unreachable!("not an operation on counts: {inst:?}"),
            },
            Op::MmxSse2(_) | Op::Sse2(_) | Op::Bmi2Adx(_) => unreachable!("not of the portable ISA: {inst:?}"),
        }
    }

    fn update(&self, target: &Operand<VReg>, operator: TokenStream, by: TokenStream) -> TokenStream {
        let name = self.value(target);
        quote!(#name = #name #operator #by;)
    }
}

fn operand_number(operand: &Operand<VReg>) -> u32 {
    operand.registers().next().expect("a register").index
}

/// Finds the registers that need a declaration before everything: written in a body and written or read in another.
fn find_shared(
    nodes: &[Node<VReg>],
    scope: u32,
    scopes: &mut u32,
    first: &mut BTreeMap<VReg, u32>,
    shared: &mut BTreeSet<VReg>,
) {
    for node in nodes {
        match node {
            Node::Block(insts) => {
                for inst in insts {
                    for (operand, spec) in inst.operands.iter().zip(inst.op.row().operands) {
                        let Operand::Reg(reg) = operand else { continue };
                        let pure_write = !spec.access.reads();
                        match first.get(reg) {
                            None if spec.access.writes() => {
                                first.insert(*reg, scope);
                            }
                            Some(home) if spec.access.writes() && pure_write || *home > scope => {
                                shared.insert(*reg);
                            }
                            _ => {}
                        }
                    }
                }
            }
            Node::Loop(inner) => {
                *scopes += 1;
                find_shared(&inner.body, *scopes, scopes, first, shared);
            }
            Node::When(inner) => {
                *scopes += 1;
                find_shared(&inner.body, *scopes, scopes, first, shared);
            }
            Node::Call(_) => {}
        }
    }
}
