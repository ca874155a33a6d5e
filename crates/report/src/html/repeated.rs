//! Rows of one path: the first stands for the others, which wait in a table of their own.

use std::collections::BTreeMap;

use iostrata_core::bytes::grouped;

use crate::view::cell::Cell;
use crate::view::table::{Column, Kind, Table};

/// A table whose paths are all different, and the rows that it has no longer.
pub(super) struct Apart {
    /// The first row of each path, with how many there are.
    pub(super) first: Table,
    /// The others.
    pub(super) others: Table,
}

/// Takes the rows of a table apart; `None` where no path repeats.
pub(super) fn apart(table: &Table) -> Option<Apart> {
    if !table.titles.is_empty() {
        return None;
    }
    let paths = table
        .columns
        .iter()
        .find(|column| column.kind == Kind::Path)?;
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut first, mut others) = (Vec::new(), Vec::new());
    for (row, cell) in paths.cells.iter().enumerate() {
        let count = counts.entry(cell.as_str()).or_default();
        *count += 1;
        let rows = if *count == 1 { &mut first } else { &mut others };
        rows.push(row);
    }
    if others.is_empty() {
        return None;
    }
    let of_path = first.iter().map(|row| {
        let count = counts[paths.cells[*row].as_str()];
        let several = (count > 1).then(|| format!("1 of {}", grouped(count as u64)));
        Cell::applicable(several, |text| text)
    });
    let of_path = Column::number("same name", of_path);
    let mut kept = table.only(&first);
    kept.columns.insert(1.min(kept.columns.len()), of_path);
    Some(Apart {
        first: kept,
        others: table.only(&others),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_row_of_a_path_stands_for_the_others() {
        let paths = ["o.db", "o.db-journal", "o.db-journal", "o.db-journal"];
        let columns = vec![
            Column::paths("file", 80, paths),
            Column::number("writes", ["9", "3", "2", "1"]),
        ];
        let apart = apart(&Table::new(0, columns)).unwrap();
        let cells = |table: &Table, column: usize| -> Vec<String> {
            let cells = table.columns[column].cells.iter();
            cells.map(|cell| cell.as_str().to_owned()).collect()
        };
        assert_eq!(cells(&apart.first, 0), ["o.db", "o.db-journal"]);
        assert_eq!(cells(&apart.first, 1), ["—", "1 of 3"]);
        assert_eq!(cells(&apart.first, 2), ["9", "3"]);
        assert_eq!(cells(&apart.others, 1), ["2", "1"]);
    }

    #[test]
    fn different_paths_stay_together() {
        let columns = vec![Column::paths("file", 80, ["a", "b"])];
        assert!(apart(&Table::new(0, columns)).is_none());
    }
}
