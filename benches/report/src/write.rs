//! The files of a report.

use std::path::{Path, PathBuf};

use jitterlab_injector::durable::write_atomically;

use crate::Error;
use crate::figures::Figures;
use crate::folder::Analysed;
use crate::page;
use crate::table::Table;

/// Where a report stands in its result folder.
const DIRECTORY: &str = "report";

impl Analysed {
    /// Writes `report/*.csv`; gives their paths.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write_tables(&self) -> Result<Vec<PathBuf>, Error> {
        let directory = self.directory()?;
        let tables = self.analysis.tables();
        write_all(&directory, csv_files(&tables)?)
    }

    /// Writes the tables, `report/*.svg`, and, as the last, `report/index.html`; gives the path of
    /// that.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write_report(&self) -> Result<PathBuf, Error> {
        let directory = self.directory()?;
        let tables = self.analysis.tables();
        let figures = Figures::of(&self.analysis);
        let mut files = csv_files(&tables)?;
        for figure in figures.all() {
            files.push((format!("{}.svg", figure.id), figure.to_svg().into_bytes()));
        }
        let page = page::page(self, &figures, &tables);
        files.push(("index.html".into(), page.into_bytes()));
        write_all(&directory, files)?;
        Ok(directory.join("index.html"))
    }

    fn directory(&self) -> Result<PathBuf, Error> {
        let directory = self.folder.path().join(DIRECTORY);
        std::fs::create_dir_all(&directory).map_err(|source| Error::Write {
            path: directory.clone(),
            source,
        })?;
        Ok(directory)
    }
}

fn csv_files(tables: &[Table]) -> Result<Vec<(String, Vec<u8>)>, Error> {
    tables
        .iter()
        .map(|table| {
            let bytes = table.to_csv().map_err(|source| Error::Csv {
                id: table.id,
                source,
            })?;
            Ok((format!("{}.csv", table.id), bytes))
        })
        .collect()
}

fn write_all(directory: &Path, files: Vec<(String, Vec<u8>)>) -> Result<Vec<PathBuf>, Error> {
    files
        .into_iter()
        .map(|(name, bytes)| {
            let path = directory.join(name);
            write_atomically(&path, &bytes).map_err(|source| Error::Write {
                path: path.clone(),
                source,
            })?;
            Ok(path)
        })
        .collect()
}
