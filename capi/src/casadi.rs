//! A function as one file of C in the naming of CasADi's `external`: the function `f`, its Jacobian `jac_f`, and that of the
//! Jacobian, `jac_jac_f`, each with its sizes, names and sparsity.
//!
//! Laws: matrices lie column by column, as CasADi has them. What a pattern leaves out is 0 for all arguments. All numbers of
//! one function of C are computed once, into one vector, and each output takes its elements from there by a table.
//!
//! The file needs neither this library nor CasADi. The derivatives are sparse ones of this library, coloured: CasADi makes
//! products and Hessians of Lagrangians from them.

use std::fmt::Write as _;

use polygrad::ops::Linear;
use polygrad::program::{Program, Slot, Term, interpret};
use polygrad::shape::size;
use polygrad::{BaseTensor, DType};

use crate::boundary::Fault;
use crate::handle::{Derivative, Handle};

/// A matrix of CasADi: its name, its size, and where its elements are: row, column, position in the vector of the function.
#[derive(Clone)]
struct Matrix {
    name: String,
    rows: usize,
    columns: usize,
    elements: Vec<(usize, usize, usize)>,
}

impl Matrix {
    /// A matrix of all elements, from this position on.
    fn dense(name: String, (rows, columns): (usize, usize), start: usize) -> Matrix {
        let at = |k: usize| (k % rows, k / rows, start + k);
        Matrix { name, rows, columns, elements: (0..rows * columns).map(at).collect() }
    }

    fn is_dense(&self) -> bool {
        self.elements.len() == self.rows * self.columns
    }

    /// The sparsity as CasADi has it: sizes, then 1 for a dense matrix, or starts of columns and rows of elements.
    fn sparsity(&self) -> Vec<usize> {
        let mut numbers = vec![self.rows, self.columns];
        if self.is_dense() {
            numbers.push(1);
            return numbers;
        }
        let mut starts = vec![0; self.columns + 1];
        self.elements.iter().for_each(|(_, column, _)| starts[column + 1] += 1);
        (0..self.columns).for_each(|k| starts[k + 1] += starts[k]);
        numbers.extend(starts);
        numbers.extend(self.elements.iter().map(|(row, ..)| row));
        numbers
    }
}

/// A function of C: the program of its vector, its inputs, the first ones those of the program, and its outputs.
struct Table {
    name: String,
    handle: Handle,
    arguments: usize,
    inputs: Vec<Matrix>,
    outputs: Vec<Matrix>,
}

/// The rows and columns of a tensor of rank 2 or less.
fn sizes(slot: &Slot, what: &str) -> Result<(usize, usize), Fault> {
    if slot.dtype != DType::F64 {
        return Err(Fault::argument(format!(
            "casadi: {what} must have elements f64, but one has {}; bind it, or cast it",
            slot.dtype
        )));
    }
    match slot.shape[..] {
        [] => Ok((1, 1)),
        [n] => Ok((n, 1)),
        [rows, columns] => Ok((rows, columns)),
        _ => Err(Fault::argument(format!(
            "casadi: {what} must be matrices, but one has the shape {:?}; reshape it",
            slot.shape
        ))),
    }
}

/// The slots as matrices, one after the other.
fn matrices(slots: &[Slot], what: &str, short: char) -> Result<Vec<Matrix>, Fault> {
    let mut start = 0;
    let of = |(k, slot): (usize, &Slot)| {
        let (rows, columns) = sizes(slot, what)?;
        let name = match slot.name.replace(|c: char| !c.is_ascii_alphanumeric() && c != '_', "_") {
            name if name.starts_with(|c: char| c.is_ascii_alphabetic()) => name,
            _ => format!("{short}{k}"),
        };
        let matrix = Matrix::dense(name, (rows, columns), start);
        start += rows * columns;
        Ok(matrix)
    };
    let mut all = slots.iter().enumerate().map(of).collect::<Result<Vec<_>, Fault>>()?;
    for k in 0..all.len() {
        if (0..all.len()).any(|j| j != k && all[j].name == all[k].name) {
            all[k].name = format!("{}_{k}", all[k].name);
        }
    }
    Ok(all)
}

/// A tensor with its axes in the other order.
fn turned(x: &Term) -> Term {
    if x.shape().len() < 2 { x.clone() } else { x.linear(&Linear::permute(x.shape(), &[1, 0])) }
}

/// The program as a function of one vector, with one vector as its result: tensors row by row, or matrices `by_columns`.
pub(crate) fn flat(program: &Program, by_columns: bool) -> Result<Handle, Fault> {
    let n = program.inputs().iter().map(|slot| size(&slot.shape)).sum();
    let x = Term::variable(&[n], DType::F64);
    let placed = |x: &Term| if by_columns { turned(x) } else { x.clone() };
    let mut start = 0;
    let part = |slot: &Slot| {
        let mut shape = slot.shape.to_vec();
        if by_columns {
            shape.reverse();
        }
        start += size(&shape);
        placed(&x.section(start - size(&shape), &shape, DType::F64))
    };
    let inputs: Vec<Term> = program.inputs().iter().map(part).collect();
    let results: Vec<Term> = interpret(program, inputs).iter().map(placed).collect();
    let program = Term::program(&[x], &[Term::joined(&results)], &["x".into()]).map_err(Fault::refused)?;
    Ok(Handle::of(&program.named(&["x"], &["elements"])))
}

impl Table {
    fn of(program: &Program, name: &str) -> Result<Table, Fault> {
        let inputs = matrices(program.inputs(), "inputs", 'x')?;
        let outputs = matrices(program.outputs(), "outputs", 'y')?;
        if inputs.iter().all(|matrix| matrix.elements.is_empty()) {
            return Err(Fault::argument(
                "casadi: the function must have inputs with elements, but it has none; add one",
            ));
        }
        Ok(Table { name: name.to_owned(), handle: flat(program, true)?, arguments: inputs.len(), inputs, outputs })
    }

    /// The Jacobian: a block for each output and each input. Inputs that are outputs of a function before move nothing.
    fn jacobian(&self) -> Result<Table, Fault> {
        let handle = self.handle.derivative(Derivative::SparseJacobian, None)?;
        let pattern = handle.pattern.as_ref().ok_or_else(|| Fault::refused("a sparse Jacobian without a pattern"))?;
        let (pointers, columns) = (pattern.row_pointers(), pattern.columns());
        let mut outputs = Vec::new();
        for output in &self.outputs {
            let mut start = 0;
            for (k, input) in self.inputs.iter().enumerate() {
                let moved = k < self.arguments;
                let len = if moved { input.elements.len() } else { 0 };
                let mut elements = Vec::new();
                for (row, column, from) in &output.elements {
                    let among = pointers[*from]..pointers[from + 1];
                    let inside = among.filter(|at| (start..start + len).contains(&columns[*at]));
                    elements.extend(inside.map(|at| (row + column * output.rows, columns[at] - start, at)));
                }
                elements.sort_unstable_by_key(|(row, column, _)| (*column, *row));
                let name = format!("jac_{}_{}", output.name, input.name);
                let (rows, columns) = (output.rows * output.columns, input.rows * input.columns);
                outputs.push(Matrix { name, rows, columns, elements });
                start += len;
            }
        }
        let before =
            self.outputs.iter().map(|matrix| Matrix { name: format!("out_{}", matrix.name), ..matrix.clone() });
        let inputs = self.inputs.iter().cloned().chain(before).collect();
        Ok(Table { name: format!("jac_{}", self.name), handle, arguments: self.arguments, inputs, outputs })
    }

    /// The functions of C.
    fn text(&self) -> Result<String, Fault> {
        let (name, program) = (&self.name, &self.handle.program);
        let count = program.outputs().iter().map(|slot| size(&slot.shape)).sum::<usize>();
        let mut text = String::new();
        let (mut work, mut call) = (String::from("0"), String::new());
        if count > 0 {
            let embedded = embedded(program, name, "elements")?;
            text += &embedded.text;
            call = format!("    {name}_elements(x, e);\n");
            if embedded.has_memory {
                work = format!("(sizeof({name}_elements_work) + 7) / 8");
                call = format!("    {name}_elements(x, e, ({name}_elements_work *)w);\n");
            }
        }
        let tables = [("in", &self.inputs), ("out", &self.outputs)];
        for (side, matrices) in tables {
            for (k, matrix) in matrices.iter().enumerate() {
                numbers(&mut text, &format!("{name}_sparsity_{side}_{k}"), &matrix.sparsity());
            }
            self.lists(&mut text, side, matrices);
        }
        for (k, matrix) in self.outputs.iter().enumerate().filter(|(_, matrix)| !matrix.elements.is_empty()) {
            numbers(
                &mut text,
                &format!("{name}_from_{k}"),
                &matrix.elements.iter().map(|(.., at)| *at).collect::<Vec<_>>(),
            );
        }
        let n: usize = self.inputs[..self.arguments].iter().map(|matrix| matrix.elements.len()).sum();
        let _ = writeln!(
            text,
            "\nint {name}_work(casadi_int *sz_arg, casadi_int *sz_res, casadi_int *sz_iw, casadi_int *sz_w) {{\n    \
             if (sz_arg) *sz_arg = {};\n    if (sz_res) *sz_res = {};\n    if (sz_iw) *sz_iw = 0;\n    \
             if (sz_w) *sz_w = {n} + {count} + {work};\n    return 0;\n}}",
            self.inputs.len(),
            self.outputs.len()
        );
        let _ = writeln!(
            text,
            "\nint {name}(const casadi_real **arg, casadi_real **res, casadi_int *iw, casadi_real *w, int mem) {{\n    \
             casadi_real *const x = w, *const e = w + {n};\n    (void)iw, (void)mem, (void)x, (void)e, (void)res;"
        );
        let mut start = 0;
        for (k, matrix) in self.inputs[..self.arguments].iter().enumerate() {
            let len = matrix.elements.len();
            // An argument that is null stands for zeros.
            let _ = writeln!(
                text,
                "    for (casadi_int k = 0; k < {len}; k++) x[{start} + k] = arg[{k}] ? arg[{k}][k] : 0.0;"
            );
            start += len;
        }
        let _ = write!(text, "    w += {n} + {count};\n{call}");
        for (k, matrix) in self.outputs.iter().enumerate().filter(|(_, matrix)| !matrix.elements.is_empty()) {
            let len = matrix.elements.len();
            let _ = writeln!(
                text,
                "    if (res[{k}]) for (casadi_int k = 0; k < {len}; k++) res[{k}][k] = e[{name}_from_{k}[k]];"
            );
        }
        text += "    (void)w;\n    return 0;\n}\n";
        Ok(text)
    }

    /// The number of inputs or outputs, their names and sparsities.
    fn lists(&self, text: &mut String, side: &str, matrices: &[Matrix]) {
        let name = &self.name;
        let _ = writeln!(text, "\ncasadi_int {name}_n_{side}(void) {{ return {}; }}", matrices.len());
        let cases = |each: &dyn Fn(usize, &Matrix) -> String| {
            let lines =
                matrices.iter().enumerate().map(|(k, matrix)| format!("    case {k}: return {};\n", each(k, matrix)));
            format!("    switch (i) {{\n{}    default: return 0;\n    }}\n", lines.collect::<String>())
        };
        let names = cases(&|_, matrix| format!("\"{}\"", matrix.name));
        let _ = writeln!(text, "\nconst char *{name}_name_{side}(casadi_int i) {{\n{names}}}");
        let patterns = cases(&|k, _| format!("{name}_sparsity_{side}_{k}"));
        let _ = writeln!(text, "\nconst casadi_int *{name}_sparsity_{side}(casadi_int i) {{\n{patterns}}}");
    }
}

/// A function of C as a part of a file, and whether it takes memory, `.._work`.
pub(crate) struct EmbeddedFunction {
    pub(crate) text: String,
    pub(crate) has_memory: bool,
}

/// The function `of_what` of a program. What it needs has names that begin with `of`, other ones in each function of the file.
pub(crate) fn embedded(program: &Program, of: &str, what: &str) -> Result<EmbeddedFunction, Fault> {
    let name = format!("{of}_{what}");
    let source = program.to_c(&name).map_err(|error| Fault::refused(error.to_string()))?;
    // Elementary functions and constants.
    let own = |code: &str| code.replace("polygrad_", &format!("{of}_polygrad_"));
    let code = own(&source.code.replace(&format!("#include \"{name}.h\"\n"), ""));
    let mut text = own(&source.header);
    constants(&code).for_each(|constant| _ = writeln!(text, "#define {constant} {of}_{constant}"));
    text += &code;
    constants(&code).for_each(|constant| _ = writeln!(text, "#undef {constant}"));
    Ok(EmbeddedFunction { text, has_memory: source.scratch_bytes > 0 })
}

/// The names of the arrays that a file has besides its functions.
fn constants(code: &str) -> impl Iterator<Item = &str> {
    code.lines().filter(|line| line.starts_with("static const ")).filter_map(|line| {
        let (head, _) = line.split_once('[')?;
        head.rsplit(' ').next()
    })
}

/// A table of integers.
fn numbers(text: &mut String, name: &str, numbers: &[usize]) {
    let words: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    let lines: Vec<String> = words.chunks(16).map(|line| format!("    {}", line.join(", "))).collect();
    let _ = writeln!(text, "\nstatic const casadi_int {name}[] = {{\n{}}};", lines.join(",\n"));
}

/// The file of a program under this name, with this many derivatives, at most 2.
pub(crate) fn casadi_source(program: &Program, name: &str, derivatives: usize) -> Result<String, Fault> {
    if derivatives > 2 {
        return Err(Fault::argument(format!(
            "casadi: the number of derivatives must be 0, 1 or 2, but it is {derivatives}; CasADi asks for no more"
        )));
    }
    let mut text = format!(
        "// `{name}` for CasADi's `external`, with {derivatives} derivatives: compile it as a shared library.\n\
         #ifndef casadi_int\n#define casadi_int long long int\n#endif\n#ifndef casadi_real\n#define casadi_real double\n#endif\n\n"
    );
    let mut table = Table::of(program, name)?;
    text += &table.text()?;
    for _ in 0..derivatives {
        table = table.jacobian()?;
        text += &table.text()?;
    }
    Ok(text)
}
