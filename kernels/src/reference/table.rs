//! Plain references of tables, byte by byte. A read goes to its entry directly: for checking, never for an index that matters.
//!
//! An entry's bytes are units, of as many bytes as the layout says. Unit k of an entry lies beside unit k of the others.

/// Where byte `byte` of an entry is, in rows of units of so many bytes.
fn place(unit: usize, entries: usize, entry: usize, byte: usize) -> usize {
    (byte / unit * entries + entry) * unit + byte % unit
}

/// Bytes of a limb.
const LIMB: usize = 8;

/// Where byte `byte` of an entry of `limbs` is. Of vectors of four limbs, the limbs that are left over come first, in rows of
/// their own.
fn woven(unit: usize, entries: usize, limbs: usize, entry: usize, byte: usize) -> usize {
    let single = limbs * LIMB % unit;
    if byte < single {
        place(LIMB, entries, entry, byte)
    } else {
        single * entries + place(unit, entries, entry, byte - single)
    }
}

fn byte_of(limbs: &[u64], byte: usize) -> u8 {
    limbs[byte / LIMB].to_le_bytes()[byte % LIMB]
}

fn set_byte(limbs: &mut [u64], byte: usize, value: u8) {
    let mut bytes = limbs[byte / LIMB].to_le_bytes();
    bytes[byte % LIMB] = value;
    limbs[byte / LIMB] = u64::from_le_bytes(bytes);
}

fn store(unit: usize, entries: usize, table: &mut [u64], a: &[u64]) {
    assert_eq!(table.len(), a.len(), "a table is as long as its entries");
    let limbs = a.len() / entries;
    for entry in 0..entries {
        for byte in 0..limbs * LIMB {
            set_byte(table, woven(unit, entries, limbs, entry, byte), byte_of(&a[entry * limbs..], byte));
        }
    }
}

fn read(unit: usize, r: &mut [u64], table: &[u64], index: u64) {
    let limbs = r.len();
    let entries = table.len().checked_div(limbs).unwrap_or(0);
    assert_eq!(table.len(), entries * limbs, "a table has entries of as many limbs as r");
    for byte in 0..limbs * LIMB {
        let entry = usize::try_from(index).ok().filter(|entry| *entry < entries);
        set_byte(r, byte, entry.map_or(0, |entry| byte_of(table, woven(unit, entries, limbs, entry, byte))));
    }
}

macro_rules! layouts {
    ($($unit:literal $store:ident $read:ident $what:literal;)*) => {
        $(
            #[doc = concat!("Stores entries, which lie one after another in a, as rows of their ", $what, ".")]
            ///
            /// # Panics
            /// When the lengths differ, or `entries` is 0.
            pub fn $store(entries: usize, table: &mut [u64], a: &[u64]) {
                store($unit, entries, table, a);
            }

            #[doc = concat!("r := the entry with that index of a table of rows of ", $what, "; 0 when there is none.")]
            ///
            /// # Panics
            /// When the table is no whole number of entries.
            pub fn $read(r: &mut [u64], table: &[u64], index: u64) {
                read($unit, r, table, index);
            }
        )*
    };
}
layouts! {
    1 store_byte read_byte "bytes";
    4 store_word32 read_word32 "dwords";
    8 store_word64 read_word64 "limbs";
    32 store_vector read_vector "vectors of four limbs";
}
