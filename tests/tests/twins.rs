//! Are the two forms of each shipped plan, the naked function and the run-time code, the same instructions, and those of the
//! IR? (Encodings may differ in the size of a jump; instructions may not.)

use kiln_codegen::backend::machine;
use kiln_codegen::compile::Form;
use kiln_codegen::ir::POOL_ALIGNMENT;
use kiln_tests::decode::{disassemble_first, listing, pool_offset};
use kiln_tests::{disassemble, forms};

/// The bytes of the compiled function, and some more.
fn compiled_bytes(entry: *const u8, run_time_bytes: usize) -> &'static [u8] {
    // The compiled twin may be longer by the wider forms of its jumps, at most 8 of them by 4 bytes, which may put its pool
    // at the next multiple of 32.
    let length = run_time_bytes + 32;
    // SAFETY: the entry is the start of a function in this program's text segment. The bytes behind it are other functions
    // or the rest of the segment's last page: functions are aligned to 64 bytes, and `_start`, libstd and the test's own
    // code follow the kernels or precede them by far more than 32 bytes.
    unsafe { std::slice::from_raw_parts(entry, length) }
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
        let (bytes, length) = machine::assemble_parts(func).expect("encodes");
        let expected = listing(func);
        assert_eq!(disassemble(&bytes[..length]), expected, "{name}: run-time code against the IR");
        let shipped = forms::shipped(compiled);
        let entry: *const u8 = shipped.entry().address().cast();
        assert_eq!(entry.addr() % 64, 0, "{name}: the compiled entry is 64-byte aligned");
        let made = forms::generated(compiled).expect("machine code");
        assert_eq!(made.entry().address().addr() % 64, 0, "{name}: the run-time entry is 64-byte aligned");
        let compiled_bytes = compiled_bytes(entry, bytes.len());
        assert_eq!(disassemble_first(compiled_bytes, expected.len()), expected, "{name}: compiled code");
        for (bytes, form) in [(compiled_bytes, "compiled"), (&bytes, "run-time")] {
            let start = pool_offset(bytes, expected.len());
            assert_eq!(start.is_some(), !func.pool.is_empty(), "{name}: the {form} code addresses its pool");
            if let Some(start) = start {
                assert_eq!(start % POOL_ALIGNMENT as usize, 0, "{name}: alignment of the {form} pool");
                assert!(bytes[start..].starts_with(&func.pool), "{name}: the {form} pool");
            }
        }
        assert_eq!(shipped.code_hash(), compiled.code_hash, "{name}: hashes");
        twins += 1;
    }
    println!("{twins} pairs of twins");
    assert!(twins >= 40);
}
