//! Arrays in files that need no library to read: little endian elements in row-major order, and a list of them as JSON.

use std::fs;
use std::path::{Path, PathBuf};

use polygrad::{Array, DType};
use serde_json::{Map, Value, json};

/// Files of a folder, listed by name: `{"images": {"file": "images.bin", "dtype": "f64", "shape": [1797, 64]}, ..}`.
pub(crate) struct Files {
    folder: PathBuf,
    list: Map<String, Value>,
}

impl Files {
    pub(crate) fn new(folder: &Path) -> Files {
        Files { folder: folder.to_path_buf(), list: Map::new() }
    }

    /// Writes an array.
    pub(crate) fn add(&mut self, name: &str, array: &Array) -> Result<(), Box<dyn std::error::Error>> {
        let bytes: Vec<u8> = match array.dtype() {
            DType::F64 => array.to_vec::<f64>()?.iter().flat_map(|x| x.to_le_bytes()).collect(),
            DType::F32 => array.to_vec::<f32>()?.iter().flat_map(|x| x.to_le_bytes()).collect(),
            DType::I64 => array.to_vec::<i64>()?.iter().flat_map(|x| x.to_le_bytes()).collect(),
            DType::Bool => array.to_vec::<bool>()?.iter().map(|x| u8::from(*x)).collect(),
        };
        let file = format!("{}.bin", name.replace('/', "_"));
        fs::write(self.folder.join(&file), bytes)?;
        let entry = json!({ "file": file, "dtype": array.dtype().name(), "shape": array.shape() });
        self.list.insert(name.to_string(), entry);
        Ok(())
    }

    /// Writes the list.
    pub(crate) fn finish(self, name: &str) -> Result<(), Box<dyn std::error::Error>> {
        Ok(fs::write(self.folder.join(name), serde_json::to_string_pretty(&self.list)?)?)
    }
}
