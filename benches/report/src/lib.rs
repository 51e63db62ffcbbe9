//! Analysis of a result folder: tables, figures, the HTML report.

#![forbid(unsafe_code)]

mod svg;
pub mod table;
mod words;
