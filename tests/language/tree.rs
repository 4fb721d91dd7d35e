//! Laws of `Tree`: maps keep the structure, leaves come back in order, arithmetic is that of one vector.

use std::collections::BTreeMap;

use polygrad::array::Rng;
use polygrad::base::Report;
use polygrad::ops::{Binary, Unary};
use polygrad::tree::Keep;
use polygrad::tree::TreeMath;
use polygrad::{Array, BaseTensor, Dual, Lift, Tensor, Tree};

use crate::panics::caught;

/// A dense layer, and a field of every kind.
#[derive(Tree, Clone)]
pub(crate) struct Layer<T> {
    /// One row per output.
    pub(crate) weights: Tensor<T, 2>,
    bias: Tensor<T, 1, f32>,
    pub(crate) name: String,
}

/// Layers within layers.
#[derive(Tree, Clone)]
struct Network<T: BaseTensor> {
    layers: Vec<Layer<T>>,
    ends: (Tensor<T, 0>, [Tensor<T, 1, i64>; 2]),
    extra: Option<Box<Layer<T>>>,
    named: BTreeMap<&'static str, Tensor<T, 0>>,
}

fn leaf<const D: usize, E: polygrad::Elem>(data: impl Into<Array>) -> Tensor<Array, D, E> {
    Tensor::from_raw(data.into())
}

fn layer(rng: &mut Rng, rows: usize, columns: usize) -> Layer<Array> {
    Layer {
        weights: leaf(rng.normal(&[rows, columns], 0.0, 1.0)),
        bias: leaf(rng.normal_as::<f32, _>(&[rows], 0.0, 1.0)),
        name: format!("{rows} by {columns}"),
    }
}

fn network(seed: u64) -> Network<Array> {
    let rng = &mut Rng::new(seed);
    Network {
        layers: vec![layer(rng, 3, 2), layer(rng, 1, 3)],
        ends: (leaf(rng.unit()), [leaf([1, 2]), leaf([3])]),
        extra: Some(Box::new(layer(rng, 2, 2))),
        named: BTreeMap::from([("b", leaf(rng.unit())), ("a", leaf(rng.unit()))]),
    }
}

/// The elements of all float leaves in one vector: what arithmetic on trees is compared with.
fn flat<P: Tree<Array>>(tree: &P) -> Vec<f64> {
    let floats = tree.leaves().into_iter().filter(|leaf| leaf.dtype().is_float());
    floats.flat_map(|leaf| leaf.cast::<f64>().to_vec().unwrap()).collect()
}

fn agree(tree: &Network<Array>, expected: impl IntoIterator<Item = f64>) {
    let (found, expected) = (flat(tree), Vec::from_iter(expected));
    assert_eq!(found.len(), expected.len());
    assert!(found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-6), "{found:?} {expected:?}");
}

#[test]
fn leaves_come_in_the_order_of_the_fields() {
    let net = network(0);
    let leaves = net.leaves();
    let shapes: Vec<Vec<usize>> = leaves.iter().map(|leaf| leaf.shape().to_vec()).collect();
    let rows: [&[usize]; 11] = [&[3, 2], &[3], &[1, 3], &[1], &[], &[2], &[1], &[2, 2], &[2], &[], &[]];
    assert_eq!(shapes, rows);
    assert_eq!(net.count(), 11);
    assert_eq!(leaves[9], *net.named["a"].raw());
    assert_eq!(leaves[10], *net.named["b"].raw());
}

#[test]
fn mapping_the_identity_changes_nothing() {
    let net = network(1);
    let same: Network<Array> = net.map(&mut |leaf| leaf.clone());
    assert_eq!(same.leaves(), net.leaves());
    let rebuilt: Network<Array> = net.with_leaves(net.leaves());
    assert_eq!(rebuilt.leaves(), net.leaves());
    assert_eq!(rebuilt.layers[0].name, "3 by 2");
    assert_eq!(rebuilt.extra.unwrap().name, "2 by 2");
    assert!(rebuilt.named.keys().eq(["a", "b"].iter()));
}

#[test]
fn maps_compose_and_visit_each_leaf_once_in_order() {
    let net = network(2);
    let mut seen = Vec::new();
    let doubled: Network<Array> = net.map(&mut |leaf| {
        seen.push(leaf.clone());
        if leaf.dtype().is_float() { leaf.binary(Binary::Add, leaf) } else { leaf.clone() }
    });
    assert_eq!(seen, net.leaves());
    let back = doubled.map(&mut |leaf| if leaf.dtype().is_float() { leaf.unary(Unary::Neg) } else { leaf.clone() });
    assert_eq!(flat(&back), flat(&net.scale(-2.0)));
}

#[test]
fn every_tuple_and_container_is_a_tree() {
    let x = || leaf::<0, f64>(1.0);
    assert_eq!(Tree::<Array>::count(&()), 0);
    assert_eq!((x(),).count(), 1);
    assert_eq!((x(), x()).count(), 2);
    assert_eq!((x(), x(), x()).count(), 3);
    assert_eq!((x(), x(), x(), x()).count(), 4);
    assert_eq!((x(), x(), x(), x(), x()).count(), 5);
    assert_eq!((x(), x(), x(), x(), x(), x()).count(), 6);
    assert_eq!((x(), x(), x(), x(), x(), x(), x()).count(), 7);
    assert_eq!((x(), x(), x(), x(), x(), x(), x(), x()).count(), 8);
    assert_eq!(vec![[x(), x()], [x(), x()]].count(), 4);
    assert_eq!((Some(x()), None::<Tensor<Array, 1>>, Keep(3)).count(), 1);
    assert_eq!(Box::new((x(), Vec::<Tensor<Array, 1>>::new())).count(), 1);
}

#[test]
fn arithmetic_is_that_of_one_vector() {
    let (a, b) = (network(3), network(4));
    let (u, v) = (flat(&a), flat(&b));
    let pairs = || u.iter().zip(&v);
    agree(&a.add(&b), pairs().map(|(x, y)| x + y));
    agree(&a.sub(&b), pairs().map(|(x, y)| x - y));
    agree(&a.add_scaled(-0.5, &b), pairs().map(|(x, y)| x - 0.5 * y));
    agree(&a.scale(0.25), u.iter().map(|x| 0.25 * x));
    agree(&a.shift(2.0), u.iter().map(|x| x + 2.0));
    agree(&a.zeros_like(), u.iter().map(|_| 0.0));
    agree(&a.unary(Unary::Square), u.iter().map(|x| x * x));
    agree(&a.binary(Binary::Max, &b), pairs().map(|(x, y)| x.max(*y)));
    let dot: f64 = a.dot(&b).raw().item().unwrap();
    assert!((dot - pairs().map(|(x, y)| x * y).sum::<f64>()).abs() < 1e-5);
    let norm: f64 = a.norm().raw().item().unwrap();
    assert!((norm - u.iter().map(|x| x * x).sum::<f64>().sqrt()).abs() < 1e-5);
}

#[test]
fn integers_stay_as_they_are() {
    let net = network(5);
    for other in [net.add(&net), net.scale(0.0), net.shift(1.0), net.zeros_like(), net.unary(Unary::Exp)] {
        assert_eq!(other.leaves()[5..7], net.leaves()[5..7]);
    }
    let (a, b) = ((leaf::<0, f64>(1.0), leaf::<1, i64>([1, 2])), (leaf(2.0), leaf([3, 4])));
    for sum in [a.add(&b), a.add_scaled(1.0, &b), a.binary(Binary::Add, &b)] {
        assert_eq!(sum.leaves(), [Array::from(3.0), Array::from([1, 2])]);
    }
    let integers = leaf::<1, i64>([1, 2]);
    assert_eq!(TreeMath::dot(&integers, &integers).raw(), &Array::from(0.0));
    assert_eq!(TreeMath::<Array>::dot(&(), &()).raw(), &Array::from(0.0));
}

#[test]
fn zip_map_sees_the_leaves_of_both_trees_in_order() {
    let (a, b) = (network(6), network(7));
    let mut pairs = Vec::new();
    let second: Network<Array> = a.zip_map(&b, &mut |x, y| {
        pairs.push((x.clone(), y.clone()));
        y.clone()
    });
    assert!(pairs.into_iter().eq(a.leaves().into_iter().zip(b.leaves())));
    assert_eq!(second.leaves(), b.leaves());
}

#[test]
fn maps_change_the_interpreter() {
    let net = network(10);
    let lifted: Network<Dual<Array>> = net.map(&mut |leaf| Dual::lift(leaf.clone()));
    let norm = lifted.norm().raw().peek().unwrap();
    assert_eq!(norm, *net.norm().raw());
    let back: Network<Array> = net.with_leaves(lifted.leaves().iter().map(|leaf| leaf.peek().unwrap()).collect());
    assert_eq!(back.leaves(), net.leaves());
}

/// Gradient descent on `norm(x - target)^2 / 2`, whose gradient is `x - target`, for any parameters.
fn descend<T: BaseTensor, P: Tree<T, With<T> = P>>(mut x: P, target: &P, steps: usize) -> P {
    for _ in 0..steps {
        x = x.add_scaled(-0.5, &x.sub(target));
    }
    x
}

#[test]
fn an_optimizer_is_generic_in_its_parameters() {
    let (start, target) = (network(8), network(9));
    let end = descend(start, &target, 40);
    agree(&end, flat(&target));
    let pair = descend((leaf::<0, f64>(4.0), leaf::<1, f64>([1.0, 2.0])), &(leaf(0.0), leaf([0.0, 0.0])), 1);
    assert_eq!(pair.leaves(), [Array::from(2.0), Array::from([0.5, 1.0])]);
}

#[test]
#[should_panic(
    expected = "add: needs one structure on both sides, but they have 2 and 1 leaves; map one from the other"
)]
fn trees_of_different_length_do_not_add() {
    vec![leaf::<0, f64>(1.0), leaf(2.0)].add(&vec![leaf(1.0)]);
}

#[test]
#[should_panic(
    expected = "dot: needs the same leaves on both sides, but leaf 1 is f64 [2] and f64 [3]; map one tree from the other"
)]
fn trees_of_different_shapes_have_no_inner_product() {
    let (a, b) = (leaf::<0, f64>(1.0), leaf::<1, f64>([1.0, 2.0]));
    (a.clone(), b).dot(&(a, leaf([1.0, 2.0, 3.0])));
}

#[test]
#[should_panic(expected = "with_leaves: needs one structure on both sides, but they have 1 and 2 leaves")]
fn leaves_must_be_as_many() {
    leaf::<0, f64>(1.0).with_leaves(vec![Array::from(1.0), Array::from(2.0)]);
}

#[test]
fn mistakes_are_reported_at_the_line_of_the_caller() {
    let here = line!() + 1;
    let seen = caught(|| vec![leaf::<0, f64>(1.0)].sub(&vec![]));
    assert_eq!((seen.file.as_str(), seen.line), (file!(), here));
}
