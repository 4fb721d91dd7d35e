//! Laws of `Array`: round trips, printing, seeded draws, comparison with tolerances.

use approx::{AbsDiffEq, RelativeEq, UlpsEq, assert_abs_diff_eq, assert_relative_eq};
use polygrad::array::{Nested, Rng, sample};
use polygrad::{Array, Complex, Concrete, DType, Tensor, grad, tensor};
use quickcheck::quickcheck;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Bernoulli, Gamma, Poisson, StandardNormal, Uniform};

fn nested<const D: usize, E: polygrad::Elem>(data: impl Nested<D, E>) -> (usize, DType, Array) {
    (D, E::DTYPE, data.into_array())
}

#[test]
#[allow(clippy::needless_borrows_for_generic_args, reason = "borrowed data is what is tested")]
fn rank_and_element_type_are_inferred_from_the_data() {
    let cases = [
        nested(1.0),
        nested(true),
        nested([1, 2]),
        nested(vec![1.0f32]),
        nested(&vec![1.0]),
        nested(&[1.0, 2.0][..]),
        nested(&[1.0, 2.0]),
        nested([[1, 2, 3], [4, 5, 6]]),
        nested(vec![[1.0, 2.0]; 3]),
        nested([[[false; 4]; 3]; 2]),
        nested([[[[0.5; 5]; 4]; 3]; 2]),
    ];
    for (rank, dtype, array) in &cases {
        assert_eq!((array.rank(), array.dtype()), (*rank, *dtype));
    }
    let shapes: Vec<&[usize]> = cases.iter().map(|c| c.2.shape()).collect();
    let expected: [&[usize]; 11] =
        [&[], &[], &[2], &[1], &[1], &[2], &[2], &[2, 3], &[3, 2], &[2, 3, 4], &[2, 3, 4, 5]];
    assert_eq!(shapes, expected);
}

#[test]
fn nested_arrays_are_row_major() {
    let a = Array::from([[[0, 1], [2, 3]], [[4, 5], [6, 7]]]);
    assert_eq!(a, Array::new(&[2, 2, 2], (0..8i64).collect()));
    assert_eq!(a, Array::try_from(vec![vec![vec![0, 1], vec![2, 3]], vec![vec![4, 5], vec![6, 7]]]).unwrap());
    let four = Array::from([[[[0, 1], [2, 3]]], [[[4, 5], [6, 7]]]]);
    assert_eq!(four, Array::new(&[2, 1, 2, 2], (0..8i64).collect()));
}

quickcheck! {
    fn vectors_come_back(v: Vec<i64>) -> bool {
        let a = Array::from(v.clone());
        a.shape() == [v.len()] && Vec::try_from(&a) == Ok(v.clone())
            && a.iter::<i64>().unwrap().eq(v.iter().copied()) && v.into_iter().collect::<Array>() == a
    }

    fn rows_come_back_or_are_ragged(rows: Vec<Vec<bool>>) -> bool {
        let ragged = rows.iter().any(|r| r.len() != rows[0].len());
        match Array::try_from(rows.clone()) {
            Ok(a) => !ragged && Vec::<Vec<bool>>::try_from(&a) == Ok(rows),
            Err(_) => ragged,
        }
    }

    fn pairs_come_back(a: (f64, f64), b: (f64, f64)) -> bool {
        let data = [[a.0, a.1], [b.0, b.1]];
        let same = |x: &[[f64; 2]; 2]| x.as_flattened().iter().zip(data.as_flattened()).all(|(x, y)| x.to_bits() == y.to_bits());
        <[[f64; 2]; 2]>::try_from(Array::from(data)).is_ok_and(|x| same(&x))
    }
}

#[test]
fn blocks_come_back() {
    for shape in [[2, 3, 4], [2, 0, 4], [2, 3, 0], [0, 0, 0]] {
        let a = Array::new(&shape, (0..shape.iter().product::<usize>() as i64).collect());
        let blocks = Vec::<Vec<Vec<i64>>>::try_from(&a).unwrap();
        let back = Array::try_from(blocks).unwrap();
        assert_eq!(back.to_vec::<i64>(), a.to_vec::<i64>());
        // What has no rows cannot say how long they are.
        let told = if shape[1] == 0 { [shape[0], 0, 0] } else { shape };
        assert_eq!(back.shape(), told);
    }
}

#[test]
fn scalars_come_back_from_any_single_element() {
    assert_eq!(f64::try_from(Array::from(2.5)), Ok(2.5));
    assert_eq!(i64::try_from(&Array::from([[7]])), Ok(7));
    assert_eq!(bool::try_from(Array::full(&[1, 1], true)), Ok(true));
    assert_eq!(f32::try_from(Array::from(0.5f32)), Ok(0.5));
}

#[test]
fn splats_convert_like_dense_arrays() {
    let a = Array::full(&[2, 2], 3i64);
    assert_eq!(<[[i64; 2]; 2]>::try_from(&a), Ok([[3, 3], [3, 3]]));
    assert_eq!(Vec::<Vec<i64>>::try_from(&a), Ok(vec![vec![3, 3], vec![3, 3]]));
    assert_eq!(a.iter::<i64>().unwrap().rev().collect::<Vec<_>>(), [3; 4]);
}

#[test]
fn what_does_not_fit_is_an_error_with_both_sides() {
    let a = Array::from([[1.0, 2.0], [3.0, 4.0]]);
    let messages = [
        Array::try_new(&[2, 3], vec![0.0; 5]).unwrap_err(),
        Array::try_from(vec![vec![1, 2], vec![3]]).unwrap_err(),
        Array::try_from(vec![vec![vec![1, 2]], vec![vec![3]]]).unwrap_err(),
        Array::try_from(vec![vec![vec![1, 2]], vec![]]).unwrap_err(),
        Vec::<i64>::try_from(Array::from([1.0])).unwrap_err(),
        Vec::<Vec<i64>>::try_from(Array::zeros(&[0, 2], DType::F64)).unwrap_err(),
        <[[f64; 3]; 2]>::try_from(&a).unwrap_err(),
        <[i64; 1]>::try_from(Array::from([1.0])).unwrap_err(),
        Vec::<f64>::try_from(&a).unwrap_err(),
        f64::try_from(&a).unwrap_err(),
        a.iter::<bool>().err().unwrap(),
    ]
    .map(|e| e.to_string());
    let expected = [
        "array: the number of elements must be 6 for shape [2, 3], but it is 5; change either",
        "array: rows need one length, but row 1 has length 1 and the first row has length 2; pad the rows",
        "array: rows need one length, but row 1, 0 has length 1 and the first row has length 2; pad the rows",
        "array: rows need one length, but row 1 has length 0 and the first row has length 1; pad the rows",
        "array: elements of i64 were asked for, but they are f64; convert the array first",
        "array: elements of i64 were asked for, but they are f64; convert the array first",
        "array: shape [2, 3] was asked for, but it is [2, 2]; reshape the array first",
        "array: elements of i64 were asked for, but they are f64; convert the array first",
        "array: rank 1 was asked for, but the shape is [2, 2]; reshape the array or use `to_vec`",
        "array: exactly one element was asked for, but the shape is [2, 2]; use `to_vec` for all of them",
        "array: elements of bool were asked for, but they are f64; convert the array first",
    ];
    assert_eq!(messages, expected);
}

#[test]
fn display_aligns_columns() {
    let cases = [
        (Array::from([[1, -20], [300, 4]]), "[[  1 -20]\n [300   4]]"),
        (Array::from([1.0, 0.5, 0.125]), "[1.000 0.500 0.125]"),
        (Array::from([true, false]), "[ true false]"),
        (Array::from([0.1f32, 2.0]), "[0.1 2.0]"),
        (Array::from([1.0 / 3.0, 2.0]), "[0.33333333 2.00000000]"),
        (Array::from([1e-5, 2.5, 0.0]), "[1.0e-5  2.5e0  0.0e0]"),
        (Array::from([3e10f32, 1.5]), "[3.0e10  1.5e0]"),
        (Array::from([f64::NAN, f64::INFINITY, 1.0]), "[NaN inf 1.0]"),
        (Array::from([[[1, 2], [3, 4]], [[5, 6], [7, 8]]]), "[[[1 2]\n  [3 4]]\n\n [[5 6]\n  [7 8]]]"),
        (Array::full(&[1, 2], 0.0), "[[0.0 0.0]]"),
    ];
    for (array, text) in cases {
        assert_eq!(array.to_string(), text);
    }
}

#[test]
fn display_of_rank_0_is_the_number() {
    assert_eq!(Array::from(1.0).to_string(), "1.0");
    assert_eq!(Array::from(1.0f32 / 3.0).to_string(), "0.33333334");
    assert_eq!(Array::from(1e300).to_string(), "1e300");
    assert_eq!(
        format!("{:>6}|{:>6}|{:6.1}", Array::from(-3), Array::from(true), Array::from(0.25)),
        "    -3|  true|   0.2"
    );
}

#[test]
fn display_respects_the_precision() {
    assert_eq!(format!("{:.2}", Array::from([[0.125, 10.0]])), "[[ 0.12 10.00]]");
    assert_eq!(format!("{:.2}", Array::from([1, 2])), "[1 2]");
    assert_eq!(format!("{:.0}", Array::from(1.75)), "2");
}

#[test]
fn lower_exp_prints_an_exponent_in_every_number() {
    let (x, none) = (Array::from([1.0, -250.0, f64::NAN]), Array::zeros(&[0], DType::F64));
    assert_eq!(format!("{x:e}|{x:.3e}|{none:e}"), "[ 1.0e0 -2.5e2    NaN]|[ 1.000e0 -2.500e2      NaN]|[] (shape [0])");
    assert_eq!(format!("{:.2e}|{:e}", Array::from(0.0123f32), Array::from(0.0123)), "1.23e-2|1.23e-2");
    assert_eq!(format!("{:e}|{:.1e}", Array::from([10, 25]), Array::from(1234)), "[1.0e1 2.5e1]|1.2e3");
    assert_eq!(format!("{:e}", Array::from([true])), "[true]");
    let z = Complex::new(tensor([1.0, 200.0]), tensor([-0.25, 0.5]));
    assert_eq!(
        format!("{z:.1e}|{:e}", Complex::new(tensor(200.0), tensor(0.5))),
        "[1.0e0-2.5e-1i 2.0e2+5.0e-1i]|2e2+5e-1i"
    );
    let traced = |x: &Tensor<_, 1>| {
        assert_eq!(format!("{x:.2e}"), "f64 [2]");
        x.sum()
    };
    assert_eq!(format!("{:.2e}", grad(traced, &tensor([1.0, 2.0]))), "[1.00e0 1.00e0]");
}

#[test]
fn empty_arrays_print_their_shape() {
    assert_eq!(Array::zeros(&[0], DType::F64).to_string(), "[] (shape [0])");
    assert_eq!(Array::zeros(&[3, 0, 1_000_000_000_000], DType::Bool).to_string(), "[] (shape [3, 0, 1000000000000])");
    assert_eq!(
        format!("{:?}", Array::zeros(&[1_000_000_000_000, 0], DType::I64)),
        "Array(i64, [1000000000000, 0], [])"
    );
}

#[test]
fn a_thousand_elements_are_printed_in_full_and_one_more_is_not() {
    let full = Array::iota(1000).to_string();
    let numbers: Vec<i64> = full.trim_matches(['[', ']']).split_whitespace().map(|w| w.parse().unwrap()).collect();
    assert_eq!(numbers, Vec::from_iter(0..1000));
    assert!(full.starts_with("[  0   1   2"), "{full}");
    let widths = full.lines().map(str::len);
    assert!(full.lines().skip(1).all(|l| l.starts_with(' ')) && widths.clone().all(|n| n <= 80), "{full}");
    assert_eq!(widths.max(), Some(76));
    assert_eq!(Array::iota(1001).to_string(), "[   0    1    2 ...  998  999 1000]");
    assert_eq!(format!("{:?}", Array::iota(1001)), "Array(i64, [1001], [0, 1, 2, ..., 998, 999, 1000])");
}

#[test]
fn large_arrays_are_abbreviated_along_every_long_axis() {
    let a = Array::new(&[50, 30], (0..1500i64).collect());
    let text = "\
[[   0    1    2 ...   27   28   29]
 [  30   31   32 ...   57   58   59]
 [  60   61   62 ...   87   88   89]
 ...
 [1410 1411 1412 ... 1437 1438 1439]
 [1440 1441 1442 ... 1467 1468 1469]
 [1470 1471 1472 ... 1497 1498 1499]]";
    assert_eq!(a.to_string(), text);
    // An axis of up to six elements is shown in full.
    let row = "[1.0 1.0 1.0 ... 1.0 1.0 1.0]";
    assert_eq!(Array::full(&[2, 800], 1.0).to_string(), format!("[{row}\n {row}]"));
}

#[test]
fn printing_does_not_depend_on_the_size() {
    let a = Array::full(&[1 << 30, 1 << 29], 0.5);
    assert_eq!(a.to_string().lines().count(), 7);
    assert!(format!("{a:?}").starts_with("Array(f64, [1073741824, 536870912], [[0.5, 0.5, 0.5, ..., 0.5"));
}

#[test]
fn debug_shows_element_type_shape_and_full_values() {
    let cases = [
        (Array::from(1.5), "Array(f64, [], 1.5)"),
        (Array::from([[1.0f32, 0.1], [1e-9, f32::NAN]]), "Array(f32, [2, 2], [[1.0, 0.1], [1e-9, NaN]])"),
        (Array::from([1.0 / 3.0]), "Array(f64, [1], [0.3333333333333333])"),
        (Array::full(&[2], true), "Array(bool, [2], [true, true])"),
    ];
    for (array, text) in cases {
        assert_eq!(format!("{array:?}"), text);
    }
}

#[test]
fn draws_are_those_of_splitmix64() {
    assert_eq!(Rng::new(0).next_u64(), 0xe220a8397b1dcdaf);
    let mut rng = Rng::new(42);
    assert_eq!([rng.unit(), rng.unit(), rng.unit()], [0.7415648787718233, 0.1599103928769201, 0.27860113025513866]);
}

#[test]
fn arrays_are_successive_draws() {
    let mut rng = Rng::new(7);
    let both = rng.uniform(&[4], 0.0, 1.0);
    let mut again = Rng::new(7);
    let parts = [again.uniform(&[2], 0.0, 1.0), again.uniform(&[2], 0.0, 1.0)];
    assert_eq!(both.to_vec::<f64>().unwrap(), parts.map(|p| p.to_vec::<f64>().unwrap()).concat());
    assert_eq!(rng, again);
    assert_eq!(Array::uniform(&[4], 0.0, 1.0, 7), both);
    assert_ne!(Array::uniform(&[4], 0.0, 1.0, 8), both);
    let mut scalar = Rng::new(7);
    assert_eq!(
        Array::normal(&[2], 1.0, 2.0, 7),
        Array::from([1.0 + 2.0 * scalar.gaussian(), 1.0 + 2.0 * scalar.gaussian()])
    );
    assert_eq!(Rng::new(3).normal(&[], 0.0, 1.0).shape(), [0usize; 0]);
    assert_eq!(Rng::new(3).uniform(&[2, 0], 0.0, 1.0).shape(), [2, 0]);
}

#[test]
fn single_precision_draws_are_the_double_ones_cut_off() {
    let double = Rng::new(5).uniform(&[100], 0.0, 1.0).to_vec::<f64>().unwrap();
    let single = Rng::new(5).uniform_as::<f32, _>(&[100], 0.0, 1.0).to_vec::<f32>().unwrap();
    let step = 1.0 / (1 << 24) as f64;
    assert!(double.iter().zip(&single).all(|(d, s)| (d / step).floor() * step == f64::from(*s)));
    assert_eq!(Rng::new(5).normal_as::<f32, _>(&[3], 0.0, 1.0).dtype(), DType::F32);
}

/// The generator is one of the crate `rand`, with the seeds and the draws that it has without it.
#[test]
fn the_generator_is_one_of_the_crate_rand() {
    let mut rng: Rng = SeedableRng::seed_from_u64(42);
    assert_eq!((&rng, &Rng::from_seed([42, 0, 0, 0, 0, 0, 0, 0])), (&Rng::new(42), &Rng::new(42)));
    assert_eq!(Rng::from_seed([0, 1, 0, 0, 0, 0, 0, 0]), Rng::new(256));
    let mut same = rng.clone();
    let words = [same.next_u64(), same.next_u64(), same.next_u64()];
    fn next<R: rand::Rng + ?Sized>(rng: &mut R) -> (u64, u32) {
        (rng.next_u64(), rng.next_u32())
    }
    assert_eq!(next(&mut rng), (words[0], (words[1] >> 32) as u32));
    let mut bytes = [0; 11];
    let mut again = Rng::new(42);
    rand::Rng::fill_bytes(&mut again, &mut bytes);
    assert_eq!(bytes[..8], words[0].to_le_bytes());
    assert_eq!(bytes[8..], words[1].to_le_bytes()[..3]);
    assert_eq!(again.next_u64(), words[2]);
}

#[test]
fn arrays_are_draws_of_any_distribution_by_any_generator() {
    let mut rng = Rng::new(7);
    let drawn: Tensor<Concrete, 2> = sample([2, 3], Gamma::new(2.0, 0.5).unwrap(), &mut rng);
    let mut one_by_one = Rng::new(7);
    let gamma = Gamma::new(2.0, 0.5).unwrap();
    assert_eq!(drawn.to_vec(), std::array::from_fn::<f64, 6, _>(|_| one_by_one.sample(gamma)));
    assert_eq!(rng, one_by_one);
    // Other generators, also behind a pointer; other element types, borrowed sizes, no sizes, no elements.
    let mut other = SmallRng::seed_from_u64(1);
    let means = |a: Array| a.to_vec::<f64>().unwrap().iter().sum::<f64>() / 20_000.0;
    let other: &mut dyn rand::Rng = &mut other;
    assert_abs_diff_eq!(means(sample(&[20_000], Poisson::new(3.0).unwrap(), other)), 3.0, epsilon = 0.05);
    assert_abs_diff_eq!(means(sample(&[20_000], Gamma::new(2.0, 0.5).unwrap(), other)), 1.0, epsilon = 0.05);
    let mask: Tensor<Concrete, 1, bool> = sample([4], Bernoulli::new(1.0).unwrap(), other);
    let dice: Tensor<Concrete, 1, i64> = sample([50], Uniform::new(1, 7).unwrap(), other);
    assert_eq!(mask, tensor([true; 4]));
    assert!(dice.ge(1).all().item() && dice.lt(7).all().item());
    let single: Tensor<Concrete, 0, f32> = sample([], StandardNormal, other);
    assert!(single.item().is_finite());
    assert_eq!(sample::<f64, _>(&[2, 0], StandardNormal, other).shape(), [2, 0]);
}

#[test]
fn samples_have_the_moments_of_their_distribution() {
    let n = 40_000;
    let moments = |a: Array| {
        let v = a.to_vec::<f64>().unwrap();
        let mean = v.iter().sum::<f64>() / n as f64;
        (mean, v.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n as f64)
    };
    let (mean, var) = moments(Array::normal(&[n], 3.0, 2.0, 1));
    assert_abs_diff_eq!(mean, 3.0, epsilon = 0.05);
    assert_abs_diff_eq!(var, 4.0, epsilon = 0.15);
    let (mean, var) = moments(Array::uniform(&[n], -1.0, 2.0, 1));
    assert_abs_diff_eq!(mean, 0.5, epsilon = 0.02);
    assert_abs_diff_eq!(var, 0.75, epsilon = 0.02);
}

#[test]
fn bounded_integers_are_uniform() {
    let mut rng = Rng::new(9);
    let mut counts = [0; 6];
    (0..60_000).for_each(|_| counts[rng.below(6)] += 1);
    assert!(counts.iter().all(|c| (9_500..10_500).contains(c)), "{counts:?}");
    assert_eq!(rng.below(1), 0);
}

#[test]
fn permutations_contain_everything_once_and_reach_every_order() {
    let mut order = Rng::new(1).permutation(100);
    assert_ne!(order, (0..100).collect::<Vec<_>>());
    order.sort_unstable();
    assert_eq!(order, (0..100).collect::<Vec<_>>());
    let mut rng = Rng::new(2);
    let mut counts = std::collections::BTreeMap::new();
    (0..6000).for_each(|_| *counts.entry(rng.permutation(3)).or_insert(0) += 1);
    assert!(counts.len() == 6 && counts.values().all(|c| (850..1150).contains(c)), "{counts:?}");
    let mut words = ["a", "b"];
    rng.shuffle(&mut words);
    rng.shuffle::<u8>(&mut []);
}

#[test]
fn split_streams_are_reproducible_and_differ() {
    let mut rng = Rng::new(11);
    let (mut a, mut b) = (rng.split(), rng.split());
    let mut again = Rng::new(11).split();
    let first = a.next_u64();
    assert_eq!(first, again.next_u64());
    assert_ne!(first, b.next_u64());
    assert_ne!(first, rng.next_u64());
}

#[test]
#[should_panic(expected = "below: needs a positive bound, but it is 0; leave out the draw")]
fn below_zero_has_no_answer() {
    Rng::new(0).below(0);
}

#[test]
#[should_panic(expected = "uniform: needs finite bounds in order, but they are 2 and 1; exchange or replace them")]
fn bounds_are_in_order() {
    Array::uniform(&[1], 2.0, 1.0, 0);
}

#[test]
#[should_panic(expected = "normal: needs a standard deviation of at least 0, but it is -1; pass its absolute value")]
fn deviations_are_not_negative() {
    Array::normal(&[1], 0.0, -1.0, 0);
}

#[test]
fn close_arrays_are_close_by_every_criterion() {
    let (a, b) = (Array::from([1.0, 1000.0]), Array::from([1.0, 1000.001]));
    assert_abs_diff_eq!(a, b, epsilon = 0.01);
    assert!(!a.abs_diff_eq(&b, 0.0001));
    assert_relative_eq!(a, b, max_relative = 1e-5);
    assert!(!a.relative_eq(&b, 1e-12, 1e-7));
    let next = Array::from([f64::from_bits(1.0f64.to_bits() + 2), 1000.0]);
    assert!(a.ulps_eq(&next, 0.0, 2) && !a.ulps_eq(&next, 0.0, 1));
}

#[test]
fn tensors_are_close_as_their_arrays_are() {
    let (a, b) = (tensor([1.0, 1000.0]), tensor([1.0, 1000.001]));
    assert_abs_diff_eq!(a, b, epsilon = 0.01);
    assert_relative_eq!(a, b, max_relative = 1e-5);
    assert!(!a.abs_diff_eq(&b, 0.0001) && !a.relative_eq(&b, 1e-12, 1e-7) && !a.ulps_eq(&b, 0.0, 2));
    assert!(!a.abs_diff_eq(&tensor([1.0]), 1e9) && !tensor([1, 2]).abs_diff_eq(&tensor([1, 3]), 1e9));
}

#[test]
fn arrays_that_do_not_fit_are_never_close() {
    let a = Array::from([1.0, 1.0]);
    assert!(!a.abs_diff_eq(&Array::from([[1.0, 1.0]]), 1e9));
    assert!(!a.abs_diff_eq(&Array::from([1.0f32, 1.0]), 1e9));
    assert!(!a.abs_diff_eq(&Array::from([f64::NAN, 1.0]), 1e9));
    assert!(!Array::from([1, 2]).abs_diff_eq(&Array::from([1, 3]), 1e9));
    assert!(a.abs_diff_eq(&Array::full(&[2], 1.0), 0.0));
    assert!(Array::full(&[1 << 40], 1.0).abs_diff_eq(&Array::full(&[1 << 40], 1.5), 0.5));
    assert!(Array::zeros(&[0], DType::F64).abs_diff_eq(&Array::full(&[0], f64::NAN), 0.0));
    assert!(Array::zeros(&[0], DType::F64) == Array::full(&[0], f64::NAN));
}

#[test]
fn single_precision_is_compared_in_single_precision() {
    let (a, b) = (Array::from([0.1f32]), Array::from([0.1f32 + f32::EPSILON / 8.0]));
    assert_ne!(a, b);
    assert!(a.ulps_eq(&b, 0.0, 4));
    assert!(a.abs_diff_eq(&b, 1e-7));
}

#[test]
fn ranks_and_sizes_of_zero_are_ordinary() {
    let nothing = Array::new::<f64>(&[2, 0], vec![]);
    assert_eq!((nothing.size(), nothing.rank()), (0, 2));
    assert_eq!(nothing, Array::from([[0.0; 0]; 2]));
    assert_eq!(nothing.iter::<f64>().unwrap().len(), 0);
    assert_eq!(Array::from(3.0), Array::new(&[], vec![3.0]));
    assert_eq!(Array::full(&[], 3.0), Array::from(3.0));
}

#[test]
fn arrays_are_small_and_cross_threads() {
    fn crosses<X: Send + Sync + 'static>() {}
    crosses::<Array>();
    assert!(size_of::<Array>() <= 16);
}
