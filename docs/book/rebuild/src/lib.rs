//! The crate that the chapters "Rebuild it" of the book build, one module a chapter. Each module names those before it alone.

pub mod values;

pub mod linear;

pub mod language;

pub mod surface;

pub mod forward;

pub mod reverse;

pub mod verbs;

pub mod terms;

pub mod programs;

pub mod batches;

pub mod rules;

pub mod compiler;

pub mod series;

pub mod optics;

pub mod functions;
