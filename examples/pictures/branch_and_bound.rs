//! The least value of a function with many minima, with proof, by branch and bound.
//!
//! `cargo run --release --example branch_and_bound [FOLDER OF THE PICTURE]`
//!
//! A box whose lower bound lies above a value that is known to be taken has no minimum in it, and is left out; others
//! are halved, the one with the least lower bound first, until what is known from below and from above agree. Four
//! ways to bound a box are compared: by the range of the function; besides by the gradient, where a slope without a
//! zero says that the box has its minimum on a side, which only counts at the edge of the domain; besides by the mean
//! value form `f(c) + f'(box) (box - c)`; and besides by a Taylor model, a cubic polynomial with a remainder. The
//! first three come from one program, recorded once with its gradient and run at bounds (`Function::enclose_with`), the
//! last one from a `TaylorForm`.
//! `docs/examples/branch_and_bound.md` shows the picture and what is printed.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::error::Error;
use std::io::Write;

use polygrad::{BaseTensor, Concrete, Function, RunError, TaylorForm, Tensor, direct};

mod picture;
use picture::Picture;

type Vector<T> = Tensor<T, 1>;
type Scalar<T> = Tensor<T, 0>;

/// How far apart the bounds of the least value may be in the end, and how many boxes are looked at.
const TOLERANCE: f64 = 1e-6;
const MOST: usize = 5000;

/// The six-hump camel back: six minima, two of them global.
fn camel<T: BaseTensor>(p: &Vector<T>) -> Scalar<T> {
    let (x, y) = (p.at([0]), p.at([1]));
    let (a, b) = (x.square(), y.square());
    (4.0 - 2.1 * &a + a.square() / 3.0) * &a + x * y + (4.0 * &b - 4.0) * &b
}

/// McCormick's function.
fn mccormick<T: BaseTensor>(p: &Vector<T>) -> Scalar<T> {
    let (x, y) = (p.at([0]), p.at([1]));
    (&x + &y).sin() + (&x - &y).square() - 1.5 * x + 2.5 * y + 1.0
}

/// Rastrigin's function, turned so that its variables are not apart: a minimum near each point of a lattice.
fn rastrigin<T: BaseTensor>(p: &Vector<T>) -> Scalar<T> {
    let (x, y) = (p.at([0]), p.at([1]));
    let wave = |z: Scalar<T>| z.square() - 10.0 * (z * std::f64::consts::TAU).cos() + 10.0;
    wave(0.8 * &x - 0.6 * &y) + wave(0.6 * x + 0.8 * y)
}

/// The function on a box, its gradient, its mean value form around a point of the box, and its value there.
type Forms = (Scalar<Concrete>, Vector<Concrete>, Scalar<Concrete>, Scalar<Concrete>);

/// A function on a domain.
struct Problem {
    name: &'static str,
    domain: [Vec<f64>; 2],
    forms: Function<Vector<Concrete>, Vector<Concrete>, Forms>,
    models: TaylorForm<Vector<Concrete>, Scalar<Concrete>>,
}

macro_rules! problem {
    ($f:ident, $dimensions:literal, $lower:expr, $upper:expr) => {{
        let forms = |x: &Vector<_>, c: &Vector<_>| {
            let (range, slope) = direct::value_and_grad($f, x);
            let at = $f(c);
            let mean = &at + slope.dot(&(x - c));
            (range, slope, mean, at)
        };
        let zeros = Tensor::zeros([$dimensions]);
        Problem {
            name: stringify!($f),
            domain: [$lower.to_vec(), $upper.to_vec()],
            forms: Function::stage_with(forms, &zeros, &zeros),
            models: TaylorForm::new(|x: &Vector<_>| $f(x), &zeros, 3),
        }
    }};
}

/// What a box is bounded by besides the range of the function.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(crate) enum By {
    Range,
    Gradient,
    MeanValue,
    TaylorModel,
}

/// A part of the domain, and a lower bound of the function on it. The least bound is the largest of a heap.
struct Part {
    sides: [Vec<f64>; 2],
    bound: f64,
}

impl Ord for Part {
    fn cmp(&self, other: &Part) -> Ordering {
        other.bound.total_cmp(&self.bound)
    }
}

impl PartialOrd for Part {
    fn partial_cmp(&self, other: &Part) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Part {
    fn eq(&self, other: &Part) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Part {}

/// Bounds of the least value of a problem, and the boxes that it took to find them: their lower and upper corners.
pub(crate) struct Found {
    pub(crate) name: &'static str,
    pub(crate) by: By,
    pub(crate) least: [f64; 2],
    pub(crate) boxes: Vec<[Vec<f64>; 2]>,
}

impl Problem {
    /// The box, or the side of it on which its minimum is, with a bound of it; nothing if the minimum of the domain is
    /// not there. Lowers what is known from above.
    fn part(&self, sides: [Vec<f64>; 2], by: By, known: &mut f64) -> Result<Option<Part>, RunError> {
        let [lower, upper] = sides.each_ref().map(|side| Tensor::new([side.len()], side.clone()));
        let middle = (&lower + &upper) / 2.0;
        let (low, high) = self.forms.enclose_with(&lower, &upper, &middle)?;
        *known = known.min(high.3.item());
        let mut part = Part { sides, bound: low.0.item() };
        if by >= By::MeanValue {
            part.bound = part.bound.max(low.2.item());
        }
        if by >= By::TaylorModel {
            part.bound = part.bound.max(self.models.over(&lower, &upper).bounds().0.item());
        }
        if by >= By::Gradient {
            for (k, (least, most)) in low.1.to_vec().into_iter().zip(high.1.to_vec()).enumerate() {
                // Where the function rises, the minimum is on the lower side, and where it falls, on the upper one.
                let side = if least > 0.0 { 0 } else { 1 };
                if least > 0.0 || most < 0.0 {
                    let end = part.sides[side][k];
                    if end != self.domain[side][k] {
                        return Ok(None);
                    }
                    part.sides[1 - side][k] = end;
                }
            }
        }
        Ok(Some(part))
    }

    /// Bounds of the least value.
    fn minimum(&self, by: By) -> Result<Found, RunError> {
        let (mut known, mut boxes, mut rest) = (f64::INFINITY, vec![self.domain.clone()], BinaryHeap::new());
        rest.extend(self.part(self.domain.clone(), by, &mut known)?);
        let mut bound = f64::NEG_INFINITY;
        while let Some(part) = rest.pop() {
            bound = part.bound;
            if bound >= known - TOLERANCE || boxes.len() >= MOST {
                break;
            }
            let width = |k: &usize| part.sides[1][*k] - part.sides[0][*k];
            let widest = (0..part.sides[0].len()).max_by(|i, j| width(i).total_cmp(&width(j))).unwrap_or(0);
            let middle = part.sides[0][widest] + width(&widest) / 2.0;
            for half in [0, 1] {
                let mut sides = part.sides.clone();
                sides[1 - half][widest] = middle;
                boxes.push(sides.clone());
                let half = self.part(sides, by, &mut known)?;
                rest.extend(half.filter(|half| half.bound <= known));
            }
        }
        Ok(Found { name: self.name, by, least: [bound, known], boxes })
    }
}

/// The boxes of a way, on the domain of the first function.
fn boxes<'a>(found: &Found, title: &'a str) -> Picture<'a> {
    let mut picture = Picture::new(title, "x", "y");
    for [low, high] in &found.boxes {
        let (x, y) = ([low[0], high[0]], [low[1], high[1]]);
        picture = picture.line("", 0, &[x[0], x[1], x[1], x[0], x[0]], &[y[0], y[0], y[1], y[1], y[0]]);
    }
    picture.points("the two least values", 1, &[-0.0898, 0.0898], &[0.7126, -0.7126])
}

fn draw(mean: &Found, model: &Found) -> Result<String, Box<dyn Error>> {
    let title = |way: &str, found: &Found| format!("The six-hump camel back, {way}: {} boxes", found.boxes.len());
    let titles = [title("by the mean value form", mean), title("by a Taylor model", model)];
    picture::panels(&[boxes(mean, &titles[0]), boxes(model, &titles[1])]).map_err(|error| error.to_string().into())
}

/// Writes the least values, and how many boxes each way takes; what was found, and the picture.
pub(crate) fn run(out: &mut dyn Write) -> Result<(Vec<Found>, String), Box<dyn Error>> {
    let problems = [
        problem!(camel, 2, [-3.0, -2.0], [3.0, 2.0]),
        problem!(mccormick, 2, [-1.5, -3.0], [4.0, 4.0]),
        problem!(rastrigin, 2, [-4.7, -5.1], [5.3, 4.1]),
    ];
    writeln!(out, "function    bounded by       boxes   the least value is between")?;
    let mut all = Vec::new();
    for problem in &problems {
        for by in [By::Range, By::Gradient, By::MeanValue, By::TaylorModel] {
            let found = problem.minimum(by)?;
            let Found { name, by, least: [lower, upper], ref boxes } = found;
            let boxes = boxes.len();
            let (way, open) = (format!("{by:?}"), if upper - lower > TOLERANCE { ">" } else { "" });
            writeln!(out, "{name:11} {way:12} {open:>2} {boxes:6} {lower:13.8} and {upper:12.8}")?;
            all.push(found);
        }
    }
    let svg = draw(&all[2], &all[3])?;
    Ok((all, svg))
}

fn main() -> Result<(), Box<dyn Error>> {
    let (_, svg) = run(&mut std::io::stdout())?;
    println!("picture: {}", picture::save(&picture::folder(), "branch_and_bound", &svg)?.display());
    Ok(())
}
