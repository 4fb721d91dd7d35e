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

/// The cases of a rule: for each its pattern, its conditions `[..]`, its right side.
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
        cases!(@case $e $left ($c (known $f $args)));
        cases!($e $($($rest)*)?);
    };
    (@then $e:tt $left:tt $c:tt $f:ident ($($args:tt)*) $(, $($rest:tt)*)?) => {
        cases!(@case $e $left ($c ($f ($($args)*))));
        cases!($e $($($rest)*)?);
    };
    (@then $e:tt $left:tt $c:tt $x:tt $(, $($rest:tt)*)?) => {
        cases!(@case $e $left ($c ($x)));
        cases!($e $($($rest)*)?);
    };
    (@case ($b:ident $op:ident $($e:ident)+) ($f:ident $args:tt) $then:tt) => {
        matched!(($b $op $($e)+) (*$op) $f $args [] $then);
    };
}

/// What is done with an operation that matches: the conditions, then the right side.
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

/// Nested `if let` that match values (`@`) or an operation with patterns; inside of them comes what is pending, other
/// values with their patterns, then what is done.
macro_rules! matched {
    (@ $e:tt [] [] [] ($c:tt $right:tt)) => { applied!($e $c $right); };
    (@ $e:tt [] [] [($ids:tt $patterns:tt) $($pending:tt)*] $then:tt) => {
        matched!(@ $e $ids $patterns [$($pending)*] $then);
    };
    (@ $e:tt [$id:ident $($ids:ident)*] [_ $(, $($rest:tt)*)?] $pending:tt $then:tt) => {
        let _ = $id;
        matched!(@ $e [$($ids)*] [$($($rest)*)?] $pending $then);
    };
    (@ ($b:ident $($e:ident)+) [$id:ident $($ids:ident)*] [true $(, $($rest:tt)*)?] $pending:tt $then:tt) => {
        if $crate::rewrite::rules::truth($b, $id) == Some(true) {
            matched!(@ ($b $($e)+) [$($ids)*] [$($($rest)*)?] $pending $then);
        }
    };
    (@ ($b:ident $($e:ident)+) [$id:ident $($ids:ident)*] [false $(, $($rest:tt)*)?] $pending:tt $then:tt) => {
        if $crate::rewrite::rules::truth($b, $id) == Some(false) {
            matched!(@ ($b $($e)+) [$($ids)*] [$($($rest)*)?] $pending $then);
        }
    };
    (@ $e:tt [$id:ident $($ids:ident)*] [$x:ident $(, $($rest:tt)*)?] $pending:tt $then:tt) => {
        let $x = $id;
        matched!(@ $e [$($ids)*] [$($($rest)*)?] $pending $then);
    };
    (@ $e:tt [$id:ident $($ids:ident)*] [== $x:ident $(, $($rest:tt)*)?] $pending:tt $then:tt) => {
        if $id == $x {
            matched!(@ $e [$($ids)*] [$($($rest)*)?] $pending $then);
        }
    };
    (@ ($b:ident $($e:ident)+) [$id:ident $($ids:ident)*] [$c:literal $(, $($rest:tt)*)?] $pending:tt $then:tt) => {
        if $crate::rewrite::rules::is($b, $id, $c) {
            matched!(@ ($b $($e)+) [$($ids)*] [$($($rest)*)?] $pending $then);
        }
    };
    (@ ($b:ident $($e:ident)+) [$id:ident $($ids:ident)*] [number($c:ident) $(, $($rest:tt)*)?]
     $pending:tt $then:tt) => {
        if let Some($c) = $crate::rewrite::rules::number($b, $id) {
            matched!(@ ($b $($e)+) [$($ids)*] [$($($rest)*)?] $pending $then);
        }
    };
    (@ $e:tt $ids:tt [scaled($c:ident, $($p:tt)+) $(, $($rest:tt)*)?] $pending:tt $then:tt) => {
        matched!(@ $e $ids [Mul(number($c), $($p)+) $(, $($rest)*)?] $pending $then);
    };
    (@ $e:tt [$id:ident $($ids:ident)*] [$x:ident @ $($rest:tt)+] $pending:tt $then:tt) => {
        let $x = $id;
        matched!(@ $e [$id $($ids)*] [$($rest)+] $pending $then);
    };
    (@ ($b:ident $($e:ident)+) [$id:ident $($ids:ident)*] [$f:ident $args:tt $(, $($rest:tt)*)?]
     [$($pending:tt)*] $then:tt) => {
        matched!(
            ($b $($e)+) ($b.node($id).op) $f $args [([$($ids)*] [$($($rest)*)?]) $($pending)*] $then
        );
    };

    // ---- parts of the arms below ----
    (@either $e:tt [$x:ident $y:ident] $p:tt $pending:tt $then:tt) => {
        for ($x, $y) in [($x, $y), ($y, $x)] {
            matched!(@ $e [$x $y] $p $pending $then);
        }
    };
    // A comma between patterns means that there are two operands.
    (@arity $kind:ident $all:tt , $($rest:tt)+) => { matched!(@$kind two $all); };
    (@arity $kind:ident $all:tt $p:tt $($rest:tt)*) => { matched!(@arity $kind $all $($rest)*); };
    (@arity $kind:ident $all:tt) => { matched!(@$kind one $all); };
    (@row one ($e:tt ($($at:tt)+) ($f:ident) $p:tt $pending:tt $then:tt)) => {
        if let Op::Unary(Unary::$f, x) = $($at)+ {
            matched!(@ $e [x] $p $pending $then);
        }
    };
    (@row two ($e:tt ($($at:tt)+) ($f:ident) $p:tt $pending:tt $then:tt)) => {
        if let Op::Binary(Binary::$f, x, y) = $($at)+ {
            matched!(@ $e [x y] $p $pending $then);
        }
    };
    (@discrete one ($e:tt $at:tt $f:tt $p:tt $pending:tt $then:tt)) => {
        matched!(@discrete $e $at $f [x] $p $pending $then);
    };
    (@discrete two ($e:tt $at:tt $f:tt $p:tt $pending:tt $then:tt)) => {
        matched!(@discrete $e $at $f [x y] $p $pending $then);
    };
    (@discrete $e:tt ($($at:tt)+) ($($f:tt)+) [$($x:ident)+] $p:tt $pending:tt $then:tt) => {
        if let Op::Discrete($($f)+, args) = &$($at)+ && let &[$($x),+] = args.as_slice() {
            matched!(@ $e [$($x)+] $p $pending $then);
        }
    };

    // ---- operations, by a path to them ----
    ($e:tt ($($at:tt)+) Unary($f:pat, $($p:tt)+) $pending:tt $then:tt) => {
        if let Op::Unary($f, x) = $($at)+ {
            matched!(@ $e [x] [$($p)+] $pending $then);
        }
    };
    ($e:tt ($($at:tt)+) Binary($f:pat, $($p:tt)+) $pending:tt $then:tt) => {
        if let Op::Binary($f, x, y) = $($at)+ {
            matched!(@ $e [x y] [$($p)+] $pending $then);
        }
    };
    ($e:tt $at:tt Not($($p:tt)+) $pending:tt $then:tt) => {
        matched!(@discrete $e $at (Discrete::Not) [x] [$($p)+] $pending $then);
    };
    ($e:tt $at:tt IntNeg($($p:tt)+) $pending:tt $then:tt) => {
        matched!(@discrete $e $at (Discrete::IntUnary(IntUnary::Neg)) [x] [$($p)+] $pending $then);
    };
    ($e:tt $at:tt Int($f:pat, $($p:tt)+) $pending:tt $then:tt) => {
        matched!(@discrete $e $at (Discrete::IntBinary($f)) [x y] [$($p)+] $pending $then);
    };
    ($e:tt $at:tt And($($p:tt)+) $pending:tt $then:tt) => {
        matched!(@discrete $e $at (Discrete::And) [x y] [$($p)+] $pending $then);
    };
    ($e:tt $at:tt Or($($p:tt)+) $pending:tt $then:tt) => {
        matched!(@discrete $e $at (Discrete::Or) [x y] [$($p)+] $pending $then);
    };
    ($e:tt $at:tt Discrete($f:pat, $($p:tt)+) $pending:tt $then:tt) => {
        matched!(@arity discrete ($e $at ($f) [$($p)+] $pending $then) $($p)+);
    };
    ($e:tt ($($at:tt)+) Select($($p:tt)+) $pending:tt $then:tt) => {
        if let Op::Select([m, x, y]) = $($at)+ {
            matched!(@ $e [m x y] [$($p)+] $pending $then);
        }
    };
    ($e:tt ($($at:tt)+) Linear($l:ident, $($p:tt)+) $pending:tt $then:tt) => {
        if let Op::Linear($l, x) = &$($at)+ {
            let x = *x;
            matched!(@ $e [x] [$($p)+] $pending $then);
        }
    };
    ($e:tt ($($at:tt)+) Affine($from:ident, $into:ident, $($p:tt)+) $pending:tt $then:tt) => {
        if let Op::Linear(l, x) = &$($at)+
            && let Linear::Affine { from: $from, into: $into } = &**l
        {
            let x = *x;
            matched!(@ $e [x] [$($p)+] $pending $then);
        }
    };
    ($e:tt ($($at:tt)+) Contract($c:ident, $($p:tt)+) $pending:tt $then:tt) => {
        if let Op::Contract($c, x, y) = &$($at)+ {
            let (x, y) = (*x, *y);
            matched!(@ $e [x y] [$($p)+] $pending $then);
        }
    };
    ($e:tt ($($at:tt)+) Reduce($r:pat, $($p:tt)+) $pending:tt $then:tt) => {
        if let Op::Reduce($r, x) = $($at)+ {
            matched!(@ $e [x] [$($p)+] $pending $then);
        }
    };
    ($e:tt $at:tt $f:ident ($($p:tt)+) $pending:tt $then:tt) => {
        matched!(@arity row ($e $at ($f) [$($p)+] $pending $then) $($p)+);
    };
    // The operands in either order.
    ($e:tt ($($at:tt)+) And {$($p:tt)+} $pending:tt $then:tt) => {
        if let Op::Discrete(Discrete::And, args) = &$($at)+ && let &[x, y] = args.as_slice() {
            matched!(@either $e [x y] [$($p)+] $pending $then);
        }
    };
    ($e:tt ($($at:tt)+) Or {$($p:tt)+} $pending:tt $then:tt) => {
        if let Op::Discrete(Discrete::Or, args) = &$($at)+ && let &[x, y] = args.as_slice() {
            matched!(@either $e [x y] [$($p)+] $pending $then);
        }
    };
    ($e:tt ($($at:tt)+) $f:ident {$($p:tt)+} $pending:tt $then:tt) => {
        if let Op::Binary(Binary::$f, x, y) = $($at)+ {
            matched!(@either $e [x y] [$($p)+] $pending $then);
        }
    };
}

/// The right side of an equation: makes its operations, and is the number of the last one.
macro_rules! built {
    (@row $e:tt $f:ident $x:tt , $($rest:tt)+) => { built!(@ $e [x y] $x Op::Binary(Binary::$f, x, y)) };
    (@row $e:tt $f:ident $x:tt $p:tt $($rest:tt)*) => { built!(@row $e $f $x $($rest)*) };
    (@row $e:tt $f:ident $x:tt) => { built!(@ $e [x] $x Op::Unary(Unary::$f, x)) };
    (@ $e:tt [$id:ident $($ids:ident)*] [$f:ident ($($x:tt)*) $(, $($rest:tt)*)?] $($make:tt)+) => {{
        let $id = built!($e $f ($($x)*));
        built!(@ $e [$($ids)*] [$($($rest)*)?] $($make)+)
    }};
    (@ $e:tt [$id:ident $($ids:ident)*] [$x:tt $(, $($rest:tt)*)?] $($make:tt)+) => {{
        let $id = built!($e $x);
        built!(@ $e [$($ids)*] [$($($rest)*)?] $($make)+)
    }};
    (@ ($b:ident $op:ident $shape:ident $dtype:ident) [] [] $($make:tt)+) => {
        $b.add($($make)+, $shape.clone(), $dtype)
    };
    ($e:tt {$($code:tt)+}) => { {$($code)+} };
    ($e:tt $x:ident) => { $x };
    (($b:ident $op:ident $shape:ident $dtype:ident) $c:literal) => {
        $crate::rewrite::rules::full($b, $shape, $dtype, $c)
    };
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
    ($e:tt $f:ident ($($x:tt)+)) => { built!(@row $e $f [$($x)+] $($x)+) };
}
