//! Schedules of recomputation: which values a run keeps and which ones it computes again, within a number of bytes.
//!
//! The order of the tasks is fixed. The search goes through the tasks in order and keeps a set of values; where these and
//! the results of the next task take more than the bound, it drops the value that is cheapest to do without, and
//! computes that value again before its next use, with those of its operands that are gone. A value is cheap to do
//! without if it is large, is used late, and takes little time together with its neighbours that are dropped already
//! (Kirisame et al., "Dynamic tensor rematerialization", 2021; here the next use is known). Then copies that the bound
//! does not need are removed, the longest first. The best of several orders of preference is taken.
//!
//! Laws: a schedule runs each task once in the given order, and a copy only where all operands exist; its peak is at most
//! the bound; it depends on the problem alone. The search looks at most [`PAIRS`] times at a value and takes
//! `O(n^2)` steps otherwise, with a bound on the number of copies it tries to remove.

/// The number of a value.
pub(super) type Value = usize;

/// What computes values: a task of the program, or a copy of a part of one.
#[derive(Clone, Debug, Default)]
pub(super) struct RunTask {
    pub(super) reads: Vec<Value>,
    pub(super) writes: Vec<Value>,
    /// Bytes that are taken while it runs.
    pub(super) scratch: usize,
    /// Estimated tenths of nanoseconds.
    pub(super) time: u64,
}

/// The tasks of a program in their order.
#[derive(Clone, Debug, Default)]
pub(super) struct TaskGraph {
    pub(super) tasks: Vec<RunTask>,
    /// The bytes of each value.
    pub(super) bytes: Vec<usize>,
    /// What computes a value again, if that is possible: all its operands can be computed again, too.
    pub(super) copies: Vec<Option<RunTask>>,
    /// The values that live to the end.
    pub(super) kept: Vec<Value>,
}

/// An entry of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scheduled {
    /// A task of the program.
    First(usize),
    /// A copy that computes a value again.
    Again(Value),
}

/// The order in which values are dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Preference {
    /// Time with that of dropped neighbours, per byte and distance.
    Neighbours,
    /// The same without the distance.
    Bytes,
    /// The time of the value alone, per byte and distance.
    Alone,
    /// Bytes times distance.
    Distance,
    /// Distance alone.
    Latest,
}

/// The ways that are tried: preferences, each with whether values are computed again in the order of the tasks.
const WAYS: [(Preference, bool); 10] = [
    (Preference::Neighbours, true),
    (Preference::Neighbours, false),
    (Preference::Bytes, true),
    (Preference::Bytes, false),
    (Preference::Alone, true),
    (Preference::Alone, false),
    (Preference::Distance, true),
    (Preference::Distance, false),
    (Preference::Latest, true),
    (Preference::Latest, false),
];

/// Programs with more tasks are searched in the first two ways alone.
const MANY: usize = 1000;

/// Programs with more tasks are searched with the bound alone, not with smaller ones.
const FEW: usize = 64;

/// The largest number of dropped neighbours whose time is added up.
const NEIGHBOURS: usize = 32;

/// The number of entries that all trials to remove copies may visit.
const TRIALS: usize = 20_000_000;

/// The number of times that a search may look at a value.
const PAIRS: usize = 100_000_000;

impl TaskGraph {
    pub(super) fn task(&self, run: Scheduled) -> &RunTask {
        match run {
            Scheduled::First(k) => &self.tasks[k],
            Scheduled::Again(value) => self.copies[value].as_ref().expect("what runs again has a copy"),
        }
    }

    /// The schedule without copies.
    pub(super) fn plain(&self) -> Vec<Scheduled> {
        (0..self.tasks.len()).map(Scheduled::First).collect()
    }

    /// The bytes at each entry of a schedule: of the values that live there, and the scratch memory.
    fn profile(&self, runs: &[Scheduled]) -> Vec<usize> {
        let mut freed = vec![0; runs.len() + 1];
        // For each value the last entry that needs its current instance.
        let mut last: Vec<Option<usize>> = vec![None; self.bytes.len()];
        let mut born = vec![0; runs.len()];
        for (at, run) in runs.iter().enumerate() {
            let task = self.task(*run);
            task.reads.iter().for_each(|v| last[*v] = Some(at));
            for v in &task.writes {
                if let Some(end) = last[*v] {
                    freed[end + 1] += self.bytes[*v];
                }
                last[*v] = Some(at);
                born[at] += self.bytes[*v];
            }
        }
        for (v, end) in last.iter().enumerate() {
            if let Some(end) = end
                && !self.kept.contains(&v)
            {
                freed[end + 1] += self.bytes[v];
            }
        }
        let (mut live, mut profile) = (0usize, Vec::with_capacity(runs.len()));
        for (at, run) in runs.iter().enumerate() {
            live = (live + born[at]).saturating_sub(freed[at]);
            profile.push(live.saturating_add(self.task(*run).scratch));
        }
        profile
    }

    pub(super) fn peak(&self, runs: &[Scheduled]) -> usize {
        self.profile(runs).into_iter().max().unwrap_or_default()
    }

    /// The values that live at the first entry of the peak.
    pub(super) fn live_at_peak(&self, runs: &[Scheduled]) -> Vec<Value> {
        let profile = self.profile(runs);
        let peak = profile.iter().max().copied().unwrap_or_default();
        let Some(at) = profile.iter().position(|bytes| *bytes == peak) else { return Vec::new() };
        let mut live: Vec<bool> = vec![false; self.bytes.len()];
        self.kept.iter().for_each(|v| live[*v] = true);
        for run in runs[at + 1..].iter().rev() {
            let task = self.task(*run);
            task.writes.iter().for_each(|v| live[*v] = false);
            task.reads.iter().for_each(|v| live[*v] = true);
        }
        let task = self.task(runs[at]);
        task.reads.iter().chain(&task.writes).for_each(|v| live[*v] = true);
        (0..live.len()).filter(|v| live[*v]).collect()
    }

    /// The estimated time of the copies of a schedule.
    pub(super) fn added(&self, runs: &[Scheduled]) -> u64 {
        let time = |run: &Scheduled| if let Scheduled::Again(_) = run { self.task(*run).time } else { 0 };
        runs.iter().map(time).fold(0, u64::saturating_add)
    }

    fn ways(&self) -> &'static [(Preference, bool)] {
        if self.tasks.len() > MANY { &WAYS[..2] } else { &WAYS }
    }

    /// A schedule whose peak is at most `most`, with little added time.
    pub(super) fn within(&self, most: usize) -> Option<Vec<Scheduled>> {
        if self.peak(&self.plain()) <= most {
            return Some(self.plain());
        }
        let ways = self.ways();
        let mut best: Option<(u64, Vec<Scheduled>)> = None;
        // A search with less room drops other values; for few tasks more of these are tried.
        let lower = if self.tasks.len() > FEW { 1 } else { 6 };
        for (less, way) in (0..lower).flat_map(|less| ways.iter().map(move |way| (less, way))) {
            let Some(runs) = ScheduleSearch::new(self, most - most * less / 16, *way).run() else { continue };
            let runs = self.without_needless(runs, most);
            let added = self.added(&runs);
            if best.as_ref().is_none_or(|(time, _)| added < *time) {
                best = Some((added, runs));
            }
        }
        best.map(|(_, runs)| runs)
    }

    /// The schedule of the smallest peak that is found, by bisection.
    pub(super) fn least(&self) -> Vec<Scheduled> {
        let mut best = self.plain();
        let (mut low, mut high) = (0, self.peak(&best));
        while high - low > (high / 256).max(1) {
            let middle = low + (high - low) / 2;
            let found = self.ways().iter().find_map(|way| ScheduleSearch::new(self, middle, *way).run());
            match found {
                Some(runs) => (best, high) = (runs, middle),
                None => low = middle,
            }
        }
        let peak = self.peak(&best);
        self.without_needless(best, peak)
    }

    /// The schedule without copies that nothing reads, and without those whose values may as well be kept.
    fn without_needless(&self, runs: Vec<Scheduled>, most: usize) -> Vec<Scheduled> {
        let mut runs = self.live(runs);
        let mut order: Vec<(u64, usize)> = Vec::new();
        let mut left = TRIALS;
        loop {
            let before = runs.len();
            order.clear();
            order.extend(runs.iter().enumerate().filter_map(|(at, run)| match run {
                Scheduled::Again(_) => Some((self.task(*run).time, at)),
                Scheduled::First(_) => None,
            }));
            order.sort_unstable_by(|a, b| b.cmp(a));
            for (_, at) in &order {
                if left < runs.len() {
                    return runs;
                }
                left -= runs.len();
                let mut fewer = runs.clone();
                fewer.remove(*at);
                if self.peak(&fewer) <= most {
                    runs = self.live(fewer);
                    break;
                }
            }
            if runs.len() == before {
                return runs;
            }
        }
    }

    /// The schedule without copies whose values nothing reads.
    fn live(&self, runs: Vec<Scheduled>) -> Vec<Scheduled> {
        let mut wanted = vec![false; self.bytes.len()];
        let mut needed = vec![true; runs.len()];
        self.kept.iter().for_each(|v| wanted[*v] = true);
        for (at, run) in runs.iter().enumerate().rev() {
            let task = self.task(*run);
            needed[at] = matches!(run, Scheduled::First(_)) || task.writes.iter().any(|v| wanted[*v]);
            if needed[at] {
                task.writes.iter().for_each(|v| wanted[*v] = false);
                task.reads.iter().for_each(|v| wanted[*v] = true);
            }
        }
        let mut needed = needed.into_iter();
        runs.into_iter().filter(|_| needed.next() == Some(true)).collect()
    }
}

/// A search in progress.
struct ScheduleSearch<'a> {
    problem: &'a TaskGraph,
    most: usize,
    preference: Preference,
    /// Whether values that are gone are computed again in the order of the tasks; otherwise one operand after the other.
    in_order: bool,
    /// The task that computes each value.
    home: Vec<usize>,
    /// The tasks that read each value, in order, and how many of them are past.
    uses: Vec<Vec<usize>>,
    past: Vec<usize>,
    /// The values whose copies read each value.
    readers: Vec<Vec<Value>>,
    /// The values that are kept now, in no order, and the place of each in that list.
    resident: Vec<Value>,
    place: Vec<Option<usize>>,
    /// How often a value is needed by the next task and the copies before it.
    pinned: Vec<u32>,
    bytes: usize,
    runs: Vec<Scheduled>,
    /// The number of tasks that have run.
    done: usize,
    looked: usize,
    /// For a walk over neighbours: the number of the last walk that met each value.
    met: Vec<u32>,
    walk: u32,
}

impl<'a> ScheduleSearch<'a> {
    fn new(problem: &'a TaskGraph, most: usize, (preference, in_order): (Preference, bool)) -> ScheduleSearch<'a> {
        let n = problem.bytes.len();
        let (mut home, mut uses, mut readers) = (vec![0; n], vec![Vec::new(); n], vec![Vec::new(); n]);
        for (k, task) in problem.tasks.iter().enumerate() {
            task.writes.iter().for_each(|v| home[*v] = k);
            for v in &task.reads {
                if uses[*v].last() != Some(&k) {
                    uses[*v].push(k);
                }
            }
        }
        problem.kept.iter().for_each(|v| uses[*v].push(problem.tasks.len()));
        for (v, copy) in problem.copies.iter().enumerate() {
            copy.iter().flat_map(|copy| &copy.reads).for_each(|read| readers[*read].push(v));
        }
        ScheduleSearch {
            problem,
            most,
            preference,
            in_order,
            home,
            uses,
            past: vec![0; n],
            readers,
            resident: Vec::new(),
            place: vec![None; n],
            pinned: vec![0; n],
            bytes: 0,
            runs: Vec::new(),
            done: 0,
            looked: 0,
            met: vec![0; n],
            walk: 0,
        }
    }

    fn run(mut self) -> Option<Vec<Scheduled>> {
        for k in 0..self.problem.tasks.len() {
            let task = &self.problem.tasks[k];
            task.reads.iter().for_each(|v| self.pinned[*v] += 1);
            self.compute_missing(k)?;
            self.execute(Scheduled::First(k), k)?;
            self.done = k + 1;
            for v in task.reads.iter().chain(&task.writes) {
                self.release(*v, k);
            }
        }
        Some(self.runs)
    }

    fn next_use(&self, v: Value) -> Option<usize> {
        self.uses[v].get(self.past[v]).copied()
    }

    /// The next use of a value, or of a value that a copy may compute from it.
    fn next_need(&self, v: Value) -> Option<usize> {
        let readers = || self.readers[v].iter().take(NEIGHBOURS).filter_map(|w| self.next_use(*w)).min();
        self.next_use(v).or_else(readers)
    }

    /// Computes the operands of task `k` that are gone, and theirs.
    fn compute_missing(&mut self, k: usize) -> Option<()> {
        let problem = self.problem;
        let gone = |search: &Self, v: Value| search.place[v].is_none();
        // Operands before uses: a value stands on the stack again, marked, below those of its operands that are gone.
        let mut work: Vec<(Value, bool)> = problem.tasks[k].reads.iter().map(|v| (*v, false)).collect();
        let mut missing: Vec<Value> = Vec::new();
        self.walk += 1;
        while let Some((v, ready)) = work.pop() {
            if ready {
                missing.push(v);
            } else if gone(self, v) && std::mem::replace(&mut self.met[v], self.walk) != self.walk {
                let copy = problem.copies[v].as_ref()?;
                copy.reads.iter().for_each(|read| self.pinned[*read] += 1);
                work.push((v, true));
                work.extend(copy.reads.iter().map(|read| (*read, false)));
            }
        }
        if self.in_order {
            missing.sort_unstable_by_key(|v| (self.home[*v], *v));
        }
        for v in missing {
            if gone(self, v) {
                self.execute(Scheduled::Again(v), k)?;
            }
            let copy = problem.copies[v].as_ref()?;
            for read in &copy.reads {
                self.pinned[*read] -= 1;
                self.free_if_dead(*read);
            }
        }
        Some(())
    }

    /// Appends an entry, after room is made for its results.
    fn execute(&mut self, run: Scheduled, k: usize) -> Option<()> {
        let task = self.problem.task(run);
        let new: Vec<Value> = task.writes.iter().copied().filter(|v| self.place[*v].is_none()).collect();
        let old: usize = task.writes.iter().filter(|v| self.place[**v].is_some()).map(|v| self.problem.bytes[*v]).sum();
        // A copy computes results that are still there once more, into other memory.
        let need = new.iter().map(|v| self.problem.bytes[*v]).sum::<usize>().saturating_add(old + task.scratch);
        while self.bytes.saturating_add(need) > self.most {
            self.drop_one(k)?;
        }
        self.runs.push(run);
        for v in new {
            self.place[v] = Some(self.resident.len());
            self.resident.push(v);
            self.bytes += self.problem.bytes[v];
        }
        if let Scheduled::Again(_) = run {
            task.writes.iter().for_each(|v| self.free_if_dead(*v));
        }
        Some(())
    }

    /// Notes that task `k`, which used a value, has run.
    fn release(&mut self, v: Value, k: usize) {
        if self.next_use(v) == Some(k) {
            self.past[v] += 1;
            self.pinned[v] -= 1;
        }
        self.free_if_dead(v);
    }

    fn free_if_dead(&mut self, v: Value) {
        if self.pinned[v] == 0 && self.next_need(v).is_none() {
            self.free(v);
        }
    }

    fn free(&mut self, v: Value) {
        let Some(place) = self.place[v].take() else { return };
        self.resident.swap_remove(place);
        if let Some(moved) = self.resident.get(place) {
            self.place[*moved] = Some(place);
        }
        self.bytes -= self.problem.bytes[v];
    }

    /// Drops the value that is cheapest to do without.
    fn drop_one(&mut self, k: usize) -> Option<()> {
        self.looked += self.resident.len();
        if self.looked > PAIRS {
            return None;
        }
        let mut best: Option<(f64, Value)> = None;
        for place in 0..self.resident.len() {
            let v = self.resident[place];
            if self.pinned[v] > 0 || self.problem.copies[v].is_none() || self.problem.bytes[v] == 0 {
                continue;
            }
            let score = self.score(v, k);
            if best.is_none_or(|(least, other)| (score, v) < (least, other)) {
                best = Some((score, v));
            }
        }
        let (_, v) = best?;
        self.free(v);
        Some(())
    }

    /// How much a value costs that is dropped: the smaller, the better to drop.
    fn score(&mut self, v: Value, k: usize) -> f64 {
        let bytes = self.problem.bytes[v] as f64;
        let Some(need) = self.next_need(v) else { return 0.0 };
        let distance = (need.saturating_sub(k) + 1) as f64;
        let alone = |v: Value| self.problem.copies[v].as_ref().map_or(0, |copy| copy.time) as f64 + 1.0;
        match self.preference {
            Preference::Neighbours => self.with_neighbours(v) / (bytes * distance),
            Preference::Bytes => self.with_neighbours(v) / bytes,
            Preference::Alone => alone(v) / (bytes * distance),
            Preference::Distance => 1.0 / (bytes * distance),
            Preference::Latest => 1.0 / distance,
        }
    }

    /// The time to compute a value, and those that are gone before and after it.
    fn with_neighbours(&mut self, v: Value) -> f64 {
        let problem = self.problem;
        let time = |v: Value| problem.copies[v].as_ref().map_or(0, |copy| copy.time);
        self.walk += 1;
        self.met[v] = self.walk;
        let (mut sum, mut count) = (time(v).saturating_add(1), 0);
        for up in [true, false] {
            let mut work = vec![v];
            while let Some(v) = work.pop() {
                let next = match (up, &problem.copies[v]) {
                    (true, Some(copy)) => &copy.reads,
                    (true, None) => continue,
                    (false, _) => &self.readers[v],
                };
                for w in next {
                    // Values that have not been computed yet, or are not used any more, do not count downwards.
                    let counts = self.place[*w].is_none() && (up || self.past_first(*w));
                    if counts && self.met[*w] != self.walk && count < NEIGHBOURS {
                        self.met[*w] = self.walk;
                        sum = sum.saturating_add(time(*w));
                        count += 1;
                        work.push(*w);
                    }
                }
            }
        }
        sum as f64
    }

    /// Whether a value has been computed and will be used.
    fn past_first(&self, v: Value) -> bool {
        self.done > self.home[v] && self.next_use(v).is_some()
    }
}
