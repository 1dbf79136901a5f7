//! Prints a function of the portable ISA as safe Rust: one function for distinct memory and, where the contract lets a
//! read-only argument be the same memory as a written one, one for that. Sees IR and a banner, never TOML.
//!
//! Bytes are read and written as limbs, least significant byte first: their slice is one of arrays of that many bytes.
//!
//! A pointer is printed as a place in its slice. The limbs of a straight-line block are taken out of the slices once, as
//! arrays, where the block's pointers stand still until its last access: then its accesses need no bounds checks.

mod places;
mod scopes;
mod sharing;
mod statements;

pub use sharing::sharing;

use crate::ir::{Func, Length, Node, ParameterKind, VReg, Virtual};
use places::pointers;
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use scopes::Scopes;
use sharing::{choices, copied};
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

/// Prints `func`. Both functions panic when the slices' lengths differ.
///
/// # Panics
/// On IR that is not of the portable ISA or not of the shape described above: a fault of a family.
pub fn items(func: &Func<Virtual>, ident: &str, banner: &str) -> PortableItems {
    let name = format_ident!("{ident}");
    let printer = Printer::new(func, &[]);
    let distinct = match copied(func) {
        Some(pair) => printer.by_copy(&name, banner, pair),
        None => printer.function(&name, banner),
    };
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

/// Registers that a function may declare one by one.
const MOST_SCOPES: usize = 256;
/// Registers of one statement beyond that.
const TOGETHER: usize = 64;

struct Printer<'a> {
    func: &'a Func<Virtual>,
    limb: Ident,
    wide: Ident,
    /// For each pointer parameter, the parameter whose slice it is printed as.
    slice_of: BTreeMap<u8, u8>,
    /// Registers that are written more than once, or inside a body and read outside it.
    shared: BTreeSet<VReg>,
    /// The registers that hold pointers: printed as places in slices.
    pointers: BTreeMap<VReg, u8>,
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
        let pointers = pointers(func);
        let mut scopes = Scopes::default();
        scopes.nodes(&func.body, 0);
        let mut shared = scopes.shared;
        // The result is read at the end of the function, outside every body.
        shared.extend(func.returns.filter(|returned| scopes.home.get(returned).is_some_and(|scope| *scope != 0)));
        // Each `let` opens a scope inside the one before it, and debug information follows them in recursion: thousands end
        // the compiler. A long function has its registers declared together.
        if func.instructions().len() > MOST_SCOPES {
            shared.extend(func.instructions().iter().flat_map(|inst| inst.writes()));
        }
        // A parameter has its name from the signature, and a pointer is a place that is declared in any case.
        shared.retain(|reg| func.parameters.iter().all(|parameter| parameter.reg != *reg));
        shared.retain(|reg| !pointers.contains_key(reg));
        Printer { func, limb: format_ident!("{limb}"), wide: format_ident!("{wide}"), slice_of, shared, pointers }
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

    /// A function that copies what it reads to where it writes, and goes on there.
    fn by_copy(&self, ident: &Ident, banner: &str, (reader, writer): (u8, u8)) -> TokenStream {
        let in_place = format_ident!("{ident}_in_place");
        let (from, to) = (self.parameter(reader), self.parameter(writer));
        let passed = (0u8..).zip(&self.func.parameters).filter_map(|(index, parameter)| match parameter.kind {
            ParameterKind::Count { .. } => None,
            ParameterKind::Pointer { .. } | ParameterKind::Value { .. } if index == reader => None,
            ParameterKind::Pointer { .. } | ParameterKind::Value { .. } => Some(self.parameter(index)),
        });
        self.signature(
            ident,
            banner,
            quote! {
                #to.copy_from_slice(#from);
                #in_place(#(#passed),*)
            },
        )
    }

    fn function(&self, ident: &Ident, banner: &str) -> TokenStream {
        let checks = self.counts();
        let indices = self.pointers.keys().map(|reg| {
            let name = self.index(*reg);
            quote!(let mut #name: usize = 0;)
        });
        let shared = self.declarations();
        let body = self.body(&self.func.body);
        let result = self.func.returns.map(|reg| self.reg(reg));
        self.signature(
            ident,
            banner,
            quote! {
                #(#checks)*
                #(#indices)*
                #(#shared)*
                #body
                #result
            },
        )
    }

    /// A function with that body.
    fn signature(&self, ident: &Ident, banner: &str, body: TokenStream) -> TokenStream {
        let limb = &self.limb;
        let bytes = usize::try_from(self.bytes()).expect("small");
        let mut parameters = Vec::new();
        for (index, parameter) in self.func.parameters.iter().enumerate() {
            let index = u8::try_from(index).expect("few parameters");
            let name = format_ident!("{}", parameter.name);
            match parameter.kind {
                ParameterKind::Pointer { writes, .. } if self.slice_of[&index] == index => {
                    let element = if self.in_bytes(index) { quote!([u8; #bytes]) } else { quote!(#limb) };
                    parameters.push(if writes { quote!(#name: &mut [#element]) } else { quote!(#name: &[#element]) });
                }
                ParameterKind::Pointer { .. } | ParameterKind::Count { .. } => {}
                ParameterKind::Value { .. } => parameters.push(quote!(#name: #limb)),
            }
        }
        let returns = self.func.returns.map(|_| quote!(-> #limb));
        // Line by line, as a person would write them.
        let docs = banner.lines().map(|line| if line.is_empty() { String::new() } else { format!(" {line}") });
        quote! {
            #(#[doc = #docs])*
            #[allow(clippy::all, unused_mut, unused_assignments, unused_variables, reason = "generated")]
            pub fn #ident(#(#parameters),*) #returns {
                #body
            }
        }
    }

    /// Declares the shared registers: one by one, or many in a statement when there are very many.
    fn declarations(&self) -> Vec<TokenStream> {
        let limb = &self.limb;
        let (values, others): (Vec<&VReg>, Vec<&VReg>) =
            self.shared.iter().partition(|reg| reg.class == crate::isa::row::RegClass::Portable);
        let count = format_ident!("u64");
        let mut declarations = Vec::new();
        for (regs, ty) in [(values, limb), (others, &count)] {
            let together = if regs.len() > MOST_SCOPES { TOGETHER } else { 1 };
            for regs in regs.chunks(together) {
                let names: Vec<Ident> = regs.iter().map(|reg| self.reg(**reg)).collect();
                declarations.push(match names.as_slice() {
                    [name] => quote!(let mut #name: #ty = 0;),
                    names => {
                        let many = names.len();
                        quote!(let [#(mut #names),*]: [#ty; #many] = [0; #many];)
                    }
                });
            }
        }
        declarations
    }

    /// Finds each count from the slices' lengths, and checks the lengths that are left.
    fn counts(&self) -> Vec<TokenStream> {
        let slices = self.func.parameters.iter().enumerate().filter_map(|(index, parameter)| match parameter.kind {
            ParameterKind::Pointer { length, .. } if self.slice_of.get(&(index as u8)) == Some(&(index as u8)) => {
                Some((format_ident!("{}", parameter.name), self.in_limbs(index as u8, length)))
            }
            ParameterKind::Pointer { .. } | ParameterKind::Count { .. } | ParameterKind::Value { .. } => None,
        });
        let mut left: Vec<(Ident, Length)> = slices.collect();
        let mut known: BTreeSet<u8> = BTreeSet::new();
        let mut checks = Vec::new();
        let times = |index: u8, times: u16| {
            let count = self.parameter(index);
            let times = u64::from(times);
            if times == 1 { quote!(#count) } else { quote!(#times * #count) }
        };
        // Each pass takes the first slice that tells one more count, or whose counts are all known.
        while !left.is_empty() {
            let unknown = |length: &Length| length.terms().filter(|(index, _)| !known.contains(index)).count();
            let next = left.iter().position(|(_, length)| unknown(length) <= 1).expect("the slices tell the counts");
            let (name, length) = left.remove(next);
            let own = length.terms().find(|(index, _)| !known.contains(index));
            let others = length.terms().filter(|term| Some(*term) != own).map(|(index, by)| times(index, by));
            let plus = u64::from(length.plus());
            let rest = quote!(#plus #(+ #others)*);
            match own {
                Some((index, by)) => {
                    let count = self.parameter(index);
                    let by = u64::from(by);
                    let message = format!("{name} has too few limbs");
                    checks
                        .push(quote!(let mut #count = (#name.len() as u64).checked_sub(#rest).expect(#message) / #by;));
                    known.insert(index);
                    if by != 1 {
                        let message = format!("{name} has a multiple of {by} limbs");
                        checks.push(quote!(assert_eq!(#name.len() as u64, #by * #count + #rest, #message);));
                    }
                }
                None => {
                    let message = format!(
                        "{name} has {} limbs",
                        length.text(|index| &self.func.parameters[usize::from(index)].name)
                    );
                    checks.push(quote!(assert_eq!(#name.len() as u64, #rest, #message);));
                }
            }
        }
        if let (Some(exact), Some(count)) = (self.func.exact, self.func.first_count()) {
            let count = self.parameter(count as u8);
            let message = format!("exactly {exact} limbs");
            checks.push(quote!(assert_eq!(#count, #exact, #message);));
        }
        checks
    }

    /// The statements of one body.
    fn body(&self, nodes: &[Node<VReg>]) -> TokenStream {
        let mut out = TokenStream::new();
        for node in nodes {
            match node {
                Node::Block(insts) => {
                    let windows = self.windows(insts);
                    out.extend(windows.values().cloned());
                    insts.iter().for_each(|inst| out.extend(self.inst(inst, &windows)));
                }
                Node::Loop(inner) => {
                    let counter = self.reg(inner.counter);
                    let body = self.body(&inner.body);
                    out.extend(quote! {
                        while #counter != 0 {
                            #body
                            #counter = #counter - 1;
                        }
                    });
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
}
