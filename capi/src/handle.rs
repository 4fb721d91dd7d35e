//! What a handle holds: a program that runs, with its names, and the pattern if its result is that of a sparse matrix.
//!
//! Law: the derivative of a function is a function again, so that each operation of the interface applies to it. Its
//! inputs are those of the function, in their order, and directions after them.

use std::ffi::CString;

use polygrad::backend::Executable;
use polygrad::import::{Element, ModulePort};
use polygrad::program::{Program, Slot, Term, interpret};
use polygrad::{Array, DType, Float, Function, SparsityPattern, Tensor};

use crate::boundary::{Fault, c_text};
use crate::leaves::Leaves;

/// A recorded function of any types.
trait RecordedProgram: Send + Sync {
    fn optimized(&self) -> &Program;
    fn executable(&self) -> &Executable;
    fn explain(&self) -> String;
}

impl<P, Q, Y: Send + Sync> RecordedProgram for Function<P, Q, Y> {
    fn optimized(&self) -> &Program {
        Function::optimized(self)
    }

    fn executable(&self) -> &Executable {
        Function::executable(self)
    }

    fn explain(&self) -> String {
        Function::explain(self)
    }
}

/// A function that C holds.
pub struct Handle {
    /// The optimized program, with names.
    pub(crate) program: Program,
    made: Box<dyn RecordedProgram>,
    /// The names of inputs and outputs, for C.
    pub(crate) names: [Vec<CString>; 2],
    pub(crate) pattern: Option<SparsityPattern>,
}

// Several threads may use one function at once.
const _: () = {
    const fn shared<X: Send + Sync>() {}
    shared::<Handle>();
};

/// A derivative.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Derivative {
    Grad,
    ValueAndGrad,
    Jvp,
    Vjp,
    Hvp,
    Jacobian,
    Hessian,
    SparseJacobian,
    SparseHessian,
}

/// The names of slots.
fn names(slots: &[Slot]) -> Vec<String> {
    slots.iter().map(|slot| slot.name.clone()).collect()
}

/// The recorded function of a program, with its inputs in its order.
fn staged(program: &Program) -> Function<Leaves<Array>, (), Leaves<Array>> {
    Function::stage(|x: &Leaves<Term>| Leaves(interpret(program, x.0.clone())), &Leaves::like(program.inputs()))
}

/// The program with the inputs at these positions, in this order; each position occurs once.
fn reordered(program: &Program, order: &[usize]) -> Result<Program, Fault> {
    let variable = |slot: &Slot| Term::variable(&slot.shape, slot.dtype);
    let inputs: Vec<Term> = order.iter().map(|k| variable(&program.inputs()[*k])).collect();
    let mut own = vec![None; inputs.len()];
    order.iter().zip(&inputs).for_each(|(k, x)| own[*k] = Some(x.clone()));
    let results = interpret(program, own.into_iter().flatten().collect());
    Term::program(&inputs, &results, &names(program.inputs())).map_err(Fault::refused)
}

impl Handle {
    fn new(made: Box<dyn RecordedProgram>, inputs: &[String], outputs: &[String]) -> Handle {
        let [of_inputs, of_outputs] = [inputs, outputs].map(|all| all.iter().map(String::as_str).collect::<Vec<_>>());
        let program = made.optimized().named(&of_inputs, &of_outputs);
        let names = [inputs, outputs].map(|all| all.iter().map(|name| c_text(name)).collect());
        Handle { program, made, names, pattern: None }
    }

    /// The function of a program.
    pub(crate) fn of(program: &Program) -> Handle {
        Handle::new(Box::new(staged(program)), &names(program.inputs()), &names(program.outputs()))
    }

    /// The function of a module. The parts of a complex output have names, as those of a complex input do.
    pub(crate) fn imported(program: &Program, outputs: &[ModulePort]) -> Handle {
        let of = |(k, port): (usize, &ModulePort)| {
            let complex = matches!(port.element, Element::Complex64 | Element::Complex128);
            let name = if outputs.len() == 1 { String::from("y") } else { format!("y{k}") };
            if complex { vec![format!("{name}.re"), format!("{name}.im")] } else { vec![String::new()] }
        };
        let outputs: Vec<String> = outputs.iter().enumerate().flat_map(of).collect();
        Handle::new(Box::new(staged(program)), &names(program.inputs()), &outputs)
    }

    pub(crate) fn executable(&self) -> &Executable {
        self.made.executable()
    }

    pub(crate) fn explain(&self) -> String {
        self.made.explain()
    }

    /// The function with one input that is known.
    pub(crate) fn bound(&self, k: usize, known: &Array) -> Result<Handle, Fault> {
        let program = &self.program;
        let variable = |(at, slot): (usize, &Slot)| match at == k {
            true => <Term as polygrad::BaseTensor>::constant(known.clone()),
            false => Term::variable(&slot.shape, slot.dtype),
        };
        let all: Vec<Term> = program.inputs().iter().enumerate().map(variable).collect();
        let results = interpret(program, all.clone());
        let (mut inputs, mut named) = (all, names(program.inputs()));
        inputs.remove(k);
        named.remove(k);
        let program = Term::program(&inputs, &results, &named).map_err(Fault::refused)?;
        let made = Handle::new(Box::new(staged(&program)), &named, &names(self.program.outputs()));
        Ok(Handle { pattern: self.pattern.clone(), ..made })
    }

    /// The positions that a derivative moves: those given, or those of all floats.
    fn moved(&self, wrt: Option<&[usize]>) -> Result<Vec<usize>, Fault> {
        let inputs = self.program.inputs();
        let Some(wrt) = wrt else {
            return Ok((0..inputs.len()).filter(|k| inputs[*k].dtype.is_float()).collect());
        };
        for (at, k) in wrt.iter().enumerate() {
            let Some(slot) = inputs.get(*k) else {
                let n = inputs.len();
                return Err(Fault::argument(format!(
                    "wrt: positions must be below the number of inputs, {n}, but one is {k}; count from 0"
                )));
            };
            if !slot.dtype.is_float() {
                return Err(Fault::argument(format!(
                    "wrt: inputs with derivatives must have floats, but input {k} has elements {}; pass floats, or leave it out",
                    slot.dtype
                )));
            }
            if wrt[..at].contains(k) {
                return Err(Fault::argument(format!("wrt: positions must differ, but {k} occurs twice; name it once")));
            }
        }
        Ok(wrt.to_vec())
    }

    /// The element type of the one number that the function returns.
    fn number(&self, verb: &str) -> Result<DType, Fault> {
        match self.program.outputs() {
            [slot] if slot.shape.is_empty() && slot.dtype.is_float() => Ok(slot.dtype),
            outputs => {
                let kind = |slot: &Slot| format!("{} {:?}", slot.dtype, slot.shape);
                let fact = outputs.iter().map(kind).collect::<Vec<_>>().join(", ");
                Err(Fault::argument(format!(
                    "{verb}: the function must return one float of rank 0, but it returns {fact}; use jvp, vjp or jacobian"
                )))
            }
        }
    }

    /// A derivative in some inputs.
    pub(crate) fn derivative(&self, of: Derivative, wrt: Option<&[usize]>) -> Result<Handle, Fault> {
        let recipe = Recipe::new(self, self.moved(wrt)?);
        let (made, pattern) = recipe.made(of)?;
        let directions = recipe.directions(of);
        let order = recipe.order(directions.len());
        let mut inputs = names(self.program.inputs());
        inputs.extend(directions);
        let outputs = recipe.outputs(of);
        let in_order = order.iter().enumerate().all(|(at, k)| at == *k);
        let made = match in_order {
            true => made,
            false => Box::new(staged(&reordered(made.optimized(), &order)?)),
        };
        Ok(Handle { pattern, ..Handle::new(made, &inputs, &outputs) })
    }
}

/// A program, and the inputs that a derivative moves.
struct Recipe<'a> {
    handle: &'a Handle,
    moved: Vec<usize>,
    others: Vec<usize>,
}

impl Recipe<'_> {
    fn new(handle: &Handle, moved: Vec<usize>) -> Recipe<'_> {
        let others = (0..handle.program.inputs().len()).filter(|k| !moved.contains(k)).collect();
        Recipe { handle, moved, others }
    }

    fn slots(&self, at: &[usize]) -> Leaves<Array> {
        Leaves::like(at.iter().map(|k| &self.handle.program.inputs()[*k]))
    }

    /// The results of the program for the inputs that are moved, and the others.
    fn results(&self, moved: &Leaves<Term>, others: &Leaves<Term>) -> Leaves<Term> {
        let mut all = vec![None; self.moved.len() + self.others.len()];
        self.moved.iter().zip(&moved.0).for_each(|(k, x)| all[*k] = Some(x.clone()));
        self.others.iter().zip(&others.0).for_each(|(k, x)| all[*k] = Some(x.clone()));
        Leaves(interpret(&self.handle.program, all.into_iter().flatten().collect()))
    }

    fn made(&self, of: Derivative) -> Result<(Box<dyn RecordedProgram>, Option<SparsityPattern>), Fault> {
        let (x, data) = (self.slots(&self.moved), self.slots(&self.others));
        let f = |x: &Leaves<Term>, data: &Leaves<Term>| self.results(x, data);
        let made: Box<dyn RecordedProgram> = match of {
            Derivative::Grad => return self.of_number("grad", of),
            Derivative::ValueAndGrad => return self.of_number("value_and_grad", of),
            Derivative::Hvp => return self.of_number("hvp", of),
            Derivative::Hessian => return self.of_number("hessian", of),
            Derivative::SparseHessian => return self.of_number("sparse_hessian", of),
            Derivative::Jvp => Box::new(Function::jvp_with(f, &x, &data)),
            Derivative::Vjp => Box::new(Function::vjp_with(f, &x, &data)),
            Derivative::Jacobian => Box::new(Function::jacobian_matrix_with(f, &x, &data)),
            Derivative::SparseJacobian => {
                self.known_integers()?;
                let sparse = polygrad::sparse_jacobian_with(f, &x, &data);
                let pattern = sparse.pattern().clone();
                return Ok((Box::new(staged(sparse.function().optimized())), Some(pattern)));
            }
        };
        Ok((made, None))
    }

    fn of_number(
        &self,
        verb: &str,
        of: Derivative,
    ) -> Result<(Box<dyn RecordedProgram>, Option<SparsityPattern>), Fault> {
        if self.handle.number(verb)? == DType::F32 { self.of_floats::<f32>(of) } else { self.of_floats::<f64>(of) }
    }

    /// The derivative of a function that returns one number with elements `E`.
    fn of_floats<E: Float>(
        &self,
        of: Derivative,
    ) -> Result<(Box<dyn RecordedProgram>, Option<SparsityPattern>), Fault> {
        let (x, data) = (self.slots(&self.moved), self.slots(&self.others));
        let f = |x: &Leaves<Term>, data: &Leaves<Term>| -> Tensor<Term, 0, E> {
            Tensor::from_raw(self.results(x, data).0.swap_remove(0))
        };
        Ok(match of {
            Derivative::Grad => (Box::new(Function::grad_with(f, &x, &data)), None),
            Derivative::ValueAndGrad => (Box::new(Function::value_and_grad_with(f, &x, &data)), None),
            Derivative::Hvp => (Box::new(Function::hvp_with(f, &x, &data)), None),
            Derivative::SparseHessian => {
                self.known_integers()?;
                let sparse = polygrad::sparse_hessian_with(f, &x, &data);
                let pattern = sparse.pattern().clone();
                (Box::new(staged(sparse.function().optimized())), Some(pattern))
            }
            Derivative::Hessian
            | Derivative::Jvp
            | Derivative::Vjp
            | Derivative::Jacobian
            | Derivative::SparseJacobian => (Box::new(Function::hessian_matrix_with(f, &x, &data)), None),
        })
    }

    /// Integers and masks decide which elements of a sparse matrix exist: they must be known.
    fn known_integers(&self) -> Result<(), Fault> {
        let inputs = self.handle.program.inputs();
        match self.others.iter().find(|k| !inputs[**k].dtype.is_float()) {
            None => Ok(()),
            Some(k) => Err(Fault::argument(format!(
                "sparse: integers and masks must be known before the pattern, but input {k} has elements {}; bind it first",
                inputs[*k].dtype
            ))),
        }
    }

    /// The names of the directions, which are inputs after those of the function.
    fn directions(&self, of: Derivative) -> Vec<String> {
        let (inputs, outputs) = (self.handle.program.inputs(), self.handle.program.outputs());
        match of {
            Derivative::Jvp => self.moved.iter().map(|k| format!("{}_dot", inputs[*k].name)).collect(),
            Derivative::Hvp => self.moved.iter().map(|k| format!("{}_direction", inputs[*k].name)).collect(),
            Derivative::Vjp => (0..outputs.len()).map(|k| format!("{}_bar", output(outputs, k))).collect(),
            Derivative::Grad
            | Derivative::ValueAndGrad
            | Derivative::Jacobian
            | Derivative::Hessian
            | Derivative::SparseJacobian
            | Derivative::SparseHessian => Vec::new(),
        }
    }

    /// The position in the recorded derivative of each of its inputs, in the order of the interface.
    fn order(&self, directions: usize) -> Vec<usize> {
        let n = self.moved.len() + self.others.len();
        let mut order = vec![0; n];
        self.moved.iter().enumerate().for_each(|(at, k)| order[*k] = at);
        self.others.iter().enumerate().for_each(|(at, k)| order[*k] = self.moved.len() + directions + at);
        order.extend((0..directions).map(|at| self.moved.len() + at));
        order
    }

    fn outputs(&self, of: Derivative) -> Vec<String> {
        let (inputs, outputs) = (self.handle.program.inputs(), self.handle.program.outputs());
        let each = |end: &str| self.moved.iter().map(|k| format!("{}{end}", inputs[*k].name)).collect::<Vec<_>>();
        let results = |end: &str| (0..outputs.len()).map(|k| output(outputs, k) + end).collect::<Vec<_>>();
        match of {
            Derivative::Grad => each("_grad"),
            Derivative::ValueAndGrad => [results(""), each("_grad")].concat(),
            Derivative::Jvp => [results(""), results("_dot")].concat(),
            Derivative::Vjp => [results(""), each("_bar")].concat(),
            Derivative::Hvp => each("_hvp"),
            Derivative::Jacobian => vec!["jacobian".into()],
            Derivative::Hessian => vec!["hessian".into()],
            Derivative::SparseJacobian | Derivative::SparseHessian => vec!["elements".into()],
        }
    }
}

/// The name of an output, `y` and its number without one.
fn output(outputs: &[Slot], k: usize) -> String {
    match (outputs[k].name.as_str(), outputs.len()) {
        ("", 1) => String::from("y"),
        ("", _) => format!("y{k}"),
        (name, _) => name.to_owned(),
    }
}
