//! The gallery: one list of objectives, for tests, benches and comparisons of programs.
//!
//! Law: an objective is an ordinary program, a function generic in `T: BaseTensor` with typed tensors, and a
//! row in the table of its file, which says where it is evaluated. A row makes a type of the function's
//! name that implements [`Objective`]; a function without a row is dead code, which rustc reports.
//!
//! | file | contents |
//! |---|---|
//! | `scalars` | functions of a few numbers, folds over them, deep sharing |
//! | `regression` | losses of linear models, mixtures, statistics |
//! | `networks` | dense, recurrent and convolutional networks, attention |
//! | `physics` | differential equations, derivatives inside of objectives |
//! | `matrices` | products, iterations and decompositions |
//! | `structure` | views, concatenation, high and zero rank, zero sizes |
//! | `indexing` | gather, scatter, integer arithmetic |
//! | `edges` | guards, kinks, choices, other element types |
//! | `statistics` | variances, norms of lines, order statistics, masks |
//! | `densities` | log densities, regressions, constrained parameters |
//! | `draws` | random draws: keys as data, derivatives in parameters |
//! | `rearranged` | rolls, tiles, differences, cross and Kronecker products, replaced elements |
//! | `losses` | activations, cross entropies, dropout |
//! | `layers` | layers of `nn` |
//! | `signals` | interpolation, Fourier transforms |
//! | `complex` | complex numbers |
//! | `gradbench` | the programs of the example `gradbench` |

// Every user of the gallery is a crate of its own.
#![allow(unreachable_pub)]

use polygrad::program::{Program, Term};
use polygrad::{Array, BaseTensor, Elem, Tensor, Tree};

/// Makes the type of each objective, and `each`, which visits them in order.
macro_rules! objectives {
    ($(
        $name:ident($($x:ident = $at:expr),* $(; $($d:ident = $given:expr),*)?) $({ $($item:item)* })?;
    )*) => {
        $(
            /// The objective of this name.
            #[allow(non_camel_case_types)]
            pub enum $name {}

            impl $crate::gallery::Objective for $name {
                const NAME: &'static str = stringify!($name);
                $($($item)*)?
                fn inputs() -> $crate::gallery::Leaves<polygrad::Array> {
                    $crate::gallery::Leaves(vec![$($at),*])
                }
                fn data() -> $crate::gallery::Leaves<polygrad::Array> {
                    $crate::gallery::Leaves(vec![$($($given),*)?])
                }
                fn eval<T: polygrad::BaseTensor>(
                    x: &$crate::gallery::Leaves<T>,
                    data: &$crate::gallery::Leaves<T>,
                ) -> polygrad::Tensor<T, 0> {
                    let mut arguments = x.0.iter().chain(&data.0);
                    $( let $x = $crate::gallery::typed(arguments.next()); )*
                    $($( let $d = $crate::gallery::typed(arguments.next()); )*)?
                    $name($(&$x,)* $($(&$d),*)?)
                }
            }
        )*

        /// Visits the objectives of this file.
        pub fn each(visitor: &mut impl $crate::gallery::Visitor) {
            $( visitor.visit::<$name>(); )*
        }
    };
}

pub mod complex;
pub mod densities;
pub mod draws;
pub mod edges;
pub mod gradbench;
pub mod indexing;
pub mod layers;
pub mod linalg;
pub mod losses;
pub mod matrices;
pub mod networks;
pub mod physics;
pub mod rearranged;
pub mod regression;
pub mod scalars;
pub mod signals;
pub mod statistics;
pub mod structure;

/// A scalar function, where it is evaluated, and what may be expected of it there.
#[allow(dead_code, reason = "not every user of the gallery looks at everything")]
pub trait Objective {
    /// The name of the function.
    const NAME: &'static str;
    /// Whether finite differences are valid: the function is smooth around its inputs and computed in `f64`.
    const SMOOTH: bool = true;
    /// How far the results of two interpreters may be apart, relative to the terms that are summed.
    const TOLERANCE: f64 = 1e-11;

    /// The arguments it is differentiated in: floats.
    fn inputs() -> Leaves<Array>;
    /// The other arguments, of any element type.
    fn data() -> Leaves<Array>;
    /// The function.
    fn eval<T: BaseTensor>(x: &Leaves<T>, data: &Leaves<T>) -> Tensor<T, 0>;
}

/// An objective at the interpreter that records. What a visitor does with it is compiled once, and not once for each objective.
#[allow(dead_code, reason = "not every user of the gallery records programs")]
pub struct Recorded {
    pub name: &'static str,
    pub smooth: bool,
    pub tolerance: f64,
    pub x: Leaves<Array>,
    pub data: Leaves<Array>,
    pub eval: fn(&Leaves<Term>, &Leaves<Term>) -> Tensor<Term, 0>,
}

#[allow(dead_code, reason = "not every user of the gallery records programs")]
impl Recorded {
    pub fn of<O: Objective>() -> Recorded {
        let (x, data) = (O::inputs(), O::data());
        Recorded { name: O::NAME, smooth: O::SMOOTH, tolerance: O::TOLERANCE, x, data, eval: O::eval }
    }

    /// All arguments.
    pub fn inputs(&self) -> Vec<Array> {
        [&self.x.0[..], &self.data.0].concat()
    }

    /// The program of the objective, as it is recorded, in arguments of these names, or of none.
    pub fn program(&self, names: &[String]) -> Program {
        let variables = |leaves: &Leaves<Array>| -> Vec<Term> {
            leaves.0.iter().map(|a| Term::variable(a.shape(), a.dtype())).collect()
        };
        let (x, data) = (variables(&self.x), variables(&self.data));
        let all = [&x[..], &data].concat();
        let y = (self.eval)(&Leaves(x), &Leaves(data)).into_raw();
        Term::program(&all, &[y], names).expect("a closed program")
    }
}

/// Something that is done with every objective.
pub trait Visitor {
    /// Does it with one.
    fn visit<O: Objective>(&mut self);
}

/// Visits every objective.
#[allow(dead_code)]
pub fn each(visitor: &mut impl Visitor) {
    scalars::each(visitor);
    regression::each(visitor);
    networks::each(visitor);
    physics::each(visitor);
    matrices::each(visitor);
    linalg::each(visitor);
    structure::each(visitor);
    indexing::each(visitor);
    edges::each(visitor);
    statistics::each(visitor);
    densities::each(visitor);
    rearranged::each(visitor);
    losses::each(visitor);
    layers::each(visitor);
    signals::each(visitor);
    draws::each(visitor);
    complex::each(visitor);
    gradbench::each(visitor);
}

/// Visits every objective, each family on a thread of its own, so that no test is the last to run for long: the visitors.
#[allow(dead_code)]
pub fn each_apart<V: Visitor + Default + Send>() -> Vec<V> {
    let families: [fn(&mut V); 18] = [
        scalars::each,
        regression::each,
        networks::each,
        physics::each,
        matrices::each,
        linalg::each,
        draws::each,
        structure::each,
        indexing::each,
        edges::each,
        statistics::each,
        densities::each,
        rearranged::each,
        losses::each,
        layers::each,
        signals::each,
        complex::each,
        gradbench::each,
    ];
    let visit = |family: fn(&mut V)| {
        let mut visitor = V::default();
        family(&mut visitor);
        visitor
    };
    std::thread::scope(|scope| {
        let threads = families.map(|family| scope.spawn(move || visit(family)));
        let ended = threads.into_iter().map(|thread| thread.join());
        ended.map(|visitor| visitor.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    })
}

/// The arguments of an objective: tensors of several ranks and element types.
#[derive(Clone, Debug, PartialEq)]
pub struct Leaves<T>(pub Vec<T>);

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

/// An argument with the type the function wants it to have.
fn typed<T: BaseTensor, const D: usize, E: Elem>(argument: Option<&T>) -> Tensor<T, D, E> {
    Tensor::from_raw(argument.expect("a row gives every argument").clone())
}

/// Numbers between -1 and 1.
fn real<const D: usize>(shape: [usize; D], seed: u64) -> Array {
    Array::uniform(&shape, -1.0, 1.0, seed)
}

/// Numbers between 0.5 and 2.
fn positive<const D: usize>(shape: [usize; D], seed: u64) -> Array {
    Array::uniform(&shape, 0.5, 2.0, seed)
}
