//! Subarrays that are replaced: a compiled program writes them in place, and nothing if an index is out of bounds.
//!
//! Law: the results are those of the selection that `set` is; an array that another operation reads later keeps its elements.

use polygrad::backend::compile;
use polygrad::ops::Linear;
use polygrad::passes::optimize;
use polygrad::program::{Program, Term, interpret};
use polygrad::{Array, BaseTensor, Concrete, DType, Function, Tensor, fold, symbolic, tensor};

type Vector<T> = Tensor<T, 1>;
type Matrix<T> = Tensor<T, 2>;
type Index<T> = Tensor<T, 0, i64>;

/// The results by running and compiled, which are equal.
#[track_caller]
fn agree(program: &Program, x: &[Array], what: &str) -> Vec<Array> {
    let expected = interpret(program, x.to_vec());
    assert_eq!(compile(program).run(x), expected, "{what}");
    assert_eq!(compile(&optimize(program)).run(x), expected, "{what}, optimized");
    expected
}

/// How many subarrays a compiled program writes in place.
fn written(program: &Program) -> usize {
    compile(&optimize(program)).explain().to_string().matches("set of a block of").count()
}

fn program(inputs: &[(&[usize], DType)], f: impl Fn(&[Term]) -> Vec<Term>) -> Program {
    let x: Vec<Term> = inputs.iter().map(|(shape, dtype)| Term::variable(shape, *dtype)).collect();
    Term::program(&x, &f(&x), &[]).expect("a closed program")
}

const INDICES: [i64; 6] = [0, 3, 39, 40, -1, i64::MIN];

#[test]
fn subarrays_of_any_rank_are_replaced() {
    let whole = Array::from((0..480).map(f64::from).collect::<Vec<f64>>());
    let new = Array::from((0..480).map(|k| -f64::from(k) - 0.5).collect::<Vec<f64>>());
    let of =
        |a: &Array, shape: &[usize]| Array::new(shape, a.to_vec::<f64>().unwrap()[..shape.iter().product()].to_vec());
    for i in INDICES {
        for j in [0, 2, 3, -1] {
            let (i, j) = (Array::scalar(i), Array::scalar(j));
            // One index: a row, an element; two: an element, a row; a number for all elements.
            let row = program(&[(&[40, 3], DType::F64), (&[3], DType::F64), (&[], DType::I64)], |t| {
                let x = Matrix::from_raw(t[0].clone());
                vec![x.set([&Index::from_raw(t[2].clone())], &Vector::from_raw(t[1].clone())).into_raw()]
            });
            agree(&row, &[of(&whole, &[40, 3]), of(&new, &[3]), i.clone()], "a row");
            assert_eq!(written(&row), 1, "{}", compile(&optimize(&row)).explain());
            let element = program(&[(&[40], DType::F64), (&[], DType::F64), (&[], DType::I64)], |t| {
                let x = Vector::from_raw(t[0].clone());
                vec![x.set([&Index::from_raw(t[2].clone())], &Tensor::<_, 0>::from_raw(t[1].clone())).into_raw()]
            });
            agree(&element, &[of(&whole, &[40]), Array::scalar(7.5), i.clone()], "an element");
            assert_eq!(written(&element), 1);
            let inner =
                program(&[(&[40, 3, 4], DType::F64), (&[4], DType::F64), (&[], DType::I64), (&[], DType::I64)], |t| {
                    let x = Tensor::<Term, 3>::from_raw(t[0].clone());
                    let ix = [&Index::from_raw(t[2].clone()), &Index::from_raw(t[3].clone())];
                    vec![x.set(ix, &Vector::from_raw(t[1].clone())).into_raw()]
                });
            agree(&inner, &[of(&whole, &[40, 3, 4]), of(&new, &[4]), i.clone(), j.clone()], "a row of a row");
            assert_eq!(written(&inner), 1);
            let filled = program(&[(&[40, 3], DType::F64), (&[], DType::I64)], |t| {
                let x = Matrix::from_raw(t[0].clone());
                vec![x.set([&Index::from_raw(t[1].clone())], &Tensor::full([3], 2.5)).into_raw()]
            });
            agree(&filled, &[of(&whole, &[40, 3]), i], "a number for all elements");
        }
    }
}

#[test]
fn other_readers_keep_the_array() {
    let both = program(&[(&[40], DType::F64), (&[], DType::I64)], |t| {
        let (x, i) = (Vector::from_raw(t[0].clone()).sin(), Index::from_raw(t[1].clone()));
        let y = x.set([&i], &x.sum());
        let z = y.set([&(&i + 1)], &y.at([&i]).cos());
        vec![y.into_raw(), z.into_raw(), (&x * 2.0).into_raw()]
    });
    for i in INDICES {
        agree(&both, &[Array::full(&[40], 0.25), Array::scalar(i)], "arrays that are read later");
    }
    // The mask is a result, too.
    let masked = program(&[(&[40], DType::F64), (&[], DType::I64)], |t| {
        let x = Vector::from_raw(t[0].clone());
        let hit = Tensor::<Term, 1, i64>::iota(40).eq(&Index::from_raw(t[1].clone()).replicate(40));
        vec![hit.select(&Tensor::full([40], 9.0), &x).into_raw(), hit.into_raw()]
    });
    agree(&masked, &[Array::full(&[40], 0.25), Array::scalar(4_i64)], "a mask that is a result");
}

/// A table that is filled row by row, each from the rows before, and its derivative.
#[test]
fn a_loop_fills_an_array_in_place() {
    fn table<T: BaseTensor>(x: &Vector<T>) -> Matrix<T> {
        let start = Tensor::<T, 2>::zeros([50, 4]).set([0], x);
        fold(start, &Tensor::<T, 1, i64>::constant((1..50).collect::<Vec<i64>>()), |all: Matrix<T>, k: &Index<T>| {
            let before = all.at([&(k - 1)]);
            all.set([k], &(before.sin() + 0.1))
        })
    }
    let f = Function::stage(table, &tensor([0.1, 0.2, 0.3, 0.4]));
    assert_eq!(written(f.program()), 1, "{}", f.explain());
    let x = tensor([0.5, -0.2, 1.5, 3.0]);
    assert!((f.run(&x).expect("the same shapes") - table(&x)).abs().sum().item() < 1e-12);
    let loss = Function::stage(|x: &Vector<_>| table(x).square().sum(), &x);
    let gradient = symbolic::grad(loss.program());
    let slope = compile(&gradient).run(&[x.raw().clone()]).remove(0);
    let direct = polygrad::direct::grad(|x: &Vector<_>| table(x).square().sum(), &x);
    let near = |a: f64, b: f64| (a - b).abs() < 1e-12;
    let found = Tensor::<Concrete, 1>::from_raw(slope).to_vec();
    assert!(found.iter().zip(direct.to_vec()).all(|(a, b)| near(*a, b)), "{found:?} is not {direct}");
}

/// All element types.
#[test]
fn elements_of_any_type_are_replaced() {
    for (dtype, whole, new) in [
        (DType::F32, Array::full(&[40], 1.5f32), Array::scalar(2.5f32)),
        (DType::I64, Array::full(&[40], 3_i64), Array::scalar(i64::MIN)),
        (DType::Bool, Array::full(&[40], false), Array::scalar(true)),
    ] {
        let set = program(&[(&[40], dtype), (&[], dtype), (&[], DType::I64)], |t| {
            let hit = Tensor::<Term, 1, i64>::iota(40).eq(&Index::from_raw(t[2].clone()).replicate(40)).into_raw();
            vec![Term::select(&hit, &t[1].linear(&Linear::replicate(&[40], &[])), &t[0])]
        });
        assert_eq!(written(&set), 1, "{dtype}");
        for i in INDICES {
            agree(&set, &[whole.clone(), new.clone(), Array::scalar(i)], "an element");
        }
    }
}
