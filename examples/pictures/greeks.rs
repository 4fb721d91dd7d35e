//! Prices an option on four indices by Monte Carlo, with all its Greeks in one pass.
//!
//! `cargo run --release --example greeks [FOLDER OF THE PICTURE]`; with `--time` in place of the folder, times.
//!
//! The payoff is an average over assets and dates, so one of the 48 normal numbers of a draw is integrated by a formula whose bound is the root of
//! an equation. What is left is smooth, and has second derivatives. `docs/examples/greeks.md` shows the picture and what is printed.

use std::error::Error;
use std::io::Write;

use polygrad::random::Key;
use polygrad::{BaseTensor, Concrete, Function, Tensor, Tree, map, root, taylor_with, tensor};

mod picture;
use picture::{Picture, panels};

/// Closes of a year of 260 days, each with one before.
const CLOSES: &str = include_str!("../data/indices.csv");
const NAMES: [&str; 4] = ["DAX", "SMI", "CAC", "FTSE"];
const ASSETS: usize = NAMES.len();
const DAYS: usize = 260;
/// The payoff is the average of all assets at the end of so many months, each 100 today, less the strike.
const MONTHS: usize = 12;
const STRIKE: f64 = 100.0;
const DRAWS: usize = 2000;

/// What the price depends on. Assets are in units of today's prices.
#[derive(Tree, Clone, Debug)]
struct Market<T: BaseTensor> {
    spots: Tensor<T, 1>,
    volatilities: Tensor<T, 1>,
    correlations: Tensor<T, 2>,
    rate: Tensor<T, 0>,
}

/// The market after daily returns, each with a weight.
fn market<T: BaseTensor>(weights: &Tensor<T, 1>, returns: &Tensor<T, 2>) -> Market<T> {
    let share = weights / weights.sum();
    let apart = returns - returns.t().matvec(&share).up_to(returns);
    let apart = apart.t();
    let covariance = (&apart * share.up_to(&apart)).matmul(&apart.t()) * DAYS as f64;
    let volatilities = covariance.diagonal(0, 1).sqrt();
    let correlations = covariance / volatilities.outer(&volatilities);
    Market { spots: Tensor::full([ASSETS], 100.0), volatilities, correlations, rate: Tensor::scalar(0.035) }
}

/// The terms of the average of a draw, `a e^(b z)` for each month and asset, where `z` is the part of the draw along a direction. Without that
/// part the other numbers make `a`.
fn terms<T: BaseTensor>(market: &Market<T>, draw: &Tensor<T, 2>) -> (Tensor<T, 2>, Tensor<T, 2>, Tensor<T, 0>) {
    let Market { spots, volatilities, correlations, rate } = market;
    let dt = 1.0 / MONTHS as f64;
    // The first factor, and early months more: they move all later ones.
    let first = Tensor::constant(std::array::from_fn::<f64, { MONTHS * ASSETS }, _>(|k| {
        if k % ASSETS == 0 { (MONTHS - k / ASSETS) as f64 } else { 0.0 }
    }));
    let first = first.reshape([MONTHS, ASSETS]);
    let direction = &first / first.norm();
    let factors = correlations.cholesky().t();
    let moved = |normals: &Tensor<T, 2>| {
        let walk = normals.matmul(&factors).cumsum(0) * dt.sqrt();
        &walk * volatilities.up_to(&walk)
    };
    let (b, z) = (moved(&direction), (&direction * draw).sum());
    let drift = (rate - 0.5 * volatilities.square()) * dt;
    let drift = drift.up_to(&b).cumsum(0);
    let a = (moved(&(draw - &direction * &z)) + drift).exp() * spots.up_to(&b) / (MONTHS * ASSETS) as f64;
    (a, b, z)
}

/// What a draw pays.
fn payoff<T: BaseTensor>(market: &Market<T>, draw: &Tensor<T, 2>) -> Tensor<T, 0> {
    let (a, b, z) = terms(market, draw);
    ((a * (b * z).exp()).sum() - STRIKE).relu()
}

/// The expected payoff of all draws that differ along the direction. From the root of `sum a e^(b z) = STRIKE` on, the option pays.
fn integrated<T: BaseTensor>(market: &Market<T>, draw: &Tensor<T, 2>) -> Tensor<T, 0> {
    let (a, b, _) = terms(market, draw);
    let start = Tensor::scalar(0.0);
    let above = |z: &Tensor<_, 0>, (a, b): &(Tensor<_, 2>, Tensor<_, 2>)| (a * (b * z).exp()).sum() - STRIKE;
    let both = (a, b);
    let z = root(above, &start, &both);
    let (a, b) = both;
    let normal = |x: Tensor<T, 2>| 0.5 * (x * -std::f64::consts::FRAC_1_SQRT_2).erfc();
    let pays = 0.5 * (z.clone() * std::f64::consts::FRAC_1_SQRT_2).erfc();
    (a * (0.5 * b.square()).exp() * normal(b - z)).sum() - STRIKE * pays
}

/// What each draw adds to the price: the mean is the price.
fn values<T: BaseTensor>(
    market: &Market<T>,
    draws: &Tensor<T, 3>,
    of: impl Fn(&Market<T>, &Tensor<T, 2>) -> Tensor<T, 0>,
) -> Tensor<T, 1> {
    map(draws, |draw| of(market, draw)) * (-&market.rate).exp()
}

fn price<T: BaseTensor>(market: &Market<T>, draws: &Tensor<T, 3>) -> Tensor<T, 0> {
    values(market, draws, integrated).mean()
}

/// The price by what the payoff is of each draw.
fn crude<T: BaseTensor>(market: &Market<T>, draws: &Tensor<T, 3>) -> Tensor<T, 0> {
    values(market, draws, payoff).mean()
}

/// The price as a function of weights of the days whose returns make the market.
fn price_by_days<T: BaseTensor>(
    weights: &Tensor<T, 1>,
    (returns, draws): &(Tensor<T, 2>, Tensor<T, 3>),
) -> Tensor<T, 0> {
    price(&market(weights, returns), draws)
}

/// The price as a function of the assets alone.
fn price_by_spots<T: BaseTensor>(spots: &Tensor<T, 1>, (market, draws): &(Market<T>, Tensor<T, 3>)) -> Tensor<T, 0> {
    price(&Market { spots: spots.clone(), ..market.clone() }, draws)
}

fn returns() -> Result<Tensor<Concrete, 2>, Box<dyn Error>> {
    let numbers = CLOSES.lines().skip(1).flat_map(|line| line.split(',').map(str::parse));
    let closes = tensor(numbers.collect::<Result<Vec<f64>, _>>()?).ln().reshape([DAYS + 1, ASSETS]);
    Ok(closes.slice(0, 1..) - closes.slice(0, ..DAYS))
}

/// Taylor coefficients of the price up to order 8, from a flat market along a way.
fn along_way<T: BaseTensor>(
    (start, way): &(Tensor<T, 1>, Tensor<T, 1>),
    data: &(Market<T>, Tensor<T, 3>),
) -> Vec<Tensor<T, 0>> {
    let price = |x: &Tensor<_, 1>, (market, draws): &(Market<_>, Tensor<_, 3>)| price(&market.unravel(x), draws);
    taylor_with(price, start, way, data, 8)
}

/// The market with all assets so many times as high.
fn scaled(market: &Market<Concrete>, level: f64) -> Market<Concrete> {
    Market { spots: &market.spots * level, ..market.clone() }
}

/// Prices the option by so many draws, and reports to `out`; the picture.
pub(crate) fn run(count: usize, out: &mut dyn Write) -> Result<String, Box<dyn Error>> {
    let (returns, draws) = (returns()?, Key::<Concrete>::new(1).normal([count, MONTHS, ASSETS]));
    let all_days = Tensor::ones([DAYS]);
    let now = market(&all_days, &returns);
    let paid = Function::stage_with(|now: &Market<_>, draws| values(now, draws, payoff), &now, &draws);
    let smooth = Function::stage_with(|now: &Market<_>, draws| values(now, draws, integrated), &now, &draws);
    for (name, of) in [("payoffs", paid), ("integrals", smooth)] {
        let values = of.run_with(&now, &draws)?;
        let error = (values.var() / count as f64).sqrt();
        writeln!(out, "mean of {count} {name:<9} {:.3} +- {:.3}", values.mean().item(), 1.96 * error.item())?;
    }

    // All first derivatives in one pass, and a row of second ones for each asset.
    let (_, slope) = Function::value_and_grad_with(price, &now, &draws).run_with(&now, &draws)?;
    let data = (now.clone(), draws.clone());
    let by_spots = Function::hessian_matrix_with(price_by_spots, &now.spots, &data).run_with(&now.spots, &data)?;
    let revalue = Function::stage_with(price, &now, &draws);
    let revalue = |market: &Market<Concrete>| revalue.run_with(market, &draws).map(|price| price.item());
    let bumped = |x: &Tensor<Concrete, 1>, k: usize, by: f64| x.set([k], &(x.at([k]) + by));
    writeln!(out, "       volatility   delta  by bumps    vega  by bumps   gamma  by bumps")?;
    for (k, name) in NAMES.iter().enumerate() {
        let spot = |by: f64| revalue(&Market { spots: bumped(&now.spots, k, by), ..now.clone() });
        let vol = |by: f64| revalue(&Market { volatilities: bumped(&now.volatilities, k, by), ..now.clone() });
        let h = 0.01;
        let (up, at, down) = (spot(h)?, spot(0.0)?, spot(-h)?);
        let (delta, gamma) = ((up - down) / (2.0 * h), (up + down - 2.0 * at) / (h * h));
        let vega = (vol(1e-4)? - vol(-1e-4)?) / 2e-4;
        let [v, d, g] = [now.volatilities.at([k]), slope.spots.at([k]), by_spots.at([k, k])].map(|x| x.item());
        let by_vol = slope.volatilities.at([k]).item();
        write!(out, "{name:<6} {:>8.1} % {d:>8.4} {delta:>8.4} {:>8.4} ", 100.0 * v, by_vol / 100.0)?;
        writeln!(out, "{:>8.4} {:>9.5} {gamma:>8.5}", vega / 100.0, g)?;
    }
    let off = &slope.correlations - slope.correlations.diagonal(0, 1).diag();
    writeln!(out, "a point more of all correlations {:+.4}", off.sum().item() / 100.0)?;
    writeln!(out, "a point more of the rate         {:+.4}", slope.rate.item() / 100.0)?;
    let data = (returns, draws.clone());
    let (_, days) = Function::value_and_grad_with(price_by_days, &all_days, &data).run_with(&all_days, &data)?;
    writeln!(out, "standard error by a year of days  {:.2}", days.norm().item())?;
    draw(&now, &draws)
}

/// Gamma over the level of all assets, and errors of Taylor series of the price along a crash.
fn draw(now: &Market<Concrete>, draws: &Tensor<Concrete, 3>) -> Result<String, Box<dyn Error>> {
    let (by_payoffs, anew) = (Function::stage_with(crude, now, draws), Function::stage_with(price, now, draws));
    let levels: Vec<f64> = (0..=40).map(|k| 0.8 + 0.01 * f64::from(k)).collect();
    let (mut bumps, mut gammas) = (Vec::new(), Vec::new());
    let along = |x: &Tensor<_, 0>, (market, draws): &(Market<_>, Tensor<_, 3>)| {
        price(&Market { spots: &market.spots * x, ..market.clone() }, draws)
    };
    let data = (now.clone(), draws.clone());
    let gamma = Function::hessian_matrix_with(along, &tensor(1.0), &data);
    for level in &levels {
        let h = 0.002;
        let at = |by: f64| by_payoffs.run_with(&scaled(now, level + by), draws).map(|x| x.item());
        bumps.push((at(h)? + at(-h)? - 2.0 * at(0.0)?) / (h * h) / 1e4);
        gammas.push(gamma.run_with(&tensor(*level), &data)?.item() / 1e4);
    }
    let levels: Vec<f64> = levels.iter().map(|x| 100.0 * x).collect();
    let second =
        Picture::new("Gamma of an option on four indices, by Monte Carlo", "level of all indices, % of today", "gamma")
            .points("payoffs, revalued at bumps of 0.2 %", 1, &levels, &bumps)
            .line("second derivative", 0, &levels, &gammas);

    // Along the way all indices fall by 20 %, and all volatilities rise by half.
    let end = Market { spots: &now.spots * 0.8, volatilities: &now.volatilities * 1.5, ..now.clone() };
    let (start, way) = (now.ravel(), end.ravel() - now.ravel());
    let series = Function::stage_with(along_way, &(start.clone(), way.clone()), &data);
    let series = series.run_with(&(start.clone(), way.clone()), &data)?;
    let falls: Vec<f64> = (10..=40).map(|k| 0.5 * f64::from(k)).collect();
    let mut prices = Vec::new();
    for fall in &falls {
        prices.push(anew.run_with(&now.unravel(&(&start + &way * (fall / 20.0))), draws)?.item());
    }
    let mut crash = Picture::new(
        "Errors of Taylor series in a crash",
        "fall of all indices, % (at 20 % all volatilities are half as much again)",
        "error of the price",
    )
    .logarithmic();
    for (order, name, colour) in [(1, "order 1", 1), (2, "order 2", 3), (4, "order 4", 2), (8, "order 8", 0)] {
        let at = |fall: f64| (0..=order).map(|k| series[k as usize].item() * (fall / 20.0).powi(k)).sum::<f64>();
        let errors: Vec<f64> = falls.iter().zip(&prices).map(|(fall, price)| (at(*fall) - price).abs()).collect();
        crash = crash.line(name, colour, &falls, &errors);
    }
    panels(&[second, crash])
}

/// The times beside those of `python/gallery/greeks.py`.
fn times() -> Result<(), Box<dyn Error>> {
    let (returns, draws) = (returns()?, Key::<Concrete>::new(1).normal([DRAWS, MONTHS, ASSETS]));
    let all_days = Tensor::ones([DAYS]);
    let now = market(&all_days, &returns);
    let norm = |slope: Market<Concrete>| slope.ravel().norm().item();
    picture::timed("price", 50, || {
        let f = Function::stage_with(price, &now, &draws);
        let (now, draws) = (&now, &draws);
        move || f.run_with(now, draws).map(|y| [y.item(), 0.0])
    })?;
    picture::timed("price and its first derivatives", 50, || {
        let f = Function::value_and_grad_with(price, &now, &draws);
        let (now, draws) = (&now, &draws);
        move || f.run_with(now, draws).map(|(y, slope)| [y.item(), norm(slope)])
    })?;
    let data = (now.clone(), draws.clone());
    picture::timed("Hessian in the assets", 20, || {
        let f = Function::hessian_matrix_with(price_by_spots, &now.spots, &data);
        let (spots, data) = (&now.spots, &data);
        move || f.run_with(spots, data).map(|h| [h.trace().item(), h.square().sum().sqrt().item()])
    })?;
    let data = (returns, draws);
    picture::timed("price and derivatives in days", 50, || {
        let f = Function::value_and_grad_with(price_by_days, &all_days, &data);
        let (days, data) = (&all_days, &data);
        move || f.run_with(days, data).map(|(y, slope)| [y.item(), slope.norm().item()])
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    picture::main("greeks", |out| run(DRAWS, out), times)
}
