//! Which papers, claims and figures are requested.

use super::papers::Folder;
use super::part::Part;
use super::report::ReproduceError;
use std::collections::BTreeSet;

/// The papers with the claims and figures that are requested.
pub(super) fn choose(what: &[String], folders: Vec<Folder>) -> Result<Vec<Part>, ReproduceError> {
    let mut parts = Vec::new();
    let mut known = BTreeSet::new();
    let mut found = BTreeSet::new();
    for files in folders {
        let mut paper = files.paper()?;
        let asked = |name: &str| what.iter().find(|w| w.eq_ignore_ascii_case(name)).cloned();
        // A claim's name is its own; with its paper it may be said, too.
        let mut keep = |name: String, also: Option<String>| {
            let hits: Vec<String> = asked(&name)
                .into_iter()
                .chain(also.and_then(|also| asked(&also)))
                .collect();
            known.insert(name);
            let hit = !hits.is_empty();
            found.extend(hits);
            hit
        };
        let whole = keep(paper.id.clone(), None) || what.is_empty();
        let id = paper.id.clone();
        let figures: BTreeSet<String> = paper
            .figures
            .iter()
            .map(|f| f.id.clone())
            .filter(|f| keep(format!("{id}/{f}"), None))
            .collect();
        paper
            .claims
            .retain(|c| keep(c.id.clone(), Some(format!("{id}/{}", c.id))) || whole);
        let shown: BTreeSet<&str> = paper
            .claims
            .iter()
            .filter_map(|c| c.figure.as_deref())
            .collect();
        paper
            .figures
            .retain(|f| whole || figures.contains(&f.id) || shown.contains(f.id.as_str()));
        if !paper.claims.is_empty() || !paper.figures.is_empty() {
            parts.push(Part { files, paper });
        }
    }
    if let Some(unknown) = what.iter().find(|w| !found.contains(*w)) {
        let known: Vec<String> = known.into_iter().collect();
        return Err(ReproduceError::Unknown(format!(
            "\"{unknown}\" is no paper, claim or figure here; there are {}",
            known.join(", ")
        )));
    }
    Ok(parts)
}
