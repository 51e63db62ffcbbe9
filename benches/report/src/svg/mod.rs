//! Figures as SVG: a small writer for exactly the kinds of figure that the report has.
//!
//! They are made to be printed. Series differ by dash, marker and hatch, and by colour only on
//! top of that; text is as large as the report's; points are joined only by who asks for a line.

mod axis;
mod canvas;
mod figure;
mod panel;
mod style;

pub use axis::Axis;
pub use figure::Figure;
pub use panel::{Bar, Cell, Mark, Panel, Point, Series};
pub use style::Style;
