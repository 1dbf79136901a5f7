//! Kernels that Kiln does not ship: modes of this crate's own specs. Whoever writes such a spec gets its code and its reference.

kiln_kernels::kernels! {
    specs: [
        "specs/aes_cfb_encrypt.toml",
        "specs/aes_cfb_decrypt.toml",
        "specs/aes_ctr64.toml",
        "specs/aes_cbc_encrypt_x3.toml",
        "specs/aes_cbc_encrypt_x5.toml",
        "specs/aes_cfb_encrypt_x2.toml",
        "specs/aes_tweak.toml",
        "specs/aes_whitened.toml",
    ],
    cpus: ["../specs/cpus/generic.toml"],
}
