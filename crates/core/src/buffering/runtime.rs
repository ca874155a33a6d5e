//! The buffering of a language runtime, derived from its system calls.
//!
//! Three programs are run in every runtime: three short writes and a flush; ten
//! records of 1 KiB and a close; and one-byte writes until any buffer has
//! overflowed several times. One-byte writes show the buffer's size to the byte,
//! because every call is made at the first byte that no longer fits.

use serde::{Deserialize, Serialize};

use crate::op::{FileId, Op};

/// One system call of a runtime's program on its file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct RuntimeCall {
    /// `write`, `writev`, `fsync` ...
    pub name: String,
    /// Length of each buffer written; empty for a sync, or when not captured.
    pub pieces_bytes: Vec<u64>,
    /// Bytes that the kernel took; 0 for a sync.
    pub returned_bytes: u64,
}

/// The handling of small writes by one runtime.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct RuntimeBuffer {
    /// `C stdio`, `Python` ...
    pub runtime: String,
    /// Version it reports.
    pub version: String,
    /// Call used in its own words, such as `open(path, "wb").write`.
    pub api: String,
    /// Calls of: write "one", "two", "three", flush.
    pub three_writes: Vec<RuntimeCall>,
    /// Calls of: ten records of 1 KiB, close.
    pub ten_kib: Vec<RuntimeCall>,
    /// Whether writes are gathered in user space; `null` when unknown.
    pub buffered: Option<bool>,
    /// Size of the user-space buffer; `null` when there is none (`buffered` is
    /// false) or when it is unknown.
    pub buffer_bytes: Option<u64>,
    /// The call made at overflow, with the length of each buffer written, such as `writev [7168,
    /// 1024]`; `null` when no overflow was seen.
    pub overflow_call: Option<String>,
    /// Notes on the row, such as why the buffer size is unknown.
    pub note: Option<String>,
    /// The machine it was found on, in a result of several machines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
}

/// The user-space buffer that a runtime's calls show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Buffer {
    /// Every write of the program is a system call.
    None,
    /// Writes are gathered up to this many bytes.
    Bytes(u64),
    /// Writes are gathered, but no size is seen, for the reason given.
    Unsized(&'static str),
    /// The calls do not say, for the reason given.
    Unknown(&'static str),
}

impl RuntimeBuffer {
    /// The row of a runtime, from the calls of its three programs; `fill` are
    /// those of the one-byte writes.
    pub fn from_calls(
        (runtime, version, api): (String, String, String),
        three_writes: Vec<RuntimeCall>,
        ten_kib: Vec<RuntimeCall>,
        fill: &[RuntimeCall],
    ) -> Self {
        let buffer = user_buffer(&three_writes, fill);
        let (buffered, buffer_bytes, note) = match buffer {
            Buffer::None => (Some(false), None, None),
            Buffer::Bytes(bytes) => (Some(true), Some(bytes), None),
            Buffer::Unsized(why) => (Some(true), None, Some(why)),
            Buffer::Unknown(why) => (None, None, Some(why)),
        };
        let overflow_call =
            buffer_bytes.and_then(|_| overflow(&ten_kib).or_else(|| overflow(fill)));
        Self {
            runtime,
            version,
            api,
            three_writes,
            ten_kib,
            buffered,
            buffer_bytes,
            overflow_call,
            note: note.map(str::to_owned),
            machine: None,
        }
    }
}

/// The writes and syncs among `ops` that succeeded on one file, in their order.
pub fn calls_on(ops: &[Op], device: u32, inode: u64) -> Vec<RuntimeCall> {
    let on_it = |file: FileId| (file.device, file.inode) == (device, inode);
    ops.iter()
        .filter(|op| op.file.is_some_and(on_it))
        .filter_map(|op| {
            Some(RuntimeCall {
                name: op.call.name.to_owned(),
                pieces_bytes: op.pieces_bytes.clone(),
                returned_bytes: op.call.outcome.ok()?,
            })
        })
        .collect()
}

/// Reads the user-space buffer off the calls of "three writes, flush" and of
/// one-byte writes until overflow.
///
/// The size is what every call but the last one took: the buffer, and the byte
/// that overflowed it when the runtime sends both at once (Ruby's
/// `writev [8191, 1]`).
pub fn user_buffer(three: &[RuntimeCall], fill: &[RuntimeCall]) -> Buffer {
    if hands_over_pieces(fill) {
        return Buffer::Unsized(
            "records are queued and passed on as one piece each, at most 1,024 pieces per call \
             (IOV_MAX)",
        );
    }
    let (three, fill) = (written(three), written(fill));
    let gathers = match three.len() {
        0 => None,
        calls => Some(calls < 3),
    };
    let Some((last, full)) = fill.split_last() else {
        return match gathers {
            Some(true) => Buffer::Unsized(
                "no calls were seen from the program that fills the \
                                           buffer",
            ),
            Some(false) => Buffer::None,
            None => Buffer::Unknown("iostrata saw no write to the file"),
        };
    };
    let one_by_one = fill.iter().all(|bytes| *bytes == 1);
    match full.first() {
        _ if gathers.is_some_and(|gathers| gathers == one_by_one) => {
            Buffer::Unknown("three short writes and many one-byte writes were buffered differently")
        }
        None if *last == 1 => Buffer::Unknown("only one byte was written"),
        None => Buffer::Unsized("the buffer is larger than what the program wrote"),
        Some(_) if one_by_one => Buffer::None,
        Some(size) if full.iter().all(|bytes| bytes == size) && last <= size => {
            Buffer::Bytes(*size)
        }
        Some(_) => Buffer::Unsized("the calls have no fixed size"),
    }
}

/// Whether a call carries the one-byte records as they came instead of gathered:
/// its length then says how many pieces a call may have, not how large a buffer is.
fn hands_over_pieces(fill: &[RuntimeCall]) -> bool {
    fill.iter()
        .any(|call| call.pieces_bytes.len() > 2 && call.pieces_bytes.iter().all(|len| *len == 1))
}

/// Bytes that each writing call took. A sync takes none.
fn written(calls: &[RuntimeCall]) -> Vec<u64> {
    calls
        .iter()
        .map(|call| call.returned_bytes)
        .filter(|bytes| *bytes > 0)
        .collect()
}

/// The first writing call, if another one followed it.
fn overflow(calls: &[RuntimeCall]) -> Option<String> {
    let mut writing = calls.iter().filter(|call| call.returned_bytes > 0);
    let first = writing.next()?;
    writing.next()?;
    Some(first.to_string())
}

/// Longest list of buffers that is written out.
const SHOWN_PIECES: usize = 4;

impl std::fmt::Display for RuntimeCall {
    /// `write 8192`, `writev [7168, 1024]`, `fsync`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)?;
        match self.pieces_bytes.as_slice() {
            [] if self.returned_bytes == 0 => Ok(()),
            [] => write!(f, " {}", self.returned_bytes),
            [one] => write!(f, " {one}"),
            pieces => {
                let shown: Vec<String> = pieces
                    .iter()
                    .take(SHOWN_PIECES)
                    .map(u64::to_string)
                    .collect();
                let more = if pieces.len() > SHOWN_PIECES {
                    ", …"
                } else {
                    ""
                };
                write!(f, " [{}{more}]", shown.join(", "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_of_pieces_is_not_a_buffer_of_that_size() {
        let call = |pieces: &[u64], returned_bytes| RuntimeCall {
            name: "writev".to_owned(),
            pieces_bytes: pieces.to_vec(),
            returned_bytes,
        };
        let three = [call(&[3, 3, 5], 11)];
        let fill = [call(&[1; 8], 1024), call(&[1; 8], 1024), call(&[1; 8], 600)];
        assert!(matches!(user_buffer(&three, &fill), Buffer::Unsized(_)));
    }

    use crate::op::Call;

    const FILE: FileId = FileId {
        device: 7,
        inode: 12,
        generation: 1,
    };

    fn op(name: &'static str, file: FileId, pieces: &[u64], outcome: Result<u64, i32>) -> Op {
        Op {
            call: Call {
                process: 1,
                thread: 1,
                started_ns: 0,
                ended_ns: 1,
                name,
                outcome,
            },
            file: Some(file),
            pieces_bytes: pieces.to_vec(),
        }
    }

    fn write(name: &'static str, file: FileId, pieces: &[u64]) -> Op {
        op(name, file, pieces, Ok(pieces.iter().sum()))
    }

    fn calls(pieces: &[&[u64]]) -> Vec<RuntimeCall> {
        let name = |pieces: &[u64]| if pieces.len() == 1 { "write" } else { "writev" };
        let ops: Vec<Op> = pieces.iter().map(|p| write(name(p), FILE, p)).collect();
        calls_on(&ops, 7, 12)
    }

    /// `count` writing calls of `size` bytes, then one of `last`.
    fn fill(count: usize, size: u64, last: u64) -> Vec<RuntimeCall> {
        let sizes: Vec<[u64; 1]> = std::iter::repeat_n([size], count).chain([[last]]).collect();
        calls(&sizes.iter().map(<[u64; 1]>::as_slice).collect::<Vec<_>>())
    }

    const ONE_CALL: &[&[u64]] = &[&[11]];
    const THREE_CALLS: &[&[u64]] = &[&[3], &[3], &[5]];

    #[test]
    fn only_successful_writes_and_syncs_of_the_file_are_taken() {
        let neighbour = FileId { inode: 13, ..FILE };
        let ops = [
            write("write", neighbour, &[5]),
            op("write", FILE, &[9], Err(11)),
            write("write", FILE, &[9]),
            // The lengths could not be read.
            op("writev", FILE, &[], Ok(7)),
            op("fsync", FILE, &[], Ok(0)),
        ];
        let shown: Vec<String> = calls_on(&ops, 7, 12)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(shown, ["write 9", "writev 7", "fsync"]);
    }

    /// The article's traces: `write("onetwothree", 11)`; then, for ten records of
    /// 1 KiB, `writev([7168, 1024]) = 8192` and `write(2048)`.
    #[test]
    fn ruby_as_published() {
        let row = RuntimeBuffer::from_calls(
            ("Ruby".to_owned(), "3.2.0".to_owned(), "IO#write".to_owned()),
            calls(ONE_CALL),
            calls(&[&[7168, 1024], &[2048]]),
            &calls(&[&[8191, 1], &[8191, 1], &[8191, 1], &[5424]]),
        );
        assert_eq!((row.buffered, row.buffer_bytes), (Some(true), Some(8192)));
        assert_eq!(row.overflow_call.as_deref(), Some("writev [7168, 1024]"));
        assert_eq!(row.ten_kib[0].returned_bytes, 8192);
        assert_eq!(row.note, None);
    }

    #[test]
    fn a_buffer_above_ten_kib_is_seen_by_the_fill() {
        let row = RuntimeBuffer::from_calls(
            (
                "Python".to_owned(),
                "3.14".to_owned(),
                "open(path, \"wb\").write".to_owned(),
            ),
            calls(ONE_CALL),
            calls(&[&[10_240]]),
            &fill(2, 131_072, 37_856),
        );
        assert_eq!(row.buffer_bytes, Some(131_072));
        assert_eq!(row.overflow_call.as_deref(), Some("write 131072"));
    }

    #[test]
    fn without_a_buffer_every_write_is_a_call() {
        assert_eq!(
            user_buffer(&calls(THREE_CALLS), &fill(99, 1, 1)),
            Buffer::None
        );
        assert_eq!(user_buffer(&calls(THREE_CALLS), &[]), Buffer::None);
        let row = RuntimeBuffer::from_calls(
            (
                "Go".to_owned(),
                "1.26".to_owned(),
                "os.File.Write".to_owned(),
            ),
            calls(THREE_CALLS),
            fill(9, 1024, 1024),
            &fill(99, 1, 1),
        );
        assert_eq!(
            (row.buffered, row.buffer_bytes, row.overflow_call),
            (Some(false), None, None)
        );
    }

    #[test]
    fn unknown_is_not_none() {
        let one = calls(ONE_CALL);
        assert!(matches!(user_buffer(&[], &[]), Buffer::Unknown(_)));
        assert!(matches!(user_buffer(&one, &[]), Buffer::Unsized(_)));
        assert!(matches!(
            user_buffer(&one, &fill(0, 0, 300_000)),
            Buffer::Unsized(_)
        ));
        assert!(matches!(
            user_buffer(&one, &fill(99, 1, 1)),
            Buffer::Unknown(_)
        ));
        assert!(matches!(
            user_buffer(&calls(THREE_CALLS), &fill(3, 4096, 1)),
            Buffer::Unknown(_)
        ));
        // A first write at once, then all that queued up meanwhile: Node's streams.
        assert!(matches!(
            user_buffer(&one, &fill(1, 1, 299_999)),
            Buffer::Unsized(_)
        ));
        assert!(matches!(
            user_buffer(&one, &calls(&[&[512], &[1024], &[7]])),
            Buffer::Unsized(_)
        ));
        let row = RuntimeBuffer::from_calls(
            (String::new(), String::new(), String::new()),
            Vec::new(),
            Vec::new(),
            &[],
        );
        assert_eq!((row.buffered, row.buffer_bytes), (None, None));
        assert!(row.note.is_some());
    }

    #[test]
    fn a_sync_between_writes_does_not_count_as_a_write() {
        let mut three = calls(ONE_CALL);
        three.push(RuntimeCall {
            name: "fsync".into(),
            pieces_bytes: vec![],
            returned_bytes: 0,
        });
        assert_eq!(user_buffer(&three, &fill(3, 4096, 12)), Buffer::Bytes(4096));
        assert_eq!(
            user_buffer(&three, &fill(3, 4096, 4096)),
            Buffer::Bytes(4096)
        );
    }

    #[test]
    fn long_vectors_are_cut_when_shown() {
        let call = &calls(&[&[1, 2, 3, 4, 5]])[0];
        assert_eq!(call.to_string(), "writev [1, 2, 3, 4, …]");
    }
}
