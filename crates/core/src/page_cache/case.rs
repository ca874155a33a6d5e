//! The dimensions of a case.

use serde::{Deserialize, Serialize};

use crate::{bytes, lab};

/// Bytes of a page: what `cachestat`(2) counts in on the machines this runs on.
const PAGE_BYTES: u64 = 4096;

names! {
    /// Where the file is before the read, and whether the read uses the page cache.
    pub enum State {
        /// No page of the file is resident.
        Cold = "cold",
        /// Every page of the file is resident.
        Warm = "warm",
        /// Opened with `O_DIRECT`, after an eviction.
        Direct = "direct",
        /// Read with `RWF_DONTCACHE`, after an eviction.
        Dontcache = "dontcache",
        /// Some pages are resident: found, never asked for.
        Partial = "partial",
    }
}

impl State {
    /// Those that can be requested.
    pub const ASKED: [Self; 4] = [Self::Cold, Self::Warm, Self::Direct, Self::Dontcache];

    /// The state of a row requested in this state, if `resident_bytes` of a file
    /// of `size_bytes` were in the cache before the read. `O_DIRECT` does not look
    /// there, so it stays what it is.
    #[must_use]
    pub fn found(self, resident_bytes: u64, size_bytes: u64) -> Self {
        let filled = match resident_bytes.div_ceil(PAGE_BYTES) {
            0 => Self::Cold,
            pages if pages >= size_bytes.div_ceil(PAGE_BYTES) => Self::Warm,
            _ => Self::Partial,
        };
        match (self, filled) {
            (Self::Direct, _) => Self::Direct,
            (Self::Dontcache, Self::Cold) => Self::Dontcache,
            (_, found) => found,
        }
    }
}

names! {
    /// How the file is read.
    pub enum Reader {
        /// The whole file into a buffer that is new each time, so that its pages fault.
        Read = "read",
        /// The whole file into a buffer whose pages have been touched before.
        ReadReused = "read_reused",
        /// Mapped, and every byte added up.
        Mmap = "mmap",
        /// 4 KiB reads in random order, no page twice.
        PreadRandom = "pread_random",
        /// The whole file through `io_uring`, several requests in flight.
        IoUring = "io_uring",
    }
}

names! {
    /// The processing of the bytes.
    pub enum Parse {
        /// Nothing.
        None = "none",
        /// JSON into a tree of values.
        Json = "json",
        /// JSON into typed structures.
        JsonTyped = "json_typed",
        /// Lines are counted.
        Lines = "lines",
        /// sum of 64-bit words: as cheap as looking at every byte can be.
        Checksum = "checksum",
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(rename = "PageCacheCase"))]
pub struct Case {
    /// Where the file is.
    pub state: State,
    pub reader: Reader,
    /// Size of the file.
    pub size_bytes: u64,
    pub parse: Parse,
}

impl lab::Case for Case {
    const EXPERIMENT: &'static str = "page-cache";

    fn label(&self) -> String {
        let (state, reader) = (self.state.as_str(), self.reader.as_str());
        let size = bytes::short(self.size_bytes);
        match self.parse {
            Parse::None => format!("{state} {reader}, {size}"),
            parse => format!("{state} {reader}, {size}, parsed as {}", parse.as_str()),
        }
    }
}

impl Case {
    /// Why the combination is impossible; `None` if it is possible.
    pub fn impossible(&self) -> Option<&'static str> {
        match (self.state, self.reader, self.parse) {
            (State::Partial, ..) => Some("a partly cached file is measured as found, not prepared"),
            (State::Direct | State::Dontcache, Reader::Mmap, _) => {
                Some("a mapping always goes through the page cache")
            }
            (State::Dontcache, Reader::IoUring, _) => {
                Some("io_uring reads here do not support RWF_DONTCACHE")
            }
            (State::Direct, Reader::IoUring, _) if !self.size_bytes.is_multiple_of(PAGE_BYTES) => {
                Some(
                    "io_uring reads O_DIRECT in whole pages, and the file size is not a multiple \
                      of a page",
                )
            }
            (_, Reader::Mmap, parse) if parse != Parse::None => {
                Some("a mapping is read while it is parsed: the two cannot be separated")
            }
            (_, Reader::PreadRandom | Reader::IoUring, Parse::None) => None,
            (_, Reader::PreadRandom | Reader::IoUring, _) => {
                Some("a parser needs the whole file in order in one buffer")
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: u64 = 10_000;
    const PAGES: u64 = 3 * PAGE_BYTES;

    #[test]
    fn the_state_is_what_is_found_and_not_what_is_asked() {
        for (asked, resident, found) in [
            (State::Cold, 0, State::Cold),
            (State::Cold, PAGE_BYTES, State::Partial),
            (State::Cold, PAGES, State::Warm),
            (State::Warm, PAGES, State::Warm),
            (State::Warm, PAGES - PAGE_BYTES, State::Partial),
            (State::Warm, 0, State::Cold),
            (State::Dontcache, 0, State::Dontcache),
            (State::Dontcache, PAGES, State::Warm),
            (State::Dontcache, PAGE_BYTES, State::Partial),
            (State::Direct, 0, State::Direct),
            (State::Direct, PAGES, State::Direct),
        ] {
            assert_eq!(asked.found(resident, SIZE), found, "{asked:?} {resident}");
        }
    }

    #[test]
    fn names_are_those_of_the_json() {
        for state in State::ASKED {
            assert_eq!(serde_json::to_value(state).unwrap(), state.as_str());
        }
        for reader in Reader::ALL {
            assert_eq!(serde_json::to_value(reader).unwrap(), reader.as_str());
        }
        for parse in Parse::ALL {
            assert_eq!(serde_json::to_value(parse).unwrap(), parse.as_str());
        }
    }

    #[test]
    fn what_cannot_be_combined_is_told() {
        let case = |state, reader, parse| Case {
            state,
            reader,
            size_bytes: SIZE,
            parse,
        };
        for possible in [
            case(State::Cold, Reader::ReadReused, Parse::Json),
            Case {
                size_bytes: 8192,
                ..case(State::Direct, Reader::IoUring, Parse::None)
            },
            case(State::Dontcache, Reader::PreadRandom, Parse::None),
        ] {
            assert_eq!(possible.impossible(), None, "{possible:?}");
        }
        for impossible in [
            case(State::Direct, Reader::Mmap, Parse::None),
            case(State::Dontcache, Reader::IoUring, Parse::None),
            case(State::Direct, Reader::IoUring, Parse::None),
            case(State::Cold, Reader::Mmap, Parse::Json),
            case(State::Warm, Reader::PreadRandom, Parse::Lines),
            case(State::Partial, Reader::Read, Parse::None),
        ] {
            assert!(impossible.impossible().is_some(), "{impossible:?}");
        }
    }
}
