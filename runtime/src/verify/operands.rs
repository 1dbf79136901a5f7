//! The values of one case: a contract, an `n` and a seed in, one operand for each argument out. Touches no pointer.

use core::cmp::Ordering;
use kiln_kernels::catalogue::{Access, ArgumentKind, Domain, Kernel};

use crate::random::Random;

/// Words at which carries and truncations go wrong.
const EDGES: [u64; 12] = [
    0,
    1,
    2,
    0xffff_ffff,
    0x1_0000_0000,
    0x1_0000_0001,
    0xffff_ffff_0000_0000,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    0x8000_0000_8000_0000,
    u64::MAX - 1,
    u64::MAX,
];

/// How the limbs of an operand are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// All zero.
    Zeros,
    /// All one.
    Ones,
    /// One bit set, anywhere.
    SingleBit,
    /// Each limb one of the edge words.
    Edges,
    /// Bits of one random density.
    Random,
}

impl Pattern {
    /// Every pattern.
    pub const ALL: [Pattern; 5] = [Pattern::Zeros, Pattern::Ones, Pattern::SingleBit, Pattern::Edges, Pattern::Random];

    fn draw(self, random: &mut Random, limbs: usize, bits: u32) -> Vec<u64> {
        let mask = mask(bits);
        if bits == 8 && self != Pattern::SingleBit {
            // Eight bytes of each word: buffers are long, and drawing them is most of the work.
            let words = self.draw(random, limbs.div_ceil(8), 64);
            return words.into_iter().flat_map(u64::to_le_bytes).map(u64::from).take(limbs).collect();
        }
        match self {
            Pattern::Zeros => vec![0; limbs],
            Pattern::Ones => vec![mask; limbs],
            Pattern::SingleBit => {
                let mut drawn = vec![0; limbs];
                let place = random.below(limbs as u64) as usize;
                if let Some(limb) = drawn.get_mut(place) {
                    *limb = 1 << random.below(u64::from(bits));
                }
                drawn
            }
            Pattern::Edges => (0..limbs).map(|_| EDGES[random.below(EDGES.len() as u64) as usize] & mask).collect(),
            Pattern::Random => {
                let density = random.below(64) as u32;
                (0..limbs).map(|_| random.word_of_density(density) & mask).collect()
            }
        }
    }
}

fn mask(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

/// The value of one argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operand {
    /// Limbs behind a pointer, least significant first, each below `2^bits`.
    Limbs {
        /// Bits of a limb: 32 or 64, or 8 for bytes.
        bits: u32,
        /// The limbs.
        limbs: Vec<u64>,
    },
    /// A count or a limb by value.
    Integer {
        /// Its meaningful bits.
        bits: u32,
        /// The value.
        value: u64,
    },
}

impl Operand {
    /// Hexadecimal, most significant limb first, limbs separated by `_`; bytes as they lie in memory.
    pub fn hex(&self) -> String {
        match self {
            Operand::Limbs { bits, limbs } => hex(*bits, limbs),
            Operand::Integer { value, .. } => format!("0x{value:x}"),
        }
    }
}

/// Hexadecimal, most significant limb first, limbs separated by `_`; bytes as they lie in memory; `-` for nothing.
pub(super) fn hex(bits: u32, limbs: &[u64]) -> String {
    if bits == 8 {
        let text: String = limbs.iter().map(|byte| format!("{byte:02x}")).collect();
        return if text.is_empty() { "-".to_owned() } else { text };
    }
    let width = bits as usize / 4;
    let words: Vec<String> = limbs.iter().rev().map(|limb| format!("{limb:0width$x}")).collect();
    if words.is_empty() { "-".to_owned() } else { format!("0x{}", words.join("_")) }
}

/// Moves drawn operands into the domain of a contract (an odd modulus, a factor below it), in place. It must not change
/// the number or the width of limbs, nor a count.
pub type Prepare = fn(&mut [Operand]);

/// Draws operands and brings them into the contract's domain.
///
/// # Panics
/// `prepare` changed a count or the shape of an operand: a broken invariant of the caller's own code, which would make
/// the call unsound.
pub(super) fn draw_prepared(
    kernel: &Kernel,
    n: u64,
    pattern: Option<Pattern>,
    prepare: Option<Prepare>,
    random: &mut Random,
) -> Vec<Operand> {
    let mut operands = draw(kernel, n, pattern, random);
    confine(kernel, &mut operands);
    if let Some(prepare) = prepare {
        let drawn = operands.clone();
        prepare(&mut operands);
        let same = |(index, (before, after)): (usize, (&Operand, &Operand))| match (before, after) {
            (Operand::Limbs { bits: a, limbs: b }, Operand::Limbs { bits: c, limbs: d }) => {
                a == c && b.len() == d.len()
            }
            (Operand::Integer { bits: a, value: b }, Operand::Integer { bits: c, value: d }) => {
                a == c && (b == d || !matches!(kernel.arguments[index].kind, ArgumentKind::Count { .. }))
            }
            (Operand::Limbs { .. }, Operand::Integer { .. }) | (Operand::Integer { .. }, Operand::Limbs { .. }) => {
                false
            }
        };
        assert!(drawn.iter().zip(&operands).enumerate().all(same), "operands of {} lost their shape", kernel.name);
    }
    operands
}

/// Brings the operands into their domains.
fn confine(kernel: &Kernel, operands: &mut [Operand]) {
    let value = |operands: &[Operand], index: usize| match operands.get(index) {
        Some(Operand::Integer { value, .. }) => *value,
        Some(Operand::Limbs { .. }) | None => 0,
    };
    // What others go by first.
    let rank = |domain: Domain| match domain {
        Domain::Any | Domain::Normalised | Domain::MontgomeryModulus | Domain::EntryOf(_) | Domain::SlicedRoundKeys => {
            0
        }
        Domain::Below(_) | Domain::ReciprocalOf(_) => 1,
    };
    for now in [0, 1] {
        for (index, argument) in kernel.arguments.iter().enumerate().filter(|(_, a)| rank(a.domain) == now) {
            let bits = match (argument.kind, argument.domain) {
                (ArgumentKind::Limb { bits }, _) => bits,
                (ArgumentKind::Limbs { .. }, Domain::SlicedRoundKeys) => {
                    confine_to_sliced(&mut operands[index]);
                    continue;
                }
                (ArgumentKind::Limbs { bits, .. }, Domain::MontgomeryModulus) => {
                    confine_to_modulus(&mut operands[index], bits);
                    continue;
                }
                (ArgumentKind::Limbs { bits, .. }, Domain::Below(other)) => {
                    let Operand::Limbs { limbs: modulus, .. } = operands[other].clone() else { continue };
                    confine_below(&mut operands[index], &modulus[1..], bits);
                    continue;
                }
                (ArgumentKind::Limbs { .. } | ArgumentKind::Count { .. }, _) => continue,
            };
            let own = value(operands, index);
            let confined = match argument.domain {
                Domain::Any | Domain::MontgomeryModulus | Domain::SlicedRoundKeys => own,
                Domain::Normalised => own | 1 << (bits - 1),
                Domain::EntryOf(entries) => entry_of(entries, own),
                Domain::Below(other) => own.checked_rem(value(operands, other)).unwrap_or(0),
                Domain::ReciprocalOf(other) => {
                    let (base, divisor) = (1u128 << bits, u128::from(value(operands, other)));
                    // base^2 - 1, which for 64 bits is all of u128.
                    let square = u128::MAX >> (128 - 2 * bits);
                    square.checked_div(divisor).unwrap_or(0).wrapping_sub(base) as u64 & mask(bits)
                }
            };
            operands[index] = Operand::Integer { bits, value: confined };
        }
    }
}

/// The number of an entry; sometimes one of none, as near as the first or as far as a limb reaches.
fn entry_of(entries: u64, own: u64) -> u64 {
    // The finaliser's multiplication spreads zeros, ones and single bits alike.
    let mixed = (own ^ own >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let entry = (mixed >> 32) % entries.max(1);
    match mixed >> 60 {
        0 => own,
        1 => entries + (mixed >> 40 & 3),
        2 => entry | 1 << (32 + (mixed >> 50) % 32),
        _ => entry,
    }
}

/// Any bytes are round keys; sliced, they are four times as many.
fn confine_to_sliced(operand: &mut Operand) {
    let Operand::Limbs { limbs, .. } = operand else { return };
    let keys: Vec<u8> = limbs.iter().take(limbs.len() / 4).map(|byte| *byte as u8).collect();
    let mut sliced = vec![0; limbs.len()];
    kiln_kernels::reference::aes::slice_keys(&mut sliced, &keys);
    for (limb, byte) in limbs.iter_mut().zip(sliced) {
        *limb = byte.into();
    }
}

/// The limbs of an odd number, behind its negated inverse.
fn confine_to_modulus(operand: &mut Operand, bits: u32) {
    let Operand::Limbs { limbs, .. } = operand else { return };
    if let [inverse, lowest, ..] = limbs.as_mut_slice() {
        *lowest |= 1;
        *inverse = kiln_kernels::reference::mont::negated_inverse(*lowest) & mask(bits);
    }
}

/// Makes the number of the highest limbs less than m, which is as long. What is not below m comes in from its end: m - 1 less the
/// complement, cut to the bits below the highest of m. So ones become m - 1.
fn confine_below(operand: &mut Operand, m: &[u64], bits: u32) {
    let Operand::Limbs { limbs, .. } = operand else { return };
    let rest = limbs.len().saturating_sub(m.len());
    let highest = m.iter().rposition(|limb| *limb != 0).unwrap_or(0);
    let limbs = &mut limbs[rest..];
    if limbs.iter().rev().lt(m.iter().rev()) {
        return;
    }
    let mut taken = 1;
    for (index, (limb, m)) in limbs.iter_mut().zip(m).enumerate() {
        let kept = match index.cmp(&highest) {
            Ordering::Less => mask(bits),
            Ordering::Equal => (u64::MAX >> m.leading_zeros()) >> 1,
            Ordering::Greater => 0,
        };
        taken += u128::from(!*limb & kept);
        *limb = u128::from(*m).wrapping_sub(taken) as u64 & mask(bits);
        taken = u128::from(taken > u128::from(*m));
    }
}

/// Draws the operands of a case. The first count is `n`; a further count is small and within its range.
pub(super) fn draw(kernel: &Kernel, n: u64, pattern: Option<Pattern>, random: &mut Random) -> Vec<Operand> {
    let mut first = true;
    let counts: Vec<u64> = kernel
        .arguments
        .iter()
        .map(|argument| match argument.kind {
            ArgumentKind::Count { min, max } => {
                let value =
                    if first { n } else { min + random.below(max.saturating_sub(min).saturating_add(1).min(20)) };
                first = false;
                value
            }
            ArgumentKind::Limbs { .. } | ArgumentKind::Limb { .. } => 0,
        })
        .collect();
    let pick = |random: &mut Random| {
        // Without a pattern for the whole case each operand has its own, mostly random.
        pattern.unwrap_or_else(|| Pattern::ALL[(random.below(8) as usize).min(Pattern::ALL.len() - 1)])
    };
    kernel
        .arguments
        .iter()
        .zip(&counts)
        .map(|(argument, &count)| match argument.kind {
            ArgumentKind::Limbs { bits, length } => {
                let limbs = length.limbs(|index| counts.get(index).copied().unwrap_or(0));
                let limbs = usize::try_from(limbs).unwrap_or(0);
                // What is only written holds noise, so that an element left unwritten shows.
                let noise = matches!(argument.access, Access::Out | Access::Scratch);
                let pattern = if noise { Pattern::Random } else { pick(random) };
                Operand::Limbs { bits, limbs: pattern.draw(random, limbs, bits) }
            }
            ArgumentKind::Count { .. } => Operand::Integer { bits: 64, value: count },
            ArgumentKind::Limb { bits } => {
                Operand::Integer { bits, value: pick(random).draw(random, 1, bits).first().copied().unwrap_or(0) }
            }
        })
        .collect()
}

/// Which arguments share a pointer in a case: for each argument the index of the one whose memory it uses (itself if
/// its own).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aliasing(pub(super) Vec<usize>);

impl Aliasing {
    /// Every way the contract allows: none, each pair, and all pairs at once. Two written arguments never share, since
    /// no contract says which of the two results would stay.
    pub fn all(kernel: &Kernel) -> Vec<Aliasing> {
        let own: Vec<usize> = (0..kernel.arguments.len()).collect();
        let mut pairs: Vec<(usize, usize)> = Vec::new();
        for (reader, argument) in kernel.arguments.iter().enumerate() {
            for &other in argument.may_equal {
                let Some(partner) = kernel.arguments.get(other).filter(|_| other != reader) else { continue };
                let (reads, writes) = match (argument.access, partner.access) {
                    (Access::In, _) => (reader, other),
                    (_, Access::In) => (other, reader),
                    (Access::Out | Access::InOut | Access::Scratch, _) => continue,
                };
                if same_shape(kernel, reads, writes) && !pairs.contains(&(reads, writes)) {
                    pairs.push((reads, writes));
                }
            }
        }
        let with = |pairs: &[(usize, usize)]| {
            let mut owner = own.clone();
            for &(reads, writes) in pairs {
                // Follow the owner and take along who is here already, so that a = b and b = r put all three in r, in
                // either order; a reader that has moved stays.
                let to = owner[writes];
                if owner[reads] == reads && to != reads {
                    owner.iter_mut().filter(|owner| **owner == reads).for_each(|owner| *owner = to);
                }
            }
            Aliasing(owner)
        };
        let mut all = vec![with(&[])];
        let mut add = |aliasing: Aliasing| {
            if !all.contains(&aliasing) {
                all.push(aliasing);
            }
        };
        for pair in &pairs {
            add(with(&[*pair]));
        }
        add(with(&pairs));
        all
    }

    /// `a = r`, or `none`.
    pub fn words(&self, kernel: &Kernel) -> String {
        let name = |index: usize| kernel.arguments.get(index).map_or("?", |argument| argument.name);
        let shared: Vec<String> = self
            .0
            .iter()
            .enumerate()
            .filter(|&(argument, &owner)| argument != owner)
            .map(|(argument, &owner)| format!("{} = {}", name(argument), name(owner)))
            .collect();
        if shared.is_empty() { "none".to_owned() } else { shared.join(", ") }
    }

    /// Gives shared operands the value of the argument that owns the memory. An owner that may have any value gets that of a reader
    /// that may not.
    pub(super) fn share(&self, kernel: &Kernel, operands: &mut [Operand]) {
        for (argument, &owner) in self.0.iter().enumerate() {
            let [own, other] = [argument, owner].map(|index| kernel.arguments[index].domain);
            if own != Domain::Any && other == Domain::Any {
                operands[owner] = operands[argument].clone();
            }
        }
        for (argument, &owner) in self.0.iter().enumerate() {
            if owner != argument
                && let Some(value) = operands.get(owner).cloned()
            {
                operands[argument] = value;
            }
        }
    }
}

fn same_shape(kernel: &Kernel, a: usize, b: usize) -> bool {
    matches!(kernel.arguments[a].kind, ArgumentKind::Limbs { .. })
        && kernel.arguments[a].kind == kernel.arguments[b].kind
}
