//! Plots of the tables, in SVG.

use std::error::Error;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::published::table;
use crate::tables::{Cell, Row, Table, figure};

/// The plots: a name, and the groups whose ratios they show.
const PLOTS: [(&str, &[&str]); 2] =
    [("speed", &["parse", "pipeline"]), ("streaming", &["sse_calls", "sse_records", "tokens", "latency"])];

/// The colors of the page around a plot.
struct Theme {
    name: &'static str,
    background: RGBColor,
    title: RGBColor,
    text: RGBColor,
    grid: RGBColor,
    peer: RGBColor,
    tokenline: RGBColor,
}

/// GitHub's.
const THEMES: [Theme; 2] = [
    Theme {
        name: "light",
        background: RGBColor(0xff, 0xff, 0xff),
        title: RGBColor(0x24, 0x29, 0x2f),
        text: RGBColor(0x57, 0x60, 0x6a),
        grid: RGBColor(0xe1, 0xe4, 0xe8),
        peer: RGBColor(0xaf, 0xb8, 0xc1),
        tokenline: RGBColor(0x1f, 0x6f, 0xeb),
    },
    Theme {
        name: "dark",
        background: RGBColor(0x0d, 0x11, 0x17),
        title: RGBColor(0xe6, 0xed, 0xf3),
        text: RGBColor(0x91, 0x98, 0xa1),
        grid: RGBColor(0x26, 0x2c, 0x36),
        peer: RGBColor(0x56, 0x5d, 0x66),
        tokenline: RGBColor(0x38, 0x8b, 0xfd),
    },
];

const FONT: &str = "system-ui, sans-serif";

// In pixels.
const WIDTH: u32 = 800;
const MARGIN: u32 = 14;
/// For the names of the corpora.
const LEFT: u32 = 120;
/// For the end of the label on the longest bar.
const RIGHT: u32 = 370;
const TITLE: u32 = 44;
const AXIS: u32 = 24;
const BAR: u32 = 15;
/// Between two corpora.
const GAP: u32 = 8;

type Area<'s> = DrawingArea<SVGBackend<'s>, Shift>;
type Drawn = Result<(), Box<dyn Error>>;

/// Draws every plot of these tables for light and dark pages. Returns file names and documents.
///
/// # Panics
///
/// If a table or a ratio is missing.
#[must_use]
pub(crate) fn draw_all(tables: &[Table]) -> Vec<(String, String)> {
    let plots = PLOTS.iter().flat_map(|plot| THEMES.iter().map(move |theme| (plot, theme)));
    plots
        .map(|((name, groups), theme)| {
            let tables: Vec<&Table> = groups.iter().map(|group| table(tables, group)).collect();
            let mut svg = String::new();
            draw(&mut svg, &tables, theme).expect("a string takes every shape");
            (format!("{name}-{}.svg", theme.name), svg)
        })
        .collect()
}

fn draw(svg: &mut String, tables: &[&Table], theme: &Theme) -> Drawn {
    let heights: Vec<u32> = tables.iter().map(|table| TITLE + bars_height(table) + AXIS).collect();
    let area =
        SVGBackend::with_string(svg, (WIDTH, heights.iter().sum::<u32>() + MARGIN)).into_drawing_area();
    area.fill(&theme.background)?;
    let mut rest = area.clone();
    for (table, height) in tables.iter().zip(heights) {
        let (panel, below) = rest.split_vertically(height);
        draw_panel(&panel, table, theme)?;
        rest = below;
    }
    area.present()?;
    Ok(())
}

fn bars_height(table: &Table) -> u32 {
    table.columns.len() as u32 * (table.rows.len() as u32 * BAR + GAP)
}

/// Bars of the ratios, grouped by corpus.
fn draw_panel(panel: &Area<'_>, table: &Table, theme: &Theme) -> Drawn {
    let (left, y) = (MARGIN as i32, MARGIN as i32);
    let heading = (FONT, size(13), FontStyle::Bold).into_font().color(&theme.title);
    panel.draw_text(&title(table), &heading, (left, y))?;
    let first = without_code(&table.rows[0].label);
    let subtitle = format!("times as fast as {first}; in parentheses: {}", table.unit);
    panel.draw_text(&subtitle, &text(11, theme.text), (left, y + 17))?;

    let longest = table.rows.iter().flat_map(|row| &row.cells).map(ratio).fold(1.0, f64::max);
    let height = bars_height(table);
    // y in pixels below the top.
    let mut chart = ChartBuilder::on(panel)
        .margin_top(TITLE)
        .margin_right(RIGHT)
        .set_label_area_size(LabelAreaPosition::Left, LEFT)
        .set_label_area_size(LabelAreaPosition::Bottom, AXIS)
        .build_cartesian_2d(0.0..longest, -f64::from(height)..0.0)?;
    chart
        .configure_mesh()
        .disable_y_mesh()
        .disable_y_axis()
        .x_labels(5)
        .x_label_formatter(&|ratio| ((ratio * 100.0).round() / 100.0).to_string())
        .x_label_style(text(10, theme.text))
        .axis_style(theme.grid)
        .bold_line_style(theme.grid)
        .light_line_style(TRANSPARENT)
        .draw()?;

    let row_height = table.rows.len() as u32 * BAR + GAP;
    let mut labels = Vec::new();
    for (at, column) in table.columns.iter().enumerate() {
        let top = at as u32 * row_height + GAP / 2;
        let style = text(11, theme.title).pos(Pos::new(HPos::Right, VPos::Top));
        labels.push(((0.0, top + 2), -8, column.clone(), style));
        for (Row { label: name, cells }, top) in table.rows.iter().zip((top..).step_by(BAR as usize)) {
            let ratio = ratio(&cells[at]);
            let (bar, name_color) = if name.starts_with("tokenline") {
                (theme.tokenline, theme.title)
            } else {
                (theme.peer, theme.text)
            };
            let corners = [(0.0, -f64::from(top + 2)), (ratio, -f64::from(top + BAR - 2))];
            chart.draw_series([Rectangle::new(corners, bar.filled())])?;
            let description = format!("{ratio:.2}  {} ({})", without_code(name), figure(cells[at].value));
            // Beside the line at 1, not on it.
            labels.push(((ratio.max(1.0), top + 2), 6, description, text(11, name_color)));
        }
    }
    // The contender that the others are compared with.
    chart.draw_series([PathElement::new([(1.0, 0.0), (1.0, -f64::from(height))], theme.text)])?;
    chart.draw_series(labels.into_iter().map(|((x, y), right, text, style)| {
        EmptyElement::at((x, -f64::from(y))) + Text::new(text, (right, 0), style)
    }))?;
    Ok(())
}

fn title(table: &Table) -> String {
    let mut title = without_code(&table.title);
    if let Some(first) = title.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    title
}

fn without_code(label: &str) -> String {
    label.replace('`', "")
}

fn ratio(cell: &Cell) -> f64 {
    cell.ratio.expect("a plotted group has ratios")
}

fn text(pixels: u32, color: RGBColor) -> TextStyle<'static> {
    (FONT, size(pixels)).into_font().color(&color)
}

/// plotters writes this size divided by the same number.
fn size(pixels: u32) -> f64 {
    f64::from(pixels) * 1.24
}
