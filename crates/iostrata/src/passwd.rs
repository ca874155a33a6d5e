//! Users, from the lines of passwd(5).

fn lines(users: &str) -> impl Iterator<Item = Vec<&str>> {
    users.lines().map(|line| line.split(':').collect())
}

pub(crate) fn home(users: &str, uid: u32) -> Option<&str> {
    let line = lines(users).find(|fields| fields.get(2) == Some(&uid.to_string().as_str()))?;
    line.get(5).copied().filter(|home| !home.is_empty())
}

/// The number of a user, and that of the user's group.
pub(crate) fn ids(users: &str, name: &str) -> Option<(u32, u32)> {
    let line = lines(users).find(|fields| fields[0] == name)?;
    Some((line.get(2)?.parse().ok()?, line.get(3)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn homes_are_found_by_user() {
        let users =
            "root:x:0:0:root:/root:/bin/sh\nbroken\nada:x:1000:1000:A,,:/home/ada:/bin/sh\n";
        assert_eq!(home(users, 1000), Some("/home/ada"));
        assert_eq!(home(users, 7), None);
    }

    #[test]
    fn numbers_are_found_by_name() {
        let users = "root:x:0:0:root:/root:/bin/sh\npg:x:105:113::/srv:/bin/sh\nbad:x:a:b\n";
        assert_eq!(ids(users, "pg"), Some((105, 113)));
        assert_eq!(ids(users, "bad"), None);
        assert_eq!(ids(users, "p"), None);
    }
}
