//! Running a program under every hook, or some, without any delay: to see what it sends.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::Path;

use jitterlab_injector::control::HookFamily;
use jitterlab_injector::generator::TABLE_ENTRIES;
use jitterlab_injector::table::DelayUnit;
use jitterlab_injector::table::DistributionTable;

/// The options of `inject run` for that; the files that they name are written into `folder`.
pub fn options(folder: &Path, hooks: &[HookFamily]) -> io::Result<Vec<OsString>> {
    let zero = Box::new([0; TABLE_ENTRIES]);
    let table = DistributionTable::new(zero, DelayUnit::Nanoseconds, "constant(value=0)");
    let (table_file, seed_file) = (folder.join("zero.dist"), folder.join("seed"));
    fs::write(&table_file, table.to_text())?;
    fs::write(&seed_file, "1\n")?;
    let names: Vec<&str> = hooks.iter().map(|family| family.name()).collect();
    Ok(vec![
        "--table".into(),
        table_file.into(),
        "--seed".into(),
        seed_file.into(),
        "--hook".into(),
        names.join(",").into(),
    ])
}
