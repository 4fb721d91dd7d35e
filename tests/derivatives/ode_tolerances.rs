//! Loose tolerances, with which posteriors are sampled.
//!
//! Law: at the tolerances that models of Stan have, a gradient errs by at most twenty of them, in both modes.

use polygrad::{BaseTensor, Concrete, Ode, Tensor, direct, stack, tensor};

type Number<T> = Tensor<T, 0>;
type Vector<T> = Tensor<T, 1>;

/// Hares and lynxes in twenty years by the equations of Lotka and Volterra, from the logarithms of rates and start.
fn states<T: BaseTensor>(p: &Vector<T>, ode: Ode) -> Tensor<T, 2> {
    let [rates, start] = [0..4, 4..6].map(|range| p.slice(0, range).exp());
    let growth = |z: &Vector<_>, _: &Number<_>, rates: &Vector<_>| {
        let [hares, lynxes]: [Number<_>; 2] = z.unstack();
        let [birth, eaten, death, fed]: [Number<_>; 4] = rates.unstack();
        stack((&hares * (birth - eaten * &lynxes), lynxes * (fed * hares - death)))
    };
    let times = Tensor::constant((0..21).map(f64::from).collect::<Vec<f64>>());
    stack(ode.solve(growth, &start, &times, &rates))
}

#[test]
fn gradients_at_the_tolerances_of_samplers_are_as_exact_as_these() {
    fn loss<T: BaseTensor>(p: &Vector<T>, ode: Ode) -> Number<T> {
        states(p, ode).ln().square().sum()
    }
    let size = |x: &Vector<Concrete>| x.square().sum().sqrt().item();
    let mode: Vector<Concrete> = tensor([0.55, 0.028, 0.8, 0.024, 33.0, 6.0]).ln();
    let fine = Ode::default().relative(1e-11).absolute(1e-11);
    for shift in [-0.08, 0.0, 0.05] {
        let x = &mode + (Tensor::<Concrete, 1>::linspace(0.0, 5.0, 6) * 2.0).sin() * shift;
        let gradient = |ode: Ode| direct::grad(|x| loss(x, ode), &x);
        let (exact, least) = (gradient(fine), states(&x, fine).min_all().item());
        let along = &exact / size(&exact);
        for (relative, absolute) in [(1e-5, 1e-3), (1e-6, 1e-6)] {
            let ode = Ode::default().relative(relative).absolute(absolute);
            let allowed = 20.0 * (relative + absolute / least) * size(&exact);
            let reverse = size(&(gradient(ode) - &exact));
            let forward = (direct::jvp(|x| loss(x, ode), &x, &along).1.item() - size(&exact)).abs();
            assert!(reverse <= allowed, "reverse at {relative}, {absolute}: {reverse:e}, not {allowed:e}");
            assert!(forward <= allowed, "forward at {relative}, {absolute}: {forward:e}, not {allowed:e}");
        }
    }
}
