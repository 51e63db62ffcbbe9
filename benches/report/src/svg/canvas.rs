//! The elements of SVG that figures are made of.

use std::fmt::Write;

/// Drawn elements, in the order in which they are painted.
#[derive(Default)]
pub struct Canvas {
    body: String,
}

/// The place of text relative to its point.
#[derive(Clone, Copy)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

impl Canvas {
    /// A polyline; nothing for fewer than two points. `attributes` are written as they are.
    pub fn path(&mut self, points: &[(f64, f64)], attributes: &str) {
        if points.len() < 2 {
            return;
        }
        let mut data = String::new();
        for (i, &(x, y)) in points.iter().enumerate() {
            let command = if i == 0 { 'M' } else { 'L' };
            let _ = write!(data, "{command}{} {}", number(x), number(y));
        }
        let _ = writeln!(self.body, "<path d=\"{data}\" fill=\"none\" {attributes}/>");
    }

    /// A closed area.
    pub fn polygon(&mut self, points: &[(f64, f64)], attributes: &str) {
        let list: Vec<String> = points
            .iter()
            .map(|&(x, y)| format!("{},{}", number(x), number(y)))
            .collect();
        let _ = writeln!(
            self.body,
            "<polygon points=\"{}\" {attributes}/>",
            list.join(" ")
        );
    }

    /// A straight line.
    pub fn line(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64), attributes: &str) {
        let _ = writeln!(
            self.body,
            "<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" {attributes}/>",
            number(x1),
            number(y1),
            number(x2),
            number(y2)
        );
    }

    /// A rectangle by its upper left corner and size.
    pub fn rect(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), attributes: &str) {
        let _ = writeln!(
            self.body,
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" {attributes}/>",
            number(x),
            number(y),
            number(width),
            number(height)
        );
    }

    /// A circle.
    pub fn circle(&mut self, (x, y): (f64, f64), radius: f64, attributes: &str) {
        let _ = writeln!(
            self.body,
            "<circle cx=\"{}\" cy=\"{}\" r=\"{}\" {attributes}/>",
            number(x),
            number(y),
            number(radius)
        );
    }

    /// Text on its baseline.
    pub fn text(&mut self, (x, y): (f64, f64), anchor: Anchor, text: &str, attributes: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let _ = writeln!(
            self.body,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"{anchor}\" {attributes}>{}</text>",
            number(x),
            number(y),
            escape(text)
        );
    }

    /// Text that reads upwards, centred on its point.
    pub fn text_upwards(&mut self, (x, y): (f64, f64), text: &str) {
        let turn = format!("transform=\"rotate(-90 {} {})\"", number(x), number(y));
        self.text((x, y), Anchor::Middle, text, &turn);
    }

    /// Elements that are shown only inside a rectangle, named by `id`.
    pub fn clipped(
        &mut self,
        id: &str,
        (x, y): (f64, f64),
        (width, height): (f64, f64),
        draw: impl FnOnce(&mut Canvas),
    ) {
        let id = escape(id);
        let _ = writeln!(
            self.body,
            "<clipPath id=\"{id}\"><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/></clipPath>\
             <g clip-path=\"url(#{id})\">",
            number(x),
            number(y),
            number(width),
            number(height)
        );
        draw(self);
        self.body.push_str("</g>\n");
    }

    /// The elements, as SVG without its root.
    pub fn into_body(self) -> String {
        self.body
    }
}

/// A number as short as a hundredth of a pixel allows.
pub fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" {
        "0".into()
    } else {
        text.into()
    }
}

/// Text for the inside of elements and of quoted attributes.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // XML 1.0 does not allow these characters, in whatever program's output a name came from.
            c if c.is_control() && !matches!(c, '\t' | '\n' | '\r') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_text_is_safe() {
        assert_eq!(number(1.0), "1");
        assert_eq!(number(-0.001), "0");
        assert_eq!(number(12.345), "12.35");
        assert_eq!(number(100.0), "100");
        assert_eq!(
            escape("a<b & \"c\">\u{1}"),
            "a&lt;b &amp; &quot;c&quot;&gt;\u{fffd}"
        );
    }
}
