//! Optics of the host language, and what copies, deletions and branches mean ("dP guide", sections I to III).

use std::rc::Rc;

use polygrad_higher::interpreters::optic::lens::{
    BranchPolicy, ByDeletion, Either, HiddenOptic, Optic, Policy, branch, copy, delete, join,
};

use super::agree::close;

/// Nested tuples of numbers.
#[derive(Clone, Debug, PartialEq)]
enum Tuple {
    Number(i64),
    Of(Vec<Tuple>),
}

fn pair(a: Tuple, b: Tuple) -> Tuple {
    Tuple::Of(vec![a, b])
}

fn get(t: &Tuple, path: &[usize]) -> Tuple {
    match (t, path) {
        (_, []) => t.clone(),
        (Tuple::Of(parts), [first, rest @ ..]) => get(&parts[*first - 1], rest),
        (Tuple::Number(_), _) => panic!("a number has no parts"),
    }
}

fn set(t: &Tuple, value: Tuple, path: &[usize]) -> Tuple {
    match (t, path) {
        (_, []) => value,
        (Tuple::Of(parts), [first, rest @ ..]) => {
            let mut parts = parts.clone();
            parts[*first - 1] = set(&parts[*first - 1], value, rest);
            Tuple::Of(parts)
        }
        (Tuple::Number(_), _) => panic!("a number has no parts"),
    }
}

type Lens<M> = Optic<M, Tuple, Tuple, Tuple, Tuple>;

/// Snippet 2.
fn set_index(at: usize) -> Lens<Tuple> {
    fast_set_index(vec![at])
}

/// Snippet 3: a path of indices, whose residual is the whole.
fn fast_set_index(path: Vec<usize>) -> Lens<Tuple> {
    let inner = path.clone();
    Optic::new(move |t: Tuple| (t.clone(), get(&t, &path)), move |t: Tuple, value| set(&t, value, &inner))
}

fn example() -> Tuple {
    pair(Tuple::Number(1), pair(Tuple::Number(2), Tuple::Number(3)))
}

fn more(t: Tuple) -> Tuple {
    match t {
        Tuple::Number(n) => Tuple::Number(n + 100),
        Tuple::Of(_) => panic!("a number"),
    }
}

#[test]
fn one_optic_has_different_residuals() {
    let (slow, fast) = (set_index(2).then(&set_index(1)), fast_set_index(vec![2, 1]));
    let (m, c) = slow.left(example());
    assert_eq!(c, Tuple::Number(2));
    assert_eq!(m, (example(), pair(Tuple::Number(2), Tuple::Number(3))));
    let (n, c) = fast.left(example());
    assert_eq!((n, c), (example(), Tuple::Number(2)));
    let expected = pair(Tuple::Number(1), pair(Tuple::Number(102), Tuple::Number(3)));
    // What they do is the same, through both interfaces.
    assert_eq!(slow.act(more, example()), expected);
    assert_eq!(fast.act(more, example()), expected);
    let (c, back) = fast.at(example());
    assert_eq!(back(more(c)), expected);
    // With hidden residuals, too; their types are seen by those who know them.
    let hidden: HiddenOptic<_, _, _, _> = set_index(2).hide().then(&set_index(1).hide());
    assert_eq!(hidden.act(more, example()), expected);
    let (c, back) = hidden.at(example());
    assert_eq!(back(more(c)), expected);
    assert_eq!(fast.hide().left(example()).0.inspect::<Tuple>(), Some(&example()));
}

/// `F(f); F(g) = F(f; g)` for the functor from paths to optics: by what they do, not by their residuals.
#[test]
fn the_functor_of_paths_keeps_composition() {
    let paths: [&[usize]; 4] = [&[], &[2], &[2, 1], &[1]];
    for f in paths {
        for g in paths {
            let whole: Vec<usize> = f.iter().chain(g).copied().collect();
            let fits = std::panic::catch_unwind(|| get(&example(), &whole)).is_ok();
            if !fits {
                continue;
            }
            let both = fast_set_index(f.to_vec()).then(&fast_set_index(g.to_vec()));
            let one = fast_set_index(whole);
            let replaced = |_| Tuple::Number(7);
            assert_eq!(both.act(replaced, example()), one.act(replaced, example()));
        }
    }
}

#[test]
fn composition_is_associative() {
    let (f, g, h) = (set_index(2), set_index(1), fast_set_index(vec![]));
    let left = f.then(&g).then(&h);
    let right = f.then(&g.then(&h));
    assert_eq!(left.act(more, example()), right.act(more, example()));
}

/// The price and the name of a part.
type Priced = (f64, String);

fn part(name: &'static str, cost: f64) -> Optic<(), Priced, f64, Priced, f64> {
    Optic::new(
        move |(price, input): Priced| ((), (price + cost, format!("{name}({input})"))),
        move |(), profit| profit - cost * 1.3,
    )
}

/// Two parts put together: profits are shared in proportion to prices.
fn assembly(name: &'static str, cost: f64) -> Optic<(f64, f64), (Priced, Priced), (f64, f64), Priced, f64> {
    Optic::new(
        move |((p, a), (q, b)): (Priced, Priced)| ((p, q), (p + q + cost, format!("{name}({a}, {b})"))),
        |(p, q), profit| (profit * p / (p + q), profit * q / (p + q)),
    )
}

/// Section III.A: `widget(sweat, love) = C(A(sweat), B(love))`.
#[test]
fn the_price_of_a_widget() {
    let make = part("A", 10.0).beside(&part("B", 20.0)).then(&assembly("C", 30.0));
    let (made, back) = make.at(((1.0, "sweat".into()), (2.0, "love".into())));
    assert_eq!(made, (63.0, "C(A(sweat), B(love))".into()));
    let (sweat, love) = back(100.0);
    close("profit", &[sweat, love], &[100.0 / 3.0 - 13.0, 200.0 / 3.0 - 26.0], 1e-12);
    close("shares", &[sweat, love], &[20.0 + 1.0 / 3.0, 40.0 + 2.0 / 3.0], 1e-12);
}

/// Who pays for a copy (section III.C).
struct EachPays;
struct FixedFee;
struct Pirate;

impl Policy<f64, f64> for EachPays {
    fn split(&self, price: f64) -> (f64, f64) {
        (price, price)
    }
    fn merge(&self, a: f64, b: f64) -> f64 {
        a + b
    }
    fn discard(&self, price: f64) {
        assert_eq!(price, 0.0, "Who's gonna pay for that?");
    }
    fn restore(&self) -> f64 {
        0.0
    }
}

impl Policy<f64, f64> for FixedFee {
    fn split(&self, _: f64) -> (f64, f64) {
        (1.0, 1.0)
    }
    fn merge(&self, a: f64, b: f64) -> f64 {
        a + b
    }
    fn discard(&self, _: f64) {}
    fn restore(&self) -> f64 {
        0.0
    }
}

impl Policy<f64, f64> for Pirate {
    fn split(&self, _: f64) -> (f64, f64) {
        (0.0, 0.0)
    }
    fn merge(&self, _: f64, _: f64) -> f64 {
        0.0
    }
    fn discard(&self, _: f64) {}
    fn restore(&self) -> f64 {
        0.0
    }
}

/// One program, `C(A(d), B(d))` with a copied input, by three policies.
fn with_copy(policy: impl Policy<f64, f64>) -> (f64, f64) {
    let cost = |c: f64| Optic::new(move |p: f64| ((), p + c), move |(), profit: f64| profit - c);
    let policy = Rc::new(policy);
    let shared = copy(&policy).then(&cost(10.0).beside(&cost(20.0)));
    let sum = Optic::new(
        |(p, q): (f64, f64)| ((p, q), p + q),
        |(p, q), profit: f64| (profit * p / (p + q), profit * q / (p + q)),
    );
    let (price, back) = shared.then(&sum).at(3.0);
    (price, back(100.0))
}

#[test]
fn copies_and_deletions_follow_a_policy() {
    assert_eq!(with_copy(EachPays), (36.0, 70.0));
    assert_eq!(with_copy(FixedFee), (32.0, 70.0));
    assert_eq!(with_copy(Pirate), (30.0, 0.0));
    let free = delete(&Rc::new(EachPays));
    assert_eq!(free.act(|()| (), 0.0), 0.0);
    let dear = std::panic::catch_unwind(|| delete(&Rc::new(EachPays)).left(5.0));
    assert!(dear.is_err(), "what costs something is not thrown away");
    assert_eq!(delete(&Rc::new(Pirate)).act(|()| (), 5.0), 0.0);
}

/// One of both pays, by a coin (Snippet 11).
struct HotPotato(std::cell::Cell<u64>);

impl Policy<f64, f64> for HotPotato {
    fn split(&self, price: f64) -> (f64, f64) {
        let state = self.0.get().wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0.set(state);
        if state >> 63 == 0 { (price, 0.0) } else { (0.0, price) }
    }
    fn merge(&self, a: f64, b: f64) -> f64 {
        a + b
    }
    fn discard(&self, _: f64) {}
    fn restore(&self) -> f64 {
        0.0
    }
}

/// Prices of three copies, made in either order.
fn three_copies(policy: &Rc<impl Policy<f64, f64>>, first_again: bool) -> [f64; 3] {
    let same = || Optic::new(|p: f64| ((), p), |(), profit: f64| profit);
    if first_again {
        let ((a, b), c) = copy(policy).then(&copy(policy).beside(&same())).left(3.0).1;
        [a, b, c]
    } else {
        let (a, (b, c)) = copy(policy).then(&same().beside(&copy(policy))).left(3.0).1;
        [a, b, c]
    }
}

/// Exactly one participant pays for a copy, whatever the coin says; but who does depends on the order of copies, so
/// programs that are one in SSA form differ, which the first two policies rule out.
#[test]
fn a_hot_potato_depends_on_the_order_of_copies() {
    let mut orders = Vec::new();
    for seed in 0..20_u64 {
        let potato = || HotPotato(std::cell::Cell::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15)));
        assert_eq!(with_copy(potato()).0, 33.0, "the price is paid once");
        let profits = copy(&Rc::new(potato())).act(|_| (30.0, 40.0), 3.0);
        assert_eq!(profits, 70.0);
        let [one, other] = [true, false].map(|first_again| three_copies(&Rc::new(potato()), first_again));
        assert_eq!((one.iter().sum::<f64>(), other.iter().sum::<f64>()), (3.0, 3.0));
        orders.push(one == other);
    }
    assert!(orders.contains(&false), "the order of copies is seen");
    for first_again in [true, false] {
        assert_eq!(three_copies(&Rc::new(EachPays), first_again), [3.0; 3]);
    }
}

/// The price of the condition, in proportion to those of the inputs (Snippet 13).
struct Smeared;

impl BranchPolicy<Vec<f64>, f64, (f64, bool), f64> for Smeared {
    type Kept = f64;
    fn part(&self, prices: Vec<f64>, (price, holds): (f64, bool)) -> (f64, bool, Vec<f64>) {
        let total: f64 = prices.iter().sum();
        (price, holds, prices.into_iter().map(|p| p * (1.0 + price / total)).collect())
    }
    fn rejoin(&self, price: f64, profit: f64) -> (f64, f64) {
        (profit - price, price)
    }
}

/// What goes back for a condition that no one may look at.
struct Poison;

impl Policy<bool, f64> for Poison {
    fn split(&self, c: bool) -> (bool, bool) {
        (c, c)
    }
    fn merge(&self, a: f64, b: f64) -> f64 {
        a + b
    }
    fn discard(&self, _: bool) {}
    fn restore(&self) -> f64 {
        f64::NAN
    }
}

#[test]
fn branches_follow_a_policy() {
    let smeared = branch(&Rc::new(Smeared));
    let (prices, back) = smeared.at((vec![1.0, 3.0], (2.0, true)));
    assert_eq!(prices, Either::Left(vec![1.5, 4.5]));
    assert_eq!(back(Either::Left(10.0)), (8.0, 2.0));
    let poisoned = branch(&Rc::new(ByDeletion(Poison)));
    let (value, back) = poisoned.at((5.0, false));
    assert_eq!(value, Either::Right(5.0));
    let (back, poison) = back(Either::Right(7.0));
    assert!(back == 7.0 && poison.is_nan());
}

struct Conditions;

impl Policy<bool, &'static str> for Conditions {
    fn split(&self, c: bool) -> (bool, bool) {
        (c, c)
    }
    fn merge(&self, _: &'static str, _: &'static str) -> &'static str {
        "nothing"
    }
    fn discard(&self, _: bool) {}
    fn restore(&self) -> &'static str {
        "nothing"
    }
}

/// Equations 9 and 10: the branch that ran is in the residual.
#[test]
fn coproducts_remember_the_branch() {
    let scaled = |by: f64| Optic::new(move |x: f64| (x, x * x * by), move |x, d: f64| 2.0 * x * by * d);
    let both = branch(&Rc::new(ByDeletion(Conditions))).then(&scaled(1.0).or(&scaled(10.0))).then(&join());
    let (y, back) = both.at((3.0, true));
    assert_eq!((y, back(1.0)), (9.0, (6.0, "nothing")));
    let (y, back) = both.at((3.0, false));
    assert_eq!((y, back(1.0)), (90.0, (60.0, "nothing")));
    let ((((), ran), history), _) = both.left((3.0, false));
    assert_eq!((ran, history), (Either::Right(3.0), Either::Right(())));
}
