//! The baseline of x86-64: integer arithmetic, moves, and the stack work of prologues.
//! Source: Intel SDM volume 2, AMD APM volume 3. Flags other than CF, OF and ZF are not modelled: nothing reads them.

rows! {
    /// Integer instructions that every x86-64 has. `_rm`: register or memory source; `_mr`: to memory; `_ri`: immediate.
    #[rustfmt::skip]
    Base, Base {
        // variant   method     text     operands                            reads writes undefined feature class
        // Moves leave the flags alone; a 32-bit destination is zero-extended.
        Mov         mov         "mov"    (dst: W r64, src: R r64)             NONE NONE NONE base Move;
        Load        load        "mov"    (dst: W r64, src: R m64)             NONE NONE NONE base Load;
        Store       store       "mov"    (dst: W m64, src: R r64)             NONE NONE NONE base Store;
        MovImm      mov_imm     "movabs" (dst: W r64, value: R i64)           NONE NONE NONE base Move;
        Mov32       mov32       "mov"    (dst: W r32, src: R r32)             NONE NONE NONE base Move;
        Load32      load32      "mov"    (dst: W r32, src: R m32)             NONE NONE NONE base Load;
        Store32     store32     "mov"    (dst: W m32, src: R r32)             NONE NONE NONE base Store;
        Store8      store8      "mov"    (dst: W m8, src: R r8)               NONE NONE NONE base Store;
        MovImm32    mov_imm32   "mov"    (dst: W r32, value: R i32)           NONE NONE NONE base Move;
        Lea         lea         "lea"    (dst: W r64, src: R addr)            NONE NONE NONE base Lea;
        // The address of the function's pool of constants.
        Pool        pool        "lea"    (dst: W r64)                         NONE NONE NONE base Lea;
        // dst := dst op src; adc and sbb take CF in; CF is the carry or borrow out, OF the signed overflow.
        Add         add         "add"    (dst: RW r64, src: R rm64)           NONE COZ NONE base Alu;
        AddMr       add_mr      "add"    (dst: RW m64, src: R r64)            NONE COZ NONE base Alu;
        AddRi       add_ri      "add"    (dst: RW r64, value: R i32)          NONE COZ NONE base Alu;
        Adc         adc         "adc"    (dst: RW r64, src: R rm64)           CF   COZ NONE base Carry;
        AdcMr       adc_mr      "adc"    (dst: RW m64, src: R r64)            CF   COZ NONE base Carry;
        AdcRi       adc_ri      "adc"    (dst: RW r64, value: R i32)          CF   COZ NONE base Carry;
        Sub         sub         "sub"    (dst: RW r64, src: R rm64)           NONE COZ NONE base Alu;
        SubMr       sub_mr      "sub"    (dst: RW m64, src: R r64)            NONE COZ NONE base Alu;
        SubRi       sub_ri      "sub"    (dst: RW r64, value: R i32)          NONE COZ NONE base Alu;
        Sbb         sbb         "sbb"    (dst: RW r64, src: R rm64)           CF   COZ NONE base Carry;
        SbbMr       sbb_mr      "sbb"    (dst: RW m64, src: R r64)            CF   COZ NONE base Carry;
        SbbRi       sbb_ri      "sbb"    (dst: RW r64, value: R i32)          CF   COZ NONE base Carry;
        // Logic clears CF and OF.
        And         and         "and"    (dst: RW r64, src: R rm64)           NONE COZ NONE base Alu;
        AndRi       and_ri      "and"    (dst: RW r64, value: R i32)          NONE COZ NONE base Alu;
        Or          or          "or"     (dst: RW r64, src: R rm64)           NONE COZ NONE base Alu;
        Xor         xor         "xor"    (dst: RW r64, src: R rm64)           NONE COZ NONE base Alu;
        Xor32       xor32       "xor"    (dst: RW r32, src: R rm32)           NONE COZ NONE base Alu;
        Test        test        "test"   (a: R r64, b: R r64)                 NONE COZ NONE base Alu;
        TestRi      test_ri     "test"   (a: R r64, mask: R i32)              NONE COZ NONE base Alu;
        Cmp         cmp         "cmp"    (a: R r64, b: R rm64)                NONE COZ NONE base Alu;
        CmpRi       cmp_ri      "cmp"    (a: R r64, value: R i32)             NONE COZ NONE base Alu;
        // inc and dec keep CF.
        Inc         inc         "inc"    (dst: RW r64)                        NONE OZ  NONE base Alu;
        Dec         dec         "dec"    (dst: RW r64)                        NONE OZ  NONE base Alu;
        Neg         neg         "neg"    (dst: RW r64)                        NONE COZ NONE base Alu;
        Not         not         "not"    (dst: RW r64)                        NONE NONE NONE base Alu;
        // dst := src if CF, else dst as it was; the flags stay. A source in memory is read either way.
        Cmovb       cmovb       "cmovb"  (dst: RW r64, src: R rm64)           CF   NONE NONE base Alu;
        // The bytes in reverse order; the flags stay.
        Bswap       bswap       "bswap"  (dst: RW r64)                        NONE NONE NONE base Alu;
        Bswap32     bswap32     "bswap"  (dst: RW r32)                        NONE NONE NONE base Alu;
        // Rotation by 1-63: CF is the last bit that came around; OF is undefined for counts other than 1. ZF stays.
        Rol         rol         "rol"    (dst: RW r64, count: R i8)           NONE CO  OF   base Shift;
        Ror         ror         "ror"    (dst: RW r64, count: R i8)           NONE CO  OF   base Shift;
        // Shift by 1-63: CF is the last bit out; OF is undefined for counts other than 1.
        Shl         shl         "shl"    (dst: RW r64, count: R i8)           NONE COZ OF   base Shift;
        Shr         shr         "shr"    (dst: RW r64, count: R i8)           NONE COZ OF   base Shift;
        Sar         sar         "sar"    (dst: RW r64, count: R i8)           NONE COZ OF   base Shift;
        // rdx:rax := rax * src; CF = OF = (rdx != 0).
        Mul         mul         "mul"    (src: R rm64, lo: RW r64 @RAX, hi: W r64 @RDX) NONE COZ ZF base Mul;
        // dst := low half of dst * src; CF = OF = it did not fit, signed.
        Imul        imul        "imul"   (dst: RW r64, src: R rm64)           NONE COZ ZF   base Mul;
        // rax, rdx := quotient, remainder of rdx:rax by src; faults when the quotient does not fit.
        Div         div         "div"    (src: R rm64, lo: RW r64 @RAX, hi: RW r64 @RDX) NONE COZ COZ base Div;
    }
}
