//! Random shapes, views and arrays.

use polygrad::ops::View;
use polygrad::shape::size;
use polygrad::{Array, DType};

/// Reproducible numbers: splitmix64.
pub(crate) struct Draw(pub(crate) u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// One of `lo, .., hi`, both included.
    pub(crate) fn range(&mut self, lo: i64, hi: i64) -> i64 {
        lo + (self.next() % (hi - lo + 1) as u64) as i64
    }

    pub(crate) fn one_in(&mut self, n: u64) -> bool {
        self.next().is_multiple_of(n)
    }

    pub(crate) fn shape(&mut self, rank: i64) -> Vec<usize> {
        let rank = self.range(0, rank);
        let largest = if rank <= 2 && self.one_in(3) { 40 } else { 4 };
        (0..rank).map(|_| if self.one_in(30) { 0 } else { self.range(1, largest) as usize }).collect()
    }

    /// A view of some array by this iteration space: identities, broadcasts, steps and reversals, slants,
    /// boxes, and parts out of range.
    pub(crate) fn view(&mut self, shape: &[usize]) -> View {
        let rank = self.range(0, 3) as usize;
        let mut source = Vec::new();
        let (mut matrix, mut offset) = (Vec::new(), Vec::new());
        for _ in 0..rank {
            let mut row = vec![0; shape.len()];
            if !shape.is_empty() {
                let moving = if self.one_in(3) { 2 } else { 1 };
                for _ in 0..moving {
                    let axis = self.range(0, shape.len() as i64 - 1) as usize;
                    row[axis] = [1, 1, 1, -1, 2, -2, 3][self.range(0, 6) as usize];
                }
            }
            let least: i64 = row.iter().zip(shape).map(|(m, n)| (m * (*n as i64 - 1)).min(0)).sum();
            let most: i64 = row.iter().zip(shape).map(|(m, n)| (m * (*n as i64 - 1)).max(0)).sum();
            let slack = if self.one_in(2) { self.range(-2, 2) } else { 0 };
            source.push((most - least + 1 + slack).max(0) as usize);
            offset.push(if self.one_in(2) { -least } else { -least + self.range(-2, 2) });
            matrix.extend(row);
        }
        let mut view = View::affine(&source, shape, &matrix, &offset);
        if self.one_in(4) && !shape.is_empty() {
            let axis = self.range(0, shape.len() as i64 - 1) as usize;
            let lo = self.range(0, shape[axis] as i64) as usize;
            let hi = self.range(lo as i64, shape[axis] as i64) as usize;
            view = view.clipped(axis, lo, hi);
        }
        view
    }

    /// Small integers in any element type, so that sums are exact: stored element by element, or once.
    pub(crate) fn array(&mut self, dtype: DType, shape: &[usize]) -> Array {
        if self.one_in(4) {
            return Array::full_as(shape, dtype, self.range(-2, 2) as f64);
        }
        let numbers: Vec<i64> = (0..size(shape)).map(|_| self.range(-3, 3)).collect();
        array_of(dtype, shape, &numbers)
    }

    pub(crate) fn dtype(&mut self) -> DType {
        DType::ALL[self.range(0, 3) as usize]
    }

    pub(crate) fn number_type(&mut self) -> DType {
        DType::ALL[self.range(0, 2) as usize]
    }
}

pub(crate) fn array_of(dtype: DType, shape: &[usize], numbers: &[i64]) -> Array {
    match dtype {
        DType::F64 => Array::new(shape, numbers.iter().map(|x| *x as f64).collect()),
        DType::F32 => Array::new(shape, numbers.iter().map(|x| *x as f32).collect()),
        DType::I64 => Array::new(shape, numbers.to_vec()),
        DType::Bool => Array::new(shape, numbers.iter().map(|x| *x != 0).collect()),
    }
}
