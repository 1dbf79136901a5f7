//! SSSE3 and SSE4.1 on the xmm registers: bytes rearranged, and 64-bit lanes in and out. None of these touches a flag.
//! Source: Intel SDM volume 2.

rows! {
    /// SSSE3 and SSE4.1 instructions.
    #[rustfmt::skip]
    Ssse3Sse41, Ssse3Sse41 {
        // variant  method    text      operands                                      reads writes undefined features class
        // Each byte of src picks a byte of dst by its low 4 bits, or 0 if its high bit is set.
        Pshufb      pshufb_x  "pshufb"  (dst: RW xmm, src: R xma128)                  NONE NONE NONE ssse3 SimdShuffle;
        // Lane 0 or 1 of 64 bits, written or read; the other stays.
        Pinsrq      pinsrq_x  "pinsrq"  (dst: RW xmm, src: R rm64, lane: R lanes)     NONE NONE NONE sse41 SimdShuffle;
        Pextrq      pextrq_x  "pextrq"  (dst: W r64, src: R xmm, lane: R lanes)       NONE NONE NONE sse41 SimdShuffle;
    }
}
