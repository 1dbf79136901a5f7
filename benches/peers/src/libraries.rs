//! The functions of the other libraries: declarations, adapters where the order of the arguments is another, versions.
//!
//! On x86-64 Linux `extern "C"` is System V, which is the convention of Kiln's kernels: most of these functions are called
//! with nothing in between. An adapter is a move or two and a jump; where it is more, its comment says so.
//!
//! Every function here reads and writes what the kernel of its row in `peers` does, and needs n >= 1.

use std::cell::UnsafeCell;
use std::ffi::{CStr, c_char, c_int, c_long, c_void};

/// What a row of the table of peers points to.
pub type Address = *const c_void;

/// GMP, built by the build script for the CPU at hand. `mp_size_t` is long, a limb has 64 bits.
#[allow(
    missing_docs,
    reason = "documented by GMP, \"Low-level Functions\"; mul_basecase and sqr_basecase are internal"
)]
pub mod gmp {
    use super::{c_char, c_long};

    unsafe extern "C" {
        #[link_name = "__gmpn_mul_1"]
        pub fn mpn_mul_1(r: *mut u64, a: *const u64, n: c_long, w: u64) -> u64;
        #[link_name = "__gmpn_addmul_1"]
        pub fn mpn_addmul_1(r: *mut u64, a: *const u64, n: c_long, w: u64) -> u64;
        #[link_name = "__gmpn_submul_1"]
        pub fn mpn_submul_1(r: *mut u64, a: *const u64, n: c_long, w: u64) -> u64;
        #[link_name = "__gmpn_add_1"]
        pub fn mpn_add_1(r: *mut u64, a: *const u64, n: c_long, w: u64) -> u64;
        #[link_name = "__gmpn_add_n"]
        pub fn mpn_add_n(r: *mut u64, a: *const u64, b: *const u64, n: c_long) -> u64;
        #[link_name = "__gmpn_sub_n"]
        pub fn mpn_sub_n(r: *mut u64, a: *const u64, b: *const u64, n: c_long) -> u64;
        #[link_name = "__gmpn_mul_n"]
        pub fn mpn_mul_n(r: *mut u64, a: *const u64, b: *const u64, n: c_long);
        #[link_name = "__gmpn_mul_basecase"]
        pub fn mpn_mul_basecase(r: *mut u64, a: *const u64, an: c_long, b: *const u64, bn: c_long);
        #[link_name = "__gmpn_sqr"]
        pub fn mpn_sqr(r: *mut u64, a: *const u64, n: c_long);
        #[link_name = "__gmpn_sqr_basecase"]
        pub fn mpn_sqr_basecase(r: *mut u64, a: *const u64, n: c_long);
        #[link_name = "__gmp_version"]
        pub static VERSION: *const c_char;
    }
}

/// OpenSSL's `crypto/bn/bn_local.h`: not public, but in the static library.
#[allow(missing_docs, reason = "documented by OpenSSL, doc/internal/man3/bn_mul_words.pod")]
pub mod openssl {
    use super::{c_char, c_int};

    unsafe extern "C" {
        pub fn bn_mul_words(r: *mut u64, a: *const u64, n: c_int, w: u64) -> u64;
        pub fn bn_mul_add_words(r: *mut u64, a: *const u64, n: c_int, w: u64) -> u64;
        pub fn bn_add_words(r: *mut u64, a: *const u64, b: *const u64, n: c_int) -> u64;
        pub fn bn_sub_words(r: *mut u64, a: *const u64, b: *const u64, n: c_int) -> u64;
        pub fn bn_mul_comba4(r: *mut u64, a: *const u64, b: *const u64);
        pub fn bn_mul_comba8(r: *mut u64, a: *const u64, b: *const u64);
        pub fn bn_mul_normal(r: *mut u64, a: *const u64, an: c_int, b: *const u64, bn: c_int);
        pub fn bn_mul_recursive(
            r: *mut u64,
            a: *const u64,
            b: *const u64,
            n: c_int,
            dna: c_int,
            dnb: c_int,
            scratch: *mut u64,
        );
        pub fn bn_sqr_comba4(r: *mut u64, a: *const u64);
        pub fn bn_sqr_comba8(r: *mut u64, a: *const u64);
        pub fn bn_sqr_normal(r: *mut u64, a: *const u64, n: c_int, scratch: *mut u64);
        pub fn bn_sqr_recursive(r: *mut u64, a: *const u64, n: c_int, scratch: *mut u64);
        pub fn OpenSSL_version(what: c_int) -> *const c_char;
    }
}

/// AWS-LC's `crypto/fipsmodule/bn/internal.h`: not public, but in the static library, with the crate's prefix.
#[allow(missing_docs, reason = "documented by AWS-LC, crypto/fipsmodule/bn/internal.h")]
pub mod aws_lc {
    unsafe extern "C" {
        #[link_name = "aws_lc_0_47_0_bn_mul_words"]
        pub fn bn_mul_words(r: *mut u64, a: *const u64, n: usize, w: u64) -> u64;
        #[link_name = "aws_lc_0_47_0_bn_mul_add_words"]
        pub fn bn_mul_add_words(r: *mut u64, a: *const u64, n: usize, w: u64) -> u64;
        #[link_name = "aws_lc_0_47_0_bn_add_words"]
        pub fn bn_add_words(r: *mut u64, a: *const u64, b: *const u64, n: usize) -> u64;
        #[link_name = "aws_lc_0_47_0_bn_sub_words"]
        pub fn bn_sub_words(r: *mut u64, a: *const u64, b: *const u64, n: usize) -> u64;
        #[link_name = "aws_lc_0_47_0_bn_mul_comba4"]
        pub fn bn_mul_comba4(r: *mut u64, a: *const u64, b: *const u64);
        #[link_name = "aws_lc_0_47_0_bn_mul_comba8"]
        pub fn bn_mul_comba8(r: *mut u64, a: *const u64, b: *const u64);
        #[link_name = "aws_lc_0_47_0_bn_mul_small"]
        pub fn bn_mul_small(r: *mut u64, rn: usize, a: *const u64, an: usize, b: *const u64, bn: usize);
        #[link_name = "aws_lc_0_47_0_bn_sqr_comba4"]
        pub fn bn_sqr_comba4(r: *mut u64, a: *const u64);
        #[link_name = "aws_lc_0_47_0_bn_sqr_comba8"]
        pub fn bn_sqr_comba8(r: *mut u64, a: *const u64);
    }
}

/// s2n-bignum, built by the build script from the sources that AWS-LC carries.
#[allow(missing_docs, reason = "documented by s2n-bignum, include/s2n-bignum.h")]
pub mod s2n_bignum {
    unsafe extern "C" {
        pub fn bignum_cmul(k: u64, z: *mut u64, c: u64, n: u64, y: *const u64) -> u64;
        pub fn bignum_cmadd(k: u64, z: *mut u64, c: u64, n: u64, y: *const u64) -> u64;
        pub fn bignum_cmnegadd(k: u64, z: *mut u64, c: u64, n: u64, y: *const u64) -> u64;
        pub fn bignum_add(p: u64, z: *mut u64, m: u64, x: *const u64, n: u64, y: *const u64) -> u64;
        pub fn bignum_sub(p: u64, z: *mut u64, m: u64, x: *const u64, n: u64, y: *const u64) -> u64;
        pub fn bignum_mul(k: u64, z: *mut u64, m: u64, x: *const u64, n: u64, y: *const u64);
        pub fn bignum_sqr(k: u64, z: *mut u64, n: u64, x: *const u64);
        pub fn bignum_mul_4_8(z: *mut u64, x: *const u64, y: *const u64);
        pub fn bignum_mul_8_16(z: *mut u64, x: *const u64, y: *const u64);
        pub fn bignum_mul_8_16_alt(z: *mut u64, x: *const u64, y: *const u64);
        pub fn bignum_kmul_16_32(z: *mut u64, x: *const u64, y: *const u64, t: *mut u64);
        pub fn bignum_kmul_32_64(z: *mut u64, x: *const u64, y: *const u64, t: *mut u64);
        pub fn bignum_sqr_4_8(z: *mut u64, x: *const u64);
        pub fn bignum_sqr_8_16(z: *mut u64, x: *const u64);
        pub fn bignum_sqr_8_16_alt(z: *mut u64, x: *const u64);
        pub fn bignum_ksqr_16_32(z: *mut u64, x: *const u64, t: *mut u64);
        pub fn bignum_ksqr_32_64(z: *mut u64, x: *const u64, t: *mut u64);
    }
}

/// Largest n of a function that takes [`SCRATCH`]: OpenSSL's recursion wants 4 n limbs.
pub const MOST_WITH_SCRATCH: u64 = 1024;

/// Memory that some functions want beside their operands. A caller of theirs has it at hand too, so getting it is no part
/// of what is timed.
#[repr(align(64))]
struct Scratch(UnsafeCell<[u64; 4 * MOST_WITH_SCRATCH as usize]>);

// SAFETY: only the functions below touch it, and this program calls them from its one thread.
unsafe impl Sync for Scratch {}

static SCRATCH: Scratch = Scratch(UnsafeCell::new([0; 4 * MOST_WITH_SCRATCH as usize]));

/// Functions with a kernel's arguments that call one of a library's with its own.
#[allow(missing_docs, reason = "each is named after what it calls")]
pub mod adapters {
    use super::{SCRATCH, aws_lc, c_int, c_long, gmp, openssl, s2n_bignum};

    /// Declares adapters: the kernel's arguments, and the one expression that calls the library.
    macro_rules! adapters {
        ($($(#[$note:meta])* $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)? = $call:expr;)*) => {$(
            $(#[$note])*
            ///
            /// # Safety
            /// As the contract of the kernel says, with n >= 1.
            pub unsafe extern "sysv64" fn $name($($argument: $type),*) $(-> $result)? {
                // SAFETY: the library's function reads and writes what the kernel's contract says, which the caller keeps;
                // scratch is large enough for the n that the table of peers lets through, and has one user.
                unsafe { $call }
            }
        )*};
    }

    adapters! {
        /// The control: the same as without an adapter, to see what one costs.
        mpn_addmul_1(r: *mut u64, a: *const u64, n: u64, w: u64) -> u64 = gmp::mpn_addmul_1(r, a, n as c_long, w);
        /// A row and the propagation of its carry, as callers of `mpn_addmul_1` write it.
        mpn_addmul_1_add_1(r: *mut u64, a: *const u64, n: u64, more: u64, w: u64) -> u64 = {
            let carry = gmp::mpn_addmul_1(r, a, n as c_long, w);
            if more == 0 {
                carry
            } else {
                let top = r.add(n as usize);
                gmp::mpn_add_1(top, top, more as c_long, carry)
            }
        };
        mpn_mul_basecase(r: *mut u64, a: *const u64, b: *const u64, n: u64) =
            gmp::mpn_mul_basecase(r, a, n as c_long, b, n as c_long);

        // Rows and products of n limbs of 32 bits are those of n / 2 limbs of 64 bits on the same memory, with the same carry.
        mpn_mul_1_half(r: *mut u64, a: *const u64, n: u64, w: u32) -> u64 =
            gmp::mpn_mul_1(r, a, (n / 2) as c_long, u64::from(w));
        mpn_addmul_1_half(r: *mut u64, a: *const u64, n: u64, w: u32) -> u64 =
            gmp::mpn_addmul_1(r, a, (n / 2) as c_long, u64::from(w));
        mpn_submul_1_half(r: *mut u64, a: *const u64, n: u64, w: u32) -> u64 =
            gmp::mpn_submul_1(r, a, (n / 2) as c_long, u64::from(w));
        mpn_add_n_half(r: *mut u64, a: *const u64, b: *const u64, n: u64) -> u64 =
            gmp::mpn_add_n(r, a, b, (n / 2) as c_long);
        mpn_sub_n_half(r: *mut u64, a: *const u64, b: *const u64, n: u64) -> u64 =
            gmp::mpn_sub_n(r, a, b, (n / 2) as c_long);
        mpn_mul_n_half(r: *mut u64, a: *const u64, b: *const u64, n: u64) =
            gmp::mpn_mul_n(r, a, b, (n / 2) as c_long);
        mpn_sqr_half(r: *mut u64, a: *const u64, n: u64) = gmp::mpn_sqr(r, a, (n / 2) as c_long);

        bn_mul_normal(r: *mut u64, a: *const u64, b: *const u64, n: u64) =
            openssl::bn_mul_normal(r, a, n as c_int, b, n as c_int);
        /// A seventh argument goes over the stack: some ticks of hundreds.
        bn_mul_recursive(r: *mut u64, a: *const u64, b: *const u64, n: u64) =
            openssl::bn_mul_recursive(r, a, b, n as c_int, 0, 0, SCRATCH.0.get().cast());
        bn_sqr_normal(r: *mut u64, a: *const u64, n: u64) =
            openssl::bn_sqr_normal(r, a, n as c_int, SCRATCH.0.get().cast());
        bn_sqr_recursive(r: *mut u64, a: *const u64, n: u64) =
            openssl::bn_sqr_recursive(r, a, n as c_int, SCRATCH.0.get().cast());

        bn_mul_small(r: *mut u64, a: *const u64, b: *const u64, n: u64) =
            aws_lc::bn_mul_small(r, 2 * n as usize, a, n as usize, b, n as usize);

        bignum_cmul(r: *mut u64, a: *const u64, n: u64, w: u64) -> u64 = s2n_bignum::bignum_cmul(n, r, w, n, a);
        bignum_cmadd(r: *mut u64, a: *const u64, n: u64, w: u64) -> u64 = s2n_bignum::bignum_cmadd(n, r, w, n, a);
        bignum_cmadd_longer(r: *mut u64, a: *const u64, n: u64, more: u64, w: u64) -> u64 =
            s2n_bignum::bignum_cmadd(n + more, r, w, n, a);
        bignum_cmnegadd(r: *mut u64, a: *const u64, n: u64, w: u64) -> u64 =
            s2n_bignum::bignum_cmnegadd(n, r, w, n, a);
        bignum_add(r: *mut u64, a: *const u64, b: *const u64, n: u64) -> u64 =
            s2n_bignum::bignum_add(n, r, n, a, n, b);
        bignum_sub(r: *mut u64, a: *const u64, b: *const u64, n: u64) -> u64 =
            s2n_bignum::bignum_sub(n, r, n, a, n, b);
        bignum_mul(r: *mut u64, a: *const u64, b: *const u64, n: u64) = s2n_bignum::bignum_mul(2 * n, r, n, a, n, b);
        bignum_sqr(r: *mut u64, a: *const u64, n: u64) = s2n_bignum::bignum_sqr(2 * n, r, n, a);
        bignum_kmul_16_32(r: *mut u64, a: *const u64, b: *const u64, _n: u64) =
            s2n_bignum::bignum_kmul_16_32(r, a, b, SCRATCH.0.get().cast());
        bignum_kmul_32_64(r: *mut u64, a: *const u64, b: *const u64, _n: u64) =
            s2n_bignum::bignum_kmul_32_64(r, a, b, SCRATCH.0.get().cast());
        bignum_ksqr_16_32(r: *mut u64, a: *const u64, _n: u64) =
            s2n_bignum::bignum_ksqr_16_32(r, a, SCRATCH.0.get().cast());
        bignum_ksqr_32_64(r: *mut u64, a: *const u64, _n: u64) =
            s2n_bignum::bignum_ksqr_32_64(r, a, SCRATCH.0.get().cast());
    }
}

/// GMP's version, as the library says.
pub fn gmp_version() -> String {
    // SAFETY: a constant of the library, never written.
    text(unsafe { gmp::VERSION })
}

/// OpenSSL's version, as the library says.
pub fn openssl_version() -> String {
    // SAFETY: 0 is OPENSSL_VERSION; the text is static.
    let version = text(unsafe { openssl::OpenSSL_version(0) });
    version.strip_prefix("OpenSSL ").map(str::to_owned).unwrap_or(version)
}

/// AWS-LC's version, as its headers say.
pub fn aws_lc_version() -> String {
    CStr::from_bytes_with_nul(aws_lc_sys::AWSLC_VERSION_NUMBER_STRING)
        .map_or_else(|_| String::new(), |version| version.to_string_lossy().into_owned())
}

fn text(pointer: *const c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // SAFETY: the callers give the address of a text of static length that ends in 0.
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}
