//! `byway reproduce` and its page, opened in headless Chromium as a reader would.
//!
//! The page is the one of a small request, or the file that BYWAY_PAGE names.
//! Without Chromium the page is only read; BYWAY_CHROMIUM=required forbids that.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Stands before anything else in the page.
const WATCH: &str = "<script>window.problems=[];\
    window.addEventListener('error',e=>window.problems.push(String(e.message)));</script>";

/// Looks at every figure, once all is laid out, and writes down what is wrong.
/// A figure is empty if a panel of it shows no line, band or ring in one of the
/// colours of lines.
const LOOK: &str = r##"<script>
const colours = ["#0072B2","#D55E00","#009E73","#CC79A7","#E69F00","#56B4E9"];
const figures = [...document.querySelectorAll("figure[data-figure]")];
for (const figure of figures) {
  const name = figure.dataset.figure;
  const panels = [...figure.querySelectorAll("svg")];
  if (panels.length === 0) window.problems.push(name + ": no panel");
  for (const panel of panels) {
    const drawn = [...panel.querySelectorAll("polyline,polygon,circle")].filter(e =>
      colours.includes(e.getAttribute("stroke")) || colours.includes(e.getAttribute("fill")));
    const seen = drawn.filter(e => { const b = e.getBBox(); return b.width + b.height > 1; });
    if (seen.length === 0) window.problems.push(name + ": an empty panel");
    const box = panel.getBoundingClientRect();
    if (box.width < 100 || box.height < 60) window.problems.push(name + ": a panel too small to see");
  }
  const spot = figure.querySelector(".spot");
  if (spot) {
    spot.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    const again = figure.querySelector(".again");
    const command = again.querySelector("code").textContent;
    if (again.hidden || !command.startsWith("byway reproduce " + name.replace(" figure ", "/")))
      window.problems.push(name + ": no command for a point: " + command);
  } else if (!figure.querySelector("svg text") || figure.querySelector("circle"))
    window.problems.push(name + ": no point to click");
  const link = figure.querySelector("a[download]");
  const lines = link ? decodeURIComponent(link.href.split(",").slice(1).join(",")).trim().split("\n") : [];
  if (lines.length < 2) window.problems.push(name + ": no data to download");
}
if (document.documentElement.scrollWidth > window.innerWidth + 1)
  window.problems.push("the page is wider than the window");
for (const link of document.querySelectorAll("a[href^='#']"))
  if (!document.getElementById(link.getAttribute("href").slice(1)))
    window.problems.push("a link to nowhere: " + link.getAttribute("href"));
const said = document.createElement("pre");
said.id = "checked";
said.textContent = "figures " + figures.length + "; problems " + JSON.stringify(window.problems);
document.body.append(said);
</script>"##;

fn page(dir: &Path) -> PathBuf {
    if let Some(file) = std::env::var_os("BYWAY_PAGE") {
        return file.into();
    }
    let done = Command::new(env!("CARGO_BIN_EXE_byway"))
        .args(["reproduce", "cortes-2008", "A1", "M1", "M2", "--out"])
        .arg(dir)
        .output()
        .expect("byway runs");
    let text = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success(), "{text}\n{done:?}");
    assert!(
        text.contains(" claims ") && text.contains(" reproduced"),
        "{text}"
    );
    let table = text.split("\nwritten: ").next().unwrap_or_default();
    assert!(table.lines().all(|l| l.chars().count() <= 80), "{text}");
    dir.join("reproduce.html")
}

fn chromium() -> Option<&'static str> {
    ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .find(|name| {
            let asked = Command::new(name).arg("--version").output();
            asked.is_ok_and(|o| o.status.success())
        })
}

#[test]
fn the_page_opens_without_errors_and_no_figure_is_empty() {
    let dir = std::env::temp_dir().join(format!("byway-reproduce-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a folder for the test");
    let html = std::fs::read_to_string(page(&dir)).expect("the page");
    for outside in ["src=\"http", "href=\"http", "@import", "url("] {
        assert!(!html.contains(outside), "the page needs {outside}");
    }
    let Some(browser) = chromium() else {
        assert!(
            std::env::var_os("BYWAY_CHROMIUM").is_none(),
            "there is no Chromium"
        );
        eprintln!("no Chromium: the page was not opened");
        return;
    };
    let watched = html
        .replacen("<head>", &format!("<head>{WATCH}"), 1)
        .replacen("</body>", &format!("{LOOK}</body>"), 1);
    let file = dir.join("watched.html");
    std::fs::write(&file, watched).expect("a page to open");
    for width in [1280, 500] {
        let opened = Command::new(browser)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"])
            .arg(format!("--window-size={width},900"))
            .arg(format!("--user-data-dir={}", dir.join("profile").display()))
            .arg(format!("file://{}", file.display()))
            .output()
            .expect("the browser runs");
        let dom = String::from_utf8_lossy(&opened.stdout);
        let said = dom
            .split_once("<pre id=\"checked\">")
            .and_then(|(_, rest)| rest.split_once("</pre>"))
            .map_or("the page's script did not run", |(said, _)| said);
        assert!(said.ends_with("problems []"), "at {width} px: {said}");
        assert!(!said.starts_with("figures 0;"), "at {width} px: {said}");
    }
    // What is left of the test is of no use to anybody.
    let _ = std::fs::remove_dir_all(&dir);
}
