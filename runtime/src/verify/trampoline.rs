//! Calls a function the way a hostile compiler would: every callee-saved register, the direction flag, MXCSR and the
//! x87 stack hold known values before, and are recorded after; so are the upper halves of the ymm registers, which are 0
//! before, where there are any.
//!
//! Unsafe cannot be avoided: this is assembly. It is the only assembly of the runtime.

use core::ffi::c_void;
use core::mem::offset_of;

use kiln_codegen::isa::feature::Feature;
use kiln_kernels::catalogue::Entry;

use crate::detect::native;

/// Most integer arguments that System V passes in registers.
pub(super) const MAX_ARGUMENTS: usize = 6;

/// Names of the callee-saved registers, in the order of `Frame::after`.
const NAMES: [&str; 6] = ["rbx", "rbp", "r12", "r13", "r14", "r15"];

/// A distinct value for each callee-saved register, so that a swapped restore shows too.
const POISON: [u64; 6] = [
    0xb1b1_5afe_0000_0001,
    0xb2b2_5afe_0000_0002,
    0xb3b3_5afe_0000_0003,
    0xb4b4_5afe_0000_0004,
    0xb5b5_5afe_0000_0005,
    0xb6b6_5afe_0000_0006,
];

/// All exceptions masked and flush-to-zero on: differs from the default in a bit that no kernel's result depends on, so
/// that a kernel which resets MXCSR instead of restoring it shows.
const MXCSR: u32 = 0x9f80;
/// The control bits. The six exception flags below them are the caller's to lose under System V.
const MXCSR_CONTROL: u32 = 0xffc0;
const DIRECTION: u64 = 1 << 10;

/// State that a call did not leave as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Disturbed {
    Register { name: &'static str, expected: u64, got: u64 },
    DirectionFlag,
    Mxcsr { expected: u32, got: u32 },
    X87 { what: &'static str, expected: u16, got: u16 },
    UpperHalf { ymm: u8 },
}

#[repr(C)]
struct Frame {
    entry: *const c_void,
    arguments: [u64; MAX_ARGUMENTS],
    poison: [u64; 6],
    returned: u64,
    after: [u64; 6],
    flags: u64,
    mxcsr_in: u32,
    mxcsr_out: u32,
    mxcsr_caller: u32,
    /// Whether there are ymm registers, and their upper halves.
    avx: u32,
    upper_after: [[u8; 16]; 16],
    /// Whether the x87 registers hold values.
    x87_live: u32,
    /// Whether `x87_before` is such a state already.
    x87_ready: u32,
    x87_caller: [u8; 28],
    x87_before: [u8; 108],
    x87_after: [u8; 108],
}

/// What a register holds that passes no argument.
pub(super) const UNUSED: u64 = 0xdead_beef_dead_beef;

/// The state around a call, kept for the next one.
pub(super) struct Trampoline {
    frame: Frame,
}

impl Trampoline {
    pub fn new() -> Trampoline {
        Trampoline {
            frame: Frame {
                entry: core::ptr::null(),
                arguments: [UNUSED; MAX_ARGUMENTS],
                poison: POISON,
                returned: 0,
                after: [0; 6],
                flags: 0,
                mxcsr_in: MXCSR,
                mxcsr_out: 0,
                mxcsr_caller: 0,
                avx: u32::from(native().cpu().features.contains(Feature::Avx)),
                upper_after: [[0; 16]; 16],
                x87_live: 0,
                x87_ready: 0,
                x87_caller: [0; 28],
                x87_before: [0; 108],
                x87_after: [0; 108],
            },
        }
    }

    /// Calls `entry` with up to six integer arguments. With `mmx` the function may use the x87 registers and has to
    /// leave them empty; without, they hold values that it has to leave alone.
    ///
    /// # Safety
    /// `entry` must be a function under System V that takes these arguments, and may be called with them on this CPU.
    pub unsafe fn call(&mut self, entry: Entry, arguments: [u64; MAX_ARGUMENTS], mmx: bool) -> (u64, Vec<Disturbed>) {
        let frame = &mut self.frame;
        let live = u32::from(!mmx);
        if frame.x87_live != live {
            (frame.x87_live, frame.x87_ready) = (live, 0);
        }
        (frame.entry, frame.arguments) = (entry.address(), arguments);
        // SAFETY: `enter` reads and writes the frame, which lives in `self`, and calls the entry, which the caller vouches
        // for. It puts back every register and all state that the compiler relies on, whatever the callee did to them.
        unsafe { enter(&raw mut *frame) };
        frame.x87_ready = 1;
        (frame.returned, frame.disturbed(mmx))
    }
}

impl Frame {
    fn disturbed(&self, mmx: bool) -> Vec<Disturbed> {
        let frame = self;
        let mut disturbed = Vec::new();
        for ((name, expected), got) in NAMES.into_iter().zip(POISON).zip(frame.after) {
            if expected != got {
                disturbed.push(Disturbed::Register { name, expected, got });
            }
        }
        if frame.flags & DIRECTION != 0 {
            disturbed.push(Disturbed::DirectionFlag);
        }
        if (frame.mxcsr_in ^ frame.mxcsr_out) & MXCSR_CONTROL != 0 {
            disturbed.push(Disturbed::Mxcsr { expected: frame.mxcsr_in, got: frame.mxcsr_out });
        }
        for (ymm, half) in (0..).zip(frame.upper_after) {
            if half != [0; 16] {
                disturbed.push(Disturbed::UpperHalf { ymm });
            }
        }
        let word = |image: &[u8; 108], at: usize| u16::from_le_bytes([image[at], image[at + 1]]);
        let mut compare = |what, at: usize, mask: u16| {
            let (expected, got) = (word(&frame.x87_before, at) & mask, word(&frame.x87_after, at) & mask);
            if expected != got {
                disturbed.push(Disturbed::X87 { what, expected, got });
            }
        };
        // Layout of the 32-bit protected-mode image: control word, status word, tag word, each in four bytes. After `emms`
        // the top of stack may be anything, so for MMX only the tags count.
        compare("control word", 0, u16::MAX);
        compare("tag word", 8, u16::MAX);
        if !mmx {
            compare("top of stack", 4, 0x3800);
            for register in (28..108).step_by(2) {
                compare("register contents", register, u16::MAX);
            }
        }
        disturbed
    }
}

/// The call itself. Takes the frame in rdi.
#[unsafe(naked)]
unsafe extern "sysv64" fn enter(frame: *mut Frame) {
    core::arch::naked_asm!(
        "push rbx",
        "push rbp",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        // The stack is 16-byte aligned again after this; the frame's address waits there.
        "push rdi",
        // The caller's floating-point state.
        "stmxcsr [rdi + {mxcsr_caller}]",
        "fnstenv [rdi + {x87_caller}]",
        "cmp dword ptr [rdi + {x87_ready}], 0",
        "jne 3f",
        "fninit",
        "cmp dword ptr [rdi + {x87_live}], 0",
        "je 2f",
        "fldpi",
        "fldl2e",
        "fld1",
        "2:",
        "fnsave [rdi + {x87_before}]",
        "3:",
        "frstor [rdi + {x87_before}]",
        "ldmxcsr [rdi + {mxcsr_in}]",
        // What the machine keeps of it: a simulator (valgrind) may have no flush-to-zero.
        "stmxcsr [rdi + {mxcsr_in}]",
        "cld",
        "cmp dword ptr [rdi + {avx}], 0",
        "je 4f",
        "vzeroupper",
        "4:",
        "mov rax, [rdi + {entry}]",
        "mov rbx, [rdi + {poison}]",
        "mov rbp, [rdi + {poison} + 8]",
        "mov r12, [rdi + {poison} + 16]",
        "mov r13, [rdi + {poison} + 24]",
        "mov r14, [rdi + {poison} + 32]",
        "mov r15, [rdi + {poison} + 40]",
        "mov rsi, [rdi + {arguments} + 8]",
        "mov rdx, [rdi + {arguments} + 16]",
        "mov rcx, [rdi + {arguments} + 24]",
        "mov r8, [rdi + {arguments} + 32]",
        "mov r9, [rdi + {arguments} + 40]",
        "mov rdi, [rdi + {arguments}]",
        "call rax",
        // Only the stack pointer is relied on: a callee that loses it cannot return here anyway.
        "mov rcx, [rsp]",
        "pushfq",
        "pop qword ptr [rcx + {flags}]",
        "cld",
        "mov [rcx + {returned}], rax",
        "mov [rcx + {after}], rbx",
        "mov [rcx + {after} + 8], rbp",
        "mov [rcx + {after} + 16], r12",
        "mov [rcx + {after} + 24], r13",
        "mov [rcx + {after} + 32], r14",
        "mov [rcx + {after} + 40], r15",
        "cmp dword ptr [rcx + {avx}], 0",
        "je 5f",
        "vextractf128 [rcx + {upper_after}], ymm0, 1",
        "vextractf128 [rcx + {upper_after} + 16], ymm1, 1",
        "vextractf128 [rcx + {upper_after} + 32], ymm2, 1",
        "vextractf128 [rcx + {upper_after} + 48], ymm3, 1",
        "vextractf128 [rcx + {upper_after} + 64], ymm4, 1",
        "vextractf128 [rcx + {upper_after} + 80], ymm5, 1",
        "vextractf128 [rcx + {upper_after} + 96], ymm6, 1",
        "vextractf128 [rcx + {upper_after} + 112], ymm7, 1",
        "vextractf128 [rcx + {upper_after} + 128], ymm8, 1",
        "vextractf128 [rcx + {upper_after} + 144], ymm9, 1",
        "vextractf128 [rcx + {upper_after} + 160], ymm10, 1",
        "vextractf128 [rcx + {upper_after} + 176], ymm11, 1",
        "vextractf128 [rcx + {upper_after} + 192], ymm12, 1",
        "vextractf128 [rcx + {upper_after} + 208], ymm13, 1",
        "vextractf128 [rcx + {upper_after} + 224], ymm14, 1",
        "vextractf128 [rcx + {upper_after} + 240], ymm15, 1",
        "vzeroupper",
        "5:",
        "stmxcsr [rcx + {mxcsr_out}]",
        "ldmxcsr [rcx + {mxcsr_caller}]",
        "fnsave [rcx + {x87_after}]",
        "fldenv [rcx + {x87_caller}]",
        "pop rdi",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbp",
        "pop rbx",
        "ret",
        entry = const offset_of!(Frame, entry),
        arguments = const offset_of!(Frame, arguments),
        poison = const offset_of!(Frame, poison),
        returned = const offset_of!(Frame, returned),
        after = const offset_of!(Frame, after),
        flags = const offset_of!(Frame, flags),
        mxcsr_in = const offset_of!(Frame, mxcsr_in),
        mxcsr_out = const offset_of!(Frame, mxcsr_out),
        mxcsr_caller = const offset_of!(Frame, mxcsr_caller),
        avx = const offset_of!(Frame, avx),
        upper_after = const offset_of!(Frame, upper_after),
        x87_ready = const offset_of!(Frame, x87_ready),
        x87_live = const offset_of!(Frame, x87_live),
        x87_caller = const offset_of!(Frame, x87_caller),
        x87_before = const offset_of!(Frame, x87_before),
        x87_after = const offset_of!(Frame, x87_after),
    )
}
