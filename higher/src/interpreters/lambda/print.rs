//! Terms as text, in the notation of "CHAD".

use std::collections::HashMap;
use std::fmt;

use polygrad::ops::{Binary, Notation};

use super::super::recursion::called;
use super::{E, Exp, Lambda, Name, Op};

struct Printer {
    names: HashMap<Name, String>,
    count: usize,
}

/// The precedence of a text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Tight {
    Block,
    Sum,
    Product,
    Application,
    Atom,
}

type Text = (Tight, String);

impl Printer {
    fn bind(&mut self, x: Name) -> String {
        self.count += 1;
        let name = format!("t{}", self.count);
        self.names.insert(x, name.clone());
        name
    }

    /// The name of the accumulator of a variable.
    fn accumulator(&self, x: Name) -> String {
        format!("{}'", self.names.get(&x).cloned().unwrap_or_else(|| format!("v{x}")))
    }

    fn within(&mut self, e: &E, tight: Tight) -> String {
        let (own, text) = self.text(e);
        if own < tight { format!("({text})") } else { text }
    }

    fn applied(&mut self, name: &str, args: &[E]) -> Text {
        let mut text = name.to_string();
        for arg in args {
            text.push(' ');
            text.push_str(&self.within(arg, Tight::Atom));
        }
        (if args.is_empty() { Tight::Atom } else { Tight::Application }, text)
    }

    fn text(&mut self, e: &E) -> Text {
        let _leave = called();
        match &**e {
            Exp::Var(x) => (Tight::Atom, self.names.get(x).cloned().unwrap_or_else(|| format!("v{x}"))),
            Exp::Let(..) => (Tight::Block, self.block(e)),
            Exp::Lam(x, body) => {
                let name = self.bind(*x);
                let (tight, body) = self.text(body);
                if tight == Tight::Block && ["let ", "sums "].iter().any(|start| body.starts_with(start)) {
                    return (Tight::Block, format!("\\{name} ->\n{}", indent(&body)));
                }
                (Tight::Block, format!("\\{name} -> {body}"))
            }
            Exp::Case(s, (x, a), (y, b)) => {
                let sum = self.within(s, Tight::Atom);
                let left = self.branch("left", *x, a);
                let branches = format!("{left}\n{}", self.branch("right", *y, b));
                (Tight::Block, format!("case {sum} of\n{}", indent(&branches)))
            }
            Exp::With(names, command) => {
                let names: Vec<String> = names.iter().map(|x| self.accumulator(*x)).collect();
                let command = self.text(command).1;
                (Tight::Block, format!("sums {} of\n{}", names.join(" "), indent(&command)))
            }
            Exp::Add(x, v) => {
                let v = self.text(v).1;
                (Tight::Block, format!("{} += {v}", self.accumulator(*x)))
            }
            Exp::Op(o, args) => self.operation(o, args),
        }
    }

    /// A branch of a case: below its pattern, if it has several lines.
    fn branch(&mut self, case: &str, x: Name, body: &E) -> String {
        let x = self.bind(x);
        let (_, body) = self.text(body);
        if body.starts_with("let ") {
            format!("{case} {x} ->\n{}", indent(&body))
        } else {
            format!("{case} {x} -> {body}")
        }
    }

    /// A chain of lets, one per line.
    fn block(&mut self, e: &E) -> String {
        let (mut lines, mut at) = (String::new(), e.clone());
        while let Exp::Let(x, value, body) = &*at.clone() {
            let value = self.text(value).1;
            let name = self.bind(*x);
            let start = if lines.is_empty() { "let " } else { "    " };
            lines.push_str(&format!("{start}{name} = {}\n", value.replace('\n', "\n      ")));
            at = body.clone();
        }
        let result = self.text(&at).1;
        format!("{lines}in {}", result.replace('\n', "\n   "))
    }

    fn operation(&mut self, o: &Op, args: &[E]) -> Text {
        let name = match o {
            Op::App => {
                let f = self.within(&args[0], Tight::Application);
                return (Tight::Application, format!("{f} {}", self.within(&args[1], Tight::Atom)));
            }
            Op::Nil => return (Tight::Atom, "<>".into()),
            Op::Seq => {
                let first = self.text(&args[0]).1;
                return (Tight::Block, format!("{first}\n{}", self.text(&args[1]).1));
            }
            Op::Pair => {
                let first = self.text(&args[0]).1;
                return (Tight::Atom, format!("<{first}, {}>", self.text(&args[1]).1));
            }
            Op::Prim(p) => return self.primitive(&p.name(), &args[0]),
            Op::Plus => {
                let first = self.within(&args[0], Tight::Sum);
                return (Tight::Sum, format!("{first} + {}", self.within(&args[1], Tight::Product)));
            }
            Op::Single => {
                let point = self.text(&args[0]).1;
                return (Tight::Atom, format!("[({point}, {})]", self.text(&args[1]).1));
            }
            Op::Push(p) => return self.applied(&format!("D[{}]", p.name()), args),
            Op::Pull(p) => return self.applied(&format!("D[{}]^t", p.name()), args),
            Op::Differences(p) => return self.applied(&format!("D2[{}]^t", p.name()), args),
            Op::Fst => "fst",
            Op::Snd => "snd",
            Op::Inl => "inl",
            Op::Inr => "inr",
            Op::Test => "test",
            Op::Spread(..) => "spread",
            Op::Zero => "zero",
            Op::Sum => "sum",
            Op::Zip => "zip",
            Op::ZipWith => "zipWith",
            Op::Map => "map",
            Op::Iterate => "iterate",
            Op::Fix => "fix",
            Op::Fold => "fold",
            Op::Accumulate(false) => "mapAccumL",
            Op::Accumulate(true) => "mapAccumR",
            Op::Vjp(_) => "vjp",
            Op::Jvp => "jvp",
            Op::Linl => "linl",
            Op::Linr => "linr",
            Op::CastLeft => "castLeft",
            Op::CastRight => "castRight",
        };
        self.applied(name, args)
    }

    fn primitive(&mut self, name: &str, x: &E) -> Text {
        if matches!(&**x, Exp::Op(Op::Nil, _)) {
            return (Tight::Atom, name.to_string());
        }
        let infix = Binary::ALL.iter().find(|b| b.name() == name).map(|b| b.notation());
        if let (Some(infix), Exp::Op(Op::Pair, parts)) = (infix, &**x) {
            let (tight, symbol, right) = match infix {
                Notation::Sum(symbol) => (Tight::Sum, symbol, Tight::Product),
                Notation::Product(symbol) => (Tight::Product, symbol, Tight::Application),
                Notation::Function => return self.applied(name, parts),
            };
            let first = self.within(&parts[0], tight);
            return (tight, format!("{first} {symbol} {}", self.within(&parts[1], right)));
        }
        self.applied(name, std::slice::from_ref(x))
    }
}

fn indent(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| format!("  {line}")).collect();
    lines.join("\n")
}

/// The inputs, and the body.
impl fmt::Display for Lambda {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut printer = Printer { names: HashMap::new(), count: 0 };
        let mut inputs = Vec::new();
        for (k, x) in self.inputs.iter().enumerate() {
            let name = if self.inputs.len() == 1 { "x".to_string() } else { format!("x{}", k + 1) };
            printer.names.insert(*x, name.clone());
            inputs.push(name);
        }
        write!(f, "\\{} ->\n{}", inputs.join(" "), indent(&printer.text(&self.body).1))
    }
}
