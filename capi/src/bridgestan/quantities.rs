//! What a model makes of its parameters besides the density: transformed parameters and generated quantities.
//!
//! Law: both are compiled programs of the unconstrained parameters, and of a key where they are drawn at random. Elements lie as
//! those of parameters do, the first index fastest.

use std::cell::RefCell;
use std::fmt;

use polygrad::ops::{Discrete, Linear};
use polygrad::program::Term;
use polygrad::random::Key;
use polygrad::{Array, BaseTensor, DType, Elem, FlatFunction, Tensor};

use super::{element_names, turned};
use crate::leaves::Leaves;

/// Quantities of a model with their names, which [`Model::transformed`](super::Model::transformed) and
/// [`Model::generated`](super::Model::generated) return.
///
/// Example: [`Quantities::with`].
#[derive(Clone, Default)]
pub struct Quantities {
    named: Vec<(String, Term)>,
}

impl fmt::Debug for Quantities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.named.iter().map(|(name, x)| (name, x.shape()))).finish()
    }
}

impl Quantities {
    /// None.
    ///
    /// Example: [`Quantities::with`].
    pub fn new() -> Quantities {
        Quantities::default()
    }

    /// One more: numbers, which samplers see as `f64`. Names are letters, digits and `_`, as in Stan.
    ///
    /// ```
    /// use polygrad::program::Term;
    /// use polygrad::random::Key;
    /// use polygrad::{Array, Tensor, tensor};
    /// use polygrad_capi::bridgestan::{Model, ModelData, ModelRng, Quantities, StanModel};
    ///
    /// struct Normal;
    /// impl Model for Normal {
    ///     const NAME: &'static str = "normal";
    ///     type Data = ();
    ///     type Parameters = Tensor<Array, 1>;
    ///     fn data(_: &ModelData) -> Result<(), String> {
    ///         Ok(())
    ///     }
    ///     fn parameters(_: &()) -> Tensor<Array, 1> {
    ///         tensor([0.0, 0.0])
    ///     }
    ///     fn log_density(x: &Tensor<Term, 1>, _: &()) -> Tensor<Term, 0> {
    ///         x.square().sum() * -0.5
    ///     }
    ///     fn transformed(x: &Tensor<Term, 1>, _: &()) -> Quantities {
    ///         Quantities::new().with("sum", &x.sum())
    ///     }
    ///     fn generated(x: &Tensor<Term, 1>, _: &(), key: &Key<Term>) -> Quantities {
    ///         Quantities::new().with("noisy", &(x + key.normal([2])))
    ///     }
    /// }
    /// let model = StanModel::of::<Normal>("")?;
    /// assert_eq!(model.quantities(true, true), 2 + 1 + 2);
    /// let mut all = [0.0; 5];
    /// model.constrain_with(&[1.0, 3.0], (true, true), Some(&mut ModelRng::new(1)), &mut all)?;
    /// assert_eq!(all[..3], [1.0, 3.0, 4.0]);
    /// assert_ne!(all[3..], [1.0, 3.0]);
    /// # Ok::<(), String>(())
    /// ```
    #[must_use]
    pub fn with<const D: usize, E: Elem>(mut self, name: &str, x: &Tensor<Term, D, E>) -> Quantities {
        self.named.push((name.to_owned(), x.raw().clone()));
        self
    }
}

/// Quantities as a compiled function of unconstrained parameters, and of a number that a key is made of.
pub(super) struct QuantityFunction {
    pub(super) function: FlatFunction<Leaves<Array>>,
    /// The names of elements.
    pub(super) names: Vec<String>,
}

impl QuantityFunction {
    /// The function, or nothing where the model has no quantities of this kind.
    ///
    /// # Errors
    /// When a name is not one of Stan, or was there before.
    pub(super) fn of(
        free: &Leaves<Array>,
        taken: &mut Vec<String>,
        quantities: impl Fn(&[Term], &Key<Term>) -> Quantities,
    ) -> Result<Option<QuantityFunction>, String> {
        let slots = RefCell::new(Vec::new());
        let f = |x: &Leaves<Term>| {
            let (word, free) = x.0.split_last().expect("the word of the key is the last leaf");
            let word = Tensor::<Term, 0>::from_raw(word.clone()).to_int();
            let made = quantities(free, &Key::from_tensor(word));
            slots.replace(made.named.iter().map(|(name, x)| (name.clone(), x.shape().to_vec())).collect());
            Leaves(made.named.iter().map(|(_, x)| turned(&numbers(x))).collect())
        };
        let mut x = free.clone();
        x.0.push(Array::zeros(&[], DType::F64));
        let function = FlatFunction::new(f, &x);
        let mut names = Vec::new();
        for (name, shape) in slots.into_inner() {
            let allowed = |c: char| c.is_alphanumeric() || c == '_';
            if name.is_empty() || !name.chars().all(allowed) {
                return Err(format!(
                    "names of quantities must have letters, digits and _, but one is {name:?}; rename it"
                ));
            }
            if taken.contains(&name) {
                return Err(format!("names of quantities must differ, but `{name}` occurs twice; rename one"));
            }
            element_names(&name, &shape, &mut names);
            taken.push(name);
        }
        Ok((!names.is_empty()).then_some(QuantityFunction { function, names }))
    }

    /// Writes the quantities; the word is an integer below 2^53.
    pub(super) fn run(&self, free: &[f64], word: f64, out: &mut [f64]) {
        self.function.run(&[free, &[word]].concat(), out);
    }
}

/// The elements as `f64`.
fn numbers(x: &Term) -> Term {
    match x.dtype() {
        DType::F64 => x.clone(),
        DType::F32 => x.linear(&Linear::cast(x.shape(), DType::F32, DType::F64)),
        DType::I64 | DType::Bool => Term::discrete(&Discrete::ToFloat(DType::F64), &[x]),
    }
}
