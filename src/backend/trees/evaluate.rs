//! The meaning of trees: an evaluator on arrays, for tests.
//!
//! Law: whatever a language might refuse, or leave undefined, panics: a position out of an array, an element of the
//! scratch that was never written, a name outside its block, a change of what is not a variable, an input that is
//! written, an element of another type.

use crate::array::{Array, with_elem, with_float};
use crate::backend::ir::elementwise::ElementwiseOp;
use crate::dtype::{DType, Elem};

use super::tree::{
    ArrayId, ArrayKind, ElementIndex, EmittedFunction, Expression, Literal, PositionExpr, Stmt, Variable, VariableId,
};

/// An element.
#[derive(Clone, Copy, Debug)]
enum Value {
    F64(f64),
    F32(f32),
    I64(i64),
    Bool(bool),
}

/// A Rust type of elements.
trait Of: Elem {
    fn of(value: Value) -> Self;
    fn value(self) -> Value;
}

macro_rules! of {
    ($($t:ty, $Variant:ident;)*) => {$(
        impl Of for $t {
            fn of(value: Value) -> $t {
                match value {
                    Value::$Variant(x) => x,
                    other => panic!("an element is {other:?}, and not {}", stringify!($t)),
                }
            }

            fn value(self) -> Value {
                Value::$Variant(self)
            }
        }
    )*};
}
of! { f64, F64; f32, F32; i64, I64; bool, Bool; }

impl Value {
    fn dtype(self) -> DType {
        match self {
            Value::F64(_) => DType::F64,
            Value::F32(_) => DType::F32,
            Value::I64(_) => DType::I64,
            Value::Bool(_) => DType::Bool,
        }
    }

    fn converted(self, to: DType) -> Value {
        let of_int = |x: i64| match to {
            DType::F64 => Value::F64(x as f64),
            DType::F32 => Value::F32(x as f32),
            DType::I64 => Value::I64(x),
            DType::Bool => panic!("a number becomes no mask"),
        };
        match (self, to) {
            (Value::F64(x), DType::I64) => Value::I64(x as i64),
            (Value::F64(x), DType::F32) => Value::F32(x as f32),
            (Value::F32(x), DType::I64) => Value::I64(x as i64),
            (Value::F32(x), DType::F64) => Value::F64(x.into()),
            (Value::F64(_) | Value::F32(_), DType::F64 | DType::F32) => self,
            (Value::Bool(x), DType::Bool) => Value::Bool(x),
            (Value::F64(_) | Value::F32(_), DType::Bool) => panic!("a number becomes no mask"),
            (Value::I64(x), _) => of_int(x),
            (Value::Bool(x), _) => of_int(x.into()),
        }
    }
}

/// What a name stands for at the moment.
#[derive(Clone, Copy, Debug)]
enum Named {
    /// Nothing: the statement that declares it has not run in this block.
    Nothing,
    Fixed(Value),
    Changes(Value),
}

struct Machine<'f> {
    function: &'f EmittedFunction,
    variables: Vec<Named>,
    arrays: Vec<Vec<Option<Value>>>,
    /// The array that each name of an array stands for; `None` while another name has it.
    names: Vec<Option<ArrayId>>,
    /// The variables that the open blocks declare.
    declared: Vec<VariableId>,
}

/// How a block ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Last,
    Break,
}

fn elements(array: &Array) -> Vec<Option<Value>> {
    with_elem!(array.dtype(), E => {
        let values = array.values::<E>().expect("the type is that of the array");
        (0..array.size()).map(|k| Some(values.get(k).value())).collect()
    })
}

/// Runs a function: the outputs, each of an element type and a number of elements, from the inputs. Outputs are zeros
/// at the start.
pub(crate) fn evaluate(function: &EmittedFunction, inputs: &[Array], outputs: &[(DType, usize)]) -> Vec<Array> {
    let mut machine = Machine::new(function, inputs, outputs);
    assert!(machine.block(&function.body) == End::Last, "a loop is left, and none is open");
    let mut found: Vec<Option<Array>> = vec![None; outputs.len()];
    for (info, elements) in function.arrays.iter().zip(&machine.arrays) {
        if let ArrayKind::Output(k) = info.kind {
            let array = with_elem!(info.dtype, E => {
                let of = |x: &Option<Value>| E::of(x.expect("an output is zeros at first"));
                let elements: Vec<E> = elements.iter().map(of).collect();
                Array::new(&[elements.len()], elements)
            });
            assert!(found[k].replace(array).is_none(), "output {k} is one array");
        }
    }
    let zeros =
        |(k, found): (usize, Option<Array>)| found.unwrap_or_else(|| Array::zeros(&[outputs[k].1], outputs[k].0));
    found.into_iter().enumerate().map(zeros).collect()
}

impl<'f> Machine<'f> {
    fn new(function: &'f EmittedFunction, inputs: &[Array], outputs: &[(DType, usize)]) -> Machine<'f> {
        let arrays = function.arrays.iter().map(|info| {
            let found = match &info.kind {
                ArrayKind::Input(k) => elements(&inputs[*k]),
                ArrayKind::Constant(array) => elements(array),
                ArrayKind::Output(k) => {
                    assert_eq!((info.dtype, info.len), outputs[*k], "output {k}");
                    elements(&Array::zeros(&[info.len], info.dtype))
                }
                ArrayKind::Stack | ArrayKind::Scratch | ArrayKind::Name => vec![None; info.len],
            };
            assert_eq!(found.len(), info.len, "the length of {info:?}");
            let same = |x: &Option<Value>| x.is_none_or(|x| x.dtype() == info.dtype);
            assert!(found.iter().all(same), "the element type of {info:?}");
            found
        });
        Machine {
            function,
            variables: vec![Named::Nothing; function.variables.len()],
            arrays: arrays.collect(),
            names: (0..function.arrays.len()).map(|k| Some(k as ArrayId)).collect(),
            declared: Vec::new(),
        }
    }

    fn block(&mut self, body: &[Stmt]) -> End {
        let outer = self.declared.len();
        let end = body.iter().map(|stmt| self.stmt(stmt)).find(|end| *end == End::Break).unwrap_or(End::Last);
        for variable in self.declared.split_off(outer) {
            self.variables[variable as usize] = Named::Nothing;
        }
        end
    }

    fn declare(&mut self, variable: VariableId, named: Named) {
        let now = &mut self.variables[variable as usize];
        assert!(matches!(now, Named::Nothing), "variable {variable} is declared twice");
        *now = named;
        self.declared.push(variable);
    }

    /// Declares a variable for a value.
    fn value_variable(&mut self, variable: VariableId, value: Value, changes: bool) {
        match self.function.variables[variable as usize] {
            Variable::Value(dtype) => assert_eq!(dtype, value.dtype(), "variable {variable}"),
            Variable::Counter(_) | Variable::Position => panic!("variable {variable} is a position"),
        }
        self.declare(variable, if changes { Named::Changes(value) } else { Named::Fixed(value) });
    }

    fn set(&mut self, variable: VariableId, value: Value) {
        match &mut self.variables[variable as usize] {
            Named::Changes(now) if now.dtype() == value.dtype() => *now = value,
            now @ (Named::Nothing | Named::Fixed(_) | Named::Changes(_)) => {
                panic!("variable {variable}, {now:?}, is set to {value:?}")
            }
        }
    }

    fn stmt(&mut self, stmt: &Stmt) -> End {
        match stmt {
            Stmt::Comment(_) => {}
            Stmt::Let(variable, x) => self.value_variable(*variable, self.expr(x), false),
            Stmt::Var(variable, x) => self.value_variable(*variable, self.expr(x), true),
            Stmt::Set(variable, x) => {
                assert!(matches!(self.function.variables[*variable as usize], Variable::Value(_)), "a value is set");
                self.set(*variable, self.expr(x));
            }
            Stmt::Position(variable, at) => {
                assert!(matches!(self.function.variables[*variable as usize], Variable::Position), "a position");
                self.declare(*variable, Named::Changes(Value::I64(self.position(at))));
            }
            Stmt::SetPosition(variable, at) => {
                assert!(matches!(self.function.variables[*variable as usize], Variable::Position), "a position");
                self.set(*variable, Value::I64(self.position(at)));
            }
            Stmt::Store(array, at, x) => {
                let (value, at, array) = (self.expr(x), self.index(at), self.array(*array));
                let info = &self.function.arrays[array];
                let written = matches!(info.kind, ArrayKind::Output(_) | ArrayKind::Stack | ArrayKind::Scratch);
                assert!(written, "array {array} is written; it is {:?}", info.kind);
                assert_eq!(info.dtype, value.dtype(), "an element of array {array}");
                let place = usize::try_from(at).ok().and_then(|at| self.arrays[array].get_mut(at));
                *place.unwrap_or_else(|| panic!("position {at} of {} of array {array} is written", info.len)) =
                    Some(value);
            }
            Stmt::For { counter, from, to, down, body } => return self.run_for((*counter, from, to, *down), body),
            Stmt::Loop(body) => while self.block(body) == End::Last {},
            Stmt::If(condition, then, otherwise) => {
                return self.block(if bool::of(self.expr(condition)) { then } else { otherwise });
            }
            Stmt::Break => return End::Break,
            Stmt::Renamed { names, of, body } => return self.renamed(*names, *of, body),
            Stmt::Swap([a, b]) => self.names.swap(*a as usize, *b as usize),
        }
        End::Last
    }

    fn run_for(
        &mut self,
        (counter, from, to, down): (VariableId, &ElementIndex, &ElementIndex, bool),
        body: &[Stmt],
    ) -> End {
        assert!(matches!(self.function.variables[counter as usize], Variable::Counter(_)), "a loop has a counter");
        let (from, to) = (self.index(from), self.index(to));
        for step in 0..(to - from).max(0) {
            let at = if down { to - 1 - step } else { from + step };
            let outer = self.declared.len();
            self.declare(counter, Named::Fixed(Value::I64(at)));
            let end = self.block(body);
            self.declared.truncate(outer);
            self.variables[counter as usize] = Named::Nothing;
            if end == End::Break {
                break;
            }
        }
        End::Last
    }

    fn renamed(&mut self, names: [ArrayId; 2], of: [ArrayId; 2], body: &[Stmt]) -> End {
        let len = |k: ArrayId| self.function.arrays[k as usize].len;
        assert_eq!(len(of[0]), len(of[1]), "arrays of one length change names");
        let before = self.names.clone();
        let arrays = of.map(|k| self.names[k as usize].take().expect("an array has one name at a time"));
        names.iter().zip(arrays).for_each(|(name, array)| self.names[*name as usize] = Some(array));
        let end = self.block(body);
        self.names = before;
        end
    }

    fn array(&self, array: ArrayId) -> usize {
        self.names[array as usize].unwrap_or_else(|| panic!("array {array} has another name here")) as usize
    }

    fn variable(&self, variable: VariableId) -> Value {
        match self.variables[variable as usize] {
            Named::Fixed(value) | Named::Changes(value) => value,
            Named::Nothing => panic!("variable {variable} is not declared here"),
        }
    }

    fn index(&self, index: &ElementIndex) -> i64 {
        let term = |(variable, factor): &(VariableId, i64)| {
            let is_value = matches!(self.function.variables[*variable as usize], Variable::Value(_));
            assert!(!is_value, "variable {variable} is not a position");
            i64::of(self.variable(*variable)).checked_mul(*factor).expect("a position")
        };
        index.terms.iter().map(term).fold(index.constant, |sum, x| sum.checked_add(x).expect("a position"))
    }

    fn position(&self, at: &PositionExpr) -> i64 {
        let whole = |index: &ElementIndex| {
            let at = self.index(index);
            assert!(at >= 0, "the position {at} is divided");
            at
        };
        match at {
            PositionExpr::Affine(index) => self.index(index),
            PositionExpr::Quotient(index, by) => whole(index) / *by as i64,
            PositionExpr::Remainder(index, by) => whole(index) % *by as i64,
            PositionExpr::Int(x) => i64::of(self.expr(x)),
        }
    }

    fn expr(&self, x: &Expression) -> Value {
        match x {
            Expression::Literal(Literal::F64(x)) => Value::F64(*x),
            Expression::Literal(Literal::F32(x)) => Value::F32(*x),
            Expression::Literal(Literal::I64(x)) => Value::I64(*x),
            Expression::Literal(Literal::Bool(x)) => Value::Bool(*x),
            Expression::Variable(variable) => {
                assert!(matches!(self.function.variables[*variable as usize], Variable::Value(_)), "a value is read");
                self.variable(*variable)
            }
            Expression::Load(array, at) => {
                let (at, array) = (self.index(at), self.array(*array));
                let elements = &self.arrays[array];
                let element = usize::try_from(at).ok().and_then(|at| elements.get(at));
                element
                    .unwrap_or_else(|| panic!("position {at} of {} of array {array} is read", elements.len()))
                    .unwrap_or_else(|| panic!("position {at} of array {array} is read before it is written"))
            }
            Expression::Op(op, dtype) => {
                let value = applied(&op.by_ref().map(|x| self.expr(x)), *dtype);
                assert_eq!(value.dtype(), *dtype, "the type of {op:?}");
                value
            }
            Expression::Position(index) => Value::I64(self.index(index)),
            Expression::AtMost(a, b) => Value::Bool(self.index(a) <= self.index(b)),
            Expression::Below(a, b) => Value::Bool(self.index(a) < self.index(b)),
            Expression::IsIndex(x, size) => {
                Value::Bool(usize::try_from(i64::of(self.expr(x))).is_ok_and(|x| x < *size))
            }
            Expression::All(all) => Value::Bool(all.iter().all(|x| bool::of(self.expr(x)))),
            Expression::If(parts) => {
                let [condition, then, otherwise] = &**parts;
                self.expr(if bool::of(self.expr(condition)) { then } else { otherwise })
            }
        }
    }
}

/// An elementwise operation, by the tables of operations.
fn applied(op: &ElementwiseOp<Value>, dtype: DType) -> Value {
    match *op {
        ElementwiseOp::Unary(op, a) => with_float!(dtype, E => op.apply(E::of(a)).value()),
        ElementwiseOp::Binary(op, a, b) => with_float!(dtype, E => op.apply(E::of(a), E::of(b)).value()),
        ElementwiseOp::FloatStep(op, a) => with_float!(dtype, E => op.apply(E::of(a)).value()),
        ElementwiseOp::Compare(op, a, b) => Value::Bool(with_elem!(a.dtype(), E => op.apply(E::of(a), E::of(b)))),
        ElementwiseOp::IntUnary(op, a) => Value::I64(op.apply(i64::of(a))),
        ElementwiseOp::IntBinary(op, a, b) => Value::I64(op.apply(i64::of(a), i64::of(b))),
        ElementwiseOp::And(a, b) => Value::Bool(bool::of(a) & bool::of(b)),
        ElementwiseOp::Or(a, b) => Value::Bool(bool::of(a) | bool::of(b)),
        ElementwiseOp::Not(a) => Value::Bool(!bool::of(a)),
        ElementwiseOp::Convert(from, a) => {
            assert_eq!(from, a.dtype(), "the type of what is converted");
            a.converted(dtype)
        }
        ElementwiseOp::Select([mask, a, b]) => {
            assert_eq!(a.dtype(), b.dtype(), "the types of a selection");
            if bool::of(mask) { a } else { b }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tree::ElementPlace;
    use super::super::writer::Writer;
    use super::*;

    fn doubled(n: usize, len: usize) -> EmittedFunction {
        let mut w = Writer::new();
        let x = ElementPlace::Elements(w.array(DType::F64, n, ArrayKind::Input(0)), ElementIndex::default());
        let y = ElementPlace::Elements(w.array(DType::F64, len, ArrayKind::Output(0)), ElementIndex::default());
        w.for_(n, |w, i| {
            let sum = Expression::sum(DType::F64, x.load(i), x.load(i));
            w.store(&y, i, sum);
        });
        w.finish()
    }

    #[test]
    fn a_function_is_run_on_arrays() {
        let found = evaluate(&doubled(3, 3), &[Array::from([1.0, -0.0, 2.5])], &[(DType::F64, 3)]);
        assert_eq!(found, [Array::from([2.0, -0.0, 5.0])]);
    }

    #[test]
    #[should_panic(expected = "position 2 of 2 of array 1 is written")]
    fn a_position_out_of_an_array_panics() {
        evaluate(&doubled(3, 2), &[Array::from([1.0, 2.0, 3.0])], &[(DType::F64, 2)]);
    }

    #[test]
    #[should_panic(expected = "is read before it is written")]
    fn an_element_of_the_scratch_that_was_never_written_panics() {
        let mut w = Writer::new();
        let scratch = w.scratch(DType::F64, 2);
        let y = ElementPlace::Elements(w.array(DType::F64, 1, ArrayKind::Output(0)), ElementIndex::default());
        w.store(&scratch, &ElementIndex::default(), Expression::zero(DType::F64));
        w.store(&y, &ElementIndex::default(), scratch.load(&ElementIndex::constant(1)));
        evaluate(&w.finish(), &[], &[(DType::F64, 1)]);
    }

    #[test]
    fn names_of_arrays_are_exchanged() {
        let mut w = Writer::new();
        let of = [0, 1].map(|_| w.array(DType::I64, 1, ArrayKind::Scratch));
        let names = [0, 1].map(|_| w.array(DType::I64, 1, ArrayKind::Scratch));
        let y = w.array(DType::I64, 2, ArrayKind::Output(0));
        let int = |x: i64| Expression::Literal(Literal::I64(x));
        let zero = ElementIndex::default();
        let body = vec![
            Stmt::Store(names[0], zero.clone(), int(1)),
            Stmt::Store(names[1], zero.clone(), int(2)),
            Stmt::Swap(names),
            Stmt::Store(y, zero.clone(), Expression::Load(names[0], zero.clone())),
        ];
        w.push(Stmt::Renamed { names, of, body });
        w.push(Stmt::Store(y, ElementIndex::constant(1), Expression::Load(of[0], zero)));
        assert_eq!(evaluate(&w.finish(), &[], &[(DType::I64, 2)]), [Array::from([2, 1])]);
    }
}
