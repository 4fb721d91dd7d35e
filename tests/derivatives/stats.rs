//! Log densities beside figures computed with 60 digits, at their borders, in `f32`, in batches and without constants.
//!
//! The figures come from the formulas in the documentation of each density, differentiated by mpmath; those values that
//! SciPy 1.16 has agree with it to 1e-11. All interpreters: the gallery.

use polygrad::stats::{self, *};
use polygrad::{
    BaseTensor, Concrete, Function, Tensor, check_gradient, concat, direct, grad, hessian, jvp, stack, tensor, vmap,
};

type Number<T> = Tensor<T, 0>;
type Vector<T> = Tensor<T, 1>;

/// A density, its integers, its real arguments, and there its value, gradient and Hessian.
type Figure = (&'static str, &'static [i64], &'static [f64], f64, &'static [f64], &'static [f64]);

#[rustfmt::skip]
#[allow(clippy::approx_constant, clippy::excessive_precision)]
const FIGURES: &[Figure] = &[
    ("normal", &[], &[0.75, -0.5, 1.5], -1.6716258635350594, &[-0.5555555555555556, 0.5555555555555556, -0.2037037037037037], &[-0.4444444444444444, 0.4444444444444444, 0.7407407407407407, 0.4444444444444444, -0.4444444444444444, -0.7407407407407407, 0.7407407407407407, -0.7407407407407407, -0.48148148148148145]),
    ("half_normal", &[], &[0.75, 1.5], -0.7562564607528918, &[-0.3333333333333333, -0.5], &[-0.4444444444444444, 0.4444444444444444, 0.4444444444444444, 0.1111111111111111]),
    ("student_t", &[], &[0.75, 3.5, -0.5, 1.25], -1.7780746062057504, &[-0.8, 0.036879792397983675, 0.8, 0.0], &[-0.35555555555555557, 0.0, 0.35555555555555557, 0.9955555555555555, 0.0, -0.01994714710064775, 0.0, 0.0, 0.35555555555555557, 0.0, -0.35555555555555557, -0.9955555555555555, 0.9955555555555555, 0.0, -0.9955555555555555, -0.9955555555555555]),
    ("student_t", &[], &[-40.0, 0.75, 2.0, 0.25], -9.038126849154413, &[0.0416655594823692, -3.7928583143788526, -0.0416655594823692, 2.999813993038025], &[0.0009919844088717952, 0.023807414926279864, -0.0009919844088717952, -8.857239015198192e-06, 0.023807414926279864, -0.8723779308416318, -0.023807414926279864, 3.9996457076150174, -0.0009919844088717952, -0.023807414926279864, 0.0009919844088717952, 8.857239015198192e-06, -8.857239015198192e-06, 3.9996457076150174, 8.857239015198192e-06, -12.000743988306654]),
    ("half_student_t", &[], &[2.5, 4.0, 1.25], -2.243693575165854, &[-1.0, -0.018887437506584632, 1.2], &[0.0, -0.075, 0.8, -0.075, 0.00041842231300210714, 0.15, 0.8, 0.15, -2.56]),
    ("cauchy", &[], &[0.75, -0.5, 1.5], -2.077549919674766, &[-0.6557377049180327, 0.6557377049180327, -0.12021857923497267], &[-0.09459822628325719, 0.09459822628325719, 0.5159903251814029, 0.09459822628325719, -0.09459822628325719, -0.5159903251814029, 0.5159903251814029, -0.5159903251814029, -0.3498462181611873]),
    ("half_cauchy", &[], &[2.5, 1.5], -2.186183760677561, &[-0.5882352941176471, 0.3137254901960784], &[0.11072664359861592, 0.20761245674740483, 0.20761245674740483, -0.5551710880430604]),
    ("laplace", &[], &[0.75, -0.5, 1.5], -1.931945622001443, &[-0.6666666666666666, 0.6666666666666666, -0.1111111111111111], &[0.0, 0.0, 0.4444444444444444, 0.0, 0.0, -0.4444444444444444, 0.4444444444444444, -0.4444444444444444, -0.2962962962962963]),
    ("logistic", &[], &[0.75, -0.5, 1.5], -1.9605680733099047, &[-0.26274571195387636, 0.26274571195387636, -0.447711906705103], &[-0.18770456764714755, 0.18770456764714755, 0.33158428100854054, 0.18770456764714755, -0.18770456764714755, -0.33158428100854054, 0.33158428100854054, -0.33158428100854054, 0.02215437029628491]),
    ("logistic", &[], &[1.0, 1.0, 0.5], -0.6931471805599453, &[0.0, 0.0, -2.0], &[-2.0, 2.0, 0.0, 2.0, -2.0, 0.0, 0.0, 0.0, 4.0]),
    ("lognormal", &[], &[2.5, 0.25, 0.75], -1.9421634942994, &[-0.8738067426660658, 1.1845168566651645, -0.28102319554039185], &[0.06507825262198189, 0.7111111111111111, 1.263484647109509, 0.7111111111111111, -1.7777777777777777, -3.158711617773772, 1.263484647109509, -3.158711617773772, -2.431462773393988]),
    ("exponential", &[], &[2.5, 0.75], -2.162682072451781, &[-0.75, -1.1666666666666667], &[0.0, -1.0, -1.0, -1.7777777777777777]),
    ("gamma", &[], &[2.5, 1.75, 0.75], -1.6068244568645147, &[-0.45, 0.381136205875513, -0.16666666666666666], &[-0.12, 0.4, -1.0, 0.4, -0.7641018698938287, 1.3333333333333333, -1.0, 1.3333333333333333, -3.111111111111111]),
    ("gamma", &[], &[0.001, 0.25, 3.0], 4.164447006705553, &[-753.0, -1.581689456937762, 0.08233333333333333], &[750000.0, 1000.0, -1.0, 1000.0, -17.19732915450711, 0.3333333333333333, -1.0, 0.3333333333333333, -0.027777777777777776]),
    ("inv_gamma", &[], &[2.5, 1.75, 0.75], -3.2388420184240574, &[-0.98, -1.4514452578727972, 1.9333333333333333], &[0.344, -0.4, 0.16, -0.4, -0.7641018698938287, 1.3333333333333333, 0.16, 1.3333333333333333, -3.111111111111111]),
    ("beta", &[], &[0.375, 1.75, 0.75], -0.45231799238525144, &[2.4, -0.5251450659133442, 1.31901389118598], &[-4.693333333333333, 2.6666666666666665, -1.6, 2.6666666666666665, -0.27374411379359387, 0.49035775610023485, -1.6, 0.49035775610023485, -2.0515218915713715]),
    ("uniform", &[], &[0.375, -0.5, 2.0], -0.9162907318741551, &[0.0, 0.4, -0.4], &[0.0, 0.0, 0.0, 0.0, 0.16, -0.16, 0.0, -0.16, 0.16]),
    ("bernoulli_logit", &[1], &[0.75], -0.38687100611489994, &[0.320821300824607], &[-0.21789499376181404]),
    ("bernoulli_logit", &[0], &[0.75], -1.1368710061148999, &[-0.679178699175393], &[-0.21789499376181404]),
    ("binomial_logit", &[3, 10], &[-0.75], -1.3312183183669535, &[-0.20821300824607028], &[-2.1789499376181403]),
    ("binomial_logit", &[10, 10], &[2.5], -0.7888973429254962, &[0.7585818002124355], &[-0.7010371654510815]),
    ("poisson_log", &[3], &[0.75], -1.6587594858407297, &[0.8829999833873253], &[-2.117000016612675]),
    ("poisson_log", &[0], &[-2.0], -0.1353352832366127, &[-0.1353352832366127], &[-0.1353352832366127]),
    ("neg_binomial_2_log", &[4], &[0.75, 1.5], -2.5623072295277085, &[0.7808957594990934, 0.17382615214903954], &[-1.3349893111898306, 0.30470119403547974, 0.30470119403547974, -0.20133470751839178]),
    ("neg_binomial_2_log", &[0], &[-0.75, 2.5], -0.4326693068834184, &[-0.39729836845443445, -0.014148375371593608], &[-0.33415997102381223, -0.025255358972248888, -0.025255358972248888, 0.010102143588899555]),
    ("categorical_logit", &[2], &[0.75, -0.5, 0.25], -1.1381816024124844, &[-0.5282521236080877, -0.1513467673652992, 0.679598890973387], &[-0.24920181751163334, 0.07994925126193854, 0.16925256624969479, 0.07994925126193854, -0.1284409233733732, 0.048491672111434674, 0.16925256624969479, 0.048491672111434674, -0.21774423836112947]),
    ("dirichlet", &[], &[0.25, 0.125, 0.625, 1.5, 0.75, 2.5], 1.5630975952981776, &[2.0, -2.0, 2.4, 0.026419720179995755, 0.45562339338509916, 0.27604378538748414], &[-8.0, 0.0, 0.0, 4.0, 0.0, 0.0, 0.0, 16.0, 0.0, 0.0, 8.0, 0.0, 0.0, 0.0, -3.84, 0.0, 0.0, 1.6, 4.0, 0.0, 0.0, -0.7005734589655374, 0.23422874157914197, 0.23422874157914197, 0.0, 8.0, 0.0, 0.23422874157914197, -2.3076509060924644, 0.23422874157914197, 0.0, 0.0, 1.6, 0.23422874157914197, 0.23422874157914197, -0.2561290145210929]),
    ("multi_normal_cholesky", &[], &[0.75, -0.5, 0.25, 1.5, 1.25, -0.75, 0.5], -7.22787343716361, &[3.76, 6.8, -3.76, -6.8, -2.304, -2.72, 21.12], &[-2.08, -2.4, 2.08, 2.4, -2.176, -4.48, -16.32, -2.4, -4.0, 2.4, 4.0, 0.96, 1.6, -27.2, 2.08, 2.4, -2.08, -2.4, 2.176, 4.48, 16.32, 2.4, 4.0, -2.4, -4.0, -0.96, -1.6, 27.2, -2.176, 0.96, 2.176, -0.96, 2.7136, 1.792, 6.528, -4.48, 1.6, 4.48, -1.6, 1.792, -0.64, 10.88, -16.32, -27.2, 16.32, 27.2, 6.528, 10.88, -134.72]),
    ("lkj_corr_cholesky", &[], &[0.75, 0.5, 1.0], -1.883994663590636, &[1.3333333333333333, 0.0, -0.5753641449035618], &[-1.7777777777777777, 0.0, 2.6666666666666665, 0.0, 0.0, 4.0, 2.6666666666666665, 4.0, -1.2898681336964528]),
    ("lkj_corr_cholesky", &[], &[0.75, 0.5, 2.5], -3.5231475065997757, &[5.333333333333333, 6.0, -1.3812862004766764], &[-7.111111111111111, 0.0, 2.6666666666666665, 0.0, -12.0, 4.0, 2.6666666666666665, 4.0, -0.22457631074799156]),
    ("linear_glm", &[], &[0.25, -0.5, 0.75, 1.25], -3.6562462535566476, &[0.32, 0.5, -1.16, -2.032], &[-1.92, -0.96, -0.64, -0.512, -0.96, -1.04, 0.72, -0.8, -0.64, 0.72, -4.16, 1.856, -0.512, -0.8, 1.856, 1.0368]),
    ("logit_glm", &[], &[0.25, -0.5, 0.75], -4.152203174268143, &[0.37905472799876416, 1.2685244624578047, -2.6656259980532564], &[-0.5374155130325577, -0.3500333775013794, -0.09542530907094965, -0.3500333775013794, -0.35360271463604975, 0.12787227337297202, -0.09542530907094965, 0.12787227337297202, -0.9128812685922956]),
];

/// The factor with these elements on and below the diagonal.
fn factor<T: BaseTensor>(a: &Number<T>, b: &Number<T>, c: &Number<T>) -> Tensor<T, 2> {
    stack::<T, 1, 2, f64>((stack((a, 0.0)), stack((b, c))))
}

/// The density of this name at integers `n` and real arguments `v`.
fn density<T: BaseTensor>(name: &str, n: &[i64], v: &Vector<T>) -> Number<T> {
    let at = |k: usize| v.row::<0>(k);
    let count = |k: usize| Tensor::<T, 0, i64>::scalar(n[k]);
    let x = || Tensor::<T, 2>::constant([[1.0, 0.5], [-0.25, 2.0], [0.75, -1.5]]);
    match name {
        "normal" => normal(&at(0), at(1), at(2)),
        "half_normal" => half_normal(&at(0), at(1)),
        "student_t" => student_t(&at(0), at(1), at(2), at(3)),
        "half_student_t" => half_student_t(&at(0), at(1), at(2)),
        "cauchy" => cauchy(&at(0), at(1), at(2)),
        "half_cauchy" => half_cauchy(&at(0), at(1)),
        "laplace" => laplace(&at(0), at(1), at(2)),
        "logistic" => logistic(&at(0), at(1), at(2)),
        "lognormal" => lognormal(&at(0), at(1), at(2)),
        "exponential" => exponential(&at(0), at(1)),
        "gamma" => gamma(&at(0), at(1), at(2)),
        "inv_gamma" => inv_gamma(&at(0), at(1), at(2)),
        "beta" => beta(&at(0), at(1), at(2)),
        "uniform" => uniform(&at(0), at(1), at(2)),
        "bernoulli_logit" => bernoulli_logit(&count(0).eq(1), at(0)),
        "binomial_logit" => binomial_logit(&count(0), n[1], at(0)),
        "poisson_log" => poisson_log(&count(0), at(0)),
        "neg_binomial_2_log" => neg_binomial_2_log(&count(0), at(0), at(1)),
        "categorical_logit" => categorical_logit(&count(0), v),
        "dirichlet" => dirichlet(&v.slice(0, ..3), v.slice(0, 3..)),
        "multi_normal_cholesky" => {
            multi_normal_cholesky(&v.slice(0, ..2), v.slice(0, 2..4), &factor(&at(4), &at(5), &at(6)))
        }
        "lkj_corr_cholesky" => lkj_corr_cholesky(&concat(0, (Tensor::ones([1]), v.slice(0, ..2))).diag(), at(2)),
        "linear_glm" => linear_glm(&Tensor::constant([0.25, 1.5, -0.5]), &x(), at(0), &v.slice(0, 1..3), at(3)),
        "logit_glm" => logit_glm(&Tensor::constant([true, false, true]), &x(), at(0), &v.slice(0, 1..)),
        _ => unreachable!("no density {name}"),
    }
}

#[track_caller]
fn near(what: &str, found: &[f64], known: &[f64], tolerance: f64) {
    let scale = known.iter().fold(1.0f64, |most, x| most.max(x.abs()));
    assert_eq!(found.len(), known.len(), "{what}");
    for (x, y) in found.iter().zip(known) {
        assert!((x - y).abs() <= tolerance * scale || x == y, "{what}: {found:?}, known {known:?}");
    }
}

#[test]
fn densities_are_as_known() {
    for (name, n, at, value, gradient, second) in FIGURES {
        let at = tensor(at.to_vec());
        near(name, &[density(name, n, &at).item()], &[*value], 1e-14);
        near(name, &grad(|v| density(name, n, v), &at).to_vec(), gradient, 1e-13);
        let found: Tensor<_, 2> = hessian(|v| density(name, n, v), &at);
        near(name, &found.to_vec(), second, 1e-12);
    }
}

/// The real arguments of the density at which it is a border or an impossible point, and its value there.
#[rustfmt::skip]
const BORDERS: &[(&str, &[i64], &[f64], f64)] = {
    const INF: f64 = f64::INFINITY;
    const NO: f64 = f64::NEG_INFINITY;
    const LN_2: f64 = std::f64::consts::LN_2;
    &[
        ("normal", &[], &[1.0, 0.0, 0.0], NO),
        ("normal", &[], &[0.0, 0.0, 0.0], NO),
        ("normal", &[], &[1.0, 0.0, -1.0], NO),
        ("normal", &[], &[1.0, 0.0, INF], NO),
        ("normal", &[], &[0.0, 0.0, 1e-160], NO),
        ("normal", &[], &[0.0, 0.0, 1e160], NO),
        ("half_normal", &[], &[-1.0, 1.0], NO),
        ("half_normal", &[], &[-0.0, 1.0], -0.225_791_352_644_727_44),
        ("half_normal", &[], &[INF, 1.0], NO),
        ("student_t", &[], &[INF, 3.0, 0.0, 1.0], NO),
        // Tails are finite; computed with 40 digits.
        ("student_t", &[], &[1e200, 3.0, 0.0, 1.0], -1_840.871_738_667_524),
        ("student_t", &[], &[1e308, 3.0, 0.0, 1.0], -2_835.588_498_840_951_6),
        ("student_t", &[], &[1e308, 3.0, 0.0, 1e-10], NO),
        ("student_t", &[], &[1.0, 0.0, 0.0, 1.0], NO),
        ("student_t", &[], &[1.0, INF, 0.0, 1.0], NO),
        ("student_t", &[], &[1.0, 3.0, 0.0, -1.0], NO),
        ("half_student_t", &[], &[-1.0, 3.0, 1.0], NO),
        ("cauchy", &[], &[-INF, 0.0, 1.0], NO),
        ("cauchy", &[], &[1e200, 0.0, 1.0], -922.178_767_083_467_6),
        ("cauchy", &[], &[1e308, 0.0, 1e-10], -1_442.562_998_100_122),
        ("cauchy", &[], &[1.0, 0.0, 0.0], NO),
        ("half_cauchy", &[], &[-1e-300, 1.0], NO),
        ("laplace", &[], &[INF, 0.0, 1.0], NO),
        ("laplace", &[], &[1.0, 0.0, 0.0], NO),
        ("laplace", &[], &[0.5, 0.5, 0.5], 0.0),
        ("logistic", &[], &[INF, 0.0, 1.0], NO),
        ("logistic", &[], &[-INF, 0.0, 1.0], NO),
        ("logistic", &[], &[1.0, 0.0, -2.0], NO),
        ("lognormal", &[], &[0.0, 0.0, 1.0], NO),
        ("lognormal", &[], &[-1.0, 0.0, 1.0], NO),
        ("lognormal", &[], &[INF, 0.0, 1.0], NO),
        ("lognormal", &[], &[1.0, 0.0, 0.0], NO),
        ("exponential", &[], &[0.0, 2.0], LN_2),
        ("exponential", &[], &[-1.0, 2.0], NO),
        ("exponential", &[], &[INF, 2.0], NO),
        ("exponential", &[], &[1.0, 0.0], NO),
        ("gamma", &[], &[0.0, 1.0, 2.0], LN_2),
        ("gamma", &[], &[0.0, 2.0, 2.0], NO),
        ("gamma", &[], &[0.0, 0.5, 2.0], INF),
        ("gamma", &[], &[0.0, 0.5, -2.0], NO),
        ("gamma", &[], &[-1.0, 0.5, 2.0], NO),
        ("gamma", &[], &[INF, 3.0, 2.0], NO),
        ("gamma", &[], &[1.0, INF, 2.0], NO),
        ("inv_gamma", &[], &[0.0, 1.0, 2.0], NO),
        ("inv_gamma", &[], &[1e-310, 1.0, 2.0], NO),
        ("inv_gamma", &[], &[INF, 1.0, 2.0], NO),
        ("inv_gamma", &[], &[1.0, -1.0, 2.0], NO),
        ("beta", &[], &[0.0, 1.0, 1.0], 0.0),
        ("beta", &[], &[1.0, 1.0, 1.0], 0.0),
        ("beta", &[], &[0.0, 2.0, 1.0], NO),
        ("beta", &[], &[1.0, 2.0, 0.5], INF),
        ("beta", &[], &[1.5, 2.0, 0.5], NO),
        ("beta", &[], &[0.5, 0.0, 0.5], NO),
        ("uniform", &[], &[2.0, 1.0, 2.0], 0.0),
        ("uniform", &[], &[2.5, 1.0, 2.0], NO),
        ("uniform", &[], &[1.5, 2.0, 1.0], NO),
        ("uniform", &[], &[INF, 1.0, 2.0], NO),
        ("uniform", &[], &[1.5, 1.0, INF], NO),
        ("bernoulli_logit", &[1], &[INF], 0.0),
        ("bernoulli_logit", &[0], &[INF], NO),
        ("bernoulli_logit", &[0], &[-INF], 0.0),
        ("binomial_logit", &[3, 3], &[INF], 0.0),
        ("binomial_logit", &[0, 3], &[-INF], 0.0),
        ("binomial_logit", &[2, 3], &[INF], NO),
        ("binomial_logit", &[4, 3], &[0.5], NO),
        ("binomial_logit", &[-1, 3], &[0.5], NO),
        ("binomial_logit", &[0, 0], &[0.5], 0.0),
        ("poisson_log", &[0], &[-INF], 0.0),
        ("poisson_log", &[1], &[-INF], NO),
        ("poisson_log", &[3], &[INF], NO),
        ("poisson_log", &[0], &[INF], NO),
        ("poisson_log", &[-1], &[0.5], NO),
        ("neg_binomial_2_log", &[0], &[-INF, 2.0], 0.0),
        ("neg_binomial_2_log", &[1], &[-INF, 2.0], NO),
        ("neg_binomial_2_log", &[1], &[INF, 2.0], NO),
        ("neg_binomial_2_log", &[-1], &[0.5, 2.0], NO),
        ("neg_binomial_2_log", &[1], &[0.5, 0.0], NO),
        ("categorical_logit", &[3], &[0.5, 1.0, 2.0], NO),
        ("categorical_logit", &[-1], &[0.5, 1.0, 2.0], NO),
        ("dirichlet", &[], &[0.0, 0.5, 0.5, 1.0, 1.0, 1.0], LN_2),
        ("dirichlet", &[], &[0.0, 0.5, 0.5, 2.0, 1.0, 1.0], NO),
        ("dirichlet", &[], &[0.0, 0.5, 0.5, 0.5, 1.0, 1.0], INF),
        ("dirichlet", &[], &[0.0, 0.0, 1.0, 0.5, 2.0, 1.0], NO),
        ("dirichlet", &[], &[-0.5, 1.0, 0.5, 1.0, 1.0, 1.0], NO),
        ("dirichlet", &[], &[0.5, 0.0, 0.5, 1.0, 1.0, -1.0], NO),
        ("multi_normal_cholesky", &[], &[0.5, 0.5, 0.0, 0.0, 1.0, 0.5, 0.0], NO),
        ("multi_normal_cholesky", &[], &[0.5, 0.5, 0.0, 0.0, -1.0, 0.5, 1.0], NO),
        ("lkj_corr_cholesky", &[], &[0.5, 0.0, 1.0], NO),
        ("lkj_corr_cholesky", &[], &[0.5, -0.5, 1.0], NO),
        ("lkj_corr_cholesky", &[], &[0.5, 0.5, 0.0], NO),
        ("linear_glm", &[], &[0.5, 0.5, 0.5, 0.0], NO),
        ("linear_glm", &[], &[0.5, 0.5, 0.5, -1.0], NO),
    ]
};

/// At impossible points no derivative is NaN or infinite; on borders none is NaN.
#[test]
fn borders_are_as_documented() {
    for (name, n, at, value) in BORDERS {
        let (at, what) = (tensor(at.to_vec()), format!("{name} at {n:?} {at:?}"));
        let found = density(name, n, &at).item();
        // Relative for values above 1: far tails are large.
        let near = |x: f64, y: f64| x == y || (x - y).abs() < 1e-15 * y.abs().max(1.0);
        assert!(near(found, *value), "{what}: {found}, not {value}");
        let recorded = Function::value_and_grad(|v| density(name, n, v), &at);
        let (again, slope) = recorded.run(&at).expect("as traced");
        assert!(near(again.item(), found), "{what}: {again}");
        let slopes = [slope, grad(|v| density(name, n, v), &at), direct::grad(|v| density(name, n, v), &at)];
        // Logits may be infinite; of the other densities only that of a normal distribution sees an infinite outcome.
        let finite = *value == f64::NEG_INFINITY && !(name.ends_with("log") && at.to_vec()[0] == f64::INFINITY);
        // On a border where the density tends to 0 the derivative may be infinite.
        let border = ["gamma", "beta", "dirichlet"].contains(name) && at.to_vec().contains(&0.0);
        for slope in slopes {
            let slope = slope.to_vec();
            assert!(slope.iter().all(|x| !x.is_nan()), "{what}: gradient {slope:?}");
            assert!(!finite || border || slope.iter().all(|x| x.is_finite()), "{what}: gradient {slope:?}");
        }
        let forward = jvp(|v| density(name, n, v), &at, &Tensor::ones(at.shape())).1.item();
        // Along all arguments at once, infinite derivatives on a border may cancel.
        assert!(!forward.is_nan() || border || !finite, "{what}: {forward}");
    }
}

#[test]
fn no_nan_is_hidden() {
    for (name, n, at, ..) in FIGURES {
        for k in 0..at.len() {
            let mut hurt = at.to_vec();
            hurt[k] = f64::NAN;
            let found = density(name, n, &tensor(hurt.clone())).item();
            assert!(found.is_nan(), "{name} at {hurt:?}: {found}");
        }
    }
}

/// Densities whose arguments are elements: the same for rows of a matrix at once as for each row.
#[test]
fn batches_agree() {
    for (name, n, at, ..) in FIGURES {
        let rows = Tensor::<Concrete, 2>::from_fn([3, at.len()], |[i, k]| at[k] * (1.0 + 0.0625 * i as f64));
        let each = vmap(|v: &Vector<Concrete>| density(name, n, v))(&rows);
        for i in 0..3 {
            near(name, &[each.to_vec()[i]], &[density(name, n, &rows.row(i)).item()], 1e-13);
        }
        let batched =
            Function::grad(|rows: &Tensor<_, 2>| vmap(|v: &Vector<_>| density(name, n, v))(rows).sum(), &rows);
        let slopes = batched.run(&rows).expect("as traced");
        for i in 0..3 {
            let one = grad(|v| density(name, n, v), &rows.row::<1>(i));
            near(name, &slopes.row::<1>(i).to_vec(), &one.to_vec(), 1e-12);
        }
    }
}

#[test]
fn parameters_are_broadcast() {
    let (x, y) = (tensor([[0.5, 1.5, 2.5], [0.25, 0.75, 1.0]]), tensor([[1, 0, 2], [3, 1, 0]]));
    let (full, half) = (|c: f64| Tensor::<Concrete, 2>::full([2, 3], c), Tensor::<Concrete, 0>::scalar(0.5));
    assert_eq!(gamma(&x, 2.0, 0.5), gamma(&x, tensor(2.0), full(0.5)));
    assert_eq!(student_t(&x, 3.0, tensor(0.5), full(2.0)), student_t(&x, full(3.0), full(0.5), 2.0));
    assert_eq!(poisson_log(&y, 0.5), poisson_log(&y, full(0.5)));
    assert_eq!(
        binomial_logit(&y, 3, &half),
        binomial_logit(&y, Tensor::<Concrete, 2, i64>::full([2, 3], 3), full(0.5))
    );
    // A size of 1 is repeated, on either side.
    let column = tensor([[0.5], [1.5]]);
    assert_eq!(normal(&x, &column, 2.0), normal(&x, column.broadcast_to([2, 3]), 2.0));
    assert_eq!(normal(&column, &x, 2.0), normal(&column.broadcast_to([2, 3]), &x, 2.0));
    assert_eq!(dirichlet(&x, 2.0), dirichlet(&x, full(2.0)));
    let l = tensor([[2.0, 0.0, 0.0], [0.5, 1.0, 0.0], [0.25, -1.0, 0.5]]);
    let each = vmap(|row: &Vector<Concrete>| multi_normal_cholesky(row, 0.5, &l))(&x);
    assert!((multi_normal_cholesky(&x, 0.5, &l) - each).abs().max_all().item() < 1e-14);
    let stacked = stack::<_, 2, 3, f64>((&x, &x));
    assert_eq!(multi_normal_cholesky(&stacked, 0.5, &l).row::<1>(1), multi_normal_cholesky(&x, 0.5, &l));
    let empty = Tensor::<Concrete, 1>::zeros([0]);
    assert_eq!(normal(&empty, 0.0, 1.0).sum().item(), 0.0);
    assert_eq!(linear_glm(&empty, &Tensor::zeros([0, 2]), 0.0, &tensor([1.0, 2.0]), 2.0).item(), 0.0);
}

#[test]
fn a_scale_for_each_row_of_a_regression() {
    let (y, x, w) = (tensor([1.0, 2.5, 0.5]), tensor([[1.0], [2.0], [-1.0]]), tensor([0.75]));
    let sd = tensor([0.5, 1.0, 2.0]);
    let each = normal(&y, x.matvec(&w) + tensor([0.25, 0.5, 0.0]), &sd).sum();
    assert_eq!(linear_glm(&y, &x, tensor([0.25, 0.5, 0.0]), &w, &sd), each);
}

/// A table that is reduced has the density of the table, also where predictions are nearly exact; it is a tree of data.
#[test]
fn reduced_regressions_agree() {
    let x = Tensor::<Concrete, 2>::from_fn([40, 3], |[i, k]| {
        ((3 * i + k * k) as f64).sin() + if k == 0 { 5.0 } else { 0.0 }
    });
    for noise in [1.0, 1e-6] {
        let w = tensor([0.5, -1.0, 2.0]);
        let y = x.matvec(&w) + Tensor::<Concrete, 1>::from_fn([40], |[i]| noise * (7.0 * i as f64).cos());
        let reduced = ReducedRegression::new(&y, &x);
        let at = (w + 0.25, tensor(0.75));
        let of_table =
            |(w, sd): &(Vector<_>, Number<_>), (y, x): &(Vector<_>, Tensor<_, 2>)| linear_glm(y, x, 0.0, w, sd);
        let of_reduced = |(w, sd): &(Vector<_>, Number<_>), data: &ReducedRegression<_>| data.linear_glm(w, sd);
        let (value, slope) = Function::value_and_grad_with(of_table, &at, &(y.clone(), x.clone()))
            .run_with(&at, &(y.clone(), x.clone()))
            .expect("as traced");
        let (again, other) =
            Function::value_and_grad_with(of_reduced, &at, &reduced).run_with(&at, &reduced).expect("as traced");
        near("value", &[again.item()], &[value.item()], 1e-13);
        near("weights", &other.0.to_vec(), &slope.0.to_vec(), 1e-12);
        near("scale", &[other.1.item()], &[slope.1.item()], 1e-12);
        assert_eq!(reduced.linear_glm(&at.0, -1.0).item(), f64::NEG_INFINITY);
    }
}

#[test]
fn kernels_lack_what_no_parameter_changes() {
    use stats::kernel;
    let (x, n) = (tensor([0.5, 2.5]), tensor([3, 0]));
    let same = |a: Vector<Concrete>, b: Vector<Concrete>, c: [f64; 2]| near("kernel", &(a - b).to_vec(), &c, 1e-14);
    let (root, pi) = ((2.0 * std::f64::consts::PI).sqrt().ln(), std::f64::consts::PI.ln());
    let two = 2f64.ln();
    same(normal(&x, 0.5, 2.0), kernel::normal(&x, 0.5, 2.0), [-root; 2]);
    same(half_normal(&x, 2.0), kernel::half_normal(&x, 2.0), [two - root; 2]);
    same(student_t(&x, 3.0, 0.5, 2.0), kernel::student_t(&x, 3.0, 0.5, 2.0), [-pi / 2.0; 2]);
    same(half_student_t(&x, 3.0, 2.0), kernel::half_student_t(&x, 3.0, 2.0), [two - pi / 2.0; 2]);
    same(cauchy(&x, 0.5, 2.0), kernel::cauchy(&x, 0.5, 2.0), [-pi; 2]);
    same(half_cauchy(&x, 2.0), kernel::half_cauchy(&x, 2.0), [two - pi; 2]);
    same(laplace(&x, 0.5, 2.0), kernel::laplace(&x, 0.5, 2.0), [-two; 2]);
    same(lognormal(&x, 0.5, 2.0), kernel::lognormal(&x, 0.5, 2.0), [-root; 2]);
    same(gamma(&x, 0.5, 2.0), kernel::gamma(&x, 0.5, 2.0), [0.0; 2]);
    same(poisson_log(&n, 0.5), kernel::poisson_log(&n, 0.5), [-6f64.ln(), 0.0]);
    same(binomial_logit(&n, 5, 0.5), kernel::binomial_logit(&n, 5, 0.5), [10f64.ln(), 0.0]);
    same(neg_binomial_2_log(&n, 0.5, 2.0), kernel::neg_binomial_2_log(&n, 0.5, 2.0), [-6f64.ln(), 0.0]);
    let l = tensor([[2.0, 0.0], [0.5, 1.0]]);
    let both = multi_normal_cholesky(&x, 0.0, &l) - kernel::multi_normal_cholesky(&x, 0.0, &l);
    near("kernel", &[both.item()], &[-2.0 * root], 1e-14);
    let (a, w) = (tensor([[1.0], [2.0]]), tensor([0.5]));
    let both = linear_glm(&x, &a, 0.5, &w, 2.0) - kernel::linear_glm(&x, &a, 0.5, &w, 2.0);
    near("kernel", &[both.item()], &[-2.0 * root], 1e-14);
}

/// In single precision, and by finite differences of the library at three orders.
#[test]
fn single_precision_and_differences() {
    let (x, n) = (tensor([0.5f32, 2.5]), tensor([3, 0]));
    let wide = x.cast::<f64>();
    let same = |a: Vector32, b: Vector<Concrete>| near("f32", &a.cast::<f64>().to_vec(), &b.to_vec(), 3e-6);
    same(normal(&x, 0.5, 2.0), normal(&wide, 0.5, 2.0));
    same(student_t(&x, 3.0, 0.5, 2.0), student_t(&wide, 3.0, 0.5, 2.0));
    same(gamma(&x, 1.5, 2.0), gamma(&wide, 1.5, 2.0));
    same(inv_gamma(&x, 1.5, 2.0), inv_gamma(&wide, 1.5, 2.0));
    same(lognormal(&x, 0.5, 2.0), lognormal(&wide, 0.5, 2.0));
    same(poisson_log(&n, tensor(0.5f32)), poisson_log(&n, 0.5));
    same(neg_binomial_2_log(&n, &x, tensor(2.0f32)), neg_binomial_2_log(&n, &wide, 2.0));
    for (name, n, at, ..) in FIGURES.iter().filter(|(name, ..)| *name != "laplace") {
        check_gradient(|v: &Vector<_>| density(name, n, v).sin(), &tensor(at.to_vec())).expect(name);
    }
}

type Vector32 = Tensor<Concrete, 1, f32>;

/// Tails of single precision, beyond the root of the largest number too.
#[test]
fn far_tails_of_single_precision() {
    for x in [1e3f32, 1e18, 5e18, 1e19, 4e19, 1e25, 3e38] {
        let wide = tensor([f64::from(x)]);
        let same = |a: Vector32, b: Vector<Concrete>| near("f32", &a.cast::<f64>().to_vec(), &b.to_vec(), 1e-6);
        same(cauchy(&tensor([x]), 0.0, 1.0), cauchy(&wide, 0.0, 1.0));
        same(student_t(&tensor([x]), 2.5, 0.0, 1.0), student_t(&wide, 2.5, 0.0, 1.0));
    }
}
