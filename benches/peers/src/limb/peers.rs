//! Who computes what a kernel computes, as data: kernels by name, so that a row works as soon as its kernel is in the build.

use crate::libraries::{Address, MOST_WITH_SCRATCH, adapters, aws_lc, gmp, openssl, s2n_bignum};
use kiln_kernels::catalogue::Entry;

/// The library of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Library {
    /// GMP.
    Gmp,
    /// OpenSSL's libcrypto.
    OpenSsl,
    /// AWS-LC's libcrypto.
    AwsLc,
    /// s2n-bignum.
    S2nBignum,
}

impl Library {
    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Library::Gmp => "GMP",
            Library::OpenSsl => "OpenSSL",
            Library::AwsLc => "AWS-LC",
            Library::S2nBignum => "s2n-bignum",
        }
    }
}

/// The n that a function may be called with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lengths {
    /// From 1.
    Any,
    /// This one.
    Only(u64),
    /// From 1 to this.
    UpTo(u64),
    /// Powers of two in this range.
    Powers(u64, u64),
    /// Even ones.
    Even,
}

impl Lengths {
    /// Whether `n` is among them.
    pub const fn have(self, n: u64) -> bool {
        match self {
            Lengths::Any => n >= 1,
            Lengths::Only(only) => n == only,
            Lengths::UpTo(most) => n >= 1 && n <= most,
            Lengths::Powers(least, most) => n.is_power_of_two() && n >= least && n <= most,
            Lengths::Even => n >= 2 && n.is_multiple_of(2),
        }
    }
}

/// A function of another library that keeps a kernel's contract at some n.
#[derive(Clone, Copy, Debug)]
pub struct Peer {
    /// Where it is from.
    pub library: Library,
    /// Its name there.
    pub function: &'static str,
    /// The function itself, or an adapter.
    pub entry: Entry,
    /// What it may be called with.
    pub lengths: Lengths,
    /// CPU features that it needs, by the names of Kiln's table. GMP is made for the CPU that builds it and says nothing.
    pub features: &'static [&'static str],
    /// Whether an adapter stands between.
    pub adapter: bool,
    /// Whether it is there to show something about the measurement, and is nobody's rival.
    pub control: bool,
}

const fn peer(library: Library, function: &'static str, lengths: Lengths, address: Address) -> Peer {
    let entry = Entry::new(address);
    Peer { library, function, entry, lengths, features: &[], adapter: false, control: false }
}

impl Peer {
    const fn needs(mut self, features: &'static [&'static str]) -> Peer {
        self.features = features;
        self
    }

    const fn adapted(mut self) -> Peer {
        self.adapter = true;
        self
    }

    const fn control(mut self) -> Peer {
        self.control = true;
        self
    }

    /// `GMP mpn_mul_1`.
    pub fn title(&self) -> String {
        let note = if self.control { " (control: through an adapter)" } else { "" };
        format!("{} {}{note}", self.library.name(), self.function)
    }
}

/// What a kernel's time is divided by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Per {
    /// One limb of n.
    Limb,
    /// One call.
    Call,
}

/// A kernel with its peers.
#[derive(Clone, Copy, Debug)]
pub struct Match {
    /// The kernel's name.
    pub kernel: &'static str,
    /// What its time is divided by.
    pub per: Per,
    /// The lengths that are raced if none are given.
    pub sizes: &'static [u64],
    /// The number of 64-bit multiplications of the schoolbook method at n limbs; `None` if that is not what limits it.
    pub products: Option<fn(u64) -> u64>,
    /// Who else computes it.
    pub peers: &'static [Peer],
}

const ROWS: &[u64] = &[8, 16, 32, 64, 128];
const PRODUCTS: &[u64] = &[8, 16, 32];
const ROWS32: &[u64] = &[16, 32, 64, 128, 256];
const PRODUCTS32: &[u64] = &[16, 32, 64];
const ADX: &[&str] = &["bmi2", "adx"];

use Lengths::{Any, Even, Only, Powers, UpTo};
use Library::{AwsLc, Gmp, OpenSsl, S2nBignum};

/// Every kernel that has peers.
#[rustfmt::skip]
pub static MATCHES: &[Match] = &[
    Match { kernel: "limb64.mul", per: Per::Limb, sizes: ROWS, products: Some(|n| n), peers: &[
        peer(Gmp, "mpn_mul_1", Any, gmp::mpn_mul_1 as Address),
        peer(OpenSsl, "bn_mul_words", Any, openssl::bn_mul_words as Address),
        peer(AwsLc, "bn_mul_words", Any, aws_lc::bn_mul_words as Address),
        peer(S2nBignum, "bignum_cmul", Any, adapters::bignum_cmul as Address).adapted(),
    ] },
    Match { kernel: "limb64.mul_add", per: Per::Limb, sizes: ROWS, products: Some(|n| n), peers: &[
        peer(Gmp, "mpn_addmul_1", Any, gmp::mpn_addmul_1 as Address),
        peer(Gmp, "mpn_addmul_1", Any, adapters::mpn_addmul_1 as Address).adapted().control(),
        peer(OpenSsl, "bn_mul_add_words", Any, openssl::bn_mul_add_words as Address),
        peer(AwsLc, "bn_mul_add_words", Any, aws_lc::bn_mul_add_words as Address),
        peer(S2nBignum, "bignum_cmadd", Any, adapters::bignum_cmadd as Address).adapted(),
    ] },
    Match { kernel: "limb64.mul_sub", per: Per::Limb, sizes: ROWS, products: Some(|n| n), peers: &[
        peer(Gmp, "mpn_submul_1", Any, gmp::mpn_submul_1 as Address),
        peer(S2nBignum, "bignum_cmnegadd", Any, adapters::bignum_cmnegadd as Address).adapted(),
    ] },
    Match { kernel: "limb64.mul_add_prop", per: Per::Limb, sizes: ROWS, products: Some(|n| n), peers: &[
        peer(Gmp, "mpn_addmul_1 + mpn_add_1", Any, adapters::mpn_addmul_1_add_1 as Address).adapted(),
        peer(S2nBignum, "bignum_cmadd", Any, adapters::bignum_cmadd_longer as Address).adapted(),
    ] },
    Match { kernel: "limb64.add", per: Per::Limb, sizes: ROWS, products: None, peers: &[
        peer(Gmp, "mpn_add_n", Any, gmp::mpn_add_n as Address),
        peer(OpenSsl, "bn_add_words", Any, openssl::bn_add_words as Address),
        peer(AwsLc, "bn_add_words", Any, aws_lc::bn_add_words as Address),
        peer(S2nBignum, "bignum_add", Any, adapters::bignum_add as Address).adapted(),
    ] },
    Match { kernel: "limb64.sub", per: Per::Limb, sizes: ROWS, products: None, peers: &[
        peer(Gmp, "mpn_sub_n", Any, gmp::mpn_sub_n as Address),
        peer(OpenSsl, "bn_sub_words", Any, openssl::bn_sub_words as Address),
        peer(AwsLc, "bn_sub_words", Any, aws_lc::bn_sub_words as Address),
        peer(S2nBignum, "bignum_sub", Any, adapters::bignum_sub as Address).adapted(),
    ] },
    Match { kernel: "limb64.mul_nxn", per: Per::Call, sizes: PRODUCTS, products: Some(|n| n * n), peers: &[
        peer(Gmp, "mpn_mul_n", Any, gmp::mpn_mul_n as Address),
        peer(Gmp, "mpn_mul_basecase", Any, adapters::mpn_mul_basecase as Address).adapted(),
        // Who has fewer arguments than the kernel does not see the others: they are in registers, and the kernel's to lose.
        peer(OpenSsl, "bn_mul_comba4", Only(4), openssl::bn_mul_comba4 as Address),
        peer(OpenSsl, "bn_mul_comba8", Only(8), openssl::bn_mul_comba8 as Address),
        peer(OpenSsl, "bn_mul_normal", Any, adapters::bn_mul_normal as Address).adapted(),
        peer(OpenSsl, "bn_mul_recursive", Powers(16, MOST_WITH_SCRATCH), adapters::bn_mul_recursive as Address).adapted(),
        peer(AwsLc, "bn_mul_comba4", Only(4), aws_lc::bn_mul_comba4 as Address),
        peer(AwsLc, "bn_mul_comba8", Only(8), aws_lc::bn_mul_comba8 as Address),
        peer(AwsLc, "bn_mul_small", Any, adapters::bn_mul_small as Address).adapted(),
        peer(S2nBignum, "bignum_mul_4_8", Only(4), s2n_bignum::bignum_mul_4_8 as Address).needs(ADX),
        peer(S2nBignum, "bignum_mul_8_16", Only(8), s2n_bignum::bignum_mul_8_16 as Address).needs(ADX),
        peer(S2nBignum, "bignum_mul_8_16_alt", Only(8), s2n_bignum::bignum_mul_8_16_alt as Address),
        peer(S2nBignum, "bignum_kmul_16_32", Only(16), adapters::bignum_kmul_16_32 as Address).adapted().needs(ADX),
        peer(S2nBignum, "bignum_kmul_32_64", Only(32), adapters::bignum_kmul_32_64 as Address).adapted().needs(ADX),
        peer(S2nBignum, "bignum_mul", Any, adapters::bignum_mul as Address).adapted(),
    ] },
    Match { kernel: "limb64.sqr_n", per: Per::Call, sizes: PRODUCTS, products: Some(|n| n * (n + 1) / 2), peers: &[
        peer(Gmp, "mpn_sqr", Any, gmp::mpn_sqr as Address),
        // GMP itself goes over to Toom-Cook there.
        peer(Gmp, "mpn_sqr_basecase", UpTo(32), gmp::mpn_sqr_basecase as Address),
        peer(OpenSsl, "bn_sqr_comba4", Only(4), openssl::bn_sqr_comba4 as Address),
        peer(OpenSsl, "bn_sqr_comba8", Only(8), openssl::bn_sqr_comba8 as Address),
        peer(OpenSsl, "bn_sqr_normal", UpTo(MOST_WITH_SCRATCH), adapters::bn_sqr_normal as Address).adapted(),
        peer(OpenSsl, "bn_sqr_recursive", Powers(16, MOST_WITH_SCRATCH), adapters::bn_sqr_recursive as Address).adapted(),
        peer(AwsLc, "bn_sqr_comba4", Only(4), aws_lc::bn_sqr_comba4 as Address),
        peer(AwsLc, "bn_sqr_comba8", Only(8), aws_lc::bn_sqr_comba8 as Address),
        peer(S2nBignum, "bignum_sqr_4_8", Only(4), s2n_bignum::bignum_sqr_4_8 as Address).needs(ADX),
        peer(S2nBignum, "bignum_sqr_8_16", Only(8), s2n_bignum::bignum_sqr_8_16 as Address).needs(ADX),
        peer(S2nBignum, "bignum_sqr_8_16_alt", Only(8), s2n_bignum::bignum_sqr_8_16_alt as Address),
        peer(S2nBignum, "bignum_ksqr_16_32", Only(16), adapters::bignum_ksqr_16_32 as Address).adapted().needs(ADX),
        peer(S2nBignum, "bignum_ksqr_32_64", Only(32), adapters::bignum_ksqr_32_64 as Address).adapted().needs(ADX),
        peer(S2nBignum, "bignum_sqr", Any, adapters::bignum_sqr as Address).adapted(),
    ] },
    // Nobody else has limbs of 32 bits on a 64-bit CPU: what others would do is to take the same memory as half as many limbs
    // of 64 bits.
    Match { kernel: "limb32.mul", per: Per::Limb, sizes: ROWS32, products: None, peers: &[
        peer(Gmp, "mpn_mul_1 on 64-bit limbs", Even, adapters::mpn_mul_1_half as Address).adapted(),
    ] },
    Match { kernel: "limb32.mul_add", per: Per::Limb, sizes: ROWS32, products: None, peers: &[
        peer(Gmp, "mpn_addmul_1 on 64-bit limbs", Even, adapters::mpn_addmul_1_half as Address).adapted(),
    ] },
    Match { kernel: "limb32.mul_sub", per: Per::Limb, sizes: ROWS32, products: None, peers: &[
        peer(Gmp, "mpn_submul_1 on 64-bit limbs", Even, adapters::mpn_submul_1_half as Address).adapted(),
    ] },
    Match { kernel: "limb32.add", per: Per::Limb, sizes: ROWS32, products: None, peers: &[
        peer(Gmp, "mpn_add_n on 64-bit limbs", Even, adapters::mpn_add_n_half as Address).adapted(),
    ] },
    Match { kernel: "limb32.sub", per: Per::Limb, sizes: ROWS32, products: None, peers: &[
        peer(Gmp, "mpn_sub_n on 64-bit limbs", Even, adapters::mpn_sub_n_half as Address).adapted(),
    ] },
    Match { kernel: "limb32.mul_nxn", per: Per::Call, sizes: PRODUCTS32, products: None, peers: &[
        peer(Gmp, "mpn_mul_n on 64-bit limbs", Even, adapters::mpn_mul_n_half as Address).adapted(),
    ] },
    Match { kernel: "limb32.sqr_n", per: Per::Call, sizes: PRODUCTS32, products: None, peers: &[
        peer(Gmp, "mpn_sqr on 64-bit limbs", Even, adapters::mpn_sqr_half as Address).adapted(),
    ] },
];

#[cfg(test)]
mod tests;
