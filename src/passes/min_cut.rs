//! The cheapest cut between a source and a sink of a network.
//!
//! By a maximum flow: Dinic, "Algorithm for solution of a problem of maximum flow in networks with power estimation", 1970.
//!
//! Law: no path leads from the source to the sink but through the cut, and no such cut costs less; among the cheapest
//! ones it is the one next to the sink. It depends on the network alone.

use std::collections::VecDeque;

/// The capacity of an edge that is never cut.
pub(super) const NEVER: u64 = u64::MAX / 4;

/// The source, whose number comes before those of other vertices.
pub(super) const SOURCE: usize = 0;

/// The sink.
pub(super) const SINK: usize = 1;

/// A network of vertices and edges with capacities.
pub(super) struct Network {
    /// For each vertex, its edges.
    edges: Vec<Vec<usize>>,
    /// For each edge, where it leads and what it still carries; the one after an even one leads back.
    to: Vec<(usize, u64)>,
}

impl Network {
    /// A source and a sink.
    pub(super) fn new() -> Network {
        Network { edges: vec![Vec::new(); 2], to: Vec::new() }
    }

    pub(super) fn vertex(&mut self) -> usize {
        self.edges.push(Vec::new());
        self.edges.len() - 1
    }

    pub(super) fn edge(&mut self, from: usize, to: usize, capacity: u64) {
        for (a, b, capacity) in [(from, to, capacity), (to, from, 0)] {
            self.edges[a].push(self.to.len());
            self.to.push((b, capacity));
        }
    }

    /// For each vertex, whether it is on the side of the sink.
    pub(super) fn cut(mut self) -> Vec<bool> {
        while let Some(levels) = self.levels() {
            let mut next = vec![0; self.edges.len()];
            while self.augment(&levels, &mut next) {}
        }
        let mut behind = vec![false; self.edges.len()];
        behind[SINK] = true;
        let mut open = vec![SINK];
        while let Some(at) = open.pop() {
            for edge in &self.edges[at] {
                let (from, left) = (self.to[*edge].0, self.to[edge ^ 1].1);
                if left > 0 && !behind[from] {
                    behind[from] = true;
                    open.push(from);
                }
            }
        }
        behind
    }

    /// The distances of vertices from the source, if the sink can be reached.
    fn levels(&self) -> Option<Vec<usize>> {
        let mut levels = vec![usize::MAX; self.edges.len()];
        levels[SOURCE] = 0;
        let mut open = VecDeque::from([SOURCE]);
        while let Some(at) = open.pop_front() {
            for edge in &self.edges[at] {
                let (to, left) = self.to[*edge];
                if left > 0 && levels[to] == usize::MAX {
                    levels[to] = levels[at] + 1;
                    open.push_back(to);
                }
            }
        }
        (levels[SINK] != usize::MAX).then_some(levels)
    }

    /// Sends as much as one path from the source to the sink carries; false if no path is left.
    fn augment(&mut self, levels: &[usize], next: &mut [usize]) -> bool {
        let mut path: Vec<usize> = Vec::new();
        let mut at = SOURCE;
        while at != SINK {
            match self.edges[at].get(next[at]) {
                Some(edge) => {
                    let (to, left) = self.to[*edge];
                    if left > 0 && levels[to] == levels[at] + 1 {
                        path.push(*edge);
                        at = to;
                    } else {
                        next[at] += 1;
                    }
                }
                None => {
                    let Some(edge) = path.pop() else { return false };
                    at = self.to[edge ^ 1].0;
                    next[at] += 1;
                }
            }
        }
        let least = path.iter().map(|edge| self.to[*edge].1).min().unwrap_or(0);
        for edge in path {
            self.to[edge].1 -= least;
            self.to[edge ^ 1].1 = self.to[edge ^ 1].1.saturating_add(least);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::{NEVER, Network, SINK, SOURCE};

    /// All cuts of small networks, and the cheapest one.
    #[test]
    fn no_cut_costs_less() {
        for seed in 0..300 {
            let mut state: u64 = seed * 2 + 1;
            let mut draw = |n: u64| {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (state >> 33) % n
            };
            let inner = 2 + draw(5) as usize;
            let mut edges = Vec::new();
            for a in 0..inner + 2 {
                for b in 0..inner + 2 {
                    if a != b && a != SINK && b != SOURCE && draw(3) == 0 && (a, b) != (SOURCE, SINK) {
                        edges.push((a, b, if draw(6) == 0 && a != SOURCE { NEVER } else { draw(9) }));
                    }
                }
            }
            let mut network = Network::new();
            (0..inner).for_each(|_| _ = network.vertex());
            edges.iter().for_each(|(a, b, capacity)| network.edge(*a, *b, *capacity));
            let cost = |behind: &dyn Fn(usize) -> bool| {
                let cut = edges.iter().filter(|(a, b, _)| !behind(*a) && behind(*b));
                cut.fold(0u64, |sum, edge| sum.saturating_add(edge.2))
            };
            let found = network.cut();
            let least = (0..1usize << inner).map(|set| cost(&|v| v == SINK || v >= 2 && set >> (v - 2) & 1 == 1)).min();
            assert!(!found[SOURCE] && found[SINK]);
            assert_eq!(Some(cost(&|v| found[v])), least, "{edges:?}");
        }
    }
}
