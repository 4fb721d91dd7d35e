//! Pictures of programs: graphs in DOT, and reports as pages.
//!
//! Laws: a graph has a node for each operation and an edge for each operand; a page is one file whose tags are balanced,
//! whose ids are unique and which names no other file; both are the same each time, but for times; neither takes stack in
//! proportion to the program.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use polygrad::program::{Op, Program, Term};
use polygrad::{
    Concrete, DType, Function, Jit, Mode, ReportError, RunError, Tensor, checkpoint, concat, cond, custom_jvp,
    external, fold, hessian_diagonal, iterate, map, sparse_hessian, sparse_jacobian, tensor, while_loop,
    while_loop_within,
};

use crate::page::{Page, assert_drawn, page};
use crate::programs::gallery;
use crate::support::{LONG, on_a_small_stack};

type Number<T> = Tensor<T, 0>;
type Vector<T> = Tensor<T, 1>;

/// A file for one test, which is removed afterwards.
struct Kept(PathBuf);

impl Kept {
    fn new(name: &str) -> Kept {
        Kept(std::env::temp_dir().join(format!("polygrad-{}-{name}.html", std::process::id())))
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        fs::remove_file(&self.0).ok();
    }
}

/// The page that a report writes.
fn written(name: &str, report: impl FnOnce(&Path) -> Result<(), ReportError>) -> String {
    let file = Kept::new(name);
    report(&file.0).expect("the page is written");
    fs::read_to_string(&file.0).expect("the page can be read")
}

/// The page of a function; everything that it names is there.
fn reported<P, Q, Y>(name: &str, f: &Function<P, Q, Y>) -> (String, Page) {
    let html = written(name, |path| f.report(path));
    let read = page(&html);
    assert!(read.is_closed(), "{name}: {:?}", read.named.difference(&read.ids).collect::<Vec<_>>());
    assert!(html.len() < 2_000_000, "{name}: {} bytes", html.len());
    (html, read)
}

/// A page without the section of steps, which has times.
fn without_times(html: &str) -> String {
    let (before, rest) = html.split_once("<section id=\"steps\">").expect("a section of steps");
    before.to_owned() + rest.split_once("</section>").expect("its end").1
}

// ---- graphs ----

#[test]
fn a_loop_is_a_cluster() {
    let x = Term::variable(&[3], DType::F64);
    let body = |x: &Vector<Term>| iterate(4, x.clone(), |_, y: Vector<Term>| y.sin() * x);
    let y = body(&Tensor::from_raw(x.clone())).into_raw();
    let program = Term::program(&[x], &[y], &["x".into()]).expect("a closed program");
    // Where the operations were written is left out.
    let file = file!();
    let text: String = program
        .to_dot()
        .lines()
        .map(|line| {
            let at = line.find(&format!("\\n{file}"));
            let end = at.and_then(|at| Some(at + line[at..].find('"')?));
            match (at, end) {
                (Some(at), Some(end)) => format!("{}\\n..{}\n", &line[..at], &line[end..]),
                _ => format!("{line}\n"),
            }
        })
        .collect();
    let expected = r##"digraph program {
  node [shape=box, style=filled, fillcolor=white, fontname="monospace"];
  edge [fontname="monospace", fontsize=10];
  n0 [label="x\nf64[3]", shape=ellipse, fillcolor="#d6e8fa"];
  n1 [label="iota 4\ni64[4]\n.."];
  subgraph cluster_0 {
    label="loop of 4 trips";
    n2 [label="loop of 4 trips\n..", shape=box3d, fillcolor="#fdf0d0"];
    b0_n0 [label="carry0\nf64[3]", shape=ellipse, fillcolor="#d6e8fa"];
    b0_n1 [label="row0\ni64", shape=ellipse, fillcolor="#d6e8fa"];
    b0_n2 [label="captured0\nf64[3]", shape=ellipse, fillcolor="#d6e8fa"];
    b0_n3 [label="sin\nf64[3]\n.."];
    b0_n4 [label="mul\nf64[3]\n.."];
  }
  n3 [label="result 0\nf64[3]", shape=plaintext];
  r0 [label="result 0", shape=ellipse, peripheries=2, fillcolor="#d9f2d9"];
  n0 -> n2 [label="carry 0"];
  n1 -> n2 [label="rows 0"];
  n0 -> n2 [label="captured 0"];
  n2 -> b0_n0 [style=dotted];
  n2 -> b0_n1 [style=dotted];
  n2 -> b0_n2 [style=dotted];
  b0_n0 -> b0_n3;
  b0_n2 -> b0_n4;
  b0_n3 -> b0_n4;
  b0_n4 -> n2 [label="next carry 0", style=dashed, constraint=false];
  n2 -> n3;
  n3 -> r0;
}
"##;
    assert_eq!(text, expected);
}

#[test]
fn graphs_have_all_operations() {
    for (name, program) in gallery() {
        let dot = program.to_dot();
        assert_drawn(&program, &dot);
        assert_eq!(dot, program.to_dot(), "{name}");
    }
}

/// A function whose name has signs that HTML and DOT read.
fn odd(x: &Vector<Term>) -> Vector<Term> {
    let x = x.debug("a < b & \"c\" \\ <script>");
    let rule = |x: &Vector<_>, _: &Vector<_>, x_dot: &Vector<_>| x.cos() * x_dot;
    custom_jvp("f<g> & \"h\"", |x: &Vector<_>| x.sin(), rule, &x)
}

#[test]
fn texts_of_the_user_are_escaped() {
    let f = Function::stage(|x: &Vector<_>| odd(x), &tensor([1.0, 2.0]));
    assert_drawn(f.program(), &f.program().to_dot());
    let (html, _) = reported("escaped", &f);
    assert!(html.contains("f&lt;g&gt; &amp; &quot;h&quot;") && !html.contains("<script>\";"));
    assert!(f.program().to_dot().contains("f<g> &amp; \\\"h\\\""));
}

/// Operations one after the other.
fn chain(n: usize) -> Program {
    let x = Term::variable(&[2], DType::F64);
    let y = (0..n).fold(Vector::from_raw(x.clone()), |y, k| if k % 3 == 0 { y.sin() } else { y * 0.5 });
    Term::program(&[x], &[y.into_raw()], &[]).expect("a closed program")
}

/// Loops that run a program of two loops that run a program of two loops, and so on.
fn nested(depth: usize) -> Program {
    let x = Term::variable(&[2], DType::F64);
    let mut f: Box<dyn Fn(Vector<Term>) -> Vector<Term>> = Box::new(|y| y.sin());
    for _ in 0..depth {
        let inner = f;
        f = Box::new(move |y| {
            let once = iterate(2, y, |_, y: Vector<Term>| inner(y));
            iterate(2, once, |_, y: Vector<Term>| inner(y))
        });
    }
    let y = f(Tensor::from_raw(x.clone())).into_raw();
    Term::program(&[x], &[y], &[]).expect("a closed program")
}

#[test]
fn graphs_take_no_stack() {
    let program = chain(LONG);
    on_a_small_stack(move || {
        let edges = program.nodes().iter().map(|node| operands(&node.op)).sum::<usize>() + 1;
        assert_eq!(program.to_dot().matches(" -> ").count(), edges);
    });
    // A program that several loops run is drawn once.
    let program = nested(7);
    let dot = program.to_dot();
    assert_drawn(&program, &dot);
    assert_eq!((dot.matches("subgraph").count(), dot.matches("same program").count()), (7, 7));
}

fn operands<R>(op: &Op<R>) -> usize {
    let mut count = 0;
    op.operands(&mut |_| count += 1);
    count
}

// ---- pages ----

#[test]
fn a_small_page_has_every_operation() {
    let w = Tensor::<Concrete, 1>::linspace(0.0, 1.0, 5);
    let f = Function::value_and_grad(|x: &Vector<_>| (x.sin() * x.exp()).sum(), &w);
    let (html, read) = reported("small", &f);
    for heading in ["Program", "Steps of a run", "Memory", "Choice of mode", "Pattern"] {
        assert!(html.contains(&format!("<h2>{heading}</h2>")), "{heading}");
    }
    let boxes = html.matches("<g id=\"p0n").count();
    let numbers = f.optimized().nodes().iter().filter(|node| matches!(node.op, Op::Constant(_))).count();
    assert_eq!(boxes + numbers, f.optimized().nodes().len());
    assert!(html.contains("sin x") && html.contains("report.rs:") && html.contains("Times are means of"));
    assert!(html.contains("The function gives no sparse matrix"));
    assert!(html.contains("gradient, 1 result in 5 inputs: reverse"));
    assert!(read.elements["details"] == 1 && read.elements["script"] == 1);
    assert_eq!(without_times(&html), without_times(&reported("again", &f).0));
}

#[test]
fn a_long_page_has_groups() {
    let network = |x: &Vector<Term>| {
        let layer = |x: Vector<Term>, k: usize| {
            let y = x.roll(0, k as i64) * 0.1;
            (y.sin() + &x) * x.tanh()
        };
        (1..120).fold(x.clone(), layer).sum()
    };
    let f = Function::grad(network, &Tensor::<Concrete, 1>::linspace(0.0, 1.0, 20));
    let size = f.optimized().size();
    assert!((2000..2600).contains(&size), "{size}");
    let (html, read) = reported("long", &f);
    let groups = html.matches("class=\"n g\"").count();
    assert!((20..120).contains(&groups), "{groups}");
    assert_eq!(read.elements["details"], groups + 1);
    // Each operation is drawn once, and none is left out.
    let drawn = (0..f.optimized().nodes().len()).filter(|k| read.ids.contains(&format!("p0n{k}"))).count();
    let numbers = f.optimized().nodes().iter().filter(|node| matches!(node.op, Op::Constant(_))).count();
    assert_eq!(drawn + numbers, f.optimized().nodes().len());
    assert!(!html.contains("not drawn"));
}

#[test]
fn a_page_takes_no_stack_and_has_a_bound() {
    let x = tensor([0.5, 0.25]);
    let f = Function::stage(
        |x: &Vector<_>| (0..LONG / 2).fold(x.clone(), |y, k| if k % 3 == 0 { y.sin() } else { y * 0.5 }),
        &x,
    );
    on_a_small_stack(move || {
        let html = written("deep", |path| f.report(path));
        page(&html);
        assert!(html.contains("are not drawn") && html.len() < 2_000_000, "{} bytes", html.len());
    });
}

#[test]
fn a_loop_is_a_box_with_its_program() {
    let start = Tensor::<Concrete, 1>::ones([40]);
    let data = (start, Tensor::<Concrete, 2>::ones([30, 40]));
    type Data<T> = (Tensor<T, 1>, Tensor<T, 2>);
    let f = |k: &Number<_>, (start, rows): &Data<_>| {
        fold(start.clone(), rows, |h: Vector<_>, r: &Vector<_>| (h.cumsum(0) * k + r).tanh()).sum()
    };
    let (html, read) = reported("loop", &Function::grad_with(f, &tensor(0.5), &data));
    assert!(html.contains("loop of 30 trips") && html.contains("carry0") && html.contains("next carry 0"));
    assert!(read.ids.contains("p1n0") && html.contains("class=\"n l\""));
    // What was compared, with the one that was taken.
    assert!(html.contains("forward, side by side") && html.matches(" (taken)").count() == 1);
    assert!(html.contains("body of a loop"));
}

#[test]
fn functions_and_choices_are_told_apart() {
    let f = |x: &Vector<_>| {
        let y: Vector<_> = checkpoint(2).iterate(4, x.clone(), |_, x: Vector<_>| x.sin().cumsum(0));
        let z = while_loop_within(9, y, |y: &Vector<_>| y.sum().lt(4.0), |y| y * 2.0);
        z.gt(1.0).select(z.sqrt(), &z)
    };
    let f = Function::stage(f, &tensor([0.1, 0.2]));
    let (html, _) = reported("functions", &f);
    assert!(html.contains("while loop of at most 9 trips") && html.contains("class=\"n s\""));
    let dot = f.program().to_dot();
    assert_drawn(f.program(), &dot);
    assert!(["mask", "then", "else"].iter().all(|role| dot.contains(&format!("[label=\"{role}\"]"))));
    let number = Function::stage(|x: &Number<_>| cond(x.gt(0.0), x.sin(), x.cos()), &tensor(1.0));
    assert!(number.optimized().to_dot().contains("shape=diamond"));
}

/// A program that several loops run has one picture, to which they lead.
#[test]
fn a_shared_program_is_drawn_once() {
    let f = |x: &Vector<_>| {
        let trip = |y: Vector<Term>| y.cumsum(0).sin();
        iterate(5, iterate(3, x.clone(), |_, y| trip(y)).reverse(0), |_, y| trip(y))
    };
    let (html, read) = reported("shared", &Function::stage(f, &Tensor::<Concrete, 1>::ones([600])));
    assert_eq!((html.matches("data-to=\"p1\"").count(), html.matches("id=\"p1\"").count()), (2, 1));
    assert!(read.ids.contains("p1n1"));
}

#[test]
fn a_sparse_matrix_has_its_pattern() {
    let x = Tensor::<Concrete, 1>::linspace(0.0, 1.0, 12);
    let j = sparse_jacobian(|x: &Vector<_>| x.exp().slice(0, 1..) - x.exp().slice(0, ..11), &x);
    let html = written("jacobian", |path| j.report(path));
    page(&html);
    assert!(html.contains("<h1>A sparse Jacobian</h1>") && html.contains("11 × 12 elements: 22 can be nonzero"));
    assert!(html.contains("pass 0, forward: 11 elements") && html.contains("pass 1, forward: 11 elements"));
    // A cell for each element.
    assert_eq!(html.matches("h1v1h-1z").count(), 22);

    let h = sparse_hessian(|x: &Vector<_>| (x.slice(0, 1..) * x.slice(0, ..11)).square().sum(), &x);
    let html = written("hessian", |path| h.report_with(&x, &(), path));
    page(&html);
    assert!(html.contains("on the given inputs") && html.contains("A sparse Hessian of 12 × 12"));
    let of_passes: usize = html.split("forward: ").skip(1).map(number).sum();
    assert_eq!(of_passes, h.pattern().len());
    let d = hessian_diagonal(|x: &Vector<_>| x.powi(3).sum(), &x);
    assert!(written("diagonal", |path| d.report(path)).contains("pass 0, forward: 12 elements"));

    let large = Tensor::<Concrete, 1>::linspace(0.0, 1.0, 2000);
    let j = sparse_jacobian(|x: &Vector<_>| x.exp().slice(0, 1..) - x.exp().slice(0, ..1999), &large);
    let html = written("large", |path| j.report(path));
    page(&html);
    assert!(html.contains("The whole matrix") && html.contains("The first 48 rows and 48 columns"));
    assert!(html.len() < 200_000, "{} bytes", html.len());
}

/// Rows and columns of the elements of each pass in the picture of a page.
fn passes_drawn(html: &str) -> Vec<Vec<(usize, usize)>> {
    let (_, picture) = html.split_once("<svg class=\"pattern\"").expect("a picture");
    let (picture, _) = picture.split_once("</svg>").expect("its end");
    let cell = |cell: &str| {
        let (column, row) = cell.strip_suffix("h1v1h-1z").expect("a square").split_once(' ').expect("a place");
        (number(row), number(column))
    };
    let path = |path: &str| path.split('"').next().expect("a path").split('M').skip(1).map(cell).collect();
    picture.split(" d=\"").skip(1).map(path).collect()
}

/// In a pass of forward mode no two elements share a row, in one of reverse mode no two share a column.
#[test]
fn elements_of_one_colour_can_be_read_off_one_pass() {
    let arrow = |x: &Vector<_>| {
        let y = x.exp();
        let (here, next) = (y.slice(0, 1..29), y.slice(0, 2..));
        concat(0, [&y.sum().reshape([1]), &(here * next).times(&y.at([0]))])
    };
    let j = sparse_jacobian(arrow, &Tensor::<Concrete, 1>::linspace(0.0, 1.0, 30));
    let passes = passes_drawn(&written("arrow", |path| j.report(path)));
    let forward = j.passes_by(Mode::Forward);
    assert!(forward > 0 && j.passes_by(Mode::Reverse) > 0 && passes.len() == j.passes());
    for (k, pass) in passes.iter().enumerate() {
        let lines: BTreeSet<usize> = pass.iter().map(|(i, j)| if k < forward { *i } else { *j }).collect();
        assert_eq!(lines.len(), pass.len(), "pass {k}: {pass:?}");
    }
    let drawn: BTreeSet<(usize, usize)> = passes.into_iter().flatten().collect();
    assert_eq!(drawn, j.pattern().entries().collect());
}

/// The number at the start of a text.
fn number(text: &str) -> usize {
    text.split(|c: char| !c.is_ascii_digit()).next().and_then(|digits| digits.parse().ok()).expect("a number")
}

// ---- measured runs ----

#[test]
fn made_up_inputs_are_not_tried_where_they_may_harm() {
    let endless = |x: &Number<_>| while_loop(x.clone(), |x: &Number<_>| x.lt(9.0), |x| x * 1.0);
    let f = Function::stage(endless, &tensor(10.0));
    let (html, _) = reported("endless", &f);
    assert!(html.contains("Times were not measured: the program has a loop without a bound"));
    assert!(written("ended", |path| f.report_with(&tensor(10.0), &(), path)).contains("runs on the given inputs"));

    let host = |x: &Number<_>| external("panics", |_: &Number<Concrete>| panic!("called"), &tensor(0.0), x);
    let (html, _) = reported("host", &Function::stage(host, &tensor(1.0)));
    assert!(html.contains("Times were not measured: the program calls code of the host"));

    let checked = |x: &Vector<_>| x.check(&x.gt(5.0), "all are large").debug("x").sqrt();
    let f = Function::stage(checked, &tensor([6.0, 7.0]));
    let (html, _) = reported("checked", &f);
    assert!(html.contains("a check fails for made-up inputs") && html.contains("all are large"));
    let file = Kept::new("failed");
    let failed = f.report_with(&tensor([6.0, 1.0]), &(), &file.0);
    assert!(matches!(failed, Err(ReportError::Run(RunError::Check(_)))), "{failed:?}");
    assert!(!file.0.exists());
    let misfit = f.report_with(&tensor([6.0]), &(), &file.0);
    assert!(matches!(misfit, Err(ReportError::Run(RunError::Input { .. }))), "{misfit:?}");
}

#[test]
fn inputs_of_all_types_are_made_up() {
    let data = (tensor([1.0f32, 2.0]), (tensor([0, 1]), tensor([true, false])));
    type Data<T> = (Tensor<T, 1, f32>, (Tensor<T, 1, i64>, Tensor<T, 1, bool>));
    let f = |x: &Vector<_>, (y, (ix, mask)): &Data<_>| mask.select(&(x.take(ix) + y.cast::<f64>()), x);
    let (html, _) = reported("types", &Function::stage_with(f, &tensor([1.0, 2.0]), &data));
    assert!(html.contains("on made-up inputs"));
    let nothing = Function::stage(|x: &Vector<_>| x.clone(), &tensor([1.0]));
    assert!(reported("nothing", &nothing).0.contains("A run has no steps"));
    let jit = Jit::grad(|x: &Vector<_>| map(x, |x: &Number<_>| x.sin()).sum());
    let x = tensor([1.0, 2.0]);
    assert!(written("jit", |path| jit.function(&x, &()).report(path)).contains("A gradient"));
}
