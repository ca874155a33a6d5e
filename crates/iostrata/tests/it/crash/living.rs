//! What a checker can live on in its room.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::Path;
use std::process::{Command, Stdio};

use super::Case;
use crate::place::{is_root, run};

/// Says which of its lines is the first to fail, once the file is empty.
const BEGIN: &str = "[ -s f ] && exit 0\nexec 3>&1 >\"$TMPDIR/said\" 2>&1\n\
    trap 'echo line $LINENO: $BASH_COMMAND, $(tail -n 1 \"$TMPDIR/said\") >&3; exit 1' ERR\n";

/// What the checker says in the end.
fn said(case: &Case, lines: &str, options: &[&str], with: &[(&str, &str)]) -> String {
    let checker = case.place.path("lives");
    fs::write(
        &checker,
        format!("{BEGIN}{lines}\necho lives >&3; exit 1\n"),
    )
    .unwrap();
    let json = case.place.path("crash.json");
    let words = [
        "--model",
        "xfs",
        "--check",
        &format!("bash {}", checker.display()),
        "--json",
        json.to_str().unwrap(),
    ];
    let mut command = case.command(&[&words, options].concat(), "echo new > f");
    command.envs(with.iter().copied());
    run(command).expect(1);
    let result: serde_json::Value = serde_json::from_slice(&fs::read(json).unwrap()).unwrap();
    result["findings"][0]["message"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[test]
fn places_to_write_to_and_a_loopback() {
    let case = Case::new("f", "old");
    let lines = r#"
echo x > "$TMPDIR/x"
echo x > "$HOME/x"; [ -e "$TMPDIR/home/x" ]
echo x > /tmp/y; [ -e "$TMPDIR/y" ]
echo x > /dev/shm/x
echo x > "$IOSTRATA_DIR/x"
[ "$(head -c 3 /dev/zero | wc -c)" = 3 ]
! echo x > /dev/x
! echo x > /run/x
! : < /dev/tty
[ "$(ls -d /proc/[0-9]* | wc -l)" -lt 10 ]
ls /proc/$$/fd > "$TMPDIR/fds"
[ "$(tr '\n' ' ' < "$TMPDIR/fds")" = "0 1 2 255 3 " ]
/usr/bin/python3 -c 'import socket
server = socket.create_server(("127.0.0.1", 5432))
socket.create_connection(("127.0.0.1", 5432)).send(b"x")
assert server.accept()[0].recv(1) == b"x"'"#;
    assert_eq!(said(&case, lines, &[], &[]), "lives");
}

#[test]
fn variables_that_are_passed_and_processes_up_to_a_bound() {
    let case = Case::new("f", "old");
    let lines = r#"
[ "$ONE $OTHER $SECRET" = "1 2 " ]
[ "$(ulimit -u)" = 1024 ]
/usr/bin/python3 -c 'import os, signal
try:
    for forks in range(3000):
        if not os.fork():
            signal.pause()
except BlockingIOError:
    assert 900 < forks < 1024
assert forks < 2999'"#;
    let passed = ["--pass-env", "ONE", "--pass-env", "OTHER"];
    let with = [("ONE", "1"), ("OTHER", "2"), ("SECRET", "3")];
    assert_eq!(said(&case, lines, &passed, &with), "lives");
}

/// The owner of the directory is who the checker is; files of others stay others'.
#[test]
fn the_owner_of_the_directory_and_whom_it_may_become() {
    if !is_root("users of a room") {
        return;
    }
    let case = Case::new("f", "old");
    fs::set_permissions(&case.dir, fs::Permissions::from_mode(0o711)).unwrap();
    let lines = r#"
[ "$(id -u):$(id -g)" = 0:0 ]
[ "$(stat -c %u:%a .)" = 0:711 ]
chown 1000:1000 f
[ "$(su nobody -s /bin/sh -c 'id -u; exit 3'; echo $?)" = "$(printf '65534\n3')" ]
setpriv --reuid 1000 --regid 1000 --clear-groups sh -c 'echo x > f'
! cat /etc/ssl/private/* /root/.profile"#;
    assert_eq!(said(&case, lines, &[], &[]), "lives");
    chown(&case.dir, Some(1000), Some(1000)).unwrap();
    let lines = r#"
[ "$(id -u):$(id -g):$(id -G)" = 1000:1000:1000 ]
[ "$(stat -c %u:%a .)" = 1000:711 ]
[ "$(grep CapEff /proc/self/status | cut -f 2)" = 0000000000000000 ]
! chown 0 f"#;
    assert_eq!(said(&case, lines, &[], &[]), "lives");
    let large = r#"[ "$(id -u):$(id -g)" = 70000:12 ] && [ "$(stat -c %u f)" = 70000 ]"#;
    assert_eq!(
        said(&case, large, &["--check-user", "70000:12"], &[]),
        "lives"
    );
}

#[test]
fn what_it_is_to_see_although_others_may_not() {
    if !is_root("users of a room") {
        return;
    }
    let case = Case::new("f", "old");
    let closed = case.place.path("closed");
    fs::create_dir(&closed).unwrap();
    fs::write(closed.join("file"), "seen").unwrap();
    for (path, mode) in [(closed.join("file"), 0o600), (closed.clone(), 0o700)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    let file = closed.join("file");
    let lines = format!("! cat {}", file.display());
    assert_eq!(said(&case, &lines, &[], &[]), "lives");
    let lines = format!("[ \"$(cat {0})\" = seen ]; ! echo x > {0}", file.display());
    let sees = ["--check-sees", closed.to_str().unwrap()];
    assert_eq!(said(&case, &lines, &sees, &[]), "lives");
}

/// It recovers what is there, by a socket in `TMPDIR` and by the loopback.
#[test]
fn a_server_of_postgresql_that_recovers() {
    if !is_root("another user") {
        return;
    }
    let case = Case::new("f", "old");
    let database = case.dir.join("db");
    let programs = "$(ls -d /usr/lib/postgresql/*/bin | tail -n 1)";
    let make = format!(
        "chown postgres: {0}; cd {0} && exec setpriv --reuid postgres --regid postgres --clear-groups \
         {programs}/initdb -D db -A trust --no-sync --no-instructions",
        case.dir.display()
    );
    let mut made = Command::new("sh");
    let made = made
        .args(["-c", &make])
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(made.success() && database.exists());
    let lines = format!(
        r#"
{programs}/pg_ctl -D db -w -l "$TMPDIR/log" -o "-k $TMPDIR -h 127.0.0.1 -p 5433" start
[ "$(psql -h 127.0.0.1 -p 5433 -U postgres -Atc 'select 1' postgres)" = 1 ]
[ "$(psql -h "$TMPDIR" -p 5433 -U postgres -Atc 'select 2' postgres)" = 2 ]"#
    );
    assert_eq!(said(&case, &lines, &[], &[]), "lives");
}

/// Where it is started makes no difference: not in the directory that holds the room, nor in one that a room has of its
/// own, nor in one that is gone.
#[test]
fn any_directory_to_be_started_in() {
    let case = Case::new("f", "old");
    let gone = case.place.path("gone");
    fs::create_dir(&gone).unwrap();
    let home = case.place.path("home");
    let closed = home.join("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
    for directory in ["/", "/tmp", "/dev/shm", "/run", "/proc", "/var/tmp"]
        .map(Path::new)
        .into_iter()
        .chain([home.as_path(), &closed, &gone])
    {
        let check = "[ -s f ] || { echo x > /tmp/x && echo x > x && echo x > /dev/shm/x && echo lives; exit 1; }";
        let json = case.place.path("crash.json");
        let words = [
            "--model",
            "xfs",
            "--check",
            check,
            "--json",
            json.to_str().unwrap(),
        ];
        let mut command = case.command(&words, "echo new > f");
        command.current_dir(directory);
        if directory == gone {
            command = leaving(&command, &gone);
        }
        run(command).expect(1);
        let result: serde_json::Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
        assert_eq!(
            result["findings"][0]["message"],
            "lives",
            "{}",
            directory.display()
        );
        assert_ne!(result["check_kept_in"], "process-group");
    }
}

/// The same, in a directory that is removed before.
fn leaving(inner: &Command, directory: &Path) -> Command {
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", "rmdir \"$0\"; exec \"$@\""])
        .arg(directory);
    command
        .arg(inner.get_program())
        .args(inner.get_args())
        .current_dir(directory)
        .env_clear();
    command.envs(
        inner
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    command
}
