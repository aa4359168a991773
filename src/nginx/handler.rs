//! One request in the preaccess phase.

use nginx_sys::ngx_int_t;

use super::conf::LocConf;
use super::limit::Limit;
use super::request::{Failed, Request};
use super::zone::Zone;
use super::{clock, delay, log, raw};
use crate::engine::{self, Outcome};
use crate::report::{self, Status};
use crate::store::{KeyHash, Shortage};

/// A longer key is not limited, as in stock, which keeps the length in 16 bits.
const LONGEST_KEY: usize = 65_535;

/// Decides on a request: lets it go on, holds it or refuses it.
///
/// A client's request is judged once, in the first location with a limit that applies: redirects
/// inside nginx and subrequests are not requests of the client.
pub fn preaccess(request: Request<'_>) -> ngx_int_t {
    let conf = request.conf();
    if conf.limits.is_empty() || request.status().is_some() {
        return raw::DECLINED;
    }
    decide(request, conf).unwrap_or(raw::INTERNAL_SERVER_ERROR)
}

fn decide(request: Request<'_>, conf: &LocConf) -> Result<ngx_int_t, Failed> {
    let mode = conf.mode();
    #[cfg(feature = "test-hooks")]
    super::hooks::run(request);
    let needs_fine = conf.limits.iter().any(|limit| limit.needs_fine_clock());
    let now = clock::now(needs_fine);
    #[cfg(feature = "test-clock")]
    let now = super::hooks::virtual_now(request).unwrap_or(now);
    let outcome = engine::decide(&conf.limits, mode, now, |limit| key_hash(request, limit))?;
    if !matches!(outcome, Outcome::Pass | Outcome::Unlimited) {
        write_log(request, conf, &outcome);
    }
    for limit in &conf.limits {
        if let Some(shortage) = limit.shortage(now) {
            log_shortage(limit, &shortage);
        }
    }
    let Some(status) = Status::of(&outcome, mode) else {
        return Ok(raw::DECLINED);
    };
    request.remember(status)?;
    match (status, outcome) {
        (Status::Rejected, _) => Ok(conf.status_code.cast_signed()),
        // On a virtual clock nobody waits.
        #[cfg(feature = "test-clock")]
        (Status::Delayed, _) if super::hooks::virtual_now(request).is_some() => Ok(raw::DECLINED),
        (Status::Delayed, Outcome::Delay { wait_ms, .. }) => delay::hold(request, wait_ms),
        _ => Ok(raw::DECLINED),
    }
}

/// The hash of a limit's key; `None` where the limit does not apply.
fn key_hash(request: Request<'_>, limit: &Limit) -> Result<Option<KeyHash>, Failed> {
    let Some(zone) = limit.zone.declared() else {
        return Ok(None);
    };
    let key = request.key(zone)?;
    if key.is_empty() {
        return Ok(None);
    }
    if key.len() > LONGEST_KEY {
        log_long_key(request, zone, key);
        return Ok(None);
    }
    Ok(zone.table.as_ref().map(|table| table.hash(key)))
}

// All three keep a line on the stack, for which a request that needs none would pay too.

#[inline(never)]
fn log_shortage(limit: &Limit, shortage: &Shortage) {
    // Not with the request: its client may have nothing to do with it.
    log::to_cycle(raw::LOG_WARN, &report::no_room(limit.zone.name(), shortage));
}

#[inline(never)]
fn log_long_key(request: Request<'_>, zone: &Zone, key: &[u8]) {
    request.log(raw::LOG_ERR, &report::key_too_long(zone.key_text(), key, LONGEST_KEY));
}

#[inline(never)]
fn write_log(request: Request<'_>, conf: &LocConf, outcome: &Outcome) {
    let name = |limit: usize| conf.limits.get(limit).map_or(&b""[..], |limit| limit.zone.name());
    match *outcome {
        Outcome::Unlimited | Outcome::Pass => {}
        Outcome::Delay { limit, excess, .. } => {
            request.log(conf.delay_log_level(), &report::delayed(name(limit), excess, conf.mode()))
        }
        Outcome::Reject { limit, excess } => {
            request.log(conf.log_level, &report::rejected(name(limit), excess, conf.mode()));
        }
    }
}
