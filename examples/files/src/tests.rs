//! There and back is the identity, and a file that does not fit is refused with its path, in words.

use std::fs;
use std::path::{Path, PathBuf};

use npyz::{AutoSerialize, Order, WriterBuilder};
use polygrad::{Concrete, Tensor, tensor};

use super::files::{load, read_table, save};
use super::{Classifier, accuracy, run};

/// An empty folder of this name.
fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("polygrad-files-{}-{name}", std::process::id()));
    fs::create_dir_all(&path).expect("a folder can be made");
    path
}

fn model() -> Classifier<Concrete> {
    Classifier {
        weights: tensor([[1.0, -0.0, f64::NAN], [f64::MIN_POSITIVE, 1e300, 0.1]]),
        offsets: tensor([0.5, 2.0, 3.0]),
    }
}

#[test]
fn a_table_is_fitted_and_its_parameters_kept() {
    let folder = folder("fit");
    // Two classes of points, apart by a line.
    let rows = (0..40).map(|k| {
        let (u, v) = (f64::from(k % 8) - 3.5, f64::from(k / 8) - 2.0);
        format!("{u}, {v}, {}\n", u8::from(u + 2.0 * v > 0.25))
    });
    let path = folder.join("table.csv");
    fs::write(&path, rows.collect::<String>()).expect("a file can be written");
    let mut out = Vec::new();
    let model = run(&path, &folder.join("parameters"), 100, &mut out).expect("the table can be fitted");
    assert_eq!(accuracy(&model, &read_table(&path).expect("a table")), 1.0);
    let report = String::from_utf8(out).expect("a report is text");
    assert!(report.contains("40 rows of 2 features") && report.contains("weights, offsets written"), "{report}");
    fs::remove_dir_all(folder).expect("a folder can be removed");
}

#[test]
fn parameters_come_back_bit_by_bit() {
    let folder = folder("bits");
    let model = model();
    save(&model, &folder).expect("files can be written");
    let zeros = Classifier { weights: Tensor::zeros([2, 3]), offsets: Tensor::zeros([3]) };
    let loaded = load(&zeros, &folder).expect("files can be read");
    let bits = |m: &Classifier<Concrete>| {
        [m.weights.to_vec(), m.offsets.to_vec()].concat().into_iter().map(f64::to_bits).collect::<Vec<_>>()
    };
    assert_eq!(bits(&loaded), bits(&model));
    fs::remove_dir_all(folder).expect("a folder can be removed");
}

#[test]
fn a_bad_table_is_refused_in_words() {
    let folder = folder("tables");
    let refused = |text: &str| {
        let path = folder.join("table.csv");
        fs::write(&path, text).expect("a file can be written");
        let error = read_table(&path).expect_err(text).to_string();
        error.strip_prefix(&format!("{}: ", path.display())).map(str::to_owned).expect("the path comes first")
    };
    assert_eq!(refused("1,2,0\n1,2\n"), "line 2: 3 columns are needed, but there are 2");
    assert_eq!(refused("1\n"), "line 1: two or more columns are needed, but there are 1");
    assert_eq!(refused("1,2,0\n1,x,0\n"), r#"line 2, column 2: a number is needed, but it is "x""#);
    assert_eq!(refused("1,2,0\n1,2,-1\n"), r#"line 2, column 3: a class 0, 1, .. is needed, but it is "-1""#);
    assert_eq!(refused(""), "a row is needed, but there is none");
    let missing = folder.join("missing.csv");
    let error = read_table(&missing).expect_err("there is no such file").to_string();
    assert!(error.starts_with(&missing.display().to_string()), "{error}");
    fs::remove_dir_all(folder).expect("a folder can be removed");
}

/// The bytes of an npy file of zeros.
fn npy<E: AutoSerialize + Default>(shape: &[u64], order: Order) -> Vec<u8> {
    let mut bytes = Vec::new();
    let options = npyz::WriteOptions::new().default_dtype().shape(shape).order(order);
    let mut writer = options.writer(&mut bytes).begin_nd().expect("a header");
    writer.extend((0..shape.iter().product::<u64>()).map(|_| E::default())).expect("elements");
    writer.finish().expect("an end");
    bytes
}

#[test]
fn parameters_that_do_not_fit_are_refused_in_words() {
    let folder = folder("parameters");
    let refused = |what: &str| {
        let error = load(&model(), &folder).expect_err(what).to_string();
        error.strip_prefix(&format!("{}/", folder.display())).map(str::to_owned).expect("the path comes first")
    };
    let write = |bytes: &[u8]| fs::write(folder.join("weights.npy"), bytes).expect("a file can be written");
    assert!(refused("no file").starts_with("weights.npy: "));
    write(b"weights");
    assert!(refused("no npy").starts_with("weights.npy: no npy file: "));
    write(&npy::<f64>(&[3, 2], Order::C));
    assert_eq!(refused("shape"), "weights.npy: the shape [2, 3] is needed, but it is [3, 2]");
    write(&npy::<f64>(&[2, 3], Order::Fortran));
    assert!(refused("order").starts_with("weights.npy: row-major order is needed"));
    write(&npy::<f32>(&[2, 3], Order::C));
    assert!(refused("single precision").starts_with("weights.npy: "));
    let whole = npy::<f64>(&[2, 3], Order::C);
    write(&whole[..whole.len() - 4]);
    assert!(refused("cut").starts_with("weights.npy: "));
    write(&whole);
    assert!(refused("the other").starts_with("offsets.npy: "));
    fs::remove_dir_all(folder).expect("a folder can be removed");
}

/// The table that the program reads without an argument.
#[test]
fn the_table_of_digits_is_read() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../data/digits.csv");
    let (x, classes) = read_table(&path).expect("the table of digits");
    assert_eq!((x.shape(), classes.max_all().item()), ([1797, 64], 9));
}
