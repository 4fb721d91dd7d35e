//! Exported programs written to a folder, for runs outside of this library: of each case `<case>.mlir`, and `<case>.json`
//! with the signature, the inputs and the expected outputs, whose elements are little endian bytes in hexadecimal.

use std::fs;
use std::path::PathBuf;

use polygrad::export::Exported;
use polygrad::{Array, DType};
use serde_json::{Value, json};

/// The folder to write to, if there is one.
pub(crate) fn folder() -> Option<PathBuf> {
    std::env::var_os("POLYGRAD_EXPORT_DIR").map(PathBuf::from)
}

/// Writes a case to the folder, if there is one.
pub(crate) fn dump(case: &str, exported: &Exported, inputs: &[Array], outputs: &[Array], tolerance: f64) {
    let Some(folder) = folder() else { return };
    let name: String = case.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    fs::create_dir_all(&folder).expect("the folder can be made");
    fs::write(folder.join(format!("{name}.mlir")), &exported.text).expect("the text can be written");
    let mut json = serde_json::to_value(&exported.signature).expect("a signature can be saved");
    json["values"] = json!({ "inputs": arrays(inputs), "outputs": arrays(outputs) });
    json["tolerance"] = json!(tolerance);
    fs::write(folder.join(format!("{name}.json")), json.to_string()).expect("the numbers can be written");
}

fn arrays(arrays: &[Array]) -> Vec<Value> {
    arrays.iter().map(|a| Value::String(bytes(a).iter().map(|b| format!("{b:02x}")).collect())).collect()
}

fn bytes(a: &Array) -> Vec<u8> {
    let all = "the elements have the type of the array";
    match a.dtype() {
        DType::F64 => a.to_vec::<f64>().expect(all).iter().flat_map(|x| x.to_le_bytes()).collect(),
        DType::F32 => a.to_vec::<f32>().expect(all).iter().flat_map(|x| x.to_le_bytes()).collect(),
        DType::I64 => a.to_vec::<i64>().expect(all).iter().flat_map(|x| x.to_le_bytes()).collect(),
        DType::Bool => a.to_vec::<bool>().expect(all).iter().map(|x| u8::from(*x)).collect(),
    }
}
