//! A [`Function`] as native code, by the C compiler of the machine.

use std::fmt;

use super::{Function, RunError};
use crate::array::Array;
use crate::emission::{Compiler, NativeError, NativeProgram};
use crate::tree::Tree;

/// A function whose program is native code: see [`Function::native`].
///
/// ```
/// use polygrad::emission::Compiler;
/// use polygrad::{Function, NativeFunction, tensor};
/// let f = Function::stage(|x| x * 2.0 + 1.0, &tensor([0.0, 0.0]));
/// # let folder = std::env::temp_dir().join(format!("polygrad-doc-struct-{}", std::process::id()));
/// # let compiler = Compiler::default().folder(&folder);
/// # if std::process::Command::new("cc").arg("--version").output().is_err() { return Ok(()); }
/// let fast: NativeFunction<'_, _, _, _> = f.native(&compiler)?;
/// assert_eq!(fast.run(&tensor([1.0, 2.0])), Ok(tensor([3.0, 5.0])));
/// # std::fs::remove_dir_all(&folder).ok();
/// # Ok::<(), polygrad::emission::NativeError>(())
/// ```
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
    /// use polygrad::{Function, tensor};
    /// let f = Function::grad(|x| (x.sin() * x).sum(), &tensor([1.0, 2.0]));
    /// # let folder = std::env::temp_dir().join(format!("polygrad-doc-{}", std::process::id()));
    /// # let compiler = Compiler::default().folder(&folder);
    /// # if std::process::Command::new("cc").arg("--version").output().is_err() { return Ok(()); }
    /// let fast = f.native(&compiler)?;
    /// let x = tensor([0.5, 0.7]);
    /// let (a, b) = (fast.run(&x).unwrap(), f.run(&x).unwrap());
    /// assert!((a - b).abs().sum().item() < 1e-15);
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
    /// ```
    /// use polygrad::emission::Compiler;
    /// use polygrad::{Function, tensor};
    /// let (w, x) = (tensor([1.0, 2.0]), tensor([3.0, 4.0]));
    /// let f = Function::stage_with(|w, x| w * x, &w, &x);
    /// # let folder = std::env::temp_dir().join(format!("polygrad-doc-run-with-{}", std::process::id()));
    /// # let compiler = Compiler::default().folder(&folder);
    /// # if std::process::Command::new("cc").arg("--version").output().is_err() { return Ok(()); }
    /// assert_eq!(f.native(&compiler)?.run_with(&w, &x), Ok(tensor([3.0, 8.0])));
    /// # std::fs::remove_dir_all(&folder).ok();
    /// # Ok::<(), polygrad::emission::NativeError>(())
    /// ```
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
    /// ```
    /// use polygrad::emission::Compiler;
    /// use polygrad::{Function, tensor};
    /// let f = Function::grad(|x| x.square().sum(), &tensor([0.0, 0.0]));
    /// # let folder = std::env::temp_dir().join(format!("polygrad-doc-run-{}", std::process::id()));
    /// # let compiler = Compiler::default().folder(&folder);
    /// # if std::process::Command::new("cc").arg("--version").output().is_err() { return Ok(()); }
    /// let fast = f.native(&compiler)?;
    /// assert_eq!(fast.run(&tensor([1.0, 2.0])), Ok(tensor([2.0, 4.0])));
    /// assert!(fast.run(&tensor([1.0])).is_err());
    /// # std::fs::remove_dir_all(&folder).ok();
    /// # Ok::<(), polygrad::emission::NativeError>(())
    /// ```
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
    /// ```
    /// use polygrad::emission::Compiler;
    /// use polygrad::{Array, Function, tensor};
    /// let f = Function::stage(|x| x * 2.0, &tensor([0.0, 0.0]));
    /// # let folder = std::env::temp_dir().join(format!("polygrad-doc-program-{}", std::process::id()));
    /// # let compiler = Compiler::default().folder(&folder);
    /// # if std::process::Command::new("cc").arg("--version").output().is_err() { return Ok(()); }
    /// let fast = f.native(&compiler)?;
    /// assert_eq!(fast.program().run(&[Array::from([1.0, 2.0])]), [Array::from([2.0, 4.0])]);
    /// # std::fs::remove_dir_all(&folder).ok();
    /// # Ok::<(), polygrad::emission::NativeError>(())
    /// ```
    pub fn program(&self) -> &NativeProgram {
        &self.program
    }
}

impl<P, Q, Y> fmt::Debug for NativeFunction<'_, P, Q, Y> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NativeFunction").field("function", self.function).finish_non_exhaustive()
    }
}
