//! What a parser and verifier of StableHLO asks of a text before it runs: names, types, attributes and regions, line by
//! line, in regions that are never run, too.
//!
//! Laws: the words of a line are those of its operation and nothing else; the types that a line states are those of its
//! operands, and the rule of its operation gives those of its results ([`super::rules`]).

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::read::{Block, Function, Line, Type};
use super::rules;

type Module = BTreeMap<String, Function>;

/// The types of the values of a function by name, with the number of results for those that have several.
struct Scope<'m> {
    module: &'m Module,
    types: HashMap<String, Type>,
    called: BTreeSet<String>,
}

/// Panics unless each function is well typed, and called unless it is `main`.
pub(super) fn module(module: &Module) {
    let mut called: BTreeSet<String> = ["main".to_owned()].into();
    for (name, function) in module {
        assert_eq!(function.public, name == "main", "main alone is public: {name}");
        let mut scope = Scope { module, types: HashMap::new(), called: BTreeSet::new() };
        let given = scope.block(&function.body);
        assert_eq!(given, function.results, "{name} gives what it says");
        called.extend(scope.called);
    }
    assert!(module.keys().all(|name| called.contains(name)), "every function is called: {called:?}");
}

impl Scope<'_> {
    fn get(&self, name: &str) -> Type {
        self.types.get(name).unwrap_or_else(|| panic!("{name} is used before it is defined")).clone()
    }

    fn define(&mut self, name: &str, ty: &Type) {
        assert!(self.types.insert(name.to_owned(), ty.clone()).is_none(), "{name} is defined twice");
    }

    /// The types of what a block gives.
    fn block(&mut self, block: &Block) -> Vec<Type> {
        block.arguments.iter().for_each(|(name, ty)| self.define(name, ty));
        for line in &block.lines {
            self.line(line);
            if let Some((name, count)) = &line.defines {
                assert_eq!(line.results.len(), *count, "the number of results of {line:?}");
                for (k, ty) in line.results.iter().enumerate() {
                    let name = if *count == 1 { name.clone() } else { format!("{name}#{k}") };
                    self.define(&name, ty);
                }
            } else {
                assert!(line.results.is_empty(), "results without a name: {line:?}");
            }
        }
        for (name, ty) in &block.gives {
            assert_eq!(self.get(name), *ty, "{name} is given");
        }
        block.gives.iter().map(|(_, ty)| ty.clone()).collect()
    }

    /// What a region gives; the names in it end with it.
    fn region(&mut self, region: &Block, arguments: &[Type]) -> Vec<Type> {
        let types: Vec<Type> = region.arguments.iter().map(|(_, ty)| ty.clone()).collect();
        assert_eq!(types, arguments, "the arguments of a region");
        let outside = self.types.clone();
        let given = self.block(region);
        self.types = outside;
        given
    }

    fn line(&mut self, line: &Line) {
        let args: Vec<Type> = line.operands.iter().map(|name| self.get(name)).collect();
        assert_eq!(args, line.takes, "the operands of {line:?}");
        for ty in args.iter().chain(&line.results) {
            let known = ["f64", "f32", "i64", "i32", "i1", "complex<f64>", "complex<f32>"];
            assert!(known.contains(&&ty.element[..]), "an element type: {line:?}");
        }
        let scalar = |ty: &Type| Type { shape: Vec::new(), element: ty.element.clone() };
        let mask = Type { shape: Vec::new(), element: "i1".to_owned() };
        match &line.op[..] {
            "func.call" => {
                let callee = line.words.trim().trim_start_matches('@').split('(').next().expect("a name").to_owned();
                let function = self.module.get(&callee).unwrap_or_else(|| panic!("no function {callee}"));
                let needed: Vec<Type> = function.body.arguments.iter().map(|(_, ty)| ty.clone()).collect();
                assert_eq!((&args, &line.results), (&needed, &function.results), "a call of {callee}");
                line.says(&format!("@{callee}({})", line.operands.join(", ")));
                self.called.insert(callee);
            }
            "stablehlo.if" => {
                assert_eq!(args, [mask], "a condition: {line:?}");
                line.says(&format!("({})", line.operands.join(", ")));
                for region in &line.regions {
                    assert_eq!(self.region(region, &[]), line.results, "a branch: {line:?}");
                }
            }
            "stablehlo.while" => {
                assert_eq!(args, line.results, "the state of a loop stays of its type: {line:?}");
                let names = line.regions[0].arguments.iter().map(|(name, _)| name).zip(&line.operands);
                let pairs: Vec<String> = names.map(|(name, start)| format!("{name} = {start}")).collect();
                line.says(&format!("({})", pairs.join(", ")));
                assert_eq!(self.region(&line.regions[0], &args), [mask], "a condition: {line:?}");
                assert_eq!(self.region(&line.regions[1], &args), args, "the next state: {line:?}");
            }
            "stablehlo.reduce" => {
                let (inputs, inits) = args.split_at(args.len() / 2);
                let out = rules::reduced(line, &inputs[0].shape);
                for ((x, init), result) in inputs.iter().zip(inits).zip(&line.results) {
                    assert_eq!((&x.shape, init), (&inputs[0].shape, &scalar(x)), "operands of one shape: {line:?}");
                    assert_eq!((&result.shape, &result.element), (&out, &x.element), "the results of {line:?}");
                }
                assert_eq!(line.results.len(), inputs.len());
                if let Some(region) = line.regions.first() {
                    let kinds: Vec<Type> = inputs.iter().chain(inputs).map(scalar).collect();
                    assert_eq!(self.region(region, &kinds), kinds[..inputs.len()], "a reducer: {line:?}");
                }
            }
            "stablehlo.sort" => {
                assert_eq!(args, line.results, "{line:?}");
                let dim = line.number("dimension");
                assert!(args.iter().all(|x| x.shape == args[0].shape) && dim < args[0].shape.len(), "{line:?}");
                line.says(&format!("({}) <{{dimension = {dim} : i64, is_stable = true}}>", line.operands.join(", ")));
                let kinds: Vec<Type> = args.iter().flat_map(|x| [scalar(x), scalar(x)]).collect();
                assert_eq!(self.region(&line.regions[0], &kinds), [mask], "an order: {line:?}");
            }
            "stablehlo.scatter" => {
                rules::scatter(line, &args);
                let kinds = [scalar(&args[0]), scalar(&args[0])];
                assert_eq!(self.region(&line.regions[0], &kinds), kinds[..1], "a sum: {line:?}");
            }
            _ => {
                let results = rules::results(line, &args);
                assert_eq!(results, line.results, "the results of {line:?}");
            }
        }
        let regions = match &line.op[..] {
            "stablehlo.while" | "stablehlo.if" => 2,
            "stablehlo.reduce" => usize::from(!line.words.contains("applies")),
            "stablehlo.sort" | "stablehlo.scatter" => 1,
            _ => 0,
        };
        assert_eq!(line.regions.len(), regions, "the regions of {line:?}");
    }
}

impl Line {
    /// Panics unless the words between operation and types are these, up to spaces around them.
    #[track_caller]
    pub(super) fn says(&self, words: &str) {
        assert_eq!(self.words.trim(), words, "the words of {self:?}");
    }
}
