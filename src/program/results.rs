//! What an operation has become for a traversal of a program, or of its derivative: one value, or several results.
//!
//! Laws, which the builder checks: an operand is one value, and what has several results is read by `Op::Output` alone. A
//! traversal that asks for one of both finds it; what else it could find is checked here, and nowhere else.

use std::fmt::Display;

/// One value, or several results, each read by its position.
#[derive(Clone, Debug)]
pub(crate) enum Results<V, R = V> {
    One(V),
    Many(Vec<R>),
}

impl<V, R> Results<V, R> {
    /// The value of an operand, or of a result of a program.
    pub(crate) fn one(&self) -> &V {
        match self {
            Results::One(value) => value,
            Results::Many(_) => an_operand_has_several(),
        }
    }

    /// That value, owned.
    pub(crate) fn into_one(self) -> V {
        match self {
            Results::One(value) => value,
            Results::Many(_) => an_operand_has_several(),
        }
    }

    /// All results, owned.
    pub(crate) fn into_many(self) -> Vec<R> {
        match self {
            Results::Many(results) => results,
            Results::One(_) => an_output_has_one(),
        }
    }

    /// The result that an output reads.
    pub(crate) fn result(&self, position: usize) -> &R {
        match self {
            Results::Many(results) => &results[position],
            Results::One(_) => an_output_has_one(),
        }
    }

    /// That result, to be taken.
    pub(crate) fn result_mut(&mut self, position: usize) -> &mut R {
        match self {
            Results::Many(results) => &mut results[position],
            Results::One(_) => an_output_has_one(),
        }
    }
}

#[cold]
fn an_operand_has_several() -> ! {
    unreachable!("an operand is one value")
}

#[cold]
fn an_output_has_one() -> ! {
    unreachable!("an output is of an operation with several results")
}

/// What has been made before it is asked for, such as the new form of an operation.
///
/// Law: who goes through a program makes what later parts need before them.
pub(crate) fn made<V>(value: Option<V>) -> V {
    match value {
        Some(value) => value,
        None => unreachable!("what is needed has been made before"),
    }
}

/// A program, or a function with rules, that the library makes of valid ones.
///
/// Law: it is valid, too. The checks are for programs of users, whose errors they describe.
pub(crate) fn valid_by_construction<T>(checked: Result<T, impl Display>) -> T {
    match checked {
        Ok(valid) => valid,
        Err(fault) => unreachable!("what is made of valid programs is valid: {fault}"),
    }
}
