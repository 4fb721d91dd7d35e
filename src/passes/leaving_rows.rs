//! Batches of loops that end by themselves: rows that have ended leave the batch.
//!
//! On stacks, a trip runs for all rows, and rows that have ended keep their carry. Where at most half of the rows go on, and
//! some trips have run, those that go on are gathered into stacks of half as many rows, on which the loop goes on, and so
//! on; in the end the results are put where their rows were. So rows that need many more trips than others do not make
//! all wait. What comes after the first trips is a conditional: it does not run if all rows have ended.
//!
//! Law: each row has the carry that its loop has alone. All trips together do at most twice the work of the rows' trips, without the
//! first trips, as long as many rows go on.

use std::sync::Arc;

use crate::base::BaseTensor;
use crate::dtype::DType;
use crate::ops::{Compare, Discrete, IntBinary, Linear};
use crate::program::repeat::{closed, compare, count, held, int, ints, like, number};
use crate::program::{Custom, Program, Term, interpret};

/// The least number of rows of a batch that rows leave.
pub(super) const MANY: usize = 256;

/// The least number of rows that are gathered.
const LEAST: usize = 32;

/// The number of trips before rows leave, which few loops need.
const FIRST: i64 = 16;

/// A loop whose carry is stacked; so are the marked captured values.
pub(super) struct LeavingRows<'a> {
    /// The program of a trip on a number of rows, whose mask has an element for each row.
    pub(super) trip: &'a dyn Fn(usize) -> Program,
    pub(super) carried: usize,
    /// The largest number of trips, if there is one.
    pub(super) most: Option<usize>,
    pub(super) stacked: &'a [bool],
}

impl LeavingRows<'_> {
    /// The program of the whole loop on `n` rows: from the arguments to the carry.
    pub(super) fn program(&self, n: usize) -> Program {
        let variables = Term::variables((self.trip)(n).inputs());
        let (carry, captured) = variables.split_at(self.carried);
        closed(&variables, &self.run(n, int(0), carry.to_vec(), captured))
    }

    /// Whether rows go on after a number of trips.
    fn goes_on(&self, going: &Term, trips: &Term) -> Term {
        let some = compare(Compare::Gt, going, &int(0));
        match self.most {
            Some(most) => {
                let most = int(i64::try_from(most).unwrap_or(i64::MAX));
                Term::discrete(&Discrete::And, &[&some, &compare(Compare::Lt, trips, &most)])
            }
            None => some,
        }
    }

    /// The carry of all rows after the rest of the loop. The depth of calls is that of halving the rows.
    fn run(&self, n: usize, trips: Term, carry: Vec<Term>, captured: &[Term]) -> Vec<Term> {
        let (trip, half) = ((self.trip)(n), n / 2);
        let last = half < LEAST;
        let more = |going: &Term, trips: &Term| {
            let some = self.goes_on(going, trips);
            if last {
                return some;
            }
            let many = compare(Compare::Gt, going, &int(half as i64));
            let early = compare(Compare::Lt, trips, &int(FIRST));
            Term::discrete(&Discrete::And, &[&some, &Term::discrete(&Discrete::Or, &[&many, &early])])
        };
        let init = [vec![more(&count(&carry[0], n), &trips), trips], carry].concat();
        let mut state = Term::repeat(None, init, &mut |mut state| {
            let carry = state.split_off(2);
            let next = held(carry, &mut |carry| interpret(&trip, [&carry, captured].concat()));
            let trips = ints(IntBinary::Add, &state[1], &int(1));
            [vec![more(&count(&next[0], n), &trips), trips], next].concat()
        });
        let carry = state.split_off(2);
        if last {
            return carry;
        }
        let goes_on = self.goes_on(&count(&carry[0], n), &state[1]);
        let rest = self.rest(n, &carry, captured);
        Term::custom(&rest, &[&[goes_on, state.remove(1)], &carry[..], captured].concat())
    }

    /// The rest of the loop on half of the rows, if a mask holds: a conditional of the number of trips that have run, the
    /// carry and the captured values.
    fn rest(&self, n: usize, carry: &[Term], captured: &[Term]) -> Arc<Custom> {
        let half = n / 2;
        let variables = Term::variables_like(&[&[int(0)], carry, captured].concat());
        let (carry, captured) = variables[1..].split_at(self.carried);
        // The place of a row that goes on among the rows that go on; the others have none.
        let before = number(&carry[0]).linear(&Linear::prefix_sum(&[n], 0));
        let all = |x: i64| int::<Term>(x).linear(&Linear::replicate(&[n], &[]));
        let place = ints(IntBinary::Sub, &before, &all(1));
        let place = Term::select(&carry[0], &place, &all(half as i64));
        let rows = Term::discrete(&Discrete::Iota { n }, &[]);
        let from = Term::zeros(&[half], DType::I64).scatter_add(std::slice::from_ref(&place), &rows);
        let gathered = |x: &Term| x.gather(std::slice::from_ref(&from));
        let mut fewer: Vec<Term> = carry.iter().map(gathered).collect();
        let going = count(&carry[0], n).linear(&Linear::replicate(&[half], &[]));
        fewer[0] = compare(Compare::Lt, &Term::discrete(&Discrete::Iota { n: half }, &[]), &going);
        let captured = captured.iter().zip(self.stacked);
        let captured: Vec<Term> = captured.map(|(x, stacked)| if *stacked { gathered(x) } else { x.clone() }).collect();
        let done = self.run(half, variables[0].clone(), fewer, &captured);
        let back = |(x, done): (&Term, &Term)| {
            let mask = like(&carry[0], x.shape());
            Term::select(&mask, &done.gather(std::slice::from_ref(&place)), x)
        };
        let then: Vec<Term> = carry.iter().zip(&done).map(back).collect();
        let absent = vec![false; carry.len()];
        let branches = [closed(&variables, &then), closed(&variables, carry)];
        Arc::new(Custom::chosen("rest", branches, [absent.clone(), absent]))
    }
}
