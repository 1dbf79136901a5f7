//! `kiln speed`: operations of whole primitives a second.

pub mod aes;
pub mod rsa;

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// What was done in how much time.
#[derive(Clone, Copy, Debug, Default)]
struct Speed {
    /// Of all threads together.
    ops: f64,
    seconds: f64,
    ticks: f64,
}

fn threads_in_words(threads: usize) -> String {
    if threads == 1 { "one thread".to_owned() } else { format!("{threads} threads") }
}

/// Operations that so many threads do together in this time, and the time that it was. Between two looks at the time there are
/// `many` of them.
fn on_threads<W: FnMut()>(threads: usize, time: Duration, many: u64, work: impl Fn() -> W + Sync) -> (u64, f64) {
    let (barrier, stop) = (Barrier::new(threads + 1), AtomicBool::new(false));
    thread::scope(|scope| {
        let one = || {
            let mut work = work();
            // The first use tunes.
            work();
            barrier.wait();
            let mut done = 0;
            // Ordering: the flag carries nothing but itself.
            while !stop.load(Ordering::Relaxed) {
                for _ in 0..many {
                    work();
                }
                done += many;
            }
            done
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(one)).collect();
        barrier.wait();
        let begun = Instant::now();
        thread::sleep(time);
        stop.store(true, Ordering::Relaxed);
        let done = workers.into_iter().map(|worker| worker.join().expect("work does not panic")).sum();
        (done, begun.elapsed().as_secs_f64())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_work_until_they_are_stopped() {
        let (done, seconds) = on_threads(3, Duration::from_millis(5), 16, || || ());
        assert!(done >= 48 && seconds >= 0.005, "{done} {seconds}");
    }
}
