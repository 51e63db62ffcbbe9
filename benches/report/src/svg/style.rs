//! The styles that tell one series from another.

use super::canvas::{Canvas, number};

/// The look of the series with this number; it differs from the others in dash, marker and hatch,
/// so that a black and white print keeps what colour shows on a screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style(pub usize);

/// The darkness of a cell, from 0 to 1: a grey that a print keeps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shade(pub f64);

impl Shade {
    /// Attributes of a cell.
    pub fn fill(self) -> String {
        let grey = self.grey();
        format!("fill=\"#{grey:02x}{grey:02x}{grey:02x}\" stroke=\"#fff\" stroke-width=\"0.8\"")
    }

    /// Attributes of a cell that stands for others, in a legend.
    pub fn sample(self) -> String {
        self.fill().replace("#fff", "#444")
    }

    /// Attributes of what is written on it.
    pub fn text(self) -> String {
        // Not the colours of ground and ink, which change in the dark.
        let colour = if self.grey() < 128 {
            "#ffffff"
        } else {
            "#000000"
        };
        format!("font-size=\"11\" fill=\"{colour}\"")
    }

    fn grey(self) -> u8 {
        (240.0 - 210.0 * self.0.clamp(0.0, 1.0)) as u8
    }
}

/// Ground, frame and grid of a figure, and what stands for them on a dark page.
const SURROUNDINGS: [[&str; 2]; 3] = [
    ["#fff", "#14181d"],
    ["#444", "#a4a9b1"],
    ["#dcdfe3", "#333a42"],
];

/// Rules that give every colour another one where the reader prefers dark pages. Cells keep theirs: a shade is a number.
pub fn dark() -> String {
    let looks = LOOKS.iter().map(|look| [look.colour, look.in_the_dark]);
    let rules: String = looks
        .chain(SURROUNDINGS)
        .map(|[light, dark]| {
            format!("[fill='{light}']{{fill:{dark}}}[stroke='{light}']{{stroke:{dark}}}")
        })
        .collect();
    format!("@media screen and (prefers-color-scheme:dark){{{rules}}}")
}

struct Look {
    /// Chosen to differ in lightness, and by eyes of every colour vision (after Okabe and Ito).
    colour: &'static str,
    /// The colour that stands for it on a dark page.
    in_the_dark: &'static str,
    dash: &'static str,
    marker: Marker,
    hatch: Hatch,
}

#[derive(Clone, Copy)]
enum Marker {
    Disc,
    Square,
    Triangle,
    Diamond,
    Cross,
    Ring,
    Wedge,
    Frame,
    Plus,
}

#[derive(Clone, Copy)]
enum Hatch {
    Solid,
    Empty,
    Rising,
    Falling,
    Level,
    Dots,
    Upright,
    Grid,
    Lattice,
}

const LOOKS: [Look; 9] = [
    Look {
        colour: "#16202c",
        in_the_dark: "#e6eaef",
        dash: "",
        marker: Marker::Disc,
        hatch: Hatch::Solid,
    },
    Look {
        colour: "#c04a00",
        in_the_dark: "#ff8f4d",
        dash: "7 3",
        marker: Marker::Square,
        hatch: Hatch::Rising,
    },
    Look {
        colour: "#0068a8",
        in_the_dark: "#5cb3f0",
        dash: "2 2.5",
        marker: Marker::Triangle,
        hatch: Hatch::Empty,
    },
    Look {
        colour: "#00795a",
        in_the_dark: "#3cc49c",
        dash: "8 3 2 3",
        marker: Marker::Diamond,
        hatch: Hatch::Falling,
    },
    Look {
        colour: "#9a3b7e",
        in_the_dark: "#dd86c4",
        dash: "12 3",
        marker: Marker::Cross,
        hatch: Hatch::Level,
    },
    Look {
        colour: "#8a6a00",
        in_the_dark: "#d4b03f",
        dash: "4 2 1 2 1 2",
        marker: Marker::Ring,
        hatch: Hatch::Dots,
    },
    Look {
        colour: "#5b5bd6",
        in_the_dark: "#a3a3ff",
        dash: "1 3",
        marker: Marker::Wedge,
        hatch: Hatch::Upright,
    },
    Look {
        colour: "#6b6f76",
        in_the_dark: "#a4a9b1",
        dash: "10 2 2 2 2 2",
        marker: Marker::Frame,
        hatch: Hatch::Grid,
    },
    Look {
        colour: "#b3123c",
        in_the_dark: "#ff7d99",
        dash: "6 2 1 2",
        marker: Marker::Plus,
        hatch: Hatch::Lattice,
    },
];

impl Style {
    fn look(self) -> &'static Look {
        &LOOKS[self.0 % LOOKS.len()]
    }

    /// Attributes of a line.
    pub fn stroke(self, width: f64) -> String {
        let look = self.look();
        let dash = if look.dash.is_empty() {
            String::new()
        } else {
            format!(" stroke-dasharray=\"{}\"", look.dash)
        };
        format!(
            "stroke=\"{}\" stroke-width=\"{}\" stroke-linejoin=\"round\"{dash}",
            look.colour,
            number(width)
        )
    }

    /// Attributes of a thin line that is never dashed: error bars, outlines.
    pub fn hairline(self) -> String {
        format!("stroke=\"{}\" stroke-width=\"1.2\"", self.look().colour)
    }

    /// Attributes of an area in a figure whose [`Style::patterns`] are named after `figure`.
    pub fn fill(self, figure: &str) -> String {
        let look = self.look();
        let paint = match look.hatch {
            Hatch::Solid => look.colour.to_string(),
            Hatch::Empty => "#fff".into(),
            _ => format!("url(#{figure}-hatch-{})", self.0 % LOOKS.len()),
        };
        format!(
            "fill=\"{paint}\" stroke=\"{}\" stroke-width=\"1.2\"",
            look.colour
        )
    }

    /// The definitions of the hatches, each figure with names of its own so that many figures can
    /// stand in one page.
    pub fn patterns(figure: &str) -> String {
        let mut out = String::from("<defs>\n");
        for (i, look) in LOOKS.iter().enumerate() {
            let drawing = match look.hatch {
                Hatch::Solid | Hatch::Empty => continue,
                Hatch::Rising => "M0 6L6 0M-1 1L1 -1M5 7L7 5",
                Hatch::Falling => "M0 0L6 6M-1 5L1 7M5 -1L7 1",
                Hatch::Level => "M0 1.5H6M0 4.5H6",
                Hatch::Dots => "M1 1.5h1.6M4 4.5h1.6",
                Hatch::Upright => "M1.5 0V6M4.5 0V6",
                Hatch::Grid => "M0 3H6M3 0V6",
                Hatch::Lattice => "M0 6L6 0M0 0L6 6",
            };
            out.push_str(&format!(
                "<pattern id=\"{figure}-hatch-{i}\" width=\"6\" height=\"6\" \
                 patternUnits=\"userSpaceOnUse\"><rect width=\"6\" height=\"6\" fill=\"#fff\"/>\
                 <path d=\"{drawing}\" stroke=\"{}\" stroke-width=\"1.4\"/></pattern>\n",
                look.colour
            ));
        }
        out.push_str("</defs>\n");
        out
    }

    /// Draws the marker.
    pub fn marker(self, canvas: &mut Canvas, (x, y): (f64, f64)) {
        let look = self.look();
        let solid = format!(
            "fill=\"{0}\" stroke=\"#fff\" stroke-width=\"0.8\"",
            look.colour
        );
        match look.marker {
            Marker::Disc => canvas.circle((x, y), 4.2, &solid),
            Marker::Square => canvas.rect((x - 3.8, y - 3.8), (7.6, 7.6), &solid),
            Marker::Triangle => {
                canvas.polygon(
                    &[(x, y - 5.0), (x + 4.7, y + 3.6), (x - 4.7, y + 3.6)],
                    &solid,
                );
            }
            Marker::Diamond => {
                let r = 5.2;
                canvas.polygon(&[(x, y - r), (x + r, y), (x, y + r), (x - r, y)], &solid);
            }
            Marker::Cross => {
                let stroke = format!("stroke=\"{}\" stroke-width=\"2.2\"", look.colour);
                canvas.line((x - 3.8, y - 3.8), (x + 3.8, y + 3.8), &stroke);
                canvas.line((x - 3.8, y + 3.8), (x + 3.8, y - 3.8), &stroke);
            }
            Marker::Plus => {
                let stroke = format!("stroke=\"{}\" stroke-width=\"2.2\"", look.colour);
                canvas.line((x - 4.6, y), (x + 4.6, y), &stroke);
                canvas.line((x, y - 4.6), (x, y + 4.6), &stroke);
            }
            Marker::Wedge => {
                canvas.polygon(
                    &[(x, y + 5.0), (x + 4.7, y - 3.6), (x - 4.7, y - 3.6)],
                    &solid,
                );
            }
            Marker::Frame => canvas.rect(
                (x - 3.4, y - 3.4),
                (6.8, 6.8),
                &format!(
                    "fill=\"#fff\" stroke=\"{}\" stroke-width=\"2\"",
                    look.colour
                ),
            ),
            Marker::Ring => canvas.circle(
                (x, y),
                3.8,
                &format!(
                    "fill=\"#fff\" stroke=\"{}\" stroke-width=\"2\"",
                    look.colour
                ),
            ),
        }
    }
}
