//! The command `kiln`, with switches for tests in its environment. Without one it is `kiln`.
//!
//! - `KILN_TEST_MUTANTS=lost_carry,crash`: these faulty kernels are candidates too.
//! - `KILN_TEST_NO_EXEC=EACCES` (or `EPERM`): the system refuses executable memory. Exit status 77 when it cannot be made to.
//! - `KILN_TEST_TIME_LIMIT_MS=500`: longest time for the check of one candidate.
#![forbid(unsafe_code)]

use std::process::ExitCode;
use std::time::Duration;

use kiln_cli::Hooks;
use kiln_kernels::catalogue::Kernel;
use kiln_runtime::candidate::Candidate;
use kiln_tests::cli::CANNOT_REFUSE;
use kiln_tests::mutants::Mutant;
use kiln_tests::refusal::refuse_executable_memory;

fn main() -> ExitCode {
    if let Some(word) = switch("KILN_TEST_NO_EXEC") {
        let errno = match word.as_str() {
            "EACCES" => libc::EACCES,
            "EPERM" => libc::EPERM,
            other => panic!("KILN_TEST_NO_EXEC is EACCES or EPERM, not {other:?}"),
        };
        if let Err(why) = refuse_executable_memory(errno) {
            eprintln!("no seccomp filter: {why}");
            return ExitCode::from(CANNOT_REFUSE);
        }
    }
    let mut hooks = Hooks::default();
    if let Some(words) = switch("KILN_TEST_MUTANTS") {
        let parse = |word: &str| Mutant::parse(word).unwrap_or_else(|| panic!("no mutant is called {word:?}"));
        let mutants: Vec<Mutant> = words.split(',').map(parse).collect();
        hooks.candidates = Box::new(move |kernel| faulty(kernel, &mutants));
    }
    if let Some(limit) = switch("KILN_TEST_TIME_LIMIT_MS") {
        hooks.time_limit = Duration::from_millis(limit.parse().expect("KILN_TEST_TIME_LIMIT_MS is a number"));
    }
    kiln_cli::run(std::env::args_os(), &hooks)
}

fn switch(name: &str) -> Option<String> {
    std::env::var_os(name).map(|value| value.into_string().expect("a switch is text"))
}

/// The mutants of this kernel; none where there is no executable memory.
fn faulty(kernel: &'static Kernel, mutants: &[Mutant]) -> Vec<Candidate> {
    let own =
        mutants.iter().filter(|mutant| mutant.original().split_once('/').is_some_and(|(of, _)| of == kernel.name));
    own.filter_map(|mutant| mutant.candidate().ok()).collect()
}
