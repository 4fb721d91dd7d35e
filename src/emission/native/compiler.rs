//! The compiler: its command, its options, and what it compiles for.
//!
//! Law: a library is compiled once for one source, compiler, options and processor. The key of a kept library is the C,
//! the compiler with its options and version, and the macros that it defines. These say which instructions it may use,
//! so on another processor the library is compiled again.

use std::env;
use std::ffi::OsStr;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use libloading::Library;

use super::NativeError;
use super::process::{self, Finished, ProcessFault};
use super::store::{CompilerFolder, Store, folder_of_caches};
use crate::escape;

/// The options of a compiler unless others are given.
const OPTIONS: [&str; 2] = ["-O3", "-march=native"];

/// The options that the emitted code needs.
const NEEDED: [&str; 4] = ["-std=c99", "-ffp-contract=off", "-shared", "-fPIC"];

/// How long a compiler may take.
const TIME_LIMIT: Duration = Duration::from_secs(600);

/// The C compiler of the machine, its options, and the folder in which compiled libraries are kept.
///
/// ```
/// use polygrad::emission::Compiler;
/// let small = Compiler::new("clang").options(["-O1"]).folder("target/native");
/// assert!(format!("{small:?}").contains("clang"));
/// ```
#[derive(Clone, Debug)]
pub struct Compiler {
    /// The program, and its first arguments.
    command: Vec<String>,
    options: Vec<String>,
    folder: Option<PathBuf>,
    time_limit: Duration,
}

/// The compiler that the environment variable `CC` names, or else `cc`, with optimization for this processor.
impl Default for Compiler {
    fn default() -> Compiler {
        Compiler::new(&of_environment(env::var("CC").ok()))
    }
}

/// The command that `CC` has, unless it is empty.
fn of_environment(cc: Option<String>) -> String {
    cc.filter(|command| !command.trim().is_empty()).unwrap_or_else(|| "cc".into())
}

/// The words of a command; the path of a file is one, with blanks too.
fn words(command: &str) -> Vec<String> {
    match Path::new(command).is_file() {
        true => vec![command.to_owned()],
        false => command.split_whitespace().map(str::to_owned).collect(),
    }
}

/// The identity of a compiler, as it reports it.
struct Identity {
    version: String,
    /// The macros that it defines for its target, which name the instructions that it may use; `None` if the compiler
    /// does not list them.
    target: Option<String>,
}

impl Compiler {
    /// A compiler by its command, which may have arguments: `gcc -m64`, `ccache clang`. Its options are `-O3 -march=native`.
    ///
    /// ```
    /// use polygrad::emission::Compiler;
    /// let compiler = format!("{:?}", Compiler::new("gcc"));
    /// assert!(compiler.contains("gcc") && compiler.contains("-march=native"));
    /// ```
    pub fn new(command: &str) -> Compiler {
        let options = OPTIONS.map(String::from).to_vec();
        Compiler { command: words(command), options, folder: None, time_limit: TIME_LIMIT }
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
    /// `.cache` in `HOME`, if these are absolute paths). It is made if it is not there. Whoever can write there can run code
    /// in the process, so it must belong to the user, and nobody else may write there.
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

    /// So much time for the compiler, instead of ten minutes; then it is stopped.
    ///
    /// ```
    /// use std::time::Duration;
    /// use polygrad::emission::{Compiler, NativeError};
    /// use polygrad::{Function, tensor};
    /// let f = Function::stage(|x| x * 2.0, &tensor(1.0));
    /// # if !cfg!(unix) { return; }
    /// let endless = Compiler::new("tail -f /dev/null --").time_limit(Duration::from_millis(10));
    /// assert!(matches!(f.native(&endless), Err(NativeError::TimeLimit { .. })));
    /// ```
    #[must_use]
    pub fn time_limit(mut self, limit: Duration) -> Compiler {
        self.time_limit = limit;
        self
    }

    /// The compiler as it is called.
    fn name(&self) -> String {
        self.command.join(" ")
    }

    fn store(&self) -> Result<Store, NativeError> {
        let own = || folder_of_caches(env::var_os("XDG_CACHE_HOME"), env::var_os("HOME"));
        let folder = self.folder.clone().or_else(|| Some(own()?.join("polygrad")));
        Store::new(&folder.ok_or(NativeError::NoFolder)?)
    }

    /// The library with this C, which is compiled unless it is kept already, and its file.
    pub(super) fn library(&self, code: &str) -> Result<(Library, PathBuf), NativeError> {
        let identity = self.identity()?;
        let store = self.store()?;
        let Some(target) = &identity.target else {
            // The next machine that uses this folder may have a different processor.
            let attempt = self.compiled(&store, code)?;
            return Ok((loaded(&attempt.library())?, attempt.library()));
        };
        let mut hasher = DefaultHasher::new();
        target.hash(&mut hasher);
        let by = [self.name(), self.options.join(" "), format!("{:016x}", hasher.finish())];
        let by = by.iter().map(String::as_str).chain(identity.version.lines());
        let by: String = by.map(|line| format!("// {}\n", escape::c(line))).collect();
        let source = format!("{code}\n{by}");
        let stored = store.library(&source);
        if stored.is_kept()? {
            // Something that a library needs may be gone.
            if let Ok(library) = loaded(stored.path()) {
                return Ok((library, stored.path().to_path_buf()));
            }
        }
        let attempt = self.compiled(&store, &source)?;
        let library = loaded(&attempt.library())?;
        stored.keep(&attempt)?;
        Ok((library, stored.path().to_path_buf()))
    }

    /// A compiled source.
    fn compiled(&self, store: &Store, source: &str) -> Result<CompilerFolder, NativeError> {
        let attempt = store.attempt()?;
        attempt.write(source)?;
        let mut command = self.command(NEEDED);
        command.args(&self.options).arg("-o").arg(attempt.library()).arg(attempt.source()).arg("-lm");
        // Files that the compiler makes on its way.
        ["TMPDIR", "TMP", "TEMP"].into_iter().for_each(|name| _ = command.env(name, attempt.folder()));
        self.succeeded(&mut command)?;
        Ok(attempt)
    }

    fn identity(&self) -> Result<Identity, NativeError> {
        let version = self.succeeded(&mut self.command(["--version"]))?;
        let mut macros = self.command(&self.options);
        let done = self.finished(macros.args(["-dM", "-E", "-x", "c", "-"]))?;
        Ok(Identity { version, target: Some(done.out).filter(|text| done.success && !text.is_empty()) })
    }

    fn command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let (program, first) = self.command.split_first().map_or(("", &[][..]), |(program, first)| (program, first));
        let mut command = Command::new(program);
        command.args(first).args(args);
        command
    }

    fn finished(&self, command: &mut Command) -> Result<Finished, NativeError> {
        process::run(command, self.time_limit).map_err(|fault| match fault {
            ProcessFault::Start(e) => NativeError::NoCompiler { compiler: self.name(), reason: e.to_string() },
            ProcessFault::TimeLimit => NativeError::TimeLimit { compiler: self.name(), limit: self.time_limit },
        })
    }

    /// The output of a command, which must succeed.
    fn succeeded(&self, command: &mut Command) -> Result<String, NativeError> {
        let Finished { success, out, err } = self.finished(command)?;
        match success {
            true => Ok(out),
            false => Err(NativeError::Refused { compiler: self.name(), message: err.trim().to_owned() }),
        }
    }
}

fn loaded(path: &Path) -> Result<Library, NativeError> {
    // SAFETY: the library was compiled from the emitted C, which has no initializers, and is to the byte what the compiler
    // wrote: `store` states why nobody else can have written it.
    let library = unsafe { Library::new(path) };
    library.map_err(|e| NativeError::Library { path: path.to_path_buf(), reason: e.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_have_words() {
        let of = |cc: &str| words(&of_environment(Some(cc.into())));
        assert_eq!(of("gcc -m64"), ["gcc", "-m64"]);
        assert_eq!(of("  ccache \t clang -m64 "), ["ccache", "clang", "-m64"]);
        for empty in ["", " ", "\t\n"] {
            assert_eq!(of(empty), ["cc"]);
        }
        assert_eq!(words(&of_environment(None)), ["cc"]);
        // A path with blanks is a file.
        let path = std::env::temp_dir().join(format!("polygrad a compiler {}", std::process::id()));
        std::fs::write(&path, "").expect("a file is written");
        let path = path.to_string_lossy().into_owned();
        assert_eq!(words(&path), std::slice::from_ref(&path));
        std::fs::remove_file(&path).expect("the file was written");
        assert_eq!(words(&path).len(), 3 + path.matches(' ').count() - 2);
    }

    #[test]
    fn an_empty_command_is_an_error() {
        let fault = Compiler::new(" ").identity().map(|_| ()).expect_err("the command is empty");
        assert!(matches!(fault, NativeError::NoCompiler { .. }), "{fault}");
    }
}
