//! The language as a user writes it: arrays, tensors, trees, the operations of each by their definition, the pages and
//! examples that describe them, and the layout of the sources.

#[path = "../support/alike.rs"]
mod alike;
#[path = "../support/blind.rs"]
mod blind;
#[path = "../support/narrowed.rs"]
mod narrowed;
#[path = "../support/panics.rs"]
mod panics;
#[path = "../support/root.rs"]
mod root;
#[path = "../support/wrapped.rs"]
mod wrapped;

mod accuracy;
mod anchors;
mod architecture;
mod array;
mod beside;
mod book;
mod bounds;
mod certificate;
mod circles;
mod closed;
mod complex;
mod composed;
mod concordance;
mod concrete;
mod constants;
mod contributing;
mod conv;
mod degenerate;
mod derive;
mod documented;
mod einsum;
mod enclosed_matrices;
mod enclosure;
mod english;
mod examples;
mod expand;
mod features;
mod foreign;
mod fourier;
mod gradbench;
mod grouped;
mod guide;
mod layering;
mod linalg;
mod links;
mod matrix;
mod operations;
mod parameters;
mod parts;
mod pictures;
mod recorded;
mod second;
mod sizes;
mod sorting;
mod special;
mod spectral;
mod task_pictures;
mod tensor;
mod tree;
mod types;
mod unreachable;
mod unwind;
mod variants;
mod verbs;
mod workspace;
