//! Printing programs: one assignment a line, as written by hand.
//!
//! Law: printing is total and deterministic. Names are given here, in order: inputs keep theirs (or get `x0`, `x1`,
//! ..), other values are `t0`, `t1`, ... A value with one use is written in the place of its use while lines stay
//! short, so the text held at a time is bounded however long the program is. A body that several loops share is printed once,
//! under a name (`f0`, `f1`, ..), before the operations: the text is as long as the program, not as long as what it runs.
//! Nothing here recurses, except over the nesting of loops.

pub(crate) mod line;
pub(crate) mod literal;
mod words;

use std::collections::{HashMap, HashSet};
use std::fmt;

use self::literal::{is_number, literal};
use self::words::{Text, words};
use crate::dtype::DType;
use crate::escape;
use crate::program::{Constant, Custom, CustomKind, Loop, NodeId, Op, OpClass, Program, Single, Slot, made, run_by};
use crate::shape::Show;

/// The width of a line; operands are moved to lines of their own to keep it, if possible.
const WIDTH: usize = 100;
/// The longest text that is written in the place of its use.
const INLINE: usize = 64;
/// The deepest nesting of operations in a text.
const DEPTH: u8 = 4;

/// A program as text; `{:#}` prints shape and element type with every name.
///
/// ```
/// use polygrad::program::{Builder, Op, Slot};
/// use polygrad::{DType, ops::{Linear, Unary}};
/// let mut builder = Builder::new();
/// let x = builder.input(Slot { name: "x".into(), shape: [3].as_slice().into(), dtype: DType::F64 });
/// let y = builder.add(Op::Unary(Unary::Sin, x), [3].as_slice().into(), DType::F64);
/// let z = builder.add(Op::Linear(Box::new(Linear::sum(&[3], &[0])), y), [].as_slice().into(), DType::F64);
/// let program = builder.finish(&[z], &[]);
/// assert_eq!(program.to_string(), "program(x: f64[3]) {\n  return sum (sin x)\n}");
/// ```
impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut names = PrintedNames::default();
        let given: Vec<Option<String>> =
            self.inputs().iter().map(|slot| given_name(slot).map(|n| names.unique(n))).collect();
        let given: Vec<String> = given.into_iter().map(|name| name.unwrap_or_else(|| names.next("x"))).collect();
        let kinds = |slots: &[Slot]| slots.iter().map(|s| kind(&s.shape, s.dtype)).collect::<Vec<String>>();
        let inputs: Vec<String> =
            given.iter().zip(kinds(self.inputs())).map(|(name, kind)| format!("{name}: {kind}")).collect();
        let returns =
            if f.alternate() { format!(" -> {}", one_or_tuple(&kinds(self.outputs()))) } else { String::new() };
        let mut printer = Printer { names, wide: f.alternate(), shared: HashMap::new(), out: f };
        printer.list("program", &inputs, &format!("{returns} {{"), 0)?;
        printer.shared_bodies(self)?;
        let results = printer.block(self, given.into_iter().map(Text::name).collect(), 1)?;
        let named = |(slot, text): (&Slot, Text)| match given_name(slot) {
            Some(name) => format!("{name} = {}", text.words),
            None => text.words,
        };
        printer.statement("return", self.outputs().iter().zip(results).map(named).collect(), 1)?;
        printer.out.write_str("}")
    }
}

/// The name of an input or output that has one.
fn given_name(slot: &Slot) -> Option<String> {
    (!slot.name.is_empty()).then(|| escape::name(&slot.name).into_owned())
}

/// Shape and element type: `f64[2, 3]`, `i64`.
fn kind(shape: &[usize], dtype: DType) -> String {
    if shape.is_empty() { dtype.to_string() } else { format!("{dtype}{}", Show(shape)) }
}

/// `a`, or `(a, b)`.
fn one_or_tuple(items: &[String]) -> String {
    match items {
        [one] => one.clone(),
        items => format!("({})", items.join(", ")),
    }
}

/// The names given so far.
#[derive(Default)]
struct PrintedNames {
    /// The names that came with the program. Made-up names differ from these.
    given: HashSet<String>,
    made: HashMap<&'static str, usize>,
    /// The last number that was appended to a name that came several times.
    appended: HashMap<String, usize>,
}

impl PrintedNames {
    /// A name that came with the program, with a number appended if the name was given before.
    fn unique(&mut self, name: String) -> String {
        if self.given.insert(name.clone()) {
            return name;
        }
        let number = self.appended.entry(name.clone()).or_default();
        loop {
            *number += 1;
            let candidate = format!("{name}_{number}");
            if self.given.insert(candidate.clone()) {
                return candidate;
            }
        }
    }

    /// The next name with this letter.
    fn next(&mut self, letter: &'static str) -> String {
        let number = self.made.entry(letter).or_default();
        loop {
            let name = format!("{letter}{number}");
            *number += 1;
            if !self.given.contains(&name) {
                return name;
            }
        }
    }
}

struct Printer<'a, 'f> {
    out: &'a mut fmt::Formatter<'f>,
    names: PrintedNames,
    wide: bool,
    /// The names of bodies that several loops or functions share, by class.
    shared: HashMap<u64, String>,
}

/// The programs whose operations are printed with an operation.
fn printed(op: &Op<NodeId>) -> impl Iterator<Item = &Program> {
    let branches = if let Op::Custom(c, _) = op { c.branches() } else { None };
    let body = run_by(op).filter(|_| !matches!(op, Op::Custom(c, _) if !prints_its_body(c)));
    branches.into_iter().flatten().chain(body)
}

/// Whether a function is printed with its operations: it has no rules.
fn prints_its_body(c: &Custom) -> bool {
    matches!(c.kind(), CustomKind::Checkpointed | CustomKind::While { .. })
}

/// A program that is being printed, with the texts of its values.
struct Scope<'a> {
    program: &'a Program,
    uses: Vec<u32>,
    /// The texts of values with uses left. Numbers are written where they are used, and have none.
    texts: Vec<Option<Text>>,
    /// The used results of each loop: their positions among all results, and their numbers.
    results: HashMap<NodeId, Vec<(usize, NodeId)>>,
    indent: usize,
}

impl<'a> Scope<'a> {
    fn new(program: &'a Program, inputs: Vec<Text>, indent: usize) -> Scope<'a> {
        let nodes = program.nodes();
        let mut results: HashMap<NodeId, Vec<(usize, NodeId)>> = HashMap::new();
        for (k, node) in nodes.iter().enumerate() {
            if let Op::Output(of, position) = node.op {
                results.entry(of).or_default().push((position, k as NodeId));
            }
        }
        let mut texts: Vec<Option<Text>> = inputs.into_iter().map(Some).collect();
        texts.resize_with(nodes.len(), || None);
        Scope { program, uses: program.uses(), texts, results, indent }
    }

    /// The text of a value. The text of a constant is shorter if shape or element type are known.
    fn text(&self, id: NodeId, shape_known: bool, dtype_known: bool) -> Text {
        match (&self.texts[id as usize], &self.program.nodes()[id as usize].op) {
            (None, Op::Constant(Constant(c))) => Text::literal(literal(c, shape_known, dtype_known)),
            (text, _) => made(text.as_ref()).clone(),
        }
    }

    /// The length of the text of a value.
    fn length(&self, id: NodeId) -> usize {
        self.texts[id as usize].as_ref().map_or(0, |text| text.words.len())
    }

    /// The operation of a node in words.
    fn words(&self, op: Single<'_, NodeId>) -> Text {
        words(self.program, op, &|a, shape_known, dtype_known| self.text(a, shape_known, dtype_known))
    }

    /// The operands of a node that have a text and no name, the one with the longest text last; and how long the texts of all
    /// operands are.
    fn unnamed(&self, id: NodeId) -> (Vec<NodeId>, usize) {
        let (mut unnamed, mut length) = (Vec::new(), 0);
        self.program.nodes()[id as usize].op.operands(&mut |a| {
            if let Some(text) = &self.texts[*a as usize] {
                length += text.words.len();
                if text.depth > 0 {
                    unnamed.push(*a);
                }
            }
        });
        unnamed.reverse();
        crate::order::sort_by_key(&mut unnamed, |a| {
            self.texts[*a as usize].as_ref().map_or(0, |text| text.words.len())
        });
        (unnamed, length)
    }
}

impl Printer<'_, '_> {
    fn line(&mut self, indent: usize, words: &str) -> fmt::Result {
        writeln!(self.out, "{:1$}{words}", "", 2 * indent)
    }

    /// Prints the operations of a program and returns the texts of its results.
    fn block(&mut self, program: &Program, inputs: Vec<Text>, indent: usize) -> Result<Vec<Text>, fmt::Error> {
        let first = inputs.len();
        let mut scope = Scope::new(program, inputs, indent);
        let last_use = program.last_use();
        for (k, node) in program.nodes().iter().enumerate().skip(first) {
            let id = k as NodeId;
            match node.op.class() {
                OpClass::Constant(Constant(c)) => {
                    if !is_number(c) && scope.uses[k] > 1 {
                        let text = scope.text(id, false, false);
                        self.assign(&mut scope, id, text)?;
                    }
                }
                OpClass::Loop(l) => self.looped(&mut scope, id, l)?,
                OpClass::Call(op, args) => {
                    let kinds: Vec<_> = args.iter().map(|a| program.nodes()[*a as usize].kind()).collect();
                    self.several(&mut scope, id, &op.words(), args, op.results(&kinds).len())?;
                }
                OpClass::Custom(c, args) => self.custom(&mut scope, id, c, args)?,
                // Named by the loop, or before.
                OpClass::Output(..) | OpClass::Input(_) => {}
                OpClass::Single(op) => {
                    let room = WIDTH.saturating_sub(2 * indent + 8);
                    let mut text = scope.words(op);
                    if text.words.len() > room || text.depth > DEPTH {
                        let (mut unnamed, mut length) = scope.unnamed(id);
                        while let Some(operand) = unnamed.pop() {
                            let before = scope.length(operand);
                            self.name(&mut scope, operand)?;
                            length = length - before + scope.length(operand);
                            // The text is longer than those of its operands.
                            if length <= room {
                                text = scope.words(op);
                                if text.words.len() <= room && text.depth <= DEPTH {
                                    break;
                                }
                            }
                        }
                        text = scope.words(op);
                    }
                    if scope.uses[k] == 1 && text.words.len() <= INLINE {
                        scope.texts[k] = Some(text);
                    } else {
                        self.assign(&mut scope, id, text)?;
                    }
                }
            }
            node.op.operands(&mut |a| {
                if last_use[*a as usize] == id {
                    scope.texts[*a as usize] = None;
                }
            });
        }
        Ok(program.results().iter().map(|r| scope.text(*r, false, false)).collect())
    }

    /// Prints a line that gives a value a name, which is its text from now on.
    fn assign(&mut self, scope: &mut Scope<'_>, id: NodeId, text: Text) -> fmt::Result {
        let name = self.names.next("t");
        let node = &scope.program.nodes()[id as usize];
        let declared = self.declared(&name, &node.shape, node.dtype);
        self.line(scope.indent, &format!("{declared} = {}", text.words))?;
        scope.texts[id as usize] = Some(Text::name(name));
        Ok(())
    }

    /// Gives a value a name, unless it has one or is a literal.
    fn name(&mut self, scope: &mut Scope<'_>, id: NodeId) -> fmt::Result {
        match scope.texts[id as usize].take_if(|text| text.depth > 0) {
            Some(text) => self.assign(scope, id, text),
            None => Ok(()),
        }
    }

    /// A name where it is declared.
    fn declared(&self, name: &str, shape: &[usize], dtype: DType) -> String {
        if self.wide { format!("{name}: {}", kind(shape, dtype)) } else { name.to_owned() }
    }

    fn looped(&mut self, scope: &mut Scope<'_>, id: NodeId, l: &Loop<NodeId>) -> fmt::Result {
        // A captured value keeps its name inside.
        for a in &l.captured {
            self.name(scope, *a)?;
        }
        let mut inputs: Vec<Text> = Vec::with_capacity(l.body.inputs().len());
        inputs.extend(l.init.iter().map(|_| Text::name(self.names.next("h"))));
        inputs.extend(l.xs.iter().map(|_| Text::name(self.names.next("e"))));
        let mut with = Vec::new();
        for a in &l.captured {
            let (text, node) = (scope.text(*a, false, false), &scope.program.nodes()[*a as usize]);
            if scope.texts[*a as usize].is_some() {
                with.push(text.words.clone());
                inputs.push(text);
            } else {
                let name = self.names.next("w");
                with.push(format!("{} = {}", self.declared(&name, &node.shape, node.dtype), text.words));
                inputs.push(Text::name(name));
            }
        }
        let results = self.results(scope, id, l.body.outputs().len());
        let head = format!("{} = loop {}{}", one_or_tuple(&results), l.n, if l.reverse { " reverse" } else { "" });
        let room = WIDTH.saturating_sub(2 * scope.indent + head.len() + 2);
        let length = |clauses: &[String]| clauses.iter().map(String::len).sum::<usize>();
        let mut clauses = self.clauses(scope, l, &inputs, &with);
        if length(&clauses) > room {
            for a in l.init.iter().chain(&l.xs) {
                self.name(scope, *a)?;
            }
            clauses = self.clauses(scope, l, &inputs, &with);
        }
        let before = if length(&clauses) > room { format!("\n{:1$}", "", 2 * scope.indent + 3) } else { String::new() };
        let clauses: String = clauses.iter().map(|clause| format!("{before}{clause}")).collect();
        self.line(scope.indent, &format!("{head}{clauses} {{"))?;

        if let Some(name) = self.shared.get(&l.body.class()).cloned() {
            let word = match (l.init.len(), l.body.outputs().len()) {
                (0, _) => "yield",
                (carried, all) if carried == all => "next",
                _ => "next, yield",
            };
            return self.applied(word, &name, inputs, scope.indent);
        }
        let mut next = self.block(&l.body, inputs, scope.indent + 1)?;
        let outputs = next.split_off(l.init.len());
        for (word, texts) in [("next", next), ("yield", outputs)] {
            if !texts.is_empty() {
                self.statement(word, texts.into_iter().map(|t| t.words).collect(), scope.indent + 1)?;
            }
        }
        self.line(scope.indent, "}")
    }

    /// Prints the bodies that are used several times, those inside a body first:
    /// `body f0(x0: f64, x1: f64[3]) {`, the operations, and what they return.
    fn shared_bodies(&mut self, program: &Program) -> fmt::Result {
        let all = program.distinct(printed);
        let mut uses: HashMap<u64, usize> = HashMap::new();
        for inner in program.operations(printed).flat_map(printed) {
            *uses.entry(inner.class()).or_default() += 1;
        }
        for body in all {
            if uses.get(&body.class()).is_none_or(|uses| *uses < 2) {
                continue;
            }
            let name = self.names.next("f");
            let inputs: Vec<String> = body.inputs().iter().map(|_| self.names.next("x")).collect();
            let kinds = body.inputs().iter().zip(&inputs);
            let items: Vec<String> = kinds.map(|(slot, x)| format!("{x}: {}", kind(&slot.shape, slot.dtype))).collect();
            self.list(&format!("body {name}"), &items, " {", 1)?;
            let results = self.block(body, inputs.into_iter().map(Text::name).collect(), 2)?;
            self.statement("return", results.into_iter().map(|t| t.words).collect(), 2)?;
            self.line(1, "}")?;
            self.shared.insert(body.class(), name);
        }
        Ok(())
    }

    /// The only line of a loop or function whose body has a name, and its end.
    fn applied(&mut self, word: &str, body: &str, inputs: Vec<Text>, indent: usize) -> fmt::Result {
        let inputs: Vec<String> = inputs.into_iter().map(|text| text.words).collect();
        self.list(&format!("{word} {body}"), &inputs, "", indent + 1)?;
        self.line(indent, "}")
    }

    /// `(t0, t1) = name(x, y)`.
    fn several(&mut self, scope: &mut Scope<'_>, id: NodeId, name: &str, args: &[NodeId], count: usize) -> fmt::Result {
        for a in args {
            self.name(scope, *a)?;
        }
        let args: Vec<String> = args.iter().map(|a| scope.text(*a, false, false).words).collect();
        let results = one_or_tuple(&self.results(scope, id, count));
        self.line(scope.indent, &format!("{results} = {name}({})", args.join(", ")))
    }

    /// `t0 = custom name(x, y)`; `t0 = again name(e0 = x) {`, with the operations, of a function without rules; the first
    /// value of the carry of a `while` says whether a trip runs.
    fn custom(&mut self, scope: &mut Scope<'_>, id: NodeId, c: &Custom, args: &[NodeId]) -> fmt::Result {
        if let Some(branches) = c.branches() {
            return self.cond(scope, id, branches, args);
        }
        if !prints_its_body(c) {
            let name = format!("custom {}", escape::name(c.name()));
            return self.several(scope, id, &name, args, c.primal().outputs().len());
        }
        for a in args {
            self.name(scope, *a)?;
        }
        let args: Vec<String> = args.iter().map(|a| scope.text(*a, false, false).words).collect();
        let (head, next) = match c.kind() {
            CustomKind::While { most: None } => ("while (".into(), "next"),
            CustomKind::While { most: Some(most) } => (format!("while, {most} times at most ("), "next"),
            CustomKind::Checkpointed | CustomKind::Rules { .. } | CustomKind::Solve(_) | CustomKind::Cond { .. } => {
                (format!("again {}(", escape::name(c.name())), "return")
            }
        };
        let (inputs, clauses) = self.arguments(c.primal(), &args);
        let results = one_or_tuple(&self.results(scope, id, c.primal().outputs().len()));
        self.line(scope.indent, &format!("{results} = {head}{}) {{", clauses.join(", ")))?;
        if let Some(name) = self.shared.get(&c.primal().class()).cloned() {
            return self.applied(next, &name, inputs, scope.indent);
        }
        let results = self.block(c.primal(), inputs, scope.indent + 1)?;
        self.statement(next, results.into_iter().map(|t| t.words).collect(), scope.indent + 1)?;
        self.line(scope.indent, "}")
    }

    /// The names of the inputs of a program that is printed with an operation, and `e0 = x` for each argument.
    fn arguments(&mut self, program: &Program, args: &[String]) -> (Vec<Text>, Vec<String>) {
        let inputs: Vec<Text> = args.iter().map(|_| Text::name(self.names.next("e"))).collect();
        let slots = program.inputs().iter().zip(&inputs);
        let names = slots.map(|(slot, input)| self.declared(&input.words, &slot.shape, slot.dtype));
        let clauses = names.zip(args).map(|(name, arg)| format!("{name} = {arg}")).collect();
        (inputs, clauses)
    }

    /// `t0 = if m (e0 = x) {`, the operations of one branch, `} else {`, those of the other one, `}`.
    fn cond(&mut self, scope: &mut Scope<'_>, id: NodeId, branches: [&Program; 2], args: &[NodeId]) -> fmt::Result {
        for a in args {
            self.name(scope, *a)?;
        }
        let args: Vec<String> = args.iter().map(|a| scope.text(*a, false, false).words).collect();
        let (inputs, clauses) = self.arguments(branches[0], &args[1..]);
        let results = one_or_tuple(&self.results(scope, id, branches[0].outputs().len()));
        self.line(scope.indent, &format!("{results} = if {} ({}) {{", args[0], clauses.join(", ")))?;
        for (program, end) in branches.into_iter().zip(["} else {", "}"]) {
            if let Some(name) = self.shared.get(&program.class()).cloned() {
                let inputs: Vec<String> = inputs.iter().map(|text| text.words.clone()).collect();
                self.list(&format!("return {name}"), &inputs, "", scope.indent + 1)?;
            } else {
                let results = self.block(program, inputs.clone(), scope.indent + 1)?;
                self.statement("return", results.into_iter().map(|t| t.words).collect(), scope.indent + 1)?;
            }
            self.line(scope.indent, end)?;
        }
        Ok(())
    }

    /// ` carry (h0 = 0.0)`, ` over (e0 in xs)`, ` with (w)`: those that the loop has.
    fn clauses(&self, scope: &Scope<'_>, l: &Loop<NodeId>, inputs: &[Text], with: &[String]) -> Vec<String> {
        let slots = l.body.inputs();
        let item = |k: usize, relation: &str, a: NodeId| {
            let name = self.declared(&inputs[k].words, &slots[k].shape, slots[k].dtype);
            format!("{name} {relation} {}", scope.text(a, false, false).words)
        };
        let carry: Vec<String> = l.init.iter().enumerate().map(|(k, a)| item(k, "=", *a)).collect();
        let over: Vec<String> = l.xs.iter().enumerate().map(|(k, a)| item(l.init.len() + k, "in", *a)).collect();
        let all: [(&str, &[String]); 3] = [("carry", &carry), ("over", &over), ("with", with)];
        let some = all.into_iter().filter(|(_, items)| !items.is_empty());
        some.map(|(word, items)| format!(" {word} ({})", items.join(", "))).collect()
    }

    /// Names the used results of an operation with several.
    fn results(&mut self, scope: &mut Scope<'_>, id: NodeId, count: usize) -> Vec<String> {
        let mut names = vec![String::from("_"); count];
        let mut used = scope.results.remove(&id).unwrap_or_default();
        used.sort_unstable();
        for (position, output) in used {
            let name = self.names.next("t");
            let node = &scope.program.nodes()[output as usize];
            names[position] = self.declared(&name, &node.shape, node.dtype);
            scope.texts[output as usize] = Some(Text::name(name));
        }
        names
    }

    /// `return a`, `return (a, b)`.
    fn statement(&mut self, word: &str, items: Vec<String>, indent: usize) -> fmt::Result {
        match &items[..] {
            [one] => self.line(indent, &format!("{word} {one}")),
            items => self.list(&format!("{word} "), items, "", indent),
        }
    }

    /// Items in brackets, on one line or each on its own.
    fn list(&mut self, before: &str, items: &[String], after: &str, indent: usize) -> fmt::Result {
        let length: usize = items.iter().map(|item| item.len() + 2).sum();
        if 2 * indent + before.len() + length + after.len() <= WIDTH {
            return self.line(indent, &format!("{before}({}){after}", items.join(", ")));
        }
        self.line(indent, &format!("{before}("))?;
        for item in items {
            self.line(indent + 1, &format!("{item},"))?;
        }
        self.line(indent, &format!("){after}"))
    }
}
