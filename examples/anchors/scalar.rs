//! Programs of scalars.

use polygrad::{BaseTensor, Tensor, fold, iterate, tensor};

use super::measure::{Case, Workload};

type Number<T> = Tensor<T, 0>;

/// The three coordinates of a point.
type Point<T> = (Number<T>, Number<T>, Number<T>);

/// The velocity in Lorenz' system with these parameters.
fn velocity<T: BaseTensor>((s, r, b): &Point<T>, (x, y, z): &Point<T>) -> Point<T> {
    (s * (y - x), x * (r - z) - y, x * y - b * z)
}

/// `a + c b`.
fn moved<T: BaseTensor>(a: &Point<T>, c: f64, b: &Point<T>) -> Point<T> {
    (&a.0 + c * &b.0, &a.1 + c * &b.1, &a.2 + c * &b.2)
}

const STEP: f64 = 0.005;

/// One step of the classical method of Runge and Kutta.
fn step<T: BaseTensor>(p: &Point<T>, at: &Point<T>) -> Point<T> {
    let k1 = velocity(p, at);
    let k2 = velocity(p, &moved(at, 0.5 * STEP, &k1));
    let k3 = velocity(p, &moved(at, 0.5 * STEP, &k2));
    let k4 = velocity(p, &moved(at, STEP, &k3));
    let sum = moved(&moved(&moved(&k1, 2.0, &k2), 2.0, &k3), 1.0, &k4);
    moved(at, STEP / 6.0, &sum)
}

/// The square of the distance from the origin after 1000 steps.
fn lorenz<T: BaseTensor>((p, start): &(Point<T>, Point<T>), _: &()) -> Number<T> {
    let (x, y, z) = iterate(1000, start.clone(), |_, at: Point<T>| step(p, &at));
    x.square() + y.square() + z.square()
}

fn product<T: BaseTensor>(x: &Tensor<T, 1>, _: &()) -> Number<T> {
    x.prod()
}

/// The polynomial with coefficients `c`, that of the lowest power first, by Horner's rule.
fn polynomial<T: BaseTensor>((x, c): &(Number<T>, Tensor<T, 1>), _: &()) -> Number<T> {
    let n = c.len() - 1;
    fold(c.row(n), c.slice(0, ..n).reverse(0), |sum: Number<T>, c: &Number<T>| sum * x + c)
}

/// The workloads of this family.
pub(crate) fn workloads() -> Vec<Workload> {
    vec![
        Workload {
            name: "E1.lorenz.1000",
            cases: |_| {
                let numbers = |x, y, z| (tensor(x), tensor(y), tensor(z));
                Case::gradient(lorenz, (numbers(10.0, 28.0, 8.0 / 3.0), numbers(1.0, 1.0, 1.0)), ())
            },
        },
        Workload {
            name: "E2.prod.1e5",
            cases: |inputs| Case::gradient(product, inputs.uniform(8001, [100_000], 0.99, 1.01), ()),
        },
        Workload {
            name: "E3.horner.1000",
            cases: |inputs| Case::gradient(polynomial, (tensor(0.99), inputs.uniform(8002, [1001], -1.0, 1.0)), ()),
        },
    ]
}
