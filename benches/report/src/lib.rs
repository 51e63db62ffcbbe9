//! Analysis of a result folder: tables, figures, the HTML report.
//!
//! [`Analysed::open`] reads a folder and analyses it; what it holds is written as CSV, SVG and
//! HTML, or printed. The report is a function of the folder: the same bytes whenever it is made.

#![forbid(unsafe_code)]

pub mod analysis;
mod error;
mod figures;
mod folder;
mod page;
mod svg;
pub mod table;
mod words;
mod write;

pub use error::Error;
pub use folder::Analysed;
