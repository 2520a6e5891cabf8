//! Can a check pass wrongly? Each is put to a case where it must fail.

use crate::visitor::Visitor;
use crate::{copy, frames};
use anyhow::{Result, ensure};
use serde_json::Value;
use std::ffi::OsStr;

/// The command's result with another seed is not the page's, and what the page shows is not in it.
pub fn another_seed(v: &Visitor) -> Result<String> {
    v.click("#stops li:nth-child(2) button")?;
    v.same_as_the_command()?;
    let other = v.text("byway.toml()")?.replace("seed = 1\n", "seed = 2\n");
    let file = v.work.join("other.toml");
    std::fs::write(&file, other)?;
    let (said, _) = v.command(&[OsStr::new("run"), file.as_os_str(), OsStr::new("--json")])?;
    ensure!(said.contains("\"seed\": 2"), "the command takes no seed");
    // The numbers differ, and not only the name of the seed.
    let said = said.replace("\"seed\": 2", "\"seed\": 1");
    ensure!(
        v.compare(&said).is_err(),
        "another seed has the same result"
    );
    let result: Value = serde_json::from_str(&said)?;
    ensure!(
        v.shows(&result).is_err(),
        "the page shows another seed's result"
    );
    // A single byte is enough.
    let page = v.text("byway.json()")?;
    v.compare(&page)?;
    ensure!(
        v.compare(page.trim_end()).is_err(),
        "a byte less is the same"
    );
    ensure!(v.compare("").is_err(), "nothing is the same");
    Ok(String::new())
}

/// Pages that load from a server, against their own rule or without one, and from another folder.
pub fn loads_from_elsewhere(v: &Visitor) -> Result<String> {
    v.no_problems()?;
    let folder = v.work.join("elsewhere");
    copy(v.folder(), &folder)?;
    std::fs::write(v.work.join("other.js"), "window.other = 1;\n")?;
    let index = folder.join("index.html");
    let page = std::fs::read_to_string(&index)?;
    let rule = "http-equiv=\"Content-Security-Policy\"";
    ensure!(page.contains(rule), "the page has no rule of what it loads");
    let image = "<img alt=\"\" src=\"http://127.0.0.1:9/x.png\">";
    let script = "<script src=\"../other.js\"></script>";
    let cases = [
        ("a picture against the rule", rule, image, "img-src"),
        (
            "a picture",
            "name=\"none\"",
            image,
            "http://127.0.0.1:9/x.png",
        ),
        ("a script of another folder", rule, script, "other.js"),
    ];
    v.move_to(Some(&format!("file://{}/", folder.display())));
    let seen = cases
        .into_iter()
        .try_for_each(|(what, its_rule, more, words)| {
            let text = page.replace(rule, its_rule);
            std::fs::write(&index, text.replace("</main>", &format!("{more}</main>")))?;
            v.open("")?;
            v.until_time(0.1)?;
            let found = v.no_problems().err().map(|e| e.to_string());
            let found = found.unwrap_or_default();
            // What is left of this case.
            let _ = v.asked_only_for_the_page();
            ensure!(found.contains(words), "{what}: found \"{found}\"");
            Ok(())
        });
    v.move_to(None);
    seen?;
    v.open("")?;
    Ok(String::new())
}

/// With half of the time taken from it, the page cannot draw as many pictures.
pub fn kept_busy(v: &Visitor) -> Result<String> {
    v.until_time(0.2)?;
    v.value("(() => { const busy = () => { const end = performance.now() + 50; while (performance.now() < end); requestAnimationFrame(busy); }; busy(); })()")?;
    let measured = frames::measure(v, 3)?;
    let of = |key: &str| measured[key].as_f64().unwrap_or(0.0);
    let rate = of("pictures") / of("seconds");
    ensure!(rate > 0.0 && rate < 21.0, "{rate:.1} pictures a second");
    ensure!(of("median") > 45.0, "{} ms between frames", of("median"));
    Ok(format!("{rate:.1} pictures a second"))
}
