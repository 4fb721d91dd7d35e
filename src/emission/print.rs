//! Trees as text: what both languages share; `rust.rs` and `c.rs` spell what differs.
//!
//! Law: the text parses as the tree: an operand is in parentheses where the language would read it otherwise.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::array::Array;
use crate::backend::ir::elementwise::ElementwiseOp;
use crate::backend::trees::steps::number_at;
use crate::backend::trees::tree::{
    ArrayId, ArrayKind, ElementIndex, EmittedFunction, Expression, Literal, PositionExpr, Stmt, Variable, VariableId,
};
use crate::dtype::DType;
use crate::ops::{Binary, Compare, FloatStep, IntBinary, IntUnary, Notation, Unary};

/// How tightly the outermost operator of a text binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Binding {
    Choice,
    Or,
    And,
    Comparison,
    Sum,
    Product,
    Prefix,
    Name,
}

/// A text with its binding.
pub(super) type Text = (String, Binding);

/// A function of the text: what a row or an operation on integers is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Callee {
    /// A function of numbers, of this element type.
    Math(&'static str, DType),
    /// An operation on integers.
    Int(&'static str),
    /// A float as an integer: truncated towards zero, saturated, 0 for NaN.
    ToInt(DType),
}

/// The head of a loop: a line before it, the head, and the first line of the body.
pub(super) struct LoopHead {
    pub(super) before: Option<String>,
    pub(super) head: String,
    pub(super) first: Option<String>,
}

impl LoopHead {
    pub(super) fn line(head: String) -> LoopHead {
        LoopHead { before: None, head, first: None }
    }
}

/// What languages spell differently.
pub(super) trait Spelling {
    fn literal(&self, x: Literal) -> Text;
    /// A part of a comment.
    fn comment(&self, text: &str) -> String;
    /// The name of a called function.
    fn callee(&self, callee: Callee) -> String;
    /// The absolute value; not always a function of the text.
    fn absolute(&self, x: Text, dtype: DType) -> Text;
    /// A conversion, but not of a float to an integer.
    fn convert(&self, x: Text, from: DType, to: DType) -> Text;
    fn choice(&self, parts: [Text; 3]) -> Text;
    /// A mask that is compared with a known one.
    fn mask(&self, x: Text) -> Text {
        x
    }
    fn position(&self, index: Text) -> Text;
    fn to_position(&self, x: Text) -> Text;
    fn declare(&self, name: &str, dtype: DType, value: &str, changes: bool) -> String;
    fn declare_position(&self, name: &str, value: &str, changes: bool) -> String;
    /// A position that is known to be at most this number.
    fn at_most(&self, position: Text, _most: i64) -> String {
        position.0
    }
    fn for_head(&self, counter: &str, from: &str, to: &str, down: bool) -> LoopHead;
    fn loop_head(&self) -> &'static str;
    fn if_head(&self, condition: &str) -> String;
    fn renamed(&self, names: [&str; 2], of: [&str; 2], dtype: DType, len: usize) -> Vec<String>;
    /// A parameter as an array.
    fn whole(&self, parameter: &str) -> String;
    fn swap(&self, names: [&str; 2], dtype: DType) -> String;
}

/// A text in parentheses, unless it binds at least so tightly.
pub(super) fn bound((text, binding): Text, least: Binding) -> String {
    if binding >= least { text } else { format!("({text})") }
}

/// The elements of a constant, in lines.
pub(super) fn elements(language: &impl Spelling, array: &Array, indent: &str) -> String {
    let mut text = String::new();
    let mut column = 0;
    for at in 0..array.size() {
        let element = language.literal(number_at(array, at)).0;
        if column + element.len() > 100 {
            let _ = write!(text, "\n{indent}    ");
            column = 0;
        }
        column += element.len() + 2;
        let _ = write!(text, "{element}{}", if at + 1 < array.size() { ", " } else { "" });
    }
    text.replace(" \n", "\n")
}

/// The sides of a comparison of indices, with each term on the side where it is added.
fn sides(a: &ElementIndex, b: &ElementIndex) -> [ElementIndex; 2] {
    let mut sides = [ElementIndex::default(), ElementIndex::default()];
    for (side, index) in [(0, a), (1, b)] {
        for (variable, factor) in &index.terms {
            let to = if *factor > 0 { side } else { 1 - side };
            let term = ElementIndex::of(*variable).times(factor.abs());
            sides[to] = std::mem::take(&mut sides[to]).plus(&term);
        }
    }
    let constant = a.constant.wrapping_sub(b.constant);
    let to = usize::from(constant < 0);
    sides[to] = std::mem::take(&mut sides[to]).plus_constant(constant.abs());
    sides
}

/// Whether `a <= b` holds whatever the variables are, which are not negative.
fn holds(a: &ElementIndex, b: &ElementIndex) -> bool {
    sides(a, b)[0].known() == Some(0)
}

/// A function that is being printed.
pub(super) struct CodePrinter<'a, L> {
    pub(super) language: L,
    function: &'a EmittedFunction,
    /// The names of arrays.
    arrays: &'a [String],
    /// The names of variables that are declared.
    names: BTreeMap<VariableId, String>,
    numbers: [usize; 2],
    /// The positions that change.
    moved: BTreeSet<VariableId>,
    /// The functions that the text calls.
    pub(super) called: BTreeSet<Callee>,
    pub(super) text: String,
    depth: usize,
}

/// The names of counters by depth.
const COUNTERS: [&str; 6] = ["i", "j", "k", "l", "m", "n"];

impl<'a, L: Spelling> CodePrinter<'a, L> {
    pub(super) fn new(
        language: L,
        function: &'a EmittedFunction,
        arrays: &'a [String],
        depth: usize,
    ) -> CodePrinter<'a, L> {
        let mut moved = BTreeSet::new();
        function.body.iter().for_each(|stmt| {
            stmt.walk(&mut |stmt| {
                if let Stmt::SetPosition(variable, _) = stmt {
                    moved.insert(*variable);
                }
            });
        });
        CodePrinter {
            moved,
            language,
            function,
            arrays,
            names: BTreeMap::new(),
            numbers: [0; 2],
            called: Default::default(),
            text: String::new(),
            depth,
        }
    }

    fn line(&mut self, text: &str) {
        let _ = writeln!(self.text, "{:1$}{text}", "", 4 * self.depth);
    }

    pub(super) fn block(&mut self, body: &[Stmt]) {
        body.iter().for_each(|stmt| self.stmt(stmt));
    }

    fn inner(&mut self, body: &[Stmt]) {
        self.depth += 1;
        self.block(body);
        self.depth -= 1;
    }

    /// The name of a new variable.
    fn new_name(&mut self, variable: VariableId) -> String {
        let name = match self.function.variables[variable as usize] {
            Variable::Counter(depth) => COUNTERS.get(depth).map_or_else(|| format!("i{depth}"), |name| (*name).into()),
            Variable::Value(_) => {
                self.numbers[0] += 1;
                format!("v{}", self.numbers[0])
            }
            Variable::Position => {
                self.numbers[1] += 1;
                format!("p{}", self.numbers[1])
            }
        };
        self.names.insert(variable, name.clone());
        name
    }

    fn name(&self, variable: VariableId) -> String {
        self.names.get(&variable).cloned().expect("a variable is declared before its uses")
    }

    fn dtype(&self, variable: VariableId) -> DType {
        match self.function.variables[variable as usize] {
            Variable::Value(dtype) => dtype,
            Variable::Counter(_) | Variable::Position => DType::I64,
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Comment(text) => {
                let text = self.language.comment(text);
                self.line(&format!("// {text}"));
            }
            Stmt::Let(variable, value) | Stmt::Var(variable, value) => {
                let value = self.expr(value).0;
                let (name, dtype) = (self.new_name(*variable), self.dtype(*variable));
                let text = self.language.declare(&name, dtype, &value, matches!(stmt, Stmt::Var(..)));
                self.line(&text);
            }
            Stmt::Set(variable, value) => {
                let name = self.name(*variable);
                self.assign(&name, &|target| matches!(target, Expression::Variable(known) if known == variable), value);
            }
            Stmt::Position(variable, value) => {
                let value = self.position(value);
                let name = self.new_name(*variable);
                let text = self.language.declare_position(&name, &value, self.moved.contains(variable));
                self.line(&text);
            }
            Stmt::SetPosition(variable, value) => {
                let value = self.position(value);
                self.line(&format!("{} = {value};", self.name(*variable)));
            }
            Stmt::Store(array, index, value) => {
                let place = self.element(*array, index);
                let own =
                    |target: &Expression| matches!(target, Expression::Load(of, at) if of == array && at == index);
                self.assign(&place, &own, value);
            }
            Stmt::For { counter, from, to, down, body } => {
                // A bound that depends on counters is repeated as a number, so that compilers drop checks of indices.
                let most = self.function.reach(to).filter(|_| to.known().is_none()).map(|(_, most)| most);
                let (from, to) = (self.index(from).0, self.index(to));
                let to = most.map_or_else(|| to.0.clone(), |most| self.language.at_most(to.clone(), most));
                let name = self.new_name(*counter);
                let LoopHead { before, head, first } = self.language.for_head(&name, &from, &to, *down);
                before.iter().for_each(|text| self.line(text));
                self.line(&format!("{head} {{"));
                self.depth += 1;
                first.iter().for_each(|text| self.line(text));
                self.depth -= 1;
                self.inner(body);
                self.line("}");
            }
            Stmt::Loop(body) => {
                self.line(&format!("{} {{", self.language.loop_head()));
                self.inner(body);
                self.line("}");
            }
            Stmt::If(condition, then, otherwise) => {
                let condition = self.expr(condition).0;
                let head = self.language.if_head(&condition);
                self.line(&format!("{head} {{"));
                self.inner(then);
                if !otherwise.is_empty() {
                    self.line("} else {");
                    self.inner(otherwise);
                }
                self.line("}");
            }
            Stmt::Break => self.line("break;"),
            Stmt::Renamed { names, of, body } => {
                self.line("{");
                self.depth += 1;
                let info = &self.function.arrays[of[0] as usize];
                let array = |id: &ArrayId| &self.arrays[*id as usize][..];
                let whole = |id: &ArrayId| match self.function.arrays[*id as usize].kind {
                    ArrayKind::Output(_) | ArrayKind::Scratch => self.language.whole(array(id)),
                    ArrayKind::Input(_) | ArrayKind::Constant(_) | ArrayKind::Stack => array(id).to_owned(),
                    ArrayKind::Name => array(id).to_owned(),
                };
                let of = [whole(&of[0]), whole(&of[1])];
                let names = [array(&names[0]), array(&names[1])];
                let lines = self.language.renamed(names, [&of[0], &of[1]], info.dtype, info.len);
                lines.iter().for_each(|text| self.line(text));
                self.block(body);
                self.depth -= 1;
                self.line("}");
            }
            Stmt::Swap(names) => {
                let array = |id: &ArrayId| &self.arrays[*id as usize][..];
                let dtype = self.function.arrays[names[0] as usize].dtype;
                let text = self.language.swap([array(&names[0]), array(&names[1])], dtype);
                self.line(&text);
            }
        }
    }

    /// An assignment to a place, which `own` recognizes.
    fn assign(&mut self, place: &str, own: &dyn Fn(&Expression) -> bool, value: &Expression) {
        if let Expression::Op(op, _) = value
            && let ElementwiseOp::Binary(Binary::Add, a, b) = &**op
            && own(a)
        {
            let b = self.expr(b).0;
            return self.line(&format!("{place} += {b};"));
        }
        let value = self.expr(value).0;
        self.line(&format!("{place} = {value};"));
    }

    fn element(&mut self, array: ArrayId, index: &ElementIndex) -> String {
        let name = &self.arrays[array as usize];
        if self.function.arrays[array as usize].number {
            return name.clone();
        }
        let index = self.index(index).0;
        format!("{name}[{index}]")
    }

    /// An index; its text is never negative on the way from left to right.
    fn index(&self, index: &ElementIndex) -> Text {
        let part = |name: String, factor: u64| match factor {
            1 => (name, Binding::Name),
            factor => (format!("{factor} * {name}"), Binding::Product),
        };
        let terms = |positive: bool| {
            index.terms.iter().filter(move |t| (t.1 > 0) == positive).map(|t| part(self.name(t.0), t.1.unsigned_abs()))
        };
        let mut added: Vec<Text> = terms(true).collect();
        let mut removed: Vec<Text> = terms(false).collect();
        match index.constant {
            0 if !added.is_empty() => {}
            0.. => added.push((index.constant.to_string(), Binding::Name)),
            _ => removed.push((index.constant.unsigned_abs().to_string(), Binding::Name)),
        }
        if added.is_empty() {
            added.push(("0".into(), Binding::Name));
        }
        if removed.is_empty() && added.len() == 1 {
            return added.remove(0);
        }
        let mut text = added.into_iter().map(|(text, _)| text).collect::<Vec<_>>().join(" + ");
        removed.iter().for_each(|(part, _)| _ = write!(text, " - {part}"));
        (text, Binding::Sum)
    }

    /// A comparison of indices, written without a subtraction on either side.
    fn compared(&self, a: &ElementIndex, op: &str, b: &ElementIndex) -> Text {
        let [left, right] = sides(a, b);
        (format!("{} {op} {}", self.index(&left).0, self.index(&right).0), Binding::Comparison)
    }

    fn position(&mut self, value: &PositionExpr) -> String {
        match value {
            PositionExpr::Affine(index) => self.index(index).0,
            PositionExpr::Quotient(index, by) => format!("{} / {by}", bound(self.index(index), Binding::Prefix)),
            PositionExpr::Remainder(index, by) => format!("{} % {by}", bound(self.index(index), Binding::Prefix)),
            PositionExpr::Int(value) => {
                let value = self.expr(value);
                self.language.to_position(value).0
            }
        }
    }

    /// The text of an expression.
    pub(super) fn expr(&mut self, expr: &Expression) -> Text {
        match expr {
            Expression::Literal(number) => self.language.literal(*number),
            Expression::Variable(variable) => (self.name(*variable), Binding::Name),
            Expression::Load(array, index) => (self.element(*array, index), Binding::Name),
            Expression::Op(op, dtype) => self.op(op, *dtype),
            Expression::Position(index) => self.language.position(self.index(index)),
            Expression::AtMost(a, b) if holds(a, b) => ("true".into(), Binding::Name),
            Expression::AtMost(a, b) => self.compared(a, "<=", b),
            Expression::Below(a, b) => self.compared(a, "<", b),
            Expression::IsIndex(value, size) => {
                let value = bound(self.expr(value), Binding::Sum);
                (format!("0 <= {value} && {value} < {size}"), Binding::And)
            }
            Expression::All(all) => {
                let open = all.iter().filter(|of| !matches!(of, Expression::AtMost(a, b) if holds(a, b)));
                let open: Vec<String> = open.map(|of| bound(self.expr(of), Binding::And)).collect();
                if open.is_empty() { ("true".into(), Binding::Name) } else { (open.join(" && "), Binding::And) }
            }
            Expression::If(parts) => {
                let [a, b, c] = &**parts;
                let parts = [self.expr(a), self.expr(b), self.expr(c)];
                self.language.choice(parts)
            }
        }
    }

    fn infix(&mut self, a: &Expression, op: &str, b: &Expression, binding: Binding) -> Text {
        let (a, b) = (self.expr(a), self.expr(b));
        // Operators of one binding are read from left to right; comparisons are not chained.
        let least = if binding == Binding::Comparison { Binding::Sum } else { binding };
        let next = match binding {
            Binding::Sum => Binding::Product,
            Binding::Product => Binding::Prefix,
            Binding::Comparison => Binding::Sum,
            Binding::Choice | Binding::Or | Binding::And | Binding::Prefix | Binding::Name => Binding::Comparison,
        };
        let least = if matches!(binding, Binding::And | Binding::Or) { Binding::Comparison } else { least };
        (format!("{} {op} {}", bound(a, least), bound(b, next)), binding)
    }

    fn call(&mut self, callee: Callee, args: &[&Expression]) -> Text {
        self.called.insert(callee);
        let args: Vec<String> = args.iter().map(|arg| self.expr(arg).0).collect();
        (format!("{}({})", self.language.callee(callee), args.join(", ")), Binding::Name)
    }

    fn op(&mut self, op: &ElementwiseOp<Expression>, dtype: DType) -> Text {
        match op {
            ElementwiseOp::Unary(op, a) => self.unary(*op, a, dtype),
            ElementwiseOp::Binary(op, a, b) => match op.notation() {
                Notation::Sum(symbol) => self.infix(a, symbol, b, Binding::Sum),
                Notation::Product(symbol) => self.infix(a, symbol, b, Binding::Product),
                Notation::Function => self.call(Callee::Math(op.name(), dtype), &[a, b]),
            },
            ElementwiseOp::Compare(op, a, b) => {
                let symbol = match op {
                    Compare::Eq => "==",
                    Compare::Ne => "!=",
                    Compare::Lt => "<",
                    Compare::Le => "<=",
                    Compare::Gt => ">",
                    Compare::Ge => ">=",
                };
                let known = |of: &Expression| matches!(of, Expression::Literal(Literal::Bool(_)));
                if known(a) || known(b) {
                    // Compilers warn of comparisons of masks with known ones.
                    let (a, b) = (self.expr(a), self.expr(b));
                    let [a, b] = [self.language.mask(a), self.language.mask(b)].map(|of| bound(of, Binding::Sum));
                    return (format!("{a} {symbol} {b}"), Binding::Comparison);
                }
                self.infix(a, symbol, b, Binding::Comparison)
            }
            ElementwiseOp::IntUnary(op, a) => {
                let name = match op {
                    IntUnary::Neg => "neg",
                    IntUnary::Abs => "abs",
                    IntUnary::BitNot => {
                        return (format!("{} ^ -1", bound(self.expr(a), Binding::Prefix)), Binding::Choice);
                    }
                };
                self.call(Callee::Int(name), &[a])
            }
            ElementwiseOp::IntBinary(op, a, b) => {
                let name = match op {
                    IntBinary::Add => "add",
                    IntBinary::Sub => "sub",
                    IntBinary::Mul => "mul",
                    IntBinary::Quot => "quot",
                    IntBinary::Rem => "rem",
                    IntBinary::Min => "min",
                    IntBinary::Max => "max",
                    IntBinary::BitAnd => return self.bits(a, "&", b),
                    IntBinary::BitOr => return self.bits(a, "|", b),
                    IntBinary::BitXor => return self.bits(a, "^", b),
                    IntBinary::Shl => "shl",
                    IntBinary::Shr => "shr",
                    IntBinary::ShrSigned => "shr_signed",
                    IntBinary::Threefry => "threefry",
                };
                self.call(Callee::Int(name), &[a, b])
            }
            ElementwiseOp::And(a, b) => self.infix(a, "&&", b, Binding::And),
            ElementwiseOp::Or(a, b) => self.infix(a, "||", b, Binding::Or),
            ElementwiseOp::Not(a) => (format!("!{}", bound(self.expr(a), Binding::Name)), Binding::Prefix),
            ElementwiseOp::FloatStep(op, a) => {
                let name = match op {
                    FloatStep::Floor => "floor",
                    FloatStep::Ceil => "ceil",
                    FloatStep::Round => "round",
                    FloatStep::Sign => "sign",
                    FloatStep::StopGradient => return self.expr(a),
                };
                self.call(Callee::Math(name, dtype), &[a])
            }
            ElementwiseOp::Convert(from, a) if *from == dtype => self.expr(a),
            ElementwiseOp::Convert(from, a) if from.is_float() && dtype == DType::I64 => {
                self.call(Callee::ToInt(*from), &[a])
            }
            ElementwiseOp::Convert(from, a) => {
                let a = self.expr(a);
                self.language.convert(a, *from, dtype)
            }
            ElementwiseOp::Select([mask, a, b]) => {
                let parts = [self.expr(mask), self.expr(a), self.expr(b)];
                self.language.choice(parts)
            }
        }
    }

    /// An operation on bits, which each language binds differently.
    fn bits(&mut self, a: &Expression, symbol: &str, b: &Expression) -> Text {
        let [a, b] = [a, b].map(|x| bound(self.expr(x), Binding::Prefix));
        (format!("{a} {symbol} {b}"), Binding::Choice)
    }

    fn unary(&mut self, op: Unary, a: &Expression, dtype: DType) -> Text {
        match op {
            // A sign before a number that has one would be another operator.
            Unary::Neg => (format!("-{}", bound(self.expr(a), Binding::Name)), Binding::Prefix),
            Unary::Square => {
                let a = bound(self.expr(a), Binding::Prefix);
                (format!("{a} * {a}"), Binding::Product)
            }
            Unary::Recip => {
                let (one, a) = (self.language.literal(Literal::of(dtype, 1)).0, self.expr(a));
                (format!("{one} / {}", bound(a, Binding::Prefix)), Binding::Product)
            }
            Unary::Abs => {
                let a = self.expr(a);
                self.language.absolute(a, dtype)
            }
            Unary::OneMinusSquare
            | Unary::Sqrt
            | Unary::Exp
            | Unary::Ln
            | Unary::Log1p
            | Unary::Expm1
            | Unary::Sin
            | Unary::Cos
            | Unary::Tan
            | Unary::Asin
            | Unary::Acos
            | Unary::Atan
            | Unary::Sinh
            | Unary::Cosh
            | Unary::Tanh
            | Unary::Sech2
            | Unary::Asinh
            | Unary::Acosh
            | Unary::Atanh
            | Unary::Sigmoid
            | Unary::Relu
            | Unary::Softplus
            | Unary::Gaussian
            | Unary::Erf
            | Unary::Erfc
            | Unary::Erfinv
            | Unary::Lgamma
            | Unary::Digamma
            | Unary::Trigamma => self.call(Callee::Math(op.name(), dtype), &[a]),
        }
    }
}
