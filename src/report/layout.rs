//! Layered layout: boxes in rows, operands above their uses, in the manner of Sugiyama, Tagawa and Toda (1981).
//!
//! A box is one layer below the lowest of its operands. Edges that pass layers get points in them. Layers are put in order
//! by the barycentres of neighbours, and the order with the fewest crossings is kept; then each layer is placed at the
//! means of its neighbours, as close as boxes may lie (by the method of adjacent violators).
//!
//! Laws: boxes do not overlap; each edge goes down, from the lower side of one box to the upper side of another; the
//! layout depends on sizes and edges alone, and takes time in proportion to the boxes and edges, by a constant number of
//! passes, except for sorting and for edges that pass layers.

/// Width and height.
pub(super) type Extent = (f64, f64);

/// The place of boxes and edges.
#[derive(Debug, Default)]
pub(super) struct PlacedGraph {
    /// The upper left corner of each box.
    pub(super) corners: Vec<Extent>,
    /// The points of each edge, from the lower side of a box to the upper side of another.
    pub(super) paths: Vec<Vec<Extent>>,
    pub(super) size: Extent,
}

/// The distance between layers, and of boxes within a layer; the distance of a point of an edge to its neighbours.
const BETWEEN_LAYERS: f64 = 34.0;
const BETWEEN_BOXES: f64 = 16.0;
const BETWEEN_EDGES: f64 = 10.0;

/// An edge that would pass more layers than this has no points in them.
const LONG: usize = 60;

/// The passes over all layers that order them, and those that place them.
const ORDERINGS: usize = 12;
const PLACINGS: usize = 10;

/// A box, or a point of an edge in a layer.
#[derive(Clone, Copy, Debug)]
struct LayerItem {
    width: f64,
    height: f64,
    layer: usize,
    /// The middle.
    x: f64,
    /// Whether it is a point of an edge.
    point: bool,
}

struct Layers {
    items: Vec<LayerItem>,
    /// The items of each layer, in order.
    rows: Vec<Vec<usize>>,
    above: Vec<Vec<usize>>,
    below: Vec<Vec<usize>>,
}

/// The layout of boxes of these sizes, with edges from boxes to later ones.
pub(super) fn layered(sizes: &[Extent], edges: &[(usize, usize)]) -> PlacedGraph {
    let layer = layers_of(sizes.len(), edges);
    let count = layer.iter().max().map_or(0, |last| last + 1);
    let mut layers = Layers { items: Vec::new(), rows: vec![Vec::new(); count], above: Vec::new(), below: Vec::new() };
    for ((width, height), layer) in sizes.iter().zip(&layer) {
        layers.item(LayerItem { width: *width, height: *height, layer: *layer, x: 0.0, point: false });
    }
    let chains: Vec<Vec<usize>> = edges.iter().map(|edge| layers.chain(*edge)).collect();
    layers.order();
    layers.place();
    layers.drawn(sizes.len(), &chains)
}

/// The layer of each box: below its operands; of a box without operands, above its highest use.
fn layers_of(count: usize, edges: &[(usize, usize)]) -> Vec<usize> {
    let mut below = vec![Vec::new(); count];
    let mut has_operands = vec![false; count];
    for (from, to) in edges {
        debug_assert!(from < to, "operands come first");
        below[*from].push(*to);
        has_operands[*to] = true;
    }
    let mut layer = vec![0; count];
    for from in 0..count {
        for to in &below[from] {
            layer[*to] = layer[*to].max(layer[from] + 1);
        }
    }
    for k in (0..count).filter(|k| !has_operands[*k]) {
        if let Some(highest) = below[k].iter().map(|to| layer[*to]).min() {
            layer[k] = highest - 1;
        }
    }
    layer
}

impl Layers {
    fn item(&mut self, item: LayerItem) -> usize {
        let k = self.items.len();
        self.rows[item.layer].push(k);
        self.items.push(item);
        self.above.push(Vec::new());
        self.below.push(Vec::new());
        k
    }

    /// The items of an edge: its ends, and points in the layers between, unless these are many.
    fn chain(&mut self, (from, to): (usize, usize)) -> Vec<usize> {
        let (first, last) = (self.items[from].layer, self.items[to].layer);
        let mut chain = vec![from];
        if last - first <= LONG {
            chain.extend(
                (first + 1..last)
                    .map(|layer| self.item(LayerItem { width: 2.0, height: 0.0, layer, x: 0.0, point: true })),
            );
        }
        chain.push(to);
        for pair in chain.windows(2).filter(|_| last - first <= LONG) {
            self.below[pair[0]].push(pair[1]);
            self.above[pair[1]].push(pair[0]);
        }
        chain
    }

    /// Puts the items of each layer in the order with the fewest crossings that is found.
    fn order(&mut self) {
        let mut best = (self.crossings(), self.rows.clone());
        for pass in 0..ORDERINGS {
            let down = pass % 2 == 0;
            let mut position = vec![0.0; self.items.len()];
            for row in &self.rows {
                row.iter().enumerate().for_each(|(at, k)| position[*k] = at as f64);
            }
            let count = self.rows.len();
            for step in 0..count {
                let layer = if down { step } else { count - 1 - step };
                let neighbours = if down { &self.above } else { &self.below };
                let wish = |k: usize| mean(neighbours[k].iter().map(|n| position[*n])).unwrap_or(position[k]);
                let row: Vec<(f64, usize)> = self.rows[layer].iter().map(|k| (wish(*k), *k)).collect();
                let order = crate::order::sorted(row.len(), &|i, j| row[i].0.total_cmp(&row[j].0));
                self.rows[layer] = order.iter().map(|k| row[*k].1).collect();
                self.rows[layer].iter().enumerate().for_each(|(at, k)| position[*k] = at as f64);
            }
            let crossings = self.crossings();
            if crossings < best.0 {
                best = (crossings, self.rows.clone());
            }
        }
        self.rows = best.1;
    }

    /// The number of crossings between neighbouring layers.
    fn crossings(&self) -> u64 {
        let mut position = vec![0; self.items.len()];
        for row in &self.rows {
            row.iter().enumerate().for_each(|(at, k)| position[*k] = at);
        }
        let mut all = 0;
        for (upper, lower) in self.rows.iter().zip(self.rows.iter().skip(1)) {
            // Ends of edges in the order of their beginnings: inversions are crossings, counted in a tree of sums.
            let mut sums = vec![0u64; lower.len() + 1];
            let mut seen = 0;
            for k in upper {
                let mut ends: Vec<usize> = self.below[*k].iter().map(|n| position[*n]).collect();
                ends.sort_unstable();
                for end in &ends {
                    let (mut at, mut before) = (end + 1, 0);
                    while at > 0 {
                        before += sums[at];
                        at &= at - 1;
                    }
                    all += seen - before;
                }
                for end in ends {
                    seen += 1;
                    let mut at = end + 1;
                    while at <= lower.len() {
                        sums[at] += 1;
                        at += at & at.wrapping_neg();
                    }
                }
            }
        }
        all
    }

    /// Places the items of each layer close to their neighbours.
    fn place(&mut self) {
        for layer in 0..self.rows.len() {
            let wishes = vec![0.0; self.rows[layer].len()];
            self.settle(layer, &wishes);
        }
        for pass in 0..PLACINGS {
            let count = self.rows.len();
            for step in 0..count {
                let layer = if pass % 2 == 0 { step } else { count - 1 - step };
                let wish = |k: usize| {
                    let all = self.above[k].iter().chain(&self.below[k]);
                    let near = if pass % 2 == 0 { &self.above[k] } else { &self.below[k] };
                    // The last passes look at both sides.
                    let found = if pass + 2 < PLACINGS {
                        mean(near.iter().map(|n| self.items[*n].x))
                    } else {
                        mean(all.map(|n| self.items[*n].x))
                    };
                    found.unwrap_or(self.items[k].x)
                };
                let wishes: Vec<f64> = self.rows[layer].iter().map(|k| wish(*k)).collect();
                self.settle(layer, &wishes);
            }
        }
    }

    /// Places the items of a layer as close to these places as boxes may lie: with the least sum of squares.
    fn settle(&mut self, layer: usize, wishes: &[f64]) {
        let row = &self.rows[layer];
        let mut offsets = Vec::with_capacity(row.len());
        let mut at = 0.0;
        for (k, item) in row.iter().enumerate().map(|(k, item)| (k, &self.items[*item])) {
            if k > 0 {
                let before = &self.items[row[k - 1]];
                let gap = if before.point || item.point { BETWEEN_EDGES } else { BETWEEN_BOXES };
                at += (before.width + item.width) / 2.0 + gap;
            }
            offsets.push(at);
        }
        // Blocks of items that lie side by side: the sum of the positions they prefer, and their number.
        let mut blocks: Vec<(f64, usize)> = Vec::new();
        for (wish, offset) in wishes.iter().zip(&offsets) {
            let mut block = (wish - offset, 1);
            while let Some(before) = blocks.last().copied().filter(|b| b.0 / b.1 as f64 > block.0 / block.1 as f64) {
                blocks.pop();
                block = (block.0 + before.0, block.1 + before.1);
            }
            blocks.push(block);
        }
        let places = blocks.iter().flat_map(|(sum, count)| std::iter::repeat_n(sum / *count as f64, *count));
        for ((item, offset), place) in row.clone().into_iter().zip(offsets).zip(places.collect::<Vec<f64>>()) {
            self.items[item].x = place + offset;
        }
    }

    /// The places of the first items, which are boxes, and the points of the edges that are these chains.
    fn drawn(&self, boxes: usize, chains: &[Vec<usize>]) -> PlacedGraph {
        let left = self.items.iter().map(|item| item.x - item.width / 2.0).fold(f64::INFINITY, f64::min);
        let right = self.items.iter().map(|item| item.x + item.width / 2.0).fold(f64::NEG_INFINITY, f64::max);
        // The upper side and the height of each layer. Edges run upright through layers, so that they pass no box.
        let (mut bands, mut y) = (Vec::with_capacity(self.rows.len()), 0.0);
        for row in &self.rows {
            let height = row.iter().map(|k| self.items[*k].height).fold(0.0, f64::max);
            bands.push((y, height));
            y += height + BETWEEN_LAYERS;
        }
        let upper = |item: &LayerItem| bands[item.layer].0 + (bands[item.layer].1 - item.height) / 2.0;
        let corner = |item: &LayerItem| (item.x - item.width / 2.0 - left, upper(item));
        let path = |chain: &Vec<usize>| {
            let mut points = Vec::with_capacity(2 * chain.len());
            for (at, item) in chain.iter().map(|k| &self.items[*k]).enumerate() {
                let ((top, height), x) = (bands[item.layer], item.x - left);
                let bottom = (x, top + height);
                match (at, at + 1 == chain.len()) {
                    (0, _) => points.extend([(x, upper(item) + item.height), bottom]),
                    (_, true) => points.extend([(x, top), (x, upper(item))]),
                    (_, false) => points.extend([(x, top), bottom]),
                }
            }
            points.dedup();
            points
        };
        let corners = self.items[..boxes].iter().map(corner).collect();
        let size = if boxes == 0 { (0.0, 0.0) } else { (right - left, y - BETWEEN_LAYERS) };
        PlacedGraph { corners, paths: chains.iter().map(path).collect(), size }
    }
}

fn mean(numbers: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = numbers.fold((0.0, 0), |(sum, count), x| (sum + x, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::Rng;

    /// A graph of `count` boxes, each with a few operands among those before it.
    fn drawn(count: usize, seed: u64) -> (Vec<Extent>, Vec<(usize, usize)>) {
        let mut rng = Rng::new(seed);
        let mut below = |k: usize| (rng.uniform([1], 0.0, k as f64).to_vec()[0] as usize).min(k - 1);
        let (mut sizes, mut edges) = (Vec::new(), Vec::new());
        for k in 0..count {
            sizes.push((20.0 + below(100) as f64, 10.0 + below(40) as f64));
            for _ in 0..if k == 0 { 0 } else { below(4) } {
                edges.push((k - 1 - below(k.min(12)), k));
            }
        }
        (sizes, edges)
    }

    #[test]
    fn boxes_lie_apart_and_edges_go_down() {
        for seed in 0..20 {
            let (sizes, edges) = drawn(1 + 7 * seed as usize, seed);
            let layout = layered(&sizes, &edges);
            let corner = |k: usize| layout.corners[k];
            for (a, (w, h)) in sizes.iter().enumerate() {
                let (x, y) = corner(a);
                assert!(x > -1e-6 && y > -1e-6 && x + w < layout.size.0 + 1e-6 && y + h < layout.size.1 + 1e-6);
                for (b, (v, g)) in sizes[..a].iter().enumerate() {
                    let (p, q) = corner(b);
                    let apart = x + w < p + 1e-6 || p + v < x + 1e-6 || y + h < q + 1e-6 || q + g < y + 1e-6;
                    assert!(apart, "seed {seed}: boxes {a} and {b} overlap");
                }
            }
            for ((from, to), path) in edges.iter().zip(&layout.paths) {
                assert!(path.windows(2).all(|pair| pair[0].1 < pair[1].1), "seed {seed}: {path:?}");
                // Between layers, an edge may turn; next to boxes, it runs upright.
                for (x, y) in path.windows(2).filter(|pair| pair[0].0 != pair[1].0).flatten() {
                    let covered = |k: usize| {
                        let ((p, q), (w, h)) = (corner(k), sizes[k]);
                        *y > q + 1e-6 && *y < q + h - 1e-6 && *x > p && *x < p + w
                    };
                    assert!(!(0..sizes.len()).any(covered), "seed {seed}: {path:?}");
                }
                let (start, end) = (path[0], path[path.len() - 1]);
                assert!(
                    (start.1 - corner(*from).1 - sizes[*from].1).abs() < 1e-6 && (end.1 - corner(*to).1).abs() < 1e-6
                );
                assert!(start.0 > corner(*from).0 && start.0 < corner(*from).0 + sizes[*from].0);
            }
            assert_eq!(format!("{layout:?}"), format!("{:?}", layered(&sizes, &edges)));
        }
    }

    /// A tree can be drawn without crossings, and is.
    #[test]
    fn a_tree_has_no_crossings() {
        let mut edges: Vec<(usize, usize)> = (1..31).map(|k| (30 - k, 30 - (k - 1) / 2)).collect();
        edges.reverse();
        let layer = layers_of(31, &edges);
        let mut layers = Layers { items: Vec::new(), rows: vec![Vec::new(); 5], above: Vec::new(), below: Vec::new() };
        for layer in layer {
            layers.item(LayerItem { width: 10.0, height: 10.0, layer, x: 0.0, point: false });
        }
        for edge in edges {
            layers.chain(edge);
        }
        layers.order();
        assert_eq!(layers.crossings(), 0);
    }
}
