//! The page cache of single files: counts, warms and evicts pages, and finds out who holds pages
//! that stay and who evicted pages.

mod count;
mod holders;
mod looked_at;
mod moving;
mod page_out;

pub use count::{Counted, NotTold, count, count_by_cachestat};
pub use holders::{Mappers, loop_devices, mappers};
pub use looked_at::{FileSystems, LookedAt, Regular, look_at};
pub use moving::{let_go, read_through, spare_access_time};
pub use page_out::page_out;
pub(crate) use page_out::page_outs;

/// Bytes of a base page, the unit of all counts here, whatever the folio size.
pub fn page_bytes() -> u64 {
    crate::kernel::page_size() as u64
}
