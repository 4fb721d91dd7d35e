//! Programs as source code: Rust without the standard library, and C.
//!
//! A recorded, differentiated and optimized program leaves as one function that needs no run time: for microcontrollers,
//! browsers and other languages. Loops stay loops, so source code grows with the program, never with the number of trips.
//!
//! ```text
//! Program -lower-> steps over values -trees-> imperative trees -print-> Rust or C
//! ```
//!
//! Law: emitted code computes what a compiled program computes, by the same operations on the same numbers; only sums
//! and products of arrays have another order. Reads at indices out of bounds give 0, integers wrap, and the elementary
//! functions are those of `polygrad-math`.
//!
//! | module | does |
//! |---|---|
//! | `check` | finds what cannot be written |
//! | `signature` | parameters |
//! | `print`, `rust`, `c`, `c_math` | the text, and the elementary functions in C |
//! | `native` | native code in the process, by the compiler of the machine, and the folder of its libraries |

mod c;
mod c_math;
mod check;
#[cfg(feature = "native")]
mod native;
mod print;
mod rust;
mod signature;

#[cfg(feature = "native")]
pub use native::{Compiler, NativeError, NativeProgram};
use thiserror::Error;

use crate::backend::ir::limits::Limits;
use crate::backend::plan::lowered;
use crate::backend::trees::{simplify, steps};
use crate::errors::debug_by_display;
use crate::escape;
use crate::export::Signature;
use crate::passes::{self, Options, Phase};
use crate::program::Program;
use crate::source::SourceLine;
use print::Callee;
use signature::ParameterList;

/// The reason why a program does not leave as source code.
///
/// ```
/// use polygrad::emission::EmissionError;
/// use polygrad::{Function, tensor};
/// let f = Function::stage(|x| x.sin(), &tensor(1.0));
/// assert!(matches!(f.to_c("two words"), Err(EmissionError::Name { .. })));
/// ```
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EmissionError {
    /// An operation is not written.
    #[error(
        "emission: every operation must be one that is written, but {} is not: {reason}; compute it outside, and \
         pass the result{}", escape::quoted(operation), at.as_ref().map_or_else(String::new, |at| format!(" (called at {at})"))
    )]
    Operation {
        /// The name of the operation.
        operation: String,
        /// Why it is not written.
        reason: String,
        /// Where the operation was called, if that is known.
        at: Option<SourceLine>,
    },
    /// The program is too large.
    #[error(
        "emission: a program must have at most {most} operations, each counted as often as it is written, but has \
         {operations}; record loops instead of repeating operations"
    )]
    Size {
        /// The number of operations.
        operations: usize,
        /// The most operations.
        most: usize,
    },
    /// The name is not one that both languages allow.
    #[error(
        "emission: the name of a function must be of lower-case letters, digits and `_`, and no keyword, but is {}; \
         choose another one",
        escape::quoted(name)
    )]
    Name {
        /// The name.
        name: String,
    },
}

debug_by_display!(EmissionError);

/// A program as source code.
///
/// ```
/// use polygrad::{Function, tensor};
/// let f = Function::stage(|x| x.sin() * 2.0, &tensor(1.0));
/// let source = f.to_c("wave")?;
/// assert!(source.code.contains("void wave") && source.header.contains("wave"));
/// # Ok::<(), polygrad::emission::EmissionError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Source {
    /// The text: of Rust, items of a module; of C, a file.
    pub code: String,
    /// The text of the header `name.h`, which the C file includes; empty for Rust.
    pub header: String,
    /// The bytes of the memory that the caller provides for a call.
    pub scratch_bytes: usize,
    /// The bytes of the arrays that a call has on the stack, besides its variables.
    pub stack_bytes: usize,
    /// The lines that `[dependencies]` of the crate with the code needs.
    pub dependencies: Vec<String>,
    /// The program that is written, with the names of the parameters.
    program: Program,
}

impl Source {
    pub(crate) fn program(&self) -> &Program {
        &self.program
    }
}

/// A language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    Rust,
    C,
}

/// The version of `polygrad-math` that emitted Rust needs.
const MATH: &str = "polygrad-math = \"0.1\"";

fn emitted(
    program: &Program,
    signature: &Signature,
    options: Options,
    target: Target,
) -> Result<Source, EmissionError> {
    let name = &signature.name[..];
    if !signature::is_name(name) {
        return Err(EmissionError::Name { name: name.into() });
    }
    let left_out = program.taps();
    let program = &program.without_taps();
    let whole = passes::after(Phase::BeforePlan, program, &Limits::SOURCE.passes);
    // Numbers that were elements of arrays: products with written zeros are left out now.
    let whole = if options.fast_math { passes::simplify_with(&whole, options) } else { whole };
    check::check(&whole)?;
    let ports = ParameterList::new(program, signature);
    let mut function = steps::function(program, lowered(&whole, Limits::SOURCE));
    simplify::simplify(&mut function);
    let mut head =
        vec![format!("`{name}`, written by polygrad {} from a recorded program.", env!("CARGO_PKG_VERSION"))];
    head.extend(left_out.iter().map(|tap| format!("Left out: {}.", tap.remark())));
    let scratch = signature::scratch(&function);
    let widest = scratch.iter().map(|(_, dtype, _)| dtype.width()).max().unwrap_or(1);
    let scratch_bytes: usize =
        scratch.iter().map(|(_, dtype, len)| len.saturating_mul(dtype.width())).fold(0, usize::saturating_add);
    let (code, header, dependencies) = match target {
        Target::Rust => {
            let (code, called) = rust::text(name, &ports, &function, &scratch, &head);
            let math = called.iter().any(|callee| matches!(callee, Callee::Math(..)));
            (code, String::new(), math.then(|| MATH.into()).into_iter().collect())
        }
        Target::C => {
            let code = c::text(name, &ports, &function, !scratch.is_empty(), &head);
            (code, c::header(name, &ports, &scratch, &head), Vec::new())
        }
    };
    Ok(Source {
        code,
        header,
        scratch_bytes: scratch_bytes.checked_next_multiple_of(widest).unwrap_or(usize::MAX),
        stack_bytes: function.stack_bytes(),
        dependencies,
        program: signature.names(program),
    })
}

impl Program {
    /// The program as a function of Rust with this name: see [`crate::emission`].
    ///
    /// The program is emitted as it is: [`optimize`](crate::passes::optimize) it first, or emit a
    /// [`Function`](crate::Function::to_rust).
    ///
    /// ```
    /// use polygrad::{BaseTensor, DType, ops::Unary, program::Term};
    /// let x = Term::variable(&[2], DType::F64);
    /// let program = Term::program(&[x.clone()], &[x.unary(Unary::Square)], &["y".into()])?.named(&["x"], &["y"]);
    /// let source = program.to_rust("squares").unwrap();
    /// assert!(source.code.contains("pub fn squares(x: &[f64; 2], y: &mut [f64; 2]) {"), "{}", source.code);
    /// assert_eq!((source.scratch_bytes, source.dependencies.len()), (0, 0));
    /// # Ok::<(), String>(())
    /// ```
    ///
    /// # Errors
    /// When an operation is not written, the program is too large, or the name is not a valid Rust identifier.
    pub fn to_rust(&self, name: &str) -> Result<Source, EmissionError> {
        self.to_rust_with(&self.signature(name), Options::DEFAULT)
    }

    /// [`to_rust`](Program::to_rust) with other names, and with these options of rewrite rules.
    pub(crate) fn to_rust_with(&self, signature: &Signature, options: Options) -> Result<Source, EmissionError> {
        emitted(self, signature, options, Target::Rust)
    }

    /// The program as a function of C99 with this name: see [`crate::emission`].
    ///
    /// ```
    /// use polygrad::{BaseTensor, DType, ops::Unary, program::Term};
    /// let x = Term::variable(&[2], DType::F64);
    /// let program = Term::program(&[x.clone()], &[x.unary(Unary::Square)], &["y".into()])?.named(&["x"], &["y"]);
    /// let source = program.to_c("squares").unwrap();
    /// assert!(source.header.contains("void squares(const double *x, double *y);"), "{}", source.header);
    /// # Ok::<(), String>(())
    /// ```
    ///
    /// # Errors
    /// Like [`to_rust`](Program::to_rust).
    pub fn to_c(&self, name: &str) -> Result<Source, EmissionError> {
        self.to_c_with(&self.signature(name), Options::DEFAULT)
    }

    /// [`to_c`](Program::to_c) with other names, and with these options of rewrite rules.
    pub(crate) fn to_c_with(&self, signature: &Signature, options: Options) -> Result<Source, EmissionError> {
        emitted(self, signature, options, Target::C)
    }
}
