//! Choices by position become concatenations.
//!
//! Laws, for random programs of choices between formulas, by masks made of intervals of two axes: `choices` computes
//! the same to the bit, infinities and NaN included, and it neither works nor moves more; many choices are gone (the
//! others are as cheap as copying).

use polygrad::array::Rng;
use polygrad::inspect::{Cost, count};
use polygrad::ops::{Binary, Compare, Discrete, Linear, Unary};
use polygrad::passes::{optimize, simplify, split_index_sets};
use polygrad::program::{Builder, Constant, NodeId, Op, Program, Slot, interpret};
use polygrad::shape::Shape;
use polygrad::symbolic::{grad, jvp, vjp};
use polygrad::{Array, BaseTensor, Concrete, DType, Function, Tensor, Tree, build1, cond, iterate};

const SHAPE: [usize; 2] = [7, 5];

/// Values of several shapes.
struct Leaves<T>(Vec<T>);

impl<T: BaseTensor> Tree<T> for Leaves<T> {
    type With<U: BaseTensor> = Leaves<U>;
    fn map<U: BaseTensor>(&self, f: &mut dyn FnMut(&T) -> U) -> Leaves<U> {
        Leaves(self.0.iter().map(f).collect())
    }
    fn visit(&self, visitor: &mut dyn polygrad::tree::Visitor<T>) {
        for (k, leaf) in self.0.iter().enumerate() {
            visitor.enter(polygrad::tree::PathStep::Item(k));
            visitor.leaf(leaf);
            visitor.leave();
        }
    }
}

struct Maker {
    rng: Rng,
    b: Builder,
    /// Formulas so far.
    values: Vec<NodeId>,
    masks: Vec<NodeId>,
}

impl Maker {
    fn one(&mut self, of: &[NodeId]) -> NodeId {
        // Mostly one of the last, so that formulas grow.
        let back = self.rng.below(of.len().min(4));
        if self.rng.below(3) == 0 { of[self.rng.below(of.len())] } else { of[of.len() - 1 - back] }
    }

    fn value(&mut self) -> NodeId {
        let values = self.values.clone();
        self.one(&values)
    }

    /// A comparison of the position along an axis with a number; or two such masks together, or the opposite of one.
    fn mask(&mut self) -> NodeId {
        let masks = self.masks.clone();
        if masks.len() > 1 && self.rng.below(3) == 0 {
            let (op, arity) = [(Discrete::And, 2), (Discrete::Or, 2), (Discrete::Not, 1)][self.rng.below(3)].clone();
            let args: Vec<NodeId> = (0..arity).map(|_| self.one(&masks)).collect();
            return self.b.apply(Op::Discrete(op, args.into()));
        }
        let axis = self.rng.below(2);
        let n = SHAPE[axis];
        let iota = self.b.apply(Op::Discrete(Discrete::Iota { n }, [].as_slice().into()));
        let at = self.b.apply(Op::Constant(Constant(Array::full(&[n], self.rng.below(n + 1) as i64))));
        let compare = Discrete::Compare(Compare::ALL[self.rng.below(Compare::ALL.len())]);
        let mask = self.b.apply(Op::Discrete(compare, [iota, at].as_slice().into()));
        self.b.apply(Op::Linear(Box::new(Linear::replicate(&SHAPE, &[axis])), mask))
    }

    fn step(&mut self) {
        let (x, y) = (self.value(), self.value());
        let made = match self.rng.below(6) {
            0 => self.b.apply(Op::Unary([Unary::Exp, Unary::Sin, Unary::Recip][self.rng.below(3)], x)),
            1 => self.b.apply(Op::Binary([Binary::Add, Binary::Mul, Binary::Max][self.rng.below(3)], x, y)),
            2 => {
                let axis = self.rng.below(2);
                self.b.apply(Op::Linear(Box::new(Linear::reverse(&SHAPE, axis)), x))
            }
            _ => {
                let mask = self.mask();
                self.masks.push(mask);
                self.b.apply(Op::Select([mask, x, y]))
            }
        };
        self.values.push(made);
    }
}

fn program(seed: u64) -> Program {
    let mut b = Builder::new();
    let slot = |name: &str| Slot { name: name.into(), shape: Shape::from_slice(&SHAPE), dtype: DType::F64 };
    let values = ["x", "y", "z"].map(|name| b.input(slot(name))).to_vec();
    let mut maker = Maker { rng: Rng::new(seed), b, values, masks: Vec::new() };
    for _ in 0..4 + maker.rng.below(14) {
        maker.step();
    }
    let results: Vec<NodeId> = maker.values.iter().rev().take(2).copied().collect();
    maker.b.finish(&results, &[])
}

/// Numbers, among them some that are not.
fn inputs(program: &Program, seed: u64) -> Vec<Array> {
    let mut rng = Rng::new(seed);
    let special = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 0.0, -0.0];
    let mut draw = |_| if rng.below(6) == 0 { special[rng.below(5)] } else { rng.below(1000) as f64 / 300.0 - 1.5 };
    program
        .inputs()
        .iter()
        .map(|s| Array::new(&s.shape, (0..s.shape.iter().product()).map(&mut draw).collect()))
        .collect()
}

fn bits(values: &[Array]) -> Vec<u64> {
    let all = values.iter().flat_map(|a| a.to_vec::<f64>().expect("floats"));
    // There is one NaN.
    all.map(|x| if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() }).collect()
}

fn cost(program: &Program, inputs: Vec<Array>) -> Cost {
    count(|x: &Leaves<_>| Leaves(interpret(program, x.0.clone())), &Leaves(inputs)).1.total()
}

fn selects(program: &Program) -> usize {
    program.nodes().iter().filter(|node| matches!(node.op, Op::Select(_))).count()
}

#[test]
fn values_are_unchanged_and_nothing_gets_dearer() {
    let (mut before, mut after) = (0, 0);
    for seed in 0..200 {
        let simple = simplify(&program(seed));
        for program in [simple.clone(), simplify(&vjp(&simple))] {
            let chosen = split_index_sets(&program);
            let x = inputs(&program, seed);
            let (a, b) = (interpret(&program, x.clone()), interpret(&chosen, x.clone()));
            assert_eq!(bits(&a), bits(&b), "seed {seed}: {program}\nbecame {chosen}");
            let (now, then) = (cost(&program, x.clone()), cost(&simplify(&chosen), x));
            // Of a mask that several choices share, each counts on doing without.
            let dear = |now: u64, then: u64| then > now + now / 20;
            assert!(
                !dear(now.work, then.work) && !dear(now.bytes, then.bytes),
                "seed {seed}: {now:?} became {then:?}: {program}\nbecame {chosen}"
            );
            before += selects(&program);
            after += selects(&optimize(&program));
        }
    }
    assert!(before > 600 && 3 * after < 2 * before, "of {before} choices {after} remain");
}

/// A choice in a choice in a choice: each position is computed once.
#[test]
fn a_decision_list_computes_each_position_once() {
    let mut b = Builder::new();
    let x = b.input(Slot { name: "x".into(), shape: Shape::from_slice(&[9]), dtype: DType::F64 });
    let iota = b.apply(Op::Discrete(Discrete::Iota { n: 9 }, [].as_slice().into()));
    let mut y = x;
    for (k, f) in [(8, Unary::Sin), (5, Unary::Exp), (3, Unary::Cos), (1, Unary::Tanh)] {
        let at = b.apply(Op::Constant(Constant(Array::full(&[9], k))));
        let below = b.apply(Op::Discrete(Discrete::Compare(Compare::Lt), [iota, at].as_slice().into()));
        let f = b.apply(Op::Unary(f, x));
        y = b.apply(Op::Select([below, f, y]));
    }
    let program = b.finish(&[y], &[]);
    assert_eq!(
        simplify(&split_index_sets(&program)).to_string().lines().skip(1).map(str::trim).collect::<Vec<&str>>(),
        [
            "t0 = tanh (slice axis=0 0..1 x)",
            "t1 = cos (slice axis=0 1..3 x)",
            "t2 = exp (slice axis=0 3..5 x)",
            "t3 = concat axis=0 [t0, t1, t2, sin (slice axis=0 5..8 x), slice axis=0 8..9 x]",
            "return t3",
            "}"
        ]
    );
}

/// Steps of the heat equation with both kinds of boundary, written element by element.
fn heat<T: BaseTensor>(u: &Tensor<T, 1>, steps: usize) -> Tensor<T, 1> {
    let n = u.dim::<0>();
    iterate(steps, u.clone(), |_, u: Tensor<T, 1>| {
        build1(n, |i| {
            let around = u.at([&(i - 1)]) - u.at([i]) * 2.0 + u.at([&(i + 1)]);
            let [left, right] = [u.at([1]) * 0.5, u.at([n as i64 - 2])];
            cond(i.eq(0), &left, cond(i.eq(n as i64 - 1), &right, &(u.at([i]) + around * 0.2)))
        })
    })
}

/// What is made of positions leaves the bodies of loops; what is known of it is known inside all the same.
#[test]
fn positions_are_known_inside_of_loops() {
    fn wrong(program: &Program) -> usize {
        let wrong = |op: &Op<NodeId>| match op {
            Op::Loop(l) => wrong(&l.body),
            Op::Gather(..) | Op::ScatterAdd(..) | Op::Select(_) | Op::Discrete(..) => 1,
            Op::Input(_) | Op::Constant(_) | Op::Unary(..) | Op::Binary(..) | Op::Linear(..) => 0,
            Op::Contract(..) | Op::Reduce(..) | Op::Concat(..) | Op::Custom(..) => 0,
            Op::Call(..) | Op::Output(..) => 0,
        };
        program.nodes().iter().map(|node| wrong(&node.op)).sum()
    }
    let u: Tensor<Concrete, 1> = Tensor::from_raw(Array::uniform(&[10], 0.0, 1.0, 3));
    let f = Function::stage(|u: &Tensor<_, 1>| heat(u, 6).square().sum(), &u);
    for program in [f.program().clone(), grad(f.program()), jvp(f.program()), vjp(&grad(f.program()))] {
        let ready = optimize(&program);
        assert!(wrong(&program) > 0 && wrong(&ready) == 0, "{ready}");
        let inputs: Vec<Array> = program.inputs().iter().map(|s| Array::uniform(&s.shape, 0.5, 1.0, 4)).collect();
        for (a, b) in interpret(&program, inputs.clone()).iter().zip(interpret(&ready, inputs)) {
            let (a, b) = (a.to_vec::<f64>().expect("floats"), b.to_vec::<f64>().expect("floats"));
            assert!(a.iter().zip(&b).all(|(x, y)| (x - y).abs() < 1e-12 * (1.0 + x.abs())), "{ready}");
        }
    }
}
