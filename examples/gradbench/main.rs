//! scratch
mod programs;
use programs::*;
use polygrad::*;
use std::time::Instant;

fn time<Y>(name: &str, prep: impl FnOnce() -> Box<dyn Fn() -> Y>) -> Y {
    let t = Instant::now();
    let f = prep();
    let first = t.elapsed();
    let t = Instant::now();
    let y = f();
    let one = t.elapsed();
    let mut best = f64::MAX;
    let start = Instant::now();
    let mut runs = 0;
    while runs < 3 || start.elapsed().as_secs_f64() < 0.5 {
        let t = Instant::now();
        drop(f());
        best = best.min(t.elapsed().as_secs_f64());
        runs += 1;
    }
    println!("{name:30} trace {:9.1} ms  first {:9.2} ms  best {:10.4} ms", first.as_secs_f64()*1e3, one.as_secs_f64()*1e3, best*1e3);
    y
}

fn main() {
    let which: Vec<String> = std::env::args().skip(1).collect();
    let has = |s: &str| which.is_empty() || which.iter().any(|w| s.starts_with(w.as_str()));
    let size = |k: usize| which.get(k).and_then(|w| w.parse::<usize>().ok());
    macro_rules! go { ($name:expr, $f:expr, $($x:expr),+) => {{
        let f = $f;
        if std::env::var_os("PRINT").is_some() { println!("{}", f.optimized()); }
        if std::env::var_os("EXPLAIN").is_some() { println!("{}", f.explain()); }
        time($name, || { let _ = f.executable(); Box::new(move || f.run_with($($x),+).unwrap()) })
    }}; }
    if has("llsq") {
        let x: Tensor<Concrete,1> = Tensor::constant(Array::uniform(&[128], 0.0, 1.0, 1));
        let n = llsq::Grid { count: size(1).unwrap_or(16392) };
        let (x, n): (&'static _, &'static _) = (Box::leak(Box::new(x)), Box::leak(Box::new(n)));
        go!("llsq", Function::stage_with(|x, n| llsq::cost(x, n), x, n), x, n);
        go!("llsq grad", Function::gradient_with(|x, n| llsq::cost(x, n), x, n), x, n);
    }
    if has("lse") {
        let x: Tensor<Concrete,1> = Tensor::constant(Array::uniform(&[size(1).unwrap_or(1280000)], 0.0, 1.0, 1));
        let x: &'static _ = Box::leak(Box::new(x));
        go!("lse", Function::stage_with(|x, _| lse::log_sum_exp(x), x, &()), x, &());
        go!("lse grad", Function::gradient_with(|x, _| lse::log_sum_exp(x), x, &()), x, &());
    }
    if has("det") {
        let n = size(1).unwrap_or(8);
        let x: Tensor<Concrete,2> = Tensor::constant(Array::uniform(&[n, n], 0.0, 1.0, 1));
        let x: &'static _ = Box::leak(Box::new(x));
        let d = go!("det", Function::stage_with(|x, _| det::det(x), x, &()), x, &());
        println!("{} {}", d, x.det());
        go!("det grad", Function::gradient_with(|x, _| det::det(x), x, &()), x, &());
    }
    if has("ode") {
        let x: Tensor<Concrete,1> = Tensor::constant(Array::uniform(&[size(1).unwrap_or(100000)], 0.0, 1.0, 1));
        let s = ode::Steps { count: size(2).unwrap_or(100) };
        let (x, n): (&'static _, &'static _) = (Box::leak(Box::new(x)), Box::leak(Box::new(s)));
        go!("ode", Function::stage_with(|x, n| ode::end(x, n), x, n), x, n);
        go!("ode grad", Function::gradient_with(|x, n| ode::last(x, n), x, n), x, n);
    }
    if has("kmeans") {
        let (k, n, d) = (size(1).unwrap_or(1000), size(2).unwrap_or(10000), size(3).unwrap_or(16));
        let p: Tensor<Concrete,2> = Tensor::constant(Array::uniform(&[n, d], 0.0, 1.0, 1));
        let c = p.slice(0, n-k..).reshape([k, d]);
        let (c, p): (&'static _, &'static _) = (Box::leak(Box::new(c)), Box::leak(Box::new(p)));
        go!("kmeans", Function::stage_with(|x, n| kmeans::cost(x, n), c, p), c, p);
        go!("kmeans dir", Function::stage_with(|x, n| kmeans::direction(x, n), c, p), c, p);
    }
    if has("gmm") {
        let (d, k, n) = (size(1).unwrap_or(64), size(2).unwrap_or(100), size(3).unwrap_or(1000));
        let u = |s: &[usize], seed| Array::uniform(s, -1.0, 1.0, seed);
        let m = gmm::Mixture { alpha: Tensor::constant(u(&[k], 1)), mu: Tensor::constant(u(&[k, d], 2)), q: Tensor::constant(u(&[k, d], 3)), l: Tensor::constant(u(&[k, d*(d-1)/2], 4)) };
        let x = gmm::Samples { x: Tensor::constant(u(&[n, d], 5)), gamma: Tensor::scalar(1.0), m: 0 };
        let (c, p): (&'static _, &'static _) = (Box::leak(Box::new(m)), Box::leak(Box::new(x)));
        go!("gmm", Function::stage_with(|x, n| gmm::posterior(x, n), c, p), c, p);
        go!("gmm grad", Function::gradient_with(|x, n| gmm::posterior(x, n), c, p), c, p);
    }
    if has("lstm") {
        let (l, c, b) = (size(1).unwrap_or(6), size(2).unwrap_or(8192), 14);
        let u = |s: &[usize], seed| Tensor::constant(Array::uniform(s, 0.0, 1.0, seed));
        let p: lstm::Parameters<Concrete> = (u(&[2*l, 4*b], 1), u(&[3, b], 2));
        let t: lstm::Text<Concrete> = (u(&[2*l, b], 3), u(&[c, b], 4).round());
        let (c, p): (&'static _, &'static _) = (Box::leak(Box::new(p)), Box::leak(Box::new(t)));
        go!("lstm", Function::stage_with(|x, n| lstm::loss(x, n), c, p), c, p);
        go!("lstm grad", Function::gradient_with(|x, n| lstm::loss(x, n), c, p), c, p);
    }
    if has("ba") {
        let (n, m, p) = (size(1).unwrap_or(49), size(2).unwrap_or(7776), size(3).unwrap_or(31843));
        let cam: Vector<Concrete> = tensor([-0.758453,-1.109613,-0.845551,34.556073,39.676747,53.881673,419.194514,5.864426,-8.518870,0.087812,0.002739]);
        let x: Vector<Concrete> = tensor([7.203245,0.001144,3.023326]);
        let feat: Vector<Concrete> = tensor([271.760969,834.209256]);
        let turns = |n: usize| Tensor::from_fn([p], |[k]| (k % n) as i64);
        let s: ba::Scene<Concrete> = (cam.replicate(n), x.replicate(m), Tensor::full([p], 0.417022));
        let o: ba::Seen<Concrete> = (turns(n), turns(m), feat.replicate(p));
        let (c, p): (&'static _, &'static _) = (Box::leak(Box::new(s)), Box::leak(Box::new(o)));
        go!("ba", Function::stage_with(|x, n| ba::errors(x, n), c, p), c, p);
        go!("ba blocks", Function::stage_with(|x, n| ba::blocks(x, n), c, p), c, p);
    }
    if has("ht") {
        let (v, p) = (size(1).unwrap_or(10000), size(2).unwrap_or(100000));
        let b = 22;
        let u = |s: &[usize], seed| Tensor::constant(Array::uniform(s, -1.0, 1.0, seed));
        let u3 = |s: &[usize], seed| Tensor::constant(Array::uniform(s, -1.0, 1.0, seed));
        let u1 = |s: &[usize], seed| Tensor::constant(Array::uniform(s, -1.0, 1.0, seed));
        let parents: Vec<Option<usize>> = [-1i64,0,1,2,3,0,5,6,7,0,9,10,11,0,13,14,15,0,17,18,19,0].iter().map(|p| usize::try_from(*p).ok()).collect();
        let hand = ht::Hand { parents, relatives: u3(&[b,4,4], 1), inverses: u3(&[b,4,4], 2), positions: u(&[v,4], 3), weights: u(&[v, b], 4), is_mirrored: false };
        let corners: Tensor<Concrete, 2, i64> = Tensor::from_fn([p, 3], |[k, i]| ((k * 7919 + i * 104729) % v) as i64);
        let measured = ht::Measured::Triangles(corners, u(&[p, 2], 5), u(&[p, 3], 6));
        let x = (Tensor::zeros([2]), u1(&[26], 7));
        let data = (hand, measured);
        let (c, p): (&'static _, &'static _) = (Box::leak(Box::new(x)), Box::leak(Box::new(data)));
        go!("ht", Function::stage_with(|x, n| ht::residuals(x, n), c, p), c, p);
        go!("ht jacobian", Function::jacobian_matrix_with(|x, n| ht::residuals(x, n), c, p), c, p);
    }
    let modes = [("ff", Mode::Forward, Mode::Forward), ("fr", Mode::Forward, Mode::Reverse), ("rf", Mode::Reverse, Mode::Forward), ("rr", Mode::Reverse, Mode::Reverse)];
    for (name, o, i) in modes {
        if has("particle") {
            let w: &'static Scalar<Concrete> = Box::leak(Box::new(tensor(0.0)));
            let y = go!(&format!("particle {name}"), Function::stage_with(move |x, _| particle::best(o, i, x), w, &()), w, &());
            println!("{y}  needed 0.2071918746486116");
        }
        if has("saddle") {
            let w: &'static Vector<Concrete> = Box::leak(Box::new(tensor([1.0, 1.0])));
            let y = go!(&format!("saddle {name}"), Function::stage_with(move |x, _| saddle::saddle(o, i, x), w, &()), w, &());
            println!("{y}  needed 8.246324826140356e-06");
        }
    }
}
