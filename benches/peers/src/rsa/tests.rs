//! Everybody signs as Kiln does and verifies that, and whoever does not is found out.

use super::*;

const BITS: [u32; 4] = [1024, 2048, 3072, 4096];
/// Who wants 2048 bits at least.
const TOO_SHORT_TO_SIGN: [Who; 2] = [Who::Ring, Who::Graviola];

#[test]
fn everybody_signs_as_kiln_does_and_verifies_it() {
    for bits in BITS {
        let task = Task::new(bits).expect("a key");
        for &(who, make) in CONTENDERS {
            let Sides { sign, verify } = make(&task);
            match sign {
                Ok(mut sign) => assert_eq!(task.check_sign(&mut sign), Ok(()), "{}, {bits} bits", who.title()),
                Err(why) => {
                    assert!(bits < 2048 && TOO_SHORT_TO_SIGN.contains(&who), "{}, {bits} bits: {why}", who.title())
                }
            }
            match verify {
                Ok(mut verify) => assert_eq!(task.check_verify(&mut verify), Ok(()), "{}, {bits} bits", who.title()),
                Err(why) => assert!(bits < 2048 && who == Who::Graviola, "{}, {bits} bits: {why}", who.title()),
            }
        }
    }
}

#[test]
fn who_is_wrong_is_found_out() {
    let task = Task::new(1024).expect("a key");
    let mut right = kiln::make(&task).sign.expect("Kiln signs");
    let mut turns = 0;
    let mut wrong_once: Sign = Box::new(move |to| {
        turns += 1;
        let done = right(to);
        to[5] ^= u8::from(turns == 40);
        done
    });
    assert_eq!(task.check_sign(&mut wrong_once), Err("signature 39: is not the one that Kiln makes".to_owned()));
    let mut refuses: Sign = Box::new(|_| false);
    assert!(task.check_sign(&mut refuses).is_err());
    let mut takes_all: Verify = Box::new(|_| true);
    assert!(task.check_verify(&mut takes_all).is_err());
    let mut takes_none: Verify = Box::new(|_| false);
    assert!(task.check_verify(&mut takes_none).is_err());
}

#[test]
fn everybody_is_timed() {
    let args = RsaArgs { bits: vec![1024], passes: 1, seconds: 0.01, json: false };
    let document = document(&args);
    let [size] = &document.sizes[..] else { panic!("one size") };
    assert!(size.left_out.iter().all(|absent| !absent.failed), "{:?}", size.left_out);
    for case in &size.cases {
        assert_eq!(case.contenders.len(), if case.operation == "sign" { 4 } else { 5 }, "{case:?}");
        assert!(case.contenders.iter().all(|time| time.speed.is_finite() && time.speed > 0.0), "{case:?}");
        assert!(case.over_peer.is_some());
    }
    assert_eq!(size.cases.len(), 2);
}
