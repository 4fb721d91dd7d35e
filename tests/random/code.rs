//! Recipes printed as the Rust code that makes them, to be pasted into `regressions`.
//!
//! Law: the code makes an equal recipe; each regression checks it by printing itself.

use std::fmt;

use polygrad::DType;
use polygrad::ops::{Binary, Compare, Contract, Discrete, FloatStep, IntBinary, IntUnary, Linear, Unary, View};

use crate::recipe::{Loop, Numbers, Recipe, Step};

/// What can be printed as the expression that makes it.
trait Code {
    fn code(&self) -> String;
}

macro_rules! by_name {
    ($($Type:ident)*) => {
        $(impl Code for $Type {
            fn code(&self) -> String {
                format!("{}::{self:?}", stringify!($Type))
            }
        })*
    };
}

by_name!(DType Unary Binary Compare FloatStep IntUnary IntBinary);

impl Code for usize {
    fn code(&self) -> String {
        self.to_string()
    }
}

impl<X: Code> Code for Vec<X> {
    fn code(&self) -> String {
        format!("vec![{}]", self.iter().map(Code::code).collect::<Vec<_>>().join(", "))
    }
}

impl Code for Numbers {
    fn code(&self) -> String {
        format!("Numbers {{ shape: {}, dtype: {}, seed: {} }}", self.shape.code(), self.dtype.code(), self.seed)
    }
}

impl Code for Discrete {
    fn code(&self) -> String {
        match self {
            Discrete::Compare(op) => format!("Discrete::Compare({})", op.code()),
            Discrete::FloatStep(op) => format!("Discrete::FloatStep({})", op.code()),
            Discrete::IntUnary(op) => format!("Discrete::IntUnary({})", op.code()),
            Discrete::IntBinary(op) => format!("Discrete::IntBinary({})", op.code()),
            Discrete::ToFloat(dtype) => format!("Discrete::ToFloat({})", dtype.code()),
            // Their own names and fields are the code.
            Discrete::And | Discrete::Or | Discrete::Not | Discrete::ToInt => format!("Discrete::{self:?}"),
            Discrete::ArgMax { .. } | Discrete::ArgMin { .. } => format!("Discrete::{self:?}"),
            Discrete::ArgSort { .. } | Discrete::PrefixArg { .. } | Discrete::Iota { .. } => {
                format!("Discrete::{self:?}")
            }
        }
    }
}

impl Code for View {
    fn code(&self) -> String {
        let matrix: Vec<i64> = (0..self.source().len()).flat_map(|k| self.row(k).to_vec()).collect();
        let (source, shape) = (self.source(), self.shape());
        // The view of nothing is outside of its source, or has an empty box.
        let outside = self.is_empty() && !source.is_empty();
        let offset = if outside { vec![-1; source.len()] } else { self.offset().to_vec() };
        let mut code = format!("View::affine(&{source:?}, &{shape:?}, &{matrix:?}, &{offset:?})");
        for (axis, (lo, hi)) in self.bounds().iter().enumerate() {
            if (*lo, *hi) != (0, shape[axis]) && !outside {
                code += &format!(".clipped({axis}, {lo}, {hi})");
            }
        }
        code
    }
}

impl Code for Linear {
    fn code(&self) -> String {
        match self {
            Linear::Affine { from, into } => format!("Linear::affine({}, {})", from.code(), into.code()),
            Linear::Reshape { from, into } => format!("Linear::reshape(&{:?}, &{:?})", &from[..], &into[..]),
            Linear::Cast { from, into, shape } => {
                format!("Linear::cast(&{:?}, {}, {})", &shape[..], from.code(), into.code())
            }
            Linear::Fourier { shape, parts, axis, conjugate } => {
                let adjoint = if *conjugate { ".adjoint()" } else { "" };
                format!("Linear::fourier(&{:?}, {parts}, {axis}){adjoint}", &shape[..])
            }
            Linear::PrefixSum { shape, axis, reverse } => {
                let adjoint = if *reverse { ".adjoint()" } else { "" };
                format!("Linear::prefix_sum(&{:?}, {axis}){adjoint}", &shape[..])
            }
        }
    }
}

impl Code for Contract {
    fn code(&self) -> String {
        format!("Contract::new({}, {}, {})", self.a.code(), self.b.code(), self.out.code())
    }
}

impl Code for Loop {
    fn code(&self) -> String {
        format!(
            "Loop {{ n: {}, reverse: {}, init: {}, xs: {}, body: {}, next: {}, out: {} }}",
            self.n,
            self.reverse,
            self.init.code(),
            self.xs.code(),
            self.body.code(),
            self.next.code(),
            self.out.code()
        )
    }
}

impl Code for Step {
    fn code(&self) -> String {
        match self {
            Step::Constant(c) => format!("Step::Constant({})", c.code()),
            Step::Unary(op, a) => format!("Step::Unary({}, {a})", op.code()),
            Step::Binary(op, a, b) => format!("Step::Binary({}, {a}, {b})", op.code()),
            Step::Discrete(op, args) => format!("Step::Discrete({}, {})", op.code(), args.code()),
            Step::Select(m, a, b) => format!("Step::Select({m}, {a}, {b})"),
            Step::Cond(m, a, b) => format!("Step::Cond({m}, {a}, {b})"),
            Step::Linear(op, a) => format!("Step::Linear({}, {a})", op.code()),
            Step::Contract(op, a, b) => format!("Step::Contract({}, {a}, {b})", op.code()),
            Step::Reduce(op, a) => format!("Step::Reduce(Reduce::{op:?}, {a})"),
            Step::Gather(a, ix) => format!("Step::Gather({a}, {})", ix.code()),
            Step::Scatter(a, ix, v) => format!("Step::Scatter({a}, {}, {v})", ix.code()),
            Step::Concat(axis, parts) => format!("Step::Concat({axis}, {})", parts.code()),
            Step::Ruled(rules, a, b) => format!("Step::Ruled(Rules::{rules:?}, {a}, {b})"),
            Step::Matrix(op, a, b) => format!("Step::Matrix(Matrix::{op:?}, {a}, {b})"),
            Step::Solved(equation, a, b) => format!("Step::Solved(Equation::{equation:?}, {a}, {b})"),
            Step::While(k, bound, l) => format!("Step::While({k}, Bound::{bound:?}, Box::new({}))", l.code()),
            Step::Loop(l) => format!("Step::Loop(Box::new({}))", l.code()),
        }
    }
}

/// The expression that makes the recipe, a step a line.
impl fmt::Display for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Recipe {{")?;
        writeln!(f, "    tame: {},", self.tame)?;
        writeln!(f, "    inputs: vec![")?;
        self.inputs.iter().try_for_each(|input| writeln!(f, "        {},", input.code()))?;
        writeln!(f, "    ],")?;
        writeln!(f, "    steps: vec![")?;
        self.steps.iter().try_for_each(|step| writeln!(f, "        {},", step.code()))?;
        writeln!(f, "    ],")?;
        write!(f, "}}")
    }
}
