//! Are the two forms of each shipped plan, the naked function and the run-time code, the same instructions, and those of the
//! IR? (Encodings may differ in the size of a jump; instructions may not.)

use kiln_codegen::backend::machine;
use kiln_codegen::compile::Form;
use kiln_tests::decode::{disassemble_first, listing};
use kiln_tests::{disassemble, forms};

/// The listing of the compiled function: as many instructions as the IR has, from its entry on.
fn compiled_listing(entry: *const u8, run_time_bytes: usize, count: usize) -> Vec<String> {
    // The compiled twin may be longer by the wider forms of its jumps, at most 8 of them by 4 bytes.
    let length = run_time_bytes + 32;
    // SAFETY: the entry is the start of a function in this program's text segment. The bytes behind it are other functions
    // or the rest of the segment's last page: functions are aligned to 64 bytes, and `_start`, libstd and the test's own
    // code follow the kernels or precede them by far more than 32 bytes.
    let bytes = unsafe { std::slice::from_raw_parts(entry, length) };
    disassemble_first(bytes, count)
}

#[test]
fn compiled_generated_and_ir_are_the_same_instructions() {
    if !cfg!(target_arch = "x86_64") {
        println!("skipped: no naked functions on this architecture");
        return;
    }
    let mut twins = 0;
    for compiled in forms::compiled() {
        let Form::Machine(func) = &compiled.form else { continue };
        let name = &compiled.plan.name;
        let bytes = machine::assemble(func).expect("encodes");
        let expected = listing(func);
        assert_eq!(disassemble(&bytes), expected, "{name}: run-time code against the IR");
        let shipped = forms::shipped(compiled);
        let entry: *const u8 = shipped.entry().address().cast();
        assert_eq!(entry.addr() % 64, 0, "{name}: the compiled entry is 64-byte aligned");
        let made = forms::generated(compiled).expect("machine code");
        assert_eq!(made.entry().address().addr() % 64, 0, "{name}: the run-time entry is 64-byte aligned");
        assert_eq!(compiled_listing(entry, bytes.len(), expected.len()), expected, "{name}: compiled code");
        assert_eq!(shipped.code_hash(), compiled.code_hash, "{name}: hashes");
        twins += 1;
    }
    println!("{twins} pairs of twins");
    assert!(twins >= 40);
}
