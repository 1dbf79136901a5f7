//! A toy kernel with the contract of `limb64.mul_add` and ways to get it wrong, built by hand.
#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(missing_docs, reason = "test support")]

use std::cell::Cell;
use std::ffi::c_void;

use kiln_kernels::catalogue::{
    Access, Argument, ArgumentKind, Domain, Entry, Kernel, KernelParts, Length, Origin, Variant, VariantParts, Word,
};
use kiln_runtime::timer::{Clock, Core, Reading, Unit};

thread_local! {
    /// What the toys have cost on this thread: the time of [`WorkClock`].
    static WORK: Cell<u64> = const { Cell::new(0) };
}

fn spend(work: u64) {
    WORK.with(|spent| spent.set(spent.get() + work));
}

/// A clock that counts the toys' stated costs, so that no real time matters.
pub struct WorkClock;

impl Clock for WorkClock {
    fn now(&self) -> u64 {
        WORK.with(Cell::get)
    }
    fn unit(&self) -> Unit {
        Unit::Ticks
    }
    fn step(&self) -> u64 {
        1
    }
    fn microsecond(&self) -> u64 {
        1000
    }
    fn read(&self) -> Reading {
        Reading { time: self.now(), core: Core::At(0) }
    }
}

/// `r := r + a * w`; returns the carry limb.
///
/// # Safety
/// `r` and `a` point to `n` limbs.
unsafe fn mul_add(r: *mut u64, a: *const u64, n: u64, w: u64) -> u64 {
    let mut carry = 0u128;
    for i in 0..n as usize {
        // SAFETY: `i < n`.
        unsafe {
            let sum = u128::from(*a.add(i)) * u128::from(w) + u128::from(*r.add(i)) + carry;
            *r.add(i) = sum as u64;
            carry = sum >> 64;
        }
    }
    carry as u64
}

macro_rules! toys {
    ($($(#[$doc:meta])* $name:ident => |$r:ident, $a:ident, $n:ident, $w:ident| $body:block)*) => {
        $($(#[$doc])* unsafe extern "sysv64" fn $name($r: *mut u64, $a: *const u64, $n: u64, $w: u64) -> u64 {
            // SAFETY: the caller keeps the contract; what a toy breaks, it breaks inside the test's canaries.
            unsafe { $body }
        })*
    };
}

toys! {
    right => |r, a, n, w| { spend(20 + 4 * n); mul_add(r, a, n, w) }
    /// Right, and slow.
    slow => |r, a, n, w| {
        spend(100 + 40 * n);
        mul_add(r, a, n, w)
    }
    exact_8 => |r, a, n, w| { spend(12); mul_add(r, a, n.min(8), w) }
    wrong_at_9 => |r, a, n, w| { let carry = mul_add(r, a, n, w); if n == 9 { *r ^= 1; } carry }
    wrong_return => |r, a, n, w| { mul_add(r, a, n, w) ^ u64::from(n > 5) }
    /// Overwrites a limb before it reads it: right unless `a = r`.
    wrong_in_place => |r, a, n, w| {
        if std::ptr::eq(r, a) && n > 1 { *r.add(1) = 0; }
        mul_add(r, a, n, w)
    }
    past_the_end => |r, a, n, w| { let carry = mul_add(r, a, n, w); *r.add(n as usize) = carry; carry }
    before_the_start => |r, a, n, w| { *r.sub(1) = 0; mul_add(r, a, n, w) }
    changes_input => |r, a, n, w| {
        let carry = mul_add(r, a, n, w);
        if n > 0 && !std::ptr::eq(r, a) { *a.cast_mut() ^= 1; }
        carry
    }
    /// Reads one limb too many: nothing but a guard page sees it.
    over_reads => |r, a, n, w| { std::hint::black_box(a.add(n as usize).read_volatile()); mul_add(r, a, n, w) }
    crashes => |r, a, n, w| {
        if n == 3 { std::ptr::null_mut::<u64>().write_volatile(w); }
        mul_add(r, a, n, w)
    }
    hangs => |r, a, n, w| {
        while std::hint::black_box(n) == 2 { std::hint::spin_loop(); }
        mul_add(r, a, n, w)
    }
    /// The plain body, for the naked ones to tail-call.
    body => |r, a, n, w| { spend(10 + 2 * n); mul_add(r, a, n, w) }
}

macro_rules! naked {
    ($($name:ident: $($line:literal),*;)*) => {
        $(#[unsafe(naked)]
        unsafe extern "sysv64" fn $name(_r: *mut u64, _a: *const u64, _n: u64, _w: u64) -> u64 {
            core::arch::naked_asm!(
                "sub rsp, 8", "call {body}", "add rsp, 8", $($line,)* "ret", body = sym body,
            )
        })*
    };
}

naked! {
    clobbers_r12: "xor r12d, r12d";
    swaps_r13_r14: "xchg r13, r14";
    clobbers_rbp: "mov rbp, rsp";
    sets_direction: "std";
    // Resets to the default, not to what it found.
    resets_mxcsr: "mov dword ptr [rsp - 8], 0x1f80", "ldmxcsr [rsp - 8]";
    dirties_x87: "movd mm0, eax";
    needless_emms: "emms";
    pops_x87: "fstp st(0)";
    dirties_ymm: "vpcmpeqd ymm11, ymm11, ymm11";
    clears_ymm: "vpcmpeqd ymm11, ymm11, ymm11", "vzeroupper";
    mmx_and_emms: "movd mm0, eax", "emms";
}

unsafe fn call(entry: Entry, words: &[Word]) -> u64 {
    let [r, a, n, w] = words else { unreachable!("four arguments") };
    // SAFETY: the entry keeps the contract and the words are r, a, n, w in this order.
    unsafe {
        let function: unsafe extern "sysv64" fn(*mut u64, *const u64, u64, u64) -> u64 =
            core::mem::transmute(entry.address());
        function(r.pointer.cast(), a.pointer.cast(), n.integer, w.integer)
    }
}

unsafe fn repeat(entry: Entry, words: &[Word], calls: u32) {
    for _ in 0..calls {
        // SAFETY: as the caller says, each time.
        std::hint::black_box(unsafe { call(entry, words) });
    }
}

const fn entry(function: unsafe extern "sysv64" fn(*mut u64, *const u64, u64, u64) -> u64) -> Entry {
    Entry::new(function as *const c_void)
}

const fn variant(name: &'static str, entry: Entry) -> VariantParts {
    VariantParts {
        name,
        strategy: "toy",
        origin: Origin::Compiled,
        features: &[],
        exact: None,
        startup: true,
        entry,
        code_hash: "0000000000000000",
        instructions: 10,
    }
}

const ARGUMENTS: &[Argument] = &[
    Argument {
        name: "r",
        kind: ArgumentKind::Limbs { bits: 64, length: Length::of(&[(2, 1)]) },
        access: Access::InOut,
        align: 8,
        may_equal: &[],
        domain: Domain::Any,
        secret: true,
    },
    Argument {
        name: "a",
        kind: ArgumentKind::Limbs { bits: 64, length: Length::of(&[(2, 1)]) },
        access: Access::In,
        align: 8,
        may_equal: &[0],
        domain: Domain::Any,
        secret: true,
    },
    Argument {
        name: "n",
        kind: ArgumentKind::Count { min: 0, max: 65536 },
        access: Access::In,
        align: 8,
        may_equal: &[],
        domain: Domain::Any,
        secret: false,
    },
    Argument {
        name: "w",
        kind: ArgumentKind::Limb { bits: 64 },
        access: Access::In,
        align: 8,
        may_equal: &[],
        domain: Domain::Any,
        secret: true,
    },
];

pub const fn kernel(variants: &'static [Variant]) -> Kernel {
    // SAFETY: every toy is a function of this contract, whatever it computes; the reference is right.
    unsafe {
        Kernel::new(KernelParts {
            name: "toy.mul_add",
            math: "r := r + a * w; returns the carry limb",
            arguments: ARGUMENTS,
            returns: true,
            sizes: &[4, 8, 32],
            unit: kiln_kernels::catalogue::Unit::Limb,
            cipher: None,
            spec_file: "toy.toml",
            spec_text: "",
            spec_hash: "0000000000000000",
            reference: entry(right),
            variants,
            call,
            repeat,
        })
    }
}

/// A toy with these parts.
pub const fn vouched(parts: VariantParts) -> Variant {
    // SAFETY: every toy is a function of the toys' contract; what is wrong with it is what verification must find.
    unsafe { Variant::new(parts) }
}

pub const PORTABLE_PARTS: VariantParts =
    VariantParts { origin: Origin::Portable, ..variant("toy.mul_add/portable", entry(right)) };
pub const PORTABLE: Variant = vouched(PORTABLE_PARTS);
pub const RIGHT_PARTS: VariantParts = VariantParts { instructions: 20, ..variant("toy.mul_add/right.u4", entry(body)) };
pub const RIGHT: Variant = vouched(RIGHT_PARTS);
pub const SLOW: Variant = vouched(variant("toy.mul_add/slow.u2", entry(slow)));
pub const EXACT_8: Variant =
    vouched(VariantParts { exact: Some(8), ..variant("toy.mul_add/exact.n8", entry(exact_8)) });
pub const NEEDS_AVX512: Variant =
    vouched(VariantParts { features: &["avx512f", "avx512ifma"], ..variant("toy.mul_add/ifma.u8", entry(body)) });
pub const UNKNOWN_FEATURE: Variant =
    vouched(VariantParts { features: &["warp"], ..variant("toy.mul_add/warp.u8", entry(body)) });
pub const WRONG_AT_9: Variant = vouched(variant("toy.mul_add/wrong_at_9.u4", entry(wrong_at_9)));
pub const WRONG_RETURN: Variant = vouched(variant("toy.mul_add/wrong_return.u4", entry(wrong_return)));
pub const WRONG_IN_PLACE: Variant = vouched(variant("toy.mul_add/wrong_in_place.u4", entry(wrong_in_place)));
pub const PAST_THE_END: Variant = vouched(variant("toy.mul_add/past_the_end.u4", entry(past_the_end)));
pub const BEFORE_THE_START: Variant = vouched(variant("toy.mul_add/before_the_start.u4", entry(before_the_start)));
pub const CHANGES_INPUT: Variant = vouched(variant("toy.mul_add/changes_input.u4", entry(changes_input)));
pub const OVER_READS: Variant = vouched(variant("toy.mul_add/over_reads.u4", entry(over_reads)));
pub const CRASHES: Variant = vouched(variant("toy.mul_add/crashes.u4", entry(crashes)));
pub const HANGS: Variant = vouched(variant("toy.mul_add/hangs.u4", entry(hangs)));
pub const CLOBBERS_R12: Variant = vouched(variant("toy.mul_add/clobbers_r12.u4", entry(clobbers_r12)));
pub const SWAPS_R13_R14: Variant = vouched(variant("toy.mul_add/swaps_r13_r14.u4", entry(swaps_r13_r14)));
pub const CLOBBERS_RBP: Variant = vouched(variant("toy.mul_add/clobbers_rbp.u4", entry(clobbers_rbp)));
pub const SETS_DIRECTION: Variant = vouched(variant("toy.mul_add/sets_direction.u4", entry(sets_direction)));
pub const RESETS_MXCSR: Variant = vouched(variant("toy.mul_add/resets_mxcsr.u4", entry(resets_mxcsr)));
pub const DIRTIES_X87: Variant = vouched(variant("toy.mul_add/dirties_x87.u4", entry(dirties_x87)));
pub const NEEDLESS_EMMS: Variant = vouched(variant("toy.mul_add/needless_emms.u4", entry(needless_emms)));
pub const POPS_X87: Variant = vouched(variant("toy.mul_add/pops_x87.u4", entry(pops_x87)));
pub const DIRTIES_YMM: Variant =
    vouched(VariantParts { features: &["avx2"], ..variant("toy.mul_add/dirties_ymm.u4", entry(dirties_ymm)) });
pub const CLEARS_YMM: Variant =
    vouched(VariantParts { features: &["avx2"], ..variant("toy.mul_add/clears_ymm.u4", entry(clears_ymm)) });
pub const MMX_AND_EMMS: Variant =
    vouched(VariantParts { features: &["mmx"], ..variant("toy.mul_add/mmx_and_emms.u4", entry(mmx_and_emms)) });
pub const MMX_WITHOUT_EMMS: Variant =
    vouched(VariantParts { features: &["mmx"], ..variant("toy.mul_add/mmx_without_emms.u4", entry(dirties_x87)) });
