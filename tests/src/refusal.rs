//! A system that refuses executable memory, as SELinux and PaX do: a seccomp filter for this process and its children.

use std::io;

/// Makes every new executable memory fail with `errno` in this process and its children from now on: `mprotect` and
/// `pkey_mprotect` with `PROT_EXEC`, and anonymous `mmap` with it. Libraries are still mapped, or no child would start.
///
/// # Errors
/// When the system does not let a filter be installed, or has none.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub fn refuse_executable_memory(errno: i32) -> io::Result<()> {
    const LOAD_WORD: u16 = 0x20;
    const JUMP_EQUAL: u16 = 0x15;
    const JUMP_ANY_BIT: u16 = 0x45;
    const RETURN: u16 = 0x06;
    // Offsets in `struct seccomp_data`: the call's number, and the low halves of its third and fourth argument.
    const NUMBER: u32 = 0;
    const THIRD_ARGUMENT: u32 = 32;
    const FOURTH_ARGUMENT: u32 = 40;
    let errno = u16::try_from(errno).map_err(|_| io::ErrorKind::InvalidInput)?;
    let step = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    // The protection is the third argument of all three calls; the flags are the fourth of `mmap`.
    let mut filter = [
        step(LOAD_WORD, 0, 0, NUMBER),
        step(JUMP_EQUAL, 4, 0, libc::SYS_mprotect as u32),
        step(JUMP_EQUAL, 3, 0, libc::SYS_pkey_mprotect as u32),
        step(JUMP_EQUAL, 0, 5, libc::SYS_mmap as u32),
        step(LOAD_WORD, 0, 0, FOURTH_ARGUMENT),
        step(JUMP_ANY_BIT, 0, 3, libc::MAP_ANONYMOUS as u32),
        step(LOAD_WORD, 0, 0, THIRD_ARGUMENT),
        step(JUMP_ANY_BIT, 0, 1, libc::PROT_EXEC as u32),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ERRNO | u32::from(errno)),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: both calls only read their arguments; the filter outlives the second.
    let answers = unsafe {
        [
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
            libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program),
        ]
    };
    if answers == [0, 0] { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// There is no such filter here.
///
/// # Errors
/// Always.
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
pub fn refuse_executable_memory(_errno: i32) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
