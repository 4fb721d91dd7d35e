//! Gradients of small networks, exported to be measured beside the same networks written in JAX (`python/compare_jax.py`).

use std::path::Path;

use polygrad::array::Rng;
use polygrad::{Array, BaseTensor, Conv, Float, Function, Tensor, Tree, einsum};

use super::Failure;
use super::files::Files;

/// Numbers of one shape, drawn from -scale to scale.
fn weights<const D: usize, E: Float>(rng: &mut Rng, shape: [usize; D], scale: f64) -> Tensor<Array, D, E> {
    Tensor::constant(rng.uniform_as::<E, _>(&shape, -scale, scale))
}

fn labels<const D: usize>(rng: &mut Rng, shape: [usize; D], classes: usize) -> Tensor<Array, D, i64> {
    let labels = (0..shape.iter().product::<usize>()).map(|_| rng.below(classes) as i64).collect();
    Tensor::constant(Array::new(&shape, labels))
}

/// Weights, a row for each input, and biases.
type Dense<T, E> = (Tensor<T, 2, E>, Tensor<T, 1, E>);

fn dense<T: BaseTensor, E: Float>(x: &Tensor<T, 2, E>, (weights, bias): &Dense<T, E>) -> Tensor<T, 2, E> {
    let y = x.matmul(weights);
    &y + bias.up_to(&y)
}

fn dense_of<E: Float>(rng: &mut Rng, [n, m]: [usize; 2]) -> Dense<Array, E> {
    (weights(rng, [n, m], 1.0 / (n as f64).sqrt()), weights(rng, [m], 0.1))
}

/// Two hidden layers.
fn perceptron<T: BaseTensor, E: Float>(
    [first, second, third]: &[Dense<T, E>; 3],
    (x, labels): &(Tensor<T, 2, E>, Tensor<T, 1, i64>),
) -> Tensor<T, 0, E> {
    let h = dense(x, first).relu();
    let h = dense(&h, second).relu();
    dense(&h, third).cross_entropy(1, labels).mean()
}

/// Kernels and biases of three convolutions, and a layer for the scores.
type Convolutional<T, E> = ([(Tensor<T, 4, E>, Tensor<T, 1, E>); 3], Dense<T, E>);
type Images<T, E> = (Tensor<T, 4, E>, Tensor<T, 1, i64>);

/// Convolutions of images, the second and third of which halve them: by their stride, or by pooling before.
fn convolutional<T: BaseTensor, E: Float>(
    (kernels, last): &Convolutional<T, E>,
    (x, labels): &Images<T, E>,
    pooled: bool,
) -> Tensor<T, 0, E> {
    let mut h = x.clone();
    for (k, (kernel, bias)) in kernels.iter().enumerate() {
        let halved = k > 0;
        if halved && pooled {
            h = h.max_pool2d([2, 2], [2, 2]);
        }
        let stride = if halved && !pooled { 2 } else { 1 };
        let y = h.conv2d(kernel, Conv::default().stride([stride; 2]).padding([1, 1]));
        let [n, c, v, u] = y.shape();
        h = (&y + bias.reshape([1, c, 1, 1]).broadcast_to([n, c, v, u])).relu();
    }
    dense(&h.mean_axis::<3>(3).mean_axis::<2>(2), last).cross_entropy(1, labels).mean()
}

fn convolutional_of<E: Float>(rng: &mut Rng) -> (Convolutional<Array, E>, Images<Array, E>) {
    let kernels = [[16, 3], [32, 16], [64, 32]]
        .map(|[o, c]: [usize; 2]| (weights(rng, [o, c, 3, 3], 1.0 / (9.0 * c as f64).sqrt()), weights(rng, [o], 0.1)));
    ((kernels, dense_of(rng, [64, 10])), (weights(rng, [32, 3, 32, 32], 1.0), labels(rng, [32], 10)))
}

const WIDTH: usize = 64;
const HEADS: usize = 4;
const PLACES: usize = 64;
const LETTERS: usize = 32;

/// Gains of two normalizations; query, key, value and output of attention; two layers of a network.
type Layer<T, E> = ([Tensor<T, 1, E>; 2], [Tensor<T, 3, E>; 4], [Tensor<T, 2, E>; 2]);
/// Vectors of letters and places, layers, and scores.
type Transformer<T, E> = (Tensor<T, 2, E>, Tensor<T, 2, E>, [Layer<T, E>; 2], Tensor<T, 2, E>);
type Texts<T> = (Tensor<T, 2, i64>, Tensor<T, 2, i64>);

fn normal<T: BaseTensor, E: Float>(x: &Tensor<T, 3, E>, gain: &Tensor<T, 1, E>) -> Tensor<T, 3, E> {
    (x - x.mean_keep(2)) / x.var_keep(2).shift(1e-5).sqrt() * gain.up_to(x)
}

fn attention<T: BaseTensor, E: Float>([q, k, v, out]: &[Tensor<T, 3, E>; 4], x: &Tensor<T, 3, E>) -> Tensor<T, 3, E> {
    let project = |w: &Tensor<T, 3, E>| einsum!("bld,dhk->bhlk", x, w);
    let (q, k, v) = (project(q), project(k), project(v));
    let scores = einsum!("bhlk,bhmk->bhlm", &q, &k).scale(1.0 / ((WIDTH / HEADS) as f64).sqrt());
    let past = Tensor::<T, 2>::ones([PLACES, PLACES]).tril(0).gt(0.0).up_to(&scores);
    let weights = past.select(scores, E::of_f64(-1e9)).softmax(3);
    einsum!("bhlm,bhmk,hkd->bld", &weights, &v, out)
}

fn transformer<T: BaseTensor, E: Float>(
    (letters, places, layers, scores): &Transformer<T, E>,
    (text, next): &Texts<T>,
) -> Tensor<T, 0, E> {
    let mut x: Tensor<T, 3, E> = letters.gather([text]);
    x = &x + places.up_to(&x);
    for (gains, projections, [up, down]) in layers {
        x = &x + attention(projections, &normal(&x, &gains[0]));
        let hidden = einsum!("bld,de->ble", &normal(&x, &gains[1]), up).gelu();
        x = &x + einsum!("ble,ed->bld", &hidden, down);
    }
    einsum!("bld,dc->blc", &x, scores).cross_entropy::<2>(2, next).mean()
}

fn transformer_of<E: Float>(rng: &mut Rng) -> (Transformer<Array, E>, Texts<Array>) {
    let depth = 1.0 / (WIDTH as f64).sqrt();
    let mut layer = || {
        let split = [WIDTH, HEADS, WIDTH / HEADS];
        let joined = [HEADS, WIDTH / HEADS, WIDTH];
        let projections = [split, split, split, joined].map(|shape| weights(rng, shape, depth));
        let network = [weights(rng, [WIDTH, 4 * WIDTH], depth), weights(rng, [4 * WIDTH, WIDTH], 0.5 * depth)];
        ([Tensor::ones([WIDTH]), Tensor::ones([WIDTH])], projections, network)
    };
    let layers = [layer(), layer()];
    let model = (
        weights(rng, [LETTERS, WIDTH], 0.5),
        weights(rng, [PLACES, WIDTH], 0.5),
        layers,
        weights(rng, [WIDTH, LETTERS], depth),
    );
    (model, (labels(rng, [8, PLACES], LETTERS), labels(rng, [8, PLACES], LETTERS)))
}

/// Writes a function of value and gradient, with inputs and what it gives for them.
macro_rules! written {
    ($folder:expr, $name:expr, $loss:expr, $arguments:expr) => {{
        let (x, data) = $arguments;
        let function = Function::value_and_grad_with($loss, &x, &data);
        let (value, gradient) = function.run_with(&x, &data)?;
        let exported = function.exported($name)?;
        save(
            $folder,
            $name,
            &exported,
            [x.leaves(), data.leaves()].concat(),
            [value.leaves(), gradient.leaves()].concat(),
        )?;
    }};
}

fn save(
    folder: &Path,
    name: &str,
    exported: &polygrad::export::Exported,
    inputs: Vec<Array>,
    outputs: Vec<Array>,
) -> Result<(), Failure> {
    let folder = &folder.join(name);
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join("program.mlir"), &exported.text)?;
    std::fs::write(folder.join("program.json"), serde_json::to_string_pretty(&exported.signature)?)?;
    let mut files = Files::new(folder);
    for (leaves, ports) in [(inputs, &exported.signature.inputs), (outputs, &exported.signature.outputs)] {
        for (leaf, port) in leaves.iter().zip(ports) {
            files.add(&port.path, leaf)?;
        }
    }
    files.finish("data.json")?;
    println!("{}", folder.display());
    Ok(())
}

fn write_all_of<E: Float>(folder: &Path) -> Result<(), Failure> {
    let (mut rng, name) = (Rng::new(2), |of: &str| format!("{of}_{}", E::DTYPE));
    let layers = [[784, 300], [300, 100], [100, 10]].map(|sizes| dense_of(&mut rng, sizes));
    let batch = (weights(&mut rng, [64, 784], 1.0), labels(&mut rng, [64], 10));
    written!(folder, &name("mlp"), perceptron::<_, E>, (layers, batch));
    for (of, pooled) in [("cnn", false), ("cnn_pool", true)] {
        written!(folder, &name(of), |x, data| convolutional::<_, E>(x, data, pooled), convolutional_of::<E>(&mut rng));
    }
    written!(folder, &name("transformer"), transformer::<_, E>, transformer_of::<E>(&mut rng));
    Ok(())
}

/// Writes the networks to folders in this folder.
pub(crate) fn write_all(folder: &Path) -> Result<(), Failure> {
    write_all_of::<f32>(folder)?;
    write_all_of::<f64>(folder)
}
