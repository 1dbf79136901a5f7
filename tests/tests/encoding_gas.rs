//! Does GNU as read our text as the instruction that our machine code is?

use kiln_codegen::backend::asm_text;
use kiln_codegen::backend::machine::assemble_inst;
use kiln_codegen::isa::Op;
use kiln_tests::decode::{decode, text};
use kiln_tests::encoding_cases::{Random, every_address, instruction};
use kiln_tests::tools::{Scratch, found, gnu_assemble};

#[test]
fn every_row_in_text_and_in_bytes() {
    let seed = 0x0067_6173;
    let mut random = Random(seed);
    let random_ones = Op::machine().flat_map(|op| (0..300).map(move |_| op)).map(|op| instruction(&mut random, op));
    // Every address once, in the row that only computes it.
    let addresses = every_address(Op::Base(kiln_codegen::isa::base::Base::Lea));
    let insts: Vec<_> = random_ones.collect::<Vec<_>>().into_iter().chain(addresses).collect();
    if !found(&["as", "objcopy"], insts.len()) {
        return;
    }
    let scratch = Scratch::new("encoding-gas");
    let lines: Vec<_> = insts.iter().map(asm_text::instruction).collect();
    let theirs = gnu_assemble(&scratch, &lines, &scratch.file("text.o"));
    let theirs = decode(&theirs);
    assert_eq!(theirs.len(), insts.len(), "one instruction a line");
    for (inst, theirs) in insts.iter().zip(&theirs) {
        let bytes = assemble_inst(inst).expect("a fitting instruction");
        let ours = decode(&bytes);
        assert_eq!(text(&ours[0]), text(theirs), "seed {seed:#x}: {}, ours {bytes:02x?}", asm_text::instruction(inst));
        // The same work in the same space, so that compiled and run-time twins are equals.
        assert_eq!(bytes.len(), theirs.len(), "{}, ours {bytes:02x?}", asm_text::instruction(inst));
    }
    println!("{} rows, {} instructions", Op::machine().count(), insts.len());
}
