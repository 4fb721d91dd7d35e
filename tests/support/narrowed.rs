//! Programs in one float type.

use std::sync::Arc;

use polygrad::ops::{Call, Discrete, Linear, Matrix};
use polygrad::program::{Builder, Constant, Custom, CustomKind, Loop, NodeId, Op, Program, Slot};
use polygrad::{Array, DType};

/// An array with the nearest `f32` as elements, in a float type.
pub(crate) fn rounded(a: &Array, float: DType) -> Array {
    match (a.dtype(), float) {
        (DType::I64 | DType::Bool, _) => a.clone(),
        (DType::F64 | DType::F32, DType::F32) => a.cast::<f32>(),
        (DType::F64 | DType::F32, _) => a.cast::<f32>().cast::<f64>(),
    }
}

/// The program in which all floats have this type, and constants are numbers of `f32`; `None` if it has linear algebra or
/// code of the host.
pub(crate) fn narrowed(program: &Program, float: DType) -> Option<Program> {
    let dtype = |dtype: DType| if dtype.is_float() { float } else { dtype };
    let mut builder = Builder::literal();
    let mut ids: Vec<NodeId> = Vec::new();
    for node in program.nodes() {
        let op = node.op.map(&mut |a| ids[*a as usize]);
        let op = match op {
            Op::Input(k) => {
                let slot = &program.inputs()[k as usize];
                ids.push(builder.input(Slot { dtype: dtype(slot.dtype), ..slot.clone() }));
                continue;
            }
            Op::Linear(linear, a) if matches!(*linear, Linear::Cast { .. }) => {
                ids.push(a);
                continue;
            }
            Op::Constant(Constant(a)) => Op::Constant(Constant(rounded(&a, float))),
            Op::Discrete(Discrete::ToFloat(_), args) => Op::Discrete(Discrete::ToFloat(float), args),
            Op::Loop(l) => Op::Loop(Box::new(Loop { body: narrowed(&l.body, float)?, ..*l })),
            Op::Custom(rule, args) => {
                let primal = narrowed(rule.primal(), float)?;
                let rule = match rule.kind() {
                    CustomKind::While { most } => Custom::while_loop(rule.name(), primal, *most).ok()?,
                    CustomKind::Rules { .. }
                    | CustomKind::Checkpointed
                    | CustomKind::Solve(_)
                    | CustomKind::Cond { .. } => Custom::checkpointed(rule.name(), primal),
                };
                Op::Custom(Arc::new(rule), args)
            }
            Op::Call(Call::Matrix(op @ (Matrix::PrefixProduct | Matrix::Recurrence { .. })), args) => {
                Op::Call(Call::Matrix(op), args)
            }
            Op::Call(..) => return None,
            op @ (Op::Linear(..) | Op::Unary(..) | Op::Binary(..) | Op::Discrete(..) | Op::Select(_)) => op,
            op @ (Op::Contract(..) | Op::Reduce(..) | Op::Gather(..) | Op::ScatterAdd(..) | Op::Concat(..)) => op,
            op @ Op::Output(..) => op,
        };
        ids.push(builder.apply(op));
    }
    let results: Vec<NodeId> = program.results().iter().map(|a| ids[*a as usize]).collect();
    let names: Vec<String> = program.outputs().iter().map(|slot| slot.name.clone()).collect();
    Some(builder.finish(&results, &names))
}
