//! A figure: panels in a grid over one legend.

use super::canvas::{Anchor, Canvas, escape, number};
use super::panel::{Mark, Panel, Series};
use super::style::{self, Shade, Style};

/// A figure of the report.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Name of its file without the ending; letters, digits, hyphens.
    pub id: String,
    /// A few words on what it shows: read out where pictures are not seen.
    pub title: String,
    /// The caption under the figure: what is drawn how, with n and the kind of interval.
    pub caption: String,
    /// Its panels, row by row.
    pub panels: Vec<Panel>,
    /// The number of panels beside each other.
    pub columns: usize,
    /// Height of a panel in pixels.
    pub panel_height: f64,
}

/// Width of every figure in pixels.
const WIDTH: f64 = 760.0;
/// Height of a line of the legend.
const LEGEND_LINE: f64 = 22.0;
/// Length of a line's sample in the legend, and the gap to its name.
const SAMPLE: f64 = 34.0;
/// About the width of a character of the legend.
const CHARACTER: f64 = 7.2;

impl Figure {
    /// The figure as an SVG document that can also stand inside HTML.
    pub fn to_svg(&self) -> String {
        let columns = self.columns.clamp(1, self.panels.len().max(1));
        let rows = self.panels.len().div_ceil(columns);
        let panel_width = WIDTH / columns as f64;
        let grid_height = rows as f64 * self.panel_height;
        let mut canvas = Canvas::default();
        for (i, panel) in self.panels.iter().enumerate() {
            let corner = (
                (i % columns) as f64 * panel_width,
                (i / columns) as f64 * self.panel_height,
            );
            panel.draw(
                &mut canvas,
                &self.id,
                i,
                corner,
                (panel_width, self.panel_height),
            );
        }
        let height = grid_height + self.legend(&mut canvas, grid_height + 6.0);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" role=\"img\" \
             aria-labelledby=\"{2}-title\" font-family=\"system-ui, 'DejaVu Sans', sans-serif\" \
             font-size=\"13\" fill=\"#16202c\">\n<title id=\"{2}-title\">{3}</title>\n\
             <style>{6}</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{4}{5}</svg>\n",
            number(WIDTH),
            number(height),
            self.id,
            escape(&self.title),
            Style::patterns(&self.id),
            canvas.into_body(),
            style::dark()
        )
    }

    /// True if there is a point or bar whose interval is not known.
    pub fn lacks_an_interval(&self) -> bool {
        let series = self.panels.iter().flat_map(|panel| &panel.series);
        series
            .flat_map(|series| &series.marks)
            .any(|mark| match mark {
                Mark::Points(points) => points.iter().any(|point| point.interval.is_none()),
                Mark::Bars(bars) => bars
                    .iter()
                    .any(|bar| bar.is_estimate && bar.interval.is_none()),
                _ => false,
            })
    }

    /// Every named series once, in the order of first appearance.
    fn entries(&self) -> Vec<&Series> {
        let mut entries: Vec<&Series> = Vec::new();
        for series in self.panels.iter().flat_map(|panel| &panel.series) {
            let known = entries.iter().any(|entry| entry.name == series.name);
            if !series.name.is_empty() && !series.marks.is_empty() && !known {
                entries.push(series);
            }
        }
        entries
    }

    /// Draws the legend from `top` on; gives its height. A single series needs none.
    fn legend(&self, canvas: &mut Canvas, top: f64) -> f64 {
        let entries = self.entries();
        if entries.len() < 2 {
            return 6.0;
        }
        let width = |series: &Series| SAMPLE + 8.0 + series.name.chars().count() as f64 * CHARACTER;
        let (mut x, mut y) = (LABEL_START, top + LEGEND_LINE / 2.0);
        for series in entries {
            if x > LABEL_START && x + width(series) > WIDTH {
                x = LABEL_START;
                y += LEGEND_LINE;
            }
            self.sample(canvas, series, (x, y));
            canvas.text((x + SAMPLE + 4.0, y + 4.5), Anchor::Start, &series.name, "");
            x += width(series) + 18.0;
        }
        y - top + LEGEND_LINE
    }

    fn sample(&self, canvas: &mut Canvas, series: &Series, (x, y): (f64, f64)) {
        let any = |test: fn(&Mark) -> bool| series.marks.iter().any(test);
        let shade = series.marks.iter().find_map(|mark| match mark {
            Mark::Cells(shade, _) => Some(Shade(*shade)),
            _ => None,
        });
        if let Some(shade) = shade {
            canvas.rect((x + 6.0, y - 7.0), (SAMPLE - 8.0, 14.0), &shade.sample());
            return;
        }
        if any(|mark| matches!(mark, Mark::Bars(_) | Mark::Box { .. })) {
            let fill = series.style.fill(&self.id);
            canvas.rect((x + 6.0, y - 7.0), (SAMPLE - 8.0, 14.0), &fill);
            return;
        }
        if any(|mark| matches!(mark, Mark::Line(_) | Mark::Steps(_) | Mark::Upright(_))) {
            canvas.line((x, y), (x + SAMPLE, y), &series.style.stroke(1.8));
        }
        if any(|mark| matches!(mark, Mark::Points(_) | Mark::Dots(_))) {
            series.style.marker(canvas, (x + SAMPLE / 2.0, y));
        }
    }
}

/// The place where the legend's lines begin.
const LABEL_START: f64 = 44.0;
