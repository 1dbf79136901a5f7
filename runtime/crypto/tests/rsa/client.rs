//! `openssl` as the other side: what it signs is verified here, and the other way round; what one encrypts the other decrypts, and
//! what is no encryption of anything gives both the same false message.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use kiln::rsa::signature::{Keypair, SignatureEncoding, Signer, Verifier};
use kiln::rsa::{PrivateKey, PublicKey, pkcs1v15, pss};
use sha2::{Sha256, Sha384, Sha512};

use crate::pem;

/// A folder that is removed again.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("kiln-rsa-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }

    fn file(&self, name: &str, contents: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, contents).expect("a file");
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Whether openssl is here; its absence is said, and an error where `KILN_REQUIRE` names it.
fn openssl() -> bool {
    let found =
        Command::new("openssl").arg("version").stdout(Stdio::null()).status().is_ok_and(|status| status.success());
    if !found {
        let required = std::env::var("KILN_REQUIRE").is_ok_and(|names| names.split(',').any(|name| name == "openssl"));
        assert!(!required, "openssl is required and not here");
        println!("skipped: there is no openssl");
    }
    found
}

/// Whether it went well, and what it printed. Arguments are separated by blanks; `{}` stands for the next of the files.
fn run(arguments: &str, files: &[&Path]) -> (bool, Vec<u8>) {
    let mut files = files.iter();
    let mut command = Command::new("openssl");
    for word in arguments.split_whitespace() {
        match word {
            "{}" => command.arg(files.next().expect("a file for each place")),
            word => command.arg(word),
        };
    }
    let output = command.stderr(Stdio::null()).output().expect("openssl runs");
    (output.status.success(), output.stdout)
}

const PSS: &str = "-sigopt rsa_padding_mode:pss -sigopt rsa_pss_saltlen:digest";

#[test]
fn signatures_both_ways() {
    if !openssl() {
        return;
    }
    let folder = Folder::new("sign");
    let message: &[u8] = b"what is signed";
    let text = folder.file("message", message);
    for bits in [1024, 2047, 2048, 3072, 4096] {
        let private = folder.file("key", pem(bits).as_bytes());
        let key = || PrivateKey::from_pem(pem(bits)).expect("a key");
        let (good, public_pem) = run("pkey -pubout -in {}", &[&private]);
        assert!(good);
        let public = folder.file("public", &public_pem);
        let parsed = PublicKey::from_pem(std::str::from_utf8(&public_pem).expect("text")).expect("a key");
        assert_eq!(&parsed, key().public_key());
        let (good, der) = run("pkcs8 -topk8 -nocrypt -outform DER -in {}", &[&private]);
        assert!(good && PrivateKey::from_pkcs8_der(&der).expect("a key").public_key() == &parsed);

        macro_rules! both_ways {
            ($module:ident, $hash:ty, $options:expr) => {
                let options = $options;
                let signer = $module::SigningKey::<$hash>::new(key());
                let mine = folder.file("mine", &signer.sign(message).to_vec());
                let (good, _) =
                    run(&format!("dgst {options} -verify {{}} -signature {{}} {{}}"), &[&public, &mine, &text]);
                assert!(good, "{bits} bits, {options}: openssl refuses mine");
                let (good, theirs) = run(&format!("dgst {options} -sign {{}} {{}}"), &[&private, &text]);
                assert!(good);
                let theirs = $module::Signature::try_from(&theirs[..]).expect("bytes");
                signer.verifying_key().verify(message, &theirs).expect("openssl's");
            };
        }
        both_ways!(pkcs1v15, Sha256, "-sha256");
        both_ways!(pkcs1v15, Sha384, "-sha384");
        both_ways!(pss, Sha256, format!("-sha256 {PSS}"));
        both_ways!(pss, Sha384, format!("-sha384 {PSS}"));
        if bits > 1100 {
            both_ways!(pss, Sha512, format!("-sha512 {PSS}"));
        }
    }
}

const OAEP: &str = "-pkeyopt rsa_padding_mode:oaep -pkeyopt rsa_oaep_md:sha256 -pkeyopt rsa_mgf1_md:sha256";

#[test]
fn encryption_both_ways() {
    if !openssl() {
        return;
    }
    let folder = Folder::new("encrypt");
    let message: &[u8] = b"what nobody may read";
    let text = folder.file("message", message);
    for bits in [1024, 2047, 2048, 4096] {
        let private = folder.file("key", pem(bits).as_bytes());
        let key = PrivateKey::from_pem(pem(bits)).expect("a key");
        let public = key.public_key();
        let sealed = public.encrypt_oaep::<Sha256, Sha256>(message, b"").expect("short enough");
        let sealed = folder.file("mine", &sealed);
        let (good, opened) = run(&format!("pkeyutl -decrypt -inkey {{}} -in {{}} {OAEP}"), &[&private, &sealed]);
        assert!(good && opened == message, "{bits} bits");
        let (good, sealed) = run(&format!("pkeyutl -encrypt -inkey {{}} -in {{}} {OAEP}"), &[&private, &text]);
        assert!(good);
        assert_eq!(key.decrypt_oaep::<Sha256, Sha256>(&sealed, b"").expect("openssl's")[..], *message);

        let sealed = folder.file("mine", &public.encrypt_pkcs1v15(message).expect("short enough"));
        let (good, opened) = run("pkeyutl -decrypt -inkey {} -in {}", &[&private, &sealed]);
        assert!(good && opened == message, "{bits} bits");
        let (good, sealed) = run("pkeyutl -encrypt -inkey {} -in {}", &[&private, &text]);
        assert!(good);
        assert_eq!(key.decrypt_pkcs1v15(&sealed).expect("openssl's")[..], *message);
    }
}

/// OpenSSL makes false messages the same way from version 3.2 on.
#[test]
fn false_messages_are_those_of_openssl() {
    if !openssl() {
        return;
    }
    let version = run("version", &[]).1;
    let version = String::from_utf8_lossy(&version);
    let number = version.split(' ').nth(1).unwrap_or_default();
    let mut parts = number.split('.').map_while(|part| part.parse::<u32>().ok());
    if (parts.next(), parts.next()) < (Some(3), Some(2)) {
        println!("skipped: openssl {number} gives errors, and no false messages");
        return;
    }
    let folder = Folder::new("false");
    let mut compared = 0;
    for bits in [1024, 2047, 2048] {
        let private = folder.file("key", pem(bits).as_bytes());
        let key = PrivateKey::from_pem(pem(bits)).expect("a key");
        for seed in 1..8_u8 {
            // Below the modulus, and no encryption of anything.
            let mut number = vec![seed; key.public_key().size()];
            number[0] = 0;
            let sealed = folder.file("sealed", &number);
            let (good, theirs) = run("pkeyutl -decrypt -inkey {} -in {}", &[&private, &sealed]);
            assert!(good, "{bits} bits, {seed}");
            assert_eq!(key.decrypt_pkcs1v15(&number).expect("a message")[..], theirs[..], "{bits} bits, {seed}");
            compared += 1;
        }
    }
    println!("{compared} false messages are the same");
}
