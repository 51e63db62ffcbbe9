//! A picture of the terminal, as text or SVG.

use std::fmt::Write;

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};

/// The characters alone.
pub fn text(buffer: &Buffer) -> String {
    rows(buffer)
        .map(|row| {
            let line: String = row.iter().map(Cell::symbol).collect();
            format!("{}\n", line.trim_end())
        })
        .collect()
}

fn rows(buffer: &Buffer) -> impl Iterator<Item = &[Cell]> {
    buffer.content.chunks(buffer.area.width.max(1).into())
}

/// The size of a character.
const WIDTH: f64 = 8.0;
const HEIGHT: f64 = 16.0;
const FRONT: &str = "#eeeeee";
const BACK: &str = "#111111";

/// The picture as it looks on a dark terminal.
pub fn svg(buffer: &Buffer) -> String {
    let (width, height) = (f64::from(buffer.area.width), f64::from(buffer.area.height));
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" \
         font-family=\"monospace\" font-size=\"13\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"{BACK}\"/>\n",
        width * WIDTH,
        height * HEIGHT
    );
    for (row, cells) in rows(buffer).enumerate() {
        let mut column = 0;
        for alike in cells.chunk_by(|a, b| a.style() == b.style()) {
            draw(&mut svg, alike, column, row);
            column += alike.len();
        }
    }
    svg + "</svg>\n"
}

/// Cells that look alike.
fn draw(svg: &mut String, cells: &[Cell], column: usize, row: usize) {
    let Some(first) = cells.first() else { return };
    let (mut front, mut back) = (color(first.fg, FRONT), color(first.bg, BACK));
    if first.modifier.contains(Modifier::REVERSED) {
        std::mem::swap(&mut front, &mut back);
    }
    let (x, y) = (column as f64 * WIDTH, row as f64 * HEIGHT);
    let width = cells.len() as f64 * WIDTH;
    if back != BACK {
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{HEIGHT}\" fill=\"{back}\"/>"
        );
    }
    let text: String = cells.iter().map(Cell::symbol).collect();
    if text.trim().is_empty() {
        return;
    }
    let bold = match first.modifier.contains(Modifier::BOLD) {
        true => " font-weight=\"bold\"",
        false => "",
    };
    let dim = match first.modifier.contains(Modifier::DIM) {
        true => " opacity=\"0.6\"",
        false => "",
    };
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    let y = y + 0.8 * HEIGHT;
    // Whatever the font, a column is as wide as it is here.
    let _ = writeln!(
        svg,
        "<text x=\"{x}\" y=\"{y}\" fill=\"{front}\" textLength=\"{width}\" lengthAdjust=\"spacingAndGlyphs\" \
         xml:space=\"preserve\"{bold}{dim}>{text}</text>"
    );
}

fn color(color: Color, otherwise: &str) -> String {
    match color {
        Color::Rgb(red, green, blue) => format!("#{red:02x}{green:02x}{blue:02x}"),
        Color::Black => "#000000".into(),
        Color::Red | Color::LightRed => "#d55e00".into(),
        Color::Green | Color::LightGreen => "#009e73".into(),
        Color::Yellow | Color::LightYellow => "#f0e442".into(),
        Color::Blue | Color::LightBlue => "#0072b2".into(),
        Color::Magenta | Color::LightMagenta => "#cc79a7".into(),
        Color::Cyan | Color::LightCyan => "#56b4e9".into(),
        Color::DarkGray => "#888888".into(),
        Color::Gray | Color::White => "#eeeeee".into(),
        Color::Reset | Color::Indexed(_) => otherwise.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::layout::Rect;
    use ratatui::style::Style;

    #[test]
    fn a_picture_has_its_characters_and_colours() {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 8, 2));
        buffer.set_string(0, 0, "a <b> &", Style::new().fg(Color::Rgb(86, 180, 233)));
        buffer.set_string(2, 1, "here", Style::new().add_modifier(Modifier::REVERSED));
        assert_eq!(text(&buffer), "a <b> &\n  here\n");
        let svg = svg(&buffer);
        assert!(
            svg.contains("fill=\"#56b4e9\"") && svg.contains(">a &lt;b> &amp;</text>"),
            "{svg}"
        );
        assert!(
            svg.contains("<rect x=\"16\" y=\"16\" width=\"32\" height=\"16\" fill=\"#eeeeee\"/>"),
            "{svg}"
        );
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    }
}
