//! The integer instructions of SSE2 on the xmm registers: two 64-bit or four 32-bit lanes. None of these touches a flag.
//! Source: Intel SDM volume 2, AMD APM volume 4.
//!
//! Legacy encodings fault on a 16-byte memory operand that is not at a multiple of 16 (`xma128`, `ma128`), and limbs are
//! aligned to limbs alone: those come and go through `movdqu`.

rows! {
    /// SSE2 integer instructions on xmm registers.
    #[rustfmt::skip]
    Sse2, Sse2 {
        // variant   method        text         operands                                   reads writes undefined feature class
        // 32 or 64 bits in, zero-extended to 128; the low 32 or 64 bits out.
        MovdIn      movd_in_x     "movd"       (dst: W xmm, src: R rm32)                   NONE NONE NONE sse2 SimdMove;
        MovdOut     movd_out_x    "movd"       (dst: W r32, src: R xmm)                    NONE NONE NONE sse2 SimdMove;
        MovdStore   movd_store_x  "movd"       (dst: W m32, src: R xmm)                    NONE NONE NONE sse2 Store;
        MovqIn      movq_in_x     "movq"       (dst: W xmm, src: R r64)                    NONE NONE NONE sse2 SimdMove;
        MovqOut     movq_out_x    "movq"       (dst: W r64, src: R xmm)                    NONE NONE NONE sse2 SimdMove;
        MovqLoad    movq_load_x   "movq"       (dst: W xmm, src: R m64)                    NONE NONE NONE sse2 Load;
        MovqStore   movq_store_x  "movq"       (dst: W m64, src: R xmm)                    NONE NONE NONE sse2 Store;
        // All 128 bits; memory of any alignment (movdqu), or aligned to 16 bytes (movdqa).
        MovdqaXmm   movdqa_x      "movdqa"     (dst: W xmm, src: R xmm)                    NONE NONE NONE sse2 SimdMove;
        MovdqaLoad  movdqa_load   "movdqa"     (dst: W xmm, src: R ma128)                  NONE NONE NONE sse2 SimdLoad;
        MovdqaStore movdqa_store  "movdqa"     (dst: W ma128, src: R xmm)                  NONE NONE NONE sse2 SimdStore;
        MovdquLoad  movdqu_load   "movdqu"     (dst: W xmm, src: R m128)                   NONE NONE NONE sse2 Load;
        MovdquStore movdqu_store  "movdqu"     (dst: W m128, src: R xmm)                   NONE NONE NONE sse2 Store;
        // pmuludq: in each 64-bit lane, dst := (dst mod 2^32) * (src mod 2^32).
        Pmuludq     pmuludq_x     "pmuludq"    (dst: RW xmm, src: R xmm)                   NONE NONE NONE sse2 SimdMul;
        // Sums and differences of lanes without carry (q: 64 bits, d: 32 bits, b: 8 bits); logic (pandn: dst := not dst and src).
        Paddq       paddq_x       "paddq"      (dst: RW xmm, src: R xma128)                NONE NONE NONE sse2 SimdAlu;
        Paddd       paddd_x       "paddd"      (dst: RW xmm, src: R xma128)                NONE NONE NONE sse2 SimdAlu;
        Paddb       paddb_x       "paddb"      (dst: RW xmm, src: R xma128)                NONE NONE NONE sse2 SimdAlu;
        Psubq       psubq_x       "psubq"      (dst: RW xmm, src: R xmm)                   NONE NONE NONE sse2 SimdAlu;
        Pand        pand_x        "pand"       (dst: RW xmm, src: R xma128)                NONE NONE NONE sse2 SimdAlu;
        Pandn       pandn_x       "pandn"      (dst: RW xmm, src: R xmm)                   NONE NONE NONE sse2 SimdAlu;
        Por         por_x         "por"        (dst: RW xmm, src: R xmm)                   NONE NONE NONE sse2 SimdAlu;
        Pxor        pxor_x        "pxor"       (dst: RW xmm, src: R xma128)                NONE NONE NONE sse2 SimdAlu;
        // Each 32-bit lane all ones if the two are equal, or if dst is the greater (signed); else 0.
        Pcmpeqd     pcmpeqd_x     "pcmpeqd"    (dst: RW xmm, src: R xma128)                NONE NONE NONE sse2 SimdAlu;
        Pcmpgtd     pcmpgtd_x     "pcmpgtd"    (dst: RW xmm, src: R xma128)                NONE NONE NONE sse2 SimdAlu;
        // Shifts of each 64-bit lane by bits, of each 32-bit lane with its sign, and of the whole register by bytes.
        Psrlq       psrlq_x       "psrlq"      (dst: RW xmm, count: R i8)                  NONE NONE NONE sse2 SimdAlu;
        Psllq       psllq_x       "psllq"      (dst: RW xmm, count: R i8)                  NONE NONE NONE sse2 SimdAlu;
        Psrad       psrad_x       "psrad"      (dst: RW xmm, count: R i8)                  NONE NONE NONE sse2 SimdAlu;
        Psrldq      psrldq        "psrldq"     (dst: RW xmm, count: R i8)                  NONE NONE NONE sse2 SimdAlu;
        Pslldq      pslldq        "pslldq"     (dst: RW xmm, count: R i8)                  NONE NONE NONE sse2 SimdAlu;
        // Bits 2i and 2i + 1 of the selector say which 32-bit lane of src lane i gets.
        Pshufd      pshufd        "pshufd"     (dst: W xmm, src: R xma128, from: R lanes)  NONE NONE NONE sse2 SimdAlu;
        // Low (high) lanes of dst and src by turns, dst's first: 32-bit lanes, or 64-bit lanes.
        Punpckldq   punpckldq     "punpckldq"  (dst: RW xmm, src: R xmm)                   NONE NONE NONE sse2 SimdAlu;
        Punpckhdq   punpckhdq     "punpckhdq"  (dst: RW xmm, src: R xmm)                   NONE NONE NONE sse2 SimdShuffle;
        Punpcklqdq  punpcklqdq    "punpcklqdq" (dst: RW xmm, src: R xmm)                   NONE NONE NONE sse2 SimdAlu;
        Punpckhqdq  punpckhqdq    "punpckhqdq" (dst: RW xmm, src: R xmm)                   NONE NONE NONE sse2 SimdAlu;
    }
}
