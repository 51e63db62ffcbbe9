//! A panel: two axes and what is drawn between them.

use super::axis::{Axis, Tick};
use super::canvas::{Anchor, Canvas};
use super::style::{Shade, Style};

/// A point, with the interval of its y where there is one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Place on the x axis.
    pub x: f64,
    /// Place on the y axis.
    pub y: f64,
    /// Lower and upper end of the interval of y.
    pub interval: Option<(f64, f64)>,
}

/// A bar from the axis's start, or from `base`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bar {
    /// Left and right edge.
    pub x: (f64, f64),
    /// The value that it begins at.
    pub base: f64,
    /// The value that it reaches.
    pub y: f64,
    /// Lower and upper end of the interval of y.
    pub interval: Option<(f64, f64)>,
    /// True if y is an estimate, and not a count.
    pub is_estimate: bool,
}

/// A cell of a heat map: one place wide on both axes, which are of categories.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// Place on the x axis.
    pub x: f64,
    /// Place on the y axis.
    pub y: f64,
    /// Written into it where there is room.
    pub label: String,
}

/// The mark that a series is drawn as. A series may have several.
#[derive(Debug, Clone, PartialEq)]
pub enum Mark {
    /// A line through points: only where values between them mean something. A single point is a short stroke.
    Line(Vec<(f64, f64)>),
    /// Steps: each point holds until the next one's x.
    Steps(Vec<(f64, f64)>),
    /// Markers with their intervals.
    Points(Vec<Point>),
    /// Markers that have none: what was measured itself.
    Dots(Vec<(f64, f64)>),
    /// Bars with their intervals.
    Bars(Vec<Bar>),
    /// A vertical line over the whole height.
    Upright(f64),
    /// A horizontal box with a median and whiskers: five places on the x axis in ascending order,
    /// at one place of the y axis.
    Box {
        /// Whisker, box, median, box, whisker.
        x: [f64; 5],
        /// The y that it lies at.
        y: f64,
        /// Height of the box, in units of the y axis.
        height: f64,
    },
    /// Cells of one shade, from 0, the lightest, to 1.
    Cells(f64, Vec<Cell>),
}

/// The series of one entry of the legend.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Its name in the legend; an empty one has no entry.
    pub name: String,
    /// Its look.
    pub style: Style,
    /// The marks that are drawn.
    pub marks: Vec<Mark>,
}

/// Axes and series.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// Over the panel; may be empty.
    pub title: String,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// The series in the order in which they are painted.
    pub series: Vec<Series>,
}

/// Room around the frame.
const TOP: f64 = 26.0;
const BOTTOM: f64 = 46.0;
const RIGHT: f64 = 14.0;
/// Left of the frame: the vertical label and the gap to the ticks' labels.
const LABEL: f64 = 30.0;
/// About the width of a character of the ticks' labels.
const CHARACTER: f64 = 7.0;
/// Width of a character and height of a line inside a cell.
const CELL_TEXT: (f64, f64) = (7.0, 14.0);
/// Half the length of a line's only point.
const STROKE: f64 = 10.0;
const FRAME: &str = "stroke=\"#444\" stroke-width=\"1\"";
const GRID: &str = "stroke=\"#dcdfe3\" stroke-width=\"1\"";
const BOLD: &str = "font-weight=\"600\"";

impl Panel {
    /// Draws itself into a rectangle of the given size at the given place. `figure` names what
    /// needs a name.
    pub fn draw(
        &self,
        canvas: &mut Canvas,
        figure: &str,
        index: usize,
        (left, top): (f64, f64),
        (width, height): (f64, f64),
    ) {
        let margin = LABEL + CHARACTER * longest_label(self.y.ticks()) as f64;
        let frame = Frame {
            panel: self,
            left: left + margin,
            top: top + TOP,
            width: width - margin - RIGHT,
            height: height - TOP - BOTTOM,
        };
        frame.axes(canvas, left);
        let clip = format!("{figure}-panel-{index}");
        // Markers at the very edge are shown whole.
        let corner = (frame.left - 6.0, frame.top - 6.0);
        let size = (frame.width + 12.0, frame.height + 12.0);
        canvas.clipped(&clip, corner, size, |canvas| {
            for series in &self.series {
                for mark in &series.marks {
                    frame.mark(canvas, figure, series.style, mark);
                }
            }
        });
    }
}

fn longest_label(ticks: &[Tick]) -> usize {
    ticks
        .iter()
        .filter_map(|tick| tick.label.as_ref())
        .map(|label| label.chars().count())
        .max()
        .unwrap_or(0)
}

/// A panel at its place on the canvas.
struct Frame<'a> {
    panel: &'a Panel,
    left: f64,
    top: f64,
    width: f64,
    height: f64,
}

impl Frame<'_> {
    /// Values far outside are kept near the frame: viewers differ in how large numbers may be.
    fn x(&self, value: f64) -> f64 {
        self.left + self.panel.x.place(value).clamp(-2.0, 3.0) * self.width
    }

    fn y(&self, value: f64) -> f64 {
        self.top + (1.0 - self.panel.y.place(value).clamp(-2.0, 3.0)) * self.height
    }

    fn bottom(&self) -> f64 {
        self.top + self.height
    }

    fn axes(&self, canvas: &mut Canvas, outer_left: f64) {
        let right = self.left + self.width;
        let mut last_label_ends = f64::NEG_INFINITY;
        for tick in self.panel.x.ticks() {
            let x = self.x(tick.value);
            let length = if tick.label.is_some() { 5.0 } else { 3.0 };
            canvas.line((x, self.bottom()), (x, self.bottom() + length), FRAME);
            let Some(label) = &tick.label else { continue };
            let half = label.chars().count() as f64 * CHARACTER / 2.0;
            if x - half < last_label_ends + 4.0 {
                continue;
            }
            last_label_ends = x + half;
            canvas.text((x, self.bottom() + 19.0), Anchor::Middle, label, "");
        }
        for tick in self.panel.y.ticks() {
            let y = self.y(tick.value);
            let Some(label) = &tick.label else {
                canvas.line((self.left - 3.0, y), (self.left, y), FRAME);
                continue;
            };
            canvas.line((self.left, y), (right, y), GRID);
            canvas.line((self.left - 5.0, y), (self.left, y), FRAME);
            canvas.text((self.left - 8.0, y + 4.5), Anchor::End, label, "");
        }
        let corner = (self.left, self.top);
        canvas.rect(
            corner,
            (self.width, self.height),
            &format!("fill=\"none\" {FRAME}"),
        );
        let middle = self.left + self.width / 2.0;
        let x_label = self.panel.x.label();
        canvas.text((middle, self.bottom() + 39.0), Anchor::Middle, x_label, "");
        let y_label = self.panel.y.label();
        if !y_label.is_empty() {
            canvas.text_upwards((outer_left + 14.0, self.top + self.height / 2.0), y_label);
        }
        canvas.text(
            (self.left, self.top - 9.0),
            Anchor::Start,
            &self.panel.title,
            BOLD,
        );
    }

    fn mark(&self, canvas: &mut Canvas, figure: &str, style: Style, mark: &Mark) {
        match mark {
            Mark::Line(points) => {
                let mut places: Vec<_> = points
                    .iter()
                    .map(|&(x, y)| (self.x(x), self.y(y)))
                    .collect();
                // A line of one point has no length: a stroke through it is seen.
                if let [(x, y)] = places[..] {
                    places = vec![(x - STROKE, y), (x + STROKE, y)];
                }
                canvas.path(&places, &style.stroke(1.8));
            }
            Mark::Steps(points) => {
                let mut places = Vec::with_capacity(2 * points.len());
                for &(x, y) in points {
                    if let Some(&(_, before)) = places.last() {
                        places.push((self.x(x), before));
                    }
                    places.push((self.x(x), self.y(y)));
                }
                canvas.path(&places, &style.stroke(1.8));
            }
            Mark::Points(points) => {
                for point in points {
                    let (x, y) = (self.x(point.x), self.y(point.y));
                    self.interval(canvas, style, x, point.interval);
                    style.marker(canvas, (x, y));
                }
            }
            Mark::Dots(places) => {
                for &(x, y) in places {
                    style.marker(canvas, (self.x(x), self.y(y)));
                }
            }
            Mark::Bars(bars) => {
                for bar in bars {
                    let (left, right) = (self.x(bar.x.0), self.x(bar.x.1));
                    let (a, b) = (self.y(bar.y), self.y(bar.base));
                    let size = (right - left, (b - a).abs());
                    canvas.rect((left, a.min(b)), size, &style.fill(figure));
                    self.interval(canvas, style, f64::midpoint(left, right), bar.interval);
                }
            }
            Mark::Upright(x) => {
                let x = self.x(*x);
                canvas.line((x, self.top), (x, self.bottom()), &style.stroke(1.8));
            }
            Mark::Box { x, y, height } => self.quantile_box(canvas, figure, style, x, *y, *height),
            Mark::Cells(shade, cells) => self.cells(canvas, Shade(*shade), cells),
        }
    }

    fn cells(&self, canvas: &mut Canvas, shade: Shade, cells: &[Cell]) {
        for cell in cells {
            let (left, right) = (self.x(cell.x - 0.5), self.x(cell.x + 0.5));
            let (top, bottom) = (self.y(cell.y + 0.5), self.y(cell.y - 0.5));
            canvas.rect((left, top), (right - left, bottom - top), &shade.fill());
            let has_room = bottom - top >= CELL_TEXT.1
                && right - left >= CELL_TEXT.0 * cell.label.chars().count() as f64;
            if has_room {
                let middle = (f64::midpoint(left, right), f64::midpoint(top, bottom) + 4.0);
                canvas.text(middle, Anchor::Middle, &cell.label, &shade.text());
            }
        }
    }

    fn interval(&self, canvas: &mut Canvas, style: Style, x: f64, interval: Option<(f64, f64)>) {
        let Some((low, high)) = interval else { return };
        let (low, high) = (self.y(low), self.y(high));
        // White beside the bar keeps it visible on a filled area.
        canvas.line((x, low), (x, high), "stroke=\"#fff\" stroke-width=\"3.4\"");
        canvas.line((x, low), (x, high), &style.hairline());
        for y in [low, high] {
            canvas.line((x - 3.5, y), (x + 3.5, y), &style.hairline());
        }
    }

    fn quantile_box(
        &self,
        canvas: &mut Canvas,
        figure: &str,
        style: Style,
        x: &[f64; 5],
        y: f64,
        height: f64,
    ) {
        let [a, b, c, d, e] = x.map(|value| self.x(value));
        let (upper, middle, lower) = (
            self.y(y + height / 2.0),
            self.y(y),
            self.y(y - height / 2.0),
        );
        canvas.line((a, middle), (b, middle), &style.hairline());
        canvas.line((d, middle), (e, middle), &style.hairline());
        for end in [a, e] {
            canvas.line((end, middle - 4.0), (end, middle + 4.0), &style.hairline());
        }
        canvas.rect((b, upper), (d - b, lower - upper), &style.fill(figure));
        canvas.line((c, upper), (c, lower), "stroke=\"#fff\" stroke-width=\"5\"");
        canvas.line(
            (c, upper),
            (c, lower),
            "stroke=\"#16202c\" stroke-width=\"2.4\"",
        );
    }
}
