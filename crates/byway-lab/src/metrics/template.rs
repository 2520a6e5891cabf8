//! Names with numbers in them: `path#_bytes`, `rate@#-#`.

/// The numbers in `name` in place of `#`; none if it is not a
/// name of this template.
pub(super) fn numbers(template: &str, name: &str) -> Option<Vec<f64>> {
    let mut parts = template.split('#');
    let mut rest = name.strip_prefix(parts.next()?)?;
    let mut numbers = Vec::new();
    for part in parts {
        let digits = |c: char| c.is_ascii_digit() || c == '.';
        let end = rest.find(|c| !digits(c)).unwrap_or(rest.len());
        let (number, after) = rest.split_at(end);
        numbers.push(number.parse().ok()?);
        rest = after.strip_prefix(part)?;
    }
    rest.is_empty().then_some(numbers)
}

/// `text` with each `#` replaced by the next number.
pub(super) fn fill(text: &str, numbers: &[f64]) -> String {
    let mut numbers = numbers.iter();
    let mut parts = text.split('#');
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        if let Some(number) = numbers.next() {
            filled.push_str(&number.to_string());
        }
        filled.push_str(part);
    }
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_where_the_template_has_them() {
        assert_eq!(numbers("path#_bytes", "path2_bytes"), Some(vec![2.0]));
        assert_eq!(numbers("rate@#-#", "rate@0.5-10"), Some(vec![0.5, 10.0]));
        assert_eq!(numbers("timeouts", "timeouts"), Some(vec![]));
        for (template, name) in [
            ("path#_bytes", "path_bytes"),
            ("path#_bytes", "path2_bytes_more"),
            ("rate@#-#", "rate@1"),
            ("timeouts", "timeouts_1"),
        ] {
            assert_eq!(numbers(template, name), None, "{name}");
        }
        assert_eq!(fill("of path # at #", &[2.0, 0.5]), "of path 2 at 0.5");
    }
}
