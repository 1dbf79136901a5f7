//! Builds the peers that Cargo does not build by itself: GMP for the CPU at hand, OpenSSL, and the kernels of s2n-bignum.
//! Their sources are those of the crates that carry them; nothing of them is in this repository.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Functions whose source file in GMP is told to the program: they tell for which CPU GMP was built.
const GMP_TOLD: [&str; 6] = ["addmul_1", "submul_1", "mul_1", "add_n", "mul_basecase", "sqr_basecase"];

/// The files of s2n-bignum that the table of peers needs, under `x86_att`.
const S2N_BIGNUM: [&str; 17] = [
    "fastmul/bignum_mul_4_8",
    "fastmul/bignum_mul_8_16",
    "fastmul/bignum_mul_8_16_alt",
    "fastmul/bignum_sqr_4_8",
    "fastmul/bignum_sqr_8_16",
    "fastmul/bignum_sqr_8_16_alt",
    "fastmul/bignum_kmul_16_32",
    "fastmul/bignum_kmul_32_64",
    "fastmul/bignum_ksqr_16_32",
    "fastmul/bignum_ksqr_32_64",
    "generic/bignum_mul",
    "generic/bignum_sqr",
    "generic/bignum_cmul",
    "generic/bignum_cmadd",
    "generic/bignum_cmnegadd",
    "generic/bignum_add",
    "generic/bignum_sub",
];

/// RustCrypto's crates that are raced, each in two versions.
const RUST_CRYPTO: [&str; 3] = ["aes", "cbc", "ctr"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=KILN_PEERS_GMP_CPU");
    let target = env::var("TARGET").expect("Cargo sets TARGET");
    let host = env::var("HOST").expect("Cargo sets HOST");
    assert!(
        target == host && target.starts_with("x86_64") && target.contains("linux"),
        "kiln-peers is for x86-64 Linux, built where it runs: GMP is made for the CPU that builds it"
    );
    let sources = Sources::find();
    // In the folder of the profile: Cargo gives this script another one for clippy, and these builds take minutes.
    let own = PathBuf::from(env::var_os("OUT_DIR").expect("Cargo sets OUT_DIR"));
    let profile = own.ancestors().nth(3).expect("PROFILE/build/PACKAGE/out");
    let out = profile.join("kiln-peers-libraries");
    fs::create_dir_all(&out).expect("the target folder is ours");
    gmp(&sources.of("gmp-mpfr-sys"), &out);
    s2n_bignum(&sources.of("aws-lc-sys"));
    openssl(&out);
    rust_crypto(&out);
    for (name, variable) in [("ring", "RING"), ("graviola", "GRAVIOLA"), ("rsa", "RSA")] {
        println!("cargo::rustc-env=KILN_PEERS_{variable}={}", sources.version(name));
    }
    println!("cargo::rustc-env=KILN_PEERS_RUST_CRYPTO={}", sources.versions(true));
    println!("cargo::rustc-env=KILN_PEERS_RUST_CRYPTO_BEFORE={}", sources.versions(false));
}

/// Whether a build in `folder` was made with these words. Such a build takes minutes, and this script runs again for less.
fn is_made(folder: &Path, words: &str) -> bool {
    fs::read_to_string(folder.join("kiln-peers.made")).is_ok_and(|made| made == words)
}

fn is_made_now(folder: &Path, words: &str) {
    fs::write(folder.join("kiln-peers.made"), words).expect("the build folder is ours");
}

/// OpenSSL's static library, non-public functions and all.
fn openssl(out: &Path) {
    let folder = out.join("openssl-build");
    if !is_made(&folder, openssl_src::version()) {
        openssl_src::Build::new().out_dir(&folder).build();
        is_made_now(&folder, openssl_src::version());
    }
    println!("cargo::rustc-link-search=native={}", folder.join("install/lib").display());
    println!("cargo::rustc-link-lib=static=crypto");
}

/// Where Cargo unpacked the crates of the lock file.
struct Sources(serde_json::Value);

impl Sources {
    fn find() -> Sources {
        let cargo = env::var_os("CARGO").expect("Cargo sets CARGO");
        let manifest = Path::new(&env::var_os("CARGO_MANIFEST_DIR").expect("Cargo sets it")).join("Cargo.toml");
        let mut command = Command::new(cargo);
        command.args(["metadata", "--format-version", "1", "--locked", "--manifest-path"]).arg(manifest);
        let output = command.output().expect("cargo metadata runs");
        assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
        Sources(serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON"))
    }

    fn of(&self, name: &str) -> PathBuf {
        let packages = self.0["packages"].as_array().expect("metadata has packages");
        let package = packages.iter().find(|package| package["name"] == name);
        let manifest = package.and_then(|package| package["manifest_path"].as_str());
        let manifest = manifest.unwrap_or_else(|| panic!("{name} is not in the lock file"));
        Path::new(manifest).parent().expect("a manifest is in a folder").to_owned()
    }

    fn version(&self, name: &str) -> String {
        let packages = self.0["packages"].as_array().expect("metadata has packages");
        let package = packages.iter().find(|package| package["name"] == name);
        package.and_then(|package| package["version"].as_str()).unwrap_or("?").to_owned()
    }

    /// The versions of RustCrypto's crates, of which the lock file has two each.
    fn versions(&self, newest: bool) -> String {
        let packages = self.0["packages"].as_array().expect("metadata has packages");
        let version = |name: &&str| {
            let own = packages.iter().filter(|package| package["name"] == **name);
            let own = own.filter_map(|package| package["version"].as_str());
            // By their numbers; what is behind a plus or a minus does not matter here.
            let numbers = |version: &&str| {
                version.split(['.', '+', '-']).map_while(|part| part.parse().ok()).collect::<Vec<u32>>()
            };
            let version = if newest { own.max_by_key(numbers) } else { own.min_by_key(numbers) };
            format!("{name} {}", version.unwrap_or("?"))
        };
        RUST_CRYPTO.iter().map(version).collect::<Vec<_>>().join(", ")
    }
}

/// GMP without `--enable-fat`, so that its functions are called directly and are those of this CPU.
fn gmp(package: &Path, out: &Path) {
    let source = package.join("gmp-6.3.0-c");
    let build = out.join("gmp");
    let mut options = vec!["--disable-shared", "--enable-static", "--disable-cxx", "--with-pic"];
    let forced = env::var("KILN_PEERS_GMP_CPU").ok().filter(|cpu| !cpu.is_empty());
    let forced = forced.map(|cpu| format!("--build={cpu}-pc-linux-gnu"));
    options.extend(forced.as_deref());
    let words = format!("{} {}", source.display(), options.join(" "));
    if !is_made(&build, &words) {
        // A build for another CPU may be there.
        let _ = fs::remove_dir_all(&build);
        fs::create_dir_all(&build).expect("the build folder is ours");
        // Flags of this build are not for GMP, which knows better.
        let run_alone = |command: &mut Command| {
            for name in ["CFLAGS", "CPPFLAGS", "LDFLAGS", "CONFIG_SITE", "MAKEFLAGS", "MFLAGS"] {
                command.env_remove(name);
            }
            run(command.current_dir(&build));
        };
        run_alone(Command::new("sh").arg(source.join("configure")).args(options));
        let jobs = env::var("NUM_JOBS").unwrap_or_else(|_| "1".to_owned());
        run_alone(Command::new("make").arg("-s").arg("-j").arg(jobs));
        is_made_now(&build, &words);
    }
    println!("cargo::rustc-link-search=native={}", build.join(".libs").display());
    println!("cargo::rustc-link-lib=static=gmp");

    let log = fs::read_to_string(build.join("config.log")).expect("configure writes config.log");
    let variable = |name: &str| {
        // The last one is what it came to.
        let line = log.lines().rev().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        line.unwrap_or("?").trim_matches('\'').to_owned()
    };
    println!("cargo::rustc-env=KILN_PEERS_GMP_HOST={}", variable("host"));
    println!("cargo::rustc-env=KILN_PEERS_GMP_CFLAGS={}", variable("CFLAGS"));
    // configure links the file that it has chosen for each function into the build's `mpn`.
    let told: Vec<String> = GMP_TOLD
        .iter()
        .map(|function| format!("{function}={}", gmp_file(&build.join("mpn"), function, &source.join("mpn"))))
        .collect();
    println!("cargo::rustc-env=KILN_PEERS_GMP_FILES={}", told.join(" "));
}

/// The file of GMP's `mpn` folder that a function was built from.
fn gmp_file(mpn: &Path, function: &str, source: &Path) -> String {
    let links = ["asm", "c"].map(|extension| mpn.join(function).with_extension(extension));
    let Some(target) = links.iter().find_map(|link| fs::canonicalize(link).ok()) else { return "?".to_owned() };
    let source = fs::canonicalize(source).unwrap_or_else(|_| source.to_owned());
    target.strip_prefix(&source).unwrap_or(&target).display().to_string()
}

/// The kernels of s2n-bignum as AWS-LC carries them, without AWS-LC's prefix.
fn s2n_bignum(package: &Path) {
    let root = package.join("aws-lc/third_party/s2n-bignum/s2n-bignum-imported");
    let mut build = cc::Build::new();
    // AWS-LC's own headers: its file of prefixes is empty.
    build.include(root.join("include")).include(package.join("aws-lc/include"));
    for name in S2N_BIGNUM {
        build.file(root.join("x86_att").join(name).with_extension("S"));
    }
    build.compile("kiln_peers_s2n_bignum");
}

/// RustCrypto's AES once more, as a shared library for the CPU at hand: what chooses at run time finds no VAES without AVX-512.
fn rust_crypto(out: &Path) {
    println!("cargo::rerun-if-changed=rust-crypto");
    println!("cargo::rerun-if-changed=Cargo.lock");
    let target = out.join("rust-crypto");
    let mut command = Command::new(env::var_os("CARGO").expect("Cargo sets CARGO"));
    command.args(["rustc", "--release", "--locked", "--lib", "--crate-type", "cdylib", "--features", "native"]);
    command.args(["--package", "kiln-peers-rust-crypto", "--target-dir"]).arg(&target);
    // What the program is built with, or looked at by, is not for it.
    for name in ["CARGO_ENCODED_RUSTFLAGS", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "CARGO_BUILD_TARGET"] {
        command.env_remove(name);
    }
    run(command.env("RUSTFLAGS", "-C target-cpu=native"));
    let folder = target.join("release");
    println!("cargo::rustc-link-search=native={}", folder.display());
    println!("cargo::rustc-link-arg=-Wl,-rpath,{}", folder.display());
}

fn run(command: &mut Command) {
    println!("{command:?}");
    let status = command.status().unwrap_or_else(|error| {
        let program = command.get_program();
        panic!("{} cannot be run: {error}; see README.md for what has to be installed", program.display())
    });
    assert!(status.success(), "{command:?}: {status}");
}
