//! OpenSSL and AWS-LC through EVP.
//!
//! Unsafe is needed to call C.

use std::ffi::{c_int, c_long, c_void};

use super::task::{Sides, Sign, Task, Verify};

/// `RSA_PKCS1_PADDING` of both.
const PKCS1_PADDING: c_int = 1;

/// OpenSSL's `openssl/evp.h`, `openssl/rsa.h` and `openssl/x509.h`.
#[allow(missing_docs, non_camel_case_types, reason = "as OpenSSL has it, doc/man3/EVP_PKEY_sign.pod")]
mod libcrypto {
    use super::{c_int, c_long, c_void};

    pub type EVP_PKEY = c_void;
    pub type EVP_PKEY_CTX = c_void;
    pub type EVP_MD = c_void;

    unsafe extern "C" {
        pub fn d2i_AutoPrivateKey(out: *mut *mut EVP_PKEY, der: *mut *const u8, length: c_long) -> *mut EVP_PKEY;
        pub fn EVP_PKEY_free(key: *mut EVP_PKEY);
        pub fn EVP_PKEY_CTX_new(key: *mut EVP_PKEY, engine: *mut c_void) -> *mut EVP_PKEY_CTX;
        pub fn EVP_PKEY_CTX_free(context: *mut EVP_PKEY_CTX);
        pub fn EVP_PKEY_CTX_set_rsa_padding(context: *mut EVP_PKEY_CTX, padding: c_int) -> c_int;
        pub fn EVP_PKEY_CTX_set_signature_md(context: *mut EVP_PKEY_CTX, hash: *const EVP_MD) -> c_int;
        pub fn EVP_sha256() -> *const EVP_MD;
        pub fn EVP_PKEY_sign_init(context: *mut EVP_PKEY_CTX) -> c_int;
        pub fn EVP_PKEY_sign(
            context: *mut EVP_PKEY_CTX,
            signature: *mut u8,
            length: *mut usize,
            hash: *const u8,
            hash_length: usize,
        ) -> c_int;
        pub fn EVP_PKEY_verify_init(context: *mut EVP_PKEY_CTX) -> c_int;
        pub fn EVP_PKEY_verify(
            context: *mut EVP_PKEY_CTX,
            signature: *const u8,
            length: usize,
            hash: *const u8,
            hash_length: usize,
        ) -> c_int;
    }
}

macro_rules! evp {
    ($(#[$note:meta])* $name:ident: $library:path) => {
        $(#[$note])*
        pub mod $name {
            use std::ptr::null_mut;

            use super::{PKCS1_PADDING, Sides, Sign, Task, Verify, c_int, c_long};
            use $library as library;

            /// A context with its key; SHA-256 and PKCS#1 v1.5 are set.
            struct Context(*mut library::EVP_PKEY_CTX);

            impl Drop for Context {
                fn drop(&mut self) {
                    // SAFETY: it is ours and nobody uses it any more. It holds the last reference to its key.
                    unsafe { library::EVP_PKEY_CTX_free(self.0) };
                }
            }

            type Init = unsafe extern "C" fn(*mut library::EVP_PKEY_CTX) -> c_int;

            impl Context {
                fn new(task: &Task, init: Init) -> Result<Context, String> {
                    let mut der = task.private.as_ptr();
                    // SAFETY: so many bytes are there to read; the pointer to them is moved, not kept.
                    let key = unsafe {
                        library::d2i_AutoPrivateKey(null_mut(), &raw mut der, task.private.len() as c_long)
                    };
                    if key.is_null() {
                        return Err("refuses the key".to_owned());
                    }
                    // SAFETY: the key is one. The context has a reference of its own, so ours is given back.
                    let context = unsafe {
                        let context = library::EVP_PKEY_CTX_new(key, null_mut());
                        library::EVP_PKEY_free(key);
                        context
                    };
                    if context.is_null() {
                        return Err("has no context for the key".to_owned());
                    }
                    let owner = Context(context);
                    // SAFETY: the context is new; the hash is a static object of the library.
                    let ready = unsafe {
                        init(context) == 1
                            && library::EVP_PKEY_CTX_set_rsa_padding(context, PKCS1_PADDING) == 1
                            && library::EVP_PKEY_CTX_set_signature_md(context, library::EVP_sha256()) == 1
                    };
                    if ready { Ok(owner) } else { Err("refuses PKCS#1 v1.5 with SHA-256".to_owned()) }
                }

                /// Of a context that is set up to sign.
                fn sign(&self, hash: &[u8; 32], signature: &mut [u8]) -> bool {
                    let mut length = signature.len();
                    // SAFETY: the context lives as long as `self`; there is room for `length` bytes, and the hash is read.
                    let done = unsafe {
                        let (to, from) = (signature.as_mut_ptr(), hash.as_ptr());
                        library::EVP_PKEY_sign(self.0, to, &raw mut length, from, hash.len())
                    };
                    done == 1 && length == signature.len()
                }

                /// Of a context that is set up to verify.
                fn verify(&self, hash: &[u8; 32], signature: &[u8]) -> bool {
                    // SAFETY: the context lives as long as `self`; signature and hash are read.
                    let done = unsafe {
                        let (at, from) = (signature.as_ptr(), hash.as_ptr());
                        library::EVP_PKEY_verify(self.0, at, signature.len(), from, hash.len())
                    };
                    done == 1
                }
            }

            /// Sets it up.
            pub fn make(task: &Task) -> Sides {
                let hash = task.hash;
                // The closures call methods: `context.0` alone would be a copy of a pointer whose owner is gone.
                let signer = Context::new(task, library::EVP_PKEY_sign_init);
                let verifier = Context::new(task, library::EVP_PKEY_verify_init);
                Sides {
                    sign: signer.map(|context| -> Sign { Box::new(move |to| context.sign(&hash, to)) }),
                    verify: verifier.map(|context| -> Verify { Box::new(move |from| context.verify(&hash, from)) }),
                }
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
