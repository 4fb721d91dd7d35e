//! CHAD: functions as values, differentiated by the structure of the program.

use std::rc::Rc;

use crate::forward::partial;
use crate::values::{Array, Binary, Unary};

/// A term with functions as values. Variables count the binders between their use and their own.
#[derive(Clone)]
pub enum Term {
    Variable(usize),
    Number(f64),
    Unary(Unary, Rc<Term>),
    Binary(Binary, Rc<Term>, Rc<Term>),
    Function(Rc<Term>),
    Call(Rc<Term>, Rc<Term>),
}

/// A value: a number, or a function that gives its result with the pullback of its argument.
#[derive(Clone)]
pub enum Value {
    Number(f64),
    Function(Rc<dyn Fn(Value) -> (Value, Pull<Cotangent>)>),
}

type Pull<R> = Rc<dyn Fn(&Cotangent) -> R>;

/// The cotangent of a number is a number. That of a function is the list of its calls, each argument with the cotangent of the result.
#[derive(Clone)]
pub enum Cotangent {
    Zero,
    Number(f64),
    Calls(Vec<(Value, Cotangent)>),
}

impl Cotangent {
    pub fn plus(self, other: Self) -> Self {
        match (self, other) {
            (Cotangent::Zero, x) | (x, Cotangent::Zero) => x,
            (Cotangent::Number(x), Cotangent::Number(y)) => Cotangent::Number(x + y),
            (Cotangent::Calls(x), Cotangent::Calls(y)) => Cotangent::Calls([x, y].concat()),
            _ => panic!("cotangents of a number and of a function have no sum"),
        }
    }

    /// Times the partial derivative of a number.
    fn scaled(&self, by: f64) -> Self {
        match self {
            Cotangent::Number(x) => Cotangent::Number(x * by),
            _ => Cotangent::Zero,
        }
    }
}

fn number(value: &Value) -> f64 {
    match value {
        Value::Number(x) => *x,
        Value::Function(_) => panic!("a number is needed here, but there is a function"),
    }
}

/// The sum of cotangents of all variables.
fn sum(a: Vec<Cotangent>, b: Vec<Cotangent>) -> Vec<Cotangent> {
    a.into_iter().zip(b).map(|(a, b)| a.plus(b)).collect()
}

/// The value of a term for values of its variables, and its pullback to cotangents of these.
pub fn chad(term: &Term, scope: &[Value]) -> (Value, Pull<Vec<Cotangent>>) {
    let count = scope.len();
    let zeros = move || vec![Cotangent::Zero; count];
    match term {
        Term::Variable(k) => {
            let place = count - 1 - k;
            let pull = move |dy: &Cotangent| {
                (0..count).map(|i| if i == place { dy.clone() } else { Cotangent::Zero }).collect()
            };
            (scope[place].clone(), Rc::new(pull))
        }
        Term::Number(x) => (Value::Number(*x), Rc::new(move |_| zeros())),
        Term::Unary(op, x) => {
            let ((x, back), op) = (chad(x, scope), *op);
            let (x, y) = (number(&x), op.of(number(&x)));
            let [at, result] = [x, y].map(|x| Array::filled(&[], x));
            let slope = partial(op, &at, &result).data[0];
            (Value::Number(y), Rc::new(move |dy| back(&dy.scaled(slope))))
        }
        Term::Binary(op, x, y) => {
            let ((x, dx), (y, dy)) = (chad(x, scope), chad(y, scope));
            let (x, y) = (number(&x), number(&y));
            let [by_x, by_y] = match op {
                Binary::Add => [1.0, 1.0],
                Binary::Mul => [y, x],
            };
            (Value::Number(op.of(x, y)), Rc::new(move |dz| sum(dx(&dz.scaled(by_x)), dy(&dz.scaled(by_y)))))
        }
        Term::Function(body) => {
            let (body, scope) = (body.clone(), scope.to_vec());
            let enter = move |x: Value| chad(&body, &[&scope[..], &[x]].concat());
            let run = enter.clone();
            let call = move |x: Value| {
                let (y, back) = run(x);
                let argument: Pull<Cotangent> = Rc::new(move |dy| back(dy).pop().expect("the argument is a variable"));
                (y, argument)
            };
            // What the function captures gets its cotangent from all calls.
            let captured = move |calls: &Cotangent| match calls {
                Cotangent::Calls(calls) => calls.iter().fold(zeros(), |all, (x, dy)| sum(all, enter(x.clone()).1(dy))),
                _ => zeros(),
            };
            (Value::Function(Rc::new(call)), Rc::new(captured))
        }
        Term::Call(f, x) => {
            let ((f, df), (x, dx)) = (chad(f, scope), chad(x, scope));
            let Value::Function(f) = f else { panic!("a function is needed here, but there is a number") };
            let (y, back) = f(x.clone());
            (y, Rc::new(move |dy| sum(df(&Cotangent::Calls(vec![(x.clone(), dy.clone())])), dx(&back(dy)))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_captured_variable_gets_its_cotangent_from_all_calls() {
        use Term::{Binary as Two, Call, Function, Unary as One, Variable};
        let rc = Rc::new;
        // let f = |y| sin(x y) in f(f(x)), where x is the variable outside.
        let f = Function(rc(One(Unary::Sin, rc(Two(Binary::Mul, rc(Variable(1)), rc(Variable(0)))))));
        let twice = Function(rc(Call(rc(Variable(0)), rc(Call(rc(Variable(0)), rc(Variable(1)))))));
        let term = Call(rc(twice), rc(f));
        let value = |x: f64| (x * (x * x).sin()).sin();
        let (y, back) = chad(&term, &[Value::Number(0.8)]);
        let Cotangent::Number(slope) = back(&Cotangent::Number(1.0)).remove(0) else { panic!("a number") };
        let difference = (value(0.8 + 1e-5) - value(0.8 - 1e-5)) / 2e-5;
        assert_eq!(number(&y), value(0.8));
        assert!((slope - difference).abs() < 1e-9, "{slope} and {difference}");
    }
}
