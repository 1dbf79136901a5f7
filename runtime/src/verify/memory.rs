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

/// A period of the canaries, twice. Neighbouring bytes differ, so that a shifted copy shows.
static CANARIES: [u8; 512] = {
    let mut canaries = [0; 512];
    let mut position = 0;
    while position < canaries.len() {
        canaries[position] = (position as u8).wrapping_mul(0x9d) ^ 0xa5;
        position += 1;
    }
    canaries
};

/// What belongs at so many bytes from this position on, at most 256.
fn canaries(position: usize, length: usize) -> &'static [u8] {
    let phase = position % 256;
    &CANARIES[phase..phase + length]
}

fn paint(bytes: &mut [u8], position: usize) {
    for chunk in bytes.chunks_mut(256) {
        chunk.copy_from_slice(canaries(position, chunk.len()));
    }
}

fn is_painted(bytes: &[u8], position: usize) -> bool {
    bytes.chunks(256).all(|chunk| chunk == canaries(position, chunk.len()))
}

/// Where limbs begin on a heap: behind the canaries, so far from a 64-byte boundary.
fn heap_start(heap: &[u8], skew: usize) -> usize {
    CANARY + heap.as_ptr().align_offset(64).min(63) + skew % 64
}

impl Buffer {
    /// A buffer with these limbs. `skew` moves it from a 64-byte boundary by that many bytes.
    pub fn new(bits: u32, limbs: &[u64], placement: Placement, skew: usize) -> Result<Buffer, NoMemory> {
        let limb_bytes = bits as usize / 8;
        let length = limbs.len() * limb_bytes;
        let (mut storage, start) = match placement {
            Placement::Canaries => {
                // Rounded up, so that the longer operands of the next calls fit too.
                let heap = vec![0u8; (length + 2 * CANARY + 128).next_power_of_two()];
                let start = heap_start(&heap, skew);
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
        paint(storage.bytes_mut(), 0);
        let mut buffer = Buffer { storage, start, length, limb_bytes };
        buffer.write(limbs);
        Ok(buffer)
    }

    /// Puts other limbs between the canaries, in place of those that are there. `false`, and nothing is changed, if it
    /// has no canaries or no room.
    pub fn relay(&mut self, bits: u32, limbs: &[u64], skew: usize) -> bool {
        let limb_bytes = bits as usize / 8;
        let length = limbs.len() * limb_bytes;
        let heap = match &mut self.storage {
            Storage::Heap(heap) => heap,
            #[cfg(unix)]
            Storage::Guarded(_) => return false,
        };
        let start = heap_start(heap, skew);
        if heap.len() < start + length + CANARY {
            return false;
        }
        paint(&mut heap[self.start..self.start + self.length], self.start);
        (self.start, self.length, self.limb_bytes) = (start, length, limb_bytes);
        self.write(limbs);
        true
    }

    /// Puts limbs in. Only as many as there is room for.
    pub fn write(&mut self, limbs: &[u64]) {
        let (start, length) = (self.start, self.length);
        let data = &mut self.storage.bytes_mut()[start..start + length];
        match self.limb_bytes {
            1 => {
                for (place, limb) in data.iter_mut().zip(limbs) {
                    *place = *limb as u8;
                }
            }
            4 => {
                for (place, limb) in data.chunks_exact_mut(4).zip(limbs) {
                    place.copy_from_slice(&(*limb as u32).to_ne_bytes());
                }
            }
            _ => {
                for (place, limb) in data.chunks_exact_mut(8).zip(limbs) {
                    place.copy_from_slice(&limb.to_ne_bytes());
                }
            }
        }
    }

    fn data(&self) -> &[u8] {
        &self.storage.bytes()[self.start..self.start + self.length]
    }

    /// Bytes of all limbs.
    pub fn length(&self) -> usize {
        self.length
    }

    /// The limbs as they are now.
    pub fn read(&self) -> Vec<u64> {
        let limb = |place: &[u8]| match *place {
            [byte] => byte.into(),
            [a, b, c, d] => u64::from(u32::from_ne_bytes([a, b, c, d])),
            [a, b, c, d, e, f, g, h] => u64::from_ne_bytes([a, b, c, d, e, f, g, h]),
            _ => 0,
        };
        self.data().chunks_exact(self.limb_bytes).map(limb).collect()
    }

    /// Whether the limbs are now these.
    pub fn holds(&self, limbs: &[u64]) -> bool {
        let data = self.data();
        // Without an early end: right results are the rule, and this the loop that the compiler vectorises.
        let differ = match self.limb_bytes {
            1 => data.iter().zip(limbs).fold(0, |bits, (place, limb)| bits | u32::from(*place ^ *limb as u8)),
            4 => {
                let pairs = data.chunks_exact(4).zip(limbs);
                pairs.fold(0, |bits, (place, limb)| bits | (place != (*limb as u32).to_ne_bytes()) as u32)
            }
            _ => {
                let pairs = data.chunks_exact(8).zip(limbs);
                pairs.fold(0, |bits, (place, limb)| bits | (place != limb.to_ne_bytes()) as u32)
            }
        };
        differ == 0 && data.len() == limbs.len() * self.limb_bytes
    }

    /// The first side on which a canary changed.
    pub fn disturbed(&self) -> Option<Side> {
        let bytes = self.storage.bytes();
        let end = self.start + self.length;
        if !is_painted(&bytes[..self.start], 0) {
            Some(Side::Before)
        } else if !is_painted(&bytes[end..], end) {
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
                let Ok(mut buffer) = Buffer::new(bits, &[1, 0xffff_ffff, 3], placement, 24) else { continue };
                assert_eq!(buffer.read(), [1, 0xffff_ffff, 3]);
                assert!(buffer.holds(&[1, 0xffff_ffff, 3]) && !buffer.holds(&[1, 0xffff_ffff, 2]));
                assert!(!buffer.holds(&[1, 0xffff_ffff]) && !buffer.holds(&[1, 0xffff_ffff, 3, 4]));
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

    #[test]
    fn a_buffer_is_used_again_and_its_canaries_with_it() {
        let Ok(mut buffer) = Buffer::new(64, &[7; 40], Placement::Canaries, 5) else { unreachable!("on the heap") };
        for (bits, limbs, skew) in
            [(64, vec![1, 2, 3], 56), (32, vec![4; 17], 4), (8, vec![7; 9], 15), (64, vec![], 0), (64, vec![9; 40], 24)]
        {
            assert!(buffer.relay(bits, &limbs, skew));
            assert_eq!((buffer.read(), buffer.disturbed()), (limbs, None));
            let (start, length) = (buffer.start, buffer.length);
            assert_eq!(buffer.pointer() as usize % 64, skew);
            for (at, side) in [(start - 1, Side::Before), (start + length, Side::After), (0, Side::Before)] {
                buffer.storage.bytes_mut()[at] ^= 0x10;
                assert_eq!(buffer.disturbed(), Some(side));
                buffer.storage.bytes_mut()[at] ^= 0x10;
            }
        }
        assert!(!buffer.relay(64, &[0; 200], 0), "no room");
    }
}
