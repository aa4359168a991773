//! A timeline through a rule by way of engine and table, and the figures that the files take of it.

use ngx_http_rl::config::Rate;
use ngx_http_rl::limit::{Now, Rule};

use super::rules::Engine;

/// Requests of one key and what became of them.
pub struct Run {
    /// When each arrived, in ms, and how long it was held if it was admitted.
    requests: Vec<(u64, Option<u64>)>,
}

impl Run {
    pub fn of(rule: Rule, times: &[u64]) -> Self {
        let engine = Engine::new(rule);
        let decide = |time_ms: &u64| (*time_ms, engine.take(Now::at_ms(*time_ms)));
        Self { requests: times.iter().map(decide).collect() }
    }

    /// A run that somebody else decided and nobody waited in.
    pub fn told(times: &[u64], decisions: &str) -> Self {
        let waits = decisions.chars().map(|digit| (digit == '1').then_some(0));
        Self { requests: times.iter().copied().zip(waits).collect() }
    }

    /// One digit for each request: 1 if it is admitted.
    pub fn decisions(&self) -> String {
        self.requests.iter().map(|(_, wait)| if wait.is_some() { '1' } else { '0' }).collect()
    }

    pub fn total(&self) -> usize {
        self.requests.len()
    }

    pub fn passed(&self) -> usize {
        self.admitted().count()
    }

    pub fn longest_wait_ms(&self) -> u64 {
        self.requests.iter().filter_map(|(_, wait)| *wait).max().unwrap_or(0)
    }

    /// Most admitted requests in any half-open span of that length, by their arrival.
    pub fn most_in_any(&self, span_ms: u64) -> usize {
        most_in_any(&self.admitted().collect::<Vec<_>>(), span_ms)
    }

    /// Admitted requests in each span of that length, from 0 to the last arrival.
    pub fn per_span(&self, span_ms: u64) -> Vec<u64> {
        let spans = self.requests.last().map_or(0, |(last, _)| last / span_ms + 1);
        let mut counts = vec![0; usize::try_from(spans).unwrap()];
        for time_ms in self.admitted() {
            counts[usize::try_from(time_ms / span_ms).unwrap()] += 1;
        }
        counts
    }

    fn admitted(&self) -> impl Iterator<Item = u64> + '_ {
        self.requests.iter().filter(|(_, wait)| wait.is_some()).map(|(time_ms, _)| *time_ms)
    }
}

/// Most of these sorted times in any half-open span of that length.
pub fn most_in_any(times_ms: &[u64], span_ms: u64) -> usize {
    let mut first = 0;
    let mut most = 0;
    for (n, last_ms) in times_ms.iter().enumerate() {
        while times_ms[first] + span_ms <= *last_ms {
            first += 1;
        }
        most = most.max(n + 1 - first);
    }
    most
}

/// The span in the name of a figure, in ms: `max_in_any_2000ms` after `max_in_any_`.
pub fn span_ms(name: &str, prefix: &str) -> Option<u64> {
    let period = name.strip_prefix(prefix)?;
    Some(Rate::parse(format!("rate=1r/{period}").as_bytes()).ok()?.period_ms())
}

#[test]
fn a_span_is_half_open() {
    assert_eq!(most_in_any(&[0, 10, 10, 19, 20], 10), 3);
    assert_eq!(most_in_any(&[0, 10], 10), 1);
    assert_eq!(most_in_any(&[], 10), 0);
}
