//! `rl_zone key zone=name:size [rate=rate] [algorithm=name] [full=evict|reject|pass];`

use super::number::parse_size;
use super::{AlgorithmName, ConfigError, Rate, ZoneRule};
use crate::limit::Full;

/// The arguments of `rl_zone` behind the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneArgs<'a> {
    /// Name of the zone, not empty.
    pub name: &'a [u8],
    /// Size of the shared memory in bytes, at least eight pages.
    pub size: u64,
    /// The zone's algorithm and rate.
    pub rule: ZoneRule,
    /// What happens to a new key where the zone is full.
    pub full: Full,
}

impl<'a> ZoneArgs<'a> {
    /// nginx's slab allocator needs room for itself.
    const LEAST_PAGES: u64 = 8;

    /// Parses the arguments behind the key, in any order; the last of its kind counts.
    ///
    /// # Errors
    ///
    /// The first argument that is not understood, or the missing `zone=`.
    pub fn parse(
        directive: &'a [u8],
        arguments: impl IntoIterator<Item = &'a [u8]>,
        page_size: u64,
    ) -> Result<Self, ConfigError<'a>> {
        let mut zone = None;
        let mut rate = (&b"rate=1r/s"[..], Rate::DEFAULT);
        let mut algorithm = AlgorithmName::default();
        let mut full = Full::default();
        for argument in arguments {
            if let Some(value) = argument.strip_prefix(b"zone=") {
                zone = Some(parse_name_and_size(argument, value, page_size)?);
            } else if argument.starts_with(b"rate=") {
                rate = (argument, Rate::parse(argument)?);
            } else if let Some(name) = argument.strip_prefix(b"algorithm=") {
                algorithm = AlgorithmName::of(name).ok_or(ConfigError::Algorithm(argument))?;
            } else if let Some(name) = argument.strip_prefix(b"full=") {
                full = parse_full(name).ok_or(ConfigError::Full(argument))?;
            } else {
                return Err(ConfigError::Parameter(argument));
            }
        }
        let (name, size) =
            zone.filter(|(name, _)| !name.is_empty()).ok_or(ConfigError::NoZone(directive))?;
        let (argument, rate) = rate;
        let rule = ZoneRule::new(algorithm, rate)
            .map_err(|why| ConfigError::Unusable(argument, algorithm, why))?;
        Ok(Self { name, size, rule, full })
    }
}

fn parse_full(name: &[u8]) -> Option<Full> {
    match name {
        b"evict" => Some(Full::Evict),
        b"reject" => Some(Full::Reject),
        b"pass" => Some(Full::Pass),
        _ => None,
    }
}

fn parse_name_and_size<'a>(
    argument: &'a [u8],
    value: &'a [u8],
    page_size: u64,
) -> Result<(&'a [u8], u64), ConfigError<'a>> {
    let mut parts = value.splitn(2, |&byte| byte == b':');
    let (Some(name), Some(size)) = (parts.next(), parts.next()) else {
        return Err(ConfigError::ZoneSize(argument));
    };
    let size = parse_size(size).ok_or(ConfigError::ZoneSize(argument))?;
    if size < ZoneArgs::LEAST_PAGES * page_size {
        return Err(ConfigError::ZoneTooSmall(argument));
    }
    Ok((name, size))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse<'a>(arguments: &[&'a str]) -> Result<ZoneArgs<'a>, String> {
        ZoneArgs::parse(b"rl_zone", arguments.iter().map(|a| a.as_bytes()), 4096)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn order_is_free_and_the_last_counts() {
        let rule = |rate: &'static [u8]| {
            ZoneRule::new(AlgorithmName::Leaky, Rate::parse(rate).unwrap()).unwrap()
        };
        let zone = ZoneArgs { name: b"z", size: 1 << 20, rule: rule(b"5r/s"), full: Full::Evict };
        assert_eq!(parse(&["zone=z:1m", "rate=5r/s"]), Ok(zone));
        assert_eq!(parse(&["rate=5r/s", "zone=z:1m"]), Ok(zone));
        assert_eq!(parse(&["rate=9r/s", "zone=y:2m", "zone=z:1m", "rate=5r/s"]), Ok(zone));
        assert_eq!(parse(&["zone=z:1m"]), Ok(ZoneArgs { rule: rule(b"1r/s"), ..zone }));
        for (name, full) in [("evict", Full::Evict), ("reject", Full::Reject), ("pass", Full::Pass)]
        {
            let argument = format!("full={name}");
            let other = ZoneArgs { full, ..zone };
            assert_eq!(parse(&["zone=z:1m", "rate=5r/s", &argument]), Ok(other));
            assert_eq!(parse(&["full=pass", &argument, "rate=5r/s", "zone=z:1m"]), Ok(other));
        }
    }

    #[test]
    fn errors_quote_the_argument() {
        for (arguments, message) in [
            (&["rate=1r/s"][..], "\"rl_zone\" must have \"zone\" parameter"),
            (&["zone=:1m"], "\"rl_zone\" must have \"zone\" parameter"),
            (&["zone=z"], "invalid zone size \"zone=z\""),
            (&["zone=z:"], "invalid zone size \"zone=z:\""),
            (&["zone=z:1g"], "invalid zone size \"zone=z:1g\""),
            (&["zone=z:1:1m"], "invalid zone size \"zone=z:1:1m\""),
            (&["zone=z:32767"], "zone \"zone=z:32767\" is too small"),
            (&["zone=z:1m", "rate=0"], "invalid rate \"rate=0\""),
            (&["zone=z:1m", "rete=1"], "invalid parameter \"rete=1\""),
            (
                &["zone=z:1m", "full=drop"],
                "invalid full value \"full=drop\", one of evict, reject, pass",
            ),
            (&["full=", "zone=z:1m"], "invalid full value \"full=\", one of evict, reject, pass"),
            (
                &["zone=z:1m", "algorithm=fifo"],
                "invalid algorithm \"algorithm=fifo\", one of leaky, gcra, token_bucket, \
                 leaky_queue, fixed_window, anchored_window, sliding_window, sliding_log",
            ),
            (
                &["zone=z:1m", "rate=1r/h"],
                "invalid rate \"rate=1r/h\": \"leaky\" computes in 1/1000 request a second, of \
                 which this is less than one; use \"algorithm=gcra\"",
            ),
            (
                &["zone=z:1m", "rate=9223372036854775r/999ms"],
                "invalid rate \"rate=9223372036854775r/999ms\": \"leaky\" takes at most \
                 9223372036854775 requests a second",
            ),
            (
                &["zone=z:1m", "rate=10000001r/s", "algorithm=leaky_queue"],
                "invalid rate \"rate=10000001r/s\": \"leaky_queue\" takes at most 10000000 \
                 requests a second",
            ),
            (
                &["zone=z:1m", "algorithm=sliding_log", "rate=2097153r/m"],
                "invalid rate \"rate=2097153r/m\": \"sliding_log\" takes at most 2097152 \
                 requests in a window",
            ),
            (
                &["zone=z:1m", "algorithm=swc", "rate=4294967296r/w"],
                "invalid rate \"rate=4294967296r/w\": \"sliding_window\" takes at most \
                 4294967295 requests in a window",
            ),
            (
                &["zone=z:1m", "algorithm=token_bucket", "rate=1r/200y"],
                "invalid rate \"rate=1r/200y\": \"token_bucket\" takes at least one request in \
                 146 years",
            ),
        ] {
            assert_eq!(parse(arguments), Err(message.to_string()), "{arguments:?}");
        }
    }

    #[test]
    fn bytes_that_are_not_utf8_are_escaped() {
        let error = ZoneArgs::parse(b"rl_zone", [&b"\xff\xe4"[..]], 4096).unwrap_err();
        assert_eq!(error.to_string(), "invalid parameter \"\\xff\\xe4\"");
    }
}
