//! Names and paths that a peer may give to files: they stay in the receiver's folder, and are what they
//! look like.

use byway::text::{hides, shown};

/// Longest name, as on common file systems, less some room.
pub(super) const MAX_NAME: usize = 250;
/// Folders in each other, the entry itself included: a receiver opens each of them for each file.
pub(super) const MAX_DEPTH: usize = 64;
/// Bytes of a path below a folder.
pub(super) const MAX_PATH: usize = 4000;

/// Refuses names that would leave the receiver's folder, look like others, or that a file system
/// cannot hold. One that begins with a dot is the receiver's to refuse ([`check_dot`]).
///
/// # Errors
/// What is wrong with it.
pub(super) fn check_name(name: &str) -> Result<(), String> {
    let shown = shown(name);
    if name.is_empty() {
        return Err("a file without a name".to_owned());
    }
    if name.len() > MAX_NAME {
        return Err(format!(
            "a file name of {} bytes; at most {MAX_NAME}",
            name.len()
        ));
    }
    if name.contains(['/', '\\', '\0']) || name.chars().any(char::is_control) {
        return Err(format!(
            "the file name \"{shown}\"; it must not contain /, \\ or control characters"
        ));
    }
    // There a colon names a drive, or a part of another file.
    if cfg!(windows) && name.contains(':') {
        return Err(format!(
            "the file name \"{shown}\"; this system has no names with :"
        ));
    }
    if name.chars().any(hides) {
        return Err(format!(
            "the file name \"{shown}\"; it must not contain invisible characters or marks that change the direction of writing"
        ));
    }
    if name.ends_with(".part") || name.ends_with('.') {
        return Err(format!(
            "the file name \"{shown}\"; it must not end with a dot or with .part"
        ));
    }
    // White_Space of Unicode: a name must not be, begin or end with what cannot be seen.
    if name.trim() != name {
        return Err(format!(
            "the file name \"{shown}\"; it must not begin or end with a space"
        ));
    }
    Ok(())
}

/// Refuses a name that begins with a dot, unless this receiver takes such files: programs obey some
/// of them (`.bashrc`), and `ls` does not show them.
///
/// # Errors
/// What is wrong with it.
pub(super) fn check_dot(name: &str, takes_dot_files: bool) -> Result<(), String> {
    match name.starts_with('.') && !takes_dot_files {
        true => Err(format!(
            "the file name \"{}\" begins with a dot; this receiver takes such files with --dot-files only",
            shown(name)
        )),
        false => Ok(()),
    }
}

/// Refuses paths that would leave the folder, and those that no name of a file may be.
///
/// # Errors
/// What is wrong with it.
pub(super) fn check_path(path: &str) -> Result<(), String> {
    if path.len() > MAX_PATH {
        return Err(format!(
            "a path of {} bytes; at most {MAX_PATH}",
            path.len()
        ));
    }
    let depth = path.split('/').count();
    if depth > MAX_DEPTH {
        return Err(format!("a path of {depth} names; at most {MAX_DEPTH}"));
    }
    path.split('/').try_for_each(check_name)
}

/// Refuses links that lead out of the folder, whatever other links are in it: they are relative, and
/// `..` is at their front only and stays below the folder.
///
/// # Errors
/// What is wrong with it.
pub(super) fn check_target(path: &str, target: &str) -> Result<(), String> {
    let wrong = |why: &str| {
        format!(
            "the link \"{}\" -> \"{}\", {why}",
            shown(path),
            shown(target)
        )
    };
    if target.is_empty() || target.len() > MAX_PATH {
        return Err(wrong("whose target has no bytes or too many"));
    }
    if target.starts_with('/') {
        return Err(wrong("whose target is absolute"));
    }
    // The folders in which the link is, without the outermost one.
    let depth = path.split('/').count() - 1;
    let (mut up, mut down) = (0, false);
    for part in target.split('/').filter(|part| !matches!(*part, "" | ".")) {
        if part != ".." {
            down = true;
            check_name(part).map_err(|e| wrong(&format!("whose target has {e}")))?;
            continue;
        }
        up += 1;
        if down || up > depth {
            return Err(wrong("which may lead out of the folder"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_leaves_the_folder() {
        for bad in [
            "",
            "..",
            "../a",
            "a/b",
            "a\\b",
            "/etc/passwd",
            ".",
            "...",
            ".a/b",
            "a\n",
            "x.part",
            "a.",
            "\u{200b}",
            "fdp.\u{202e}exe",
            "a\u{2066}b",
            "\u{fe0f}",
            "evil.txt\u{e0101}",
            "\u{1d173}",
            "\u{2800}",
            "\u{a0}",
            "\u{2003}",
            "\u{3000}a",
            "a ",
            &"n".repeat(251),
        ] {
            assert!(check_name(bad).is_err(), "{bad:?}");
        }
        let hidden = check_name("fdp.\u{202e}exe").unwrap_err();
        assert!(hidden.contains("\"fdp.\\u{202e}exe\""), "{hidden}");
        for good in [
            "a",
            "a.tar.gz",
            "two words.txt",
            "größe",
            ".bashrc",
            "12:30.log",
        ] {
            assert!(check_name(good).is_ok(), "{good:?}");
        }
        assert!(
            check_dot(".bashrc", false)
                .unwrap_err()
                .contains("--dot-files")
        );
        assert!(check_dot(".bashrc", true).is_ok() && check_dot("a.b", false).is_ok());
    }

    #[test]
    fn no_link_leads_out() {
        for (path, bad) in [
            ("a", ".."),
            ("a", "../x"),
            ("a", "/etc/passwd"),
            ("a", ""),
            ("d/a", "../../x"),
            // Through another link it would lead elsewhere.
            ("d/e/a", "x/.."),
            ("d/e/a", "x/../../y"),
            ("a", "x\u{202e}y"),
        ] {
            assert!(check_target(path, bad).is_err(), "{path} -> {bad}");
        }
        for (path, good) in [("a", "b"), ("a", "./b/c"), ("d/a", "../x"), ("d/a", "..")] {
            assert!(check_target(path, good).is_ok(), "{path} -> {good}");
        }
    }
}
