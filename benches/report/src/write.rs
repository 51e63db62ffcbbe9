//! The files of a report.

use std::path::{Path, PathBuf};

use jitterlab_base::durable::write_atomically;

use crate::Error;
use crate::figures::{self, Figures};
use crate::folder::Analysed;
use crate::page;
use crate::table::Table;

/// The place of a report in its result folder.
const DIRECTORY: &str = "report";

impl Analysed {
    /// Writes `report/*.csv`, and removes those of an earlier report that this one has not; gives
    /// the paths of what was written.
    ///
    /// # Errors
    /// A file cannot be written or removed.
    pub fn write_tables(&self) -> Result<Vec<PathBuf>, Error> {
        let directory = self.directory()?;
        let tables = self.analysis.tables();
        let written = write_all(&directory, csv_files(&tables)?)?;
        self.remove_others(&directory, &written, |_| false)?;
        Ok(written)
    }

    /// Writes the tables, `report/*.svg`, and, as the last, `report/index.html`, and removes the
    /// tables and figures of an earlier report that this one has not; gives the path of the page.
    ///
    /// # Errors
    /// A file cannot be written or removed.
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
        let written = write_all(&directory, files)?;
        self.remove_others(&directory, &written, figures::is_name)?;
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

    /// Removes what is named as a table is, or as `is_ours` knows, and was not written now. Whatever
    /// else somebody keeps there stays.
    fn remove_others(
        &self,
        directory: &Path,
        written: &[PathBuf],
        is_ours: fn(&str) -> bool,
    ) -> Result<(), Error> {
        let every = self.analysis.every_table();
        let tables: Vec<String> = every.iter().map(csv_name).collect();
        let failed = |path: &Path, source| Error::Remove {
            path: path.into(),
            source,
        };
        for entry in std::fs::read_dir(directory).map_err(|source| failed(directory, source))? {
            let entry = entry.map_err(|source| failed(directory, source))?;
            let (path, name) = (entry.path(), entry.file_name());
            let is_of_a_report = name
                .to_str()
                .is_some_and(|name| tables.iter().any(|table| table == name) || is_ours(name));
            if is_of_a_report && !written.contains(&path) {
                std::fs::remove_file(&path).map_err(|source| failed(&path, source))?;
            }
        }
        Ok(())
    }
}

fn csv_name(table: &Table) -> String {
    format!("{}.csv", table.id)
}

fn csv_files(tables: &[Table]) -> Result<Vec<(String, Vec<u8>)>, Error> {
    tables
        .iter()
        .map(|table| {
            let bytes = table.to_csv().map_err(|source| Error::Csv {
                id: table.id,
                source,
            })?;
            Ok((csv_name(table), bytes))
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
