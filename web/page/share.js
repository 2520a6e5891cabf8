// What leaves the page: addresses, commands and files; and files that come in.
"use strict";

// Characters of an address that byway takes (crates/byway-lab/src/address.rs).
const LONGEST = 65536;
const TOO_LONG = "The scene is too long for an address: save it as a file.";
const quoted = text => "'" + text.replaceAll("'", "'\\''") + "'";

// What stands in the address after the page's own; none if the scene is too long for that.
function fragment() { const text = scene.fragment(); return text.length <= LONGEST ? text : null; }

// The address that opens the scene, or none.
function here() { const text = fragment(); return text && location.href.split("#")[0] + text; }

function command() { const address = here(); return `byway run ${address ? quoted(address) : fileName() + ".toml"}`; }

function copyAddress() { const address = here(); if (address) copy(address, "the address"); else tell("wrong", TOO_LONG); }

// Opens a dialog to save `text`.
function save(name, type, text) {
  const link = make("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

async function copy(text, what) {
  try { await navigator.clipboard.writeText(text); } catch {
    // Without leave for the clipboard, as in a page from a folder.
    const box = make("textarea", { value: text });
    document.body.append(box);
    box.select();
    document.execCommand("copy");
    box.remove();
  }
  say(`${what} is copied`);
}

const fileName = () => (view.name.replace(/[^A-Za-z0-9]+/g, "-").replace(/^-|-$/g, "") || "scene").toLowerCase();

async function openFile() {
  const file = $("open").files[0];
  if (!file) return;
  try {
    if (file.size > 1 << 18) throw `${file.name} has ${file.size} bytes; a scene has at most ${1 << 18}`;
    show(new wasm_bindgen.Scene(file.name, await file.text()), -1);
    besideTheTour(); changed = true; address();
    say(`${file.name} is opened`);
    $("scene-name").scrollIntoView({ block: "center" });
  } catch (e) {
    tell("error", words(e));
    $("error").scrollIntoView({ block: "center" });
  }
  $("open").value = "";
}
