//! CPU time that may be spent. Asked before every window, so it has to be cheap.

use std::time::{Duration, Instant};

use crate::race::Budget;
use crate::sys;

/// A limit on this thread's CPU time. Wall time bounds CPU time from above and is cheaper to read, so the system is only
/// asked once the wall clock says that it could matter.
#[derive(Clone, Debug)]
pub struct CpuBudget {
    limit: Option<Duration>,
    wall: Instant,
    cpu: Option<u64>,
    /// Wall time before which the limit cannot be reached.
    safe: Duration,
}

impl CpuBudget {
    /// A budget that begins now; `None` for no limit.
    pub fn new(limit: Option<Duration>) -> CpuBudget {
        CpuBudget { limit, wall: Instant::now(), cpu: sys::thread_cpu_nanoseconds(), safe: limit.unwrap_or_default() }
    }

    /// CPU time since the budget began; wall time where the system does not know.
    pub fn spent(&self) -> Duration {
        match (self.cpu, sys::thread_cpu_nanoseconds()) {
            (Some(start), Some(now)) => Duration::from_nanos(now.saturating_sub(start)),
            (None, _) | (_, None) => self.wall.elapsed(),
        }
    }

    /// Whether there is a limit.
    pub(super) fn is_limited(&self) -> bool {
        self.limit.is_some()
    }

    /// A budget that begins now, of an equal part of what is left.
    pub(super) fn share(&self, parts: u32) -> CpuBudget {
        CpuBudget::new(self.limit.map(|limit| limit.saturating_sub(self.spent()) / parts.max(1)))
    }
}

impl Budget for CpuBudget {
    fn left(&mut self) -> bool {
        let Some(limit) = self.limit else { return true };
        let wall = self.wall.elapsed();
        if wall < self.safe {
            return true;
        }
        let left = limit.saturating_sub(self.spent());
        self.safe = wall + left;
        !left.is_zero()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_no_time_and_none_is_no_limit() {
        assert!(!CpuBudget::new(Some(Duration::ZERO)).left());
        assert!(CpuBudget::new(None).left());
        let hour = CpuBudget::new(Some(Duration::from_secs(3600)));
        assert!(hour.share(4).limit.unwrap() <= Duration::from_secs(900));
        assert_eq!(hour.share(0).limit.is_some(), hour.limit.is_some());
    }
}
