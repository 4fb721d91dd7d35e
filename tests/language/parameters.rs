//! Parameters by name: saved and loaded is the same bit by bit, and a file that does not fit is refused in words.

use std::collections::BTreeMap;

use polygrad::tree::{ParameterError, Parameters};
use polygrad::{Array, BaseTensor, Concrete, DType, Tensor, Tree, tensor};

#[derive(Tree, Clone, Debug, PartialEq)]
struct Model<T: BaseTensor> {
    layers: Vec<Layer<T>>,
    table: Tensor<T, 1, i64>,
    mask: Option<Tensor<T, 2, bool>>,
    heads: usize,
}

#[derive(Tree, Clone, Debug, PartialEq)]
enum Layer<T: BaseTensor> {
    Norm { gain: Tensor<T, 1, f32> },
    Dense(Tensor<T, 2>, Tensor<T, 0>),
}

fn model() -> Model<Concrete> {
    let gain = tensor([1.5f32, -0.0, f32::NEG_INFINITY, f32::from_bits(0x7fc0_1234)]);
    let weights = tensor([[f64::MIN_POSITIVE / 4.0, -0.0], [f64::MAX, f64::from_bits(0xfff8_0000_0000_1234)]]);
    Model {
        layers: vec![
            Layer::Norm { gain },
            Layer::Dense(weights, tensor(0.1)),
            Layer::Dense(Tensor::zeros([0, 3]), tensor(2.0)),
        ],
        table: tensor([i64::MIN, 7]),
        mask: Some(tensor([[true, false]])),
        heads: 4,
    }
}

/// The bits of every element.
fn bits(model: &Model<Concrete>) -> Vec<(Vec<usize>, Vec<u64>)> {
    let of = |a: Array| match a.dtype() {
        DType::F64 => a.to_vec::<f64>().map(|v| v.into_iter().map(f64::to_bits).collect()),
        DType::F32 => a.to_vec::<f32>().map(|v| v.into_iter().map(|x| u64::from(x.to_bits())).collect()),
        DType::I64 => a.to_vec::<i64>().map(|v| v.into_iter().map(|x| x as u64).collect()),
        DType::Bool => a.to_vec::<bool>().map(|v| v.into_iter().map(u64::from).collect()),
    };
    model.leaves().into_iter().map(|a| (a.shape().to_vec(), of(a).expect("of its own type"))).collect()
}

/// The same shapes, other numbers.
fn start() -> Model<Concrete> {
    model().map(&mut |leaf| Array::zeros(leaf.shape(), leaf.dtype()))
}

#[test]
fn what_is_loaded_is_what_was_saved() {
    let saved = Parameters::of(&model()).expect("the names differ");
    let names: Vec<&str> = saved.tensors().keys().map(String::as_str).collect();
    let dense = ["layers.1.0", "layers.1.1", "layers.2.0", "layers.2.1"];
    assert_eq!(names, [&["layers.0.gain"][..], &dense[..], &["mask", "table"][..]].concat());
    let text = serde_json::to_string(&saved).expect("parameters can be saved");
    let loaded: Parameters = serde_json::from_str(&text).expect("parameters load");
    assert_eq!(bits(&loaded.load_into(&start()).expect("the same tree")), bits(&model()));
    let bytes = saved.to_safetensors().expect("parameters can be saved");
    assert_eq!(bytes, saved.to_safetensors().expect("parameters can be saved"));
    let loaded = Parameters::of_safetensors(&bytes).expect("parameters load");
    let tree = loaded.load_into(&start()).expect("the same tree");
    assert_eq!((bits(&tree), tree.heads), (bits(&model()), 4));
    let one = tensor([1.0, 2.0]);
    assert_eq!(Parameters::of(&one).unwrap().load_into(&tensor([0.0, 0.0])), Ok(one));
}

#[test]
fn a_file_that_does_not_fit_is_refused_in_words() {
    let saved = Parameters::of(&model()).expect("the names differ");
    let refused = |tree: Model<Concrete>| saved.load_into(&tree).expect_err("another tree").to_string();
    let with = |layer: Layer<Concrete>| {
        let mut tree = start();
        tree.layers[0] = layer;
        tree
    };
    assert_eq!(
        refused(with(Layer::Dense(tensor([[0.0]]), tensor(0.0)))),
        "load: the file needs a tensor `layers.0.0`, but it has no tensor of this name; load it into the tree it was saved from"
    );
    assert_eq!(
        refused(Model { mask: None, ..start() }),
        "load: the tree needs a tensor `mask`, but it has no tensor of this name; load the file into the tree it was saved from"
    );
    assert_eq!(
        refused(with(Layer::Norm { gain: tensor([0.0f32; 3]) })),
        "load: `layers.0.gain` must be f32 [3] as in the tree, but in the file it is f32 [4]; load it into the tree it was saved from"
    );
    let (wide, narrow) = (vec![tensor([1.0, 2.0])], vec![tensor([1.0f32, 2.0])]);
    let error = Parameters::of(&narrow).and_then(|saved| saved.load_into(&wide)).expect_err("another type");
    assert_eq!(
        error.to_string(),
        "load: `0` must be f64 [2] as in the tree, but in the file it is f32 [2]; load it into the tree it was saved from"
    );
}

#[test]
fn names_that_read_alike_are_refused() {
    let entry = |name: &'static str| BTreeMap::from([(name, tensor(1.0))]);
    let twice = BTreeMap::from([("a.b", entry("c")), ("a", entry("b.c"))]);
    assert_eq!(Parameters::of(&twice), Err(ParameterError::Twice { name: String::from("a.b.c") }));
}

#[test]
fn damaged_files_are_refused() {
    let bytes = Parameters::of(&model()).unwrap().to_safetensors().unwrap();
    for cut in (0..bytes.len()).step_by(7) {
        assert!(matches!(Parameters::of_safetensors(&bytes[..cut]), Err(ParameterError::File { .. })), "{cut}");
    }
    // A file of another program, with elements that arrays do not have.
    let header = r#"{"x":{"dtype":"BF16","shape":[1],"data_offsets":[0,2]}}"#;
    let foreign = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &[0, 0]].concat();
    assert_eq!(
        Parameters::of_safetensors(&foreign).unwrap_err().to_string(),
        "load: the file must be one of parameters, but `x` has elements BF16, and not f64, f32, i64 or bool; save it again"
    );
    let header = r#"{"x":{"dtype":"F64","shape":[4611686018427387904,0],"data_offsets":[0,0]}}"#;
    let large = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes()].concat();
    assert!(matches!(Parameters::of_safetensors(&large), Err(ParameterError::File { .. })));
    assert!(serde_json::from_str::<Parameters>("{\"x\": 3}").is_err());
}
