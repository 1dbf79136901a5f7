//! Does taking one guard away make the check that is named fail? Each fault is of a kind that other kernels have had; with the
//! guard in place no check says anything.

use kiln_codegen::ir::interpret::Program;
use kiln_codegen::ir::wellformed::check_physical;
use kiln_codegen::ir::{Func, Physical};
use kiln_runtime::candidate::Candidate;
use kiln_runtime::detect::native;
use kiln_runtime::verify::{Depth, Kind, Lengths, Options, Rejected, known, verify};
use kiln_tests::faults::{self, Caught, Fault};
use kiln_tests::operands::Operands;
use kiln_tests::{aes_rows, answers, forms, runs};
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

/// Names the fault that a child is to run.
const CHILD: &str = "KNOWN_FAILURE";

/// What the interpreter says of a function, in a few hundred cases: wrong results, and what it stopped at.
fn interpreted(fault: &Fault, func: &Func<Physical>) -> (usize, Vec<kiln_codegen::ir::interpret::Fault>) {
    let kernel = forms::kernel(fault.kernel);
    let unroll = forms::unroll(fault.original());
    // A block's bytes are all there are to a cipher: what is wrong is wrong for most.
    let cases = if kernel.cipher.is_some() { 1 } else { 12 };
    let options = Options { depth: Depth::Full { cases }, ..Options::default() };
    let lengths = Lengths { exact: func.exact, unroll };
    let (mut wrong, mut stopped) = (0, Vec::new());
    let program = Program::new(func).expect("fits the table");
    for case in known(kernel, lengths, &options, 2 * unroll.unwrap_or(0) + 2) {
        let operands = Operands::known(kernel, &case);
        match runs::interpret(&operands, &program) {
            Ok(results) => wrong += usize::from(results != answers::expected(&operands)),
            Err(fault) => stopped.push(fault),
        }
    }
    (wrong, stopped)
}

/// How many rows of the vectors a function gets wrong in the interpreter.
fn rows_wrong(fault: &Fault, func: &Func<Physical>) -> usize {
    let program = Program::new(func).expect("fits the table");
    let cases = aes_rows::cases(forms::kernel(fault.kernel));
    let few = cases.iter().filter(|case| case.operands.n() <= 26 && func.exact.is_none_or(|n| n == case.operands.n()));
    let wrong = few.filter(|case| runs::interpret(&case.operands, &program).as_ref() != Ok(&case.expected));
    wrong.count()
}

fn options() -> Options {
    Options { depth: Depth::Full { cases: 4 }, keep: 64, ..Options::default() }
}

/// What verification finds; `None` when the code cannot run here.
fn verified(fault: &Fault, candidate: &Candidate) -> Option<Vec<Kind>> {
    match verify(forms::kernel(fault.kernel), candidate, &native(), &options()) {
        Ok(_) => Some(Vec::new()),
        Err(Rejected::Failed(report)) => Some(report.failures.into_iter().map(|failure| failure.kind).collect()),
        Err(Rejected::Ineligible(why)) => {
            println!("skipped {}: {why}", fault.what);
            None
        }
    }
}

/// Whether a child that verifies the fault at guard pages dies of a fault of memory.
fn dies(fault: &Fault) -> bool {
    let output = Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "in_a_child", "--nocapture", "--test-threads=1"])
        .env(CHILD, fault.what)
        .output()
        .expect("a child");
    output.status.signal() == Some(libc::SIGSEGV)
}

/// For [`dies`]; nothing without its variable.
#[test]
fn in_a_child() {
    let Ok(what) = std::env::var(CHILD) else { return };
    let fault = faults::all().find(|fault| fault.what == what).expect("a fault");
    let candidate = fault.candidate().expect("executable memory");
    let options = Options { guard_pages: true, ..options() };
    println!("{:?}", verify(forms::kernel(fault.kernel), &candidate, &native(), &options));
}

#[test]
fn each_fault_is_caught_by_each_check_that_it_names() {
    let mut checks = 0;
    for fault in faults::all() {
        let (func, name) = (fault.func(), &fault.original().plan.name);
        for caught in fault.caught {
            let says = |found: bool, said: &dyn std::fmt::Debug| {
                assert!(found, "{} in {name}: {caught:?} does not find it, but {said:?}", fault.what);
            };
            match caught {
                Caught::Answer => {
                    let found = interpreted(fault, &func);
                    says(found.0 > 0, &found);
                }
                Caught::Vectors => {
                    let found = rows_wrong(fault, &func);
                    says(found > 0, &found);
                }
                Caught::Stops(expected) => {
                    let (wrong, stopped) = interpreted(fault, &func);
                    says(stopped.iter().any(expected), &(wrong, stopped.first()));
                }
                Caught::Breaks(expected) => {
                    let ills = check_physical(&func).err().unwrap_or_default();
                    says(ills.iter().any(|ill| expected(&ill.rule)), &ills);
                }
                Caught::Native(expected) => {
                    let candidate = fault.candidate().expect("executable memory");
                    let Some(kinds) = verified(fault, &candidate) else { continue };
                    says(kinds.iter().any(expected), &kinds);
                }
                Caught::GuardPage => {
                    let candidate = fault.candidate().expect("executable memory");
                    let Some(kinds) = verified(fault, &candidate) else { continue };
                    says(kinds.is_empty() && dies(fault), &kinds);
                }
            }
            checks += 1;
        }
        println!("{}: {} checks in {name}", fault.what, fault.caught.len());
    }
    println!("{} faults, {checks} checks", faults::all().count());
    assert!(faults::all().count() >= 10);
}

#[test]
fn with_the_guard_in_place_nothing_is_said() {
    for fault in faults::all() {
        let original = fault.original();
        let kiln_codegen::compile::Form::Machine(func) = &original.form else { panic!("{}: portable", fault.what) };
        assert_eq!(check_physical(func), Ok(()), "{}", original.plan.name);
        assert_eq!(interpreted(fault, func), (0, Vec::new()), "{}", original.plan.name);
        if fault.caught.iter().any(|caught| matches!(caught, Caught::Vectors)) {
            assert_eq!(rows_wrong(fault, func), 0, "{}", original.plan.name);
        }
        assert_eq!(verified(fault, &forms::shipped(original)).unwrap_or_default(), [], "{}", original.plan.name);
    }
}
