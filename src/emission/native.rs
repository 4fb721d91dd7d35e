//! Programs in the process as native code: the emitted C, compiled by the machine's compiler, and loaded.
//!
//! Law: a native program computes what the emitted C computes. A library is compiled once for one source, compiler and
//! options: it is kept in a folder, beside its source, and loaded again only if that source is the same.
//!
//! The unsafe code of this module loads libraries that it has compiled, and calls their one function. It relies on the
//! emitted C, which reads and writes the arrays of its parameters alone, and on the folder, which belongs to the user.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::{env, fmt, fs, io};

use libloading::Library;
use thiserror::Error;

use super::{EmissionError, Target, c, emitted};
use crate::array::{Array, with_elem};
use crate::dtype::DType;
use crate::passes::Options;
use crate::program::{Program, check_inputs};

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
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NativeError {
    /// The program is not written as C.
    #[error(transparent)]
    Emission(#[from] EmissionError),
    /// There is no compiler of this name.
    #[error(
        "native: a C compiler must be on the machine, but `{compiler}` cannot be run ({reason}); install one, or name it: \
         Compiler::new(\"clang\")"
    )]
    NoCompiler {
        /// The compiler.
        compiler: String,
        /// The message of the operating system.
        reason: String,
    },
    /// The compiler refuses the emitted C.
    #[error("native: the C compiler must take the emitted code, but `{compiler}` says: {message}; change its options")]
    Refused {
        /// The compiler.
        compiler: String,
        /// What the compiler says.
        message: String,
    },
    /// There is no folder for libraries.
    #[error(
        "native: compiled libraries need a folder of the user, but neither XDG_CACHE_HOME nor HOME is set; name one: \
         Compiler::default().folder(..)"
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
    #[error("native: {path:?} must be a library that can be loaded, but it is not ({reason}); remove the file")]
    Library {
        /// The library.
        path: PathBuf,
        /// The message of the operating system.
        reason: String,
    },
}

/// The C compiler of the machine, its options, and the folder in which compiled libraries are kept.
///
/// ```
/// use polygrad::emission::Compiler;
/// let small = Compiler::new("clang").options(["-O1"]).folder("target/native");
/// assert!(format!("{small:?}").contains("clang"));
/// ```
#[derive(Clone, Debug)]
pub struct Compiler {
    program: String,
    options: Vec<String>,
    folder: Option<PathBuf>,
}

/// The compiler that the environment variable `CC` names, or else `cc`, with optimization for this processor.
impl Default for Compiler {
    fn default() -> Compiler {
        Compiler::new(&env::var("CC").unwrap_or_else(|_| "cc".into()))
    }
}

impl Compiler {
    /// A compiler by its command, with the options `-O3 -march=native`.
    ///
    /// ```
    /// use polygrad::emission::Compiler;
    /// let compiler = format!("{:?}", Compiler::new("gcc"));
    /// assert!(compiler.contains("gcc") && compiler.contains("-march=native"));
    /// ```
    pub fn new(command: &str) -> Compiler {
        let options = ["-O3", "-march=native"].map(String::from).to_vec();
        Compiler { program: command.to_owned(), options, folder: None }
    }

    /// These options instead: gcc's and clang's names.
    ///
    /// ```
    /// use polygrad::emission::Compiler;
    /// let compiler = format!("{:?}", Compiler::new("gcc").options(["-O1"]));
    /// assert!(compiler.contains("-O1") && !compiler.contains("-O3"));
    /// ```
    #[must_use]
    pub fn options<'a>(mut self, options: impl IntoIterator<Item = &'a str>) -> Compiler {
        self.options = options.into_iter().map(String::from).collect();
        self
    }

    /// This folder for compiled libraries, instead of `polygrad` in the user's folder for caches (`XDG_CACHE_HOME`, or
    /// `.cache` in `HOME`). Whoever can write there can run code in the process.
    ///
    /// ```
    /// use polygrad::emission::Compiler;
    /// use polygrad::{Function, tensor};
    /// let f = Function::stage(|x| x * 2.0, &tensor(1.0));
    /// let folder = std::env::temp_dir().join(format!("polygrad-folder-{}", std::process::id()));
    /// # if std::process::Command::new("cc").arg("--version").output().is_err() { return Ok(()); }
    /// f.native(&Compiler::default().folder(&folder))?;
    /// // The library and its source.
    /// assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 2);
    /// # std::fs::remove_dir_all(&folder).ok();
    /// # Ok::<(), polygrad::emission::NativeError>(())
    /// ```
    #[must_use]
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Compiler {
        self.folder = Some(folder.into());
        self
    }

    fn folder_of_libraries(&self) -> Result<PathBuf, NativeError> {
        let cache = || env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
        let home = || env::var_os("HOME").map(|home| Path::new(&home).join(".cache"));
        let own = || cache().or_else(home).map(|folder| folder.join("polygrad"));
        self.folder.clone().or_else(own).ok_or(NativeError::NoFolder)
    }

    /// The library with this C, which is compiled unless it is kept already.
    fn library(&self, code: &str) -> Result<PathBuf, NativeError> {
        let folder = self.folder_of_libraries()?;
        let version = self.run(Command::new(&self.program).arg("--version"))?;
        let whole =
            format!("{code}\n// {} {}\n/* {} */\n", self.program, self.options.join(" "), version.replace("*/", ""));
        let mut hasher = DefaultHasher::new();
        whole.hash(&mut hasher);
        let stem = format!("{:016x}", hasher.finish());
        let (source, library) = (folder.join(format!("{stem}.c")), folder.join(format!("{stem}.so")));
        if library.exists() && fs::read_to_string(&source).is_ok_and(|kept| kept == whole) {
            return Ok(library);
        }
        // Other processes may do the same at this time: each writes files of its own, and renames them.
        let own = |path: &Path| path.with_extension(format!("{}.tmp.c", std::process::id()));
        let (source_here, library_here) = (own(&source), own(&library).with_extension("so"));
        let file = |path: &Path, done: io::Result<()>| {
            done.map_err(|e| NativeError::File { path: path.to_path_buf(), reason: e.to_string() })
        };
        file(&folder, fs::create_dir_all(&folder))?;
        file(&source_here, fs::write(&source_here, &whole))?;
        let mut command = Command::new(&self.program);
        command.args(["-std=c99", "-ffp-contract=off", "-shared", "-fPIC"]).args(&self.options);
        let done = self.run(command.arg("-o").arg(&library_here).arg(&source_here).arg("-lm"));
        if let Err(error) = done {
            let _ = fs::remove_file(&source_here);
            return Err(error);
        }
        file(&library, fs::rename(&library_here, &library))?;
        file(&source, fs::rename(&source_here, &source))?;
        Ok(library)
    }

    /// What a command prints, which must succeed.
    fn run(&self, command: &mut Command) -> Result<String, NativeError> {
        let compiler = || self.program.clone();
        let done =
            command.output().map_err(|e| NativeError::NoCompiler { compiler: compiler(), reason: e.to_string() })?;
        match done.status.success() {
            true => Ok(String::from_utf8_lossy(&done.stdout).into_owned()),
            false => {
                let message = String::from_utf8_lossy(&done.stderr).trim().to_owned();
                Err(NativeError::Refused { compiler: compiler(), message })
            }
        }
    }
}

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
        self.idle().push(scratch);
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
        // A number is written to a place of its own, since it has no memory of elements.
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
    /// When the program is not written as C, there is no compiler, or its library cannot be kept or loaded.
    pub fn native(&self, compiler: &Compiler) -> Result<NativeProgram, NativeError> {
        self.native_with(compiler, Options::DEFAULT)
    }

    /// [`native`](Program::native) with these options of rewrite rules.
    pub(crate) fn native_with(&self, compiler: &Compiler, options: Options) -> Result<NativeProgram, NativeError> {
        let signature = self.signature(NAME);
        let source = emitted(self, &signature, options, Target::C)?;
        let code = source.code.replacen(&format!("#include \"{NAME}.h\"\n"), &source.header, 1);
        let code = format!("{code}\n{}", c::entry(self, &signature, source.scratch_bytes > 0));
        let path = compiler.library(&code)?;
        let fault = |e: libloading::Error| NativeError::Library { path: path.clone(), reason: e.to_string() };
        // SAFETY: the library was compiled from the emitted C, which has no initializers.
        let library = unsafe { Library::new(&path) }.map_err(fault)?;
        // SAFETY: the emitted C defines a function of this name and type.
        let entry = unsafe { library.get::<Entry>(format!("{NAME}_entry").as_bytes()) };
        let entry = *entry.map_err(fault)?;
        let words = source.scratch_bytes.div_ceil(8);
        Ok(NativeProgram { program: self.clone(), entry, words, idle: Mutex::new(Vec::new()), _library: library })
    }
}
