//! Fits the epidemic model of Kermack and McKendrick to influenza in a school, with the uncertainty of all that follows from it.
//!
//! `cargo run --release --example epidemic [FOLDER OF THE PICTURE]`; with `--time` in place of the folder, times.
//!
//! The posterior is approximated by a normal distribution, whose covariance is the inverse of a Hessian through the differential
//! equation. Draws of it are weighted, which corrects the approximation. The fit itself is a function of the weights of the
//! days, with a derivative: it says what each day contributes. `docs/examples/epidemic.md` shows the picture and what is printed.

use std::error::Error;
use std::io::Write;

use polygrad::random::Key;
use polygrad::stats::{constrain, exponential, neg_binomial_2_log, normal};
use polygrad::{
    BaseTensor, Concrete, Function, Tensor, Tree, hessian_matrix_with, iterate_all, map, minimize, stack, tensor,
};

mod picture;
use picture::{Picture, panels};

const BOYS: f64 = 763.0;
const DAYS: usize = 14;
/// Boys in bed from 22 January 1978.
const IN_BED: [i64; DAYS] = [3, 8, 26, 76, 225, 298, 258, 233, 189, 128, 68, 29, 14, 4];
/// Steps of the integration in a day.
const STEPS: usize = 4;
const DRAWS: usize = 200;

/// The logarithms of the rates a day, and of the inverse dispersion of the counts.
#[derive(Tree, Clone, Debug)]
struct Epidemic<T: BaseTensor> {
    infection: Tensor<T, 0>,
    recovery: Tensor<T, 0>,
    scatter: Tensor<T, 0>,
}

/// How many are infected on each day. On the day before the first one, one boy is. The classical method of Runge and Kutta for
/// `s' = -infection s i / N` and `i' = infection s i / N - recovery i`.
fn infected<T: BaseTensor>(epidemic: &Epidemic<T>) -> Tensor<T, 1> {
    let (infection, recovery) = (epidemic.infection.exp() / BOYS, epidemic.recovery.exp());
    let rate = |state: &Tensor<T, 1>| {
        let [s, i] = state.unstack();
        let new = &infection * s * &i;
        stack([-&new, new - &recovery * i])
    };
    let h = 1.0 / STEPS as f64;
    let states = iterate_all(DAYS * STEPS, Tensor::constant([BOYS - 1.0, 1.0]), |_, x: Tensor<T, 1>| {
        let k1 = rate(&x);
        let k2 = rate(&(&x + &k1 * (h / 2.0)));
        let k3 = rate(&(&x + &k2 * (h / 2.0)));
        let k4 = rate(&(&x + &k3 * h));
        x + (k1 + (k2 + k3) * 2.0 + k4) * (h / 6.0)
    });
    states.slice_step(0, STEPS.., STEPS).t().row(1)
}

/// The counts, and a weight for each day.
type Days<T> = (Tensor<T, 1, i64>, Tensor<T, 1>);

/// Minus the logarithm of the posterior density, with weights of the days.
fn energy<T: BaseTensor>(epidemic: &Epidemic<T>, (counts, weights): &Days<T>) -> Tensor<T, 0> {
    let (infection, a) = constrain::positive(&epidemic.infection);
    let (recovery, b) = constrain::positive(&epidemic.recovery);
    let (scatter, c) = constrain::positive(&epidemic.scatter);
    let prior = normal(&infection, 2.0, 1.0) + normal(&recovery, 0.4, 0.5) + exponential(&scatter, 5.0) + a + b + c;
    let likelihood = neg_binomial_2_log(counts, infected(epidemic).ln(), 1.0 / scatter);
    -(prior + weights.dot(&likelihood))
}

/// How many an infected boy infects at the beginning.
fn reproduction<T: BaseTensor>(epidemic: &Epidemic<T>) -> Tensor<T, 0> {
    (&epidemic.infection - &epidemic.recovery).exp()
}

/// The likeliest epidemic, as a function of the counts and of their weights.
fn fit<T: BaseTensor>(days: &Days<T>) -> Epidemic<T> {
    let [infection, recovery, scatter] = [2.0_f64, 0.4, 0.2].map(|x| Tensor::scalar(x.ln()));
    minimize(|x: &Epidemic<_>, days| energy(x, days), &Epidemic { infection, recovery, scatter }, days)
}

/// The reproduction number of the likeliest epidemic, as a function of the weights.
fn number_by_weights<T: BaseTensor>(weights: &Tensor<T, 1>, counts: &Tensor<T, 1, i64>) -> Tensor<T, 0> {
    reproduction(&fit(&(counts.clone(), weights.clone())))
}

/// The epidemic of a point: its infected, its reproduction number, and its energy.
type Drawn<T> = (Tensor<T, 2>, Tensor<T, 1>, Tensor<T, 1>);

/// What follows from each point in a row of the table.
fn follow<T: BaseTensor>(points: &Tensor<T, 2>, days: &Days<T>) -> Drawn<T> {
    map(points, |point| {
        let [infection, recovery, scatter] = point.unstack();
        let epidemic = Epidemic { infection, recovery, scatter };
        (infected(&epidemic), reproduction(&epidemic), energy(&epidemic, days))
    })
}

/// The probability that so many or fewer are in bed, on each day and for each number.
fn predictions<T: BaseTensor>(
    infected: &Tensor<T, 2>,
    (inverse_scatter, weights): &(Tensor<T, 1>, Tensor<T, 1>),
) -> Tensor<T, 2> {
    let of = |infected: &Tensor<T, 1>, boys: &Tensor<T, 0, i64>| {
        weights.dot(&neg_binomial_2_log(&boys.up_to(infected), infected.ln(), inverse_scatter).exp())
    };
    map(infected.t(), |infected| map(Tensor::iota(BOYS as usize), |boys| of(infected, boys))).cumsum(1)
}

/// The ends of an interval with a probability of 95 % of values with weights.
fn interval(values: &[f64], weights: &[f64]) -> [f64; 2] {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|&i, &j| values[i].total_cmp(&values[j]));
    [0.025, 0.975].map(|share| {
        let mut sum = 0.0;
        let end = order.iter().find(|&&k| {
            sum += weights[k];
            sum >= share
        });
        values[*end.unwrap_or(&order[order.len() - 1])]
    })
}

/// Fits the model, and reports to `out`; the picture.
pub(crate) fn run(out: &mut dyn Write) -> Result<String, Box<dyn Error>> {
    let days: Days<Concrete> = (tensor(IN_BED), Tensor::ones([DAYS]));
    let mode = fit(&days);
    let covariance = hessian_matrix_with(energy, &mode, &days).try_inverse()?;

    // Draws of the normal distribution, whose weights are the quotients of both densities.
    let noise = Key::new(1).normal([DRAWS, 3]);
    let points = noise.matmul(&covariance.cholesky().t());
    let points = &points + mode.ravel().up_to(&points);
    let (curves, numbers, energies) = Function::stage_with(follow, &points, &days).run_with(&points, &days)?;
    let weights = (0.5 * noise.square().sum_axis::<1>(1) - energies).softmax(0);
    let share = weights.to_vec();
    writeln!(out, "{DRAWS} draws, with weights worth {:.0}", 1.0 / weights.square().sum().item())?;

    writeln!(out, "                  mode    mean   95 % between")?;
    let [infection, recovery, scatter] = points.t().unstack().map(|column| column.exp());
    for (name, at_mode, values) in [
        ("infections a day", mode.infection.exp(), infection),
        ("days in bed", (-&mode.recovery).exp(), recovery.recip()),
        ("reproduction", reproduction(&mode), numbers),
        ("inverse dispersion", mode.scatter.exp(), scatter.clone()),
    ] {
        let ([low, high], mean) = (interval(&values.to_vec(), &share), weights.dot(&values).item());
        writeln!(out, "{name:<18} {:.2}    {mean:.2}   {low:.2} and {high:.2}", at_mode.item())?;
    }

    // The fit is a function of the weights of the days; without a day its weight is 0.
    let (counts, all) = &days;
    let by_weights = Function::value_and_grad_with(number_by_weights, all, counts);
    let (number, slope) = by_weights.run_with(all, counts)?;
    let mut anew = Vec::new();
    for k in 0..DAYS {
        let (without, _) = by_weights.run_with(&all.set([k], &tensor(0.0)), counts)?;
        anew.push((without - &number).item());
    }
    let most = slope.abs().argmax_axis(0).item() as usize;
    writeln!(out, "without day {} the reproduction number changes by {:.3}", most + 1, anew[most])?;
    writeln!(
        out,
        "by the derivative, {:.3}; standard error by all days {:.2}",
        -slope.to_vec()[most],
        slope.norm().item()
    )?;

    let data = (scatter.recip(), weights.clone());
    let table = Function::stage_with(predictions, &curves, &data).run_with(&curves, &data)?;
    let ends = |share: f64| {
        let of = |row: &[f64]| row.iter().take_while(|p| **p < share).count() as f64;
        table.to_vec().chunks(BOYS as usize).map(of).collect::<Vec<_>>()
    };
    let middle = curves.t().matvec(&weights).to_vec();
    draw([&ends(0.025), &middle, &ends(0.975)], &(-slope).to_vec(), &anew)
}

fn draw([low, middle, high]: [&[f64]; 3], slope: &[f64], anew: &[f64]) -> Result<String, Box<dyn Error>> {
    let days: Vec<f64> = (0..DAYS).map(|k| k as f64).collect();
    let seen = IN_BED.map(|n| n as f64);
    let fit = Picture::new("Influenza in a school of 763 boys", "days since 22 January 1978", "boys in bed")
        .with_zero()
        .band("95 % of predictions", 0, &days, low, high)
        .line("expected", 0, &days, middle)
        .points("in bed", 1, &days, &seen);
    let ends = [days[0], days[DAYS - 1]];
    let days_of = Picture::new("What each day says of the reproduction number", "the day that is left out", "change")
        .line("", 2, &ends, &[0.0; 2])
        .points("fitted anew without that day", 1, &days, anew)
        .line("by the derivative of the fit", 0, &days, slope);
    panels(&[fit, days_of])
}

/// The times beside those of `python/gallery/epidemic.py`.
fn times() -> Result<(), Box<dyn Error>> {
    let days: Days<Concrete> = (tensor(IN_BED), Tensor::ones([DAYS]));
    let [infection, recovery, scatter] = [1.7_f64, 0.5, 0.1].map(|x| tensor(x.ln()));
    let x = Epidemic { infection, recovery, scatter };
    picture::timed("energy and gradient", 1000, || {
        let f = Function::value_and_grad_with(energy, &x, &days);
        let (x, days) = (&x, &days);
        move || f.run_with(x, days).map(|(y, slope)| [y.item(), slope.ravel().norm().item()])
    })?;
    picture::timed("Hessian", 1000, || {
        let f = Function::hessian_matrix_with(energy, &x, &days);
        let (x, days) = (&x, &days);
        move || f.run_with(x, days).map(|h| [h.trace().item(), h.square().sum().sqrt().item()])
    })?;
    picture::timed("fit, and its gradient in the weights", 20, || {
        let f = Function::value_and_grad_with(number_by_weights, &days.1, &days.0);
        let days = &days;
        move || f.run_with(&days.1, &days.0).map(|(y, slope)| [y.item(), slope.norm().item()])
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    picture::main("epidemic", run, times)
}
