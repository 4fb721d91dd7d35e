//! Imperative trees as instructions of Cranelift.
//!
//! Variables of a tree are those of Cranelift's frontend, which finds the assignments that reach each use. An array is
//! an address of the table that a call passes, or a slot of the stack.
//!
//! Law: code reads and writes no byte outside its arrays: the position of an access lies in the array for all values of
//! counters, by their ranges; any other is compared with the length first, and ends the call with an error.

use std::collections::BTreeMap;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    AbiParam, Block, BlockArg, InstBuilder as _, MemFlags, Signature, StackSlot, StackSlotData, StackSlotKind, Type,
    Value, types,
};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::{FunctionBuilder, Variable as FrontendVariable};
use smallvec::SmallVec;

use super::arithmetic::type_of;
use super::calls::Address;
use super::packs;
use super::places::Place;
use super::unroll::{WrittenOut, choose};
use crate::backend::ir::step::BufferId;
use crate::backend::memory::AddressTable;
use crate::backend::trees::tree::{
    ArrayId, ArrayKind, ElementIndex, EmittedFunction, Expression, PositionExpr, Stmt, Variable, VariableId,
};
use crate::dtype::DType;
use crate::kernels::elementwise::Isa;

/// Terms of a position.
type Terms = SmallVec<[(VariableId, i64); 4]>;

/// Where the elements of an array begin.
#[derive(Clone, Copy)]
pub(super) enum ArrayStart {
    /// At this address of the table.
    Table(i32),
    Stack(StackSlot),
    /// At the address in this variable.
    Named(FrontendVariable),
    /// Elements are variables, from this number on.
    Variables(usize),
}

/// A function that is being translated.
pub(super) struct Translator<'f, 'b> {
    pub(super) builder: FunctionBuilder<'b>,
    pub(super) function: &'f EmittedFunction,
    pub(super) isa: Isa,
    pub(super) pointer: Type,
    pub(super) convention: CallConv,
    /// The addresses of arrays.
    table: Value,
    pub(super) starts: Vec<Option<ArrayStart>>,
    pub(super) variables: Vec<Option<Place>>,
    /// The variables that are elements of arrays.
    pub(super) elements: Vec<Place>,
    /// The least and the largest value of counters and positions here.
    ranges: BTreeMap<VariableId, (i64, i64)>,
    pub(super) unrolled: WrittenOut,
    /// What a `Break` goes to, innermost last.
    exits: Vec<Block>,
    /// Ends the call with an error.
    pub(super) fault: Block,
    /// The memory of the arguments and results of functions of several elements.
    pub(super) together: Vec<StackSlot>,
}

impl<'f, 'b> Translator<'f, 'b> {
    /// Translates a function. `buffers` has the buffer of each array that has one.
    pub(super) fn run(
        mut builder: FunctionBuilder<'b>,
        function: &'f EmittedFunction,
        buffers: &[Option<BufferId>],
        pointer: Type,
    ) {
        let convention = builder.func.signature.call_conv;
        let entry = builder.create_block();
        builder.append_block_params_for_function_params(entry);
        builder.switch_to_block(entry);
        let (first, fault) = (builder.block_params(entry)[0], builder.create_block());
        builder.set_cold_block(fault);
        let mut translator = Translator {
            builder,
            function,
            isa: Isa::detect(),
            pointer,
            convention,
            table: first,
            starts: Vec::new(),
            variables: vec![None; function.variables.len()],
            elements: Vec::new(),
            ranges: still_ranges(function),
            unrolled: choose(function),
            exits: Vec::new(),
            fault,
            together: Vec::new(),
        };
        translator.starts = (0..function.arrays.len()).map(|k| translator.start(k, buffers[k])).collect();
        translator.block(&function.body);
        let done = translator.builder.ins().iconst(types::I32, 0);
        translator.builder.ins().return_(&[done]);
        translator.builder.switch_to_block(fault);
        let failed = translator.builder.ins().iconst(types::I32, 1);
        translator.builder.ins().return_(&[failed]);
        translator.builder.seal_all_blocks();
        translator.builder.finalize();
    }

    fn start(&mut self, array: usize, buffer: Option<BufferId>) -> Option<ArrayStart> {
        let info = &self.function.arrays[array];
        match info.kind {
            ArrayKind::Stack if self.unrolled.arrays.contains(&(array as ArrayId)) => {
                let first = self.elements.len();
                self.declare_elements(array as ArrayId);
                Some(ArrayStart::Variables(first))
            }
            ArrayKind::Stack => Some(ArrayStart::Stack(self.slot(array))),
            ArrayKind::Name => None,
            ArrayKind::Input(_) | ArrayKind::Output(_) | ArrayKind::Constant(_) | ArrayKind::Scratch => {
                Some(match buffer {
                    Some(buf) => ArrayStart::Table(AddressTable::distance(buf)),
                    None => ArrayStart::Stack(self.slot(array)),
                })
            }
        }
    }

    /// Memory on the stack for an array.
    fn slot(&mut self, array: usize) -> StackSlot {
        let info = &self.function.arrays[array];
        let bytes = (info.len * info.dtype.width()) as u32;
        self.builder.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, bytes, 4))
    }

    pub(super) fn dtype_of(&self, variable: VariableId) -> DType {
        match self.function.variables[variable as usize] {
            Variable::Value(dtype) => dtype,
            Variable::Counter(_) | Variable::Position => DType::I64,
        }
    }

    /// The address of the first element of an array.
    fn address(&mut self, array: ArrayId) -> Value {
        match self.starts[array as usize].expect("an array has an address where it is used") {
            ArrayStart::Table(at) => {
                let flags = MemFlags::trusted().with_readonly().with_can_move();
                self.builder.ins().load(self.pointer, flags, self.table, at)
            }
            ArrayStart::Stack(slot) => self.builder.ins().stack_addr(self.pointer, slot, 0),
            ArrayStart::Named(variable) => self.builder.use_var(variable),
            ArrayStart::Variables(_) => unreachable!("elements that are variables have no address"),
        }
    }

    /// The least and the largest value of an index here, if they are known.
    pub(super) fn reach(&self, index: &ElementIndex) -> Option<(i64, i64)> {
        index.reach(&self.ranges)
    }

    /// Statements, those of one form as packs where that takes less time.
    fn block(&mut self, body: &[Stmt]) {
        let mut rest = body;
        while !rest.is_empty() {
            let (mut run, after) = rest.split_at(packs::run(rest));
            while !run.is_empty() {
                match self.widest(run) {
                    Some((pack, lanes)) => {
                        self.pack(pack, lanes);
                        run = &run[pack.len()..];
                    }
                    None => {
                        self.stmt(&run[0]);
                        run = &run[1..];
                    }
                }
            }
            rest = after;
        }
    }

    /// Whether the elements of an array are in memory.
    pub(super) fn is_memory(&self, array: ArrayId) -> bool {
        !matches!(self.starts[array as usize], Some(ArrayStart::Variables(_)))
    }

    /// Whether a position is in its array for certain.
    pub(super) fn is_inside(&self, array: ArrayId, index: &ElementIndex) -> bool {
        let len = self.function.arrays[array as usize].len as i64;
        self.reach(index).is_some_and(|(least, most)| 0 <= least && most < len)
    }

    pub(super) fn store(&mut self, array: ArrayId, index: &ElementIndex, value: Value) {
        if let Some(cell) = self.cell(array, index) {
            return self.set_at(cell, value);
        }
        let (at, offset) = self.element(array, index);
        self.builder.ins().store(MemFlags::trusted(), value, at, offset);
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Comment(_) => {}
            Stmt::Let(variable, value) | Stmt::Var(variable, value) => {
                let value = self.expr(value);
                self.declare(*variable, value);
            }
            Stmt::Set(variable, value) => {
                let value = self.expr(value);
                self.set(*variable, value);
            }
            Stmt::Position(variable, value) | Stmt::SetPosition(variable, value) => {
                let value = self.position(value);
                self.declare(*variable, value);
            }
            Stmt::Store(array, index, value) => {
                let value = self.expr(value);
                self.store(*array, index, value);
            }
            Stmt::For { counter, from, to, down, body } => self.run_for(*counter, from, to, *down, body),
            Stmt::Loop(body) => {
                let (head, exit) = (self.builder.create_block(), self.builder.create_block());
                self.builder.ins().jump(head, &[]);
                self.builder.switch_to_block(head);
                self.exits.push(exit);
                self.block(body);
                self.exits.pop();
                self.builder.ins().jump(head, &[]);
                self.builder.switch_to_block(exit);
            }
            Stmt::If(condition, then, otherwise) => {
                let condition = self.expr(condition);
                let [first, second, after] = [(); 3].map(|()| self.builder.create_block());
                let second = if otherwise.is_empty() { after } else { second };
                self.builder.ins().brif(condition, first, &[], second, &[]);
                for (block, body) in [(first, then), (second, otherwise)] {
                    if block != after {
                        self.builder.switch_to_block(block);
                        self.block(body);
                        self.builder.ins().jump(after, &[]);
                    }
                }
                self.builder.switch_to_block(after);
            }
            Stmt::Break => {
                let exit = *self.exits.last().expect("a loop is left in its body");
                self.builder.ins().jump(exit, &[]);
                // What follows is not reached.
                let rest = self.builder.create_block();
                self.builder.switch_to_block(rest);
            }
            Stmt::Renamed { names, of, body } => {
                let before = names.map(|name| self.starts[name as usize]);
                let values = of.map(|of| self.address(of));
                for (name, value) in names.iter().zip(values) {
                    let variable = self.builder.declare_var(self.pointer);
                    self.builder.def_var(variable, value);
                    self.starts[*name as usize] = Some(ArrayStart::Named(variable));
                }
                self.block(body);
                names.iter().zip(before).for_each(|(name, before)| self.starts[*name as usize] = before);
            }
            Stmt::Swap([a, b]) => {
                let [a, b] = [a, b].map(|name| match self.starts[*name as usize] {
                    Some(ArrayStart::Named(variable)) => variable,
                    Some(ArrayStart::Table(_) | ArrayStart::Stack(_) | ArrayStart::Variables(_)) | None => {
                        unreachable!("names are exchanged, not arrays")
                    }
                });
                let (first, second) = (self.builder.use_var(a), self.builder.use_var(b));
                self.builder.def_var(a, second);
                self.builder.def_var(b, first);
            }
        }
    }

    fn run_for(&mut self, counter: VariableId, from: &ElementIndex, to: &ElementIndex, down: bool, body: &[Stmt]) {
        if self.unrolled.counters.contains(&counter) {
            return self.write_out(counter, (from, to), down, body);
        }
        if let (Some((least, _)), Some((_, most))) = (self.reach(from), self.reach(to)) {
            self.ranges.insert(counter, (least, most - 1));
        }
        let (first, end) = (self.index(from), self.index(to));
        let (head, exit) = (self.builder.create_block(), self.builder.create_block());
        let start = if down { self.builder.ins().iadd_imm(end, -1) } else { first };
        self.declare(counter, start);
        match (from.known(), to.known()) {
            (Some(from), Some(to)) if from < to => self.builder.ins().jump(head, &[]),
            _ => {
                let some = self.builder.ins().icmp(IntCC::SignedLessThan, first, end);
                self.builder.ins().brif(some, head, &[], exit, &[])
            }
        };
        self.builder.switch_to_block(head);
        self.exits.push(exit);
        self.block(body);
        self.exits.pop();
        let at = self.variable(counter);
        let next = self.builder.ins().iadd_imm(at, if down { -1 } else { 1 });
        self.declare(counter, next);
        let more = match down {
            true => self.builder.ins().icmp(IntCC::SignedGreaterThanOrEqual, next, first),
            false => self.builder.ins().icmp(IntCC::SignedLessThan, next, end),
        };
        self.builder.ins().brif(more, head, &[], exit, &[]);
        self.builder.switch_to_block(exit);
    }

    /// Writes out a loop with known bounds.
    fn write_out(
        &mut self,
        counter: VariableId,
        (from, to): (&ElementIndex, &ElementIndex),
        down: bool,
        body: &[Stmt],
    ) {
        let (from, to) = from.known().zip(to.known()).expect("the bounds are known");
        for step in from..to {
            let at = if down { to - 1 - (step - from) } else { step };
            let value = self.builder.ins().iconst(types::I64, at);
            self.declare(counter, value);
            self.ranges.insert(counter, (at, at));
            self.block(body);
        }
    }

    /// The address of an element, and a distance from it in bytes; a position that may be outside is checked.
    pub(super) fn element(&mut self, array: ArrayId, index: &ElementIndex) -> (Value, i32) {
        let info = &self.function.arrays[array as usize];
        let (width, len) = (info.dtype.width() as i64, info.len as i64);
        if !self.is_inside(array, index) {
            let at = self.index(index);
            let fits = self.builder.ins().icmp_imm(IntCC::UnsignedLessThan, at, len);
            let next = self.builder.create_block();
            self.builder.ins().brif(fits, next, &[], self.fault, &[]);
            self.builder.switch_to_block(next);
        }
        let start = self.address(array);
        let known = |(variable, _): &(VariableId, i64)| self.unrolled.counters.contains(variable);
        let (fixed, mut moving): (Terms, Terms) = index.terms.iter().copied().partition(known);
        let fixed = ElementIndex { constant: index.constant, terms: fixed };
        let (constant, _) = self.reach(&fixed).expect("the counters of loops that are written out are known");
        // The terms of outer loops come first, so that inner loops add to an address that does not change in them.
        moving.sort_by_key(|(variable, _)| match self.function.variables[*variable as usize] {
            Variable::Counter(depth) => (depth, *variable),
            Variable::Value(_) | Variable::Position => (usize::MAX, *variable),
        });
        let mut at = start;
        for term in moving {
            let bytes = self.scaled(&ElementIndex { constant: 0, terms: SmallVec::from_slice(&[term]) }, width);
            at = self.builder.ins().iadd(at, bytes);
        }
        match i32::try_from(constant.wrapping_mul(width)) {
            Ok(offset) => (at, offset),
            Err(_) => (self.builder.ins().iadd_imm(at, constant.wrapping_mul(width)), 0),
        }
    }

    fn index(&mut self, index: &ElementIndex) -> Value {
        self.scaled(index, 1)
    }

    /// A position times a number.
    fn scaled(&mut self, index: &ElementIndex, by: i64) -> Value {
        let mut sum: Option<Value> = None;
        for (variable, factor) in &index.terms {
            let value = self.variable(*variable);
            let factor = factor.wrapping_mul(by);
            let term = match factor {
                1 => value,
                _ if factor > 0 && (factor & (factor - 1)) == 0 => {
                    self.builder.ins().ishl_imm(value, i64::from(factor.trailing_zeros()))
                }
                _ => self.builder.ins().imul_imm(value, factor),
            };
            sum = Some(match sum {
                Some(sum) => self.builder.ins().iadd(sum, term),
                None => term,
            });
        }
        let constant = index.constant.wrapping_mul(by);
        match sum {
            Some(sum) if constant == 0 => sum,
            Some(sum) => self.builder.ins().iadd_imm(sum, constant),
            None => self.builder.ins().iconst(types::I64, constant),
        }
    }

    fn position(&mut self, value: &PositionExpr) -> Value {
        match value {
            PositionExpr::Affine(index) => self.index(index),
            PositionExpr::Quotient(index, by) => {
                let at = self.index(index);
                self.builder.ins().udiv_imm(at, *by as i64)
            }
            PositionExpr::Remainder(index, by) => {
                let at = self.index(index);
                self.builder.ins().urem_imm(at, *by as i64)
            }
            PositionExpr::Int(value) => self.expr(value),
        }
    }

    /// The value of an expression.
    pub(super) fn expr(&mut self, expr: &Expression) -> Value {
        match expr {
            Expression::Literal(x) => self.literal(*x),
            Expression::Variable(variable) => self.variable(*variable),
            Expression::Load(array, index) => {
                if let Some(cell) = self.cell(*array, index) {
                    return self.value_at(cell);
                }
                let ty = type_of(self.function.arrays[*array as usize].dtype);
                let (at, offset) = self.element(*array, index);
                self.builder.ins().load(ty, MemFlags::trusted(), at, offset)
            }
            Expression::Op(op, dtype) => self.op(op, *dtype),
            Expression::Position(index) => self.index(index),
            Expression::AtMost(a, b) => self.compared(IntCC::SignedLessThanOrEqual, a, b),
            Expression::Below(a, b) => self.compared(IntCC::SignedLessThan, a, b),
            Expression::IsIndex(value, size) => {
                let value = self.expr(value);
                self.builder.ins().icmp_imm(IntCC::UnsignedLessThan, value, *size as i64)
            }
            Expression::All(all) => self.all(all),
            Expression::If(parts) => {
                let [condition, then, otherwise] = &**parts;
                let condition = self.expr(condition);
                if !reads(then) && !reads(otherwise) {
                    let (a, b) = (self.expr(then), self.expr(otherwise));
                    return self.builder.ins().select(condition, a, b);
                }
                self.either(condition, |t| t.expr(then), |t| t.expr(otherwise))
            }
        }
    }

    fn compared(&mut self, cc: IntCC, a: &ElementIndex, b: &ElementIndex) -> Value {
        let (a, b) = (self.index(a), self.index(b));
        self.builder.ins().icmp(cc, a, b)
    }

    /// Whether all conditions hold; one that reads an array is evaluated only if those before it hold.
    fn all(&mut self, all: &[Expression]) -> Value {
        let [first, rest @ ..] = all else { return self.builder.ins().iconst(types::I8, 1) };
        let first = self.expr(first);
        if rest.is_empty() {
            return first;
        }
        if rest.iter().any(reads) {
            return self.either(first, |t| t.all(rest), |t| t.builder.ins().iconst(types::I8, 0));
        }
        let rest = self.all(rest);
        self.builder.ins().band(first, rest)
    }

    /// One of two values; the other one is not evaluated.
    fn either(
        &mut self,
        condition: Value,
        then: impl FnOnce(&mut Self) -> Value,
        otherwise: impl FnOnce(&mut Self) -> Value,
    ) -> Value {
        let [first, second, after] = [(); 3].map(|()| self.builder.create_block());
        self.builder.ins().brif(condition, first, &[], second, &[]);
        self.builder.switch_to_block(first);
        let value = then(self);
        let ty = self.builder.func.dfg.value_type(value);
        let result = self.builder.append_block_param(after, ty);
        self.builder.ins().jump(after, &[BlockArg::Value(value)]);
        self.builder.switch_to_block(second);
        let value = otherwise(self);
        self.builder.ins().jump(after, &[BlockArg::Value(value)]);
        self.builder.switch_to_block(after);
        result
    }

    /// The result of a function of elements of one type.
    pub(super) fn call(&mut self, address: Address, args: &[Value], dtype: DType) -> Value {
        let ty = type_of(dtype);
        let mut signature = Signature::new(self.convention);
        signature.params.extend(args.iter().map(|_| AbiParam::new(ty)));
        signature.returns.push(AbiParam::new(ty));
        let signature = self.builder.import_signature(signature);
        let callee = self.builder.ins().iconst(self.pointer, address.addr() as i64);
        let call = self.builder.ins().call_indirect(signature, callee, args);
        self.builder.inst_results(call)[0]
    }
}

/// The ranges of the positions that do not change: those of others may hold only where they are declared.
fn still_ranges(function: &EmittedFunction) -> BTreeMap<VariableId, (i64, i64)> {
    let mut ranges = function.ranges.clone();
    function.body.iter().for_each(|stmt| {
        stmt.walk(&mut |stmt| {
            if let Stmt::SetPosition(variable, _) = stmt {
                ranges.remove(variable);
            }
        });
    });
    ranges
}

/// Whether an expression reads an array.
fn reads(x: &Expression) -> bool {
    let mut reads = false;
    x.walk(&mut |x| reads |= matches!(x, Expression::Load(..)));
    reads
}
