//! Memory for the operands of one call: values in, pointers out, and afterwards whether anything around them changed.
//!
//! Unsafe is needed for guard pages (foreign functions) and to see memory that a kernel wrote behind a pointer.

#[cfg(unix)]
use std::ptr::NonNull;

/// Bytes around a buffer that must not change. More than the widest unrolled body writes.
const CANARY: usize = 256;

/// Where a buffer lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Between canaries.
    Canaries,
    /// Its end flush against a page that faults.
    GuardAfter,
    /// Its start flush against a page that faults.
    GuardBefore,
}

impl Placement {
    /// The word used in reports.
    pub const fn word(self) -> &'static str {
        match self {
            Placement::Canaries => "canaries",
            Placement::GuardAfter => "guard page after",
            Placement::GuardBefore => "guard page before",
        }
    }
}

/// Which side of a buffer was written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Before,
    After,
}

/// The system has no memory for a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoMemory;

enum Storage {
    Heap(Vec<u8>),
    #[cfg(unix)]
    Guarded(Guarded),
}

/// A buffer of limbs with something on both sides that shows a stray write.
pub(super) struct Buffer {
    storage: Storage,
    start: usize,
    length: usize,
    limb_bytes: usize,
}

fn canary(position: usize) -> u8 {
    // Neighbouring bytes differ, so that a shifted copy shows.
    (position as u8).wrapping_mul(0x9d) ^ 0xa5
}

impl Buffer {
    /// A buffer with these limbs. `skew` moves it from a 64-byte boundary by that many limbs.
    pub fn new(bits: u32, limbs: &[u64], placement: Placement, skew: usize) -> Result<Buffer, NoMemory> {
        let limb_bytes = bits as usize / 8;
        let length = limbs.len() * limb_bytes;
        let (mut storage, start) = match placement {
            Placement::Canaries => {
                let heap = vec![0u8; length + 2 * CANARY + 128];
                let start = CANARY + heap.as_ptr().align_offset(64).min(63) + skew * limb_bytes % 64;
                (Storage::Heap(heap), start)
            }
            #[cfg(unix)]
            Placement::GuardAfter | Placement::GuardBefore => {
                let pages = Guarded::new(length)?;
                let start = if placement == Placement::GuardBefore { 0 } else { pages.length - length };
                (Storage::Guarded(pages), start)
            }
            #[cfg(not(unix))]
            Placement::GuardAfter | Placement::GuardBefore => return Err(NoMemory),
        };
        for (position, byte) in storage.bytes_mut().iter_mut().enumerate() {
            *byte = canary(position);
        }
        let mut buffer = Buffer { storage, start, length, limb_bytes };
        buffer.write(limbs);
        Ok(buffer)
    }

    /// Puts limbs in. Only as many as there is room for.
    pub fn write(&mut self, limbs: &[u64]) {
        let (start, length, width) = (self.start, self.length, self.limb_bytes);
        let data = &mut self.storage.bytes_mut()[start..start + length];
        for (place, limb) in data.chunks_exact_mut(width).zip(limbs) {
            if width == 4 {
                place.copy_from_slice(&(*limb as u32).to_ne_bytes());
            } else {
                place.copy_from_slice(&limb.to_ne_bytes());
            }
        }
    }

    /// The limbs as they are now.
    pub fn read(&self) -> Vec<u64> {
        let data = &self.storage.bytes()[self.start..self.start + self.length];
        let limb = |place: &[u8]| match *place {
            [a, b, c, d] => u64::from(u32::from_ne_bytes([a, b, c, d])),
            [a, b, c, d, e, f, g, h] => u64::from_ne_bytes([a, b, c, d, e, f, g, h]),
            _ => 0,
        };
        data.chunks_exact(self.limb_bytes).map(limb).collect()
    }

    /// The first side on which a canary changed.
    pub fn disturbed(&self) -> Option<Side> {
        let bytes = self.storage.bytes();
        let changed =
            |range: std::ops::Range<usize>| range.clone().zip(&bytes[range]).any(|(at, &byte)| byte != canary(at));
        if changed(0..self.start) {
            Some(Side::Before)
        } else if changed(self.start + self.length..bytes.len()) {
            Some(Side::After)
        } else {
            None
        }
    }

    /// The address of the first limb, valid for reads and writes of the whole buffer while it lives.
    pub fn pointer(&mut self) -> *mut u8 {
        self.storage.bytes_mut().as_mut_ptr().wrapping_add(self.start)
    }
}

impl Storage {
    fn bytes(&self) -> &[u8] {
        match self {
            Storage::Heap(heap) => heap,
            #[cfg(unix)]
            Storage::Guarded(pages) => pages.bytes(),
        }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        match self {
            Storage::Heap(heap) => heap,
            #[cfg(unix)]
            Storage::Guarded(pages) => pages.bytes_mut(),
        }
    }
}

/// Whole pages that can be read and written, between two that cannot be touched.
#[cfg(unix)]
struct Guarded {
    mapping: NonNull<u8>,
    page: usize,
    length: usize,
}

#[cfg(unix)]
impl Guarded {
    fn new(length: usize) -> Result<Guarded, NoMemory> {
        // SAFETY: sysconf takes a number and returns one.
        let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).map_err(|_| NoMemory)?;
        let inner = length.max(1).checked_next_multiple_of(page).ok_or(NoMemory)?;
        let total = inner.checked_add(2 * page).ok_or(NoMemory)?;
        // SAFETY: a fresh anonymous mapping at an address of the system's choice; no existing memory is touched.
        let mapping = unsafe {
            libc::mmap(core::ptr::null_mut(), total, libc::PROT_NONE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0)
        };
        if mapping == libc::MAP_FAILED {
            return Err(NoMemory);
        }
        let mapping = NonNull::new(mapping.cast::<u8>()).ok_or(NoMemory)?;
        let guarded = Guarded { mapping, page, length: inner };
        // SAFETY: the range is the inside of the mapping made just now, which nobody else knows.
        let answer =
            unsafe { libc::mprotect(mapping.as_ptr().add(page).cast(), inner, libc::PROT_READ | libc::PROT_WRITE) };
        if answer == 0 { Ok(guarded) } else { Err(NoMemory) }
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: the inside of the mapping is readable, initialised (zero pages), `length` long, and owned by `self`.
        unsafe { core::slice::from_raw_parts(self.mapping.as_ptr().add(self.page), self.length) }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`, and writable; `&mut self` makes it exclusive.
        unsafe { core::slice::from_raw_parts_mut(self.mapping.as_ptr().add(self.page), self.length) }
    }
}

#[cfg(unix)]
impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping made in `new`; `self` owned it and no reference outlives `self`.
        unsafe { libc::munmap(self.mapping.as_ptr().cast(), self.length + 2 * self.page) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limbs_come_back_and_canaries_watch() {
        for placement in [Placement::Canaries, Placement::GuardAfter, Placement::GuardBefore] {
            for bits in [32, 64] {
                let Ok(mut buffer) = Buffer::new(bits, &[1, 0xffff_ffff, 3], placement, 3) else { continue };
                assert_eq!(buffer.read(), [1, 0xffff_ffff, 3]);
                assert_eq!(buffer.disturbed(), None);
                let (start, length) = (buffer.start, buffer.length);
                assert_eq!(buffer.pointer() as usize % (bits as usize / 8), 0);
                if placement != Placement::GuardBefore {
                    buffer.storage.bytes_mut()[start - 1] ^= 1;
                    assert_eq!(buffer.disturbed(), Some(Side::Before));
                    buffer.storage.bytes_mut()[start - 1] ^= 1;
                }
                if placement != Placement::GuardAfter {
                    buffer.storage.bytes_mut()[start + length] ^= 1;
                    assert_eq!(buffer.disturbed(), Some(Side::After));
                }
            }
        }
    }
}
