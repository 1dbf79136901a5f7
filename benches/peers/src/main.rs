//! The binary `kiln-peers`: Kiln against other libraries, in one run. See README.md.

mod aes;
mod args;
mod bout;
mod libraries;
mod limb;
#[forbid(unsafe_code)]
mod limits;
#[forbid(unsafe_code)]
mod ring;
mod rsa;

use std::io::Write;
use std::process::ExitCode;

use args::{Args, Race};
use clap::Parser;

fn main() -> ExitCode {
    let args = Args::parse();
    let outcome = match args.race {
        Some(Race::Aes(args)) => Ok(aes::race(&args)),
        Some(Race::Rsa(args)) => Ok(rsa::race(&args)),
        Some(Race::Limb(args)) => limb::race(&args),
        None => limb::race(&args.limb),
    };
    match outcome {
        Ok(outcome) => {
            // A closed pipe is nobody's fault.
            let _ = std::io::stdout().write_all(outcome.text.as_bytes());
            ExitCode::from(u8::from(outcome.failed))
        }
        Err(usage) => {
            eprintln!("kiln-peers: {usage}");
            ExitCode::from(2)
        }
    }
}
