//! No circle among the files of the verbs: what a file of `src/ad` names does not name it back, directly or by others. Among the
//! files of the higher-order language, at most two name each other.
//!
//! Law: the files of `src/ad/differentiate/` name those above them in the table of that folder alone. A file may name
//! what heads its folder, such as a type that all files there implement methods of.

use std::collections::{BTreeMap, BTreeSet};

use crate::layering::{modules, text};

/// The path of a module, or of an item in it.
type Place = Vec<String>;

/// Each file of the verbs, with its code.
fn files() -> BTreeMap<Place, String> {
    let verbs = modules().into_iter().filter(|(_, module)| module[0] == "ad");
    verbs.map(|(path, module)| (module, text(&path))).collect()
}

/// The paths of a list of names, such as `a::{b, c::d as e}`, below `above`.
fn listed(above: &[String], list: &str, found: &mut Vec<Place>) {
    let mut path = above.to_vec();
    let mut rest = list.trim();
    while let Some((name, below)) = rest.split_once("::").filter(|(name, _)| !name.contains(['{', ','])) {
        path.push(name.trim().to_owned());
        rest = below.trim();
    }
    let Some(group) = rest.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) else {
        path.push(rest.split(" as ").next().unwrap_or(rest).trim().to_owned());
        found.push(path);
        return;
    };
    let (mut depth, mut start) = (0, 0);
    for (at, c) in group.char_indices().chain([(group.len(), ',')]) {
        depth += i32::from(c == '{') - i32::from(c == '}');
        if c == ',' && depth == 0 {
            if !group[start..at].trim().is_empty() {
                listed(&path, &group[start..at], found);
            }
            start = at + 1;
        }
    }
}

/// A path from the crate on, of one that is written in `module`; `None` if it begins in neither the crate nor the module.
fn whole(path: &[String], module: &[String], files: &BTreeMap<Place, String>) -> Option<Place> {
    let outer = path.iter().take_while(|part| *part == "super").count();
    let child = || files.contains_key(&[module, &path[..1]].concat());
    match path[0].as_str() {
        "crate" => Some(path[1..].to_vec()),
        "self" => Some([module, &path[1..]].concat()),
        "super" => Some([&module[..module.len().checked_sub(outer)?], &path[outer..]].concat()),
        _ if child() => Some([module, path].concat()),
        _ => None,
    }
}

/// What a file names, and what it gives further, each from the crate on.
fn named(module: &Place, code: &str, files: &BTreeMap<Place, String>) -> [Vec<Place>; 2] {
    let [mut names, mut further] = [Vec::new(), Vec::new()];
    let part = |c: char| c.is_alphanumeric() || c == '_';
    let mut rest = code.to_owned();
    while let Some(at) = rest.find("use ") {
        let (line, end) = (rest[..at].rsplit('\n').next().unwrap_or("").trim().to_owned(), rest[at..].find(';'));
        let end = at + end.unwrap_or(4);
        let is_use = line.is_empty() || line.starts_with("pub");
        if is_use {
            listed(&[], &rest[at + 4..end], if line.is_empty() { &mut names } else { &mut further });
        }
        rest.replace_range(if is_use { at..end } else { at..at + 4 }, "");
    }
    // Paths in the code itself.
    for (at, _) in rest.match_indices("::") {
        let start = rest[..at].rfind(|c| !part(c)).map_or(0, |k| k + 1);
        if start == at || rest[..start].ends_with("::") {
            continue;
        }
        let end = rest[start..].find(|c| !part(c) && c != ':').map_or(rest.len(), |k| start + k);
        names.push(rest[start..end].split("::").map(str::to_owned).collect());
    }
    [names, further].map(|paths| {
        let paths = paths.iter().filter(|path| !path.is_empty() && !path[0].is_empty());
        paths.filter_map(|path| whole(path, module, files)).collect()
    })
}

/// For each file the other files that it names, without those that head its own folder.
fn arrows(files: &BTreeMap<Place, String>) -> BTreeMap<Place, BTreeSet<Place>> {
    let all: Vec<(&Place, [Vec<Place>; 2])> =
        files.iter().map(|(module, code)| (module, named(module, code, files))).collect();
    let mut further: BTreeMap<Place, Place> = BTreeMap::new();
    for (module, [_, paths]) in &all {
        for path in paths {
            further.insert([&module[..], &path[path.len() - 1..]].concat(), path.clone());
        }
    }
    // The file that an item is of, through what other files give further.
    let file = |path: &Place| {
        let mut path = path.clone();
        for _ in 0..4 {
            let Some((known, to)) =
                (1..=path.len()).rev().find_map(|k| further.get(&path[..k]).map(|to| (k, to.clone())))
            else {
                break;
            };
            path = [&to[..], &path[known..]].concat();
        }
        (1..=path.len()).rev().map(|k| path[..k].to_vec()).find(|start| files.contains_key(start))
    };
    let of = |(module, [names, _]): &(&Place, [Vec<Place>; 2])| {
        let others = names.iter().filter_map(file).filter(|other| !module.starts_with(other));
        ((*module).clone(), others.collect())
    };
    all.iter().map(of).collect()
}

/// Files that name each other in a circle, each naming the next.
fn circle(arrows: &BTreeMap<Place, BTreeSet<Place>>) -> Option<Vec<Place>> {
    fn walk(
        at: &Place,
        arrows: &BTreeMap<Place, BTreeSet<Place>>,
        way: &mut Vec<Place>,
        done: &mut BTreeSet<Place>,
    ) -> Option<Vec<Place>> {
        if let Some(start) = way.iter().position(|other| other == at) {
            return Some(way[start..].to_vec());
        }
        if done.contains(at) {
            return None;
        }
        way.push(at.clone());
        let found = arrows.get(at).into_iter().flatten().find_map(|next| walk(next, arrows, way, done));
        way.pop();
        done.insert(at.clone());
        found
    }
    let mut done = BTreeSet::new();
    arrows.keys().find_map(|start| walk(start, arrows, &mut Vec::new(), &mut done))
}

#[test]
fn the_verbs_have_no_circle() {
    let arrows = arrows(&files());
    assert!(arrows.len() > 50, "{} files are where this test looks", arrows.len());
    assert!(arrows.values().map(BTreeSet::len).sum::<usize>() > 100, "the files name each other");
    if let Some(circle) = circle(&arrows) {
        let names: Vec<String> = circle.iter().map(|module| module.join("::")).collect();
        panic!("files of the verbs name each other: {}", names.join(" -> "));
    }
}

/// The largest set of files each of which names every other, directly or by others.
fn knot(arrows: &BTreeMap<Place, BTreeSet<Place>>) -> Vec<Place> {
    let reached = |from: &Place| {
        let (mut found, mut work) = (BTreeSet::new(), vec![from]);
        while let Some(at) = work.pop() {
            work.extend(arrows.get(at).into_iter().flatten().filter(|next| found.insert((*next).clone())));
        }
        found
    };
    let all: BTreeMap<&Place, BTreeSet<Place>> = arrows.keys().map(|from| (from, reached(from))).collect();
    let of = |from: &Place| {
        let back = |other: &&Place| all.get(*other).is_some_and(|found| found.contains(from));
        all[from].iter().filter(back).cloned().collect::<Vec<Place>>()
    };
    all.keys().map(|from| of(from)).max_by_key(Vec::len).unwrap_or_default()
}

#[test]
fn higher_order_files_name_each_other_in_pairs_at_most() {
    let higher = modules().into_iter().filter(|(_, module)| module[0] == "higher");
    let files: BTreeMap<Place, String> = higher.map(|(path, module)| (module[1..].to_vec(), text(&path))).collect();
    let arrows = arrows(&files);
    assert!(arrows.len() > 50, "{} files are where this test looks", arrows.len());
    assert!(arrows.values().map(BTreeSet::len).sum::<usize>() > 100, "the files name each other");
    let names: Vec<String> = knot(&arrows).iter().map(|module| module.join("::")).collect();
    assert!(names.len() <= 2, "files of the higher-order language name each other in a circle: {}", names.join(", "));
}

#[test]
fn differentiation_goes_down_its_table() {
    let files = files();
    let room = ["ad", "differentiate"].map(str::to_owned);
    let root = crate::root::root();
    let head = std::fs::read_to_string(root.join("src/ad/differentiate/mod.rs")).expect("the file can be read");
    let rows = head.lines().filter_map(|line| line.strip_prefix("//! | `")?.split('`').next());
    let rows: Vec<&str> = rows.collect();
    let inside = |module: &Place| (module.starts_with(&room)).then(|| module.get(2).cloned()).flatten();
    let own: BTreeSet<String> = files.keys().filter_map(inside).collect();
    assert_eq!(own, rows.iter().map(|row| (*row).to_owned()).collect(), "the table names every file");
    let at = |file: &String| rows.iter().position(|row| row == file);
    for (module, names) in arrows(&files) {
        let Some(from) = inside(&module) else { continue };
        for to in names.iter().filter_map(inside) {
            assert!(at(&to) <= at(&from), "`{from}` names `{to}`, which is below it in the table");
        }
    }
}

#[test]
fn circles_are_found() {
    let file = |name: &str, code: &str| (format!("ad{name}").split("::").map(str::to_owned).collect(), code.to_owned());
    let found = |codes: &[(&str, &str)]| {
        let files: BTreeMap<Place, String> = codes.iter().map(|(name, code)| file(name, code)).collect();
        circle(&arrows(&files)).map(|circle| circle.len())
    };
    let head = ("", "mod a;\nmod b;\npub use b::{One, Two as Other};");
    assert_eq!(found(&[head, ("::a", "use super::b::Two;"), ("::b", "use crate::ad::Head;")]), None);
    assert_eq!(found(&[head, ("::a", "use super::b::Two;"), ("::b", "fn f() { super::a::g() }")]), Some(2));
    let files =
        [("::a", "use super::b::Two;"), ("::b", "use super::c::One;"), ("::c", "use super::a::One;"), ("::d", "")];
    let files = files.iter().map(|(name, code)| file(name, code)).collect();
    assert_eq!(knot(&arrows(&files)).len(), 3);
    // Through what the head gives further.
    assert_eq!(found(&[head, ("::a", "use super::{Head, One};"), ("::b", "use crate::ad::{a::g, x};")]), Some(2));
    assert_eq!(found(&[head, ("::a", "use super::Head;"), ("::b", "use super::a::{self, g};")]), None);
}
