//! Checks that no output file is also an input, or is written twice.

use std::path::Path;

use crate::error::Failure;
use iostrata_lab::place::{self, Found, Identity};

/// A file named on the command line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Named<'a> {
    /// The option that names it; `None` for an argument, which is read.
    option: Option<&'static str>,
    path: &'a Path,
}

impl<'a> Named<'a> {
    pub(crate) fn input(path: &'a Path) -> Self {
        Self { option: None, path }
    }

    pub(crate) fn output(option: &'static str, path: Option<&'a Path>) -> Option<Self> {
        path.map(|path| Self {
            option: Some(option),
            path,
        })
    }

    /// Standard output and descriptors are not files.
    fn identity(self) -> Option<Identity> {
        if self.path.as_os_str() == "-" {
            return None;
        }
        match place::find(self.path) {
            Ok(Found::Name(place)) => place.identity().ok(),
            // Opening it will report what is wrong with it.
            Ok(Found::Directory(_) | Found::Descriptor(_)) | Err(_) => None,
        }
    }
}

/// Refuses a file that two options write, or that one reads and another writes, by whatever
/// names. Called before any work.
pub(crate) fn check<'a>(named: impl IntoIterator<Item = Named<'a>>) -> Result<(), Failure> {
    let mut known: Vec<(Named<'_>, Identity)> = Vec::new();
    let mut output: Option<&'static str> = None;
    for one in named {
        if let Some(option) = one.option.filter(|_| one.path.as_os_str() == "-") {
            if let Some(earlier) = output.replace(option) {
                return Err(Failure::Usage(format!(
                    "{earlier} - and {option} - both write to standard output; name a file for one \
                     of them"
                )));
            }
            continue;
        }
        let Some(identity) = one.identity() else {
            continue;
        };
        let earlier = known
            .iter()
            .find(|(earlier, theirs)| *theirs == identity && is_clash(*earlier, one));
        if let Some((earlier, _)) = earlier {
            return Err(refused(*earlier, one));
        }
        known.push((one, identity));
    }
    Ok(())
}

/// A file may be read twice, and devices and pipes may be written twice.
fn is_clash(one: Named<'_>, other: Named<'_>) -> bool {
    let is_file = |path: &Path| {
        path.metadata()
            .map_or(true, |metadata| metadata.is_file() || metadata.is_dir())
    };
    (one.option.is_some() || other.option.is_some()) && is_file(one.path)
}

fn refused(one: Named<'_>, other: Named<'_>) -> Failure {
    Failure::Usage(match (one.option, other.option) {
        (Some(first), Some(second)) => format!(
            "{first} and {second} both name {}; name a different file for each",
            other.path.display()
        ),
        (option, other_option) => {
            let (option, read) = match option {
                Some(option) => (option, other.path),
                None => (other_option.unwrap_or_default(), one.path),
            };
            format!(
                "{option} would overwrite {}, which is an input file; name another file",
                read.display()
            )
        }
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn output<'a>(option: &'static str, path: &'a Path) -> Named<'a> {
        Named::output(option, Some(path)).unwrap()
    }

    fn message(named: &[Named<'_>]) -> Option<String> {
        match check(named.iter().copied()) {
            Err(Failure::Usage(message)) => Some(message),
            Err(other) => panic!("{other:?}"),
            Ok(()) => None,
        }
    }

    #[test]
    fn one_file_by_two_names_is_one_file() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("input"), "").unwrap();
        fs::hard_link(at("input"), at("linked")).unwrap();
        std::os::unix::fs::symlink("input", at("link")).unwrap();
        let (input, new) = (at("input"), at("new"));
        let read = Named::input(&input);
        for name in ["input", "linked", "link"] {
            let path = at(name);
            let refused = message(&[read, output("--json", &path)]).unwrap();
            assert!(refused.starts_with("--json would overwrite "), "{refused}");
        }
        let dotted = at("./new");
        let refused = message(&[output("--json", &new), output("--html", &dotted)]).unwrap();
        assert!(refused.starts_with("--json and --html both name "));
        assert_eq!(message(&[read, read, output("--json", &new)]), None);
        let null = Path::new("/dev/null");
        let twice = [output("--json", null), output("--html", null)];
        assert_eq!(message(&twice), None);
    }
}
