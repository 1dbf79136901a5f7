//! The binary `kiln`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    kiln_cli::run(std::env::args_os(), &kiln_cli::Hooks::default())
}
