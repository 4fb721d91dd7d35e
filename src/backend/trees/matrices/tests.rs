mod spectral;

use smallvec::SmallVec;

use super::{MOST, matrices, supported};
use crate::array::{Array, Rng};
use crate::backend::ir::step::{MatrixCall, StepOperand};
use crate::backend::trees::evaluate::evaluate;
use crate::backend::trees::tree::{ArrayKind, ElementIndex, ElementPlace, Expression, Literal, Stmt};
use crate::backend::trees::writer::Writer;
use crate::dtype::DType;
use crate::kernels::matrix::Real;
use crate::kernels::matrix::batch::{self, MatrixOperands, MatrixResults};
use crate::ops::Matrix;

/// A batch of operands: the floats, and the order of rows of a solution by factors.
#[derive(Clone)]
struct Batch<E> {
    sizes: [usize; 2],
    count: usize,
    floats: Vec<Vec<E>>,
    /// The sizes of each operand.
    shapes: Vec<Vec<usize>>,
    order: Option<Vec<i64>>,
}

impl<E: Real> Batch<E> {
    fn of(sizes: [usize; 2], a: Vec<Vec<E>>) -> Batch<E> {
        let shapes = vec![vec![a.len(), sizes[0], sizes[1]]];
        Batch { sizes, count: a.len(), floats: vec![a.concat()], shapes, order: None }
    }

    fn with(mut self, b: Vec<E>, [m, n]: [usize; 2]) -> Batch<E> {
        self.shapes.push(vec![self.count, m, n]);
        self.floats.push(b);
        self
    }

    /// With the factors that the kernel finds.
    fn factored(self) -> Batch<E> {
        let [m, n] = self.sizes;
        let [factors, order] =
            by_kernel(Matrix::LuFactor, &Batch { floats: vec![self.floats[0].clone()], ..self.clone() })
                .try_into()
                .unwrap_or_else(|_| panic!("factors have two results"));
        let mut found = self.with(factors.to_vec().expect("floats"), [m, n]);
        found.shapes.push(vec![found.count, n]);
        Batch { order: Some(order.to_vec().expect("an order")), ..found }
    }

    /// The matrices of full rank.
    fn independent(&self) -> Batch<E> {
        let ([m, n], ranks) = (self.sizes, by_kernel(Matrix::LstsqFactor, self).remove(3));
        let ranks = ranks.to_vec::<i64>().expect("ranks");
        let matrix = |at: usize| self.floats[0][at * m * n..][..m * n].to_vec();
        let full = (0..self.count).filter(|at| ranks[*at] as usize == m.min(n));
        Batch::of(self.sizes, full.map(matrix).collect())
    }

    /// With the factors of floats that the kernel finds.
    fn decomposed(self, op: Matrix) -> Batch<E> {
        let of = Batch { floats: vec![self.floats[0].clone()], shapes: vec![self.shapes[0].clone()], ..self.clone() };
        let kinds = [(&of.shapes[0][..], E::DTYPE)];
        let shapes = op.try_results(&kinds).expect("the operand fits");
        let mut batch = self;
        for (x, (shape, _)) in by_kernel(op, &of).iter().zip(shapes).filter(|(x, _)| x.dtype().is_float()) {
            batch.floats.push(x.to_vec().expect("floats"));
            batch.shapes.push(shape.to_vec());
        }
        batch
    }

    fn results(&self, op: Matrix) -> Vec<(usize, DType)> {
        let dtype = |k: usize| if op.takes_integers(k) { DType::I64 } else { E::DTYPE };
        let kinds: Vec<_> =
            self.shapes[..op.arity()].iter().enumerate().map(|(k, shape)| (&shape[..], dtype(k))).collect();
        let results = op.try_results(&kinds).expect("the operands fit");
        results.into_iter().map(|(shape, dtype)| (shape.iter().product(), dtype)).collect()
    }
}

fn by_kernel<E: Real>(op: Matrix, of: &Batch<E>) -> Vec<Array> {
    let results = of.results(op);
    let mut floats: Vec<Vec<E>> =
        results.iter().filter(|(_, dtype)| dtype.is_float()).map(|(n, _)| vec![E::ZERO; *n]).collect();
    let mut integers = vec![0; results.iter().find(|(_, dtype)| !dtype.is_float()).map_or(0, |(n, _)| *n)];
    let operands = MatrixOperands {
        floats: of.floats.iter().map(|x| &x[..]).collect(),
        positions: of.order.as_deref().unwrap_or(&[]),
    };
    let all = MatrixResults { floats: floats.iter_mut().map(|x| &mut x[..]).collect(), integers: &mut integers };
    batch::run(op, of.sizes, (of.count, 0), &operands, all);
    let mut floats = floats.into_iter();
    let array = |(n, dtype): &(usize, DType)| match dtype.is_float() {
        true => Array::new(&[*n], floats.next().expect("a result")),
        false => Array::new(&[*n], integers.clone()),
    };
    results.iter().map(array).collect()
}

fn by_tree<E: Real>(op: Matrix, of: &Batch<E>) -> Vec<Array> {
    results_by_tree(op, of, &of.results(op))
}

/// The results with these numbers of elements and element types: one that nothing reads has no elements.
fn results_by_tree<E: Real>(op: Matrix, of: &Batch<E>, results: &[(usize, DType)]) -> Vec<Array> {
    assert_eq!(supported(op, of.sizes), Ok(()), "{op:?}");
    let mut inputs: Vec<Array> = of.floats.iter().map(|x| Array::new(&[x.len()], x.clone())).collect();
    inputs.extend(of.order.as_ref().map(|x| Array::new(&[x.len()], x.clone())));
    let mut w = Writer::new();
    // Values of one element are variables.
    let single = inputs.iter().map(Array::size).chain(results.iter().map(|(n, _)| *n)).all(|n| n == 1);
    let elements = |array| ElementPlace::Elements(array, ElementIndex::default());
    let operands: Vec<ElementPlace> =
        inputs.iter().enumerate().map(|(k, x)| elements(w.array(x.dtype(), x.size(), ArrayKind::Input(k)))).collect();
    let result = |(k, (n, dtype)): (usize, &(usize, DType))| match *n {
        // What has no elements is no array of a program.
        0 => ElementPlace::Number(Literal::zero(*dtype)),
        n => elements(w.array(*dtype, n, ArrayKind::Output(k))),
    };
    let out: Vec<ElementPlace> = results.iter().enumerate().map(result).collect();
    let call = MatrixCall {
        op,
        sizes: of.sizes,
        count: of.count,
        work: 0,
        dtype: E::DTYPE,
        operands: inputs.iter().map(|x| (StepOperand { buf: 0, at: 0, one: false }, x.size())).collect(),
        out: results.iter().map(|(n, dtype)| (0, *n, *dtype)).collect::<SmallVec<_>>(),
        origin: crate::source::Place::UNKNOWN,
    };
    if single {
        let start = ElementIndex::default();
        let variables: Vec<ElementPlace> = operands
            .iter()
            .zip(&inputs)
            .map(|(x, input)| ElementPlace::Variable(w.let_(input.dtype(), x.load(&start))))
            .collect();
        let cells: Vec<ElementPlace> =
            results.iter().map(|(_, dtype)| ElementPlace::Variable(w.var(*dtype, Expression::zero(*dtype)))).collect();
        matrices(&mut w, &call, &variables, &cells);
        cells.iter().zip(&out).for_each(|(cell, out)| w.store(out, &start, cell.load(&start)));
    } else {
        matrices(&mut w, &call, &operands, &out);
    }
    let outputs: Vec<(DType, usize)> = results.iter().map(|(n, dtype)| (*dtype, *n)).collect();
    evaluate(&w.finish(), &inputs, &outputs)
}

/// Compares each matrix of a batch: integers, NaN and infinities are equal; the difference of other numbers is at most
/// `error` times the largest absolute value of the matrix.
fn agree<E: Real>(op: Matrix, of: &Batch<E>, error: f64, case: &str) {
    let (found, wanted) = (by_tree(op, of), by_kernel(op, of));
    for (k, (found, wanted)) in found.iter().zip(&wanted).enumerate() {
        if !wanted.dtype().is_float() {
            assert_eq!(found, wanted, "{case}: {op:?}, result {k}");
            continue;
        }
        let [found, wanted] = [found, wanted].map(|x| x.to_vec::<E>().expect("floats"));
        let each = wanted.len() / of.count;
        for (at, (x, y)) in found.iter().zip(&wanted).enumerate() {
            let [x, y] = [x, y].map(|x| x.as_f64());
            let matrix = &wanted[at / each * each..][..each];
            let sizes = matrix.iter().map(|x| x.as_f64().abs()).filter(|x| x.is_finite());
            let most = sizes.fold(0.0, f64::max);
            // Also the least numbers are rounded.
            let least = if E::DTYPE == DType::F32 { 1e-44 } else { 1e-322 };
            let same = x == y || x.is_nan() && y.is_nan() || (x - y).abs() <= error * most + least;
            assert!(same, "{case}: {op:?} of {:?}, result {k}, element {at}: {x:e} is {y:e} (of {most:e})", of.sizes);
        }
    }
}

fn random<E: Real>(rng: &mut Rng, n: usize) -> Vec<E> {
    (0..n).map(|_| E::of_f64(rng.unit() * 2.0 - 1.0)).collect()
}

/// Matrices with full rank, with and without a large scale, and ones with a diagonal that is large.
fn regular<E: Real>(rng: &mut Rng, [m, n]: [usize; 2], scale: i32) -> Vec<Vec<E>> {
    let power = |power: i32| E::of_f64(2f64.powi(power));
    let dominant = |(k, x): (usize, E)| if k / n == k % n { x + E::of_f64(3.0) } else { x };
    let plain: Vec<E> = random(rng, m * n);
    let scaled = |by: &dyn Fn(usize, usize) -> i32, x: &[E]| {
        x.iter().enumerate().map(|(k, x)| *x * power(by(k / n, k % n))).collect::<Vec<E>>()
    };
    let large: Vec<E> = random::<E>(rng, m * n).into_iter().enumerate().map(dominant).collect();
    vec![
        plain.clone(),
        large.clone(),
        scaled(&|_, _| scale, &plain),
        scaled(&|_, _| -scale, &large),
        scaled(&|i, _| if i % 2 == 0 { scale } else { -scale }, &large),
    ]
}

/// Matrices with special elements, without full rank, and of small integers.
fn hostile<E: Real>(rng: &mut Rng, [m, n]: [usize; 2]) -> Vec<Vec<E>> {
    let number = |x: f64| E::of_f64(x);
    let mut all: Vec<Vec<E>> = vec![vec![number(0.0); m * n], vec![number(-0.0); m * n], vec![number(1.0); m * n]];
    all.push((0..m * n).map(|k| number(f64::from(u8::from(k / n == k % n)))).collect());
    all.push((0..m * n).map(|k| number(f64::from(u8::from(k / n + k % n + 1 == n)))).collect());
    all.push((0..m * n).map(|_| number(rng.below(3) as f64 - 1.0)).collect());
    for special in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let mut x = random::<E>(rng, m * n);
        if let Some(x) = x.last_mut() {
            *x = number(special);
        }
        all.push(x.clone());
        x.rotate_left(m * n / 2);
        all.push(x);
    }
    let mut column = random::<E>(rng, m * n);
    column.iter_mut().step_by(n.max(1)).for_each(|x| *x = E::ZERO);
    all.push(column);
    all
}

const SIZES: [usize; 8] = [0, 1, 2, 3, 4, 5, 8, 13];

fn square_operations<E: Real>(error: f64, scale: i32) {
    let mut rng = Rng::new(3);
    for n in SIZES {
        let sizes = [n, n];
        let mut all = regular::<E>(&mut rng, sizes, scale);
        let symmetric: Vec<Vec<E>> = all[..2]
            .iter()
            .map(|a| {
                let product = |i: usize, j: usize| (0..n).fold(E::ZERO, |sum, k| sum + a[i * n + k] * a[j * n + k]);
                (0..n * n).map(|k| product(k / n, k % n)).collect()
            })
            .collect();
        all.extend(symmetric);
        let diagonal = |f: &dyn Fn(usize) -> f64| -> Vec<E> {
            (0..n * n).map(|k| if k / n == k % n { E::of_f64(f(k / n)) } else { E::ZERO }).collect()
        };
        // Equal eigenvalues: their tangents are numbers, those of the vectors NaN.
        let equal =
            [diagonal(&|_| 1.0), diagonal(&|i| (i / 2) as f64), diagonal(&|i| i as f64), diagonal(&|_| f64::NAN)];
        let equal = Batch::of(sizes, equal.to_vec());
        let mut b = random::<E>(&mut Rng::new(5), 4 * n * (n + 1));
        b[..n * (n + 1)].iter_mut().step_by(n.max(1)).for_each(|x| *x = E::ZERO);
        agree(Matrix::EighSolve, &equal.with(b, [n + 1, n]).decomposed(Matrix::Eigh), error, "equal");
        for (case, of) in [("regular", all), ("hostile", hostile(&mut rng, sizes))] {
            let of = Batch::of(sizes, of);
            for op in [
                Matrix::Cholesky,
                Matrix::Lu,
                Matrix::LuFactor,
                Matrix::Det,
                Matrix::SlogDet,
                Matrix::Inverse,
                Matrix::Minors { without: 1 },
                Matrix::Pivots,
            ] {
                agree(op, &of, error, case);
            }
            for columns in [1, 3, 0] {
                let mut b = random::<E>(&mut rng, of.count * n * columns);
                b[..n * columns].fill(E::ZERO);
                let count = of.count;
                b[(count / 2) * n * columns..(count / 2 + 1) * n * columns].fill(-E::ZERO);
                // A column of zeros in every second matrix.
                if columns == 3 {
                    b.iter_mut()
                        .enumerate()
                        .filter(|(at, _)| at / (3 * n) % 2 == 1 && at % 3 == 1)
                        .for_each(|(_, x)| *x = E::ZERO);
                }
                let with = of.clone().with(b, [n, columns]);
                for fields in 0..8 {
                    let [lower, transposed, unit] = [1, 2, 4].map(|bit| fields & bit != 0);
                    agree(Matrix::SolveTriangular { lower, transposed, unit }, &with, 1e3 * error, case);
                }
                let factored = with.factored();
                for transposed in [false, true] {
                    agree(Matrix::Solve { transposed }, &factored, 1e2 * error, case);
                }
            }
        }
    }
}

#[test]
fn matrices_of_one_element_may_be_variables() {
    // At 1e-310, the direction of a derivative of exponentials leaves the range of floats in the kernel.
    for x in [-2.5, 0.0, f64::NAN, f64::INFINITY, 1e-290] {
        let of = Batch::of([1, 1], vec![vec![x]]);
        for op in [
            Matrix::Cholesky,
            Matrix::Lu,
            Matrix::LuFactor,
            Matrix::Det,
            Matrix::SlogDet,
            Matrix::Inverse,
            Matrix::Minors { without: 1 },
            Matrix::Qr,
            Matrix::Eigh,
            Matrix::Expm,
            Matrix::PrefixProduct,
        ] {
            agree(op, &of, 1e-15, "one element");
        }
        let with = of.with(vec![3.0], [1, 1]);
        for op in [
            Matrix::SolveTriangular { lower: true, transposed: false, unit: false },
            Matrix::Product { transposed: false },
            Matrix::Recurrence { transposed: true },
            Matrix::ExpmTangent { transposed: false },
        ] {
            agree(op, &with, 1e-15, "one element");
        }
        agree(Matrix::Solve { transposed: false }, &with.clone().factored(), 1e-15, "one element");
        agree(Matrix::Lstsq { transposed: false }, &with.decomposed(Matrix::LstsqFactor), 1e-15, "one element");
    }
}

#[test]
fn square_operations_are_those_of_the_kernels() {
    square_operations::<f64>(1e-12, 120);
    square_operations::<f32>(1e-3, 9);
}

/// Whether the product of QR factors is the matrix, and columns of `q` are orthonormal; NaN of what is not finite.
fn are_factors<E: Real>(of: &Batch<E>, error: f64) {
    let [m, n] = of.sizes;
    let k = m.min(n);
    let [q, r] = by_tree(Matrix::Qr, of).try_into().expect("two factors");
    let [q, r] = [q, r].map(|x: Array| x.to_vec::<E>().expect("floats").into_iter().map(|x| x.as_f64()).collect());
    let ([q, r], near): ([Vec<f64>; 2], _) = ([q, r], |x: f64, y: f64| (x - y).abs() <= 10.0 * error);
    for matrix in 0..of.count {
        let a: Vec<f64> = of.floats[0][matrix * m * n..][..m * n].iter().map(|x| x.as_f64()).collect();
        let (q, r) = (&q[matrix * m * k..][..m * k], &r[matrix * k * n..][..k * n]);
        if a.iter().any(|x| !x.is_finite()) {
            assert!(q.iter().chain(r).all(|x| x.is_nan()));
            continue;
        }
        let sum = |len: usize, f: &dyn Fn(usize) -> f64| (0..len).map(f).sum::<f64>();
        for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
            assert!(near(sum(k, &|l| q[i * k + l] * r[l * n + j]), a[i * n + j]), "{a:?}, {q:?}, {r:?}");
        }
        for (i, j) in (0..k).flat_map(|i| (0..k).map(move |j| (i, j))) {
            let unit = f64::from(u8::from(i == j));
            assert!(near(sum(m, &|l| q[l * k + i] * q[l * k + j]), unit), "{a:?}, {q:?}");
            assert!(r[i * n + i] >= 0.0 && (j >= i || r[i * n + j] == 0.0), "{a:?}, {r:?}");
        }
    }
}

/// Whether the product of the factors of a decomposition is the matrix, and the rank that of the kernel.
fn is_decomposed<E: Real>(of: &Batch<E>, error: f64) {
    let ([m, n], k) = (of.sizes, of.sizes[0].min(of.sizes[1]));
    let [u, t, vt, ranks] = by_tree(Matrix::LstsqFactor, of).try_into().expect("three factors and a rank");
    assert_eq!(
        ranks,
        by_kernel(Matrix::LstsqFactor, of)[3],
        "{:?}",
        of.floats[0].iter().map(|x| x.as_f64()).collect::<Vec<_>>()
    );
    let [u, t, vt] = [u, t, vt].map(|x| x.to_vec::<E>().expect("floats"));
    for matrix in 0..of.count {
        let part =
            |x: &[E], size: usize| -> Vec<f64> { x[matrix * size..][..size].iter().map(|x| x.as_f64()).collect() };
        let (a, u, t, vt) = (part(&of.floats[0], m * n), part(&u, m * k), part(&t, k * k), part(&vt, k * n));
        if a.iter().any(|x| !x.is_finite()) {
            assert!(u.iter().chain(&t).chain(&vt).all(|x| x.is_nan()));
            continue;
        }
        for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
            let pairs = (0..k).flat_map(|p| (0..k).map(move |q| (p, q)));
            let product: f64 = pairs.map(|(p, q)| u[i * k + p] * t[p * k + q] * vt[q * n + j]).sum();
            let size = a.iter().fold(1.0f64, |most, x| most.max(x.abs()));
            assert!((product - a[i * n + j]).abs() <= 10.0 * error * size, "{a:?}: {u:?} {t:?} {vt:?}");
        }
    }
}

fn tall_and_wide<E: Real>(error: f64, scale: i32) {
    let mut rng = Rng::new(5);
    for [m, n] in [[1, 1], [2, 2], [5, 3], [3, 5], [8, 8], [13, 4], [4, 13], [0, 3], [3, 0]] {
        for (case, of) in [("regular", regular::<E>(&mut rng, [m, n], scale)), ("hostile", hostile(&mut rng, [m, n]))] {
            let of = Batch::of([m, n], of);
            // Of a matrix without full rank, columns of the factors are those of rounding errors.
            match case {
                "regular" => agree(Matrix::Qr, &of, error, case),
                _ => are_factors(&of, error),
            }
            agree(Matrix::LstsqFactor, &of.independent(), error, case);
            is_decomposed(&of, error);
            for (transposed, columns) in [(false, 1), (false, 2), (true, 2)] {
                let [rows, other] = if transposed { [n, m] } else { [m, n] };
                let mut b = random::<E>(&mut rng, of.count * rows * columns);
                b[..rows * columns].fill(E::ZERO);
                let with = of.clone().with(b, [rows, columns]);
                agree(Matrix::Product { transposed: !transposed }, &with, error, case);
                let decomposed = with.decomposed(Matrix::LstsqFactor);
                if case == "regular" {
                    agree(Matrix::Lstsq { transposed }, &decomposed, 1e2 * error, case);
                }
                let z = random::<E>(&mut rng, of.count * other * columns);
                let decomposed = of.clone().with(z, [other, columns]).decomposed(Matrix::LstsqFactor);
                agree(Matrix::NullProjection { transposed }, &decomposed, 1e2 * error, case);
            }
            agree(Matrix::PrefixProduct, &of, error, case);
            let b = random::<E>(&mut rng, of.count * m * n);
            for transposed in [false, true] {
                agree(Matrix::Recurrence { transposed }, &of.clone().with(b.clone(), [m, n]), error, case);
            }
        }
    }
}

#[test]
fn operations_on_any_matrix_are_those_of_the_kernels() {
    tall_and_wide::<f64>(1e-12, 120);
    tall_and_wide::<f32>(1e-3, 4);
}

/// Minors of integers are exact.
#[test]
fn minors_of_any_number_of_rows_are_those_of_the_kernel() {
    let mut rng = Rng::new(9);
    for n in 1..=6 {
        let integers = (0..3).map(|_| (0..n * n).map(|_| rng.below(7) as f64 - 3.0).collect::<Vec<f64>>());
        let integers = Batch::of([n, n], integers.collect());
        let any = Batch::of([n, n], regular::<f64>(&mut rng, [n, n], 120));
        for without in 1..=n.min(4) as u8 {
            agree(Matrix::Minors { without }, &integers, if without == 1 { 1e-12 } else { 0.0 }, "integers");
            agree(Matrix::Minors { without }, &any, 1e-13, "floats");
        }
    }
}

#[test]
fn partial_products_do_not_leave_the_range() {
    let diagonal = |x: &[f64]| {
        let n = x.len();
        (0..n * n).map(|k| if k / n == k % n { x[k / n] } else { 0.0 }).collect::<Vec<f64>>()
    };
    for x in [
        vec![1e300, 1e300, 1e-300, 1e-300, 2.0],
        vec![1e-320, 1e-300, 1e300, 1e300],
        vec![1e200, 1e-200],
        vec![1e300, 1e300, 1e300],
        vec![1e-200, 1e-200, 1e-200, 1e-5],
        vec![f64::MAX, 0.5, 5e-324],
    ] {
        let of = Batch::of([x.len(), x.len()], vec![diagonal(&x)]);
        for op in [Matrix::Det, Matrix::SlogDet, Matrix::Inverse, Matrix::Minors { without: 1 }, Matrix::Qr] {
            agree(op, &of, 1e-14, &format!("{x:?}"));
        }
    }
}

#[test]
fn singular_matrices_of_integers_have_the_determinant_zero() {
    let of = Batch::of([3, 3], vec![(1..=9).map(f64::from).collect::<Vec<f64>>()]);
    assert_eq!(by_tree(Matrix::Det, &of)[0].to_vec::<f64>().unwrap(), [0.0]);
    agree(Matrix::Minors { without: 1 }, &of, 0.0, "a singular matrix");
    assert!(by_tree(Matrix::Inverse, &of)[0].to_vec::<f64>().unwrap().iter().all(|x| x.is_nan()));
}

#[test]
fn large_matrices_are_those_of_the_kernels() {
    let mut rng = Rng::new(1);
    let n = MOST;
    let of = Batch::of([n, n], vec![random::<f64>(&mut rng, n * n)]);
    for op in [Matrix::Det, Matrix::Inverse, Matrix::LuFactor, Matrix::Minors { without: 1 }, Matrix::Qr] {
        agree(op, &of, 1e-10, "large");
    }
}

fn statements(body: &[Stmt]) -> usize {
    let inside = |stmt: &Stmt| match stmt {
        Stmt::For { body, .. } | Stmt::Loop(body) | Stmt::Renamed { body, .. } => statements(body),
        Stmt::If(_, then, otherwise) => statements(then) + statements(otherwise),
        Stmt::Comment(_) | Stmt::Let(..) | Stmt::Var(..) | Stmt::Set(..) | Stmt::Position(..) => 0,
        Stmt::SetPosition(..) | Stmt::Store(..) | Stmt::Break | Stmt::Swap(_) => 0,
    };
    body.iter().map(|stmt| 1 + inside(stmt)).sum()
}

/// The statements of an operation on square matrices.
fn length(op: Matrix, n: usize) -> usize {
    let mut w = Writer::new();
    let mut place =
        |dtype, len| ElementPlace::Elements(w.array(dtype, len, ArrayKind::Scratch), ElementIndex::default());
    let results = op.try_results(&[(&[n, n], DType::F64)]).expect("the operand fits");
    let operands = [place(DType::F64, n * n)];
    let out: Vec<ElementPlace> = results.iter().map(|(shape, dtype)| place(*dtype, shape.iter().product())).collect();
    let call = MatrixCall {
        op,
        sizes: [n, n],
        count: 1,
        work: 0,
        dtype: DType::F64,
        operands: SmallVec::from_iter([(StepOperand { buf: 0, at: 0, one: false }, n * n)]),
        out: results.iter().map(|(shape, dtype)| (0, shape.iter().product(), *dtype)).collect(),
        origin: crate::source::Place::UNKNOWN,
    };
    matrices(&mut w, &call, &operands, &out);
    statements(&w.finish().body)
}

#[test]
fn the_number_of_statements_does_not_depend_on_the_size() {
    for op in [Matrix::Cholesky, Matrix::Inverse, Matrix::Det, Matrix::Lu, Matrix::Qr, Matrix::Minors { without: 1 }] {
        assert_eq!(length(op, 6), length(op, 30), "{op:?}");
        assert!(length(op, 30) < 200, "{op:?} has {} statements", length(op, 30));
    }
}

#[test]
fn limits_are_stated() {
    assert!(supported(Matrix::Inverse, [33, 33]).unwrap_err().contains("32"));
    assert_eq!(supported(Matrix::Recurrence { transposed: false }, [1000, 1000]), Ok(()));
    assert!(supported(Matrix::Svd, [2, 33]).is_err() && supported(Matrix::Svd, [2, 32]).is_ok());
}

fn exponentials<E: Real>(error: f64) {
    let mut rng = Rng::new(17);
    for n in [0, 1, 2, 3, 6] {
        let plain = random::<E>(&mut rng, n * n);
        let times = |by: f64| plain.iter().map(|x| *x * E::of_f64(by)).collect::<Vec<E>>();
        let diagonal = |f: &dyn Fn(usize) -> f64| {
            (0..n * n).map(|k| E::of_f64(if k / n == k % n { f(k / n) } else { 0.0 })).collect::<Vec<E>>()
        };
        // The two parts of every second row are connected, and no others.
        let apart = |k: usize, x: &E| if (k / n + k % n).is_multiple_of(2) { *x } else { E::ZERO };
        let upper = |k: usize, x: &E| if k / n < k % n { *x * E::of_f64(30.0) } else { E::ZERO };
        let filtered = |keep: &dyn Fn(usize, &E) -> E| plain.iter().enumerate().map(|(k, x)| keep(k, x)).collect();
        let mut all = [0.0, 1e-20, 1e-3, 0.3, 1.0, 5.0, 20.0].map(times).to_vec();
        all.extend([filtered(&apart), filtered(&upper)]);
        all.extend([diagonal(&|i| i as f64 * 10.0 - 40.0), diagonal(&|i| if i == 0 { 1e4 } else { -1e4 })]);
        all.extend(hostile(&mut rng, [n, n]));
        let of = Batch::of([n, n], all);
        agree(Matrix::Expm, &of, error, "exponentials");
        let count = of.count;
        let mut e = random::<E>(&mut rng, count * n * n);
        e[n * n..2 * n * n].fill(E::ZERO);
        e[2 * n * n..3 * n * n].iter_mut().for_each(|x| *x *= E::of_f64(1e20));
        if let Some(x) = e.get_mut(3 * n * n) {
            *x = E::of_f64(f64::NAN);
        }
        let with = of.with(e, [n, n]);
        for transposed in [false, true] {
            agree(Matrix::ExpmTangent { transposed }, &with, 10.0 * error, "tangents");
        }
    }
}

#[test]
fn exponentials_are_those_of_the_kernels() {
    exponentials::<f64>(1e-11);
    exponentials::<f32>(1e-3);
}
