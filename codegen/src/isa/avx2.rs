//! AVX2: integer work on the ymm registers (`_y`), each 128 bits as AVX does them, and what moves across the middle; with the
//! instructions on xmm registers (`_x`) that came with it. None of these touches a flag. Source: Intel SDM volume 2.

rows! {
    /// AVX2 instructions.
    #[rustfmt::skip]
    Avx2, Avx2 {
        // variant      method             text             operands                                                   reads writes undefined features class
        // Logic (andn: not a, and b).
        Vpxor           vpxor_y            "vpxor"          (dst: W ymm, a: R ymm, b: R ym256)                 NONE NONE NONE avx2 SimdAlu;
        Vpand           vpand_y            "vpand"          (dst: W ymm, a: R ymm, b: R ym256)                 NONE NONE NONE avx2 SimdAlu;
        Vpandn          vpandn_y           "vpandn"         (dst: W ymm, a: R ymm, b: R ym256)                 NONE NONE NONE avx2 SimdAlu;
        Vpor            vpor_y             "vpor"           (dst: W ymm, a: R ymm, b: R ym256)                 NONE NONE NONE avx2 SimdAlu;
        // Sums and differences of lanes without carry (b, d, q: 8, 32, 64 bits); products of the low halves of 64-bit lanes.
        Vpaddb          vpaddb_y           "vpaddb"         (dst: W ymm, a: R ymm, b: R ym256)                 NONE NONE NONE avx2 SimdAlu;
        Vpaddd          vpaddd_y           "vpaddd"         (dst: W ymm, a: R ymm, b: R ym256)                 NONE NONE NONE avx2 SimdAlu;
        Vpaddq          vpaddq_y           "vpaddq"         (dst: W ymm, a: R ymm, b: R ym256)                 NONE NONE NONE avx2 SimdAlu;
        Vpsubd          vpsubd_y           "vpsubd"         (dst: W ymm, a: R ymm, b: R ym256)                 NONE NONE NONE avx2 SimdAlu;
        Vpsubq          vpsubq_y           "vpsubq"         (dst: W ymm, a: R ymm, b: R ym256)                 NONE NONE NONE avx2 SimdAlu;
        Vpmuludq        vpmuludq_y         "vpmuludq"       (dst: W ymm, a: R ymm, b: R ym256)                 NONE NONE NONE avx2 SimdMul;
        // Each lane all ones if a is equal to b, or greater (signed); else 0.
        Vpcmpeqd        vpcmpeqd_y         "vpcmpeqd"       (dst: W ymm, a: R ymm, b: R ym256)                 NONE NONE NONE avx2 SimdAlu;
        Vpcmpeqq        vpcmpeqq_y         "vpcmpeqq"       (dst: W ymm, a: R ymm, b: R ym256)                 NONE NONE NONE avx2 SimdAlu;
        Vpcmpgtd        vpcmpgtd_y         "vpcmpgtd"       (dst: W ymm, a: R ymm, b: R ym256)                 NONE NONE NONE avx2 SimdAlu;
        Vpcmpgtq        vpcmpgtq_y         "vpcmpgtq"       (dst: W ymm, a: R ymm, b: R ym256)                 NONE NONE NONE avx2 SimdAlu;
        // Low (high) lanes of a and b by turns; each byte of b picks a byte of a by its low 4 bits, or 0 if its high bit is set.
        Vpunpckldq      vpunpckldq_y       "vpunpckldq"     (dst: W ymm, a: R ymm, b: R ym256)                 NONE NONE NONE avx2 SimdShuffle;
        Vpunpckhdq      vpunpckhdq_y       "vpunpckhdq"     (dst: W ymm, a: R ymm, b: R ym256)                 NONE NONE NONE avx2 SimdShuffle;
        Vpunpcklqdq     vpunpcklqdq_y      "vpunpcklqdq"    (dst: W ymm, a: R ymm, b: R ym256)                 NONE NONE NONE avx2 SimdShuffle;
        Vpunpckhqdq     vpunpckhqdq_y      "vpunpckhqdq"    (dst: W ymm, a: R ymm, b: R ym256)                 NONE NONE NONE avx2 SimdShuffle;
        Vpshufb         vpshufb_y          "vpshufb"        (dst: W ymm, a: R ymm, b: R ym256)                 NONE NONE NONE avx2 SimdShuffle;
        // Bytes count to count + 15 of a:b, a the high half.
        Vpalignr        vpalignr_y         "vpalignr"       (dst: W ymm, a: R ymm, b: R ym256, count: R byte)  NONE NONE NONE avx2 SimdShuffle;
        // Bits 2i and 2i + 1 of the selector say which 32-bit lane of src lane i gets.
        Vpshufd         vpshufd_y          "vpshufd"        (dst: W ymm, src: R ym256, from: R lanes)          NONE NONE NONE avx2 SimdShuffle;
        // Shifts of each 64-bit lane by bits, of each 32-bit lane with its sign, and of 128 bits by bytes.
        Vpsllq          vpsllq_y           "vpsllq"         (dst: W ymm, src: R ymm, count: R i8)              NONE NONE NONE avx2 SimdAlu;
        Vpsrlq          vpsrlq_y           "vpsrlq"         (dst: W ymm, src: R ymm, count: R i8)              NONE NONE NONE avx2 SimdAlu;
        Vpsrad          vpsrad_y           "vpsrad"         (dst: W ymm, src: R ymm, count: R i8)              NONE NONE NONE avx2 SimdAlu;
        Vpslldq         vpslldq_y          "vpslldq"        (dst: W ymm, src: R ymm, count: R i8)              NONE NONE NONE avx2 SimdShuffle;
        Vpsrldq         vpsrldq_y          "vpsrldq"        (dst: W ymm, src: R ymm, count: R i8)              NONE NONE NONE avx2 SimdShuffle;
        // Bit i of the selector: 32-bit lane i of b, not of a.
        VpblenddX       vpblendd_x         "vpblendd"       (dst: W xmm, a: R xmm, b: R xm128, from: R lanes)  NONE NONE NONE avx2 SimdAlu;
        VpblenddY       vpblendd_y         "vpblendd"       (dst: W ymm, a: R ymm, b: R ym256, from: R lanes)  NONE NONE NONE avx2 SimdAlu;
        // The lowest lane of src, or its 128 bits, in every lane.
        VpbroadcastdX   vpbroadcastd_x     "vpbroadcastd"   (dst: W xmm, src: R xm32)                          NONE NONE NONE avx2 SimdShuffle;
        VpbroadcastqX   vpbroadcastq_x     "vpbroadcastq"   (dst: W xmm, src: R xm64)                          NONE NONE NONE avx2 SimdShuffle;
        VpbroadcastdY   vpbroadcastd_y     "vpbroadcastd"   (dst: W ymm, src: R xm32)                          NONE NONE NONE avx2 SimdShuffle;
        VpbroadcastqY   vpbroadcastq_y     "vpbroadcastq"   (dst: W ymm, src: R xm64)                          NONE NONE NONE avx2 SimdShuffle;
        Vbroadcasti128  vbroadcasti128     "vbroadcasti128" (dst: W ymm, src: R m128)                          NONE NONE NONE avx2 SimdLoad;
        // Half 0 or 1 of a replaced, or read.
        Vinserti128     vinserti128        "vinserti128"    (dst: W ymm, a: R ymm, src: R xm128, half: R lanes) NONE NONE NONE avx2 SimdShuffle;
        Vextracti128    vextracti128       "vextracti128"   (dst: W xm128, src: R ymm, half: R lanes)          NONE NONE NONE avx2 SimdShuffle;
        // Each half one of the four of a and b (bits 0-1, 4-5), or 0 (bits 3, 7); each 64-bit lane one of the four of src.
        Vperm2i128      vperm2i128         "vperm2i128"     (dst: W ymm, a: R ymm, b: R ym256, from: R lanes)  NONE NONE NONE avx2 SimdShuffle;
        Vpermq          vpermq             "vpermq"         (dst: W ymm, src: R ym256, from: R lanes)          NONE NONE NONE avx2 SimdShuffle;
    }
}
