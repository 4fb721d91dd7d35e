//! Convolutions with strides, dilations, padding, groups and reversal, as contractions.
//!
//! Law: `out[b, o, f] += x[b, s o + d k - p, c] w[k, c, f]`: the view of the operand reads zeros outside of it.

use super::attributes::Attribute;
use super::module::ModuleOperation;
use super::run::{result_element, result_shape};
use super::shaped::{contracted, pad};
use super::value::{Imported, ImportedValue, lacks, need, shape_of};
use crate::base::BaseTensor;
use crate::ops::{Contract, Linear, View};
use crate::shape::{MAX_RANK, Shape, size};

/// The largest stride, dilation and padding: sums of them do not overflow.
const LARGEST_STEP: i64 = 1_073_741_824;

/// The positions of the axes of an operand: the two named ones, and the spatial ones in their order.
fn places(names: &[String], first: &str, second: &str) -> Option<(usize, usize, Vec<usize>)> {
    let at = |name: &str| names.iter().position(|n| n == name);
    let spatial = (0..names.len() - 2).map(|k| at(&k.to_string())).collect::<Option<Vec<_>>>()?;
    Some((at(first)?, at(second)?, spatial))
}

/// The numbers of one attribute for each spatial axis.
fn numbers(op: &ModuleOperation, name: &str, n: usize, otherwise: i64) -> Imported<Vec<i64>> {
    let all = op.ints(name).unwrap_or_else(|| vec![otherwise; n]);
    need(all.len() == n, || format!("`{name}` must have {n} numbers"))?;
    Ok(all)
}

pub(super) fn convolution<T: BaseTensor>(
    op: &ModuleOperation,
    x: &ImportedValue<T>,
    w: &ImportedValue<T>,
) -> Imported<ImportedValue<T>> {
    let Some(Attribute::Dimensions(names)) = op.attribute("dimension_numbers") else { return lacks("its dimensions") };
    let rank = x.shape().len();
    need(rank >= 2 && w.shape().len() == rank && names.iter().all(|n| n.len() == rank), || {
        "both operands need an axis for each dimension".into()
    })?;
    let (Some((xb, xf, xs)), Some((wi, wo, ws)), Some((ob, of, os))) =
        (places(&names[0], "b", "f"), places(&names[1], "i", "o"), places(&names[2], "b", "f"))
    else {
        return lacks("dimensions b, f, i, o and 0, 1, ..");
    };
    let n = rank - 2;
    let strides = numbers(op, "window_strides", n, 1)?;
    let padding = op.ints("padding").unwrap_or_else(|| vec![0; 2 * n]);
    let (spread, dilation) = (numbers(op, "lhs_dilation", n, 1)?, numbers(op, "rhs_dilation", n, 1)?);
    let reversal = numbers(op, "window_reversal", n, 0)?;
    let positive = |all: &[i64]| all.iter().all(|k| (1..=LARGEST_STEP).contains(k));
    need(padding.len() == 2 * n && positive(&strides) && positive(&spread) && positive(&dilation), || {
        "strides and dilations must be positive, and there must be two paddings for each axis".into()
    })?;
    need(padding.iter().all(|p| p.abs() <= LARGEST_STEP), || "paddings must be below 2^30".into())?;
    let groups = [op.int("feature_group_count").unwrap_or(1), op.int("batch_group_count").unwrap_or(1)];
    let (g, bg) = (groups[0].max(1) as usize, groups[1].max(1) as usize);
    let (batch, features, outputs) = (x.shape()[xb], x.shape()[xf], w.shape()[wo]);
    let all = g.max(bg);
    need(
        (g == 1 || bg == 1) && features == w.shape()[wi].saturating_mul(g) && outputs % all == 0 && batch % bg == 0,
        || "the numbers of features and of groups do not fit".into(),
    )?;
    // The operand with gaps, and both with the axes [group, batch or features, features, spatial axes].
    let zero = ImportedValue::real(x.element, T::zeros(&[], x.re.dtype()));
    let zero =
        if x.element.is_complex() { ImportedValue::complex(x.element, (zero.re.clone(), zero.re)) } else { zero };
    let mut inside = vec![0; rank];
    for (k, axis) in xs.iter().enumerate() {
        inside[*axis] = spread[k] - 1;
    }
    let x = pad(x, &zero, &vec![0; rank], &vec![0; rank], &inside)?;
    let order: Vec<usize> = [xb, xf].into_iter().chain(xs.iter().copied()).collect();
    let x = x.permuted(&order);
    let sizes: Vec<usize> = x.shape()[2..].to_vec();
    let [gb, gf] = if bg > 1 { [batch / bg, features] } else { [batch, features / g] };
    let split = if bg > 1 { vec![bg, gb, gf] } else { vec![gb, g, gf] };
    let x = x.reshaped(&[&split[..], &sizes].concat());
    let w_order: Vec<usize> = [wi, wo].into_iter().chain(ws.iter().copied()).collect();
    let mut w = w.permuted(&w_order);
    for k in (0..n).filter(|k| reversal[*k] != 0) {
        w = w.map(|y| y.linear(&Linear::reverse(y.shape(), 2 + k)));
    }
    let window: Vec<usize> = w.shape()[2..].to_vec();
    let per_group = outputs / all;
    let w = w.reshaped(&[&[gf, all, per_group][..], &window].concat());
    let mut lengths = Vec::new();
    for k in 0..n {
        let whole = sizes[k] as i64 + padding[2 * k] + padding[2 * k + 1];
        let wide = if window[k] == 0 { 0 } else { (window[k] as i64 - 1).saturating_mul(dilation[k]) + 1 };
        lengths.push(if whole < wide { 0 } else { ((whole - wide) / strides[k] + 1) as usize });
    }
    // The iteration space: group, batch, outputs of a group, positions; features, window.
    let space =
        shape_of([all, gb, per_group].into_iter().chain(lengths.iter().copied()).chain([gf]).chain(window.clone()));
    need(space.len() <= MAX_RANK, || "it has too many axes".into())?;
    let m = space.len();
    let unit = |axis: usize| (0..m).map(|k| i64::from(k == axis)).collect::<Vec<i64>>();
    let mut rows: Vec<Vec<i64>> = if bg > 1 { vec![unit(0), unit(1)] } else { vec![unit(1), unit(0)] };
    rows.push(unit(3 + n));
    let mut offset = vec![0; 3];
    for k in 0..n {
        let mut row = vec![0; m];
        (row[3 + k], row[4 + n + k]) = (strides[k], dilation[k]);
        rows.push(row);
        offset.push(-padding[2 * k]);
    }
    let from_x = View::affine(x.shape(), &space, &rows.concat(), &offset);
    let w_axes: Vec<usize> = [3 + n, 0, 2].into_iter().chain((0..n).map(|k| 4 + n + k)).collect();
    let from_w = View::axes(&space, &w_axes);
    let out_axes: Vec<usize> = [1, 0, 2].into_iter().chain((0..n).map(|k| 3 + k)).collect();
    let contract = Contract::new(from_x, from_w, View::axes(&space, &out_axes));
    let found = contracted(&contract, &x, &w, result_element(op)?);
    let joined: Shape = shape_of([gb, outputs].into_iter().chain(lengths.iter().copied()));
    need(size(&joined) == size(&result_shape(op)?), || "the result does not have the shape that follows".into())?;
    let found = found.reshaped(&joined);
    // Back to the axes of the result.
    let mut back = vec![0; rank];
    (back[ob], back[of]) = (0, 1);
    for (k, axis) in os.iter().enumerate() {
        back[*axis] = 2 + k;
    }
    Ok(found.permuted(&back))
}
