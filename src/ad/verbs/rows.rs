//! The macros that read rows of the table of verbs, and write each verb in its homes.
//!
//! Law: a verb is thin. It hands the function of its user on as `dyn`, since it is compiled again for each such function.

/// Writes verbs from rows. A row has, in order:
///
/// * the documentation of the plain verb, the names of both forms, what the verb gives, and its homes in other files;
/// * the function: what it gets for the argument, and its result; then the transformation of its program;
/// * `plain`: the generic parameters of the plain verb before and after those of data, and bounds; the argument, after
///   what stands between function and argument, and a further one with the leaves that it stands for; and the results.
///   The braces are empty if the plain verb is written elsewhere;
/// * `staged`: the generic parameters of the type, those of the constructor, and bounds; the argument; in braces a further
///   input of a run, as its type and a tree like it (or `given`, and the parameter that is one); and the results;
/// * the structure of the results, from the results of the function and what takes the next results; and the names of
///   the last outputs of the program;
/// * an example: the function, what stands between function and argument, the variables of arguments and their values,
///   and the result; then for the form with data the function, the data, and the result.
macro_rules! verbs {
    ($(
        $(#[$doc:meta])*
        $verb:ident, $with:ident: $gives:literal, also [$($home:ident),*];
        ($Argument:ty) -> $Value:ty, $transformation:expr;
        plain $plain:tt;
        staged $generics:tt $own:tt $bound:tt $arguments:tt $further:tt -> $StagedResult:ty;
        |$y:ident, $r:ident| $results:expr, named $names:expr;
        example $f_text:literal, $n_text:literal, $variables:literal = $x_text:literal => $y_text:literal,
            with $f_with:literal, $data_text:literal => $y_with:literal;
    )*) => {
        $(
            plain! {
                $plain [$(#[$doc])*] [$verb $with] ($Argument) -> $Value, $transformation, |$y, $r| $results,
                [
                    concat!(
                        "let f = ", $f_text, ";\nlet ", $variables, " = ", $x_text, ";\nassert_eq!(", stringify!($verb),
                        "(f", $n_text, ", ", further_text!($further), "), ", $y_text, ");\n```"
                    ),
                    concat!(
                        "let f = ", $f_with, ";\nlet ", $variables, " = ", $x_text, ";\nlet data = ", $data_text,
                        ";\nassert_eq!(", stringify!($with), "(f", $n_text, ", ", further_text!($further), ", &data), ",
                        $y_with, ");\n```"
                    )
                ]
            }
            staged! {
                $further
                [#[doc = concat!("Records `f` for arguments like `x`: a run gives ", $gives, ".", further_words!($further))]]
                [$verb $with] $generics $own $bound ($Argument) -> $Value, $arguments -> $StagedResult,
                $transformation, |$y, $r| $results, $names,
                [$f_text, $n_text, $variables, $x_text, $y_text, $f_with, $data_text, $y_with]
            }
        )*

        /// The rows of this file, for the page of verbs.
        pub(super) const ROWS: &[Verb] = &[$(
            Verb::at(&[Home::Plain, Home::Function, Home::Jit $(, Home::$home)*], stringify!($verb), $gives)
        ),*];
    };
}

/// The arguments of an example of a plain verb after the function.
macro_rules! further_text {
    ({}) => {
        "&x"
    };
    ($further:tt) => {
        "&x, &v"
    };
}

/// How a run takes a further input.
macro_rules! further_words {
    ({}) => {
        ""
    };
    ($further:tt) => {
        " It takes a further tree, as in the example; data come after that."
    };
}

/// The values of a further argument of a plain verb.
macro_rules! further_leaves {
    () => {
        Vec::new()
    };
    ($leaves:expr) => {
        $leaves
    };
}

/// The plain verb in both forms.
macro_rules! plain {
    ({} $($row:tt)*) => {};
    (
        {
            $before:tt $after:tt $bound:tt
            ($([$n:ident: $N:ty])? $x:ident: $X:ty $(, $v:ident: $V:ty as $leaves:expr)?) -> $Result:ty
        }
        [$(#[$doc:meta])*] [$verb:ident $with:ident] ($Argument:ty) -> $Value:ty,
        $transformation:expr, |$y:ident, $r:ident| $results:expr, [$example:expr, $example_with:expr]
    ) => {
        forms! {
            data of T as Q::With<Term>;

            $(#[$doc])*
            #[doc = concat!("\n```\nuse polygrad::{Tensor, ", stringify!($verb), ", tensor};\n")]
            #[doc = $example]
            $verb,
            #[doc = concat!(
                "[`", stringify!($verb), "`] of a function that also takes `data` that is not differentiated.\n\n",
                "```\nuse polygrad::{Tensor, ", stringify!($with), ", tensor};\n"
            )]
            #[doc = $example_with]
            $with $before $after $bound
                (f: ($Argument) -> $Value $(, $n: $N)?, $x: &$X $(, $v: &$V)?; data) -> $Result
            {
                let further = further_leaves!($($leaves)?);
                let (results, leaves) = plain(stringify!($verb), ($transformation, None), f, ($x, data), further);
                #[allow(unused, reason = "most results are not like those of the function")]
                let ($y, mut $r) = (&results, leaves);
                $results
            }
        }
    };
}

/// The constructors of [`Function`](crate::Function) and [`Jit`](crate::Jit) for a verb. Its further input decides on the
/// types of the data of a run, how a run names them, the key, and the parameters of the constructor.
macro_rules! staged {
    ({} $doc:tt $names:tt $generics:tt $own:tt $bound:tt ($Argument:ty) -> $Value:ty,
        ($([$n:ident: $N:ty])? $x:ident: $X:ty) -> $($row:tt)*) => {
        constructors! {
            data [] [(), Q] [_, data] [key_of($x, &()), key_of($x, data)] ["(&x)", "_with(&x, &data)", ""]
            $doc $names $generics $own $bound ($Argument) -> $Value, ($([$n: $N])? $x: $X) -> $($row)*
        }
    };
    ({[$V:ty] given $v:ident} $doc:tt $names:tt $generics:tt $own:tt $bound:tt ($Argument:ty) -> $Value:ty,
        ($([$n:ident: $N:ty])? $x:ident: $X:ty) -> $($row:tt)*) => {
        constructors! {
            data [$v: $V] [$V, ($V, Q)] [$v, ($v, data)] [key_of($x, $v), key_of_both($x, $v, data)]
            ["_with(&x, &v)", "_with(&x, &(v, data))", ", &v"]
            $doc $names $generics $own $bound ($Argument) -> $Value, ($([$n: $N])? $x: $X) -> $($row)*
        }
    };
    ({[$V:ty] $like:expr} $doc:tt $names:tt $generics:tt $own:tt $bound:tt ($Argument:ty) -> $Value:ty,
        ($([$n:ident: $N:ty])? $x:ident: $X:ty) -> $($row:tt)*) => {
        constructors! {
            data [] [$V, ($V, Q)] [_, (_, data)] [key_of($x, $like), key_of_both($x, $like, data)]
            ["_with(&x, &v)", "_with(&x, &(v, data))", ""]
            $doc $names $generics $own $bound ($Argument) -> $Value, ($([$n: $N])? $x: $X) -> $($row)*
        }
    };
}

/// [`staged`], with all that the further input decides.
macro_rules! constructors {
    (
        $data:ident [$($v:ident: $V:ty)?] [$Plain:ty, $All:ty] [$taken:pat, $all_taken:pat]
        [$key:expr, $key_of_all:expr] [$run:literal, $run_all:literal, $given:literal]
        [$(#[$doc:meta])*] [$verb:ident $with:ident] [$($generics:tt)*] [$($own:tt)*] [$($bound:tt)*]
        ($Argument:ty) -> $Value:ty, ($([$n:ident: $N:ty])? $x:ident: $X:ty) -> $Result:ty,
        $transformation:expr, |$y:ident, $r:ident| $results:expr, $names:expr,
        [
            $f_text:literal, $n_text:literal, $variables:literal, $x_text:literal, $y_text:literal,
            $f_with:literal, $data_text:literal, $y_with:literal
        ]
    ) => {
        impl<$($generics)*> Function<$X, $Plain, $Result> {
            $(#[$doc])*
            #[doc = concat!(
                "\n```\nuse polygrad::{Function, Tensor, tensor};\nlet ", $variables, " = ", $x_text, ";\nlet f = Function::",
                stringify!($verb), "(", $f_text, $n_text, ", &x", $given, ");\nassert_eq!(f.run", $run, "?, ", $y_text,
                ");\n# Ok::<(), polygrad::RunError>(())\n```"
            )]
            #[track_caller]
            pub fn $verb<$($own)*>(f: impl Fn(&$Argument) -> $Value, $($n: $N,)? $x: &$X $(, $v: &$V)?) -> Self
            where
                $($bound)*
            {
                let recorded = record(&|x: &$Argument, (): &()| f(x), $x, &());
                #[allow(unused, reason = "most results are not like those of the function")]
                let ($y, mut $r) = (&recorded.results, ResultTemplate);
                let (results, names, key) = ($results, $names, $key);
                Function::of_recorded($transformation, recorded, key, names, results)
            }
        }

        impl<Q: Tree<Array>, $($generics)*> Function<$X, $All, $Result> {
            #[doc = concat!(
                "[`", stringify!($verb), "`](Function::", stringify!($verb),
                ") of a function that also takes data that is not differentiated.\n\n",
                "```\nuse polygrad::{Function, Tensor, tensor};\nlet ", $variables, " = ", $x_text, ";\nlet data = ",
                $data_text, ";\nlet f = Function::", stringify!($with), "(", $f_with, $n_text, ", &x", $given,
                ", &data);\nassert_eq!(f.run", $run_all, "?, ", $y_with, ");\n# Ok::<(), polygrad::RunError>(())\n```"
            )]
            #[track_caller]
            pub fn $with<$($own)*>(
                f: impl Fn(&$Argument, &Q::With<Term>) -> $Value,
                $($n: $N,)?
                $x: &$X,
                $($v: &$V,)?
                $data: &Q,
            ) -> Self
            where
                $($bound)*
            {
                let recorded = record(&f, $x, $data);
                #[allow(unused, reason = "most results are not like those of the function")]
                let ($y, mut $r) = (&recorded.results, ResultTemplate);
                let (results, names, key) = ($results, $names, $key_of_all);
                Function::of_recorded($transformation, recorded, key, names, results)
            }
        }

        impl<$($generics)*> Jit<$X, $Plain, $Result> {
            #[doc = concat!(
                "[`Function::", stringify!($verb), "`] for each new key.\n\n",
                "```\nuse polygrad::{Jit, Tensor, tensor};\nlet f = Jit::", stringify!($verb), "(", $f_text, $n_text,
                ");\nlet ", $variables, " = ", $x_text, ";\nassert_eq!(f.call", $run, ", ", $y_text, ");\n```"
            )]
            pub fn $verb<$($own)*>(f: impl Fn(&$Argument) -> $Value + Send + Sync + 'static $(, $n: $N)?) -> Self
            where
                $($bound)*
            {
                Jit::new(move |x: &$X, $taken: &$Plain| Function::$verb(&f, $($n,)? x $(, $v)?))
            }
        }

        impl<Q: Tree<Array>, $($generics)*> Jit<$X, $All, $Result> {
            #[doc = concat!(
                "[`Function::", stringify!($with), "`] for each new key.\n\n",
                "```\nuse polygrad::{Jit, Tensor, tensor};\nlet f = Jit::", stringify!($with), "(", $f_with, $n_text,
                ");\nlet ", $variables, " = ", $x_text, ";\nlet data = ", $data_text, ";\nassert_eq!(f.call", $run_all, ", ",
                $y_with, ");\n```"
            )]
            pub fn $with<$($own)*>(
                f: impl Fn(&$Argument, &Q::With<Term>) -> $Value + Send + Sync + 'static
                $(, $n: $N)?
            ) -> Self
            where
                $($bound)*
            {
                Jit::new(move |x: &$X, $all_taken: &$All| Function::$with(&f, $($n,)? x, $($v,)? $data))
            }
        }
    };
}
