//! Scatter-adds on several threads: the destination is cut into segments, each written by one thread.
//!
//! Each thread looks at all indices in their order, and adds the subarrays whose index lies in its segment. The segments
//! are such that about as many subarrays are added to each, by a sample of the indices, so they depend on data. The
//! caller begins with all of the destination, and cuts it when other threads have come: if none comes, no index is
//! looked at twice.
//!
//! A processor that guesses wrongly whether the next index lies in a segment loses more time than it takes to add a few
//! elements in the cache. So a destination is cut only if neighbouring indices mostly lie in one segment, as sorted ones
//! do, or if the addition of a subarray takes longer: since it is long, or not in the caches. A small destination of many
//! additions is copied for each part of the additions instead (`src/backend/plan/partition.rs`).
//!
//! Law: each element gets its additions in the order of the indices, so the result has the same bits for any segments,
//! whenever the destination is cut.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{hint, iter, thread};

use smallvec::SmallVec;

use super::{Additions, Segment};
use crate::cost::MACHINE;
use crate::dtype::{DType, Num};
use crate::kernels::isa::Isa;
use crate::kernels::threads;

/// A rough estimate of the time on one thread of `count` additions to a destination of `size` elements.
pub(crate) fn nanoseconds(count: usize, block: usize, size: usize, dtype: DType) -> f64 {
    let bytes = block * dtype.width();
    let far = if size * dtype.width() >= MACHINE.scattered_far { bytes.div_ceil(MACHINE.line) } else { 0 };
    let each = MACHINE.scattered + MACHINE.scattered_byte * bytes as f64 + MACHINE.scattered_line * far as f64;
    each * count as f64
}

/// [`super::scatter_add`] to a whole destination, on several threads where that pays.
pub(crate) fn scatter_add<E: Num>(isa: Isa, sum: &mut [E], added: Additions<'_, E>) {
    let count = added.range.len();
    let work = nanoseconds(count, added.block, sum.len(), E::DTYPE);
    let threads = threads::number(work);
    if threads < 2 || cuts(threads, sum.len(), &added).is_empty() {
        return super::scatter_add(isa, Segment::whole(sum), added);
    }
    let turn = (MACHINE.scattered_turn * count as f64 / work) as usize;
    on_threads(isa, threads, sum, &added, turn.max(1));
}

/// The segments that no thread has taken yet, and the number of the first subarray that is added to them.
type Left<'a, E> = (SmallVec<[Segment<'a, E>; 16]>, usize);

/// [`super::scatter_add`] on at most `threads` threads. One of them adds `turn` subarrays at a time, until others have
/// come.
fn on_threads<E: Num>(isa: Isa, threads: usize, sum: &mut [E], added: &Additions<'_, E>, turn: usize) {
    let arrived = AtomicUsize::new(0);
    let left: Mutex<Option<Left<'_, E>>> = Mutex::new(None);
    let publish = |segments| *left.lock().expect("nothing panics while segments are published") = Some(segments);
    let lead = |sum: &mut [E]| -> usize {
        let (mut next, mut waited) = (added.range.start, false);
        while next < added.range.end {
            let came = arrived.load(Ordering::Relaxed);
            // Threads that come together are a few microseconds apart.
            if came + 1 == threads || (came > 0 && waited) {
                break;
            }
            waited = came > 0;
            let range = next..added.range.end.min(next.saturating_add(turn));
            next = range.end;
            super::scatter_add(isa, Segment::whole(sum), Additions { range, ..added.clone() });
        }
        next
    };
    let follow = || {
        let mut looks = 0;
        loop {
            if let Some((segments, next)) = &mut *left.lock().expect("nothing panics while a segment is taken") {
                return segments.pop().map(|segment| (segment, *next));
            }
            looks += 1;
            if looks < LOOKS { hint::spin_loop() } else { thread::yield_now() }
        }
    };
    let add = |to: Segment<'_, E>, next: usize| {
        super::scatter_add(isa, to, Additions { range: next..added.range.end, ..added.clone() });
    };
    let jobs = iter::once(Some(sum)).chain(iter::repeat_with(|| None).take(threads - 1));
    threads::share(threads, jobs, |job| match job {
        Some(sum) => {
            let next = lead(sum);
            let rest = Additions { range: next..added.range.end, ..added.clone() };
            let cuts = cuts(arrived.load(Ordering::Relaxed) + 1, sum.len(), &rest);
            let mut segments = cut(sum, &cuts, added.block);
            let own = segments.pop();
            publish((segments, next));
            own.into_iter().for_each(|own| add(own, next));
        }
        None => {
            arrived.fetch_add(1, Ordering::Relaxed);
            follow().into_iter().for_each(|(segment, next)| add(segment, next));
        }
    });
}

/// The number of times that a thread checks for a segment before it yields.
const LOOKS: usize = 2000;

/// The segments of a destination, by the numbers of the first subarrays of all but the first segment.
type Cuts = SmallVec<[usize; 16]>;

fn cut<'a, E>(sum: &'a mut [E], cuts: &[usize], block: usize) -> SmallVec<[Segment<'a, E>; 16]> {
    let mut rest = Segment::whole(sum);
    let mut segments = SmallVec::new();
    for cut in cuts {
        let (here, after) = rest.sum.split_at_mut((cut - rest.first) * block);
        segments.push(Segment { first: rest.first, sum: here });
        rest = Segment { first: *cut, sum: after };
    }
    segments.push(rest);
    segments
}

/// The greatest number of indices that are looked at to choose the segments, and the number for each thread.
const SAMPLE: usize = 512;
const SAMPLE_OF_THREAD: usize = 64;

/// The share of the indices whose neighbour may lie in another segment: one in `RUN`.
const RUN: usize = 16;

/// At most `threads` segments to which about as many subarrays are added; no cuts, if segments are estimated not to pay.
fn cuts<E: Num>(threads: usize, size: usize, added: &Additions<'_, E>) -> Cuts {
    let Additions { blocks, block, ref range, .. } = *added;
    if block == 0 || range.len() < 2 || threads < 2 {
        return Cuts::new();
    }
    let wanted = SAMPLE.min(SAMPLE_OF_THREAD * threads);
    let pair = |k: usize| {
        let i = range.start + (range.len() - 1) * k / wanted;
        [blocks.at(i), blocks.at(i + 1)]
    };
    let pairs: SmallVec<[[Option<usize>; 2]; 128]> = (0..wanted).map(pair).collect();
    let mut sample: SmallVec<[usize; 128]> = pairs.iter().filter_map(|[at, _]| *at).collect();
    sample.sort_unstable();
    if sample.is_empty() {
        return Cuts::new();
    }
    let quantiles = (1..threads).map(|k| sample[sample.len() * k / threads]);
    let mut cuts: Cuts = quantiles.filter(|cut| *cut > 0).collect();
    cuts.dedup();
    let segment = |at: Option<usize>| at.map(|at| cuts.partition_point(|cut| *cut <= at));
    let changes = pairs.iter().filter(|[at, next]| segment(*at) != segment(*next)).count();
    let runs = changes * RUN <= pairs.len();
    let long = block * size_of::<E>() >= MACHINE.scattered_page;
    let far = size * size_of::<E>() >= MACHINE.scattered_far && is_even(&cuts, size / block);
    if runs || long || far { cuts } else { Cuts::new() }
}

/// Whether no segment has less than half of its share of the subarrays. Indices that come often stay in the caches.
fn is_even(cuts: &[usize], subarrays: usize) -> bool {
    let ends = cuts.iter().copied().chain([subarrays]);
    let starts = iter::once(0).chain(cuts.iter().copied());
    starts.zip(ends).all(|(start, end)| (end - start) * 2 * (cuts.len() + 1) >= subarrays)
}

#[cfg(test)]
mod tests {
    use crate::kernels::indexing::segments::*;
    use crate::kernels::indexing::{self, Blocks};
    use crate::kernels::threads::with_threads;

    /// Pseudorandom indices from `-size` to `2 size`, so that two thirds are out of bounds.
    fn random(count: usize, size: usize) -> Vec<i64> {
        let mut state = 1_u64;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 40) as i64
        };
        (0..count).map(|_| next() % (3 * size as i64) - size as i64).collect()
    }

    fn bits(sum: &[f64]) -> Vec<u64> {
        sum.iter().map(|x| x.to_bits()).collect()
    }

    /// Calls `check` with additions of each kind to a destination of this size, and the bits of the sums on one thread.
    fn each_kind(check: impl Fn(&Additions<'_, f64>, &[f64], &[u64], &str)) {
        let (rows, columns, count) = (37, 6, 3000);
        let (ix, mut jx, one) = (random(count, rows), random(count, columns), [3]);
        let mut sorted = ix.clone();
        sorted.sort_unstable();
        jx[5] = i64::MAX;
        jx[6] = i64::MIN;
        for block in [1, 2, 3, 4, 5, 8, 9, 40] {
            let lists = [
                ("random", vec![rows], vec![&ix[..]]),
                ("sorted", vec![rows], vec![&sorted[..]]),
                ("one index", vec![rows], vec![&one[..]]),
                ("two axes", vec![rows, columns], vec![&ix[..], &jx]),
                ("one of an axis", vec![columns, rows], vec![&one[..], &sorted]),
            ];
            for (name, indexed, ix) in &lists {
                let numbers: Vec<f64> = (0..count * block).map(|k| (k as f64 * 0.7).sin()).collect();
                for elements in [&numbers[..], &numbers[1..2]] {
                    let blocks = Blocks { indexed, ix };
                    let added = Additions { blocks, range: 0..count, block, elements };
                    let before = &numbers[..indexed.iter().product::<usize>() * block];
                    let mut sum = before.to_vec();
                    indexing::scatter_add(Isa::detect(), Segment::whole(&mut sum), added.clone());
                    check(&added, before, &bits(&sum), &format!("{name}, {} elements, {block}", elements.len()));
                }
            }
        }
    }

    #[test]
    fn segments_have_the_bits_of_the_whole() {
        each_kind(|added, before, expected, name| {
            let subarrays = before.len() / added.block;
            for ends in [&[1][..], &[20], &[7, 8, 36], &[36]] {
                for start in [0, 1, 300, 2999, 3000] {
                    let mut sum = before.to_vec();
                    let part = |range| Additions { range, ..added.clone() };
                    indexing::scatter_add(Isa::detect(), Segment::whole(&mut sum), part(0..start));
                    assert!(ends.iter().all(|end| *end < subarrays));
                    for segment in cut(&mut sum, ends, added.block) {
                        indexing::scatter_add(Isa::detect(), segment, part(start..3000));
                    }
                    assert!(bits(&sum) == *expected, "{name}: {ends:?}, cut at {start}");
                }
            }
        });
    }

    #[test]
    fn sums_have_the_same_bits_on_any_number_of_threads() {
        with_threads(3, || {
            each_kind(|added, before, expected, name| {
                for turn in [1, 100, 3000] {
                    let mut sum = before.to_vec();
                    on_threads(Isa::detect(), 3, &mut sum, added, turn);
                    assert!(bits(&sum) == *expected, "{name}: {turn} at a time");
                }
            });
        });
    }

    #[test]
    fn sorted_indices_long_blocks_and_far_destinations_are_cut() {
        let cuts = |ix: &[i64], rows: usize, block: usize| {
            let blocks = Blocks { indexed: &[rows], ix: &[ix] };
            let added = Additions { blocks, range: 0..ix.len(), block, elements: &[1.0] };
            cuts(2, rows * block, &added)
        };
        let scattered = random(5000, 1000);
        let mut sorted = scattered.clone();
        sorted.sort_unstable();
        assert!(cuts(&scattered, 1000, 1).is_empty());
        let found = cuts(&sorted, 1000, 1);
        assert!(found.len() == 1 && (400..600).contains(&found[0]), "{found:?}");
        assert_eq!(cuts(&scattered, 1000, 512).len(), 1, "a subarray is a page");
        let far: Vec<i64> = random(5000, 3_000_000);
        assert_eq!(cuts(&far, 3_000_000, 1).len(), 1);
        let often: Vec<i64> = far.iter().map(|i| if i % 8 == 0 { *i } else { i % 100 }).collect();
        assert!(cuts(&often, 3_000_000, 1).is_empty(), "most elements stay in the caches");
        assert!(cuts(&[7; 5000], 1000, 1).len() < 2 && cuts(&[-1; 5000], 1000, 1).is_empty());
        assert!(cuts(&[0; 5000], 1000, 1).is_empty() && cuts(&[3], 1000, 512).is_empty());
    }
}
