//! Programs as data: staged, printed, saved, made simpler, made bulk; choices of algorithms; and programs that are long.

#[path = "../support/forms.rs"]
mod forms;
#[allow(dead_code)]
#[path = "../gallery/mod.rs"]
mod gallery;
#[path = "../support/programs.rs"]
mod programs;
#[path = "../support/mod.rs"]
mod support;

mod affine;
mod choices;
mod printing;
mod recognized;
mod rules;
mod saved;
mod scale;
mod staging;
mod vectorize;
