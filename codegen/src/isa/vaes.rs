//! The AES instructions in VEX encodings, on one block (`_x`) or on two (`_y`). The same steps as [`aes`](super::aes), with a
//! destination of its own and memory of any alignment. None of these touches a flag. Source: Intel SDM volume 2.

rows! {
    /// AES instructions in VEX encodings.
    #[rustfmt::skip]
    Vaes, Vaes {
        // variant            method              text                operands                                      reads writes undefined features class
        VaesencX              vaesenc_x           "vaesenc"           (dst: W xmm, src: R xmm, key: R xm128)        NONE NONE NONE aes_avx  Aes;
        VaesenclastX          vaesenclast_x       "vaesenclast"       (dst: W xmm, src: R xmm, key: R xm128)        NONE NONE NONE aes_avx  Aes;
        VaesdecX              vaesdec_x           "vaesdec"           (dst: W xmm, src: R xmm, key: R xm128)        NONE NONE NONE aes_avx  Aes;
        VaesdeclastX          vaesdeclast_x       "vaesdeclast"       (dst: W xmm, src: R xmm, key: R xm128)        NONE NONE NONE aes_avx  Aes;
        Vaesimc               vaesimc_x           "vaesimc"           (dst: W xmm, src: R xm128)                    NONE NONE NONE aes_avx  Aes;
        Vaeskeygenassist      vaeskeygenassist_x  "vaeskeygenassist"  (dst: W xmm, src: R xm128, constant: R byte)  NONE NONE NONE aes_avx  Aes;
        VaesencY              vaesenc_y           "vaesenc"           (dst: W ymm, src: R ymm, key: R ym256)        NONE NONE NONE vaes_avx Aes;
        VaesenclastY          vaesenclast_y       "vaesenclast"       (dst: W ymm, src: R ymm, key: R ym256)        NONE NONE NONE vaes_avx Aes;
        VaesdecY              vaesdec_y           "vaesdec"           (dst: W ymm, src: R ymm, key: R ym256)        NONE NONE NONE vaes_avx Aes;
        VaesdeclastY          vaesdeclast_y       "vaesdeclast"       (dst: W ymm, src: R ymm, key: R ym256)        NONE NONE NONE vaes_avx Aes;
    }
}
