//! Reports for people: their parts, and how these are laid out.

/// A part of what is printed for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// A line.
    Line(String),
    /// The rows of a table, the names of its columns first.
    Table(Vec<Vec<String>>),
}

/// A value that can be printed for people.
pub trait Text {
    /// Its parts, in order.
    fn parts(&self) -> Vec<Part>;

    /// The parts as they are printed.
    fn text(&self) -> String {
        let printed = self.parts().into_iter().map(|part| match part {
            Part::Line(line) => format!("{line}\n"),
            Part::Table(rows) => aligned(&rows),
        });
        printed.collect()
    }
}

impl Part {
    /// A table of rows below the names of their columns.
    pub fn table<const N: usize>(
        names: [&str; N],
        rows: impl IntoIterator<Item = [String; N]>,
    ) -> Part {
        let head = std::iter::once(names.map(String::from));
        Part::Table(head.chain(rows).map(Vec::from).collect())
    }
}

/// Columns as wide as their widest cell; nothing at the end of a line.
///
/// ```
/// use jitterlab_base::print::aligned;
/// let rows = [["size", "median"], ["64B", "12 us"]].map(|row| row.map(String::from));
/// assert_eq!(aligned(&rows), "size  median\n64B   12 us\n");
/// ```
pub fn aligned(rows: &[impl AsRef<[String]>]) -> String {
    let columns = rows.iter().map(|row| row.as_ref().len()).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.as_ref().get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let cells = row.as_ref().iter().zip(&widths);
        let line: String = cells
            .map(|(cell, &width)| format!("{cell:width$}  "))
            .collect();
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}
