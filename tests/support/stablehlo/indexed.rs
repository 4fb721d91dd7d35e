//! Gather, scatter, and slices at computed places.

use super::read::Line;
use super::tensor::{Tensor, flat, indices, size};

/// The result, if it is such an operation.
pub(super) fn indexed(name: &str, line: &Line, args: &[Tensor]) -> Option<Tensor> {
    Some(match (name, args) {
        ("gather", [x, starts]) => gather(line, x, starts),
        ("dynamic_slice", [x, at @ ..]) => {
            let sizes = line.indices("sizes");
            let start = clamped(x.shape(), &sizes, at);
            x.taken(&sizes, indices(&sizes).map(|index| moved(x.shape(), &start, &index)))
        }
        ("dynamic_update_slice", [x, part, at @ ..]) => {
            let start = clamped(x.shape(), part.shape(), at);
            let mut result = x.clone();
            for (k, index) in indices(part.shape()).enumerate() {
                result.put(moved(x.shape(), &start, &index), &part.element(k));
            }
            result
        }
        _ => return None,
    })
}

/// The start of a part, moved so that the part lies within.
fn clamped(shape: &[usize], sizes: &[usize], at: &[Tensor]) -> Vec<usize> {
    assert_eq!(shape.len(), at.len(), "an index for each axis");
    let one = |(k, at): (usize, &Tensor)| at.i()[0].clamp(0, (shape[k] - sizes[k]) as i64) as usize;
    at.iter().enumerate().map(one).collect()
}

fn moved(shape: &[usize], start: &[usize], index: &[usize]) -> usize {
    flat(shape, &start.iter().zip(index).map(|(s, i)| s + i).collect::<Vec<usize>>())
}

/// The start of a window of the operand for an index of the places.
fn start(
    starts: &Tensor,
    place: &[usize],
    vector: usize,
    (map, batch, batch_starts): (&[usize], &[usize], &[usize]),
    rank: usize,
) -> Vec<i64> {
    let mut out = vec![0; rank];
    for (k, d) in map.iter().enumerate() {
        let mut at = place.to_vec();
        if vector < starts.shape().len() {
            at.insert(vector, k);
        }
        out[*d] = starts.i()[flat(starts.shape(), &at)];
    }
    batch.iter().zip(batch_starts).for_each(|(d, s)| out[*d] = place[*s] as i64);
    out
}

fn gather(line: &Line, x: &Tensor, starts: &Tensor) -> Tensor {
    let offsets = line.indices("offset_dims");
    let collapsed = line.indices("collapsed_slice_dims");
    let (batch, batch_starts) = (line.indices("operand_batching_dims"), line.indices("start_indices_batching_dims"));
    let map = line.indices("start_index_map");
    let vector = line.number("index_vector_dim");
    let sizes: Vec<usize> = line
        .words
        .split("slice_sizes = array<i64: ")
        .nth(1)
        .and_then(|t| t.split('>').next())
        .map(|t| t.split(", ").filter(|n| !n.is_empty()).map(|n| n.parse().expect("a size")).collect())
        .expect("sizes");
    assert!(collapsed.iter().chain(&batch).all(|d| sizes[*d] == 1));
    let mut places = starts.shape().to_vec();
    if vector < places.len() {
        assert_eq!(places.remove(vector), map.len());
    }
    assert!(batch.iter().zip(&batch_starts).all(|(d, s)| x.shape()[*d] == places[*s]), "batch axes are of one size");
    let kept: Vec<usize> = (0..sizes.len()).filter(|d| !collapsed.contains(d) && !batch.contains(d)).collect();
    let rank = places.len() + kept.len();
    let own: Vec<usize> = (0..rank).filter(|k| !offsets.contains(k)).collect();
    let mut shape = vec![0; rank];
    own.iter().zip(&places).for_each(|(k, n)| shape[*k] = *n);
    offsets.iter().zip(&kept).for_each(|(k, d)| shape[*k] = sizes[*d]);
    let from = |index: Vec<usize>| {
        let place: Vec<usize> = own.iter().map(|k| index[*k]).collect();
        let start = start(starts, &place, vector, (&map, &batch, &batch_starts), sizes.len());
        let mut at: Vec<usize> =
            (0..sizes.len()).map(|d| start[d].clamp(0, (x.shape()[d] - sizes[d]) as i64) as usize).collect();
        // The specification moves an index into bounds, engines do not agree.
        assert!(start.iter().zip(&at).all(|(s, a)| *s == *a as i64), "an index out of bounds: {line:?}");
        offsets.iter().zip(&kept).for_each(|(k, d)| at[*d] += index[*k]);
        flat(x.shape(), &at)
    };
    x.taken(&shape, indices(&shape).map(from))
}

/// Of each update that is not dropped, its place in the operand and in the updates.
pub(super) fn scattered(line: &Line, args: &[Tensor]) -> Vec<(usize, usize)> {
    let [x, starts, updates] = args else { panic!("three operands") };
    let windows = line.indices("update_window_dims");
    let inserted = line.indices("inserted_window_dims");
    let (batch, batch_starts) = (line.indices("input_batching_dims"), line.indices("scatter_indices_batching_dims"));
    let map = line.indices("scatter_dims_to_operand_dims");
    let vector = line.number("index_vector_dim");
    let rank = x.shape().len();
    let kept: Vec<usize> = (0..rank).filter(|d| !inserted.contains(d) && !batch.contains(d)).collect();
    let own: Vec<usize> = (0..updates.shape().len()).filter(|k| !windows.contains(k)).collect();
    let mut places = starts.shape().to_vec();
    if vector < places.len() {
        assert_eq!(places.remove(vector), map.len());
    }
    assert_eq!(own.iter().map(|k| updates.shape()[*k]).collect::<Vec<usize>>(), places);
    assert!(windows.iter().zip(&kept).all(|(k, d)| updates.shape()[*k] <= x.shape()[*d]));
    let mut out = Vec::with_capacity(size(updates.shape()));
    for (from, index) in indices(updates.shape()).enumerate() {
        let place: Vec<usize> = own.iter().map(|k| index[*k]).collect();
        let mut at = start(starts, &place, vector, (&map, &batch, &batch_starts), rank);
        windows.iter().zip(&kept).for_each(|(k, d)| at[*d] += index[*k] as i64);
        if at.iter().zip(x.shape()).all(|(i, n)| (0..*n as i64).contains(i)) {
            out.push((flat(x.shape(), &at.iter().map(|i| *i as usize).collect::<Vec<usize>>()), from));
        }
    }
    out
}
