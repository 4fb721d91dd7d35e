//! A function of C as it is recorded, and its text.
//!
//! Laws: a value is written once; where it is used once, in the block in which it is computed, and short, it is written
//! there. Values that nothing needs are left out. A branch that is not taken computes nothing.

use std::fmt::Write as _;

/// A type of C.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CType {
    Double,
    Float,
    Word,
    ShortWord,
    Truth,
}

impl CType {
    pub(super) fn name(self) -> &'static str {
        match self {
            CType::Double => "double",
            CType::Float => "float",
            CType::Word => "uint64_t",
            CType::ShortWord => "uint32_t",
            CType::Truth => "int",
        }
    }
}

/// An operand of an operation.
#[derive(Clone, PartialEq)]
pub(super) enum COperand {
    Literal(String),
    Value(u32),
}

impl Default for COperand {
    fn default() -> COperand {
        COperand::Value(0)
    }
}

/// What computes a value.
pub(super) enum CValue {
    /// The parameter at this position.
    Parameter(usize),
    /// A variable of a loop, with its first value.
    State(COperand),
    Infix(&'static str, [COperand; 2]),
    Prefix(&'static str, COperand),
    Call(String, Vec<COperand>),
    /// The second if the first holds, or else the third.
    Select([COperand; 3]),
    /// What the first block gives if the mask holds, or else the second.
    Choose(COperand, Box<[(CBlock, COperand); 2]>),
}

/// Statements, in a block with a number.
#[derive(Default)]
pub(super) struct CBlock {
    id: usize,
    statements: Vec<Statement>,
}

enum Statement {
    /// Computes the value.
    Value(u32),
    /// The loop of this number.
    Repeat(usize),
}

/// A loop.
pub(super) struct CRepeat {
    pub(super) state: Vec<u32>,
    /// Whether there is another step.
    pub(super) test: (CBlock, COperand),
    pub(super) step: CBlock,
    /// The next values of the state.
    pub(super) next: Vec<COperand>,
}

/// The body of a function: the block that is recorded now, and all values.
#[derive(Default)]
pub(super) struct CBody {
    block: CBlock,
    blocks: usize,
    values: Vec<(CType, CValue, usize)>,
    /// Loops, and the blocks in which they are.
    repeats: Vec<(CRepeat, usize)>,
}

/// The name of a parameter.
pub(super) fn parameter(place: usize) -> &'static str {
    ["x", "y", "z"][place]
}

impl CBody {
    pub(super) fn push(&mut self, ty: CType, value: CValue) -> u32 {
        let id = self.values.len() as u32;
        self.block.statements.push(Statement::Value(id));
        self.values.push((ty, value, self.block.id));
        id
    }

    pub(super) fn repeat(&mut self, of: CRepeat) {
        self.block.statements.push(Statement::Repeat(self.repeats.len()));
        self.repeats.push((of, self.block.id));
    }

    /// Begins a block inside the current one, which it returns.
    pub(super) fn enter(&mut self) -> CBlock {
        self.blocks += 1;
        std::mem::replace(&mut self.block, CBlock { id: self.blocks, statements: Vec::new() })
    }

    /// Ends a block, which it returns, given the one that it is in.
    pub(super) fn leave(&mut self, outer: CBlock) -> CBlock {
        std::mem::replace(&mut self.block, outer)
    }

    /// The statements, which return a result.
    pub(super) fn text(&self, result: &COperand) -> String {
        let mut printer = Printer::new(self);
        printer.use_of(result, self.block.id);
        printer.end(&self.block, result, 1);
        printer.text
    }
}

/// How tightly operators of C bind.
const UNARY: u8 = 11;
const PRIMARY: u8 = 12;

fn binding(operator: &str) -> u8 {
    match operator {
        "||" => 1,
        "&&" => 2,
        "|" => 3,
        "^" => 4,
        "&" => 5,
        "==" | "!=" => 6,
        "<" | "<=" | ">" | ">=" => 7,
        "<<" | ">>" => 8,
        "+" | "-" => 9,
        _ => 10,
    }
}

/// The most characters of an expression that is written where it is used.
const SHORT: usize = 48;

struct Printer<'b> {
    body: &'b CBody,
    /// How often each value is used; a use in another block counts twice.
    uses: Vec<usize>,
    /// Whether the uses by a loop are counted.
    counted: Vec<bool>,
    /// Expressions that stand for values, with how tightly they bind.
    written: Vec<Option<(String, u8)>>,
    variables: usize,
    text: String,
}

impl<'b> Printer<'b> {
    fn new(body: &'b CBody) -> Printer<'b> {
        let count = body.values.len();
        let written = vec![None; count];
        let counted = vec![false; body.repeats.len()];
        Printer { body, uses: vec![0; count], counted, written, variables: 0, text: String::new() }
    }

    /// Counts a use of an operand in a block, and those of what it needs.
    fn use_of(&mut self, operand: &COperand, block: usize) {
        let body = self.body;
        let COperand::Value(id) = operand else { return };
        let (_, value, home) = &body.values[*id as usize];
        let before = self.uses[*id as usize];
        self.uses[*id as usize] += if *home == block { 1 } else { 2 };
        if before > 0 {
            return;
        }
        match value {
            CValue::Parameter(_) => {}
            CValue::State(first) => {
                self.use_of(first, *home);
                let found = body.repeats.iter().position(|(of, _)| of.state.contains(id));
                let of = found.expect("a variable of a loop has a loop");
                if !std::mem::replace(&mut self.counted[of], true) {
                    let CRepeat { state, test, step, next } = &body.repeats[of].0;
                    self.use_of(&test.1, test.0.id);
                    next.iter().for_each(|x| self.use_of(x, step.id));
                    state.iter().for_each(|id| self.use_of(&COperand::Value(*id), *home));
                }
            }
            CValue::Infix(_, x) => x.iter().for_each(|x| self.use_of(x, *home)),
            CValue::Prefix(_, x) => self.use_of(x, *home),
            CValue::Call(_, x) => x.iter().for_each(|x| self.use_of(x, *home)),
            CValue::Select(x) => x.iter().for_each(|x| self.use_of(x, *home)),
            CValue::Choose(mask, branches) => {
                self.use_of(mask, *home);
                branches.iter().for_each(|(block, x)| self.use_of(x, block.id));
            }
        }
    }

    fn line(&mut self, depth: usize, line: &str) {
        let _ = writeln!(self.text, "{:1$}{line}", "", 4 * depth);
    }

    /// An operand as an expression, in parentheses if it binds less than a bound.
    fn operand(&self, x: &COperand, least: u8) -> String {
        let (text, binds) = match x {
            COperand::Literal(text) if text.starts_with('-') => (text.clone(), UNARY),
            COperand::Literal(text) => (text.clone(), PRIMARY),
            COperand::Value(id) => self.written[*id as usize].clone().expect("a value is computed before it is used"),
        };
        if binds < least { format!("({text})") } else { text }
    }

    /// An operand of an infix operator. Compilers warn of some mixtures of operators without parentheses.
    fn side(&self, x: &COperand, operator: &str, is_right: bool) -> String {
        let binds = binding(operator);
        let mixed = if binds < 6 || binds == 8 { binds == 1 || binds == 2 } else { true };
        let least = if mixed { binds + u8::from(is_right) } else { UNARY };
        // A comparison in a conjunction needs none, a conjunction in a disjunction does.
        self.operand(x, if operator == "||" { 3 } else { least })
    }

    /// An expression for a value, and how tightly it binds.
    fn expression(&self, value: &CValue) -> (String, u8) {
        match value {
            CValue::Infix(operator, [x, y]) => {
                let (x, y) = (self.side(x, operator, false), self.side(y, operator, true));
                (format!("{x} {operator} {y}"), binding(operator))
            }
            CValue::Prefix(operator, x) => {
                let x = self.operand(x, if *operator == "-" { PRIMARY } else { UNARY });
                (format!("{operator}{x}"), UNARY)
            }
            CValue::Call(name, x) => {
                let x: Vec<String> = x.iter().map(|x| self.operand(x, 0)).collect();
                (format!("{name}({})", x.join(", ")), PRIMARY)
            }
            CValue::Select([mask, x, y]) => {
                let [mask, x, y] = [mask, x, y].map(|x| self.operand(x, 1));
                (format!("{mask} ? {x} : {y}"), 0)
            }
            CValue::Parameter(place) => (parameter(*place).into(), PRIMARY),
            CValue::State(first) => (self.operand(first, 0), 0),
            CValue::Choose(..) => unreachable!("a choice is statements"),
        }
    }

    /// Gives a value a new variable.
    fn variable(&mut self, id: u32) -> String {
        let name = format!("t{}", self.variables);
        self.variables += 1;
        self.written[id as usize] = Some((name.clone(), PRIMARY));
        name
    }

    fn statement(&mut self, statement: &Statement, depth: usize) {
        let body = self.body;
        let id = match statement {
            Statement::Value(id) => *id,
            Statement::Repeat(k) => return self.repeat(*k, depth),
        };
        let (ty, value, _) = &body.values[id as usize];
        let uses = self.uses[id as usize];
        if uses == 0 {
            return;
        }
        match value {
            CValue::Choose(mask, branches) => {
                let name = self.variable(id);
                self.line(depth, &format!("{} {name};", ty.name()));
                let mask = self.operand(mask, 0);
                self.line(depth, &format!("if ({mask}) {{"));
                for (place, (block, x)) in branches.iter().enumerate() {
                    block.statements.iter().for_each(|of| self.statement(of, depth + 1));
                    let x = self.operand(x, 0);
                    self.line(depth + 1, &format!("{name} = {x};"));
                    self.line(depth, if place == 0 { "} else {" } else { "}" });
                }
            }
            CValue::State(_) => {
                let (first, _) = self.expression(value);
                let name = self.variable(id);
                self.line(depth, &format!("{} {name} = {first};", ty.name()));
            }
            CValue::Parameter(_) => self.written[id as usize] = Some(self.expression(value)),
            CValue::Infix(..) | CValue::Prefix(..) | CValue::Call(..) | CValue::Select(_) => {
                let (text, binds) = self.expression(value);
                if uses == 1 && text.len() <= SHORT {
                    self.written[id as usize] = Some((text, binds));
                } else {
                    let name = self.variable(id);
                    self.line(depth, &format!("const {} {name} = {text};", ty.name()));
                }
            }
        }
    }

    fn repeat(&mut self, k: usize, depth: usize) {
        if !self.counted[k] {
            return;
        }
        let body = self.body;
        let CRepeat { state, test, step, next } = &body.repeats[k].0;
        self.line(depth, "for (;;) {");
        test.0.statements.iter().for_each(|of| self.statement(of, depth + 1));
        let goes_on = self.operand(&test.1, UNARY);
        self.line(depth + 1, &format!("if (!{goes_on})"));
        self.line(depth + 2, "break;");
        step.statements.iter().for_each(|of| self.statement(of, depth + 1));
        // All next values are computed before the first variable changes.
        let mut values = Vec::new();
        for (id, x) in state.iter().zip(next) {
            let (ty, text) = (body.values[*id as usize].0.name(), self.operand(x, 0));
            let name = format!("t{}", self.variables);
            self.variables += 1;
            self.line(depth + 1, &format!("const {ty} {name} = {text};"));
            values.push(name);
        }
        for (id, value) in state.iter().zip(values) {
            let name = self.operand(&COperand::Value(*id), 0);
            self.line(depth + 1, &format!("{name} = {value};"));
        }
        self.line(depth, "}");
    }

    /// The statements of a block at the end of the function.
    fn end(&mut self, block: &'b CBlock, result: &COperand, depth: usize) {
        let body = self.body;
        let last = match (block.statements.last(), result) {
            (Some(Statement::Value(last)), COperand::Value(id)) if last == id => Some(&body.values[*id as usize].1),
            _ => None,
        };
        let count = block.statements.len();
        if let Some(CValue::Choose(mask, branches)) = last {
            block.statements[..count - 1].iter().for_each(|of| self.statement(of, depth));
            let mask = self.operand(mask, 0);
            self.line(depth, &format!("if ({mask}) {{"));
            let [(then, x), (otherwise, y)] = &**branches;
            self.end(then, x, depth + 1);
            self.line(depth, "}");
            return self.end(otherwise, y, depth);
        }
        block.statements.iter().for_each(|of| self.statement(of, depth));
        let result = self.operand(result, 0);
        self.line(depth, &format!("return {result};"));
    }
}
