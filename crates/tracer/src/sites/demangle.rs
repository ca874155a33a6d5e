//! Demangled names of bounded length.
//!
//! A mangled name may refer back to its own parts, so that a few hundred bytes expand to gigabytes:
//! it is written to a buffer that stops the writer when it is full.

use std::fmt::{self, Write as _};

/// Maximum length in bytes of a mangled name; a longer one is shown unchanged.
const LONGEST_MANGLED: usize = 4096;

/// Maximum nesting depth of a C++ name. If its end is malformed, the parser tries the rest twice at
/// each level: at its own limit of 96, names of 4 KiB took it up to a second, at 64 up to 35 ms. Of
/// 141,339 names in LLVM, Clang, Chromium and a JVM, 5 are deeper.
const DEEPEST: u32 = 64;

/// Bytes of a name that are shown.
const LONGEST_SHOWN: usize = 1024;

pub(super) fn demangled(name: &str) -> String {
    if name.len() > LONGEST_MANGLED {
        return shortened(name);
    }
    let mut shown = Shown::default();
    if let Ok(rust) = rustc_demangle::try_demangle(name) {
        // Fails only when it is full.
        _ = write!(shown, "{rust:#}");
        return shown.text();
    }
    // With a version: `_ZNSo5writeEPKcl@@GLIBCXX_3.4`.
    let bare = name.split('@').next().unwrap_or(name);
    let options = cpp_demangle::DemangleOptions::new()
        .no_params()
        .no_return_type();
    let parsing = cpp_demangle::ParseOptions::default().recursion_limit(DEEPEST);
    let is_demangled = cpp_demangle::Symbol::new_with_options(bare, &parsing)
        .is_ok_and(|symbol| symbol.structured_demangle(&mut shown, &options).is_ok());
    if is_demangled || shown.is_full {
        shown.text()
    } else {
        shortened(bare)
    }
}

/// A text whose first part is shown.
pub(super) fn shortened(text: &str) -> String {
    let mut shown = Shown::default();
    // Fails only when it is full.
    _ = shown.write_str(text);
    shown.text()
}

#[derive(Debug, Default)]
struct Shown {
    text: String,
    is_full: bool,
}

impl Shown {
    fn text(mut self) -> String {
        if self.is_full {
            self.text.push('…');
        }
        self.text
    }
}

impl fmt::Write for Shown {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        if self.is_full {
            return Err(fmt::Error);
        }
        let room = LONGEST_SHOWN - self.text.len();
        if part.len() <= room {
            self.text.push_str(part);
            return Ok(());
        }
        self.text.push_str(&part[..part.floor_char_boundary(room)]);
        self.is_full = true;
        Err(fmt::Error)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    #[test]
    fn names_are_as_written() {
        assert_eq!(demangled("write"), "write");
        assert_eq!(
            demangled("_ZN4core3fmt5write17h0123456789abcdefE"),
            "core::fmt::write"
        );
        assert_eq!(demangled("_RNvC6_123foo3bar"), "123foo::bar");
        assert_eq!(
            demangled("_ZNSo5writeEPKcl@@GLIBCXX_3.4"),
            "std::ostream::write"
        );
        assert_eq!(demangled("_Znonsense"), "_Znonsense");
    }

    /// Each argument contains the previous one twice: `S0_` and so on refer to earlier parts.
    pub(in crate::sites) fn bomb(arguments: usize) -> String {
        const DIGITS: &[u8; 36] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
        let doubled = DIGITS[2..][..arguments].iter().map(|digit| *digit as char);
        let doubled: Vec<_> = doubled.map(|one| format!("S1_IS{one}_S{one}_E")).collect();
        format!("_Z1fI1A1BIS0_S0_E{}EvT_", doubled.concat())
    }

    #[test]
    fn a_name_that_stands_for_gigabytes_is_cut_off() {
        let name = bomb(24);
        assert!(name.len() < 300, "{name}");
        let shown = demangled(&name);
        assert!(shown.len() <= LONGEST_SHOWN + '…'.len_utf8());
        assert!(shown.ends_with('…') && !shown.starts_with("_Z"), "{shown}");
    }

    #[test]
    fn a_name_that_nests_too_deep_is_shown_as_it_is() {
        let nested = |levels| format!("_Z1fI{}i{}EvT_", "1AI".repeat(levels), "E".repeat(levels));
        let shown = demangled(&nested(7));
        assert!(shown.starts_with("f<A<A<A<A<A<A<A<int>"), "{shown}");
        assert_eq!(demangled(&nested(12)), nested(12));
    }

    #[test]
    fn a_long_name_is_shown_in_part() {
        let long = "é".repeat(4_000);
        let shown = demangled(&long);
        assert_eq!(shown.len(), LONGEST_SHOWN + '…'.len_utf8());
        assert_eq!(shortened("short"), "short");
    }
}
