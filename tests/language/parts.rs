//! Tensors and numbers, owned, borrowed and mixed, as arguments of `stack`, `concat`, `cond` and loops; `unstack`.

use polygrad::{
    BaseTensor, Concrete, Function, Tensor, concat, cond, fold, grad, iterate, iterate_all, map, map_accum,
    map_accum_reverse, scan, stack, tensor, zip_with,
};

type Scalar<T> = Tensor<T, 0>;
type Vector<T> = Tensor<T, 1>;

#[test]
fn parts_are_owned_borrowed_and_mixed() {
    let (a, b) = (tensor([1.0, 2.0]), tensor([3.0, 4.0]));
    let rows = tensor([[1.0, 2.0], [3.0, 4.0]]);
    assert_eq!(stack([&a, &b]), rows);
    assert_eq!(stack([a.clone(), b.clone()]), rows);
    assert_eq!(stack((&a, b.clone())), rows);
    assert_eq!(stack(vec![a.clone(), b.clone()]), rows);
    assert_eq!(stack(vec![a.clone(), b.clone()]), rows);
    assert_eq!(stack(&[a.clone(), b.clone()]), rows);
    assert_eq!(stack(&[a.clone(), b.clone()][..]), rows);
    assert_eq!(stack(vec![&a, &b]), rows);
    let x = tensor(2.0);
    assert_eq!(stack((x.sin() * 0.0, 1.0, &x, x.square(), 5.0)), tensor([0.0, 1.0, 2.0, 4.0, 5.0]));
    assert_eq!(stack((tensor(1_i64), 2)), tensor([1_i64, 2]));
    assert_eq!(stack((tensor(1.0_f32), 2.0)), tensor([1.0_f32, 2.0]));
    assert_eq!(concat(0, (&a, b.clone(), &a * 2.0)), tensor([1.0, 2.0, 3.0, 4.0, 2.0, 4.0]));
    assert_eq!(concat(0, [a.clone(), b.clone()]), tensor([1.0, 2.0, 3.0, 4.0]));
    assert_eq!(concat(1, vec![rows.clone(), rows.clone()]).shape(), [2, 4]);
}

#[test]
fn indices_are_owned_borrowed_numbers_and_mixed() {
    fn read<T: BaseTensor>(x: &Tensor<T, 3>, i: &Tensor<T, 1, i64>) -> Vec<Tensor<T, 2>> {
        vec![
            x.gather((i, 1)),
            x.gather((i.clone(), &Tensor::full([3], 1))),
            x.gather([i.clone(), Tensor::full([3], 1)]),
            x.gather([i, &Tensor::full([3], 1)]),
            x.gather((i, 1_usize)),
        ]
    }
    let x = Tensor::<Concrete, 3>::from_fn([2, 2, 4], |[i, j, k]| (8 * i + 4 * j + k) as f64);
    let i = tensor([1, 0, 5]);
    let rows = stack([x.at([1, 1]), x.at([0, 1]), Tensor::zeros([4])]);
    for read in read(&x, &i).iter().chain(&Function::stage_with(read, &x, &i).run_with(&x, &i).unwrap()) {
        assert_eq!(*read, rows);
    }
    // A number comes first, and three; numbers alone are an index of rank 0.
    assert_eq!(x.gather((1, &i, 3)), tensor([15.0, 11.0, 0.0]));
    assert_eq!(x.gather([1, 1]), x.at([1, 1]));
    assert_eq!(x.gather((tensor(1), 0)), x.at((tensor(1), 0)));
    // Adding, whose derivative in what is added is reading.
    let zeros = || Tensor::<Concrete, 2>::zeros([2, 2]);
    let v = tensor([1.0, 2.0, 4.0]);
    assert_eq!(zeros().scatter_add((&i, 1), &v), tensor([[0.0, 2.0], [0.0, 1.0]]));
    assert_eq!(zeros().scatter_add((0, i.clone()), &v), tensor([[2.0, 1.0], [0.0, 0.0]]));
    assert_eq!(zeros().scatter_add((0, 1), &tensor(3.0)), tensor([[0.0, 3.0], [0.0, 0.0]]));
    let slope = grad(|v| (Tensor::zeros([2, 2]).scatter_add((&i.lift(), 1), v) * 3.0).sum(), &v);
    assert_eq!(slope, tensor([3.0, 3.0, 0.0]));
}

#[test]
fn a_tensor_is_taken_apart() {
    let m = tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]);
    let [a, b, c] = m.unstack();
    assert_eq!(stack((&a, &b, &c)), m);
    let [x, y] = b.unstack();
    assert_eq!((x.item(), y.item()), (3.0, 4.0));
    let [] = Tensor::<Concrete, 2>::zeros([0, 2]).unstack();
    fn rosenbrock<T: BaseTensor>(p: &Vector<T>) -> Scalar<T> {
        let [x, y] = p.unstack();
        (1.0 - &x).square() + 100.0 * (y - x.square()).square()
    }
    assert_eq!(grad(rosenbrock, &tensor([1.0, 2.0])), tensor([-400.0, 200.0]));
    // A pattern in a pattern.
    let [[a, b], [c, d]] = tensor([[1.0, 2.0], [3.0, 4.0]]).unstack().map(|row| row.unstack());
    assert_eq!(a * d - b * c, tensor(-2.0));
}

#[test]
fn branches_are_tensors_and_numbers() {
    let (yes, no) = (tensor(true), tensor(false));
    let (x, v) = (tensor(2.0), tensor([1.0, 4.0]));
    assert_eq!(cond(&yes, &v, &v * 2.0), v);
    assert_eq!(cond(no.clone(), &v, &v * 2.0), tensor([2.0, 8.0]));
    assert_eq!(cond(x.gt(0.0), &v, 0.0), v);
    assert_eq!(cond(x.lt(0.0), &v, 0.5), tensor([0.5, 0.5]));
    assert_eq!(cond(&no, 1.0, &v), v);
    assert_eq!(cond(&yes, x.square(), 0.0), tensor(4.0));
    let n: Tensor<_, 0, i64> = cond(&yes, 1, 0);
    assert_eq!(n, tensor(1));
    // The branch not taken sends nothing into a derivative.
    assert_eq!(grad(|x| cond(x.gt(0.0), x.sqrt(), 0.0), &tensor(0.0)), tensor(0.0));
    assert_eq!(grad(|x| cond(x.gt(0.0), x.sqrt(), 0.0), &tensor(4.0)), tensor(0.25));
}

#[test]
fn loops_start_with_numbers_and_borrowed_carries() {
    let p = tensor([1.0, 2.0, 3.0]);
    assert_eq!(fold(0.0, &p, |s, x| s * 0.5 + x), tensor(4.25));
    assert_eq!(fold(tensor(0.0), &p, |s, x| s * 0.5 + x), tensor(4.25));
    assert_eq!(fold(tensor(0.0), &p, |s, x| s * 0.5 + x), tensor(4.25));
    assert_eq!(fold(0, tensor([1, 2, 3]), |s, x| s + x), tensor(6));
    let start = (tensor(0.0), tensor([1.0, 1.0]));
    let (sum, last) = fold(&start, &p, |(s, v), x| (s + x, v * x));
    assert_eq!((sum, last), (tensor(6.0), tensor([6.0, 6.0])));
    let sums = scan(0.0, &p, |s, x| s + x);
    assert_eq!(sums, tensor([0.0, 1.0, 3.0, 6.0]));
    assert_eq!(map_accum(0.0, &p, |s, x| (&s + x, s * x)), (tensor(6.0), tensor([0.0, 2.0, 9.0])));
    assert_eq!(map_accum_reverse(0.0, &p, |s, x| (&s + x, s * x)), (tensor(6.0), tensor([5.0, 6.0, 0.0])));
    assert_eq!(iterate(3, tensor(1.0), |i, c| c * (i + 1).to_float()), tensor(6.0));
    let halved: Scalar<Concrete> = iterate(3, 1.0, |_, c| c * 0.5);
    assert_eq!(halved, tensor(0.125));
    assert_eq!(
        grad(|p| fold(0.0, p, |s, x| s * 0.5 + cond(x.gt(0.0), x.sin(), 0.0)), &tensor([0.0, -1.0])).to_vec(),
        [0.0, 0.0]
    );
}

#[test]
fn loops_run_over_ranges() {
    let p = tensor([1.0, 2.0, 4.0]);
    assert_eq!(fold(0.0, 0..3, |s, i| s + p.at([i])), tensor(7.0));
    assert_eq!(fold(0.0, 1..3, |s, i| s + p.at([i]) * i.to_float()), tensor(10.0));
    assert_eq!(scan(0.0, 1..3, |s, i| s + p.at([i])), tensor([0.0, 2.0, 6.0]));
    assert_eq!(scan(tensor(3.0), 2..2, |s, _| s), tensor([3.0]));
    assert_eq!(map(1..3, |i| p.at([i])), tensor([2.0, 4.0]));
    assert_eq!(zip_with(&p, 0..3, |x, i| x * i.to_float()), tensor([0.0, 2.0, 8.0]));
    assert_eq!(fold(0.0, (&p, 0..3), |s, (x, i)| s + x * i.to_float()), tensor(10.0));
    assert_eq!(map_accum(0.0, 0..3, |s, i| (&s + p.at([i]), s)), (tensor(7.0), tensor([0.0, 1.0, 3.0])));
    assert_eq!(grad(|p| fold(0.0, 1..3, |s, i| s + p.at((i - 1,)) * p.at([i])), &p), tensor([2.0, 5.0, 2.0]));
}

#[test]
fn all_states_of_a_loop_without_rows() {
    let states = iterate_all(3, tensor([1.0, 2.0]), |i, c| c * (i + 1).to_float());
    assert_eq!(states, tensor([[1.0, 2.0], [1.0, 2.0], [2.0, 4.0], [6.0, 12.0]]));
    let (x, v) = iterate_all(2, (tensor(1.0), tensor(0.0)), |_, (x, v)| (&x + &v, v - x));
    assert_eq!((x, v), (tensor([1.0, 1.0, 0.0]), tensor([0.0, -1.0, -2.0])));
    let none: Vector<Concrete> = iterate_all(0, 5.0, |_, c| c);
    assert_eq!(none, tensor([5.0]));
    let total = |x: &Scalar<_>| iterate_all(3, x, |_, c: Scalar<_>| c.square()).sum();
    // x + x^2 + x^4 + x^8
    assert_eq!(grad(total, &tensor(1.0)), tensor(15.0));
}

#[test]
fn a_range_is_recorded_as_counted_trips() {
    // The loop over a range vectorises like one over rows.
    let p = tensor([1.0, 2.0, 4.0]);
    let over_range = Function::stage(|p: &Vector<_>| map(0..3, |i| p.at([i]).sin()).sum(), &p);
    assert!(!over_range.optimized().to_string().contains("loop"), "{}", over_range.optimized());
    assert!(!over_range.optimized().to_string().contains("gather"), "{}", over_range.optimized());
}

#[test]
fn indices_mix_owned_borrowed_and_numbers() {
    let m = tensor([[1.0, 2.0], [3.0, 4.0]]);
    let (i, j) = (tensor(1), tensor(1));
    assert_eq!(m.at((&i - 1, &j)), tensor(2.0));
    assert_eq!(m.at((i.clone(), 0)), tensor(3.0));
    assert_eq!(m.at([&i - 1, j.clone()]), tensor(2.0));
    assert_eq!(m.at((&i,)), tensor([3.0, 4.0]));
}
