//! The rows of `tests/vectors/aes` through the public functions, with keys of both bundles.

use cipher::{InnerIvInit, IvState, StreamCipher, StreamCipherCoreWrapper, StreamCipherSeek};
use ctr::{CtrCore, flavors::Ctr64BE};
use kiln::aes::ctr::{Ctr32, Ctr128};
use kiln::aes::size::{Bits128, Bits192, Bits256, Size};
use kiln::aes::{Aes, Aes128, Aes192, Aes256, Bundle, Error, cbc, ecb};
use serde_json::Value;

use crate::common::unwritten;

fn rows(file: &str) -> Vec<Value> {
    let path = format!("{}/../../tests/vectors/aes/{file}.jsonl", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("the vectors are part of the repository");
    text.lines().skip(1).map(|line| serde_json::from_str(line).expect("a row is JSON")).collect()
}

fn text<'a>(row: &'a Value, field: &str) -> &'a str {
    row[field].as_str().unwrap_or_else(|| panic!("{field} of {row}"))
}

fn hex(digits: &str) -> Vec<u8> {
    let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).expect("hexadecimal");
    (0..digits.len()).step_by(2).map(byte).collect()
}

fn number(row: &Value, field: &str) -> usize {
    row[field].as_u64().unwrap_or_else(|| panic!("{field} of {row}")) as usize
}

fn numbers(row: &Value, field: &str) -> Vec<usize> {
    let numbers = row[field].as_array().into_iter().flatten();
    numbers.map(|number| number.as_u64().expect("a number") as usize).collect()
}

fn iv(row: &Value) -> [u8; 16] {
    hex(text(row, "iv")).try_into().expect("a block")
}

/// One row, with a key of its size.
trait Check {
    fn check<S: Size>(&mut self, key: &Aes<S>, row: &Value);
}

/// Puts rows through a check, with a key of each bundle.
fn for_each(rows: &[Value], check: &mut impl Check) {
    fn sized<S: Size>(key: &[u8], row: &Value, check: &mut impl Check) {
        for bundle in [Bundle::Instructions, Bundle::Sliced] {
            check.check(&Aes::<S>::with_bundle(key, bundle).expect("a key of this size"), row);
        }
    }
    for row in rows {
        let key = hex(text(row, "key"));
        match key.len() {
            16 => sized::<Bits128>(&key, row, check),
            24 => sized::<Bits192>(&key, row, check),
            32 => sized::<Bits256>(&key, row, check),
            bytes => panic!("AES with a key of {bytes} bytes"),
        }
    }
}

type Work<'a> = Box<dyn FnMut(&[u8], &mut [u8]) -> Result<(), Error> + 'a>;

/// From one buffer to another, and where it is.
fn both_ways(from: &[u8], expected: &[u8], name: &str, mut apart: Work<'_>, mut in_place: Work<'_>) {
    let mut to = unwritten(from.len());
    apart(from, &mut to).unwrap();
    assert_eq!(to, expected, "{name}, apart");
    let mut data = from.to_vec();
    in_place(&[], &mut data).unwrap();
    assert_eq!(data, expected, "{name}, in place");
}

/// Whole messages.
#[derive(Default)]
struct Messages {
    counters_of_32: usize,
    counters_of_64: usize,
}

impl Check for Messages {
    fn check<S: Size>(&mut self, key: &Aes<S>, row: &Value) {
        let name = &format!("{} ({})", text(row, "id"), key.bundle());
        let [plain, sealed] = ["pt", "ct"].map(|field| hex(text(row, field)));
        match text(row, "mode") {
            "ECB" => {
                let apart = |from: &[u8], to: &mut [u8]| ecb::encrypt_to(key, from, to);
                both_ways(&plain, &sealed, name, Box::new(apart), Box::new(|_, data| ecb::encrypt(key, data)));
                let apart = |from: &[u8], to: &mut [u8]| ecb::decrypt_to(key, from, to);
                both_ways(&sealed, &plain, name, Box::new(apart), Box::new(|_, data| ecb::decrypt(key, data)));
            }
            "CBC" => {
                let (iv, last) = (iv(row), *sealed.last_chunk().unwrap_or(&iv(row)));
                if row["iv_out"].is_string() {
                    assert_eq!(hex(text(row, "iv_out")), last, "{name}: the row itself");
                }
                let [mut one, mut two] = [(); 2].map(|()| cbc::Encryptor::with_iv(key, &iv));
                let (apart, in_place) = (
                    |from: &[u8], to: &mut [u8]| one.encrypt_to(from, to),
                    |_: &[u8], data: &mut [u8]| two.encrypt(data),
                );
                both_ways(&plain, &sealed, name, Box::new(apart), Box::new(in_place));
                assert_eq!([one.iv_state().0, two.iv_state().0], [last; 2], "{name}");
                let [mut one, mut two] = [(); 2].map(|()| cbc::Decryptor::with_iv(key, &iv));
                let (apart, in_place) = (
                    |from: &[u8], to: &mut [u8]| one.decrypt_to(from, to),
                    |_: &[u8], data: &mut [u8]| two.decrypt(data),
                );
                both_ways(&sealed, &plain, name, Box::new(apart), Box::new(in_place));
                assert_eq!([one.iv_state().0, two.iv_state().0], [last; 2], "{name}");
            }
            "CTR" => {
                let iv = iv(row);
                for (from, to) in [(&plain, &sealed), (&sealed, &plain)] {
                    let apart = |from: &[u8], to: &mut [u8]| Ctr128::with_iv(key, &iv).apply_to(from, to);
                    both_ways(
                        from,
                        to,
                        name,
                        Box::new(apart),
                        Box::new(|_, data| Ctr128::with_iv(key, &iv).apply(data)),
                    );
                }
                if row["ct_if_ctr_bits_32"].is_string() {
                    let sealed = hex(text(row, "ct_if_ctr_bits_32"));
                    for (from, to) in [(&plain, &sealed), (&sealed, &plain)] {
                        let apart = |from: &[u8], to: &mut [u8]| Ctr32::with_iv(key, &iv).apply_to(from, to);
                        both_ways(
                            from,
                            to,
                            name,
                            Box::new(apart),
                            Box::new(|_, data| Ctr32::with_iv(key, &iv).apply(data)),
                        );
                    }
                    self.counters_of_32 += 1;
                }
                if row["ct_if_ctr_bits_64"].is_string() {
                    // No mode of Kiln's own: the crate `ctr` on its keys.
                    let mut data = plain;
                    let core = CtrCore::<_, Ctr64BE>::inner_iv_init(key.clone(), &iv.into());
                    StreamCipherCoreWrapper::from_core(core).apply_keystream(&mut data);
                    assert_eq!(data, hex(text(row, "ct_if_ctr_bits_64")), "{name}");
                    self.counters_of_64 += 1;
                }
            }
            mode => panic!("{name} is of the mode {mode}"),
        }
    }
}

#[test]
fn of_messages() {
    let all: Vec<Value> = ["nist", "edge", "chunked", "published_cases"].into_iter().flat_map(rows).collect();
    // Round keys are not public: `aes_keys` has these.
    let (keys, messages): (Vec<Value>, Vec<Value>) = all.into_iter().partition(|row| row["mode"] == "KEYEXP");
    let mut check = Messages::default();
    for_each(&messages, &mut check);
    println!("{} rows, {} of round keys left out", messages.len(), keys.len());
    assert_eq!((messages.len(), keys.len()), (167, 2), "every row");
    assert_eq!((check.counters_of_32, check.counters_of_64), (2 * 38, 2 * 38), "both bundles");
}

/// Messages in pieces, of blocks or of bytes.
#[derive(Default)]
struct Pieces {
    of_blocks: usize,
    of_bytes: usize,
}

impl Check for Pieces {
    fn check<S: Size>(&mut self, key: &Aes<S>, row: &Value) {
        let name = &format!("{} ({})", text(row, "id"), key.bundle());
        let [plain, sealed] = ["pt", "ct"].map(|field| hex(text(row, field)));
        let (blocks, bytes) = (numbers(row, "chunks_blocks"), numbers(row, "chunks_bytes"));
        let ends = row["iv_after_chunk"].as_array().into_iter().flatten();
        let ends: Vec<Vec<u8>> = ends.map(|end| hex(end.as_str().expect("hexadecimal"))).collect();
        self.of_blocks += usize::from(!blocks.is_empty());
        self.of_bytes += usize::from(!bytes.is_empty());
        let pieces: Vec<usize> = blocks.iter().map(|blocks| 16 * blocks).chain(bytes).collect();
        assert!(pieces.iter().sum::<usize>() == plain.len() && !pieces.is_empty(), "{name}: the row itself");
        assert_eq!(ends.len(), blocks.len(), "{name}: the row itself");
        let iv = iv(row);
        // What comes after each piece is the same in both directions.
        let check = |from: &[u8], to: &[u8], work: &mut dyn FnMut(&mut [u8]) -> [u8; 16]| {
            let (mut data, mut at) = (from.to_vec(), 0);
            for (index, piece) in pieces.iter().enumerate() {
                let after = work(&mut data[at..at + piece]);
                at += piece;
                assert_eq!((&data[..at], &data[at..]), (&to[..at], &from[at..]), "{name}, piece {index}");
                assert_eq!(ends.get(index).map_or(&after[..], |end| end), after, "{name}, piece {index}");
            }
        };
        if text(row, "mode") == "CBC" {
            let mut cipher = cbc::Encryptor::with_iv(key, &iv);
            check(&plain, &sealed, &mut |piece| {
                cipher.encrypt(piece).unwrap();
                cipher.iv_state().0
            });
            let mut cipher = cbc::Decryptor::with_iv(key, &iv);
            check(&sealed, &plain, &mut |piece| {
                cipher.decrypt(piece).unwrap();
                cipher.iv_state().0
            });
        } else {
            for (from, to) in [(&plain, &sealed), (&sealed, &plain)] {
                let mut cipher = Ctr128::with_iv(key, &iv);
                let mut done = 0;
                check(from, to, &mut |piece| {
                    cipher.apply(piece).unwrap();
                    done += piece.len();
                    assert_eq!(cipher.current_pos::<usize>(), done, "{name}");
                    cipher.iv_state().0
                });
            }
        }
    }
}

#[test]
fn of_pieces() {
    let mut check = Pieces::default();
    for_each(&rows("chunked"), &mut check);
    assert_eq!((check.of_blocks, check.of_bytes), (2 * 10, 2 * 2), "both bundles");
}

/// One arena. What overlaps partly cannot be said in safe Rust: whoever has that moves the data first.
#[derive(Default)]
struct Arena {
    in_place: usize,
    apart: usize,
    moved: usize,
}

impl Check for Arena {
    fn check<S: Size>(&mut self, key: &Aes<S>, row: &Value) {
        let name = &format!("{} ({})", text(row, "id"), key.bundle());
        let (source, target, length) = (number(row, "src_off"), number(row, "dst_off"), number(row, "len"));
        let mut arena = hex(text(row, "arena"));
        let iv = if row["iv"].is_string() { iv(row) } else { [0; 16] };
        let encrypts = row["dir"] == "enc";
        if source == target || source.abs_diff(target) < length {
            arena.copy_within(source..source + length, target);
            let data = &mut arena[target..target + length];
            match (text(row, "mode"), encrypts) {
                ("ECB", true) => ecb::encrypt(key, data),
                ("ECB", false) => ecb::decrypt(key, data),
                ("CBC", true) => cbc::Encryptor::with_iv(key, &iv).encrypt(data),
                ("CBC", false) => cbc::Decryptor::with_iv(key, &iv).decrypt(data),
                ("CTR", _) => Ctr128::with_iv(key, &iv).apply(data),
                (mode, _) => panic!("{name} is of the mode {mode}"),
            }
            .unwrap();
            if source == target { self.in_place += 1 } else { self.moved += 1 }
        } else {
            let (low, high) = arena.split_at_mut(source.max(target));
            let (from, to) = if source < target {
                (&low[source..source + length], &mut high[..length])
            } else {
                (&high[..length], &mut low[target..target + length])
            };
            match (text(row, "mode"), encrypts) {
                ("ECB", true) => ecb::encrypt_to(key, from, to),
                ("ECB", false) => ecb::decrypt_to(key, from, to),
                ("CBC", true) => cbc::Encryptor::with_iv(key, &iv).encrypt_to(from, to),
                ("CBC", false) => cbc::Decryptor::with_iv(key, &iv).decrypt_to(from, to),
                ("CTR", _) => Ctr128::with_iv(key, &iv).apply_to(from, to),
                (mode, _) => panic!("{name} is of the mode {mode}"),
            }
            .unwrap();
            self.apart += 1;
        }
        assert_eq!(arena, hex(text(row, "arena_expected")), "{name}");
    }
}

#[test]
fn of_one_arena() {
    let mut check = Arena::default();
    for_each(&rows("overlap"), &mut check);
    println!("{} rows in place, {} apart, {} moved", check.in_place / 2, check.apart / 2, check.moved / 2);
    assert_eq!((check.in_place, check.apart, check.moved), (2 * 24, 2 * 9, 2 * 123), "both bundles");
}

fn refused_by_every_size(key: &[u8]) -> bool {
    let sizes = [Aes128::from_slice(key).err(), Aes192::from_slice(key).err(), Aes256::from_slice(key).err()];
    let expected = [16, 24, 32].map(|expected| Some(Error::KeyLength { bytes: key.len(), expected }));
    sizes == expected
}

#[test]
fn that_are_refused() {
    let rows = rows("bad_args");
    assert_eq!(rows.len(), 13);
    for row in &rows {
        let (id, bytes) = (text(row, "id"), number(row, "data_len"));
        let (from, mut data) = (vec![0x3c; bytes], unwritten(bytes));
        match text(row, "class") {
            "length not a multiple of 16" => {
                for bundle in [Bundle::Instructions, Bundle::Sliced] {
                    let key = Aes128::with_bundle(&vec![1; number(row, "key_len")], bundle).unwrap();
                    let iv = vec![2; number(row, "iv_len")];
                    let refused = Err(Error::PartialBlock { bytes });
                    if text(row, "mode") == "ECB" {
                        assert_eq!(ecb::encrypt_to(&key, &from, &mut data), refused, "{id}");
                        assert_eq!(ecb::decrypt_to(&key, &from, &mut data), refused, "{id}");
                        assert_eq!(ecb::encrypt(&key, &mut data), refused, "{id}");
                        assert_eq!(ecb::decrypt(&key, &mut data), refused, "{id}");
                    } else {
                        let mut encryptor = cbc::Encryptor::with_iv_slice(&key, &iv).unwrap();
                        assert_eq!(encryptor.encrypt_to(&from, &mut data), refused, "{id}");
                        assert_eq!(encryptor.encrypt(&mut data), refused, "{id}");
                        let mut decryptor = cbc::Decryptor::with_iv_slice(&key, &iv).unwrap();
                        assert_eq!(decryptor.decrypt_to(&from, &mut data), refused, "{id}");
                        assert_eq!(decryptor.decrypt(&mut data), refused, "{id}");
                        assert_eq!(
                            [encryptor.iv_state().0[..].to_vec(), decryptor.iv_state().0[..].to_vec()],
                            [iv.clone(), iv]
                        );
                    }
                    assert_eq!(data, unwritten(bytes), "{id}: nothing is written");
                }
            }
            "key length" => assert!(refused_by_every_size(&vec![1; number(row, "key_len")]), "{id}"),
            "iv length" => {
                let key = Aes128::from_slice(&vec![1; number(row, "key_len")]).unwrap();
                let iv = vec![2; number(row, "iv_len")];
                let refused = Some(Error::IvLength { bytes: iv.len() });
                assert_eq!(cbc::Encryptor::with_iv_slice(&key, &iv).err(), refused, "{id}");
                assert_eq!(cbc::Decryptor::with_iv_slice(&key, &iv).err(), refused, "{id}");
            }
            class => panic!("{id} is of the class {class}"),
        }
    }
}
