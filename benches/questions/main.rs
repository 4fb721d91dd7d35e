//! What things cost, a module for each question, next to a plain loop in Rust where there is one.
//!
//! `cargo bench --bench questions [part of a title]`

mod compiling;
mod convolutions;
mod elementwise;
mod fourier;
mod gathers;
mod harness;
mod interpreters;
mod loops;
mod matrices;
mod products;
mod scans;
mod sorting;
mod tiny;
mod views;
mod ways;

fn main() {
    interpreters::scalars();
    interpreters::small_arrays();
    loops::direct();
    loops::conditionals();
    loops::compiled();
    elementwise::run();
    views::run();
    products::run();
    matrices::run();
    convolutions::run();
    gathers::run();
    gathers::scatters();
    scans::run();
    sorting::run();
    fourier::run();
    tiny::run();
    ways::run();
    compiling::run();
}
