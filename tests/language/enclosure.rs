//! Bounds: what an operation gives for numbers within bounds lies within the bounds of its result.
//!
//! Laws, for every row and every family, in both float types:
//! * values at the ends and between them lie within, by the kernels of arrays, by those of compiled programs, and exact
//!   (`core-math`);
//! * bounds of a part of the numbers lie within the bounds of all, up to the rounding of kernels;
//! * bounds of a row are not wider than its values, where it is smooth.

use std::f64::consts::{FRAC_PI_2, PI};

use polygrad::array::Rng;
use polygrad::backend::compile;
use polygrad::base::Report;
use polygrad::interpreters::Enclosure;
use polygrad::ops::{
    Binary, Call, Compare, Contract, Discrete, FloatStep, IntBinary, IntUnary, Linear, Matrix, Reduce, Unary, View,
};
use polygrad::program::Term;
use polygrad::{Array, BaseTensor, DType, Float};

/// Numbers at which something happens in some row.
const HOSTILE: [f64; 40] = [
    0.0,
    -0.0,
    5e-324,
    -5e-324,
    1e-308,
    -1e-308,
    1e-160,
    -1e-160,
    1e-40,
    1e-9,
    -1e-9,
    0.5,
    -0.5,
    1.0,
    -1.0,
    1.000_000_000_000_000_2,
    0.999_999_999_999_999_9,
    1.461_632_144_968_362_3,
    FRAC_PI_2,
    -FRAC_PI_2,
    2.0,
    3.0,
    -2.0,
    -3.0,
    PI,
    -PI,
    6.5,
    -6.5,
    88.7,
    -103.0,
    709.7,
    710.5,
    -745.0,
    1e6,
    -1e6,
    1e17,
    1e40,
    -1e40,
    f64::MAX,
    f64::INFINITY,
];

/// A number of every size and sign, often one of the above.
fn number(rng: &mut Rng) -> f64 {
    match rng.below(5) {
        0 | 1 => HOSTILE[rng.below(HOSTILE.len())],
        2 => f64::NEG_INFINITY.max(-HOSTILE[rng.below(HOSTILE.len())]),
        3 => 8.0 * (rng.unit() - 0.5),
        _ => (rng.unit() - 0.5) * 10f64.powi(rng.below(40) as i32 - 20),
    }
}

/// A box, and points of it: the ends, hostile numbers and others.
struct Boxed {
    lower: Vec<f64>,
    upper: Vec<f64>,
}

impl Boxed {
    fn random<E: Float>(rng: &mut Rng, n: usize) -> Boxed {
        let mut sides = [Vec::new(), Vec::new()];
        for _ in 0..n {
            let round = |x: f64| E::of_f64(x).as_f64();
            let a = round(number(rng));
            let b = match rng.below(4) {
                0 => a,
                1 => round(a + a.abs() * 1e-3 * rng.unit()),
                _ => round(number(rng)),
            };
            sides[0].push(a.min(b));
            sides[1].push(a.max(b));
        }
        let [lower, upper] = sides;
        Boxed { lower, upper }
    }

    fn enclosure<E: Float>(&self) -> Enclosure {
        let side = |v: &[f64]| Array::new(&[v.len()], v.iter().map(|x| E::of_f64(*x)).collect());
        Enclosure::between(&side(&self.lower), &side(&self.upper)).expect("ends in order")
    }

    fn point<E: Float>(&self, rng: &mut Rng) -> Vec<f64> {
        let within = |(lo, hi): (&f64, &f64)| {
            let x = match rng.below(6) {
                0 => *lo,
                1 => *hi,
                2 | 3 => number(rng),
                4 => lo.max(f64::MIN) + (hi.min(f64::MAX) - lo.max(f64::MIN)) * rng.unit(),
                _ => lo.max(-20.0) + (hi.min(20.0) - lo.max(-20.0)) * rng.unit(),
            };
            let x = E::of_f64(x).as_f64();
            // Both zeros are meant by one.
            if lo <= &x && &x <= hi { x } else { *lo }
        };
        self.lower.iter().zip(&self.upper).map(within).collect()
    }
}

fn array<E: Float>(x: &[f64]) -> Array {
    Array::new(&[x.len()], x.iter().map(|x| E::of_f64(*x)).collect())
}

pub(crate) fn floats(a: &Array) -> Vec<f64> {
    a.cast::<f64>().to_vec().expect("floats")
}

/// Asserts that numbers lie within bounds, which are NaN where there are none.
pub(crate) fn assert_within(what: &str, y: &[f64], bounds: &Enclosure, arguments: &dyn Fn(usize) -> String) {
    let (lower, upper) = (floats(&bounds.lower()), floats(&bounds.upper()));
    for (k, y) in y.iter().enumerate() {
        let inside = lower[k].is_nan() || (lower[k] <= *y && *y <= upper[k]);
        assert!(inside, "{what} of {} is {y:e}, outside of [{:e}, {:e}]", arguments(k), lower[k], upper[k]);
    }
}

const BOXES: usize = 1000;
const POINTS: usize = 20;

/// Values of a program on arrays, and compiled.
fn both_ways(op: &dyn Fn(&[Term]) -> Term, direct: Array, inputs: &[Array]) -> [Array; 2] {
    let variables: Vec<Term> = inputs.iter().map(|a| Term::variable(a.shape(), a.dtype())).collect();
    let program = Term::program(&variables, &[op(&variables)], &[]).expect("a program of its inputs");
    [direct, compile(&program).run(inputs).remove(0)]
}

fn unary_rows_hold<E: Float>() {
    let mut rng = Rng::new(1);
    for op in Unary::ALL {
        let all = Boxed::random::<E>(&mut rng, BOXES);
        let bounds = all.enclosure::<E>().unary(*op);
        for _ in 0..POINTS {
            let x = all.point::<E>(&mut rng);
            let a = array::<E>(&x);
            for y in both_ways(&|x| x[0].unary(*op), a.unary(*op), std::slice::from_ref(&a)) {
                let of = |k: usize| format!("{:e} in [{:e}, {:e}]", x[k], all.lower[k], all.upper[k]);
                assert_within(&format!("{} in {}", op.name(), E::DTYPE), &floats(&y), &bounds, &of);
            }
        }
    }
}

#[test]
fn unary_rows_hold_their_values() {
    unary_rows_hold::<f64>();
    unary_rows_hold::<f32>();
}

fn binary_rows_hold<E: Float>() {
    let mut rng = Rng::new(2);
    for op in Binary::ALL {
        let mut all = [(); 2].map(|()| Boxed::random::<E>(&mut rng, BOXES));
        // Powers with whole exponents, and of one value and itself.
        for k in 0..BOXES / 3 {
            let n = (rng.below(9) as f64) - 4.0;
            (all[1].lower[k], all[1].upper[k]) = (n, n + (rng.below(3) / 2) as f64);
        }
        let [x_box, y_box] = &all;
        let bounds = x_box.enclosure::<E>().binary(*op, &y_box.enclosure::<E>());
        let x = x_box.enclosure::<E>();
        let of_itself = x.binary(*op, &x);
        for _ in 0..POINTS {
            let (x, y) = (x_box.point::<E>(&mut rng), y_box.point::<E>(&mut rng));
            let (a, b) = (array::<E>(&x), array::<E>(&y));
            let what = format!("{} in {}", op.name(), E::DTYPE);
            let of = |k: usize| {
                let [lo, hi] = [[x_box.lower[k], y_box.lower[k]], [x_box.upper[k], y_box.upper[k]]];
                format!("{:e}, {:e} between {lo:?} and {hi:?}", x[k], y[k])
            };
            for z in both_ways(&|x| x[0].binary(*op, &x[1]), a.binary(*op, &b), &[a.clone(), b]) {
                assert_within(&what, &floats(&z), &bounds, &of);
            }
            assert_within(&format!("{what} and itself"), &floats(&a.binary(*op, &a)), &of_itself, &of);
        }
    }
}

#[test]
fn binary_rows_hold_their_values() {
    binary_rows_hold::<f64>();
    binary_rows_hold::<f32>();
}

/// The function of a row correctly rounded, if there is one.
fn exact(op: Unary) -> Option<fn(f64) -> f64> {
    match op {
        Unary::Exp => Some(core_math::exp),
        Unary::Expm1 => Some(core_math::expm1),
        Unary::Ln => Some(core_math::log),
        Unary::Log1p => Some(core_math::log1p),
        Unary::Sin => Some(core_math::sin),
        Unary::Cos => Some(core_math::cos),
        Unary::Tan => Some(core_math::tan),
        Unary::Asin => Some(core_math::asin),
        Unary::Acos => Some(core_math::acos),
        Unary::Atan => Some(core_math::atan),
        Unary::Sinh => Some(core_math::sinh),
        Unary::Cosh => Some(core_math::cosh),
        Unary::Tanh => Some(core_math::tanh),
        Unary::Asinh => Some(core_math::asinh),
        Unary::Acosh => Some(core_math::acosh),
        Unary::Atanh => Some(core_math::atanh),
        Unary::Erf => Some(core_math::erf),
        Unary::Erfc => Some(core_math::erfc),
        Unary::Lgamma => Some(core_math::lgamma),
        // A kernel of one operation of IEEE is correctly rounded by itself.
        Unary::Neg | Unary::Abs | Unary::Recip | Unary::Square | Unary::Sqrt | Unary::Relu => None,
        // The library has no such functions.
        Unary::OneMinusSquare | Unary::Sech2 | Unary::Sigmoid | Unary::Softplus | Unary::Gaussian => None,
        Unary::Erfinv | Unary::Digamma | Unary::Trigamma => None,
    }
}

#[test]
fn rows_hold_exact_values() {
    let mut rng = Rng::new(3);
    for (op, exact) in Unary::ALL.iter().filter_map(|op| Some((op, exact(*op)?))) {
        let all = Boxed::random::<f64>(&mut rng, BOXES);
        let bounds = all.enclosure::<f64>().unary(*op);
        for _ in 0..POINTS {
            let x = all.point::<f64>(&mut rng);
            // A bound that holds the rounded value and lies on neither side of it holds the exact one.
            let y: Vec<f64> = x.iter().map(|x| exact(*x)).collect();
            assert_within(op.name(), &y, &bounds, &|k| {
                format!("{:e} in [{:e}, {:e}]", x[k], all.lower[k], all.upper[k])
            });
        }
    }
}

#[test]
fn rows_hold_recorded_values() {
    for (name, points) in crate::recorded::recorded() {
        // Numbers that are defined, with their results.
        let points = points.iter().filter(|p| !p.arguments.iter().any(|x| x.is_nan()));
        let points = points.filter_map(|p| Some((&p.arguments, p.results[0]?.near))).filter(|(_, y)| !y.is_nan());
        let (arguments, y): (Vec<&Vec<f64>>, Vec<f64>) = points.unzip();
        let side = |k: usize| {
            let x: Vec<f64> = arguments.iter().map(|x| x[k]).collect();
            Boxed { lower: x.clone(), upper: x }.enclosure::<f64>()
        };
        let bounds = match Unary::ALL.iter().find(|op| op.name() == name) {
            Some(op) => side(0).unary(*op),
            None => {
                let op = Binary::ALL.iter().find(|op| op.name() == name).expect("a row");
                side(0).binary(*op, &side(1))
            }
        };
        assert_within(name, &y, &bounds, &|k| format!("{:?}", arguments[k]));
    }
}

/// Asserts that intervals lie within others.
fn assert_inside(what: &str, inner: &Enclosure, outer: &Enclosure) {
    let ends = |x: &Enclosure| (floats(&x.lower()), floats(&x.upper()));
    let ((a, b), (c, d)) = (ends(inner), ends(outer));
    for k in 0..a.len() {
        let near = |x: f64| if x.is_finite() { 1e-13 * x.abs() + 1e-300 } else { 0.0 };
        let inside = c[k].is_nan() || (c[k] - near(c[k]) <= a[k] && b[k] <= d[k] + near(d[k]));
        assert!(inside, "{what}: [{:e}, {:e}] is not within [{:e}, {:e}]", a[k], b[k], c[k], d[k]);
    }
}

#[test]
fn parts_of_a_box_have_parts_of_its_bounds() {
    let mut rng = Rng::new(4);
    let mut nested = || {
        let outer = Boxed::random::<f64>(&mut rng, BOXES);
        let (a, b) = (outer.point::<f64>(&mut rng), outer.point::<f64>(&mut rng));
        let side = |f: fn(f64, f64) -> f64| a.iter().zip(&b).map(|(a, b)| f(*a, *b)).collect();
        let inner = Boxed { lower: side(f64::min), upper: side(f64::max) };
        [inner.enclosure::<f64>(), outer.enclosure::<f64>()]
    };
    for op in Unary::ALL {
        let [inner, outer] = nested();
        assert_inside(op.name(), &inner.unary(*op), &outer.unary(*op));
    }
    for op in Binary::ALL {
        let ([a, c], [b, d]) = (nested(), nested());
        assert_inside(op.name(), &a.binary(*op, &b), &c.binary(*op, &d));
    }
}

/// The least and largest value on a grid of a box.
fn seen(f: &dyn Fn(f64, f64) -> f64, [x, y]: [(f64, f64); 2]) -> [f64; 2] {
    let at = |(lo, hi): (f64, f64), k: usize| lo + (hi - lo) * k as f64 / 64.0;
    let all = (0..=64).flat_map(|i| (0..=64).map(move |j| (i, j))).map(|(i, j)| f(at(x, i), at(y, j)));
    all.fold([f64::INFINITY, f64::NEG_INFINITY], |[lo, hi], y| [lo.min(y), hi.max(y)])
}

/// Asserts that bounds are not much wider than what was seen: up to the distance of points on the grid.
fn assert_sharp(what: &str, bounds: &Enclosure, [lo, hi]: [f64; 2], slack: f64) {
    let (lower, upper) = (floats(&bounds.lower())[0], floats(&bounds.upper())[0]);
    let slack = slack * (hi - lo) + 1e-13 * (1.0 + hi.abs().max(lo.abs()));
    assert!(lower >= lo - slack && upper <= hi + slack, "{what}: [{lower:e}, {upper:e}] for [{lo:e}, {hi:e}]");
}

/// So bounds that are always infinite fail.
#[test]
fn bounds_of_rows_are_sharp_where_rows_are_smooth() {
    let mut rng = Rng::new(5);
    let part = |rng: &mut Rng, (lo, hi): (f64, f64), width: f64| {
        let start = lo + (hi - lo) * (1.0 - width) * rng.unit();
        (start, start + (hi - lo) * width)
    };
    let one = |(lo, hi): (f64, f64)| Enclosure::between(&Array::from([lo]), &Array::from([hi])).expect("ends in order");
    for width in [0.0, 1e-3, 0.3, 1.0] {
        for op in Unary::ALL {
            let x = part(&mut rng, op.domain(), width);
            assert_sharp(op.name(), &one(x).unary(*op), seen(&|x, _| op.apply(x), [x, x]), 0.02);
        }
        for op in Binary::ALL {
            let [x, y] = op.domain().map(|domain| part(&mut rng, domain, width));
            assert_sharp(op.name(), &one(x).binary(*op, &one(y)), seen(&|x, y| op.apply(x, y), [x, y]), 0.02);
        }
    }
}

#[test]
fn what_is_exact_has_no_width() {
    let whole = |x: f64| Enclosure::constant(Array::from([x]));
    for (x, y) in [(2.0, 4.0), (0.0, 5.0), (-1.5, 0.25), (6.0, -2.0)] {
        for op in [Binary::Add, Binary::Sub, Binary::Mul, Binary::Div, Binary::Min, Binary::Max, Binary::MulNoNan] {
            let z = whole(x).binary(op, &whole(y));
            assert_eq!(z.peek(), Some(Array::from([op.apply(x, y)])), "{} of {x} and {y}", op.name());
        }
    }
    let third = whole(1.0).binary(Binary::Div, &whole(3.0));
    assert_eq!(floats(&third.upper())[0], floats(&third.lower())[0].next_up());
    assert_eq!(whole(9.0).unary(Unary::Sqrt).peek(), Some(Array::from([3.0])));
    assert!(whole(2.0).unary(Unary::Sqrt).peek().is_none());
}

/// A value that is used twice is known to be one.
#[test]
fn a_value_and_itself_are_one() {
    let x = Enclosure::between(&Array::from([-1.0, 2.0]), &Array::from([2.0, 3.0])).expect("ends in order");
    let ends = |y: &Enclosure| (floats(&y.lower()), floats(&y.upper()));
    assert_eq!(ends(&x.binary(Binary::Mul, &x)), (vec![0.0, 4.0], vec![4.0, 9.0]));
    assert_eq!(ends(&x.binary(Binary::Sub, &x)), (vec![0.0, 0.0], vec![0.0, 0.0]));
    assert_eq!(ends(&Enclosure::contract(&dot(2), &x, &x)), (vec![4.0], vec![13.0]));
    let same = |op| Enclosure::discrete(&Discrete::Compare(op), &[&x, &x]).peek();
    assert_eq!(same(Compare::Ne), Some(Array::from([false, false])));
    assert_eq!(same(Compare::Ge), Some(Array::from([true, true])));
}

/// A power by products: one after the other, or by squares as `powi` does, or the product of two powers.
fn power<T: BaseTensor>(x: &T, n: u32, way: usize) -> T {
    let times = |x: &T, y: &T| x.binary(Binary::Mul, y);
    match (n, way) {
        (1, _) => x.clone(),
        (_, 0) => times(&power(x, n - 1, way), x),
        (_, 1) if n.is_multiple_of(2) => power(x, n / 2, way).unary(Unary::Square),
        (_, 1) => times(x, &power(x, n - 1, way)),
        _ => times(&power(x, n / 3 + 1, way - 1), &power(x, n - n / 3 - 1, way - 1)),
    }
}

fn powers_hold<E: Float>() {
    let mut rng = Rng::new(4);
    let (all, ways) = (Boxed::random::<E>(&mut rng, BOXES / 4), (2..12).flat_map(|n| (0..3).map(move |way| (n, way))));
    for (n, way) in ways.chain([(64, 1), (300, 1), (301, 2)]) {
        let bounds = power(&all.enclosure::<E>(), n, way);
        for _ in 0..POINTS / 4 {
            let x = all.point::<E>(&mut rng);
            let a = array::<E>(&x);
            for y in both_ways(&|x| power(&x[0], n, way), power(&a, n, way), std::slice::from_ref(&a)) {
                let of = |k: usize| format!("{:e}^{n} in [{:e}, {:e}]", x[k], all.lower[k], all.upper[k]);
                assert_within(E::DTYPE.name(), &floats(&y), &bounds, &of);
            }
        }
    }
}

/// Powers by products have the bounds of the power.
#[test]
fn powers_hold_their_values() {
    powers_hold::<f64>();
    powers_hold::<f32>();
    let x = Enclosure::between(&Array::from([-324.3, -2.0]), &Array::from([2.5, 0.5])).expect("ends in order");
    for (n, way) in (2..9).flat_map(|n| (0..3).map(move |way| (n, way))) {
        let (bounds, n) = (power(&x, n, way), n as i32);
        for (k, [lo, hi]) in [[-324.3, 2.5f64], [-2.0f64, 0.5]].into_iter().enumerate() {
            let [a, b] = [f64::powi(lo, n), hi.powi(n)];
            let (lower, upper) = if n % 2 == 0 { (0.0, a.max(b)) } else { (a, b) };
            let close = |x: f64, y: f64| (x - y).abs() <= 1e-13 * y.abs();
            assert!(close(floats(&bounds.lower())[k], lower) && close(floats(&bounds.upper())[k], upper), "{n}, {way}");
        }
    }
}

fn dot(n: usize) -> Contract {
    Contract::axes(&[n], &[0], &[0], &[])
}

/// Numbers of very different sizes, so that the order of a sum counts.
fn uneven<E: Float>(rng: &mut Rng, n: usize, spread: i32) -> Boxed {
    let (mut lower, mut upper) = (Vec::new(), Vec::new());
    for _ in 0..n {
        let x = E::of_f64((rng.unit() - 0.5) * 10f64.powi(rng.below(2 * spread as usize + 1) as i32 - spread)).as_f64();
        let wide = E::of_f64(x + rng.below(2) as f64 * x.abs() * 0.1).as_f64();
        lower.push(x);
        upper.push(wide);
    }
    Boxed { lower, upper }
}

fn sums_hold<E: Float>() {
    let mut rng = Rng::new(6);
    for n in [1, 2, 3, 10, 200] {
        for spread in [0, 8, if E::DTYPE == DType::F64 { 307 } else { 37 }] {
            let [x_box, y_box] = [(); 2].map(|()| uneven::<E>(&mut rng, n, spread));
            let sum = x_box.enclosure::<E>().linear(&Linear::sum(&[n], &[0]));
            let product = Enclosure::contract(&dot(n), &x_box.enclosure::<E>(), &y_box.enclosure::<E>());
            for _ in 0..40 {
                let (x, y) = (x_box.point::<E>(&mut rng), y_box.point::<E>(&mut rng));
                let (a, b) = (array::<E>(&x), array::<E>(&y));
                // In order, and the other way around.
                let back = |a: &Array| a.linear(&Linear::reverse(&[n], 0));
                let of = |_: usize| format!("{n} terms in {}", E::DTYPE);
                for a in [a.clone(), back(&a)] {
                    assert_within("sum", &floats(&a.linear(&Linear::sum(&[n], &[0]))), &sum, &of);
                }
                for (a, b) in [(a.clone(), b.clone()), (back(&a), back(&b))] {
                    assert_within("dot", &floats(&Array::contract(&dot(n), &a, &b)), &product, &of);
                }
            }
        }
    }
}

#[test]
fn sums_and_products_hold_their_values_in_any_order() {
    sums_hold::<f64>();
    sums_hold::<f32>();
    // A sum of numbers that are not negative is not negative, and one of two numbers is rounded once.
    let x = Enclosure::constant(Array::from([1e-300, 1e-300, 1e-300]));
    assert!(floats(&x.linear(&Linear::sum(&[3], &[0])).lower())[0] > 0.0);
    let x = Enclosure::constant(Array::from([0.5, 0.25]));
    assert_eq!(x.linear(&Linear::sum(&[2], &[0])).peek(), Some(Array::scalar(0.75)));
    // Bounds of an exact sum whose terms cancel hold it, though the rounded sum is 0.
    let x = Enclosure::constant(Array::from([1e20, 1.0, -1e20]));
    let sum = x.linear(&Linear::sum(&[3], &[0]));
    assert!(floats(&sum.lower())[0] <= 0.0 && floats(&sum.upper())[0] >= 1.0);
    // And where the order of the bounds is exact, the other order is not.
    let x = Array::from([1e20, -1e20, 1.0]);
    let sum = Enclosure::constant(x.clone()).linear(&Linear::sum(&[3], &[0]));
    let back = x.linear(&Linear::reverse(&[3], 0)).linear(&Linear::sum(&[3], &[0]));
    assert_within("sum in the other order", &floats(&back), &sum, &|_| "three terms".into());
}

/// Values of operations of other families on a box of floats, of which points are evaluated on arrays, too.
macro_rules! families {
    ($($name:ident |$x:ident, $n:ident, $i:ident, $m:ident| $body:expr;)*) => {
        $(fn $name<T: BaseTensor>($x: &T, $n: &T, $i: &T, $m: &T) -> T { let _ = ($x, $n, $i, $m); $body })*

        #[test]
        fn operations_hold_their_values() {
            $(operation_holds(
                stringify!($name),
                |[x, n, i, m]: &[Enclosure; 4]| $name(x, n, i, m),
                |[x, n, i, m]: &[Array; 4]| $name(x, n, i, m),
            );)*
        }
    };
}

// Of a 3 by 4 matrix, a vector of 4, a vector of 2 indices and a mask of the shape of the matrix.
families! {
    transposed |x, n, i, m| x.linear(&Linear::permute(&[3, 4], &[1, 0]));
    padded |x, n, i, m| x.linear(&Linear::pad(&[3, 4], &[1, 0], &[0, 2]));
    windows |x, n, i, m| n.linear(&Linear::window(&[4], 0, 2, 1));
    replicated |x, n, i, m| n.linear(&Linear::replicate(&[3, 4], &[1]));
    matvec |x, n, i, m| T::contract(&Contract::axes(&[3, 4], &[0, 1], &[1], &[0]), x, n);
    outer |x, n, i, m| T::contract(&Contract::axes(&[4, 4], &[0], &[1], &[0, 1]), n, n);
    diagonal_of_outer |x, n, i, m| T::contract(&Contract::axes(&[4], &[0], &[0], &[0]), n, n);
    convolved |x, n, i, m| T::contract(&Contract::new(
        View::affine(&[4], &[5, 4], &[1, -1], &[0]), View::axes(&[5, 4], &[1]), View::axes(&[5, 4], &[0])), n, n);
    transformed |x, n, i, m| n.linear(&Linear::reshape(&[4], &[2, 2])).linear(&Linear::fourier(&[2, 2], 0, 1));
    transformed_three |x, n, i, m| {
        let rows = x.linear(&Linear::slice(&[3, 4], 1, 0, 2, 1));
        rows.linear(&Linear::fourier(&[3, 2], 1, 0))
    };
    summed_before |x, n, i, m| x.linear(&Linear::prefix_sum(&[3, 4], 0));
    summed_after |x, n, i, m| x.linear(&Linear::prefix_sum(&[3, 4], 1).adjoint());
    multiplied_before |x, n, i, m| T::call(&Call::Matrix(Matrix::PrefixProduct), std::slice::from_ref(x)).swap_remove(0);
    recurrent |x, n, i, m| {
        T::call(&Call::Matrix(Matrix::Recurrence { transposed: false }), &[x.clone(), x.clone()]).swap_remove(0)
    };
    recurrent_backwards |x, n, i, m| {
        T::call(&Call::Matrix(Matrix::Recurrence { transposed: true }), &[x.clone(), x.clone()]).swap_remove(0)
    };
    largest |x, n, i, m| x.reduce(Reduce::Max { axis: 0 });
    smallest |x, n, i, m| x.reduce(Reduce::Min { axis: 1 });
    position |x, n, i, m| T::discrete(&Discrete::ArgMax { axis: 0 }, &[x]);
    position_of_smallest |x, n, i, m| T::discrete(&Discrete::ArgMin { axis: 1 }, &[x]);
    prefix_max |x, n, i, m| T::discrete(&Discrete::PrefixArg { axis: 0, largest: true, reverse: false }, &[x]);
    prefix_min_back |x, n, i, m| T::discrete(&Discrete::PrefixArg { axis: 0, largest: false, reverse: true }, &[i]);
    order |x, n, i, m| T::discrete(&Discrete::ArgSort { axis: 1, descending: false }, &[x]);
    order_down |x, n, i, m| T::discrete(&Discrete::ArgSort { axis: 0, descending: true }, &[x]);
    order_of_integers |x, n, i, m| T::discrete(&Discrete::ArgSort { axis: 0, descending: true }, &[i]);
    read |x, n, i, m| x.gather(std::slice::from_ref(i));
    read_elements |x, n, i, m| x.gather(&[i.clone(), i.clone()]);
    added |x, n, i, m| n.clone().scatter_add(std::slice::from_ref(i), &n.linear(&Linear::slice(&[4], 0, 1, 2, 1)));
    joined |x, n, i, m| T::concat(1, &[x.clone(), x.clone()]);
    chosen |x, n, i, m| T::select(m, x, &x.unary(Unary::Neg));
    compared |x, n, i, m| T::discrete(&Discrete::Compare(Compare::Le), &[x, &x.linear(&Linear::reverse(&[3, 4], 1))]);
    not_either |x, n, i, m| {
        let negated = T::discrete(&Discrete::Not, &[m]);
        T::discrete(&Discrete::Or, &[&T::discrete(&Discrete::And, &[m, &negated]), &negated])
    };
    to_integers |x, n, i, m| T::discrete(&Discrete::ToInt, &[x]);
    mask_to_float |x, n, i, m| T::discrete(&Discrete::ToFloat(DType::F32), &[m]);
    to_narrow_float |x, n, i, m| T::discrete(&Discrete::ToFloat(DType::F32), &[i]);
    roots_to_integers |x, n, i, m| T::discrete(&Discrete::ToInt, &[&roots(x)]);
    compared_roots |x, n, i, m| T::discrete(&Discrete::Compare(Compare::Ne), &[&roots(x), x]);
    position_of_roots |x, n, i, m| T::discrete(&Discrete::ArgMax { axis: 1 }, &[&roots(x)]);
    order_of_roots |x, n, i, m| T::discrete(&Discrete::ArgSort { axis: 1, descending: true }, &[&roots(x)]);
    largest_root |x, n, i, m| roots(x).reduce(Reduce::Max { axis: 0 });
    guarded_roots |x, n, i, m| roots(x).binary(Binary::MulNoNan, &T::discrete(&Discrete::FloatStep(FloatStep::Sign), &[x]));
    cast |x, n, i, m| x.linear(&Linear::cast(&[3, 4], DType::F64, DType::F32));
    sum_of_integers |x, n, i, m| i.linear(&Linear::sum(&[2], &[0]));
    product_of_integers |x, n, i, m| T::contract(&dot(2), i, i);
    recurrence |x, n, i, m| T::map_accum(4, true, vec![T::constant(Array::scalar(0.5))], std::slice::from_ref(n),
        &mut |c, x| { let c = c[0].binary(Binary::Mul, &x[0]); (vec![c.clone()], vec![c.unary(Unary::Sin)]) }).1.remove(0);
}

/// Lengths with all kinds of factors; in some lines of numbers one is large, and its factor zero in exact arithmetic.
#[test]
fn fourier_transforms_hold_their_values() {
    let mut rng = Rng::new(9);
    for n in [1, 2, 3, 4, 7, 12, 16, 31, 60, 128] {
        for (spread, conjugate) in [(0, false), (3, true), (300, false)] {
            let x = uneven::<f64>(&mut rng, 2 * n, spread).lower;
            let op = Linear::fourier(&[2, n], 0, 1);
            let op = if conjugate { op.adjoint() } else { op };
            let a = Array::new(&[2, n], x.clone());
            let bounds = Enclosure::constant(a.clone()).linear(&op);
            assert_within("transform", &floats(&a.linear(&op)), &bounds, &|k| format!("element {k} of {n}: {x:?}"));
            let size: f64 = x.iter().map(|x| x.abs()).sum();
            let (lower, upper) = (floats(&bounds.lower()), floats(&bounds.upper()));
            let narrow = lower.iter().zip(&upper).all(|(lower, upper)| upper - lower < 1e-11 * size);
            assert!(narrow || spread == 300, "bounds of a transform of {n} numbers are wide");
            let mut x = x;
            x[0] = f64::INFINITY;
            let a = Array::new(&[2, n], x);
            let bounds = Enclosure::constant(a.clone()).linear(&op);
            assert_within("transform", &floats(&a.linear(&op)), &bounds, &|k| {
                format!("element {k} of {n} with an infinity")
            });
        }
    }
}

/// Values above 1, or NaN.
fn roots<T: BaseTensor>(x: &T) -> T {
    x.unary(Unary::Sqrt).binary(Binary::Add, &T::constant(Array::ones(&[3, 4], DType::F64)))
}

/// Floats in an interval for each element, integers and masks.
fn four(rng: &mut Rng, nan: bool) -> [[Array; 2]; 4] {
    let mut side = |n: usize, shape: &[usize]| {
        let all = if rng.below(3) == 0 { Boxed::random::<f64>(rng, n) } else { uneven::<f64>(rng, n, 1) };
        let mut lower = all.lower;
        lower[0] = if nan { f64::NAN } else { lower[0] };
        [Array::new(shape, lower), Array::new(shape, all.upper)]
    };
    let (x, n) = (side(12, &[3, 4]), side(4, &[4]));
    let low: Vec<i64> = (0..2).map(|_| rng.below(6) as i64 - 1).collect();
    let high: Vec<i64> = low.iter().map(|k| k + rng.below(3) as i64 / 2 * 2).collect();
    let masks: Vec<[bool; 2]> = (0..12).map(|_| [[false, false], [false, true], [true, true]][rng.below(3)]).collect();
    let mask = |k: usize| Array::new(&[3, 4], masks.iter().map(|m| m[k]).collect());
    [x, n, [Array::from(low), Array::from(high)], [mask(0), mask(1)]]
}

/// A point between two arrays.
fn between(rng: &mut Rng, [lower, upper]: &[Array; 2]) -> Array {
    match lower.dtype() {
        DType::F64 | DType::F32 => {
            let (lower, upper) = (floats(lower), floats(upper));
            let unknown = lower[0].is_nan();
            let all = Boxed { lower: lower.iter().map(|x| if x.is_nan() { -9.0 } else { *x }).collect(), upper };
            let mut x = all.point::<f64>(rng);
            x[0] = if unknown && rng.below(2) == 0 { f64::NAN } else { x[0] };
            Array::new(if x.len() == 4 { &[4] } else { &[3, 4] }, x)
        }
        DType::I64 => {
            let ends = [lower, upper].map(|a| a.to_vec::<i64>().expect("integers"));
            Array::from(
                ends[0]
                    .iter()
                    .zip(&ends[1])
                    .map(|(a, b)| a + rng.below((b - a) as usize + 1) as i64)
                    .collect::<Vec<_>>(),
            )
        }
        DType::Bool => {
            let ends = [lower, upper].map(|a| a.to_vec::<bool>().expect("masks"));
            let any = |(a, b): (&bool, &bool)| if a == b { *a } else { rng.below(2) == 0 };
            Array::new(&[3, 4], ends[0].iter().zip(&ends[1]).map(any).collect())
        }
    }
}

fn operation_holds(name: &str, bounds: fn(&[Enclosure; 4]) -> Enclosure, values: fn(&[Array; 4]) -> Array) {
    let mut rng = Rng::new(7);
    for round in 0..60 {
        let sides = four(&mut rng, round % 10 == 9);
        let all = sides.each_ref().map(|[a, b]| Enclosure::between(a, b).expect("ends in order"));
        let held = bounds(&all);
        for _ in 0..40 {
            let point = sides.each_ref().map(|sides| between(&mut rng, sides));
            let y = values(&point);
            assert_eq!((y.shape(), y.dtype()), (held.shape(), held.dtype()), "{name}");
            assert_within(name, &floats(&y), &held, &|k| format!("element {k} of {point:?} in {sides:?}"));
        }
    }
}

/// Integers near the ends of their range, where they wrap around, and small ones.
const INTEGERS: [i64; 12] = [i64::MIN, i64::MIN + 1, -7, -3, -2, -1, 0, 1, 2, 5, i64::MAX - 1, i64::MAX];

#[test]
fn integers_hold_their_values() {
    let pairs = || (0..12).flat_map(|i| (i..12).map(move |j| (i, j)));
    let of = |(i, j): (usize, usize)| {
        Enclosure::between(&Array::from([INTEGERS[i]]), &Array::from([INTEGERS[j]])).expect("ends in order")
    };
    let one = |x: Array| x.to_vec::<i64>().expect("integers")[0];
    let bounds = |y: Enclosure| one(y.lower())..=one(y.upper());
    for x in pairs() {
        for op in IntUnary::ALL {
            let held = bounds(Enclosure::discrete(&Discrete::IntUnary(*op), &[&of(x)]));
            for a in &INTEGERS[x.0..=x.1] {
                assert!(held.contains(&op.apply(*a)), "{} of {a} is not in {held:?}", op.name());
            }
        }
        for (op, y) in IntBinary::ALL.iter().flat_map(|op| pairs().map(move |y| (op, y))) {
            let held = bounds(Enclosure::discrete(&Discrete::IntBinary(*op), &[&of(x), &of(y)]));
            for (a, b) in INTEGERS[x.0..=x.1].iter().flat_map(|a| INTEGERS[y.0..=y.1].iter().map(move |b| (a, b))) {
                assert!(held.contains(&op.apply(*a, *b)), "{} of {a} and {b} is not in {held:?}", op.name());
            }
        }
    }
    // Affine index arithmetic stays narrow.
    let k = Enclosure::between(&Array::from([8_i64]), &Array::from([11_i64])).expect("ends in order");
    let four = Enclosure::constant(Array::from([4_i64]));
    let of = |op| Enclosure::discrete(&Discrete::IntBinary(op), &[&k, &four]);
    assert_eq!([bounds(of(IntBinary::Quot)), bounds(of(IntBinary::Rem))], [2..=2, 0..=3]);
}

#[test]
fn steps_of_floats_hold_their_values() {
    let mut rng = Rng::new(8);
    for op in FloatStep::ALL {
        let op = Discrete::FloatStep(*op);
        let all = Boxed::random::<f64>(&mut rng, BOXES);
        let bounds = Enclosure::discrete(&op, &[&all.enclosure::<f64>()]);
        for _ in 0..POINTS {
            let x = all.point::<f64>(&mut rng);
            let y = Array::discrete(&op, &[&array::<f64>(&x)]);
            assert_within(op.name(), &floats(&y), &bounds, &|k| format!("{:e}", x[k]));
        }
    }
}

/// What is decided stays decided: positions, comparisons and choices of intervals that do not meet.
#[test]
fn decided_orders_have_one_position() {
    let x =
        Enclosure::between(&Array::from([3.0, 1.0, 1.5, 0.0]), &Array::from([4.0, 1.0, 2.0, 1.0])).expect("in order");
    let order = |descending| Enclosure::discrete(&Discrete::ArgSort { axis: 0, descending }, &[&x]);
    // The second and the fourth may be equal, and then stay in order.
    assert_eq!(order(true).peek(), Some(Array::from([0_i64, 2, 1, 3])));
    assert_eq!(order(false).lower(), Array::from([1_i64, 1, 2, 0]));
    assert_eq!(order(false).upper(), Array::from([3_i64, 3, 2, 0]));
    let largest = Enclosure::discrete(&Discrete::ArgMax { axis: 0 }, &[&x]);
    assert_eq!(largest.peek(), Some(Array::scalar(0_i64)));
    let above =
        Enclosure::discrete(&Discrete::Compare(Compare::Gt), &[&x, &Enclosure::constant(Array::from([2.5; 4]))]);
    assert_eq!(above.peek(), Some(Array::from([true, false, false, false])));
}
