//! Units of systemd by their control group.

use std::path::Path;

use super::groups::{Group, GroupError, Hierarchy};
use super::said;

/// Units that have processes (systemd.unit(5)).
const KINDS: [&str; 6] = [".service", ".scope", ".slice", ".socket", ".mount", ".swap"];

#[derive(Debug, thiserror::Error)]
pub enum UnitError {
    #[error(transparent)]
    Group(#[from] GroupError),
    #[error(
        "unit {unit} has no cgroup: it is not running, or there is no such unit; `systemctl status {unit}` \
         tells which"
    )]
    NotFound { unit: String },
    #[error("several units are named {unit}; pass the cgroup of one with --cgroup: {}", among.join(", "))]
    Ambiguous { unit: String, among: Vec<String> },
}

impl Hierarchy {
    /// The control group of a running unit, a service unless its name says another kind.
    pub fn unit(&self, name: &str) -> Result<Group, UnitError> {
        let unit = full(name);
        // systemd itself, where it runs (sd_booted(3)).
        let told = Path::new("/run/systemd/system").is_dir();
        let told = told.then(|| said("systemctl", &["show", "-p", "ControlGroup", "--", &unit]));
        let told = told.flatten();
        let path = told
            .as_deref()
            .and_then(|text| text.strip_prefix("ControlGroup="));
        if let Some(path) = path.filter(|path| path.starts_with('/'))
            && let Ok(group) = self.group(Path::new(path))
        {
            return Ok(group);
        }
        self.unit_by_name(unit)
    }

    fn unit_by_name(&self, unit: String) -> Result<Group, UnitError> {
        let mut found = self.find(|name| name == unit.as_str());
        match found.len() {
            1 => found.pop().ok_or(UnitError::NotFound { unit }),
            0 => match self.find_old(|name| name == unit.as_str()) {
                Some(old) => Err(GroupError::Version1 {
                    path: old.to_string_lossy().into_owned(),
                }
                .into()),
                None => Err(UnitError::NotFound { unit }),
            },
            _ => Err(UnitError::Ambiguous {
                unit,
                among: found.into_iter().map(|group| group.path).collect(),
            }),
        }
    }
}

fn full(name: &str) -> String {
    if KINDS.iter().any(|kind| name.ends_with(kind)) {
        name.to_owned()
    } else {
        format!("{name}.service")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_unit_is_a_service_unless_it_says_otherwise() {
        assert_eq!(full("ssh"), "ssh.service");
        assert_eq!(full("system.slice"), "system.slice");
        assert_eq!(full("postgresql@16-main"), "postgresql@16-main.service");
    }

    #[test]
    fn a_unit_is_found_by_its_directory() {
        let place = tempfile::tempdir().unwrap();
        let hierarchy = Hierarchy::at_point(place.path());
        for path in [
            "system.slice/a.service",
            "user.slice/b.service",
            "system.slice/b.service",
        ] {
            fs::create_dir_all(place.path().join(path)).unwrap();
        }
        let found = |name: &str| hierarchy.unit_by_name(full(name));
        assert_eq!(found("a").unwrap().path, "/system.slice/a.service");
        let several = found("b").unwrap_err().to_string();
        assert!(
            several.contains("/system.slice/b.service, /user.slice/b.service"),
            "{several}"
        );
        let none = found("c").unwrap_err().to_string();
        assert!(none.contains("`systemctl status c.service`"), "{none}");
    }
}
