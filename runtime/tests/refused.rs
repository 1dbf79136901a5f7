//! What happens on a system that refuses executable memory? Each case runs in a child process behind a seccomp filter.
#![cfg(all(target_os = "linux", target_arch = "x86_64", feature = "machine"))]

use std::process::Command;

use kiln_runtime::exec::{Code, Refused, Step, probe};

/// Makes `mprotect(…, PROT_EXEC)` fail with `errno` in this process from now on.
fn refuse_executable(errno: u16) {
    const LOAD_WORD: u16 = 0x20;
    const JUMP_EQUAL: u16 = 0x15;
    const JUMP_ANY_BIT: u16 = 0x45;
    const RETURN: u16 = 0x06;
    // Offsets in `struct seccomp_data`: the call's number, and the low half of its third argument.
    const NUMBER: u32 = 0;
    const THIRD_ARGUMENT: u32 = 32;
    let step = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let mut filter = [
        step(LOAD_WORD, 0, 0, NUMBER),
        step(JUMP_EQUAL, 0, 3, libc::SYS_mprotect as u32),
        step(LOAD_WORD, 0, 0, THIRD_ARGUMENT),
        step(JUMP_ANY_BIT, 0, 1, libc::PROT_EXEC as u32),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ERRNO | u32::from(errno)),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: both calls read their arguments only; the filter outlives the second.
    let answers = unsafe {
        [
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
            libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program),
        ]
    };
    assert_eq!(answers, [0, 0], "{}", std::io::Error::last_os_error());
}

const CASE: &str = "REFUSED_CASE";

/// Runs this test again in a child, with a variable that says what to do there, and checks that it was quiet.
fn in_child(test: &str, case: &str, variables: &[(&str, &str)]) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(CASE, case)
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{case}: {}\n{out}\n{err}", output.status);
    assert!(out.contains("1 passed"), "{out}");
    assert_eq!(err, "", "a refusal is quiet");
}

#[test]
fn refusal_by_the_system_is_an_answer() {
    match std::env::var(CASE) {
        Err(_) => {
            for errno in [libc::EACCES, libc::EPERM, libc::ENOMEM] {
                in_child("refusal_by_the_system_is_an_answer", &errno.to_string(), &[("KILN_MACHINE_CODE", "on")]);
            }
        }
        Ok(errno) => {
            let errno: u16 = errno.parse().unwrap();
            refuse_executable(errno);
            let refused = Refused::System(Step::Protect, i32::from(errno));
            assert_eq!(probe(), Err(refused));
            // Remembered, and the same for everything that asks.
            assert_eq!(probe(), Err(refused));
            assert_eq!(Code::publish(&[&[0xc3]]), Err(refused));
            assert!(refused.to_string().contains("compiled kernels are used"));
        }
    }
}

#[test]
fn refusal_after_the_probe_is_an_answer_too() {
    match std::env::var(CASE) {
        Err(_) => in_child("refusal_after_the_probe_is_an_answer_too", "later", &[]),
        Ok(_) => {
            if probe().is_ok() {
                refuse_executable(libc::EACCES as u16);
                assert_eq!(Code::publish(&[&[0xc3]]), Err(Refused::System(Step::Protect, libc::EACCES)));
            }
        }
    }
}

#[test]
fn the_operator_can_switch_it_off() {
    match std::env::var(CASE) {
        Err(_) => in_child("the_operator_can_switch_it_off", "off", &[("KILN_MACHINE_CODE", "off")]),
        Ok(_) => {
            assert_eq!(probe(), Err(Refused::SwitchedOff));
            assert_eq!(Code::publish(&[&[0xc3]]), Err(Refused::SwitchedOff));
        }
    }
}
