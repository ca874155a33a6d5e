//! Byte counts as people write them: `4096`, `64KiB`, `100kB`.
