//! A zone: its key, its algorithm and rate, its table in shared memory.
#![allow(unsafe_code)]

use core::ffi::c_void;
use core::ptr::NonNull;

use nginx_sys::{
    ngx_cycle_t, ngx_http_complex_value_t, ngx_int_t, ngx_pagesize, ngx_shm_zone_t, ngx_slab_alloc,
    ngx_slab_pool_t, ngx_uint_t, ngx_worker,
};

use super::guard::guard;
use super::log::Place;
use super::{log, raw};
use crate::config::ZoneRule;
use crate::engine::reload::{self, Reload, ZoneShape};
use crate::engine::AnyTable;
use crate::limit::{Full, Rule};
use crate::report::Line;
use crate::store::{capacity, Kind, Owner, Region, Secret, LEAST_KEYS};

/// What `rl_zone` declares. nginx keeps it behind `data` of the shared memory zone.
pub struct Zone {
    /// The key of a request.
    pub key: ngx_http_complex_value_t,
    /// Its algorithm and rate.
    pub rule: ZoneRule,
    /// What happens to a new key where the table is full. May change over a reload: it is told to
    /// the table at each operation.
    pub full: Full,
    /// The rule of a directive without burst: what its records are follows from it.
    pub plain: Rule,
    /// Where the directive stands.
    pub place: Place,
    /// The table, once nginx has mapped the memory.
    pub table: Option<AnyTable>,
}

impl Zone {
    /// The key as it is written in the configuration.
    pub fn key_text(&self) -> &[u8] {
        // SAFETY: the value was compiled from a word of the configuration, in whose pool it stays.
        unsafe { raw::bytes(self.key.value) }
    }

    /// Makes the calling process the owner of the locks it takes and of the counters it writes.
    /// After a fork nothing of that is known yet.
    pub fn adopt(&self) {
        if let Some(table) = &self.table {
            // SAFETY: nginx sets the number of a worker before it calls any hook in it.
            let worker: ngx_uint_t = unsafe { ngx_worker };
            table.adopt(Owner::of_this_process(), worker);
        }
    }
}

/// A shared memory zone that `rl_zone` or `rl_req` names.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ZoneRef(NonNull<ngx_shm_zone_t>);

impl ZoneRef {
    /// Takes a zone of nginx's.
    ///
    /// # Safety
    ///
    /// The zone must have been added with this module's tag, and the value must not be used
    /// longer than the configuration it was added to.
    pub unsafe fn new(shm_zone: NonNull<ngx_shm_zone_t>) -> Self {
        Self(shm_zone)
    }

    /// The zone's name.
    pub fn name(&self) -> &[u8] {
        // SAFETY: zone and name live as long as the configuration, by the contract of `new`.
        unsafe { raw::bytes(self.0.as_ref().shm.name) }
    }

    /// What `rl_zone` says of it; `None` until that has been read.
    pub fn declared(&self) -> Option<&Zone> {
        // SAFETY: the zone is live. Nobody but `declare` sets the data of a zone with our tag.
        unsafe { self.0.as_ref().data.cast::<Zone>().as_ref() }
    }

    /// What decides whether its records can be kept; `None` until it is declared.
    pub fn shape(&self) -> Option<ZoneShape<'_>> {
        let zone = self.declared()?;
        // SAFETY: the zone is live, by the contract of `new`.
        let size = unsafe { self.0.as_ref().shm.size };
        Some(ZoneShape { size, kind: Kind::of(&zone.plain), key: zone.key_text() })
    }

    /// Gives the zone a tag that stands for its records, so that nginx takes over the memory of
    /// the configuration before only where they are the same. Once the http block has been read:
    /// until then the tag says that the zone is this module's.
    pub fn set_tag(mut self) {
        let Some(shape) = self.shape() else { return };
        let tag = reload::tag(shape.kind) as usize;
        // SAFETY: the zone is live, and nobody else uses it while the configuration is read. nginx
        // only compares tags.
        unsafe { self.0.as_mut().tag = core::ptr::without_provenance_mut(tag) };
    }

    /// What becomes of the records of the zone's namesake in the configuration before; `None`
    /// where there was none.
    ///
    /// # Safety
    ///
    /// `old` must be null or the live cycle of that configuration.
    pub unsafe fn reload(self, old: *const ngx_cycle_t) -> Option<(ZoneRef, Reload)> {
        // SAFETY: by the caller's contract.
        let namesake = unsafe { namesake(old, self.name()) }?;
        Some((namesake, reload::reload(&namesake.shape()?, &self.shape()?)))
    }

    /// Declares the zone.
    ///
    /// # Safety
    ///
    /// `zone` must live as long as the configuration.
    pub unsafe fn declare(mut self, zone: NonNull<Zone>) {
        // SAFETY: the zone is live, and nobody else uses it while the configuration is read.
        let shm_zone = unsafe { self.0.as_mut() };
        shm_zone.init = Some(init_zone);
        shm_zone.data = zone.as_ptr().cast();
    }
}

/// The zone of that name and this module in a cycle.
///
/// # Safety
///
/// `cycle` must be null or live.
unsafe fn namesake(cycle: *const ngx_cycle_t, name: &[u8]) -> Option<ZoneRef> {
    // SAFETY: a live cycle has a list of zones; its parts hold `nelts` elements each. The very
    // first cycle's list is all zero.
    unsafe {
        let mut part = cycle.as_ref().map(|cycle| &cycle.shared_memory.part)?;
        loop {
            for n in 0..part.nelts {
                let zone = NonNull::new(part.elts.cast::<ngx_shm_zone_t>().add(n))?;
                let is_ours = reload::is_tag((*zone.as_ptr()).tag.addr() as u64);
                if is_ours && raw::bytes((*zone.as_ptr()).shm.name) == name {
                    return Some(ZoneRef::new(zone));
                }
            }
            part = part.next.as_ref()?;
        }
    }
}

/// Called by nginx when the memory of a zone is mapped, or taken over from the configuration
/// before (`old`). Must not write to memory that is taken over: old workers use it, and the new
/// configuration may still be given up.
unsafe extern "C" fn init_zone(shm_zone: *mut ngx_shm_zone_t, old: *mut c_void) -> ngx_int_t {
    guard("zone init", raw::ERROR, || {
        // SAFETY: nginx hands over a live zone, and `rl_zone` has put our type behind `data`.
        let (shm_zone, zone) = unsafe { (&mut *shm_zone, &mut *(*shm_zone).data.cast::<Zone>()) };
        // SAFETY: the old data is that of a zone with our tag, so it is our type too; its
        // configuration lives until the new one is in force.
        let old = unsafe { old.cast::<Zone>().as_ref() };
        let attached = match old {
            Some(old) => take_over(zone, old),
            None => create(shm_zone, zone),
        };
        match attached {
            Ok(()) => raw::OK,
            Err(why) => {
                // Stock says so of a changed key; the rest is about this zone alone.
                let directive = if old.is_some() { "rl_req" } else { "rl_zone" };
                let mut line = Line::new();
                line.push(directive.as_bytes());
                // SAFETY: the zone's name and log live as long as the zone.
                unsafe {
                    line.push(b" \"").push(raw::bytes(shm_zone.shm.name)).push(b"\" ");
                    log::write(shm_zone.shm.log, raw::LOG_EMERG, line.push(why.as_bytes()));
                }
                raw::ERROR
            }
        }
    })
}

/// Goes on with the table of the configuration before, which must have had the same key.
fn take_over(zone: &mut Zone, old: &Zone) -> Result<(), Box<Line>> {
    let mut why = Box::new(Line::new());
    if zone.key_text() != old.key_text() {
        why.push(b"uses the \"").push(zone.key_text());
        why.push(b"\" key while previously it used the \"").push(old.key_text()).push(b"\" key");
        return Err(why);
    }
    let Some(table) = &old.table else {
        why.push(b"has no table to take over");
        return Err(why);
    };
    match AnyTable::attach(&zone.plain, table.region(), zone.key_text()) {
        Ok(table) => zone.table = Some(table),
        Err(error) => {
            why.put(format_args!("cannot take over its table: {error}"));
            return Err(why);
        }
    }
    Ok(())
}

/// Lays out a new table in all of the zone's memory.
fn create(shm_zone: &ngx_shm_zone_t, zone: &mut Zone) -> Result<(), Box<Line>> {
    let mut why = Box::new(Line::new());
    let Some(region) = allocate_all(shm_zone) else {
        why.push(b"has no room for a table");
        return Err(why);
    };
    let keys = capacity(&zone.plain, region.bytes());
    if matches!(zone.plain, Rule::SlidingLog(_)) && keys < LEAST_KEYS {
        why.put(format_args!(
            "is too small for \"{}\" at \"rate={}\": a key takes {} bytes, so {keys} keys fit, and \
             it takes {LEAST_KEYS} at least",
            zone.rule.algorithm(),
            zone.rule.rate(),
            u64::from(zone.rule.quota()) * 8,
        ));
        zone.place.end(&mut why);
        return Err(why);
    }
    let secret = match Secret::random() {
        Ok(secret) => secret,
        Err(error) => {
            why.put(format_args!("cannot get a random secret: {error}"));
            return Err(why);
        }
    };
    match AnyTable::create(&zone.plain, region, zone.key_text(), secret) {
        Ok(table) => {
            name_pool(shm_zone, &table);
            zone.table = Some(table);
            Ok(())
        }
        Err(error) => {
            why.put(format_args!("cannot lay out its table: {error}"));
            Err(why)
        }
    }
}

/// All free pages of the zone's slab pool in one piece.
fn allocate_all(shm_zone: &ngx_shm_zone_t) -> Option<Region> {
    let pool = shm_zone.shm.addr.cast::<ngx_slab_pool_t>();
    // SAFETY: nginx has initialised a slab pool at the start of the zone's memory. What the pool
    // hands out is ours as long as the memory is mapped, and page-aligned above half a page.
    unsafe {
        let bytes = (*pool).pfree * ngx_pagesize;
        let memory = NonNull::new(ngx_slab_alloc(pool, bytes).cast::<u8>())?;
        Some(Region::new(memory, bytes))
    }
}

/// Names the zone in what the slab pool logs. The text lies in the table's header: the pool has
/// nothing left to give.
fn name_pool(shm_zone: &ngx_shm_zone_t, table: &AnyTable) {
    let pool = shm_zone.shm.addr.cast::<ngx_slab_pool_t>();
    let mut text = Line::new();
    // SAFETY: the zone's name lives as long as the zone.
    text.push(b" in rl_zone \"").push(unsafe { raw::bytes(shm_zone.shm.name) }).push(b"\"");
    // SAFETY: the pool is live, and the text is in the same memory, mapped at the same address in
    // all workers.
    unsafe { (*pool).log_ctx = table.write_label(text.as_bytes()) };
}
