//! The links of the built site.
//!
//! Law: a link without a host leads to a file of the site, and its anchor to an element of that file.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

/// The values of an attribute in a page.
fn values<'t>(html: &'t str, attribute: &str) -> Vec<&'t str> {
    let start = format!(" {attribute}=\"");
    html.split(&start[..]).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

fn pages(folder: &Path, found: &mut BTreeMap<PathBuf, String>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            pages(&path, found)?;
        } else if path.extension().is_some_and(|e| e == "html") {
            let text = fs::read_to_string(&path)?;
            found.insert(path.canonicalize()?, text);
        }
    }
    Ok(())
}

/// Follows every link; how many there are.
pub(crate) fn links(site: &Path) -> Result<usize> {
    let mut found = BTreeMap::new();
    pages(site, &mut found)?;
    let (mut count, mut faults) = (0, Vec::new());
    // Pages without a place of their own: one stands for any address that does not exist, one is inside of others.
    for (page, html) in found.iter().filter(|(page, _)| !page.ends_with("404.html") && !page.ends_with("toc.html")) {
        for to in values(html, "href").into_iter().chain(values(html, "src")) {
            if to.contains("://") || to.starts_with("data:") || to.starts_with("mailto:") {
                continue;
            }
            count += 1;
            let (file, anchor) = to.split_once('#').unwrap_or((to, ""));
            let path = if file.is_empty() { page.clone() } else { page.with_file_name(file) };
            let Ok(path) = path.canonicalize() else {
                faults.push(format!("{} links to {to}, which does not exist", page.display()));
                continue;
            };
            let missing = |html: &String| !anchor.is_empty() && !values(html, "id").contains(&anchor);
            if found.get(&path).is_some_and(missing) {
                faults.push(format!("{} links to {to}, whose anchor does not exist", page.display()));
            }
        }
    }
    if !faults.is_empty() {
        bail!("{} links lead nowhere:\n{}", faults.len(), faults.join("\n"));
    }
    Ok(count)
}
