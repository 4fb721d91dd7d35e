//! The guide: pages on how to use the library. Every program in them is a test.
//!
//! These pages are a part of the book, `docs`, which `make book` builds as a site: `docs/ten_minutes.md`, `docs/questions.md`,
//! the gallery, and `docs/rebuild`, the ideas of the library in 15 short chapters.
//!
//! Further pages lie next to the source, in the package: `ARCHITECTURE.md`, the map; `CONTRIBUTING.md`; `CHANGELOG.md`;
//! `SECURITY.md`; `docs/versions.md`, on breaking changes and the minimum toolchain.
//!
//! Programs with functions as values are a separate crate, `polygrad-higher`, whose documentation has their page.
//!
//! [`tasks`] says what to use for what, [`fast`] what is recorded when.

// Where a page has links, the lines before it say where these lead within this documentation: of two definitions of a
// link, the first one counts.

#[doc = "[next: what is fast]: crate::guide::fast"]
#[doc = "[next: levels and lifting]: crate::guide::levels"]
#[doc = "[next: the gallery]: crate::guide::examples"]
#[doc = ""]
#[doc = include_str!("../docs/guide/tasks.md")]
pub mod tasks {}

#[doc = "[next: exported programs]: crate::guide::export"]
#[doc = "[next: names]: crate::guide::names"]
#[doc = "[next: one program, many readings]: crate::guide::readings"]
#[doc = ""]
#[doc = include_str!("../docs/guide/from_jax.md")]
pub mod from_jax {}

#[doc = "[next: from JAX]: crate::guide::from_jax"]
#[doc = "[next: programs as source code]: crate::guide::source"]
#[doc = ""]
#[doc = include_str!("../docs/guide/from_c.md")]
pub mod from_c {}

#[doc = "[next: from JAX]: crate::guide::from_jax"]
#[doc = "[complex]: crate::guide::complex"]
#[doc = "[next: from C]: crate::guide::from_c"]
#[doc = "[next: samplers by BridgeStan]: crate::guide::bridgestan"]
#[doc = ""]
#[doc = include_str!("../docs/guide/from_python.md")]
pub mod from_python {}

#[doc = "[next: models and samplers]: crate::guide::models"]
#[doc = "[next: from C]: crate::guide::from_c"]
#[doc = ""]
#[doc = include_str!("../docs/guide/bridgestan.md")]
pub mod bridgestan {}

#[doc = "[next: what is fast]: crate::guide::fast"]
#[doc = "[next: loops]: crate::guide::loops"]
#[doc = "[next: one program, many readings]: crate::guide::readings"]
#[doc = ""]
#[doc = include_str!("../docs/guide/levels.md")]
pub mod levels {}

#[doc = "[next: by task]: crate::guide::tasks"]
#[doc = "[next: what to know]: crate::guide::conventions"]
#[doc = "[next: loops]: crate::guide::loops"]
#[doc = ""]
#[doc = include_str!("../docs/guide/names.md")]
pub mod names {}

#[doc = "[next: looking inside]: crate::guide::looking"]
#[doc = "[next: one program for all sizes]: crate::guide::sizes"]
#[doc = "[next: performance]: crate::guide::performance"]
#[doc = ""]
#[doc = include_str!("../docs/guide/fast.md")]
pub mod fast {}

#[doc = "[next: written element by element]: crate::guide::bulk"]
#[doc = "[next: what is fast]: crate::guide::fast"]
#[doc = "[next: a Kalman filter]: crate::guide::examples"]
#[doc = ""]
#[doc = include_str!("../docs/guide/loops.md")]
pub mod loops {}

#[doc = "[next: one program, many readings]: crate::guide::readings"]
#[doc = "[next: what to know]: crate::guide::conventions"]
#[doc = "[next: by task]: crate::guide::tasks"]
#[doc = ""]
#[doc = include_str!("../docs/guide/verified.md")]
pub mod verified {}

#[doc = "[next: one program, many readings]: crate::guide::readings"]
#[doc = "[next: what is fast]: crate::guide::fast"]
#[doc = "[next: what to know]: crate::guide::conventions"]
#[doc = ""]
#[doc = include_str!("../docs/guide/looking.md")]
pub mod looking {}

#[doc = "[next: what is fast]: crate::guide::fast"]
#[doc = "[next: fitting a model]: crate::guide::fitting"]
#[doc = "[next: exported programs]: crate::guide::export"]
#[doc = ""]
#[doc = include_str!("../docs/guide/sizes.md")]
pub mod sizes {}

#[doc = "[next: solvers and samplers of other crates]: crate::guide::crates"]
#[doc = "[next: what is fast]: crate::guide::fast"]
#[doc = "[next: a differential equation, fitted]: crate::guide::examples"]
#[doc = ""]
#[doc = include_str!("../docs/guide/sparse.md")]
pub mod sparse {}

#[doc = "[manifold]: crate::manifold::Manifold"]
#[doc = "[next: fitting a model]: crate::guide::fitting"]
#[doc = "[next: matrices with few elements]: crate::guide::sparse"]
#[doc = "[next: solvers and samplers of other crates]: crate::guide::crates"]
#[doc = ""]
#[doc = include_str!("../docs/guide/manifolds.md")]
pub mod manifolds {}

#[doc = "[key]: crate::random::Key"]
#[doc = "[uniform_between]: crate::random::Key::uniform_between"]
#[doc = "[truncated_normal]: crate::random::Key::truncated_normal"]
#[doc = "[gamma]: crate::random::Key::gamma"]
#[doc = "[beta]: crate::random::Key::beta"]
#[doc = "[rng]: crate::array::Rng"]
#[doc = "[next: models and samplers]: crate::guide::models"]
#[doc = "[next: neural networks]: crate::guide::networks"]
#[doc = "[next: a variational autoencoder]: crate::guide::examples"]
#[doc = ""]
#[doc = include_str!("../docs/guide/random.md")]
pub mod random {}

#[doc = "[stats]: crate::stats"]
#[doc = "[flat]: crate::FlatFunction"]
#[doc = "[next: solvers and samplers of other crates]: crate::guide::crates"]
#[doc = "[next: random numbers]: crate::guide::random"]
#[doc = "[next: a Kalman filter]: crate::guide::examples"]
#[doc = ""]
#[doc = include_str!("../docs/guide/models.md")]
pub mod models {}

#[doc = "[flat]: crate::FlatFunction"]
#[doc = "[argmin]: crate::optim"]
#[doc = "[next: models and samplers]: crate::guide::models"]
#[doc = "[next: matrices with few elements]: crate::guide::sparse"]
#[doc = "[next: derivatives by external solvers]: crate::guide::solver"]
#[doc = ""]
#[doc = include_str!("../docs/guide/crates.md")]
pub mod crates {}

#[doc = "[external]: crate::external()"]
#[doc = "[root]: crate::root()"]
#[doc = "[fixed_point]: crate::fixed_point()"]
#[doc = "[minimize]: crate::minimize()"]
#[doc = "[next: solvers and samplers of other crates]: crate::guide::crates"]
#[doc = "[next: looking inside]: crate::guide::looking"]
#[doc = "[next: loops]: crate::guide::loops"]
#[doc = ""]
#[doc = include_str!("../docs/guide/solver.md")]
pub mod solver {}

#[doc = "[next: levels and lifting]: crate::guide::levels"]
#[doc = "[next: one program, many readings]: crate::guide::readings"]
#[doc = "[next: operations]: crate::guide::operations"]
#[doc = ""]
#[doc = include_str!("../docs/guide/authors.md")]
pub mod authors {}

#[doc = "[next: programs as source code]: crate::guide::source"]
#[doc = "[next: one program for all sizes]: crate::guide::sizes"]
#[doc = "[next: performance]: crate::guide::performance"]
#[doc = ""]
#[doc = include_str!("../docs/export.md")]
pub mod export {}

#[doc = "[next: exported programs]: crate::guide::export"]
#[doc = "[next: what is fast]: crate::guide::fast"]
#[doc = "[next: an extended Kalman filter]: crate::guide::examples"]
#[doc = ""]
#[doc = include_str!("../docs/source.md")]
pub mod source {}

#[doc = "[next: levels and lifting]: crate::guide::levels"]
#[doc = "[next: numbers with proof]: crate::guide::verified"]
#[doc = "[next: looking inside]: crate::guide::looking"]
#[doc = ""]
#[doc = include_str!("../docs/guide/readings.md")]
pub mod readings {}

#[doc = "[export]: crate::guide::export"]
#[doc = "[next: neural networks]: crate::guide::networks"]
#[doc = "[next: models and samplers]: crate::guide::models"]
#[doc = "[next: what is fast]: crate::guide::fast"]
#[doc = ""]
#[doc = include_str!("../docs/guide/fitting.md")]
pub mod fitting {}

#[doc = "[nn]: crate::nn"]
#[doc = "[next: random numbers]: crate::guide::random"]
#[doc = "[next: fitting a model]: crate::guide::fitting"]
#[doc = "[next: a convolutional network]: crate::guide::examples"]
#[doc = ""]
#[doc = include_str!("../docs/guide/networks.md")]
pub mod networks {}

#[doc = "[next: what to know]: crate::guide::conventions"]
#[doc = "[next: names]: crate::guide::names"]
#[doc = "[next: by task]: crate::guide::tasks"]
#[doc = ""]
#[doc = include_str!("../docs/guide/complex.md")]
pub mod complex {}

#[doc = "[next: loops]: crate::guide::loops"]
#[doc = "[next: what is fast]: crate::guide::fast"]
#[doc = "[next: one program, many readings]: crate::guide::readings"]
#[doc = ""]
#[doc = include_str!("../docs/guide/bulk.md")]
pub mod bulk {}

#[doc = "[sparse]: crate::guide::sparse"]
#[doc = "[export]: crate::guide::export"]
#[doc = "[models]: crate::guide::models"]
#[doc = "[complex]: crate::guide::complex"]
#[doc = "[next: by task]: crate::guide::tasks"]
#[doc = "[next: levels and lifting]: crate::guide::levels"]
#[doc = "[next: what is fast]: crate::guide::fast"]
#[doc = ""]
#[doc = include_str!("../docs/guide/conventions.md")]
pub mod conventions {}

#[doc = "[next: what is fast]: crate::guide::fast"]
#[doc = "[next: levels and lifting]: crate::guide::levels"]
#[doc = "[next: operations]: crate::guide::operations"]
#[doc = ""]
#[doc = include_str!("../docs/verbs.md")]
pub mod verbs {}

#[doc = "[next: verbs]: crate::guide::verbs"]
#[doc = "[next: what to know]: crate::guide::conventions"]
#[doc = "[next: names]: crate::guide::names"]
#[doc = ""]
#[doc = include_str!("../docs/operations.md")]
pub mod operations {}

#[doc = "[fast]: crate::guide::fast"]
#[doc = "[next: one program for all sizes]: crate::guide::sizes"]
#[doc = "[next: exported programs]: crate::guide::export"]
#[doc = ""]
#[doc = include_str!("../docs/performance.md")]
pub mod performance {}

/// The gallery: programs with pictures, for problems with real data.
///
/// `cargo run --release --example lotka_volterra` runs one of them, in a copy of the repository. Each has a page in the book
/// (`make book`, or `docs/examples` in the repository) with its formulas, its picture, what it prints, and its times
/// compared with JAX.
pub mod examples {}
