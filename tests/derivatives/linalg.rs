//! The rules of linear algebra against figures of JAX 0.10.2 in f64, and at sizes 0 and 1, in stacks and where the
//! matrix is nearly singular. Finite differences at three orders, and all interpreters: the gallery.

use polygrad::linalg::Triangle;
use polygrad::ops::{Call, Linear, Matrix as Row};
use polygrad::{BaseTensor, Concrete, Tensor, assert_gradient, direct, grad, hvp, tensor};

type Number<T> = Tensor<T, 0>;
type Matrix<T> = Tensor<T, 2>;

/// A function, its value, its gradient, and the gradient of that along ones.
type Figure = (&'static str, f64, &'static [f64], &'static [f64]);

#[rustfmt::skip]
#[allow(clippy::excessive_precision)]
const FIGURES: &[Figure] = &[
    ("cholesky", 3.3659437122935634, &[-0.12709130724450002, 0.21861442049834276, 0.2498967661080149, 0.21861442049834276, -0.010005648392469965, 0.3513416266310702, 0.2498967661080149, 0.3513416266310702, -0.06770646205828434], &[-0.1465692330643713, -0.10279824326830929, -0.1259047549606593, -0.10279824326830929, -0.23482247442497015, -0.09759591202945755, -0.1259047549606593, -0.09759591202945755, -0.033480632776989136]),
    ("solve", 0.46024897582344915, &[-0.04810360291197644, 0.08644443365917887, -0.16809039272278964, -0.04259299440135839, 0.07654161135521319, -0.1488344473752798, -0.04479471923115381, 0.0804982142802226, -0.1565280247562723], &[0.0520099415670724, 0.007417313556956084, 0.13885189710173146, 0.05385762383342216, -0.007459762677800946, 0.1502215191493133, 0.05487685489786671, -0.004673968888632187, 0.15182002954622403]),
    ("triangular", -0.2681633782720878, &[0.03167092724244255, 0.0, 0.0, 0.1999880668877642, 0.3453397266997477, 0.0, -0.1514387994848651, -0.2615047709581163, -0.03812606589831816], &[-0.045077271327450784, 0.0, 0.0, -0.09379333483696989, -0.316899347432873, 0.0, 0.08110410804485747, 0.25737496989836056, 0.06757129102411245]),
    ("inverse", 0.7663257519357258, &[-0.03098167724430223, -0.13598858768324593, -0.029920008362862842, -0.03337827521687842, -0.10979521578342093, -0.030545520644262372, -0.03852515550815909, -0.16379785162960847, -0.02998289893175198], &[0.05057772994412753, 0.21078547045989432, 0.04517380368236334, 0.04694367990217056, 0.17923009613827312, 0.042291356907655814, 0.060468094288121436, 0.2510606014794363, 0.05184141822334017]),
    ("det", 29.70171178611172, &[7.2408342395776195, 2.3987275461262416, -2.089708188314602, -2.963012314917084, 13.014840203676458, -3.2031947743101847, -0.5421084163378365, 0.9665665547992344, 8.52889173827604], &[4.743251462154162, -2.277744889413965, -2.465506572740197, -3.1909376573841897, 6.455482863270997, -3.264545205886807, -1.552313804769973, -4.177737973857032, 5.730051778627005]),
    ("logdet", 11.500269181950882, &[1.6534502211524862, 0.5477513309099523, -0.4771865163308164, -0.67660620382645, 2.9719490463419866, -0.7314520582488317, -0.1237908853075342, 0.22071623668112267, 1.9475791689523265], &[0.1664965496732946, -0.8237835634637628, -0.2984609063427846, -0.3535607158030746, -0.17345461331809675, -0.3399639798754952, -0.28584572142456455, -1.0763489585422275, 0.2287759437576308]),
    ("lu", 3.364414065591392, &[-0.7276844950953051, 0.41866947663265025, 1.411780657659664, 0.37759564063936296, -0.7219785739842518, 1.3224706583337742, 0.21724042718441283, 0.3122055716975023, -0.9424577139467111], &[0.47042481293742733, -0.869718359062798, -0.3012096657485319, -0.038558945930384385, -0.9015474276261956, 0.35999104298107554, 0.009146527932797055, 0.35451224409096704, 0.13316089382782403]),
    ("qr", 5.170357804298769, &[2.5017750944720443, 5.149697444059237, -0.7167047876597066, 3.0156670988684025, 1.0032330134636207, 1.536293216790264, 2.9760144967414144, 3.8564720500821563, -1.643625433262882, -1.8229033356174542, -0.057369611202032315, -0.685691183615105], &[0.17018562502951085, 8.039622749343799, -18.749654232915855, 33.761067967433576, 67.27044880271582, -36.38253324435826, 0.44851670262355725, 7.27642124729185, 8.399251183657908, 29.167938169743508, 60.93447424196215, -19.477455519019497]),
    ("eigh", 2.7729236660101484, &[-0.8617585160988038, 0.038015276807668474, 0.2669981694897567, 0.038015276807668474, -0.3505095847720634, 0.003485132664187724, 0.2669981694897567, 0.003485132664187724, -0.7241904333523421], &[1.7886618714342601, 0.08653046989777813, 0.31190026964544754, 0.08653046989777813, -0.43014600081577553, 0.06409987581865229, 0.31190026964544754, 0.06409987581865229, -0.00828495907693469]),
    ("svd", 13.070469527293769, &[0.007256622245793935, 0.5905572859788555, -0.3212091956735287, 0.2662108830786878, -0.24501989336920563, -0.0190743037864665, 0.8356819692345451, 0.5186654891164645, -0.11158184409551404, -0.23581746200133702, 0.2603121364586478, 0.051416181451005585], &[-2.5091621086439484, -3.676085701782224, 2.5533233672830344, 5.152548012849728, 10.240851283677507, -3.4871780281556743, 1.9659417534995816, 4.2583560802380305, 0.5556527841477081, 8.405178127195946, 15.505081618706203, -3.8966170611441724]),
    ("lstsq", 0.2511067318971966, &[-1.400369483461113, -2.902885857991961, 0.2658956832766713, 0.14916757172532996, 0.42865371518772105, 0.017298148692738546, 1.4019460485322721, 2.9325682309792556, -0.256105648583826, -1.1145654253426278, -2.0587075059635005, 0.30777851847303983], &[919.5714816074833, 1887.6732821753571, -169.57703851583105, 71.36000944443936, 101.33246806117108, -81.35239889539957, 1019.5449872683644, 2055.448085359023, -238.64280201443603, 498.42872714586315, 935.7238923220207, -224.91027277220877]),
    ("expm", 2.5296574992317984, &[-0.8350204787869697, 0.68611286480796, 0.7400022215107956, 0.6110625359269144, -0.03990373387190659, 0.711211904390326, 0.7977393563659979, 0.4685289488416739, -0.6358714129201553], &[0.0019371006635476556, -0.22619943028032724, 0.025285766124242583, 0.408220289976563, -0.14314580148789782, 0.3217789217696161, -0.3481823080419874, -0.1917477714775473, -0.20714072806469738]),
];

/// The functions, at `sin(1 + 3 i + j)` with 3 added on the diagonal, or at the 4 x 3 matrix `cos(1 + 2 i^2 + i j^2 +
/// j)`.
fn function<T: BaseTensor>(name: &str, a: &Matrix<T>) -> Number<T> {
    let b = || Tensor::<T, 1>::constant([0.5, -1.0, 2.0]);
    match name {
        "cholesky" => a.cholesky().sin().sum(),
        "solve" => a.solve(&b()).sin().sum(),
        "triangular" => a.solve_triangular(&b(), Triangle::LOWER.transposed()).sin().sum(),
        "inverse" => a.inverse().sin().sum(),
        "det" => a.det(),
        "logdet" => a.logdet().square(),
        "lu" => {
            let (l, u, _) = a.lu();
            l.sin().sum() + u.sin().sum()
        }
        "qr" => {
            let (q, r) = a.qr();
            q.square().sin().sum() + r.square().sin().sum()
        }
        "eigh" => {
            let (w, v) = a.eigh();
            w.sin().sum() + v.square().sin().sum()
        }
        "svd" => {
            let (u, s, vt) = a.svd();
            s.sin().sum() + u.square().sin().sum() + vt.square().cos().sum()
        }
        "lstsq" => a.lstsq(&Tensor::<T, 1>::constant([0.3, 1.0, -2.0, 0.7])).sin().sum(),
        "expm" => (a * 0.3).expm().sin().sum(),
        _ => unreachable!("no function {name}"),
    }
}

fn point(name: &str) -> Matrix<Concrete> {
    let of = |i: usize, j: usize| (i as f64, j as f64);
    if ["qr", "svd", "lstsq"].contains(&name) {
        return Tensor::from_fn([4, 3], |[i, j]| {
            let (i, j) = of(i, j);
            (1.0 + 2.0 * i * i + i * j * j + j).cos()
        });
    }
    Tensor::from_fn([3, 3], |[i, j]| {
        let (x, y) = of(i, j);
        (1.0 + 3.0 * x + y).sin() + if i == j { 3.0 } else { 0.0 }
    })
}

fn near(what: &str, found: &[f64], known: &[f64], tolerance: f64) {
    let scale = known.iter().fold(1.0f64, |most, x| most.max(x.abs()));
    assert_eq!(found.len(), known.len());
    for (x, y) in found.iter().zip(known) {
        assert!((x - y).abs() <= tolerance * scale, "{what}: {found:?} is not {known:?}");
    }
}

#[test]
fn derivatives_are_those_of_another_library() {
    for (name, value, gradient, curved) in FIGURES {
        let a = point(name);
        near(name, &[function(name, &a).item()], &[*value], 1e-12);
        near(name, &grad(|a: &Matrix<_>| function(name, a), &a).to_vec(), gradient, 1e-11);
        near(name, &direct::grad(|a: &Matrix<_>| function(name, a), &a).to_vec(), gradient, 1e-11);
        let ones = Tensor::ones(a.shape());
        near(name, &hvp(|a: &Matrix<_>| function(name, a), &a, &ones).to_vec(), curved, 1e-10);
    }
}

#[test]
fn sizes_without_and_with_one_element() {
    for (name, ..) in FIGURES.iter().filter(|(name, ..)| !["solve", "triangular", "lstsq"].contains(name)) {
        let none = Tensor::<Concrete, 2>::zeros([0, 0]);
        assert_eq!(grad(|a: &Matrix<_>| function(name, a), &none).shape(), [0, 0], "{name}");
        assert_gradient(|a: &Matrix<_>| function(name, a), &tensor([[1.7]]));
    }
    let number = |a: &Matrix<_>| (a.solve(&Tensor::constant([2.0])) + a.lstsq(&Tensor::constant([3.0]))).sum();
    assert_gradient(number, &tensor([[1.7]]));
}

#[test]
fn nearly_singular_matrices_have_derivatives() {
    // The condition is about 1e8; the derivative of the solution is as large as its square.
    let a = tensor([[1.0, 1.0], [1.0, 1.0 + 1e-8]]);
    let f = |a: &Matrix<_>| a.solve(&Tensor::constant([1.0, 1.0])).sum();
    // `x = (1, 0)`, `a^-T 1 = (1, 0)`: the gradient is `-(1, 0)^T (1, 0)`.
    near("solve", &grad(f, &a).to_vec(), &[-1.0, 0.0, 0.0, 0.0], 1e-6);
    let found = grad(|a: &Matrix<_>| a.logdet(), &a).to_vec();
    near("logdet", &found, &[1e8 + 1.0, -1e8, -1e8, 1e8], 1e-6);
}

/// At equal eigenvalues their sum has a derivative, their eigenvectors have none.
#[test]
fn equal_eigenvalues() {
    let one = Matrix::<Concrete>::eye(3);
    assert_eq!(grad(|a: &Matrix<_>| a.eigh().0.sum(), &one), one);
    let vectors = grad(
        |a: &Matrix<_>| (a.eigh().1 * Tensor::constant([[1.0, 2.0, 3.0], [0.5, 1.0, -1.0], [2.0, 0.0, 1.0]])).sum(),
        &one,
    );
    assert!(vectors.to_vec().iter().any(|x| !x.is_finite()));
}

#[test]
fn matrices_without_a_result_have_no_derivative() {
    let singular = tensor([[1.0, 2.0], [2.0, 4.0]]);
    let nan = |x: Vec<f64>| x.iter().all(|x| x.is_nan());
    assert!(nan(grad(|a: &Matrix<_>| a.solve(&Tensor::constant([1.0, 1.0])).sum(), &singular).to_vec()));
    assert!(nan(grad(|a: &Matrix<_>| a.inverse().sum(), &singular).to_vec()));
    assert!(nan(grad(|a: &Matrix<_>| a.logdet(), &singular).to_vec()));
    assert!(nan(grad(|a: &Matrix<_>| a.cholesky().sum(), &-singular).to_vec()));
    // An element of a factor is beyond the range.
    let large = tensor([[1.0, 1.5e308], [-1.0, 1.5e308]]);
    assert!(nan(large.solve(&tensor([1.0, 1.0])).to_vec()));
}

/// The adjoint of a solution is the solution with the transposed matrix, also where elimination exchanges rows.
#[test]
fn adjoints_of_solutions_exchange_rows_back() {
    let a = tensor([[0.0, 2.0, 0.5], [0.25, 0.5, 3.0], [4.0, 1.0, 0.0]]);
    let (b, w) = (tensor([1.0, -2.0, 0.5]), tensor([0.5, 1.0, -3.0]));
    let gradient = grad(
        |b: &Tensor<_, 1>| {
            let a = Tensor::constant([[0.0, 2.0, 0.5], [0.25, 0.5, 3.0], [4.0, 1.0, 0.0]]);
            (a.solve(b) * Tensor::constant([0.5, 1.0, -3.0])).sum()
        },
        &b,
    );
    near("adjoint", &gradient.to_vec(), &a.t().solve(&w).to_vec(), 1e-14);
}

/// The largest element of each vector is positive, whatever sign an algorithm gives.
#[test]
fn signs_of_vectors_are_fixed() {
    for seed in 0..8 {
        let a = Matrix::<Concrete>::from_raw(polygrad::Array::normal(&[5, 5], 0.0, 1.0, seed));
        for v in [a.eigh::<1>().1, a.svd::<1>().0] {
            for column in v.t().to_vec().chunks(5) {
                let largest = column.iter().fold(0.0f64, |most, x| if x.abs() > most.abs() { *x } else { most });
                assert!(largest > 0.0, "{column:?}");
            }
        }
    }
}

/// The results of a row that are floats, as vectors, of a matrix and of a second operand where it has one.
fn results<T: BaseTensor>(row: Row, (a, b): &(Matrix<T>, Matrix<T>)) -> Vec<Tensor<T, 1>> {
    let args = operands(row, a.raw(), b.raw());
    let floats = T::call(&Call::Matrix(row), &args).into_iter().filter(|y| y.dtype().is_float());
    floats.map(|y| Tensor::from_raw(y.linear(&Linear::reshape(y.shape(), &[y.shape().iter().product()])))).collect()
}

/// The operands of a row: with factors where it takes them, and a right-hand side with as many rows as it needs.
#[allow(clippy::wildcard_enum_match_arm, reason = "the operands of all other rows are matrices alone")]
fn operands<T: BaseTensor>(row: Row, a: &T, b: &T) -> Vec<T> {
    let factors = match row {
        Row::Solve { .. } => Row::LuFactor,
        Row::Lstsq { .. } | Row::NullProjection { .. } => Row::LstsqFactor,
        Row::EighSolve => Row::Eigh,
        Row::SvdSolve => Row::Svd,
        _ => return [a, b].into_iter().take(row.arity()).cloned().collect(),
    };
    let (rank, n) = (b.shape().len(), b.shape()[b.shape().len() - 1]);
    let more = match row {
        Row::EighSolve => 1,
        Row::SvdSolve => n + 2,
        _ => 0,
    };
    let rest = b.linear(&Linear::slice(b.shape(), rank - 2, 0, more.min(n), 1));
    let last = rest.linear(&Linear::slice(rest.shape(), rank - 2, 0, more - more.min(n), 1));
    let b = T::concat(rank - 2, &[b.clone(), rest, last]);
    let mut args = vec![a.clone(), b];
    args.extend(T::call(&Call::Matrix(factors), std::slice::from_ref(a)));
    args.truncate(row.arity());
    args
}

/// Rows without a derivative, and why.
const WITHOUT: [(Row, &str); 3] = [
    (Row::LuFactor, "rules solve with the factors, and derive the solution"),
    (Row::LstsqFactor, "the same"),
    (Row::Pivots, "positions, and a sign"),
];

/// Every row of the table, also one that no list of these tests names: the tangents are the slopes of the values.
#[test]
fn tangents_of_every_row_are_slopes() {
    let number = |k: usize| ((37 * k + 11) % 29) as f64 / 29.0 - 0.5;
    for row in Row::ALL {
        // Rows that take other matrices have as many rows as columns here, too; minors of 9 of 8 rows are numbers.
        let n = if let Row::Minors { without } = row { usize::from(*without).max(3) } else { 3 };
        let matrix = |from: usize, diagonal: f64| -> Matrix<Concrete> {
            Tensor::from_fn([n, n], |[i, j]| number(from + n * i + j) + if i == j { diagonal + i as f64 } else { 0.0 })
        };
        let (x, v) = ((matrix(0, 2.0), matrix(40, 0.0)), (matrix(80, 0.0), matrix(120, 0.0)));
        let (_, dots) = direct::jvp(|x: &(Matrix<_>, Matrix<_>)| results(*row, x), &x, &v);
        if WITHOUT.iter().any(|(without, _)| without == row) {
            assert!(dots.iter().all(|dot| dot.to_vec().iter().all(|dot| *dot == 0.0)), "{}: has a tangent", row.name());
            continue;
        }
        let at = |h: f64| {
            let moved = (&x.0 + &(&v.0 * h), &x.1 + &(&v.1 * h));
            results(*row, &moved).iter().flat_map(Tensor::to_vec).collect::<Vec<f64>>()
        };
        let (before, after, h) = (at(-1e-5), at(1e-5), 2e-5);
        let dots: Vec<f64> = dots.iter().flat_map(Tensor::to_vec).collect();
        assert_eq!(dots.len(), before.len());
        for (dot, (before, after)) in dots.iter().zip(before.iter().zip(&after)) {
            let slope = (after - before) / h;
            assert!((dot - slope).abs() < 1e-6 * (1.0 + slope.abs()), "{}: {dot} and {slope}", row.name());
        }
        let moves = dots.iter().any(|dot| dot.abs() > 1e-3);
        assert!(
            moves
                || matches!(row, Row::Minors { without } if usize::from(*without) == n)
                || matches!(row, Row::NullProjection { .. }),
            "{}: nothing moves",
            row.name()
        );
    }
}
