//! Methods and functions of features that are not compiled: a call does not compile either, and the error names the feature.
//!
//! For a method that a feature would add, the compiler says that it was not found. So each one is here, too, under a
//! condition that nothing meets, whose message says what to write. Documentation and tests are compiled with all features,
//! so without this.
//!
//! Law: each public method of a [`Program`] or a [`Function`], and each function of the root, that is compiled with a feature alone
//! is here with that feature, and nothing else is (`tests/language/features.rs`).

use crate::ad::Function;
use crate::program::Program;

/// The result of a call that does not compile.
///
/// Closed: it has no values.
#[doc(hidden)]
pub enum Absent {}

/// A condition that nothing meets, with its message, and under it methods of types with these parameters, and functions, each with a
/// type for each argument.
macro_rules! absent {
    ($condition:ident, $message:literal;
        $(impl $type:ident[$($of:ident),*] { $($method:ident($($b:ident),*))* })*
        $(functions { $($function:ident($($c:ident),*))* })?
    ) => {
        #[diagnostic::on_unimplemented(message = $message, label = "its feature is not compiled")]
        #[doc(hidden)]
        pub trait $condition {
            #[doc(hidden)]
            fn called<R>() -> R;
        }

        $(impl<$($of),*> $type<$($of),*> {$(
            #[doc(hidden)]
            pub fn $method<$($b),*>(&self, $(_: $b),*) -> Result<Absent, std::fmt::Error>
            where
                for<'a> &'a Absent: $condition,
            {
                <&Absent as $condition>::called()
            }
        )*})*
        $($(
            #[doc(hidden)]
            pub fn $function<$($c),*>($(_: $c),*) -> Absent
            where
                for<'a> &'a Absent: $condition,
            {
                <&Absent as $condition>::called()
            }
        )*)?
    };
}

#[cfg(not(feature = "emission"))]
absent! { Emission, "source code in Rust and C needs the feature `emission` of polygrad; add it to the dependency in Cargo.toml";
    impl Program[] { to_rust(A) to_c(A) }
    impl Function[P, Q, Y] { to_rust(A) to_c(A) }
}
#[cfg(not(feature = "export"))]
absent! { Export, "StableHLO needs the feature `export` of polygrad; add it to the dependency in Cargo.toml";
    impl Program[] { to_stablehlo(A) exported(A) signature(A) }
    impl Function[P, Q, Y] { to_stablehlo(A) exported(A) }
}
#[cfg(not(feature = "native"))]
absent! { Native, "native code needs the feature `native` of polygrad; add it to the dependency in Cargo.toml";
    impl Program[] { native(A) }
    impl Function[P, Q, Y] { native(A) }
}
#[cfg(not(feature = "report"))]
absent! { Report, "a page needs the feature `report` of polygrad; add it to the dependency in Cargo.toml";
    impl Function[P, Q, Y] { report(A) report_with(A, B, C) }
}
#[cfg(not(feature = "verified"))]
absent! { Verified, "bounds and proofs need the feature `verified` of polygrad; add it to the dependency in Cargo.toml";
    impl Function[P, Q, Y] { enclose(A, B) enclose_with(A, B, C) }
    functions {
        enclose(A, B, C) enclose_with(A, B, C, D) taylor_model(A, B, C, D) taylor_model_with(A, B, C, D, E)
        verified_root(A, B, C) verified_roots(A, B, C, D) verified_odeint(A, B, C, D, E)
    }
}
