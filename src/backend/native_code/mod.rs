//! Native code: steps over small arrays and numbers as machine code in the process, by Cranelift. Feature `jit`.
//!
//! ```text
//! steps of a plan -selection-> runs of steps -trees-> imperative trees -translate-> instructions -Cranelift-> code
//! ```
//!
//! Law: native code computes what the trees of its steps say, with the bits of their rows; it reads and writes no byte
//! outside the arrays of the table, whatever the inputs are, and its pages are never writable and executable at once.
//!
//! | module | does |
//! |---|---|
//! | `selection` | chooses steps, by estimated time |
//! | `translate` | statements and positions as instructions |
//! | `jam` | loops whose iterations stand side by side |
//! | `packs`, `vectors` | statements of one form as operations on vectors |
//! | `unroll`, `places` | short loops that are written out, and arrays that are variables |
//! | `arithmetic`, `calls` | elementwise operations, and functions that are called |

#![allow(unsafe_code)]

mod arithmetic;
mod calls;
mod jam;
mod packs;
mod places;
pub(crate) mod selection;
mod translate;
mod unroll;
mod vectors;

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use cranelift_codegen::ir::{AbiParam, Function, Signature, Type, UserFuncName, types};
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::settings::{self, Configurable as _};
use cranelift_codegen::{Context, isa};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Module as _};

use super::ir::step::{Buffer, BufferId, FusedStep};
use super::memory::AddressTable;
use super::trees::tree::{EmittedFunction, Stmt};
use super::trees::{simplify, steps};
use crate::array::Array;
use crate::cost::MACHINE;

/// A function of machine code: gets the table of addresses, and says whether a position was outside its array.
type Entry = unsafe extern "C" fn(*const u8) -> u32;

/// The code of a run of steps.
#[derive(Clone)]
pub(crate) struct NativeCode {
    module: Arc<NativeModule>,
    /// The number of the function in the module.
    function: usize,
    /// In words: the steps.
    pub(crate) words: String,
    /// The buffers that are read, and those that are written.
    pub(crate) touched: Vec<(BufferId, bool)>,
}

impl fmt::Debug for NativeCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NativeCode").field("words", &self.words).finish_non_exhaustive()
    }
}

impl NativeCode {
    /// Runs the code on the buffers of a table.
    pub(crate) fn run(&self, table: &AddressTable) {
        let entry = self.module.code.get().expect("a module is finished before it runs").entries[self.function];
        // Safety: the code was made for the buffers of this plan, whose addresses the table has, and compares with their
        // lengths all positions that may be outside.
        let outside = unsafe { entry(table.start()) };
        assert!(outside == 0, "native code computed a position outside its array: a fault of the compiler of polygrad");
    }
}

/// The functions of a plan.
#[derive(Default)]
struct NativeModule {
    code: OnceLock<FinishedCode>,
}

/// Machine code, and its functions.
struct FinishedCode {
    entries: Vec<Entry>,
    /// The owner of the pages.
    module: Mutex<Option<JITModule>>,
}

impl Drop for FinishedCode {
    fn drop(&mut self) {
        let module = self.module.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(module) = module.take() {
            // Safety: the functions are called by owners of this value alone.
            unsafe { module.free_memory() }
        }
    }
}

/// Compiles the functions of a plan.
#[derive(Default)]
pub(crate) struct NativeCompiler {
    /// Made with the first function.
    module: Option<JITModule>,
    frontend: FunctionBuilderContext,
    functions: Vec<FuncId>,
    finished: Arc<NativeModule>,
}

/// The target: this processor. `None` if Cranelift does not know it.
fn target() -> Option<OwnedTargetIsa> {
    static TARGET: OnceLock<Option<OwnedTargetIsa>> = OnceLock::new();
    let made = TARGET.get_or_init(|| {
        let mut flags = settings::builder();
        for (name, value) in
            [("opt_level", "speed"), ("enable_verifier", if cfg!(debug_assertions) { "true" } else { "false" })]
        {
            flags.set(name, value).ok()?;
        }
        let builder: isa::Builder = cranelift_native::builder().ok()?;
        builder.finish(settings::Flags::new(flags)).ok()
    });
    made.clone()
}

impl NativeCompiler {
    /// The code of some steps of a plan; `None` if Cranelift does not know the processor, or the code is too long.
    pub(crate) fn compile(
        &mut self,
        steps: &[FusedStep],
        buffers: &[Buffer],
        constants: &[Array],
        is_local: &dyn Fn(BufferId) -> bool,
    ) -> Option<NativeCode> {
        let isa = target()?;
        let (mut function, arrays) = steps::function_of_run(steps, buffers, constants, is_local);
        simplify::simplify(&mut function);
        jam::jam(&mut function);
        if weight(&function.body) > MACHINE.native_weight {
            return None;
        }
        let id = self.define(isa, &function, &arrays)?;
        let written = steps::touched(steps);
        self.functions.push(id);
        Some(NativeCode {
            module: self.finished.clone(),
            function: self.functions.len() - 1,
            words: selection::words(steps),
            touched: arrays.iter().flatten().map(|buf| (*buf, written[buf])).collect(),
        })
    }

    fn define(
        &mut self,
        isa: OwnedTargetIsa,
        function: &EmittedFunction,
        arrays: &[Option<BufferId>],
    ) -> Option<FuncId> {
        let module = self.module.get_or_insert_with(|| {
            JITModule::new(JITBuilder::with_isa(isa, cranelift_module::default_libcall_names()))
        });
        let pointer: Type = module.target_config().pointer_type();
        let mut signature: Signature = module.make_signature();
        signature.params.push(AbiParam::new(pointer));
        signature.returns.push(AbiParam::new(types::I32));
        let id = module.declare_anonymous_function(&signature).ok()?;
        let name = UserFuncName::user(0, id.as_u32());
        let mut context = Context::for_function(Function::with_name_signature(name, signature));
        let builder = FunctionBuilder::new(&mut context.func, &mut self.frontend);
        translate::Translator::run(builder, function, arrays, pointer);
        module.define_function(id, &mut context).ok()?;
        Some(id)
    }

    /// Makes the code of all functions executable.
    pub(crate) fn finish(self) {
        let Some(mut module) = self.module else { return };
        module.finalize_definitions().expect("code has no symbol that is not defined");
        let entry = |id: &FuncId| {
            let at = module.get_finalized_function(*id);
            // Safety: the function was defined with this signature.
            unsafe { std::mem::transmute::<*const u8, Entry>(at) }
        };
        let entries = self.functions.iter().map(entry).collect();
        let code = FinishedCode { entries, module: Mutex::new(Some(module)) };
        assert!(self.finished.code.set(code).is_ok(), "a module is finished once");
    }
}

/// The number of operations of statements.
fn weight(body: &[Stmt]) -> usize {
    let mut weight = 0;
    body.iter().for_each(|stmt| {
        stmt.walk(&mut |stmt| {
            weight += 1;
            stmt.expr(&mut |x| weight += x.weight());
        });
    });
    weight
}
