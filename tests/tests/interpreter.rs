//! Does the interpreter do what the instructions do? Each operation against an independent model in `u128` and `i128`.
//!
//! Against the real CPU the interpreter is compared where machine code is made (this file has no `unsafe`).

use kiln_codegen::ir::interpret::{Argument, Call, Fault, Outcome, run};
use kiln_codegen::ir::typed::{Gpr, Place, Val};
use kiln_codegen::ir::*;
use kiln_codegen::isa::Op;
use kiln_codegen::isa::portable::Portable;
use kiln_codegen::isa::row::{Kind, RAX, RDX};
use kiln_tests::patterns::word;
use proptest::prelude::*;
use std::collections::BTreeSet;

const LIMBS: ParameterKind =
    ParameterKind::Pointer { element_bytes: 8, length: Length::of(1), reads: true, writes: true, cursor: 0 };
const COUNT: ParameterKind = ParameterKind::Count { min: 0, max: 1 << 16 };
const VALUE: ParameterKind = ParameterKind::Value { bits: 64 };

/// What a case may use: two operands, and memory for four limbs (the first two hold the operands).
struct Bench {
    a: Gpr,
    b: Gpr,
    memory: [Place; 4],
}

/// What a case left: its results, CF and OF.
type Left = (Vec<u64>, Option<bool>, Option<bool>);

struct Case {
    name: &'static str,
    ops: fn(&mut Builder, &Bench) -> Vec<Gpr>,
    /// From a, b, CF and OF to what is left; `None` for a flag that is undefined.
    model: fn(u64, u64, bool, bool) -> Left,
}

/// The function of a case: sets CF and OF, runs the operations, and stores their results and the flags that are defined.
fn function(case: &Case, (carry, overflow): (bool, bool)) -> Func<Virtual> {
    let mut b = Builder::new(case.name, 64);
    let out = b.parameter("out", LIMBS, false, &[]);
    b.parameter("n", COUNT, false, &[]);
    let (x, y) = (b.parameter("a", VALUE, false, &[]), b.parameter("b", VALUE, false, &[]));
    let (cf, of) = (b.parameter("cf", VALUE, false, &[]), b.parameter("of", VALUE, false, &[]));
    let memory = [0, 8, 16, 24].map(|disp| b.at(0, out, disp));
    b.store(memory[0], x);
    b.store(memory[1], y);
    let (ones, c, o) = (b.gpr(), b.gpr(), b.gpr());
    b.mov_imm(ones, -1i64);
    b.mov(c, cf);
    b.mov(o, of);
    let zero = b.gpr();
    b.xor32(zero, zero);
    b.adcx(c, ones);
    b.adox(o, ones);
    let results = (case.ops)(&mut b, &Bench { a: x, b: y, memory });
    let (c, o) = (b.gpr(), b.gpr());
    for (reg, wanted, disp) in [(o, overflow, 40), (c, carry, 32)] {
        if wanted {
            b.mov_imm(reg, 0i64);
            if disp == 40 {
                b.adox(reg, zero)
            } else {
                b.adcx(reg, zero)
            }
            let place = b.at(0, out, disp);
            b.store(place, reg);
        }
    }
    for (index, reg) in results.iter().enumerate() {
        let place = b.at(0, out, 48 + 8 * index as i32);
        b.store(place, *reg);
    }
    b.finish(None, None)
}

fn check(case: &Case, a: u64, b: u64, cf: bool, of: bool) {
    let (values, carry, overflow) = (case.model)(a, b, cf, of);
    let func = function(case, (carry.is_some(), overflow.is_some()));
    let memory = vec![0; 6 + values.len()];
    let arguments = vec![
        Argument::limbs64(&memory),
        Argument::Integer(memory.len() as u64),
        Argument::Integer(a),
        Argument::Integer(b),
        Argument::Integer(cf.into()),
        Argument::Integer(of.into()),
    ];
    let context = || format!("{} with a {a:#x} b {b:#x} CF {cf} OF {of}", case.name);
    let limbs = run(&func, &Call::new(arguments)).unwrap_or_else(|fault| panic!("{}: {fault}", context())).limbs64(0);
    assert_eq!(limbs[6..], values, "results of {}", context());
    assert_eq!(limbs[4] != 0, carry.unwrap_or(false), "CF of {}", context());
    assert_eq!(limbs[5] != 0, overflow.unwrap_or(false), "OF of {}", context());
}

fn signed_overflow(exact: i128) -> Option<bool> {
    Some(i64::try_from(exact).is_err())
}

fn sum(a: u64, b: u64, carry: bool) -> Left {
    let wide = u128::from(a) + u128::from(b) + u128::from(carry);
    let exact = i128::from(a as i64) + i128::from(b as i64) + i128::from(carry);
    (vec![wide as u64], Some(wide > u64::MAX.into()), signed_overflow(exact))
}

fn difference(a: u64, b: u64, borrow: bool) -> Left {
    let wide = i128::from(a) - i128::from(b) - i128::from(borrow);
    let exact = i128::from(a as i64) - i128::from(b as i64) - i128::from(borrow);
    (vec![wide as u64], Some(wide < 0), signed_overflow(exact))
}

fn logic(value: u64) -> Left {
    (vec![value], Some(false), Some(false))
}

fn kept(values: Vec<u64>, cf: bool, of: bool) -> Left {
    (values, Some(cf), Some(of))
}

fn high(a: u64, b: u64) -> u64 {
    ((u128::from(a) * u128::from(b)) >> 64) as u64
}

/// An operation on MMX registers that hold the operands, with `emms` after it.
fn on_mmx(b: &mut Builder, t: &Bench, op: fn(&mut Builder, typed::Mmx, typed::Mmx, Place)) -> Vec<Gpr> {
    let (x, y, out) = (b.mmx(), b.mmx(), b.gpr());
    b.movq_load(x, t.memory[0]);
    b.movq_load(y, t.memory[1]);
    op(b, x, y, t.memory[1]);
    b.movq_store(t.memory[2], x);
    b.emms();
    b.load(out, t.memory[2]);
    vec![out]
}

/// An operation on xmm registers that hold b:a and a:b (the high half first); what is left in the first.
fn on_xmm(b: &mut Builder, t: &Bench, op: fn(&mut Builder, typed::Xmm, typed::Xmm)) -> Vec<Gpr> {
    let (x, y, low, high) = (b.xmm(), b.xmm(), b.gpr(), b.gpr());
    b.store(t.memory[2], t.a);
    b.movdqu_load(x, t.memory[0]);
    b.movdqu_load(y, t.memory[1]);
    op(b, x, y);
    b.movdqu_store(t.memory[2], x);
    b.load(low, t.memory[2]);
    b.load(high, t.memory[3]);
    vec![low, high]
}

fn pair(high: u64, low: u64) -> u128 {
    u128::from(high) << 64 | u128::from(low)
}

/// What such a case leaves when it turns b:a and a:b into this.
fn vector(value: u128, cf: bool, of: bool) -> Left {
    kept(vec![value as u64, (value >> 64) as u64], cf, of)
}

/// The 32-bit lanes of b:a, the lowest first.
fn quarters(a: u64, b: u64) -> [u64; 4] {
    [a % (1 << 32), a >> 32, b % (1 << 32), b >> 32]
}

#[rustfmt::skip]
fn cases() -> Vec<Case> {
    let case = |name, ops, model| Case { name, ops, model };
    const SMALL: i32 = -0x1234_5678;
    const SMALL_U: u64 = SMALL as i64 as u64;
    vec![
        case("mov, mov_imm", |b, t| { let (x, y) = (b.gpr(), b.gpr()); b.mov(x, t.a); b.mov_imm(y, -2i64); vec![x, y] },
            |a, _, c, o| kept(vec![a, u64::MAX - 1], c, o)),
        case("load, store", |b, t| { let x = b.gpr(); b.store(t.memory[3], t.b); b.load(x, t.memory[3]); vec![x] },
            |_, y, c, o| kept(vec![y], c, o)),
        case("mov32, mov_imm32", |b, t| { let (x, y) = (b.gpr(), b.gpr()); b.mov32(x, t.a); b.mov_imm32(y, -1i32); vec![x, y] },
            |a, _, c, o| kept(vec![a % (1 << 32), u32::MAX.into()], c, o)),
        case("load32, store32", |b, t| { let (x, y) = (b.gpr(), b.gpr()); b.load32(x, t.memory[0]); b.store32(t.memory[1], t.a); b.load(y, t.memory[1]); vec![x, y] },
            |a, y, c, o| kept(vec![a % (1 << 32), (y >> 32 << 32) + a % (1 << 32)], c, o)),
        case("store8", |b, t| { let y = b.gpr(); b.store8(t.memory[1], t.a); b.load(y, t.memory[1]); vec![y] },
            |a, y, c, o| kept(vec![(y >> 8 << 8) + a % (1 << 8)], c, o)),
        case("lea", |b, t| {
            let x = b.gpr();
            let mem = Mem { space: Space::Nowhere, base: t.a.0, index: Some((t.b.0, 4)), disp: -9 };
            b.lea(x, Place(mem));
            vec![x]
        }, |a, y, c, o| kept(vec![a.wrapping_add(y.wrapping_mul(4)).wrapping_sub(9)], c, o)),
        case("add", |b, t| { b.add(t.a, t.b); vec![t.a] }, |a, y, _, _| sum(a, y, false)),
        case("add memory", |b, t| { b.add(t.a, t.memory[1]); vec![t.a] }, |a, y, _, _| sum(a, y, false)),
        case("add_mr", |b, t| { b.add_mr(t.memory[0], t.b); b.load(t.a, t.memory[0]); vec![t.a] }, |a, y, _, _| sum(a, y, false)),
        case("add_ri", |b, t| { b.add_ri(t.a, SMALL); vec![t.a] }, |a, _, _, _| sum(a, SMALL_U, false)),
        case("adc", |b, t| { b.adc(t.a, t.b); vec![t.a] }, |a, y, c, _| sum(a, y, c)),
        case("adc_mr", |b, t| { b.adc_mr(t.memory[0], t.b); b.load(t.a, t.memory[0]); vec![t.a] }, |a, y, c, _| sum(a, y, c)),
        case("adc_ri", |b, t| { b.adc_ri(t.a, SMALL); vec![t.a] }, |a, _, c, _| sum(a, SMALL_U, c)),
        case("sub", |b, t| { b.sub(t.a, t.b); vec![t.a] }, |a, y, _, _| difference(a, y, false)),
        case("sub_ri", |b, t| { b.sub_ri(t.a, SMALL); vec![t.a] }, |a, _, _, _| difference(a, SMALL_U, false)),
        case("sbb", |b, t| { b.sbb(t.a, t.b); vec![t.a] }, |a, y, c, _| difference(a, y, c)),
        case("sbb memory", |b, t| { b.sbb(t.a, t.memory[1]); vec![t.a] }, |a, y, c, _| difference(a, y, c)),
        case("sbb_ri", |b, t| { b.sbb_ri(t.a, SMALL); vec![t.a] }, |a, _, c, _| difference(a, SMALL_U, c)),
        case("sbb of a register by itself, never written", |b, _| { let x = b.gpr(); b.sbb(x, x); vec![x] },
            |_, _, c, _| difference(0, 0, c)),
        case("cmp", |b, t| { b.cmp(t.a, t.b); vec![t.a] }, |a, y, _, _| { let (_, c, o) = difference(a, y, false); (vec![a], c, o) }),
        case("cmp_ri", |b, t| { b.cmp_ri(t.a, SMALL); vec![t.a] }, |a, _, _, _| { let (_, c, o) = difference(a, SMALL_U, false); (vec![a], c, o) }),
        case("and", |b, t| { b.and(t.a, t.b); vec![t.a] }, |a, y, _, _| logic(a & y)),
        case("and_ri", |b, t| { b.and_ri(t.a, SMALL); vec![t.a] }, |a, _, _, _| logic(a & SMALL_U)),
        case("or", |b, t| { b.or(t.a, t.b); vec![t.a] }, |a, y, _, _| logic(a | y)),
        case("xor", |b, t| { b.xor(t.a, t.b); vec![t.a] }, |a, y, _, _| logic(a ^ y)),
        case("xor32", |b, t| { b.xor32(t.a, t.b); vec![t.a] }, |a, y, _, _| logic((a ^ y) % (1 << 32))),
        case("test", |b, t| { b.test(t.a, t.b); vec![t.a] }, |a, _, _, _| logic(a)),
        case("test_ri", |b, t| { b.test_ri(t.a, SMALL); vec![t.a] }, |a, _, _, _| logic(a)),
        case("inc", |b, t| { b.inc(t.a); vec![t.a] }, |a, _, c, _| { let (v, _, o) = sum(a, 1, false); (v, Some(c), o) }),
        case("dec", |b, t| { b.dec(t.a); vec![t.a] }, |a, _, c, _| { let (v, _, o) = difference(a, 1, false); (v, Some(c), o) }),
        case("sub_mr", |b, t| { b.sub_mr(t.memory[0], t.b); b.load(t.a, t.memory[0]); vec![t.a] }, |a, y, _, _| difference(a, y, false)),
        case("sbb_mr", |b, t| { b.sbb_mr(t.memory[0], t.b); b.load(t.a, t.memory[0]); vec![t.a] }, |a, y, c, _| difference(a, y, c)),
        case("neg", |b, t| { b.neg(t.a); vec![t.a] }, |a, _, _, _| difference(0, a, false)),
        case("not", |b, t| { b.not(t.a); vec![t.a] }, |a, _, c, o| kept(vec![u64::MAX - a], c, o)),
        // 2^k a, a / 2^k, floor(a / 2^k); the count is taken mod 64, and 0 keeps the flags.
        case("shl 1", |b, t| { b.shl(t.a, 1); vec![t.a] }, |a, _, _, _| {
            (vec![a.wrapping_mul(2)], Some(a >> 63 == 1), signed_overflow(2 * i128::from(a as i64)))
        }),
        case("shl 63", |b, t| { b.shl(t.a, 63); vec![t.a] }, |a, _, _, _| (vec![(a % 2) << 63], Some(a & 2 != 0), None)),
        case("shr 1", |b, t| { b.shr(t.a, 1); vec![t.a] }, |a, _, _, _| (vec![a / 2], Some(a % 2 == 1), Some(a >= 1 << 63))),
        case("shr 65", |b, t| { b.shr(t.a, 65); vec![t.a] }, |a, _, _, _| (vec![a / 2], Some(a % 2 == 1), Some(a >= 1 << 63))),
        case("shr 13", |b, t| { b.shr(t.a, 13); vec![t.a] }, |a, _, _, _| (vec![a / 8192], Some(a & 4096 != 0), None)),
        case("sar 1", |b, t| { b.sar(t.a, 1); vec![t.a] }, |a, _, _, _| ((vec![(a as i64).div_euclid(2) as u64]), Some(a % 2 == 1), Some(false))),
        case("sar 7", |b, t| { b.sar(t.a, 7); vec![t.a] }, |a, _, _, _| (vec![(a as i64).div_euclid(128) as u64], Some(a & 64 != 0), None)),
        case("shl 64", |b, t| { b.shl(t.a, 64); vec![t.a] }, |a, _, c, o| kept(vec![a], c, o)),
        case("mul", |b, t| {
            let (lo, hi) = (b.pinned(RAX), b.pinned(RDX));
            b.mov(lo, t.a);
            b.mul(t.b, lo, hi);
            vec![lo, hi]
        }, |a, y, _, _| { let wide = high(a, y) != 0; (vec![a.wrapping_mul(y), high(a, y)], Some(wide), Some(wide)) }),
        case("cmovb", |b, t| { b.cmovb(t.a, t.b); vec![t.a] }, |a, y, c, o| kept(vec![if c { y } else { a }], c, o)),
        case("bswap, bswap32", |b, t| { b.bswap(t.a); b.bswap32(t.b); vec![t.a, t.b] },
            |a, y, c, o| kept(vec![u64::from_be_bytes(a.to_le_bytes()), u32::from_be_bytes((y as u32).to_le_bytes()).into()], c, o)),
        // The upper (lower) half of a:a, shifted left (right).
        case("rol 1", |b, t| { b.rol(t.a, 1); vec![t.a] }, |a, _, _, _| {
            (vec![(pair(a, a) << 1 >> 64) as u64], Some(a >> 63 == 1), Some(a >> 63 != a >> 62 & 1))
        }),
        case("rol 29", |b, t| { b.rol(t.a, 29); vec![t.a] }, |a, _, _, _| { let v = (pair(a, a) << 29 >> 64) as u64; (vec![v], Some(v % 2 == 1), None) }),
        case("ror 1", |b, t| { b.ror(t.a, 1); vec![t.a] }, |a, _, _, _| { let v = (pair(a, a) >> 1) as u64; (vec![v], Some(a % 2 == 1), Some(v >> 63 != v >> 62 & 1)) }),
        case("ror 60", |b, t| { b.ror(t.a, 60); vec![t.a] }, |a, _, _, _| { let v = (pair(a, a) >> 60) as u64; (vec![v], Some(v >> 63 == 1), None) }),
        case("pool", |b, _| {
            let (base, x, y) = (b.gpr(), b.gpr(), b.gpr());
            b.pool(base);
            let [first, second] = [[1; 8], [2; 8]].map(|bytes| b.constant(&bytes));
            assert_eq!(b.constant(&[1; 8]), first, "equal constants are one");
            let places = [first, second].map(|offset| b.pooled(base, offset));
            b.load(x, places[0]);
            b.load(y, places[1]);
            vec![x, y]
        }, |_, _, c, o| kept(vec![0x0101_0101_0101_0101, 0x0202_0202_0202_0202], c, o)),
        case("imul", |b, t| { b.imul(t.a, t.b); vec![t.a] }, |a, y, _, _| {
            let lost = signed_overflow(i128::from(a as i64) * i128::from(y as i64));
            (vec![a.wrapping_mul(y)], lost, lost)
        }),
        case("div", |b, t| {
            let (lo, hi, by) = (b.pinned(RAX), b.pinned(RDX), b.gpr());
            b.mov(by, t.b);
            b.mov(hi, t.b);
            b.shr(hi, 1);
            b.mov(lo, t.a);
            b.shr(by, 1);
            b.add_ri(by, 1);
            b.div(by, lo, hi);
            vec![lo, hi]
        }, |a, y, _, _| {
            let (wide, by) = (u128::from(y / 2) << 64 | u128::from(a), u128::from(y / 2 + 1));
            (vec![(wide / by) as u64, (wide % by) as u64], None, None)
        }),
        case("mulx", |b, t| {
            let (hi, lo, rdx) = (b.gpr(), b.gpr(), b.pinned(RDX));
            b.mov(rdx, t.b);
            b.mulx(hi, lo, t.a, rdx);
            vec![hi, lo]
        }, |a, y, c, o| kept(vec![high(a, y), a.wrapping_mul(y)], c, o)),
        case("mulx into one register", |b, t| {
            let (hi, rdx) = (b.gpr(), b.pinned(RDX));
            b.mov(rdx, t.b);
            b.mulx(hi, hi, t.memory[0], rdx);
            vec![hi]
        }, |a, y, c, o| kept(vec![high(a, y)], c, o)),
        case("rorx", |b, t| { let x = b.gpr(); b.rorx(x, t.a, 100); vec![x] },
            |a, _, c, o| kept(vec![((u128::from(a) << 64 | u128::from(a)) >> 36) as u64], c, o)),
        case("shlx", |b, t| { let x = b.gpr(); b.shlx(x, t.a, t.b); vec![x] },
            |a, y, c, o| kept(vec![(u128::from(a) << (y % 64)) as u64], c, o)),
        case("shrx", |b, t| { let x = b.gpr(); b.shrx(x, t.memory[0], t.b); vec![x] },
            |a, y, c, o| kept(vec![(u128::from(a) >> (y % 64)) as u64], c, o)),
        case("adcx", |b, t| { b.adcx(t.a, t.b); vec![t.a] }, |a, y, c, o| { let (v, c, _) = sum(a, y, c); (v, c, Some(o)) }),
        case("adox", |b, t| { b.adox(t.a, t.memory[1]); vec![t.a] }, |a, y, c, o| { let (v, out, _) = sum(a, y, o); (v, Some(c), out) }),
        case("movd in and out", |b, t| {
            let (x, y, m) = (b.gpr(), b.gpr(), b.mmx());
            b.movd_in(m, t.a);
            b.movd_out(x, m);
            b.movd_store(t.memory[1], m);
            b.emms();
            b.load(y, t.memory[1]);
            vec![x, y]
        }, |a, y, c, o| { let low = a % (1 << 32); kept(vec![low, (y >> 32 << 32) + low], c, o) }),
        case("movd of memory clears the upper half", |b, t| {
            let (x, m) = (b.gpr(), b.mmx());
            b.movd_in(m, t.memory[0]);
            b.movq_store(t.memory[2], m);
            b.emms();
            b.load(x, t.memory[2]);
            vec![x]
        }, |a, _, c, o| kept(vec![a % (1 << 32)], c, o)),
        case("movq", |b, t| on_mmx(b, t, |b, x, y, _| b.movq_mm(x, y)), |_, y, c, o| kept(vec![y], c, o)),
        case("pmuludq", |b, t| on_mmx(b, t, |b, x, y, _| b.pmuludq_mm(x, y)),
            |a, y, c, o| kept(vec![u64::from(a as u32) * u64::from(y as u32)], c, o)),
        case("paddq", |b, t| on_mmx(b, t, |b, x, _, m| b.paddq_mm(x, m)), |a, y, c, o| kept(vec![(u128::from(a) + u128::from(y)) as u64], c, o)),
        case("psubq", |b, t| on_mmx(b, t, |b, x, y, _| b.psubq_mm(x, y)), |a, y, c, o| kept(vec![(i128::from(a) - i128::from(y)) as u64], c, o)),
        case("pand", |b, t| on_mmx(b, t, |b, x, y, _| b.pand_mm(x, y)), |a, y, c, o| kept(vec![a & y], c, o)),
        case("por", |b, t| on_mmx(b, t, |b, x, _, m| b.por_mm(x, m)), |a, y, c, o| kept(vec![a | y], c, o)),
        case("pxor", |b, t| on_mmx(b, t, |b, x, y, _| b.pxor_mm(x, y)), |a, y, c, o| kept(vec![a ^ y], c, o)),
        case("psrlq", |b, t| on_mmx(b, t, |b, x, _, _| b.psrlq_mm(x, 29)), |a, _, c, o| kept(vec![a / (1 << 29)], c, o)),
        case("psllq", |b, t| on_mmx(b, t, |b, x, _, _| b.psllq_mm(x, 32)), |a, _, c, o| kept(vec![(a % (1 << 32)) << 32], c, o)),
        case("psllq by 64", |b, t| on_mmx(b, t, |b, x, _, _| b.psllq_mm(x, 64)), |_, _, c, o| kept(vec![0], c, o)),
        case("movd and movq of xmm, in and out", |b, t| {
            let [d, q, m] = [(); 3].map(|()| b.gpr());
            let (x, y) = (b.xmm(), b.xmm());
            b.movdqu_load(x, t.memory[0]);
            b.movdqu_load(y, t.memory[0]);
            b.movd_in_x(x, t.b);
            b.movq_in_x(y, t.b);
            b.movd_out_x(d, y);
            b.movq_out_x(q, y);
            b.movd_store_x(t.memory[0], x);
            b.load(m, t.memory[0]);
            vec![d, q, m]
        }, |a, y, c, o| { let low = y % (1 << 32); kept(vec![low, y, (a >> 32 << 32) + low], c, o) }),
        case("movd of memory clears the rest of xmm", |b, t| { b.store(t.memory[3], t.a); let m = t.memory[3]; let (x, low, high) = (b.xmm(), b.gpr(), b.gpr());
            b.movdqu_load(x, t.memory[0]);
            b.movd_in_x(x, m);
            b.movdqu_store(t.memory[0], x);
            b.load(low, t.memory[0]);
            b.load(high, t.memory[1]);
            vec![low, high]
        }, |a, _, c, o| kept(vec![a % (1 << 32), 0], c, o)),
        case("movq of memory clears the upper half of xmm", |b, t| {
            let (x, low, high, out) = (b.xmm(), b.gpr(), b.gpr(), b.gpr());
            b.movdqu_load(x, t.memory[0]);
            b.movq_load_x(x, t.memory[1]);
            b.movdqu_store(t.memory[0], x);
            b.load(low, t.memory[0]);
            b.load(high, t.memory[1]);
            b.movq_store_x(t.memory[1], x);
            b.load(out, t.memory[1]);
            vec![low, high, out]
        }, |_, y, c, o| kept(vec![y, 0, y], c, o)),
        case("movdqa", |b, t| on_xmm(b, t, |b, x, y| b.movdqa_x(x, y)), |a, y, c, o| vector(pair(a, y), c, o)),
        case("pmuludq of xmm", |b, t| on_xmm(b, t, |b, x, y| b.pmuludq_x(x, y)),
            |a, y, c, o| { let product = (a % (1 << 32)) * (y % (1 << 32)); vector(pair(product, product), c, o) }),
        case("paddq of xmm", |b, t| on_xmm(b, t, |b, x, y| b.paddq_x(x, y)), |a, y, c, o| { let (sum, _, _) = sum(a, y, false); vector(pair(sum[0], sum[0]), c, o) }),
        case("paddd", |b, t| on_xmm(b, t, |b, x, y| b.paddd_x(x, y)), |a, y, c, o| {
            let (p, q) = (quarters(a, y), quarters(y, a));
            let lane = |i: usize| u128::from((p[i] + q[i]) % (1 << 32)) << (32 * i);
            vector(lane(0) + lane(1) + lane(2) + lane(3), c, o)
        }),
        case("psubq of xmm", |b, t| on_xmm(b, t, |b, x, y| b.psubq_x(x, y)), |a, y, c, o| {
            let ((low, _, _), (high, _, _)) = (difference(a, y, false), difference(y, a, false));
            vector(pair(high[0], low[0]), c, o)
        }),
        case("pand of xmm", |b, t| on_xmm(b, t, |b, x, y| b.pand_x(x, y)), |a, y, c, o| vector(pair(y, a) & pair(a, y), c, o)),
        case("pandn", |b, t| on_xmm(b, t, |b, x, y| b.pandn_x(x, y)), |a, y, c, o| vector(pair(a, y) - (pair(y, a) & pair(a, y)), c, o)),
        case("por of xmm", |b, t| on_xmm(b, t, |b, x, y| b.por_x(x, y)), |a, y, c, o| vector(pair(y, a) | pair(a, y), c, o)),
        case("pxor of xmm", |b, t| on_xmm(b, t, |b, x, y| b.pxor_x(x, y)), |a, y, c, o| vector(pair(y, a) ^ pair(a, y), c, o)),
        case("pxor, psubq and pandn of a register by itself, never written", |b, t| on_xmm(b, t, |b, x, _| {
            let [p, q, r] = [(); 3].map(|()| b.xmm());
            b.pxor_x(p, p);
            b.psubq_x(q, q);
            b.pandn_x(r, r);
            b.paddq_x(p, q);
            b.paddq_x(p, r);
            b.movdqa_x(x, p);
        }), |_, _, c, o| vector(0, c, o)),
        case("paddb", |b, t| on_xmm(b, t, |b, x, y| b.paddb_x(x, y)), |a, y, c, o| {
            let (p, q) = (pair(y, a).to_le_bytes(), pair(a, y).to_le_bytes());
            vector((0..16).fold(0, |all, i| all + (((u128::from(p[i]) + u128::from(q[i])) % 256) << (8 * i))), c, o)
        }),
        case("pcmpeqd", |b, t| on_xmm(b, t, |b, x, y| b.pcmpeqd_x(x, y)), |a, y, c, o| {
            let (p, q) = (quarters(a, y), quarters(y, a));
            vector((0..4).filter(|i| p[*i] == q[*i]).fold(0, |all, i| all + (0xffff_ffff << (32 * i))), c, o)
        }),
        case("pcmpgtd", |b, t| on_xmm(b, t, |b, x, y| b.pcmpgtd_x(x, y)), |a, y, c, o| {
            // The sign turned, the order is that of numbers without one.
            let turned = |lane: u64| lane ^ 1 << 31;
            let (p, q) = (quarters(a, y).map(turned), quarters(y, a).map(turned));
            vector((0..4).filter(|i| p[*i] > q[*i]).fold(0, |all, i| all + (0xffff_ffff << (32 * i))), c, o)
        }),
        case("pcmpeqd and pcmpgtd of a register by itself, never written", |b, t| on_xmm(b, t, |b, x, y| {
            let (p, q) = (b.xmm(), b.xmm());
            b.pcmpeqd_x(p, p);
            b.pcmpgtd_x(q, q);
            b.pandn_x(p, y);
            b.por_x(p, q);
            b.movdqa_x(x, p);
        }), |_, _, c, o| vector(0, c, o)),
        case("psrad", |b, t| on_xmm(b, t, |b, x, _| b.psrad_x(x, 7)), |a, y, c, o| {
            let lane = |lane: u64| i128::from(lane as u32 as i32).div_euclid(128).rem_euclid(1 << 32) as u128;
            vector((0..4).fold(0, |all, i| all + (lane(quarters(a, y)[i]) << (32 * i))), c, o)
        }),
        case("psrad by 127", |b, t| on_xmm(b, t, |b, x, _| b.psrad_x(x, 127)), |a, y, c, o| {
            vector((0..4).filter(|i| quarters(a, y)[*i] >> 31 == 1).fold(0, |all, i| all + (0xffff_ffff << (32 * i))), c, o)
        }),
        case("punpckhdq", |b, t| on_xmm(b, t, |b, x, y| b.punpckhdq(x, y)), |a, y, c, o| {
            let ([.., p, q], [.., r, s]) = (quarters(a, y), quarters(y, a));
            vector(pair(s << 32 | q, r << 32 | p), c, o)
        }),
        case("psrlq of xmm", |b, t| on_xmm(b, t, |b, x, _| b.psrlq_x(x, 29)), |a, y, c, o| vector(pair(y / (1 << 29), a / (1 << 29)), c, o)),
        case("psrlq of xmm by 64", |b, t| on_xmm(b, t, |b, x, _| b.psrlq_x(x, 64)), |_, _, c, o| vector(0, c, o)),
        case("psllq of xmm", |b, t| on_xmm(b, t, |b, x, _| b.psllq_x(x, 32)), |a, y, c, o| vector(pair(y << 32, a << 32), c, o)),
        case("psllq of xmm by 127", |b, t| on_xmm(b, t, |b, x, _| b.psllq_x(x, 127)), |_, _, c, o| vector(0, c, o)),
        case("psrldq", |b, t| on_xmm(b, t, |b, x, _| b.psrldq(x, 12)), |_, y, c, o| vector((y >> 32).into(), c, o)),
        case("psrldq by 16", |b, t| on_xmm(b, t, |b, x, _| b.psrldq(x, 16)), |_, _, c, o| vector(0, c, o)),
        case("pslldq", |b, t| on_xmm(b, t, |b, x, _| b.pslldq(x, 4)), |a, y, c, o| {
            let [p, q, r, _] = quarters(a, y);
            vector(pair(r << 32 | q, p << 32), c, o)
        }),
        case("pslldq by 127", |b, t| on_xmm(b, t, |b, x, _| b.pslldq(x, 127)), |_, _, c, o| vector(0, c, o)),
        // Lanes 3, 0, 2 and 1 of a:b, from the lowest.
        case("pshufd", |b, t| on_xmm(b, t, |b, x, y| b.pshufd(x, y, 0b01_10_00_11)), |a, y, c, o| {
            let lanes = quarters(y, a);
            vector(pair(lanes[1] << 32 | lanes[2], lanes[0] << 32 | lanes[3]), c, o)
        }),
        case("punpckldq", |b, t| on_xmm(b, t, |b, x, y| b.punpckldq(x, y)), |a, y, c, o| {
            let ([p, q, ..], [r, s, ..]) = (quarters(a, y), quarters(y, a));
            vector(pair(s << 32 | q, r << 32 | p), c, o)
        }),
        case("punpcklqdq", |b, t| on_xmm(b, t, |b, x, y| b.punpcklqdq(x, y)), |a, y, c, o| vector(pair(y, a), c, o)),
        case("punpckhqdq", |b, t| on_xmm(b, t, |b, x, y| b.punpckhqdq(x, y)), |a, y, c, o| vector(pair(a, y), c, o)),
    ]
}

proptest! {
    #[test]
    fn every_operation_is_its_model(a in word(), b in word(), cf: bool, of: bool) {
        for case in cases() {
            check(&case, a, b, cf, of);
        }
    }

    #[test]
    fn portable_operations_are_their_model(a in word(), b in word(), carry in 0..2u64, narrow: bool) {
        let bits = if narrow { 32 } else { 64 };
        let cut = |value: u64| if narrow { value % (1 << 32) } else { value };
        let limbs = portable(bits, cut(a), cut(b), carry).map(|outcome| outcome.memories[0].clone());
        let bytes = bits as usize / 8;
        let (wide_a, wide_b) = (u128::from(cut(a)), u128::from(cut(b)));
        let (wide, total) = (wide_a * wide_b, wide_a + wide_b + u128::from(carry));
        let add = u128::from(cut(a) / 2) + u128::from(carry);
        let borrowed = wide_a + (1 << bits) - wide_b - u128::from(carry);
        let turned = (0..bytes).fold(0, |turned, byte| turned << 8 | wide_a >> (8 * byte) & 0xff);
        let (dividend, by) = ((wide_a / 2) << bits | wide_b, wide_b | 1 << (bits - 1));
        let expected = [
            wide, wide >> bits, total, total >> bits, add, 7,
            borrowed, u128::from(borrowed >> bits == 0), wide_a + wide_b, wide_a + (1 << bits) - wide_b, wide,
            wide_a & wide_b, wide_a | wide_b, wide_a ^ wide_b, wide_a << 5, wide_a >> 1,
            wide_a >> 7 | wide_a << (bits - 7), turned, dividend / by, dividend % by,
        ];
        let expected: Vec<u8> = expected.iter().flat_map(|limb| limb.to_le_bytes()[..bytes].to_vec()).collect();
        prop_assert_eq!(limbs, Ok(expected));
    }
}

fn inst(op: Portable, operands: Vec<Operand<VReg>>) -> (Op, Vec<Operand<VReg>>) {
    (Op::Portable(op), operands)
}

/// How many limbs the function of portable operations stores.
const STORED: usize = 20;

/// Stores a * b (two limbs), a + b + carry (two), a / 2 + carry, 7, a - b - carry (two), and what each of the other operations
/// makes of a and b; a division last.
fn portable(bits: u32, a: u64, b: u64, carry: u64) -> Result<Outcome, Fault> {
    let func = portable_function(bits, Portable::Add);
    let half = Argument::Integer(a / 2);
    let [a, b, carry] = [a, b, carry].map(Argument::Integer);
    let memory = Argument::Pointer { bytes: vec![0; STORED * bits as usize / 8] };
    run(&func, &Call::new(vec![memory, Argument::Integer(STORED as u64), a, b, carry, half]))
}

fn portable_function(bits: u32, sum: Portable) -> Func<Virtual> {
    let mut f = Builder::new("portable", bits);
    let kind =
        ParameterKind::Pointer { element_bytes: bits / 8, length: Length::of(1), reads: true, writes: true, cursor: 0 };
    let out = f.parameter("out", kind, false, &[]);
    f.parameter("n", COUNT, false, &[]);
    let value = ParameterKind::Value { bits };
    let [a, b, carry, half] = ["a", "b", "carry", "half"].map(|name| f.parameter_val(name, value, false));
    let [hi, lo, dst, over, add, seven, copy, again] = [(); 8].map(|()| f.val());
    let reg = |val: Val| Operand::Reg(val.0);
    f.p_mul_wide(hi, lo, a, b);
    f.p_add_carry(dst, over, a, b, carry);
    let (op, operands) = inst(sum, vec![reg(add), reg(half), reg(carry)]);
    f.push(op, operands);
    f.p_constant(seven, 7i64);
    f.p_copy(copy, seven);
    let [less, under, sum, difference, low, both, either, one, up, down, round, turned, top, by, quotient, rest] =
        [(); 16].map(|()| f.val());
    f.p_sub_borrow(less, under, a, b, carry);
    f.p_wrap_add(sum, a, b);
    f.p_wrap_sub(difference, a, b);
    f.p_mul_low(low, a, b);
    f.p_and(both, a, b);
    f.p_or(either, a, b);
    f.p_xor(one, a, b);
    f.p_shl(up, a, 5i32);
    f.p_shr(down, a, 1i32);
    f.p_rotate(round, a, 7i32);
    f.p_swap_bytes(turned, a);
    // By what is at least 2^(w - 1), of a high limb below that.
    f.p_constant(top, 1i64 << (bits - 1));
    f.p_or(by, b, top);
    f.p_div_wide(quotient, rest, down, b, by);
    let all = [
        lo, hi, dst, over, add, copy, less, under, sum, difference, low, both, either, one, up, down, round, turned,
        quotient, rest,
    ];
    assert_eq!(all.len(), STORED);
    for (index, val) in all.into_iter().enumerate() {
        let place = f.at(0, out, index as i32 * (bits / 8) as i32);
        f.p_store(place, val);
        f.p_load(again, place);
    }
    f.finish(Some(again.0), None)
}

#[test]
fn every_operation_has_a_case() {
    let mut left: BTreeSet<Op> = Op::machine().chain(Portable::ALL.iter().map(|op| Op::Portable(*op))).collect();
    let funcs = cases().iter().map(|case| function(case, (false, false))).collect::<Vec<_>>();
    for func in funcs.iter().chain([&portable_function(64, Portable::Add)]) {
        // The cases of shifts by 64 and 65 are what the rule is for.
        let ills = wellformed::check(func).err().unwrap_or_default();
        let others: Vec<_> = ills.iter().filter(|ill| ill.rule != wellformed::Rule::ShiftCount).collect();
        assert!(others.is_empty(), "{}: {others:?}", func.name);
        for inst in func.instructions() {
            left.remove(&inst.op);
        }
    }
    // Vector rows of later extensions, and those that want aligned memory, are compared with the CPU itself in
    // `native_vectors`; the steps of AES also with the standard's examples.
    let aligned = |op: &Op| op.row().operands.iter().any(|spec| matches!(spec.kind, Kind::MemAligned(_)));
    left.retain(|op| op.vector_encoding().is_none() || (matches!(op, Op::Sse2(_)) && !aligned(op)));
    assert_eq!(left, BTreeSet::new());
}

#[test]
fn a_portable_borrow_is_a_bit_and_a_quotient_must_fit() {
    let fault = |build: &dyn Fn(&mut Builder, Val)| {
        let mut f = Builder::new("portable", 64);
        let (three, out) = (f.val(), f.val());
        f.p_constant(three, 3i64);
        build(&mut f, three);
        f.p_copy(out, three);
        run(&f.finish(Some(out.0), None), &Call::new(vec![]))
    };
    let borrow = fault(&|f, three| {
        let (dst, over) = (f.val(), f.val());
        f.p_sub_borrow(dst, over, three, three, three);
    });
    assert!(matches!(borrow, Err(Fault::CarryIn { value: 3, .. })), "{borrow:?}");
    let divide = fault(&|f, three| {
        let (quotient, rest) = (f.val(), f.val());
        f.p_div_wide(quotient, rest, three, three, three);
    });
    assert!(matches!(divide, Err(Fault::Divide { .. })), "{divide:?}");
}

#[test]
fn a_portable_sum_must_not_lose_its_carry_and_a_carry_is_a_bit() {
    assert!(matches!(portable(32, u64::from(u32::MAX), 1, 3), Err(Fault::CarryIn { value: 3, .. })));
    let func = portable_function(32, Portable::Add);
    let arguments = [0, 0, 1, u64::from(u32::MAX)].map(Argument::Integer);
    let mut call = vec![Argument::Pointer { bytes: vec![0; 4 * STORED] }, Argument::Integer(STORED as u64)];
    call.extend(arguments);
    assert!(matches!(run(&func, &Call::new(call)), Err(Fault::LostCarry { .. })));
}

/// carry-21: a translator's mulx lost the carry.
#[test]
fn mulx_keeps_the_carry() {
    let mut b = Builder::new("carry-21", 64);
    let [x, y, hi, lo] = [(); 4].map(|()| b.gpr());
    let rdx = b.pinned(RDX);
    b.mov_imm(x, -1i64);
    b.mov_imm(rdx, 1i64);
    b.mov_imm(y, 0i64);
    b.add(x, x);
    b.mulx(hi, lo, rdx, rdx);
    b.adc(y, y);
    let func = b.finish(Some(y.0), None);
    assert_eq!(run(&func, &Call::new(vec![])).unwrap().returned, Some(1));
}
