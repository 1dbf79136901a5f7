//! Prints a function of the portable ISA as safe Rust: one function for distinct memory and, where the contract lets a
//! read-only argument be the same memory as a written one, one for that. Sees IR and a banner, never TOML.
//!
//! Bytes are read and written as limbs, least significant byte first: their slice is one of arrays of that many bytes.
//!
//! A pointer is printed as a place in its slice. The limbs of a straight-line block are taken out of the slices once, as
//! arrays, where the block's pointers stand still until its last access: then its accesses need no bounds checks.

use crate::ir::{Func, Inst, Length, Mem, Node, Operand, Parameter, ParameterKind, Space, VReg, Virtual};
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

/// Instructions from which on a second copy of the code costs more than a copy of the data.
const LARGE: usize = 1000;

/// The reader and the writer of a large function whose only way to share memory is that these are the same: it is printed for
/// that alone.
fn copied(func: &Func<Virtual>) -> Option<(u8, u8)> {
    let [pair] = sharing(&func.parameters)[..] else { return None };
    let kind = |index: u8| func.parameters[usize::from(index)].kind;
    let (ParameterKind::Pointer { length: from, .. }, ParameterKind::Pointer { length: to, reads: false, .. }) =
        (kind(pair.0), kind(pair.1))
    else {
        return None;
    };
    (from == to && func.instructions().len() >= LARGE).then_some(pair)
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

    /// The slices of which a block uses one stretch of limbs, behind one pointer (or behind pointers that walk in step)
    /// that stays until the last access: those limbs are taken out once, as an array, by the statement that stands here.
    fn windows(&self, insts: &[Inst<VReg>]) -> BTreeMap<u8, TokenStream> {
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
    fn in_bytes(&self, argument: u8) -> bool {
        let kind = self.func.parameters[usize::from(argument)].kind;
        matches!(kind, ParameterKind::Pointer { element_bytes: 1, .. })
    }

    /// How many limbs a pointer is to.
    fn in_limbs(&self, argument: u8, length: Length) -> Length {
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

    fn bytes(&self) -> i32 {
        i32::try_from(self.func.limb_bits / 8).expect("small")
    }

    fn now(&self, slice: u8) -> Ident {
        format_ident!("{}_now", self.parameter(slice))
    }

    /// The name of a pointer's place in its slice.
    fn index(&self, reg: VReg) -> Ident {
        format_ident!("{}_at", self.reg(reg))
    }

    /// Limbs of a displacement, without its sign.
    fn limbs(&self, mem: &Mem<VReg>) -> usize {
        let bytes = self.bytes();
        assert!(mem.disp % bytes == 0, "portable displacement {mem:?}");
        usize::try_from((mem.disp / bytes).unsigned_abs()).expect("small")
    }

    /// `at + k`, for a displacement in bytes and an index register.
    fn place(&self, mem: &Mem<VReg>) -> TokenStream {
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

    /// `let name = value;`, or an assignment to a shared register.
    fn set(&self, operand: &Operand<VReg>, value: TokenStream) -> TokenStream {
        let Operand::Reg(reg) = operand else { unreachable!("a register is written") };
        let name = self.reg(*reg);
        if self.shared.contains(reg) { quote!(#name = #value;) } else { quote!(let mut #name = #value;) }
    }

    fn value(&self, operand: &Operand<VReg>, windows: &BTreeMap<u8, TokenStream>) -> TokenStream {
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
                let (element, limb) = (self.element(mem, windows), &self.limb);
                if self.mem_in_bytes(mem) { quote!(#limb::from_le_bytes(#element)) } else { element }
            }
        }
    }

    fn mem_in_bytes(&self, mem: &Mem<VReg>) -> bool {
        matches!(mem.space, Space::Argument(argument) if self.in_bytes(argument))
    }

    /// The element of a slice that an access is to.
    fn element(&self, mem: &Mem<VReg>, windows: &BTreeMap<u8, TokenStream>) -> TokenStream {
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

    fn inst(&self, inst: &Inst<VReg>, windows: &BTreeMap<u8, TokenStream>) -> TokenStream {
        let (limb, wide) = (&self.limb, &self.wide);
        let bits = self.func.limb_bits;
        let operands = &inst.operands;
        let value = |index: usize| self.value(&operands[index], windows);
        let set = |index: usize, to: TokenStream| self.set(&operands[index], to);
        let method = |name: TokenStream| {
            let (a, b) = (value(1), value(2));
            set(0, quote!(#a.#name(#b)))
        };
        let infix = |operator: TokenStream| {
            let (a, b) = (value(1), value(2));
            set(0, quote!(#a #operator #b))
        };
        match inst.op {
            Op::Portable(op) => match op {
                Portable::Load | Portable::Copy => set(0, value(1)),
                Portable::Constant => {
                    let Operand::Imm(constant) = operands[1] else { unreachable!("a constant: {inst:?}") };
                    let constant = match bits {
                        64 => proc_macro2::Literal::u64_suffixed(constant as u64),
                        _ => proc_macro2::Literal::u32_suffixed(constant as u32),
                    };
                    set(0, quote!(#constant))
                }
                Portable::Store => {
                    let Operand::Mem(mem) = &operands[0] else { unreachable!("a place: {inst:?}") };
                    let (place, value) = (self.element(mem, windows), value(1));
                    if self.mem_in_bytes(mem) {
                        quote!(#place = #value.to_le_bytes();)
                    } else {
                        quote!(#place = #value;)
                    }
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
                Portable::SubBorrow => {
                    let (a, b, borrow_in) = (value(2), value(3), value(4));
                    let difference = format_ident!("d{}", operand_number(&operands[0]));
                    let wrapped = quote!((#a as #wide).wrapping_sub(#b as #wide).wrapping_sub(#borrow_in as #wide));
                    let dst = set(0, quote!(#difference as #limb));
                    let borrow = set(1, quote!((#difference >> #bits) as #limb & 1));
                    quote! { let #difference = #wrapped; #dst #borrow }
                }
                Portable::DivWide => {
                    let (hi, lo, d) = (value(2), value(3), value(4));
                    let dividend = format_ident!("n{}", operand_number(&operands[0]));
                    let quotient = set(0, quote!((#dividend / #d as #wide) as #limb));
                    let remainder = set(1, quote!((#dividend % #d as #wide) as #limb));
                    quote! { let #dividend = (#hi as #wide) << #bits | #lo as #wide; #quotient #remainder }
                }
                Portable::Add | Portable::WrapAdd => method(quote!(wrapping_add)),
                Portable::WrapSub => method(quote!(wrapping_sub)),
                Portable::MulLow => method(quote!(wrapping_mul)),
                Portable::And => infix(quote!(&)),
                Portable::Or => infix(quote!(|)),
                Portable::Xor => infix(quote!(^)),
                Portable::Shl => infix(quote!(<<)),
                Portable::Shr => infix(quote!(>>)),
                Portable::Rotate => method(quote!(rotate_right)),
                Portable::SwapBytes => {
                    let a = value(1);
                    set(0, quote!(#a.swap_bytes()))
                }
            },
            // Counts and pointers.
            Op::Base(op) => match op {
                Base::Mov if self.pointer(&operands[0]).is_some() => {
                    let [to, from] = [0, 1].map(|index| self.index(self.pointer(&operands[index]).expect("a pointer")));
                    quote!(#to = #from;)
                }
                Base::Mov | Base::MovImm | Base::MovImm32 => set(0, value(1)),
                Base::Shr => self.update(&operands[0], quote!(>>), value(1)),
                Base::AndRi => self.update(&operands[0], quote!(&), value(1)),
                Base::Imul => self.update(&operands[0], quote!(*), value(1)),
                Base::Add | Base::AddRi => self.update(&operands[0], quote!(+), value(1)),
                Base::Sub | Base::SubRi => self.update(&operands[0], quote!(-), value(1)),
                Base::Lea => {
                    let (Some(to), Operand::Mem(mem)) = (self.pointer(&operands[0]), &operands[1]) else {
                        unreachable!("an address of no pointer: {inst:?}")
                    };
                    let to = self.index(to);
                    // A pointer may step off the front when nothing is read there: after a loop's last trip.
                    if mem.disp < 0 && mem.index.is_none() {
                        let (at, limbs) = (self.index(mem.base), self.limbs(mem));
                        return quote!(#to = #at.wrapping_sub(#limbs););
                    }
                    let place = self.place(mem);
                    quote!(#to = #place;)
                }
                _ => unreachable!("not an operation on counts: {inst:?}"),
            },
            Op::MmxSse2(_)
            | Op::Sse2(_)
            | Op::Ssse3Sse41(_)
            | Op::Aes(_)
            | Op::Avx(_)
            | Op::Avx2(_)
            | Op::Vaes(_)
            | Op::Bmi2Adx(_) => unreachable!("not of the portable ISA: {inst:?}"),
        }
    }

    fn update(&self, target: &Operand<VReg>, operator: TokenStream, by: TokenStream) -> TokenStream {
        let Operand::Reg(reg) = target else { unreachable!("a register is updated") };
        let name = self.reg(*reg);
        quote!(#name = #name #operator #by;)
    }

    /// The register, if it is a pointer.
    fn pointer(&self, operand: &Operand<VReg>) -> Option<VReg> {
        match operand {
            Operand::Reg(reg) if self.pointers.contains_key(reg) => Some(*reg),
            Operand::Reg(_) | Operand::Mem(_) | Operand::Imm(_) => None,
        }
    }
}

/// The registers that hold pointers, each with its argument.
fn pointers(func: &Func<Virtual>) -> BTreeMap<VReg, u8> {
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

fn operand_number(operand: &Operand<VReg>) -> u32 {
    operand.registers().next().expect("a register").index
}

/// Finds the registers that need a declaration before everything: written more than once, or used outside the body in which
/// they are first written and the bodies inside it.
#[derive(Default)]
struct Scopes {
    /// The body around each body but the outermost.
    parents: Vec<u32>,
    /// The body in which each register is first written.
    home: BTreeMap<VReg, u32>,
    shared: BTreeSet<VReg>,
}

impl Scopes {
    fn nodes(&mut self, nodes: &[Node<VReg>], scope: u32) {
        for node in nodes {
            match node {
                Node::Block(insts) => insts.iter().for_each(|inst| self.inst(inst, scope)),
                Node::Loop(inner) => {
                    self.used(inner.counter, scope);
                    self.inside(&inner.body, scope);
                }
                Node::When(inner) => {
                    self.used(inner.reg, scope);
                    self.inside(&inner.body, scope);
                }
                Node::Call(_) => {}
            }
        }
    }

    fn inside(&mut self, nodes: &[Node<VReg>], scope: u32) {
        self.parents.push(scope);
        let own = u32::try_from(self.parents.len()).expect("few bodies");
        self.nodes(nodes, own);
    }

    fn inst(&mut self, inst: &Inst<VReg>, scope: u32) {
        for (operand, spec) in inst.operands.iter().zip(inst.op.row().operands) {
            if !matches!(operand, Operand::Reg(_)) || spec.access.reads() {
                operand.registers().for_each(|reg| self.used(reg, scope));
            }
            let Operand::Reg(reg) = operand else { continue };
            if spec.access.writes() {
                match self.home.get(reg) {
                    None => {
                        self.home.insert(*reg, scope);
                    }
                    Some(_) if spec.access.reads() => {}
                    Some(_) => {
                        self.shared.insert(*reg);
                    }
                }
            }
        }
    }

    /// A register is used: outside its home it must be declared outside.
    fn used(&mut self, reg: VReg, scope: u32) {
        let Some(home) = self.home.get(&reg) else { return };
        let mut around = scope;
        while around > *home {
            around = self.parents[around as usize - 1];
        }
        if around != *home {
            self.shared.insert(reg);
        }
    }
}
