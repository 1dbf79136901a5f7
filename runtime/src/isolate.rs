//! Checks in a child process with a time limit, so that a crash or an endless loop is a finding and not the end.
//!
//! The parent starts a program (usually itself, with a hidden argument list) and writes the items, one a line. The child
//! gets ready for them, which has a time limit of its own, answers `ready`, then one line for each item as it finishes. Whatever else happens is laid at the door of the item in
//! flight, and a new child goes on with the rest. Knows nothing of what is checked.

use std::ffi::OsString;
use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

const READY: &str = "kiln-ready";
const DONE: &str = "kiln-done ";
/// Longest line that is read from a child.
const MAX_LINE: u64 = 1 << 20;

/// Time for a child to get ready, unless it is given another: a large folder of specs takes long to generate.
pub const START_LIMIT: Duration = Duration::from_secs(600);

/// How to start a child.
#[derive(Clone, Debug)]
pub struct Program {
    /// The executable.
    pub path: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Longest time until it is ready.
    pub start_limit: Duration,
    /// Longest time for one item.
    pub limit: Duration,
}

impl Program {
    /// This program itself, with other arguments. It has [`START_LIMIT`] to get ready.
    ///
    /// # Errors
    /// The system does not say where this program is.
    pub fn this(arguments: Vec<OsString>, limit: Duration) -> Result<Program, CannotStart> {
        let path = std::env::current_exe().map_err(|error| CannotStart::System(error.to_string()))?;
        Ok(Program { path, arguments, start_limit: START_LIMIT, limit })
    }
}

/// What went wrong with an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A signal ended the child.
    Signal(i32),
    /// The child ended by itself before the item was finished.
    Exited(Option<i32>),
    /// The item took longer than this; the child was killed.
    TimedOut(Duration),
    /// The child wrote something that is no answer; the child was killed. The first part of it.
    Garbage(String),
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cause::Signal(signal) => match signal_name(*signal) {
                Some(name) => write!(f, "crashed with {name}"),
                None => write!(f, "crashed with signal {signal}"),
            },
            Cause::Exited(Some(status)) => write!(f, "ended with status {status} before it was finished"),
            Cause::Exited(None) => f.write_str("ended before it was finished"),
            Cause::TimedOut(limit) => write!(f, "did not finish within {} ms", limit.as_millis()),
            Cause::Garbage(text) => write!(f, "wrote {text:?} in place of an answer"),
        }
    }
}

/// The outcome for an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The child's answer.
    Finished(String),
    /// There is none.
    Quarantined(Cause),
}

/// No child can be had, so nothing is known about any item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CannotStart {
    /// The system refuses.
    System(String),
    /// The child did not come as far as asking for work.
    NotReady(Cause),
    /// An item contains a line break, so it cannot be told to a child.
    LineBreak(String),
}

impl fmt::Display for CannotStart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CannotStart::System(reason) => write!(f, "cannot start a child process: {reason}"),
            CannotStart::NotReady(cause) => write!(f, "the child process {cause}"),
            CannotStart::LineBreak(item) => write!(f, "{item:?} contains a line break"),
        }
    }
}

impl std::error::Error for CannotStart {}

/// Has each item checked by a child. `progress` sees each verdict as it falls.
///
/// # Errors
/// No child can be started. A child that dies at an item is not an error but the item's verdict.
pub fn run(
    program: &Program,
    items: &[String],
    progress: &mut dyn FnMut(&str, &Verdict),
) -> Result<Vec<Verdict>, CannotStart> {
    if let Some(item) = items.iter().find(|item| item.contains(['\n', '\r'])) {
        return Err(CannotStart::LineBreak(item.clone()));
    }
    let mut verdicts: Vec<Verdict> = Vec::with_capacity(items.len());
    // Every turn settles at least one item, so this ends.
    while verdicts.len() < items.len() {
        let rest = &items[verdicts.len()..];
        let mut session = Session::start(program, rest)?;
        let mut finished = 0;
        while finished < rest.len() {
            let verdict = match session.next(finished) {
                Ok(payload) => Verdict::Finished(payload),
                Err(cause) => Verdict::Quarantined(cause),
            };
            progress(&rest[finished], &verdict);
            let over = matches!(verdict, Verdict::Quarantined(_));
            verdicts.push(verdict);
            finished += 1;
            if over {
                break;
            }
        }
    }
    Ok(verdicts)
}

/// One child. It is killed, if need be, and always waited for.
struct Session {
    child: Child,
    lines: Receiver<Vec<u8>>,
    limit: Duration,
}

impl Session {
    fn start(program: &Program, items: &[String]) -> Result<Session, CannotStart> {
        let system = |error: io::Error| CannotStart::System(error.to_string());
        let mut child = Command::new(&program.path)
            .args(&program.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(system)?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let (sender, lines) = channel();
        let session = Session { child, lines, limit: program.limit };
        let (Some(mut stdin), Some(stdout)) = (stdin, stdout) else {
            return Err(CannotStart::System("no pipe to the child".to_owned()));
        };
        // A pipe holds little: writing and reading have threads of their own, which end with the child.
        let text: String = items.iter().flat_map(|item| [item.as_str(), "\n"]).collect();
        let spawn = |name: &str, body: Box<dyn FnOnce() + Send>| {
            std::thread::Builder::new().name(name.to_owned()).spawn(body).map(drop).map_err(system)
        };
        spawn(
            "kiln-items",
            // A child that dies early closes the pipe; its silence says so.
            Box::new(move || drop(stdin.write_all(text.as_bytes()))),
        )?;
        spawn(
            "kiln-answers",
            Box::new(move || {
                let mut reader = BufReader::new(stdout);
                loop {
                    let mut line = Vec::new();
                    match reader.by_ref().take(MAX_LINE).read_until(b'\n', &mut line) {
                        Ok(1..) if sender.send(line).is_ok() => {}
                        Ok(_) | Err(_) => break,
                    }
                }
            }),
        )?;
        let mut session = session;
        match session.line(program.start_limit) {
            Ok(line) if line == READY => Ok(session),
            Ok(line) => Err(CannotStart::NotReady(Cause::Garbage(abridged(&line)))),
            Err(cause) => Err(CannotStart::NotReady(cause)),
        }
    }

    /// The answer for the item at this position.
    fn next(&mut self, position: usize) -> Result<String, Cause> {
        let line = self.line(self.limit)?;
        let answer = line.strip_prefix(DONE).and_then(|rest| rest.split_once(' '));
        match answer {
            Some((number, payload)) if number.parse() == Ok(position) => Ok(payload.to_owned()),
            _ => Err(Cause::Garbage(abridged(&line))),
        }
    }

    fn line(&mut self, limit: Duration) -> Result<String, Cause> {
        match self.lines.recv_timeout(limit) {
            Ok(mut line) if line.last() == Some(&b'\n') => {
                line.pop();
                String::from_utf8(line)
                    .map_err(|error| Cause::Garbage(abridged(&String::from_utf8_lossy(error.as_bytes()))))
            }
            // Half a line: the child died in the middle of it, or never ends it.
            Ok(line) => Err(match self.ended() {
                Some(status) => cause_of(status),
                None => Cause::Garbage(abridged(&String::from_utf8_lossy(&line))),
            }),
            Err(RecvTimeoutError::Timeout) => Err(Cause::TimedOut(limit)),
            Err(RecvTimeoutError::Disconnected) => Err(match self.ended() {
                Some(status) => cause_of(status),
                None => Cause::TimedOut(limit),
            }),
        }
    }

    /// The exit status of a child that has closed its output; `None` if it lives on past the limit.
    fn ended(&mut self) -> Option<ExitStatus> {
        let start = Instant::now();
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) if start.elapsed() < self.limit.min(Duration::from_secs(2)) => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                Ok(None) | Err(_) => return None,
            }
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // Nothing is left to do if either fails: the child is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn cause_of(status: ExitStatus) -> Cause {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return Cause::Signal(signal);
    }
    Cause::Exited(status.code())
}

fn abridged(text: &str) -> String {
    text.chars().take(80).collect()
}

fn signal_name(signal: i32) -> Option<&'static str> {
    #[cfg(unix)]
    {
        [
            (libc::SIGSEGV, "SIGSEGV"),
            (libc::SIGILL, "SIGILL"),
            (libc::SIGBUS, "SIGBUS"),
            (libc::SIGFPE, "SIGFPE"),
            (libc::SIGTRAP, "SIGTRAP"),
            (libc::SIGABRT, "SIGABRT"),
            (libc::SIGSYS, "SIGSYS"),
            (libc::SIGKILL, "SIGKILL"),
            (libc::SIGTERM, "SIGTERM"),
        ]
        .into_iter()
        .find_map(|(number, name)| (number == signal).then_some(name))
    }
    #[cfg(not(unix))]
    {
        let _ = signal;
        None
    }
}

/// The child's side: reads the items from standard input, gets ready for them, checks one after the other, and writes an
/// answer for each to standard output. An answer is one line; line breaks in it become blanks. On Linux the child dies with
/// its parent from now on.
///
/// # Errors
/// The parent is gone.
pub fn serve<C: FnMut(&str) -> String>(prepare: impl FnOnce(&[&str]) -> C) -> io::Result<()> {
    crate::sys::die_with_parent();
    let mut text = String::new();
    io::stdin().lock().read_to_string(&mut text)?;
    let items: Vec<&str> = text.lines().collect();
    let mut check = prepare(&items);
    let mut output = io::stdout().lock();
    writeln!(output, "{READY}")?;
    output.flush()?;
    for (position, item) in items.iter().enumerate() {
        let answer = check(item).replace(['\n', '\r'], " ");
        writeln!(output, "{DONE}{position} {answer}")?;
        output.flush()?;
    }
    Ok(())
}
