//! Programs as data: staging, printing, saving, simplification, vectorisation; choices of algorithms; and long
//! programs.

#[path = "../support/dumped.rs"]
mod dumped;
#[path = "../support/emitted.rs"]
mod emitted;
#[path = "../support/forms.rs"]
mod forms;
#[allow(dead_code)]
#[path = "../gallery/mod.rs"]
mod gallery;
#[path = "../support/page.rs"]
mod page;
#[allow(dead_code)]
#[path = "../support/panics.rs"]
mod panics;
#[path = "../support/programs.rs"]
mod programs;
#[path = "../support/root.rs"]
mod root;
#[path = "../support/saved_files.rs"]
mod saved_files;
#[path = "../support/seen.rs"]
mod seen;
#[path = "../support/stablehlo/mod.rs"]
mod stablehlo;
#[path = "../support/mod.rs"]
mod support;
#[path = "../support/wrapped.rs"]
mod wrapped;

mod affine;
mod blocks;
mod budget;
mod choices;
mod compiled;
mod composed;
mod convolutions;
mod export;
mod flat;
mod fourier;
mod functions;
mod horde_ad;
mod hostile;
mod hostile_names;
mod hostile_sizes;
mod kept;
mod known_data;
mod lengths;
mod memory;
mod neighbours;
mod numbers;
mod parts;
mod printing;
mod recognized;
mod recompute;
mod report;
mod rules;
mod saved;
mod scalars;
mod scale;
mod selection;
mod sized;
mod source;
mod staging;
mod states;
mod taps;
mod updates;
mod vectorize;
