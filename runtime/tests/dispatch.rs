//! Do callers get a right function at every moment, and the decision once there is one?
#![cfg(target_arch = "x86_64")]

mod common;

use std::ffi::c_void;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use common::*;
use kiln_kernels::catalogue::{Entry, Kernel, Variant, VariantParts, Word};
use kiln_runtime::candidate::Exclusions;
use kiln_runtime::detect;
use kiln_runtime::dispatch::{KernelSlots, LazySlots, Runtime};
use kiln_runtime::explain::Reason;
use kiln_runtime::settings::{Glob, TuneMode};
use kiln_runtime::tune::{CpuBudget, Options, Tuner};

static VARIANTS: [Variant; 5] = [PORTABLE, SLOW, RIGHT, EXACT_8, WRONG_AT_9];
static KERNEL: Kernel = kernel(&VARIANTS);

fn runtime(options: Options, budget: Duration) -> &'static Runtime {
    let tuner = Tuner::with_clock(detect::native(), Box::new(WorkClock), options);
    Box::leak(Box::new(Runtime::new(tuner, budget)))
}

fn is_right(slots: &KernelSlots, n: usize) {
    let (mut r, mut a) = (vec![1u64; n], vec![u64::MAX; n]);
    let words = [
        Word { pointer: r.as_mut_ptr().cast() },
        Word { pointer: a.as_mut_ptr().cast() },
        Word { integer: n as u64 },
        Word { integer: 2 },
    ];
    // SAFETY: the entry is a variant of this kernel that runs on this CPU and serves this n; `r` and `a` have n limbs.
    let carry = unsafe { (slots.kernel().call)(slots.entry_for(n as u64), &words) };
    // (2^64n - 1) * 2 + (1 + 2^64 + …): carry 1 out, and the low limb is 2^64 - 2 + 1.
    assert_eq!((carry, r.first().copied()), if n == 0 { (0, None) } else { (2 - u64::from(n == 1), Some(u64::MAX)) });
}

#[test]
fn first_use_tunes_and_each_n_goes_to_its_class() {
    let slots = runtime(Options::default(), Duration::from_secs(60)).slots(&KERNEL);
    assert_eq!(slots.present(8), PORTABLE.entry, "nothing is decided yet");
    assert_eq!(slots.entry_for(8), EXACT_8.entry);
    // Only n = 8 itself may go to the variant that serves 8 alone.
    for n in [0, 1, 3, 4, 5, 7, 9, 31, 32, 33, 1000, u64::MAX] {
        assert_eq!(slots.entry_for(n), RIGHT.entry, "n = {n}");
    }
}

#[test]
fn modes_and_budgets() {
    let off = runtime(Options { mode: TuneMode::Off, ..Options::default() }, Duration::from_secs(60)).slots(&KERNEL);
    assert_eq!(off.entry_for(8), PORTABLE.entry);
    let broke = runtime(Options::default(), Duration::ZERO);
    broke.configure(|options| {
        options.prefer.insert("toy.mul_add".into(), "slow.u2".into());
    });
    assert_eq!(broke.slots(&KERNEL).entry_for(8), SLOW.entry);
    assert_eq!(broke.explain()["toy.mul_add"].len(), 3);
    // Asked for, it takes what it takes.
    broke.tune(&KERNEL, Vec::new(), None, &mut |_| ());
    assert_eq!(broke.slots(&KERNEL).entry_for(8), EXACT_8.entry);
}

/// Right, and its first call takes 150 ms of CPU.
unsafe extern "sysv64" fn hog(r: *mut u64, a: *mut u64, n: u64, w: u64) -> u64 {
    static FIRST: AtomicBool = AtomicBool::new(true);
    if FIRST.swap(false, Ordering::Relaxed) {
        let begun = CpuBudget::new(None);
        while begun.spent() < Duration::from_millis(150) {}
    }
    let words = [Word { pointer: r.cast() }, Word { pointer: a.cast() }, Word { integer: n }, Word { integer: w }];
    // SAFETY: the portable toy has this function's contract, which the caller keeps.
    unsafe { (KERNEL.call)(PORTABLE.entry, &words) }
}

#[test]
fn a_later_use_goes_on_where_time_ran_out() {
    const HOG: Variant =
        vouched(VariantParts { name: "toy.mul_add/hog.u4", entry: Entry::new(hog as *const c_void), ..RIGHT_PARTS });
    static VARIANTS: [Variant; 4] = [PORTABLE, HOG, RIGHT, EXACT_8];
    static KERNEL: Kernel = kernel(&VARIANTS);
    // A tenth, 100 ms, is for one use.
    let runtime = runtime(Options::default(), Duration::from_secs(1));
    let slots = runtime.slots(&KERNEL);
    let reasons = || runtime.explain()["toy.mul_add"].iter().map(|case| case.reason).collect::<Vec<_>>();
    assert_eq!(slots.entry_for(8), PORTABLE.entry);
    assert_eq!(reasons(), [Reason::Budget; 3]);
    assert_eq!(slots.entry_for(8), EXACT_8.entry);
    assert_eq!(reasons(), [Reason::Fastest; 3]);
    assert_eq!(slots.entry_for(1000), RIGHT.entry);
}

#[test]
fn many_threads_always_get_a_right_function() {
    let slots = runtime(Options::default(), Duration::from_secs(60)).slots(&KERNEL);
    let barrier = Barrier::new(8);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                barrier.wait();
                for n in (0..40).cycle().take(4000) {
                    is_right(slots, n);
                }
            });
        }
    });
    assert_eq!(slots.entry_for(4), RIGHT.entry);
}

#[test]
fn asking_while_a_kernel_is_tuned_gets_the_present_answer() {
    let runtime = runtime(Options::default(), Duration::from_secs(60));
    let slots = runtime.slots(&KERNEL);
    let mut asked = 0;
    // From inside the tuner, which holds its lock: an answer that waited would never come.
    runtime.tune(&KERNEL, Vec::new(), None, &mut |_| {
        std::thread::scope(|scope| {
            scope.spawn(|| is_right(slots, 9)).join().unwrap();
        });
        is_right(slots, 9);
        asked += 1;
    });
    assert!(asked > 3);
}

#[test]
fn nothing_that_passes_leaves_the_reference() {
    static BAD: [Variant; 1] = [WRONG_AT_9];
    static BAD_KERNEL: Kernel = kernel(&BAD);
    let slots = runtime(Options::default(), Duration::from_secs(60)).slots(&BAD_KERNEL);
    assert_eq!(slots.entry_for(9), BAD_KERNEL.reference);
}

fn without(deny: &[&str]) -> &'static Runtime {
    let exclusions = Exclusions { deny: deny.iter().map(|glob| Glob::new(*glob)).collect(), ..Exclusions::default() };
    runtime(Options { exclusions, ..Options::default() }, Duration::from_secs(60))
}

#[test]
fn a_denied_portable_variant_never_serves() {
    let reference = "toy.mul_add/reference";
    let nothing = without(&["*"]);
    let slots = nothing.slots(&KERNEL);
    for n in [4, 5, 8, 1000] {
        assert_eq!(slots.present(n), KERNEL.reference);
        assert_eq!(slots.entry_for(n), KERNEL.reference);
    }
    for case in &nothing.explain()["toy.mul_add"] {
        assert_eq!((case.chosen.as_str(), case.near.as_deref()), (reference, None));
        assert_eq!(case.notes, ["every variant is denied; the reference is used"]);
    }

    let exact = without(&["*/portable", "*.u*"]);
    let slots = exact.slots(&KERNEL);
    assert_eq!(slots.present(8), KERNEL.reference, "nothing is decided yet");
    assert_eq!(slots.entry_for(8), EXACT_8.entry);
    for n in [4, 7, 9, 32] {
        assert_eq!(slots.entry_for(n), KERNEL.reference, "n = {n}");
    }
    let case = &exact.explain()["toy.mul_add"][1];
    assert_eq!((case.chosen.as_str(), case.near.as_deref()), (EXACT_8.name, Some(reference)));
    assert_eq!(case.notes, ["every variant that serves every size is denied; the reference serves the other sizes"]);
}

/// The carry is wrong.
unsafe extern "sysv64" fn wrong(r: *mut u64, a: *mut u64, n: u64, w: u64) -> u64 {
    // SAFETY: as for `hog`.
    unsafe { hog(r, a, n, w) ^ 1 }
}

#[test]
fn a_portable_variant_that_fails_its_check_is_replaced_by_the_reference() {
    const WRONG: Variant = vouched(VariantParts { entry: Entry::new(wrong as *const c_void), ..PORTABLE_PARTS });
    static VARIANTS: [Variant; 1] = [WRONG];
    static KERNEL: Kernel = kernel(&VARIANTS);
    let runtime = runtime(Options { mode: TuneMode::Static, ..Options::default() }, Duration::from_secs(60));
    let slots = runtime.slots(&KERNEL);
    assert_eq!(slots.entry_for(8), KERNEL.reference);
    assert_eq!(slots.entry_for(9), KERNEL.reference);
    let case = &runtime.explain()["toy.mul_add"][0];
    assert_eq!(case.notes, ["no variant passed its check; the reference is used"]);
}

#[test]
fn a_panic_while_a_kernel_is_tuned_is_not_repeated() {
    let tuner = Tuner::with_clock(detect::native(), Box::new(WorkClock), Options::default());
    let runtime = Runtime::new(tuner, Duration::from_secs(60)).with_source(|_| panic!("no candidates today"));
    let runtime: &'static Runtime = Box::leak(Box::new(runtime));
    let slots = runtime.slots(&KERNEL);
    assert!(std::panic::catch_unwind(|| slots.entry_for(8)).is_err());
    is_right(slots, 8);
    // Nor does it keep the tuner from working.
    runtime.tune(&KERNEL, Vec::new(), None, &mut |_| ());
    assert_eq!(slots.entry_for(8), EXACT_8.entry);
}

/// The test is its own child, with a standard error that cannot be written.
#[test]
fn a_warning_that_cannot_be_written_costs_nothing() {
    const CHILD: &str = "KILN_TEST_CHILD";
    if std::env::var_os(CHILD).is_some() {
        let slots = kiln_runtime::dispatch::slots(&KERNEL);
        is_right(slots, 8);
        is_right(slots, 8);
        return;
    }
    let Ok(full) = std::fs::File::options().write(true).open("/dev/full") else { return };
    // Without `--nocapture` the harness would take the place of standard error.
    let status = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_warning_that_cannot_be_written_costs_nothing", "--nocapture"])
        .env(CHILD, "1")
        .env("KILN_FORCE", "malformed")
        .stdout(std::process::Stdio::null())
        .stderr(full)
        .status()
        .unwrap();
    assert!(status.success(), "{status}");
}

#[test]
fn the_runtime_of_the_process_serves_statics() {
    static SLOTS: LazySlots = LazySlots::new(&KERNEL);
    assert!(std::ptr::eq(SLOTS.get(), kiln_runtime::dispatch::slots(&KERNEL)));
    is_right(SLOTS.get(), 8);
    is_right(SLOTS.get(), 33);
}
