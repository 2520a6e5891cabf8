//! `byway-web-pack FILE.wasm REPOSITORY FOLDER`: makes the folder of the web page.
//!
//! The page opens from a folder without a server. There a browser loads scripts, and nothing else. So the
//! program is a script too: WebAssembly, compressed, in base64. `wasm-bindgen-cli-support` is the library
//! of the command `wasm-bindgen`, which also downloads browsers and needs three times as many crates.

mod tour;

use anyhow::{Context, Result, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder};
use std::env::args_os;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use wasm_bindgen_cli_support::Bindgen;

/// Most bytes that loading the page may take, compressed.
const LIMIT: usize = 1_000_000;

fn main() -> Result<()> {
    let args: Vec<PathBuf> = args_os().skip(1).map(PathBuf::from).collect();
    let [module, repository, folder] = args.as_slice() else {
        bail!("usage: byway-web-pack FILE.wasm REPOSITORY FOLDER");
    };
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    program(module, folder)?;
    write(&folder.join("tour.js"), &tour::script(repository)?)?;
    let page = repository.join("web/page");
    for entry in fs::read_dir(&page).with_context(|| format!("cannot read {}", page.display()))? {
        let file = entry?.path();
        let name = file.file_name().context("a file has a name")?;
        fs::copy(&file, folder.join(name))
            .with_context(|| format!("cannot copy {}", file.display()))?;
    }
    weigh(folder)
}

/// The program and the script that calls it.
fn program(module: &Path, folder: &Path) -> Result<()> {
    Bindgen::new()
        .input_path(module)
        .out_name("byway")
        .no_modules(true)?
        .typescript(false)
        .generate(folder)
        .with_context(|| format!("cannot bind {}", module.display()))?;
    let bound = folder.join("byway_bg.wasm");
    let bytes = fs::read(&bound).with_context(|| format!("cannot read {}", bound.display()))?;
    fs::remove_file(&bound)?;
    let mut packer = DeflateEncoder::new(Vec::new(), Compression::best());
    packer.write_all(&bytes)?;
    let packed = STANDARD.encode(packer.finish()?);
    write(
        &folder.join("program.js"),
        &format!("window.BYWAY_PROGRAM = \"{packed}\";\n"),
    )
}

fn write(file: &Path, text: &str) -> Result<()> {
    fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}

/// Prints what each file weighs, and refuses a page that is too heavy.
fn weigh(folder: &Path) -> Result<()> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)?
        .map(|entry| entry.map(|e| e.path()))
        .collect::<Result<_, _>>()?;
    files.sort();
    let mut all = 0;
    for file in files {
        let bytes = fs::read(&file)?;
        let mut packer = GzEncoder::new(Vec::new(), Compression::best());
        packer.write_all(&bytes)?;
        let packed = packer.finish()?.len();
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        println!("{name:16} {:8} bytes, {packed:7} with gzip", bytes.len());
        all += packed;
    }
    println!("the page: {all} bytes with gzip, at most {LIMIT}");
    if all > LIMIT {
        bail!("the page has {all} bytes with gzip; at most {LIMIT}");
    }
    Ok(())
}
