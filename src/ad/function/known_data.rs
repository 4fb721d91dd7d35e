//! Functions for known data: what depends on the data alone is computed once.

use std::marker::PhantomData;
use std::sync::OnceLock;

use super::static_arguments::Fixed;
use super::{DerivativeProgram, Function, FunctionOptions, RunError};
use crate::ad::differentiate::transformation::Transformation;
use crate::array::Array;
use crate::backend::{self, compile};
use crate::passes::{optimize_with, partially_evaluated};
use crate::program::{Program, interpret};
use crate::tree::{Key, PathStep, Tree, Visitor};

impl<P: Tree<Array>, Q: Tree<Array>, Y: Clone> Function<P, Q, Y> {
    /// The function for these data: the parts of its program that depend on the data alone run now, and their results
    /// become constants, of any size. The new function takes the arguments alone.
    ///
    /// It pays where many runs have the same data: a model that is fitted to one table, a posterior that is sampled.
    /// The program is differentiated again, as the known parts may change which way is cheapest. Code of the host
    /// ([`external`](crate::external())) still runs in each run. Of a product with a derivative, such as
    /// [`hvp_with`](Function::hvp_with), the direction is a part of the data.
    ///
    /// ```
    /// use polygrad::{Function, tensor};
    /// let (w, x) = (tensor([1.0, 2.0]), tensor([[3.0, 4.0], [0.5, 1.0]]));
    /// // The weights meet the Gram matrix of the data, which is computed once.
    /// let f = Function::grad_with(|w, x| 0.5 * w.dot(&x.t().matmul(x).matvec(w)), &w, &x);
    /// let known = f.with_data(&x)?;
    /// assert_eq!(known.run(&w)?, f.run_with(&w, &x)?);
    /// assert_eq!((f.optimized().inputs().len(), known.optimized().inputs().len()), (2, 1));
    /// # Ok::<(), polygrad::RunError>(())
    /// ```
    ///
    /// # Errors
    /// When the data differ from the trace in structure, shapes, element types or plain fields: see [`RunError`].
    ///
    /// # Panics
    /// Like [`with_options`](Function::with_options).
    #[track_caller]
    pub fn with_data(&self, data: &Q) -> Result<Function<P, (), Y>, RunError> {
        let (key, of_data) = self.key.of_both();
        let show = |visitor: &mut dyn Visitor<Array>| {
            visitor.enter(PathStep::Field("data"));
            data.visit(visitor);
            visitor.leave();
        };
        if let Some(difference) = of_data.difference_to(&show) {
            return Err(RunError::from(difference));
        }
        self.fixed.compared(data)?;
        let mut further = self.constants(data);
        let count = self.transformation.1;
        let constants = further.split_off(further.len() - (self.recorded.inputs().len() - count));
        Ok(self.at(constants, further, key))
    }

    /// The function for these inputs of the recorded program, and for these inputs that the derivative has before them,
    /// such as a direction.
    #[track_caller]
    fn at(&self, constants: Vec<Array>, further: Vec<Array>, key: Key) -> Function<P, (), Y> {
        let ((transformation, count), options) = (self.transformation, self.options);
        let arguments = |others: Vec<Array>| (0..count).map(|_| None).chain(others.into_iter().map(Some)).collect();
        let (known, given): (Vec<Option<Array>>, Vec<Option<Array>>) = (arguments(constants), arguments(further));
        let mut function = Function {
            recorded: partially_evaluated(&self.recorded, &known, |program, inputs| options.once(program, inputs)),
            transformation: self.transformation,
            options,
            names: self.names.clone(),
            derivative: OnceLock::new(),
            executable: OnceLock::new(),
            template: self.template.clone(),
            fill: self.fill,
            key,
            fixed: Fixed::default(),
            inputs: PhantomData,
        };
        let make = |function: &Function<P, (), Y>, options: &FunctionOptions| {
            let mut made = function.differentiated(options)?;
            // A derivative of constants has operations on constants, too.
            let ready = partially_evaluated(&made.ready, &given, |program, inputs| options.once(program, inputs));
            made.ready = optimize_with(&ready, transformation.last(options.passes));
            Ok(made)
        };
        match options.memory {
            Some(most) => match function.within(options, most, &make) {
                Ok(within) => function = within,
                Err(error) => panic!("{error}"),
            },
            None => match make(&function, &options) {
                Ok(made) => function.derivative = OnceLock::from(made),
                Err(fault) => panic!("{fault}"),
            },
        }
        // A known direction gets a separate program.
        if given.len() > count
            && let Some(DerivativeProgram { choices, ready, .. }) = function.derivative.take()
        {
            (function.recorded, function.transformation) = (ready.clone(), (Transformation::Value, count));
            function.derivative = OnceLock::from(DerivativeProgram { program: ready.clone(), choices, ready });
        }
        function
    }
}

impl FunctionOptions {
    /// The results of a program that runs once.
    pub(in crate::ad) fn once(&self, program: &Program, inputs: Vec<Array>) -> Vec<Array> {
        let program = optimize_with(program, self.passes);
        match self.interpreted || backend::is_off() {
            true => interpret(&program, inputs),
            false => compile(&program).run_fitting(&inputs),
        }
    }
}
