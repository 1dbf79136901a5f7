//! Is every rule of the IR checked? For each, a function that breaks it is refused with that rule; close relatives pass.

use kiln_codegen::ir::site::{Name, Site};
use kiln_codegen::ir::typed::Gpr;
use kiln_codegen::ir::wellformed::{Ill, Misfit, Rule, check, check_physical};
use kiln_codegen::ir::*;
use kiln_codegen::isa::Op;
use kiln_codegen::isa::base::Base;
use kiln_codegen::isa::row::{CF, FlagSet, NONE, OF, PReg, RAX, RBX, RCX, RDI, RDX, RSI, RSP, RegClass};
use kiln_codegen::isa::sse2::Sse2;

const READ: ParameterKind =
    ParameterKind::Pointer { element_bytes: 8, length: Length::of(2), reads: true, writes: false, cursor: 0 };
const BOTH: ParameterKind =
    ParameterKind::Pointer { element_bytes: 8, length: Length::of(2), reads: true, writes: true, cursor: 0 };
const COUNT: ParameterKind = ParameterKind::Count { min: 1, max: 64 };

/// r (inout), a (in), n, all of 8-byte elements.
struct Arguments {
    r: Gpr,
    a: Gpr,
    n: Gpr,
}

fn build(body: impl FnOnce(&mut Builder, &Arguments)) -> Func<Virtual> {
    let mut b = Builder::new("test", 64);
    let r = b.parameter("r", BOTH, true, &[]);
    let a = b.parameter("a", READ, true, &[0]);
    let n = b.parameter("n", COUNT, false, &[]);
    body(&mut b, &Arguments { r, a, n });
    b.finish(None, None)
}

fn rules(func: &Func<Virtual>) -> Vec<Rule> {
    check(func).err().unwrap_or_default().into_iter().map(|ill| ill.rule).collect()
}

/// The rules that the function with this body breaks.
fn broken(body: impl FnOnce(&mut Builder, &Arguments)) -> Vec<Rule> {
    rules(&build(body))
}

fn name(reg: Gpr) -> Name {
    Name::Virtual(reg.0)
}

#[test]
fn a_clean_kernel_passes() {
    let ills = broken(|b, args| {
        let (rcx, x) = (b.pinned(RCX), b.gpr());
        b.mov(rcx, args.n);
        b.xor32(x, x);
        b.counted_flag_free(rcx, CF, |b| {
            let (from, to) = (b.at(1, args.a, 0), b.at(0, args.r, 0));
            b.load(x, from);
            b.adc(x, to);
            b.store(to, x);
            b.advance(0, args.r, 8);
            b.advance(1, args.a, 8);
        });
    });
    assert_eq!(ills, []);
}

#[test]
fn instructions_fit_their_rows() {
    let mut func = build(|b, args| b.mov(args.n, args.n));
    let Some(Node::Block(insts)) = func.body.first_mut() else { panic!("one block") };
    insts[0].operands.pop();
    assert_eq!(rules(&func), [Rule::Misfit(Misfit::Count)]);
}

#[test]
fn shifts_have_a_count() {
    assert_eq!(broken(|b, args| b.shl(args.n, 0)), [Rule::ShiftCount]);
    assert_eq!(broken(|b, args| b.shr(args.n, 64)), [Rule::ShiftCount]);
    assert_eq!(broken(|b, args| b.sar(args.n, 63)), []);
}

#[test]
fn parameters_can_be() {
    let mut func = build(|_, _| {});
    func.parameters[1].may_equal = vec![2];
    assert_eq!(rules(&func), [Rule::Parameter(1)]);
    let mut func = build(|_, _| {});
    func.parameters[2].kind = ParameterKind::Count { min: 2, max: 1 };
    assert_eq!(rules(&func), [Rule::Parameter(2)]);
    let mut func = build(|_, _| {});
    func.parameters[1].reg = func.parameters[0].reg;
    assert_eq!(rules(&func), [Rule::Parameter(1)]);
}

#[test]
fn a_number_is_one_register() {
    let stray = VReg { index: 99, class: RegClass::Gpr, pin: None };
    assert_eq!(broken(|b, _| b.mov_imm(Gpr(stray), 1i64)), [Rule::Register(Name::Virtual(stray))]);
    let twin = VReg { index: 2, class: RegClass::Gpr, pin: Some(RDX) };
    assert_eq!(broken(|b, _| b.mov_imm(Gpr(twin), 1i64)), [Rule::Register(Name::Virtual(twin))]);
}

#[test]
fn reads_follow_writes_on_every_path() {
    let (mut x, mut seen) = (None, Vec::new());
    seen.push(broken(|b, _| {
        x = Some(b.gpr());
        b.inc(x.unwrap());
    }));
    // A definition inside a tail does not count after it.
    seen.push(broken(|b, args| {
        let x = b.gpr();
        b.when_nonzero(args.n, |b| b.mov_imm(x, 1i64));
        b.inc(x);
    }));
    // The first trip of a loop already needs it.
    seen.push(broken(|b, args| {
        let (x, count) = (b.gpr(), b.gpr());
        b.mov(count, args.n);
        b.counted(count, |b| {
            b.inc(x);
            b.mov_imm(x, 1i64);
        });
    }));
    for ills in seen {
        assert_eq!(ills, [Rule::Undefined(name(x.unwrap()))]);
    }
    // After a loop, which runs at least once, its definitions count; idioms need none.
    let fine = broken(|b, args| {
        let (x, y, count) = (b.gpr(), b.gpr(), b.gpr());
        b.mov(count, args.n);
        b.counted(count, |b| b.mov_imm(x, 1i64));
        b.inc(x);
        b.xor32(y, y);
    });
    assert_eq!(fine, []);
    let mut b = Builder::new("returns", 64);
    let x = b.gpr();
    let func = b.finish(Some(x.0), None);
    assert_eq!(check(&func), Err(vec![Ill { at: Site::Exit, rule: Rule::Undefined(name(x)) }]));
}

#[test]
fn pinned_registers_hold_what_is_read() {
    let ills = broken(|b, _| {
        let (w, v) = (b.pinned(RDX), b.pinned(RDX));
        b.mov_imm(w, 1i64);
        b.mov_imm(v, 2i64);
        b.inc(w);
    });
    assert!(matches!(ills[..], [Rule::Pin { holds: Some(_), .. }]), "{ills:?}");
    // In the second trip rdx holds the other one.
    let ills = broken(|b, args| {
        let (w, v, count) = (b.pinned(RDX), b.pinned(RDX), b.gpr());
        b.mov(count, args.n);
        b.mov_imm(w, 1i64);
        b.counted(count, |b| {
            b.test(w, w);
            b.mov_imm(v, 2i64);
        });
    });
    assert!(matches!(ills[..], [Rule::Pin { holds: None, .. }]), "{ills:?}");
}

#[test]
fn flags_are_defined_before_they_are_read() {
    let read = |b: &mut Builder, args: &Arguments| b.adc(args.n, args.n);
    assert_eq!(broken(read), [Rule::UndefinedFlag(CF)]);
    let ills = broken(|b, args| {
        b.shl(args.n, 2);
        b.adox(args.n, args.n);
    });
    assert_eq!(ills, [Rule::UndefinedFlag(OF)]);
    let ills = broken(|b, args| {
        b.add(args.n, args.n);
        b.when_nonzero(args.n, |_| {});
        read(b, args);
    });
    assert_eq!(ills, [Rule::FlagOfControl(CF)]);
    let ills = broken(|b, args| {
        let count = b.gpr();
        b.mov(count, args.n);
        b.counted(count, |b| b.add(args.n, args.n));
        b.adcx(args.n, args.n);
        b.adox(args.n, args.n);
    });
    assert_eq!(ills, [Rule::FlagOfControl(OF)]);
}

/// A chain through a loop, from before it to after it.
fn chain(live_flags: FlagSet) -> Vec<Rule> {
    broken(|b, args| {
        let (rcx, x) = (b.pinned(RCX), b.gpr());
        b.mov(rcx, args.n);
        b.xor32(x, x);
        b.counted_flag_free(rcx, live_flags, |b| b.adcx(x, x));
        b.adcx(x, x);
    })
}

fn with_control(live_flags: FlagSet) -> Vec<Rule> {
    let mut func = build(|b, args| {
        let (rcx, x) = (b.pinned(RCX), b.gpr());
        b.mov(rcx, args.n);
        b.xor32(x, x);
        b.counted_flag_free(rcx, live_flags, |b| b.adcx(x, x));
    });
    let Some(Node::Loop(inner)) = func.body.last_mut() else { panic!("a loop") };
    inner.control = Control::Decrement;
    rules(&func)
}

#[test]
fn flags_live_across_a_back_edge_are_declared() {
    assert_eq!(chain(CF), []);
    assert_eq!(chain(NONE), [Rule::UndeclaredFlag(CF)]);
    // Live through the loop, though nothing in it reads the flag.
    let through = |live| {
        broken(|b, args| {
            let (rcx, x) = (b.pinned(RCX), b.gpr());
            b.mov(rcx, args.n);
            b.xor32(x, x);
            b.counted_flag_free(rcx, live, |b| b.not(x));
            b.adox(x, x);
        })
    };
    assert_eq!(through(OF), []);
    assert_eq!(through(NONE), [Rule::UndeclaredFlag(OF)]);
    // dec keeps CF and writes OF.
    assert_eq!(with_control(CF), []);
    assert_eq!(with_control(CF.union(OF)), [Rule::ControlWritesFlag(OF)]);
}

#[test]
fn counters_are_left_alone() {
    let ills = broken(|b, args| {
        let count = b.gpr();
        b.mov(count, args.n);
        b.counted_flag_free(count, NONE, |b| b.not(args.n));
        b.mov(count, args.n);
        b.counted(count, |b| b.inc(count));
    });
    let [Rule::CounterPin(pin), Rule::CounterWritten(written)] = ills[..] else { panic!("{ills:?}") };
    assert_eq!(pin, written);
}

#[test]
fn accesses_are_what_the_parameters_allow() {
    let ills = broken(|b, args| {
        let place = b.at(1, args.a, 0);
        b.store(place, args.n);
    });
    assert_eq!(ills, [Rule::Right { argument: 1, write: true }]);
    let ills = broken(|b, args| {
        for (argument, base) in [(2, args.n), (9, args.r)] {
            let place = b.at(argument, base, 0);
            b.load(args.n, place);
        }
    });
    assert_eq!(ills, [Rule::Space, Rule::Space]);
    let spaces = [Space::Nowhere, Space::Frame];
    for space in spaces {
        let ills = broken(|b, args| {
            let mem = Mem { space, base: args.r.0, index: None, disp: 0 };
            b.load(args.n, typed::Place(mem));
        });
        assert_eq!(ills, [Rule::Space]);
    }
}

#[test]
fn bases_derive_from_their_parameter() {
    let through = |derive: fn(&mut Builder, &Arguments, Gpr)| {
        broken(|b, args| {
            let p = b.gpr();
            derive(b, args, p);
            let place = b.at(0, p, 0);
            b.load(args.n, place);
        })
    };
    assert_eq!(through(|b, args, p| b.mov(p, args.r)), []);
    assert_eq!(
        through(|b, args, p| {
            let place = b.at(0, args.r, 8);
            b.lea(p, place);
        }),
        []
    );
    let wrong: [fn(&mut Builder, &Arguments, Gpr); 4] = [
        |b, args, p| b.mov(p, args.a),
        |b, args, p| b.mov(p, args.n),
        |b, args, p| {
            b.mov(p, args.r);
            b.add_ri(p, 8);
        },
        // A pointer on one path alone.
        |b, args, p| {
            b.mov(p, args.a);
            b.when_nonzero(args.n, |b| b.mov(p, args.r));
        },
    ];
    for derive in wrong {
        let ills = through(derive);
        assert!(matches!(ills[..], [Rule::Base { argument: 0, .. }]), "{ills:?}");
    }
}

/// A loop over r and a, whose pointers step by these bytes, with what else is done.
fn walk(r: i32, a: i32, more: fn(&mut Builder, &Arguments)) -> Vec<Rule> {
    broken(|b, args| {
        let (count, x) = (b.gpr(), b.gpr());
        b.mov(count, args.n);
        b.counted(count, |b| {
            let (from, to) = (b.at(1, args.a, 0), b.at(0, args.r, 0));
            b.load(x, from);
            b.store(to, x);
            b.advance(0, args.r, r);
            b.advance(1, args.a, a);
            more(b, args);
        });
    })
}

#[test]
fn pointers_of_one_cursor_walk_in_step() {
    assert_eq!(walk(8, 8, |_, _| {}), []);
    assert!(matches!(walk(8, 16, |_, _| {})[..], [Rule::OutOfStep { cursor: 0, .. }]));
    assert!(matches!(walk(8, 0, |_, _| {})[..], [Rule::OutOfStep { .. }]));
    // In step in every block that steps, but not at the start of the one that uses both.
    let apart = broken(|b, args| {
        b.advance(0, args.r, 8);
        b.when_nonzero(args.n, |b| {
            let (from, to) = (b.at(1, args.a, 0), b.at(0, args.r, 0));
            b.load(args.n, from);
            b.store(to, args.n);
        });
    });
    assert!(matches!(apart[..], [Rule::OutOfStep { .. }]), "{apart:?}");
    // Steps by a register keep step too, while it holds the same value.
    let back = |b: &mut Builder, args: &Arguments, reg: Gpr, index: u8| {
        let mem = Mem { space: Space::Argument(index), base: reg.0, index: Some((args.n.0, 8)), disp: 0 };
        b.lea(reg, typed::Place(mem));
    };
    let rewound = |change: bool| {
        broken(|b, args| {
            back(b, args, args.r, 0);
            if change {
                b.inc(args.n);
            }
            back(b, args, args.a, 1);
            b.when_nonzero(args.n, |b| {
                let (from, to) = (b.at(1, args.a, 0), b.at(0, args.r, 0));
                b.load(args.n, from);
                b.store(to, args.n);
            });
        })
    };
    assert_eq!(rewound(false), []);
    assert!(!rewound(true).is_empty());
    // Saved pointers stand apart from walking ones, but with one another.
    let saved = broken(|b, args| {
        let (r, a, count, x) = (b.gpr(), b.gpr(), b.gpr(), b.gpr());
        b.mov(r, args.r);
        b.mov(a, args.a);
        b.mov(count, args.n);
        b.counted(count, |b| {
            let (from, to) = (b.at(1, args.a, 0), b.at(0, args.r, 0));
            b.load(x, from);
            b.store(to, x);
            b.advance(0, args.r, 8);
            b.advance(1, args.a, 8);
        });
        b.mov(args.r, r);
        b.mov(args.a, a);
        b.when_nonzero(args.n, |b| {
            let (from, to) = (b.at(1, args.a, 0), b.at(0, args.r, 0));
            b.load(x, from);
            b.store(to, x);
        });
    });
    assert_eq!(saved, []);
}

/// Elements are compared, not bytes.
#[test]
fn steps_are_counted_in_elements() {
    let walk = |bytes: i32| {
        let mut b = Builder::new("test", 64);
        let kind = |element_bytes| ParameterKind::Pointer {
            element_bytes,
            length: Length::of(2),
            reads: true,
            writes: true,
            cursor: 0,
        };
        let r = b.parameter("r", kind(8), false, &[]);
        let a = b.parameter("a", kind(4), false, &[]);
        let n = b.parameter("n", COUNT, false, &[]);
        b.counted(n, |b| {
            b.advance(0, r, 16);
            b.advance(1, a, bytes);
        });
        rules(&b.finish(None, None))
    };
    assert_eq!(walk(8), []);
    assert!(matches!(walk(16)[..], [Rule::OutOfStep { .. }]));
}

#[test]
fn emms_follows_mmx() {
    let ills = broken(|b, args| {
        let m = b.mmx();
        b.movd_in(m, args.n);
        b.when_nonzero(args.n, |b| b.emms());
    });
    assert_eq!(ills, [Rule::NoEmms]);
    assert_eq!(broken(|b, _| b.emms()), [Rule::NeedlessEmms]);
    let fine = broken(|b, args| {
        b.when_nonzero(args.n, |b| {
            let m = b.mmx();
            b.movd_in(m, args.n);
        });
        b.emms();
    });
    assert_eq!(fine, []);
}

#[test]
fn vzeroupper_follows_256_bits() {
    let wide = |b: &mut Builder, args: &Arguments| {
        let (y, place) = (b.ymm(), b.at(1, args.a, 0));
        b.vmovdqu_load_y(y, place);
        y
    };
    let only = |b: &mut Builder, args: &Arguments| {
        wide(b, args);
    };
    assert_eq!(broken(only), [Rule::NoVzeroupper]);
    let ills = broken(|b, args| {
        wide(b, args);
        b.when_nonzero(args.n, |b| b.vzeroupper());
    });
    assert_eq!(ills, [Rule::NoVzeroupper]);
    let fine = broken(|b, args| {
        b.when_nonzero(args.n, |b| only(b, args));
        b.vzeroupper();
    });
    assert_eq!(fine, []);
    assert_eq!(broken(|b, _| b.vzeroupper()), [Rule::NeedlessVzeroupper]);
    // 128 bits in a VEX encoding leave nothing above.
    let narrow = |b: &mut Builder, args: &Arguments| {
        let (x, place) = (b.xmm(), b.at(1, args.a, 0));
        b.vmovdqu_load_x(x, place);
        b.vpaddq_x(x, x, place);
    };
    assert_eq!(broken(narrow), []);
    // What vzeroupper cleared half of is whole again when it is written.
    let after = |written: bool| {
        let mut low = None;
        let ills = broken(|b, args| {
            let (y, place) = (wide(b, args), b.at(0, args.r, 0));
            low = Some(y);
            b.vzeroupper();
            b.vmovdqu_store_x(place, y.low());
            if written {
                b.vpaddq_x(y.low(), y.low(), y.low());
            }
            b.vmovdqu_store_y(place, y);
        });
        (ills, low.expect("built"))
    };
    let (ills, y) = after(false);
    assert_eq!(ills, [Rule::UpperHalf(Name::Virtual(y.0))]);
    assert_eq!(after(true).0, []);
}

#[test]
fn vector_instructions_have_one_encoding() {
    let mixed = |legacy_first: bool| {
        broken(|b, args| {
            let (x, place) = (b.xmm(), b.at(1, args.a, 0));
            if legacy_first {
                b.movdqu_load(x, place);
                b.vpaddq_x(x, x, x);
            } else {
                b.vmovdqu_load_x(x, place);
                b.when_nonzero(args.n, |b| b.aesenc(x, x));
            }
        })
    };
    assert_eq!(mixed(true), [Rule::MixedEncodings]);
    assert_eq!(mixed(false), [Rule::MixedEncodings]);
    // MMX and what is VEX-encoded on general registers go with either.
    let fine = broken(|b, args| {
        let (x, m) = (b.xmm(), b.mmx());
        b.movd_in(m, args.n);
        b.movq_in_x(x, args.n);
        b.rorx(args.n, args.n, 3);
        b.emms();
    });
    assert_eq!(fine, []);
}

#[test]
fn aligned_operands_are_known_to_be() {
    let reads = |promised: u32, space: Space, disp: i32| {
        let mut b = Builder::new("test", 64);
        let a = b.parameter("a", READ, true, &[]);
        b.parameter("r", BOTH, true, &[]);
        let n = b.parameter("n", COUNT, false, &[]);
        b.aligned(0, promised);
        b.constant(&[1; 32]);
        let (x, pool) = (b.xmm(), b.gpr());
        b.pool(pool);
        b.movq_in_x(x, n);
        let base = if space == Space::Pool { pool } else { a };
        b.pxor_x(x, typed::Place(Mem { space, base: base.0, index: None, disp }));
        rules(&b.finish(None, None))
    };
    assert_eq!(reads(16, Space::Argument(0), 0), []);
    assert_eq!(reads(64, Space::Argument(0), 0), []);
    assert_eq!(reads(8, Space::Argument(0), 0), [Rule::Misaligned(16)]);
    assert_eq!(reads(1, Space::Pool, 16), []);
    assert_eq!(reads(1, Space::Pool, 8), [Rule::Misaligned(16)]);
    assert_eq!(reads(12, Space::Argument(0), 0), [Rule::Parameter(0), Rule::Misaligned(16)]);
}

#[test]
fn the_pool_is_read_inside_its_bytes() {
    let access = |disp: i32, write: bool| {
        broken(|b, args| {
            let base = b.gpr();
            b.constant(&[1, 2, 3]);
            b.pool(base);
            let place = b.pooled(base, disp);
            if write {
                b.store(place, args.n);
            } else {
                b.load(args.n, place);
            }
        })
    };
    assert_eq!(access(0, false), []);
    assert_eq!(access(24, false), [], "a constant is padded");
    for disp in [-8, 25, 32] {
        assert_eq!(access(disp, false), [Rule::PoolBounds(disp)]);
    }
    assert_eq!(access(0, true), [Rule::PoolWritten]);
    // Only `pool` gives its address, and copies keep it.
    let ills = broken(|b, args| {
        b.constant(&[1]);
        let place = b.pooled(args.r, 0);
        b.load(args.n, place);
    });
    assert_eq!(ills, [Rule::Space]);
    let fine = broken(|b, args| {
        let (base, copy) = (b.gpr(), b.gpr());
        b.constant(&[1]);
        b.pool(base);
        b.mov(copy, base);
        let place = b.pooled(copy, 0);
        b.load(args.n, place);
    });
    assert_eq!(fine, []);
    let ills = broken(|b, args| {
        let base = b.gpr();
        b.constant(&[1; 64]);
        b.pool(base);
        let mem = Mem { space: Space::Pool, base: base.0, index: Some((args.n.0, 1)), disp: 0 };
        b.load(args.n, typed::Place(mem));
    });
    assert_eq!(ills, [Rule::PoolBounds(0)]);
}

#[test]
fn subroutines_are_pinned_and_end() {
    let ills = broken(|b, args| {
        let sub = b.subroutine(|b| b.inc(args.n));
        b.call(sub);
    });
    assert!(matches!(ills[..], [Rule::SubroutineRegister(_)]), "{ills:?}");
    assert_eq!(broken(|b, _| b.call(SubId(3))), [Rule::NoSuchSubroutine(3)]);
    assert_eq!(
        broken(|b, _| {
            let sub = b.subroutine(|b| b.call(SubId(0)));
            b.call(sub);
        }),
        [Rule::Recursion(0)]
    );
    // What a subroutine reads must be written at each call; what it writes counts after it.
    let ills = broken(|b, _| {
        let (x, y) = (b.pinned(RAX), b.pinned(RDX));
        let sub = b.subroutine(|b| b.mov(y, x));
        b.call(sub);
        b.inc(y);
    });
    assert!(matches!(ills[..], [Rule::Undefined(_)]), "{ills:?}");
}

#[test]
fn exact_functions_have_no_loop() {
    let mut func = build(|b, args| b.counted(args.n, |b| b.not(args.a)));
    assert_eq!(rules(&func), []);
    func.exact = Some(4);
    assert_eq!(rules(&func), [Rule::ExactLoop]);
}

/// An allocated function of the usual parameters, with this frame and these instructions.
fn physical(frame: Frame, insts: Vec<Inst<PReg>>) -> Func<Physical> {
    let func = build(|_, _| {});
    let parameters = func.parameters.iter().zip([RDI, RSI, RDX]).map(|(parameter, reg)| Parameter {
        name: parameter.name.clone(),
        kind: parameter.kind,
        secret: parameter.secret,
        may_equal: parameter.may_equal.clone(),
        align: parameter.align,
        reg,
    });
    Func {
        name: func.name.clone(),
        limb_bits: 64,
        parameters: parameters.collect(),
        returns: None,
        body: vec![Node::Block(insts)],
        subs: vec![],
        pool: vec![],
        frame,
        exact: None,
        vregs: 0,
    }
}

fn line(op: Base, operands: Vec<Operand<PReg>>) -> Inst<PReg> {
    Inst { op: Op::Base(op), operands, note: None }
}

fn slot(disp: i32) -> Operand<PReg> {
    Operand::Mem(Mem { space: Space::Frame, base: RSP, index: None, disp })
}

fn physical_rules(func: &Func<Physical>) -> Vec<Rule> {
    check_physical(func).err().unwrap_or_default().into_iter().map(|ill| ill.rule).collect()
}

#[test]
fn allocated_functions_keep_frame_and_abi() {
    let frame = |saved: &[PReg], slots| Frame { saved: saved.to_vec(), slots, spills: 0 };
    let reg = Operand::Reg;
    let spill = |disp| line(Base::Store, vec![slot(disp), reg(RSI)]);
    let reload = |disp| line(Base::Load, vec![reg(RAX), slot(disp)]);
    let write = |to| line(Base::MovImm, vec![reg(to), Operand::Imm(1)]);
    let behind = |base| {
        let mem = Mem { space: Space::Argument(1), base, index: None, disp: 0 };
        line(Base::Load, vec![reg(RDX), Operand::Mem(mem)])
    };
    let check = |saved: &[PReg], slots, insts| physical_rules(&physical(frame(saved, slots), insts));
    // A spilled pointer stays a pointer.
    assert_eq!(check(&[RBX], 1, vec![write(RBX), spill(0), write(RSI), reload(0), behind(RAX)]), []);
    assert_eq!(check(&[], 0, vec![write(RSI), behind(RSI)]), [Rule::Base { argument: 1, base: Name::Physical(RSI) }]);
    assert_eq!(check(&[], 2, vec![spill(16)]), [Rule::Slot(16)]);
    assert_eq!(check(&[], 2, vec![spill(4)]), [Rule::Slot(4)]);
    assert_eq!(check(&[], 2, vec![spill(0), reload(8)]), [Rule::UndefinedSlot(8)]);
    assert_eq!(check(&[], 0, vec![write(RSP)]), [Rule::StackPointer]);
    assert_eq!(check(&[], 0, vec![write(RBX)]), [Rule::NotSaved(RBX)]);
    assert_eq!(check(&[RBX, RBX], 0, vec![]), [Rule::Saved(RBX)]);
    assert_eq!(check(&[RAX], 0, vec![]), [Rule::Saved(RAX)]);
    assert_eq!(check(&[], 0, vec![line(Base::Inc, vec![reg(RAX)])]), [Rule::Undefined(Name::Physical(RAX))]);
    let beyond = PReg::gpr(16);
    assert_eq!(check(&[], 0, vec![write(beyond)]), [Rule::Register(Name::Physical(beyond))]);
    // A vector takes two slots in a row.
    let xmm = PReg::xmm(15);
    let vector = |op, operands| Inst { op: Op::Sse2(op), operands, note: None };
    let zero = || vector(Sse2::Pxor, vec![reg(xmm), reg(xmm)]);
    let spill_vector = |disp| vector(Sse2::MovdquStore, vec![slot(disp), reg(xmm)]);
    let reload_vector = |disp| vector(Sse2::MovdquLoad, vec![reg(xmm), slot(disp)]);
    assert_eq!(check(&[], 3, vec![zero(), spill_vector(8), reload_vector(8), reload(16)]), []);
    assert_eq!(check(&[], 3, vec![zero(), spill_vector(16)]), [Rule::Slot(16)]);
    assert_eq!(check(&[], 2, vec![spill(0), reload_vector(0)]), [Rule::UndefinedSlot(8)]);
    // What a vector was stored over is no pointer.
    let lost = [Rule::Base { argument: 1, base: Name::Physical(RAX) }];
    assert_eq!(check(&[], 2, vec![spill(8), zero(), spill_vector(0), reload(8), behind(RAX)]), lost);
    let beyond = PReg::xmm(16);
    let rules = check(&[], 0, vec![vector(Sse2::Pxor, vec![reg(beyond), reg(beyond)])]);
    assert!(rules.contains(&Rule::Register(Name::Physical(beyond))), "{rules:?}");
    let mut func = physical(frame(&[], 0), vec![]);
    func.returns = Some(RDX);
    assert_eq!(physical_rules(&func), [Rule::ReturnRegister(RDX)]);
    func.returns = None;
    func.parameters[1].reg = RDX;
    assert_eq!(physical_rules(&func), [Rule::Parameter(1)]);
    func.parameters[1].reg = RSI;
    func.subs = vec![vec![Node::Block(vec![spill(0)])]];
    func.frame.slots = 1;
    func.body = vec![Node::Call(SubId(0))];
    assert_eq!(physical_rules(&func), [Rule::Slot(0)]);
}

#[test]
fn an_ill_says_where_and_what() {
    let func = build(|b, args| {
        b.not(args.n);
        b.adc(args.n, args.n);
    });
    let ills = check(&func).unwrap_err();
    assert_eq!(ills[0].to_string(), "instruction 1 (adc): CF is read and not defined on every path before");
}
