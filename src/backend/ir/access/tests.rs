//! Tests that strided accesses give the places of their views, over any range.

use super::*;
use crate::kernels::elementwise::StackShape;

fn views() -> Vec<View> {
    vec![
        View::identity(&[3, 4]),
        View::identity(&[]),
        View::axes(&[3, 4], &[1, 0]),
        View::axes(&[3, 4], &[1]),
        View::axes(&[3, 4], &[]),
        View::affine(&[5], &[9], &[-1], &[6]),
        View::affine(&[4, 5], &[6, 3], &[1, 0, 0, 2], &[-1, 0]),
        View::affine(&[4, 5], &[2, 3], &[1, 0, 0, 0], &[9, 0]),
        View::affine(&[8], &[3, 2, 2], &[2, 1, 1], &[0]),
        View::identity(&[2, 3, 4]).clipped(1, 1, 3).clipped(2, 0, 2),
        View::identity(&[2, 3, 4]).clipped(0, 1, 2),
        View::axes(&[9, 3], &[0]),
        View::axes(&[2, 9, 3], &[2, 1]).clipped(1, 2, 8),
        View::axes(&[2, 12, 2, 3], &[3, 1, 0]).clipped(2, 1, 2).clipped(0, 0, 1),
        View::affine(&[9, 5], &[9, 3], &[1, 0, 0, 1], &[0, -1]),
        View::affine(&[5, 6], &[5], &[1, 1], &[0, 0]),
        View::affine(&[5, 6], &[5], &[1, 1], &[0, -1]).clipped(0, 1, 5),
        View::affine(&[5, 7], &[9, 5], &[0, 1, 0, 0], &[0, 3]),
        View::affine(&[3, 4, 5], &[4, 6, 9], &[1, 0, 0, 0, 1, 0, 0, 0, 1], &[0, -1, -2])
            .clipped(0, 0, 3)
            .clipped(1, 1, 5)
            .clipped(2, 2, 7),
        View::affine(&[3, 4, 5], &[5, 7, 6], &[0, 1, 0, 1, 0, 0, 0, 0, -1], &[-2, 0, 5])
            .clipped(0, 0, 4)
            .clipped(1, 2, 5)
            .clipped(2, 1, 6),
        View::axes(&[3, 9], &[1]),
        View::axes(&[3, 9], &[0]),
        View::affine(&[4, 10], &[2, 2, 9], &[2, 1, 0, 0, 0, 1], &[0, 1]),
        View::axes(&[5, 3, 4], &[0, 2]),
        View::axes(&[4, 3, 2], &[1, 0]),
        View::axes(&[2, 4, 3, 2], &[0, 2, 1]),
    ]
}

#[test]
fn an_access_over_any_range_gives_the_places_of_the_view() {
    let (mut grids, mut boxes, mut stacks, mut straights) = (0, 0, 0, 0);
    for view in &views() {
        let (access, expected) = (StridedAccess::new(view).expect("a box"), view.places());
        assert_eq!(access.is_total(), expected.iter().all(Option::is_some), "{view}");
        for start in 0..expected.len() {
            for len in 0..=expected.len() - start {
                let mut seen = vec![None; len];
                let mut visits = vec![0; len];
                access.runs(start, len, |run| {
                    for i in 0..run.len {
                        let at = run.at + i * run.step;
                        visits[at] += 1;
                        seen[at] = run.place.map(|p| (p as i64 + run.stride * i as i64) as usize);
                    }
                });
                assert!(visits.iter().all(|n| *n == 1), "{view} {start} {len}");
                assert_eq!(seen, expected[start..start + len], "{view} {start} {len}");
                let mut by_grids = Vec::new();
                let are_grids = access.grids(READ, start, len, |grid| {
                    assert_eq!(grid.at, by_grids.len(), "{view} {start} {len}");
                    for i in 0..grid.rows {
                        let row = grid.place + i * grid.row_stride;
                        by_grids.extend((0..grid.len).map(|j| Some(row + j * grid.stride)));
                    }
                });
                assert!(!are_grids || by_grids == seen, "{view} {start} {len}");
                let mut by_stacks = Vec::new();
                let are_stacks = access.stacks(start, len, |stack| {
                    assert_eq!(stack.at, by_stacks.len(), "{view} {start} {len}");
                    let StackShape { rows, len, strides: [grid, row, step] } = stack.shape;
                    let within = stack.place..stack.place + stack.reach();
                    for i in 0..stack.size() {
                        let (g, r) = (i / len / rows, i / len % rows);
                        let place = stack.place + grid * g + row * r + step * (i % len);
                        assert!(within.contains(&place), "{view} {start} {len}");
                        by_stacks.push(Some(place));
                    }
                });
                assert!(!are_stacks || by_stacks == seen, "{view} {start} {len}");
                stacks += usize::from(are_stacks);
                let mut by_boxes = vec![None; len];
                let are_boxes = access.boxes(start, len, |filled| {
                    let (lowest, reach) = filled.reach();
                    for i in 0..filled.rows {
                        for j in 0..filled.len {
                            let moved = filled.row_stride * i as i64 + filled.stride * j as i64;
                            let place = (filled.place as i64 + moved) as usize;
                            assert!((lowest..lowest + reach).contains(&place), "{view} {start} {len}");
                            by_boxes[filled.at + i * filled.pitch + j] = Some(place);
                        }
                    }
                });
                assert!(!are_boxes || by_boxes == seen, "{view} {start} {len}");
                boxes += usize::from(are_boxes);
                let same = |at: &dyn Fn(usize) -> usize| (0..len).all(|i| seen[i] == Some(at(i)));
                let (right, straight) = match access.footprint(start, len) {
                    Footprint::Contiguous(place) => (same(&|i| place + i), true),
                    Footprint::Single(place) => (same(&|_| place), true),
                    Footprint::Strided => (true, false),
                };
                assert!(right, "{view} {start} {len}");
                straights += usize::from(straight);
                let in_row = |row: usize| start / row == (start + len).saturating_sub(1) / row;
                assert!(straight || len == 0 || !access.row().is_some_and(in_row) || !access.is_total(), "{view}");
                grids += usize::from(are_grids);
            }
        }
    }
    assert!(grids > 0 && boxes > 0 && stacks > 0 && straights > 0);
}

#[test]
fn a_walk_stays_in_rows_if_its_places_do() {
    let (mut yes, mut no) = (0, 0);
    for view in &views() {
        let (access, places, source) =
            (StridedAccess::new(view).expect("a box"), view.places(), shape::size(view.source()));
        for rows in (2..=places.len()).filter(|n| places.len().is_multiple_of(*n) && source.is_multiple_of(*n)) {
            let (of, into) = (places.len() / rows, source / rows);
            let inside = places.iter().enumerate().all(|(i, at)| at.is_none_or(|at| at / into == i / of));
            assert!(inside || !access.stays_in_rows(rows, into), "{view} {rows}");
            // For a clipped axis that counts both rows and columns, the estimated range may be too large.
            assert!(!inside || access.stays_in_rows(rows, into) || !access.is_total(), "{view} {rows}");
            (yes, no) = if access.stays_in_rows(rows, into) { (yes + 1, no) } else { (yes, no + 1) };
        }
    }
    assert!(yes > 10 && no > 10, "{yes} {no}");
}

#[test]
fn a_condition_on_two_axes_is_no_walk() {
    assert_eq!(StridedAccess::new(&View::affine(&[3], &[3, 2], &[1, 1], &[-1])), None);
}
