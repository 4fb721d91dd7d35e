//! A [`Function`] as native code, by the C compiler of the machine.

use std::fmt;

use super::{Function, RunError};
use crate::array::Array;
use crate::emission::{Compiler, NativeError, NativeProgram};
use crate::tree::Tree;

/// A function whose program is native code: see [`Function::native`].
///
/// Example: [`Function::native`].
pub struct NativeFunction<'f, P, Q, Y> {
    function: &'f Function<P, Q, Y>,
    program: NativeProgram,
}

impl<P, Q, Y> Function<P, Q, Y> {
    /// The function as native code: its program is written as C ([`to_c`](Function::to_c)), compiled by the C compiler of
    /// the machine, and loaded.
    ///
    /// Worth it for long runs of small programs, and of loops over numbers: the compiler takes a tenth of a second and
    /// more, and a call takes a fraction of [`run`](Function::run). Large products are faster by `run`. The library is
    /// kept in a folder, so the next process only loads it.
    ///
    /// ```
    /// use polygrad::emission::{Compiler, NativeError};
    /// use polygrad::{Function, NativeFunction, tensor};
    /// let (w, x) = (tensor([0.5, 0.7]), tensor([3.0, 4.0]));
    /// let f = Function::grad(|w| (w.sin() * w).sum(), &w);
    /// let g = Function::stage_with(|w, x| w * x, &w, &x);
    /// # let folder = std::env::temp_dir().join(format!("polygrad-doc-{}", std::process::id()));
    /// # let compiler = Compiler::default().folder(&folder);
    /// # if std::process::Command::new("cc").arg("--version").output().is_err() { return Ok(()); }
    /// let fast: NativeFunction<'_, _, _, _> = f.native(&compiler)?;
    /// assert!((fast.run(&w).unwrap() - f.run(&w).unwrap()).abs().sum().item() < 1e-15);
    /// assert!(fast.run(&tensor([1.0])).is_err());
    /// let fast = g.native(&compiler)?;
    /// assert_eq!(fast.run_with(&w, &x), g.run_with(&w, &x));
    /// // Without the types of arguments and results.
    /// let results = fast.program().run(&[w.array().clone(), x.array().clone()]);
    /// assert_eq!(results[0], *g.run_with(&w, &x).unwrap().array());
    /// # std::fs::remove_dir_all(&folder).ok();
    /// # Ok::<(), NativeError>(())
    /// ```
    ///
    /// # Errors
    /// When the program cannot be written as C, the compiler is missing, or its library cannot be kept or loaded.
    pub fn native(&self, compiler: &Compiler) -> Result<NativeFunction<'_, P, Q, Y>, NativeError> {
        Ok(NativeFunction { function: self, program: self.optimized().native_with(compiler, self.options.passes)? })
    }
}

impl<P: Tree<Array>, Q: Tree<Array>, Y> NativeFunction<'_, P, Q, Y> {
    /// The results for these arguments and data, as by [`Function::run_with`].
    ///
    /// Example: [`Function::native`].
    ///
    /// # Errors
    /// As for [`Function::run_with`].
    pub fn run_with(&self, x: &P, data: &Q) -> Result<Y, RunError> {
        self.function.fitting(x, data)?;
        let mut inputs = x.leaves();
        inputs.extend(self.function.constants(data));
        Ok(self.function.assembled(&self.program.run_fitting(&inputs)))
    }
}

impl<P: Tree<Array>, Y> NativeFunction<'_, P, (), Y> {
    /// The results for these arguments, as by [`Function::run`].
    ///
    /// Example: [`Function::native`].
    ///
    /// # Errors
    /// As for [`Function::run`].
    pub fn run(&self, x: &P) -> Result<Y, RunError> {
        self.run_with(x, &())
    }
}

impl<P, Q, Y> NativeFunction<'_, P, Q, Y> {
    /// The program as native code, which runs on arrays.
    ///
    /// Example: [`Function::native`].
    pub fn program(&self) -> &NativeProgram {
        &self.program
    }
}

impl<P, Q, Y> fmt::Debug for NativeFunction<'_, P, Q, Y> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NativeFunction").field("function", self.function).finish_non_exhaustive()
    }
}
