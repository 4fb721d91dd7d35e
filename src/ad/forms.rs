//! The two forms of a verb: of a function of the argument, and of one that takes data that are not differentiated.
//!
//! Law: both forms have one body, in which the function takes both; the data of the first form are `()`.

/// Writes both forms of verbs. The head says the interpreter of the data `Q`, and what a function gets for them.
///
/// A row has the names of both forms, each with its documentation; the generic parameters before and after those of
/// data, and bounds; what comes before the function, in brackets; the function, the arguments after it, the name of
/// the data, and what comes after them; and the body, which is generic in the type of the function, so it should call
/// something that is not.
macro_rules! forms {
    (data of $T:ty as $Data:ty; $(
        $(#[$doc:meta])*
        $verb:ident,
        $(#[$with_doc:meta])*
        $with:ident [$($before:tt)*] [$($after:tt)*] [$($bound:tt)*] $([$first:ident: $First:ty])?
            (
                $f:ident: ($Argument:ty) -> $Value:ty $(, $given:ident: $Given:ty)*;
                $data:ident $(, $last:ident: $Last:ty)*
            ) -> $Result:ty
        $body:block
    )*) => {$(
        $(#[$doc])*
        #[track_caller]
        pub fn $verb<$($before)* $($after)*>(
            $($first: $First,)?
            $f: impl Fn(&$Argument) -> $Value,
            $($given: $Given,)*
            $($last: $Last,)*
        ) -> $Result
        where
            $($bound)*
        {
            let ($f, $data) = (&|x: &$Argument, (): &()| $f(x), &());
            $body
        }

        $(#[$with_doc])*
        #[track_caller]
        pub fn $with<$($before)* Q: Tree<$T>, $($after)*>(
            $($first: $First,)?
            $f: impl Fn(&$Argument, &$Data) -> $Value,
            $($given: $Given,)*
            $data: &Q,
            $($last: $Last,)*
        ) -> $Result
        where
            $($bound)*
        {
            let $f = &$f;
            $body
        }
    )*};
}
