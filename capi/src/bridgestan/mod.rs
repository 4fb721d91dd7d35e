//! BridgeStan's interface of C, version 2.9, for a log density: what samplers of Python, R, Julia and Rust load.
//!
//! Laws: the densities, gradients and Hessians are those of a [`FlatFunction`] of unconstrained parameters, with the logarithm
//! of the Jacobian or without; constrained and unconstrained parameters are inverse to one another, and what lies outside of
//! its domain is an error. Elements lie as Stan has them, the first index fastest, and names count from 1.
//!
//! A model is a type that implements [`Model`], and [`bridgestan!`](crate::bridgestan!) exports the interface from a shared
//! library, a crate with `crate-type = ["cdylib"]`. A library has one model.
//!
//! ```
//! use polygrad::program::Term;
//! use polygrad::stats::{Constrained, normal};
//! use polygrad::{Array, BaseTensor, Tensor, Tree, tensor};
//! use polygrad_capi::bridgestan::{Model, ModelData, StanModel};
//!
//! #[derive(Tree, Constrained, Clone)]
//! struct Line<T: BaseTensor> {
//!     mean: Tensor<T, 0>,
//!     #[constrain(positive)]
//!     scale: Tensor<T, 0>,
//! }
//! fn log_density<T: BaseTensor>(line: &Line<T>, y: &Tensor<T, 1>) -> Tensor<T, 0> {
//!     normal(y, &line.mean, &line.scale).sum()
//! }
//!
//! struct Lines;
//! impl Model for Lines {
//!     const NAME: &'static str = "lines";
//!     type Data = Tensor<Array, 1>;
//!     type Parameters = Line<Array>;
//!     fn data(given: &ModelData) -> Result<Self::Data, String> {
//!         given.tensor("y")
//!     }
//!     fn parameters(_: &Self::Data) -> Self::Parameters {
//!         Line { mean: tensor(0.0), scale: tensor(1.0) }
//!     }
//!     fn log_density(line: &Line<Term>, y: &Tensor<Term, 1>) -> Tensor<Term, 0> {
//!         log_density(line, y)
//!     }
//! }
//! // In a shared library: polygrad_capi::bridgestan!(Lines);
//! let model = StanModel::of::<Lines>(r#"{"y": [1.0, 3.0]}"#)?;
//! let mut theta = [0.0; 2];
//! model.constrain(&[2.0, 3f64.ln()], &mut theta)?;
//! assert!((theta[1] - 3.0).abs() < 1e-15);
//! # Ok::<(), String>(())
//! ```

pub mod entry;
mod exports;
mod json;
mod quantities;

use std::ffi::CString;

use polygrad::array::Rng;
use polygrad::ops::Linear;
use polygrad::program::Term;
use polygrad::random::Key;
use polygrad::shape::size;
use polygrad::stats::{Constrained, Domain};
use polygrad::{Array, BaseTensor, DType, FlatFunction, Tensor, Tree};

use crate::boundary::c_text;
use crate::leaves::Leaves;
pub use json::ModelData;
pub use quantities::Quantities;
use quantities::QuantityFunction;

/// A log density for samplers.
///
/// Example: [`bridgestan`](self).
pub trait Model {
    /// The name of the model.
    const NAME: &'static str;

    /// The data, with shapes that may depend on them; `()` without data.
    type Data: Tree<Array>;

    /// The parameters, each in its domain, all `f64`.
    type Parameters: Tree<Array> + Constrained;

    /// The data of a model, from what a sampler hands over.
    ///
    /// Example: [`bridgestan`](self).
    ///
    /// # Errors
    /// When something is missing, or has another shape.
    fn data(given: &ModelData) -> Result<Self::Data, String>;

    /// Parameters with the right shapes, whatever their elements.
    ///
    /// Example: [`bridgestan`](self).
    fn parameters(data: &Self::Data) -> Self::Parameters;

    /// The log density of the parameters in their domains, without Jacobians. It is recorded once.
    ///
    /// Example: [`bridgestan`](self).
    fn log_density(
        parameters: &<Self::Parameters as Tree<Array>>::With<Term>,
        data: &<Self::Data as Tree<Array>>::With<Term>,
    ) -> Tensor<Term, 0>;

    /// Transformed parameters: what samplers show besides the parameters. Nothing, unless the model says so.
    ///
    /// Example: [`Quantities::with`].
    fn transformed(
        _parameters: &<Self::Parameters as Tree<Array>>::With<Term>,
        _data: &<Self::Data as Tree<Array>>::With<Term>,
    ) -> Quantities {
        Quantities::new()
    }

    /// Generated quantities: what is computed for each draw, with random numbers of a key that is new each time. Nothing,
    /// unless the model says so.
    ///
    /// Example: [`Quantities::with`].
    fn generated(
        _parameters: &<Self::Parameters as Tree<Array>>::With<Term>,
        _data: &<Self::Data as Tree<Array>>::With<Term>,
        _key: &Key<Term>,
    ) -> Quantities {
        Quantities::new()
    }
}

/// A leaf of the parameters.
struct ParameterLeaf {
    name: String,
    shape: Vec<usize>,
    /// The shape of its unconstrained parameters.
    free: Vec<usize>,
    domain: Domain,
}

/// A model with its data, compiled.
///
/// Example: [`bridgestan`](self).
pub struct StanModel {
    /// The log density of unconstrained parameters, without and with the logarithm of the Jacobian.
    densities: [FlatFunction<Leaves<Array>>; 2],
    constrain: FlatFunction<Leaves<Array>>,
    unconstrain: FlatFunction<Leaves<Array>>,
    /// Transformed parameters and generated quantities.
    quantities: [Option<QuantityFunction>; 2],
    leaves: Vec<ParameterLeaf>,
    texts: ModelTexts,
}

// Several threads may use one model at once.
const _: () = {
    const fn shared<X: Send + Sync>() {}
    shared::<StanModel>();
};

/// Texts that live as long as the model.
struct ModelTexts {
    name: CString,
    info: CString,
    /// Without and with transformed parameters, each without and with generated quantities.
    names: [[CString; 2]; 2],
    free_names: CString,
}

/// A random generator of a sampler.
///
/// Example: [`Quantities::with`].
#[derive(Debug)]
pub struct ModelRng(Rng);

impl ModelRng {
    /// The generator of a seed.
    ///
    /// Example: [`Quantities::with`].
    pub fn new(seed: u64) -> ModelRng {
        ModelRng(Rng::new(seed))
    }

    /// An integer below 2^53, which is a number without loss.
    fn word(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64
    }
}

/// A tensor with its axes in the other order: rows of one are columns of the other.
fn turned<T: BaseTensor>(x: &T) -> T {
    if x.shape().len() < 2 {
        return x.clone();
    }
    let axes: Vec<usize> = (0..x.shape().len()).rev().collect();
    x.linear(&Linear::permute(x.shape(), &axes))
}

/// The names of elements, the first index fastest.
fn element_names(name: &str, shape: &[usize], out: &mut Vec<String>) {
    for k in 0..size(shape) {
        let (mut rest, mut text) = (k, name.to_owned());
        for n in shape {
            text += &format!(".{}", rest % n + 1);
            rest /= n;
        }
        out.push(text);
    }
}

impl ParameterLeaf {
    /// The constrained leaf and the logarithm of the Jacobian.
    fn constrained<T: BaseTensor>(&self, free: &T) -> (T, T) {
        self.domain.constrain(&turned(free), &self.shape)
    }
}

/// The leaves of the parameters of a model, by names that Stan allows.
fn leaves_of<P: Tree<Array> + Constrained>(like: &P) -> Result<Vec<ParameterLeaf>, String> {
    let (domains, names) = (like.domains(), like.names());
    let mut leaves: Vec<ParameterLeaf> = Vec::new();
    for ((leaf, name), domain) in like.leaves().iter().zip(names).zip(domains) {
        let name = if name.is_empty() { String::from("x") } else { name };
        let name = name.replace(|c: char| !c.is_alphanumeric() && c != '_', "_");
        if leaf.dtype() != DType::F64 {
            return Err(format!(
                "`{name}` must have elements f64, but they are {}; cast it in the density",
                leaf.dtype()
            ));
        }
        if leaves.iter().any(|known| known.name == name) {
            return Err(format!("names must differ without their points, but `{name}` occurs twice; rename a field"));
        }
        let free = domain.free_shape(leaf.shape())?;
        leaves.push(ParameterLeaf { name, shape: leaf.shape().to_vec(), free, domain });
    }
    if leaves.len() < like.count() {
        return Err(String::from("each leaf must have a domain, but there are fewer domains; derive Constrained"));
    }
    Ok(leaves)
}

/// Zeros of these shapes, with their axes in the other order.
fn zeros<'a>(shapes: impl Iterator<Item = &'a Vec<usize>>) -> Leaves<Array> {
    let turned = |shape: &Vec<usize>| shape.iter().rev().copied().collect::<Vec<usize>>();
    Leaves(shapes.map(|shape| Array::zeros(&turned(shape), DType::F64)).collect())
}

impl StanModel {
    /// A model with the data of a text of JSON.
    ///
    /// Example: [`bridgestan`](self).
    ///
    /// # Errors
    /// When the text is not read, or the model refuses the data or has parameters that are no `f64`.
    ///
    /// # Panics
    /// When the density looks at values.
    pub fn of<M: Model>(json: &str) -> Result<StanModel, String> {
        let data = M::data(&ModelData::parse(json)?)?;
        let like = M::parameters(&data);
        let leaves = leaves_of(&like)?;
        let free = zeros(leaves.iter().map(|leaf| &leaf.free));
        let density = |with_jacobian: bool| {
            let f = |free: &Leaves<Term>, data: &<M::Data as Tree<Array>>::With<Term>| {
                let pairs = leaves.iter().zip(&free.0).map(|(leaf, free)| leaf.constrained(free));
                let (x, jacobians): (Vec<Term>, Vec<Term>) = pairs.unzip();
                let value = M::log_density(&like.with_leaves(x), data);
                match with_jacobian {
                    true => value + Tensor::<Term, 1>::from_raw(Term::joined(&jacobians)).sum(),
                    false => value,
                }
            };
            FlatFunction::new_with(f, &free, &data)
        };
        let densities = [density(false), density(true)];
        let constrain = FlatFunction::new(
            |free: &Leaves<Term>| {
                Leaves(leaves.iter().zip(&free.0).map(|(leaf, free)| turned(&leaf.constrained(free).0)).collect())
            },
            &free,
        );
        let unconstrain = FlatFunction::new(
            |x: &Leaves<Term>| {
                let free = leaves.iter().zip(&x.0).map(|(leaf, x)| turned(&leaf.domain.unconstrain(&turned(x))));
                Leaves(free.collect())
            },
            &zeros(leaves.iter().map(|leaf| &leaf.shape)),
        );
        let mut taken: Vec<String> = leaves.iter().map(|leaf| leaf.name.clone()).collect();
        let known = data.map(&mut |x| Term::constant(x.clone()));
        let parameters = |free: &[Term]| {
            let pairs = leaves.iter().zip(free);
            like.with_leaves(pairs.map(|(leaf, free)| leaf.constrained(free).0).collect())
        };
        let transformed = QuantityFunction::of(&free, &mut taken, |free, _| M::transformed(&parameters(free), &known))?;
        let generated =
            QuantityFunction::of(&free, &mut taken, |free, key| M::generated(&parameters(free), &known, key))?;
        let quantities = [transformed, generated];
        let texts = ModelTexts::of(M::NAME, &leaves, &quantities);
        Ok(StanModel { densities, constrain, unconstrain, quantities, leaves, texts })
    }

    /// The number of unconstrained parameters.
    ///
    /// Example: [`StanModel::log_density`].
    #[allow(clippy::len_without_is_empty, reason = "a model without parameters is not a special case")]
    pub fn len(&self) -> usize {
        self.constrain.len()
    }

    /// The number of parameters.
    ///
    /// Example: [`StanModel::log_density`].
    pub fn parameters(&self) -> usize {
        self.constrain.results()
    }

    /// The log density of unconstrained parameters, with the logarithm of the Jacobian of the transforms or without, and its
    /// derivatives.
    ///
    /// ```
    /// # use polygrad::{Array, Tensor, program::Term, tensor};
    /// # use polygrad_capi::bridgestan::{Model, ModelData, StanModel};
    /// # struct Normal;
    /// # impl Model for Normal {
    /// #     const NAME: &'static str = "normal";
    /// #     type Data = ();
    /// #     type Parameters = Tensor<Array, 1>;
    /// #     fn data(_: &ModelData) -> Result<(), String> { Ok(()) }
    /// #     fn parameters(_: &()) -> Tensor<Array, 1> { tensor([0.0, 0.0]) }
    /// #     fn log_density(x: &Tensor<Term, 1>, _: &()) -> Tensor<Term, 0> { x.square().sum() * -0.5 }
    /// # }
    /// let model = StanModel::of::<Normal>("")?;
    /// assert_eq!((model.len(), model.parameters()), (2, 2));
    /// let mut slope = [0.0; 2];
    /// assert_eq!(model.log_density(true).value_and_grad(&[1.0, 3.0], &mut slope), -5.0);
    /// assert_eq!(slope, [-1.0, -3.0]);
    /// # Ok::<(), String>(())
    /// ```
    pub fn log_density(&self, jacobian: bool) -> &FlatFunction<impl Sized> {
        &self.densities[usize::from(jacobian)]
    }

    /// Writes the parameters for unconstrained ones.
    ///
    /// Example: [`bridgestan`](self).
    ///
    /// # Errors
    /// When the slices do not have the sizes of both.
    pub fn constrain(&self, free: &[f64], theta: &mut [f64]) -> Result<(), String> {
        fitting([self.len(), self.parameters()], [free.len(), theta.len()])?;
        self.constrain.run(free, theta);
        Ok(())
    }

    /// The number of parameters, with transformed parameters and generated quantities where they are asked for.
    ///
    /// Example: [`Quantities::with`].
    pub fn quantities(&self, transformed: bool, generated: bool) -> usize {
        self.parameters() + self.included((transformed, generated)).map(|f| f.names.len()).sum::<usize>()
    }

    /// The quantities that are asked for, in Stan's order.
    fn included(&self, (transformed, generated): (bool, bool)) -> impl Iterator<Item = &QuantityFunction> {
        let asked = [transformed, generated];
        self.quantities.iter().zip(asked).filter(|(_, asked)| *asked).filter_map(|(made, _)| made.as_ref())
    }

    /// Writes the parameters for unconstrained ones, and after them transformed parameters and generated quantities where
    /// they are asked for. Each call draws new random numbers.
    ///
    /// Example: [`Quantities::with`].
    ///
    /// # Errors
    /// When the slices do not have the right sizes, or generated quantities are asked for without a generator.
    pub fn constrain_with(
        &self,
        free: &[f64],
        include: (bool, bool),
        rng: Option<&mut ModelRng>,
        theta: &mut [f64],
    ) -> Result<(), String> {
        fitting([self.len(), self.quantities(include.0, include.1)], [free.len(), theta.len()])?;
        let word = match (rng, include.1 && self.quantities[1].is_some()) {
            (Some(rng), true) => rng.word(),
            (None, true) => {
                return Err("generated quantities must have a generator, but there is none; construct one".into());
            }
            (_, false) => 0.0,
        };
        let (parameters, mut rest) = theta.split_at_mut(self.parameters());
        self.constrain.run(free, parameters);
        for made in self.included(include) {
            let (own, others) = rest.split_at_mut(made.names.len());
            made.run(free, word, own);
            rest = others;
        }
        Ok(())
    }

    /// Writes unconstrained parameters for these.
    ///
    /// Example: [`ModelData`].
    ///
    /// # Errors
    /// When the slices do not have the sizes of both, or a parameter lies outside of its domain or on its border.
    pub fn unconstrain(&self, theta: &[f64], free: &mut [f64]) -> Result<(), String> {
        fitting([self.parameters(), self.len()], [theta.len(), free.len()])?;
        self.unconstrain.run(theta, free);
        let mut again = vec![0.0; theta.len()];
        self.constrain.run(free, &mut again);
        let mut start = 0;
        for leaf in &self.leaves {
            let end = start + size(&leaf.shape);
            let pairs = theta[start..end].iter().zip(&again[start..end]);
            // What is not a number is not near anything.
            let near = |x: f64, y: f64| x == y || (x - y).abs() <= TOLERANCE * (1.0 + x.abs());
            let differs = |(x, y): &(&f64, &f64)| !near(**x, **y);
            if let Some((x, _)) = pairs.clone().find(differs) {
                let (name, domain) = (&leaf.name, leaf.domain);
                return Err(format!(
                    "`{name}` must lie in its domain, {domain:?}, but it has the element {x}; move it inside"
                ));
            }
            start = end;
        }
        Ok(())
    }

    /// Writes unconstrained parameters for those of a text of JSON, and for those that it lacks what `other` says of each
    /// element, or an error without it.
    fn unconstrain_json(
        &self,
        json: &str,
        free: &mut [f64],
        mut other: Option<&mut dyn FnMut() -> f64>,
    ) -> Result<(), String> {
        let data = ModelData::parse(json)?;
        fitting([self.len()], [free.len()])?;
        if let Some(other) = &mut other {
            free.iter_mut().for_each(|x| *x = other());
        }
        // Parameters that are not given stay at what they are, which lies in their domains.
        let mut theta = vec![0.0; self.parameters()];
        let drawn = free.to_vec();
        if other.is_some() {
            self.constrain.run(&drawn, &mut theta);
        }
        let (mut start, mut given) = (0, Vec::with_capacity(self.leaves.len()));
        for leaf in &self.leaves {
            let len = size(&leaf.shape);
            given.push(data.has(&leaf.name));
            if other.is_none() || data.has(&leaf.name) {
                let array = turned(&data.array(&leaf.name, &leaf.shape, DType::F64)?);
                theta[start..start + len].copy_from_slice(&array.elements::<f64>().map_err(|error| error.to_string())?);
            }
            start += len;
        }
        self.unconstrain(&theta, free)?;
        let mut start = 0;
        for (leaf, given) in self.leaves.iter().zip(given) {
            let end = start + size(&leaf.free);
            if !given && other.is_some() {
                free[start..end].copy_from_slice(&drawn[start..end]);
            }
            start = end;
        }
        Ok(())
    }

    /// Writes a point where the density and its gradient are finite: parameters of a text of JSON, and others uniform within
    /// a radius.
    fn initialize(
        &self,
        json: &str,
        rng: &mut ModelRng,
        (radius, tries): (f64, usize),
        jacobian: bool,
        free: &mut [f64],
    ) -> Result<(), String> {
        if !(radius >= 0.0 && radius.is_finite()) {
            return Err(format!("the radius must not be negative, but it is {radius}; pass 2, as Stan does"));
        }
        let mut slope = vec![0.0; self.len()];
        for _ in 0..tries {
            let mut draw = || radius * (2.0 * rng.0.unit() - 1.0);
            self.unconstrain_json(json, free, Some(&mut draw))?;
            let value = self.densities[usize::from(jacobian)].value_and_grad(free, &mut slope);
            if value.is_finite() && slope.iter().all(|x| x.is_finite()) {
                return Ok(());
            }
        }
        Err(format!(
            "the density and its gradient must be finite at the first point, but they are not at any of {tries} points; pass \
             values, or a smaller radius"
        ))
    }
}

/// How far a parameter may be from what its unconstrained parameters give, relative to its size: as Stan checks sums and norms.
const TOLERANCE: f64 = 1e-8;

fn fitting<const N: usize>(needed: [usize; N], given: [usize; N]) -> Result<(), String> {
    if needed == given {
        return Ok(());
    }
    Err(format!("the slices must have {needed:?} elements, but they have {given:?}; ask the model for its sizes"))
}

impl ModelTexts {
    fn of(name: &str, leaves: &[ParameterLeaf], quantities: &[Option<QuantityFunction>; 2]) -> ModelTexts {
        let (mut names, mut free_names) = (Vec::new(), Vec::new());
        for leaf in leaves {
            element_names(&leaf.name, &leaf.shape, &mut names);
            element_names(&leaf.name, &leaf.free, &mut free_names);
        }
        // Samplers ask whether several threads may use a model: they look for this line.
        let info = concat!(
            "polygrad version = ",
            env!("CARGO_PKG_VERSION"),
            "\nSTAN_THREADS=true\nBRIDGESTAN_AD_HESSIAN=true\n"
        );
        ModelTexts {
            name: c_text(name),
            info: c_text(info),
            names: [false, true].map(|tp| {
                [false, true].map(|gq| {
                    let asked = quantities.iter().zip([tp, gq]).filter(|(_, asked)| *asked);
                    let more = asked.filter_map(|(made, _)| made.as_ref()).flat_map(|made| &made.names);
                    c_text(&names.iter().chain(more).map(String::as_str).collect::<Vec<_>>().join(","))
                })
            }),
            free_names: c_text(&free_names.join(",")),
        }
    }
}
