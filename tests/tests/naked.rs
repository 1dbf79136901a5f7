//! Does the compiler take a naked function as its own: no warning, an aligned entry, the instructions of its twin, the right
//! result, and a backtrace from inside?

use kiln_codegen::backend::machine::assemble;
use kiln_codegen::backend::rust_naked::item;
use kiln_codegen::ir::{Func, Operand, Physical};
use kiln_codegen::isa::Op;
use kiln_tests::decode::{decode, listing, pool_offset};
use kiln_tests::disassemble;
use kiln_tests::encoding_cases::{Random, instruction};
use kiln_tests::sample_functions::{carry_chain, constants, every_node, listed, load_in_subroutine, long_jumps};
use kiln_tests::tools::{Scratch, found, run};

/// What is compiled beside the functions. It says what it found, the test judges.
const PROGRAM: &str = r#"
use std::sync::atomic::{AtomicBool, Ordering};

fn bytes(name: &str, entry: usize, count: usize) {
    // SAFETY: the program's text goes on for longer than this.
    let bytes = unsafe { std::slice::from_raw_parts(entry as *const u8, count) };
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    println!("bytes {name} {} {hex}", entry % 64);
}

fn results() {
    let a = [u64::MAX, 2, 3, u64::MAX - 5];
    for w in [1u64, 4] {
        let (mut r, mut want) = ([7u64; 4], [7u64; 4]);
        let mut x = 0u64;
        for i in 0..4 {
            want[i] = want[i].wrapping_add(a[i]);
            x = x.wrapping_add(a[i]).wrapping_mul(3).wrapping_add(1);
        }
        x = x.wrapping_add(if w & 4 != 0 { 1000 } else { 0 }).wrapping_add(w);
        // SAFETY: four limbs behind each pointer.
        let got = unsafe { every_node(r.as_mut_ptr(), a.as_ptr(), 4, w) };
        assert_eq!((got, r), (x, want));
    }
    let mut r = [1, u64::MAX - 2, u64::MAX, 5];
    // SAFETY: four limbs behind each pointer.
    let carry = unsafe { carry_chain(r.as_mut_ptr(), a.as_ptr(), 4, 0) };
    assert_eq!((carry, r), (1, [0, 0, 3, 0]));
    let (a, mut r) = ([1, u64::MAX], [0; 2]);
    // SAFETY: two limbs behind each pointer.
    let first = unsafe { constants(r.as_mut_ptr(), a.as_ptr(), 2, 0) };
    assert_eq!((first, r), (0x1111_1111_1111_1111, [0xf0f0_f0f0_f0f0_f0f1, 0x0f0f_0f0f_0f0f_0f0f]));
    println!("results right");
}

static HANDLED: AtomicBool = AtomicBool::new(false);

extern "C" fn on_fault(_signal: i32) {
    if !HANDLED.swap(true, Ordering::SeqCst) {
        println!("{}", std::backtrace::Backtrace::force_capture());
    }
    std::process::exit(0);
}

unsafe extern "C" {
    fn signal(signal: i32, handler: extern "C" fn(i32)) -> usize;
}

#[inline(never)]
fn the_caller(name: &str) -> u64 {
    let mut r = [0u64];
    let null = std::ptr::null();
    // SAFETY: it faults, and the handler ends the program.
    let result = unsafe {
        match name {
            "every_node" => every_node(r.as_mut_ptr(), null, 1, 0),
            "carry_chain" => carry_chain(r.as_mut_ptr(), null, 1, 0),
            "load_in_subroutine" => load_in_subroutine(r.as_mut_ptr(), null, 1, 0),
            name => panic!("{name}"),
        }
    };
    std::hint::black_box(result).wrapping_add(r[0])
}

fn main() {
    match std::env::args().nth(1) {
        None => {
            sizes();
            results();
        }
        Some(name) => {
            // SAFETY: SIGSEGV is 11 on every Unix; the handler does not return.
            unsafe { signal(11, on_fault) };
            println!("{}", the_caller(&name));
        }
    }
}
"#;

/// Vector instructions on random operands, in a function that is never called. LLVM swaps sources that commute where that saves
/// a byte, as allocation does, so there are none that it would swap.
fn vector_rows() -> Func<Physical> {
    let mut random = Random(0x6c6c_766d);
    let mut insts = Vec::new();
    for op in Op::machine().filter(|op| op.vector_encoding().is_some()) {
        for _ in 0..20 {
            let inst = instruction(&mut random, op);
            let number = |index: usize| match inst.operands.get(index) {
                Some(Operand::Reg(reg)) => Some(reg.number),
                _ => None,
            };
            let swapped = number(1).is_some_and(|reg| reg < 8) && number(2).is_some_and(|reg| reg >= 8);
            if !swapped {
                insts.push(inst);
            }
        }
    }
    listed("test/vector_rows", insts)
}

fn identifier(func: &Func<Physical>) -> &str {
    func.name.strip_prefix("test/").expect("a sample function")
}

#[test]
fn the_compiler_takes_it() {
    let funcs = [every_node(), carry_chain(16), load_in_subroutine(), long_jumps(1000), constants(), vector_rows()];
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) || !found(&["rustc"], funcs.len()) {
        return;
    }
    let scratch = Scratch::new("naked");
    let (source, program) = (scratch.file("main.rs"), scratch.file("main"));
    let mut text = String::from("#![deny(warnings)]\n");
    let mut sizes = String::new();
    for func in &funcs {
        let name = identifier(func);
        text += &format!("{}\n", item(func, name, "A sample with {braces}.\n\nSecond paragraph."));
        let count = assemble(func).expect("a fitting function").len() + 64;
        sizes += &format!("bytes({name:?}, {name} as *const () as usize, {count});\n");
    }
    text += &format!("fn sizes() {{\n{sizes}}}\n{PROGRAM}");
    std::fs::write(&source, text).expect("the scratch directory is writable");
    let arguments: [&dyn AsRef<std::ffi::OsStr>; 6] =
        [&"--edition=2024", &"-Copt-level=1", &"-g", &"-o", &program, &source];
    run("rustc", &arguments);

    let said = run(&program, &[]);
    assert!(said.contains("results right"), "{said}");
    for func in &funcs {
        let name = identifier(func);
        let line = said.lines().find_map(|line| line.strip_prefix(&format!("bytes {name} "))).expect("its bytes");
        let (past_alignment, hex) = line.split_once(' ').expect("two fields");
        assert_eq!(past_alignment, "0", "{name}: the entry is at a multiple of 64");
        let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).expect("hexadecimal");
        let bytes: Vec<_> = (0..hex.len()).step_by(2).map(byte).collect();
        let wanted = listing(func);
        let length: usize = decode(&bytes).iter().take(wanted.len()).map(|inst| inst.len()).sum();
        assert_eq!(disassemble(&bytes[..length]), wanted, "{name}: compiled twin");
        if name == "vector_rows" {
            assert_eq!(length, assemble(func).expect("a fitting function").len(), "{name}: the shortest prefixes");
        }
        if let Some(start) = pool_offset(&bytes, wanted.len()) {
            assert_eq!(start % 32, 0, "{name}: the pool's alignment");
            assert!(bytes[start..].starts_with(&func.pool), "{name}: the pool");
        }
    }
    for name in ["every_node", "carry_chain", "load_in_subroutine"] {
        let said = run(&program, &[&name]);
        let places: Vec<_> = [&format!("main::{name}"), "main::the_caller", "main::main"]
            .map(|frame| said.find(frame).unwrap_or_else(|| panic!("no {frame} in the backtrace:\n{said}")))
            .into();
        assert!(places.is_sorted(), "{said}");
    }
}
