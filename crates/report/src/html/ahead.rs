//! The later contents of a page, which decide how it begins.

use std::collections::BTreeSet;

use super::table::{self, Room};
use crate::view::page::{Block, Level};
use crate::view::table::Kind;

fn ends_part(block: &Block) -> bool {
    let is_part = matches!(
        block,
        Block::Heading {
            level: Level::Part,
            ..
        }
    );
    is_part || matches!(block, Block::Title { .. })
}

/// Whether a table comes before the next part.
pub(super) fn has_table(after: &[Block]) -> bool {
    let mut here = after.iter().take_while(|block| !ends_part(block));
    here.any(|block| matches!(block, Block::Table(table) if table.rows() > 0))
}

/// Entries before the next part.
pub(super) fn entries(after: &[Block]) -> usize {
    let here = after.iter().take_while(|block| !ends_part(block));
    here.filter(|block| matches!(block, Block::Entry(_)))
        .count()
}

/// Numbers of the rows that stand in tables before the next title.
pub(super) fn linked(after: &[Block], room: Room) -> BTreeSet<usize> {
    let here = after
        .iter()
        .take_while(|block| !matches!(block, Block::Title { .. }));
    let tables = here.filter_map(|block| match block {
        Block::Table(table) => Some(table),
        _ => None,
    });
    let numbers = tables.flat_map(|table| {
        let first = table.columns.first();
        let column = first.filter(|column| column.kind == Kind::RowNumber);
        let cells = column.map_or(&[][..], |column| &column.cells);
        cells.iter().take(table::shown(table, room))
    });
    numbers
        .filter_map(|number| number.as_str().parse().ok())
        .collect()
}
