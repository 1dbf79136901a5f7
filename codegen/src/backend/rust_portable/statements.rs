//! The statement that each instruction becomes.

use super::Printer;
use crate::ir::{Inst, Operand, VReg};
use crate::isa::Op;
use crate::isa::base::Base;
use crate::isa::portable::Portable;
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use std::collections::BTreeMap;

impl Printer<'_> {
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

    pub(super) fn inst(&self, inst: &Inst<VReg>, windows: &BTreeMap<u8, TokenStream>) -> TokenStream {
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
}

fn operand_number(operand: &Operand<VReg>) -> u32 {
    operand.registers().next().expect("a register").index
}
