//! Host code in programs: a saved program has the names of host functions, and is linked to the functions after
//! loading.
//!
//! Law: linking changes the functions behind names, and nothing else of a program.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::rebuild::Rebuilt;
use super::shared::programs_of;
use super::{Builder, Op, OpClass, Program};
use crate::escape;
use crate::ops::{Call, External};

impl Program {
    /// The external functions that the program calls, including those in its loops and in functions with rules.
    ///
    /// ```
    /// use polygrad::{Function, external, tensor};
    /// let f = Function::stage(|x| external("table", |x| x + 1.0, &tensor(0.0), x), &tensor(1.0));
    /// let externals = f.program().externals();
    /// assert_eq!(externals.iter().map(|external| external.name()).collect::<Vec<_>>(), ["table"]);
    /// ```
    pub fn externals(&self) -> Vec<Arc<External>> {
        // The set is only looked up: the order of the result is that of the programs.
        let (mut found, mut known) = (Vec::new(), HashSet::new());
        for program in self.distinct(programs_of).into_iter().rev() {
            for node in program.nodes() {
                if let Op::Call(Call::External(external), _) = &node.op
                    && known.insert(external.clone())
                {
                    found.push(external.clone());
                }
            }
        }
        found
    }

    /// Whether host code outside functions with rules may get a value that depends on the first `first` inputs.
    pub(crate) fn calls_host_on(&self, first: usize) -> bool {
        let mut depends: Vec<bool> = Vec::with_capacity(self.nodes().len());
        self.nodes().iter().enumerate().any(|(k, node)| {
            let mut any = k < first && matches!(node.op, Op::Input(_));
            node.op.operands(&mut |a| any |= depends[*a as usize]);
            depends.push(any);
            let calls = match node.op.class() {
                OpClass::Loop(l) => l.body.calls_host(),
                OpClass::Call(call, _) => matches!(call, Call::External(_)),
                OpClass::Input(_) | OpClass::Constant(_) | OpClass::Output(..) => false,
                OpClass::Single(_) | OpClass::Custom(..) => false,
            };
            any && calls
        })
    }

    /// Links the external functions of the program by name. A function that is linked already stays if `with` has no
    /// function of its name.
    ///
    /// # Errors
    /// When a function that is not linked yet is missing in `with`, or a function in `with` takes or returns other
    /// shapes or element types than the program says.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use polygrad::ops::{Call, External};
    /// use polygrad::program::{Builder, Op, Slot, interpret};
    /// use polygrad::{Array, DType, shape::Shape};
    /// let scalar = (Shape::new(), DType::F64);
    /// let halved = |by: f64| {
    ///     let run = Arc::new(move |x: &[Array]| vec![Array::scalar(x[0].item::<f64>().unwrap() / by)]);
    ///     External::new("half", vec![scalar.clone()], vec![scalar.clone()], run)
    /// };
    /// let mut b = Builder::new();
    /// let x = b.input(Slot { name: "x".into(), shape: Shape::new(), dtype: DType::F64 });
    /// let half = External::unlinked("half", vec![scalar.clone()], vec![scalar.clone()]);
    /// let of = b.apply(Op::Call(Call::External(Arc::new(half)), vec![x]));
    /// let y = b.apply(Op::Output(of, 0));
    /// let program = b.finish(&[y], &[]);
    /// assert!(program.link(&[]).is_err());
    /// let linked = program.link(&[halved(2.0)])?;
    /// assert_eq!(interpret(&linked, vec![Array::scalar(3.0)]), [Array::scalar(1.5)]);
    /// # Ok::<(), String>(())
    /// ```
    pub fn link(&self, with: &[External]) -> Result<Program, String> {
        let mut fault = None;
        let linked = self.relinked(&mut |external| {
            let Some(found) = with.iter().find(|e| e.name() == external.name()) else {
                if !external.is_linked() {
                    fault.get_or_insert_with(|| {
                        format!("link: each external function of the program must be given, but {} is not; add it", escape::quoted(external.name()))
                    });
                }
                return external.clone();
            };
            if found.takes() != external.takes() || found.returns() != external.returns() {
                fault.get_or_insert_with(|| {
                    format!(
                        "link: an external function must take and return what the program says, but {} takes or returns other shapes; \
                         declare it for those of the program",
                        escape::quoted(external.name())
                    )
                });
            }
            Arc::new(external.with_function(found))
        });
        fault.map_or(Ok(linked), Err)
    }

    fn relinked(&self, by: &mut dyn FnMut(&Arc<External>) -> Arc<External>) -> Program {
        // Each program is rebuilt once, after the programs inside it.
        let mut linked: HashMap<u64, Program> = HashMap::new();
        for program in self.distinct(programs_of) {
            let mut b = Builder::literal();
            let inputs = b.inputs(program.inputs(), &[]);
            let made = program.rebuilt(b, inputs, &mut |b, _, node, now| {
                let mut op = now.op(&node.op);
                if let Op::Call(Call::External(external), _) = &mut op {
                    *external = by(external);
                } else if let Op::Loop(l) = &mut op {
                    l.body = linked[&l.body.class()].clone();
                } else if let Op::Custom(c, _) = &mut op {
                    *c = Arc::new(c.map(&mut |p| linked[&p.class()].clone()));
                }
                Rebuilt::One(b.add(op, node.shape.clone(), node.dtype))
            });
            linked.insert(program.class(), made);
        }
        linked[&self.class()].clone()
    }
}
