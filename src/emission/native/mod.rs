//! Programs in the process as native code: the emitted C, compiled by the machine's compiler, and loaded.
//!
//! Law: a native program computes what the emitted C computes, by a library that nobody but the user can have written.
//!
//! | module | does |
//! |---|---|
//! | `compiler` | the command and its options, and the key of a library |
//! | `store` | the folder of libraries: whole files of the user alone |
//! | `process` | commands with a time limit |
//!
//! The unsafe code of this module loads libraries that it has compiled, calls their one function, and two functions of
//! POSIX. It relies on the emitted C, which reads and writes the arrays of its parameters alone, and on the folder, which
//! belongs to the user.
#![allow(unsafe_code)]

mod compiler;
mod process;
mod store;

use std::ffi::c_void;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use libloading::Library;
use thiserror::Error;

pub use self::compiler::Compiler;
use super::{EmissionError, Target, c, emitted};
use crate::array::{Array, with_elem};
use crate::dtype::DType;
use crate::errors::debug_by_display;
use crate::escape;
use crate::passes::Options;
use crate::program::{Program, check_inputs};

/// The most scratches that a program keeps for further runs.
const KEPT: usize = 8;

/// The name of the function in C.
const NAME: &str = "polygrad_program";

/// The reason why a program does not become native code.
///
/// ```
/// use polygrad::emission::{Compiler, NativeError};
/// use polygrad::{Function, tensor};
/// let f = Function::stage(|x| x.sin(), &tensor(1.0));
/// let missing = Compiler::new("no-such-compiler").folder(std::env::temp_dir());
/// assert!(matches!(f.native(&missing), Err(NativeError::NoCompiler { .. })));
/// ```
#[derive(Error)]
#[non_exhaustive]
pub enum NativeError {
    /// The program is not written as C.
    #[error(transparent)]
    Emission(#[from] EmissionError),
    /// The compiler cannot be run.
    #[error(
        "native: a C compiler must be on the machine, but {} cannot be run ({reason}); install one, or name it: \
         Compiler::new(\"clang\")",
        escape::quoted(compiler)
    )]
    NoCompiler {
        /// The compiler.
        compiler: String,
        /// The message of the operating system.
        reason: String,
    },
    /// The compiler refuses the emitted C.
    #[error(
        "native: the C compiler must take the emitted code, but {} says: {message}; change its options",
        escape::quoted(compiler)
    )]
    Refused {
        /// The compiler.
        compiler: String,
        /// The message of the compiler.
        message: String,
    },
    /// The compiler takes too long.
    #[error(
        "native: the C compiler must end within {limit:?}, but {} does not; allow more by Compiler::time_limit, or choose \
         a lower level of optimization by Compiler::options",
        escape::quoted(compiler)
    )]
    TimeLimit {
        /// The compiler.
        compiler: String,
        /// The time that it may take.
        limit: Duration,
    },
    /// Others may have written a file or folder of libraries.
    #[error(
        "native: only the user may write compiled libraries, since they run in the process, but {path:?} {fact}; remove it, \
         fix it with chown and chmod, or name another folder"
    )]
    Foreign {
        /// The file or folder.
        path: PathBuf,
        /// Its owner, its permissions or its kind.
        fact: String,
    },
    /// A folder for libraries is missing.
    #[error(
        "native: compiled libraries need a folder of the user, but neither XDG_CACHE_HOME nor HOME is an absolute path; name \
         one: Compiler::default().folder(..)"
    )]
    NoFolder,
    /// A file cannot be written or read.
    #[error(
        "native: a compiled library must be kept in a file, but {path:?} cannot be used ({reason}); name another folder"
    )]
    File {
        /// The file or folder.
        path: PathBuf,
        /// The message of the operating system.
        reason: String,
    },
    /// The library cannot be loaded.
    #[error(
        "native: {path:?} must be a library that can be loaded, but it is not ({reason}); change the options of the compiler, or \
         name another folder"
    )]
    Library {
        /// The library.
        path: PathBuf,
        /// The message of the operating system.
        reason: String,
    },
}

debug_by_display!(NativeError);

/// The function of a library: the addresses of inputs and of outputs, and the scratch.
type Entry = unsafe extern "C" fn(*const *const c_void, *const *mut c_void, *mut c_void);

/// A program as native code: see [`Program::native`].
///
/// ```
/// use polygrad::emission::{Compiler, NativeProgram};
/// use polygrad::{Array, Function, tensor};
/// let f = Function::grad(|x| x.square().sum(), &tensor([1.0, 2.0]));
/// # let folder = std::env::temp_dir().join(format!("polygrad-program-{}", std::process::id()));
/// # let compiler = Compiler::default().folder(&folder);
/// # if std::process::Command::new("cc").arg("--version").output().is_err() { return Ok(()); }
/// let native: NativeProgram = f.optimized().native(&compiler)?;
/// assert_eq!(native.run(&[Array::from([3.0, 4.0])]), [Array::from([6.0, 8.0])]);
/// # std::fs::remove_dir_all(&folder).ok();
/// # Ok::<(), polygrad::emission::NativeError>(())
/// ```
pub struct NativeProgram {
    program: Program,
    entry: Entry,
    /// The words of the scratch of a run.
    words: usize,
    /// Scratches of finished runs.
    idle: Mutex<Vec<Vec<u64>>>,
    /// The library that has the function.
    _library: Library,
}

impl fmt::Debug for NativeProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NativeProgram").field("program", &self.program).finish_non_exhaustive()
    }
}

impl NativeProgram {
    /// The program.
    ///
    /// ```
    /// use polygrad::emission::Compiler;
    /// use polygrad::{Function, tensor};
    /// let f = Function::stage(|x| x * 2.0, &tensor([1.0, 2.0]));
    /// # let folder = std::env::temp_dir().join(format!("polygrad-source-{}", std::process::id()));
    /// # let compiler = Compiler::default().folder(&folder);
    /// # if std::process::Command::new("cc").arg("--version").output().is_err() { return Ok(()); }
    /// assert_eq!(f.program().native(&compiler)?.program(), f.program());
    /// # std::fs::remove_dir_all(&folder).ok();
    /// # Ok::<(), polygrad::emission::NativeError>(())
    /// ```
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The results for these inputs. Several threads may run a program at the same time.
    ///
    /// ```
    /// use polygrad::emission::Compiler;
    /// use polygrad::{Array, Function, tensor};
    /// let f = Function::value_and_grad(|x| x.square().sum(), &tensor([1.0, 2.0]));
    /// # let folder = std::env::temp_dir().join(format!("polygrad-run-{}", std::process::id()));
    /// # let compiler = Compiler::default().folder(&folder);
    /// # if std::process::Command::new("cc").arg("--version").output().is_err() { return Ok(()); }
    /// let native = f.optimized().native(&compiler)?;
    /// assert_eq!(native.run(&[Array::from([3.0, 4.0])]), [Array::scalar(25.0), Array::from([6.0, 8.0])]);
    /// # std::fs::remove_dir_all(&folder).ok();
    /// # Ok::<(), polygrad::emission::NativeError>(())
    /// ```
    ///
    /// # Panics
    /// When there is not one value of the right shape and element type per input.
    #[track_caller]
    pub fn run(&self, inputs: &[Array]) -> Vec<Array> {
        check_inputs("native", &self.program, inputs);
        self.run_fitting(inputs)
    }

    /// [`run`](Self::run) for inputs that are known to fit.
    pub(crate) fn run_fitting(&self, inputs: &[Array]) -> Vec<Array> {
        let mut scratch = self.idle().pop().unwrap_or_else(|| vec![0; self.words]);
        let mut results: Vec<Array> =
            self.program.outputs().iter().map(|slot| Array::zeros(&slot.shape, slot.dtype)).collect();
        self.call(inputs, &mut results, &mut scratch);
        let mut idle = self.idle();
        if idle.len() < KEPT {
            idle.push(scratch);
        }
        drop(idle);
        results
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Vec<u64>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls the function for inputs and results that fit.
    fn call(&self, inputs: &[Array], results: &mut [Array], scratch: &mut [u64]) {
        let mut written_out: Vec<Array> = Vec::new();
        for array in inputs.iter().filter(|array| array.address().is_none()) {
            let mut array = array.clone();
            with_elem!(array.dtype(), E => {
                array.make_dense::<E>();
            });
            written_out.push(array);
        }
        let mut written = written_out.iter();
        let address = |array: &Array| array.address().or_else(|| written.next().and_then(Array::address));
        let from: Vec<*const c_void> =
            inputs.iter().map(address).map(|at| at.map_or(std::ptr::null(), <*const u8>::cast)).collect();
        // A number is written to a separate place, since it has no memory of elements.
        let mut numbers = vec![0u64; results.len()];
        let to: Vec<*mut c_void> = results
            .iter_mut()
            .zip(&mut numbers)
            .map(|(array, number)| match array.rank() {
                0 => std::ptr::from_mut(number).cast(),
                _ => with_elem!(array.dtype(), E => array.make_dense::<E>().as_mut_ptr().cast()),
            })
            .collect();
        // SAFETY: the function reads as many elements of the inputs, and writes as many of the results and of the
        // scratch, as the program says; all of them are there, and no two of what is written overlap.
        unsafe { (self.entry)(from.as_ptr(), to.as_ptr(), scratch.as_mut_ptr().cast()) };
        for (array, number) in results.iter_mut().zip(numbers).filter(|(array, _)| array.rank() == 0) {
            *array = number_of(number, array.dtype());
        }
    }
}

/// The number that C wrote into a word.
fn number_of(word: u64, dtype: DType) -> Array {
    let bytes = word.to_ne_bytes();
    let narrow = u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    match dtype {
        DType::F64 => Array::scalar(f64::from_bits(word)),
        DType::F32 => Array::scalar(f32::from_bits(narrow)),
        DType::I64 => Array::scalar(word as i64),
        DType::Bool => Array::scalar(bytes[0] != 0),
    }
}

impl Program {
    /// The program as native code: the emitted C ([`to_c`](Program::to_c)), compiled and loaded.
    ///
    /// ```
    /// use polygrad::emission::Compiler;
    /// use polygrad::{Array, Function, tensor};
    /// let f = Function::stage(|x| x * 2.0 + 1.0, &tensor([1.0, 2.0]));
    /// # let folder = std::env::temp_dir().join(format!("polygrad-native-{}", std::process::id()));
    /// # let compiler = Compiler::default().folder(&folder);
    /// # if std::process::Command::new("cc").arg("--version").output().is_err() { return Ok(()); }
    /// let native = f.optimized().native(&compiler)?;
    /// assert_eq!(native.run(&[Array::from([3.0, 4.0])]), [Array::from([7.0, 9.0])]);
    /// # std::fs::remove_dir_all(&folder).ok();
    /// # Ok::<(), polygrad::emission::NativeError>(())
    /// ```
    ///
    /// # Errors
    /// When the program cannot be written as C, the compiler is missing, or its library cannot be kept or loaded.
    pub fn native(&self, compiler: &Compiler) -> Result<NativeProgram, NativeError> {
        self.native_with(compiler, Options::DEFAULT)
    }

    /// [`native`](Program::native) with these options of rewrite rules.
    pub(crate) fn native_with(&self, compiler: &Compiler, options: Options) -> Result<NativeProgram, NativeError> {
        let signature = self.signature(NAME);
        let source = emitted(self, &signature, options, Target::C)?;
        let code = source.code.replacen(&format!("#include \"{NAME}.h\"\n"), &source.header, 1);
        let code = format!("{code}\n{}", c::entry(self, &signature, source.scratch_bytes > 0));
        let (library, path) = compiler.library(&code)?;
        // SAFETY: the emitted C defines a function of this name and type.
        let entry = unsafe { library.get::<Entry>(format!("{NAME}_entry").as_bytes()) };
        let fault = |e: libloading::Error| NativeError::Library { path, reason: e.to_string() };
        let entry = *entry.map_err(fault)?;
        let words = source.scratch_bytes.div_ceil(8);
        Ok(NativeProgram { program: self.clone(), entry, words, idle: Mutex::new(Vec::new()), _library: library })
    }
}
