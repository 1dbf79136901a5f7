//! The compiled catalogue of Kiln: every shipped variant of every kernel, a plain reference, and the types that
//! `kernels!` fills in.
//!
//! Nothing here chooses: `kiln-runtime` detects, verifies, races and dispatches. Another crate makes a catalogue of its own
//! spec files with [`kernels!`].

extern crate self as kiln_kernels;

pub mod catalogue;
pub mod reference;

pub use kiln_macros::kernels;

/// The catalogue of a family: its spec files, with every shipped CPU file.
#[cfg(any(feature = "limb", feature = "mont", feature = "aes", feature = "table"))]
macro_rules! family {
    ($($spec:tt)*) => {
        kiln_macros::kernels! {
            specs: [$($spec)*],
            cpus: [
                "../specs/cpus/generic.toml",
                "../specs/cpus/westmere.toml",
                "../specs/cpus/sandybridge.toml",
                "../specs/cpus/haswell.toml",
                "../specs/cpus/zen3.toml",
            ],
        }
    };
}

/// Rows of limbs.
#[cfg(feature = "limb")]
pub mod limb {
    family! {
        "../specs/kernels/limb64_mul.toml",
        "../specs/kernels/limb64_mul_add.toml",
        "../specs/kernels/limb64_mul_sub.toml",
        "../specs/kernels/limb64_mul_add_prop.toml",
        "../specs/kernels/limb64_sqr_add_prop.toml",
        "../specs/kernels/limb64_add.toml",
        "../specs/kernels/limb64_sub.toml",
        "../specs/kernels/limb64_mul_nxn.toml",
        "../specs/kernels/limb64_sqr_n.toml",
        "../specs/kernels/limb64_reciprocal.toml",
        "../specs/kernels/limb64_div_2by1.toml",
        "../specs/kernels/limb64_div_2by1_public.toml",
        "../specs/kernels/limb32_mul.toml",
        "../specs/kernels/limb32_mul_add.toml",
        "../specs/kernels/limb32_mul_sub.toml",
        "../specs/kernels/limb32_mul_add_prop.toml",
        "../specs/kernels/limb32_sqr_add_prop.toml",
        "../specs/kernels/limb32_add.toml",
        "../specs/kernels/limb32_sub.toml",
        "../specs/kernels/limb32_mul_nxn.toml",
        "../specs/kernels/limb32_sqr_n.toml",
        "../specs/kernels/limb32_reciprocal.toml",
        "../specs/kernels/limb32_div_2by1.toml",
        "../specs/kernels/limb32_div_2by1_public.toml",
    }
}

/// Montgomery products.
#[cfg(feature = "mont")]
pub mod mont {
    family! {
        "../specs/kernels/mont_mul.toml",
        "../specs/kernels/mont_square.toml",
        "../specs/kernels/mont_reduce.toml",
    }
}

/// AES: whole buffers and keys, with round keys as FIPS 197 has them.
#[cfg(feature = "aes")]
pub mod aes {
    family! {
        "../specs/kernels/aes_ecb_encrypt.toml",
        "../specs/kernels/aes_ecb_decrypt.toml",
        "../specs/kernels/aes_cbc_encrypt.toml",
        "../specs/kernels/aes_cbc_encrypt_x2.toml",
        "../specs/kernels/aes_cbc_encrypt_x4.toml",
        "../specs/kernels/aes_cbc_encrypt_x8.toml",
        "../specs/kernels/aes_cbc_decrypt.toml",
        "../specs/kernels/aes_ctr128.toml",
        "../specs/kernels/aes_ctr32.toml",
        "../specs/kernels/aes_expand_key.toml",
        "../specs/kernels/aes_invert_keys.toml",
    }
}

/// AES with bitsliced round keys, for CPUs without AES instructions.
#[cfg(feature = "aes")]
pub mod aes_sliced {
    family! {
        "../specs/kernels/aes_sliced_ecb_encrypt.toml",
        "../specs/kernels/aes_sliced_ecb_decrypt.toml",
        "../specs/kernels/aes_sliced_cbc_encrypt.toml",
        "../specs/kernels/aes_sliced_cbc_decrypt.toml",
        "../specs/kernels/aes_sliced_ctr128.toml",
        "../specs/kernels/aes_sliced_ctr32.toml",
        "../specs/kernels/aes_sliced_slice_keys.toml",
    }
}

/// Tables of which an entry is read without telling which.
#[cfg(feature = "table")]
pub mod table {
    family! {
        "../specs/kernels/table_read_byte_x32.toml",
        "../specs/kernels/table_read_vector_x16.toml",
        "../specs/kernels/table_read_vector_x32.toml",
        "../specs/kernels/table_read_word32_x32.toml",
        "../specs/kernels/table_read_word64_x16.toml",
        "../specs/kernels/table_read_word64_x32.toml",
        "../specs/kernels/table_store_byte_x32.toml",
        "../specs/kernels/table_store_vector_x16.toml",
        "../specs/kernels/table_store_vector_x32.toml",
        "../specs/kernels/table_store_word32_x32.toml",
        "../specs/kernels/table_store_word64_x16.toml",
        "../specs/kernels/table_store_word64_x32.toml",
    }
}

/// What every family that is compiled in brings, family by family.
struct Family {
    kernels: &'static [&'static catalogue::Kernel],
    specs: &'static [catalogue::SpecText],
    cpus: &'static [catalogue::SpecText],
    preferences: &'static [catalogue::CpuPreference],
}

static FAMILIES: &[Family] = &[
    #[cfg(feature = "limb")]
    Family { kernels: limb::KERNELS, specs: limb::SPECS, cpus: limb::CPUS, preferences: limb::PREFERENCES },
    #[cfg(feature = "mont")]
    Family { kernels: mont::KERNELS, specs: mont::SPECS, cpus: mont::CPUS, preferences: mont::PREFERENCES },
    #[cfg(feature = "aes")]
    Family { kernels: aes::KERNELS, specs: aes::SPECS, cpus: aes::CPUS, preferences: aes::PREFERENCES },
    #[cfg(feature = "aes")]
    Family {
        kernels: aes_sliced::KERNELS,
        specs: aes_sliced::SPECS,
        cpus: aes_sliced::CPUS,
        preferences: aes_sliced::PREFERENCES,
    },
    #[cfg(feature = "table")]
    Family { kernels: table::KERNELS, specs: table::SPECS, cpus: table::CPUS, preferences: table::PREFERENCES },
];

/// Every shipped kernel of every family that is compiled in.
pub fn kernels() -> impl Iterator<Item = &'static catalogue::Kernel> {
    FAMILIES.iter().flat_map(|family| family.kernels.iter().copied())
}

/// The shipped kernel specs, as compiled in.
pub fn specs() -> impl Iterator<Item = &'static catalogue::SpecText> {
    FAMILIES.iter().flat_map(|family| family.specs)
}

/// The shipped CPU files, as compiled in: the same for every family, so those of the first.
pub fn cpus() -> impl Iterator<Item = &'static catalogue::SpecText> {
    FAMILIES.iter().take(1).flat_map(|family| family.cpus)
}

/// What each CPU file prefers before anything is measured.
pub fn preferences() -> impl Iterator<Item = &'static catalogue::CpuPreference> {
    FAMILIES.iter().take(1).flat_map(|family| family.preferences)
}
