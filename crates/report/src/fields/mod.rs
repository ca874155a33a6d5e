//! A table of fields for each kind of row, used by every output. Each field has its name in JSON,
//! CSV and Parquet, how to get it from a row, the tables and the head under which it is shown, and
//! its metric.

pub(crate) mod compare;
pub(crate) mod evidence;
pub(crate) mod lab;
pub(crate) mod trace;
mod value;

use std::borrow::Cow;
use std::rc::Rc;

pub(crate) use self::value::{Kind, Quantity, Scalar, Value, json_name};
use crate::view::table::{self, Cell, Column};
use crate::words::help;

/// Columns that tables show together. A field may be in several, and a table may show several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Group {
    /// The first table of each lab row's figures: times and rates.
    Times,
    /// The second: the work of the kernel and the device.
    Counts,
    /// The same case on every file system: the columns before [`Group::Shared`] ...
    Compared,
    /// ... the columns that the second table repeats ...
    Shared,
    /// ... and the columns after it.
    Cost,
    /// The columns after [`Group::Shared`] in the second table.
    Unpaid,
    /// Percentiles of the single operations.
    Latencies,
    /// Parser compared with cache.
    Parsing,
    /// An observed run second by second.
    Seconds,

    Calls,
    /// A program's requests on a file, in short ...
    Above,
    /// ... and in full.
    AboveInFull,
    /// The work of page cache and device for a file, in short ...
    Below,
    /// ... and in full.
    BelowInFull,
    /// The identity of a process ...
    Process,
    /// ... or a thread ...
    Thread,
    /// ... its name ...
    Name,
    /// ... and its work.
    Task,

    /// For a comparison, in a page and in a comment.
    Both,
    /// In a page only.
    Page,
    /// In a comment only.
    Comment,
    /// Rounds of one pair of results.
    Rounds,
    /// Pairs of results.
    Pairs,
    /// Counts below the path of their file.
    OfFile,
    /// Both sides of a count.
    Sides,
}

/// Adds columns with the names of fields of the row. `values` have a type that columns have, `text` is
/// the name of a value in JSON. A structure stands after its own columns in brackets, and its name
/// before theirs.
macro_rules! columns {
    ($fields:expr; $($kind:tt: $($name:ident)+;)+) => {{
        let fields = $fields;
        $($(let fields = $crate::fields::column!(fields, $kind, $name);)+)+
        fields
    }};
}

macro_rules! column {
    ($fields:expr, [$part:expr], $name:ident) => {
        $fields.within(concat!(stringify!($name), "_"), $part, |row| {
            Some(&row.$name)
        })
    };
    ($fields:expr, text, $name:ident) => {
        $fields.field(stringify!($name), |row| {
            $crate::fields::json_name(&row.$name)
        })
    };
    ($fields:expr, values, $name:ident) => {
        $fields.field(stringify!($name), |row| row.$name)
    };
}

pub(crate) use {column, columns};

/// Returns the value of a row. It borrows from the result, not from the row, which may be a view
/// made for the table.
type Give<'a, R, V> = Box<dyn Fn(&R) -> V + 'a>;

pub(crate) struct Field<'a, R> {
    /// Name in JSON, CSV and Parquet, with the unit; empty if it is only shown.
    pub(crate) name: Cow<'static, str>,
    pub(crate) kind: Kind,
    value: Give<'a, R, Value<'a>>,
    shown: Vec<Shown<'a, R>>,
    metric: Option<Metric>,
}

/// Name and help of a metric.
pub(crate) type Metric = (&'static str, &'static str);

pub(crate) fn metric(name: &'static str) -> Metric {
    (name, help(name))
}

struct Shown<'a, R> {
    group: Group,
    head: Cow<'static, str>,
    rank: u8,
    kind: table::Kind,
    text: Text<'a, R>,
    /// Whether the column is shown only when a value is above 0.
    unusual: bool,
}

enum Text<'a, R> {
    Of(Quantity),
    Made(Give<'a, R, Cell>),
}

impl<'a, R> Field<'a, R> {
    pub(crate) fn of(&self, row: &R) -> Value<'a> {
        (self.value)(row)
    }

    /// Where it is shown for some rows, in any of the groups.
    fn shown_of(&self, groups: &[Group], rows: &[R]) -> impl Iterator<Item = &Shown<'a, R>> {
        let is_there = || rows.iter().any(|row| self.of(row).is_something());
        let shown = self.shown.iter();
        let shown = shown.filter(|shown| groups.contains(&shown.group));
        shown.filter(move |shown| !shown.unusual || is_there())
    }

    fn column(&self, shown: &Shown<'a, R>, rows: &[R]) -> Column {
        let cells = rows.iter().map(|row| match &shown.text {
            Text::Of(quantity) => quantity.cell(self.of(row)),
            Text::Made(make) => make(row),
        });
        Column::new(&shown.head, shown.kind, cells).rank(shown.rank)
    }
}

pub(crate) struct Fields<'a, R>(Vec<Field<'a, R>>);

impl<'a, R> Fields<'a, R> {
    pub(crate) fn new() -> Self {
        Self(Vec::new())
    }

    /// Fields with a name: the columns of an exported table.
    pub(crate) fn named_ones(&self) -> impl Iterator<Item = &Field<'a, R>> {
        self.0.iter().filter(|field| !field.name.is_empty())
    }

    pub(crate) fn metrics(&self, row: &R) -> impl Iterator<Item = (Metric, Value<'a>)> {
        let fields = self.0.iter();
        fields.filter_map(|field| Some((field.metric?, field.of(row))))
    }

    /// The table of some rows for some groups, in the order of the fields.
    pub(crate) fn columns(&self, groups: &[Group], rows: &[R]) -> Vec<Column> {
        let fields = self.0.iter();
        let columns = fields.flat_map(|field| {
            let shown = field.shown_of(groups, rows);
            shown.map(|shown| field.column(shown, rows))
        });
        columns.collect()
    }

    /// The fields of some rows that a group shows.
    pub(crate) fn shown_in(&self, group: Group, rows: &[R]) -> impl Iterator<Item = &Field<'a, R>> {
        let fields = self.0.iter();
        fields.filter(move |field| field.shown_of(&[group], rows).next().is_some())
    }

    /// A field with a name; its type follows from its value.
    pub(crate) fn field<V: Scalar<'a>>(
        mut self,
        name: &'static str,
        value: impl Fn(&R) -> V + 'a,
    ) -> Self {
        self.0.push(Field {
            name: Cow::Borrowed(name),
            kind: V::KIND,
            value: Box::new(move |row| value(row).value()),
            shown: Vec::new(),
            metric: None,
        });
        self
    }

    /// A value that is only shown: the head, and how it is formatted.
    pub(crate) fn figure<V: Scalar<'a>>(
        self,
        group: Group,
        head: &'static str,
        quantity: Quantity,
        value: impl Fn(&R) -> V + 'a,
    ) -> Self {
        self.field("", value).shown(group, head, quantity)
    }

    /// A value that is only a metric.
    pub(crate) fn measure<V: Scalar<'a>>(
        self,
        name: &'static str,
        value: impl Fn(&R) -> V + 'a,
    ) -> Self {
        self.field("", value).metric(name)
    }

    /// Fields of a part of the row, with `prefix` before their names; unknown if the row lacks the
    /// part.
    pub(crate) fn within<S: 'a>(
        mut self,
        prefix: &str,
        fields: Fields<'a, S>,
        part: impl Fn(&R) -> Option<S> + 'a,
    ) -> Self
    where
        R: 'a,
    {
        let part = Rc::new(part);
        self.0.extend(fields.0.into_iter().map(|field| {
            let (kind, value, part) = (field.kind, field.value, Rc::clone(&part));
            let shown = field.shown.into_iter();
            Field {
                name: match &*field.name {
                    "" => Cow::Borrowed(""),
                    name => Cow::Owned(format!("{prefix}{name}")),
                },
                kind,
                shown: shown.map(|shown| shown.of_part(&part)).collect(),
                metric: field.metric,
                value: Box::new(move |row: &R| part(row).map_or(Value::Null, |part| value(&part))),
            }
        }));
        self
    }

    /// Shows the last field in a table: the head, and how its value is formatted.
    pub(crate) fn shown(self, group: Group, head: &'static str, quantity: Quantity) -> Self {
        self.show(group, head, table::Kind::Number, Text::Of(quantity))
    }

    /// The same with cells computed from the row.
    pub(crate) fn shown_as(
        self,
        group: Group,
        head: impl Into<Cow<'static, str>>,
        make: impl Fn(&R) -> Cell + 'a,
    ) -> Self {
        self.show(group, head, table::Kind::Number, Text::Made(Box::new(make)))
    }

    /// A right-aligned column of computed cells, besides those of the fields.
    pub(crate) fn cell(
        self,
        group: Group,
        head: &'static str,
        make: impl Fn(&R) -> Cell + 'a,
    ) -> Self {
        let made = Text::Made(Box::new(make));
        let field = self.field("", |_| None::<String>);
        field.show(group, head, table::Kind::Number, made)
    }

    /// The same for text, which is left-aligned and wraps.
    pub(crate) fn words(
        self,
        group: Group,
        head: &'static str,
        make: impl Fn(&R) -> Cell + 'a,
    ) -> Self {
        self.cell(group, head, make).of_kind(table::Kind::Text)
    }

    /// The same for text that labels a row.
    pub(crate) fn label<C: Into<Cell>>(
        self,
        group: Group,
        head: &'static str,
        make: impl Fn(&R) -> C + 'a,
    ) -> Self {
        let made = self.cell(group, head, move |row| make(row).into());
        made.of_kind(table::Kind::Label)
    }

    fn show(
        mut self,
        group: Group,
        head: impl Into<Cow<'static, str>>,
        kind: table::Kind,
        text: Text<'a, R>,
    ) -> Self {
        let shown = Shown {
            group,
            head: head.into(),
            rank: 0,
            kind,
            text,
            unusual: false,
        };
        if let Some(last) = self.0.last_mut() {
            last.shown.push(shown);
        }
        self
    }

    fn of_kind(mut self, kind: table::Kind) -> Self {
        self.last_shown(|shown| shown.kind = kind);
        self
    }

    /// The last column is dropped when the page is narrow; higher ranks are dropped first.
    pub(crate) fn rank(mut self, rank: u8) -> Self {
        self.last_shown(|shown| shown.rank = rank);
        self
    }

    /// The last column is shown only when a row has a value above 0: usually none has.
    pub(crate) fn unusual(mut self) -> Self {
        self.last_shown(|shown| shown.unusual = true);
        self
    }

    fn last_shown(&mut self, change: impl FnOnce(&mut Shown<'a, R>)) {
        let last = self.0.last_mut();
        if let Some(shown) = last.and_then(|field| field.shown.last_mut()) {
            change(shown);
        }
    }

    /// The last field is a metric too: its name without `iostrata_`.
    pub(crate) fn metric(mut self, name: &'static str) -> Self {
        if let Some(last) = self.0.last_mut() {
            last.metric = Some(metric(name));
        }
        self
    }
}

impl<'a, S: 'a> Shown<'a, S> {
    /// The same for rows with such a part.
    fn of_part<R>(self, part: &Rc<impl Fn(&R) -> Option<S> + 'a>) -> Shown<'a, R> {
        let part = Rc::clone(part);
        Shown {
            group: self.group,
            head: self.head,
            rank: self.rank,
            kind: self.kind,
            unusual: self.unusual,
            text: match self.text {
                Text::Of(quantity) => Text::Of(quantity),
                Text::Made(make) => Text::Made(Box::new(move |row: &R| {
                    part(row).map_or(Cell::NotSeen, |part| make(&part))
                })),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: Group = Group::Times;
    const OTHER: Group = Group::Counts;

    struct Part(Option<u64>);
    struct Whole(&'static str, Option<Part>);

    fn fields<'a>() -> Fields<'a, &'a Whole> {
        let part = Fields::<&'a Part>::new()
            .field("count", |part| part.0)
            .shown(TABLE, "count", Quantity::Count)
            .shown(OTHER, "seldom", Quantity::Count)
            .unusual()
            .metric("trace_files");
        Fields::<&'a Whole>::new()
            .field("name", |whole| whole.0)
            .label(TABLE, "name", |whole| whole.0)
            .within("part_", part, |whole| whole.1.as_ref())
            .cell(TABLE, "half", |whole| {
                Cell::applicable(whole.1.as_ref(), |_| "1".to_owned())
            })
            .rank(1)
    }

    fn heads(columns: &[Column]) -> Vec<&str> {
        columns.iter().map(|column| column.head.as_str()).collect()
    }

    #[test]
    fn a_field_is_exported_shown_and_measured_from_one_place() {
        let (known, unknown) = (
            Whole("n/a", Some(Part(Some(1200)))),
            Whole("b", Some(Part(None))),
        );
        let fields = fields();
        let names: Vec<_> = fields.named_ones().map(|field| &*field.name).collect();
        assert_eq!(names, ["name", "part_count"]);
        let columns = fields.columns(&[TABLE], &[&known, &unknown, &Whole("c", None)]);
        assert_eq!(heads(&columns), ["name", "count", "half"]);
        let none = [Cell::NotSeen, Cell::NotSeen];
        assert_eq!(columns[1].cells[0], "1,200".into());
        assert_eq!(columns[1].cells[1..], none);
        assert_eq!(columns[2].cells[2], Cell::NotApplicable);
        // A text is a value, whatever it contains.
        assert_ne!(columns[0].cells[0], Cell::NotSeen);
        let metrics: Vec<_> = fields.metrics(&&known).collect();
        assert_eq!(
            metrics,
            [(("trace_files", "Files used"), Value::Count(1200))]
        );
    }

    #[test]
    fn what_is_unusual_has_a_column_only_where_there_is_some() {
        let (some, none) = (
            Whole("a", Some(Part(Some(1)))),
            Whole("b", Some(Part(Some(0)))),
        );
        assert_eq!(
            heads(&fields().columns(&[OTHER], &[&none, &some])),
            ["seldom"]
        );
        assert!(fields().columns(&[OTHER], &[&none]).is_empty());
    }
}
