//! What can be settled only once the whole http block has been read: `rl_req` may stand before the
//! `rl_zone` it names.
#![allow(unsafe_code)]

use core::fmt::Arguments;
use std::collections::HashMap;

use nginx_sys::{ngx_conf_t, ngx_cycle_t};

use super::conf::MainConf;
use super::limit::Limit;
use super::zone::{Zone, ZoneRef};
use super::{log, module, raw};
use crate::engine::reload::{Change, Reload};
use crate::report::Line;

/// A request that may be held for longer is worth a word, in milliseconds.
const LONG_WAIT_MS: u64 = 60_000;

/// Gives every `rl_req` its rule and every zone the tag of its records. `false` if something is
/// wrong; it has been logged.
///
/// # Safety
///
/// `cf` must be what nginx hands to a module after it has read the http block.
pub unsafe fn settle(cf: *mut ngx_conf_t) -> bool {
    // SAFETY: by the caller's contract.
    let (main_conf, old) = unsafe { (module::main_conf(cf), (*(*cf).cycle).old_cycle) };
    let largest_bursts = largest_bursts(main_conf);
    for limit in &main_conf.uses {
        let largest_burst = largest_bursts.get(&limit.zone).copied().unwrap_or(0);
        if let Err(line) = settle_limit(limit, largest_burst) {
            // SAFETY: the log of `cf` is live. Not nginx's own function for errors in directives:
            // it would name the end of the http block.
            unsafe { log::write((*cf).log, raw::LOG_EMERG, &line) };
            return false;
        }
    }
    let long_waits = main_conf.uses.iter().filter_map(|limit| long_wait(limit));
    // SAFETY: nginx keeps the cycle before until the new one is in force.
    let changes = main_conf.zones.iter().filter_map(|zone| unsafe { change(*zone, old) });
    let truncated = main_conf.zones.iter().filter_map(truncated);
    for line in long_waits.chain(changes).chain(truncated) {
        // SAFETY: as above.
        unsafe { log::write((*cf).log, raw::LOG_NOTICE, &line) };
    }
    main_conf.zones.iter().for_each(|zone| zone.set_tag());
    true
}

/// The largest burst of all directives on each zone. Found once, since there may be thousands.
fn largest_bursts(main_conf: &MainConf) -> HashMap<ZoneRef, u64> {
    let mut largest_bursts = HashMap::new();
    for limit in &main_conf.uses {
        let largest = largest_bursts.entry(limit.zone).or_default();
        *largest = limit.burst.unwrap_or(0).max(*largest);
    }
    largest_bursts
}

/// Computes the rule of a directive; the burst is the largest of all on its zone.
fn settle_limit(limit: &Limit, largest_burst: u64) -> Result<(), Box<Line>> {
    let Some(zone) = limit.zone.declared() else {
        let mut line = Box::new(Line::new());
        line.push(b"\"rl_req\" names zone \"").push(limit.zone.name());
        line.push(b"\", but no \"rl_zone\" declares it");
        limit.place.end(&mut line);
        return Err(line);
    };
    match zone.rule.rule(limit.burst, limit.delay, largest_burst) {
        Ok(rule) => {
            limit.rule.get_or_init(|| rule);
            Ok(())
        }
        Err(error) => {
            let mut line = Box::new(Line::new());
            line.push(b"\"rl_req\" on zone \"").push(limit.zone.name());
            line.put(format_args!("\": {error}"));
            limit.place.end(&mut line);
            Err(line)
        }
    }
}

/// A directive that may hold a request for long.
fn long_wait(limit: &Limit) -> Option<Line> {
    let wait_ms = limit.rule.get()?.longest_wait_ms();
    if wait_ms <= LONG_WAIT_MS {
        return None;
    }
    let mut line = Line::new();
    line.push(b"\"rl_req\" on zone \"").push(limit.zone.name());
    line.put(format_args!("\" may hold a request for {} seconds", wait_ms / 1000));
    limit.place.end(&mut line);
    Some(line)
}

/// A zone that starts anew because its records have changed.
///
/// # Safety
///
/// As for [`ZoneRef::reload`].
unsafe fn change(zone: ZoneRef, old: *const ngx_cycle_t) -> Option<Line> {
    // SAFETY: by the caller's contract.
    let (before, Reload::Anew(change)) = (unsafe { zone.reload(old) })? else { return None };
    let (old, new): (&Zone, &Zone) = (before.declared()?, zone.declared()?);
    let words = |text: Arguments<'_>| {
        let mut line = about(zone);
        line.put(text).push(b": it starts empty");
        line
    };
    Some(match change {
        Change::Algorithm => words(format_args!(
            "changes from \"{}\" to \"{}\"",
            old.rule.algorithm(),
            new.rule.algorithm()
        )),
        Change::RecordSize => words(format_args!(
            "keeps {} requests a key instead of {}",
            new.rule.quota(),
            old.rule.quota()
        )),
        Change::ZoneSize => words(format_args!("changes its size")),
    })
}

/// A zone whose algorithm truncates its rate.
fn truncated(zone: &ZoneRef) -> Option<Line> {
    let declared = zone.declared()?;
    let notice = declared.rule.notice()?;
    let mut line = about(*zone);
    line.put(format_args!("has a rate that is truncated: {notice}"));
    declared.place.end(&mut line);
    Some(line)
}

/// The start of a line about a zone.
fn about(zone: ZoneRef) -> Line {
    let mut line = Line::new();
    line.push(b"\"rl_zone\" \"").push(zone.name()).push(b"\" ");
    line
}
