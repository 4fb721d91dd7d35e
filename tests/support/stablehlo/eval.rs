//! Lines to values, and the operations with regions.

use std::collections::{BTreeMap, HashMap};

use super::read::{Block, Function, Line, Type};
use super::tensor::{Tensor, flat, indices};
use super::{indexed, linalg, numbers, shaped};

type Module = BTreeMap<String, Function>;

/// The values of a function by name, and every name that was defined.
struct Scope<'m> {
    module: &'m Module,
    values: HashMap<String, Tensor>,
}

/// The results of a function.
pub(super) fn call(module: &Module, function: &Function, inputs: Vec<Tensor>) -> Vec<Tensor> {
    let mut scope = Scope { module, values: HashMap::new() };
    let results = scope.block(&function.body, inputs);
    let types: Vec<Type> = results.iter().map(|t| t.ty.clone()).collect();
    assert_eq!(types, function.results, "a function gives what it says");
    results
}

impl Scope<'_> {
    fn get(&self, name: &str) -> &Tensor {
        self.values.get(name).unwrap_or_else(|| panic!("{name} is used before it is defined"))
    }

    fn block(&mut self, block: &Block, inputs: Vec<Tensor>) -> Vec<Tensor> {
        assert_eq!(block.arguments.len(), inputs.len(), "as many inputs as arguments");
        for ((name, ty), input) in block.arguments.iter().zip(inputs) {
            assert_eq!(input.ty, *ty, "the argument {name}");
            self.values.insert(name.clone(), input);
        }
        for line in &block.lines {
            let results = self.line(line);
            let types: Vec<Type> = results.iter().map(|t| t.ty.clone()).collect();
            assert_eq!(types, line.results, "the types of {line:?}");
            if let Some((name, count)) = &line.defines {
                assert_eq!(results.len(), *count, "the number of results of {line:?}");
                for (k, value) in results.into_iter().enumerate() {
                    let name = if *count == 1 { name.clone() } else { format!("{name}#{k}") };
                    self.values.insert(name, value);
                }
            }
        }
        let give = |(name, ty): &(String, Type)| {
            let value = self.get(name).clone();
            assert_eq!(value.ty, *ty, "{name} is given");
            value
        };
        block.gives.iter().map(give).collect()
    }

    fn line(&mut self, line: &Line) -> Vec<Tensor> {
        let args: Vec<Tensor> = line.operands.iter().map(|name| self.get(name).clone()).collect();
        if !line.takes.is_empty() {
            let types: Vec<Type> = args.iter().map(|t| t.ty.clone()).collect();
            assert_eq!(types, line.takes, "the operands of {line:?}");
        }
        let name = line.op.split_once('.').map_or(&line.op[..], |(_, name)| name);
        match name {
            "call" => {
                let callee = line.words.trim().trim_start_matches('@').split('(').next().expect("a name");
                let function = self.module.get(callee).unwrap_or_else(|| panic!("no function {callee}"));
                assert!(!function.public, "main is not called");
                call(self.module, function, args)
            }
            "optimization_barrier" => args,
            "custom_call" => linalg::custom_call(line, &args),
            "if" => {
                let region = usize::from(args[0].i()[0] == 0);
                self.block(&line.regions[region], Vec::new())
            }
            "while" => {
                let mut state = args;
                while self.block(&line.regions[0], state.clone())[0].i()[0] != 0 {
                    state = self.block(&line.regions[1], state);
                }
                state
            }
            "reduce" => self.reduce(line, &args),
            "sort" => self.sort(line, &args),
            "scatter" => {
                let mut result = args[0].clone();
                for (at, from) in indexed::scattered(line, &args) {
                    let both = vec![result.element(at), args[2].element(from)];
                    let sum = self.block(&line.regions[0], both);
                    result.put(at, &sum[0]);
                }
                vec![result]
            }
            _ => {
                let result = numbers::elementwise(name, line, &args);
                let result = result.or_else(|| shaped::shaped(name, line, &args));
                let result = result.or_else(|| indexed::indexed(name, line, &args));
                vec![result.unwrap_or_else(|| panic!("{} is not known", line.op))]
            }
        }
    }

    /// Operands, then as many initial values.
    fn reduce(&mut self, line: &Line, args: &[Tensor]) -> Vec<Tensor> {
        let (inputs, inits) = args.split_at(args.len() / 2);
        let dims = line.indices("dimensions");
        let shape = inputs[0].shape().to_vec();
        let kept: Vec<usize> = (0..shape.len()).filter(|k| !dims.contains(k)).collect();
        let out: Vec<usize> = kept.iter().map(|k| shape[*k]).collect();
        let of = |init: &Tensor| init.taken(&out, std::iter::repeat_n(0, out.iter().product()));
        let mut results: Vec<Tensor> = inits.iter().map(of).collect();
        for (from, index) in indices(&shape).enumerate() {
            let at = flat(&out, &kept.iter().map(|k| index[*k]).collect::<Vec<usize>>());
            let now: Vec<Tensor> = results.iter().map(|r| r.element(at)).collect();
            let next: Vec<Tensor> = inputs.iter().map(|x| x.element(from)).collect();
            let applied = line.words.split("applies stablehlo.").nth(1).and_then(|words| words.split(' ').next());
            let merged = match applied {
                Some(op) => {
                    vec![numbers::elementwise(op, line, &[now[0].clone(), next[0].clone()]).expect("it is known")]
                }
                None => self.block(&line.regions[0], now.into_iter().chain(next).collect()),
            };
            results.iter_mut().zip(&merged).for_each(|(r, m)| r.put(at, m));
        }
        results
    }

    /// A stable sort by insertion.
    fn sort(&mut self, line: &Line, args: &[Tensor]) -> Vec<Tensor> {
        assert!(line.word("is_stable") == "true");
        let (dim, shape) = (line.number("dimension"), args[0].shape().to_vec());
        let mut results = args.to_vec();
        let stride: usize = shape[dim + 1..].iter().product();
        for start in indices(&shape).filter(|index| index[dim] == 0) {
            let start = flat(&shape, &start);
            let mut order: Vec<usize> = Vec::new();
            for k in 0..shape[dim] {
                let at = start + k * stride;
                let mut place = order.len();
                while place > 0 {
                    let other = order[place - 1];
                    let pair = args.iter().flat_map(|x| [x.element(at), x.element(other)]).collect();
                    if self.block(&line.regions[0], pair)[0].i()[0] == 0 {
                        break;
                    }
                    place -= 1;
                }
                order.insert(place, at);
            }
            for (k, from) in order.into_iter().enumerate() {
                results.iter_mut().zip(args).for_each(|(r, x)| r.put(start + k * stride, &x.element(from)));
            }
        }
        results
    }
}
