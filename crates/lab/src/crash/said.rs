//! The message of a checker among all that it said.

/// Begins the text of an exception that nobody caught: the exception itself comes last
/// (<https://docs.python.org/3/library/traceback.html>).
const TRACEBACK: &str = "Traceback (most recent call last):";

/// The first line that is not empty; of an exception of Python the line that names it.
pub(super) fn message(said: &str) -> Option<&str> {
    let first = said.lines().map(str::trim).find(|line| !line.is_empty())?;
    if first != TRACEBACK {
        return Some(first);
    }
    Some(exception(said).unwrap_or(first))
}

/// Calls are indented. An exception during the handling of another comes after it.
fn exception(said: &str) -> Option<&str> {
    let (_, last) = said.rsplit_once(TRACEBACK)?;
    let mut lines = last.lines().map(str::trim_end);
    lines.find(|line| !line.is_empty() && !line.starts_with([' ', '\t']))
}

#[cfg(test)]
mod tests {
    use super::message;

    #[test]
    fn the_first_line_that_says_something_is_the_message() {
        assert_eq!(message("\n  torn \nmore\n"), Some("torn"));
        assert_eq!(message(" \n\n"), None);
    }

    #[test]
    fn of_an_exception_of_python_its_name_is_the_message() {
        let said = "Traceback (most recent call last):\n  File \"check\", line 3, in <module>\n    \
                    json.load(file)\nValueError: no value:\nline 1\n";
        assert_eq!(message(said), Some("ValueError: no value:"));
        let both = format!(
            "{said}\nDuring handling of the above exception, another exception occurred:\n\n\
             Traceback (most recent call last):\n  File \"check\", line 5\nSystemError: cut\n"
        );
        assert_eq!(message(&both), Some("SystemError: cut"));
        let cut = "Traceback (most recent call last):\n  File \"check\"";
        assert_eq!(message(cut), Some("Traceback (most recent call last):"));
        let after = format!("torn\n{said}");
        assert_eq!(message(&after), Some("torn"));
    }
}
