//! The pictures of docs/top.md: `top` in tmux beside programs of a shop. `UPDATE_DOCS=1` writes them; otherwise they
//! are compared with what is shown now, but for the figures.

use std::fs;
use std::path::PathBuf;

use crate::image::Image;
use crate::svg;
use crate::terminal::{Terminal, skips};
use crate::wait::until;
use crate::watched::Room;

const COLUMNS: usize = 100;

/// Each has the name of its argument, and a file system that nobody else sees. Their group is that of the
/// terminal, and ends with it.
const PROGRAMS: &str = "
import os, mmap, time, sys
open('/proc/self/comm', 'w').write('shop-' + sys.argv[1])
for group in sys.argv[2:]:
    open(group + '/cgroup.procs', 'w').write(str(os.getpid()))
def database():
    fd = os.open('/mnt/shop/db/wal', os.O_RDWR | os.O_CREAT)
    for number in range(1 << 30):
        os.pwrite(fd, b'x' * 4096, number % 4096 * 4096)
        os.fsync(fd)
        yield
def orders():
    fd = os.open('/mnt/shop/orders/queue', os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_DSYNC)
    while True:
        os.write(fd, b'x' * 200)
        yield
def prices():
    while True:
        fd = os.open('/mnt/shop/prices.new', os.O_WRONLY | os.O_CREAT)
        os.write(fd, b'x' * 1000)
        os.close(fd)
        os.rename('/mnt/shop/prices.new', '/mnt/shop/prices')
        yield
def backup():
    fd, to = os.open('/mnt/shop/images', os.O_RDONLY | os.O_DIRECT), mmap.mmap(-1, 131072)
    for number in range(1 << 30):
        os.preadv(fd, [to], number % 64 * 131072)
        yield
for _ in globals()[sys.argv[1]]():
    time.sleep(0.01)
";

/// A mount namespace of its own has the file system at /mnt.
const SHOP: &str = r#"
mount -o loop "$1" /mnt
mkdir -p /mnt/shop/db /mnt/shop/orders
head -c 8388608 /dev/zero >/mnt/shop/images
sync /mnt/shop/images
findmnt -n -o SOURCE /mnt >"$2/disk"
for name in database orders prices backup; do
    python3 "$2/programs" $name $(cat "$2/group-$name" 2>/dev/null) 2>>"$2/said" &
    echo $! >>"$2/pids"
done
exec "$3" top --every 1s
"#;

/// Cgroups of the programs, where there are any of version 2.
struct Groups(Vec<PathBuf>);

impl Groups {
    fn new(dir: &std::path::Path) -> Self {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        let mut mounts = mounts.lines().map(|line| line.split(' '));
        let point = mounts.find_map(|mut fields| {
            let point = fields.nth(1)?.to_owned();
            (fields.next() == Some("cgroup2")).then_some(point)
        });
        let mut groups = Self(Vec::new());
        let Some(point) = point else { return groups };
        let slice = PathBuf::from(point).join(format!("shop-{}.slice", std::process::id()));
        if fs::create_dir(&slice).is_err() {
            return groups;
        }
        groups.0.push(slice.clone());
        for name in ["database", "orders", "prices", "backup"] {
            let group = slice.join(format!("{name}.service"));
            fs::create_dir(&group).unwrap();
            fs::write(dir.join(format!("group-{name}")), group.to_str().unwrap()).unwrap();
            groups.0.push(group);
        }
        groups
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        for group in self.0.iter().rev() {
            drop(fs::remove_dir(group));
        }
    }
}

/// The shop and the screen beside it. Its programs are gone when it is dropped.
struct Shop {
    terminal: Option<Terminal>,
    dir: tempfile::TempDir,
    groups: Groups,
    _image: Image,
}

impl Shop {
    fn open() -> Self {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let image = Image::unmounted();
        let groups = Groups::new(dir.path());
        fs::write(dir.path().join("programs"), PROGRAMS).unwrap();
        fs::write(dir.path().join("shop"), SHOP).unwrap();
        let command = format!(
            "exec unshare --mount sh -e {0}/shop {1} {0} {2}",
            dir.path().display(),
            image.file().display(),
            env!("CARGO_BIN_EXE_iostrata")
        );
        Self {
            terminal: Some(Terminal::run(&command)),
            dir,
            groups,
            _image: image,
        }
    }

    fn disk(&self) -> String {
        let source = fs::read_to_string(self.dir.path().join("disk")).unwrap();
        source.trim().trim_start_matches("/dev/").to_owned()
    }

    /// Presses keys, waits for all of the words, and compares or writes the picture of this name.
    fn picture(&self, (name, title, keys, words): View<'_>) {
        let terminal = self.terminal.as_ref().unwrap();
        terminal.press(keys);
        let (picture, now) = until(|| {
            let picture = svg::draw(&terminal.drawn(), title, COLUMNS);
            let now = svg::lines(&picture);
            // What is still typed is not the whole line.
            let has = |line: &String, word: &str| {
                let is_place = word.contains(", by ");
                line.contains(word) && (!is_place || line.trim_end() == word)
            };
            let is_shown = |word: &&str| now.iter().any(|line| has(line, word));
            if words.iter().all(is_shown) {
                Ok((picture, now))
            } else {
                Err((words, now))
            }
        });
        let path = format!("{}/../../docs/top/{name}.svg", env!("CARGO_MANIFEST_DIR"));
        if std::env::var_os("UPDATE_DOCS").is_some() {
            fs::write(&path, &picture).unwrap();
            return;
        }
        let kept = svg::lines(&fs::read_to_string(&path).unwrap());
        assert_eq!(
            layout(&now),
            layout(&kept),
            "{path}: UPDATE_DOCS=1 writes it anew"
        );
        for word in words {
            let word = without_figures(word);
            let has = kept
                .iter()
                .any(|line| without_figures(line).contains(&word));
            assert!(has, "no {word:?} in {path}: UPDATE_DOCS=1 writes it anew");
        }
    }
}

impl Drop for Shop {
    fn drop(&mut self) {
        drop(self.terminal.take());
        let pids = fs::read_to_string(self.dir.path().join("pids")).unwrap_or_default();
        let is_there = |pid: &&str| PathBuf::from("/proc").join(pid).exists();
        until(|| pids.lines().find(is_there).map_or(Ok(()), Err));
    }
}

/// Digits as one sign: `1.00` and `22.5` are the same.
fn without_figures(text: &str) -> String {
    let mut kept = String::new();
    for char in text.chars() {
        let is_figure = char.is_ascii_digit();
        if !(is_figure && kept.ends_with('#')) {
            kept.push(if is_figure { '#' } else { char });
        }
    }
    kept
}

/// Heads of columns that give way to no figure, however wide.
const ALWAYS: [&str; 14] = [
    "process",
    "file",
    "directory",
    "cgroup",
    "IOPS",
    "reads",
    "data",
    "journal",
    "commit",
    "metadata",
    "read/s",
    "written/s",
    "from disk/s",
    "to disk/s",
];

/// What is the same whatever was counted: where the user is, the heads of the rows, the keys.
fn layout(lines: &[String]) -> Vec<String> {
    let words = |line: &String| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let place = lines
        .iter()
        .position(|line| line.contains(", by ") || line.starts_with("waits of "));
    let place = place.unwrap_or_else(|| panic!("{lines:#?}"));
    let keys = lines.iter().rfind(|line| !line.trim().is_empty()).unwrap();
    let mut layout = vec![without_figures(lines[place].trim()), words(keys)];
    if lines[place].contains(", by ") {
        let heads = lines[place + 1].split("  ").map(str::trim);
        layout.extend(
            heads
                .filter(|head| ALWAYS.contains(head))
                .map(str::to_owned),
        );
    }
    layout
}

/// A picture: its name, its title, the keys that lead to it, and what must be on it.
type View<'a> = (&'a str, &'a str, &'a [&'a str], &'a [&'a str]);

const PROCESSES: View = (
    "processes",
    "Processes by disk bytes, and what they wait for",
    &["/", "s", "h", "o", "p", "Enter"],
    &[
        "processes, by disk bytes, filter: shop",
        "shop-database",
        "shop-orders",
        "shop-prices",
        "shop-backup",
        "synchronous writes/s of",
    ],
);
const FILES: View = (
    "files",
    "Files by disk bytes",
    &["2"],
    &[
        "files, by disk bytes, filter: shop",
        "/mnt/shop/db/wal",
        "/mnt/shop/orders/queue",
        "/mnt/shop/images",
    ],
);
const DIRECTORIES: View = (
    "directories",
    "Directories by disk bytes of their files",
    &["3"],
    &[
        "directories, by disk bytes, filter: shop",
        "/mnt/shop/db",
        "/mnt/shop/orders",
    ],
);
const CGROUPS: View = (
    "cgroups",
    "Control groups by disk bytes of their processes",
    &["4"],
    &[
        "cgroups, by disk bytes, filter: shop",
        "database.service",
        "orders.service",
        "prices.service",
        "backup.service",
    ],
);
const WAITS: View = (
    "waits",
    "Who waits for which commits of the disk, and whose changes these have",
    &["Enter", "w"],
    &[
        "waits of disks > ",
        "shop-orders",
        "shop-database",
        "synchronous writes/s of",
        " waited for ",
    ],
);

#[test]
fn the_pictures_of_the_page_are_what_is_shown() {
    if skips() {
        return;
    }
    let _room = Room::shared();
    let shop = Shop::open();
    // Before it reads keys, the terminal makes others of them.
    let terminal = shop.terminal.as_ref().unwrap();
    terminal.shows("processes, by disk bytes");
    for view in [PROCESSES, FILES, DIRECTORIES] {
        shop.picture(view);
    }
    if shop.groups.0.is_empty() {
        crate::skip::skip("no cgroups of version 2 can be made");
    } else {
        shop.picture(CGROUPS);
    }
    let (disk, back) = (shop.disk(), "BSpace");
    let place = format!("disks, by disk bytes, filter: {disk}");
    shop.picture((
        "devices",
        "A disk with its requests by cause, and their latency",
        &["6", "/", back, back, back, back, &disk, "Enter"],
        &[&place, "ms, longest"],
    ));
    shop.picture(WAITS);
}

#[test]
fn the_page_shows_each_picture() {
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");
    let page = fs::read_to_string(format!("{docs}/top.md")).unwrap();
    let names = [
        "processes",
        "files",
        "directories",
        "cgroups",
        "devices",
        "waits",
    ];
    for name in names {
        assert!(page.contains(&format!("](top/{name}.svg)")), "{name}");
    }
    assert_eq!(
        fs::read_dir(format!("{docs}/top")).unwrap().count(),
        names.len()
    );
}
