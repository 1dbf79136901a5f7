//! Words of the command line to kernels and variants, and the nearest names when there is none.

use std::fmt;

use kiln_runtime::settings::Glob;

use crate::failure::Failure;

/// Most names that are suggested.
const MOST: usize = 3;
/// Longer than any name could be misspelt: the distance is quadratic in the length.
const LONGEST: usize = 200;

/// A word that names nothing, and the names nearest to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nearest {
    /// The word.
    pub given: String,
    /// The nearest names, nearest first.
    pub names: Vec<String>,
}

impl fmt::Display for Nearest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted: Vec<String> = self.names.iter().map(|name| format!("`{name}`")).collect();
        match quoted.split_last() {
            None => Ok(()),
            Some((only, [])) => write!(f, "; did you mean {only}?"),
            Some((last, others)) => write!(f, "; did you mean {} or {last}?", others.join(", ")),
        }
    }
}

/// The names nearest to a word: those that hold it first, then those that differ least.
pub fn nearest<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> Nearest {
    let short: String = given.chars().take(LONGEST).collect();
    let folded = short.to_lowercase();
    let bare = folded.trim_matches(['*', '?']);
    let mut ranked: Vec<(usize, usize, &str)> = names
        .into_iter()
        .filter_map(|name| {
            // `mulx.u8` for `limb64.mul_add/mulx.u8`: compared with the part of the name that it could be.
            let part = name.split_once('/').map_or(name, |(_, part)| part);
            let distance = strsim::damerau_levenshtein(bare, name).min(strsim::damerau_levenshtein(bare, part));
            let holds = !bare.is_empty() && (name.contains(bare) || bare.contains(name));
            let close = distance <= (bare.chars().count() / 3).max(1);
            (holds || close).then_some((usize::from(!(holds || distance == 0)), distance, name))
        })
        .collect();
    ranked.sort_unstable();
    ranked.dedup();
    Nearest {
        given: if short.len() == given.len() { short } else { format!("{short}...") },
        names: ranked.into_iter().take(MOST).map(|(_, _, name)| name.to_owned()).collect(),
    }
}

/// Those of `all` that the words select, in the order of `all`; everything if there is no word.
///
/// # Errors
/// A word that selects nothing.
pub fn select<T: Copy>(all: &[T], name: impl Fn(T) -> &'static str, words: &[String]) -> Result<Vec<T>, Failure> {
    let globs: Vec<Glob> = words.iter().map(Glob::new).collect();
    for (glob, word) in globs.iter().zip(words) {
        if !all.iter().any(|&item| glob.matches(name(item))) {
            return Err(Failure::UnknownKernel(nearest(word, all.iter().map(|&item| name(item)))));
        }
    }
    let wanted = |item: T| globs.is_empty() || globs.iter().any(|glob| glob.matches(name(item)));
    Ok(all.iter().copied().filter(|&item| wanted(item)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const KERNELS: [&str; 3] = ["limb64.mul_add", "limb32.mul_add", "aes128.ctr"];

    fn selected(words: &[&str]) -> Result<Vec<&'static str>, Nearest> {
        let words: Vec<String> = words.iter().map(ToString::to_string).collect();
        select(&KERNELS, |name| name, &words).map_err(|failure| match failure {
            Failure::UnknownKernel(nearest) => nearest,
            other => panic!("{other:?}"),
        })
    }

    #[test]
    fn words_select_in_the_order_of_the_catalogue() {
        assert_eq!(selected(&[]), Ok(KERNELS.to_vec()));
        assert_eq!(selected(&["limb32.mul_add", "limb64.*"]), Ok(vec!["limb64.mul_add", "limb32.mul_add"]));
        assert_eq!(selected(&["limb??.mul_add"]).unwrap().len(), 2);
        assert_eq!(selected(&["aes*", "aes128.ctr"]).unwrap(), ["aes128.ctr"]);
    }

    #[test]
    fn an_unknown_word_has_neighbours() {
        assert_eq!(selected(&["limb64.mul_ad"]).unwrap_err().names, ["limb64.mul_add", "limb32.mul_add"]);
        assert_eq!(selected(&["limb64"]).unwrap_err().names, ["limb64.mul_add"]);
        assert_eq!(selected(&["LIMB32.MUL_ADD"]).unwrap_err().names[0], "limb32.mul_add");
        assert_eq!(selected(&["aes*", "zzzz"]).unwrap_err(), Nearest { given: "zzzz".into(), names: vec![] });
        assert_eq!(selected(&[""]).unwrap_err().names, Vec::<String>::new());
        assert_eq!(selected(&[&"a".repeat(1 << 20)]).unwrap_err().given.len(), LONGEST + 3);
    }

    #[test]
    fn a_variant_may_lack_its_kernel() {
        let names = ["limb64.mul_add/mulx.u8", "limb64.mul_add/mulx_adx.u8", "limb64.mul_add/mul.u8"];
        assert_eq!(nearest("mulx.u8", names).names[0], "limb64.mul_add/mulx.u8");
        let text = nearest("limb64.mul_add/mullx.u8", names).to_string();
        assert!(text.starts_with("; did you mean `limb64.mul_add/mulx.u8`"), "{text}");
    }
}
