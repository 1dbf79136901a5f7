//! Does a whole function's machine code hold its instructions, in order, with every jump to the right one?

use kiln_codegen::backend::asm_text::{Style, lines};
use kiln_codegen::backend::machine::{assemble, assemble_parts};
use kiln_tests::decode::{disassemble_first, listing, pool_offset};
use kiln_tests::disassemble;
use kiln_tests::sample_functions::{carry_chain, constants, every_node, long_jumps};
use kiln_tests::tools::{Scratch, found, gnu_assemble};

#[test]
fn every_kind_of_node() {
    for func in [every_node(), carry_chain(0), carry_chain(1), carry_chain(15), carry_chain(16), carry_chain(4096)] {
        let bytes = assemble(&func).expect("a fitting function");
        assert_eq!(disassemble(&bytes), listing(&func), "{}", func.name);
        assert_eq!(assemble(&func).as_ref(), Ok(&bytes), "the same bytes each time");
    }
}

#[test]
fn constants_lie_behind_the_code() {
    let func = constants();
    let (bytes, length) = assemble_parts(&func).expect("a fitting function");
    let wanted = listing(&func);
    assert_eq!(disassemble(&bytes[..length]), wanted);
    let start = pool_offset(&bytes, wanted.len()).expect("the pool is addressed");
    assert_eq!(start, length.next_multiple_of(32));
    assert!(bytes[length..start].iter().all(|byte| *byte == 0xcc), "the gap traps");
    assert_eq!(bytes[start..], func.pool);
    // Without constants there is nothing behind the code.
    let (bytes, length) = assemble_parts(&every_node()).expect("a fitting function");
    assert_eq!(bytes.len(), length);
}

#[test]
fn jumps_at_the_edge_of_their_short_form() {
    let mut lengths = Vec::new();
    for filler in (2..400).chain([70_000]) {
        let func = long_jumps(filler);
        let bytes = assemble(&func).expect("a fitting function");
        assert_eq!(disassemble(&bytes), listing(&func), "filler of {filler} bytes");
        lengths.push(bytes.len());
    }
    assert!(lengths.is_sorted());
    // Both jumps of the first loop and the back-edge of the second grow from 2 bytes to 6, 6 and 5.
    assert_eq!(lengths.last().map(|length| length - 2 * 70_000), Some(lengths[0] - 2 * 2 + 4 + 4 + 3));
}

#[test]
fn gnu_as_lays_the_text_out_alike() {
    let fillers = (100..150).map(long_jumps);
    let funcs: Vec<_> = [every_node(), carry_chain(16), constants()].into_iter().chain(fillers).collect();
    if !found(&["as", "objcopy"], funcs.len()) {
        return;
    }
    let scratch = Scratch::new("functions-gas");
    for func in &funcs {
        let text = lines(func, Style::ASSEMBLER);
        let theirs = gnu_assemble(&scratch, &text, &scratch.file("text.o"));
        let wanted = listing(func);
        assert_eq!(disassemble_first(&theirs, wanted.len()), wanted, "{}", func.name);
        let (ours, length) = assemble_parts(func).expect("a fitting function");
        assert_eq!(ours[length..], theirs[length..], "{}: the pool", func.name);
        assert_eq!(ours.len(), theirs.len(), "{}: bytes, and GNU as's", func.name);
    }
}

#[test]
fn a_reader_gets_notes_and_no_call_frame_information() {
    let text = lines(&every_node(), Style::READER).join("\n");
    assert!(text.contains("mov rbx, qword ptr [rsi] # x += a[i]; r[i] += a[i]\n"), "{text}");
    assert!(!text.contains(".cfi"), "{text}");
}
