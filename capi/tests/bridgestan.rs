//! BridgeStan's interface: the exported functions of eight schools against formulas by hand, parameters there and back in all
//! domains, and hostile arguments.

#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_double, c_int, c_uint};
use std::ptr;

use polygrad::program::Term;
use polygrad::random::Key;
use polygrad::stats::Constrained;
use polygrad::{Array, BaseTensor, Tensor, Tree, tensor};
use polygrad_capi::bridgestan::{Model, ModelData, ModelRng, Quantities, StanModel};

#[path = "../examples/eight_schools.rs"]
mod eight_schools;

type Error = *mut *mut c_char;
type Density = unsafe extern "C" fn(*const StanModel, bool, bool, *const c_double, *mut c_double, Error) -> c_int;

// The interface hands out addresses of these types alone.
#[allow(improper_ctypes)]
unsafe extern "C" {
    static bs_major_version: c_int;
    static bs_minor_version: c_int;
    static bs_patch_version: c_int;
    fn bs_model_construct(data: *const c_char, seed: c_uint, error: Error) -> *mut StanModel;
    fn bs_model_destruct(m: *mut StanModel);
    fn bs_free_error_msg(error: *mut c_char);
    fn bs_name(m: *const StanModel) -> *const c_char;
    fn bs_model_info(m: *const StanModel) -> *const c_char;
    fn bs_param_names(m: *const StanModel, tp: bool, gq: bool) -> *const c_char;
    fn bs_param_unc_names(m: *const StanModel) -> *const c_char;
    fn bs_param_num(m: *const StanModel, tp: bool, gq: bool) -> c_int;
    fn bs_param_unc_num(m: *const StanModel) -> c_int;
    fn bs_param_constrain(
        m: *const StanModel,
        tp: bool,
        gq: bool,
        u: *const c_double,
        x: *mut c_double,
        rng: *mut ModelRng,
        e: Error,
    ) -> c_int;
    fn bs_param_unconstrain(m: *const StanModel, x: *const c_double, u: *mut c_double, e: Error) -> c_int;
    fn bs_param_unconstrain_json(m: *const StanModel, json: *const c_char, u: *mut c_double, e: Error) -> c_int;
    fn bs_param_initialize(
        m: *const StanModel,
        json: *const c_char,
        rng: *mut ModelRng,
        r: c_double,
        n: c_int,
        j: bool,
        u: *mut c_double,
        e: Error,
    ) -> c_int;
    fn bs_log_density(m: *const StanModel, p: bool, j: bool, u: *const c_double, lp: *mut c_double, e: Error) -> c_int;
    fn bs_log_density_gradient(
        m: *const StanModel,
        p: bool,
        j: bool,
        u: *const c_double,
        lp: *mut c_double,
        g: *mut c_double,
        e: Error,
    ) -> c_int;
    fn bs_log_density_hessian(
        m: *const StanModel,
        p: bool,
        j: bool,
        u: *const c_double,
        lp: *mut c_double,
        g: *mut c_double,
        h: *mut c_double,
        e: Error,
    ) -> c_int;
    fn bs_log_density_hessian_vector_product(
        m: *const StanModel,
        p: bool,
        j: bool,
        u: *const c_double,
        v: *const c_double,
        lp: *mut c_double,
        hvp: *mut c_double,
        e: Error,
    ) -> c_int;
    fn bs_rng_construct(seed: c_uint, e: Error) -> *mut ModelRng;
    fn bs_rng_destruct(rng: *mut ModelRng);
    fn bs_set_print_callback(callback: Option<unsafe extern "C" fn(*const c_char, usize)>, e: Error) -> c_int;
}

/// A model that is destroyed.
struct Owned(*mut StanModel);

unsafe impl Send for Owned {}
unsafe impl Sync for Owned {}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: constructed, and destroyed once.
        unsafe { bs_model_destruct(self.0) }
    }
}

fn text(at: *const c_char) -> String {
    // SAFETY: texts of the interface.
    unsafe { CStr::from_ptr(at) }.to_str().expect("UTF-8").to_owned()
}

/// The text of an error, which is freed.
fn taken(error: *mut c_char) -> String {
    assert!(!error.is_null(), "an error has a text");
    let words = text(error);
    // SAFETY: freed once.
    unsafe { bs_free_error_msg(error) };
    words
}

fn constructed(data: &str) -> Result<Owned, String> {
    let (data, mut error) = (CString::new(data).expect("no zero"), ptr::null_mut());
    // SAFETY: a text and a place.
    let model = unsafe { bs_model_construct(data.as_ptr(), 1, &mut error) };
    if model.is_null() { Err(taken(error)) } else { Ok(Owned(model)) }
}

fn checked(code: c_int, error: *mut c_char) -> Result<(), String> {
    if code == 0 { Ok(()) } else { Err(taken(error)) }
}

const Y: [f64; 8] = [28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0];
const SIGMA: [f64; 8] = [15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0];

/// Value, gradient and Hessian of eight schools by hand.
fn by_hand(u: &[f64], jacobian: bool) -> (f64, Vec<f64>, Vec<f64>) {
    let (mu, log_tau, eta) = (u[0], u[1], &u[2..]);
    let (tau, half_log) = (log_tau.exp(), 0.5 * (2.0 * std::f64::consts::PI).ln());
    let extra = if jacobian { 1.0 } else { 0.0 };
    let mut value = -0.5 * (mu / 5.0).powi(2) - 5f64.ln() - half_log + extra * log_tau;
    value += (2.0 / (5.0 * std::f64::consts::PI)).ln() - (tau / 5.0).powi(2).ln_1p();
    let (mut g, mut h) = (vec![0.0; 10], vec![0.0; 100]);
    let t2 = tau * tau;
    g[0] = -mu / 25.0;
    g[1] = -2.0 * t2 / (25.0 + t2) + extra;
    h[0] = -1.0 / 25.0;
    h[11] = -100.0 * t2 / (25.0 + t2).powi(2);
    for j in 0..8 {
        let (s2, k, step) = (SIGMA[j] * SIGMA[j], 2 + j, tau * eta[j]);
        let r = (Y[j] - mu - step) / s2;
        value += -0.5 * eta[j] * eta[j] - half_log - 0.5 * r * r * s2 - SIGMA[j].ln() - half_log;
        g[0] += r;
        g[1] += r * step;
        g[k] = -eta[j] + r * tau;
        h[0] -= 1.0 / s2;
        h[1] -= step / s2;
        h[11] += r * step - step * step / s2;
        h[k] = -tau / s2;
        h[10 + k] = r * tau - tau * step / s2;
        h[10 * k + k] = -1.0 - t2 / s2;
    }
    for i in 0..10 {
        for j in 0..i {
            h[10 * i + j] = h[10 * j + i];
        }
    }
    (value, g, h)
}

fn points() -> Vec<Vec<f64>> {
    let point = |seed: f64, scale: f64| (0..10).map(|k| scale * (seed + 1.7 * f64::from(k)).sin()).collect();
    vec![point(0.5, 1.0), point(2.0, 3.0), point(-1.0, 0.1), vec![0.0; 10]]
}

#[track_caller]
fn near(found: &[f64], known: &[f64]) {
    for (x, y) in found.iter().zip(known) {
        assert!((x - y).abs() <= 1e-12 * (1.0 + y.abs()), "{x} and {y} of {found:?} and {known:?}");
    }
    assert_eq!(found.len(), known.len());
}

#[test]
fn eight_schools_are_those_by_hand() {
    for data in ["", r#"{"J": 8, "y": [28, 8, -3, 7, -1, 1, 18, 12], "sigma": [15, 10, 16, 11, 9, 11, 10, 18]}"#] {
        let m = constructed(data).expect("a model");
        for u in points() {
            for (jacobian, propto) in [(true, true), (true, false), (false, true), (false, false)] {
                let (value, g, h) = by_hand(&u, jacobian);
                let (mut lp, mut slope, mut matrix, mut hvp, mut error) =
                    (0.0, vec![0.0; 10], vec![0.0; 100], vec![0.0; 10], ptr::null_mut());
                let v: Vec<f64> = (0..10).map(f64::from).collect();
                // SAFETY: a model and slices of its sizes.
                unsafe {
                    assert_eq!(bs_log_density(m.0, propto, jacobian, u.as_ptr(), &mut lp, &mut error), 0);
                    near(&[lp], &[value]);
                    assert_eq!(
                        bs_log_density_gradient(
                            m.0,
                            propto,
                            jacobian,
                            u.as_ptr(),
                            &mut lp,
                            slope.as_mut_ptr(),
                            &mut error
                        ),
                        0
                    );
                    near(&[lp], &[value]);
                    near(&slope, &g);
                    slope.fill(f64::NAN);
                    assert_eq!(
                        bs_log_density_hessian(
                            m.0,
                            propto,
                            jacobian,
                            u.as_ptr(),
                            &mut lp,
                            slope.as_mut_ptr(),
                            matrix.as_mut_ptr(),
                            &mut error
                        ),
                        0
                    );
                    near(&slope, &g);
                    near(&matrix, &h);
                    assert_eq!(
                        bs_log_density_hessian_vector_product(
                            m.0,
                            propto,
                            jacobian,
                            u.as_ptr(),
                            v.as_ptr(),
                            &mut lp,
                            hvp.as_mut_ptr(),
                            &mut error
                        ),
                        0
                    );
                    near(&[lp], &[value]);
                }
                let product: Vec<f64> = h.chunks(10).map(|row| row.iter().zip(&v).map(|(a, b)| a * b).sum()).collect();
                near(&hvp, &product);
                assert!(error.is_null());
            }
        }
    }
}

#[test]
fn eight_schools_have_names_and_sizes() {
    let m = constructed("").expect("a model");
    // SAFETY: a model.
    unsafe {
        assert_eq!((bs_major_version, bs_minor_version, bs_patch_version), (2, 9, 0));
        assert_eq!(text(bs_name(m.0)), "eight_schools");
        assert!(text(bs_model_info(m.0)).contains("STAN_THREADS=true"));
        let names = "mu,tau,eta.1,eta.2,eta.3,eta.4,eta.5,eta.6,eta.7,eta.8";
        assert_eq!(
            (text(bs_param_names(m.0, false, true)), text(bs_param_unc_names(m.0))),
            (names.into(), names.into())
        );
        assert_eq!((bs_param_num(m.0, false, true), bs_param_unc_num(m.0)), (10, 10));
        let effects: String = (1..=8).map(|k| format!(",theta.{k}")).collect();
        assert_eq!(text(bs_param_names(m.0, true, false)), format!("{names}{effects}"));
        assert_eq!(bs_param_num(m.0, true, true), 18);
    }
}

#[test]
fn eight_schools_go_there_and_back() {
    let m = constructed("").expect("a model");
    let (mut x, mut back, mut error) = ([0.0; 10], [0.0; 10], ptr::null_mut());
    for u in points() {
        // SAFETY: a model and slices of its sizes.
        unsafe {
            assert_eq!(
                bs_param_constrain(m.0, false, false, u.as_ptr(), x.as_mut_ptr(), ptr::null_mut(), &mut error),
                0
            );
            assert_eq!(bs_param_unconstrain(m.0, x.as_ptr(), back.as_mut_ptr(), &mut error), 0);
        }
        let known: Vec<f64> = u.iter().enumerate().map(|(k, u)| if k == 1 { u.exp() } else { *u }).collect();
        near(&x, &known);
        near(&back, &u);
        // With the effects of the schools; what is not drawn needs no generator.
        let mut all = [f64::NAN; 18];
        // SAFETY: a model and slices of its sizes.
        let code =
            unsafe { bs_param_constrain(m.0, true, true, u.as_ptr(), all.as_mut_ptr(), ptr::null_mut(), &mut error) };
        assert_eq!((code, &all[..10]), (0, &x[..]));
        let effects: Vec<f64> = known[2..].iter().map(|eta| known[0] + known[1] * eta).collect();
        near(&all[10..], &effects);
    }
    let json = |text: &str| {
        let (json, mut u, mut error) = (CString::new(text).expect("no zero"), [0.0; 10], ptr::null_mut());
        // SAFETY: a model, a text and a slice.
        let code = unsafe { bs_param_unconstrain_json(m.0, json.as_ptr(), u.as_mut_ptr(), &mut error) };
        checked(code, error).map(|()| u)
    };
    let u = json(r#"{"tau": 2, "mu": -1.5, "eta": [1, 2, 3, 4, 5, 6, 7, 8], "more": [[1]]}"#).expect("all are given");
    near(&u, &[-1.5, 2f64.ln(), 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
    assert!(json(r#"{"mu": 1}"#).expect_err("refused").contains("the data must have `tau`"));
    let outside = json(r#"{"tau": -2, "mu": 0, "eta": [1, 2, 3, 4, 5, 6, 7, 8]}"#).expect_err("refused");
    assert!(outside.starts_with("`tau` must lie in its domain, Positive, but it has the element -2;"), "{outside}");
    assert!(json(r#"{"tau": 2, "mu": 0, "eta": [1, 2]}"#).expect_err("refused").contains("must have the shape [8]"));
}

#[test]
fn first_points_are_finite() {
    let m = constructed("").expect("a model");
    let mut error = ptr::null_mut();
    // SAFETY: a place.
    let rng = unsafe { bs_rng_construct(7, &mut error) };
    let start = |json: *const c_char, radius: f64, tries: c_int| {
        let (mut u, mut error) = ([f64::NAN; 10], ptr::null_mut());
        // SAFETY: a model, a generator of this thread, a text or null, and a slice.
        let code = unsafe { bs_param_initialize(m.0, json, rng, radius, tries, true, u.as_mut_ptr(), &mut error) };
        checked(code, error).map(|()| u)
    };
    let (first, second) =
        (start(ptr::null(), 2.0, 100).expect("a point"), start(c"".as_ptr(), 2.0, 100).expect("a point"));
    assert!(first != second && first.iter().chain(&second).all(|x| x.abs() <= 2.0), "{first:?} {second:?}");
    assert_eq!(start(ptr::null(), 0.0, 1), Ok([0.0; 10]));
    let given = start(c"{\"tau\": 3, \"mu\": 1}".as_ptr(), 1.0, 5).expect("a point");
    assert!((given[1] - 3f64.ln()).abs() < 1e-15 && given[0] == 1.0 && given[2] != 0.0, "{given:?}");
    assert!(start(ptr::null(), 2.0, 0).expect_err("refused").contains("not at any of 0 points"));
    assert!(start(ptr::null(), f64::NAN, 5).expect_err("refused").contains("the radius must not be negative"));
    assert!(start(c"{\"tau\": -3}".as_ptr(), 1.0, 5).expect_err("refused").contains("must lie in its domain"));
    // SAFETY: constructed, destroyed once; null is allowed.
    unsafe {
        bs_rng_destruct(rng);
        bs_rng_destruct(ptr::null_mut());
    }
}

#[test]
fn hostile_arguments_are_errors() {
    for data in [
        "{",
        "[1]",
        "{\"y\": [1, 2], \"sigma\": [1]}",
        "{\"y\": 3}",
        "{\"y\": [[1], [1, 2]]}",
        "/no/such.json",
        "{\"y\": {}}",
    ] {
        let words = constructed(data).map(|_| ()).expect_err("refused");
        assert!(!words.is_empty(), "{data}");
    }
    let m = constructed("").expect("a model");
    let (u, mut y, mut error) = ([0.0; 10], [0.0; 100], ptr::null_mut());
    // SAFETY: null, or a model and slices of its sizes.
    unsafe {
        let none = ptr::null::<StanModel>();
        assert_eq!(bs_log_density(none, true, true, u.as_ptr(), y.as_mut_ptr(), &mut error), -1);
        assert!(taken(error).starts_with("the model must have an address"));
        // Without a place for the text.
        assert_eq!(bs_log_density(none, true, true, u.as_ptr(), y.as_mut_ptr(), ptr::null_mut()), -1);
        assert_eq!(bs_log_density(m.0, true, true, ptr::null(), y.as_mut_ptr(), &mut error), -1);
        assert!(taken(error).starts_with("theta_unc must be an aligned address"));
        assert_eq!(bs_log_density(m.0, true, true, u.as_ptr(), ptr::null_mut(), &mut error), -1);
        assert!(taken(error).starts_with("lp must be"));
        assert_eq!(
            bs_log_density_gradient(m.0, true, true, u.as_ptr(), y.as_mut_ptr(), ptr::null_mut(), &mut error),
            -1
        );
        assert!(taken(error).starts_with("grad must be"));
        assert_eq!(
            bs_param_initialize(m.0, ptr::null(), ptr::null_mut(), 2.0, 9, true, y.as_mut_ptr(), &mut error),
            -1
        );
        assert!(taken(error).starts_with("the generator must"));
        assert_eq!(
            (bs_param_num(none, true, true), bs_param_unc_num(none), text(bs_name(none))),
            (0, 0, String::new())
        );
        bs_model_destruct(ptr::null_mut());
        bs_free_error_msg(ptr::null_mut());
        // Points far out have a density, which may be -inf, and no error.
        let far = [800.0; 10];
        assert_eq!(bs_log_density(m.0, true, true, far.as_ptr(), y.as_mut_ptr(), &mut error), 0);
        assert!(!y[0].is_finite() || y[0] < -1e3, "{}", y[0]);
    }
}

#[test]
fn threads_share_a_model() {
    let m = constructed("").expect("a model");
    std::thread::scope(|scope| {
        for k in 0..4 {
            let m = &m;
            scope.spawn(move || {
                for round in 0..100 {
                    let u: Vec<f64> = (0..10).map(|i| f64::from(k + round + i).sin()).collect();
                    let (value, g, _) = by_hand(&u, true);
                    let (mut lp, mut slope) = (0.0, [0.0; 10]);
                    // SAFETY: a model and slices of its sizes.
                    unsafe {
                        bs_log_density_gradient(
                            m.0,
                            true,
                            true,
                            u.as_ptr(),
                            &mut lp,
                            slope.as_mut_ptr(),
                            ptr::null_mut(),
                        )
                    };
                    near(&[lp], &[value]);
                    near(&slope, &g);
                }
            });
        }
    });
}

/// The callback is that of the process, and this test alone sets it.
#[test]
fn callbacks_are_taken() {
    unsafe extern "C" fn print(_: *const c_char, _: usize) {}
    let m = constructed("").expect("a model");
    let (u, mut lp) = ([0.0; 10], 0.0);
    let density: Density = bs_log_density;
    // SAFETY: a model, slices and a function.
    unsafe {
        assert_eq!(bs_set_print_callback(Some(print), ptr::null_mut()), 0);
        assert_eq!(density(m.0, true, true, u.as_ptr(), &mut lp, ptr::null_mut()), 0);
        assert_eq!(bs_set_print_callback(None, ptr::null_mut()), 0);
    }
    near(&[lp], &[by_hand(&u, true).0]);
}

/// Parameters of all domains.
#[derive(Tree, Constrained, Clone, Debug)]
struct Domains<T: BaseTensor> {
    real: Tensor<T, 2>,
    #[constrain(lower(-1.0))]
    lower: Tensor<T, 1>,
    #[constrain(upper(2.0))]
    upper: Tensor<T, 0>,
    #[constrain(bounds(-1.0, 3.0))]
    bounds: Tensor<T, 2>,
    #[constrain(ordered)]
    ordered: Tensor<T, 2>,
    #[constrain(positive_ordered)]
    rising: Tensor<T, 1>,
    #[constrain(simplex)]
    simplex: Tensor<T, 1>,
    #[constrain(corr)]
    corr: Tensor<T, 2>,
    #[constrain(cholesky_corr)]
    factor: Tensor<T, 2>,
    #[constrain(cholesky_cov)]
    cov: Tensor<T, 2>,
}

struct AllDomains;

impl Model for AllDomains {
    const NAME: &'static str = "domains";
    type Data = ();
    type Parameters = Domains<Array>;

    fn data(_: &ModelData) -> Result<(), String> {
        Ok(())
    }

    fn parameters((): &()) -> Domains<Array> {
        Domains {
            real: Tensor::zeros([2, 3]),
            lower: tensor([0.0, 0.0]),
            upper: tensor(0.0),
            bounds: Tensor::zeros([2, 2]),
            ordered: Tensor::zeros([2, 3]),
            rising: tensor([0.0, 0.0]),
            simplex: tensor([0.0, 0.0, 0.0]),
            corr: Tensor::zeros([3, 3]),
            factor: Tensor::zeros([3, 3]),
            cov: Tensor::zeros([2, 2]),
        }
    }

    fn log_density(p: &Domains<Term>, (): &()) -> Tensor<Term, 0> {
        // Each element has a weight by its row and column, so that an exchange of two would be seen.
        let weighted = |x: &Tensor<Term, 2>| {
            let weights = Tensor::<Term, 2>::from_fn(x.shape(), |[i, j]| 1.0 + i as f64 + 10.0 * j as f64);
            (x * weights).sum()
        };
        weighted(&p.real) + weighted(&p.bounds) + p.lower.sum() + &p.upper + weighted(&p.corr) + p.simplex.ln().sum()
    }
}

#[test]
fn all_domains_go_there_and_back() {
    let model = StanModel::of::<AllDomains>("").expect("a model");
    let n = model.len();
    assert_eq!((n, model.parameters()), (6 + 2 + 1 + 4 + 6 + 2 + 2 + 3 + 3 + 3, 6 + 2 + 1 + 4 + 6 + 2 + 3 + 9 + 9 + 4));
    let u: Vec<f64> = (0..n).map(|k| (1.0 + 1.3 * k as f64).sin()).collect();
    let (mut x, mut back) = (vec![0.0; model.parameters()], vec![0.0; n]);
    model.constrain(&u, &mut x).expect("sizes fit");
    model.unconstrain(&x, &mut back).expect("sizes fit");
    near(&back, &u);
    // The first index is the fastest: the second number is the element of the second row.
    assert_eq!(x[..6], u[..6]);
    let weights = [1.0, 2.0, 11.0, 12.0, 21.0, 22.0];
    let mut slope = vec![0.0; n];
    model.log_density(false).value_and_grad(&u, &mut slope);
    near(&slope[..6], &weights);
    // What lies outside of its domain is refused, whatever the domain.
    for (at, value) in
        [(6, -1.5), (8, 2.5), (9, 3.5), (13, 99.0), (19, -1.0), (21, 0.9), (24, 0.5), (33, 0.25), (42, -1.0), (44, 0.5)]
    {
        let mut wrong = x.clone();
        wrong[at] = value;
        let refused = model.unconstrain(&wrong, &mut back);
        assert!(
            refused.as_ref().is_err_and(|text| text.contains("must lie in its domain")),
            "element {at}: {refused:?}"
        );
    }
    assert!(model.constrain(&u[1..], &mut x).is_err() && model.unconstrain(&x[1..], &mut back).is_err());
}

/// A model whose quantities have the name that the data say, besides those of all types.
struct Quantified;

impl Model for Quantified {
    const NAME: &'static str = "quantified";
    type Data = Tensor<Array, 0, i64>;
    type Parameters = Domains<Array>;

    fn data(given: &ModelData) -> Result<Self::Data, String> {
        given.tensor("k")
    }

    fn parameters(_: &Self::Data) -> Domains<Array> {
        AllDomains::parameters(&())
    }

    fn log_density(p: &Domains<Term>, _: &Tensor<Term, 0, i64>) -> Tensor<Term, 0> {
        AllDomains::log_density(p, &())
    }

    fn transformed(p: &Domains<Term>, k: &Tensor<Term, 0, i64>) -> Quantities {
        let above = p.real.gt(0.0);
        let small: Tensor<Term, 1, f32> = p.simplex.cast();
        Quantities::new().with("doubled", &(&p.real * 2.0)).with("k", k).with("above", &above).with("small", &small)
    }

    fn generated(p: &Domains<Term>, _: &Tensor<Term, 0, i64>, key: &Key<Term>) -> Quantities {
        let [first, second] = key.split();
        let noisy = &p.real + first.normal([2, 3]);
        Quantities::new().with("noisy", &noisy).with("pick", &second.integers([2], 0, 1_000_000))
    }
}

#[test]
fn quantities_stand_behind_parameters() {
    let model = StanModel::of::<Quantified>(r#"{"k": 7}"#).expect("a model");
    let (n, m) = (model.len(), model.parameters());
    let counts = [(false, false), (true, false), (false, true), (true, true)].map(|(t, g)| model.quantities(t, g));
    assert_eq!(counts, [m, m + 16, m + 8, m + 24]);
    let u: Vec<f64> = (0..n).map(|k| (0.4 + 1.7 * k as f64).cos()).collect();
    let mut parameters = vec![0.0; m];
    model.constrain(&u, &mut parameters).expect("sizes fit");
    let drawn = |include: (bool, bool), seed: u64| {
        let mut all = vec![f64::NAN; model.quantities(include.0, include.1)];
        model.constrain_with(&u, include, Some(&mut ModelRng::new(seed)), &mut all).expect("sizes fit");
        assert_eq!(all[..m], parameters);
        all.split_off(m)
    };
    // The first index is the fastest, as in the parameters.
    let (real, simplex) = (&parameters[..6], &parameters[21..24]);
    let mut known: Vec<f64> = real.iter().map(|x| 2.0 * x).collect();
    known.push(7.0);
    known.extend(real.iter().map(|x| f64::from(*x > 0.0)));
    known.extend(simplex.iter().map(|x| f64::from(*x as f32)));
    assert_eq!(drawn((true, false), 1), known);
    assert_eq!(drawn((true, true), 1)[..16], known);
    let [first, again, other] = [1, 1, 2].map(|seed| drawn((false, true), seed));
    assert_eq!((&first, drawn((true, true), 1)[16..].to_vec()), (&again, first.clone()));
    assert!(first.iter().zip(&other).all(|(x, y)| x != y), "{first:?} {other:?}");
    assert!(first[6..].iter().all(|x| x.fract() == 0.0 && (0.0..1e6).contains(x)), "{first:?}");
    // Each call draws again, and the draws are normal around the parameters.
    let (mut rng, mut all, mut sums) = (ModelRng::new(3), vec![0.0; m + 8], [0.0; 2]);
    for _ in 0..2000 {
        model.constrain_with(&u, (false, true), Some(&mut rng), &mut all).expect("sizes fit");
        all[m..m + 6].iter().zip(real).for_each(|(x, mean)| {
            sums[0] += x - mean;
            sums[1] += (x - mean).powi(2);
        });
    }
    let [mean, square] = sums.map(|sum| sum / 12_000.0);
    assert!(mean.abs() < 0.05 && (square - 1.0).abs() < 0.07, "{mean} {square}");
    // Without a generator only what is drawn is refused.
    assert!(model.constrain_with(&u, (true, false), None, &mut vec![0.0; m + 16]).is_ok());
    let refused = model.constrain_with(&u, (true, true), None, &mut vec![0.0; m + 24]);
    assert!(refused.is_err_and(|text| text.starts_with("generated quantities must have a generator")));
    assert!(model.constrain_with(&u, (true, true), Some(&mut rng), &mut all).is_err());
}

/// A model of one number with quantities of these names.
struct Named<const SECOND: char>;

impl<const SECOND: char> Model for Named<SECOND> {
    const NAME: &'static str = "named";
    type Data = ();
    type Parameters = Tensor<Array, 0>;

    fn data(_: &ModelData) -> Result<(), String> {
        Ok(())
    }

    fn parameters((): &()) -> Tensor<Array, 0> {
        tensor(0.0)
    }

    fn log_density(x: &Tensor<Term, 0>, (): &()) -> Tensor<Term, 0> {
        x.square()
    }

    fn transformed(x: &Tensor<Term, 0>, (): &()) -> Quantities {
        Quantities::new().with("y", x)
    }

    fn generated(x: &Tensor<Term, 0>, (): &(), _: &Key<Term>) -> Quantities {
        Quantities::new().with(&SECOND.to_string(), x)
    }
}

#[test]
fn names_of_quantities_are_told_apart() {
    assert!(StanModel::of::<Named<'z'>>("").is_ok());
    for made in [StanModel::of::<Named<'x'>>(""), StanModel::of::<Named<'y'>>("")] {
        assert!(made.is_err_and(|text| text.contains("names of quantities must differ")));
    }
    for made in [StanModel::of::<Named<','>>(""), StanModel::of::<Named<'.'>>("")] {
        assert!(made.is_err_and(|text| text.contains("names of quantities must have letters")));
    }
}
