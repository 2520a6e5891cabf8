//! What no visitor should do.

use crate::visitor::{Visitor, quoted};
use anyhow::{Result, ensure};
use std::ffi::OsStr;

/// The text of what is wrong.
const WRONG: &str =
    "document.getElementById('wrong').hidden ? '' : document.getElementById('wrong').textContent";
const ERROR: &str =
    "document.getElementById('error').hidden ? '' : document.getElementById('error').textContent";

/// Wrong values are refused in the words of the command, and change nothing.
pub fn values(v: &Visitor) -> Result<String> {
    v.until_time(0.2)?;
    v.click("#play")?;
    let before = v.text("byway.toml()")?;
    let scene = v.text("BYWAY_TOUR[0].scene")?;
    for (key, value) in [
        ("rate", "0 bit/s"),
        ("rate", "1e999 Mbit/s"),
        ("rate", "fast"),
        ("delay", "99999999999999999999 s"),
        ("delay", "45"),
        ("loss", "101 %"),
        ("loss", "NaN %"),
        ("loss", "<img src=x onerror=alert(1)>"),
    ] {
        v.fill(
            &format!("#paths fieldset:nth-child(1) input[type=text][data-key={key}]"),
            value,
        )?;
        let said = v.text(WRONG)?;
        ensure!(!said.is_empty(), "{key} = {value} is taken");
        let mine = format!(
            "{scene}\n[[event]]\nat = \"1 s\"\npath = 1\ndo = \"set\"\n{key} = {}\n",
            quoted(value)
        );
        let (_, words) = of_command(v, &mine)?;
        for line in said.lines() {
            ensure!(
                words.contains(line),
                "{key} = {value}: the page says \"{line}\", the command \"{words}\""
            );
        }
        ensure!(
            v.text("byway.toml()")? == before,
            "{key} = {value} changes the scene"
        );
    }
    v.fill("#seed", "-1")?;
    ensure!(
        v.text(WRONG)?.contains("whole number"),
        "the seed -1 is taken"
    );
    // A path without loss or with all: 100 % is a loss that can be.
    v.fill(
        "#paths fieldset:nth-child(1) input[type=text][data-key=loss]",
        "100 %",
    )?;
    ensure!(v.text(WRONG)?.is_empty(), "100 % is refused");
    v.same_as_the_command()?;
    Ok(String::new())
}

/// What the command says of the scenario `text`.
fn of_command(v: &Visitor, text: &str) -> Result<(String, String)> {
    let file = v.work.join("mine.toml");
    std::fs::write(&file, text)?;
    let said = v.command(&[OsStr::new("run"), file.as_os_str(), OsStr::new("--json")]);
    std::fs::remove_file(&file)?;
    said
}

/// Fragments that hold no scene.
pub fn fragments(v: &Visitor) -> Result<String> {
    let good = v.text("byway.fragment()")?;
    let long = format!("#scene=1.{}", "A".repeat(70_000));
    let cut = good[..good.len() / 2].to_owned();
    for fragment in [
        "#scene=",
        "#scene=1.",
        "#scene=2.abc",
        "#scene=1.!!!!",
        "#scene=1.AAAA",
        "#scene=%3Cscript%3Ealert(1)%3C/script%3E",
        "#scene=1.%F0%9F%98%80",
        "#scene=__proto__.x",
        cut.as_str(),
        long.as_str(),
    ] {
        v.open(fragment)?;
        let said = v.text(ERROR)?;
        let (_, words) = v.command(&[
            OsStr::new("run"),
            OsStr::new(&format!("{}{fragment}", v.url())),
        ])?;
        ensure!(
            !said.is_empty() && words.contains(said.trim_end()),
            "{fragment:.40}: the page says \"{said:.200}\", the command \"{words:.200}\""
        );
        ensure!(
            v.number("byway.stop()")? == 1.0,
            "{fragment:.40}: nothing is shown"
        );
        v.no_problems()?;
    }
    // A scene that is one, but wrong, and one of another program.
    v.open(&good)?;
    ensure!(v.text(ERROR)?.is_empty(), "a good address is refused");
    v.until_time(0.2)?;
    v.value("location.hash = '#scene=1.AAAA'")?;
    v.until(
        "the mistake is told",
        "!document.getElementById('error').hidden",
    )?;
    let now = v.number("byway.now()")?;
    v.until("the scene goes on", &format!("byway.now() > {now}"))?;
    // What was wrong is gone with the next address, though that names no stop.
    v.value("location.hash = '#stop=11'")?;
    v.until(
        "the mistake is forgotten",
        "document.getElementById('error').hidden && location.hash === byway.fragment()",
    )?;
    Ok(String::new())
}

/// Nothing can pass any more.
pub fn all_cut(v: &Visitor) -> Result<String> {
    v.until_time(0.5)?;
    v.key("1")?;
    v.key("2")?;
    v.until("both are cut", "byway.view().paths.every(p => !p.up)")?;
    v.same_as_the_command()?;
    let said = v.text("document.querySelector('.lane .end').textContent")?;
    ensure!(
        said.contains("the association is lost") && said.contains("Restart"),
        "it says \"{said}\""
    );
    v.click("#reset")?;
    v.until("it begins again", "byway.now() < 5 && !byway.over()")?;
    v.until_time(0.5)?;
    ensure!(
        v.value("byway.view().paths.every(p => p.up)")? == true,
        "reset keeps the cuts"
    );
    Ok(String::new())
}

/// Cuts, sliders, stops and seeds, faster than anybody can.
pub fn clicks(v: &Visitor) -> Result<String> {
    v.until_time(0.3)?;
    v.value("(() => { const cut = () => document.querySelector('#paths button').click(); for (let i = 0; i < 100; i++) cut(); })()")?;
    v.value("(async () => { for (let i = 0; i < 150; i++) { document.querySelector('#paths fieldset:nth-child(2) button').click(); await new Promise(requestAnimationFrame); } })()")?;
    v.value("(() => { for (const r of document.querySelectorAll('#paths input[type=range]')) for (const x of [0, 100, 37]) { r.value = x; r.dispatchEvent(new Event('input')); r.dispatchEvent(new Event('change')); } })()")?;
    v.until("it goes on", "document.getElementById('computing').hidden")?;
    v.same_as_the_command()?;
    v.value("(() => { for (let i = 0; i < 60; i++) document.querySelectorAll('#stops button')[i % 10].click(); for (const id of ['play', 'restart', 'finish', 'reset', 'step', 'finish', 'play', 'step']) document.getElementById(id).click(); })()")?;
    v.same_as_the_command()?;
    Ok(String::new())
}

/// A scene of many cuts, kept from [`clicks`]: what the receiver holds takes more memory than its bytes, so
/// the memory decides on `a_rwnd`. It counts alike with words of 32 bits and of 64.
pub fn window(v: &Visitor) -> Result<String> {
    let scene = include_str!("../scenes/many-cuts.toml");
    v.value(&open_file(scene))?;
    v.until("the file is opened", "byway.toml().length > 7000")?;
    v.same_as_the_command()?;
    Ok(String::new())
}

/// Opens a file with this text.
fn open_file(scene: &str) -> String {
    format!(
        "(() => {{ const list = new DataTransfer(); list.items.add(new File([{}], 'scene.toml')); const open = document.getElementById('open'); open.files = list.files; open.dispatchEvent(new Event('change')); }})()",
        quoted(scene)
    )
}

/// The address bar has the scene with all that was done, so a reload loses nothing.
pub fn reload(v: &Visitor) -> Result<String> {
    v.until_time(0.4)?;
    v.key("2")?;
    v.until("path 2 is cut", "!byway.view().paths[1].up")?;
    v.until(
        "the address is written",
        "location.hash === byway.fragment()",
    )?;
    let toml = v.text("byway.toml()")?;
    v.reload()?;
    ensure!(v.text("byway.toml()")? == toml, "what was done is gone");
    v.until_time(0.2)?;
    v.same_as_the_command().map(|()| String::new())
}

/// A long scene at the highest speed: the time goes on, and the page answers.
pub fn long(v: &Visitor) -> Result<String> {
    let scene = v
        .text("BYWAY_TOUR[0].scene")?
        .replace("8 MiB", "4 GB")
        .replace("10 Mbit/s", "200 Mbit/s");
    v.value(&open_file(&scene))?;
    v.until("the file is opened", "byway.view().total_bytes === 4e9")?;
    v.value("(() => { const s = document.getElementById('speed'); s.value = 1; s.dispatchEvent(new Event('input')); })()")?;
    v.until_time(3.0)?;
    v.key("1")?;
    let now = v.number("byway.now()")?;
    v.until(
        "all is computed again, and goes on",
        &format!("byway.now() > {now}"),
    )?;
    let frames = v.number("byway.frames()")?;
    v.until(
        "frames are drawn",
        &format!("byway.frames() > {frames} + 5"),
    )?;
    Ok(String::new())
}

/// WebAssembly that traps, as without memory: it is told with what to do, and nothing goes on failing.
pub fn failure(v: &Visitor) -> Result<String> {
    v.until_time(0.2)?;
    v.value("(() => { wasm_bindgen.Scene.prototype.advance = () => { throw new WebAssembly.RuntimeError('unreachable'); }; })()")?;
    v.until(
        "the failure is told",
        "!document.getElementById('error').hidden",
    )?;
    let said = v.text(ERROR)?;
    ensure!(
        said.contains("Load the page again") && said.contains("byway run '"),
        "it says \"{said}\""
    );
    v.key("1")?;
    v.key("n")?;
    v.value("new Promise(r => setTimeout(r, 200))")?;
    v.no_problems()?;
    v.reload()?;
    v.until_time(0.2)?;
    Ok(String::new())
}

/// Stops that are opened and run again and again need no more memory of the program.
pub fn memory(v: &Visitor) -> Result<String> {
    let round = "(async () => { for (const stop of document.querySelectorAll('#stops button')) { stop.click(); const s = document.getElementById('speed'); s.value = 1; s.dispatchEvent(new Event('input')); await new Promise(r => setTimeout(r, 150)); } return byway.memory() / 1e6; })()";
    let mut rounds = Vec::new();
    for _ in 0..6 {
        rounds.push(v.number(round)?);
    }
    ensure!(
        rounds[5] <= rounds[2] * 1.3 + 1.0,
        "megabytes after each round: {rounds:.1?}"
    );
    Ok(format!("{:.1} MB, then {:.1} MB", rounds[0], rounds[5]))
}
