//! `#[derive(Tree)]` on every shape of type: leaves in order, plain fields copied, names, variants, and a change of the
//! interpreter; and the keys of the results.

use polygrad::base::Report;
use polygrad::tree::{Keep, TreeMath};
use polygrad::{Array, BaseTensor, Concrete, Dual, Elem, Lift, Tensor, Tree, grad, tensor};

#[derive(Tree, Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
enum Layer<T: BaseTensor> {
    Norm { gain: Tensor<T, 1>, name: String },
    Attend { q: Tensor<T, 2>, k: Tensor<T, 2>, heads: usize },
    Both(Box<Layer<T>>, Vec<Layer<T>>),
    Nothing,
}

#[derive(Tree, Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
struct Model<T: BaseTensor> {
    layers: Vec<Layer<T>>,
    shift: Option<Tensor<T, 0, f32>>,
    table: (Tensor<T, 1, i64>, [Tensor<T, 0>; 2]),
    r#type: Kind,
    rates: Vec<f64>,
}

/// Data of the user's.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
enum Kind {
    Small,
    Large { by: f64 },
}

/// Fields without names, and an interpreter without a bound.
#[derive(Tree, Clone, Debug, PartialEq)]
struct Pair<T>(Tensor<T, 1>, usize, Tensor<T, 0>)
where
    T: BaseTensor;

/// Ranks, sizes and element types as parameters.
#[derive(Tree, Clone, Debug, PartialEq)]
struct Grid<T: BaseTensor, const D: usize, E: Elem, const N: usize = 2> {
    cells: Tensor<T, D, E>,
    edges: [Tensor<T, 1>; N],
    widths: [usize; N],
}

/// No interpreter: the parameters are trees.
#[derive(Tree, Clone, Debug, PartialEq)]
struct Adam<P> {
    m: P,
    v: P,
    step: usize,
}

/// An interpreter, and a tree over it.
#[derive(Tree, Clone, Debug, PartialEq)]
struct Scaled<I: BaseTensor, P: Tree<I>> {
    by: Tensor<I, 0>,
    of: P,
    unit: &'static str,
}

/// An interpreter, and a parameter about which nothing is said.
#[derive(Tree, Clone, Debug, PartialEq)]
struct Noted<T: BaseTensor, P> {
    note: Option<Tensor<T, 0>>,
    of: Vec<P>,
}

/// No tensors at all.
#[derive(Tree, Clone, Debug, PartialEq)]
struct Settings {
    depth: usize,
}

#[derive(Tree, Clone, Debug, PartialEq)]
struct Unit;

#[derive(Tree, Clone, Debug, PartialEq)]
enum Never<T: BaseTensor> {
    #[allow(dead_code)]
    Never(std::convert::Infallible, Tensor<T, 0>),
}

fn attend(heads: usize) -> Layer<Concrete> {
    Layer::Attend { q: tensor([[1.0, 2.0]]), k: tensor([[3.0], [4.0]]), heads }
}

fn model() -> Model<Concrete> {
    let norm = Layer::Norm { gain: tensor([5.0, 6.0]), name: "first".into() };
    Model {
        layers: vec![norm, Layer::Both(Box::new(attend(4)), vec![Layer::Nothing, attend(2)])],
        shift: Some(tensor(7.0f32)),
        table: (tensor([1, 2]), [tensor(8.0), tensor(9.0)]),
        r#type: Kind::Large { by: 2.0 },
        rates: vec![0.1, 0.2],
    }
}

/// The same structure by way of another interpreter.
fn there_and_back<P: Tree<Concrete, With<Concrete> = P>>(tree: &P) -> P {
    let up = tree.map(&mut |leaf| Dual::<Concrete>::lift(leaf.clone()));
    tree.with_leaves(up.leaves().iter().map(|leaf| leaf.peek().expect("a number")).collect())
}

fn assert_tree<P>(tree: &P, names: &[&str])
where
    P: Tree<Concrete, With<Concrete> = P> + PartialEq + std::fmt::Debug,
{
    assert_eq!(&there_and_back(tree), tree);
    assert_eq!(tree.names(), names);
    assert_eq!(tree.count(), names.len());
    let mut mapped = Vec::new();
    let same = tree.map(&mut |leaf: &Concrete| {
        mapped.push(leaf.clone());
        leaf.clone()
    });
    assert_eq!((&same, mapped), (tree, tree.leaves()));
    assert_eq!(tree.key(), same.key());
    assert!(tree.key().is_of(&same));
}

#[test]
fn every_shape_of_type_is_a_tree() {
    let layers = ["0.gain", "1.0.q", "1.0.k", "1.1.1.q", "1.1.1.k"].map(|name| format!("layers.{name}"));
    let rest = ["shift", "table.0", "table.1.0", "table.1.1"];
    let names: Vec<&str> = layers.iter().map(String::as_str).chain(rest).collect();
    assert_tree(&model(), &names);
    assert_tree(&Pair(tensor([1.0, 2.0]), 3, tensor(4.0)), &["0", "2"]);
    let grid = Grid { cells: tensor([[1, 2]]), edges: [tensor([1.0]), tensor([2.0])], widths: [3, 4] };
    assert_tree(&grid, &["cells", "edges.0", "edges.1"]);
    assert_tree(&Adam { m: model(), v: model(), step: 3 }.m, &names);
    assert_tree(&Adam { m: tensor(1.0), v: tensor(2.0), step: 3 }, &["m", "v"]);
    assert_tree(&Scaled { by: tensor(1.0), of: (tensor([2.0]), tensor(3.0)), unit: "m" }, &["by", "of.0", "of.1"]);
    assert_tree(&Noted { note: Some(tensor(1.0)), of: vec![tensor([2.0])] }, &["note", "of.0"]);
    assert_tree(&Settings { depth: 3 }, &[]);
    assert_tree(&Unit, &[]);
    assert_tree(&None::<Never<Concrete>>, &[]);
}

#[test]
fn the_other_interpreter_gets_the_plain_fields() {
    let net = model();
    let up: Model<Dual<Concrete>> = net.map(&mut |leaf| Dual::<Concrete>::lift(leaf.clone()));
    assert_eq!((up.r#type, up.rates), (net.r#type, net.rates));
    let Layer::Both(first, _) = &up.layers[1] else { panic!("the variant stays") };
    let Layer::Attend { heads, .. } = &**first else { panic!("the variant stays") };
    assert_eq!(*heads, 4);
}

fn total<T: BaseTensor>(layer: &Layer<T>) -> Tensor<T, 0> {
    match layer {
        Layer::Norm { gain, .. } => gain.square().sum(),
        Layer::Attend { q, k, heads } => q.matmul(k).sum() * *heads as f64,
        Layer::Both(one, several) => several.iter().fold(total(one), |sum, layer| sum + total(layer)),
        Layer::Nothing => Tensor::scalar(0.0),
    }
}

#[test]
fn a_gradient_has_the_structure_and_the_plain_fields() {
    let net = model();
    let slope =
        grad(|net: &Model<_>| net.layers.iter().fold(Tensor::scalar(0.0), |sum, layer| sum + total(layer)), &net);
    let by = |heads: f64| Layer::Attend {
        q: tensor([[3.0 * heads, 4.0 * heads]]),
        k: tensor([[heads], [2.0 * heads]]),
        heads: heads as usize,
    };
    assert_eq!(slope.layers[0], Layer::Norm { gain: tensor([10.0, 12.0]), name: "first".into() });
    assert_eq!(slope.layers[1], Layer::Both(Box::new(by(4.0)), vec![Layer::Nothing, by(2.0)]));
    assert_eq!((slope.shift, slope.r#type), (Some(tensor(0.0f32)), net.r#type));
}

#[test]
fn an_optimizer_state_is_a_tree() {
    let state = Adam { m: model(), v: model().scale(2.0), step: 3 };
    let sum = state.add(&state);
    assert_eq!((sum.m, sum.v, sum.step), (model().scale(2.0), model().scale(4.0), 3));
}

#[test]
fn trees_are_saved_and_loaded_by_serde() {
    let net = model();
    let saved = serde_json::to_string(&net).expect("a tree can be saved");
    assert_eq!(serde_json::from_str::<Model<Concrete>>(&saved).expect("it loads"), net);
    let error = serde_json::from_str::<Model<Concrete>>(&saved.replacen("[2]", "[2,1]", 1)).expect_err("another rank");
    assert!(error.to_string().starts_with(
        "load: needs a tensor of rank 1 and elements f64, but the file has f64 [2, 1]; load it as what it is"
    ));
    let error = serde_json::from_str::<Model<Concrete>>(&saved.replacen("f64", "f32", 1)).expect_err("another type");
    assert!(error.to_string().contains("of rank 1 and elements f64, but the file has f32 [2]"), "{error}");
}

/// Changes of a model, each in a way that a program may see; the last is none.
fn changed(net: &Model<Concrete>, way: usize) -> Model<Concrete> {
    let mut net = net.clone();
    match way {
        0 => net.layers[0] = Layer::Norm { gain: tensor([5.0, 6.0, 7.0]), name: "first".into() },
        1 => net.layers[0] = Layer::Norm { gain: tensor([5.0, 6.0]), name: "second".into() },
        2 => net.layers[0] = Layer::Nothing,
        3 => net.layers[1] = Layer::Both(Box::new(attend(2)), vec![Layer::Nothing, attend(2)]),
        4 => net.layers[1] = Layer::Both(Box::new(attend(4)), vec![attend(2), Layer::Nothing]),
        5 => net.layers.push(Layer::Nothing),
        6 => net.shift = None,
        7 => net.r#type = Kind::Small,
        8 => net.r#type = Kind::Large { by: -0.0 },
        9 => net.r#type = Kind::Large { by: 0.0 },
        10 => net.rates = vec![0.1, -0.0],
        11 => net.rates = vec![0.1, 0.0],
        12 => net.rates.truncate(1),
        _ => net = net.scale(3.0),
    }
    net
}

#[test]
fn keys_are_equal_if_and_only_if_programs_see_no_difference() {
    let net = model();
    let ways = 14;
    for a in 0..ways {
        for b in 0..ways {
            let (x, y) = (changed(&net, a), changed(&net, b));
            assert_eq!(x.key() == y.key(), a == b, "{a} {b}\n{:?}\n{:?}", x.key(), y.key());
            assert_eq!(x.key().is_of(&y), a == b, "{a} {b}");
        }
    }
    assert_eq!(changed(&net, ways - 1).key(), net.key());
}

#[test]
fn keys_see_numbers_by_their_bits() {
    let key = |x: f64| Tree::<Concrete>::key(&Keep(x));
    assert_eq!(key(f64::NAN), key(f64::NAN));
    assert_ne!(key(0.0), key(-0.0));
    let narrow = |x: f32| Tree::<Concrete>::key(&Keep(x));
    assert_eq!(narrow(f32::NAN), narrow(f32::NAN));
    assert_ne!(narrow(0.0), narrow(-0.0));
    assert_ne!(Tree::<Concrete>::key(&Keep(1)), Tree::<Concrete>::key(&Keep(1u8)));
}

#[test]
fn keys_see_the_structure_around_nothing() {
    let nothing = Vec::<Tensor<Concrete, 0>>::new;
    assert_ne!(Some(nothing()).key(), None::<Vec<Tensor<Concrete, 0>>>.key());
    assert_ne!(vec![nothing()].key(), vec![nothing(), nothing()].key());
    let (one, none) = (vec![tensor(1.0)], nothing());
    assert_ne!((one.clone(), none.clone()).key(), (none, one).key());
    let named = |name: &'static str| std::collections::BTreeMap::from([(name, tensor(1.0))]).key();
    assert_eq!(named("a"), named("a"));
    assert_ne!(named("a"), named("b"));
    assert_ne!(leaf::<f64>().key(), leaf::<f32>().key());
}

fn leaf<E: Elem>() -> Tensor<Concrete, 1, E> {
    Tensor::from_raw(Array::zeros(&[2], E::DTYPE))
}

/// Structs whose fields have types that a macro was given.
macro_rules! trees {
    ($($name:ident { $($field:ident: $type:ident),* })*) => { $(
        #[derive(Tree, Clone, Debug)]
        struct $name<T: BaseTensor> {
            $($field: $type<T>,)*
        }
    )* };
}

type Row<T> = Tensor<T, 1>;

trees! {
    Made { first: Row, second: Row }
}

#[test]
fn structs_made_by_a_macro_are_trees() {
    let made = Made { first: tensor([1.0, 2.0]), second: tensor([3.0]) };
    let slope = grad(|made: &Made<_>| made.first.square().sum() * made.second.sum(), &made);
    assert_eq!((slope.first, slope.second), (tensor([6.0, 12.0]), tensor([5.0])));
    assert_eq!(made.names(), ["first", "second"]);
}
