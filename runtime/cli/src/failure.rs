//! Why a command could not be carried out: for people on standard error, and as an exit status.

use std::fmt::Write as _;
use std::io::{self, ErrorKind};
use std::path::PathBuf;

use kiln_codegen::error::{Problem, Problems, visible};
use kiln_runtime::isolate::CannotStart;
use kiln_runtime::settings::Malformed;
use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, SourceCode};

use crate::args::Form;
use crate::canvas::{Canvas, Tone};
use crate::names::Nearest;

/// Most kernels that a message names.
const NAMED: usize = 4;

/// Why a command could not be carried out.
#[derive(Debug)]
pub enum Failure {
    /// Override variables that cannot be understood.
    Settings(Vec<Malformed>),
    /// Specs that are wrong.
    Specs(Problems),
    /// Specs of the folder of `KILN_SPECS` that are wrong.
    SpecsOfVariable(Problems),
    /// A word that selects no kernel.
    UnknownKernel(Nearest),
    /// A word that names no variant.
    UnknownVariant(Nearest),
    /// A form that a variant does not have.
    NoSuchForm {
        /// The variant.
        variant: String,
        /// What was asked for.
        form: Form,
        /// Why it has none.
        why: String,
    },
    /// A strategy that a kernel does not have.
    UnknownStrategy {
        /// The kernel.
        kernel: String,
        /// The word, and the strategies that are near.
        near: Nearest,
    },
    /// A parameter that no strategy of the kernels has.
    NoSuchKey {
        /// The key.
        key: String,
        /// The kernels.
        kernels: Vec<&'static str>,
        /// Those that there are.
        keys: Vec<&'static str>,
    },
    /// Options that do not go together, or values that cannot be used; what is wrong, in words.
    Usage(String),
    /// A file that exists and would be written over.
    Exists(PathBuf),
    /// A file of a sweep that cannot be read.
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        why: io::Error,
    },
    /// Files that hold no point which can be used.
    NoPoints,
    /// No parameter of this name is a number.
    UnknownParameter(Nearest),
    /// Two sweeps without a point that was measured in both.
    NothingInCommon,
    /// A file that cannot be written.
    Unwritable {
        /// The file.
        path: PathBuf,
        /// Why.
        why: io::Error,
    },
    /// Standard output cannot be written.
    Output(io::Error),
    /// The child process that checks candidates cannot be started.
    Child(CannotStart),
}

impl Failure {
    /// 2 for what the caller can put right in words or files, else 1.
    pub fn status(&self) -> u8 {
        match self {
            Failure::Settings(_)
            | Failure::Specs(_)
            | Failure::SpecsOfVariable(_)
            | Failure::UnknownKernel(_)
            | Failure::UnknownVariant(_)
            | Failure::NoSuchForm { .. }
            | Failure::UnknownStrategy { .. }
            | Failure::NoSuchKey { .. }
            | Failure::Usage(_)
            | Failure::Exists(_)
            | Failure::Unreadable { .. }
            | Failure::NoPoints
            | Failure::UnknownParameter(_)
            | Failure::NothingInCommon => 2,
            // A path that the caller got wrong, in whatever way; a full disk is not that.
            Failure::Unwritable { why, .. } => match why.kind() {
                ErrorKind::StorageFull
                | ErrorKind::QuotaExceeded
                | ErrorKind::FileTooLarge
                | ErrorKind::BrokenPipe
                | ErrorKind::WriteZero
                | ErrorKind::Interrupted => 1,
                _ => 2,
            },
            Failure::Output(_) | Failure::Child(_) => 1,
        }
    }

    /// The text for standard error. With `pictures`, a problem of a spec shows its line.
    pub fn text(&self, canvas: &Canvas, pictures: bool) -> String {
        let error = canvas.paint(Tone::Bad, "error:");
        match self {
            Failure::Settings(malformed) => malformed.iter().map(|one| format!("{error} {one}\n")).collect(),
            Failure::Specs(problems) => problems_text(problems, canvas, pictures),
            Failure::SpecsOfVariable(problems) => {
                let text = problems_text(problems, canvas, pictures);
                format!("{text}{error} the folder of KILN_SPECS cannot be used\n")
            }
            Failure::UnknownKernel(nearest) => {
                let hint = if nearest.given.contains('/') { "; `kiln show` takes variants" } else { "" };
                format!("{error} no kernel matches `{}`{nearest}{hint}\n", visible(&nearest.given))
            }
            Failure::UnknownVariant(nearest) => {
                format!("{error} there is no variant `{}`{nearest}\n", visible(&nearest.given))
            }
            Failure::NoSuchForm { variant, form, why } => {
                format!("{error} {variant} cannot be shown as {}: {why}\n", form.word())
            }
            Failure::UnknownStrategy { kernel, near } => {
                format!("{error} there is no strategy `{}` of {kernel}{near}\n", visible(&near.given))
            }
            Failure::NoSuchKey { key, kernels, keys } => {
                let (key, keys) = (visible(key), keys.join(", "));
                let mut named = kernels.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
                if kernels.len() > NAMED {
                    named += &format!(" and {} more", kernels.len() - NAMED);
                }
                format!("{error} no strategy of {named} has a parameter `{key}`; there are {keys}\n")
            }
            Failure::Usage(why) => format!("{error} {why}\n"),
            Failure::Exists(path) => {
                let path = visible(&path.display().to_string());
                format!("{error} {path} exists already; --resume goes on in it, another --out begins anew\n")
            }
            Failure::Unreadable { path, why } => {
                format!("{error} {} cannot be read: {why}\n", visible(&path.display().to_string()))
            }
            Failure::NoPoints => format!("{error} no point of a sweep was found\n"),
            Failure::UnknownParameter(nearest) => {
                format!("{error} no variant has a number for `{}`{nearest}\n", visible(&nearest.given))
            }
            Failure::NothingInCommon => format!("{error} no point was measured in both sweeps\n"),
            Failure::Unwritable { path, why } => {
                format!("{error} {} cannot be written: {why}\n", visible(&path.display().to_string()))
            }
            Failure::Output(why) => format!("{error} standard output cannot be written: {why}\n"),
            Failure::Child(why) => format!("{error} candidates are checked in a child process, but {why}\n"),
        }
    }
}

impl From<Problems> for Failure {
    fn from(problems: Problems) -> Failure {
        Failure::Specs(problems)
    }
}

/// Most problems that are drawn: more than anybody reads at once.
const MOST_DRAWN: usize = 50;

/// Every problem: in one line each, or the first ones with the line of the spec below it.
pub fn problems_text(problems: &Problems, canvas: &Canvas, pictures: bool) -> String {
    if !pictures {
        return format!("{problems}\n");
    }
    let theme = match (canvas.unicode, canvas.colour) {
        (true, true) => GraphicalTheme::unicode(),
        (true, false) => GraphicalTheme::unicode_nocolor(),
        (false, true) => GraphicalTheme { characters: miette::ThemeCharacters::ascii(), ..GraphicalTheme::unicode() },
        (false, false) => GraphicalTheme::none(),
    };
    let handler = GraphicalReportHandler::new_themed(theme).with_width(canvas.width).with_links(false);
    let mut text = String::new();
    for problem in problems.iter().take(MOST_DRAWN) {
        if handler.render_report(&mut text, &Pictured(problem)).is_err() {
            // A picture that cannot be drawn is no reason to lose the problem.
            let _ = writeln!(text, "{problem}");
        }
    }
    let count = problems.len();
    if count > MOST_DRAWN {
        let _ = writeln!(text, "and {} more", count - MOST_DRAWN);
    }
    let _ =
        writeln!(text, "{}", canvas.paint(Tone::Bad, format!("{count} problem{}", if count == 1 { "" } else { "s" })));
    text
}

/// A problem whose place is drawn, so that its text need not say it.
#[derive(Debug)]
struct Pictured<'a>(&'a Problem);

impl std::fmt::Display for Pictured<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0.span {
            Some(_) => f.write_str(&self.0.message()),
            None => self.0.fmt(f),
        }
    }
}

impl std::error::Error for Pictured<'_> {}

impl Diagnostic for Pictured<'_> {
    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.0.source_code()
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        self.0.labels()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kiln_codegen::error::{Reason, Source};

    fn problems() -> Problems {
        let source = Source::new("specs/x.toml", "kernel = \"\"\n");
        Problem::at(&source, 9..11, Reason::Empty { label: "kernel".into() }).into()
    }

    #[test]
    fn a_problem_is_one_line_without_pictures() {
        let text = Failure::Specs(problems()).text(&Canvas::plain(100), false);
        assert_eq!(text, "specs/x.toml:1:10: kernel must not be empty\n");
    }

    #[test]
    fn a_picture_shows_the_line() {
        let text = Failure::Specs(problems()).text(&Canvas::plain(100), true);
        for part in ["kernel must not be empty", "specs/x.toml:1:10", "kernel = \"\"", "1 problem\n"] {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert!(text.is_ascii(), "{text}");
    }

    #[test]
    fn at_most_fifty_problems_are_drawn() {
        let source = Source::new("specs/x.toml", "\u{1b}[2J\n");
        let mut problems = Problems::new();
        for label in 0..53 {
            problems.push(Problem::at(&source, 0..1, Reason::Empty { label: format!("label{label}") }));
        }
        let drawn = problems_text(&problems, &Canvas::plain(100), true);
        assert_eq!(drawn.matches("must not be empty").count(), 50, "{drawn}");
        assert!(drawn.ends_with("and 3 more\n53 problems\n"), "{drawn}");
        assert!(drawn.contains("?[2J") && !drawn.contains('\u{1b}'), "{drawn}");
        assert_eq!(problems_text(&problems, &Canvas::plain(100), false).lines().count(), 53);
        let failure = Failure::SpecsOfVariable(problems);
        assert!(failure.text(&Canvas::plain(100), false).ends_with("error: the folder of KILN_SPECS cannot be used\n"));
        assert_eq!(failure.status(), 2);
    }

    #[test]
    fn words_and_files_are_status_2() {
        let nearest = Nearest { given: "limb".into(), names: vec!["limb64.mul_add".into()] };
        let failure = Failure::UnknownKernel(nearest);
        assert_eq!(failure.status(), 2);
        assert_eq!(
            failure.text(&Canvas::plain(100), false),
            "error: no kernel matches `limb`; did you mean `limb64.mul_add`?\n"
        );
        assert_eq!(Failure::Output(io::ErrorKind::StorageFull.into()).status(), 1);
        let unwritable = |kind: io::ErrorKind| Failure::Unwritable { path: "x".into(), why: kind.into() }.status();
        assert_eq!((unwritable(ErrorKind::AlreadyExists), unwritable(ErrorKind::StorageFull)), (2, 1));
    }
}
