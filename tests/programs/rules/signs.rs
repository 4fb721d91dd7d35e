//! The sign of zero: recorded, simplified and direct runs agree where an operation sees it.

use polygrad::array::Rng;
use polygrad::ops::{Binary, Compare, Contract, Discrete, FloatStep, Linear, Reduce, Unary, View};
use polygrad::passes::{optimize, simplify};
use polygrad::program::{Builder, NodeId, Op, Program, Slot, Term, interpret};
use polygrad::shape::Shape;
use polygrad::{ADVal, Array, BaseTensor, Concrete, DType, Dual, Tensor, direct};

use super::cases::{Case, cases};
use crate::support::floats;

/// Equal, also in the sign of zero; NaN is one number.
fn identical(a: &Array, b: &Array) -> bool {
    let same = |(x, y): (f64, f64)| x.to_bits() == y.to_bits() || (x.is_nan() && y.is_nan());
    a.shape() == b.shape() && floats(a).into_iter().zip(floats(b)).all(same)
}

/// Equal up to rounding; infinities have one sign, NaN is one number.
fn close(a: &Array, b: &Array) -> bool {
    let same = |(x, y): (f64, f64)| x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= 1e-9 * x.abs().max(1.0);
    a.shape() == b.shape() && floats(a).into_iter().zip(floats(b)).all(same)
}

fn number<T: BaseTensor>(like: &T, c: f64) -> T {
    T::constant(Array::full_as(like.shape(), like.dtype(), c))
}

/// A function of a vector of four, written once.
trait Function {
    fn of<T: BaseTensor>(&self, x: &T) -> T;
}

/// Functions whose value has another sign of zero in the middle if a rule is careless, by number.
struct Careless(usize);

const CARELESS: usize = 62;

impl Function for Careless {
    fn of<T: BaseTensor>(&self, x: &T) -> T {
        let n = |c: f64| number(x, c);
        let sum = |t: &T| t.linear(&Linear::sum(t.shape(), &[0]));
        let first = |t: &T| t.linear(&Linear::slice(t.shape(), 0, 0, 1, 1));
        let neg = |t: &T| t.unary(Unary::Neg);
        let pad = |t: &T| t.linear(&Linear::pad(&[4], &[1], &[1]));
        let positions = || T::constant(Array::from([0i64, 1, 2, 3]));
        let reversed = x.linear(&Linear::reverse(&[4], 0));
        let add = |a: &T, b: &T| a.binary(Binary::Add, b);
        let mul = |a: &T, b: &T| a.binary(Binary::Mul, b);
        let sub = |a: &T, b: &T| a.binary(Binary::Sub, b);
        let dot = |a: &T, b: &T| T::contract(&Contract::axes(&[4], &[0], &[0], &[]), a, b);
        let outer = |a: &T, b: &T| T::contract(&Contract::axes(&[4, 4], &[0], &[1], &[0, 1]), a, b);
        let rows = |a: &T| a.linear(&Linear::replicate(&[4, 4], &[1]));
        let columns = |a: &T| a.linear(&Linear::replicate(&[4, 4], &[0]));
        let alone = |t: &T| T::contract(&Contract::axes(&[4], &[0], &[0], &[0]), t, &number(t, 1.0));
        match self.0 {
            0 => sub(&n(0.0), x),
            1 => add(x, &n(0.0)),
            2 => sub(x, &n(-0.0)),
            3 => add(&n(-0.0), x),
            4 => neg(&sub(x, &reversed)),
            5 => sum(&neg(&sub(x, &reversed))),
            6 => sum(&mul(&n(-2.0), &sub(x, &reversed))),
            7 => pad(&neg(x)),
            8 => neg(&pad(x)),
            9 => dot(&neg(x), &reversed),
            10 => dot(&mul(&n(-3.0), x), &reversed),
            11 => mul(&rows(x), &columns(&reversed)),
            12 => outer(x, &reversed),
            13 => n(0.0).scatter_add(&[positions()], x),
            14 => x.clone().scatter_add(&[positions()], &n(0.0)),
            15 => x.clone().scatter_add(&[T::constant(Array::from([0i64, 0, 2, 9]))], x),
            16 => add(
                &pad(&first(x).linear(&Linear::affine(View::identity(&[1]), View::affine(&[4], &[1], &[1], &[2])))),
                &pad(x),
            ),
            17 => x.binary(Binary::MulNoNan, &n(3.0)),
            18 => neg(x).binary(Binary::MulNoNan, &reversed),
            19 => alone(x),
            20 => {
                // Nothing else is added along the axis.
                let diagonal = View::affine(&[4, 4], &[4], &[1, 1], &[0, 0]);
                let spread = x.linear(&Linear::affine(View::identity(&[4]), diagonal));
                spread.linear(&Linear::sum(&[4, 4], &[1]))
            }
            21 => T::map_accum(3, false, vec![x.clone()], &[], &mut |c, _| {
                (vec![c[0].binary(Binary::Add, &number(&c[0], 0.0))], Vec::new())
            })
            .0
            .remove(0),
            k => more_careless(k - 22, x),
        }
    }
}

/// Sums with 0 of values that can be -0, values whose -0 would be lost on the way to the operation that sees it, and
/// zeros that are added, factored out or placed.
fn more_careless<T: BaseTensor>(k: usize, x: &T) -> T {
    let n = |c: f64| number(x, c);
    let zero = |t: &T| t.binary(Binary::Add, &number(t, 0.0));
    let reversed = x.linear(&Linear::reverse(&[4], 0));
    let add = |a: &T, b: &T| a.binary(Binary::Add, b);
    let mul = |a: &T, b: &T| a.binary(Binary::Mul, b);
    let slice = |t: &T, at: usize| t.linear(&Linear::slice(&[4], 0, at, 2, 1));
    let place = |t: &T, at: usize| t.linear(&Linear::pad(&[2], &[at], &[2 - at]));
    let indices = || T::constant(Array::from([0i64, 0, 2, 9]));
    let outside = |t: &T| t.linear(&Linear::read(View::affine(&[4], &[2], &[1], &[3])));
    let below = |c: f64| T::discrete(&Discrete::Compare(Compare::Lt), &[x, &n(c)]);
    let floor = |t: &T| T::discrete(&Discrete::FloatStep(FloatStep::Floor), &[t]);
    let largest = Reduce::Max { axis: 0 };
    match k {
        // Values that can be -0.
        0 => zero(&x.unary(Unary::Sqrt)),
        1 => zero(&x.unary(Unary::Relu)),
        2 => zero(&add(x, &reversed)),
        3 => zero(&x.binary(Binary::Sub, &x.unary(Unary::Abs))),
        4 => zero(&x.binary(Binary::Min, &x.unary(Unary::Exp))),
        5 => zero(&x.unary(Unary::Exp).binary(Binary::Min, x)),
        6 => zero(&floor(x)),
        7 => zero(&T::select(&below(0.5), x, &x.unary(Unary::Abs))),
        8 => zero(&T::select(&below(-9.0), &x.unary(Unary::Abs), x)),
        9 => zero(&x.gather(&[indices()])),
        10 => zero(&x.clone().scatter_add(&[T::constant(Array::from([9i64, -3, 9, 7]))], x)),
        11 => zero(&x.reduce(largest)),
        12 => zero(&T::concat(0, &[x.unary(Unary::Abs), x.clone()])),
        13 => zero(&T::concat(0, &[x.clone(), x.unary(Unary::Abs)])),
        // Sums with 0 that are seen through another operation.
        14 => add(x, &zero(&reversed)),
        15 => add(&zero(x), &reversed),
        16 => zero(x).binary(Binary::Sub, &reversed),
        17 => mul(&zero(x), &n(2.0)),
        18 => zero(x).binary(Binary::Min, &n(1.0)),
        19 => zero(x).binary(Binary::Div, &n(3.0)),
        20 => zero(x).unary(Unary::Sin),
        21 => zero(x).linear(&Linear::reverse(&[4], 0)),
        22 => floor(&zero(x)),
        23 => T::select(&below(0.5), &zero(x), &n(1.0)),
        24 => zero(x).gather(&[indices()]),
        25 => T::concat(0, &[zero(x), n(1.0)]),
        26 => zero(x).reduce(largest),
        // A carry that the next but one trip sees.
        27 => {
            let (_, rows) = T::map_accum(3, false, vec![n(1.0), n(1.0)], &[], &mut |c, _| {
                (vec![zero(&c[1]), x.clone()], vec![n(1.0).binary(Binary::Div, &c[0])])
            });
            n(1.0).binary(Binary::Div, &rows[0].linear(&Linear::row(&[3, 4], 0, 2)))
        }
        // A negation that reads outside: what is read there is +0.
        28 => outside(&x.unary(Unary::Neg)),
        29 => mul(&number(&x.linear(&Linear::replicate(&[4, 4], &[1])), -2.0), &{
            T::contract(&Contract::axes(&[4, 4], &[0], &[1], &[0, 1]), x, &reversed)
        }),
        30 => T::contract(&Contract::axes(&[4], &[0], &[0], &[]), &n(-3.0), x),
        31 => add(&place(&slice(x, 0), 0), &place(&slice(x, 2), 2)),
        32 => add(&place(&slice(x, 0), 0), &place(&slice(&reversed, 2), 2)),
        33 => x.linear(&Linear::replicate(&[4, 3], &[0])).linear(&Linear::sum(&[4, 3], &[1])),
        34 => {
            mul(&n(-2.0), &mul(x, &x.linear(&Linear::slice(&[4], 0, 0, 1, 1)).linear(&Linear::pad(&[1], &[1], &[2]))))
        }
        35 => x.unary(Unary::Abs).binary(Binary::MulNoNan, &n(-3.0)),
        36 => {
            let half = T::select(&below(0.5), x, &n(0.0));
            add(&half, &T::select(&below(0.5), &n(0.0), &reversed))
        }
        // The sum of one added value, at a place that is not known.
        37 => {
            let place = T::discrete(&Discrete::ArgMax { axis: 0 }, &[x]);
            let first = x.linear(&Linear::row(&[4], 0, 0));
            T::zeros(&[4], x.dtype()).scatter_add(&[place], &first).linear(&Linear::sum(&[4], &[0]))
        }
        // A number beside a padded value that is no view.
        38 => {
            let value = x.linear(&Linear::slice(&[4], 0, 0, 1, 1)).unary(Unary::Sin);
            mul(&n(-2.0), &mul(x, &value.linear(&Linear::pad(&[1], &[1], &[2]))))
        }
        // A sum with what is added to zeros at one place.
        39 => {
            let place = T::discrete(&Discrete::ArgMax { axis: 0 }, &[x]);
            let first = x.linear(&Linear::row(&[4], 0, 0));
            add(x, &T::zeros(&[4], x.dtype()).scatter_add(&[place], &first))
        }
        _ => unreachable!("{CARELESS} functions"),
    }
}

/// Where the sign is seen: the function, and what of it shows it.
struct Shown<F>(F, Binary);

impl<F: Function> Function for Shown<F> {
    fn of<T: BaseTensor>(&self, x: &T) -> T {
        let y = self.0.of(x);
        let c = |c: f64| number(&y, c);
        if self.1 == Binary::Pow || self.1 == Binary::Atan2 {
            y.binary(self.1, &c(-1.0))
        } else {
            c(1.0).binary(self.1, &y)
        }
    }
}

fn program(f: &impl Function, x: &Array) -> Program {
    let variable = Term::variable(x.shape(), x.dtype());
    Term::program(std::slice::from_ref(&variable), &[f.of(&variable)], &[]).expect("closed")
}

#[test]
fn recorded_runs_agree_with_direct_ones() {
    let points = [[0.0, -0.0, 1.0, -1.0], [-0.0, -0.0, -0.0, -0.0], [0.0, 0.0, 0.0, 0.0], [1.0, -1.0, 1.0, -0.0]];
    let mut wrong = Vec::new();
    for k in 0..CARELESS {
        for shows in [Binary::Div, Binary::Atan2, Binary::Copysign, Binary::Pow] {
            let f = Shown(Careless(k), shows);
            for x in points.map(Array::from) {
                let (direct, recorded) = (f.of(&x), program(&f, &x));
                for p in [simplify(&recorded), optimize(&recorded), recorded] {
                    let y = interpret(&p, vec![x.clone()]).remove(0);
                    if !identical(&direct, &y) {
                        wrong.push(format!("{k}, {shows:?} at {x:?}: {direct:?} recorded is {y:?}\n{p}"));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of them:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn where_nothing_sees_the_sign_the_rules_apply() {
    let x = Array::from([1.0, 2.0, 3.0, 4.0]);
    for (k, text) in [(0, "-x0"), (1, "x0"), (4, "reverse axis=0 x0 - x0"), (13, "x0"), (14, "x0")] {
        let p = simplify(&program(&Careless(k), &x)).named(&["x0"], &[""]);
        assert!(p.to_string().contains(&format!("return {text}\n")), "{k}: {p}");
    }
}

/// Every rule, with the signs of zeros in its results looked at.
#[test]
fn rules_keep_the_signs_of_zeros_that_are_seen() {
    let mut wrong = Vec::new();
    for Case { rule, inputs, make, regroups, .. } in cases().into_iter().filter(|case| !case.fast) {
        let mut b = Builder::literal();
        let slot = |(shape, dtype): &(&[usize], DType)| Slot {
            name: String::new(),
            shape: Shape::from_slice(shape),
            dtype: *dtype,
        };
        let ids: Vec<NodeId> = inputs.iter().map(|kind| b.input(slot(kind))).collect();
        let results = make(&mut b, &ids);
        let floats: Vec<NodeId> = results.into_iter().filter(|r| b.node(*r).dtype == DType::F64).collect();
        let shown: Vec<NodeId> = floats.into_iter().map(|r| b.apply(Op::Unary(Unary::Recip, r))).collect();
        let p = b.finish(&shown, &[]);
        let simple = simplify(&p);
        for seed in 0..40 {
            let mut rng = Rng::new(seed);
            let at: Vec<Array> = inputs.iter().map(|(shape, dtype)| zeros_and_ones(&mut rng, shape, *dtype)).collect();
            let (before, after) = (interpret(&p, at.clone()), interpret(&simple, at.clone()));
            if !regroups && !before.iter().zip(&after).all(|(a, b)| close(a, b)) {
                wrong.push(format!("{rule}: {before:?} became {after:?} at {at:?}\n{p}\n{simple}"));
                break;
            }
        }
    }
    assert!(wrong.is_empty(), "{} rules:\n{}", wrong.len(), wrong.join("\n"));
}

fn zeros_and_ones(rng: &mut Rng, shape: &[usize], dtype: DType) -> Array {
    let n = polygrad::shape::size(shape);
    let mut draw = || [0.0, -0.0, 1.0, -1.0][rng.below(4)];
    match dtype {
        DType::F64 => Array::new(shape, (0..n).map(|_| draw()).collect::<Vec<f64>>()),
        DType::F32 => Array::new(shape, (0..n).map(|_| draw() as f32).collect::<Vec<f32>>()),
        DType::I64 => Array::new(shape, (0..n).map(|_| draw() as i64).collect::<Vec<i64>>()),
        DType::Bool => Array::new(shape, (0..n).map(|_| draw() > 0.0).collect::<Vec<bool>>()),
    }
}

/// A row with all operands but one given.
#[derive(Clone, Copy, Debug)]
enum Row {
    Unary(Unary),
    Left(Binary, f64),
    Right(f64, Binary),
}

impl Function for Row {
    fn of<T: BaseTensor>(&self, x: &T) -> T {
        match *self {
            Row::Unary(op) => x.unary(op),
            Row::Left(op, y) => x.binary(op, &number(x, y)),
            Row::Right(y, op) => number(x, y).binary(op, x),
        }
    }
}

/// The value and two derivatives at a zero.
fn derivatives(row: Row, zero: f64) -> Vec<f64> {
    let at = Tensor::<Concrete, 0>::from_raw(Array::scalar(zero));
    let first = |x: &Tensor<ADVal<Concrete>, 0>| Tensor::<_, 0>::from_raw(row.of(x.raw()));
    let second = |x: &Tensor<Dual<ADVal<Concrete>>, 0>| Tensor::<_, 0>::from_raw(row.of(x.raw()));
    let mut all = floats(&row.of(at.raw()));
    all.push(direct::grad(first, &at).item());
    let one = |x: &Tensor<ADVal<Concrete>, 0>| direct::jvp(second, x, &Tensor::from_raw(number(x.raw(), 1.0))).1;
    all.push(direct::grad(one, &at).item());
    all
}

/// Of every row whose value or derivative tells zeros apart, the sign is seen: `f (x + 0)` stays.
#[test]
fn rows_that_tell_zeros_apart_see_the_sign() {
    let rows = Unary::ALL.iter().map(|op| Row::Unary(*op));
    let others = [-2.0, -1.0, 0.0, 1.0, 0.5];
    let pairs = Binary::ALL.iter().flat_map(|op| others.map(|y| [Row::Left(*op, y), Row::Right(y, *op)])).flatten();
    let mut seeing = Vec::new();
    for row in rows.chain(pairs) {
        let [plus, minus] = [0.0, -0.0].map(|zero| derivatives(row, zero));
        // Numbers that differ in more than the sign of their own zero.
        if plus.iter().zip(&minus).all(|(a, b)| a == b || (a.is_nan() && b.is_nan())) {
            continue;
        }
        struct Added(Row);
        impl Function for Added {
            fn of<T: BaseTensor>(&self, x: &T) -> T {
                self.0.of(&x.binary(Binary::Add, &number(x, 0.0)))
            }
        }
        let p = simplify(&program(&Added(row), &Array::from([1.0, 2.0])));
        assert!(
            p.to_string().contains("+ 0.0"),
            "{row:?} is {plus:?} at 0 and {minus:?} at -0, but the sign is not seen:\n{p}"
        );
        seeing.push(row);
    }
    assert!(seeing.len() > 8, "{seeing:?}");
}
