//! Text to lines: names, operands, attributes, types and regions.

use std::collections::BTreeMap;

/// The type of a tensor.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Type {
    pub(super) shape: Vec<usize>,
    pub(super) element: String,
}

/// A block of lines with its arguments.
#[derive(Clone, Debug, Default)]
pub(super) struct Block {
    pub(super) arguments: Vec<(String, Type)>,
    pub(super) lines: Vec<Line>,
    /// The names that the block gives, and their types.
    pub(super) gives: Vec<(String, Type)>,
}

/// One operation.
#[derive(Clone, Debug, Default)]
pub(super) struct Line {
    /// The name on the left and the number of results.
    pub(super) defines: Option<(String, usize)>,
    pub(super) op: String,
    pub(super) operands: Vec<String>,
    /// Everything between the name of the operation and the types.
    pub(super) words: String,
    /// The types of the operands, as far as they are stated, and those of the results.
    pub(super) takes: Vec<Type>,
    pub(super) results: Vec<Type>,
    pub(super) regions: Vec<Block>,
}

pub(super) struct Function {
    pub(super) public: bool,
    pub(super) body: Block,
    pub(super) results: Vec<Type>,
}

/// The word with which a region gives its results.
const REGION: &str = "stablehlo.return";

/// A line without the place in the source at its end.
pub(super) fn placeless(line: &str) -> &str {
    line.split(" loc(").next().unwrap_or(line).trim()
}

/// The functions of a module.
pub(super) fn module(text: &str) -> BTreeMap<String, Function> {
    let mut lines = text.lines().map(placeless).filter(|line| !line.starts_with("//"));
    let head = lines.next().expect("a module");
    assert!(head.starts_with("module @") && head.ends_with('{'), "no module: {head}");
    let mut functions = BTreeMap::new();
    while let Some(line) = lines.next() {
        if line == "}" {
            break;
        }
        let (public, rest) = match (line.strip_prefix("func.func public @"), line.strip_prefix("func.func private @")) {
            (Some(rest), _) => (true, rest),
            (_, Some(rest)) => (false, rest),
            (None, None) => panic!("no function: {line}"),
        };
        let (name, rest) = rest.split_once('(').expect("arguments");
        let (arguments, results) = rest.split_once(") -> (").expect("results");
        let mut body = Block { arguments: bound(arguments), ..Block::default() };
        assert_eq!(block(&mut lines, &mut body, "return"), "}", "a function ends");
        let results = types(results.strip_suffix(") {").expect("a body"));
        assert!(
            functions.insert(name.to_owned(), Function { public, body, results }).is_none(),
            "{name} is defined twice"
        );
    }
    assert!(lines.next().is_none(), "text after the module");
    functions
}

/// The lines of a block up to the one that ends it, which is returned. The last line of the block is this word and what
/// the block gives.
fn block<'a>(lines: &mut dyn Iterator<Item = &'a str>, into: &mut Block, give: &str) -> &'a str {
    loop {
        let line = lines.next().expect("a block ends");
        let Some(given) = line.strip_prefix(give).filter(|rest| rest.is_empty() || rest.starts_with(' ')) else {
            let line = operation(line, lines);
            into.lines.push(line);
            continue;
        };
        if let Some((names, given)) = given.split_once(" : ") {
            let (names, given): (Vec<&str>, Vec<Type>) = (names.trim().split(", ").collect(), types(given));
            assert_eq!(names.len(), given.len(), "a type for each value: {line}");
            into.gives = names.into_iter().map(str::to_owned).zip(given).collect();
        } else {
            assert!(given.is_empty(), "values have types: {line}");
        }
        let end = lines.next().expect("a block ends");
        assert!(end.starts_with('}'), "text after what a block gives: {end}");
        return end;
    }
}

fn operation<'a>(text: &'a str, lines: &mut dyn Iterator<Item = &'a str>) -> Line {
    let mut line = Line::default();
    let mut rest = text;
    if text.starts_with('%') {
        let (left, right) = text.split_once(" = ").unwrap_or_else(|| panic!("no operation: {text}"));
        let (name, count) = left.split_once(':').map_or((left, 1), |(name, n)| (name, n.parse().expect("a number")));
        line.defines = Some((name.to_owned(), count));
        rest = right;
    }
    let end = rest.find(|c: char| !(c.is_alphanumeric() || "._\"".contains(c))).unwrap_or(rest.len());
    line.op = rest[..end].trim_matches('"').to_owned();
    let rest = &rest[end..];
    // The regions of operations written with quotes come before their types.
    let rest = if let Some(words) = rest.strip_suffix("({") {
        let mut region = Block::default();
        if line.op == "stablehlo.if" {
            // Its regions have no arguments.
            assert_eq!(block(lines, &mut region, REGION), "}, {");
            line.regions.push(std::mem::take(&mut region));
            let last = block(lines, &mut region, REGION);
            line.regions.push(region);
            return typed(text, line, &format!("{words} {}", last.strip_prefix("})").expect("a region ends")), lines);
        }
        let head = lines.next().expect("a region");
        let arguments = head.strip_prefix("^bb0(").and_then(|h| h.strip_suffix("):")).expect("arguments of a region");
        region.arguments = bound(arguments);
        let last = block(lines, &mut region, REGION);
        line.regions.push(region);
        format!("{words} {}", last.strip_prefix("})").expect("a region ends"))
    } else {
        rest.to_owned()
    };
    typed(text, line, &rest, lines)
}

/// The line with what stands after the name of its operation: operands, attributes and types, and further regions.
fn typed(text: &str, mut line: Line, rest: &str, lines: &mut dyn Iterator<Item = &str>) -> Line {
    let (words, kinds) = rest.rsplit_once(" : ").unwrap_or_else(|| panic!("no types: {text}"));
    line.words = words.to_owned();
    line.operands = names(words);
    match kinds.split_once(" -> ") {
        Some((takes, results)) => {
            line.takes = types(takes.trim_start_matches('(').trim_end_matches(')'));
            line.results = types(results.trim_start_matches('(').trim_end_matches(')'));
        }
        None => {
            line.results = types(kinds);
            line.takes = implied(&line);
        }
    }
    match &line.op[..] {
        // The types of the mask and of the branches are stated.
        "stablehlo.select" => {
            let branch = line.results.pop().expect("a type of the branches");
            line.takes = vec![line.results.remove(0), branch.clone(), branch.clone()];
            line.results = vec![branch];
        }
        // Names and values alternate.
        "stablehlo.while" => {
            assert_eq!(lines.next(), Some("cond {"));
            let bound: Vec<(String, Type)> =
                line.operands.chunks(2).map(|pair| pair[0].clone()).zip(line.results.clone()).collect();
            line.operands = line.operands.chunks(2).map(|pair| pair[1].clone()).collect();
            for end in ["} do {", "}"] {
                let mut region = Block { arguments: bound.clone(), ..Block::default() };
                assert_eq!(block(lines, &mut region, REGION), end);
                line.regions.push(region);
            }
        }
        "stablehlo.reduce" if !words.contains("applies") => {
            // Operands and initial values alternate; in the types the operands come first.
            let of = |k: usize| line.operands.iter().skip(k).step_by(2).cloned();
            line.operands = of(0).chain(of(1)).collect();
            let head = lines.next().and_then(|l| l.strip_prefix("reducer")).expect("a reducer");
            let pairs = head.trim_end_matches('{').replace(") (", ", ");
            let pairs = bound(pairs.trim().trim_start_matches('(').trim_end_matches(')'));
            // Of each operand both arguments stand together; the block takes all first ones, then all second ones.
            let arguments = [0, 1].into_iter().flat_map(|k| pairs.iter().skip(k).step_by(2)).cloned().collect();
            let mut region = Block { arguments, ..Block::default() };
            assert_eq!(block(lines, &mut region, REGION), "}");
            line.regions.push(region);
        }
        _ => {}
    }
    line
}

/// The types of the operands of an operation whose results alone have theirs in the text.
fn implied(line: &Line) -> Vec<Type> {
    let own = line.results.first();
    match &line.op[..] {
        "stablehlo.while" | "stablehlo.optimization_barrier" => line.results.clone(),
        "stablehlo.complex" => {
            let element = own.and_then(|ty| ty.element.strip_prefix("complex<")).and_then(|e| e.strip_suffix('>'));
            let element = element.expect("complex numbers").to_owned();
            vec![Type { shape: line.results[0].shape.clone(), element }; 2]
        }
        _ => line.operands.iter().filter_map(|_| own.cloned()).collect(),
    }
}

/// `%0: tensor<f64>, %1: tensor<2xi64>`.
fn bound(text: &str) -> Vec<(String, Type)> {
    let one = |word: &str| {
        let (name, ty) = word.split_once(": ").expect("a name with its type");
        (name.to_owned(), type_of(ty))
    };
    text.split(", ").filter(|word| !word.is_empty()).map(one).collect()
}

fn types(text: &str) -> Vec<Type> {
    text.split(", ").filter(|word| !word.is_empty()).map(type_of).collect()
}

fn type_of(text: &str) -> Type {
    let inner =
        text.strip_prefix("tensor<").and_then(|t| t.strip_suffix('>')).unwrap_or_else(|| panic!("no type: {text}"));
    let mut words: Vec<&str> = inner.split('x').collect();
    // `complex` has the letter, too.
    let element = if inner.ends_with('>') {
        let element = &inner[inner.find("complex").expect("complex numbers")..];
        words = inner[..inner.len() - element.len()].split('x').collect();
        words.pop();
        element
    } else {
        words.pop().expect("an element type")
    };
    let shape = words.iter().map(|n| n.parse().expect("a size")).collect();
    Type { shape, element: element.to_owned() }
}

/// The names in a text, in order.
fn names(text: &str) -> Vec<String> {
    let part = |c: char| c.is_alphanumeric() || "%#_".contains(c);
    text.split(|c| !part(c)).filter(|word| word.starts_with('%')).map(str::to_owned).collect()
}

impl Line {
    /// What stands in brackets after the operand of a slice: the words, and the bounds of each axis.
    pub(super) fn ranges(&self) -> (&str, Vec<Vec<usize>>) {
        let text = self.words.split_once('[').and_then(|(_, t)| t.split_once(']')).expect("ranges").0;
        let bounds = |part: &str| part.split(':').map(|n| n.parse().expect("a bound")).collect();
        (text, text.split(", ").filter(|p| !p.is_empty()).map(bounds).collect())
    }

    /// What stands after `key` and an equality sign, up to the end of its bracket.
    pub(super) fn after(&self, key: &str) -> Option<&str> {
        let key = format!("{key} = ");
        let mut found = self.words.match_indices(&key).map(|(at, _)| at);
        let starts = |at: &usize| *at == 0 || " <{".contains(&self.words[at - 1..*at]);
        let at = found.find(starts)? + key.len();
        Some(&self.words[at..])
    }

    /// The numbers in brackets after a key: `dims = [0, 1]`; none if there is no such key.
    pub(super) fn numbers(&self, key: &str) -> Vec<i64> {
        self.after(key).map(list).unwrap_or_default()
    }

    pub(super) fn indices(&self, key: &str) -> Vec<usize> {
        self.numbers(key).into_iter().map(|k| usize::try_from(k).expect("an index")).collect()
    }

    /// The two lists of `key = [0] x [1]`; none if there is no such key.
    pub(super) fn pairs(&self, key: &str) -> [Vec<usize>; 2] {
        let Some(text) = self.after(key) else { return [Vec::new(), Vec::new()] };
        let (left, right) = text.split_once(" x ").expect("two lists");
        [left, right].map(|side| list(side).into_iter().map(|k| usize::try_from(k).expect("an axis")).collect())
    }

    /// The words of the three lists of `dim_numbers`.
    pub(super) fn labels(&self) -> [Vec<String>; 3] {
        let text = self.after("dim_numbers").expect("dimension numbers");
        let mut lists = text.split(']').map(|part| part.rsplit('[').next().unwrap_or(""));
        [(); 3].map(|()| lists.next().expect("three lists").split(", ").map(str::to_owned).collect())
    }

    /// The number or word after a key.
    pub(super) fn word(&self, key: &str) -> &str {
        let text = self.after(key).unwrap_or_else(|| panic!("no {key}: {}", self.words));
        text.split([',', ' ', '}', '>']).next().unwrap_or(text)
    }

    pub(super) fn number(&self, key: &str) -> usize {
        self.word(key).parse().unwrap_or_else(|_| panic!("no number {key}: {}", self.words))
    }
}

/// The numbers of `[1, 2]`, or of `[[1, 2], [3, 4]]` one after the other.
fn list(text: &str) -> Vec<i64> {
    assert!(text.starts_with('['), "no list: {text}");
    let mut depth = 0;
    let end = text.find(|c: char| {
        depth += i64::from(c == '[') - i64::from(c == ']');
        depth == 0
    });
    let inner = &text[..end.expect("a list ends")];
    inner.split(['[', ']', ',', ' ']).filter(|word| !word.is_empty()).map(|n| n.parse().expect("a number")).collect()
}
