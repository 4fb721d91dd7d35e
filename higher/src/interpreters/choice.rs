//! Selection between functions by a mask that is not known while a program is traced.
//!
//! The tangent of a function is that of its captured values. Both functions run, and the mask selects between their
//! results. They capture different values, so the tangent of the selected function is the pair of both tangents, and
//! the mask selects one. Law: where the mask holds, the selected value and its pullback are the first ones, elsewhere
//! the second ones.

use polygrad::array::Array;
use polygrad::base::BaseTensor;
use polygrad::ops::Linear;

use super::value::{FunctionArray, Lin, Val};
use crate::shared::Shared;

/// The first value where the mask holds, the second elsewhere; and the linear functions from the tangent of the
/// selected value to those of the first and the second value.
pub(super) fn chosen<T: BaseTensor>(mask: &T, a: &Val<T>, b: &Val<T>) -> (Val<T>, [Lin<T>; 2]) {
    if !a.has_function() && !b.has_function() {
        return (Val::select(mask, a.clone(), b.clone()), [Lin::id(), Lin::id()]);
    }
    match (a, b) {
        (Val::Fun(_), _) | (_, Val::Fun(_)) => (function(mask, a.clone(), b.clone()), [Lin::fst(), Lin::snd()]),
        (Val::Pair(_), _) | (_, Val::Pair(_)) => {
            let (first, of_first) = chosen(mask, &a.fst(), &b.fst());
            let (second, of_second) = chosen(mask, &a.snd(), &b.snd());
            let [a, b] = of_first;
            let [c, d] = of_second;
            (Val::pair(first, second), [beside(a, c), beside(b, d)])
        }
        (Val::Left(_) | Val::Right(_) | Val::Either(_), _) | (_, Val::Left(_) | Val::Right(_) | Val::Either(_)) => {
            sum(mask, a, b)
        }
        // The tangent of an array of functions is an array of tangents.
        (Val::Many(_), _) | (_, Val::Many(_)) => {
            (FunctionArray::both(a, b, &|a, b| chosen(mask, &a, &b).0), [Lin::fst(), Lin::snd()])
        }
        (Val::Zero | Val::Nil | Val::Leaf(_) | Val::Scattered(_) | Val::Lin(_) | Val::Bag(_) | Val::Mono(_), _) => {
            unreachable!("a value with a function among its parts")
        }
    }
}

/// Two linear functions on the components of a pair.
fn beside<T: BaseTensor>(f: Lin<T>, g: Lin<T>) -> Lin<T> {
    Lin::pair(Lin::fst().then(f), Lin::snd().then(g))
}

/// The selected function. Its pullback gives the cotangents of both environments, and the selected cotangent of the
/// argument.
fn function<T: BaseTensor>(mask: &T, a: Val<T>, b: Val<T>) -> Val<T> {
    let mask = mask.clone();
    Val::fun(move |x| {
        let (ran, other) = (a.apply(x.clone()), b.apply(x));
        let (value, [of_ran, of_other]) = chosen(&mask, &ran.fst(), &other.fst());
        let both = Lin::pair(of_ran.then(ran.snd().lin()), of_other.then(other.snd().lin()));
        let environments = Lin::pair(Lin::fst().then(Lin::fst()), Lin::snd().then(Lin::fst()));
        let [left, right] = [Lin::fst().then(Lin::snd()), Lin::snd().then(Lin::snd())];
        let pullback = both.then(Lin::pair(environments, Lin::select(mask.clone(), left, right)));
        Val::Pair(Shared::new((value, Val::Lin(pullback))))
    })
}

/// `then` if the mask, a scalar, holds, else `otherwise`.
pub(super) fn choose<T: BaseTensor>(mask: &T, then: &T, otherwise: &T) -> T {
    let scalar = then.shape().is_empty();
    let wide = if scalar { mask.clone() } else { mask.linear(&Linear::replicate(then.shape(), &[])) };
    T::select(&wide, then, otherwise)
}

/// The parts of a value of a sum: the mask of the left case, and the values of the left and the right case.
pub(super) fn cases<T: BaseTensor>(v: &Val<T>) -> (T, Val<T>, Val<T>) {
    let truth = |b: bool| T::constant(Array::scalar(b));
    match v {
        Val::Left(v) => (truth(true), (**v).clone(), Val::Zero),
        Val::Right(v) => (truth(false), Val::Zero, (**v).clone()),
        Val::Either(e) => (**e).clone(),
        Val::Zero | Val::Nil | Val::Leaf(_) | Val::Pair(_) | Val::Fun(_) => (truth(true), Val::Zero, Val::Zero),
        Val::Scattered(_) | Val::Lin(_) | Val::Bag(_) | Val::Mono(_) | Val::Many(_) => {
            (truth(true), Val::Zero, Val::Zero)
        }
    }
}

fn sum<T: BaseTensor>(mask: &T, a: &Val<T>, b: &Val<T>) -> (Val<T>, [Lin<T>; 2]) {
    let ((of_a, left_a, right_a), (of_b, left_b, right_b)) = (cases(a), cases(b));
    let (left, [to_left_a, to_left_b]) = chosen(mask, &left_a, &left_b);
    let (right, [to_right_a, to_right_b]) = chosen(mask, &right_a, &right_b);
    let value = match (a, b) {
        (Val::Left(_), Val::Left(_)) => Val::Left(Shared::new(left)),
        (Val::Right(_), Val::Right(_)) => Val::Right(Shared::new(right)),
        _ => Val::Either(Shared::new((choose(mask, &of_a, &of_b), left, right))),
    };
    (value, [part(a.clone(), to_left_a, to_right_a), part(b.clone(), to_left_b, to_right_b)])
}

/// The linear function from a tangent of the selected value to that of `of`, one of the two values.
fn part<T: BaseTensor>(of: Val<T>, to_left: Lin<T>, to_right: Lin<T>) -> Lin<T> {
    Lin::operation(move |mode, v| {
        let (_, left, right) = cases(&v);
        match &of {
            Val::Left(_) => Val::Left(Shared::new(to_left.run(mode, left))),
            Val::Right(_) => Val::Right(Shared::new(to_right.run(mode, right))),
            Val::Either(e) => {
                Val::Either(Shared::new((e.0.clone(), to_left.run(mode, left), to_right.run(mode, right))))
            }
            Val::Zero
            | Val::Nil
            | Val::Leaf(_)
            | Val::Scattered(_)
            | Val::Pair(_)
            | Val::Fun(_)
            | Val::Lin(_)
            | Val::Bag(_)
            | Val::Mono(_)
            | Val::Many(_) => Val::Zero,
        }
    })
}
