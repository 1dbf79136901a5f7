//! Which keys are taken: those of files, in every encoding, and none whose numbers do not belong together.

use kiln::rsa::{Error, PrivateKey, PublicKey};
use num_bigint::BigUint;

use crate::pem;

struct Parts {
    n: BigUint,
    e: BigUint,
    d: BigUint,
    p: BigUint,
    q: BigUint,
}

/// Two primes (of 256 bits, from `openssl prime -generate -bits 256`), and what follows from them.
fn parts() -> Parts {
    let prime = |text: &str| BigUint::parse_bytes(text.as_bytes(), 16).expect("hexadecimal");
    let p = prime(include_str!("prime_p.txt").trim());
    let q = prime(include_str!("prime_q.txt").trim());
    let e = BigUint::from(65537_u32);
    let phi = (&p - 1_u32) * (&q - 1_u32);
    let d = e.modinv(&phi).expect("coprime");
    Parts { n: &p * &q, e, d, p, q }
}

fn key(parts: &Parts) -> Result<PrivateKey, Error> {
    let bytes = |number: &BigUint| number.to_bytes_be();
    PrivateKey::from_components(
        &bytes(&parts.n),
        &bytes(&parts.e),
        &bytes(&parts.d),
        &bytes(&parts.p),
        &bytes(&parts.q),
    )
}

#[test]
fn components_make_a_key_whichever_prime_is_first() {
    let mut whole = parts();
    let x = [&[0; 63][..], &[5]].concat();
    let y = key(&whole).expect("a key").apply(&x).expect("below the modulus");
    assert_eq!(BigUint::from_bytes_be(&y), BigUint::from(5_u32).modpow(&whole.d, &whole.n));
    std::mem::swap(&mut whole.p, &mut whole.q);
    assert_eq!(key(&whole).expect("a key").apply(&x).expect("below the modulus"), y);
    // d modulo the product of both, not their least common multiple: any that is right is taken.
    whole.d += (&whole.p - 1_u32) * (&whole.q - 1_u32) / 2_u32;
    assert_eq!(key(&whole).expect("a key").apply(&x).expect("below the modulus"), y);
}

#[test]
fn numbers_that_do_not_belong_together_are_refused() {
    let refused = |change: &dyn Fn(&mut Parts)| {
        let mut wrong = parts();
        change(&mut wrong);
        match key(&wrong) {
            Err(Error::Key(why)) => why,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(refused(&|parts| parts.n += 2_u32), "its modulus is not the product of its primes");
    assert_eq!(refused(&|parts| parts.n += 1_u32), "the modulus is even");
    assert_eq!(refused(&|parts| parts.e += 2_u32), "its exponents are not inverse to each other");
    assert_eq!(refused(&|parts| parts.e += 1_u32), "the public exponent is even or below 3");
    assert_eq!(refused(&|parts| parts.e = 1_u32.into()), "the public exponent is even or below 3");
    assert_eq!(refused(&|parts| parts.d += 2_u32), "its exponents are not inverse to each other");
    assert_eq!(refused(&|parts| parts.d = 0_u32.into()), "its exponents are not inverse to each other");
    assert_eq!(refused(&|parts| parts.p += 2_u32), "its modulus is not the product of its primes");
    assert_eq!(refused(&|parts| (parts.p, parts.q) = (1_u32.into(), parts.n.clone())), "one of its primes is none");
    // A square, and a "prime" that is none.
    let square = |parts: &mut Parts| {
        parts.q = parts.p.clone();
        parts.n = &parts.p * &parts.q;
        parts.d = parts.e.modinv(&(&parts.p - 1_u32)).expect("coprime");
    };
    assert_eq!(refused(&square), "one of its primes is none");
    let composite = |parts: &mut Parts| {
        loop {
            parts.q += 2_u32;
            let phi = (&parts.p - 1_u32) * (&parts.q - 1_u32);
            let Some(d) = parts.e.modinv(&phi) else { continue };
            if BigUint::from(2_u32).modpow(&(&parts.q - 1_u32), &parts.q) != BigUint::from(1_u32) {
                (parts.n, parts.d) = (&parts.p * &parts.q, d);
                break;
            }
        }
    };
    assert_eq!(refused(&composite), "one of its primes is none");
    let longer = |parts: &mut Parts| parts.e = BigUint::from(1_u32) << 256 | BigUint::from(1_u32);
    assert_eq!(refused(&longer), "the public exponent has more than 256 bits");
}

#[test]
fn moduli_of_other_sizes_are_refused() {
    let odd = |bits: usize| (BigUint::from(1_u32) << (bits - 1) | BigUint::from(1_u32)).to_bytes_be();
    for (bits, good) in [(64, false), (511, false), (512, true), (8192, true), (8193, false), (20_000, false)] {
        let found = PublicKey::new(&odd(bits), &[1, 0, 1]);
        assert_eq!(found.is_ok(), good, "{bits} bits");
        if let Err(why) = found {
            assert_eq!(why.to_string(), "this is no RSA key: the modulus has not 512 to 8192 bits");
        }
    }
    assert!(PublicKey::new(&[], &[3]).is_err() && PublicKey::new(&odd(512), &[]).is_err());
}

#[test]
fn files_that_are_no_keys_say_why() {
    let text = |result: Result<PrivateKey, Error>| result.unwrap_err().to_string();
    assert!(text(PrivateKey::from_pem("")).starts_with("the key cannot be read: "));
    assert!(text(PrivateKey::from_pkcs1_der(&[0x30, 0x80])).starts_with("the key cannot be read: "));
    assert!(text(PrivateKey::from_pkcs8_der(b"nonsense")).starts_with("the key cannot be read: "));
    let certificate = pem(1024).replace("RSA PRIVATE KEY", "CERTIFICATE");
    let expected =
        "the key cannot be read: it is a \"CERTIFICATE\", not a private key that can be read without a password";
    assert_eq!(text(PrivateKey::from_pem(&certificate)), expected);
    let public = PublicKey::from_pem(pem(1024)).unwrap_err().to_string();
    assert_eq!(public, "the key cannot be read: it is a \"RSA PRIVATE KEY\", not a public key");
    // A byte of any number: the key is refused, or still the same.
    let lines: String = pem(1024).lines().filter(|line| !line.starts_with("---")).collect();
    let der = base64(&lines);
    let good = PrivateKey::from_pkcs1_der(&der).expect("a key");
    let mut refused = 0;
    for index in (0..der.len()).step_by(7) {
        let mut wrong = der.clone();
        wrong[index] ^= 0x10;
        match PrivateKey::from_pkcs1_der(&wrong) {
            Err(_) => refused += 1,
            Ok(key) => panic!("byte {index}: {:?}, {:?}", key.public_key(), good.public_key()),
        }
    }
    assert_eq!(refused, der.len().div_ceil(7));
    for length in (0..der.len()).step_by(11) {
        assert!(PrivateKey::from_pkcs1_der(&der[..length]).is_err(), "{length} bytes");
    }
}

fn base64(text: &str) -> Vec<u8> {
    let value = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b'=').map(value).collect();
    let bits = |group: &[u8]| group.iter().fold(0_u32, |sum, digit| sum << 6 | u32::from(*digit));
    let bytes = digits.chunks(4).flat_map(|group| {
        let whole = bits(group) << (6 * (4 - group.len()));
        whole.to_be_bytes()[1..group.len()].to_vec()
    });
    bytes.collect()
}
