//! The header that is checked in is the one that cbindgen makes of the crate.

use std::path::Path;
use std::{env, fs};

#[test]
fn the_header_is_made_of_the_crate() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(folder.join("cbindgen.toml")).unwrap();
    let mut made = Vec::new();
    cbindgen::generate_with_config(folder, config)
        .unwrap()
        .write(&mut made);
    let made = String::from_utf8(made).unwrap();
    let path = folder.join("include/amvia.h");
    let is = fs::read_to_string(&path).unwrap_or_default();
    if is != made {
        let fresh = env::temp_dir().join("amvia.h");
        fs::write(&fresh, &made).unwrap();
        panic!(
            "{} is not what cbindgen makes of the crate; that is in {}",
            path.display(),
            fresh.display()
        );
    }
}
