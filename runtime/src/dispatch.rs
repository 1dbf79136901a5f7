//! Which function serves a kernel now: decisions in, entries out. Each kernel and size class has slots that begin with
//! the portable function and are replaced by what tuning decides.
//!
//! # Memory ordering
//! A slot holds the address of code that is never unmapped, so any value that it ever had may be called at any later
//! time; a reader that is late by one decision calls a slower function, not a wrong one. What a reader must not miss is
//! the code itself when it was generated at run time: the publishing thread writes the bytes, makes them executable and
//! then stores the address with `Release`; a reader loads it with `Acquire` and so sees the bytes behind it. On x86-64
//! both are plain moves. Slots are independent of each other: no reader combines two of them, so no order between them
//! is needed. The tuning state only elects the thread that tunes; it guards no data.
//!
//! A static of a kernel ([`LazySlots`]) keeps its first class once the kernel is settled, so that a call goes from the static to
//! the class to the function. A kernel that is settled stays so, and a reader that does not see it yet asks the slots.

use core::ffi::c_void;
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
use std::time::Duration;

use kiln_kernels::catalogue::{Entry, Kernel, Origin, Variant};

use crate::candidate::Candidate;
use crate::detect;
use crate::explain::CaseReport;
use crate::prefer;
use crate::settings::{Glob, Settings};
use crate::tune::{Contest, CpuBudget, Event, KERNEL_SHARE, Options, PROCESS_BUDGET, Remembered, Tuned, Tuner};

const UNTUNED: u8 = 0;
const TUNING: u8 = 1;
/// Some class is open: time ran out before it was decided.
const OPEN: u8 = 2;
const SETTLED: u8 = 3;

/// The present functions of one kernel.
#[derive(Debug)]
pub struct KernelSlots {
    kernel: &'static Kernel,
    runtime: &'static Runtime,
    /// The smallest; the others hang on it.
    classes: &'static Class,
    state: AtomicU8,
}

/// A size class, in a list by rising `n`: a short call, where looking costs something beside the work, is there at once.
#[derive(Debug)]
struct Class {
    n: u64,
    /// For `n` equal to the class: may be a variant that serves this `n` alone.
    exact: AtomicPtr<c_void>,
    /// For the other `n` of the range: only a variant that serves every `n`.
    near: AtomicPtr<c_void>,
    /// Whether a later use is to decide it.
    open: AtomicBool,
    next: Option<&'static Class>,
}

impl Class {
    /// The smallest that is not below `n`, else the largest.
    #[inline]
    fn of(&'static self, n: u64) -> &'static Class {
        let mut class = self;
        while class.n < n {
            let Some(next) = class.next else { break };
            class = next;
        }
        class
    }

    /// What serves `n`, of which this is the class.
    #[inline]
    fn entry(&self, n: u64) -> Entry {
        let slot = if self.n == n { &self.exact } else { &self.near };
        // Acquire: see the module's paragraph on memory ordering.
        Entry::new(slot.load(Ordering::Acquire))
    }

    fn all(&'static self) -> impl Iterator<Item = &'static Class> {
        std::iter::successors(Some(self), |class| class.next)
    }
}

impl KernelSlots {
    fn new(kernel: &'static Kernel, runtime: &'static Runtime) -> KernelSlots {
        let allowed = |name| !runtime.deny.iter().any(|glob| glob.matches(name));
        let portable = |startup: bool| {
            let fits = |v: &&Variant| v.origin == Origin::Portable && v.exact.is_none() && (v.startup || !startup);
            kernel.variants.iter().filter(fits).find(|v| allowed(v.name))
        };
        let portable = portable(true).or_else(|| portable(false));
        // Without a portable variant that may be used the reference serves: slow, and the right answer.
        let start = portable.map_or(kernel.reference, |variant| variant.entry).address().cast_mut();
        let mut sizes = kernel.sizes.to_vec();
        sizes.sort_unstable();
        sizes.dedup();
        if sizes.is_empty() {
            sizes.push(*crate::candidate::count_range(kernel).start());
        }
        let class = |n, next| -> &'static Class {
            let (exact, near) = (AtomicPtr::new(start), AtomicPtr::new(start));
            // Leaked on purpose, as the slots are.
            Box::leak(Box::new(Class { n, exact, near, open: AtomicBool::new(true), next }))
        };
        let classes = sizes.into_iter().rev().fold(None, |next, n| Some(class(n, next))).expect("a size");
        KernelSlots { kernel, runtime, classes, state: AtomicU8::new(UNTUNED) }
    }

    /// The kernel.
    pub fn kernel(&self) -> &'static Kernel {
        self.kernel
    }

    /// The function for this `n`. The first caller tunes the kernel (within the start-up budget, this size before the
    /// others) before it gets its answer; everyone else gets the present answer at once. If time runs out, a later caller
    /// with a size that is not decided yet goes on.
    #[inline]
    pub fn entry_for(&self, n: u64) -> Entry {
        if self.state.load(Ordering::Relaxed) != SETTLED {
            self.tune_for(n);
        }
        self.present(n)
    }

    /// The function for this `n` at this moment. Never tunes.
    #[inline]
    pub fn present(&self, n: u64) -> Entry {
        self.classes.of(n).entry(n)
    }

    #[cold]
    fn tune_for(&self, n: u64) {
        let class = self.classes.of(n);
        let state = self.state.load(Ordering::Relaxed);
        let due = state == UNTUNED || state == OPEN && class.open.load(Ordering::Relaxed);
        // Relaxed: only one thread may win, and it takes nothing over from another.
        if due && self.state.compare_exchange(state, TUNING, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            // While another kernel is being tuned this one waits for a later use: two races at once would disturb each
            // other, and nobody blocks.
            // A panic is not repeated at every use: what the slots hold is right.
            let mut turn = Turn { state: &self.state, next: SETTLED };
            turn.next = self.runtime.tune_at_use(self, class.n).unwrap_or(state);
        }
    }

    /// Puts decisions in force. Only verified candidates of this kernel get here; where there is none, the reference does.
    fn install(&self, tuned: &Tuned) {
        for choice in &tuned.choices {
            let Some(class) = self.classes.all().find(|class| class.n == choice.n) else { continue };
            let is_ours = |kernel: &'static Kernel| core::ptr::eq(kernel, self.kernel);
            let put =
                |slot: &AtomicPtr<c_void>, entry: Entry| slot.store(entry.address().cast_mut(), Ordering::Release);
            match &choice.exact {
                Some(exact) if is_ours(exact.kernel()) && exact.serves(class.n) => put(&class.exact, exact.entry()),
                Some(_) => {}
                None => put(&class.exact, self.kernel.reference),
            }
            match &choice.near {
                Some(near) if is_ours(near.kernel()) && near.candidate().exact().is_none() => {
                    put(&class.near, near.entry());
                }
                Some(_) => {}
                None => put(&class.near, self.kernel.reference),
            }
        }
    }
}

/// A kernel's first use, or a later one that goes on: however it ends, nobody finds the kernel being tuned for ever.
struct Turn<'a> {
    state: &'a AtomicU8,
    next: u8,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        // Unless `Runtime::tune` has settled it meanwhile.
        let _ = self.state.compare_exchange(TUNING, self.next, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// All slots of a process, the tuner that fills them, and what it decided.
#[derive(Debug)]
pub struct Runtime {
    /// By the kernel's address: two statics with one name are two kernels.
    slots: Mutex<BTreeMap<usize, &'static KernelSlots>>,
    tuning: Mutex<Tuning>,
    reports: Mutex<BTreeMap<&'static str, Vec<CaseReport>>>,
    budget: Duration,
    source: Option<Source>,
    /// What may not even serve before a kernel is tuned: the tuner's patterns when the runtime was made.
    deny: Vec<Glob>,
}

/// Where candidates beside the shipped ones come from at a kernel's first use.
pub type Source = fn(&'static Kernel) -> Vec<Candidate>;

#[derive(Debug)]
struct Tuning {
    tuner: Tuner,
    spent: Duration,
    /// By the kernel's address, as the slots are.
    unfinished: BTreeMap<usize, Unfinished>,
}

/// A kernel for which time ran out at its first use.
#[derive(Debug)]
struct Unfinished {
    contest: Contest,
    /// CPU time that it may still take: a share at the first use, and as much again at later ones.
    left: Duration,
}

/// A panic while a lock was held leaves plain data that is valid at every step.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Runtime {
    /// A runtime with a tuner of the caller's; `budget` is the CPU time that first uses may spend on tuning in all.
    pub fn new(tuner: Tuner, budget: Duration) -> Runtime {
        let deny = tuner.options().exclusions.deny.clone();
        Runtime {
            deny,
            slots: Mutex::default(),
            tuning: Mutex::new(Tuning { tuner, spent: Duration::ZERO, unfinished: BTreeMap::new() }),
            reports: Mutex::default(),
            budget,
            source: None,
        }
    }

    /// The same, with a source of candidates beside the shipped ones.
    #[must_use]
    pub fn with_source(self, source: Source) -> Runtime {
        Runtime { source: Some(source), ..self }
    }

    /// The runtime of the process: this CPU, what its CPU file prefers, and the overrides of the environment. A malformed override is ignored,
    /// told once on standard error, and kept in [`Settings::malformed`].
    pub fn global() -> &'static Runtime {
        static GLOBAL: OnceLock<Runtime> = OnceLock::new();
        GLOBAL.get_or_init(|| {
            let settings = Settings::global();
            for malformed in &settings.malformed {
                // `eprintln!` would panic if it cannot be written, and there is nowhere to say so.
                let _ = writeln!(std::io::stderr(), "kiln: {malformed}; the variable is ignored");
            }
            let cpu = detect::native().without(settings.removed_features);
            #[cfg(feature = "machine")]
            let own = crate::provide::in_environment().map(|provider| provider.preferences(&cpu));
            #[cfg(not(feature = "machine"))]
            let own = None;
            let prefer = own.unwrap_or_else(|| prefer::preferences(&cpu));
            let tuner = Tuner::new(cpu, Options { prefer, ..Options::from_settings(settings) });
            let runtime = Runtime::new(tuner, settings.budget.unwrap_or(PROCESS_BUDGET));
            #[cfg(feature = "machine")]
            let runtime = runtime.with_source(crate::provide::from_environment);
            runtime
        })
    }

    /// Changes what the tuner goes by: the CPU file's preferences, stored decisions, operand domains. Takes effect for
    /// kernels that are not tuned yet.
    pub fn configure(&self, change: impl FnOnce(&mut Options)) {
        change(lock(&self.tuning).tuner.options_mut());
    }

    /// The slots of a kernel, made at the first call. Keep the reference: this takes a lock.
    pub fn slots(&'static self, kernel: &'static Kernel) -> &'static KernelSlots {
        let address = core::ptr::from_ref(kernel).addr();
        // Leaked on purpose: one small table for each kernel that is used, for the life of the process.
        lock(&self.slots).entry(address).or_insert_with(|| Box::leak(Box::new(KernelSlots::new(kernel, self))))
    }

    /// Tunes a kernel now, puts the decisions in force and returns them. Waits if another kernel is being tuned; no
    /// caller of [`KernelSlots::entry_for`] waits for this.
    pub fn tune(
        &'static self,
        kernel: &'static Kernel,
        extra: Vec<Candidate>,
        budget: Option<Duration>,
        progress: &mut dyn FnMut(Event<'_>),
    ) -> Vec<CaseReport> {
        let slots = self.slots(kernel);
        let tuned = {
            let mut tuning = lock(&self.tuning);
            let tuned = tuning.tuner.tune(kernel, extra, budget, progress);
            tuning.unfinished.remove(&core::ptr::from_ref(kernel).addr());
            self.adopt(&mut tuning, slots, &tuned);
            tuned
        };
        slots.state.store(SETTLED, Ordering::Relaxed);
        tuned.reports
    }

    /// The decisions in force, by kernel.
    pub fn explain(&self) -> BTreeMap<&'static str, Vec<CaseReport>> {
        lock(&self.reports).clone()
    }

    /// Tunes the kernel's open classes, that of `n` first, and tells the state it is in then; `None` if the tuner is busy.
    fn tune_at_use(&self, slots: &KernelSlots, n: u64) -> Option<u8> {
        let mut tuning = match self.tuning.try_lock() {
            Ok(tuning) => tuning,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        let begun = CpuBudget::new(None);
        let share = self.budget / KERNEL_SHARE;
        let address = core::ptr::from_ref(slots.kernel).addr();
        let again = tuning.unfinished.remove(&address);
        let first_use = again.is_none();
        let mut unfinished = again.unwrap_or_else(|| {
            let extra = self.source.map(|source| source(slots.kernel)).unwrap_or_default();
            Unfinished { contest: tuning.tuner.enter(slots.kernel, extra), left: 2 * share }
        });
        let left = self.budget.saturating_sub(tuning.spent).min(share).min(unfinished.left);
        let tuned = tuning.tuner.decide(&mut unfinished.contest, Some(n), Some(left), &mut |_| ());
        if !first_use {
            // It had all the time that it can have.
            unfinished.contest.close(n);
        }
        self.adopt(&mut tuning, slots, &tuned);
        let spent = begun.spent();
        tuning.spent += spent;
        unfinished.left = unfinished.left.saturating_sub(spent);
        let can_go_on = !unfinished.left.is_zero() && tuning.spent < self.budget;
        for class in slots.classes.all() {
            class.open.store(can_go_on && unfinished.contest.open().contains(&class.n), Ordering::Relaxed);
        }
        if can_go_on && !unfinished.contest.open().is_empty() {
            tuning.unfinished.insert(address, unfinished);
            Some(OPEN)
        } else {
            Some(SETTLED)
        }
    }

    fn adopt(&self, tuning: &mut Tuning, slots: &KernelSlots, tuned: &Tuned) {
        slots.install(tuned);
        let previous = tuning.tuner.options_mut().previous.entry(slots.kernel.name.to_owned()).or_default();
        for choice in &tuned.choices {
            let Some(exact) = &choice.exact else { continue };
            let exact = exact.candidate().short_name().to_owned();
            let near =
                choice.near.as_ref().map_or_else(|| exact.clone(), |near| near.candidate().short_name().to_owned());
            previous.insert(choice.n, Remembered { exact, near });
        }
        let mut reports = lock(&self.reports);
        let known = reports.entry(slots.kernel.name).or_default();
        for report in &tuned.reports {
            match known.iter_mut().find(|known| known.case == report.case) {
                Some(known) => known.clone_from(report),
                None => known.push(report.clone()),
            }
        }
    }
}

/// The slots of a kernel in the runtime of the process. Takes a lock; a static [`LazySlots`] does not after its first use.
pub fn slots(kernel: &'static Kernel) -> &'static KernelSlots {
    Runtime::global().slots(kernel)
}

/// Slots for a static: looked up in the runtime of the process once.
#[derive(Debug)]
pub struct LazySlots {
    kernel: &'static Kernel,
    slots: OnceLock<&'static KernelSlots>,
    /// The classes, once they are settled.
    settled: OnceLock<&'static Class>,
}

impl LazySlots {
    /// Slots of this kernel.
    pub const fn new(kernel: &'static Kernel) -> LazySlots {
        LazySlots { kernel, slots: OnceLock::new(), settled: OnceLock::new() }
    }

    /// The slots.
    #[inline]
    pub fn get(&self) -> &'static KernelSlots {
        self.slots.get_or_init(|| slots(self.kernel))
    }

    /// The function for this `n`, as [`KernelSlots::entry_for`] gives it.
    #[inline]
    pub fn entry_for(&self, n: u64) -> Entry {
        match self.settled.get() {
            Some(classes) => classes.of(n).entry(n),
            None => self.unsettled(n),
        }
    }

    #[cold]
    fn unsettled(&self, n: u64) -> Entry {
        let slots = self.get();
        let entry = slots.entry_for(n);
        if slots.state.load(Ordering::Relaxed) == SETTLED {
            // Somebody else may have been here meanwhile, with the same.
            let _ = self.settled.set(slots.classes);
        }
        entry
    }
}
