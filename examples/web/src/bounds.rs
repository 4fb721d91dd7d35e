//! A function on an interval: proven bounds of its values and slopes, and of its least value by branch and bound.
//!
//! Law: the bounds of a box hold for every number in it, rounding included; so the least value lies between the
//! bounds of [`Search`]. A box is left out where its values lie above one that is taken, or where its slope has one
//! sign, which moves the minimum to the next box, or to the end of the interval.

use polygrad::{BaseTensor, Concrete, Function, RunError, TaylorForm, Tensor, direct, map, tensor};

/// At how many places a function is drawn.
pub const PLACES: usize = 241;
/// The most boxes.
pub const BOXES: usize = 256;

type Scalar<T> = Tensor<T, 0>;
type Vector<T> = Tensor<T, 1>;

// Shown on the page: 0
fn wave<T: BaseTensor>(x: &Scalar<T>) -> Scalar<T> {
    (3.0 * x).sin() + 0.1 * x.square() - 0.2 * x
}
// 1
fn cancel<T: BaseTensor>(x: &Scalar<T>) -> Scalar<T> {
    let square = x.square();
    0.04 * &square * &square - 0.5 * square + 0.3 * x + 1.0
}
// 2
fn kink<T: BaseTensor>(x: &Scalar<T>) -> Scalar<T> {
    (x - 1.0).abs() * (0.3 * x.square() - 1.0).tanh() - (-2.0 * (x + 1.0).square()).exp()
}
// Until here.

/// How a box is bounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// By intervals.
    Intervals,
    /// By a cubic polynomial with a remainder.
    TaylorModels,
}

/// What is known of a box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The minimum may be in it.
    Open,
    /// Its values lie above one that is taken.
    Above,
    /// Its slope has one sign, so that the minimum is elsewhere.
    Monotone,
}

/// A part of the interval.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// The ends.
    pub ends: [f64; 2],
    /// Bounds of the values.
    pub values: [f64; 2],
    /// Bounds of the slopes.
    pub slopes: [f64; 2],
    /// What is known.
    pub state: State,
    /// A bound of the least value, where it counts.
    least: f64,
}

/// The boxes of an interval, and the bounds of the least value in it.
#[derive(Clone, Debug)]
pub struct Search {
    /// The boxes.
    pub parts: Vec<Part>,
    /// The bounds.
    pub least: [f64; 2],
}

/// A function with its recorded programs.
pub struct Problem {
    forms: Function<Scalar<Concrete>, (), (Scalar<Concrete>, Scalar<Concrete>)>,
    models: TaylorForm<Scalar<Concrete>, Scalar<Concrete>>,
    drawn: Function<Vector<Concrete>, (), (Vector<Concrete>, Vector<Concrete>)>,
    gradient: String,
}

// Shown for each function:
macro_rules! problem {
    ($f:ident) => {
        Problem {
            forms: Function::stage(|x| direct::value_and_grad($f, x), &tensor(0.0)),
            models: TaylorForm::new(|x: &Scalar<_>| $f(x), &tensor(0.0), 3),
            drawn: Function::stage(|x| map(x, |x| direct::value_and_grad($f, x)), &Tensor::zeros([PLACES])),
            gradient: Function::grad(|x| $f(x), &tensor(0.0)).optimized().to_string(),
        }
    };
}

// Until there.
impl Problem {
    /// The functions of the page.
    pub fn all() -> [Problem; 3] {
        [problem!(wave), problem!(cancel), problem!(kink)]
    }

    /// Values and slopes from one end to the other, not proven: what is drawn as a line.
    ///
    /// # Errors
    /// None: the shape is that of the recorded program.
    pub fn drawn(&self, [from, to]: [f64; 2]) -> Result<[Vec<f64>; 2], RunError> {
        let x: Vec<f64> = (0..PLACES).map(|k| from + (to - from) * k as f64 / (PLACES - 1) as f64).collect();
        let (values, slopes) = self.drawn.run(&Tensor::new([PLACES], x))?;
        Ok([values.to_vec(), slopes.to_vec()])
    }

    /// The program of the derivative, as text.
    pub fn gradient(&self) -> &str {
        &self.gradient
    }

    /// The bounds of a part of `domain`, lowering what is known from above.
    fn part(&self, ends: [f64; 2], domain: [f64; 2], by: By, known: &mut f64) -> Result<Part, RunError> {
        let at = |x: f64| self.forms.enclose(&tensor(x), &tensor(x));
        let (lower, upper) = (tensor(ends[0]), tensor(ends[1]));
        let (low, high) = self.forms.enclose(&lower, &upper)?;
        let slopes = [low.1.item(), high.1.item()];
        let mut values = [low.0.item(), high.0.item()];
        if by == By::TaylorModels {
            let (low, high) = self.models.over(&lower, &upper).bounds();
            values = [values[0].max(low.item()), values[1].min(high.item())];
        }
        let mut part = Part { ends, values, slopes, state: State::Open, least: values[0] };
        *known = known.min(at(ends[0] + (ends[1] - ends[0]) / 2.0)?.1.0.item());
        if slopes[0] > 0.0 || slopes[1] < 0.0 {
            part.state = State::Monotone;
            let side = if slopes[0] > 0.0 { 0 } else { 1 };
            part.least = f64::INFINITY;
            if ends[side] == domain[side] {
                let (low, high) = at(ends[side])?;
                part.least = low.0.item();
                *known = known.min(high.0.item());
            }
        }
        Ok(part)
    }

    /// Bounds of the least value on an interval by at most so many boxes.
    ///
    /// # Errors
    /// None: the shapes are those of the recorded programs.
    pub fn search(&self, domain: [f64; 2], boxes: usize, by: By) -> Result<Search, RunError> {
        let mut known = f64::INFINITY;
        let mut parts = vec![self.part(domain, domain, by, &mut known)?];
        while parts.len() < boxes.min(BOXES) {
            let open = parts.iter().enumerate().filter(|(_, part)| part.state == State::Open);
            let Some((next, part)) = open.min_by(|a, b| a.1.least.total_cmp(&b.1.least)) else { break };
            let [from, to] = part.ends;
            let middle = from + (to - from) / 2.0;
            if part.least > known || known - part.least < 1e-9 || !(from < middle && middle < to) {
                break;
            }
            let halves = [[from, middle], [middle, to]];
            parts[next] = self.part(halves[0], domain, by, &mut known)?;
            parts.push(self.part(halves[1], domain, by, &mut known)?);
        }
        let lower = parts.iter().map(|part| part.least).fold(f64::INFINITY, f64::min);
        for part in parts.iter_mut().filter(|part| part.state == State::Open && part.values[0] > known) {
            part.state = State::Above;
        }
        Ok(Search { parts, least: [lower.min(known), known] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOMAIN: [f64; 2] = [-3.0, 3.5];

    #[test]
    fn bounds_hold() {
        for (k, problem) in Problem::all().iter().enumerate() {
            for by in [By::Intervals, By::TaylorModels] {
                let search = problem.search(DOMAIN, 100, by).expect("a search");
                let [values, slopes] = problem.drawn(DOMAIN).expect("values");
                let mut seen = 0;
                for (i, (value, slope)) in values.iter().zip(&slopes).enumerate() {
                    let x = DOMAIN[0] + (DOMAIN[1] - DOMAIN[0]) * i as f64 / (PLACES - 1) as f64;
                    for part in search.parts.iter().filter(|part| part.ends[0] <= x && x <= part.ends[1]) {
                        seen += 1;
                        assert!(
                            part.values[0] <= *value && *value <= part.values[1],
                            "{k} {by:?} {x} {value} {part:?}"
                        );
                        assert!(
                            part.slopes[0] <= *slope && *slope <= part.slopes[1],
                            "{k} {by:?} {x} {slope} {part:?}"
                        );
                    }
                }
                assert!(seen >= PLACES);
                let least = values.iter().copied().fold(f64::INFINITY, f64::min);
                assert!(search.least[0] <= least && search.least[0] <= search.least[1], "{k} {by:?} {search:?}");
                println!("{k} {by:?}: {} boxes, {:?}", search.parts.len(), search.least);
            }
        }
    }

    #[test]
    fn taylor_models_need_fewer_boxes() {
        for problem in Problem::all() {
            let boxes = |by| problem.search(DOMAIN, BOXES, by).expect("a search").parts.len();
            assert!(boxes(By::TaylorModels) <= boxes(By::Intervals));
            let [low, high] = problem.search(DOMAIN, BOXES, By::TaylorModels).expect("a search").least;
            assert!(high - low < 1e-6, "{low} {high}");
        }
    }
}
