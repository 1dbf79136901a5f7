//! Does the interpreter do what the instructions do? Each operation against an independent model in `u128` and `i128`; and
//! are the faults that a CPU would let pass found?
//!
//! Against the real CPU the interpreter is compared where machine code is made (this file has no `unsafe`).

use kiln_codegen::ir::interpret::{Argument, BadArgument, Call, Fault, Outcome, run};
use kiln_codegen::ir::typed::{Gpr, Place, Val};
use kiln_codegen::ir::*;
use kiln_codegen::isa::Op;
use kiln_codegen::isa::base::Base;
use kiln_codegen::isa::portable::Portable;
use kiln_codegen::isa::row::{CF, Kind, OF, PReg, RAX, RBX, RCX, RDI, RDX, RSI, RSP};
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

fn word() -> impl Strategy<Value = u64> {
    let edges = vec![0, 1, 2, u64::MAX, u64::MAX - 1, 1 << 63, (1 << 63) - 1, 1 << 32, (1 << 32) - 1, 1 << 31];
    prop_oneof![
        any::<u64>(),
        prop::sample::select(edges),
        (0..64u32).prop_map(|bit| 1 << bit),
        (any::<u64>(), any::<u64>()).prop_map(|(a, b)| a & b),
        (any::<u64>(), any::<u64>()).prop_map(|(a, b)| a | b),
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

/// r := r + a w, the carry limb returned, with mulx and a flag-free loop. The chains' CF is live across the back-edge.
fn mul_add() -> Func<Virtual> {
    let mut b = Builder::new("mul_add", 64);
    let read =
        ParameterKind::Pointer { element_bytes: 8, length: Length::of(2), reads: true, writes: false, cursor: 0 };
    let both = ParameterKind::Pointer { element_bytes: 8, length: Length::of(2), reads: true, writes: true, cursor: 0 };
    let r = b.parameter("r", both, true, &[]);
    let a = b.parameter("a", read, true, &[0]);
    let n = b.parameter("n", COUNT, false, &[]);
    let w = b.parameter("w", VALUE, true, &[]);
    let [carry, lo, hi, zero] = [(); 4].map(|()| b.gpr());
    let (rdx, rcx) = (b.pinned(RDX), b.pinned(RCX));
    b.mov_imm(carry, 0i64);
    b.when_nonzero(n, |b| {
        b.mov(rcx, n);
        b.mov(rdx, w);
        b.xor32(zero, zero);
        b.counted_flag_free(rcx, CF.union(OF), |b| {
            let (here, there) = (b.at(1, a, 0), b.at(0, r, 0));
            b.mulx(hi, lo, here, rdx);
            b.adcx(lo, carry);
            b.adox(lo, there);
            b.store(there, lo);
            b.mov(carry, hi);
            b.advance(0, r, 8);
            b.advance(1, a, 8);
        });
        b.adcx(carry, zero);
        b.adox(carry, zero);
    });
    b.finish(Some(carry.0), None)
}

/// The same function with the registers that `assign` gives, and the frame.
fn allocated(func: &Func<Virtual>, frame: Frame, assign: impl Fn(VReg) -> PReg) -> Func<Physical> {
    type Assign<'a> = &'a dyn Fn(VReg) -> PReg;
    fn operand(operand: &Operand<VReg>, assign: Assign<'_>) -> Operand<PReg> {
        match operand {
            Operand::Reg(reg) => Operand::Reg(assign(*reg)),
            Operand::Imm(value) => Operand::Imm(*value),
            Operand::Mem(mem) => Operand::Mem(Mem {
                space: mem.space,
                base: assign(mem.base),
                index: mem.index.map(|(reg, scale)| (assign(reg), scale)),
                disp: mem.disp,
            }),
        }
    }
    fn nodes(list: &[Node<VReg>], assign: Assign<'_>) -> Vec<Node<PReg>> {
        let inst = |inst: &Inst<VReg>| Inst {
            op: inst.op,
            operands: inst.operands.iter().map(|op| operand(op, assign)).collect(),
            note: inst.note,
        };
        let node = |node: &Node<VReg>| match node {
            Node::Block(insts) => Node::Block(insts.iter().map(inst).collect()),
            Node::Loop(inner) => Node::Loop(Loop {
                counter: assign(inner.counter),
                control: inner.control,
                live_flags: inner.live_flags,
                body: nodes(&inner.body, assign),
            }),
            Node::When(inner) => {
                Node::When(When { reg: assign(inner.reg), mask: inner.mask, body: nodes(&inner.body, assign) })
            }
            Node::Call(sub) => Node::Call(*sub),
        };
        list.iter().map(node).collect()
    }
    let parameter = |parameter: &Parameter<VReg>| Parameter {
        name: parameter.name.clone(),
        kind: parameter.kind,
        secret: parameter.secret,
        may_equal: parameter.may_equal.clone(),
        align: parameter.align,
        reg: assign(parameter.reg),
    };
    Func {
        name: func.name.clone(),
        limb_bits: func.limb_bits,
        parameters: func.parameters.iter().map(parameter).collect(),
        returns: func.returns.map(&assign),
        body: nodes(&func.body, &assign),
        pool: vec![],
        subs: func.subs.iter().map(|sub| nodes(sub, &assign)).collect(),
        frame,
        exact: func.exact,
        vregs: func.vregs,
    }
}

/// `mul_add` with rdi, rsi, rdx, rcx as arguments: n and w move out of the way of the pinned registers first.
fn mul_add_allocated() -> Func<Physical> {
    let func = mul_add();
    // r, a, n, w, carry, lo, hi, zero.
    let free = [RDI, RSI, RDX, RCX, RAX, PReg::gpr(8), PReg::gpr(9), RBX].map(Some);
    let mut physical = allocated(&func, Frame { saved: vec![RBX], slots: 1, spills: 2 }, |reg| {
        reg.pin.or_else(|| free[reg.index as usize]).unwrap()
    });
    let slot = Mem { space: Space::Frame, base: RSP, index: None, disp: 0 };
    let line = |op, operands| Inst { op: Op::Base(op), operands, note: None };
    let spill = line(Base::Store, vec![Operand::Mem(slot), Operand::Reg(RCX)]);
    let reload = line(Base::Load, vec![Operand::Reg(RDX), Operand::Mem(slot)]);
    physical.body.insert(0, Node::Block(vec![spill]));
    let Some(Node::When(when)) = physical.body.last_mut() else { panic!("the tail") };
    let Some(Node::Block(insts)) = when.body.first_mut() else { panic!("the moves") };
    insts[1] = reload;
    physical
}

fn mul_add_call(r: &[u64], a: &[u64], w: u64) -> Call {
    let n = Argument::Integer(r.len() as u64);
    Call::new(vec![Argument::limbs64(r), Argument::limbs64(a), n, Argument::Integer(w)])
}

proptest! {
    #[test]
    fn both_forms_of_a_kernel_are_its_mathematics(pairs in prop::collection::vec((word(), word()), 0..9), w in word()) {
        let (r, a): (Vec<u64>, Vec<u64>) = pairs.into_iter().unzip();
        let (mut expected, mut carry) = (Vec::new(), 0u128);
        for (r, a) in r.iter().zip(&a) {
            carry += u128::from(*a) * u128::from(w) + u128::from(*r);
            expected.push(carry as u64);
            carry >>= 64;
        }
        let (func, physical) = (mul_add(), mul_add_allocated());
        prop_assert_eq!(wellformed::check(&func), Ok(()));
        prop_assert_eq!(wellformed::check_physical(&physical), Ok(()));
        prop_assert_eq!(taint::check(&func), Ok(()));
        let call = mul_add_call(&r, &a, w);
        for outcome in [run(&func, &call).unwrap(), run(&physical, &call).unwrap()] {
            prop_assert_eq!(outcome.limbs64(0), expected.clone());
            prop_assert_eq!(outcome.limbs64(1), a.clone());
            prop_assert_eq!(outcome.returned, Some(carry as u64));
        }
    }
}

#[test]
fn equal_pointers_share_their_memory() {
    let n = Argument::Integer(1);
    let arguments = vec![Argument::limbs64(&[5]), Argument::Same(0), n, Argument::Integer(3)];
    let outcome = run(&mul_add(), &Call::new(arguments.clone())).unwrap();
    assert_eq!((outcome.limbs64(0), outcome.limbs64(1)), (vec![20], vec![20]));
    let mut apart = mul_add();
    apart.parameters[1].may_equal.clear();
    let fault = Fault::Argument { index: 1, why: BadArgument::MayNotEqual(0) };
    assert_eq!(run(&apart, &Call::new(arguments)), Err(fault));
}

#[test]
fn addresses_do_not_depend_on_the_data() {
    let trace = |limb, w| run(&mul_add(), &mul_add_call(&[limb; 5], &[limb; 5], w).traced()).unwrap().trace.unwrap();
    assert_eq!(trace(0, 0), trace(u64::MAX, u64::MAX));
    assert_eq!(trace(0, 0).len(), 15);
    assert!(trace(0, 0)[0].address % 2 == 1);
}

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
fn arguments_must_suit_their_parameters() {
    let why = |arguments| run(&mul_add(), &Call::new(arguments)).unwrap_err();
    let pointer = || Argument::limbs64(&[0]);
    let integer = Argument::Integer;
    assert!(matches!(why(vec![]), Fault::Arguments { expected: 4, got: 0 }));
    assert!(matches!(
        why(vec![pointer(), pointer(), integer(2), integer(0)]),
        Fault::Argument { index: 0, why: BadArgument::Length { expected: 16, got: 8 } }
    ));
    assert!(matches!(
        why(vec![pointer(), integer(0), integer(1), integer(0)]),
        Fault::Argument { index: 1, why: BadArgument::Sort }
    ));
    let mut exact = mul_add();
    exact.exact = Some(4);
    let call = mul_add_call(&[0; 5], &[0; 5], 1);
    let fault = Fault::Argument { index: 2, why: BadArgument::Count { got: 5 } };
    assert_eq!(run(&exact, &call), Err(fault));
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

#[test]
fn a_loop_of_no_trips_is_a_fault() {
    let mut b = Builder::new("none", 64);
    let count = b.gpr();
    b.mov_imm(count, 0i64);
    b.counted(count, |b| b.mov_imm(count, 0i64));
    let func = b.finish(None, None);
    assert!(matches!(run(&func, &Call::new(vec![])), Err(Fault::NoTrips { .. })));
    // Once laid out it wraps, as on the CPU.
    let physical = allocated(&func, Frame::default(), |_| RAX);
    let call = Call { budget: 1000, ..Call::new(vec![]) };
    assert!(matches!(run(&physical, &call), Err(Fault::Budget { .. })));
}

/// `dec; jnz` and both tests of tails, laid out and not.
#[test]
fn loops_and_tails_are_the_same_once_laid_out() {
    let mut b = Builder::new("control", 64);
    let n = b.parameter("n", COUNT, false, &[]);
    let (total, trips) = (b.gpr(), b.gpr());
    b.mov_imm(total, 0i64);
    b.when_nonzero(n, |b| {
        b.mov(trips, n);
        b.counted(trips, |b| b.add_ri(total, 10));
        b.when_bits(n, 3, |b| b.inc(total));
        b.when_bits(n, 1 << 12 | 4, |b| b.inc(total));
    });
    let func = b.finish(Some(total.0), None);
    assert_eq!(wellformed::check(&func), Ok(()));
    let physical = allocated(&func, Frame::default(), |reg| [RDI, RAX, RCX][reg.index as usize]);
    assert_eq!(wellformed::check_physical(&physical), Ok(()));
    for n in 0..40 {
        let call = Call::new(vec![Argument::Integer(n)]);
        let expected = 10 * n + u64::from(n % 4 != 0) + u64::from(n & 4 != 0);
        assert_eq!(run(&func, &call).unwrap().returned, Some(expected));
        assert_eq!(run(&physical, &call).unwrap().returned, Some(expected));
    }
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

fn mov_imm(reg: PReg) -> Inst<PReg> {
    Inst { op: Op::Base(Base::MovImm), operands: vec![Operand::Reg(reg), Operand::Imm(3)], note: None }
}

fn bare(frame: Frame, body: Vec<Node<PReg>>, subs: Vec<Vec<Node<PReg>>>) -> Func<Physical> {
    let b = Builder::new("bare", 64).finish(None, None);
    Func { body, subs, ..allocated(&b, frame, |_| RAX) }
}

#[test]
fn the_abi_is_kept() {
    let call = Call::new(vec![]);
    let saving = |saved: &[PReg]| Frame { saved: saved.to_vec(), ..Frame::default() };
    let body = || vec![Node::Block(vec![mov_imm(RBX), mov_imm(PReg::gpr(15))])];
    let right = bare(saving(&[RBX, PReg::gpr(15)]), body(), vec![]);
    assert_eq!(run(&right, &call).unwrap().executed, 7);
    let fault = run(&bare(saving(&[PReg::gpr(15)]), body(), vec![]), &call);
    assert_eq!(fault, Err(Fault::Clobbered { register: RBX, found: 3 }));
    let stack = bare(saving(&[]), vec![Node::Block(vec![mov_imm(RSP)])], vec![]);
    assert!(matches!(run(&stack, &call), Err(Fault::Stack { address: 3, .. })));
}

#[test]
fn subroutines_return_and_have_no_slots() {
    let call = Call::new(vec![]);
    let slot = |disp| Operand::Mem(Mem { space: Space::Frame, base: RSP, index: None, disp });
    let store = |disp| Inst { op: Op::Base(Base::Store), operands: vec![slot(disp), Operand::Reg(RAX)], note: None };
    let load = |disp| Inst { op: Op::Base(Base::Load), operands: vec![Operand::Reg(RAX), slot(disp)], note: None };
    let frame = || Frame { saved: vec![], slots: 2, spills: 0 };
    let sub = |insts: Vec<Inst<PReg>>| vec![vec![Node::Block(insts)]];
    let twice = || vec![Node::Call(SubId(0)), Node::Call(SubId(0)), Node::Block(vec![store(8), load(8)])];
    let right = bare(frame(), twice(), sub(vec![mov_imm(RAX)]));
    assert_eq!(run(&right, &call).unwrap().executed, 2 * 3 + 2 + 3);
    let spill = bare(frame(), twice(), sub(vec![mov_imm(RAX), store(8)]));
    assert!(matches!(run(&spill, &call), Err(Fault::Stack { .. })));
    let empty = bare(frame(), vec![Node::Block(vec![load(0)])], vec![]);
    assert!(matches!(run(&empty, &call), Err(Fault::UndefinedSlot { offset: 0, .. })));
    for disp in [-8, 9, 16] {
        let outside = bare(frame(), vec![Node::Block(vec![mov_imm(RAX), store(disp)])], vec![]);
        assert!(matches!(run(&outside, &call), Err(Fault::Stack { .. })));
    }
    let endless = bare(frame(), vec![Node::Call(SubId(0))], vec![vec![Node::Call(SubId(0))]]);
    assert!(matches!(run(&endless, &call), Err(Fault::Stack { .. })));
}
