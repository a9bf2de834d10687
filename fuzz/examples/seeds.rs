//! Writes the seeds of every target to `seeds/TARGET/` beside this package's manifest.

use std::fs;
use std::path::Path;

fn main() -> std::io::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds");
    for (target, _) in sep2640_fuzz::TARGETS {
        let directory = root.join(target);
        fs::create_dir_all(&directory)?;
        for (number, seed) in sep2640_fuzz::seeds::seeds(target).iter().enumerate() {
            fs::write(directory.join(format!("{number:02}")), seed)?;
        }
    }
    Ok(())
}
