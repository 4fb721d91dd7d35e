//! The models: parameters without bounds, log density, and data at random, where needed from the model itself.
//!
//! Law: each model is the one that the collection states in the language of Stan, with its priors and transforms; `stan.py`
//! has these programs.

use polygrad::array::Rng;
use polygrad::stats::{
    ReducedRegression, bernoulli_logit, beta, binomial_logit, constrain, dirichlet, exponential, gamma, half_cauchy,
    half_normal, half_student_t, inv_gamma, linear_glm, logit_glm, lognormal, multi_normal_cholesky, normal,
    poisson_log, student_t, uniform,
};
use polygrad::{BaseTensor, Concrete, FlatFunction, Tensor, Tree, concat, fold, map_accum, odeint, stack, tensor};

/// What is done with each model.
pub(crate) trait Visitor {
    /// The name of the model in the collection, its log density, a point of ordinary parameters, its data.
    fn model<P: Sync, D: Tree<Concrete>>(&mut self, name: &'static str, f: &FlatFunction<P>, start: &[f64], data: &D);
}

/// Two points around one of ordinary parameters, for comparisons and as starts of chains; at none of them a derivative
/// happens to be 0.
pub(crate) fn points(start: &[f64]) -> [Vec<f64>; 2] {
    let mut rng = Rng::new(7);
    [(); 2].map(|()| start.iter().zip(rng.uniform([start.len()], -0.5, 0.5).to_vec()).map(|(x, d)| x + d).collect())
}

type Number<T> = Tensor<T, 0>;
type Vector<T> = Tensor<T, 1>;
type Matrix<T> = Tensor<T, 2>;
type Indices<T> = Tensor<T, 1, i64>;
type Mask<T> = Tensor<T, 1, bool>;

/// A struct of numbers and vectors that is a tree.
macro_rules! parameters {
    ($($name:ident { $($field:ident: $type:ident),* })*) => { $(
        #[derive(Tree, Clone, Debug)]
        struct $name<T: BaseTensor> {
            $($field: $type<T>,)*
        }
    )* };
}

parameters! {
    Schools { mean: Number, spread: Number, effects: Vector }
    Line { weights: Vector, sd: Number }
    Logit { intercept: Number, slope: Vector }
    Radon { counties: Vector, of_uranium: Number, of_floor: Number, mean: Number, spread: Number, sd: Number }
    Garch { mean: Number, start: Number, of_square: Number, of_variance: Number }
    Arma { mean: Number, phi: Number, theta: Number, sd: Number }
    Hidden { from_first: Vector, from_second: Vector, means: Vector }
    Mixture { means: Vector, sds: Vector, share: Number }
    Process { length: Number, amplitude: Number, noise: Number }
    Items {
        abilities: Vector, spread: Number, sharpness: Vector, of_sharpness: Number,
        hardness: Vector, mean: Number, of_hardness: Number
    }
    Rats { starts: Vector, rates: Vector, means: Vector, sds: Vector }
    Counts { intercept: Number, of_year: Vector, spread: Number, years: Vector }
    Diamonds { weights: Vector, intercept: Number, sd: Number }
    Pooled { intercept: Number, slope: Number, sd: Number }
    Drives { from_first: Vector, from_second: Vector, speeds: Vector, angles: Vector }
    Curve { intercept: Number, mean: Waves, log_sd: Waves, of_log_sd: Number }
    Waves { amplitude: Number, length: Number, weights: Vector }
    Hares { rates: Vector, start: Vector, sds: Vector }
    Topics { first: Vector, second: Vector, third: Vector, words_of_first: Vector, words_of_second: Vector }
    Dogs { weights: Vector }
    Bones { ages: Vector }
    Captures { share: Number, mean: Number, spread: Number, each: Vector }
}

fn eight_schools<T: BaseTensor>(p: &Schools<T>, (y, sd): &(Vector<T>, Vector<T>)) -> Number<T> {
    let (spread, jacobian) = constrain::positive(&p.spread);
    let prior = normal(&p.mean, 0.0, 5.0) + half_cauchy(&spread, 5.0) + normal(&p.effects, 0.0, 1.0).sum();
    prior + normal(y, &p.effects * &spread + &p.mean, sd).sum() + jacobian
}

/// `kidscore_momiq`, and `earn_height` and `nes` but for the prior of the deviation.
fn kidscore<T: BaseTensor>(p: &Line<T>, (x, y): &(Matrix<T>, Vector<T>)) -> Number<T> {
    let (sd, jacobian) = constrain::positive(&p.sd);
    half_cauchy(&sd, 2.5) + linear_glm(y, x, 0.0, &p.weights, sd) + jacobian
}

fn flat_line<T: BaseTensor>(p: &Line<T>, (x, y): &(Matrix<T>, Vector<T>)) -> Number<T> {
    let (sd, jacobian) = constrain::positive(&p.sd);
    linear_glm(y, x, 0.0, &p.weights, sd) + jacobian
}

fn nes_logit<T: BaseTensor>(p: &Logit<T>, (x, y): &(Matrix<T>, Mask<T>)) -> Number<T> {
    logit_glm(y, x, &p.intercept, &p.slope)
}

fn radon<T: BaseTensor>(p: &Radon<T>, (uranium, floor, county, y): &Houses<T>) -> Number<T> {
    let ((spread, of_spread), (sd, of_sd)) = (constrain::positive(&p.spread), constrain::positive(&p.sd));
    let prior =
        [&p.of_uranium, &p.of_floor, &p.mean].map(|x| normal(x, 0.0, 10.0)).into_iter().fold(of_spread, |a, b| a + b);
    let prior = prior + normal(&p.counties, 0.0, 1.0).sum() + half_normal(&spread, 1.0) + half_normal(&sd, 1.0) + of_sd;
    let means = (&p.counties * spread + &p.mean).take(county) + uranium * &p.of_uranium + floor * &p.of_floor;
    prior + normal(y, means, sd).sum()
}

type Houses<T> = (Vector<T>, Vector<T>, Indices<T>, Vector<T>);

fn garch<T: BaseTensor>(p: &Garch<T>, y: &Vector<T>) -> Number<T> {
    let (start, of_start) = constrain::positive(&p.start);
    let (of_square, first) = constrain::interval(&p.of_square, 0.0, 1.0);
    let (of_variance, second) = constrain::interval(&p.of_variance, 0.0, 1.0 - &of_square);
    let shocks = &start + (y.slice(0, ..y.len() - 1) - &p.mean).square() * of_square;
    let (_, variances): (_, Vector<T>) =
        map_accum(Tensor::scalar(0.25), &shocks, |variance: Number<T>, shock: &Number<T>| {
            let variance = shock + variance * &of_variance;
            (variance.clone(), variance)
        });
    let rest = normal(&y.slice(0, 1..), &p.mean, variances.sqrt()).sum();
    normal(&y.row(0), &p.mean, 0.5) + rest + of_start + first + second
}

fn arma<T: BaseTensor>(p: &Arma<T>, y: &Vector<T>) -> Number<T> {
    let (sd, jacobian) = constrain::positive(&p.sd);
    let prior =
        normal(&p.mean, 0.0, 10.0) + normal(&p.phi, 0.0, 2.0) + normal(&p.theta, 0.0, 2.0) + half_cauchy(&sd, 2.5);
    let known = y.slice(0, 1..) - &p.mean - y.slice(0, ..y.len() - 1) * &p.phi;
    let first = y.row::<0>(0) - &p.mean - &p.phi * &p.mean;
    let (_, errors): (_, Vector<T>) = map_accum(first.clone(), &known, |error: Number<T>, known: &Number<T>| {
        let error = known - error * &p.theta;
        (error.clone(), error)
    });
    prior + normal(&first, 0.0, &sd) + normal(&errors, 0.0, sd).sum() + jacobian
}

/// The log density of what a hidden chain of two states shows, by the forward algorithm: `rows` are those of the matrix of
/// transitions, `shown` the log densities at each time in each state.
fn forward<T: BaseTensor>(rows: [Vector<T>; 2], shown: [Vector<T>; 2]) -> Number<T> {
    let [[stay, go], [come, rest]] = rows.map(|row| row.ln().unstack());
    let [low, high] = shown;
    let later = (low.slice(0, 1..), high.slice(0, 1..));
    let step = |(a, b): (Number<T>, Number<T>), (low, high): &(Number<T>, Number<T>)| {
        ((&a + &stay).logaddexp(&b + &come) + low, (&a + &go).logaddexp(&b + &rest) + high)
    };
    let (a, b) = fold((low.row(0), high.row(0)), (&later.0, &later.1), step);
    a.logaddexp(b)
}

fn hidden<T: BaseTensor>(p: &Hidden<T>, y: &Vector<T>) -> Number<T> {
    let [(first, of_first), (second, of_second)] = [&p.from_first, &p.from_second].map(constrain::simplex);
    let (means, jacobian) = constrain::positive_ordered(&p.means);
    let [low, high] = means.unstack();
    let seen = forward([first, second], [normal(y, &low, 1.0), normal(y, &high, 1.0)]);
    seen + normal(&low, 3.0, 1.0) + normal(&high, 10.0, 1.0) + of_first + of_second + jacobian
}

fn mixture<T: BaseTensor>(p: &Mixture<T>, y: &Vector<T>) -> Number<T> {
    let ((means, of_means), (sds, of_sds)) = (constrain::ordered(&p.means), constrain::positive(&p.sds));
    let (share, of_share) = constrain::interval(&p.share, 0.0, 1.0);
    let prior = normal(&means, 0.0, 2.0).sum() + half_normal(&sds, 2.0).sum() + beta(&share, 5.0, 5.0);
    let ([low, high], [of_low, of_high]) = (means.unstack(), sds.unstack());
    let first = normal(y, low, of_low) + share.ln();
    prior + first.logaddexp(normal(y, high, of_high) + (1.0 - share).ln()).sum() + of_means + of_sds + of_share
}

fn process<T: BaseTensor>(p: &Process<T>, (x, y): &(Vector<T>, Vector<T>)) -> Number<T> {
    let [(length, a), (amplitude, b), (noise, c)] = [&p.length, &p.amplitude, &p.noise].map(constrain::positive);
    let apart: Matrix<T> = x.insert_axis::<2>(1) - x.insert_axis::<2>(0);
    let covariance = (apart / &length).square().scale(-0.5).exp() * amplitude.square() + Tensor::eye(x.len()) * &noise;
    let prior = gamma(&length, 25.0, 4.0) + half_normal(&amplitude, 2.0) + half_normal(&noise, 1.0);
    prior + multi_normal_cholesky(y, 0.0, &covariance.cholesky()) + a + b + c
}

fn items<T: BaseTensor>(p: &Items<T>, right: &Tensor<T, 2, bool>) -> Number<T> {
    let [(spread, a), (of_sharpness, b), (of_hardness, c)] =
        [&p.spread, &p.of_sharpness, &p.of_hardness].map(constrain::positive);
    let (sharpness, d) = constrain::positive(&p.sharpness);
    let prior = half_cauchy(&spread, 2.0) + half_cauchy(&of_sharpness, 2.0) + half_cauchy(&of_hardness, 2.0);
    let prior = prior + normal(&p.mean, 0.0, 5.0) + normal(&p.hardness, &p.mean, of_hardness).sum();
    let prior = prior + normal(&p.abilities, 0.0, spread).sum() + lognormal(&sharpness, 0.0, of_sharpness).sum();
    let above: Matrix<T> = p.abilities.insert_axis::<2>(0) - p.hardness.insert_axis::<2>(1);
    prior + bernoulli_logit(right, above * sharpness.insert_axis::<2>(1)).sum() + a + b + c + d
}

fn rats<T: BaseTensor>(p: &Rats<T>, (x, y): &(Vector<T>, Matrix<T>)) -> Number<T> {
    let (sds, jacobian) = constrain::positive(&p.sds);
    let ([of_starts, of_rates, of_weights], [start, rate]) = (sds.unstack(), p.means.unstack());
    let prior = normal(&start, 0.0, 100.0) + normal(&rate, 0.0, 100.0) + jacobian;
    let each = normal(&p.starts, start, of_starts).sum() + normal(&p.rates, rate, of_rates).sum();
    let lines: Matrix<T> = p.rates.outer(x) + p.starts.insert_axis::<2>(1);
    prior + each + normal(y, lines, of_weights).sum()
}

fn counts<T: BaseTensor>(p: &Counts<T>, (powers, y): &(Matrix<T>, Indices<T>)) -> Number<T> {
    let (intercept, a) = constrain::interval(&p.intercept, -20.0, 20.0);
    let (of_year, b) = constrain::interval(&p.of_year, -10.0, 10.0);
    let (spread, c) = constrain::interval(&p.spread, 0.0, 5.0);
    let prior = uniform(&intercept, -20.0, 20.0) + uniform(&of_year, -10.0, 10.0).sum() + uniform(&spread, 0.0, 5.0);
    let log_rates = powers.matvec(&of_year) + &p.years + intercept;
    prior + normal(&p.years, 0.0, spread).sum() + poisson_log(y, log_rates).sum() + a + b + c
}

fn diamonds<T: BaseTensor>(p: &Diamonds<T>, (x, y): &(Matrix<T>, Vector<T>)) -> Number<T> {
    let (sd, jacobian) = constrain::positive(&p.sd);
    let prior =
        normal(&p.weights, 0.0, 1.0).sum() + student_t(&p.intercept, 3.0, 8.0, 10.0) + half_student_t(&sd, 3.0, 10.0);
    prior + linear_glm(y, &(x - x.mean_keep(0)), &p.intercept, &p.weights, sd) + jacobian
}

/// The same density of the data in their reduced form.
fn diamonds_reduced<T: BaseTensor>(p: &Line<T>, data: &ReducedRegression<T>) -> Number<T> {
    let ((sd, jacobian), n) = (constrain::positive(&p.sd), p.weights.len());
    let (intercept, weights) = (p.weights.row::<0>(0), p.weights.slice(0, 1..n));
    let prior =
        normal(&weights, 0.0, 1.0).sum() + student_t(&intercept, 3.0, 8.0, 10.0) + half_student_t(&sd, 3.0, 10.0);
    prior + data.linear_glm(&p.weights, sd) + jacobian
}

/// `radon_pooled`.
fn pooled<T: BaseTensor>(p: &Pooled<T>, (floor, y): &(Vector<T>, Vector<T>)) -> Number<T> {
    let (sd, jacobian) = constrain::positive(&p.sd);
    let prior = normal(&p.intercept, 0.0, 10.0) + normal(&p.slope, 0.0, 10.0) + half_normal(&sd, 1.0);
    prior + normal(y, floor * &p.slope + &p.intercept, sd).sum() + jacobian
}

/// `hmm_drive_0`: two exponential observations of a chain of two states.
fn drives<T: BaseTensor>(p: &Drives<T>, (u, v): &(Vector<T>, Vector<T>)) -> Number<T> {
    let [(first, a), (second, b)] = [&p.from_first, &p.from_second].map(constrain::simplex);
    let [(speeds, c), (angles, d)] = [&p.speeds, &p.angles].map(constrain::positive_ordered);
    let prior = dirichlet::<_, 1, 0, _>(&first, 1.0) + dirichlet::<_, 1, 0, _>(&second, 1.0);
    let modes = Tensor::constant([0.0, 3.0]);
    let prior = prior + normal(&speeds, &modes, 1.0).sum() + normal(&angles, &modes, 1.0).sum();
    let (speeds, angles): ([Number<T>; 2], [Number<T>; 2]) = (speeds.unstack(), angles.unstack());
    let [low, high] = [0, 1].map(|k| exponential(u, &speeds[k]) + exponential(v, &angles[k]));
    prior + forward([first, second], [low, high]) + a + b + c + d
}

/// The spectral approximation of a Gaussian process, with its prior.
fn waves<T: BaseTensor>(
    p: &Waves<T>,
    (basis, frequencies): &(Matrix<T>, Vector<T>),
    [shape, scale]: [f64; 2],
) -> (Vector<T>, Number<T>) {
    let [(amplitude, a), (length, b)] = [&p.amplitude, &p.length].map(constrain::positive);
    let density = amplitude.square() * (2.0 * std::f64::consts::PI).sqrt() * &length;
    let density = (frequencies * &length).square().scale(-0.5).exp() * density;
    let prior = half_student_t(&amplitude, 3.0, 36.0) + inv_gamma(&length, shape, scale);
    (basis.matvec(&(density.sqrt() * &p.weights)), prior + normal(&p.weights, 0.0, 1.0).sum() + a + b)
}

/// `accel_gp`: a curve and the logarithm of its noise, both Gaussian processes.
fn curve<T: BaseTensor>(p: &Curve<T>, (mean, log_sd, y): &(Basis<T>, Basis<T>, Vector<T>)) -> Number<T> {
    let (of_mean, a) = waves(&p.mean, mean, [1.124909, 0.0177]);
    let (of_sd, b) = waves(&p.log_sd, log_sd, [1.124909, 0.0177]);
    let prior = student_t(&p.intercept, 3.0, -13.0, 36.0) + student_t(&p.of_log_sd, 3.0, 0.0, 10.0) + a + b;
    prior + normal(y, of_mean + &p.intercept, (of_sd + &p.of_log_sd).exp()).sum()
}

type Basis<T> = (Matrix<T>, Vector<T>);

/// Numbers of hares and lynxes over time, by an ordinary differential equation.
fn animals<T: BaseTensor>(start: &Vector<T>, times: &Vector<T>, rates: &Vector<T>) -> Matrix<T> {
    let growth = |z: &Vector<_>, _: &Number<_>, rates: &Vector<_>| {
        let [hares, lynxes]: [Number<_>; 2] = z.unstack();
        let [of_hares, eaten, of_lynxes, fed]: [Number<_>; 4] = rates.unstack();
        stack((&hares * (of_hares - eaten * &lynxes), lynxes * (fed * hares - of_lynxes)))
    };
    stack(odeint(growth, start, times, rates))
}

/// `hudson_lynx_hare-lotka_volterra`.
fn hares<T: BaseTensor>(p: &Hares<T>, (times, y): &(Vector<T>, Matrix<T>)) -> Number<T> {
    let [(rates, a), (start, b), (sds, c)] = [&p.rates, &p.start, &p.sds].map(constrain::positive);
    let states = animals(&start, times, &rates);
    let prior =
        normal(&rates, Tensor::constant([1.0, 0.05, 1.0, 0.05]), Tensor::constant([0.5, 0.05, 0.5, 0.05])).sum();
    let prior = prior + lognormal(&sds, -1.0, 1.0).sum() + lognormal(&start, 10f64.ln(), 1.0).sum();
    prior + lognormal(y, states.ln(), sds.up_to(y)).sum() + a + b + c
}

/// `three_docs1200-ldaK2`: the topics of words, summed out.
fn topics<T: BaseTensor>(p: &Topics<T>, (document, word): &(Indices<T>, Indices<T>)) -> Number<T> {
    let [(first, a), (second, b), (third, c)] = [&p.first, &p.second, &p.third].map(constrain::simplex);
    let [(one, d), (other, e)] = [&p.words_of_first, &p.words_of_second].map(constrain::simplex);
    let flat = |x: &Vector<T>| dirichlet::<_, 1, 0, _>(x, 1.0);
    let prior = [&first, &second, &third, &one, &other].map(flat).into_iter().fold(a + b + c + d + e, |a, b| a + b);
    let shares = stack((first, second, third)).ln().t();
    let of_topic = |k: usize, words: Vector<T>| shares.row::<1>(k).take(document) + words.ln().take(word);
    prior + of_topic(0, one).logaddexp(of_topic(1, other)).sum()
}

/// Dogs that learn to avoid shocks, from the numbers of both before each trial.
fn dogs<T: BaseTensor>(p: &Dogs<T>, (avoided, shocked, now): &Trials<T>) -> Number<T> {
    let [intercept, of_avoided, of_shocked]: [Number<T>; 3] = p.weights.unstack();
    let logits = avoided * of_avoided + shocked * of_shocked + intercept;
    normal(&p.weights, 0.0, 100.0).sum() + bernoulli_logit(now, logits).sum()
}

type Trials<T> = (Matrix<T>, Matrix<T>, Tensor<T, 2, bool>);

/// `bones_data-bones_model`: grades of 34 properties of 13 children, by thresholds.
fn bones<T: BaseTensor>(p: &Bones<T>, (sharpness, below, above, known): &Grades<T>) -> Number<T> {
    // The probability of a grade is that of its lower threshold less that of its upper one.
    let passed =
        |threshold: &Tensor<T, 2>| ((p.ages.insert_axis::<2>(1) - threshold) * sharpness.up_to(threshold)).sigmoid();
    let grade = passed(below) - passed(above);
    normal(&p.ages, 0.0, 36.0).sum() + known.select(grade, 1.0).ln().sum()
}

/// The sharpness of each property; for each child and property, the thresholds below and above the grade, and whether
/// the grade is known.
type Grades<T> = (Vector<T>, Matrix<T>, Matrix<T>, Tensor<T, 2, bool>);

/// `Mh_data-Mh_model`: animals that were caught at some of five occasions, and others that may not exist.
fn captures<T: BaseTensor>(p: &Captures<T>, (seen, never): &(Indices<T>, Indices<T>)) -> Number<T> {
    let [(share, a), (mean, b)] = [&p.share, &p.mean].map(|x| constrain::interval(x, 0.0, 1.0));
    let (spread, c) = constrain::interval(&p.spread, 0.0, 5.0);
    let logits = &p.each * spread + (mean.ln() - (1.0 - &mean).ln());
    let n = seen.len();
    let caught = binomial_logit(seen, 5, logits.slice(0, ..n)).sum() + share.ln() * n as f64;
    let missed = binomial_logit(never, 5, logits.slice(0, n..)) + share.ln();
    normal(&p.each, 0.0, 1.0).sum() + caught + missed.logaddexp((1.0 - share).ln()).sum() + a + b + c
}

/// Numbers from a standard normal distribution.
fn noise<const D: usize>(rng: &mut Rng, shape: [usize; D]) -> Tensor<Concrete, D> {
    rng.normal(shape, 0.0, 1.0)
}

/// A table with a column of ones and `k - 1` of noise, and what a line makes of it.
fn table(rng: &mut Rng, n: usize, k: usize) -> (Matrix<Concrete>, Vector<Concrete>) {
    let x = Tensor::from_fn([n, k], |[_, j]| if j == 0 { 1.0 } else { rng.normal([], 0.0, 1.0).item() });
    let y = x.matvec(&noise(rng, [k])) + noise(rng, [n]);
    (x, y)
}

/// A series whose elements depend on the one before, and on its error.
fn series(rng: &mut Rng, n: usize) -> Vector<Concrete> {
    let (mut last, mut error) = (0.0, 0.0);
    Tensor::from_fn([n], |_| {
        let new: f64 = rng.normal([], 0.0, 1.0).item();
        last = 0.6 * last + 0.3 * error + new;
        error = new;
        last
    })
}

/// Numbers around -2 and around 2.
fn two_hills(rng: &mut Rng, n: usize) -> Vector<Concrete> {
    Tensor::from_fn([n], |[k]| rng.normal([], if k % 3 == 0 { -2.0 } else { 2.0 }, 1.0).item())
}

/// Which of some items some people answered rightly, as the model has it.
fn answers(rng: &mut Rng, items: usize, people: usize) -> Tensor<Concrete, 2, bool> {
    let above: Matrix<Concrete> = noise(rng, [1, people]) - noise(rng, [items, 1]);
    let logits = above * noise(rng, [items, 1]).scale(0.5).exp();
    rng.uniform([items, people], 0.0, 1.0).lt(logits.sigmoid())
}

/// Trials of dogs that learn from each of them.
fn trials(rng: &mut Rng, dogs: usize, count: usize) -> Trials<Concrete> {
    let mut shocks = 0.0;
    let now = Tensor::from_fn([dogs, count], |[_, t]| {
        shocks = if t == 0 { 0.0 } else { shocks };
        let logit: f64 = 2.0 - 0.3 * (t as f64 - shocks) - 0.1 * shocks;
        let shocked = rng.uniform([], 0.0, 1.0).item() < 1.0 / (1.0 + (-logit).exp());
        shocks += f64::from(shocked);
        shocked
    });
    let shocked: Matrix<Concrete> = now.to_float().cumsum(1) - now.to_float();
    (Tensor::from_fn([dogs, count], |[_, t]| t as f64) - &shocked, shocked, now)
}

/// Integers below `n`.
fn below(rng: &mut Rng, count: usize, n: usize) -> Indices<Concrete> {
    Tensor::from_fn([count], |_| rng.below(n) as i64)
}

/// Shows a visitor a model: its name, its log density, its parameters, its data.
macro_rules! model {
    ($visitor:ident, $name:literal, $f:ident, $start:expr, $data:expr) => {
        let (start, data) = ($start, $data);
        let f = FlatFunction::new_with($f, &start, &data);
        let start = start.ravel().to_vec();
        $visitor.model($name, &f, &start, &data);
    };
}

/// Shows all models.
pub(crate) fn all(visitor: &mut impl Visitor) {
    let mut rng = Rng::new(1);
    let rng = &mut rng;
    let (zero, zeros) = (|| tensor(0.0), |n: usize| Tensor::<Concrete, 1>::zeros([n]));
    let line = |k: usize| Line { weights: zeros(k), sd: zero() };
    let schools = Schools { mean: zero(), spread: zero(), effects: zeros(8) };
    let y = tensor([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0]);
    let sd = tensor([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0]);
    model!(visitor, "eight_schools_noncentered", eight_schools, schools, (y, sd));
    model!(visitor, "kidscore_momiq", kidscore, line(2), table(rng, 434, 2));
    model!(visitor, "earn_height", flat_line, line(2), table(rng, 1192, 2));
    model!(visitor, "nes", flat_line, line(9), table(rng, 1330, 9));
    let votes = (noise(rng, [1179, 1]), noise(rng, [1179]).gt(0.0));
    model!(visitor, "nes_logit", nes_logit, Logit { intercept: zero(), slope: zeros(1) }, votes);
    let counties = 386;
    let houses =
        (noise(rng, [12573]), noise(rng, [12573]).gt(0.5).to_float(), below(rng, 12573, counties), noise(rng, [12573]));
    let radon_start = Radon {
        counties: zeros(counties),
        of_uranium: zero(),
        of_floor: zero(),
        mean: zero(),
        spread: zero(),
        sd: zero(),
    };
    model!(visitor, "radon_hierarchical_noncentered", radon, radon_start, houses);
    let start = Garch { mean: zero(), start: zero(), of_square: zero(), of_variance: zero() };
    model!(visitor, "garch11", garch, start, noise(rng, [200]));
    let start = Arma { mean: zero(), phi: zero(), theta: zero(), sd: zero() };
    model!(visitor, "arma11", arma, start, series(rng, 200));
    let start = Hidden { from_first: zeros(1), from_second: zeros(1), means: zeros(2) };
    model!(visitor, "hmm_example", hidden, start, noise(rng, [100]) + 5.0);
    let start = Mixture { means: zeros(2), sds: zeros(2), share: zero() };
    model!(visitor, "low_dim_gauss_mix", mixture, start, two_hills(rng, 1000));
    let start = Process { length: zero(), amplitude: zero(), noise: zero() };
    model!(visitor, "gp_regr", process, start, (Tensor::linspace(-10.0, 10.0, 11), noise(rng, [11])));
    let start = Items {
        abilities: zeros(100),
        spread: zero(),
        sharpness: zeros(20),
        of_sharpness: zero(),
        hardness: zeros(20),
        mean: zero(),
        of_hardness: zero(),
    };
    model!(visitor, "irt_2pl", items, start, answers(rng, 20, 100));
    let start = Rats { starts: zeros(30), rates: zeros(30), means: zeros(2), sds: zeros(3) };
    let ages = Tensor::linspace(-2.0, 2.0, 5);
    let weights = (noise(rng, [30, 1]) * 0.3 + 1.0) * ages.insert_axis::<2>(0) + noise(rng, [30, 1]);
    let weights = weights + noise(rng, [30, 5]) * 0.5;
    model!(visitor, "rats", rats, start, (ages, weights));
    let powers = Tensor::from_fn([40, 3], |[i, k]| ((i as f64 - 19.5) / 20.0).powi(k as i32 + 1));
    let start = Counts { intercept: zero(), of_year: zeros(3), spread: zero(), years: zeros(40) };
    model!(visitor, "GLMM_Poisson", counts, start, (powers, below(rng, 40, 60)));
    let (x, y) = table(rng, 5000, 24);
    let centred = concat(1, (Tensor::ones([5000, 1]), &x - x.mean_keep(0)));
    let start = Diamonds { weights: zeros(24), intercept: zero(), sd: zero() };
    model!(visitor, "diamonds", diamonds, start, (x, y.clone()));
    model!(visitor, "diamonds, reduced", diamonds_reduced, line(25), ReducedRegression::new(&y, &centred));
    more(rng, visitor);
}

/// Shows the models of the second half.
fn more(rng: &mut Rng, visitor: &mut impl Visitor) {
    let (zero, zeros) = (|| tensor(0.0), |n: usize| Tensor::<Concrete, 1>::zeros([n]));
    model!(visitor, "mesquite", flat_line, Line { weights: zeros(7), sd: zero() }, table(rng, 46, 7));
    let start = Pooled { intercept: zero(), slope: zero(), sd: zero() };
    model!(visitor, "radon_pooled", pooled, start, (noise(rng, [12573]).gt(0.5).to_float(), noise(rng, [12573])));
    let start = Drives { from_first: zeros(1), from_second: zeros(1), speeds: zeros(2), angles: zeros(2) };
    let positive = |rng: &mut Rng| -rng.uniform([416], 0.0, 1.0).shift(-1.0).abs().ln();
    model!(visitor, "hmm_drive_0", drives, start, (positive(rng), positive(rng)));
    let waves = |n: usize| Waves { amplitude: zero(), length: zero(), weights: zeros(n) };
    let start = Curve { intercept: zero(), mean: waves(40), log_sd: waves(20), of_log_sd: zero() };
    let basis = |n: usize| {
        let waves = Tensor::from_fn([133, n], |[i, k]| ((k + 1) as f64 * 1.2 * (i as f64 / 66.0)).sin());
        (waves, Tensor::from_fn([n], |[k]| (k + 1) as f64 * 1.2))
    };
    model!(visitor, "accel_gp", curve, start, (basis(40), basis(20), noise(rng, [133])));
    let start = Hares { rates: tensor([-0.6, -3.5, -0.2, -3.7]), start: tensor([3.5, 1.8]), sds: zeros(2) };
    let years = Tensor::linspace(0.0, 20.0, 21);
    let seen = animals(&start.start.exp(), &years, &start.rates.exp()) * noise(rng, [21, 2]).scale(0.25).exp();
    model!(visitor, "lotka_volterra", hares, start, (years, seen));
    let start = Topics {
        first: zeros(1),
        second: zeros(1),
        third: zeros(1),
        words_of_first: zeros(4),
        words_of_second: zeros(4),
    };
    model!(visitor, "ldaK2", topics, start, (below(rng, 1200, 3), below(rng, 1200, 5)));
    model!(visitor, "dogs", dogs, Dogs { weights: zeros(3) }, trials(rng, 30, 25));
    let low: Matrix<Concrete> = noise(rng, [13, 34]);
    let high = &low + rng.uniform([13, 34], 0.5, 2.0);
    let grades = (rng.uniform([34], 0.5, 2.0), low, high, noise(rng, [13, 34]).gt(-1.0));
    model!(visitor, "bones", bones, Bones { ages: zeros(13) }, grades);
    let start = Captures { share: zero(), mean: zero(), spread: zero(), each: zeros(385) };
    model!(visitor, "Mh", captures, start, (below(rng, 146, 5) + 1, Tensor::<Concrete, 1, i64>::zeros([239])));
}
