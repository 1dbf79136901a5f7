//! What happens on a system that refuses executable memory? Each case runs in a child process behind a seccomp filter.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::process::Command;

use kiln_runtime::exec::{Code, Refused, Step, probe};
use kiln_tests::refusal::refuse_executable_memory;

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
            let errno: i32 = errno.parse().unwrap();
            refuse_executable_memory(errno).unwrap();
            let refused = Refused::System(Step::Protect, errno);
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
                refuse_executable_memory(libc::EACCES).unwrap();
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
