//! CPUID and XGETBV of the CPU itself.
//!
//! Unsafe cannot be avoided here: these are instructions. It is confined to two functions.

#[cfg(target_arch = "x86_64")]
use super::CpuidSource;

/// The CPU itself. Exists on x86-64 alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct NativeCpuid(());

impl NativeCpuid {
    /// The CPU that this code runs on.
    pub const fn new() -> NativeCpuid {
        NativeCpuid(())
    }
}

#[cfg(target_arch = "x86_64")]
impl CpuidSource for NativeCpuid {
    #[allow(unused_unsafe, reason = "the intrinsic became safe after the minimum supported Rust version")]
    fn cpuid(&self, leaf: u32, subleaf: u32) -> [u32; 4] {
        // SAFETY: every x86-64 CPU has CPUID; it writes four registers and nothing else. eax and ecx are both loaded.
        let answer = unsafe { core::arch::x86_64::__cpuid_count(leaf, subleaf) };
        [answer.eax, answer.ebx, answer.ecx, answer.edx]
    }

    fn xgetbv(&self) -> u64 {
        // The trait asks for XGETBV only under OSXSAVE; a safe function cannot rely on that, so look again.
        if self.cpuid(1, 0)[2] & super::OSXSAVE == 0 {
            return 0;
        }
        let (low, high): (u32, u32);
        // SAFETY: OSXSAVE is set, so the instruction exists and XCR0 may be read at any privilege.
        unsafe {
            core::arch::asm!("xgetbv", in("ecx") 0, out("eax") low, out("edx") high, options(nomem, nostack, preserves_flags));
        }
        u64::from(high) << 32 | u64::from(low)
    }
}

/// The microcode revision as Linux reports it for the first CPU.
pub(super) fn microcode() -> Option<u64> {
    if cfg!(target_os = "linux") { microcode_in(&std::fs::read_to_string("/proc/cpuinfo").ok()?) } else { None }
}

/// The first `microcode : 0x…` line.
pub(super) fn microcode_in(cpuinfo: &str) -> Option<u64> {
    let (_, value) =
        cpuinfo.lines().filter_map(|line| line.split_once(':')).find(|(key, _)| key.trim() == "microcode")?;
    u64::from_str_radix(value.trim().strip_prefix("0x")?, 16).ok()
}
