//! Executable memory: bytes of functions in, callable entries out. Knows no instruction set but its own probe.
//!
//! Each batch gets one fresh anonymous private mapping. It is written, then switched to read+execute, and is never
//! both writable and executable. It is never unmapped: an entry may be held by any thread for ever, so there is no
//! moment at which unmapping is safe. A private mapping is inherited by a fork as it is. No file is involved.
//!
//! A system may refuse (SELinux, PaX, seccomp). That is normal: [`probe`] finds out once, quietly, by running a real
//! function, and the caller goes on with the compiled kernels.

use std::fmt;
use std::sync::OnceLock;

use kiln_kernels::catalogue::Entry;

use crate::settings::Settings;

/// Alignment of every function.
pub const ALIGNMENT: usize = 64;
/// Most bytes in one batch.
pub const MAX_BATCH: usize = 64 << 20;

/// What could not be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Reserving memory.
    Map,
    /// Making it executable.
    Protect,
}

/// Why there is no executable memory. None of these is a fault of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Switched off by `KILN_MACHINE_CODE`.
    SwitchedOff,
    /// The backend does not generate for this architecture.
    Architecture,
    /// The system said no, with this error number (0 if it gave none).
    System(Step, i32),
    /// The probe's function ran and answered something else.
    WrongAnswer,
    /// There is no function in the batch, or one has no bytes.
    Empty,
    /// The batch is larger than [`MAX_BATCH`].
    TooLarge(usize),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::SwitchedOff => f.write_str("machine code is switched off by KILN_MACHINE_CODE=off"),
            Refused::Architecture => f.write_str("machine code is generated for x86-64 only"),
            Refused::System(step, errno) => {
                let what = match step {
                    Step::Map => "reserve memory",
                    Step::Protect => "make memory executable",
                };
                let reason = std::io::Error::from_raw_os_error(*errno);
                write!(f, "the system refuses to {what} ({reason}); compiled kernels are used")
            }
            Refused::WrongAnswer => f.write_str("a function in executable memory gave a wrong answer"),
            Refused::Empty => f.write_str("no bytes to publish"),
            Refused::TooLarge(bytes) => {
                write!(f, "{bytes} bytes of code in one batch; at most {MAX_BATCH} are allowed")
            }
        }
    }
}

impl std::error::Error for Refused {}

/// A batch of functions in memory that can be read and executed, for ever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    entries: Vec<Entry>,
    mapped: usize,
}

impl Code {
    /// Publishes functions: one mapping for all, each function aligned to [`ALIGNMENT`], the gaps filled with `int3`.
    /// The entries come in the order of the functions. Nothing is executed.
    ///
    /// The first call of the process probes whether this system allows it at all.
    ///
    /// # Errors
    /// Why the system refuses, or that there is nothing (or too much) to publish.
    pub fn publish(functions: &[&[u8]]) -> Result<Code, Refused> {
        probe()?;
        publish_unprobed(functions)
    }

    /// The functions' addresses, in the order of publishing.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Bytes of the mapping, in whole pages.
    pub fn mapped(&self) -> usize {
        self.mapped
    }
}

fn publish_unprobed(functions: &[&[u8]]) -> Result<Code, Refused> {
    if functions.is_empty() || functions.iter().any(|function| function.is_empty()) {
        return Err(Refused::Empty);
    }
    let mut offsets = Vec::with_capacity(functions.len());
    let mut length = 0usize;
    for function in functions {
        offsets.push(length);
        length = length
            .checked_add(function.len())
            .and_then(|length| length.checked_next_multiple_of(ALIGNMENT))
            .filter(|&length| length <= MAX_BATCH)
            .ok_or(Refused::TooLarge(functions.iter().fold(0usize, |sum, f| sum.saturating_add(f.len()))))?;
    }
    // A page is the unit of protection: fill the last one, so that no byte of it is anything but int3.
    let mapped = length.next_multiple_of(4096);
    let refused = |step| move |error: std::io::Error| Refused::System(step, error.raw_os_error().unwrap_or(0));
    let mut memory = memmap2::MmapMut::map_anon(mapped).map_err(refused(Step::Map))?;
    memory.fill(0xcc);
    for (function, &offset) in functions.iter().zip(&offsets) {
        memory[offset..offset + function.len()].copy_from_slice(function);
    }
    // x86 keeps instruction and data caches coherent; the system call itself is the barrier on this core, and other
    // threads learn the address through a release store (see `dispatch`).
    let memory = memory.make_exec().map_err(refused(Step::Protect))?;
    // Leaked on purpose: code is never unmapped.
    let base = Box::leak(Box::new(memory)).as_ptr();
    let entries = offsets.iter().map(|&offset| Entry::new(base.wrapping_add(offset).cast())).collect();
    Ok(Code { entries, mapped })
}

/// Bytes of code that [`Evictor::run`] walks through: more than any first level of instruction cache holds.
const EVICTED: usize = 128 << 10;
/// Bytes of a line of the instruction cache.
const LINE: usize = 64;

/// A function that does nothing but fill the instruction cache, the cache of decoded instructions and the branch predictor
/// with itself, so that what is called next is cold.
#[derive(Clone, Copy, Debug)]
pub struct Evictor(Entry);

impl Evictor {
    /// Publishes it.
    ///
    /// # Errors
    /// Why there is no executable memory.
    pub fn new() -> Result<Evictor, Refused> {
        // One jump in each line, to the next: jmp +62. In the last, ret.
        let mut function = Vec::with_capacity(EVICTED);
        while function.len() < EVICTED - LINE {
            function.extend_from_slice(&[0xeb, LINE as u8 - 2]);
            function.resize(function.len() + LINE - 2, 0xcc);
        }
        function.push(0xc3);
        let code = Code::publish(&[&function])?;
        code.entries.first().copied().map(Evictor).ok_or(Refused::Empty)
    }

    /// Runs it.
    #[cfg(target_arch = "x86_64")]
    pub fn run(&self) {
        // SAFETY: `new` alone makes one: the entry is the address of a mapping that is readable, executable and never unmapped,
        // and that holds jumps to the next line of itself and a `ret`: a complete function that takes nothing, returns nothing
        // and touches no register.
        unsafe {
            let function: extern "sysv64" fn() = core::mem::transmute(self.0.address());
            function();
        }
    }

    /// Nobody has one.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn run(&self) {}
}

/// Whether code can be generated and run in this process: publishes and RUNS a small function, once. The answer is
/// remembered.
///
/// # Errors
/// Why not.
pub fn probe() -> Result<(), Refused> {
    static ANSWER: OnceLock<Result<(), Refused>> = OnceLock::new();
    *ANSWER.get_or_init(|| if Settings::global().machine_code { probe_now() } else { Err(Refused::SwitchedOff) })
}

#[cfg(target_arch = "x86_64")]
fn probe_now() -> Result<(), Refused> {
    const ANSWER: u32 = 0x4b69_6c6e;
    // mov eax, ANSWER; ret
    let mut function = vec![0xb8];
    function.extend_from_slice(&ANSWER.to_le_bytes());
    function.push(0xc3);
    let code = publish_unprobed(&[&function])?;
    let entry = code.entries.first().ok_or(Refused::Empty)?;
    // SAFETY: the entry is the address of a mapping that is readable, executable and never unmapped, and that holds
    // the six bytes above: a complete function that takes nothing, returns a u32 and touches eax alone.
    let answer = unsafe {
        let function: extern "sysv64" fn() -> u32 = core::mem::transmute(entry.address());
        function()
    };
    if answer == ANSWER { Ok(()) } else { Err(Refused::WrongAnswer) }
}

#[cfg(not(target_arch = "x86_64"))]
fn probe_now() -> Result<(), Refused> {
    Err(Refused::Architecture)
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    fn returns(number: u32) -> Vec<u8> {
        [&[0xb8][..], &number.to_le_bytes(), &[0xc3]].concat()
    }

    #[test]
    fn several_functions_share_a_mapping_and_run() {
        let functions: Vec<Vec<u8>> = (0..100).map(returns).collect();
        let slices: Vec<&[u8]> = functions.iter().map(Vec::as_slice).collect();
        let code = match Code::publish(&slices) {
            Ok(code) => code,
            Err(refused) => return eprintln!("not run here: {refused}"),
        };
        assert_eq!(code.mapped(), 8192);
        for (number, entry) in code.entries().iter().enumerate() {
            assert_eq!(entry.address() as usize % ALIGNMENT, 0);
            // SAFETY: the bytes are `mov eax, number; ret`, published just now.
            let answer = unsafe {
                let function: extern "sysv64" fn() -> u32 = core::mem::transmute(entry.address());
                function()
            };
            assert_eq!(answer as usize, number);
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_mapping_is_executable_and_not_writable() {
        let Ok(code) = Code::publish(&[&returns(1)]) else { return };
        let address = code.entries()[0].address() as usize;
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let line = maps
            .lines()
            .find(|line| {
                let (range, _) = line.split_once(' ').unwrap();
                let (start, end) = range.split_once('-').unwrap();
                let parse = |hex| usize::from_str_radix(hex, 16).unwrap();
                (parse(start)..parse(end)).contains(&address)
            })
            .unwrap();
        assert_eq!(line.split(' ').nth(1), Some("r-xp"), "{line}");
        assert!(!maps.lines().any(|line| line.contains(" rwx")), "{maps}");
    }

    #[test]
    fn an_evictor_comes_back() {
        match Evictor::new() {
            Ok(evictor) => (0..3).for_each(|_| evictor.run()),
            Err(refused) => eprintln!("not run here: {refused}"),
        }
    }

    #[test]
    fn nothing_and_too_much_are_refused() {
        assert_eq!(publish_unprobed(&[]), Err(Refused::Empty));
        assert_eq!(publish_unprobed(&[&[0xc3], &[]]), Err(Refused::Empty));
        let large = vec![0xc3; MAX_BATCH / 2 + 1];
        assert_eq!(publish_unprobed(&[&large, &large]), Err(Refused::TooLarge(2 * large.len())));
    }

    #[test]
    fn a_refusal_explains_itself() {
        let text = Refused::System(Step::Protect, 13).to_string();
        assert!(text.starts_with("the system refuses to make memory executable (Permission denied"), "{text}");
    }
}
