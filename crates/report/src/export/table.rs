//! A table, and writing it in either format.

use std::borrow::Cow;
use std::io::{self, Write};

use super::parquet::ParquetTable;
use crate::fields::{Fields, Kind, Value};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Parquet, compressed with zstd.
    Parquet,
    /// Comma-separated values (RFC 4180), with the names of the columns first. Unknown values are
    /// empty; texts are always quoted, even empty ones.
    Csv,
}

impl Format {
    pub fn extension(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::Csv => "csv",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) name: String,
    pub(super) kind: Kind,
}

type Take<'t> = &'t mut dyn FnMut(&[Value<'_>]) -> io::Result<()>;

/// A table whose rows are generated as they are written.
pub struct Table<'a> {
    name: &'static str,
    heads: Vec<Head>,
    rows: Box<dyn FnOnce(Take<'_>) -> io::Result<()> + 'a>,
}

impl<'a> Table<'a> {
    pub(super) fn new<R: 'a>(
        name: &'static str,
        columns: Fields<'a, R>,
        rows: impl Iterator<Item = R> + 'a,
    ) -> Self {
        let heads = columns.named_ones().map(|column| Head {
            name: column.name.clone().into_owned(),
            kind: column.kind,
        });
        Self {
            name,
            heads: heads.collect(),
            rows: Box::new(move |take| {
                for row in rows {
                    let cells: Vec<_> =
                        columns.named_ones().map(|column| column.of(&row)).collect();
                    take(&cells)?;
                }
                Ok(())
            }),
        }
    }

    /// Its name, in lower case, which is the file name without the extension.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Writes the whole table.
    ///
    /// # Errors
    /// When `output` accepts no more bytes.
    pub fn write(self, format: Format, output: &mut (dyn Write + Send)) -> io::Result<()> {
        match format {
            Format::Parquet => {
                let mut table = ParquetTable::new(output, &self.heads)?;
                (self.rows)(&mut |cells| table.row(cells))?;
                table.finish()
            }
            Format::Csv => {
                let mut builder = csv::WriterBuilder::new();
                let builder = builder.terminator(csv::Terminator::CRLF);
                let mut writer = builder.from_writer(output);
                writer.write_record(self.heads.iter().map(|head| &head.name))?;
                (self.rows)(&mut |cells| Ok(writer.write_record(cells.iter().map(csv_field))?))?;
                writer.flush()
            }
        }
    }
}

fn csv_field<'v>(cell: &'v Value<'_>) -> Cow<'v, [u8]> {
    let text = match cell {
        Value::Text(text) => return Cow::Borrowed(text.as_bytes()),
        Value::Count(count) => count.to_string(),
        Value::Signed(number) => number.to_string(),
        // The shortest digits that read back as the same number.
        Value::Real(real) => format!("{real:?}"),
        Value::Flag(flag) => flag.to_string(),
        Value::Null => String::new(),
    };
    Cow::Owned(text.into_bytes())
}

#[cfg(test)]
mod tests {
    use parquet::file::reader::{FileReader as _, SerializedFileReader};
    use parquet::record::Field;

    use super::*;

    type Row = (
        Option<&'static str>,
        Option<u64>,
        Option<i64>,
        Option<f64>,
        Option<bool>,
    );

    fn table(rows: Vec<Row>) -> Table<'static> {
        let columns = Fields::<Row>::new()
            .field("path", |row| row.0)
            .field("size_bytes", |row| row.1)
            .field("errno", |row| row.2)
            .field("time_s", |row| row.3)
            .field("created", |row| row.4);
        Table::new("made", columns, rows.into_iter())
    }

    fn extremes() -> Vec<Row> {
        vec![
            (
                Some("a,\"b\"\r\nc"),
                Some(u64::MAX),
                Some(i64::MIN),
                Some(1e-300),
                Some(true),
            ),
            (None, None, None, None, None),
            (Some(""), Some(0), Some(0), Some(-0.1), Some(false)),
            (Some("é\0"), Some(1), Some(-1), Some(f64::NAN), None),
        ]
    }

    #[test]
    fn csv_is_quoted_where_it_must_be_and_unknown_is_empty() {
        let mut text = Vec::new();
        table(extremes()).write(Format::Csv, &mut text).unwrap();
        assert_eq!(
            String::from_utf8(text).unwrap(),
            "path,size_bytes,errno,time_s,created\r\n\
             \"a,\"\"b\"\"\r\nc\",18446744073709551615,-9223372036854775808,1e-300,true\r\n\
             ,,,,\r\n\
             ,0,0,-0.1,false\r\n\
             é\0,1,-1,,\r\n"
        );
    }

    /// Every field of every row, as returned by the same library's reader.
    fn read(bytes: Vec<u8>) -> Vec<Vec<Field>> {
        let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
        let rows = reader.get_row_iter(None).unwrap();
        rows.map(|row| {
            let row = row.unwrap();
            row.get_column_iter()
                .map(|(_, field)| field.clone())
                .collect()
        })
        .collect()
    }

    #[test]
    fn parquet_has_every_value_and_null_where_it_is_unknown() {
        let mut file = Vec::new();
        table(extremes()).write(Format::Parquet, &mut file).unwrap();
        let rows = read(file);
        assert_eq!(
            rows[0],
            [
                Field::Str("a,\"b\"\r\nc".to_owned()),
                Field::ULong(u64::MAX),
                Field::Long(i64::MIN),
                Field::Double(1e-300),
                Field::Bool(true),
            ]
        );
        assert_eq!(rows[1], vec![Field::Null; 5]);
        assert_eq!(rows[2][0], Field::Str(String::new()));
        assert_eq!(rows[3][3..], [Field::Null, Field::Null]);
    }

    #[test]
    fn a_text_of_many_megabytes_is_for_csv() {
        let long = "x".repeat((64 << 20) + 1);
        let table = |text| {
            let columns = Fields::<&str>::new().field("path", |row| Some(*row));
            Table::new("made", columns, [text].into_iter())
        };
        let write = |text, format| table(text).write(format, &mut io::sink());
        let refused = write(&long, Format::Parquet).unwrap_err().to_string();
        assert_eq!(
            refused,
            "a text of 67108865 bytes is too long for Parquet; --csv writes it"
        );
        write(&long[1..], Format::Parquet).unwrap();
        write(&long, Format::Csv).unwrap();
    }

    #[test]
    fn many_rows_come_in_groups_in_their_order() {
        let rows = (0..200_000).map(|number| (Some("x"), Some(number), None, None, None));
        let mut file = Vec::new();
        let table = table(rows.collect());
        table.write(Format::Parquet, &mut file).unwrap();
        let reader = SerializedFileReader::new(bytes::Bytes::from(file.clone())).unwrap();
        assert_eq!(reader.metadata().num_row_groups(), 4);
        let rows = read(file);
        assert_eq!(rows.len(), 200_000);
        let ordered = rows.iter().zip(0..);
        assert!(
            ordered
                .into_iter()
                .all(|(row, number)| row[1] == Field::ULong(number))
        );
    }

    #[test]
    fn a_table_without_rows_has_its_columns() {
        let mut file = Vec::new();
        table(Vec::new()).write(Format::Parquet, &mut file).unwrap();
        let reader = SerializedFileReader::new(bytes::Bytes::from(file)).unwrap();
        let schema = reader.metadata().file_metadata().schema_descr();
        assert_eq!(schema.num_columns(), 5);
        let mut text = Vec::new();
        table(Vec::new()).write(Format::Csv, &mut text).unwrap();
        assert_eq!(text, b"path,size_bytes,errno,time_s,created\r\n");
    }

    /// Accepts some bytes, then is full.
    struct Full(usize);

    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let taken = bytes.len().min(self.0);
            self.0 -= taken;
            if taken == 0 && !bytes.is_empty() {
                return Err(io::ErrorKind::StorageFull.into());
            }
            Ok(taken)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_full_disk_is_told_as_such_wherever_it_happens() {
        for format in [Format::Parquet, Format::Csv] {
            let mut whole = Vec::new();
            table(extremes()).write(format, &mut whole).unwrap();
            for room in 0..whole.len() {
                let error = table(extremes())
                    .write(format, &mut Full(room))
                    .unwrap_err();
                assert_eq!(
                    error.kind(),
                    io::ErrorKind::StorageFull,
                    "{format:?}, {room}"
                );
            }
        }
    }
}
