//! Recipes that failed once. Each is what a failure printed.

use polygrad::DType;
use polygrad::ops::{Binary, Compare, Contract, Discrete, IntBinary, Linear, Unary, View};

use crate::check::assert_agree;
use crate::recipe::{Bound, Loop, Numbers, Recipe, Step};
use crate::ruled::Rules;

/// The code without the spaces and commas that do not matter.
fn bare(code: &str) -> String {
    let code: String = code.chars().filter(|c| !c.is_whitespace()).collect();
    code.replace(",]", "]").replace(",}", "}").replace(",)", ")")
}

/// A test of a printed recipe: pasted, it prints itself, and pipelines agree on it.
macro_rules! regressions {
    ($($(#[doc = $doc:literal])* $name:ident = $recipe:expr;)*) => {
        $(#[test]
        fn $name() {
            let recipe = $recipe;
            assert_eq!(bare(&recipe.to_string()), bare(stringify!($recipe)));
            assert_agree(&recipe);
        })*
    };
}

regressions! {
    // A loop whose result is a carry without tangent, with a loop in it, and a captured value that has one: forward
    // differentiation did other things in the second trip than in the first, which reverse mode refuses to record.
    tangents_that_arrive_in_a_loop = Recipe {
        tame: true,
        inputs: vec![Numbers { shape: vec![], dtype: DType::F64, seed: 397 }],
        steps: vec![
            Step::Discrete(Discrete::ToFloat(DType::F32), vec![0]),
            Step::Loop(Box::new(Loop { n: 2, reverse: false, init: vec![1], xs: vec![], body: vec![
                Step::Loop(Box::new(Loop { n: 1, reverse: false, init: vec![2], xs: vec![2], body: vec![], next: vec![4], out: vec![] })),
                Step::Loop(Box::new(Loop { n: 1, reverse: false, init: vec![], xs: vec![3], body: vec![Step::Binary(Binary::Mul, 0, 4)], next: vec![], out: vec![5] })),
            ], next: vec![2], out: vec![4] })),
        ],
    };
    // The factor of the contraction is the same in every trip: it was stacked by the loop over tangents, whose
    // transpose then depended on them.
    factors_that_are_the_same_in_all_trips = Recipe {
        tame: true,
        inputs: vec![Numbers { shape: vec![], dtype: DType::F64, seed: 375 }],
        steps: vec![
            Step::Loop(Box::new(Loop { n: 2, reverse: false, init: vec![0], xs: vec![0], body: vec![
                Step::Constant(Numbers { shape: vec![], dtype: DType::F64, seed: 963 }),
                Step::Contract(Contract::new(View::affine(&[1], &[], &[], &[-1]), View::affine(&[], &[], &[], &[]), View::affine(&[], &[], &[], &[])), 3, 2),
            ], next: vec![4], out: vec![] })),
        ],
    };
    // What the body captures is computed outside, and is NaN; without trips no cotangent of zero may reach it.
    captured_values_without_trips = Recipe {
        tame: false,
        inputs: vec![Numbers { shape: vec![1], dtype: DType::F64, seed: 762 }],
        steps: vec![
            Step::Gather(0, vec![0]),
            Step::Loop(Box::new(Loop { n: 0, reverse: false, init: vec![], xs: vec![], body: vec![
                Step::Binary(Binary::Div, 0, 1),
                Step::Contract(Contract::new(View::affine(&[1], &[3, 2, 1], &[0, 0, 0], &[0]), View::affine(&[2], &[3, 2, 1], &[0, 1, 0], &[0]), View::affine(&[3, 2, 1], &[3, 2, 1], &[1, 0, 0, 0, 1, 0, 0, 0, 0], &[0, 0, 0])), 0, 2),
            ], next: vec![], out: vec![3] })),
        ],
    };
    // A sum over no positions, of a number.
    a_sum_of_nothing = Recipe {
        tame: true,
        inputs: vec![Numbers { shape: vec![], dtype: DType::F64, seed: 855 }],
        steps: vec![
            Step::Linear(Linear::affine(View::affine(&[], &[1, 1], &[], &[]), View::affine(&[], &[1, 1], &[], &[]).clipped(0, 0, 0).clipped(1, 0, 0)), 0),
            Step::Linear(Linear::reshape(&[], &[1]), 1),
            Step::Binary(Binary::Pow, 2, 1),
        ],
    };
    nothing_of_a_contraction = Recipe {
        tame: true,
        inputs: vec![Numbers { shape: vec![], dtype: DType::F64, seed: 120 }],
        steps: vec![
            Step::Discrete(Discrete::Iota { n: 4 }, vec![]),
            Step::Contract(Contract::new(View::affine(&[2], &[2], &[1], &[0]), View::affine(&[2], &[2], &[1], &[0]), View::affine(&[], &[2], &[], &[])), 1, 0),
            Step::Linear(Linear::affine(View::affine(&[], &[1], &[], &[]).clipped(0, 0, 0), View::affine(&[], &[1], &[], &[])), 2),
        ],
    };
    // Without indices everything is read, and added to, in a loop that becomes a bulk operation.
    no_indices = Recipe {
        tame: true,
        inputs: vec![Numbers { shape: vec![], dtype: DType::F64, seed: 543 }],
        steps: vec![
            Step::Loop(Box::new(Loop { n: 1, reverse: false, init: vec![], xs: vec![], body: vec![Step::Gather(0, vec![0])], next: vec![], out: vec![1] })),
        ],
    };
    // A linear loop carries the tangents along with sines of its sequence, that the transposed one reads.
    rules_inside_of_loops = Recipe {
        tame: true,
        inputs: vec![Numbers { shape: vec![], dtype: DType::F64, seed: 264 }],
        steps: vec![
            Step::Loop(Box::new(Loop { n: 1, reverse: false, init: vec![0, 0], xs: vec![], body: vec![
                Step::Loop(Box::new(Loop { n: 1, reverse: false, init: vec![], xs: vec![], body: vec![Step::Ruled(Rules::Both, 2, 0)], next: vec![], out: vec![4] })),
            ], next: vec![3, 2], out: vec![] })),
        ],
    };
    // As before, but an inner loop makes both the tangents and what the transposed loop reads.
    rules_inside_of_inner_loops = Recipe {
        tame: true,
        inputs: vec![Numbers { shape: vec![1], dtype: DType::F64, seed: 242 }],
        steps: vec![
            Step::Loop(Box::new(Loop { n: 2, reverse: false, init: vec![0], xs: vec![], body: vec![
                Step::Loop(Box::new(Loop { n: 2, reverse: false, init: vec![], xs: vec![0], body: vec![Step::Gather(0, vec![2]), Step::Ruled(Rules::Both, 3, 1)], next: vec![], out: vec![4] })),
            ], next: vec![2], out: vec![] })),
        ],
    };
    // A zero that a loop adds in place, at all places of a carry of -0.
    zeros_replicated_in_place = Recipe {
        tame: true,
        inputs: vec![
            Numbers { shape: vec![0], dtype: DType::F64, seed: 141 },
            Numbers { shape: vec![1], dtype: DType::F64, seed: 205 },
        ],
        steps: vec![
            Step::Loop(Box::new(Loop { n: 2, reverse: false, init: vec![], xs: vec![], body: vec![Step::Ruled(Rules::Both, 1, 0)], next: vec![], out: vec![2] })),
            Step::Unary(Unary::Neg, 2),
            Step::Loop(Box::new(Loop { n: 1, reverse: false, init: vec![3], xs: vec![3], body: vec![
                Step::Contract(Contract::new(View::affine(&[2, 2, 1, 2], &[2, 2, 1, 2, 3], &[1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0], &[0, 0, 0, 0]), View::affine(&[], &[2, 2, 1, 2, 3], &[], &[]), View::affine(&[], &[2, 2, 1, 2, 3], &[], &[])), 5, 1),
                Step::Unary(Unary::Sin, 6),
                Step::Binary(Binary::Add, 4, 7),
            ], next: vec![8], out: vec![] })),
        ],
    };
    sign_of_a_negated_nan = Recipe {
        tame: false,
        inputs: vec![Numbers { shape: vec![], dtype: DType::F64, seed: 470 }],
        steps: vec![
            Step::Binary(Binary::Pow, 0, 0),
            Step::Loop(Box::new(Loop { n: 1, reverse: false, init: vec![], xs: vec![1], body: vec![Step::Unary(Unary::Neg, 2)], next: vec![], out: vec![3] })),
            Step::Binary(Binary::Copysign, 0, 2),
        ],
    };
    // The next state is the one before, reshaped twice: compiled, it was never written to the stack of states.
    a_state_under_another_name = Recipe {
        tame: true,
        inputs: vec![Numbers { shape: vec![4, 4], dtype: DType::F64, seed: 730 }],
        steps: vec![
            Step::Loop(Box::new(Loop { n: 1, reverse: false, init: vec![0], xs: vec![], body: vec![Step::Linear(Linear::reshape(&[4, 4], &[4, 4, 1]), 1)], next: vec![2], out: vec![1] })),
        ],
    };
    // `-1 x` is `-x`, but for the sign of NaN, which no operation may see.
    sign_of_a_nan_times_minus_one = Recipe {
        tame: false,
        inputs: vec![
            Numbers { shape: vec![], dtype: DType::F64, seed: 1534 },
            Numbers { shape: vec![], dtype: DType::Bool, seed: 1335 },
        ],
        steps: vec![
            Step::Unary(Unary::Acosh, 0),
            Step::Constant(Numbers { shape: vec![], dtype: DType::F64, seed: 1292 }),
            Step::Binary(Binary::Mul, 3, 2),
            Step::Binary(Binary::Copysign, 1, 4),
        ],
    };
    // A loop that ends by itself, of which one value has a tangent in one of two directions: it was not run in the other.
    loops_that_end_by_themselves_in_some_directions = Recipe {
        tame: true,
        inputs: vec![
            Numbers { shape: vec![], dtype: DType::F64, seed: 305 },
            Numbers { shape: vec![], dtype: DType::F64, seed: 712 },
        ],
        steps: vec![
            Step::While(1, Bound::Most, Box::new(Loop { n: 0, reverse: false, init: vec![1], xs: vec![], body: vec![], next: vec![1], out: vec![] })),
        ],
    };
    // The carry of such a loop ends as what does not depend on the inputs.
    loops_that_end_at_a_number = Recipe {
        tame: true,
        inputs: vec![
            Numbers { shape: vec![], dtype: DType::F64, seed: 305 },
            Numbers { shape: vec![], dtype: DType::F64, seed: 712 },
            Numbers { shape: vec![], dtype: DType::I64, seed: 712 },
        ],
        steps: vec![
            Step::While(0, Bound::Most, Box::new(Loop { n: 0, reverse: false, init: vec![1, 2], xs: vec![], body: vec![], next: vec![2, 2], out: vec![] })),
        ],
    };
    // A loop that ends by itself in another, of which a derivative is recorded around a tangent: trips recorded as much as ran.
    loops_that_end_by_themselves_in_recorded_loops = Recipe {
        tame: true,
        inputs: vec![Numbers { shape: vec![], dtype: DType::F64, seed: 913 }],
        steps: vec![
            Step::Discrete(Discrete::Iota { n: 4 }, vec![]),
            Step::Loop(Box::new(Loop { n: 2, reverse: false, init: vec![0], xs: vec![1], body: vec![Step::Unary(Unary::Sin, 0), Step::While(3, Bound::Most, Box::new(Loop { n: 1, reverse: false, init: vec![4], xs: vec![], body: vec![], next: vec![0], out: vec![] }))], next: vec![5], out: vec![] })),
        ],
    };
    // A loop without a bound in a plan of least memory, whose estimated time is as large as a number can be.
    loops_without_a_bound_are_planned = Recipe {
        tame: true,
        inputs: vec![Numbers { shape: vec![], dtype: DType::F64, seed: 594 }],
        steps: vec![
            Step::While(0, Bound::None, Box::new(Loop { n: 0, reverse: false, init: vec![0], xs: vec![], body: vec![], next: vec![0], out: vec![] })),
            Step::Unary(Unary::Sin, 1),
        ],
    };
    // A segment of a loop that takes no argument.
    segments_without_arguments = Recipe {
        tame: false,
        inputs: vec![Numbers { shape: vec![], dtype: DType::F64, seed: 1414 }],
        steps: vec![
            Step::Discrete(Discrete::Compare(Compare::Eq), vec![0, 0]),
            Step::Loop(Box::new(Loop { n: 2, reverse: false, init: vec![1], xs: vec![0], body: vec![Step::Discrete(Discrete::Iota { n: 0 }, vec![]), Step::Binary(Binary::Mul, 2, 4)], next: vec![5], out: vec![5] })),
        ],
    };
    // An infinity times a sum, in place of a sum of products: NaN is a number then, and only then.
    an_infinity_times_a_sum = Recipe {
        tame: false,
        inputs: vec![Numbers { shape: vec![2, 3], dtype: DType::F64, seed: 1810 }],
        steps: vec![
            Step::Unary(Unary::Ln, 0),
            Step::Contract(Contract::new(View::affine(&[3, 3], &[3, 3, 3], &[1, 0, 0, 0, 1, 0], &[0, 0]), View::affine(&[3, 3], &[3, 3, 3], &[0, 1, 0, 0, 0, 1], &[0, 0]), View::affine(&[3], &[3, 3, 3], &[1, 0, 0], &[0])), 1, 0),
            Step::Binary(Binary::LogAddExp, 0, 2),
        ],
    };
    // Two views of which each sees something where the other sees nothing: compiled, the scalar was added nevertheless.
    views_that_see_nothing_together = Recipe {
        tame: true,
        inputs: vec![Numbers { shape: vec![], dtype: DType::F64, seed: 510 }],
        steps: vec![
            Step::Linear(Linear::affine(View::affine(&[], &[3, 3], &[], &[]).clipped(0, 1, 2).clipped(1, 2, 3), View::affine(&[], &[3, 3], &[], &[]).clipped(1, 1, 2)), 0),
        ],
    };
    // Both are zero but for rounding, and a mask tells them apart.
    masks_decided_by_the_rounding_of_a_transform = Recipe {
        tame: true,
        inputs: vec![
            Numbers { shape: vec![], dtype: DType::F64, seed: 124 },
        ],
        steps: vec![
            Step::Linear(Linear::fourier(&[2, 2], 0, 1).adjoint(), 0),
            Step::Discrete(Discrete::Or, vec![1, 1]),
        ],
    };
    // An infinity times a sum is NaN or not, which decides a mask.
    masks_decided_by_an_infinity_times_a_sum = Recipe {
        tame: false,
        inputs: vec![
            Numbers { shape: vec![2], dtype: DType::F64, seed: 756 },
            Numbers { shape: vec![], dtype: DType::Bool, seed: 462 },
        ],
        steps: vec![
            Step::Loop(Box::new(Loop { n: 1, reverse: false, init: vec![1], xs: vec![], body: vec![Step::Contract(Contract::new(View::affine(&[3], &[3, 2], &[1, 0], &[0]), View::affine(&[2], &[3, 2], &[0, 1], &[0]), View::affine(&[3], &[3, 2], &[1, 0], &[0])), 0, 0)], next: vec![3], out: vec![] })),
        ],
    };
    // `(1 / x) ^ -1` is `x`, for which one has to come back from an infinity.
    derivatives_behind_an_infinity = Recipe {
        tame: false,
        inputs: vec![
            Numbers { shape: vec![3], dtype: DType::F64, seed: 1595 },
        ],
        steps: vec![
            Step::Loop(Box::new(Loop { n: 0, reverse: false, init: vec![], xs: vec![], body: vec![], next: vec![], out: vec![0] })),
            Step::Unary(Unary::Recip, 0),
            Step::Loop(Box::new(Loop { n: 1, reverse: false, init: vec![], xs: vec![], body: vec![Step::Binary(Binary::PowLessOne, 2, 1)], next: vec![], out: vec![3] })),
        ],
    };
    // A view in a body writes nothing in the first row, where the addition in place of the interpreter leaves a -0, and
    // the addition of arrays gives +0.
    signs_where_a_view_in_a_body_writes_nothing = Recipe {
        tame: true,
        inputs: vec![
            Numbers { shape: vec![2, 3, 3], dtype: DType::F64, seed: 981 },
        ],
        steps: vec![
            Step::Loop(Box::new(Loop { n: 2, reverse: false, init: vec![0], xs: vec![], body: vec![Step::Linear(Linear::affine(View::affine(&[2, 3, 3], &[2, 3, 3], &[1, 0, 0, 0, 1, 0, 0, 0, 1], &[0, -1, 0]).clipped(1, 1, 3), View::affine(&[2, 3, 3], &[2, 3, 3], &[1, 0, 0, 0, 1, 0, 0, 0, 1], &[0, 0, 0])), 1), Step::Binary(Binary::Add, 1, 2), Step::Discrete(Discrete::Iota { n: 3 }, vec![]), Step::Binary(Binary::Mul, 3, 4)], next: vec![5], out: vec![] })),
        ],
    };
    // `expm1` is nearly in the middle of -1 and its neighbour, which a kernel rounds to -1: a pole of what comes next.
    poles_at_the_rounding_of_a_function = Recipe {
        tame: false,
        inputs: vec![
            Numbers { shape: vec![3, 3, 3], dtype: DType::F64, seed: 863 },
            Numbers { shape: vec![3], dtype: DType::F32, seed: 652 },
        ],
        steps: vec![
            Step::Constant(Numbers { shape: vec![], dtype: DType::I64, seed: 3 }),
            Step::Discrete(Discrete::IntBinary(IntBinary::Max), vec![0, 2]),
            Step::Scatter(1, vec![3], 1),
            Step::Unary(Unary::Expm1, 4),
            Step::Unary(Unary::Trigamma, 5),
        ],
    };
    // A difference is -0, and the sum of the same terms in another order, some of them before the loop, is +0.
    sums_keep_their_signs_if_terms_are_added_before_the_loop = Recipe {
        tame: false,
        inputs: vec![
            Numbers { shape: vec![2], dtype: DType::F64, seed: 1402 },
        ],
        steps: vec![
            Step::Loop(Box::new(Loop { n: 1, reverse: false, init: vec![0], xs: vec![], body: vec![Step::Constant(Numbers { shape: vec![], dtype: DType::F64, seed: 1000 })], next: vec![2], out: vec![] })),
            Step::Loop(Box::new(Loop { n: 1, reverse: false, init: vec![1], xs: vec![1], body: vec![Step::Gather(1, vec![2]), Step::Binary(Binary::Sub, 3, 4), Step::Binary(Binary::Sub, 3, 5)], next: vec![6], out: vec![] })),
        ],
    };
    // The start of the carry is infinite, and no trip reads it.
    starts_that_no_trip_reads = Recipe {
        tame: false,
        inputs: vec![
            Numbers { shape: vec![], dtype: DType::F64, seed: 1323 },
            Numbers { shape: vec![2], dtype: DType::F64, seed: 9331 },
        ],
        steps: vec![
            Step::Contract(Contract::new(View::affine(&[2, 2, 2], &[2, 2, 2], &[1, 0, 0, 0, 1, 0, 0, 0, 1], &[0, 0, 0]), View::affine(&[2], &[2, 2, 2], &[0, 1, 0], &[0]), View::affine(&[2, 2], &[2, 2, 2], &[0, 1, 0, 0, 0, 1], &[0, 0])), 1, 0),
            Step::Loop(Box::new(Loop { n: 1, reverse: false, init: vec![2], xs: vec![], body: vec![], next: vec![0], out: vec![] })),
        ],
    };
    // Partial sums that start at +0 made elements of -0, to which nothing is added, +0.
    elements_to_which_no_part_adds = Recipe {
        tame: false,
        inputs: vec![
            Numbers { shape: vec![2, 2, 2], dtype: DType::F64, seed: 8329 },
        ],
        steps: vec![
            Step::Scatter(0, vec![0], 0),
            Step::Binary(Binary::Atan2, 0, 1),
        ],
    };
    // A sum over trips that consists of a scatter-add without an index: no axis told the trips apart.
    values_that_trips_add_at_no_index = Recipe {
        tame: true,
        inputs: vec![
            Numbers { shape: vec![3], dtype: DType::F64, seed: 7 },
        ],
        steps: vec![
            Step::Loop(Box::new(Loop { n: 2, reverse: false, init: vec![0], xs: vec![], body: vec![
                Step::Constant(Numbers { shape: vec![3], dtype: DType::F64, seed: 5 }),
                Step::Scatter(2, vec![], 0),
                Step::Binary(Binary::Add, 1, 3),
            ], next: vec![4], out: vec![] })),
        ],
    };
    // An element of a value with an infinity elsewhere, added to something: the sum did not know that it hides the others.
    elements_beside_infinities_that_are_added = Recipe {
        tame: false,
        inputs: vec![
            Numbers { shape: vec![2], dtype: DType::F64, seed: 1702 },
            Numbers { shape: vec![], dtype: DType::F64, seed: 1403 },
        ],
        steps: vec![
            Step::Binary(Binary::PowLessOne, 0, 0),
            Step::Contract(Contract::new(View::affine(&[3], &[3], &[1], &[0]), View::affine(&[3], &[3], &[1], &[0]), View::affine(&[3], &[3], &[1], &[0])), 2, 1),
            Step::Scatter(1, vec![1], 3),
        ],
    };
    // A partial that is NaN where the value is finite, in a carry of a loop: recorded forward mode forgot it there.
    steep_partials_in_a_carry = Recipe {
        tame: false,
        inputs: vec![
            Numbers { shape: vec![], dtype: DType::F64, seed: 1272 },
        ],
        steps: vec![
            Step::Binary(Binary::Atan2, 0, 0),
            Step::Loop(Box::new(Loop { n: 1, reverse: false, init: vec![1], xs: vec![], body: vec![], next: vec![1], out: vec![] })),
            Step::Unary(Unary::Cos, 2),
        ],
    };
    // The square of the root of an integer, which may be negative: the rule took every integer for a position.
    squares_of_roots_of_integers = Recipe {
        tame: false,
        inputs: vec![
            Numbers { shape: vec![4, 4], dtype: DType::I64, seed: 1334 },
        ],
        steps: vec![
            Step::Unary(Unary::Sqrt, 0),
            Step::Contract(Contract::new(View::affine(&[4, 4], &[4, 4, 4], &[1, 0, 0, 0, 1, 0], &[0, 0]), View::affine(&[4, 4], &[4, 4, 4], &[1, 0, 0, 0, 1, 0], &[0, 0]), View::affine(&[4, 4], &[4, 4, 4], &[1, 0, 0, 0, 1, 0], &[0, 0])), 1, 1),
        ],
    };
    // An infinite number, replicated: the rules multiply it with the sum of the other factor.
    copies_of_an_infinity = Recipe {
        tame: false,
        inputs: vec![
            Numbers { shape: vec![2], dtype: DType::F64, seed: 1303 },
        ],
        steps: vec![
            Step::Linear(Linear::affine(View::affine(&[3], &[3], &[1], &[0]), View::affine(&[], &[3], &[], &[])), 0),
            Step::Discrete(Discrete::Iota { n: 4 }, vec![]),
            Step::Loop(Box::new(Loop { n: 1, reverse: false, init: vec![1], xs: vec![], body: vec![], next: vec![2], out: vec![] })),
            Step::Binary(Binary::PowLessOne, 3, 0),
            Step::Contract(Contract::new(View::affine(&[3], &[3, 1], &[1, 0], &[0]), View::affine(&[3], &[3, 1], &[1, 0], &[0]), View::affine(&[1], &[3, 1], &[0, 0], &[0])), 0, 4),
            Step::Binary(Binary::RecipReal, 5, 3),
        ],
    };
    // A mask that says whether the rounding of `a - (a - b)` leaves something of `b`.
    masks_of_what_a_difference_loses = Recipe {
        tame: false,
        inputs: vec![
            Numbers { shape: vec![], dtype: DType::Bool, seed: 1579 },
            Numbers { shape: vec![], dtype: DType::F64, seed: 8966 },
        ],
        steps: vec![
            Step::Loop(Box::new(Loop { n: 1, reverse: false, init: vec![0], xs: vec![], body: vec![Step::Loop(Box::new(Loop { n: 2, reverse: false, init: vec![2, 0], xs: vec![], body: vec![], next: vec![0, 0], out: vec![1] })), Step::Discrete(Discrete::IntBinary(IntBinary::Sub), vec![0, 4]), Step::Gather(5, vec![6]), Step::Binary(Binary::Sub, 0, 7), Step::Binary(Binary::Sub, 0, 8)], next: vec![9], out: vec![] })),
        ],
    };
}
