//! Charts as SVG text, to be set into a page as they are.

use plotters::coord::Shift;
use plotters::prelude::*;

use super::instant;
use crate::lab::error::LabError;
use crate::lab::replay::{LimitSummary, Timeline};

/// Size of a chart in pixels.
const WIDTH: u32 = 960;
const HEIGHT: u32 = 320;

/// Height of one bar in pixels.
const BAR: u32 = 22;

/// Room for the text of a key, in pixels and in characters.
const KEY_WIDTH: u32 = 300;
const KEY_LENGTH: usize = 42;

/// Colours that stay apart on white for colour-blind eyes too (Okabe and Ito, 2008).
struct Colours;

impl Palette for Colours {
    const COLORS: &'static [(u8, u8, u8)] = &[
        (0, 114, 178),
        (213, 94, 0),
        (0, 158, 115),
        (204, 121, 167),
        (86, 180, 233),
        (230, 159, 0),
        (0, 0, 0),
    ];
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// A line of a chart over time.
struct Series {
    name: String,
    values: Vec<u32>,
}

/// Refusals over time, a line for each limit.
pub(super) fn refusals(timeline: &Timeline, limits: &[LimitSummary]) -> Result<String, LabError> {
    let series = limits.iter().zip(&timeline.limits).map(|(limit, stretches)| Series {
        name: limit.limit.clone(),
        values: stretches.iter().map(|stretch| stretch.refused).collect(),
    });
    over_time(timeline, &series.collect::<Vec<_>>(), "refused requests")
}

/// The most that a limit admitted of one key in its period, over time, beside its quota.
pub(super) fn admitted(
    timeline: &Timeline,
    place: usize,
    limit: &LimitSummary,
) -> Result<String, LabError> {
    let stretches = timeline.limits.get(place).map_or(&[][..], Vec::as_slice);
    let peaks = stretches.iter().map(|stretch| stretch.peak).collect::<Vec<_>>();
    let quota = u32::try_from(limit.quota).unwrap_or(u32::MAX);
    let series = [
        Series { name: "most of one key".to_string(), values: peaks },
        Series { name: "rate".to_string(), values: vec![quota; stretches.len()] },
    ];
    over_time(timeline, &series, "admitted in a period")
}

/// The keys with the most refusals.
pub(super) fn keys(limit: &LimitSummary) -> Result<String, LabError> {
    let refused = limit.worst.iter().filter(|key| key.refused > 0).collect::<Vec<_>>();
    let most = refused.iter().map(|key| key.refused).max().unwrap_or(1);
    let rows = u32::try_from(refused.len()).unwrap_or(u32::MAX);
    let mut svg = String::new();
    {
        let root = area(&mut svg, rows.saturating_mul(BAR).saturating_add(8))?;
        let style = ("sans-serif", 13).into_font().color(&BLACK);
        for (row, key) in (0_i32..).zip(&refused) {
            let top = row * BAR.cast_signed() + 4;
            let room = f64::from(WIDTH - KEY_WIDTH - 90);
            let length = (room * key.refused as f64 / most as f64).round() as i32;
            let left = KEY_WIDTH.cast_signed();
            let bar = [(left, top), (left + length.max(1), top + BAR.cast_signed() - 4)];
            root.draw(&Rectangle::new(bar, Colours::pick(0).filled())).map_err(cannot_draw)?;
            root.draw_text(&shortened(&key.key), &style, (4, top + 2)).map_err(cannot_draw)?;
            let count = key.refused.to_string();
            let at = (left + length + 6, top + 2);
            root.draw_text(&count, &style, at).map_err(cannot_draw)?;
        }
        root.present().map_err(cannot_draw)?;
    }
    Ok(svg)
}

fn over_time(timeline: &Timeline, series: &[Series], unit: &str) -> Result<String, LabError> {
    let most = series.iter().flat_map(|series| &series.values).max().copied().unwrap_or(0);
    let length = timeline.offered.len() as u64;
    let time_of = |place: u64| timeline.start_ms + place * timeline.width_ms;
    let mut svg = String::new();
    {
        let root = area(&mut svg, HEIGHT)?;
        let times = timeline.start_ms..time_of(length.max(1));
        let mut chart = ChartBuilder::on(&root)
            .margin(8)
            .x_label_area_size(28)
            .y_label_area_size(64)
            .build_cartesian_2d(times, 0_u32..most.saturating_add(most / 10).max(1))
            .map_err(cannot_draw)?;
        chart
            .configure_mesh()
            .x_labels(5)
            .x_label_formatter(&|time_ms| instant(*time_ms))
            .y_desc(unit)
            .light_line_style(WHITE)
            .draw()
            .map_err(cannot_draw)?;
        for (number, series) in series.iter().enumerate() {
            let color = Colours::pick(number).to_rgba();
            let points = (0_u64..).zip(&series.values).map(|(n, value)| (time_of(n), *value));
            let legend =
                move |(x, y)| PathElement::new([(x, y), (x + 16, y)], color.stroke_width(2));
            let line = LineSeries::new(points, color.stroke_width(1));
            let drawn = chart.draw_series(line).map_err(cannot_draw)?;
            drawn.label(&series.name).legend(legend);
        }
        let labels = &mut chart.configure_series_labels();
        let labels = labels.background_style(WHITE.mix(0.8)).border_style(BLACK.mix(0.2));
        labels.position(SeriesLabelPosition::UpperLeft).draw().map_err(cannot_draw)?;
        root.present().map_err(cannot_draw)?;
    }
    Ok(svg)
}

fn area(svg: &mut String, height: u32) -> Result<Area<'_>, LabError> {
    let root = SVGBackend::with_string(svg, (WIDTH, height)).into_drawing_area();
    root.fill(&WHITE).map_err(cannot_draw)?;
    Ok(root)
}

/// The beginning of a long key.
fn shortened(key: &str) -> String {
    match key.char_indices().nth(KEY_LENGTH) {
        Some((end, _)) => format!("{}…", key.get(..end).unwrap_or(key)),
        None => key.to_string(),
    }
}

fn cannot_draw(why: impl std::fmt::Display) -> LabError {
    LabError::Report(format!("cannot draw a chart: {why}"))
}
