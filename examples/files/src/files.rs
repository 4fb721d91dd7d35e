//! Tables from csv files; trees of tensors to npy files and back. Whatever is wrong with a file is said with its path.

use std::fs::{self, File};
use std::io::{BufReader, BufWriter};
use std::path::Path;

use npyz::{NpyFile, Order, WriterBuilder};
use polygrad::{Array, Concrete, Tensor, Tree};

/// Features, one row each, and classes.
pub(crate) type Table<T> = (Tensor<T, 2>, Tensor<T, 1, i64>);

/// What is wrong with a file.
#[derive(Debug)]
pub(crate) struct FileError(String);

impl std::fmt::Display for FileError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for FileError {}

/// An error at a file; `what` is words, or the error of another crate.
fn at(path: &Path) -> impl Fn(&dyn std::fmt::Display) -> FileError + '_ {
    move |what| FileError(format!("{}: {what}", path.display()))
}

/// The table of a csv file without a header: each row has features and, last, a class 0, 1, ..
///
/// # Errors
/// When there is no such file, or a row is not like the first or has a text that is no number; with line and column.
pub(crate) fn read_table(path: &Path) -> Result<Table<Concrete>, FileError> {
    let error = at(path);
    // Rows of another length are reported here, in the words of this program.
    let mut reader =
        csv::ReaderBuilder::new().has_headers(false).flexible(true).from_path(path).map_err(|e| error(&e))?;
    let (mut features, mut classes, mut width) = (Vec::new(), Vec::new(), None);
    for record in reader.records() {
        let record = record.map_err(|e| error(&e))?;
        let line = record.position().map_or(0, csv::Position::line);
        let count = record.len();
        if count < 2 || *width.get_or_insert(count) != count {
            let needed = width.filter(|n| *n > 1).map_or_else(|| "two or more".to_owned(), |n| n.to_string());
            return Err(error(&format!("line {line}: {needed} columns are needed, but there are {count}")));
        }
        for (k, text) in record.iter().enumerate() {
            let text = text.trim();
            let wrong =
                |needed| error(&format!("line {line}, column {}: {needed} is needed, but it is {text:?}", k + 1));
            if k + 1 == count {
                classes.push(text.parse().ok().filter(|class| *class >= 0).ok_or_else(|| wrong("a class 0, 1, .."))?);
            } else {
                let number: f64 = text.parse().map_err(|_| wrong("a number"))?;
                features.push(number);
            }
        }
    }
    let Some(width) = width else { return Err(error(&"a row is needed, but there is none")) };
    Ok((Tensor::new([classes.len(), width - 1], features), Tensor::new([classes.len()], classes)))
}

/// Writes each tensor of a tree of `f64` to a file `name.npy` in a folder, which is made if there is none.
///
/// # Errors
/// When a file cannot be written, or a tensor has other elements.
pub(crate) fn save<P: Tree<Concrete>>(tree: &P, folder: &Path) -> Result<(), FileError> {
    fs::create_dir_all(folder).map_err(|e| at(folder)(&e))?;
    for (name, leaf) in tree.names().iter().zip(tree.leaves()) {
        let path = folder.join(format!("{name}.npy"));
        let error = at(&path);
        let elements = leaf.elements::<f64>().map_err(|e| error(&e))?;
        let shape: Vec<u64> = leaf.shape().iter().map(|n| *n as u64).collect();
        let file = BufWriter::new(File::create(&path).map_err(|e| error(&e))?);
        let written = (|| {
            let mut writer = npyz::WriteOptions::new().default_dtype().shape(&shape).writer(file).begin_nd()?;
            writer.extend(elements.iter())?;
            writer.finish()
        })();
        written.map_err(|e| error(&e))?;
    }
    Ok(())
}

/// A tree like `tree` with the tensors that [`save`] wrote.
///
/// # Errors
/// When a file is missing, or has another shape, element type or order.
pub(crate) fn load<P: Tree<Concrete, With<Concrete> = P>>(tree: &P, folder: &Path) -> Result<P, FileError> {
    let mut leaves = Vec::new();
    for (name, leaf) in tree.names().iter().zip(tree.leaves()) {
        let path = folder.join(format!("{name}.npy"));
        let error = at(&path);
        let file = BufReader::new(File::open(&path).map_err(|e| error(&e))?);
        let npy = NpyFile::new(file).map_err(|e| error(&format!("no npy file: {e}")))?;
        let shape: Vec<usize> = npy.shape().iter().map(|n| *n as usize).collect();
        if shape != leaf.shape() {
            return Err(error(&format!("the shape {:?} is needed, but it is {shape:?}", leaf.shape())));
        }
        if npy.order() != Order::C && shape.len() > 1 {
            return Err(error(
                &"row-major order is needed, but it is column-major; save numpy.ascontiguousarray of it",
            ));
        }
        let elements = npy.into_vec::<f64>().map_err(|e| error(&e))?;
        leaves.push(Array::new(&shape, elements));
    }
    Ok(tree.with_leaves(leaves))
}
