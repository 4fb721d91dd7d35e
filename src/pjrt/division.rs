//! The blocks of arrays on the devices of a mesh.
//!
//! A mesh is a grid of devices, numbered in row-major order. An array is divided along some of its axes, each along
//! axes of the mesh, the outermost first; a device has the block at its coordinates, and devices that differ in other
//! coordinates alone have the same block.
//!
//! Law: [`Division::cut`] for all devices and [`Division::join`] are inverse to each other.

use std::fmt;

use crate::array::{Array, Values};
use crate::dtype::Elem;
use crate::shape;

/// The division of an array among devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Division {
    /// The number of parts along each axis.
    parts: Vec<usize>,
    /// For each device, the position of its block along each axis.
    blocks: Vec<Vec<usize>>,
}

impl Division {
    /// A whole array of this rank on each of the devices.
    pub(super) fn whole(rank: usize, devices: usize) -> Division {
        Division { parts: vec![1; rank], blocks: vec![vec![0; rank]; devices] }
    }

    /// A division by the axes of a mesh of these sizes: for each axis of the array, the axes of the mesh.
    pub(super) fn of(axes: &[Vec<usize>], mesh: &[usize]) -> Division {
        let parts = axes.iter().map(|along| along.iter().map(|k| mesh[*k]).product()).collect();
        let block = |device: usize| {
            let at = unravel(device, mesh);
            axes.iter().map(|along| along.iter().fold(0, |position, k| position * mesh[*k] + at[*k])).collect()
        };
        Division { parts, blocks: (0..shape::size(mesh)).map(block).collect() }
    }

    pub(super) fn devices(&self) -> usize {
        self.blocks.len()
    }

    /// Whether each device has all elements.
    pub(super) fn is_whole(&self) -> bool {
        self.parts.iter().all(|parts| *parts == 1)
    }

    /// The shape of an array with blocks of this shape.
    pub(super) fn joined(&self, block: &[usize]) -> Vec<usize> {
        block.iter().zip(&self.parts).map(|(n, parts)| n * parts).collect()
    }

    /// Whether blocks of equal size are possible.
    pub(super) fn fits(&self, whole: &[usize]) -> bool {
        self.parts.len() == whole.len() && self.parts.iter().zip(whole).all(|(parts, n)| n % parts == 0)
    }

    /// The shape of a block of an array.
    pub(super) fn block(&self, whole: &[usize]) -> Vec<usize> {
        whole.iter().zip(&self.parts).map(|(n, parts)| n / parts).collect()
    }

    /// The elements of an array in the block of a device.
    pub(super) fn cut<E: Elem>(&self, array: &Array, device: usize) -> Vec<E> {
        let mut block = Vec::with_capacity(shape::size(&self.block(array.shape())));
        match array.typed::<E>() {
            Values::Splat(x) => block.resize(block.capacity(), x),
            Values::Dense(elements) => {
                self.rows(array.shape(), device, |from, length| {
                    block.extend_from_slice(&elements[from..from + length])
                });
            }
        }
        block
    }

    /// The devices whose blocks together are the array, each block once.
    pub(super) fn owners(&self) -> Vec<usize> {
        let first = |device: &usize| self.blocks[..*device].iter().all(|block| *block != self.blocks[*device]);
        (0..self.devices()).filter(first).collect()
    }

    /// The elements of an array of this shape, from the blocks of devices.
    pub(super) fn join<E: Copy>(&self, whole: &[usize], none: E, blocks: &[(usize, Vec<E>)]) -> Vec<E> {
        let mut elements = vec![none; shape::size(whole)];
        for (device, block) in blocks {
            let mut rest = &block[..];
            self.rows(whole, *device, |from, length| {
                let (row, after) = rest.split_at(length);
                elements[from..from + length].copy_from_slice(row);
                rest = after;
            });
        }
        elements
    }

    /// Calls a function with the start and the length of each consecutive part of a device's block, in order.
    fn rows(&self, whole: &[usize], device: usize, mut row: impl FnMut(usize, usize)) {
        let (block, at) = (self.block(whole), &self.blocks[device]);
        let outer = block.len().saturating_sub(1);
        let length = block.last().copied().unwrap_or(1);
        for k in 0..shape::size(&block[..outer]) {
            let inside = unravel(k, &block[..outer]);
            let last = at.last().map_or(0, |position| position * length);
            let place = |axis: usize| at[axis] * block[axis] + inside[axis];
            let start = (0..outer).fold(0, |start, axis| start * whole[axis] + place(axis));
            row(start * whole.last().copied().unwrap_or(1) + last, length);
        }
    }
}

impl fmt::Display for Division {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let devices = if self.devices() == 1 { "device" } else { "devices" };
        if self.is_whole() {
            write!(f, "whole on {} {devices}", self.devices())
        } else {
            write!(f, "{:?} parts on {} {devices}", self.parts, self.devices())
        }
    }
}

/// The coordinates of a number in a grid, in row-major order.
fn unravel(number: usize, sizes: &[usize]) -> Vec<usize> {
    let mut at = vec![0; sizes.len()];
    sizes.iter().enumerate().rev().fold(number, |rest, (axis, size)| {
        at[axis] = rest % size;
        rest / size
    });
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All ways to divide arrays of up to three axes along axes of a mesh.
    fn divisions(rank: usize, mesh: &[usize]) -> Vec<Division> {
        let mut all: Vec<Vec<Vec<usize>>> = vec![vec![Vec::new(); rank]];
        for k in 0..mesh.len() {
            let more = all.iter().flat_map(|axes| {
                (0..rank).map(move |axis| {
                    let mut axes = axes.clone();
                    axes[axis].push(k);
                    axes
                })
            });
            let more: Vec<_> = more.collect();
            all.extend(more);
        }
        all.iter().map(|axes| Division::of(axes, mesh)).collect()
    }

    #[test]
    fn blocks_of_all_devices_are_the_array() {
        for (whole, mesh) in
            [(vec![12, 24, 6], vec![2, 3]), (vec![6], vec![6]), (vec![], vec![2, 2]), (vec![0, 4], vec![2])]
        {
            let array = Array::new(&whole, (0..shape::size(&whole)).map(|k| k as f64).collect());
            for division in divisions(whole.len(), &mesh) {
                assert!(division.fits(&whole), "{division}");
                let cut = |device: usize| (device, division.cut::<f64>(&array, device));
                let blocks: Vec<_> = division.owners().into_iter().map(cut).collect();
                let sizes: usize = blocks.iter().map(|(_, block)| block.len()).sum();
                assert_eq!(sizes, array.size(), "each block once");
                assert_eq!(Array::new(&whole, division.join(&whole, f64::NAN, &blocks)), array);
                assert_eq!(
                    division.cut::<f64>(&Array::full(&whole, 2.0), 0),
                    vec![2.0; shape::size(&division.block(&whole))]
                );
            }
        }
    }

    #[test]
    fn devices_have_the_block_at_their_coordinates() {
        let array = Array::new(&[4], vec![0, 1, 2, 3]);
        let cut = |division: &Division| (0..4).map(|d| division.cut::<i64>(&array, d)).collect::<Vec<_>>();
        assert_eq!(cut(&Division::of(&[vec![0]], &[2, 2])), [[0, 1], [0, 1], [2, 3], [2, 3]]);
        assert_eq!(cut(&Division::of(&[vec![1]], &[2, 2])), [[0, 1], [2, 3], [0, 1], [2, 3]]);
        assert_eq!(cut(&Division::of(&[vec![0, 1]], &[2, 2])), [[0], [1], [2], [3]]);
        assert_eq!(cut(&Division::of(&[vec![1, 0]], &[2, 2])), [[0], [2], [1], [3]]);
        assert_eq!(cut(&Division::whole(1, 4)), [[0, 1, 2, 3]; 4]);
        assert_eq!(Division::of(&[vec![0]], &[2, 2]).to_string(), "[2] parts on 4 devices");
        assert!(!Division::of(&[vec![0]], &[3]).fits(&[4]));
    }
}
