//! Which container a cgroup belongs to: engines name cgroups after the ID of their container.

/// What engines put before the ID. Podman's monitor of a container has another name, `libpod-conmon-`.
const BEFORE: [&str; 5] = [
    "docker-",
    "libpod-payload-",
    "libpod-",
    "crio-",
    "cri-containerd-",
];

/// Digits of an ID.
const LENGTH: usize = 64;

/// The ID in the name of a cgroup.
pub fn container_id(name: &str) -> Option<&str> {
    let name = name.strip_suffix(".scope").unwrap_or(name);
    let mut before = BEFORE.iter();
    let id = before.find_map(|before| name.strip_prefix(before));
    let id = id.unwrap_or(name);
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    (id.len() == LENGTH && id.bytes().all(is_digit)).then_some(id)
}

/// The ID of the innermost container that a cgroup is of, or is in: a container may make cgroups below its
/// own.
pub fn container_of(path: &str) -> Option<&str> {
    path.rsplit('/').find_map(container_id)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "3f2a00000000000000000000000000000000000000000000000000000000beef";

    #[test]
    fn engines_name_groups_after_the_id() {
        for name in [
            format!("docker-{ID}.scope"),
            format!("libpod-{ID}.scope"),
            format!("libpod-payload-{ID}"),
            format!("crio-{ID}.scope"),
            format!("cri-containerd-{ID}.scope"),
            ID.to_owned(),
        ] {
            assert_eq!(container_id(&name), Some(ID), "{name}");
        }
        for name in [
            format!("libpod-conmon-{ID}.scope"),
            format!("x-{ID}.scope"),
            "3f2a.scope".to_owned(),
            "user.slice".to_owned(),
        ] {
            assert_eq!(container_id(&name), None, "{name}");
        }
    }

    #[test]
    fn a_cgroup_below_that_of_a_container_belongs_to_it() {
        let own = format!("/system.slice/docker-{ID}.scope");
        assert_eq!(container_of(&own), Some(ID));
        assert_eq!(container_of(&format!("{own}/init.scope")), Some(ID));
        assert_eq!(container_of("/system.slice/cron.service"), None);
        assert_eq!(container_of("/"), None);
    }
}
