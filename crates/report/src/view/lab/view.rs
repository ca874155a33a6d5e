//! The rows of an experiment as they are drawn: which, with their numbers, and what the tables
//! left out.

use std::collections::{BTreeMap, BTreeSet};
use std::iter;

pub(super) use iostrata_core::distinct;
pub(super) use iostrata_core::lab::HOST;
use iostrata_core::lab::{Facts, target_of};
use iostrata_core::stats::Ends;
use iostrata_core::timing::Timing;

use super::{Extent, Named};
use crate::fields::lab::SPREAD;
use crate::fields::{Fields, Group};
use crate::view::page::{Page, Tone};
use crate::view::table::{Cell, Column, LeftOut, Table};

/// Head of the column of spreads where some rows have intervals and others ranges.
const MIXED: &str = "95 % or range";

pub(super) struct Numbered<'a, R> {
    pub(super) row: &'a R,
    pub(super) facts: Facts<'a>,
}

impl<R> Clone for Numbered<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Numbered<'_, R> {}

impl<R: Named> Numbered<'_, R> {
    pub(super) fn name(&self) -> String {
        self.row.name()
    }

    pub(super) fn title(&self) -> String {
        self.row.title()
    }

    /// `fsync append on host`.
    pub(super) fn place(&self) -> String {
        format!("{} on {}", self.name(), self.where_at())
    }

    /// `host`, or `host@web1` in a result of several machines.
    pub(super) fn where_at(&self) -> String {
        on(self.facts.target, self.facts.machine)
    }
}

/// Measurements missing from an experiment's tables.
#[derive(Default)]
pub(super) struct Unshown {
    /// Columns without any value, and where.
    pub(super) columns: Vec<(String, String)>,
    pub(super) no_room: Vec<String>,
}

impl Unshown {
    /// Notes what a table left out. `place` says which table it was.
    pub(super) fn add(&mut self, place: &str, left_out: LeftOut) {
        for head in left_out.unseen {
            let entry = (head, place.to_owned());
            if !self.columns.contains(&entry) {
                self.columns.push(entry);
            }
        }
        for head in left_out.no_room {
            if !self.no_room.contains(&head) {
                self.no_room.push(head);
            }
        }
    }

    /// Draws a table and notes what it left out.
    pub(super) fn draw(&mut self, page: &mut Page, place: &str, table: Table) {
        let left_out = table.draw(page);
        self.add(place, left_out);
    }
}

pub(super) struct View<'a, R> {
    all: Vec<Numbered<'a, R>>,
    fields: Fields<'a, &'a R>,
    /// Numbers of those drawn so far.
    shown: BTreeSet<usize>,
    pub(super) extent: Extent,
    pub(super) unshown: Unshown,
}

impl<'a, R: Named> View<'a, R> {
    pub(super) fn of(
        facts: &[Facts<'a>],
        rows: &'a [R],
        fields: Fields<'a, &'a R>,
        extent: Extent,
    ) -> Self {
        let numbered = |(facts, row): (&Facts<'a>, _)| Numbered { row, facts: *facts };
        let mut all: Vec<Numbered<'a, R>> = facts.iter().zip(rows).map(numbered).collect();
        if all.iter().any(|row| row.facts.machine.is_some()) {
            beside_each_other(&mut all);
        }
        Self {
            all,
            fields,
            shown: BTreeSet::new(),
            extent,
            unshown: Unshown::default(),
        }
    }

    pub(super) fn all(&self) -> &[Numbered<'a, R>] {
        &self.all
    }

    pub(super) fn which(&self, wanted: impl Fn(&Numbered<'a, R>) -> bool) -> Vec<Numbered<'a, R>> {
        let rows = self.all.iter().copied();
        rows.filter(|row| wanted(row)).collect()
    }

    /// Names of the targets that have rows: the host first, then in their order.
    pub(super) fn targets(&self) -> Vec<&'a str> {
        let mut names = distinct(self.all.iter().map(|row| row.facts.target));
        names.sort_by_key(|name| *name != HOST);
        names
    }

    /// The targets whose rows are all drawn.
    pub(super) fn in_full(&self) -> Vec<&'a str> {
        let mut targets = self.targets();
        if !self.extent.all_rows() {
            targets.truncate(1);
        }
        targets
    }

    /// Notes that rows were drawn.
    pub(super) fn show(&mut self, rows: &[Numbered<'_, R>]) {
        self.shown.extend(rows.iter().map(|row| row.facts.number));
    }

    /// The ones drawn so far.
    pub(super) fn shown(&self) -> Vec<Numbered<'a, R>> {
        self.which(|row| self.shown.contains(&row.facts.number))
    }

    pub(super) fn hidden(&self) -> usize {
        self.all.len() - self.shown.len()
    }

    pub(super) fn columns(&self, groups: &[Group], rows: &[Numbered<'a, R>]) -> Vec<Column> {
        let timings = rows.iter().map(|row| row.facts.timing);
        let rows: Vec<&R> = rows.iter().map(|row| row.row).collect();
        let columns = groups.iter();
        let columns = columns.flat_map(|group| self.fields.columns(&[*group], &rows));
        let mut columns: Vec<Column> = columns.collect();
        for column in &mut columns {
            if column.head == SPREAD {
                column.head = spread_head(timings.clone());
            }
        }
        columns
    }

    /// A table: rows by number and name, columns of their own, and what the fields show.
    pub(super) fn table(
        &self,
        head: &str,
        rows: &[Numbered<'a, R>],
        own: impl IntoIterator<Item = Column>,
        groups: &[Group],
    ) -> Table {
        let mut columns = names(head, rows);
        columns.extend(own);
        columns.extend(self.columns(groups, rows));
        Table::new(0, columns)
    }

    pub(super) fn counts(&self, head: &str, rows: &[Numbered<'a, R>]) -> Table {
        let parts = [Group::Counts, Group::Shared, Group::Unpaid];
        self.table(head, rows, [], &parts)
    }

    pub(super) fn draw(&mut self, page: &mut Page, place: &str, table: Table) {
        self.unshown.draw(page, place, table);
    }

    /// The same below another table.
    pub(super) fn draw_below(&mut self, page: &mut Page, place: &str, table: Table) {
        if table.has_values() {
            page.blank();
        }
        self.draw(page, place, table);
    }

    /// Adds what the columns of the rows mean, and what their ranges are.
    pub(super) fn legend(&self, page: &mut Page, texts: &[&str]) {
        let ranges = self.has_ranges().then_some(RANGES);
        page.blank();
        for text in texts.iter().copied().chain(ranges) {
            page.styled(0, text, Tone::Quiet);
        }
    }

    fn has_ranges(&self) -> bool {
        let heads = [Ends::Range.as_str(), MIXED];
        let drawn = !self
            .unshown
            .no_room
            .iter()
            .any(|head| heads.contains(&head.as_str()));
        let is_range = |timing: &Timing| timing.ends() == Ends::Range;
        drawn
            && self
                .shown()
                .iter()
                .any(|row| row.facts.timing.is_some_and(is_range))
    }
}

const RANGES: &str = "range: least to most of five runs or fewer, which contains the \
    true median less often than a 95 % interval";

/// Text above the spreads of this number of timings.
pub(super) fn spread_head<'t>(timings: impl Iterator<Item = Option<&'t Timing>>) -> String {
    let spreads: BTreeSet<Ends> = timings.flatten().map(Timing::ends).collect();
    let head = match (spreads.first(), spreads.last()) {
        (Some(one), Some(other)) if one != other => MIXED,
        (Some(all), _) => all.as_str(),
        (None, _) => Ends::Interval.as_str(),
    };
    head.to_owned()
}

/// Puts the rows of one case on one target together, those of each machine in their order.
fn beside_each_other<R>(rows: &mut [Numbered<'_, R>]) {
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for (place, row) in rows.iter().enumerate() {
        let id = row.facts.id();
        places.entry(target_of(&id).to_owned()).or_insert(place);
    }
    rows.sort_by_cached_key(|row| places.get(target_of(&row.facts.id())).copied());
}

/// A target, and its machine in a result of several.
pub(super) fn on(target: &str, machine: Option<&str>) -> String {
    match machine {
        Some(machine) => format!("{target}@{machine}"),
        None => target.to_owned(),
    }
}

/// The machines of rows or of what else a table shows, in a result of several.
pub(super) fn machines<'t>(
    machines: impl Iterator<Item = Option<&'t str>> + Clone,
) -> Option<Column> {
    machines.clone().any(|machine| machine.is_some()).then(|| {
        let cells = machines.map(|machine| Cell::applicable(machine, str::to_owned));
        Column::label("machine", cells)
    })
}

pub(super) fn names<R: Named>(head: &str, rows: &[Numbered<'_, R>]) -> Vec<Column> {
    let own = [Column::label(head, rows.iter().map(Numbered::name))];
    beside_numbers(rows, own)
}

/// The same of rows of several targets, below each other.
pub(super) fn names_on<R: Named>(head: &str, rows: &[Numbered<'_, R>]) -> Vec<Column> {
    let own = [
        Column::label(head, rows.iter().map(Numbered::name)).once(),
        Column::label("on", rows.iter().map(|row| row.facts.target)),
    ];
    beside_numbers(rows, own)
}

fn beside_numbers<R, const N: usize>(rows: &[Numbered<'_, R>], names: [Column; N]) -> Vec<Column> {
    let numbers = Column::row_numbers(rows.iter().map(|row| row.facts.number));
    let machines = machines(rows.iter().map(|row| row.facts.machine));
    iter::once(numbers).chain(names).chain(machines).collect()
}

/// `1.05–1.12`: the interval of a median, or the range of its runs.
pub(super) fn ends(timing: &Timing, text: impl Fn(f64) -> String) -> String {
    format!("{}–{}", text(timing.low_s), text(timing.high_s))
}

/// Medians under a head, and their intervals.
pub(super) fn medians<'t>(
    head: &str,
    timings: impl Iterator<Item = Option<&'t Timing>> + Clone,
    text: impl Fn(f64) -> String,
) -> [Column; 2] {
    let medians = timings
        .clone()
        .map(|timing| Cell::seen(timing, |timing| text(timing.median_s)));
    let head_of_spreads = spread_head(timings.clone());
    let spreads = timings.map(|timing| match timing {
        // One run has no spread.
        Some(timing) if timing.samples_s.len() < 2 => Cell::NotApplicable,
        timing => Cell::seen(timing, |timing| ends(timing, &text)),
    });
    [
        Column::number(head, medians),
        Column::text(&head_of_spreads, spreads).rank(1),
    ]
}
