//! Terms: the graph of operations that tracing builds, before it becomes a program.
//!
//! A term is an operation on other terms, reference-counted. Sharing is observed: a value that the traced code uses
//! twice is one term with two owners. [`Term::program`] makes the closed [`Program`] of some terms.
//!
//! Law: the operands of a term have smaller ids. Terms are syntax, as arrays are data; `interpreters/ast` makes terms
//! an interpreter of the language.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::rc::Rc;

use super::known::KnownResults;
use super::{Builder, Node, NodeId, Op, Program, Slot, taps};
use crate::array::Array;
use crate::base::BaseTensor;
use crate::dtype::DType;
use crate::hash::Table;
use crate::ops::Discrete;
use crate::release::release;
use crate::rewrite::signs::Seen;
use crate::shape::{Shape, check_possible};
use crate::source::{Place, place_of};

/// A traced value.
///
/// Example: [`Term::program`].
#[derive(Clone)]
pub struct Term(Rc<Traced>);

/// Known values are stored in one step, after they have been computed: a panic before leaves them unknown.
impl UnwindSafe for Term {}
impl RefUnwindSafe for Term {}

struct Traced {
    id: u64,
    op: Op<Term>,
    shape: Shape,
    dtype: DType,
    place: Place,
    known: KnownResults,
}

thread_local! {
    static NEXT: Cell<u64> = const { Cell::new(1) };
}

/// A new id, larger than all earlier ids of this thread. Terms never leave their thread.
fn fresh() -> u64 {
    NEXT.with(|next| {
        let id = next.get();
        next.set(id + 1);
        id
    })
}

impl Term {
    /// The result of an operation, of known shape and element type.
    #[track_caller]
    pub(crate) fn new(op: Op<Term>, shape: Shape, dtype: DType) -> Term {
        let known = KnownResults::of(&op, &shape);
        Term(Rc::new(Traced { id: fresh(), op, shape, dtype, place: place_of(Location::caller()), known }))
    }

    /// The source place of the operation, if that is known.
    pub(crate) fn place(&self) -> Place {
        self.0.place.clone()
    }

    /// The known values of the results of the operation.
    pub(super) fn known(&self) -> &KnownResults {
        &self.0.known
    }

    /// A new variable.
    ///
    /// ```
    /// use polygrad::ops::Unary;
    /// use polygrad::program::{Op, Term};
    /// use polygrad::{Array, BaseTensor, DType};
    /// let x = Term::variable(&[2, 3], DType::F32);
    /// assert_eq!((x.sizes(), x.element_type()), (&[2, 3][..], DType::F32));
    /// assert!(matches!(x.op(), Op::Input(_)) && matches!(x.unary(Unary::Sin).op(), Op::Unary(Unary::Sin, _)));
    /// let constant = Term::constant(Array::scalar(2.0));
    /// assert_eq!((constant.as_constant(), x.as_constant()), (Some(&Array::scalar(2.0)), None));
    /// ```
    ///
    /// # Panics
    /// When no array can have this shape.
    #[track_caller]
    pub fn variable(shape: &[usize], dtype: DType) -> Term {
        check_possible("array", shape);
        let id = fresh();
        let (op, shape) = (Op::Input(id), Shape::from_slice(shape));
        Term(Rc::new(Traced { id, op, shape, dtype, place: Place::UNKNOWN, known: KnownResults::Never }))
    }

    /// A variable that stands for a value of an interpreter, which a recorded function captures.
    #[track_caller]
    pub(crate) fn captured<T: BaseTensor>(value: T) -> Term {
        let (id, shape, dtype) = (fresh(), Shape::from_slice(value.shape()), value.dtype());
        let (op, place) = (Op::Input(id), place_of(Location::caller()));
        let known = KnownResults::Captured(Box::new(value), std::any::type_name::<T>());
        Term(Rc::new(Traced { id, op, shape, dtype, place, known }))
    }

    /// The value for which the variable stands, if that is a value of `T`: one that a recorded function captures, see
    /// [`Staging::captured`](crate::base::Staging::captured).
    ///
    /// ```
    /// use polygrad::base::{Report, Staging};
    /// use polygrad::{Array, Concrete, Dual, Lift, Shapes};
    /// let x: Dual<Concrete> = Dual::lift(Array::scalar(2.0));
    /// let term = x.recorded();
    /// assert_eq!(term.captured_value::<Dual<Concrete>>().and_then(|x| x.peek()), Some(Array::scalar(2.0)));
    /// assert!(term.captured_value::<Shapes>().is_none());
    /// ```
    pub fn captured_value<T: BaseTensor>(&self) -> Option<T> {
        if let KnownResults::Captured(value, _) = &self.0.known { value.downcast_ref().cloned() } else { None }
    }

    /// The name of the type of the value for which the variable stands.
    pub(crate) fn captured_type(&self) -> Option<&'static str> {
        if let KnownResults::Captured(_, name) = self.0.known { Some(name) } else { None }
    }

    /// A new variable for each input, or output, of a program.
    pub(crate) fn variables(slots: &[Slot]) -> Vec<Term> {
        slots.iter().map(|slot| Term::variable(&slot.shape, slot.dtype)).collect()
    }

    /// A new variable like each of these values.
    pub(crate) fn variables_like<T: BaseTensor>(values: &[T]) -> Vec<Term> {
        values.iter().map(|t| Term::variable(t.shape(), t.dtype())).collect()
    }

    /// The shape of the value.
    ///
    /// Example: [`Term::variable`].
    pub fn sizes(&self) -> &[usize] {
        &self.0.shape
    }

    /// The element type of the value.
    ///
    /// Example: [`Term::variable`].
    pub fn element_type(&self) -> DType {
        self.0.dtype
    }

    /// The operation whose result this is.
    ///
    /// Example: [`Term::variable`].
    pub fn op(&self) -> &Op<Term> {
        &self.0.op
    }

    /// The array, if this is a constant.
    ///
    /// Example: [`Term::variable`].
    pub fn as_constant(&self) -> Option<&Array> {
        if let Op::Constant(c) = self.op() { Some(&c.0) } else { None }
    }

    /// The next id that a term will get.
    pub(crate) fn now() -> u64 {
        NEXT.with(Cell::get)
    }

    /// The terms that the results depend on, and the results, without terms older than `start`, by id. Uses a work
    /// list, because terms are as deep as the traced program was long.
    fn reachable(results: &[Term], start: u64) -> Vec<&Term> {
        let (mut found, mut known): (Vec<&Term>, Ids<()>) = (Vec::new(), Ids::default());
        let mut work: Vec<&Term> = results.iter().collect();
        while let Some(term) = work.pop() {
            if term.0.id >= start && known.insert(term.0.id, ()).is_none() {
                found.push(term);
                term.op().operands(&mut |a| work.push(a));
            }
        }
        found.sort_unstable_by_key(|term| term.0.id);
        found
    }

    /// The closed program from variables to results.
    ///
    /// # Errors
    /// When a result depends on a variable that is not an input: one of a loop that it left, or of another trace.
    ///
    /// ```
    /// use polygrad::{BaseTensor, DType, ops::Unary, program::Term};
    /// let x = Term::variable(&[2], DType::F64);
    /// let y = x.unary(Unary::Sin).unary(Unary::Exp);
    /// let program = Term::program(&[x.clone()], &[y.clone()], &["x".into()])?;
    /// assert_eq!(program.to_string(), "program(x: f64[2]) {\n  return exp (sin x)\n}");
    /// assert!(Term::program(&[], &[y], &[]).is_err());
    /// # Ok::<(), String>(())
    /// ```
    pub fn program(inputs: &[Term], results: &[Term], names: &[String]) -> Result<Program, String> {
        let mut tracing = Tracing::default();
        for (k, input) in inputs.iter().enumerate() {
            tracing.input(input, names.get(k).cloned().unwrap_or_default());
        }
        let all = Term::reachable(results, 0);
        tracing.reserve(all.len());
        for term in all {
            if tracing.numbers.contains_key(&term.0.id) {
                continue;
            }
            if let Op::Input(_) = term.op() {
                return Err(String::from(
                    "stage: a result may depend only on the inputs, but it depends on a variable of a loop or of another \
                     trace that escaped; return it from the step, or pass it as an input",
                ));
            }
            tracing.operation(term);
        }
        Ok(tracing.program(results, false))
    }

    /// The ids of the variables, and of the terms among `young` that depend on them, or have taps, which run in each trip.
    fn inside(young: &[&Term], variables: &[Term]) -> Ids<()> {
        let mut inside: Ids<()> = variables.iter().map(|v| (v.0.id, ())).collect();
        for term in young {
            let mut moving = taps(term.op());
            term.op().operands(&mut |a| moving |= inside.contains_key(&a.0.id));
            if moving {
                inside.insert(term.0.id, ());
            }
        }
        inside
    }

    /// Which results depend on the variables. Every other term that depends on the variables must have an id of at
    /// least `start`.
    pub(crate) fn moving(variables: &[Term], results: &[Term], start: u64) -> Vec<bool> {
        let inside = Term::inside(&Term::reachable(results, start), variables);
        results.iter().map(|r| inside.contains_key(&r.0.id)).collect()
    }

    /// The body of a loop, and the values that it captures. The body is a program from the variables, then the captured
    /// values, to the results. Terms that do not depend on the variables are computed outside, once.
    pub(crate) fn body(variables: &[Term], results: &[Term], start: u64) -> (Program, Vec<Term>) {
        let young = Term::reachable(results, start);
        let inside = Term::inside(&young, variables);
        Term::closed(variables, results, &young, &inside)
    }

    /// The program of a function, and the values that it captures: a program from the variables, then the captured
    /// values, to the results. The terms that are not older than `start` are those of the function.
    pub(crate) fn closure(variables: &[Term], results: &[Term], start: u64) -> (Program, Vec<Term>) {
        let young = Term::reachable(results, start);
        let made = young.iter().filter(|term| !matches!(term.op(), Op::Input(_)));
        let inside: Ids<()> = made.copied().chain(variables).map(|term| (term.0.id, ())).collect();
        Term::closed(variables, results, &young, &inside)
    }

    /// The program of the terms in `inside`, and the captured values, which are the terms outside that it uses.
    fn closed(variables: &[Term], results: &[Term], young: &[&Term], inside: &Ids<()>) -> (Program, Vec<Term>) {
        let mut captured: BTreeMap<u64, Term> = BTreeMap::new();
        let mut capture = |term: &Term| {
            // Constants and positions are part of the body: capturing them would gain nothing.
            let free = matches!(term.op(), Op::Constant(_) | Op::Discrete(Discrete::Iota { .. }, _));
            if !inside.contains_key(&term.0.id) && !free {
                captured.insert(term.0.id, term.clone());
            }
        };
        let made = || young.iter().copied().filter(|term| inside.contains_key(&term.0.id));
        made().for_each(|term| term.op().operands(&mut |a| capture(a)));
        results.iter().for_each(&mut capture);
        let captured: Vec<Term> = captured.into_values().collect();

        let mut tracing = Tracing::default();
        tracing.reserve(variables.len() + captured.len() + young.len());
        variables.iter().chain(&captured).for_each(|input| tracing.input(input, String::new()));
        for term in made() {
            if !tracing.numbers.contains_key(&term.0.id) {
                tracing.operation(term);
            }
        }
        (tracing.program(results, true), captured)
    }
}

/// Something for each of some terms, by id.
type Ids<V> = Table<u64, V>;

/// The operations of a trace in order, before simplification: uses come after operands.
#[derive(Default)]
struct Tracing {
    inputs: Vec<Slot>,
    nodes: Vec<Node>,
    places: Vec<Place>,
    numbers: Ids<NodeId>,
}

impl Tracing {
    /// Makes room for further operations.
    fn reserve(&mut self, further: usize) {
        self.nodes.reserve_exact(further);
        self.places.reserve_exact(further);
        self.numbers.reserve(further);
    }

    fn input(&mut self, term: &Term, name: String) {
        self.inputs.push(Slot { name, shape: term.0.shape.clone(), dtype: term.0.dtype });
        let position = self.nodes.len() as u64;
        self.push(term, Op::Input(position));
    }

    fn push(&mut self, term: &Term, op: Op<NodeId>) -> NodeId {
        let id = NodeId::try_from(self.nodes.len()).expect("a trace has fewer than 2^32 operations");
        self.numbers.insert(term.0.id, id);
        self.nodes.push(Node { op, shape: term.0.shape.clone(), dtype: term.0.dtype });
        self.places.push(term.place());
        id
    }

    fn operation(&mut self, term: &Term) {
        let op = term.op().map(&mut |a| self.number_of(a));
        self.push(term, op);
    }

    /// The number of a term, which has one or is outside a body without being captured: a constant, or positions, which
    /// have no operands.
    fn number_of(&mut self, term: &Term) -> NodeId {
        match self.numbers.get(&term.0.id) {
            Some(id) => *id,
            None => self.push(term, term.op().without_operands()),
        }
    }

    /// The program of some results. `seen` says whether an operation outside sees the signs of their zeros.
    fn program(mut self, results: &[Term], seen: bool) -> Program {
        let results: Vec<NodeId> = results.iter().map(|r| self.number_of(r)).collect();
        drop(self.numbers);
        if is_verbatim() {
            return Program::new(self.inputs, self.nodes, self.places, results, &[]);
        }
        simplified((self.inputs, self.nodes, self.places), &results, seen)
    }
}

/// The program of a trace: its inputs, and its operations with their places, simplified one by one. `seen` says whether
/// an operation outside sees the signs of the zeros of the results.
pub(super) fn simplified(
    (inputs, nodes, places): (Vec<Slot>, Vec<Node>, Vec<Place>),
    results: &[NodeId],
    seen: bool,
) -> Program {
    let seen = Seen::of_nodes(&nodes, results.iter().copied().filter(|_| seen));
    let (mut builder, count) = (Builder::new(), inputs.len());
    builder.reserve(nodes.len());
    let mut now: Vec<NodeId> = inputs.into_iter().map(|slot| builder.input(slot)).collect();
    for (k, node) in nodes.into_iter().enumerate().skip(count) {
        builder.sign_seen(seen.values[k]);
        builder.placed(places[k].clone());
        now.push(builder.add(node.op.map(&mut |a| now[*a as usize]), node.shape, node.dtype));
    }
    let results: Vec<NodeId> = results.iter().map(|r| now[*r as usize]).collect();
    builder.finish(&results, &[])
}

thread_local! {
    static VERBATIM: Cell<bool> = const { Cell::new(false) };
}

/// Whether programs are recorded as they are traced, without the rules of the constructors, which may depend on sizes.
pub(crate) fn is_verbatim() -> bool {
    VERBATIM.get()
}

/// Runs a function that records programs, which are recorded as they are traced.
pub(crate) fn verbatim<R>(f: impl FnOnce() -> R) -> R {
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            VERBATIM.set(self.0);
        }
    }
    let _restore = Restore(VERBATIM.replace(true));
    f()
}

/// Terms are as deep as the traced program was long: operands are dropped by [`release`], in bounded stack.
impl Drop for Traced {
    fn drop(&mut self) {
        // If each operand has more owners than this term has operands, another owner keeps it alive, however often this
        // term uses the operand: no drop follows from this drop.
        let (mut count, mut fewest) = (0, usize::MAX);
        self.op.operands(&mut |a| {
            count += 1;
            fewest = fewest.min(Rc::strong_count(&a.0));
        });
        if fewest <= count {
            release(std::mem::replace(&mut self.op, Op::Input(0)));
        }
    }
}
