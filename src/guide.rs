//! The guide: pages on how to use the library. Every program in them is a test.
//!
//! Further pages lie beside the source, in the package: `ARCHITECTURE.md`, the map; `CONTRIBUTING.md`; `CHANGELOG.md`;
//! `SECURITY.md`; `docs/versions.md`, on breaking changes and the minimum toolchain.
//!
//! [`tasks`] says what to use for what, [`fast`] what is recorded when.

// Where a page has links, the lines before it say where these lead within this documentation: of two definitions of a
// link, the first one counts.

#[doc = include_str!("../docs/guide/tasks.md")]
pub mod tasks {}

#[doc = include_str!("../docs/guide/levels.md")]
pub mod levels {}

#[doc = include_str!("../docs/guide/names.md")]
pub mod names {}

#[doc = include_str!("../docs/guide/fast.md")]
pub mod fast {}

#[doc = include_str!("../docs/guide/loops.md")]
pub mod loops {}

#[doc = include_str!("../docs/guide/verified.md")]
pub mod verified {}
#[doc = include_str!("../docs/guide/looking.md")]
pub mod looking {}
#[doc = include_str!("../docs/guide/sizes.md")]
pub mod sizes {}

#[doc = include_str!("../docs/guide/sparse.md")]
pub mod sparse {}

#[doc = "[key]: crate::random::Key"]
#[doc = "[uniform_between]: crate::random::Key::uniform_between"]
#[doc = "[truncated_normal]: crate::random::Key::truncated_normal"]
#[doc = "[gamma]: crate::random::Key::gamma"]
#[doc = "[beta]: crate::random::Key::beta"]
#[doc = "[rng]: crate::array::Rng"]
#[doc = ""]
#[doc = include_str!("../docs/guide/random.md")]
pub mod random {}

#[doc = "[stats]: crate::stats"]
#[doc = "[flat]: crate::FlatFunction"]
#[doc = ""]
#[doc = include_str!("../docs/guide/models.md")]
pub mod models {}

#[doc = "[flat]: crate::FlatFunction"]
#[doc = "[argmin]: crate::optim"]
#[doc = ""]
#[doc = include_str!("../docs/guide/crates.md")]
pub mod crates {}

#[doc = "[external]: crate::external()"]
#[doc = "[root]: crate::root()"]
#[doc = "[fixed_point]: crate::fixed_point()"]
#[doc = "[minimize]: crate::minimize()"]
#[doc = ""]
#[doc = include_str!("../docs/guide/solver.md")]
pub mod solver {}

#[doc = include_str!("../docs/guide/authors.md")]
pub mod authors {}

#[doc = "[roll]: crate::higher::roll"]
#[doc = "[primitive]: crate::higher::Primitive"]
#[doc = "[monoidal]: crate::higher::Monoidal"]
#[doc = "[differential]: crate::higher::Differential"]
#[doc = "[reduce]: crate::higher::reduce()"]
#[doc = "[count]: crate::inspect::count()"]
#[doc = ""]
#[doc = include_str!("../docs/higher_order.md")]
pub mod higher_order {}

#[doc = include_str!("../docs/export.md")]
pub mod export {}

#[doc = include_str!("../docs/source.md")]
pub mod source {}

#[doc = include_str!("../docs/guide/readings.md")]
pub mod readings {}

#[doc = "[export]: crate::guide::export"]
#[doc = ""]
#[doc = include_str!("../docs/guide/fitting.md")]
pub mod fitting {}

#[doc = "[nn]: crate::nn"]
#[doc = ""]
#[doc = include_str!("../docs/guide/networks.md")]
pub mod networks {}

#[doc = include_str!("../docs/guide/complex.md")]
pub mod complex {}

#[doc = include_str!("../docs/guide/bulk.md")]
pub mod bulk {}

#[doc = "[sparse]: crate::guide::sparse"]
#[doc = "[export]: crate::guide::export"]
#[doc = "[models]: crate::guide::models"]
#[doc = "[complex]: crate::guide::complex"]
#[doc = ""]
#[doc = include_str!("../docs/guide/conventions.md")]
pub mod conventions {}

#[doc = include_str!("../docs/verbs.md")]
pub mod verbs {}

#[doc = include_str!("../docs/operations.md")]
pub mod operations {}

#[doc = "[fast]: crate::guide::fast"]
#[doc = ""]
#[doc = include_str!("../docs/performance.md")]
pub mod performance {}

/// Programs with pictures, in the folder `examples`.
pub mod examples {
    /// A recurrent network that learns to write like a text, letter by letter.
    ///
    #[doc = include_str!("../docs/pictures/character.svg")]
    // The link to the picture, for readers of the page itself, stands in a comment here.
    #[doc = "<!--"]
    #[doc = include_str!("../docs/examples/character.md")]
    pub mod character {}

    /// A convolutional network that learns to read handwritten digits.
    ///
    #[doc = include_str!("../docs/pictures/convolutional.svg")]
    #[doc = "<!--"]
    #[doc = include_str!("../docs/examples/convolutional.md")]
    pub mod convolutional {}

    /// A variational autoencoder that learns to draw handwritten digits.
    ///
    #[doc = include_str!("../docs/pictures/vae.svg")]
    #[doc = "<!--"]
    #[doc = include_str!("../docs/examples/vae.md")]
    pub mod vae {}

    /// A Kalman filter for a microcontroller, whose Jacobians are derivatives.
    ///
    #[doc = include_str!("../docs/pictures/firmware.svg")]
    #[doc = "<!--"]
    #[doc = include_str!("../docs/examples/firmware.md")]
    pub mod firmware {}

    /// A Gaussian process, whose hyperparameters are learnt.
    ///
    #[doc = include_str!("../docs/pictures/gaussian_process.svg")]
    #[doc = "<!--"]
    #[doc = include_str!("../docs/examples/gaussian_process.md")]
    pub mod gaussian_process {}

    /// A Kalman filter, whose parameters are fitted by its likelihood.
    ///
    #[doc = include_str!("../docs/pictures/kalman.svg")]
    #[doc = "<!--"]
    #[doc = include_str!("../docs/examples/kalman.md")]
    pub mod kalman {}

    /// The equations of Lotka and Volterra, fitted by the Gauss-Newton method, with the uncertainty of the fit.
    ///
    #[doc = include_str!("../docs/pictures/lotka_volterra.svg")]
    #[doc = "<!--"]
    #[doc = include_str!("../docs/examples/lotka_volterra.md")]
    pub mod lotka_volterra {}
}
