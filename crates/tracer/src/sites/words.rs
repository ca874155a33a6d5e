//! Stacks as text, and why some are incomplete.

use std::collections::HashMap;
use std::sync::Arc;

use super::budget::Exceeded;
use super::collector::{MOST_STACKS, Stack};
use super::maps::NoMap;
use super::process::{End, Frame};

/// Start functions of threads: glibc's, musl's and Go's.
const FIRST_FUNCTIONS: [&str; 9] = [
    "_start",
    "_start_c",
    "clone",
    "clone3",
    "start",
    "start_thread",
    "__clone",
    "__clone3",
    "runtime.goexit",
];

/// The function of `CPython` that runs all functions of a program.
const PYTHON: &str = "_PyEval_EvalFrameDefault";

const MADE: &str = "JIT-compiled code";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Named {
    text: String,
    function: Option<String>,
    /// File, or its replacement.
    place: String,
    /// The resource exhausted before its name was found.
    exceeded: Option<Exceeded>,
}

impl Named {
    pub(super) fn in_file(function: Option<&str>, file: &str, address: u64) -> Self {
        let text = match function {
            Some(function) => format!("{function} ({file})"),
            None => format!("{file}+{address:#x}"),
        };
        Self {
            text,
            function: function.map(str::to_owned),
            place: file.to_owned(),
            exceeded: None,
        }
    }

    pub(super) fn made(name: Option<&str>) -> Self {
        Self {
            text: name.map_or_else(|| format!("({MADE})"), str::to_owned),
            function: name.map(str::to_owned),
            place: MADE.to_owned(),
            exceeded: None,
        }
    }

    pub(super) fn unread(file: &str) -> Self {
        Self {
            text: file.to_owned(),
            function: None,
            place: file.to_owned(),
            exceeded: None,
        }
    }

    /// The resource exhausted before a name was found, if there is none.
    pub(super) fn short_of(mut self, exceeded: Option<Exceeded>) -> Self {
        self.exceeded = exceeded.filter(|_| self.function.is_none());
        self
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Shown {
    pub(super) stack: Arc<[String]>,
    /// Why it is incomplete.
    pub(super) why_not: Option<String>,
}

impl Shown {
    /// An empty stack, and why.
    pub(super) fn none(why: &str) -> Self {
        Self {
            stack: Arc::default(),
            why_not: Some(why.to_owned()),
        }
    }
}

/// Stacks as text, each once: calls on thousands of files come from one place, and several places
/// in one function have the same text.
#[derive(Default)]
pub(super) struct Words<'a> {
    shown: Vec<Shown>,
    of_stacks: HashMap<&'a Stack, usize>,
    numbers: HashMap<Shown, usize>,
}

impl<'a> Words<'a> {
    /// The number of a stack's text.
    pub(super) fn of(&mut self, stack: &'a Stack, names: &HashMap<Frame, Named>) -> usize {
        if let Some(number) = self.of_stacks.get(stack) {
            return *number;
        }
        let number = self.number(shown(stack, names));
        self.of_stacks.insert(stack, number);
        number
    }

    pub(super) fn number(&mut self, shown: Shown) -> usize {
        let next = self.shown.len();
        *self.numbers.entry(shown).or_insert_with_key(|shown| {
            self.shown.push(shown.clone());
            next
        })
    }

    pub(super) fn numbered(&self, number: usize) -> Shown {
        self.shown[number].clone()
    }

    /// The length of its text.
    pub(super) fn bytes(&self, number: usize) -> usize {
        self.shown[number].stack.iter().map(String::len).sum()
    }
}

fn shown(stack: &Stack, names: &HashMap<Frame, Named>) -> Shown {
    let (frames, end) = match stack {
        Stack::Unwound(frames, end) => (frames, *end),
        Stack::NoMap(NoMap::Ended) => {
            return Shown::none("the process ended before its memory map could be read");
        }
        Stack::NoMap(NoMap::Exceeded(exceeded)) => return Shown::none(&exceeded.to_string()),
        Stack::Failed => {
            return Shown::none("not resolved: unwinding a stack of this process failed");
        }
        Stack::NoRoom => return Shown::none(&format!("{MOST_STACKS} other stacks came first")),
    };
    let named: Vec<&Named> = frames.iter().filter_map(|frame| names.get(frame)).collect();
    let mut texts: Vec<String> = Vec::new();
    for name in &named {
        // A recursion repeats the frame of one function, and unnamed frames all look alike.
        if texts.last() != Some(&name.text) {
            texts.push(name.text.clone());
        }
    }
    let exceeded = named.iter().find_map(|name| name.exceeded);
    let why_not = exceeded
        .map(|exceeded| exceeded.to_string())
        .or_else(|| why_not(end, named.last().copied()))
        .or_else(|| unnamed(&named));
    Shown {
        stack: texts.into(),
        why_not,
    }
}

/// What a run of the program needs so that its own functions have names.
fn unnamed(frames: &[&Named]) -> Option<String> {
    let is_made = |frame: &&&Named| frame.place == MADE;
    let is_python = |frame: &&Named| frame.function.as_deref() == Some(PYTHON);
    let why = if frames
        .iter()
        .filter(is_made)
        .any(|frame| frame.function.is_none())
    {
        "JIT-compiled functions have no names: run Node.js with --perf-basic-prof, Java with \
         -XX:+PreserveFramePointer -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit"
    } else if frames.iter().any(is_python) && !frames.iter().any(|frame| is_made(&frame)) {
        "Python functions are not visible: run Python 3.12 or later with -X perf"
    } else {
        return None;
    };
    Some(why.to_owned())
}

fn why_not(end: End, last: Option<&Named>) -> Option<String> {
    let place = last.map_or("the program", |name| name.place.as_str());
    let is_first = || {
        let function = last.and_then(|name| name.function.as_deref());
        // Go marks functions that take their arguments on the stack.
        let plain = function.map(|name| name.strip_suffix(".abi0").unwrap_or(name));
        // The dynamic loader starts the process itself, in assembly without an unwind table
        // (RTLD_START, sysdeps/x86_64/dl-machine.h in glibc).
        plain.is_some_and(|name| FIRST_FUNCTIONS.contains(&name)) || place.starts_with("ld-linux")
    };
    match end {
        End::Whole => None,
        End::LastPointer | End::Lost if is_first() => None,
        End::LastPointer | End::Lost => Some(format!(
            "its callers are unknown: {place} has no unwind table there and no frame pointers"
        )),
        End::Ended => Some(
            "the process ended before the memory map of its later libraries could be read"
                .to_owned(),
        ),
        End::Deep => Some("the stack is deeper than the 16 KiB that iostrata captures".to_owned()),
        End::Long => Some("it has more frames than iostrata keeps".to_owned()),
        End::Exceeded(exceeded) => Some(exceeded.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> HashMap<Frame, Named> {
        HashMap::from([
            (
                Frame::Module(0, 1),
                Named::in_file(Some("write"), "libc.so.6", 1),
            ),
            (Frame::Module(1, 2), Named::in_file(None, "app", 0x1139)),
            (
                Frame::Module(1, 3),
                Named::in_file(Some("_start"), "app", 3),
            ),
            (Frame::Made(7, 4), Named::made(Some("py::work:/x.py"))),
            (Frame::Made(7, 5), Named::made(None)),
        ])
    }

    #[test]
    fn a_whole_stack_is_shown_from_the_inside_out() {
        let frames = vec![
            Frame::Module(0, 1),
            Frame::Made(7, 4),
            Frame::Module(1, 2),
            Frame::Module(1, 3),
        ];
        let Shown { stack, why_not } = shown(&Stack::Unwound(frames, End::Whole), &names());
        let expected = [
            "write (libc.so.6)",
            "py::work:/x.py",
            "app+0x1139",
            "_start (app)",
        ];
        assert_eq!(*stack, expected);
        assert_eq!(why_not, None);
    }

    #[test]
    fn what_ends_early_names_the_file_that_is_to_blame() {
        let ended = |end| {
            let frames = vec![Frame::Module(0, 1), Frame::Module(1, 2)];
            shown(&Stack::Unwound(frames, end), &names())
                .why_not
                .unwrap()
        };
        for end in [End::Lost, End::LastPointer] {
            assert!(ended(end).contains(": app has no unwind table"), "{end:?}");
        }
        assert!(ended(End::Deep).contains("16 KiB"));
        let started = vec![Frame::Module(1, 3)];
        let Shown { why_not, .. } = shown(&Stack::Unwound(started, End::LastPointer), &names());
        assert_eq!(
            why_not, None,
            "the frame pointers end where the program began"
        );
        let Shown { stack, why_not } = shown(&Stack::NoMap(NoMap::Ended), &names());
        assert_eq!(stack.len(), 0);
        assert!(why_not.unwrap().contains("ended before"));
    }

    #[test]
    fn what_was_used_up_is_the_reason() {
        let mut names = names();
        let without = Named::in_file(None, "app", 9).short_of(Some(Exceeded::Memory));
        names.insert(Frame::Module(1, 9), without);
        let frames = vec![Frame::Module(0, 1), Frame::Module(1, 9)];
        let Shown { stack, why_not } = shown(&Stack::Unwound(frames, End::Lost), &names);
        assert_eq!(*stack, ["write (libc.so.6)", "app+0x9"]);
        assert!(why_not.unwrap().starts_with("not resolved: tables"));
        let ended = Stack::Unwound(vec![Frame::Module(0, 1)], End::Exceeded(Exceeded::Time));
        let why = shown(&ended, &names).why_not.unwrap();
        assert!(why.starts_with("not resolved: reading"), "{why}");
        let has_a_name = Named::in_file(Some("f"), "app", 9).short_of(Some(Exceeded::Time));
        assert_eq!(has_a_name.exceeded, None);
    }

    #[test]
    fn the_dynamic_loader_begins_a_process() {
        let loader = Named::in_file(None, "ld-linux-x86-64.so.2", 0x1ab77);
        assert_eq!(why_not(End::LastPointer, Some(&loader)), None);
        assert!(why_not(End::Deep, Some(&loader)).is_some());
    }

    #[test]
    fn code_without_a_name_is_shown_once_and_says_how_to_get_one() {
        let frames = vec![Frame::Made(7, 5), Frame::Made(7, 5), Frame::Module(1, 2)];
        let Shown { stack, why_not } = shown(&Stack::Unwound(frames, End::Whole), &names());
        assert_eq!(*stack, ["(JIT-compiled code)", "app+0x1139"]);
        assert!(why_not.unwrap().contains("--perf-basic-prof"));
    }

    #[test]
    fn python_without_its_trampolines_says_so() {
        let mut names = names();
        let named = Named::in_file(Some(PYTHON), "libpython3.12.so.1.0", 9);
        names.insert(Frame::Module(2, 9), named);
        let frames = vec![Frame::Module(0, 1), Frame::Module(2, 9)];
        let Shown { why_not, .. } = shown(&Stack::Unwound(frames.clone(), End::Whole), &names);
        assert!(why_not.unwrap().contains("-X perf"));
        let with = [frames, vec![Frame::Made(7, 4)]].concat();
        let Shown { why_not, .. } = shown(&Stack::Unwound(with, End::Whole), &names);
        assert_eq!(why_not, None);
    }
}
