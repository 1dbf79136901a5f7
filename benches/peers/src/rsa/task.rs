//! What is computed: the signature of one message with one key. And the check of a contender.

use ::rsa::pkcs1::der::SecretDocument;
use ::rsa::pkcs1::{DecodeRsaPrivateKey, EncodeRsaPublicKey};
use sha2::{Digest, Sha256};

use super::kiln;

/// What is signed.
pub const MESSAGE: &[u8] = b"what is signed in this race";

/// Signs the message into as many bytes as the modulus has; whether that went well.
pub type Sign = Box<dyn FnMut(&mut [u8]) -> bool>;
/// Whether this is the signature of the message.
pub type Verify = Box<dyn FnMut(&[u8]) -> bool>;

/// Both operations of a contender, or why it refuses.
pub struct Sides {
    /// The private one.
    pub sign: Result<Sign, String>,
    /// The public one.
    pub verify: Result<Verify, String>,
}

/// A key, and what everybody signs with it.
pub struct Task {
    /// Bits of the modulus.
    pub bits: u32,
    /// The key as PKCS#1 has it, DER.
    pub private: Vec<u8>,
    /// Its public half, the same way.
    pub public: Vec<u8>,
    /// SHA-256 of the message.
    pub hash: [u8; 32],
    /// What Kiln signs.
    pub signature: Vec<u8>,
}

impl Task {
    /// With the key of so many bits that Kiln's tests have; `None` if there is none.
    pub fn new(bits: u32) -> Option<Task> {
        let pem = match bits {
            1024 => include_str!("../../../../runtime/crypto/tests/rsa/key_1024.pem"),
            2048 => include_str!("../../../../runtime/crypto/tests/rsa/key_2048.pem"),
            3072 => include_str!("../../../../runtime/crypto/tests/rsa/key_3072.pem"),
            4096 => include_str!("../../../../runtime/crypto/tests/rsa/key_4096.pem"),
            _ => return None,
        };
        const OURS: &str = "a key of ours";
        let (_, private) = SecretDocument::from_pem(pem).expect(OURS);
        let private = private.as_bytes().to_vec();
        let public = ::rsa::PrivateKey::from_pkcs1_der(&private).expect(OURS).to_public_key();
        let public = public.to_pkcs1_der().expect("a key that was read").as_bytes().to_vec();
        let hash = Sha256::digest(MESSAGE).into();
        let mut task = Task { bits, private, public, hash, signature: vec![0; bits as usize / 8] };
        let mut signature = task.signature.clone();
        let mut sign = kiln::make(&task).sign.expect(OURS);
        assert!(sign(&mut signature), "Kiln signs");
        task.signature = signature;
        Some(task)
    }

    /// Whether somebody signs as Kiln does, more often than blinding lasts.
    pub fn check_sign(&self, sign: &mut Sign) -> Result<(), String> {
        for turn in 0..=2 * super::TURN {
            let mut signature = vec![0; self.signature.len()];
            if !sign(&mut signature) {
                return Err(format!("signature {turn}: gives an error"));
            }
            if signature != self.signature {
                return Err(format!("signature {turn}: is not the one that Kiln makes"));
            }
        }
        Ok(())
    }

    /// Whether somebody takes Kiln's signature and no other.
    pub fn check_verify(&self, verify: &mut Verify) -> Result<(), String> {
        if !verify(&self.signature) {
            return Err("refuses Kiln's signature".to_owned());
        }
        for byte in [1, self.signature.len() / 2, self.signature.len() - 1] {
            let mut wrong = self.signature.clone();
            wrong[byte] ^= 4;
            if verify(&wrong) {
                return Err(format!("takes a signature whose byte {byte} is wrong"));
            }
        }
        if verify(&self.signature) { Ok(()) } else { Err("refuses Kiln's signature after a wrong one".to_owned()) }
    }
}
