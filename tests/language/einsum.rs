//! Einsum against its definition on random specifications, and its derivatives.

use polygrad::array::Rng;
use polygrad::direct::{grad, jvp};
use polygrad::{Array, BaseTensor, Concrete, Tensor, einsum, tensor};

use crate::blind::Blind;

const LETTERS: [char; 4] = ['i', 'j', 'k', 'l'];

/// A random specification of matrices and a result of rank `rank`, with the size of each letter.
struct Spec {
    inputs: Vec<[usize; 2]>,
    output: Vec<usize>,
    sizes: [usize; 4],
}

impl Spec {
    fn random(rng: &mut Rng, operands: usize, rank: usize) -> Spec {
        loop {
            let inputs: Vec<[usize; 2]> = (0..operands).map(|_| [rng.below(4), rng.below(4)]).collect();
            let output: Vec<usize> = rng.permutation(4)[..rank].to_vec();
            if output.iter().all(|l| inputs.iter().any(|i| i.contains(l))) {
                return Spec { inputs, output, sizes: [0; 4].map(|_| rng.below(4) + usize::from(rng.below(8) > 0)) };
            }
        }
    }

    fn text(&self) -> String {
        let name = |labels: &[usize]| labels.iter().map(|l| LETTERS[*l]).collect::<String>();
        let inputs: Vec<String> = self.inputs.iter().map(|i| name(i)).collect();
        format!("{} -> {}", inputs.join(", "), name(&self.output))
    }

    fn operands(&self, rng: &mut Rng) -> Vec<Tensor<Concrete, 2>> {
        let shapes = self.inputs.iter().map(|i| i.map(|l| self.sizes[l]));
        shapes.map(|shape| Tensor::constant(rng.uniform(&shape, -2.0, 2.0))).collect()
    }

    /// The definition: one term per position of every letter.
    fn naive(&self, operands: &[Tensor<Concrete, 2>]) -> Vec<f64> {
        let values: Vec<Vec<f64>> = operands.iter().map(Tensor::to_vec).collect();
        let mut out = vec![0.0; self.output.iter().map(|l| self.sizes[*l]).product()];
        // Letters that nobody uses have one position.
        let used = |l: usize| self.inputs.iter().any(|i| i.contains(&l));
        let count = |l: usize| if used(l) { self.sizes[l] } else { 1 };
        for point in 0..(0..4).map(count).product() {
            let mut rest = point;
            let at: Vec<usize> = (0..4)
                .map(|l| {
                    let here = rest % count(l);
                    rest /= count(l);
                    here
                })
                .collect();
            let terms = self.inputs.iter().zip(&values).map(|(i, v)| v[at[i[0]] * self.sizes[i[1]] + at[i[1]]]);
            let place = self.output.iter().fold(0, |place, l| place * self.sizes[*l] + at[*l]);
            out[place] += terms.product::<f64>();
        }
        out
    }
}

/// The operands as the arrays that einsum takes.
fn run<T: BaseTensor, const D: usize>(spec: &str, operands: &[Tensor<T, 2>]) -> Tensor<T, D> {
    match operands {
        [a] => einsum(spec, a),
        [a, b] => einsum(spec, [a, b]),
        [a, b, c] => einsum(spec, (a, b, c)),
        _ => unreachable!("one to three operands are drawn"),
    }
}

fn check<const D: usize>(rng: &mut Rng) {
    // One matrix has no three letters.
    let operands = if D > 2 { 2 + rng.below(2) } else { 1 + rng.below(3) };
    let spec = Spec::random(rng, operands, D);
    let (text, operands) = (spec.text(), spec.operands(rng));
    let value: Tensor<Concrete, D> = run(&text, &operands);
    let shape: Vec<usize> = spec.output.iter().map(|l| spec.sizes[*l]).collect();
    assert_eq!(value.shape()[..], shape, "{text}");
    let close = |a: f64, b: f64| assert!((a - b).abs() <= 1e-11 * a.abs().max(1.0), "{text}: {a} and {b}");
    value.to_vec().into_iter().zip(spec.naive(&operands)).for_each(|(a, b)| close(a, b));

    let hidden: Vec<Tensor<Blind, 2>> = operands.iter().map(|t| Tensor::constant(t.array().clone())).collect();
    assert_eq!(run::<Blind, D>(&text, &hidden).raw().0, *value.array());

    // Forward and reverse derivatives are adjoint to each other, in all operands at once.
    let dots: Vec<Tensor<Concrete, 2>> = spec.operands(rng);
    let ct: Tensor<Concrete, D> = Tensor::constant(rng.uniform(&shape, -1.0, 1.0));
    let (_, y_dot) = jvp(|x: &Vec<Tensor<_, 2>>| run::<_, D>(&text, x), &operands, &dots);
    let bars = grad(|x: &Vec<Tensor<_, 2>>| run::<_, D>(&text, x).dot(&ct.lift()), &operands);
    close(y_dot.dot(&ct).item(), dots.iter().zip(&bars).map(|(x, y)| x.dot(y).item()).sum());
}

#[test]
fn random_specifications_mean_their_definition() {
    let rng = &mut Rng::new(1);
    for _ in 0..150 {
        check::<0>(rng);
        check::<1>(rng);
        check::<2>(rng);
        check::<3>(rng);
    }
}

#[test]
fn familiar_products_are_instances() {
    let rng = &mut Rng::new(2);
    let a: Tensor<Concrete, 2> = Tensor::constant(rng.uniform(&[3, 3], -1.0, 1.0));
    let b: Tensor<Concrete, 2> = Tensor::constant(rng.uniform(&[3, 3], -1.0, 1.0));
    let x: Tensor<Concrete, 1> = Tensor::constant(rng.uniform(&[3], -1.0, 1.0));
    assert_eq!(einsum::<_, 2, _>("ij,jk->ik", [&a, &b]), a.matmul(&b));
    assert_eq!(einsum::<_, 1, _>("ij,j->i", (&a, &x)), a.matvec(&x));
    assert_eq!(einsum::<_, 2, _>("i,j->ij", [&x, &x]), x.outer(&x));
    assert_eq!(einsum::<_, 2, _>("ij->ji", &a), a.t());
    assert_eq!(einsum::<_, 0, _>("ii->", &a), a.trace());
    assert_eq!(einsum::<_, 1, _>("ij->j", &a), a.sum_outer());
    assert_eq!(einsum::<_, 2, _>("ij->ij", &a), a);
    assert_eq!(einsum::<_, 1, _>(",i->i", (&x.sum(), &x)), x.times(&x.sum()));
    assert_eq!(einsum::<_, 2, i64>("ij,jk->ik", [&tensor([[1, 2]]), &tensor([[3], [4]])]), tensor([[11]]));
    let chain: Tensor<_, 0> = einsum("i,ij,jk,kl,l->", (&x, &a, &b, &a, &x));
    assert!((chain.item() - x.vecmat(&a).vecmat(&b).vecmat(&a).dot(&x).item()).abs() < 1e-14);
}

#[test]
fn gradients_are_einsums() {
    let (a, x) = (tensor([[1.0, 2.0], [3.0, 4.0]]), tensor([1.0, 10.0]));
    let form = |a: &Tensor<_, 2>| {
        let x = Tensor::<_, 1>::constant([1.0, 10.0]);
        einsum("i,ij,j->", (&x, a, &x))
    };
    assert_eq!(grad(form, &a), x.outer(&x));
    // Of a diagonal: ones there and zeros elsewhere.
    assert_eq!(grad(|a| einsum("ii->", a), &a), Tensor::eye(2));
}

#[test]
fn lone_letters_are_summed_before_they_multiply_the_work() {
    // 10^12 products if the sums were taken last.
    let n = 1_000_000;
    let (x, y): (Tensor<Concrete, 1>, Tensor<Concrete, 1>) = (Tensor::ones([n]), Tensor::linspace(0.0, 1.0, n));
    let product: Tensor<_, 0> = einsum("i,j->", [&x, &y]);
    assert!((product.item() - x.sum().item() * y.sum().item()).abs() < 1e-3);
    assert_eq!(
        einsum::<_, 1, _>("i,j->i", [&tensor([1.0, 2.0]), &tensor([3.0, 4.0])]).array(),
        &Array::from([7.0, 14.0])
    );
}

#[test]
fn letters_read_by_the_compiler_mean_the_same() {
    use polygrad::{direct, grad};
    let mut rng = Rng::new(11);
    let h = rng.normal([2, 3, 4], 0.0, 1.0);
    let w = rng.normal([4, 5, 2], 0.0, 1.0);
    let q = einsum!("bld,dhk->bhlk", &h, &w);
    let expected: Tensor<_, 4> = einsum("bld,dhk->bhlk", (&h, &w));
    assert_eq!(q, expected);
    assert_eq!(einsum!("b l d -> d", h.clone()), h.sum_axes([0, 1]));
    assert_eq!(einsum!("ii->", &tensor([[1, 2], [3, 4]])), tensor(5));
    let x = tensor([1.0, 2.0]);
    // Owned, borrowed, scalars, and more operands than two.
    assert_eq!(einsum!("i,,i->i", &x, x.sum(), &x * 2.0), tensor([6.0, 24.0]));
    // The rank is known where the result is used.
    assert_eq!((einsum!("i,j->ij", &x, &x) * x.sum()).sum_keep(1), tensor([[9.0], [18.0]]));
    fn energy<T: BaseTensor>(h: &Tensor<T, 3>, w: &Tensor<T, 3>) -> Tensor<T, 0> {
        einsum!("bld,dhk->bhlk", h, w).square().sum()
    }
    let slope = grad(|h| energy(h, &w.lift()), &h);
    let direct = direct::grad(|h| energy(h, &w.lift()), &h);
    assert!((slope - direct).abs().max_all().item() < 1e-12);
}
