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
    weigh(folder, LIMIT)
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

/// Prints what each file weighs, and refuses a page of more than `limit` bytes.
fn weigh(folder: &Path, limit: usize) -> Result<()> {
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
    println!("the page: {all} bytes with gzip, at most {limit}");
    if all > limit {
        bail!("the page has {all} bytes with gzip; at most {limit}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with these files, weighed.
    fn weighed(name: &str, files: &[(&str, &[u8])]) -> Result<()> {
        let folder = std::env::temp_dir().join(format!("byway-pack-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder)?;
        for (file, bytes) in files {
            fs::write(folder.join(file), bytes)?;
        }
        let result = weigh(&folder, LIMIT);
        fs::remove_dir_all(&folder)?;
        result
    }

    /// Bytes that no compression makes fewer.
    fn noise(n: usize) -> Vec<u8> {
        let mut x = 1_u64;
        let next = || {
            x = x
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (x >> 56) as u8
        };
        std::iter::repeat_with(next).take(n).collect()
    }

    #[test]
    fn a_page_that_is_too_heavy_is_refused() {
        weighed("zeros", &[("a", &vec![0; 5 * LIMIT])]).expect("it is light when compressed");
        weighed("light", &[("a", &noise(LIMIT / 2)), ("b", b"x")]).expect("half of the limit");
        let error = weighed("one", &[("a", &noise(LIMIT + 1))]).expect_err("too heavy");
        assert!(error.to_string().contains("at most 1000000"), "{error}");
        // All files count.
        let half = noise(LIMIT / 2 + 1);
        weighed("two", &[("a", &half), ("b", &half)]).expect_err("too heavy together");
    }
}
