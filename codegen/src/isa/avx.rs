//! AVX: the VEX encodings of integer work on the xmm registers (`_x`), and the moves of the ymm registers (`_y`). None of these
//! touches a flag. Source: Intel SDM volume 2.
//!
//! Each writes the whole register: what lies above its result becomes 0. Memory may have any alignment. A function that
//! writes a ymm register ends with `vzeroupper`.

rows! {
    /// AVX instructions.
    #[rustfmt::skip]
    Avx, Avx {
        // variant      method             text             operands                                                   reads writes undefined features class
        // 32 or 64 bits in, zero-extended; the low 32 or 64 bits out.
        VmovdIn         vmovd_in_x         "vmovd"          (dst: W xmm, src: R rm32)                          NONE NONE NONE avx SimdMove;
        VmovdOut        vmovd_out_x        "vmovd"          (dst: W r32, src: R xmm)                           NONE NONE NONE avx SimdMove;
        VmovdStore      vmovd_store_x      "vmovd"          (dst: W m32, src: R xmm)                           NONE NONE NONE avx SimdStore;
        VmovqIn         vmovq_in_x         "vmovq"          (dst: W xmm, src: R r64)                           NONE NONE NONE avx SimdMove;
        VmovqOut        vmovq_out_x        "vmovq"          (dst: W r64, src: R xmm)                           NONE NONE NONE avx SimdMove;
        VmovqLoad       vmovq_load_x       "vmovq"          (dst: W xmm, src: R m64)                           NONE NONE NONE avx SimdLoad;
        VmovqStore      vmovq_store_x      "vmovq"          (dst: W m64, src: R xmm)                           NONE NONE NONE avx SimdStore;
        // Lane 0 or 1 of 64 bits replaced in a copy of a, or read.
        Vpinsrq         vpinsrq_x          "vpinsrq"        (dst: W xmm, a: R xmm, src: R rm64, lane: R lanes) NONE NONE NONE avx SimdShuffle;
        Vpextrq         vpextrq_x          "vpextrq"        (dst: W r64, src: R xmm, lane: R lanes)            NONE NONE NONE avx SimdShuffle;
        // All bits of the register.
        VmovdqaX        vmovdqa_x          "vmovdqa"        (dst: W xmm, src: R xmm)                           NONE NONE NONE avx SimdMove;
        VmovdquLoadX    vmovdqu_load_x     "vmovdqu"        (dst: W xmm, src: R m128)                          NONE NONE NONE avx SimdLoad;
        VmovdquStoreX   vmovdqu_store_x    "vmovdqu"        (dst: W m128, src: R xmm)                          NONE NONE NONE avx SimdStore;
        VmovdqaY        vmovdqa_y          "vmovdqa"        (dst: W ymm, src: R ymm)                           NONE NONE NONE avx SimdMove;
        VmovdquLoadY    vmovdqu_load_y     "vmovdqu"        (dst: W ymm, src: R m256)                          NONE NONE NONE avx SimdLoad;
        VmovdquStoreY   vmovdqu_store_y    "vmovdqu"        (dst: W m256, src: R ymm)                          NONE NONE NONE avx SimdStore;
        // Clears bits 128 to 255 of every vector register.
        Vzeroupper      vzeroupper         "vzeroupper"     ()                                                 NONE NONE NONE avx SimdMove;
        // Logic (andn: not a, and b).
        Vpxor           vpxor_x            "vpxor"          (dst: W xmm, a: R xmm, b: R xm128)                 NONE NONE NONE avx SimdAlu;
        Vpand           vpand_x            "vpand"          (dst: W xmm, a: R xmm, b: R xm128)                 NONE NONE NONE avx SimdAlu;
        Vpandn          vpandn_x           "vpandn"         (dst: W xmm, a: R xmm, b: R xm128)                 NONE NONE NONE avx SimdAlu;
        Vpor            vpor_x             "vpor"           (dst: W xmm, a: R xmm, b: R xm128)                 NONE NONE NONE avx SimdAlu;
        // Sums and differences of lanes without carry (b, d, q: 8, 32, 64 bits); products of the low halves of 64-bit lanes.
        Vpaddb          vpaddb_x           "vpaddb"         (dst: W xmm, a: R xmm, b: R xm128)                 NONE NONE NONE avx SimdAlu;
        Vpaddd          vpaddd_x           "vpaddd"         (dst: W xmm, a: R xmm, b: R xm128)                 NONE NONE NONE avx SimdAlu;
        Vpaddq          vpaddq_x           "vpaddq"         (dst: W xmm, a: R xmm, b: R xm128)                 NONE NONE NONE avx SimdAlu;
        Vpsubd          vpsubd_x           "vpsubd"         (dst: W xmm, a: R xmm, b: R xm128)                 NONE NONE NONE avx SimdAlu;
        Vpsubq          vpsubq_x           "vpsubq"         (dst: W xmm, a: R xmm, b: R xm128)                 NONE NONE NONE avx SimdAlu;
        Vpmuludq        vpmuludq_x         "vpmuludq"       (dst: W xmm, a: R xmm, b: R xm128)                 NONE NONE NONE avx SimdMul;
        // Each lane all ones if a is equal to b, or greater (signed); else 0.
        Vpcmpeqd        vpcmpeqd_x         "vpcmpeqd"       (dst: W xmm, a: R xmm, b: R xm128)                 NONE NONE NONE avx SimdAlu;
        Vpcmpeqq        vpcmpeqq_x         "vpcmpeqq"       (dst: W xmm, a: R xmm, b: R xm128)                 NONE NONE NONE avx SimdAlu;
        Vpcmpgtd        vpcmpgtd_x         "vpcmpgtd"       (dst: W xmm, a: R xmm, b: R xm128)                 NONE NONE NONE avx SimdAlu;
        Vpcmpgtq        vpcmpgtq_x         "vpcmpgtq"       (dst: W xmm, a: R xmm, b: R xm128)                 NONE NONE NONE avx SimdAlu;
        // Low (high) lanes of a and b by turns; each byte of b picks a byte of a by its low 4 bits, or 0 if its high bit is set.
        Vpunpckldq      vpunpckldq_x       "vpunpckldq"     (dst: W xmm, a: R xmm, b: R xm128)                 NONE NONE NONE avx SimdShuffle;
        Vpunpckhdq      vpunpckhdq_x       "vpunpckhdq"     (dst: W xmm, a: R xmm, b: R xm128)                 NONE NONE NONE avx SimdShuffle;
        Vpunpcklqdq     vpunpcklqdq_x      "vpunpcklqdq"    (dst: W xmm, a: R xmm, b: R xm128)                 NONE NONE NONE avx SimdShuffle;
        Vpunpckhqdq     vpunpckhqdq_x      "vpunpckhqdq"    (dst: W xmm, a: R xmm, b: R xm128)                 NONE NONE NONE avx SimdShuffle;
        Vpshufb         vpshufb_x          "vpshufb"        (dst: W xmm, a: R xmm, b: R xm128)                 NONE NONE NONE avx SimdShuffle;
        // Bytes count to count + 15 of a:b, a the high half.
        Vpalignr        vpalignr_x         "vpalignr"       (dst: W xmm, a: R xmm, b: R xm128, count: R byte)  NONE NONE NONE avx SimdShuffle;
        // Bits 2i and 2i + 1 of the selector say which 32-bit lane of src lane i gets.
        Vpshufd         vpshufd_x          "vpshufd"        (dst: W xmm, src: R xm128, from: R lanes)          NONE NONE NONE avx SimdShuffle;
        // Shifts of each 64-bit lane by bits, of each 32-bit lane with its sign, and of 128 bits by bytes.
        Vpsllq          vpsllq_x           "vpsllq"         (dst: W xmm, src: R xmm, count: R i8)              NONE NONE NONE avx SimdAlu;
        Vpsrlq          vpsrlq_x           "vpsrlq"         (dst: W xmm, src: R xmm, count: R i8)              NONE NONE NONE avx SimdAlu;
        Vpsrad          vpsrad_x           "vpsrad"         (dst: W xmm, src: R xmm, count: R i8)              NONE NONE NONE avx SimdAlu;
        Vpslldq         vpslldq_x          "vpslldq"        (dst: W xmm, src: R xmm, count: R i8)              NONE NONE NONE avx SimdShuffle;
        Vpsrldq         vpsrldq_x          "vpsrldq"        (dst: W xmm, src: R xmm, count: R i8)              NONE NONE NONE avx SimdShuffle;
    }
}
