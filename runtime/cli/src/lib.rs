//! The command line: words in, results on standard output, errors on standard error, an exit status. Decides nothing
//! about kernels; it asks the runtime and the generator, and draws what they say.
#![forbid(unsafe_code)]

mod args;
mod canvas;
mod check;
mod command;
mod compare;
mod failure;
mod interpret;
mod names;
mod progress;
mod report;
pub mod sweep;
mod tables;

use std::ffi::OsString;
use std::fmt;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use kiln_codegen::error::Problems;
use kiln_kernels::catalogue::Kernel;
use kiln_runtime::candidate::Candidate;
use kiln_runtime::detect::{self, Native};
use kiln_runtime::settings::Settings;
use serde::Serialize;

use crate::args::{Args, Command, SpecCommand, SpeedCommand};
use crate::canvas::{Canvas, Tone};
use crate::check::Extent;
use crate::failure::Failure;

/// What a test's own binary changes about the command line.
pub struct Hooks {
    /// Candidates besides those of the catalogue and the specs, for a kernel. Asked in the child process too.
    pub candidates: Box<dyn Fn(&'static Kernel) -> Vec<Candidate>>,
    /// Longest time for the check of one candidate in the child process.
    pub time_limit: Duration,
}

impl Default for Hooks {
    fn default() -> Hooks {
        Hooks { candidates: Box::new(|_| Vec::new()), time_limit: Duration::from_secs(20) }
    }
}

impl fmt::Debug for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hooks").field("time_limit", &self.time_limit).finish_non_exhaustive()
    }
}

/// Runs the command line: the words with the program's name first, as the system gives them.
///
/// ```
/// let status = kiln_cli::run(["kiln", "--version"].map(Into::into), &kiln_cli::Hooks::default());
/// assert_eq!(status, std::process::ExitCode::SUCCESS);
/// ```
pub fn run(words: impl IntoIterator<Item = OsString>, hooks: &Hooks) -> ExitCode {
    let args = match Args::try_parse_from(words) {
        Ok(args) => args,
        Err(error) => {
            // Nowhere to say that it could not be said.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    match carry_out(args, hooks) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(failure) => {
            let mut stderr = io::stderr();
            let text = failure.text(&Canvas::for_stderr(), stderr.is_terminal());
            let _ = stderr.write_all(text.as_bytes());
            ExitCode::from(failure.status())
        }
    }
}

/// What every command may ask for.
struct Context<'a> {
    settings: Settings,
    /// Folder of specs: the option, else the variable.
    folder: Option<PathBuf>,
    /// Whether the folder is the variable's.
    folder_of_variable: bool,
    canvas: Canvas,
    json: bool,
    hooks: &'a Hooks,
}

impl Context<'_> {
    /// The CPU, less what `KILN_FEATURES` takes away.
    fn cpu(&self) -> Native {
        detect::native().without(self.settings.removed_features)
    }

    /// Problems with the folder of specs, which names the variable if it is the variable's.
    fn refused(&self, problems: Problems) -> Failure {
        if self.folder_of_variable { Failure::SpecsOfVariable(problems) } else { Failure::Specs(problems) }
    }

    /// A line on standard error.
    fn warn(&self, text: &str) {
        let canvas = Canvas::for_stderr();
        // Nowhere to say that it could not be said.
        let _ = writeln!(io::stderr(), "{} {text}", canvas.paint(Tone::Bad, "warning:"));
    }

    /// Prints the document, or what is drawn of it.
    fn print<T: Serialize>(&self, document: &T, draw: impl FnOnce(&Canvas) -> String) -> Result<(), Failure> {
        let text = if self.json {
            let text = serde_json::to_string_pretty(document).map_err(|error| Failure::Output(error.into()))?;
            format!("{text}\n")
        } else {
            draw(&self.canvas)
        };
        let mut stdout = io::stdout().lock();
        match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
            Ok(()) => Ok(()),
            // Whoever reads has seen enough.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            Err(error) => Err(Failure::Output(error)),
        }
    }
}

/// Whether everything that was checked is right.
fn carry_out(args: Args, hooks: &Hooks) -> Result<bool, Failure> {
    let settings = Settings::global().clone();
    // `explain` shows what a library makes of a malformed value before it fails.
    if !settings.malformed.is_empty() && !matches!(args.command, Command::Explain { .. }) {
        return Err(Failure::Settings(settings.malformed));
    }
    let folder_of_variable = args.specs.is_none() && settings.specs.is_some();
    let folder = args.specs.or_else(|| settings.specs.clone());
    let canvas = Canvas::for_stdout();
    let context = Context { settings, folder, folder_of_variable, canvas, json: args.json, hooks };
    match args.command {
        Command::Tune { kernels, budget } => command::tune::run(&context, &kernels, budget),
        Command::List { kernels } => command::list::run(&context, &kernels),
        Command::Show { variant, form } => command::show::run(&context, &variant, form),
        Command::Verify { kernels, cases, seed } => command::verify::run(&context, &kernels, cases, seed),
        Command::Explain { kernels } => command::explain::run(&context, &kernels),
        Command::Speed(SpeedCommand::Aes(options)) => command::speed::aes::run(&context, &options),
        Command::Speed(SpeedCommand::Rsa(options)) => command::speed::rsa::run(&context, &options),
        Command::Report(options) => command::report::run(&context, &options),
        Command::Compare(options) => command::compare::run(&context, &options),
        Command::Cpu => command::cpu::run(&context),
        Command::Spec(SpecCommand::Check { paths }) => command::spec::check(&context, &paths),
        Command::Spec(SpecCommand::Schema) => command::spec::schema(&context),
        Command::Sweep(options) => command::sweep::run(&context, &options),
        Command::CheckInChild { cases, seed, sweep, sets } => {
            check::serve(&context, Extent { cases, seed }, sweep.then_some(sets.as_slice()))
        }
    }
}
