//! Does the interpreter find the faults that a CPU would let pass, and those that it would stop at?

use kiln_codegen::ir::interpret::{Argument, Call, Fault, Outcome, run};
use kiln_codegen::ir::*;
use kiln_codegen::isa::row::{CF, OF, RAX, RDX};

const LIMBS: ParameterKind =
    ParameterKind::Pointer { element_bytes: 8, length: Length::of(1), reads: true, writes: true, cursor: 0 };
const COUNT: ParameterKind = ParameterKind::Count { min: 0, max: 1 << 16 };

/// Reads 8 bytes at `disp` of an argument of 7 + 8 bytes, whose elements are bytes.
fn reader(disp: i32, reads: bool, write: bool) -> Func<Virtual> {
    let mut b = Builder::new("reader", 64);
    let kind = ParameterKind::Pointer { element_bytes: 1, length: Length::of(1), reads, writes: !reads, cursor: 0 };
    let a = b.parameter("a", kind, false, &[]);
    let n = b.parameter("n", COUNT, false, &[]);
    let place = b.at(0, a, disp);
    if write {
        b.store(place, n);
    } else {
        b.load(n, place);
    }
    b.finish(None, None)
}

#[test]
fn one_byte_out_of_bounds_is_a_fault_on_either_side() {
    let call = Call::new(vec![Argument::Pointer { bytes: vec![1; 15] }, Argument::Integer(15)]);
    for disp in [0, 7] {
        assert!(run(&reader(disp, true, false), &call).is_ok());
        assert!(run(&reader(disp, false, true), &call).is_ok());
    }
    for disp in [-1, 8] {
        for (reads, write) in [(true, false), (false, true)] {
            let fault = run(&reader(disp, reads, write), &call).unwrap_err();
            let Fault::OutOfBounds { argument: 0, offset, bytes: 8, length: 15, .. } = fault else { panic!("{fault}") };
            assert_eq!(offset, i64::from(disp));
        }
    }
    assert!(matches!(run(&reader(0, true, true), &call), Err(Fault::Forbidden { write: true, .. })));
    assert!(matches!(run(&reader(0, false, false), &call), Err(Fault::Forbidden { write: false, .. })));
    let fault = run(&reader(-1, true, false), &call).unwrap_err();
    assert_eq!(fault.to_string(), "instruction 0 (mov): 8 bytes at offset -1 of argument 0, which has 15 bytes");
}

#[test]
fn an_endless_loop_is_a_fault() {
    let mut b = Builder::new("endless", 64);
    let count = b.gpr();
    b.mov_imm(count, 1i64);
    b.counted(count, |b| b.inc(count));
    let call = Call { budget: 1000, ..Call::new(vec![]) };
    assert!(matches!(run(&b.finish(None, None), &call), Err(Fault::Budget { budget: 1000, .. })));
}

fn fault_of(build: impl FnOnce(&mut Builder)) -> Fault {
    let mut b = Builder::new("fault", 64);
    build(&mut b);
    run(&b.finish(None, None), &Call::new(vec![])).unwrap_err()
}

#[test]
fn what_was_never_written_is_not_read() {
    assert!(matches!(
        fault_of(|b| {
            let x = b.gpr();
            b.inc(x);
        }),
        Fault::Undefined { .. }
    ));
    assert!(matches!(fault_of(|b| { let x = b.gpr(); b.sbb(x, x); }), Fault::UndefinedFlag { flag, .. } if flag == CF));
    let undefined_flags = fault_of(|b| {
        let (x, y) = (b.gpr(), b.gpr());
        b.mov_imm(x, 5i64);
        b.mov_imm(y, 5i64);
        b.shl(x, 2);
        b.adox(x, y);
    });
    assert!(matches!(undefined_flags, Fault::UndefinedFlag { flag, .. } if flag == OF));
}

#[test]
fn division_faults() {
    for (by, high) in [(0i64, 0i64), (7, 7)] {
        let fault = fault_of(|b| {
            let (lo, hi, divisor) = (b.pinned(RAX), b.pinned(RDX), b.gpr());
            b.mov_imm(lo, 1i64);
            b.mov_imm(hi, high);
            b.mov_imm(divisor, by);
            b.div(divisor, lo, hi);
        });
        assert!(matches!(fault, Fault::Divide { .. }));
    }
}

#[test]
fn wide_vectors_without_vzeroupper_are_a_fault() {
    let fault = fault_of(|b| {
        let y = b.ymm();
        b.vpxor_y(y, y, y);
        b.vzeroupper();
        b.vpcmpeqd_y(y, y, y);
    });
    assert_eq!(fault, Fault::NoVzeroupper);
}

#[test]
fn a_misaligned_operand_is_a_fault() {
    let access = |promised: u32, disp: i32| {
        let mut b = Builder::new("aligned", 64);
        let p = b.parameter("p", LIMBS, false, &[]);
        b.parameter("n", COUNT, false, &[]);
        b.aligned(0, promised);
        let (x, place) = (b.xmm(), b.at(0, p, disp));
        b.movdqa_load(x, place);
        run(&b.finish(None, None), &Call::new(vec![Argument::limbs64(&[1, 2, 3, 4]), Argument::Integer(4)]))
    };
    for promised in [16, 32, 64] {
        assert!(access(promised, 16).is_ok());
    }
    for (promised, disp) in [(1, 0), (1, 8), (8, 0), (16, 8), (16, 1)] {
        assert!(matches!(access(promised, disp), Err(Fault::Misaligned { align: 16, .. })), "{promised}, {disp}");
    }
}

#[test]
fn the_pool_is_only_read_and_inside_its_bytes() {
    let fault = |disp: i32, write: bool| {
        fault_of(|b| {
            let base = b.gpr();
            b.constant(&[1; 4]);
            b.pool(base);
            let place = b.pooled(base, disp);
            if write {
                b.store(place, base);
            } else {
                b.load(base, place);
            }
        })
    };
    for disp in [-1, 25, 1 << 20] {
        let out = fault(disp, false);
        assert!(
            matches!(out, Fault::Pool { offset, bytes: 8, write: false, .. } if offset == i64::from(disp)),
            "{out}"
        );
    }
    assert!(matches!(fault(8, true), Fault::Pool { offset: 8, write: true, .. }));
}

#[test]
fn mmx_without_emms_is_a_fault() {
    let fault = fault_of(|b| {
        let (m, x) = (b.mmx(), b.gpr());
        b.mov_imm(x, 1i64);
        b.emms();
        b.movd_in(m, x);
    });
    assert_eq!(fault, Fault::NoEmms);
}

/// A 32-bit value's upper half is garbage; a returned 32-bit limb has none.
#[test]
fn thirty_two_bit_values_have_garbage_above() {
    let build = |clean: bool| {
        let mut b = Builder::new("half", 32);
        let (w, out) = (b.parameter("w", ParameterKind::Value { bits: 32 }, false, &[]), b.gpr());
        if clean {
            b.mov32(out, w)
        } else {
            b.mov(out, w)
        }
        b.finish(Some(out.0), None)
    };
    let call = Call::new(vec![Argument::Integer(9)]);
    assert!(matches!(run(&build(false), &call), Err(Fault::UpperHalf { .. })));
    assert_eq!(run(&build(true), &call).unwrap().returned, Some(9));
}

/// 16 bytes at an offset of a function's argument of 3 limbs of 64 bits.
fn vector_access(disp: i32, write: bool) -> Result<Outcome, Fault> {
    let mut b = Builder::new("vector", 64);
    let out = b.parameter("out", LIMBS, false, &[]);
    b.parameter("n", COUNT, false, &[]);
    let (x, place) = (b.xmm(), b.at(0, out, disp));
    b.pxor_x(x, x);
    if write {
        b.movdqu_store(place, x)
    } else {
        b.movdqu_load(x, place)
    }
    run(&b.finish(None, None), &Call::new(vec![Argument::limbs64(&[1, 2, 3]), Argument::Integer(3)]).traced())
}

#[test]
fn vector_accesses_stay_inside_their_argument() {
    assert_eq!(vector_access(8, true).unwrap().limbs64(0), [1, 0, 0]);
    for write in [false, true] {
        assert_eq!(vector_access(3, write).unwrap().trace.unwrap().len(), 1, "any alignment, one access");
        for offset in [-1, 9, 16, 24] {
            let fault = vector_access(offset, write).unwrap_err();
            assert!(
                matches!(fault, Fault::OutOfBounds { bytes: 16, offset: at, .. } if at == i64::from(offset)),
                "{fault}"
            );
        }
    }
}

#[test]
fn a_vector_that_was_never_written_is_not_read() {
    let mut b = Builder::new("vector", 64);
    let (x, y) = (b.xmm(), b.xmm());
    b.paddq_x(x, y);
    assert!(matches!(run(&b.finish(None, None), &Call::new(vec![])), Err(Fault::Undefined { .. })));
}
