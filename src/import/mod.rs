//! Import of StableHLO: programs that JAX exports run, and are differentiated and compiled, like those written here.
//!
//! [`Module::parse`] reads the text that `jax.export` prints, and [`Module::call`] runs it: one function, generic over
//! the language, so each interpreter reads it. At [`Term`] it records a program, from which all verbs follow.
//!
//! Laws: any text gives a module or an error with line, column and operation; reading takes time in proportion to the
//! text, and bounded stack. The import of the export of a program computes the bits of that program, where each
//! operation of it is one of StableHLO. What has no meaning here is refused by name.
//!
//! | file | contents |
//! |---|---|
//! | `text`, `types`, `literal`, `attributes`, `locations`, `parse`, `pretty`, `module` | the grammar |
//! | `flow` | what regions do with their arguments |
//! | `run`, `control` | the reader, and calls, conditionals and loops |
//! | `value`, `numbers` | values; narrow integers and floats |
//! | `elementwise`, `integers`, `shaped`, `convolution`, `indexing`, `scatter` | the operations |
//! | `reductions`, `windows`, `ordering`, `matrices` | further ones |
//!
//! The import belongs to the language: it names no interpreter. Its types are open to the verbs in [`ad`](crate::ad).

mod attributes;
mod control;
mod convolution;
mod elementwise;
mod flow;
mod indexing;
mod integers;
mod literal;
mod locations;
mod matrices;
mod module;
mod numbers;
mod ordering;
mod parse;
mod pretty;
mod reductions;
mod run;
mod scatter;
mod shaped;
mod text;
mod types;
mod value;
mod windows;

use std::sync::Arc;

use crate::base::BaseTensor;
use crate::dtype::{DType, Elem};
use crate::errors::debug_by_display;
use crate::escape;
use crate::program::{Program, Term};
use crate::source::SourceLine;
use crate::tensor::Tensor;
use crate::tree::Tree;
use module::{ModuleOperation, ParsedModule, RegionBlock};
use run::{Failed, Reader};
pub use types::Element;
use types::Type;
use value::{ImportedValue, Item};

/// The reason why a text is not imported: what is wrong, and where.
///
/// ```
/// use polygrad::import::Module;
/// let error = Module::parse("func.func @main(%x: tensor<f64>) -> tensor<f64> {\n  return %y : tensor<f64>\n}").unwrap_err();
/// assert_eq!((error.line, error.column), (2, 10));
/// assert!(error.to_string().contains("line 2, column 10"), "{error}");
/// ```
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[error(
    "import: {}, but line {line}, column {column}{}{}: {what}; {}",
    kind.requirement(),
    named(operation),
    written(place.as_ref()),
    kind.way_out()
)]
pub struct ImportError {
    /// What is not as it must be.
    pub kind: ImportErrorKind,
    /// The line of the text, from 1.
    pub line: u32,
    /// The column in bytes, from 1.
    pub column: u32,
    /// The operation, if it is one that is refused.
    pub operation: String,
    /// The line of the program that was exported, if the text gives it.
    pub place: Option<SourceLine>,
    /// What is wrong.
    pub what: String,
}

debug_by_display!(ImportError);

/// What must be so, for a text to be imported and to run.
///
/// ```
/// use polygrad::import::{ImportErrorKind, Module};
/// assert_eq!(Module::parse("module {").unwrap_err().kind, ImportErrorKind::Text);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ImportErrorKind {
    /// The text is a module.
    Text,
    /// Each operation is valid, and has a meaning here.
    Operation,
    /// The arguments and results fit the module.
    Arguments,
}

impl ImportErrorKind {
    fn requirement(self) -> &'static str {
        match self {
            ImportErrorKind::Text => "a text must be a module of StableHLO that is read here",
            ImportErrorKind::Operation => "each operation must be valid and have a meaning here",
            ImportErrorKind::Arguments => "arguments and results must fit the module",
        }
    }

    fn way_out(self) -> &'static str {
        match self {
            ImportErrorKind::Text => "print it with `jax.export(..).mlir_module()`",
            ImportErrorKind::Operation => "export a function without it, or check the text where it was printed",
            ImportErrorKind::Arguments => "see `Module::signature`",
        }
    }
}

fn named(operation: &str) -> String {
    if operation.is_empty() { String::new() } else { format!(", {}", escape::name(operation)) }
}

fn written(place: Option<&SourceLine>) -> String {
    place.map_or_else(String::new, |at| format!(" of {at}"))
}

impl ImportError {
    fn at(text: &str, at: usize, operation: &str, what: String) -> ImportError {
        let (line, column) = text::line_and_column(text, at);
        let operation = operation.to_owned();
        ImportError { kind: ImportErrorKind::Text, line, column, operation, place: None, what }
    }
}

/// An input or output of a module.
///
/// Example: [`Module::signature`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModulePort {
    /// The name that the text gives it, without `%`; for an output, JAX's path to it.
    pub name: String,
    /// The size of each axis; `None` where the text leaves it open.
    pub shape: Vec<Option<usize>>,
    /// The element type.
    pub element: Element,
}

/// A module of StableHLO, read.
///
/// ```
/// use polygrad::import::Module;
/// use polygrad::{Function, Tensor, enclose, grad, tensor};
/// let text = r#"
/// module @jit_f {
///   func.func public @main(%arg0: tensor<2xf64> loc("x")) -> (tensor<f64>) {
///     %cst = stablehlo.constant dense<0.0> : tensor<f64>
///     %0 = stablehlo.sine %arg0 : tensor<2xf64>
///     %1 = stablehlo.multiply %0, %arg0 : tensor<2xf64>
///     %2 = stablehlo.reduce(%1 init: %cst) applies stablehlo.add across dimensions = [0]
///       : (tensor<2xf64>, tensor<f64>) -> tensor<f64>
///     return %2 : tensor<f64>
///   }
/// }"#;
/// let f = Module::parse(text)?;
/// let x = tensor([0.5, 2.0]);
/// assert_eq!(f.apply::<_, _, 0, f64>(&x), (x.sin() * &x).sum());
/// // At each interpreter: the derivative, and bounds.
/// assert_eq!(grad(|x: &Tensor<_, 1>| f.apply::<_, _, 0, f64>(x), &x), x.cos() * &x + x.sin());
/// # Ok::<(), polygrad::import::ImportError>(())
/// ```
#[derive(Clone)]
pub struct Module {
    parsed: Arc<ParsedModule>,
    /// The text, for the lines of errors.
    text: Arc<str>,
    main: usize,
}

impl std::fmt::Debug for Module {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Module({} functions, {} bytes)", self.parsed.functions.len(), self.text.len())
    }
}

/// The most operations of a function, those of the functions that it calls counted at each call.
const MOST_OPERATIONS: u64 = 100_000_000;

/// How deep calls and regions are nested at most when a module runs.
const DEEPEST_RUN: usize = 64;

impl Module {
    /// Reads a module: what `jax.export(..).mlir_module()` prints, or this library exports. The function that runs is
    /// `main`, or else the first.
    ///
    /// # Errors
    /// When the text is not a module; when functions call one another in a circle, or are nested more than 64 deep.
    ///
    /// Example: [`Module`].
    pub fn parse(text: &str) -> Result<Module, ImportError> {
        if text.len() > u32::MAX as usize {
            return Err(ImportError::at("", 0, "", "a text must be shorter than 4 GiB".into()));
        }
        let mut parsed = parse::parse_module(text)?;
        let Some(main) = parsed.by_name.get("main").copied().or((!parsed.functions.is_empty()).then_some(0)) else {
            return Err(ImportError::at(text, 0, "", "a module must have a function".into()));
        };
        let order = order_of_calls(text, &parsed)?;
        parsed.summaries = flow::summaries(&parsed, &order);
        Ok(Module { parsed: Arc::new(parsed), text: text.into(), main })
    }

    /// The inputs and the outputs of the function that runs. A tuple or token has no place here; a module with one is
    /// refused when it runs.
    ///
    /// ```
    /// use polygrad::import::{Element, Module, ModulePort};
    /// let text = "func.func @main(%x: tensor<2x?xf32>) -> (tensor<i32> {jax.result_info = \"count\"}) {
    ///   %c = stablehlo.constant dense<3> : tensor<i32>
    ///   return %c : tensor<i32>
    /// }";
    /// let (inputs, outputs): (Vec<ModulePort>, Vec<ModulePort>) = Module::parse(text)?.signature();
    /// assert_eq!((&inputs[0].shape[..], inputs[0].element), (&[Some(2), None][..], Element::F32));
    /// assert_eq!((&outputs[0].name[..], outputs[0].element.dtype()), ("count", polygrad::DType::I64));
    /// # Ok::<(), polygrad::import::ImportError>(())
    /// ```
    pub fn signature(&self) -> (Vec<ModulePort>, Vec<ModulePort>) {
        let main = &self.parsed.functions[self.main];
        let port = |(name, ty): &(String, Type)| match ty {
            Type::Tensor { shape, element } => {
                Some(ModulePort { name: name.clone(), shape: shape.clone(), element: *element })
            }
            Type::Tuple(_) | Type::Token => None,
        };
        (main.inputs.iter().filter_map(port).collect(), main.outputs.iter().filter_map(port).collect())
    }

    /// The results of the module for these arguments, at any interpreter.
    ///
    /// An argument of integers of any width is `i64`, one of `f16` or `bf16` is `f32`. A complex argument is two: its
    /// real and its imaginary parts; so is a complex result.
    ///
    /// ```
    /// use polygrad::import::Module;
    /// use polygrad::{Array, tensor};
    /// let text = "func.func @main(%x: tensor<2xi8>) -> tensor<2xi8> {
    ///   %0 = stablehlo.add %x, %x : tensor<2xi8>
    ///   return %0 : tensor<2xi8>
    /// }";
    /// // Integers wrap as those of 8 bits.
    /// assert_eq!(Module::parse(text)?.call(&[Array::from([3, 100])]), [Array::from([6, -56])]);
    /// # Ok::<(), polygrad::import::ImportError>(())
    /// ```
    ///
    /// # Panics
    /// When [`try_call`](Self::try_call) has an error.
    #[track_caller]
    pub fn call<T: BaseTensor>(&self, args: &[T]) -> Vec<T> {
        match self.try_call(args) {
            Ok(results) => results,
            Err(error) => panic!("{error}"),
        }
    }

    /// [`call`](Self::call), with an error instead of a panic.
    ///
    /// # Errors
    /// When the arguments do not fit, or an operation has no meaning here.
    ///
    /// ```
    /// use polygrad::import::Module;
    /// let text = "func.func @main(%x: tensor<2xf64>) -> tensor<2xf64> {
    ///   %0 = stablehlo.all_reduce_of_mine %x : tensor<2xf64>
    ///   return %0 : tensor<2xf64>
    /// }";
    /// let error = Module::parse(text)?.try_call(&[polygrad::Array::from([1.0, 2.0])]).unwrap_err();
    /// assert_eq!((error.line, &error.operation[..]), (2, "all_reduce_of_mine"));
    /// # Ok::<(), polygrad::import::ImportError>(())
    /// ```
    #[track_caller]
    pub fn try_call<T: BaseTensor>(&self, args: &[T]) -> Result<Vec<T>, ImportError> {
        let main = &self.parsed.functions[self.main];
        let failed = |what: String| self.refused(what);
        let mut given = args.iter();
        let mut items = Vec::new();
        for (name, ty) in &main.inputs {
            let Type::Tensor { element, .. } = ty else {
                return Err(failed("arguments must be tensors".into()));
            };
            let mut next = |dtype: DType| {
                let x = given.next().filter(|x| x.dtype() == dtype);
                let wanted = || format!("the argument {} must be {ty}, held as {dtype}", escape::quoted(name));
                x.cloned().ok_or_else(|| failed(wanted()))
            };
            let re = next(element.dtype())?;
            let im = if element.is_complex() { Some(next(element.dtype())?) } else { None };
            if im.as_ref().is_some_and(|im| im.shape() != re.shape()) {
                return Err(failed("both parts of a complex argument must have one shape".into()));
            }
            let held =
                numbers::rounded(numbers::wrapped(ImportedValue { element: *element, re, im, range: None }, None));
            let item = Item::Tensor(held);
            if !item.fits(ty, &[]) {
                let what = format!("the argument {} must be {ty}: it is {}", escape::quoted(name), item.words());
                return Err(failed(what));
            }
            items.push(item);
        }
        if given.next().is_some() {
            return Err(failed(format!("it takes {} arguments: gets {}", items.len(), args.len())));
        }
        let results = Reader::new(&self.parsed).function(self.main, items).map_err(|failed: Failed| {
            let place = self.parsed.operation_at(failed.at).and_then(|op| op.location.file()).cloned();
            let error = ImportError::at(&self.text, failed.at as usize, &failed.operation, failed.what);
            ImportError { kind: ImportErrorKind::Operation, place, ..error }
        })?;
        if results.iter().any(|item| matches!(item, Item::Reflections(_))) {
            return Err(failed("the reflections of a factorization must not be a result".into()));
        }
        let mut parts = Vec::new();
        results.iter().for_each(|item| item.parts(&mut parts));
        Ok(parts)
    }

    /// The first result, of this rank and element type, for the leaves of a tree as arguments: what verbs take.
    ///
    /// Example: [`Module`].
    ///
    /// # Panics
    /// When [`call`](Self::call) does, or the first result has another rank or element type.
    #[track_caller]
    pub fn apply<T: BaseTensor, P: Tree<T>, const D: usize, E: Elem>(&self, x: &P) -> Tensor<T, D, E> {
        let mut results = self.call(&x.leaves()).into_iter();
        match results.next() {
            Some(first) if first.shape().len() == D && first.dtype() == E::DTYPE => Tensor::from_raw(first),
            Some(first) => panic!(
                "import: the result must have rank {D} and elements {}, but it has rank {} and elements {}; ask for these",
                E::DTYPE,
                first.shape().len(),
                first.dtype()
            ),
            None => {
                panic!("import: the module must have a result, but it has none; export a function that returns one")
            }
        }
    }

    /// An error of the function that runs.
    pub(crate) fn refused(&self, what: String) -> ImportError {
        let error = ImportError::at(&self.text, self.parsed.functions[self.main].at as usize, "", what);
        ImportError { kind: ImportErrorKind::Arguments, ..error }
    }

    /// The names of the arguments: two of a complex one.
    pub(crate) fn names(&self) -> Vec<String> {
        let of = |(name, ty): &(String, Type)| match ty {
            Type::Tensor { element, .. } if element.is_complex() => vec![format!("{name}.re"), format!("{name}.im")],
            _ => vec![name.clone()],
        };
        self.parsed.functions[self.main].inputs.iter().flat_map(of).collect()
    }

    /// The module as a recorded program, with the names of its inputs and outputs.
    ///
    /// # Errors
    /// When a size is open, or an operation has no meaning here.
    ///
    /// ```
    /// use polygrad::import::Module;
    /// let text = "func.func @main(%x: tensor<2xf64>) -> tensor<2xf64> {
    ///   %0 = stablehlo.exponential %x : tensor<2xf64>
    ///   return %0 : tensor<2xf64>
    /// }";
    /// assert!(Module::parse(text)?.program()?.to_string().contains("exp x"));
    /// # Ok::<(), polygrad::import::ImportError>(())
    /// ```
    #[track_caller]
    pub fn program(&self) -> Result<Program, ImportError> {
        let main = &self.parsed.functions[self.main];
        let mut inputs = Vec::new();
        for (name, ty) in &main.inputs {
            let Some((shape, element)) = ty.fixed() else {
                let what = format!("a program needs fixed sizes: {} is {ty}", escape::quoted(name));
                return Err(self.refused(what));
            };
            let parts = if element.is_complex() { 2 } else { 1 };
            inputs.extend((0..parts).map(|_| Term::variable(&shape, element.dtype())));
        }
        let results = self.try_call(&inputs)?;
        Term::program(&inputs, &results, &self.names()).map_err(|what| self.refused(what))
    }
}

/// The operations that call a function, with the depth of the regions around them.
fn calls<'a>(block: &'a RegionBlock, depth: usize, all: &mut Vec<(&'a ModuleOperation, usize)>, deepest: &mut usize) {
    *deepest = depth.max(*deepest);
    for op in &block.operations {
        if op.callee().is_some() {
            all.push((op, depth));
        }
        op.regions.iter().for_each(|region| calls(region, depth + 1, all, deepest));
    }
}

/// The functions, callees first.
fn order_of_calls(text: &str, parsed: &ParsedModule) -> Result<Vec<usize>, ImportError> {
    let n = parsed.functions.len();
    let (mut callers, mut open, mut depths) = (vec![Vec::new(); n], vec![0usize; n], vec![0usize; n]);
    // The number of operations of a function with those of the functions that it calls.
    let mut expanded: Vec<u64> = parsed.functions.iter().map(|f| u64::from(f.values) + 1).collect();
    for (k, function) in parsed.functions.iter().enumerate() {
        let (mut all, mut deepest) = (Vec::new(), 0);
        calls(&function.body, 0, &mut all, &mut deepest);
        depths[k] = deepest;
        for (op, depth) in all {
            let callee = op.callee().and_then(|name| parsed.by_name.get(name));
            let Some(callee) = callee else {
                let what = "it calls a function that does not exist".to_owned();
                return Err(ImportError::at(text, op.at as usize, &op.name, what));
            };
            callers[*callee].push((k, depth));
            open[k] += 1;
        }
    }
    let mut order: Vec<usize> = (0..n).filter(|k| open[*k] == 0).collect();
    let mut next = 0;
    while let Some(k) = order.get(next).copied() {
        next += 1;
        if depths[k] > DEEPEST_RUN {
            let what = format!("calls and regions are nested more than {DEEPEST_RUN} deep");
            return Err(ImportError::at(text, parsed.functions[k].at as usize, "func", what));
        }
        if expanded[k] > MOST_OPERATIONS {
            let what = format!("with the functions that are called it has more than {MOST_OPERATIONS} operations");
            return Err(ImportError::at(text, parsed.functions[k].at as usize, "func", what));
        }
        for (caller, depth) in &callers[k] {
            expanded[*caller] = expanded[*caller].saturating_add(expanded[k]);
            depths[*caller] = depths[*caller].max(depths[k] + depth + 1);
            open[*caller] -= 1;
            if open[*caller] == 0 {
                order.push(*caller);
            }
        }
    }
    match (0..n).find(|k| open[*k] > 0) {
        Some(k) => {
            let what = "functions must not call one another in a circle".to_owned();
            Err(ImportError::at(text, parsed.functions[k].at as usize, "func", what))
        }
        None => Ok(order),
    }
}
