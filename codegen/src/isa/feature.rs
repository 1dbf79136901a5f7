//! Placeholder until the table of features is merged.
/// A feature.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[expect(missing_docs, reason = "placeholder")]
pub enum Feature {
    Mmx,
    Sse2,
    Bmi2,
    Adx,
}
/// A set.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct FeatureSet(u64);
impl FromIterator<Feature> for FeatureSet {
    fn from_iter<I: IntoIterator<Item = Feature>>(iter: I) -> Self {
        FeatureSet(iter.into_iter().fold(0, |set, f| set | 1 << f as u64))
    }
}
