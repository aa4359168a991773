//! The result as one page that needs nothing else: no script, no style sheet, no font, no picture
//! from elsewhere. Everything that comes from the log is escaped.

use std::fmt::{self, Write};

use super::sheet::{self, Sheet};
use super::{chart, period};
use crate::lab::error::LabError;
use crate::lab::replay::Summary;

/// The page forbids itself to load anything, should an escape ever be forgotten.
const HEAD: &str = "<!DOCTYPE html>
<html lang=\"en\">
<head>
<meta charset=\"utf-8\">
<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">
<meta name=\"viewport\" content=\"width=device-width\">
<title>rl-lab replay</title>
<style>
body { font: 15px/1.5 sans-serif; max-width: 980px; margin: 2em auto; padding: 0 1em; color: #222 }
table { border-collapse: collapse; margin: 1em 0; font-size: 14px }
th, td { padding: 3px 10px; border-bottom: 1px solid #ddd; text-align: right }
th:first-child, td:first-child { text-align: left }
td { white-space: nowrap }
.wide { overflow-x: auto }
.note { background: #fff6dd; padding: 6px 12px }
svg { max-width: 100%; height: auto }
code { overflow-wrap: anywhere }
</style>
</head>
<body>
";

/// The whole page.
///
/// # Errors
///
/// A chart that cannot be drawn.
pub fn page(summary: &Summary) -> Result<String, LabError> {
    let mut page = HEAD.to_string();
    heading(&mut page, summary).map_err(cannot_write)?;
    page.push_str("<h2>Limits</h2>\n");
    table(&mut page, &sheet::limits(summary)).map_err(cannot_write)?;
    if !summary.disagreements.is_empty() {
        page.push_str("<h2>Disagreements</h2>\n");
        table(&mut page, &sheet::disagreements(summary)).map_err(cannot_write)?;
    }
    page.push_str("<h2>Refusals over time</h2>\n");
    page.push_str(&chart::refusals(&summary.timeline, &summary.limits)?);
    for place in 0..summary.limits.len() {
        limit(&mut page, summary, place)?;
    }
    page.push_str("</body>\n</html>\n");
    Ok(page)
}

fn cannot_write(why: fmt::Error) -> LabError {
    LabError::Report(format!("cannot write the page: {why}"))
}

fn heading(page: &mut String, summary: &Summary) -> fmt::Result {
    let input = &summary.input;
    writeln!(page, "<h1>Replay</h1>\n<p>{}.</p>", Escaped(&sheet::heading(summary)))?;
    writeln!(page, "<p>Read from {}.</p>", Escaped(&input.files.join(", ")))?;
    for note in &summary.notes {
        writeln!(page, "<p class=\"note\">{}.</p>", Escaped(note))?;
    }
    if input.bad > 0 {
        writeln!(page, "<p>{} lines could not be read, the first of them:</p>\n<ul>", input.bad)?;
        for line in &input.bad_lines {
            let (place, why) = (Escaped(&line.place), Escaped(&line.why));
            writeln!(page, "<li>{place}: {why}: <code>{}</code></li>", Escaped(&line.text))?;
        }
        page.push_str("</ul>\n");
    }
    Ok(())
}

/// The charts and worst keys of one limit.
fn limit(page: &mut String, summary: &Summary, place: usize) -> Result<(), LabError> {
    let Some(limit) = summary.limits.get(place) else { return Ok(()) };
    let (name, window) = (Escaped(&limit.limit), period(limit.period_ms));
    write!(page, "<h2>{name}</h2>\n<h3>Admitted of one key in {window}, against the rate</h3>\n")
        .map_err(cannot_write)?;
    page.push_str(&chart::admitted(&summary.timeline, place, limit)?);
    if limit.refused > 0 {
        page.push_str("<h3>Keys by refusals</h3>\n");
        page.push_str(&chart::keys(limit)?);
    }
    page.push_str("<h3>Worst keys</h3>\n");
    table(page, &sheet::worst(limit)).map_err(cannot_write)?;
    if let Some(missed) = sheet::missed(limit) {
        writeln!(page, "<p>{missed}</p>").map_err(cannot_write)?;
    }
    Ok(())
}

fn table(page: &mut String, sheet: &Sheet) -> fmt::Result {
    page.push_str("<div class=\"wide\"><table>\n");
    row(page, "th", &sheet.header)?;
    sheet.rows.iter().try_for_each(|cells| row(page, "td", cells))?;
    page.push_str("</table></div>\n");
    Ok(())
}

fn row(page: &mut String, tag: &str, cells: &[String]) -> fmt::Result {
    page.push_str("<tr>");
    for cell in cells {
        write!(page, "<{tag}>{}</{tag}>", Escaped(cell))?;
    }
    page.push_str("</tr>\n");
    Ok(())
}

/// Text that cannot become markup, in content and in quoted attributes.
struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}
