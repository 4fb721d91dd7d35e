//! The form in which rules are written: the left side of an equation as a pattern, and the right side.
//!
//! ```text
//! equations! { |b, op, shape, dtype|
//!     /// 1 / (c * x) = (1 / c) * (1 / x) for a moderate number c, where c * x has no other use
//!     recip_scaled { Recip(p @ scaled(c, x)) if moderate(c) && b.once(p) => scaled(1.0 / c, Recip(x)) }
//! }
//! ```
//!
//! The names between the bars are those of the parameters of every rule: the builder, the operation, and the shape and
//! element type of its result. A rule has one or more cases, which are tried in the order in which they are written;
//! the first that matches, and whose conditions hold, is applied. A case has three parts.
//!
//! First, a pattern of the operation and its operands:
//!
//! | pattern | matches |
//! |---|---|
//! | `x`, `_` | any value, with or without a name |
//! | `==x` | the value that has this name already |
//! | `1.0`, `true` | a constant whose elements are all this number or truth value |
//! | `number(c)` | a constant whose elements are all one float, named `c` |
//! | `scaled(c, P)` | `Mul(number(c), P)` |
//! | `Neg(P)`, `Sub(P, Q)` | a row of [`Unary`](crate::ops::Unary) or [`Binary`](crate::ops::Binary) |
//! | `Add{P, Q}` | `Add(P, Q)`; where that does not match, or a condition fails, `Add(Q, P)` |
//! | `Unary(f, P)`, `Binary(f, P, Q)` | any such row that matches `f`, a pattern of Rust |
//! | `Not(P)`, `And(P, Q)`, `Or(P, Q)` | operations of masks; also `And{P, Q}`, `Or{P, Q}` |
//! | `IntNeg(P)`, `Int(f, P, Q)` | operations of integers |
//! | `Discrete(f, P)`, `Discrete(f, P, Q)` | any discrete operation of one or two operands |
//! | `Select(P, Q, R)` | a choice by the mask `P` |
//! | `Linear(l, P)`, `Affine(from, into, P)` | a linear operation, named `l`; one by views, with their names |
//! | `Contract(c, P, Q)`, `Reduce(r, P)` | a contraction, an extremum along an axis |
//! | `Gather(x, ix)`, `ScatterAdd(x, ix, v)` | a gather, a scatter of whole values |
//! | `p @ P` | the same as `P`, and names the value |
//!
//! Second, after `if` and separated by commas: conditions of Rust, and `let` with a pattern that must match.
//!
//! Third, after the arrow, the right side: a value by its name, `1.0` or `number(c)` for a constant, `scaled(c, R)` for
//! `c * R`, rows and `Select` as in patterns, or a block of Rust, in which `?` ends the rule. Operands are made before
//! operations, from left to right. `known Add(x, y)` is the value of that operation where it exists already.
//!
//! A case expands to nested `if let`: when a rule runs, nothing reads a table of patterns.

/// Functions of rules, each from its cases: see the [module](self).
macro_rules! equations {
    (|$b:ident, $op:ident, $shape:ident, $dtype:ident|
     $($(#[$doc:meta])* $vis:vis $name:ident { $($cases:tt)+ })+) => {$(
        $(#[$doc])*
        $vis fn $name($b: &mut Builder, $op: &Op<NodeId>, $shape: &Shape, $dtype: DType) -> Option<NodeId> {
            // A rule need not look at every parameter.
            let _ = (&$b, $shape, $dtype);
            cases!(($b $op $shape $dtype) $($cases)+);
            None
        }
    )+};
}

/// The cases of a rule, after the names of its parameters: for each its pattern, its conditions, its right side.
macro_rules! cases {
    ($e:tt) => {};
    ($e:tt $f:ident $args:tt if $($rest:tt)+) => { cases!(@if $e ($f $args) [] $($rest)+); };
    ($e:tt $f:ident $args:tt => $($rest:tt)+) => { cases!(@then $e ($f $args) [] $($rest)+); };
    (@if $e:tt $left:tt [$($c:tt)*] let $p:pat = $x:expr, $($rest:tt)+) => {
        cases!(@if $e $left [$($c)* (let $p = $x)] $($rest)+);
    };
    (@if $e:tt $left:tt [$($c:tt)*] let $p:pat = $x:expr => $($rest:tt)+) => {
        cases!(@then $e $left [$($c)* (let $p = $x)] $($rest)+);
    };
    (@if $e:tt $left:tt [$($c:tt)*] $x:expr, $($rest:tt)+) => {
        cases!(@if $e $left [$($c)* ($x)] $($rest)+);
    };
    (@if $e:tt $left:tt [$($c:tt)*] $x:expr => $($rest:tt)+) => {
        cases!(@then $e $left [$($c)* ($x)] $($rest)+);
    };
    (@then $e:tt $left:tt $c:tt known $f:ident $args:tt $(, $($rest:tt)*)?) => {
        cases!(@case $e $left $c (known $f $args));
        cases!($e $($($rest)*)?);
    };
    (@then $e:tt $left:tt $c:tt $f:ident ($($args:tt)*) $(, $($rest:tt)*)?) => {
        cases!(@case $e $left $c ($f ($($args)*)));
        cases!($e $($($rest)*)?);
    };
    (@then $e:tt $left:tt $c:tt $x:tt $(, $($rest:tt)*)?) => {
        cases!(@case $e $left $c ($x));
        cases!($e $($($rest)*)?);
    };
    (@case ($b:ident $op:ident $($e:ident)+) ($f:ident $args:tt) $c:tt $right:tt) => {
        matched!($b (*$op) $f $args ([] (($b $op $($e)+) $c $right)));
    };
}

/// Nested `if let` that match values (`@ [values] [patterns]`) or an operation with patterns. Inside them comes what
/// is pending: other values with their patterns, and in the end the conditions and the right side.
macro_rules! matched {
    (@ $b:ident [] [] ([] ($e:tt $c:tt $right:tt))) => { applied!($e $c $right); };
    (@ $b:ident [] [] ([($ids:tt $patterns:tt) $($pending:tt)*] $then:tt)) => {
        matched!(@ $b $ids $patterns ([$($pending)*] $then));
    };
    (@ $b:ident [$id:ident $($ids:ident)*] [_ $(, $($rest:tt)*)?] $k:tt) => {
        let _ = $id;
        matched!(@ $b [$($ids)*] [$($($rest)*)?] $k);
    };
    (@ $b:ident [$id:ident $($ids:ident)*] [$c:literal $(, $($rest:tt)*)?] $k:tt) => {
        if $crate::rewrite::rules::is($b, $id, $c) {
            matched!(@ $b [$($ids)*] [$($($rest)*)?] $k);
        }
    };
    (@ $b:ident [$id:ident $($ids:ident)*] [$x:ident $(, $($rest:tt)*)?] $k:tt) => {
        let $x = $id;
        matched!(@ $b [$($ids)*] [$($($rest)*)?] $k);
    };
    (@ $b:ident [$id:ident $($ids:ident)*] [== $x:ident $(, $($rest:tt)*)?] $k:tt) => {
        if $id == $x {
            matched!(@ $b [$($ids)*] [$($($rest)*)?] $k);
        }
    };
    (@ $b:ident [$id:ident $($ids:ident)*] [number($c:ident) $(, $($rest:tt)*)?] $k:tt) => {
        if let Some($c) = $crate::rewrite::rules::number($b, $id) {
            matched!(@ $b [$($ids)*] [$($($rest)*)?] $k);
        }
    };
    (@ $b:ident $ids:tt [scaled($c:ident, $($p:tt)+) $(, $($rest:tt)*)?] $k:tt) => {
        matched!(@ $b $ids [Mul(number($c), $($p)+) $(, $($rest)*)?] $k);
    };
    (@ $b:ident [$id:ident $($ids:ident)*] [$x:ident @ $($rest:tt)+] $k:tt) => {
        let $x = $id;
        matched!(@ $b [$id $($ids)*] [$($rest)+] $k);
    };
    (@ $b:ident [$id:ident $($ids:ident)*] [$f:ident $args:tt $(, $($rest:tt)*)?] ([$($pending:tt)*] $then:tt)) => {
        matched!($b ($b.node($id).op) $f $args ([([$($ids)*] [$($($rest)*)?]) $($pending)*] $then));
    };

    // An operation by a path to it, a pattern of Rust for it, and the names of its operands there.
    (@op $b:ident ($($at:tt)+) ($($op:tt)+) [$($x:ident)+] $p:tt $k:tt) => {
        if let $($op)+ = &$($at)+ {
            let ($($x,)+) = ($(*$x,)+);
            matched!(@ $b [$($x)+] $p $k);
        }
    };
    // Copies the name of a function, too.
    (@row $b:ident ($($at:tt)+) ($($op:tt)+) [$($x:ident)+] $p:tt $k:tt) => {
        if let $($op)+ = $($at)+ {
            matched!(@ $b [$($x)+] $p $k);
        }
    };
    (@discrete $b:ident ($($at:tt)+) ($($f:tt)+) [$($x:ident)+] $p:tt $k:tt) => {
        if let Op::Discrete($($f)+, args) = &$($at)+ && let &[$($x),+] = args.as_slice() {
            matched!(@ $b [$($x)+] $p $k);
        }
    };
    // A comma between patterns means that there are two operands.
    (@arity $b:ident $at:tt $f:tt $p:tt $k:tt , $($rest:tt)+) => { matched!(@two $b $at $f $p $k); };
    (@arity $b:ident $at:tt $f:tt $p:tt $k:tt $x:tt $($rest:tt)*) => {
        matched!(@arity $b $at $f $p $k $($rest)*);
    };
    (@arity $b:ident $at:tt $f:tt $p:tt $k:tt) => { matched!(@one $b $at $f $p $k); };
    (@one $b:ident $at:tt (Discrete $f:pat) $p:tt $k:tt) => { matched!(@discrete $b $at ($f) [x] $p $k); };
    (@two $b:ident $at:tt (Discrete $f:pat) $p:tt $k:tt) => { matched!(@discrete $b $at ($f) [x y] $p $k); };
    (@one $b:ident $at:tt $f:ident $p:tt $k:tt) => { matched!(@row $b $at (Op::Unary(Unary::$f, x)) [x] $p $k); };
    (@two $b:ident $at:tt $f:ident $p:tt $k:tt) => {
        matched!(@row $b $at (Op::Binary(Binary::$f, x, y)) [x y] $p $k);
    };
    // The operands in either order.
    (@ $b:ident [$x:ident $y:ident] [{$($p:tt)+}] $k:tt) => {
        for ($x, $y) in [($x, $y), ($y, $x)] {
            matched!(@ $b [$x $y] [$($p)+] $k);
        }
    };

    ($b:ident $at:tt Unary($f:pat, $($p:tt)+) $k:tt) => { matched!(@row $b $at (Op::Unary($f, x)) [x] [$($p)+] $k); };
    ($b:ident $at:tt Binary($f:pat, $($p:tt)+) $k:tt) => {
        matched!(@row $b $at (Op::Binary($f, x, y)) [x y] [$($p)+] $k);
    };
    ($b:ident $at:tt Reduce($r:pat, $($p:tt)+) $k:tt) => { matched!(@row $b $at (Op::Reduce($r, x)) [x] [$($p)+] $k); };
    ($b:ident $at:tt Discrete($f:pat, $($p:tt)+) $k:tt) => {
        matched!(@arity $b $at (Discrete $f) [$($p)+] $k $($p)+);
    };
    ($b:ident $at:tt Not($($p:tt)+) $k:tt) => { matched!(@discrete $b $at (Discrete::Not) [x] [$($p)+] $k); };
    ($b:ident $at:tt And($($p:tt)+) $k:tt) => { matched!(@discrete $b $at (Discrete::And) [x y] [$($p)+] $k); };
    ($b:ident $at:tt Or($($p:tt)+) $k:tt) => { matched!(@discrete $b $at (Discrete::Or) [x y] [$($p)+] $k); };
    ($b:ident $at:tt And {$($p:tt)+} $k:tt) => { matched!(@discrete $b $at (Discrete::And) [x y] [{$($p)+}] $k); };
    ($b:ident $at:tt Or {$($p:tt)+} $k:tt) => { matched!(@discrete $b $at (Discrete::Or) [x y] [{$($p)+}] $k); };
    ($b:ident $at:tt IntNeg($($p:tt)+) $k:tt) => {
        matched!(@discrete $b $at (Discrete::IntUnary(IntUnary::Neg)) [x] [$($p)+] $k);
    };
    ($b:ident $at:tt Int($f:pat, $($p:tt)+) $k:tt) => {
        matched!(@discrete $b $at (Discrete::IntBinary($f)) [x y] [$($p)+] $k);
    };
    ($b:ident $at:tt Select($($p:tt)+) $k:tt) => {
        matched!(@op $b $at (Op::Select([m, x, y])) [m x y] [$($p)+] $k);
    };
    ($b:ident $at:tt Linear($l:ident, $($p:tt)+) $k:tt) => {
        matched!(@op $b $at (Op::Linear($l, x)) [x] [$($p)+] $k);
    };
    ($b:ident ($($at:tt)+) Affine($from:ident, $into:ident, $($p:tt)+) $k:tt) => {
        if let Op::Linear(l, x) = &$($at)+ && let Linear::Affine { from: $from, into: $into } = &**l {
            let x = *x;
            matched!(@ $b [x] [$($p)+] $k);
        }
    };
    ($b:ident $at:tt Contract($c:ident, $($p:tt)+) $k:tt) => {
        matched!(@op $b $at (Op::Contract($c, x, y)) [x y] [$($p)+] $k);
    };
    ($b:ident $at:tt Gather($x:tt, $ix:ident) $k:tt) => { matched!(@op $b $at (Op::Gather(x, $ix)) [x] [$x] $k); };
    ($b:ident $at:tt ScatterAdd($x:tt, $ix:pat, $v:tt) $k:tt) => {
        matched!(@op $b $at (Op::ScatterAdd(x, $ix, v)) [x v] [$x, $v] $k);
    };
    ($b:ident $at:tt $f:ident ($($p:tt)+) $k:tt) => { matched!(@arity $b $at $f [$($p)+] $k $($p)+); };
    ($b:ident $at:tt $f:ident {$($p:tt)+} $k:tt) => {
        matched!(@row $b $at (Op::Binary(Binary::$f, x, y)) [x y] [{$($p)+}] $k);
    };
}

/// The action on an operation that matches: the conditions, then the right side.
macro_rules! applied {
    ($e:tt [(let $p:pat = $x:expr) $($c:tt)*] $right:tt) => { if let $p = $x { applied!($e [$($c)*] $right); } };
    ($e:tt [($x:expr) $($c:tt)*] $right:tt) => { if $x { applied!($e [$($c)*] $right); } };
    (($b:ident $($e:ident)+) [] (known $f:ident ($x:ident, $y:ident))) => {
        if let Some(id) = $b.known(&Op::Binary(Binary::$f, $x, $y)) {
            return Some(id);
        }
    };
    ($e:tt [] ($($right:tt)+)) => { return Some(built!($e $($right)+)); };
}

/// The right side of an equation: makes its operations, and is the number of the last one.
macro_rules! built {
    ($e:tt {$($code:tt)+}) => { {$($code)+} };
    ($e:tt $x:ident) => { $x };
    ($e:tt $c:literal) => { built!($e number($c)) };
    (($b:ident $op:ident $shape:ident $dtype:ident) number($c:expr)) => {
        $crate::rewrite::rules::full($b, $shape, $dtype, $c)
    };
    (($b:ident $($e:ident)+) scaled($c:expr, $($x:tt)+)) => {{
        let x = built!(($b $($e)+) $($x)+);
        $crate::rewrite::rules::multiple($b, $c, x)
    }};
    ($e:tt Unary($f:expr, $($x:tt)+)) => { built!(@ $e [x] [$($x)+] Op::Unary($f, x)) };
    ($e:tt Binary($f:expr, $($x:tt)+)) => { built!(@ $e [x y] [$($x)+] Op::Binary($f, x, y)) };
    ($e:tt Select($($x:tt)+)) => { built!(@ $e [m x y] [$($x)+] Op::Select([m, x, y])) };
    ($e:tt $f:ident ($($x:tt)+)) => { built!(@arity $e $f [$($x)+] $($x)+) };
    (@arity $e:tt $f:ident $all:tt , $($rest:tt)+) => { built!(@ $e [x y] $all Op::Binary(Binary::$f, x, y)) };
    (@arity $e:tt $f:ident $all:tt $x:tt $($rest:tt)*) => { built!(@arity $e $f $all $($rest)*) };
    (@arity $e:tt $f:ident $all:tt) => { built!(@ $e [x] $all Op::Unary(Unary::$f, x)) };
    // The operands one after the other, then the operation.
    (@ $e:tt [$id:ident $($ids:ident)*] [$f:ident ($($x:tt)*) $(, $($rest:tt)*)?] $($op:tt)+) => {{
        let $id = built!($e $f ($($x)*));
        built!(@ $e [$($ids)*] [$($($rest)*)?] $($op)+)
    }};
    (@ $e:tt [$id:ident $($ids:ident)*] [$x:tt $(, $($rest:tt)*)?] $($op:tt)+) => {{
        let $id = built!($e $x);
        built!(@ $e [$($ids)*] [$($($rest)*)?] $($op)+)
    }};
    (@ ($b:ident $op:ident $shape:ident $dtype:ident) [] [] $($made:tt)+) => {
        $b.add($($made)+, $shape.clone(), $dtype)
    };
}

#[cfg(test)]
mod tests {
    use crate::dtype::DType;
    use crate::ops::{Binary, Unary};
    use crate::program::{Builder, NodeId, Op, Slot};
    use crate::rewrite::rules::multiple;
    use crate::shape::Shape;

    equations! { |b, op, shape, dtype|
        /// Matches in either order.
        either { Add{x, Neg(y)} => Sub(x, y) }

        /// A condition that may hold in one order alone.
        positive { Mul{x, number(c)} if c > 0.0 => scaled(c, Neg(x)) }

        /// Several cases; the second needs one value twice.
        cases {
            Sub(x, Neg(y)) if let Op::Input(k) = b.node(x).op, k == 0 => Add(x, y),
            Sub(Neg(x), ==x) => scaled(-2.0, x),
            Sub(Exp(x), Exp(y)) => Div(Cos(y), Neg(x))
        }
    }

    fn inputs(b: &mut Builder) -> [NodeId; 2] {
        [(); 2].map(|()| b.input(Slot { name: String::new(), shape: Shape::new(), dtype: DType::F64 }))
    }

    type Apply = fn(&mut Builder, &Op<NodeId>, &Shape, DType) -> Option<NodeId>;

    /// The result of a rule for an operation on numbers.
    fn applied(b: &mut Builder, rule: Apply, op: Op<NodeId>) -> Option<Op<NodeId>> {
        rule(b, &op, &Shape::new(), DType::F64).map(|id| b.node(id).op.clone())
    }

    #[test]
    fn the_operands_are_tried_as_they_are_first() {
        let mut b = Builder::literal();
        let [x, y] = inputs(&mut b);
        let [p, q] = [x, y].map(|x| b.apply(Op::Unary(Unary::Neg, x)));
        for (operands, difference) in [((x, q), (x, y)), ((p, y), (y, x)), ((p, q), (p, y))] {
            let sum = Op::Binary(Binary::Add, operands.0, operands.1);
            let expected = Op::Binary(Binary::Sub, difference.0, difference.1);
            assert_eq!(applied(&mut b, either, sum), Some(expected));
        }
        assert_eq!(applied(&mut b, either, Op::Binary(Binary::Add, x, y)), None);
        assert_eq!(applied(&mut b, either, Op::Binary(Binary::Sub, x, q)), None);
    }

    #[test]
    fn the_other_order_is_tried_where_a_condition_fails() {
        let mut b = Builder::literal();
        let [x, _] = inputs(&mut b);
        let [plus, minus] = [2.0, -3.0].map(|c| super::super::full(&mut b, &Shape::new(), DType::F64, c));
        for (y, z) in [(plus, minus), (minus, plus)] {
            let negative = b.apply(Op::Unary(Unary::Neg, minus));
            let expected = multiple(&mut b, 2.0, negative);
            let expected = b.node(expected).op.clone();
            assert_eq!(applied(&mut b, positive, Op::Binary(Binary::Mul, y, z)), Some(expected));
        }
        assert_eq!(applied(&mut b, positive, Op::Binary(Binary::Mul, x, minus)), None);
    }

    #[test]
    fn cases_are_tried_in_order_and_operands_are_made_from_left_to_right() {
        let mut b = Builder::literal();
        let [x, y] = inputs(&mut b);
        let [p, q] = [x, y].map(|x| b.apply(Op::Unary(Unary::Neg, x)));
        let sub = |x, y| Op::Binary(Binary::Sub, x, y);
        assert_eq!(applied(&mut b, cases, sub(x, q)), Some(Op::Binary(Binary::Add, x, y)));
        assert_eq!(applied(&mut b, cases, sub(y, p)), None);
        assert_eq!(applied(&mut b, cases, sub(p, y)), None);
        let twice = multiple(&mut b, -2.0, x);
        let twice = b.node(twice).op.clone();
        assert_eq!(applied(&mut b, cases, sub(p, x)), Some(twice));
        let z = b.apply(Op::Unary(Unary::Sin, x));
        let [u, v] = [z, y].map(|x| b.apply(Op::Unary(Unary::Exp, x)));
        let quotient = applied(&mut b, cases, sub(u, v));
        assert_eq!(quotient, Some(Op::Binary(Binary::Div, v + 1, v + 2)));
        assert_eq!([1, 2].map(|k| b.node(v + k).op.clone()), [Op::Unary(Unary::Cos, y), Op::Unary(Unary::Neg, z)]);
    }
}
