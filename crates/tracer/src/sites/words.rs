//! Stacks in words, and why some are not whole.

use std::collections::HashMap;

use super::process::{End, Frame};
use super::{MOST_STACKS, Stack};

/// Functions that a thread begins with: glibc's, musl's and Go's.
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

const MADE: &str = "code made at run time";

/// A frame in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Named {
    text: String,
    function: Option<String>,
    /// File, or what it is instead.
    place: String,
}

impl Named {
    pub(super) fn in_file(function: Option<&String>, file: &str, address: u64) -> Self {
        let text = match function {
            Some(function) => format!("{function} ({file})"),
            None => format!("{file}+{address:#x}"),
        };
        Self {
            text,
            function: function.cloned(),
            place: file.to_owned(),
        }
    }

    pub(super) fn made(name: Option<String>) -> Self {
        let text = name.clone().unwrap_or_else(|| format!("({MADE})"));
        Self {
            text,
            function: name,
            place: MADE.to_owned(),
        }
    }

    pub(super) fn without(text: String, place: String) -> Self {
        Self {
            text,
            function: None,
            place,
        }
    }
}

/// A stack in words.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Shown {
    pub(super) stack: Vec<String>,
    /// Why it is not whole.
    pub(super) why_not: Option<String>,
}

pub(super) fn shown(stack: &Stack, names: &HashMap<Frame, Named>) -> Shown {
    let without = |why: String| Shown {
        stack: Vec::new(),
        why_not: Some(why),
    };
    let (frames, end) = match stack {
        Stack::Unwound(frames, end) => (frames, *end),
        Stack::NoMap => {
            let why = "the process ended before its memory map could be read";
            return without(why.to_owned());
        }
        Stack::NoRoom => return without(format!("{MOST_STACKS} other stacks came first")),
    };
    let named: Vec<&Named> = frames.iter().filter_map(|frame| names.get(frame)).collect();
    let mut texts: Vec<String> = Vec::new();
    for name in &named {
        // One function calls another of its own frame again and again in a recursion, and
        // unnamed ones are all alike.
        if texts.last() != Some(&name.text) {
            texts.push(name.text.clone());
        }
    }
    let why_not = why_not(end, named.last().copied()).or_else(|| unnamed(&named));
    Shown {
        stack: texts,
        why_not,
    }
}

/// What a run of the program needs for its own functions to have names.
fn unnamed(frames: &[&Named]) -> Option<String> {
    let is_made = |frame: &&&Named| frame.place == MADE;
    let is_python = |frame: &&Named| frame.function.as_deref() == Some(PYTHON);
    let why = if frames
        .iter()
        .filter(is_made)
        .any(|frame| frame.function.is_none())
    {
        "functions made at run time have no names: run Node.js with --perf-basic-prof, Java with \
         -XX:+PreserveFramePointer -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit"
    } else if frames.iter().any(is_python) && !frames.iter().any(|frame| is_made(&frame)) {
        "functions of Python are not seen: run Python 3.12 or later with -X perf"
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
        // The dynamic loader begins the process itself, in assembly without an unwind table
        // (RTLD_START, sysdeps/x86_64/dl-machine.h in glibc).
        plain.is_some_and(|name| FIRST_FUNCTIONS.contains(&name)) || place.starts_with("ld-linux")
    };
    match end {
        End::Whole => None,
        End::LastPointer | End::Lost if is_first() => None,
        End::LastPointer | End::Lost => Some(format!(
            "its callers are not known: {place} has no unwind table there and keeps no frame \
             pointers"
        )),
        End::Ended => Some(
            "the process ended before the memory map of its later libraries could be read"
                .to_owned(),
        ),
        End::Deep => Some("the stack is deeper than the 16 KiB of it that are kept".to_owned()),
        End::Long => Some("it has more frames than are kept".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> HashMap<Frame, Named> {
        let write = "write".to_owned();
        let start = "_start".to_owned();
        HashMap::from([
            (
                Frame::Module(0, 1),
                Named::in_file(Some(&write), "libc.so.6", 1),
            ),
            (Frame::Module(1, 2), Named::in_file(None, "app", 0x1139)),
            (Frame::Module(1, 3), Named::in_file(Some(&start), "app", 3)),
            (
                Frame::Made(7, 4),
                Named::made(Some("py::work:/x.py".to_owned())),
            ),
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
        assert_eq!(stack, expected);
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
        let Shown { stack, why_not } = shown(&Stack::NoMap, &names());
        assert_eq!(stack.len(), 0);
        assert!(why_not.unwrap().contains("ended before"));
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
        assert_eq!(stack, ["(code made at run time)", "app+0x1139"]);
        assert!(why_not.unwrap().contains("--perf-basic-prof"));
    }

    #[test]
    fn python_without_its_trampolines_says_so() {
        let mut names = names();
        let evaluates = PYTHON.to_owned();
        let named = Named::in_file(Some(&evaluates), "libpython3.12.so.1.0", 9);
        names.insert(Frame::Module(2, 9), named);
        let frames = vec![Frame::Module(0, 1), Frame::Module(2, 9)];
        let Shown { why_not, .. } = shown(&Stack::Unwound(frames.clone(), End::Whole), &names);
        assert!(why_not.unwrap().contains("-X perf"));
        let with = [frames, vec![Frame::Made(7, 4)]].concat();
        let Shown { why_not, .. } = shown(&Stack::Unwound(with, End::Whole), &names);
        assert_eq!(why_not, None);
    }
}
