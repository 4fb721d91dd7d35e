//! The points at which random programs run: the arrays of their inputs and constants.
//!
//! Law: a seed is the array. Small seeds are one number, of those that rules look for; then come generic points, a seventh
//! of which mixes in zeros, infinities and NaN; from [`SINGULAR`] on points where functions have kinks, poles and ties; from
//! [`DEGENERATE`] on those where users live, a thousand seeds for each [`Point`].

use polygrad::array::Rng;
use polygrad::shape::size;
use polygrad::{Array, DType};

use crate::recipe::Numbers;

/// From this seed on, all floats are such at which functions have kinks, poles and ties, but finite.
pub(crate) const SINGULAR: u64 = 1000;

/// From this seed on, arrays are degenerate as a whole.
pub(crate) const DEGENERATE: u64 = 2000;

/// Kinds of degenerate arrays. A matrix is what the last two axes span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Point {
    /// All elements are one number; masks are all false.
    Equal,
    /// All rows of a matrix are one row; masks are all true.
    EqualRows,
    /// The product of a column and a row of small integers.
    RankOne,
    Symmetric,
    /// Zeros above the diagonal, small integers on and below it, some of them zeros on the diagonal.
    Triangular,
    /// A row of zeros, and a column that stands twice; masks with a row that is all false.
    ZeroRow,
    /// Subnormal numbers, zeros of both signs, and numbers whose squares underflow.
    Tiny,
    /// Infinities of both signs among small integers; integers at both ends of their range.
    Infinite,
    /// Zeros alone: a state at rest.
    AtRest,
}

const POINTS: [Point; 9] = [
    Point::Equal,
    Point::EqualRows,
    Point::RankOne,
    Point::Symmetric,
    Point::Triangular,
    Point::ZeroRow,
    Point::Tiny,
    Point::Infinite,
    Point::AtRest,
];

/// A degenerate point in the place of a generic one, by the seed of that: every kind is as frequent.
pub(crate) fn degenerate(seed: u64) -> u64 {
    let mut rng = Rng::new(seed ^ 0xde9e);
    DEGENERATE + 1000 * rng.below(POINTS.len()) as u64 + seed % 1000
}

/// The array of some numbers.
pub(crate) fn numbers(numbers: &Numbers) -> Array {
    let Numbers { shape, dtype, seed } = numbers;
    if let Some(kind) = seed.checked_sub(DEGENERATE) {
        return POINTS[(kind / 1000) as usize % POINTS.len()].array(shape, *dtype, *seed);
    }
    let mut rng = Rng::new(*seed);
    let same = [0.0, 1.0, -1.0, 2.0, 0.5].get(*seed as usize).copied();
    let mut every =
        |draw: &mut dyn FnMut(&mut Rng) -> f64| (0..size(shape)).map(|_| draw(&mut rng)).collect::<Vec<f64>>();
    match (same, dtype) {
        (Some(c), DType::Bool) => Array::full(shape, c > 0.0),
        (Some(c), DType::I64) => Array::full(shape, c as i64),
        (Some(c), DType::F64 | DType::F32) => Array::full_as(shape, *dtype, c),
        (None, DType::Bool) => Array::new(shape, every(&mut Rng::unit).iter().map(|x| *x < 0.6).collect()),
        (None, DType::I64) => Array::new(shape, every(&mut |rng| rng.below(9) as f64 - 3.0)).cast::<i64>(),
        (None, DType::F64) => Array::new(shape, every(&mut |rng| float(rng, *seed))),
        (None, DType::F32) => Array::new(shape, every(&mut |rng| float(rng, *seed))).cast::<f32>(),
    }
}

/// Multiples of 7 mix in the numbers that are special somewhere.
fn float(rng: &mut Rng, seed: u64) -> f64 {
    if seed >= SINGULAR {
        return [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 0.0, 1.0][rng.below(8)];
    }
    let special = [0.0, -0.0, 1.0, -1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 3.0, -0.5];
    if seed.is_multiple_of(7) && rng.below(2) == 0 { special[rng.below(special.len())] } else { 3.0 * rng.unit() - 1.5 }
}

/// The row and the column of an element of the last two axes, of an array with at least one axis.
fn row_and_column(shape: &[usize], at: usize) -> [usize; 2] {
    let columns = shape[shape.len() - 1];
    let rows = shape.len().checked_sub(2).map_or(1, |axis| shape[axis]);
    [at / columns % rows, at % columns]
}

impl Point {
    fn array(self, shape: &[usize], dtype: DType, seed: u64) -> Array {
        let elements = 0..size(shape);
        match dtype {
            DType::Bool => Array::new(shape, elements.map(|at| self.mask(shape, at, seed)).collect()),
            DType::I64 => Array::new(shape, elements.map(|at| self.integer(shape, at, seed)).collect()),
            DType::F64 => {
                Array::new(shape, elements.map(|at| self.float(shape, at, seed, f64::MIN_POSITIVE)).collect())
            }
            DType::F32 => {
                let least = f64::from(f32::MIN_POSITIVE);
                Array::new(shape, elements.map(|at| self.float(shape, at, seed, least) as f32).collect())
            }
        }
    }

    fn mask(self, shape: &[usize], at: usize, seed: u64) -> bool {
        match self {
            Point::Equal | Point::AtRest => false,
            Point::EqualRows => true,
            Point::ZeroRow if !shape.is_empty() => row_and_column(shape, at)[0] > 0 && small(seed, at) > 0.0,
            Point::RankOne | Point::Symmetric | Point::Triangular | Point::ZeroRow | Point::Tiny | Point::Infinite => {
                small(seed, at) > 0.0
            }
        }
    }

    fn integer(self, shape: &[usize], at: usize, seed: u64) -> i64 {
        if self == Point::Infinite {
            return [i64::MIN, i64::MAX, 0, -1, 1, i64::MIN + 1][(small(seed, at) + 2.0) as usize];
        }
        self.float(shape, at, seed, f64::MIN_POSITIVE) as i64
    }

    /// An element; `least` is the smallest normal number of the type.
    fn float(self, shape: &[usize], at: usize, seed: u64, least: f64) -> f64 {
        let [row, column] = if shape.is_empty() { [0, 0] } else { row_and_column(shape, at) };
        let of_row = small(seed, row);
        let of_column = small(seed + 1, column);
        match self {
            Point::Equal => [0.5, 1.0, -1.0, 2.0, -0.25][(seed % 5) as usize],
            Point::EqualRows => of_column,
            Point::RankOne => of_row * of_column,
            Point::Symmetric => small(seed, 100 * row.min(column) + row.max(column)),
            Point::Triangular if column > row => 0.0,
            Point::Triangular => small(seed, at),
            Point::ZeroRow if row == 0 => 0.0,
            Point::ZeroRow => small(seed, 100 * row + if column == 1 { 0 } else { column }),
            Point::Tiny => {
                let sizes = [0.0, -0.0, least / 1024.0, -least / 16.0, least, least.sqrt() / 1024.0];
                sizes[(small(seed, at) + 2.0) as usize]
            }
            Point::Infinite => {
                [f64::INFINITY, f64::NEG_INFINITY, 0.0, 1.0, -1.0, 2.0][(small(seed, at) + 2.0) as usize]
            }
            Point::AtRest => 0.0,
        }
    }
}

/// An integer from -2 to 3, by the seed and a position.
fn small(seed: u64, at: usize) -> f64 {
    Rng::new(seed.wrapping_mul(0x9e37_79b9) ^ at as u64).below(6) as f64 - 2.0
}

/// What [`Point`] says of its arrays.
#[test]
fn degenerate_arrays_are_what_they_are_called() {
    let matrix = |point: Point, n: usize, seed: u64| {
        let a = point.array(&[n, n], DType::F64, DEGENERATE + seed);
        move |i: usize, j: usize| a.to_vec::<f64>().expect("floats")[i * n + j]
    };
    for seed in 0..20 {
        let each = |law: &dyn Fn(usize, usize) -> bool| (0..16).all(|k| law(k / 4, k % 4));
        let rows = matrix(Point::EqualRows, 4, seed);
        assert!(each(&|i, j| rows(i, j) == rows(0, j)));
        let one = matrix(Point::RankOne, 4, seed);
        assert!(each(&|i, j| one(i, j) * one(0, 0) == one(i, 0) * one(0, j)));
        let symmetric = matrix(Point::Symmetric, 4, seed);
        assert!(each(&|i, j| symmetric(i, j) == symmetric(j, i)));
        let triangular = matrix(Point::Triangular, 4, seed);
        assert!(each(&|i, j| i >= j || triangular(i, j) == 0.0));
        let row = matrix(Point::ZeroRow, 4, seed);
        assert!(each(&|i, j| row(0, j) == 0.0 && row(i, 0) == row(i, 1)));
    }
    let ends = Point::Infinite.array(&[40], DType::I64, DEGENERATE).to_vec::<i64>().expect("integers");
    assert!(ends.contains(&i64::MIN) && ends.contains(&i64::MAX));
    let tiny = Point::Tiny.array(&[40], DType::F32, DEGENERATE).to_vec::<f32>().expect("floats");
    assert!(tiny.iter().any(|x| x.is_subnormal()) && tiny.contains(&0.0));
}
