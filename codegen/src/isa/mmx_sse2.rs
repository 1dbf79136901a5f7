//! MMX registers with the 64-bit integer instructions that SSE2 added to them: the way to wide products of 32-bit limbs.
//! Source: Intel SDM volume 2, AMD APM volume 5. None of these touches a flag. A kernel that uses them ends with `emms`.

rows! {
    /// MMX instructions, and the SSE2 instructions on MMX registers.
    #[rustfmt::skip]
    MmxSse2, MmxSse2 {
        // variant   method        text      operands                     reads writes undefined feature class
        // movd: 32 bits in, zero-extended; low 32 bits out.
        MovdIn      movd_in        "movd"    (dst: W mm, src: R rm32)      NONE NONE NONE mmx  SimdMove;
        MovdOut     movd_out       "movd"    (dst: W r32, src: R mm)       NONE NONE NONE mmx  SimdMove;
        MovdStore   movd_store     "movd"    (dst: W m32, src: R mm)       NONE NONE NONE mmx  Store;
        MovqMm      movq_mm        "movq"    (dst: W mm, src: R mm)        NONE NONE NONE mmx  SimdMove;
        MovqLoad    movq_load      "movq"    (dst: W mm, src: R m64)       NONE NONE NONE mmx  Load;
        MovqStore   movq_store     "movq"    (dst: W m64, src: R mm)       NONE NONE NONE mmx  Store;
        // pmuludq: dst := (dst mod 2^32) * (src mod 2^32), 64 bits.
        Pmuludq     pmuludq_mm     "pmuludq" (dst: RW mm, src: R mmm64)    NONE NONE NONE sse2 SimdMul;
        // 64-bit sums and differences without carry; logic; shifts by a count of 0-63.
        Paddq       paddq_mm       "paddq"   (dst: RW mm, src: R mmm64)    NONE NONE NONE sse2 SimdAlu;
        Psubq       psubq_mm       "psubq"   (dst: RW mm, src: R mmm64)    NONE NONE NONE sse2 SimdAlu;
        Pand        pand_mm        "pand"    (dst: RW mm, src: R mmm64)    NONE NONE NONE mmx  SimdAlu;
        Por         por_mm         "por"     (dst: RW mm, src: R mmm64)    NONE NONE NONE mmx  SimdAlu;
        Pxor        pxor_mm        "pxor"    (dst: RW mm, src: R mmm64)    NONE NONE NONE mmx  SimdAlu;
        Psrlq       psrlq_mm       "psrlq"   (dst: RW mm, count: R i8)     NONE NONE NONE mmx  SimdAlu;
        Psllq       psllq_mm       "psllq"   (dst: RW mm, count: R i8)     NONE NONE NONE mmx  SimdAlu;
        // Empties the x87 stack's tags, so that the caller may use floating point.
        Emms        emms           "emms"    ()                            NONE NONE NONE mmx  SimdMove;
    }
}
