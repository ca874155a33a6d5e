//! Containers by their control group, which engines name after the ID.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use iostrata_core::top::container_id;

use super::groups::{Group, GroupError, Hierarchy};
use super::said;

#[derive(Debug, thiserror::Error)]
pub enum ContainerError {
    #[error(transparent)]
    Group(#[from] GroupError),
    #[error(
        "no running container {name}: no cgroup is named after such an ID, and neither Docker nor Podman \
         knows the name; `docker ps` or `podman ps` shows those that run, or pass its cgroup with --cgroup"
    )]
    NotFound { name: String },
    #[error("container {name} ({id}) has no cgroup: it does not run; start it first")]
    NotRunning { name: String, id: String },
    #[error("container {name} may be one of {}; type more of the ID", among.join(", "))]
    Ambiguous { name: String, among: Vec<String> },
}

impl Hierarchy {
    /// The control group of a running container: by its name, its ID, or the beginning of that.
    pub fn container(&self, name: &str) -> Result<Group, ContainerError> {
        let by_name = listed(Path::new("/"), name);
        if let Some(id) = by_name.as_deref()
            && let Some(group) = self.of_id(name, id)?
        {
            return Ok(group);
        }
        if is_hexadecimal(name)
            && let Some(group) = self.of_id(name, name)?
        {
            return Ok(group);
        }
        match by_name.or_else(|| asked(name)) {
            Some(id) => self
                .of_id(name, &id)?
                .ok_or_else(|| ContainerError::NotRunning {
                    name: name.to_owned(),
                    id: short(&id),
                }),
            None => Err(ContainerError::NotFound {
                name: name.to_owned(),
            }),
        }
    }

    /// The group whose ID begins so.
    fn of_id(&self, name: &str, begins: &str) -> Result<Option<Group>, ContainerError> {
        let is_it = |name: &OsStr| id_of(name.as_bytes()).is_some_and(|id| id.starts_with(begins));
        let mut found = self.find(is_it);
        // One container may have several, side by side.
        found.dedup_by(|one, other| id_of(one.name()) == id_of(other.name()));
        match found.len() {
            0 => match self.find_old(is_it) {
                Some(old) => Err(GroupError::Version1 {
                    path: old.to_string_lossy().into_owned(),
                }
                .into()),
                None => Ok(None),
            },
            1 => Ok(found.pop()),
            _ => Err(ContainerError::Ambiguous {
                name: name.to_owned(),
                among: found
                    .iter()
                    .filter_map(|one| id_of(one.name()))
                    .map(short)
                    .collect(),
            }),
        }
    }
}

/// As engines show it.
fn short(id: &str) -> String {
    id.chars().take(12).collect()
}

fn is_hexadecimal(text: &str) -> bool {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    !text.is_empty() && text.len() <= 64 && text.bytes().all(is_digit)
}

/// The ID in the name of a control group.
fn id_of(name: &[u8]) -> Option<&str> {
    container_id(std::str::from_utf8(name).ok()?)
}

/// The ID of a name in the engines' own files, where these may be read.
fn listed(root: &Path, name: &str) -> Option<String> {
    docker(&root.join("var/lib/docker/containers"), name)
        .or_else(|| podman(&root.join("var/lib/containers/storage"), name))
}

/// A directory for each container, with its name after a slash.
fn docker(containers: &Path, name: &str) -> Option<String> {
    let entries = fs::read_dir(containers).ok()?.flatten();
    let mut found = entries.filter_map(|entry| {
        let value = read(&entry.path().join("config.v2.json"))?;
        let is_it = value["Name"].as_str()?.trim_start_matches('/') == name;
        is_it.then(|| entry.file_name().into_string().ok())?
    });
    found.next()
}

/// A list of all containers, with their names (containers/storage).
fn podman(storage: &Path, name: &str) -> Option<String> {
    let value = read(&storage.join("overlay-containers/containers.json"))?;
    let mut containers = value.as_array()?.iter();
    let found = containers.find(|container| {
        let mut names = container["names"].as_array().into_iter().flatten();
        names.any(|named| named.as_str() == Some(name))
    });
    Some(found?["id"].as_str()?.to_owned())
}

fn read(path: &Path) -> Option<serde_json::Value> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

/// What the engines say.
fn asked(name: &str) -> Option<String> {
    let engines = ["docker", "podman"];
    let ask = |engine| {
        said(
            engine,
            &["container", "inspect", "--format", "{{.Id}}", "--", name],
        )
    };
    engines
        .into_iter()
        .find_map(ask)
        .filter(|id| is_hexadecimal(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "3f2a00000000000000000000000000000000000000000000000000000000beef";
    const OTHER: &str = "3f2b00000000000000000000000000000000000000000000000000000000beef";

    #[test]
    fn a_container_is_found_by_the_beginning_of_its_id() {
        let place = tempfile::tempdir().unwrap();
        let hierarchy = Hierarchy::at_point(place.path());
        let docker = format!("system.slice/docker-{ID}.scope");
        let nested = format!("{docker}/docker/{OTHER}");
        fs::create_dir_all(place.path().join(&nested)).unwrap();
        fs::create_dir_all(place.path().join(format!("docker/{OTHER}"))).unwrap();
        let path = |name: &str| hierarchy.of_id(name, name).unwrap().unwrap().path;
        assert_eq!(path("3f2a"), format!("/{docker}"));
        assert_eq!(path(ID), format!("/{docker}"));
        assert_eq!(path("3f2b"), format!("/docker/{OTHER}"));
        assert!(hierarchy.of_id("4", "4").unwrap().is_none());
        let error = hierarchy.container("3f2").unwrap_err().to_string();
        assert!(error.contains("3f2b00000000, 3f2a00000000"), "{error}");
    }

    #[test]
    fn names_are_in_the_engines_own_files() {
        let place = tempfile::tempdir().unwrap();
        let write = |path: String, text: &str| {
            let path = place.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write(
            format!("var/lib/docker/containers/{ID}/config.v2.json"),
            r#"{"ID":"x","HostConfig":{"Name":"always"},"Name":"/web"}"#,
        );
        write(
            "var/lib/containers/storage/overlay-containers/containers.json".to_owned(),
            &format!(r#"[{{"id":"{OTHER}","names":["db","database"]}}]"#),
        );
        let found = |name| listed(place.path(), name);
        assert_eq!(found("web").as_deref(), Some(ID));
        assert_eq!(found("database").as_deref(), Some(OTHER));
        assert_eq!(found("always"), None);
    }
}
