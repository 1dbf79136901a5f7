//! Progress of long work: on standard error, and only if that is a terminal.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar over so many steps. It vanishes when it is dropped. It moves with the steps, not with the clock: that would take a
/// thread, which the system may refuse.
pub struct Progress(ProgressBar);

impl Progress {
    /// A bar at step 0.
    pub fn new(steps: usize) -> Progress {
        let target =
            if std::io::stderr().is_terminal() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(steps as u64), target);
        if let Ok(style) = ProgressStyle::with_template("  {spinner} {bar:24} {pos:>3}/{len} {wide_msg}") {
            bar.set_style(style);
        }
        Progress(bar)
    }

    /// A bar that also says how long the rest will take.
    pub fn timed(steps: usize) -> Progress {
        let progress = Progress::new(steps);
        let template = "  {spinner} {bar:24} {pos:>3}/{len} {elapsed} gone, {eta} left  {wide_msg}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            progress.0.set_style(style);
        }
        progress
    }

    /// What is being done now.
    pub fn doing(&self, what: String) {
        self.0.set_message(what);
    }

    /// So many steps more, or fewer, are to be done.
    pub fn expect(&self, steps: usize) {
        self.0.set_length(steps as u64);
    }

    /// One step is done.
    pub fn step(&self) {
        self.0.inc(1);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
