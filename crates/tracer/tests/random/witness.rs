//! strace's view of a run of `workloads/random`, file by file.
//!
//! `strace` shows the path of a descriptor at the start of a call. That is not an identity: names
//! change and are reused. So descriptors are followed from the note in which the program reports
//! the file of each, to their close, through forks and threads.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use crate::lines::{Call, calls, descriptor};
use crate::tally::{ActsOn, Row, Tally, Thing, acts_on};

/// The file of a descriptor.
#[derive(Debug, Clone, Default)]
struct Entry {
    thing: Option<Thing>,
    /// Calls before it was reported.
    waiting: Vec<(String, bool, Row)>,
    /// The last output of `-y`.
    path: String,
}

type Table = Rc<RefCell<BTreeMap<i32, Entry>>>;

#[derive(Debug, Default)]
struct Witness {
    tables: HashMap<u32, Table>,
    /// The last shared file mapping of each thread: its address and its file.
    mapped: HashMap<u32, (String, Thing)>,
    counts: bool,
    tally: Tally,
}

/// The trace of the observed part.
pub(crate) fn witness(trace: &str) -> Tally {
    let calls = calls(trace);
    let mut moments: Vec<(usize, bool, &Call)> = calls
        .iter()
        .flat_map(|call| [(call.entered, false, call), (call.left, true, call)])
        .collect();
    // A call on one line begins before it ends.
    moments.sort_by_key(|(line, has_ended, _)| (*line, *has_ended));
    let mut witness = Witness::default();
    let mut things: HashMap<usize, Vec<(i32, bool)>> = HashMap::new();
    for (_, has_ended, call) in moments {
        if has_ended {
            let on = things.remove(&call.entered).unwrap_or_default();
            witness.left(call, &on);
        } else {
            let on = witness.entered(call);
            things.insert(call.entered, on);
        }
    }
    witness.finish()
}

fn thing(device: &str, inode: &str, generation: &str) -> Thing {
    let (major, minor) = device.split_once(':').expect("MAJOR:MINOR");
    let number = |text: &str| text.parse::<u32>().expect("a number");
    Thing::File {
        device: (number(major) << 20) | number(minor),
        inode: inode.parse().expect("a number"),
        generation: number(generation),
    }
}

impl Witness {
    fn table(&mut self, thread: u32) -> Table {
        Rc::clone(self.tables.entry(thread).or_default())
    }

    /// The descriptors of the call, and whether it only reads from them.
    fn entered(&mut self, call: &Call) -> Vec<(i32, bool)> {
        if call.name.starts_with("clone") || call.name.ends_with("fork") {
            self.make_task(call);
        }
        let places = match acts_on(&call.name) {
            ActsOn::Descriptor(at) => vec![(at, false)],
            ActsOn::Copies(to, from) => vec![(to, false), (from, true)],
            ActsOn::Returned | ActsOn::Mapping | ActsOn::Nothing => vec![],
        };
        let table = self.table(call.thread);
        let mut on = Vec::new();
        for (at, is_source) in places {
            let Some((fd, path)) = descriptor(call.argument(at)) else {
                continue;
            };
            let mut table = table.borrow_mut();
            // Without a path it is not open, or strace mistakes it for a number.
            let Some(path) = path else {
                on.extend(table.contains_key(&fd).then_some((fd, is_source)));
                continue;
            };
            let entry = table.entry(fd).or_default();
            if let Some(thing) = &entry.thing {
                self.tally.name(thing, &path);
            }
            entry.path = path;
            on.push((fd, is_source));
        }
        on
    }

    fn make_task(&mut self, call: &Call) {
        let Some(child) = call.returned().and_then(|child| u32::try_from(child).ok()) else {
            return;
        };
        let table = self.table(call.thread);
        let shares = call
            .arguments
            .iter()
            .any(|text| text.contains("CLONE_FILES"));
        let table = if shares {
            table
        } else {
            let copy = table.borrow().clone();
            Rc::new(RefCell::new(copy))
        };
        self.tables.insert(child, table);
    }

    fn left(&mut self, call: &Call, on: &[(i32, bool)]) {
        let Some(result) = &call.result else {
            return;
        };
        let returned = call.returned();
        if call.name == "write"
            && let Some(note) = call.argument(1).strip_prefix("\"note ")
        {
            self.note(call, note.trim_end_matches('"'));
        }
        let row = Row {
            count: 1,
            errors: u64::from(returned.is_none()),
            bytes: returned.unwrap_or(0),
        };
        let table = self.table(call.thread);
        if let Some(thing) = self.made_writable(call, &table) {
            self.tally.add(&thing, "mprotect(shared)", false, row);
        } else if acts_on(&call.name) == ActsOn::Returned
            && let Some((fd, Some(path))) = descriptor(result)
        {
            let entry = Entry {
                thing: None,
                waiting: vec![],
                path,
            };
            table.borrow_mut().insert(fd, entry);
            self.count(&table, Some(fd), &call.name, false, row);
        } else if let Some((fd, _)) = on.iter().find(|(_, is_source)| !is_source) {
            self.count(&table, Some(*fd), &call.name, false, row);
        } else {
            self.count(&table, None, &call.name, false, row);
        }
        // The source of a failed call is not counted.
        for (fd, _) in on
            .iter()
            .filter(|(_, is_source)| *is_source && returned.is_some())
        {
            self.count(&table, Some(*fd), &call.name, true, row);
        }
        if returned.is_some() {
            self.close(call, &table);
        }
    }

    /// The file whose shared mapping the call makes writable. The program maps, protects and unmaps
    /// in sequence.
    fn made_writable(&mut self, call: &Call, table: &Table) -> Option<Thing> {
        if call.name == "mmap" && call.argument(3) == "MAP_SHARED" {
            self.mapped.remove(&call.thread);
            let (fd, _) = descriptor(call.argument(4))?;
            let entry = table.borrow().get(&fd)?.clone();
            // Memory without a location in a file system is not a file.
            let thing = entry.thing.filter(|_| !entry.path.starts_with("/memfd:"));
            let thing = thing?;
            let address = call.result.clone()?;
            self.mapped.insert(call.thread, (address, thing));
            return None;
        }
        let (address, thing) = self.mapped.get(&call.thread)?;
        let is_it = call.name == "mprotect"
            && call.returned().is_some()
            && call.argument(0) == address
            && call.argument(2).contains("PROT_WRITE");
        (is_it && self.counts).then(|| thing.clone())
    }

    /// Removes descriptors that refer to nothing, or to another file, from now on.
    fn close(&mut self, call: &Call, table: &Table) {
        let number = |at: usize| descriptor(call.argument(at)).map(|(fd, _)| fd);
        let range = match &call.name[..] {
            "close" => number(0).map(|fd| (fd, fd)),
            "dup2" | "dup3" => number(1).map(|fd| (fd, fd)),
            "close_range" => number(0).zip(number(1)),
            _ => None,
        };
        if let Some((first, last)) = range {
            let mut table = table.borrow_mut();
            let closed: Vec<i32> = table.range(first..=last).map(|(fd, _)| *fd).collect();
            for fd in closed {
                let entry = table.remove(&fd).expect("it was there");
                self.give_up(&entry);
            }
        }
    }

    fn count(&mut self, table: &Table, fd: Option<i32>, call: &str, is_source: bool, row: Row) {
        if !self.counts {
            return;
        }
        let mut table = table.borrow_mut();
        let Some(entry) = fd.and_then(|fd| table.get_mut(&fd)) else {
            self.tally.add(&Thing::Nothing, call, is_source, row);
            return;
        };
        match &entry.thing {
            Some(thing) => self.tally.add(thing, call, is_source, row),
            None => entry.waiting.push((call.to_owned(), is_source, row)),
        }
    }

    fn note(&mut self, call: &Call, text: &str) {
        let words: Vec<&str> = text.split(' ').collect();
        let table = self.table(call.thread);
        match words[..] {
            ["begin"] => self.counts = true,
            ["is", fd, device, inode, generation] => {
                let thing = thing(device, inode, generation);
                self.told(&table, fd.parse().expect("a number"), thing);
            }
            ["linked", device, inode] => {
                self.tally.linked.insert(thing(device, inode, "0"));
            }
            [kind @ ("uring" | "aio"), operation, fd, result] => {
                let result: i64 = result.parse().expect("a number");
                let row = Row {
                    count: 1,
                    errors: u64::from(result < 0),
                    bytes: u64::try_from(result).unwrap_or(0),
                };
                let library = if kind == "uring" { "io_uring" } else { kind };
                let call = format!("{library}.{operation}");
                self.count(&table, fd.parse().ok(), &call, false, row);
            }
            _ => panic!("a note that nobody knows: {text}"),
        }
    }

    /// The program has reported the file of a descriptor.
    fn told(&mut self, table: &Table, fd: i32, thing: Thing) {
        let mut table = table.borrow_mut();
        let entry = table.entry(fd).or_default();
        let thing = if entry.path.starts_with("anon_inode:") {
            Thing::Kind(entry.path.clone())
        } else {
            thing
        };
        for (call, is_source, row) in entry.waiting.drain(..) {
            self.tally.add(&thing, &call, is_source, row);
        }
        self.tally.name(&thing, &entry.path);
        entry.thing = Some(thing);
    }

    /// Closes a descriptor that was never reported.
    fn give_up(&mut self, entry: &Entry) {
        if entry.thing.is_some() {
            return;
        }
        let is_kind = entry.path.starts_with("anon_inode:");
        assert!(is_kind || entry.waiting.is_empty(), "untold: {entry:?}");
        let thing = Thing::Kind(entry.path.clone());
        for (call, is_source, row) in &entry.waiting {
            self.tally.add(&thing, call, *is_source, *row);
        }
    }

    fn finish(mut self) -> Tally {
        assert!(self.counts, "the program has not begun");
        for table in std::mem::take(&mut self.tables).into_values() {
            let left = std::mem::take(&mut *table.borrow_mut());
            for entry in left.into_values() {
                self.give_up(&entry);
            }
        }
        self.tally
    }
}
