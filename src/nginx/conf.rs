//! The configuration of a location and of the whole, and how one level takes over from the other.
use std::rc::Rc;

use nginx_sys::{ngx_flag_t, ngx_uint_t};

use super::limit::Limit;
use super::raw;
use super::zone::ZoneRef;
use crate::engine::Mode;

/// What a directive that has not been written holds (`NGX_CONF_UNSET`, `NGX_CONF_UNSET_UINT`).
const UNSET: isize = -1;
const UNSET_UINT: ngx_uint_t = ngx_uint_t::MAX;

/// Configuration of one location. nginx writes the plain fields by their offset.
#[repr(C)]
pub struct LocConf {
    /// Its limits in the order of the file; taken from outside if the level has none.
    pub limits: Vec<Rc<Limit>>,
    /// `rl_req_log_level`: level of a refusal's line. A delay's is one lower.
    pub log_level: ngx_uint_t,
    /// `rl_req_status`: status of a refusal.
    pub status_code: ngx_uint_t,
    /// `rl_req_dry_run`.
    pub dry_run: ngx_flag_t,
}

impl LocConf {
    /// A level on which nothing is written.
    pub fn unset() -> Self {
        Self { limits: Vec::new(), log_level: UNSET_UINT, status_code: UNSET_UINT, dry_run: UNSET }
    }

    /// Takes over from the level outside, or stock's default, what is not written on this one.
    pub fn inherit(&mut self, outer: &Self) {
        fn or<T: PartialEq + Copy>(own: T, outer: T, unset: T, default: T) -> T {
            [own, outer].into_iter().find(|value| *value != unset).unwrap_or(default)
        }
        if self.limits.is_empty() {
            self.limits.clone_from(&outer.limits);
        }
        self.log_level = or(self.log_level, outer.log_level, UNSET_UINT, raw::LOG_ERR);
        self.status_code = or(self.status_code, outer.status_code, UNSET_UINT, 503);
        self.dry_run = or(self.dry_run, outer.dry_run, UNSET, 0);
    }

    /// Whether outcomes are enforced here.
    pub fn mode(&self) -> Mode {
        if self.dry_run == 0 {
            Mode::Enforce
        } else {
            Mode::DryRun
        }
    }

    /// Level of a delay's line: one lower than a refusal's, but `info` stays `info`.
    pub fn delay_log_level(&self) -> ngx_uint_t {
        (self.log_level + 1).min(raw::LOG_INFO)
    }
}

/// Configuration of the http block.
#[derive(Default)]
pub struct MainConf {
    /// The zones that `rl_zone` declares.
    pub zones: Vec<ZoneRef>,
    /// All of `rl_req`. A zone may be declared further down the file, so that they can be checked
    /// only after the whole block has been read.
    pub uses: Vec<Rc<Limit>>,
}
