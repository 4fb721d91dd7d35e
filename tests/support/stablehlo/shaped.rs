//! Operations that move elements, products and transforms.

use std::f64::consts::TAU;

use super::linalg;
use super::read::Line;
use super::tensor::{Data, Tensor, flat, indices, size};

/// The result, if it is such an operation.
pub(super) fn shaped(name: &str, line: &Line, args: &[Tensor]) -> Option<Tensor> {
    let out = &line.results[0].shape;
    Some(match (name, args) {
        ("iota", []) => {
            let dim = line.number("dim");
            Tensor::whole(out, &line.results[0].element, indices(out).map(|index| index[dim] as i64).collect())
        }
        ("reshape", [x]) => {
            assert_eq!(size(out), x.shape().iter().product::<usize>(), "a reshape keeps the size");
            x.taken(out, 0..size(out))
        }
        ("broadcast_in_dim", [x]) => {
            let dims = line.indices("dims");
            assert!(x.shape().iter().zip(&dims).all(|(n, d)| *n == out[*d] || *n == 1), "axes of one size: {line:?}");
            let from = |index: &[usize]| {
                let at = |(d, n): (&usize, &usize)| if *n == 1 { 0 } else { index[*d] };
                flat(x.shape(), &dims.iter().zip(x.shape()).map(at).collect::<Vec<usize>>())
            };
            x.taken(out, indices(out).map(|index| from(&index)))
        }
        ("transpose", [x]) => {
            let dims = line.indices("dims");
            let shape: Vec<usize> = dims.iter().map(|d| x.shape()[*d]).collect();
            let from = |index: &[usize]| {
                let mut at = vec![0; dims.len()];
                dims.iter().zip(index).for_each(|(d, i)| at[*d] = *i);
                flat(x.shape(), &at)
            };
            x.taken(&shape, indices(&shape).map(|index| from(&index)))
        }
        ("reverse", [x]) => {
            let dims = line.indices("dims");
            let from = |index: &[usize]| {
                let at = |k: usize| if dims.contains(&k) { x.shape()[k] - 1 - index[k] } else { index[k] };
                flat(x.shape(), &(0..index.len()).map(at).collect::<Vec<usize>>())
            };
            x.taken(x.shape(), indices(x.shape()).map(|index| from(&index)))
        }
        ("slice", [x]) => {
            let (_, parts) = line.ranges();
            let step = |part: &[usize]| part.get(2).copied().unwrap_or(1);
            assert!(parts.iter().zip(x.shape()).all(|(p, n)| p[0] <= p[1] && p[1] <= *n && step(p) > 0), "{line:?}");
            let shape: Vec<usize> = parts.iter().map(|p| (p[1] - p[0]).div_ceil(step(p))).collect();
            let from = |index: &[usize]| {
                flat(x.shape(), &index.iter().zip(&parts).map(|(i, p)| p[0] + i * step(p)).collect::<Vec<usize>>())
            };
            x.taken(&shape, indices(&shape).map(|index| from(&index)))
        }
        ("pad", [x, zero]) => pad(line, x, zero),
        ("concatenate", parts) => {
            let dim = line.number("dim");
            let mut shape = parts[0].shape().to_vec();
            shape[dim] = parts.iter().map(|p| p.shape()[dim]).sum();
            let mut result = parts[0]
                .taken(&shape, std::iter::repeat_n(0, if size(parts[0].shape()) > 0 { size(&shape) } else { 0 }));
            if size(parts[0].shape()) == 0 {
                let some = parts.iter().find(|p| size(p.shape()) > 0);
                result = some.map_or(result, |p| p.taken(&shape, std::iter::repeat_n(0, size(&shape))));
            }
            let mut start = 0;
            for part in parts {
                for (k, mut index) in indices(part.shape()).enumerate() {
                    index[dim] += start;
                    result.put(flat(&shape, &index), &part.element(k));
                }
                start += part.shape()[dim];
            }
            result
        }
        ("dot_general", [x, y]) => dot(line, x, y),
        ("convolution", [x, y]) => convolution(line, x, y),
        ("fft", [x]) => fft(x),
        ("cholesky", [a]) => linalg::cholesky(a),
        ("triangular_solve", [a, b]) => linalg::triangular_solve(line, a, b),
        _ => return None,
    })
}

fn pad(line: &Line, x: &Tensor, zero: &Tensor) -> Tensor {
    let [low, high, inner] = ["low", "high", "interior"].map(|key| line.indices(key));
    let grown = |k: usize| low[k] + high[k] + x.shape()[k] + inner[k] * x.shape()[k].saturating_sub(1);
    let shape: Vec<usize> = (0..low.len()).map(grown).collect();
    let mut at = vec![None; size(&shape)];
    for (from, index) in indices(x.shape()).enumerate() {
        let place: Vec<usize> = index.iter().enumerate().map(|(k, i)| low[k] + i * (inner[k] + 1)).collect();
        at[flat(&shape, &place)] = Some(from);
    }
    x.picked(&shape, &at, zero)
}

fn dot(line: &Line, x: &Tensor, y: &Tensor) -> Tensor {
    let (batch, summed) = (line.pairs("batching_dims"), line.pairs("contracting_dims"));
    let free = |t: &Tensor, side: usize| -> Vec<usize> {
        (0..t.shape().len()).filter(|k| !batch[side].contains(k) && !summed[side].contains(k)).collect()
    };
    let (free_x, free_y) = (free(x, 0), free(y, 1));
    let sizes = |t: &Tensor, dims: &[usize]| dims.iter().map(|k| t.shape()[*k]).collect::<Vec<usize>>();
    assert_eq!(sizes(x, &batch[0]), sizes(y, &batch[1]));
    assert_eq!(sizes(x, &summed[0]), sizes(y, &summed[1]));
    let shape = [sizes(x, &batch[0]), sizes(x, &free_x), sizes(y, &free_y)].concat();
    let (b, f) = (batch[0].len(), free_x.len());
    let at = |t: &Tensor, dims: [&[usize]; 3], parts: [&[usize]; 3]| {
        let mut index = vec![0; t.shape().len()];
        dims.iter().zip(parts).for_each(|(dims, part)| dims.iter().zip(part).for_each(|(d, i)| index[*d] = *i));
        flat(t.shape(), &index)
    };
    let inner: Vec<Vec<usize>> = indices(&sizes(x, &summed[0])).collect();
    let pair = |index: &[usize], k: &[usize]| {
        let (own, other) = (&index[..b], &index[b..]);
        (
            at(x, [&batch[0], &free_x, &summed[0]], [own, &other[..f], k]),
            at(y, [&batch[1], &free_y, &summed[1]], [own, &other[f..], k]),
        )
    };
    match (&x.data, &y.data) {
        (Data::Float(v), Data::Float(w)) => {
            let sum = |index: Vec<usize>| inner.iter().map(|k| pair(&index, k)).map(|(i, j)| v[i] * w[j]).sum::<f64>();
            Tensor::floats(&shape, &x.ty.element, indices(&shape).map(|index| 0.0 + sum(index)).collect())
        }
        (Data::Whole(v), Data::Whole(w)) => {
            let add = |sum: i64, (i, j): (usize, usize)| sum.wrapping_add(v[i].wrapping_mul(w[j]));
            let sum = |index: Vec<usize>| inner.iter().map(|k| pair(&index, k)).fold(0, add);
            Tensor::whole(&shape, &x.ty.element, indices(&shape).map(sum).collect())
        }
        (Data::Float(_) | Data::Whole(_) | Data::Complex(_), _) => panic!("no product"),
    }
}

fn convolution(line: &Line, x: &Tensor, y: &Tensor) -> Tensor {
    let [of_x, of_y, of_out] = line.labels();
    let place = |names: &[String], name: &str| names.iter().position(|n| n == name).expect("a label");
    let spatial = of_x.len() - 2;
    let keys = ["stride", "lhs_dilate", "rhs_dilate", "pad"].map(|key| line.numbers(key));
    let [strides, dilate_x, dilate_y, pads] = keys;
    let groups = line.number("feature_group_count");
    let extent = |t: &Tensor, names: &[String], name: &str| t.shape()[place(names, name)];
    let (features, inner) = (extent(y, &of_y, "o"), extent(y, &of_y, "i"));
    assert_eq!(extent(x, &of_x, "f"), inner * groups);
    assert_eq!(features % groups, 0);
    let mut shape = vec![0; of_out.len()];
    shape[place(&of_out, "b")] = extent(x, &of_x, "b");
    shape[place(&of_out, "f")] = features;
    let dilated = |n: usize, by: i64| if n == 0 { 0 } else { (n as i64 - 1) * by + 1 };
    for k in 0..spatial {
        let name = k.to_string();
        let padded = dilated(extent(x, &of_x, &name), dilate_x[k]) + pads[2 * k] + pads[2 * k + 1];
        let window = dilated(extent(y, &of_y, &name), dilate_y[k]);
        shape[place(&of_out, &name)] = if padded < window { 0 } else { ((padded - window) / strides[k] + 1) as usize };
    }
    let windows: Vec<usize> = (0..spatial).map(|k| extent(y, &of_y, &k.to_string())).collect();
    let element = |index: Vec<usize>| {
        let feature = index[place(&of_out, "f")];
        let group = feature / (features / groups);
        let mut sum = 0.0;
        for i in 0..inner {
            for window in indices(&windows) {
                let (mut at_x, mut at_y) = (vec![0; of_x.len()], vec![0; of_y.len()]);
                at_x[place(&of_x, "b")] = index[place(&of_out, "b")];
                at_x[place(&of_x, "f")] = group * inner + i;
                at_y[place(&of_y, "o")] = feature;
                at_y[place(&of_y, "i")] = i;
                let inside = (0..spatial).all(|k| {
                    let name = k.to_string();
                    let from =
                        index[place(&of_out, &name)] as i64 * strides[k] + window[k] as i64 * dilate_y[k] - pads[2 * k];
                    at_y[place(&of_y, &name)] = window[k];
                    let (whole, n) = (from.rem_euclid(dilate_x[k]) == 0, extent(x, &of_x, &name) as i64);
                    let from = from.div_euclid(dilate_x[k]);
                    at_x[place(&of_x, &name)] = from.clamp(0, (n - 1).max(0)) as usize;
                    whole && (0..n).contains(&from)
                });
                if inside {
                    sum += x.f()[flat(x.shape(), &at_x)] * y.f()[flat(y.shape(), &at_y)];
                }
            }
        }
        sum
    };
    Tensor::floats(&shape, &x.ty.element, indices(&shape).map(element).collect())
}

/// The transform along the last axis.
fn fft(x: &Tensor) -> Tensor {
    let Data::Complex(v) = &x.data else { panic!("complex numbers are needed") };
    let n = *x.shape().last().expect("an axis");
    let mut out = Vec::with_capacity(v.len());
    for row in v.chunks(n) {
        for k in 0..n {
            let term = |(j, z): (usize, &[f64; 2])| {
                let (sin, cos) = (-TAU * ((j * k) % n) as f64 / n as f64).sin_cos();
                [z[0] * cos - z[1] * sin, z[0] * sin + z[1] * cos]
            };
            out.push(row.iter().enumerate().map(term).fold([0.0; 2], |s, z| [s[0] + z[0], s[1] + z[1]]));
        }
    }
    Tensor { ty: x.ty.clone(), data: Data::Complex(out) }
}
