//! Optics: functions with their pullbacks compose by the chain rule.

use std::rc::Rc;

/// A function with its pullback. It is a lens: `get` is the value, `put` carries a cotangent back.
pub struct Lens<A, B>(pub Rc<Run<A, B>>);

/// From an argument to a result, with the pullback there.
type Run<A, B> = dyn Fn(&A) -> (B, Pullback<A, B>);

/// From the cotangent of a result to that of an argument.
type Pullback<A, B> = Box<dyn Fn(B) -> A>;

impl<A: 'static, B: 'static> Lens<A, B> {
    pub fn new(f: impl Fn(&A) -> (B, Pullback<A, B>) + 'static) -> Self {
        Lens(Rc::new(f))
    }

    /// One after the other: the chain rule is the composition of lenses.
    pub fn then<C: 'static>(&self, next: &Lens<B, C>) -> Lens<A, C> {
        let (f, g) = (self.0.clone(), next.0.clone());
        Lens::new(move |x| {
            let (y, back) = f(x);
            let (z, further) = g(&y);
            (z, Box::new(move |dz| back(further(dz))))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lenses_compose_by_the_chain_rule() {
        fn lens(f: fn(f64) -> f64, slope: fn(f64) -> f64) -> Lens<f64, f64> {
            Lens::new(move |&x| (f(x), Box::new(move |dy| slope(x) * dy)))
        }
        let (square, sin) = (lens(|x| x * x, |x| 2.0 * x), lens(f64::sin, f64::cos));
        let (y, back) = square.then(&sin).0(&3.0);
        assert_eq!((y, back(1.0)), (9f64.sin(), 6.0 * 9f64.cos()));
    }
}
