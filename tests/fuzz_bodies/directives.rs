//! Arguments of `rl_zone` and `rl_req`: taken, and then a rule that decides; or refused, with a
//! message that quotes what is wrong.

use ngx_http_rl::config::{AlgorithmName, LimitArgs, Rate, ZoneArgs, ZoneRule};
use ngx_http_rl::limit::{Algorithm, Now, Rule, Verdict, View};

use crate::support::model::each_rule;

const PAGE: u64 = 4096;

/// How many directives were understood. A line of the input is one, first word and all, its words
/// parted by blanks: each is tried as either.
pub fn run(data: &[u8]) -> usize {
    let lines = data.split(|byte| *byte == b'\n');
    let words = |line| <[u8]>::split(line, |byte| *byte == b' ');
    let mut zones = Vec::new();
    let mut understood = 0;
    for line in lines.take(8) {
        words(line).for_each(check_rate);
        match ZoneArgs::parse(b"rl_zone", words(line), PAGE) {
            Ok(zone) => zones.push(checked(&zone)),
            Err(error) => check_message(&error.to_string(), line),
        }
        match LimitArgs::parse(b"rl_req", words(line)) {
            Ok(limit) => {
                understood += 1;
                zones.iter().for_each(|zone| check_rule(zone, &limit));
            }
            Err(error) => check_message(&error.to_string(), line),
        }
    }
    understood + zones.len()
}

/// What is understood of a rate can be written and read again.
fn check_rate(word: &[u8]) {
    let Ok(rate) = Rate::parse(word) else { return };
    assert!((1..=Rate::MOST_REQUESTS).contains(&rate.requests()) && rate.period_ms() > 0);
    assert_eq!(Rate::parse(rate.to_string().as_bytes()), Ok(rate));
    let value = word.strip_prefix(b"rate=").unwrap_or(word);
    let digits = value.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let digits = std::str::from_utf8(&value[..digits]).expect("digits");
    assert_eq!(digits.parse(), Ok(rate.requests()));
}

fn checked(zone: &ZoneArgs<'_>) -> ZoneRule {
    assert!(!zone.name.is_empty() && !zone.name.contains(&b':'));
    assert!(zone.size >= 8 * PAGE && i64::try_from(zone.size).is_ok());
    if let Some(notice) = zone.rule.notice() {
        assert_eq!(zone.rule.algorithm(), AlgorithmName::Leaky);
        assert!(notice.contains(&zone.rule.rate().to_string()), "{notice}");
    }
    let plain = zone.rule.rule(None, None, 0).expect("no parameter is wrong");
    decides(&plain);
    zone.rule
}

/// A rule exists exactly where the algorithm has the parameters.
fn check_rule(zone: &ZoneRule, limit: &LimitArgs<'_>) {
    let algorithm = zone.algorithm();
    let means_nothing = algorithm.has_quota() && (limit.burst.is_some() || limit.delay.is_some())
        || algorithm == AlgorithmName::LeakyQueue && limit.delay.is_some();
    match zone.rule(limit.burst, limit.delay, limit.burst.unwrap_or(0)) {
        Ok(rule) => {
            assert!(!means_nothing, "{rule:?}");
            decides(&rule);
        }
        Err(error) => {
            let text = error.to_string();
            assert!(means_nothing || text.starts_with("invalid burst value"), "{text}");
        }
    }
}

/// Admits a new key at once, up to what it says, and no more.
fn decides(rule: &Rule) {
    let _ = (rule.needs_fine_clock(), rule.longest_wait_ms());
    each_rule!(*rule, held => burst(held));
}

fn burst<A: Algorithm>(rule: A) {
    let now = Now::at_ms(1_790_000_000_000);
    let none: Option<View<'_, A>> = None;
    let standing = rule.standing(none.as_ref(), now);
    assert!(standing.limit >= 1 && standing.remaining == standing.limit, "{standing:?}");
    let passes = |cost| matches!(rule.judge(none.as_ref(), now, cost), Verdict::Accept(_));
    assert!(passes(1));
    if let Ok(whole) = u32::try_from(standing.limit) {
        assert!(passes(whole), "{standing:?}");
        assert!(whole == u32::MAX || !passes(whole + 1), "{standing:?}");
    }
}

/// A message is one line where the input is one, and says something.
fn check_message(message: &str, line: &[u8]) {
    assert!(message.len() > 10, "{message}");
    assert!(message.contains('"'), "nothing is quoted: {message}");
    assert!(message.contains('\n') <= line.contains(&b'\n'));
}
