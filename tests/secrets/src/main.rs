//! `kiln-secrets CASE`, under valgrind: runs code on secrets that count as undefined. Names what branches on one or reads an
//! address that depends on one, and ends with 1 if something does. See `tests/valgrind.rs`.

#[cfg(not(target_arch = "x86_64"))]
fn main() -> std::process::ExitCode {
    eprintln!("kiln-secrets: requests to valgrind are written for x86-64");
    2.into()
}

#[cfg(target_arch = "x86_64")]
#[forbid(unsafe_code)]
mod controls;
#[cfg(target_arch = "x86_64")]
mod memcheck;
#[cfg(target_arch = "x86_64")]
#[forbid(unsafe_code)]
mod modes;
#[cfg(target_arch = "x86_64")]
mod variants;

#[cfg(target_arch = "x86_64")]
fn main() -> std::process::ExitCode {
    let case = std::env::args().nth(1).unwrap_or_default();
    if !memcheck::is_there() {
        eprintln!("kiln-secrets: valgrind is not there, so that nothing would be found");
        return 2.into();
    }
    println!("{} code", if cfg!(debug_assertions) { "development" } else { "release" });
    let before = memcheck::errors();
    let leaks = match case.split_once(':').unwrap_or((&case, "")) {
        ("variants", family) => variants::all_of(family),
        ("modes", "") => modes::all(),
        ("control", control) => controls::run(control),
        _ => {
            eprintln!("kiln-secrets: no case {case:?}: variants:FAMILY, modes, control:NAME");
            return 2.into();
        }
    };
    for (name, errors) in &leaks {
        println!("leak: {name} ({errors} errors)");
    }
    // What was nobody's in particular counts too.
    let errors = memcheck::errors() - before;
    println!("{} leaks, {errors} errors", leaks.len());
    u8::from(!leaks.is_empty() || errors > 0).into()
}

/// Code that leaks, and how many errors it made.
#[cfg(target_arch = "x86_64")]
type Leaks = Vec<(String, u64)>;

/// Runs something, and notes it if it leaks.
#[cfg(target_arch = "x86_64")]
fn watch<R>(name: &str, leaks: &mut Leaks, run: impl FnOnce() -> R) -> R {
    let before = memcheck::errors();
    let result = run();
    let errors = memcheck::errors() - before;
    if errors > 0 {
        leaks.push((name.to_owned(), errors));
    }
    result
}
