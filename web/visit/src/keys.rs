//! Shortcuts of one character (WCAG 2.2, 2.1.4), and the way back from a change.

use crate::scenes;
use crate::visitor::Visitor;
use anyhow::{Result, ensure};
use serde_json::json;

/// All that keys change.
const STATE: &str = "[byway.toml(), byway.stop(), document.getElementById('play').textContent, document.getElementById('speed').value, document.getElementById('slow').checked, document.getElementById('words').open]";

/// The switch turns all shortcuts off, for the session of the browser, and on again.
pub fn switched_off(v: &Visitor) -> Result<String> {
    v.until_time(0.05)?;
    ensure!(
        v.number("document.querySelectorAll('[aria-keyshortcuts]').length")? >= 8.0,
        "shortcuts are not named"
    );
    // By keyboard, as everything.
    v.value("document.getElementById('keys-on').focus()")?;
    v.key(" ")?;
    v.value("document.activeElement.blur()")?;
    silent(v)?;
    v.reload()?;
    silent(v)?;
    v.click("#next")?;
    v.value("document.activeElement.blur()")?;
    silent(v)?;
    v.click("#keys-on")?;
    v.value("document.activeElement.blur()")?;
    v.key("2")?;
    v.until("keys act again", "!byway.view().paths[1].up")?;
    ensure!(
        v.text("document.querySelector('#paths button').textContent")?
            .contains("key 1"),
        "the button does not name its key"
    );
    v.click("#previous")?;
    ensure!(
        v.text("document.getElementById('stop-try').textContent")?
            .contains("(key 1)"),
        "the hint does not name its key"
    );
    v.value("document.activeElement.blur()")?;
    v.reload()?;
    ensure!(
        v.value("document.getElementById('keys-on').checked")? == json!(true),
        "they are off again"
    );
    // A field with the focus takes its keys.
    v.value("document.getElementById('seed').focus()")?;
    let before = v.value(STATE)?;
    for key in ["1", "n", "u"] {
        v.key(key)?;
    }
    ensure!(v.value(STATE)? == before, "a field's keys pass through");
    v.value("(() => { document.getElementById('seed').value = byway.view().seed; document.activeElement.blur(); })()")?;
    Ok(String::new())
}

fn silent(v: &Visitor) -> Result<()> {
    let before = v.value(STATE)?;
    for key in [
        "1", "2", "n", "p", "r", "+", "-", "u", "s", "?", " ", "e", ".",
    ] {
        v.key(key)?;
        ensure!(
            v.value(STATE)? == before,
            "the key \"{key}\" acts though keys are off"
        );
    }
    ensure!(
        v.number("document.querySelectorAll('[aria-keyshortcuts]').length")? == 0.0,
        "shortcuts are named that do not act"
    );
    ensure!(
        !v.text("document.getElementById('paths').textContent")?
            .contains("key"),
        "a button names its key"
    );
    ensure!(
        !v.text("document.getElementById('stop-try').textContent")?
            .contains("key"),
        "the hint names a key"
    );
    Ok(())
}

/// The last change can be undone, one after the other, and at the limit of events it is the way on.
pub fn undone(v: &Visitor) -> Result<String> {
    ensure!(
        v.value("document.getElementById('undo').disabled")? == json!(true),
        "there is something to undo"
    );
    let scene = v.text("byway.toml()")?;
    let mut before = vec![scene.clone()];
    for (time, key) in [(0.02, "1"), (0.03, "2"), (0.04, "1")] {
        v.until_time(time)?;
        v.key(key)?;
        before.push(v.text("byway.toml()")?);
    }
    before.pop();
    while let Some(text) = before.pop() {
        v.key("u")?;
        ensure!(v.text("byway.toml()")? == text, "undo leads elsewhere");
    }
    ensure!(
        v.value("document.getElementById('undo').disabled")? == json!(true),
        "there is more to undo"
    );
    v.same_as_the_command()?;
    // With one event less than there may be.
    let list: String = (0..398)
        .map(|i| {
            format!(
                "\n[[event]]\nat = \"{} ms\"\npath = 2\ndo = \"set\"\nloss = \"{} %\"\n",
                100_000 + i,
                i % 7
            )
        })
        .collect();
    v.open(&scenes::fragment(v, &format!("{scene}{list}"))?)?;
    v.until_time(0.02)?;
    v.click("#paths fieldset:nth-child(2) button")?;
    ensure!(
        v.number("byway.view().events.length")? == 400.0,
        "not 400 events"
    );
    v.until_time(0.04)?;
    v.click("#paths fieldset:nth-child(2) button")?;
    let said = v.text("document.getElementById('wrong').textContent")?;
    ensure!(
        said.contains("400 events") && said.contains("undo the last change"),
        "it says \"{said}\""
    );
    v.click("#undo")?;
    ensure!(
        v.value("document.getElementById('wrong').hidden")? == json!(true),
        "it still says what was wrong"
    );
    ensure!(
        v.number("byway.view().events.length")? == 399.0,
        "nothing is undone"
    );
    v.click("#paths fieldset:nth-child(1) button")?;
    ensure!(
        v.number("byway.view().events.length")? == 400.0,
        "there is no way on"
    );
    v.same_as_the_command()?;
    Ok(String::new())
}
