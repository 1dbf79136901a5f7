//! Does the taint check refuse every way in which a secret can be timed, by the right rule, and nothing else?

use kiln_codegen::ir::interpret::Argument;
use kiln_codegen::ir::interpret::{Call, run};
use kiln_codegen::ir::site::Name;
use kiln_codegen::ir::taint::{Rule, check};
use kiln_codegen::ir::typed::{Gpr, Place};
use kiln_codegen::ir::*;
use kiln_codegen::isa::row::{CF, NONE, RAX, RCX, RDX};

/// secret (inout), public (inout), n (public), s (a secret value).
struct Arguments {
    secret: Gpr,
    public: Gpr,
    n: Gpr,
    s: Gpr,
}

fn build(body: impl FnOnce(&mut Builder, &Arguments)) -> Func<Virtual> {
    let mut b = Builder::new("test", 64);
    let kind =
        |cursor| ParameterKind::Pointer { element_bytes: 8, length: Length::of(2), reads: true, writes: true, cursor };
    let secret = b.parameter("secret", kind(0), true, &[]);
    let public = b.parameter("public", kind(1), false, &[]);
    let n = b.parameter("n", ParameterKind::Count { min: 1, max: 64 }, false, &[]);
    let s = b.parameter("s", ParameterKind::Value { bits: 64 }, true, &[]);
    body(&mut b, &Arguments { secret, public, n, s });
    b.finish(None, None)
}

/// The rules that the function with this body breaks. It must be well formed: a leak is no excuse.
fn leaks(body: impl FnOnce(&mut Builder, &Arguments)) -> Vec<Rule> {
    let func = build(body);
    assert_eq!(wellformed::check(&func), Ok(()));
    check(&func).err().unwrap_or_default().into_iter().map(|leak| leak.rule).collect()
}

fn name(reg: Gpr) -> Name {
    Name::Virtual(reg.0)
}

fn indexed(argument: u8, base: Gpr, index: Gpr) -> Place {
    Place(Mem { space: Space::Argument(argument), base: base.0, index: Some((index.0, 8)), disp: 0 })
}

#[test]
fn a_secret_counter_is_refused() {
    let mut count = None;
    let refused = leaks(|b, args| {
        let x = b.gpr();
        count = Some(x);
        b.mov(x, args.s);
        b.and_ri(x, 7);
        b.counted(x, |b| b.not(args.n));
    });
    assert_eq!(refused, [Rule::Counter(name(count.unwrap()))]);
    let refused = leaks(|b, args| {
        let rcx = b.pinned(RCX);
        count = Some(rcx);
        let place = b.at(0, args.secret, 0);
        b.load(rcx, place);
        b.counted_flag_free(rcx, NONE, |b| b.not(args.n));
    });
    assert_eq!(refused, [Rule::Counter(name(count.unwrap()))]);
}

#[test]
fn a_secret_condition_is_refused() {
    let secret = |b: &mut Builder, args: &Arguments| {
        let x = b.gpr();
        let place = b.at(0, args.secret, 8);
        b.load(x, place);
        x
    };
    assert!(matches!(
        leaks(|b, args| {
            let x = secret(b, args);
            b.when_nonzero(x, |b| b.not(args.n));
        })[..],
        [Rule::Condition(_)]
    ));
    assert!(matches!(leaks(|b, args| b.when_bits(args.s, 1, |b| b.not(args.n)))[..], [Rule::Condition(_)]));
    // Only the second trip sees it.
    let late = leaks(|b, args| {
        let (x, count) = (b.gpr(), b.gpr());
        b.mov(count, args.n);
        b.mov_imm(x, 0i64);
        b.counted(count, |b| {
            b.when_nonzero(x, |b| b.not(args.n));
            b.mov(x, args.s);
        });
    });
    assert!(matches!(late[..], [Rule::Condition(_)]));
    // Secret on one path is secret where they meet.
    let joined = leaks(|b, args| {
        let x = b.gpr();
        b.mov_imm(x, 0i64);
        b.when_nonzero(args.n, |b| b.mov(x, args.s));
        b.when_nonzero(x, |b| b.not(args.n));
    });
    assert!(matches!(joined[..], [Rule::Condition(_)]));
}

/// cache-timing-08: a table indexed by a secret.
#[test]
fn a_secret_index_is_refused() {
    let mut index = None;
    let refused = leaks(|b, args| {
        index = Some(args.s);
        b.load(args.n, indexed(1, args.public, args.s));
    });
    assert_eq!(refused, [Rule::Index(name(index.unwrap()))]);
    let store = leaks(|b, args| b.store(indexed(0, args.secret, args.s), args.n));
    assert_eq!(store, [Rule::Index(name(index.unwrap()))]);
}

#[test]
fn a_secret_base_is_refused() {
    let mut base = None;
    let refused = leaks(|b, args| {
        let x = b.gpr();
        base = Some(x);
        b.lea(x, indexed(1, args.public, args.s));
        let place = b.at(1, x, 0);
        b.load(args.n, place);
    });
    assert_eq!(refused, [Rule::Base(name(base.unwrap()))]);
}

#[test]
fn variable_latency_sees_no_secret() {
    let divide = |b: &mut Builder, low: Gpr, high: Gpr, by: Gpr| {
        let (lo, hi) = (b.pinned(RAX), b.pinned(RDX));
        b.mov(lo, low);
        b.mov(hi, high);
        b.div(by, lo, hi);
        (lo, hi)
    };
    let mut regs = None;
    let by = leaks(|b, args| {
        regs = Some(args.s);
        divide(b, args.n, args.n, args.s);
    });
    assert_eq!(by, [Rule::LatencyRegister(name(regs.unwrap()))]);
    let low = leaks(|b, args| regs = Some(divide(b, args.s, args.n, args.n).0));
    assert_eq!(low, [Rule::LatencyRegister(name(regs.unwrap()))]);
    let high = leaks(|b, args| regs = Some(divide(b, args.n, args.s, args.n).1));
    assert_eq!(high, [Rule::LatencyRegister(name(regs.unwrap()))]);
    let memory = |argument: u8| {
        leaks(|b, args| {
            let (lo, hi) = (b.pinned(RAX), b.pinned(RDX));
            b.mov(lo, args.n);
            b.mov_imm(hi, 0i64);
            let place = b.at(argument, [args.secret, args.public][usize::from(argument)], 0);
            b.div(place, lo, hi);
        })
    };
    assert_eq!(memory(0), [Rule::LatencyMemory]);
    assert_eq!(memory(1), []);
}

/// A borrow becomes a mask, the mask an index.
#[test]
fn secrets_travel_through_flags() {
    let through = |public: bool| {
        leaks(|b, args| {
            let mask = b.gpr();
            b.cmp(if public { args.n } else { args.s }, args.n);
            b.sbb(mask, mask);
            b.load(args.n, indexed(1, args.public, mask));
        })
    };
    assert!(matches!(through(false)[..], [Rule::Index(_)]));
    assert_eq!(through(true), []);
    // Round a loop, in CF alone.
    let round = leaks(|b, args| {
        let (rcx, x) = (b.pinned(RCX), b.gpr());
        b.mov(rcx, args.n);
        b.xor32(x, x);
        b.counted_flag_free(rcx, CF, |b| {
            b.mov_imm(x, 0i64);
            b.adcx(x, x);
            b.load(x, indexed(1, args.public, x));
            b.mov(x, args.s);
            b.adcx(x, x);
        });
    });
    assert!(matches!(round[..], [Rule::Index(_)]), "{round:?}");
}

#[test]
fn secrets_travel_through_vectors() {
    let through = |forget: bool| {
        leaks(|b, args| {
            let (x, y, index) = (b.xmm(), b.xmm(), b.gpr());
            let (place, out) = (b.at(0, args.secret, 0), b.at(1, args.public, 0));
            b.movdqu_load(x, place);
            b.pshufd(y, x, 0b00_01_10_11);
            b.punpcklqdq(y, y);
            if forget {
                b.pxor_x(y, y);
            }
            b.movdqu_store(out, y);
            b.movq_out_x(index, y);
            b.and_ri(index, 7);
            let place = indexed(1, args.public, index);
            b.load(index, place);
        })
    };
    assert!(matches!(through(false)[..], [Rule::Escape(1), Rule::Index(_)]));
    assert_eq!(through(true), []);
}

#[test]
fn a_secret_does_not_escape() {
    let escape = |argument: u8| {
        leaks(|b, args| {
            let place = b.at(argument, [args.secret, args.public][usize::from(argument)], 0);
            b.add_mr(place, args.s);
        })
    };
    assert_eq!(escape(1), [Rule::Escape(1)]);
    assert_eq!(escape(0), []);
}

#[test]
fn constants_are_public_and_what_they_are_mixed_with_stays_as_it_was() {
    let mixed = |secret: bool| {
        leaks(|b, args| {
            let (base, x) = (b.gpr(), b.xmm());
            let offset = b.constant(&[7; 16]);
            b.pool(base);
            let (constant, to) = (b.pooled(base, offset), b.at(1, args.public, 0));
            if secret {
                b.vmovq_in_x(x, args.s);
            } else {
                b.vpxor_x(x, x, x);
            }
            b.vpaddq_x(x, x, constant);
            b.vmovdqu_store_x(to, x);
            b.load(args.n, constant);
            b.when_nonzero(args.n, |b| b.not(args.n));
        })
    };
    assert_eq!(mixed(false), []);
    assert_eq!(mixed(true), [Rule::Escape(1)]);
}

/// Memory that may be a secret's own is as secret.
#[test]
fn equal_pointers_share_their_secrecy() {
    let mut func = build(|b, args| {
        let place = b.at(1, args.public, 0);
        b.load(args.n, place);
        b.when_nonzero(args.n, |b| b.not(args.n));
    });
    assert_eq!(check(&func), Ok(()));
    func.parameters[1].may_equal = vec![0];
    assert!(matches!(check(&func).unwrap_err()[0].rule, Rule::Condition(_)));
}

/// What computes on secrets without looking at them passes: a masked scan that touches every entry, and cleared registers.
#[test]
fn clean_kernels_pass() {
    let body = |b: &mut Builder, args: &Arguments| {
        let (rcx, index, mask, sum, entry) = (b.pinned(RCX), b.gpr(), b.gpr(), b.gpr(), b.gpr());
        b.mov(rcx, args.n);
        b.mov(index, args.s);
        b.xor32(sum, sum);
        b.counted(rcx, |b| {
            // mask := all ones when index = 0, found by the borrow of index - 1.
            b.cmp_ri(index, 1);
            b.sbb(mask, mask);
            let place = b.at(1, args.public, 0);
            b.load(entry, place);
            b.and(entry, mask);
            b.or(sum, entry);
            b.dec(index);
            b.advance(1, args.public, 8);
        });
        let place = b.at(0, args.secret, 0);
        b.store(place, sum);
        b.xor(index, index);
        b.when_nonzero(index, |b| b.not(args.n));
    };
    assert_eq!(leaks(body), []);
    // And it is what it says: the entry, by the same addresses whatever the secret.
    let func = build(body);
    let outcome = |s: u64| {
        let table = [11, 22, 33, 44].map(|limb| limb * (s / 100 + 1));
        let arguments = [Argument::limbs64(&[0; 4]), Argument::limbs64(&table)];
        let integers = [Argument::Integer(4), Argument::Integer(s % 100)];
        run(&func, &Call::new(arguments.into_iter().chain(integers).collect()).traced()).unwrap()
    };
    for s in 0..4 {
        assert_eq!(outcome(s).limbs64(0)[0], 11 * (s + 1));
        assert_eq!(outcome(s).trace, outcome(300).trace);
    }
}

#[test]
fn a_leak_says_where_and_what() {
    let func = build(|b, args| b.when_nonzero(args.s, |_| {}));
    let leaks = check(&func).unwrap_err();
    assert_eq!(leaks[0].to_string(), "control after 0 instructions: a tail runs by the secret v3:gpr");
}
