//! The compiled catalogue of Kiln: every shipped variant of every kernel, a plain reference, and the types that
//! `kernels!` fills in.
//!
//! Nothing here chooses: `kiln-runtime` detects, verifies, races and dispatches. Another crate makes a catalogue of its own
//! spec files with [`kernels!`].

extern crate self as kiln_kernels;

pub mod catalogue;
pub mod reference;

pub use kiln_macros::kernels;

/// Rows of limbs.
#[cfg(feature = "limb")]
pub mod limb {
    kiln_macros::kernels! {
        specs: ["../specs/kernels/limb64_mul_add.toml", "../specs/kernels/limb32_mul_add.toml"],
        cpus: [
            "../specs/cpus/generic.toml",
            "../specs/cpus/westmere.toml",
            "../specs/cpus/sandybridge.toml",
            "../specs/cpus/haswell.toml",
            "../specs/cpus/zen3.toml",
        ],
    }
}

/// Every shipped kernel of every family that is compiled in.
pub fn kernels() -> impl Iterator<Item = &'static catalogue::Kernel> {
    let families: &[&[&catalogue::Kernel]] = &[
        #[cfg(feature = "limb")]
        limb::KERNELS,
    ];
    families.iter().flat_map(|family| family.iter().copied())
}
