//! Kiln's public API: the crate `kiln` as a program uses it.
#![forbid(unsafe_code)]

use ::kiln::rsa::PrivateKey;
use ::kiln::rsa::pkcs1v15::{Signature, SigningKey};
use ::kiln::rsa::signature::hazmat::{PrehashSigner, PrehashVerifier};
use ::kiln::rsa::signature::{Keypair, SignatureEncoding};
use kiln_runtime::dispatch::Runtime;
use sha2::Sha256;

use super::task::{Sides, Sign, Task, Verify};

/// The kernels that RSA is made of, by the beginning of their names.
const KERNELS: [&str; 3] = ["mont", "table", "limb64"];

/// Tunes those kernels, with all the time that takes.
pub fn tune() {
    for kernel in kiln_kernels::kernels() {
        if KERNELS.iter().any(|name| kernel.name.starts_with(name)) {
            Runtime::global().tune(kernel, Vec::new(), None, &mut |_| ());
        }
    }
}

/// Sets it up.
pub fn make(task: &Task) -> Sides {
    let hash = task.hash;
    let key =
        || PrivateKey::from_pkcs1_der(&task.private).map(SigningKey::<Sha256>::new).map_err(|why| why.to_string());
    Sides {
        sign: key().map(|key| -> Sign {
            Box::new(move |to| match key.sign_prehash(&hash) {
                Ok(signature) => super::copy(to, &signature.to_bytes()),
                Err(_) => false,
            })
        }),
        verify: key().map(|key| -> Verify {
            let key = key.verifying_key();
            Box::new(move |signature| {
                Signature::try_from(signature).is_ok_and(|signature| key.verify_prehash(&hash, &signature).is_ok())
            })
        }),
    }
}
