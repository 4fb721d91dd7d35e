//! Complex tensors: laws of arithmetic, functions against values of high precision, structure, printing.
//!
//! `tests/data/complex.txt` has functions at hostile points, and on both sides of branch cuts; `complex.py` beside it
//! writes the file.

use approx::{assert_abs_diff_eq, assert_relative_eq};
use num_complex::Complex64;
use polygrad::array::Rng;
use polygrad::tree::Stacked;
use polygrad::{BaseTensor, Complex, Concrete, Function, Tensor, Tree, einsum, map, tensor};

type C<const D: usize> = Complex<Concrete, D>;

fn random<const D: usize>(shape: [usize; D], seed: u64) -> C<D> {
    let mut rng = Rng::new(seed);
    Complex::constant(rng.uniform(&shape, -1.0, 1.0), rng.uniform(&shape, -1.0, 1.0))
}

fn one(re: f64, im: f64) -> C<0> {
    Complex::scalar(re, im)
}

#[track_caller]
fn close<const D: usize>(a: &C<D>, b: &C<D>) {
    assert_relative_eq!(a, b, epsilon = 1e-14, max_relative = 1e-13);
}

#[test]
fn the_laws_of_a_field_hold_up_to_rounding() {
    let [a, b, c] = [1, 2, 3].map(|seed| random([3, 4], seed));
    close(&(&a + &b), &(&b + &a));
    close(&((&a + &b) + &c), &(&a + (&b + &c)));
    close(&(&a * &b), &(&b * &a));
    close(&(&a * &b * &c), &(&a * (&b * &c)));
    close(&(&a * (&b + &c)), &(&a * &b + &a * &c));
    close(&(&a / &b * &b), &a);
    close(&(&a * a.recip()), &Tensor::ones([3, 4]).to_complex());
    close(&(&a - &b + &b), &a);
    close(&(&a * &b).conj(), &(a.conj() * b.conj()));
    close(&(&a * a.conj()), &a.abs2().to_complex());
    close(&a.square(), &(&a * &a));
    close(&a.times_i(), &(&a * Complex64::I));
    close(&Complex::from_polar(&a.abs(), &a.arg()), &a);
}

/// Each method that a complex tensor has from real ones is that of its parts.
#[test]
fn methods_of_tensors_act_on_both_parts() {
    let (z, one_row, ix) = (random([2, 3, 3], 30), random([1, 3], 31), tensor([1, 0, 2]));
    macro_rules! of_parts {
        ($($z:ident.$method:ident($($arg:expr),*): $rank:literal,)*) => { $(
            let parts = Complex::new($z.re().$method($($arg),*), $z.im().$method($($arg),*));
            let whole: C<$rank> = $z.$method($($arg),*);
            assert_eq!(whole, parts, stringify!($method));
        )* };
    }
    of_parts! {
        z.reshape([3, 6]): 2,
        z.flatten(): 1,
        z.permute([2, 0, 1]): 3,
        z.t(): 3,
        z.insert_axis(1): 4,
        one_row.remove_axis(0): 1,
        z.replicate(2): 4,
        z.replicate_axis(1, 2): 4,
        one_row.broadcast_to([4, 3]): 2,
        z.slice(1, 1..): 3,
        z.slice_step(1, .., 2): 3,
        z.pad([(1, 0), (0, 2), (0, 0)]): 3,
        z.reverse(2): 3,
        z.roll(1, -1): 3,
        z.tile([1, 2, 1]): 3,
        z.window(2, 2, 1): 4,
        z.diagonal(1, 2): 2,
        z.row(1): 2,
        z.at([1, 2]): 1,
        z.gather([&ix]): 3,
        z.take(&ix): 3,
        z.sum(): 0,
        z.sum_outer(): 2,
        z.sum_axis(1): 2,
        z.sum_axes([0, 2]): 1,
        z.mean(): 0,
        z.mean_axis(1): 2,
        z.scale(-2.0): 3,
    }
}

/// A real operand, a number and a complex number mean what they mean as complex tensors, on either side.
#[test]
fn real_operands_and_numbers_stand_beside_complex_ones() {
    let (z, x) = (random([2, 3], 4), random([2, 3], 5).into_parts().0);
    let wide = x.to_complex();
    let half = Tensor::full([2, 3], 0.5).to_complex();
    close(&(&z + &x), &(&z + &wide));
    close(&(&x - &z), &(&wide - &z));
    close(&(&z * x.clone()), &(&z * &wide));
    close(&(x.clone() * z.clone()), &(&z * &wide));
    close(&(&x / &z), &(&wide / &z));
    close(&(&z / &x), &(&z / &wide));
    close(&(0.5 / &z), &(&half / &z));
    close(&(&z - 0.5), &(&z - &half));
    close(&(0.5 - z.clone()), &(&half - &z));
    let turn = Complex64::new(0.5, -2.0);
    let turns = Complex::from_elements([2, 3], &[turn; 6]);
    close(&(&z * turn), &(&z * &turns));
    close(&(turn / &z), &(&turns / &z));
    close(&(&x + turn), &(&wide + &turns));
    // Ranks and sizes are broadcast.
    let (scalar, row) = (random([], 6), random([1, 3], 7));
    close(&(&z * &scalar), &(&z * scalar.reshape([1, 1]).broadcast_to([2, 3])));
    close(&(&scalar / &z), &(scalar.reshape([1, 1]).broadcast_to([2, 3]) / &z));
    close(&(&x * &row), &(&wide * row.broadcast_to([2, 3])));
    close(&(&x - &scalar), &(&wide - &scalar));
    let mut y = z.clone();
    y += &z;
    y -= 1.0;
    y *= &x;
    y /= turn;
    close(&y, &((&z + &z - 1.0) * &x / turn));
    assert_eq!(-&z + &z, C::zeros([2, 3]));
    let narrow = Complex::new(tensor([1.0f32]), tensor([2.0f32]));
    assert_eq!(2.0 * &narrow, &narrow + &narrow);
}

/// The sign of a zero imaginary part says the side of a cut; a real operand does not change it.
#[test]
fn real_operands_keep_the_sign_of_zero() {
    let below = one(0.25, -0.0);
    assert!((1.0 - &below).im().item().is_sign_positive());
    assert!((&below - 1.0).im().item().is_sign_negative());
    assert_eq!((&below - 1.0).sqrt().im().item(), -(0.75f64.sqrt()));
    assert_eq!((&below * 2.0).im().item().to_bits(), (-0.0f64).to_bits());
}

#[test]
fn quotients_and_lengths_neither_overflow_nor_vanish() {
    for s in [1e300, 1e-300, 1e308, 4e-308] {
        let z = one(s, s);
        close(&(&z / &z), &one(1.0, 0.0));
        assert_relative_eq!(z.abs().item(), s * 2f64.sqrt(), max_relative = 1e-15);
        let other = one(s, -0.5 * s);
        close(&(&z / &other), &(one(1.0, 1.0) / one(1.0, -0.5)));
    }
    close(&(one(1e-200, 0.0) / one(0.0, 1e-200)), &one(0.0, -1.0));
    assert!((one(1.0, 1.0) / C::zeros([])).is_nan().item());
}

fn function(name: &str, z: &C<0>) -> C<0> {
    match name {
        "exp" => z.exp(),
        "ln" => z.ln(),
        "sqrt" => z.sqrt(),
        "sinh" => z.sinh(),
        "cosh" => z.cosh(),
        "tanh" => z.tanh(),
        "sin" => z.sin(),
        "cos" => z.cos(),
        "tan" => z.tan(),
        "asinh" => z.asinh(),
        "acosh" => z.acosh(),
        "atanh" => z.atanh(),
        "asin" => z.asin(),
        "acos" => z.acos(),
        "atan" => z.atan(),
        "recip" => z.recip(),
        "square" => z.square(),
        name => panic!("{name} is no function of this test"),
    }
}

/// Errors are relative to the absolute value of the result; where a result is a zero, its sign is that of C.
#[test]
fn functions_have_the_values_of_high_precision() {
    let text = include_str!("../data/complex.txt");
    let mut worst: Vec<(f64, &str)> = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |k: usize| words[k].parse::<f64>().expect("a number");
        let (x, y, re, im) = (number(1), number(2), number(3), number(4));
        let w = function(words[0], &one(x, y));
        let (u, v) = (w.re().item(), w.im().item());
        let size = re.hypot(im);
        let error = (u - re).hypot(v - im);
        // Below this subnormal numbers have few digits.
        worst.push((if size == 0.0 { error } else { error / size.max(1e-307) }, line));
        if x == 0.0 || y == 0.0 {
            for (a, b) in [(u, re), (v, im)] {
                assert!(b != 0.0 || a.is_sign_negative() == b.is_sign_negative(), "{line}: {u} {v}");
            }
        }
    }
    worst.sort_by(|a, b| b.0.total_cmp(&a.0));
    assert!(worst.len() > 700 && worst[0].0 < 4e-15, "{:#?}", &worst[..20]);
}

#[test]
fn exponentials_are_real_where_their_arguments_are() {
    for x in [800.0, f64::INFINITY] {
        assert_eq!(one(x, 0.0).exp(), one(f64::INFINITY, 0.0));
        assert_eq!(one(x, 0.0).cosh(), one(f64::INFINITY, 0.0));
        assert_eq!(one(-x, 0.0).sinh(), one(f64::NEG_INFINITY, 0.0));
        assert_eq!(one(x, 0.5).tanh(), one(1.0, 0.0));
    }
    assert_eq!(one(f64::NEG_INFINITY, 1.0).exp(), one(0.0, 0.0));
}

#[test]
fn inverses_undo_functions() {
    let z = random([50], 8) * 2.0;
    close(&z.exp().ln(), &z);
    close(&z.sqrt().square(), &z);
    for (f, inverse) in [
        (C::<1>::sin as fn(&C<1>) -> C<1>, C::<1>::asin as fn(&C<1>) -> C<1>),
        (C::cos, C::acos),
        (C::tan, C::atan),
        (C::sinh, C::asinh),
        (C::cosh, C::acosh),
        (C::tanh, C::atanh),
    ] {
        assert_relative_eq!(f(&inverse(&z)), z, epsilon = 1e-13, max_relative = 1e-12);
    }
}

#[test]
fn powers_are_products() {
    let z = random([20], 9);
    close(&z.powi(5), &(&z * &z * &z * &z * &z));
    close(&z.powi(-2), &(&z * &z).recip());
    assert_eq!(z.powi(0), Tensor::ones([20]).to_complex());
    assert_eq!(z.powf(3.0), z.powi(3));
    close(&z.powf(0.5), &z.sqrt());
    close(&z.pow(&Tensor::full([20], 2.0).to_complex()), &z.square());
    let (u, v) = (random([20], 10), random([20], 11));
    close(&(z.pow(&u) * z.pow(&v)), &z.pow(&(&u + &v)));
    // At 0.
    let at = |re: f64, im: f64| C::<0>::zeros([]).pow(&one(re, im));
    assert_eq!((at(0.0, 0.0), at(2.0, 0.0), at(0.5, 3.0)), (one(1.0, 0.0), one(0.0, 0.0), one(0.0, 0.0)));
}

fn by_definition(a: &C<2>, b: &C<2>) -> C<2> {
    let ([n, k], [_, m]) = (a.shape(), b.shape());
    let (x, y) = (a.to_vec(), b.to_vec());
    let element = |i: usize, j: usize| (0..k).map(|l| x[i * k + l] * y[l * m + j]).sum::<Complex64>();
    let all: Vec<Complex64> = (0..n * m).map(|at| element(at / m, at % m)).collect();
    Complex::from_elements([n, m], &all)
}

#[test]
fn products_are_the_sums_that_define_them() {
    let (a, b) = (random([3, 4], 12), random([4, 2], 13));
    let product = by_definition(&a, &b);
    close(&a.matmul(&b), &product);
    close(&a.row(1).vecmat(&b), &product.row(1));
    close(&a.matvec(&b.t().row(0)), &product.t().row(0));
    close(&a.row(1).dot(&b.t().row(0)), &product.at([1, 0]));
    close(&a.row(1).conj().vdot(&b.t().row(0)), &product.at([1, 0]));
    close(&a.insert_axis::<3>(0).batched_matmul(&b.insert_axis(0)), &product.insert_axis(0));
    close(&a.row(0).outer(&b.row(0)), &by_definition(&a.row(0).reshape([4, 1]), &b.row(0).reshape([1, 2])));
    close(&einsum!("ij,jk->ik", &a, &b), &product);
    let v = random([2], 14);
    close(&einsum!("ij,jk,k->i", &a, &b, &v), &product.matvec(&v));
    close(&einsum!("ij->ji", &a), &a.t());
    // Real operands, in every place.
    let (re, im) = (a.re(), b.im());
    close(&einsum!("ij,jk->ik", re, &b), &re.to_complex().matmul(&b));
    close(&einsum!("ij,jk->ik", &a, im), &a.matmul(&im.to_complex()));
    close(&einsum!("ij,jk,k->i", re, im, &v), &re.matmul(im).to_complex().matvec(&v));
    close(&einsum!("ij,jk,k->i", re, &b, v.im()), &re.to_complex().matmul(&b).matvec(&v.im().to_complex()));
    assert_eq!(einsum!("ij,jk->ik", re, im), re.matmul(im));
    close(&a.adjoint(), &a.t().conj());
    assert_relative_eq!(a.norm().item(), a.abs2().sum().item().sqrt(), max_relative = 1e-15);
    assert_eq!((a.clone() * 0.0).norm().item(), 0.0);
}

/// A real operand costs two real contractions, where complex ones cost four.
#[test]
fn real_operands_of_einsum_are_not_made_complex() {
    let (a, z) = (random([3, 4], 16), random([4, 2], 17));
    let contractions = |text: String| text.matches("contract").count() + text.matches("matmul").count();
    let both =
        Function::stage(|(a, z): &(Complex<_, 2>, Complex<_, 2>)| einsum!("ij,jk->ik", a, z), &(a.clone(), z.clone()));
    let mixed = Function::stage(
        |(a, z): &(Tensor<_, 2>, Complex<_, 2>)| einsum!("ij,jk->ik", a, z),
        &(a.re().clone(), z.clone()),
    );
    let [both, mixed] = [both.program().to_string(), mixed.program().to_string()].map(contractions);
    assert_eq!((both, mixed), (4, 2));
}

#[test]
fn structure_is_that_of_both_parts() {
    let z = random([2, 3], 15);
    let (re, im) = (z.re().clone(), z.im().clone());
    assert_eq!(z.reshape([6]), Complex::new(re.flatten(), im.flatten()));
    assert_eq!(z.t().shape(), [3, 2]);
    assert_eq!(z.sum_axis(1), Complex::new(re.sum_axis(1), im.sum_axis(1)));
    assert_eq!(Complex::stack(&[&z, &z]).row(1), z);
    assert_eq!(Complex::concat(1, &[&z, &z]).slice(1, 3..), z);
    assert_eq!(
        z.gather((&tensor([1, 0]), 2)),
        Complex::new(re.gather((&tensor([1, 0]), 2)), im.gather((&tensor([1, 0]), 2)))
    );
    assert_eq!(z.take(&tensor([1])).row(0), z.row(1));
    assert_eq!((z.size(), z.len()), (6, 2));
    assert!(z.eq(&z).all().item() && z.is_finite().all().item() && !z.is_nan().any().item());
    let x = random([5], 16);
    assert_eq!(x.fftshift(0).ifftshift(0), x);
    assert_eq!(x.fftshift(0).at([2]), x.at([0]));
}

#[test]
fn complex_tensors_are_trees() {
    let z = random([2], 17);
    assert_eq!((vec![z.clone()], tensor(1.0)).names(), ["0.0.re", "0.0.im", "1"]);
    assert_eq!(z.unravel(&z.ravel()), z);
    let rows: C<1> = map(&z, |z: &C<0>| z.square());
    close(&rows, &z.square());
    assert_eq!(Stacked::new(&[z.clone(), z.clone()]).row(1), z);
    let saved = serde_json::to_string(&z).unwrap();
    assert_eq!(serde_json::from_str::<C<1>>(&saved).unwrap(), z);
    let wrong = serde_json::to_string(&(tensor([1.0]), tensor([1.0, 2.0]))).unwrap();
    assert!(serde_json::from_str::<C<1>>(&wrong).unwrap_err().to_string().contains("one shape"));
    let named = polygrad::tree::Parameters::of(&z).unwrap();
    assert_eq!(named.load_into(&C::<1>::zeros([2])).unwrap(), z);
    fn turned<T: BaseTensor>(z: &Complex<T, 1>) -> Complex<T, 1> {
        z * Complex::constant([0.0, 1.0], [1.0, 0.0])
    }
    let f = Function::stage(|z: &Complex<_, 1>| turned(z), &z);
    assert_eq!(f.run(&z).unwrap(), turned(&z));
}

#[test]
fn complex_numbers_are_printed() {
    let z = Complex::new(tensor([[1.0, -2.5]]), tensor([[-0.0, 1e-3]]));
    assert_eq!(z.to_string(), "[[ 1.0-0.000i -2.5+0.001i]]");
    assert_eq!(one(1.0, f64::NAN).to_string(), "1.0+NaNi");
    assert_eq!(format!("{:.2}", one(0.125, -1.0)), "0.12-1.00i");
    assert_eq!(format!("{z:?}"), "Complex(f64, [1, 2], [[1.0-0.0i, -2.5+0.001i]])");
    assert_eq!(C::<1>::zeros([0]).to_string(), "[] (shape [0])");
    assert_abs_diff_eq!(z, z);
}
