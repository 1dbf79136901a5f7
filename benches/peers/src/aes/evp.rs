//! OpenSSL and AWS-LC through EVP, and OpenSSL's assembly without it.
//!
//! Unsafe is needed to call C. Neither library shows in its headers what `aesni_*` are: they are in the static library.

use std::ffi::{c_int, c_void};

use kiln_peers_rust_crypto::call::{Contender, each};
use kiln_peers_rust_crypto::setup::{Mode, Setup};

/// OpenSSL's `openssl/evp.h` and `crypto/aes/asm/aesni-x86_64.pl`.
#[allow(missing_docs, non_camel_case_types, reason = "as OpenSSL has it, doc/man3/EVP_EncryptInit.pod")]
mod libcrypto {
    use super::{c_int, c_void};

    pub type EVP_CIPHER_CTX = c_void;
    pub type EVP_CIPHER = c_void;

    unsafe extern "C" {
        pub fn EVP_CIPHER_CTX_new() -> *mut EVP_CIPHER_CTX;
        pub fn EVP_CIPHER_CTX_free(context: *mut EVP_CIPHER_CTX);
        pub fn EVP_CIPHER_CTX_set_padding(context: *mut EVP_CIPHER_CTX, pad: c_int) -> c_int;
        pub fn EVP_CipherInit_ex(
            context: *mut EVP_CIPHER_CTX,
            cipher: *const EVP_CIPHER,
            engine: *mut c_void,
            key: *const u8,
            iv: *const u8,
            encrypts: c_int,
        ) -> c_int;
        pub fn EVP_EncryptUpdate(
            context: *mut EVP_CIPHER_CTX,
            output: *mut u8,
            written: *mut c_int,
            input: *const u8,
            length: c_int,
        ) -> c_int;
        pub fn EVP_DecryptUpdate(
            context: *mut EVP_CIPHER_CTX,
            output: *mut u8,
            written: *mut c_int,
            input: *const u8,
            length: c_int,
        ) -> c_int;
        pub fn EVP_aes_128_ecb() -> *const EVP_CIPHER;
        pub fn EVP_aes_192_ecb() -> *const EVP_CIPHER;
        pub fn EVP_aes_256_ecb() -> *const EVP_CIPHER;
        pub fn EVP_aes_128_cbc() -> *const EVP_CIPHER;
        pub fn EVP_aes_192_cbc() -> *const EVP_CIPHER;
        pub fn EVP_aes_256_cbc() -> *const EVP_CIPHER;
        pub fn EVP_aes_128_ctr() -> *const EVP_CIPHER;
        pub fn EVP_aes_192_ctr() -> *const EVP_CIPHER;
        pub fn EVP_aes_256_ctr() -> *const EVP_CIPHER;

        pub fn aesni_set_encrypt_key(key: *const u8, bits: c_int, keys: *mut c_void) -> c_int;
        pub fn aesni_set_decrypt_key(key: *const u8, bits: c_int, keys: *mut c_void) -> c_int;
        pub fn aesni_ecb_encrypt(
            input: *const u8,
            output: *mut u8,
            length: usize,
            keys: *const c_void,
            encrypts: c_int,
        );
        pub fn aesni_cbc_encrypt(
            input: *const u8,
            output: *mut u8,
            length: usize,
            keys: *const c_void,
            iv: *mut u8,
            encrypts: c_int,
        );
        pub fn aesni_ctr32_encrypt_blocks(
            input: *const u8,
            output: *mut u8,
            blocks: usize,
            keys: *const c_void,
            iv: *const u8,
        );
    }
}

macro_rules! evp {
    ($(#[$note:meta])* $name:ident: $library:path) => {
        $(#[$note])*
        pub mod $name {
            use super::{Contender, Mode, Setup, c_int, each};
            use $library as library;

            /// A context whose key is set up; its chaining goes on from call to call.
            struct Context(*mut library::EVP_CIPHER_CTX);

            impl Drop for Context {
                fn drop(&mut self) {
                    // SAFETY: it is ours and nobody uses it any more.
                    unsafe { library::EVP_CIPHER_CTX_free(self.0) };
                }
            }

            /// Sets it up.
            pub fn make(setup: &Setup<'_>) -> Option<Box<dyn Contender>> {
                let cipher = match (setup.mode, setup.key.len()) {
                    (Mode::EcbEncrypt | Mode::EcbDecrypt, 16) => library::EVP_aes_128_ecb,
                    (Mode::EcbEncrypt | Mode::EcbDecrypt, 24) => library::EVP_aes_192_ecb,
                    (Mode::EcbEncrypt | Mode::EcbDecrypt, 32) => library::EVP_aes_256_ecb,
                    (Mode::CbcEncrypt | Mode::CbcDecrypt, 16) => library::EVP_aes_128_cbc,
                    (Mode::CbcEncrypt | Mode::CbcDecrypt, 24) => library::EVP_aes_192_cbc,
                    (Mode::CbcEncrypt | Mode::CbcDecrypt, 32) => library::EVP_aes_256_cbc,
                    (Mode::Ctr, 16) => library::EVP_aes_128_ctr,
                    (Mode::Ctr, 24) => library::EVP_aes_192_ctr,
                    (Mode::Ctr, 32) => library::EVP_aes_256_ctr,
                    (_, _) => return None,
                };
                // SAFETY: no arguments.
                let context = unsafe { library::EVP_CIPHER_CTX_new() };
                if context.is_null() {
                    return None;
                }
                let owner = Context(context);
                let (key, iv) = (setup.key.as_ptr(), setup.iv.as_ptr());
                let encrypts = c_int::from(!setup.mode.decrypts());
                // SAFETY: the context is new, the key is as long as the cipher's, the `iv` a block; they are copied.
                let ready = unsafe {
                    library::EVP_CipherInit_ex(context, cipher(), std::ptr::null_mut(), key, iv, encrypts) == 1
                        && library::EVP_CIPHER_CTX_set_padding(context, 0) == 1
                };
                if !ready {
                    return None;
                }
                Some(if setup.mode.decrypts() {
                    each(owner, |context, span| {
                        let mut written = 0;
                        // SAFETY: the context is set up; a span is so many bytes to read and to write, at one address or
                        // apart; they are whole blocks, so nothing is held back.
                        let done = unsafe {
                            let (output, input, length) = (span.output(), span.input(), span.length() as c_int);
                            library::EVP_DecryptUpdate(context.0, output, &raw mut written, input, length)
                        };
                        assert!(done == 1 && written as usize == span.length());
                    })
                } else {
                    each(owner, |context, span| {
                        let mut written = 0;
                        // SAFETY: as above.
                        let done = unsafe {
                            let (output, input, length) = (span.output(), span.input(), span.length() as c_int);
                            library::EVP_EncryptUpdate(context.0, output, &raw mut written, input, length)
                        };
                        assert!(done == 1 && written as usize == span.length());
                    })
                })
            }
        }
    };
}

evp! {
    /// OpenSSL through EVP.
    openssl: super::libcrypto
}
evp! {
    /// AWS-LC through EVP.
    aws_lc: aws_lc_sys
}

/// OpenSSL's assembly for AES-NI, called directly: what EVP ends in.
pub mod assembly {
    use super::{Contender, Mode, Setup, c_int, c_void, each, libcrypto};

    /// OpenSSL's `AES_KEY` (15 round keys and a number) and the chain.
    #[repr(C, align(64))]
    struct State {
        keys: [u64; 32],
        iv: [u8; 16],
    }

    impl State {
        fn keys(&self) -> *const c_void {
            self.keys.as_ptr().cast()
        }
    }

    /// Sets it up; `None` without AES-NI, and for counters of 128 bits, which it does not have.
    pub fn make(setup: &Setup<'_>) -> Option<Box<dyn Contender>> {
        if !(std::arch::is_x86_feature_detected!("aes") && std::arch::is_x86_feature_detected!("ssse3")) {
            return None;
        }
        let mut state = State { keys: [0; 32], iv: setup.iv };
        let set =
            if setup.mode.decrypts() { libcrypto::aesni_set_decrypt_key } else { libcrypto::aesni_set_encrypt_key };
        // SAFETY: the key has so many bits; there is room for an `AES_KEY`; the CPU has AES-NI.
        if unsafe { set(setup.key.as_ptr(), 8 * setup.key.len() as c_int, state.keys.as_mut_ptr().cast()) } != 0 {
            return None;
        }
        // What is the same in all of them: the keys are set up for that direction, the CPU has AES-NI, and a span is so many
        // bytes to read and to write, whole blocks, at one address or apart.
        Some(match setup.mode {
            Mode::EcbEncrypt => each(state, |state, span| {
                // SAFETY: as above.
                unsafe { libcrypto::aesni_ecb_encrypt(span.input(), span.output(), span.length(), state.keys(), 1) }
            }),
            Mode::EcbDecrypt => each(state, |state, span| {
                // SAFETY: as above.
                unsafe { libcrypto::aesni_ecb_encrypt(span.input(), span.output(), span.length(), state.keys(), 0) }
            }),
            Mode::CbcEncrypt => each(state, |state, span| {
                let (keys, iv) = (state.keys(), state.iv.as_mut_ptr());
                // SAFETY: as above, and the `iv` is a block.
                unsafe { libcrypto::aesni_cbc_encrypt(span.input(), span.output(), span.length(), keys, iv, 1) }
            }),
            Mode::CbcDecrypt => each(state, |state, span| {
                let (keys, iv) = (state.keys(), state.iv.as_mut_ptr());
                // SAFETY: as above, and the `iv` is a block.
                unsafe { libcrypto::aesni_cbc_encrypt(span.input(), span.output(), span.length(), keys, iv, 0) }
            }),
            Mode::GcmCtr => each(state, |state, span| {
                let blocks = span.length() / 16;
                let (keys, iv) = (state.keys(), state.iv.as_ptr());
                // SAFETY: as above, and the `iv` is a block.
                unsafe { libcrypto::aesni_ctr32_encrypt_blocks(span.input(), span.output(), blocks, keys, iv) };
                // It leaves counting on to its caller.
                let [.., a, b, c, d] = state.iv;
                let counter = u32::from_be_bytes([a, b, c, d]).wrapping_add(blocks as u32);
                state.iv[12..].copy_from_slice(&counter.to_be_bytes());
            }),
            Mode::Ctr => return None,
        })
    }
}
