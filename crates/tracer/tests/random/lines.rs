//! The lines of `strace -f -y -o`, as calls.

use std::collections::HashMap;

/// One system call of one thread.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) thread: u32,
    pub(crate) name: String,
    pub(crate) arguments: Vec<String>,
    /// The text after the equals sign; `None` when the call did not return.
    pub(crate) result: Option<String>,
    /// The lines on which it began and ended.
    pub(crate) entered: usize,
    pub(crate) left: usize,
}

impl Call {
    /// Its result, or `None` when it failed.
    pub(crate) fn returned(&self) -> Option<u64> {
        let text = self.result.as_deref()?;
        let end = text.find(['<', ' ']).unwrap_or(text.len());
        let (number, hexadecimal) = (&text[..end], text[..end].strip_prefix("0x"));
        match hexadecimal {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => number.parse().ok(),
        }
    }

    pub(crate) fn argument(&self, index: usize) -> &str {
        self.arguments.get(index).map_or("", String::as_str)
    }
}

/// A descriptor as `-y` shows it: its number and its file.
pub(crate) fn descriptor(text: &str) -> Option<(i32, Option<String>)> {
    let end = text.find('<').unwrap_or(text.len());
    let number = text[..end].parse().ok()?;
    let shown = text[end..].strip_prefix('<').and_then(|rest| {
        let (path, behind) = rest.rsplit_once('>')?;
        let is_memory = path.starts_with("/memfd:") && behind == "(deleted)";
        Some(path.to_owned() + if is_memory { " (deleted)" } else { "" })
    });
    Some((number, shown))
}

/// All calls, by the line of their start.
pub(crate) fn calls(trace: &str) -> Vec<Call> {
    let mut begun: HashMap<u32, (usize, String)> = HashMap::new();
    let mut calls = Vec::new();
    for (at, line) in trace.lines().enumerate() {
        let Some((thread, text)) = line.split_once(' ') else {
            continue;
        };
        let thread: u32 = thread.parse().expect("each line begins with a thread");
        let text = text.trim_start();
        if text.starts_with("+++") || text.starts_with("---") {
            continue;
        }
        if let Some(beginning) = text.strip_suffix("<unfinished ...>") {
            begun.insert(thread, (at, beginning.trim_end().to_owned()));
            continue;
        }
        let (entered, whole) = match text.strip_prefix("<... ") {
            Some(rest) => {
                let (_, end) = rest.split_once(" resumed>").expect("a call that goes on");
                let (entered, beginning) = begun.remove(&thread).expect("it had begun");
                (entered, beginning + end)
            }
            None => (at, text.to_owned()),
        };
        let (mut name, arguments, result) = parts(&whole);
        if name == "ioctl"
            && arguments
                .get(1)
                .is_some_and(|request| request.contains("FICLONE"))
        {
            "ioctl(FICLONE)".clone_into(&mut name);
        }
        calls.push(Call {
            thread,
            name,
            arguments,
            result: result.filter(|text| *text != "?"),
            entered,
            left: at,
        });
    }
    calls.sort_by_key(|call| call.entered);
    calls
}

/// Name, arguments and result of `name(a, b) = result`.
fn parts(line: &str) -> (String, Vec<String>, Option<String>) {
    let (name, rest) = line.split_once('(').expect("a call has arguments");
    let mut arguments = vec![String::new()];
    let (mut depth, mut quoted, mut escaped) = (0, false, false);
    let mut end = rest.len();
    for (at, letter) in rest.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ if quoted => {}
            '(' | '[' | '{' => depth += 1,
            ')' if depth == 0 => {
                end = at + 1;
                break;
            }
            ')' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                arguments.push(String::new());
                continue;
            }
            _ => {}
        }
        arguments.last_mut().expect("there is one").push(letter);
    }
    let arguments = arguments.iter().map(|text| text.trim().to_owned());
    let result = rest[end..].trim_start().strip_prefix("= ");
    (
        name.to_owned(),
        arguments.collect(),
        result.map(|text| text.trim_end().to_owned()),
    )
}

#[test]
fn calls_are_read_whole_and_in_parts() {
    let trace = "7 openat(AT_FDCWD</x>, \"a,)\\\"\", O_RDWR|O_CREAT, 0600) = 3</x/a>\n\
                 7 write(3</x/a>(deleted), \"\\0\"..., 5 <unfinished ...>\n\
                 8 --- SIGCHLD {si_signo=SIGCHLD} ---\n\
                 8 fsync(-1)      = -1 EBADF (Bad file descriptor)\n\
                 7 <... write resumed>)  = 5\n\
                 7 mmap(NULL, 8, PROT_READ, MAP_SHARED, 4</memfd:one>(deleted), 0) = 0x1f\n\
                 7 exit_group(0) = ?\n";
    let calls = calls(trace);
    let seen: Vec<_> = calls
        .iter()
        .map(|call| {
            (
                call.thread,
                &call.name[..],
                call.arguments.len(),
                call.returned(),
            )
        })
        .collect();
    let expected = [
        (7, "openat", 4, Some(3)),
        (7, "write", 3, Some(5)),
        (8, "fsync", 1, None),
        (7, "mmap", 6, Some(31)),
        (7, "exit_group", 1, None),
    ];
    assert_eq!(seen, expected);
    assert_eq!((calls[1].entered, calls[1].left), (1, 4));
    assert_eq!(calls[0].argument(1), "\"a,)\\\"\"");
    assert_eq!(
        descriptor(calls[1].argument(0)),
        Some((3, Some("/x/a".to_owned())))
    );
    assert_eq!(descriptor(calls[2].argument(0)), Some((-1, None)));
    let memory = Some("/memfd:one (deleted)".to_owned());
    assert_eq!(descriptor(calls[3].argument(4)), Some((4, memory)));
    assert_eq!(descriptor("AT_FDCWD</x>"), None);
    assert_eq!(
        (&calls[4].result, &calls[2].result),
        (&None, &Some("-1 EBADF (Bad file descriptor)".to_owned()))
    );
}
