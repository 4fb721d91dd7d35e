//! Export of a [`Function`]: as a StableHLO module, and as source code.

use super::Function;
use super::structure::paths;
use crate::array::Array;
#[cfg(feature = "emission")]
use crate::emission::{EmissionError, Source};
use crate::export::{Exported, Signature, Unsupported};
use crate::tree::Tree;

impl<P, Q, Y> Function<P, Q, Y> {
    /// The program that runs, as the text of a StableHLO module of this name: its function `main` maps the leaves of
    /// the argument and of the data to the leaves of the result. See [`crate::export`].
    ///
    /// ```
    /// use polygrad::{Function, tensor};
    /// let (w, x) = (tensor([1.0, 2.0]), tensor([3.0, 4.0]));
    /// let step = Function::value_and_grad_with(|w, x| (w * x).square().sum(), &w, &x);
    /// let text = step.to_stablehlo("step")?;
    /// let main = "@main(%0: tensor<2xf64>, %1: tensor<2xf64>) -> (tensor<f64>, tensor<2xf64>)";
    /// assert!(text.contains(main), "{text}");
    /// # Ok::<(), polygrad::export::Unsupported>(())
    /// ```
    ///
    /// # Errors
    /// When an operation has no counterpart in StableHLO.
    pub fn to_stablehlo(&self, name: &str) -> Result<String, Unsupported> {
        self.optimized().to_stablehlo(name)
    }
}

impl<P, Q, Y: Tree<Array>> Function<P, Q, Y> {
    /// The program that runs, as the text of a StableHLO module, with its signature: the names, shapes and element
    /// types of inputs and outputs. The name of an input is that in the program, such as `x.w` or `data.0`; the name of
    /// an output is that in the program, or, without a name there, the path in the result, such as `y.0.w`.
    ///
    /// ```
    /// use polygrad::{Function, tensor};
    /// let f = Function::stage(|x| (x.sin(), x.cos()), &tensor([1.0, 2.0]));
    /// let signature = f.exported("angles")?.signature;
    /// let paths: Vec<&str> = signature.inputs.iter().chain(&signature.outputs).map(|port| &port.path[..]).collect();
    /// assert_eq!(paths, ["x", "y.0", "y.1"]);
    /// # Ok::<(), polygrad::export::Unsupported>(())
    /// ```
    ///
    /// # Errors
    /// When an operation has no counterpart in StableHLO.
    pub fn exported(&self, name: &str) -> Result<Exported, Unsupported> {
        Ok(Exported { text: self.to_stablehlo(name)?, signature: self.signature(name) })
    }

    /// Names, shapes and element types of inputs and outputs: see [`exported`](Function::exported).
    fn signature(&self, name: &str) -> Signature {
        let mut signature = self.optimized().signature(name);
        let paths = paths(&self.template, "y");
        let slots = self.optimized().outputs();
        if paths.len() == slots.len() {
            let ports = signature.outputs.iter_mut();
            ports.zip(slots).zip(paths).filter(|((_, slot), _)| slot.name.is_empty()).for_each(|((port, _), path)| {
                port.path = path;
            });
        }
        signature
    }

    /// The program that runs, as a function of Rust with this name, which needs no standard library and allocates
    /// nothing. Its parameters are the leaves of the argument, of the data and of the result, by their names; then the
    /// memory for a call, if it needs some. See [`crate::emission`].
    ///
    /// ```
    /// use polygrad::{Function, tensor};
    /// let f = Function::value_and_grad(|x| (x * x).sum(), &tensor([1.0, 2.0]));
    /// let (rust, c) = (f.to_rust("energy")?, f.to_c("energy")?);
    /// let head = "pub fn energy(x: &[f64; 2], value: &mut f64, grad: &mut [f64; 2]) {";
    /// assert!(rust.code.contains(head), "{}", rust.code);
    /// let head = "void energy(const double *x, double *value, double *grad);";
    /// assert!(c.header.contains(head), "{}", c.header);
    /// # Ok::<(), polygrad::emission::EmissionError>(())
    /// ```
    ///
    /// # Errors
    /// When an operation is not written, the program is too large, or the name is not a valid Rust identifier.
    #[cfg(feature = "emission")]
    pub fn to_rust(&self, name: &str) -> Result<Source, EmissionError> {
        self.optimized().to_rust_with(&self.signature(name), self.options.passes)
    }

    /// The program that runs, as a function of C99 with this name: see [`to_rust`](Function::to_rust).
    ///
    /// Example: [`Function::to_rust`].
    ///
    /// # Errors
    /// Like [`to_rust`](Function::to_rust).
    #[cfg(feature = "emission")]
    pub fn to_c(&self, name: &str) -> Result<Source, EmissionError> {
        self.optimized().to_c_with(&self.signature(name), self.options.passes)
    }
}
