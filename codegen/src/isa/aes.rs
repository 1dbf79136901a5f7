//! The AES instructions in their legacy encodings: one round of one block. None of these touches a flag.
//! Source: Intel SDM volume 2; FIPS 197 for the steps. A block's byte i is bits 8 i to 8 i + 7.

rows! {
    /// AES instructions on xmm registers.
    #[rustfmt::skip]
    Aes, Aes {
        // variant        method           text               operands                                       reads writes undefined features class
        // dst := MixColumns(SubBytes(ShiftRows(dst))) xor key; the last round has no MixColumns.
        Aesenc            aesenc           "aesenc"           (dst: RW xmm, key: R xma128)                   NONE NONE NONE aes Aes;
        Aesenclast        aesenclast       "aesenclast"       (dst: RW xmm, key: R xma128)                   NONE NONE NONE aes Aes;
        // The inverses of the steps, in the order of FIPS 197's equivalent inverse cipher.
        Aesdec            aesdec           "aesdec"           (dst: RW xmm, key: R xma128)                   NONE NONE NONE aes Aes;
        Aesdeclast        aesdeclast       "aesdeclast"       (dst: RW xmm, key: R xma128)                   NONE NONE NONE aes Aes;
        // InvMixColumns of a round key; words 1 and 3 of src through SubWord, and through RotWord and the round constant.
        Aesimc            aesimc           "aesimc"           (dst: W xmm, src: R xma128)                    NONE NONE NONE aes Aes;
        Aeskeygenassist   aeskeygenassist  "aeskeygenassist"  (dst: W xmm, src: R xma128, constant: R byte)  NONE NONE NONE aes Aes;
    }
}
