//! Functions of imported modules: what a program of JAX needs to be compiled, saved, and handed to solvers.
//!
//! Law: a run computes what [`Module::call`] computes. Derivatives are those of the verbs, which take
//! [`Module::apply`] as they take any function: `Function::grad(|x| module.apply(x), &x)`.

use super::differentiate::transformation::Transformation;
use super::flat::FlatFunction;
use super::function::{Function, RecordedFunction, key_of};
use crate::array::Array;
use crate::base::BaseTensor;
use crate::dtype::{DType, Elem};
use crate::import::{ImportError, Module};
use crate::ops::Linear;
use crate::program::Term;
use crate::shape::size;
use crate::tensor::Tensor;
use crate::tree::Tree;

impl<P: Tree<Array>, const D: usize, E: Elem> Function<P, (), Tensor<Array, D, E>> {
    /// The first result of a module, for arguments like the leaves of `x`, compiled.
    ///
    /// ```
    /// use polygrad::import::Module;
    /// use polygrad::{Function, Tensor, tensor};
    /// let text = "func.func @main(%x: tensor<2xf64>, %y: tensor<2xf64>) -> tensor<2xf64> {
    ///   %0 = stablehlo.multiply %x, %y : tensor<2xf64>
    ///   return %0 : tensor<2xf64>
    /// }";
    /// let module = Module::parse(text)?;
    /// let x = (tensor([1.0, 2.0]), tensor([3.0, 4.0]));
    /// let f = Function::<_, (), Tensor<_, 1>>::imported(&module, &x)?;
    /// assert_eq!(f.run(&x).unwrap(), tensor([3.0, 8.0]));
    /// # Ok::<(), polygrad::import::ImportError>(())
    /// ```
    ///
    /// # Errors
    /// When the arguments do not fit the module, an operation has no meaning here, or the first result has another rank
    /// or element type.
    #[track_caller]
    pub fn imported(module: &Module, x: &P) -> Result<Self, ImportError> {
        let inputs: Vec<Term> = x.leaves().iter().map(|x| Term::variable(x.shape(), x.dtype())).collect();
        let results = module.try_call(&inputs)?;
        let Some(first) = results.first().filter(|y| y.shape().len() == D && y.dtype() == E::DTYPE) else {
            return Err(module.refused(format!("its first result must have rank {D} and elements {}", E::DTYPE)));
        };
        let template = Tensor::from_raw(Array::zeros(first.shape(), first.dtype()));
        let program = Term::program(&inputs, &results[..1], &module.names()).map_err(|what| module.refused(what))?;
        let recorded = RecordedFunction { program, count: inputs.len(), results: () };
        Ok(Function::of_recorded(Transformation::Value, recorded, key_of(x, &()), Vec::new(), template))
    }
}

impl FlatFunction<Tensor<Array, 1>> {
    /// The first result of a module as a function of one slice: the elements of all arguments, one after the other.
    ///
    /// ```
    /// use polygrad::FlatFunction;
    /// use polygrad::import::Module;
    /// let text = "func.func @main(%x: tensor<f64>, %y: tensor<f64>) -> tensor<f64> {
    ///   %0 = stablehlo.multiply %x, %y : tensor<f64>
    ///   return %0 : tensor<f64>
    /// }";
    /// let f = FlatFunction::imported(&Module::parse(text)?)?;
    /// let mut slope = [0.0; 2];
    /// assert_eq!((f.value_and_grad(&[2.0, 3.0], &mut slope), slope), (6.0, [3.0, 2.0]));
    /// # Ok::<(), polygrad::import::ImportError>(())
    /// ```
    ///
    /// # Errors
    /// When an argument or the result is not of floats of a fixed shape, or an operation has no meaning here.
    #[track_caller]
    pub fn imported(module: &Module) -> Result<Self, ImportError> {
        let program = module.program()?;
        let slots = program.inputs().iter().chain(program.outputs().first());
        if slots.into_iter().any(|slot| !slot.dtype.is_float()) || program.outputs().is_empty() {
            return Err(module.refused("a function of slices needs arguments and a result of floats".into()));
        }
        let kinds: Vec<(Vec<usize>, DType)> =
            program.inputs().iter().map(|slot| (slot.shape.to_vec(), slot.dtype)).collect();
        let n = kinds.iter().map(|(shape, _)| size(shape)).sum();
        let f = |x: &Tensor<Term, 1>| {
            let mut start = 0;
            let parts: Vec<Term> = kinds
                .iter()
                .map(|(shape, dtype)| {
                    start += size(shape);
                    x.raw().section(start - size(shape), shape, *dtype)
                })
                .collect();
            // What is recorded at variables was recorded for the program before.
            let y = module.call(&parts).swap_remove(0);
            if y.dtype() == DType::F64 { y } else { y.linear(&Linear::cast(y.shape(), y.dtype(), DType::F64)) }
        };
        let zeros = Tensor::from_raw(Array::zeros(&[n], DType::F64));
        Ok(match program.outputs()[0].shape.is_empty() {
            true => FlatFunction::new(|x| Tensor::<Term, 0>::from_raw(f(x)), &zeros),
            false => FlatFunction::new(
                |x| {
                    let y = f(x);
                    Tensor::<Term, 1>::from_raw(y.linear(&Linear::reshape(y.shape(), &[size(y.shape())])))
                },
                &zeros,
            ),
        })
    }
}
