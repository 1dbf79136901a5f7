//! Whether `kiln::modular` and `kiln::rsa` compute what big integers, the standards and other implementations do, refuse keys that
//! are none, and give nothing away when something went wrong.

mod client;
mod keys;
mod operations;
mod powers;
mod wycheproof;

/// A key of so many bits, made by `openssl genrsa`.
fn pem(bits: usize) -> &'static str {
    match bits {
        1024 => include_str!("key_1024.pem"),
        2047 => include_str!("key_2047.pem"),
        2048 => include_str!("key_2048.pem"),
        3072 => include_str!("key_3072.pem"),
        4096 => include_str!("key_4096.pem"),
        _ => panic!("no key of {bits} bits"),
    }
}
