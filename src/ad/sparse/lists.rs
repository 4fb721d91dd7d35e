//! Lists of numbers in compressed form: the columns of each row of a matrix, or the rows of each column.
//!
//! Law: list `k` is `items[starts[k]..starts[k + 1]]`.

/// Several lists of numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lists {
    /// The start of each list, and the end of the last list.
    pub(super) starts: Vec<usize>,
    pub(super) items: Vec<usize>,
}

impl Default for Lists {
    /// No list.
    fn default() -> Lists {
        Lists { starts: vec![0], items: Vec::new() }
    }
}

impl Lists {
    /// Ends a list, whose items are those since the end of the last list.
    pub(super) fn end(&mut self) {
        self.starts.push(self.items.len());
    }

    /// The number of lists.
    pub(super) fn count(&self) -> usize {
        self.starts.len() - 1
    }

    pub(super) fn of(&self, list: usize) -> &[usize] {
        &self.items[self.starts[list]..self.starts[list + 1]]
    }

    /// The number of the list and the value, for each item.
    pub(super) fn pairs(&self) -> impl ExactSizeIterator<Item = (usize, usize)> + Clone {
        let mut list = 0;
        self.items.iter().enumerate().map(move |(place, item)| {
            while self.starts[list + 1] <= place {
                list += 1;
            }
            (list, *item)
        })
    }

    /// The length of the longest list.
    pub(super) fn longest(&self) -> usize {
        self.starts.windows(2).map(|ends| ends[1] - ends[0]).max().unwrap_or(0)
    }

    /// The items that are kept, in the same lists.
    pub(super) fn filtered(&self, keep: impl Fn(usize, usize) -> bool) -> Lists {
        let mut kept = Lists::default();
        for list in 0..self.count() {
            kept.items.extend(self.of(list).iter().filter(|item| keep(list, **item)));
            kept.end();
        }
        kept
    }

    /// The transpose: for each of `count` values, the lists that contain it, in ascending order. `moved(from, to)` is
    /// called for each item with its index here and the index of the same pair in the transpose.
    pub(super) fn turned(&self, count: usize, mut moved: impl FnMut(usize, usize)) -> Lists {
        let mut starts = vec![0; count + 1];
        self.items.iter().for_each(|item| starts[item + 1] += 1);
        (0..count).for_each(|k| starts[k + 1] += starts[k]);
        let (mut next, mut items) = (starts.clone(), vec![0; self.items.len()]);
        for (place, (list, item)) in self.pairs().enumerate() {
            items[next[item]] = list;
            moved(place, next[item]);
            next[item] += 1;
        }
        Lists { starts, items }
    }
}
