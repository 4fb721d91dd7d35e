//! Host code as an operation: a solver, a table, a simulator.
//!
//! Laws: in every interpreter, the function runs when the program runs, once for each execution of the operation. Two
//! operations are equal if they have the same name, shapes and function. The operation has no derivative: a derivative
//! of it panics with a message, unless the operation is in a function with rules ([`crate::custom_vjp()`]).

use std::fmt;
use std::hash::{Hash, Hasher};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

use super::kinds::Kind;
use super::linear::Linear;
use crate::array::Array;
use crate::base::BaseTensor;
use crate::dtype::DType;
use crate::escape;
use crate::shape::{Shape, Show};

/// A function of arrays.
///
/// Example: [`External`].
pub type HostFunction = dyn Fn(&[Array]) -> Vec<Array> + Send + Sync;

/// A batch of calls: the number of elements, and which of the arguments are stacks with a row for each element.
///
/// Example: [`External::each`].
pub type BatchedCall = (usize, Vec<bool>);

/// A host function, with the shapes and element types that it takes and returns.
///
/// ```
/// use polygrad::ops::{Call, External, HostFunction};
/// use polygrad::shape::Shape;
/// use polygrad::{Array, BaseTensor, DType};
/// use std::sync::Arc;
/// let scalar = (Shape::new(), DType::F64);
/// let halved: Arc<HostFunction> = Arc::new(|x| vec![Array::scalar(x[0].item::<f64>().unwrap() / 2.0)]);
/// let half = External::new("half", vec![scalar.clone()], vec![scalar], halved);
/// assert_eq!(half.run(&[Array::scalar(3.0)])?, [Array::scalar(1.5)]);
/// // Of each element of a stack.
/// assert_eq!(half.batched(2, vec![true]).run(&[Array::from([3.0, 4.0])])?, [Array::from([1.5, 2.0])]);
/// assert_eq!(Array::call(&Call::External(Arc::new(half)), &[Array::scalar(3.0)]), [Array::scalar(1.5)]);
/// # Ok::<(), String>(())
/// ```
#[derive(Clone)]
pub struct External {
    name: String,
    takes: Vec<(Shape, DType)>,
    returns: Vec<(Shape, DType)>,
    /// The batches, innermost first: the function is called for each element.
    each: Vec<BatchedCall>,
    /// `None` for a function that is not linked, as in a program that was saved.
    function: Option<Arc<HostFunction>>,
}

/// Host code owns its state: a panic in it leaves no array half written, and a later call is a call like any other.
impl UnwindSafe for External {}
impl RefUnwindSafe for External {}

impl External {
    /// A host function under a name.
    ///
    /// Example: [`External`].
    pub fn new(
        name: &str,
        takes: Vec<(Shape, DType)>,
        returns: Vec<(Shape, DType)>,
        function: Arc<HostFunction>,
    ) -> External {
        External { name: name.to_owned(), takes, returns, each: Vec::new(), function: Some(function) }
    }

    /// The operation of a function that [`Program::link`](crate::program::Program::link) provides.
    ///
    /// ```
    /// use polygrad::ops::External;
    /// use polygrad::shape::Shape;
    /// use polygrad::{Array, DType};
    /// let (vector, scalar) = ((Shape::from_slice(&[3]), DType::F64), (Shape::new(), DType::F64));
    /// let norm = External::unlinked("norm", vec![vector.clone()], vec![scalar.clone()]);
    /// assert_eq!((norm.name(), norm.takes(), norm.returns()), ("norm", &[vector][..], &[scalar][..]));
    /// assert_eq!(norm.try_results(&[(&[3], DType::F64)])?, norm.returns());
    /// assert!(norm.try_results(&[(&[4], DType::F64)]).is_err());
    /// // A name alone does not run.
    /// assert!(!norm.is_linked() && norm.run(&[Array::from([1.0, 2.0, 2.0])]).is_err());
    /// # Ok::<(), String>(())
    /// ```
    pub fn unlinked(name: &str, takes: Vec<(Shape, DType)>, returns: Vec<(Shape, DType)>) -> External {
        External { name: name.to_owned(), takes, returns, each: Vec::new(), function: None }
    }

    /// Whether the function is linked.
    ///
    /// Example: [`External::unlinked`].
    pub fn is_linked(&self) -> bool {
        self.function.is_some()
    }

    /// The name, in printed and saved programs.
    ///
    /// Example: [`External::unlinked`].
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Shapes and element types of the arguments of the function.
    ///
    /// Example: [`External::unlinked`].
    pub fn takes(&self) -> &[(Shape, DType)] {
        &self.takes
    }

    /// Shapes and element types of the results of the function.
    ///
    /// Example: [`External::unlinked`].
    pub fn returns(&self) -> &[(Shape, DType)] {
        &self.returns
    }

    /// The batches of calls, innermost first.
    ///
    /// ```
    /// use polygrad::ops::{BatchedCall, External};
    /// let plain = External::unlinked("nothing", vec![], vec![]);
    /// assert!(plain.each().is_empty());
    /// // Of each call the number of elements, and which of the arguments are stacks.
    /// let batches: [BatchedCall; 2] = [(2, vec![]), (3, vec![])];
    /// assert_eq!(plain.batched(2, vec![]).batched(3, vec![]).each(), batches);
    /// ```
    pub fn each(&self) -> &[BatchedCall] {
        &self.each
    }

    /// The function called for each of `n` elements: marked arguments are stacks along a new outermost axis, and so are
    /// all results.
    ///
    /// Example: [`External`].
    pub fn batched(&self, n: usize, stacked: Vec<bool>) -> External {
        let mut external = self.clone();
        external.each.push((n, stacked));
        external
    }

    /// The same operation with another function.
    pub(crate) fn with_function(&self, other: &External) -> External {
        External { function: other.function.clone(), ..self.clone() }
    }

    /// Shapes and element types of the operands, with the axes of batches.
    fn arguments(&self) -> Vec<(Shape, DType)> {
        let under = |k: usize| self.each.iter().filter(move |(_, stacked)| stacked[k]).map(|(n, _)| *n).rev();
        let stack =
            |(k, (shape, dtype)): (usize, &(Shape, DType))| (under(k).chain(shape.iter().copied()).collect(), *dtype);
        self.takes.iter().enumerate().map(stack).collect()
    }

    /// Shapes and element types of the results, with the axes of batches.
    pub(crate) fn results(&self) -> Vec<(Shape, DType)> {
        (0..self.returns.len()).filter_map(|k| self.result(k)).collect()
    }

    /// Shape and element type of one result, with the axes of batches.
    pub(crate) fn result(&self, position: usize) -> Option<(Shape, DType)> {
        let (shape, dtype) = self.returns.get(position)?;
        let under = self.each.iter().map(|(n, _)| *n).rev();
        Some((under.chain(shape.iter().copied()).collect(), *dtype))
    }

    /// Runs the function, for each element in order.
    ///
    /// Example: [`External`].
    ///
    /// # Errors
    /// When the function is not linked, or returns arrays whose shapes or element types differ from those it declares.
    pub fn run(&self, args: &[Array]) -> Result<Vec<Array>, String> {
        let Some(function) = &self.function else {
            return Err(format!(
                "external: a function must be linked before it runs, but {} is only a name; give it to Program::link",
                escape::quoted(&self.name)
            ));
        };
        self.over(&self.each, &**function, args)
    }

    /// The results for each element of these batches.
    fn over(&self, each: &[BatchedCall], function: &HostFunction, args: &[Array]) -> Result<Vec<Array>, String> {
        let Some(((n, stacked), inner)) = each.split_last() else { return self.once(function, args) };
        let mut rows: Vec<Vec<Array>> = vec![Vec::with_capacity(*n); self.returns.len()];
        for k in 0..*n {
            let row = |(a, stacked): (&Array, &bool)| match stacked {
                true => a.linear(&Linear::row(a.shape(), 0, k)),
                false => a.clone(),
            };
            let args: Vec<Array> = args.iter().zip(stacked).map(row).collect();
            let results = self.over(inner, function, &args)?;
            rows.iter_mut().zip(results).for_each(|(rows, result)| rows.push(result));
        }
        if *n == 0 {
            return Ok(self.results().iter().map(|(shape, dtype)| Array::zeros(shape, *dtype)).collect());
        }
        let stack = |rows: Vec<Array>| {
            let under: Shape = std::iter::once(1).chain(rows[0].shape().iter().copied()).collect();
            let op = Linear::reshape(rows[0].shape(), &under);
            Array::concat(0, &rows.iter().map(|row| row.linear(&op)).collect::<Vec<Array>>())
        };
        Ok(rows.into_iter().map(stack).collect())
    }

    fn once(&self, function: &HostFunction, args: &[Array]) -> Result<Vec<Array>, String> {
        let results = function(args);
        let given: Vec<Kind<'_>> = results.iter().map(|y| (y.shape(), y.dtype())).collect();
        match misfit(&given, &self.returns) {
            None => Ok(results),
            Some(fact) => Err(format!(
                "external: {} must return what it was declared to return, but it returns {fact}; fix the function, or declare that",
                escape::quoted(&self.name)
            )),
        }
    }

    /// Shapes and element types of the results.
    ///
    /// Example: [`External::unlinked`].
    ///
    /// # Errors
    /// When the arguments do not fit the function and its batches.
    pub fn try_results(&self, args: &[Kind<'_>]) -> Result<Vec<(Shape, DType)>, String> {
        match misfit(args, &self.arguments()) {
            None => Ok(self.results()),
            Some(fact) => Err(format!(
                "external: {} must be called with the shapes it was declared for, but it is called with {fact}; pass these, or \
                 declare it for those",
                escape::quoted(&self.name)
            )),
        }
    }
}

/// The first difference between the given and the needed shapes and element types.
fn misfit(given: &[Kind<'_>], needed: &[(Shape, DType)]) -> Option<String> {
    if given.len() != needed.len() {
        return Some(format!("{} arrays where {} are needed", given.len(), needed.len()));
    }
    let other = given.iter().zip(needed).find(|(a, b)| *a.0 != *b.0 || a.1 != b.1);
    other.map(|((shape, dtype), (s, d))| format!("{dtype} {} where {d} {} is needed", Show(shape), Show(s)))
}

impl fmt::Debug for External {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "external {}", escape::name(&self.name))
    }
}

impl PartialEq for External {
    fn eq(&self, other: &External) -> bool {
        self.name == other.name
            && self.takes == other.takes
            && self.returns == other.returns
            && self.each == other.each
            && match (&self.function, &other.function) {
                (Some(a), Some(b)) => Arc::ptr_eq(a, b),
                (None, None) => true,
                (Some(_), None) | (None, Some(_)) => false,
            }
    }
}

impl Eq for External {}

impl Hash for External {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
        self.takes.hash(state);
    }
}
