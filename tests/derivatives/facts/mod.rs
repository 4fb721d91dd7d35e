//! Facts: programs whose values and derivatives were published as numbers, by the tests of horde-ad, an
//! implementation of the same ideas in Haskell. A test has the number of its fact in that collection.
//!
//! Law: a program computes the same value in every interpreter, its forward derivative is the transpose of
//! the reverse one, and both are the number that is known. The first two are checked with every gradient.
//!
//! Not here, because the program or its input is known by name only: 13, 22, 26, 31, 59, 64, 92, 97, 100, 101; the second
//! programs of 37 (one with appended copies), 47 (all but the first), 49 and 50 (of higher rank), 55 (nested); the
//! indexed build of 14. Of 52, 62, 73, 74, 79 and 82 the collection has a program in words, and the numbers determine the
//! rest.
//! Facts 61 and 98 are here by what is known of them: the function that is computed, and the sign as a power.
//! Integers are of one width, so 29 has one of its many. Ranked and shaped tensors are one type, so facts
//! that differ in this alone are one test.
//!
//! Of the facts about programs as syntax it is checked which operations there are, and our text of them. Not here: 119,
//! because terms of derivatives have no text but the programs they are evaluated to.
//! Not here, because it is about training on data: 103 to 106.

mod activations;
mod builds;
mod check;
mod conditionals;
mod convolutions;
mod custom;
mod empty;
mod indices;
mod loops;
mod printed;
mod programs;
mod scalars;
mod second;
