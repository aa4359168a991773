//! The lines that the error log gets during a request (`ngx_http_limit_req_module.c`).

use super::Line;
use crate::engine::Mode;
use crate::limit::Thousandths;
use crate::store::Shortage;

/// How much of an over-long key is shown: enough to recognise it, too little to fill the log.
const SHOWN_KEY: usize = 128;

/// A refused request.
pub fn rejected(zone: &[u8], excess: Thousandths, mode: Mode) -> Line {
    let mut line = Line::new();
    line.push(b"limiting requests").push(suffix(mode));
    // No comma before "by", unlike in the line of a delay.
    put_excess(&mut line, excess).push(b" by zone \"").push(zone).push(b"\"");
    line
}

/// A delayed request.
pub fn delayed(zone: &[u8], excess: Thousandths, mode: Mode) -> Line {
    let mut line = Line::new();
    line.push(b"delaying request").push(suffix(mode));
    put_excess(&mut line, excess).push(b", by zone \"").push(zone).push(b"\"");
    line
}

/// A zone that had no room for new keys, and what it has lost by that since the line before.
pub fn no_room(zone: &[u8], shortage: &Shortage) -> Line {
    let mut line = Line::new();
    line.push(b"\"rl_zone\" \"").push(zone).push(b"\" has no room for new keys: ");
    let Shortage { evicted, refused, passed } = *shortage;
    let lost = [(evicted, "live evicted"), (refused, "refused"), (passed, "passed untracked")];
    let mut separator = "";
    for (count, what) in lost.into_iter().filter(|(count, _)| *count > 0) {
        line.put(format_args!("{separator}{count} {what}"));
        separator = ", ";
    }
    line.push(b" since the last such line; give it a larger size");
    line
}

/// A key that is too long to be limited. Clients write keys, so it is cut and escaped.
pub fn key_too_long(expression: &[u8], key: &[u8], longest: usize) -> Line {
    let shown = key.get(..SHOWN_KEY).unwrap_or(key);
    let mut line = Line::new();
    line.push(b"the value of the \"").push(expression);
    line.put(format_args!("\" key is more than {longest} bytes: \"{}\"", shown.escape_ascii()));
    line
}

fn suffix(mode: Mode) -> &'static [u8] {
    match mode {
        Mode::Enforce => b"",
        Mode::DryRun => b", dry run",
    }
}

fn put_excess(line: &mut Line, excess: Thousandths) -> &mut Line {
    line.put(format_args!(", excess: {}.{:03}", excess / 1000, excess % 1000))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(line: &Line) -> String {
        String::from_utf8_lossy(line.as_bytes()).into_owned()
    }

    #[test]
    fn lines_are_those_of_stock() {
        for (line, expected) in [
            (
                rejected(b"one", 5_009, Mode::Enforce),
                "limiting requests, excess: 5.009 by zone \"one\"",
            ),
            (
                rejected(b"one", 5_009, Mode::DryRun),
                "limiting requests, dry run, excess: 5.009 by zone \"one\"",
            ),
            (
                delayed(b"one", 17, Mode::Enforce),
                "delaying request, excess: 0.017, by zone \"one\"",
            ),
            (
                delayed(b"one", 17, Mode::DryRun),
                "delaying request, dry run, excess: 0.017, by zone \"one\"",
            ),
        ] {
            assert_eq!(text(&line), expected);
        }
    }

    #[test]
    fn a_zone_without_room_says_what_it_has_lost_and_what_to_do() {
        for (evicted, refused, passed, lost) in [
            (7, 0, 0, "7 live evicted"),
            (0, 7, 0, "7 refused"),
            (0, 0, 7, "7 passed untracked"),
            (1, 2, 3, "1 live evicted, 2 refused, 3 passed untracked"),
        ] {
            assert_eq!(
                text(&no_room(b"one", &Shortage { evicted, refused, passed })),
                format!(
                    "\"rl_zone\" \"one\" has no room for new keys: {lost} since the last such \
                     line; give it a larger size"
                ),
            );
        }
    }

    #[test]
    fn a_long_key_is_cut_and_cannot_forge_a_line() {
        let line = key_too_long(b"$arg_k", &[b"\n[alert]\"".as_slice(); 100].concat(), 65535);
        let line = text(&line);
        assert!(
            line.starts_with(
                "the value of the \"$arg_k\" key is more than 65535 bytes: \"\\n[alert]\\\""
            ),
            "{line}"
        );
        assert!(line.len() < 400 && !line.contains('\n'), "{line}");
    }

    #[test]
    fn a_line_has_a_longest_length() {
        let line = rejected(&[b'z'; 5000], 0, Mode::Enforce);
        assert_eq!(line.as_bytes().len(), 2048);
    }
}
