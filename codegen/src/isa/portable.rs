//! The portable ISA: unlimited values of one limb, no flags (a carry is a value, 0 or 1). Printed as safe Rust.
//! Pointers and counts keep to the general registers of the base rows in form only: `rust_portable` prints them as slices
//! and loop bounds.

rows! {
    /// Portable operations on limbs of the function's width w.
    #[rustfmt::skip]
    Portable, Portable {
        // variant   method      name         operands                                          reads writes undefined feature class
        Load        p_load      "load"       (dst: W val, src: R mlimb)                          NONE NONE NONE base Load;
        Store       p_store     "store"      (dst: W mlimb, src: R val)                          NONE NONE NONE base Store;
        Copy        p_copy      "copy"       (dst: W val, src: R val)                            NONE NONE NONE base Move;
        Constant    p_constant  "constant"   (dst: W val, value: R i64)                          NONE NONE NONE base Move;
        // hi:lo := a * b.
        MulWide     p_mul_wide  "mul_wide"   (hi: W val, lo: W val, a: R val, b: R val)          NONE NONE NONE base Mul;
        // carry:dst := a + b + carry_in, where carry_in is 0 or 1.
        AddCarry    p_add_carry "add_carry"  (dst: W val, carry: W val, a: R val, b: R val, carry_in: R val) NONE NONE NONE base Carry;
        // dst - borrow 2^w := a - b - borrow_in, where borrow_in is 0 or 1.
        SubBorrow   p_sub_borrow "sub_borrow" (dst: W val, borrow: W val, a: R val, b: R val, borrow_in: R val) NONE NONE NONE base Carry;
        // quotient, remainder := hi:lo by d, where hi < d; its time depends on the operands.
        DivWide     p_div_wide  "div_wide"   (quotient: W val, remainder: W val, hi: R val, lo: R val, d: R val) NONE NONE NONE base Div;
        // dst := a + b, where the family has shown that nothing is lost.
        Add         p_add       "add"        (dst: W val, a: R val, b: R val)                    NONE NONE NONE base Alu;
        // dst := a + b, a - b, a * b mod 2^w.
        WrapAdd     p_wrap_add  "wrap_add"   (dst: W val, a: R val, b: R val)                    NONE NONE NONE base Alu;
        WrapSub     p_wrap_sub  "wrap_sub"   (dst: W val, a: R val, b: R val)                    NONE NONE NONE base Alu;
        MulLow      p_mul_low   "mul_low"    (dst: W val, a: R val, b: R val)                    NONE NONE NONE base Mul;
        And         p_and       "and"        (dst: W val, a: R val, b: R val)                    NONE NONE NONE base Alu;
        Or          p_or        "or"         (dst: W val, a: R val, b: R val)                    NONE NONE NONE base Alu;
        Xor         p_xor       "xor"        (dst: W val, a: R val, b: R val)                    NONE NONE NONE base Alu;
        // dst := a shifted by a constant below w.
        Shl         p_shl       "shl"        (dst: W val, a: R val, count: R i8)                 NONE NONE NONE base Shift;
        Shr         p_shr       "shr"        (dst: W val, a: R val, count: R i8)                 NONE NONE NONE base Shift;
        // dst := a rotated right by a constant below w.
        Rotate      p_rotate    "rotate"     (dst: W val, a: R val, count: R i8)                 NONE NONE NONE base Shift;
        // dst := a with its bytes in the opposite order.
        SwapBytes   p_swap_bytes "swap_bytes" (dst: W val, a: R val)                             NONE NONE NONE base Alu;
    }
}
