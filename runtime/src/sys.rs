//! The few questions to the operating system that the standard library does not ask. One answer each, no policy.
//!
//! Unsafe cannot be avoided here: these are foreign functions. Each takes no pointer, or one to a local.

/// Whether the program runs with more privilege than its caller (setuid and the like), so that the environment is not
/// to be trusted.
pub(crate) fn at_secure() -> bool {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: getauxval reads the process's own auxiliary vector; any argument is allowed.
        (unsafe { libc::getauxval(libc::AT_SECURE) }) != 0
    }
    #[cfg(not(target_os = "linux"))]
    {
        false
    }
}

/// Whether reading the time stamp counter raises a signal in this process.
pub(crate) fn tsc_is_trapped() -> bool {
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    {
        let mut mode: libc::c_int = 0;
        // The system may ask for zeros where it takes nothing, and a variadic call passes no more than is written.
        let none: libc::c_ulong = 0;
        // SAFETY: PR_GET_TSC writes one int through the pointer, which is to a live local.
        let answer = unsafe { libc::prctl(libc::PR_GET_TSC, &raw mut mode, none, none, none) };
        // A kernel that does not answer does not trap either, but then nothing is known: stay away from the counter.
        answer != 0 || mode != libc::PR_TSC_ENABLE
    }
    #[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
    {
        false
    }
}

/// From now on this process is killed when the thread that started it ends. One that is orphaned already lives on, until
/// its pipe tells it.
pub(crate) fn die_with_parent() {
    #[cfg(target_os = "linux")]
    {
        let none: libc::c_ulong = 0;
        // SAFETY: PR_SET_PDEATHSIG takes a signal's number and no pointer.
        let _ = unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong, none, none, none) };
    }
}

/// The core that this thread runs on at this moment.
pub(crate) fn current_core() -> Option<u32> {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: sched_getcpu takes nothing and returns a number.
        u32::try_from(unsafe { libc::sched_getcpu() }).ok()
    }
    #[cfg(not(target_os = "linux"))]
    {
        None
    }
}

/// Nanoseconds of CPU time that this thread has used; `None` where the system cannot say.
pub(crate) fn thread_cpu_nanoseconds() -> Option<u64> {
    #[cfg(unix)]
    {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: clock_gettime writes one timespec through the pointer, which is to a live local.
        let answer = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
        let seconds = u64::try_from(time.tv_sec).ok()?;
        let nanoseconds = u64::try_from(time.tv_nsec).ok()?;
        (answer == 0).then(|| seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds))
    }
    #[cfg(not(unix))]
    {
        None
    }
}
