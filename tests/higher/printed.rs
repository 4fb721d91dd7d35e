//! Programs as text: the figures of "CHAD" as printed programs, their sizes, and the simplifications of its Table 1.

use std::collections::BTreeSet;

use polygrad::tree::Tree;
use polygrad::{Array, tensor};
use polygrad_higher::interpreters::{Forward, Lambda, Reverse, Run, Syntax};
use polygrad_higher::{
    self as higher, Arrays, Ccc, Expr, Ground, Obj, Prod, Real, Vector, case, fun1, inl, lam, map, tup,
};

use super::agree::{close, moved, numbers};
use super::both::{Everywhere, Has, to_second_order, with_texts};
use super::{gallery, random};

#[track_caller]
fn prints(term: &Lambda, expected: &str) {
    let text = term.simplify().to_string();
    assert_eq!(text, expected.trim_matches('\n'), "printed:\n{text}");
}

/// Fig. 1(c), with names in order of appearance: `t1` is y, `t3` is x', `t4` is y', `t5` is z'.
#[test]
fn fig_1c() {
    let expected = r"
\x ->
  let t1 = 2.0 * x
      t2 = x * t1
  in <<<t1, t2>, cos t2>, \t3 ->
       let t4 = 2.0 * t3
           t5 = t1 * t3 + x * t4
       in <<t4, t5>, neg (t5 * sin t2)>>
";
    prints(&to_second_order(gallery::fig_1a()).at::<Forward<Syntax>, _>().hom().term(), expected);
}

/// Fig. 1(d) and Fig. 9(b): `t1` is y, `t2` is w, `t3` is v', `t4` is w' (and z'), `t5` is y'. The copy of `x4` has
/// become an addition.
#[test]
fn fig_1d() {
    let expected = r"
\x1 x2 x3 x4 ->
  let t1 = x1 * x4 + 2.0 * x2
      t2 = t1 * x3 + x4
  in <sin t2, \t3 ->
       let t4 = t3 * cos t2
           t5 = x3 * t4
       in <<<x4 * t5, 2.0 * t5>, t1 * t4>, t4 + x1 * t5>>
";
    prints(&to_second_order(gallery::fig_1b()).at::<Reverse<Syntax>, _>().hom().term(), expected);
}

/// Fig. 2(c): the derivative of `replicate`, which is linear, stands for itself.
#[test]
fn fig_2c() {
    let expected = r"
\x ->
  let t1 = replicate 3 x
  in <map (\t2 -> x * t2 + 1.0) t1, \t3 -> map (\t4 -> t4 * t3) t1 + zipWith (\t5 -> \t6 -> x * t6) t1 (D[replicate 3] x t3)>
";
    prints(&to_second_order(gallery::fig_2a()).at::<Forward<Syntax>, _>().hom().term(), expected);
}

/// Fig. 2(d): `t4` is ys'. The copower of `f'` is a `zip`, and no list of pairs is built when it runs.
#[test]
fn fig_2d() {
    let expected = r"
\x1 x2 ->
  let t2 = map (\t1 -> x1 * t1) x2
  in <sum t2, \t3 ->
       let t4 = D[sum]^t t2 t3
       in <sum (\t5 -> \t6 -> t5 * t6) (zip x2 t4), zipWith (\t7 -> \t8 -> x1 * t8) x2 t4>>
";
    prints(&to_second_order(gallery::fig_2b()).at::<Reverse<Syntax>, _>().hom().term(), expected);
}

/// The first-order program of Fig. 2(d): the copower is compiled away ("CHAD", section 9.4).
#[test]
fn copowers_are_compiled_away() {
    use polygrad::program::Term;
    let like = (tensor(0.0), tensor([0.0; 3]));
    let program = higher::stage_grad_by(to_second_order(gallery::fig_2b()).at::<Reverse<Run<Term>>, _>(), &like);
    let expected =
        "program(x0: f64, x1: f64[3]) {\n  return (contract [i<3] x1[i] * x0[] -> [], sum x1, replicate [3] x0)\n}";
    assert_eq!(program.to_string(), expected);
}

/// The sizes of a program, and of its transformations, unsimplified.
macro_rules! sizes {
    ($($program:ident)*) => { [$((
        stringify!($program),
        sizes_of(&to_second_order(gallery::$program())),
    ),)*] };
}

/// The sizes of a program and of its derivatives backwards and forwards, as texts.
fn sizes_of<P, A: Obj, B: Obj, I, J, K>(program: &Everywhere<P, A, B>) -> [usize; 3]
where
    P: Has<Syntax, I> + Has<Reverse<Syntax>, J> + Has<Forward<Syntax>, K>,
{
    [
        program.at::<Syntax, _>().hom().size(),
        program.at::<Reverse<Syntax>, _>().hom().size(),
        program.at::<Forward<Syntax>, _>().hom().size(),
    ]
}

/// The largest factor by which a transformation makes a combinator larger.
pub(super) const FACTOR: usize = 20;

/// "CHAD", Corollary 7.2.
#[test]
fn code_does_not_explode() {
    let sizes = sizes! { fig_1a fig_1b fig_2a fig_2b twice composed nested chosen absolute repeated power captured pairwise
    escaping network pair_fold indexed scattered polynomial quadratic map_quadratic unused };
    for (name, [source, reverse, forward]) in sizes {
        assert!(reverse <= FACTOR * source, "{name}: {source} to {reverse} in reverse mode");
        assert!(forward <= FACTOR * source, "{name}: {source} to {forward} in forward mode");
    }
    for seed in 0..100 {
        let [source, reverse, forward] = sizes_of(&with_texts(random::at(seed)));
        assert!(reverse.max(forward) <= FACTOR * source, "program {seed}: {source} to {reverse} and {forward}");
    }
}

/// The term of a reverse derivative, simplified or not, has the gradient of the program, and so for forward mode.
fn check<A: Ground>(what: &str, back: &Lambda, along: &Lambda, x: &A::Value<Array>, expected: &[f64], slope: f64)
where
    A::Value<Array>: Tree<Array, With<Array> = A::Value<Array>>,
{
    let inputs = x.leaves();
    let direction = moved(x, 0.0).0;
    for (form, back, along) in
        [("unsimplified", back.clone(), along.clone()), ("simplified", back.simplify(), along.simplify())]
    {
        let leaves = back.linear::<Real, A>(&inputs, &tensor(1.0));
        let filled: Vec<f64> = leaves
            .into_iter()
            .zip(&inputs)
            .flat_map(|(leaf, x)| leaf.map_or(vec![0.0; x.size()], |leaf| leaf.to_vec::<f64>().expect("floats")))
            .collect();
        close(&format!("{what}, {form}"), &filled, expected, 1e-11);
        let tangent =
            along.linear::<A, Real>(&inputs, &direction)[0].as_ref().map_or(0.0, |t| t.item().expect("a number"));
        close(&format!("{what}, {form}, forward"), &[tangent], &[slope], 1e-11);
    }
}

macro_rules! terms {
    ($($program:ident at $x:expr;)*) => { $({
        let x = $x;
        let program = to_second_order(gallery::$program());
        let (_, gradient) = higher::value_and_grad_by(program.at::<Reverse<Run<Array>>, _>(), &x);
        let expected = numbers(&gradient);
        let slope = expected.iter().zip(numbers(&moved(&x, 0.0).0)).map(|(g, d)| g * d).sum();
        let back = program.at::<Reverse<Syntax>, _>().hom().term();
        let along = program.at::<Forward<Syntax>, _>().hom().term();
        fn input<C: Ccc, A: Ground>(_: &Expr<C, A, Real>, back: &Lambda, along: &Lambda, x: &A::Value<Array>, g: &[f64], s: f64)
        where
            A::Value<Array>: Tree<Array, With<Array> = A::Value<Array>>,
        {
            check::<A>(stringify!($program), back, along, x, g, s);
        }
        input(&program.at::<Syntax, _>(), &back, &along, &x, &expected, slope);
    })* };
}

/// Simplification changes no value, and terms have the values of the evaluating instance.
#[test]
fn terms_have_the_values_of_programs() {
    terms! {
        fig_1b at (((tensor(0.7), tensor(-0.3)), tensor(1.1)), tensor(0.4));
        fig_2b at (tensor(3.0), tensor([1.0, 2.0, 5.0]));
        twice at (tensor(0.7), tensor(1.3));
        composed at (tensor(0.7), tensor(1.3));
        nested at (tensor(0.7), tensor(1.3));
        chosen at (tensor(0.7), tensor(1.3));
        absolute at tensor(-2.0);
        repeated at (tensor(1.7), tensor(0.9));
        power at (tensor(1.2), tensor(0.9));
        captured at (tensor([0.3, -0.5, 0.8]), tensor(0.9));
        pairwise at (tensor([0.3, -0.5, 0.8]), tensor([0.1, 0.7]));
        escaping at (tensor([0.3, -0.5, 0.8]), tensor(0.9));
        pair_fold at ((tensor(0.8), tensor(1.2)), tensor([0.3, -0.5, 0.8]));
        indexed at (tensor([0.3, -0.5, 0.8]), tensor([1.0, 2.0, 3.0]));
        quadratic at tensor(1.5);
        polynomial at tensor(1.5);
        cube at tensor(1.5);
        slid at tensor(1.5);
        add_copy at tensor(1.5);
        added at (tensor(0.7), tensor(1.3));
        unused at (tensor(0.7), tensor(1.3));
    }
}

/// The same for random programs, and every rule of Table 1 is used.
#[test]
fn simplification_keeps_random_programs() {
    let (x, mut used) = ((tensor(0.7), tensor(-0.4)), BTreeSet::new());
    let direction = numbers(&moved(&x, 0.0).0);
    for seed in 0..40 {
        let program = with_texts(random::small(seed));
        let (_, gradient) = higher::value_and_grad_by(program.at::<Reverse<Run<Array>>, _>(), &x);
        let expected = numbers(&gradient);
        let slope = expected.iter().zip(&direction).map(|(g, d)| g * d).sum();
        let back = program.at::<Reverse<Syntax>, _>().hom().term();
        let along = program.at::<Forward<Syntax>, _>().hom().term();
        used.extend(back.rules_used());
        used.extend(along.rules_used());
        check::<Prod<Real, Real>>(&format!("program {seed}"), &back, &along, &x, &expected, slope);
    }
    used.extend(known_case::<Syntax>().hom().term().rules_used());
    used.extend(map_of_pairs::<Syntax>().hom().term().rules_used());
    let unused: Vec<&str> = Lambda::rules().into_iter().filter(|rule| !used.contains(rule)).collect();
    assert_eq!(unused, Vec::<&str>::new(), "rules that nothing needs");
}

/// A case that is known.
fn known_case<C: Arrays>() -> Expr<C, Real, Real> {
    fun1(|x| case(inl(x.at()), |y| y.at() * x.at(), |z| z.at()))
}

/// Pairs of elements.
fn map_of_pairs<C: Arrays>() -> Expr<C, Vector, Prod<Vector, Vector>> {
    fun1(|xs| map(lam(|x| tup(x.at().sin(), x.at() * 2.0)), xs.at()))
}

#[test]
fn simplifications_of_cases_and_pairs() {
    prints(&known_case::<Syntax>().hom().term(), "\\x ->\n  x * x");
    let expected = "\\x ->\n  <map (\\t1 -> sin t1) x, map (\\t2 -> t2 * 2.0) x>";
    prints(&map_of_pairs::<Syntax>().hom().term(), expected);
    let term = map_of_pairs::<Syntax>().hom().term();
    let inputs = [Array::from([0.5, 1.5])];
    type Both = Prod<Vector, Vector>;
    assert_eq!(term.run::<Both>(&inputs), term.simplify().run::<Both>(&inputs));
}

/// Some instance of each class: this compiles only if the syntax is a target for both transformations.
fn _instances<C: Arrays>() {}
const _: fn() = || {
    _instances::<Reverse<Syntax>>();
    _instances::<Forward<Syntax>>();
};
