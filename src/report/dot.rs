//! Programs in the DOT language of Graphviz.
//!
//! Law: the text is deterministic, and as long as the program is, not as what it runs: a program that several loops run
//! is drawn once. Each operand is an edge between declared nodes. Nothing recurses.

use std::collections::HashMap;
use std::fmt::Write;

use super::described::{Role, place};
use crate::escape;
use crate::program::{NodeId, Program, run_by};
use crate::text::line::{heading, inner_input, inner_result, kind_of, operand_roles};

impl Program {
    /// The program as a graph in the DOT language of [Graphviz](https://graphviz.org): a node for each operation, with its
    /// name, the element type and shape of its result, and the line of the source that wrote it, where that is known. An
    /// operand is an edge.
    ///
    /// Inputs are blue ellipses, constants grey boxes, results green ellipses with two lines, and choices by a mask
    /// diamonds whose edges say `mask`, `then` and `else`. A loop or a function is a cluster: its first node has the
    /// operands and leads to the inputs of its program by dotted edges, and the results of its program lead back to it by
    /// dashed edges. A program that several loops or functions run is drawn with the first one. Derivative rules of
    /// functions are left out.
    ///
    /// ```
    /// use polygrad::{Function, tensor};
    /// let f = Function::stage(|x| x.sin().sum(), &tensor([1.0, 2.0]));
    /// let text = f.optimized().to_dot();
    /// assert!(text.starts_with("digraph program {"));
    /// assert!(text.contains("n0 [label=\"x\\nf64[2]\", shape=ellipse"));
    /// assert!(text.contains("n1 [label=\"sin\\nf64[2]"));
    /// assert!(text.contains("n0 -> n1;"));
    /// ```
    pub fn to_dot(&self) -> String {
        let mut writer = DotWriter { text: String::from(HEAD), edges: String::new(), drawn: HashMap::new(), depth: 1 };
        writer.all(self);
        writer.text + &writer.edges + "}\n"
    }
}

const HEAD: &str = "digraph program {\n  node [shape=box, style=filled, fillcolor=white, fontname=\"monospace\"];\n  edge \
                    [fontname=\"monospace\", fontsize=10];\n";

struct DotWriter {
    text: String,
    /// The edges, which follow the nodes: a node belongs to the cluster that names it first.
    edges: String,
    /// The node of the operation with which a program is drawn, by class.
    drawn: HashMap<u64, String>,
    depth: usize,
}

/// A program that is being drawn.
struct OpenCluster<'a> {
    program: &'a Program,
    /// The prefix of the names of its nodes.
    prefix: String,
    next: usize,
    /// The program and the number of the operation that runs it.
    run_by: Option<(&'a Program, usize, String)>,
}

impl DotWriter {
    fn line(&mut self, words: &str) {
        let _ = writeln!(self.text, "{:1$}{words}", "", 2 * self.depth);
    }

    fn edge(&mut self, from: &str, to: &str, label: &str, style: &str) {
        let label = if label.is_empty() { String::new() } else { format!("label=\"{}\"", escape::dot(label)) };
        let attributes: Vec<&str> = [label.as_str(), style].into_iter().filter(|words| !words.is_empty()).collect();
        let attributes = if attributes.is_empty() { String::new() } else { format!(" [{}]", attributes.join(", ")) };
        let _ = writeln!(self.edges, "  {from} -> {to}{attributes};");
    }

    fn all(&mut self, program: &Program) {
        let mut open = vec![OpenCluster { program, prefix: String::new(), next: 0, run_by: None }];
        while let Some(cluster) = open.last_mut() {
            let (program, k) = (cluster.program, cluster.next);
            cluster.next += 1;
            if k == program.nodes().len() {
                if let Some(done) = open.pop() {
                    self.results(&done);
                }
                continue;
            }
            let (prefix, outer) = (cluster.prefix.clone(), cluster.run_by.clone());
            let name = format!("{prefix}n{k}");
            let inside = run_by(&program.nodes()[k].op);
            let new = inside.filter(|inner| !self.drawn.contains_key(&inner.class()));
            let inner = format!("b{}_", self.drawn.len());
            if let Some(inside) = new {
                self.line(&format!("subgraph cluster_{} {{", self.drawn.len()));
                self.depth += 1;
                self.line(&format!("label=\"{}\";", escape::dot(&heading(program, k as NodeId))));
                self.drawn.insert(inside.class(), name.clone());
            }
            self.node(program, k as NodeId, &name, outer.as_ref());
            self.operands(program, k as NodeId, &prefix);
            match (inside, new) {
                (Some(inside), Some(_)) => {
                    (0..inside.inputs().len())
                        .for_each(|i| self.edge(&name, &format!("{inner}n{i}"), "", "style=dotted"));
                    let run_by = Some((program, k, name));
                    open.push(OpenCluster { program: inside, prefix: inner, next: 0, run_by });
                }
                (Some(inside), None) => {
                    let first = self.drawn[&inside.class()].clone();
                    self.edge(&name, &first, "same program", "style=dashed, constraint=false");
                }
                (None, _) => {}
            }
        }
    }

    /// The node of an operation; `outer` is the operation that runs its program.
    fn node(&mut self, program: &Program, id: NodeId, name: &str, outer: Option<&(&Program, usize, String)>) {
        let role = Role::of(&program.nodes()[id as usize].op);
        let what = match outer.filter(|_| role == Role::Input) {
            Some((around, k, _)) => inner_input(&around.nodes()[*k].op, id as usize),
            None => heading(program, id),
        };
        let parts = [what, kind_of(program, id), place(program, id)];
        let parts: Vec<String> =
            parts.iter().filter(|words| !words.is_empty()).map(|words| escape::dot(words)).collect();
        let look = look(role);
        self.line(&format!("{name} [label=\"{}\"{look}];", parts.join("\\n")));
    }

    fn operands(&mut self, program: &Program, id: NodeId, prefix: &str) {
        let op = &program.nodes()[id as usize].op;
        let (mut roles, mut operands) = (operand_roles(op).into_iter(), Vec::new());
        op.operands(&mut |a| operands.push((*a, roles.next().unwrap_or_default())));
        for (a, role) in operands {
            self.edge(&format!("{prefix}n{a}"), &format!("{prefix}n{id}"), &role, "");
        }
    }

    /// The results of a program that has been drawn, and the end of its cluster.
    fn results(&mut self, done: &OpenCluster<'_>) {
        let Some((around, k, name)) = &done.run_by else {
            for (k, (id, slot)) in done.program.results().iter().zip(done.program.outputs()).enumerate() {
                let title = if slot.name.is_empty() { format!("result {k}").into() } else { escape::name(&slot.name) };
                let look = "shape=ellipse, peripheries=2, fillcolor=\"#d9f2d9\"";
                self.line(&format!("r{k} [label=\"{}\", {look}];", escape::dot(&title)));
                self.edge(&format!("n{id}"), &format!("r{k}"), "", "");
            }
            return;
        };
        for (i, id) in done.program.results().iter().enumerate() {
            let label = inner_result(&around.nodes()[*k].op, i);
            self.edge(&format!("{}n{id}", done.prefix), name, &label, "style=dashed, constraint=false");
        }
        self.depth -= 1;
        self.line("}");
    }
}

/// The attributes by which the roles of nodes are distinguished.
fn look(role: Role) -> &'static str {
    match role {
        Role::Input => ", shape=ellipse, fillcolor=\"#d6e8fa\"",
        Role::Constant => ", fillcolor=\"#eeeeee\"",
        Role::Choice => ", shape=diamond",
        Role::Loop => ", shape=box3d, fillcolor=\"#fdf0d0\"",
        Role::Function => ", shape=component, fillcolor=\"#fdf0d0\"",
        Role::Part => ", shape=plaintext",
        Role::Operation => "",
    }
}
