//! Derivatives of functions of complex numbers.
//!
//! Laws: the gradient of a real loss is what PyTorch gives, and the conjugate of what JAX gives; a holomorphic function
//! satisfies the equations of Cauchy and Riemann, on branch cuts and where the formulas change, too; pullback and
//! tangent are adjoint; derivatives of all orders agree with those that are known.

use approx::assert_relative_eq;
use polygrad::program::{Builder, Op, Program, Term, interpret};
use polygrad::{
    Array, BaseTensor, Complex, Concrete, DType, Function, GradientCheck, Jit, Tensor, Tree, assert_gradient, direct,
    grad, holomorphic_grad, jvp, tensor, value_and_grad, vjp, wirtinger,
};

type C<const D: usize> = Complex<Concrete, D>;
type Pairs = [(f64, f64); 3];

fn of<const N: usize>(z: [(f64, f64); N]) -> C<1> {
    Complex::new(tensor(z.map(|z| z.0).to_vec()), tensor(z.map(|z| z.1).to_vec()))
}

fn one(re: f64, im: f64) -> C<0> {
    Complex::scalar(re, im)
}

fn matrix<T: BaseTensor>() -> Complex<T, 2> {
    Complex::constant(
        [[1.0, 0.0, 0.2], [0.4, 2.0, 0.0], [-0.5, 0.1, 1.5]],
        [[0.5, -0.3, 0.0], [-0.1, 1.0, 0.6], [0.0, 0.3, -0.7]],
    )
}

const AT: Pairs = [(0.7, -1.3), (-0.4, 0.9), (1.1, 0.2)];

/// Value and gradient of a real function of three complex numbers, recorded, compiled and by finite differences.
macro_rules! fact {
    (|$z:ident| $f:expr, $value:expr, $gradient:expr) => {{
        let (y, slope) = value_and_grad(|$z: &Complex<_, 1>| $f, &of(AT));
        assert_relative_eq!(y.item(), $value, epsilon = 1e-14, max_relative = 1e-13);
        assert_relative_eq!(slope, of($gradient), epsilon = 1e-13, max_relative = 1e-12);
        let compiled = Function::grad(|$z: &Complex<_, 1>| $f, &of(AT)).run(&of(AT)).unwrap();
        assert_relative_eq!(compiled, slope, epsilon = 1e-14, max_relative = 1e-13);
        assert_gradient(|$z: &Complex<_, 1>| $f, &of(AT));
    }};
}

/// The numbers are those of PyTorch 2.15, and the conjugates of those of JAX 0.10, but for one: the derivative that JAX
/// gives for `acosh` has the wrong sign on the left half plane.
#[test]
#[rustfmt::skip]
fn gradients_are_those_of_other_libraries() {
    fact!(|z| z.abs().sum(), 3.5794020749528457, [(0.4740998230350174, -0.8804710999221753), (-0.40613846605344767, 0.9138115486202572), (0.9838699100999075, 0.17888543819998318)]);
    fact!(|z| z.abs2().sum(), 4.400000000000001, [(1.4, -2.6), (-0.8000000000000002, 1.8), (2.2, 0.4)]);
    fact!(|z| z.re().sum(), 1.4, [(1.0, 0.0), (1.0, 0.0), (1.0, 0.0)]);
    fact!(|z| z.im().sum(), -0.2, [(0.0, 1.0), (0.0, 1.0), (0.0, 1.0)]);
    fact!(|z| z.arg().sum(), 1.0920191982912886, [(0.5963302752293578, 0.3211009174311926), (-0.9278350515463919, -0.41237113402061865), (-0.15999999999999998, 0.8799999999999999)]);
    fact!(|z| z.square().re().sum(), -0.6799999999999999, [(1.4, 2.6), (-0.8, -1.8), (2.2, -0.4)]);
    fact!(|z| (z * z).im().sum(), -2.1, [(-2.6, 1.4), (1.8, -0.8), (0.4, 2.2)]);
    fact!(|z| (z * z.conj() * z).im().sum(), -1.7110000000000003, [(-1.8199999999999998, 5.5600000000000005), (-0.7200000000000001, 2.5900000000000003), (0.44000000000000006, 1.3300000000000003)]);
    fact!(|z| z.exp().abs().sum(), 5.688238777452549, [(2.0137527074704766, 0.0), (0.6703200460356394, 0.0), (3.004166023946433, 0.0)]);
    fact!(|z| z.exp().im().sum(), -0.8184525209920644, [(-1.940367904689212, 0.5386764903879439), (0.5250797301224498, 0.41667762254740404), (0.5968356535746978, 2.9442827143561106)]);
    fact!(|z| z.ln().re().sum(), 0.48600461031524955, [(0.3211009174311926, -0.5963302752293578), (-0.4123711340206186, 0.9278350515463918), (0.8799999999999999, 0.15999999999999998)]);
    fact!(|z| z.ln().im().square().sum(), 5.148167053171208, [(-1.2843224268237707, -0.6915582298281842), (-3.69096616646745, -1.6404294073188668), (-0.05755311993359304, 0.31654215963476173)]);
    fact!(|z| z.sqrt().re().sum(), 2.6370666246172316, [(0.35326802482495306, -0.21100490043106934), (0.2745393940568914, 0.4224507810316839), (0.4709600820398576, 0.04246644410578172)]);
    fact!(|z| z.sin().abs2().sum(), 5.339689309885838, [(0.9854497299884601, -6.694732228393679), (-0.7173560908995231, 2.9421742880956803), (0.8084964038195902, 0.4107523258028156)]);
    fact!(|z| z.cos().im().sum(), 1.3144403201651724, [(1.298994538184445, -1.2696978072048746), (-0.9454845157413589, 0.5580701246065576), (-0.09132522985597043, -0.90909100036171)]);
    fact!(|z| z.tan().re().sum(), 1.594825748434543, [(0.08932659626808992, 0.27403579365102326), (0.4374025039746898, 0.2916829823033293), (2.9987473754084073, -2.737473930048268)]);
    fact!(|z| z.sinh().im().sum(), -0.031111824834772372, [(-0.7309395352315577, 0.3357562387321653), (-0.3217533499934207, 0.6720053627567939), (0.26535218906768676, 1.6352592691091965)]);
    fact!(|z| z.cosh().re().sum(), 2.6430208705981557, [(0.2029202516557784, 1.209428369457654), (-0.25532774020938975, -0.8468330801158706), (1.309023445246914, -0.331483464507011)]);
    fact!(|z| z.tanh().abs2().sum(), 4.398076012695131, [(-3.8980290570905756, -2.6487114845641764), (0.6548004512385047, 4.226642566104673), (0.5450290576236549, 0.2361631688568533)]);
    fact!(|z| (1.0 / z).re().sum(), 0.788729783410574, [(0.25250399797996803, 0.38296439693628476), (0.6908279307046445, 0.7652247847805294), (-0.7487999999999998, -0.2815999999999999)]);
    fact!(|z| ((z + 1.0) / (z - num_complex::Complex64::new(0.0, 2.0))).im().sum(), 1.5308597790918959, [(0.12493783994983954, 0.1516550789007941), (1.5877244392349084, -0.37828333954925675), (0.005049867440979627, 0.5024618103774775)]);
    fact!(|z| z.powi(3).abs().sum(), 5.571613119842473, [(3.100612842649013, -5.758280993491026), (-1.1818629362155328, 2.6591916064849483), (3.689512162874654, 0.6708203932499374)]);
    fact!(|z| z.asin().re().sum(), 1.350508262090511, [(0.5568178967793627, 0.20046692395951402), (0.7295876399620558, 0.15225073644389692), (0.8233926208657978, -1.2008415182348053)]);
    fact!(|z| z.acosh().im().sum(), 1.0497932788519675, [(0.5568178967793628, 0.20046692395951402), (-0.7295876399620558, -0.1522507364438968), (-0.8233926208657976, 1.2008415182348053)]);
    fact!(|z| z.atanh().re().sum(), 1.1429696080411642, [(0.26985918257200336, 0.22324714194593004), (0.5091178376376932, 0.22216051096917527), (-0.7640449438202249, -1.9775280898876397)]);
    fact!(|z| z.vdot(&z.square()).re().clone(), 2.513, [(3.16, -1.8199999999999998), (1.29, -0.7200000000000001), (3.670000000000001, 0.44000000000000006)]);
    fact!(|z| z.dot(z).abs(), 2.207351353998724, [(2.0422666250361727, -2.1328729526775287), (-1.466010381237146, 1.3156038773524945), (-1.0582819068510425, -1.9697815629230877)]);
    fact!(|z| z.fft(0).at([1]).abs(), 1.103590257682053, [(0.8664608771171262, -0.49924497836775533), (-0.0008716045802744654, 0.9999996201526556), (-0.8655892725368517, -0.5007546417849004)]);
    fact!(|z| (z.ifft(0).im() * z.re()).sum(), 0.17118571950499564, [(-0.06666666666666665, 0.4666666666666666), (-1.482692070451105, 0.11666666666666664), (0.24935873711777196, 0.11666666666666664)]);
    fact!(|z| matrix().matvec(z).abs2().sum(), 10.258899999999999, [(0.13000000000000012, -2.728), (-2.950000000000002, 9.675999999999998), (5.679999999999998, 3.7199999999999998)]);
    fact!(|z| matrix().solve(z).im().sum(), -0.7538940001062243, [(-0.30802641440399403, 0.9053129776398177), (-0.16166724696523524, 0.4533115377125221), (0.06926404371713689, 0.4489681504605997)]);
    fact!(|z| z.norm(), 2.0976176963403033, [(0.33371190623595726, -0.619750683009635), (-0.19069251784911848, 0.4290581651605165), (0.5244044240850758, 0.09534625892455924)]);
}

/// `df/dz` and `d2f/dz2` at `0.7 - 1.3 i`, as JAX gives them for holomorphic functions.
#[test]
fn derivatives_of_holomorphic_functions_are_those_of_jax() {
    type Holomorphic = fn(&Complex<Term, 0>) -> Complex<Term, 0>;
    type Fact = (Holomorphic, (f64, f64), (f64, f64));
    let facts: [Fact; 8] = [
        (|z| z.exp(), (0.5386764903879439, -1.940367904689212), (0.5386764903879439, -1.940367904689212)),
        (|z| z.ln(), (0.3211009174311926, 0.5963302752293578), (0.25250399797996803, -0.3829643969362848)),
        (|z| z.sqrt(), (0.35326802482495306, 0.21100490043106931), (0.006196961739202534, -0.13920914279224486)),
        (|z| z.sin(), (1.5074383508731426, 1.0941280057977618), (-1.2696978072048746, 1.298994538184445)),
        (|z| z.tanh(), (-1.0069874864286965, 1.1725205392355773), (2.0296166615784084, -4.253346831076431)),
        (|z| z.recip(), (0.25250399797996803, -0.3829643969362848), (-0.6189050592689431, -0.055211118824366204)),
        (|z| z.asin(), (0.5568178967793626, -0.20046692395951402), (-0.15807146930822635, -0.262045472019936)),
        (|z| z.powi(3) - z * 2.0, (-5.6000000000000005, -5.459999999999999), (4.199999999999999, -7.800000000000001)),
    ];
    let z = one(0.7, -1.3);
    for (f, first, second) in facts {
        assert_relative_eq!(holomorphic_grad(f, &z), one(first.0, first.1), max_relative = 1e-13);
        let twice = holomorphic_grad(|z| holomorphic_grad(f, z), &z);
        assert_relative_eq!(twice, one(second.0, second.1), max_relative = 1e-12);
        let (by_z, by_conjugate) = wirtinger(f, &z);
        assert_relative_eq!(by_z, one(first.0, first.1), max_relative = 1e-13);
        assert_relative_eq!(by_conjugate, one(0.0, 0.0), epsilon = 1e-14);
    }
}

/// A holomorphic function of a tangent `i v` has the tangent `i f'(z) v`; so it has where a formula changes, and on both
/// sides of a cut.
#[test]
fn holomorphic_functions_satisfy_the_equations_of_cauchy_and_riemann() {
    type F = fn(&Complex<Term, 1>) -> Complex<Term, 1>;
    let functions: [(&str, F); 20] = [
        ("exp", |z| z.exp()),
        ("ln", |z| z.ln()),
        ("sqrt", |z| z.sqrt()),
        ("sinh", |z| z.sinh()),
        ("cosh", |z| z.cosh()),
        ("tanh", |z| z.tanh()),
        ("sin", |z| z.sin()),
        ("cos", |z| z.cos()),
        ("tan", |z| z.tan()),
        ("asinh", |z| z.asinh()),
        ("acosh", |z| z.acosh()),
        ("atanh", |z| z.atanh()),
        ("asin", |z| z.asin()),
        ("acos", |z| z.acos()),
        ("atan", |z| z.atan()),
        ("recip", |z| z.recip()),
        ("square", |z| z.square()),
        ("powi", |z| z.powi(-3)),
        ("powf", |z| z.powf(1.5)),
        ("quotient", |z| (z + 2.0) / (z * z - 0.125)),
    ];
    let half = 0.5f64.sqrt();
    let points = [
        (0.3, 0.4),
        (-0.7, 0.2),
        (1.5, -2.5),
        (half, half),
        (-half, half),
        (0.6, -0.8),
        (2.0, 2.0),
        (-0.25, -0.25),
        (2.5, 0.0),
        (2.5, -0.0),
        (-2.5, 0.0),
        (-2.5, -0.0),
        (0.5, 0.0),
        (-0.5, -0.0),
        (0.0, 2.5),
        (-0.0, 2.5),
        (0.0, -0.5),
        (-0.0, 0.5),
        (1e-3, 30.0),
        (20.0, 1e-3),
    ];
    let z = of(points);
    let n = points.len();
    let [along_x, along_y] = [(1.0, 0.0), (0.0, 1.0)].map(|v| of([v; 20]));
    // The value is reached on one side of a cut alone, from which finite differences go away.
    let h = 1e-6;
    let step = of(points.map(|(x, y): (f64, f64)| (h * 1f64.copysign(x), h * 1f64.copysign(y))));
    for (name, f) in functions {
        let (value, along) = jvp(f, &z, &along_x);
        let (_, across) = jvp(f, &z, &along_y);
        let there = jvp(f, &(&z + &step), &along_x).0;
        let error = (there - &value - &along * &step).abs().to_vec();
        let slope = |z: &Complex<_, 1>| holomorphic_grad(|z| f(z).sum(), z);
        let curved = holomorphic_grad(|z| slope(z).sum(), &z).abs().to_vec();
        let turned = (across - along.times_i()).abs().to_vec();
        let (sizes, values) = (along.abs().to_vec(), value.abs().to_vec());
        for k in 0..n {
            let at = points[k];
            assert!(sizes[k].is_finite(), "{name} at {at:?}: {}", sizes[k]);
            assert!(turned[k] <= 1e-11 * sizes[k].max(values[k] * 1e-2), "{name} at {at:?}: {:e}", turned[k]);
            let bound = 4.0 * h * h * curved[k] + 4e-15 * values[k].max(1.0);
            assert!(error[k] < bound, "{name} at {at:?}: {:e}", error[k]);
        }
    }
}

/// At the ends of the range functions have the parity and the limits that they have elsewhere.
#[test]
fn functions_at_the_ends_of_the_range_have_their_limits() {
    for x in [720.0, -720.0, 1e300, -1e300f64] {
        for y in [0.0, -0.0] {
            let signed = y * x.signum();
            assert_eq!(one(x, y).cosh(), one(f64::INFINITY, signed), "cosh at {x}, {y}");
            assert_eq!(one(-y, x).cos(), one(f64::INFINITY, signed), "cos at {y}, {x}");
            assert_eq!(one(x, y).sinh(), one(x.signum() * f64::INFINITY, y), "sinh at {x}, {y}");
        }
    }
    let quarter = std::f64::consts::FRAC_PI_2;
    for large in [4e307, 1e308, f64::MAX] {
        for (x, y) in [(large, 0.0), (0.0, large), (large, 1.0), (1.0, large), (large, large)] {
            for (u, v) in [(1.0, 1.0), (-1.0, 1.0), (1.0, -1.0), (-1.0, -1.0)] {
                let (x, y) = (u * x, v * y);
                // `atanh z` is about `1 / z`, and half a turn of a right angle.
                let (found, turned) = (one(x, y).atanh(), one(x, y).atan());
                assert!((found.im().item() - quarter * v).abs() < 1e-15, "atanh at {x:e}, {y:e}: {found:?}");
                assert!((turned.re().item() - quarter * u).abs() < 1e-15, "atan at {x:e}, {y:e}: {turned:?}");
                assert!(found.re().item().abs() < 1e-300 && turned.im().item().abs() < 1e-300);
                if y.abs() <= 1.0 {
                    assert_relative_eq!(found.re().item(), 1.0 / x, max_relative = 1e-15);
                }
            }
        }
    }
    let narrow = Complex::<Concrete, 0, f32>::scalar(2e38, 0.0);
    assert_eq!(narrow.atan().re().item(), std::f32::consts::FRAC_PI_2);
    assert_relative_eq!(narrow.atanh().re().item(), 5e-39, max_relative = 1e-5);
}

#[test]
fn pullbacks_are_adjoint_to_tangents() {
    fn f<T: BaseTensor>(z: &Complex<T, 1>) -> Complex<T, 1> {
        (z.sqrt() * z.fft(0) + z.conj().exp() / (z + 3.0)).ifft(0) * z.abs()
    }
    let (z, dz, bar) = (of(AT), of([(0.3, 0.1), (-0.2, 0.5), (1.0, -0.4)]), of([(1.0, 0.5), (0.2, -0.7), (-0.3, 0.9)]));
    let (_, dy) = jvp(|z: &Complex<Term, 1>| f(z), &z, &dz);
    let (_, pullback) = vjp(|z: &Complex<Term, 1>| f(z), &z);
    // The inner product of pairs of real numbers is the real part of that of complex numbers.
    let (a, b) = (bar.vdot(&dy).into_parts().0, pullback(&bar).vdot(&dz).into_parts().0);
    assert_relative_eq!(a.item(), b.item(), max_relative = 1e-13);
    let (_, forward) = direct::jvp(|z: &Complex<_, 1>| f(z), &z, &dz);
    assert_relative_eq!(forward, dy, max_relative = 1e-13);
}

/// Conventions at kinks: no NaN, and derivative 0, where there is none.
#[test]
fn kinks_have_the_derivatives_that_are_said() {
    let zero = C::<0>::zeros([]);
    assert_eq!(grad(|z: &Complex<Term, 0>| z.abs(), &zero), zero);
    assert_eq!(grad(|z: &Complex<Term, 0>| z.arg(), &zero), zero);
    assert_eq!(grad(|z: &Complex<Term, 0>| z.abs2(), &zero), zero);
    assert_eq!(grad(|z: &Complex<Term, 1>| z.norm(), &of([(0.0, 0.0); 3])), of([(0.0, 0.0); 3]));
    assert_eq!(holomorphic_grad(|z| z.powi(1), &zero), one(1.0, 0.0));
    assert_eq!(holomorphic_grad(|z| z.powf(1.5), &zero), zero);
    let root = grad(|z: &Complex<Term, 0>| z.sqrt().into_parts().0, &zero);
    assert_eq!(root, one(f64::INFINITY, 0.0));
    assert_eq!(wirtinger(|z| z.abs2().to_complex(), &one(1.0, 2.0)), (one(1.0, -2.0), one(1.0, 2.0)));
}

/// Complex parameters of a model are fitted by a recorded step.
#[test]
fn complex_parameters_are_fitted() {
    let target = of([(0.5, 1.0), (-1.0, 0.25), (0.0, -0.75)]);
    let step = Jit::grad(|z: &Complex<Term, 1>| {
        let target = Complex::constant([0.5, -1.0, 0.0], [1.0, 0.25, -0.75]);
        (z.fft(0) - target.fft(0)).abs2().sum()
    });
    let mut z = C::<1>::zeros([3]);
    for _ in 0..60 {
        z -= step.call(&z) * 0.1;
    }
    assert_relative_eq!(z, target, epsilon = 1e-12);
}

fn hermitian(seed: u64, n: usize) -> C<2> {
    let mut rng = polygrad::array::Rng::new(seed);
    let a = Complex::constant(rng.uniform(&[n, n], -1.0, 1.0), rng.uniform(&[n, n], -1.0, 1.0));
    (&a + a.adjoint()).scale(0.5)
}

#[test]
fn hermitian_matrices_are_decomposed() {
    let twice = Complex::constant([[2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 2.0]], [[0.0; 3]; 3]);
    let turn = hermitian(5, 4).eigh().1;
    let pairs: Tensor<Concrete, 2> = tensor([[1.0], [1.0], [-3.0], [-3.0]]).broadcast_to([4, 4]);
    let pairwise = turn.matmul(&(turn.adjoint() * pairs));
    for a in [hermitian(1, 1), hermitian(2, 2), hermitian(3, 5), hermitian(4, 8), twice, pairwise] {
        let n = a.len();
        let (w, v) = a.eigh();
        assert_relative_eq!(a.matmul(&v), &v * w.insert_axis::<2>(0), epsilon = 1e-13);
        let identity = Tensor::<Concrete, 2>::eye(n).to_complex();
        assert_relative_eq!(v.adjoint().matmul(&v), identity, epsilon = 1e-13);
        assert!(w.to_vec().is_sorted(), "{w}");
    }
    assert_eq!(C::<2>::zeros([0, 0]).eigh().0.shape(), [0]);
}

/// Derivatives of eigenvalues and vectors, and second ones, against finite differences; functions of projections do not
/// depend on phases.
#[test]
fn eigenvalues_and_vectors_are_differentiated() {
    fn loss<T: BaseTensor>(a: &Complex<T, 2>) -> Tensor<T, 0> {
        let (w, v) = a.eigh();
        (w.sin() * Tensor::constant([1.0, -0.5, 2.0])).sum() + (v.re() * v.im()).sum() + v.abs2().row(0).square().sum()
    }
    let a = hermitian(7, 3);
    assert_gradient(|a: &Complex<_, 2>| loss(a), &a);
    fn slope<T: BaseTensor>(g: &Complex<T, 2>) -> Tensor<T, 0> {
        let weights = Tensor::constant([[1.0, 0.3, -0.2], [0.5, -1.0, 0.1], [0.0, 0.7, 0.4]]);
        (g.re() * weights).sum() + g.im().square().sum()
    }
    // Random directions see all entries; finite differences of each would record the gradient hundreds of times.
    let few = GradientCheck { entries: 3, ..GradientCheck::default() };
    few.run(|a: &Complex<_, 2>, _: &()| slope(&grad(|a: &Complex<Term, 2>| loss(a), a)), &a, &()).expect("the slope");
    // The sum of the eigenvalues is the trace, and that of their squares the square of the norm, of equal ones, too.
    let equal = Complex::constant([[2.0, 0.0], [0.0, 2.0]], [[0.0; 2]; 2]);
    let trace = grad(|a: &Complex<Term, 2>| a.eigh().0.sum(), &equal);
    assert_relative_eq!(trace, Tensor::<Concrete, 2>::eye(2).to_complex(), epsilon = 1e-14);
    let squares = grad(|a: &Complex<Term, 2>| a.eigh().0.square().sum(), &equal);
    assert_relative_eq!(squares, &equal * 2.0, epsilon = 1e-13);
}

#[test]
fn equations_are_solved() {
    let (a, b) = (matrix::<Concrete>(), of(AT));
    assert_relative_eq!(a.matvec(&a.solve(&b)), b, max_relative = 1e-14);
    assert_relative_eq!(a.matmul(&a.inverse()), Tensor::<Concrete, 2>::eye(3).to_complex(), epsilon = 1e-14);
    assert_relative_eq!(a.solve(&a.t()), a.inverse().matmul(&a.t()), epsilon = 1e-14);
    let stack = Complex::stack::<3>(&[&a, &a.conj()]);
    assert_relative_eq!(stack.inverse().row(1), a.conj().inverse(), epsilon = 1e-15);
    let sides = Complex::stack::<2>(&[&b, &b]);
    assert_relative_eq!(stack.solve(&sides).row(1), a.conj().solve(&b), epsilon = 1e-15);
}

#[test]
fn exponentials_are_those_of_eigenvalues() {
    let a = matrix::<Concrete>();
    let h = &a + a.adjoint();
    let (w, v) = h.eigh();
    let turned = (&v * Complex::from_polar(&Tensor::ones([3]), &-w).insert_axis::<2>(0)).matmul(&v.adjoint());
    assert_relative_eq!((h.times_i() * -1.0).expm(), turned, epsilon = 1e-13);
    let stack = Complex::stack::<3>(&[&a, &h]);
    assert_relative_eq!(stack.expm().row(1), h.expm(), max_relative = 1e-13);
    // A batch, its derivative, and the derivative of that.
    fn loss<T: BaseTensor>(a: &Complex<T, 2>) -> Tensor<T, 0> {
        let both = Complex::stack::<3>(&[a, &a.adjoint()]).expm();
        both.abs2().sum().ln() + both.row(0).matmul(&both.row(1)).im().sin().sum()
    }
    let a = a * 0.3;
    assert_gradient(|a: &Complex<_, 2>| loss(a), &a);
    assert_gradient(|a: &Complex<_, 2>| grad(|a: &Complex<Term, 2>| loss(a), a).abs2().sum(), &a);
}

/// All float values that a program computes.
fn values(program: &Program, inputs: &[Array]) -> Vec<f64> {
    let mut all = Builder::literal();
    let mut ids = Vec::new();
    for node in program.nodes() {
        ids.push(if let Op::Input(k) = &node.op {
            all.input(program.inputs()[*k as usize].clone())
        } else {
            all.add(node.op.map(&mut |id| ids[*id as usize]), node.shape.clone(), node.dtype)
        });
    }
    let results = interpret(&all.finish(&ids, &[]), inputs.to_vec());
    let floats = |a: Array| (a.dtype() == DType::F32).then(|| a.to_vec::<f32>().expect("floats"));
    results.into_iter().filter_map(floats).flatten().map(f64::from).collect()
}

/// Of numbers of usual size no value in the first two derivatives is subnormal: where subnormal numbers are flushed to zero,
/// as in XLA, a part of the result would be lost.
#[test]
fn roots_in_f32_have_no_subnormal_partials() {
    let (x, y) = (tensor([0.5f32, -0.25, 1e-3, 40.0]), tensor([0.75f32, 0.5, -2e-3, -3.0]));
    let sum = |(x, y): &(Tensor<_, 1, f32>, Tensor<_, 1, f32>)| {
        let root = Complex::new(x.clone(), y.clone()).sqrt();
        (root.re().square() * root.im()).sum()
    };
    let z = (x, y);
    let product = Function::hvp(sum, &z);
    let inputs = [z.leaves(), z.leaves()].concat();
    let found = values(product.program(), &inputs);
    assert!(found.len() > 100);
    let subnormal = |x: &&f64| **x != 0.0 && x.abs() < f64::from(f32::MIN_POSITIVE);
    assert_eq!(found.iter().find(subnormal), None);
}
