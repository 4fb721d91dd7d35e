//! Records the steps of the filter, differentiates them, and writes them to `OUT_DIR`, as Rust and as C.

use std::path::Path;
use std::{env, fs};

#[path = "model.rs"]
mod model;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=model.rs");
    let folder = env::var("OUT_DIR")?;
    let folder = Path::new(&folder);
    let steps = model::recorded();
    let sources = [
        ("predict", steps.predict.to_rust("predict")?, steps.predict.to_c("predict")?),
        (
            "update_position",
            steps.update_position.to_rust("update_position")?,
            steps.update_position.to_c("update_position")?,
        ),
        ("update_field", steps.update_field.to_rust("update_field")?, steps.update_field.to_c("update_field")?),
    ];
    let mut table = String::from("function         scratch  arrays on the stack  lines of Rust  lines of C\n");
    for (name, rust, c) in sources {
        fs::write(folder.join(format!("{name}.rs")), &rust.code)?;
        fs::write(folder.join(format!("{name}.c")), &c.code)?;
        fs::write(folder.join(format!("{name}.h")), &c.header)?;
        let (lines, c_lines) = (rust.code.lines().count(), c.code.lines().count());
        let (scratch, stack) = (rust.scratch_bytes, rust.stack_bytes);
        table += &format!("{name:16} {scratch:7}  {stack:19}  {lines:13}  {c_lines:10}\n");
    }
    // The memory that each function needs: `simulate` prints it.
    fs::write(folder.join("memory.txt"), table)?;
    Ok(())
}
