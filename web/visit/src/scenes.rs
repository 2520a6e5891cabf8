//! Scenes that a visitor gets from somebody else.

use crate::visitor::{Visitor, quoted};
use anyhow::{Result, ensure};
use std::ffi::OsStr;

/// The text of what is wrong with a scene.
const ERROR: &str =
    "document.getElementById('error').hidden ? '' : document.getElementById('error').textContent";

/// The fragment of an address with this scene, written by the browser and not by byway.
pub fn fragment(v: &Visitor, toml: &str) -> Result<String> {
    v.text(&format!(
        "(async () => {{ const packed = new Blob([{}]).stream().pipeThrough(new CompressionStream('deflate-raw')); \
         const bytes = new Uint8Array(await new Response(packed).arrayBuffer()); \
         return '#scene=1.' + btoa(Array.from(bytes, b => String.fromCharCode(b)).join('')).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', ''); }})()",
        quoted(toml)
    ))
}

/// The scene of the first stop with something else in place of `what`.
fn with(scene: &str, what: &str, other: &str) -> Result<String> {
    ensure!(scene.contains(what), "the first stop has no {what}");
    Ok(scene.replace(what, other))
}

/// `n` tables of one kind, each with a name and these lines.
fn many(what: &str, n: usize, lines: &str) -> String {
    let tables = (0..n).map(|i| format!("[[{what}]]\nname = \"{what} {i}\"\n{lines}\n"));
    tables.collect()
}

/// What cannot be is refused in the command's words; what is only far too large can be left.
pub fn hostile(v: &Visitor) -> Result<String> {
    let scene = v.text("BYWAY_TOUR[0].scene")?;
    let paths = |n| many("path", n, "rate = \"1 Mbit/s\"\ndelay = \"5 ms\"");
    let policies = |n| many("policy", n, "preset = \"rfc9260\"");
    let limit = |value| with(&scene, "limit = \"400 s\"", value);
    let rate = |value| with(&scene, "rate = \"10 Mbit/s\"", value);
    let seed = |value| with(&scene, "seed = 1", value);
    // Each with words that are said of this mistake alone.
    let refused = [
        (limit("limit = \"100000000 s\"")?, "at most 2400 h"),
        (limit("limit = \"nan s\"")?, "limit"),
        (
            with(&scene, "delay = \"45 ms\"", "delay = \"-45 ms\"")?,
            "\"-45 ms\"",
        ),
        (rate("rate = \"0 bit/s\"")?, "\"0 bit/s\""),
        (rate("rate = \"NaN Mbit/s\"")?, "\"NaN Mbit/s\""),
        (
            with(
                &scene,
                "size = \"8 MiB\"",
                "size = \"99999999999999999999 MiB\"",
            )?,
            "\"99999999999999999999 MiB\"",
        ),
        (seed("seed = -1")?, "seed"),
        (seed("seed = 1\nsurprise = 2")?, "surprise"),
        (with(&scene, "path = \"primary\"", "path = 99")?, "99"),
        (format!("{scene}\n{}", paths(7)), "9 paths; at most 8"),
        (
            format!("{scene}\n{}", policies(40)),
            "43 policies; at most 32",
        ),
        ("limit".to_owned(), "limit"),
        (String::new(), "path"),
    ];
    for (text, its_words) in &refused {
        let fragment = fragment(v, text)?;
        v.open(&fragment)?;
        let said = v.text(ERROR)?;
        let address = format!("{}{fragment}", v.url());
        let (_, words) = v.command(&[OsStr::new("run"), OsStr::new(&address)])?;
        ensure!(
            said.contains(its_words),
            "of \"{its_words}\" it says \"{said:.300}\": {text}"
        );
        ensure!(
            words.contains(said.trim_end()),
            "the page says \"{said:.300}\", the command \"{words:.300}\""
        );
        v.no_problems()?;
    }
    let wide = with(&scene, "10 Mbit/s", "1000000 Gbit/s")?;
    let fast = with(&with(&wide, "45 ms", "0 ms")?, "8 MiB", "4000000 GiB")?;
    let endless = with(&fast, "limit = \"400 s\"", "limit = \"8640000 s\"")?;
    let slow = with(&scene, "10 Mbit/s", "1 bit/s")?;
    let eight = format!("{fast}\n{}", paths(6));
    for text in [&fast, &endless, &slow, &eight] {
        v.open(&fragment(v, text)?)?;
        ensure!(v.text(ERROR)?.is_empty(), "{}", v.text(ERROR)?);
        v.value("(() => { const s = document.getElementById('speed'); s.value = 1; s.dispatchEvent(new Event('input')); })()")?;
        v.value("new Promise(r => setTimeout(r, 1000))")?;
        v.click("#play")?;
        v.click("#finish")?;
        v.click("#stops li:nth-child(3) button")?;
        v.until(
            "a stop of the tour",
            "byway.stop() === 3 && byway.now() > 0.2",
        )?;
        v.no_problems()?;
    }
    let name = "<img src=x onerror=alert(1)>";
    let title = format!("name = {}", quoted(name));
    v.open(&fragment(
        v,
        &with(&scene, "name = \"a path dies\"", &title)?,
    )?)?;
    let shown = v.text("document.getElementById('scene-name').textContent")?;
    ensure!(shown == name, "its name is shown as {shown}");
    Ok(format!("{} refused", refused.len()))
}

/// Three paths are drawn, cut and healed; of five policies any three are compared.
pub fn three_paths(v: &Visitor) -> Result<String> {
    let scene = v.text("BYWAY_TOUR[0].scene")?;
    let text = format!(
        "{scene}\n[[path]]\nname = \"third\"\nrate = \"5 Mbit/s\"\ndelay = \"30 ms\"\n\
         [[policy]]\nname = \"the fourth\"\npreset = \"rfc9260\"\n\
         [[policy]]\nname = \"the fifth\"\npreset = \"rfc2960\"\n"
    );
    v.open(&fragment(v, &text)?)?;
    let words = v.text("document.getElementById('scene-words').textContent")?;
    ensure!(words.contains("5 policies"), "it says \"{words}\"");
    v.choose(".lane:nth-child(1) select", "the fifth")?;
    v.choose(".lane:nth-child(3) select", "the fourth")?;
    v.until_time(0.6)?;
    for key in ["1", "2"] {
        v.key(key)?;
    }
    v.until(
        "only path 3 is whole",
        "byway.view().paths.map(p => p.up).join() === 'false,false,true'",
    )?;
    v.until(
        "new data goes to path 3",
        "byway.view().lanes[1].data_path === 2",
    )?;
    v.key("3")?;
    v.until("path 3 is cut", "!byway.view().paths[2].up")?;
    v.key("3")?;
    v.until("path 3 is healed", "byway.view().paths[2].up")?;
    let boxes = v.number("document.querySelectorAll('#paths fieldset').length")?;
    ensure!(boxes == 3.0, "{boxes} paths");
    v.same_as_the_command()?;
    Ok(String::new())
}
