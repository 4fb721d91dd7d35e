//! Derivatives: the laws of each operation, all interpreters on the gallery, levels, loops, rules of users, and known
//! numbers.

#[path = "../gallery/mod.rs"]
mod gallery;
#[allow(dead_code)]
#[path = "../../examples/horde_ad/main.rs"]
mod horde_ad;
#[allow(dead_code)]
#[path = "../support/panics.rs"]
mod panics;
#[path = "../support/plain.rs"]
mod plain;
#[path = "../support/root.rs"]
mod root;
#[path = "../support/mod.rs"]
mod support;

mod agree;
mod associative;
mod checkpoint;
mod complex;
mod complex_determinants;
mod conditionals;
mod constrained;
mod custom;
mod degenerate;
mod densities;
mod determinants;
mod draws;
mod enclosure;
mod external;
mod extrema;
mod facts;
mod fork;
mod formal;
mod gradients;
mod implicit;
mod inside;
mod interpreters;
mod known;
mod laplacian;
mod laws;
mod layers;
mod levels;
mod lifting;
mod linalg;
mod long;
mod loops;
mod manifold;
mod modes;
mod ode;
mod ode_at_rest;
mod ode_tolerances;
mod optim;
mod outside;
mod ragged;
mod ranges;
mod repeat;
mod repeated;
mod saved;
mod scales;
mod sparse;
mod sparse_data;
mod stacked;
mod stats;
mod taylor;
mod trees;
mod trips;
mod twice;
mod users;
mod verified;
mod zeros_of_factors;
