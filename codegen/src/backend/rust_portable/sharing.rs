//! Which arguments of a portable function may share a slice, and which of those ways are printed. Knows parameters, and no
//! instruction.

use crate::ir::{Func, Parameter, ParameterKind, VReg, Virtual};

/// The pairs of an argument that is only read and a written one that may be the same memory, directly or by way of other
/// arguments that are only read.
pub fn sharing(parameters: &[Parameter<VReg>]) -> Vec<(u8, u8)> {
    let written = |index: usize| matches!(parameters[index].kind, ParameterKind::Pointer { writes: true, .. });
    let equal = |a: usize, b: usize| {
        let names = |a: usize, b: usize| parameters[a].may_equal.iter().any(|other| usize::from(*other) == b);
        names(a, b) || names(b, a)
    };
    let mut pairs = Vec::new();
    for writer in (0..parameters.len()).filter(|index| written(*index)) {
        let mut class = vec![writer];
        let mut next = 0;
        while next < class.len() {
            let more = (0..parameters.len()).filter(|other| !class.contains(other) && !written(*other));
            let more: Vec<usize> = more.filter(|other| equal(class[next], *other)).collect();
            class.extend(more);
            next += 1;
        }
        pairs.extend(class[1..].iter().map(|reader| (*reader as u8, writer as u8)));
    }
    pairs
}

/// Every non-empty choice of pairs with each reader at most once; the largest first.
pub(super) fn choices(pairs: &[(u8, u8)]) -> Vec<Vec<(u8, u8)>> {
    let mut all = vec![Vec::new()];
    for pair in pairs {
        let with = |chosen: &Vec<(u8, u8)>| chosen.iter().copied().chain([*pair]).collect();
        let free = |chosen: &&Vec<(u8, u8)>| chosen.iter().all(|(reader, _)| *reader != pair.0);
        let more: Vec<Vec<(u8, u8)>> = all.iter().filter(free).map(with).collect();
        all.extend(more);
    }
    all.retain(|chosen| !chosen.is_empty());
    all.sort_by_key(|chosen| core::cmp::Reverse(chosen.len()));
    all
}

/// Instructions from which on a second copy of the code costs more than a copy of the data.
const LARGE: usize = 1000;

/// The reader and the writer of a large function whose only way to share memory is that these are the same: it is printed for
/// that alone.
pub(super) fn copied(func: &Func<Virtual>) -> Option<(u8, u8)> {
    let [pair] = sharing(&func.parameters)[..] else { return None };
    let kind = |index: u8| func.parameters[usize::from(index)].kind;
    let (ParameterKind::Pointer { length: from, .. }, ParameterKind::Pointer { length: to, reads: false, .. }) =
        (kind(pair.0), kind(pair.1))
    else {
        return None;
    };
    (from == to && func.instructions().len() >= LARGE).then_some(pair)
}
