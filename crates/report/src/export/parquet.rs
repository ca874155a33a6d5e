//! Parquet: rows are gathered and written in groups, column by column.

use std::io::{self, Write};
use std::mem;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{Type, TypePtr};

use super::table::Head;
use crate::fields::{Kind, Value};

/// Rows of a group; each is held in memory until it is written.
const GROUP_ROWS: usize = 1 << 16;

/// Maximum bytes of text in a group, for rows with much text.
const GROUP_TEXT_BYTES: usize = 16 << 20;

/// Maximum bytes of one text. The library holds a value four times while it compresses it, and a path has at most 4,096
/// bytes (`PATH_MAX`, limits.h).
const TEXT_BYTES: usize = 64 << 20;

pub(super) struct ParquetTable<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    columns: Vec<Gathered>,
    rows: usize,
    text_bytes: usize,
}

/// A column's part of a group: which rows have a value, and the values.
struct Gathered {
    levels: Vec<i16>,
    values: Values,
}

enum Values {
    Text(Vec<ByteArray>),
    Whole(Vec<i64>),
    Real(Vec<f64>),
    Flag(Vec<bool>),
}

impl<W: Write + Send> ParquetTable<W> {
    pub(super) fn new(output: W, heads: &[Head]) -> io::Result<Self> {
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_created_by(concat!("iostrata ", env!("CARGO_PKG_VERSION")).to_owned())
            .build();
        let schema = schema(heads).map_err(failed)?;
        let writer = SerializedFileWriter::new(output, schema, Arc::new(properties));
        Ok(Self {
            writer: writer.map_err(failed)?,
            columns: heads.iter().map(|head| Gathered::new(head.kind)).collect(),
            rows: 0,
            text_bytes: 0,
        })
    }

    pub(super) fn row(&mut self, cells: &[Value<'_>]) -> io::Result<()> {
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            if let Value::Text(text) = cell
                && text.len() > TEXT_BYTES
            {
                return Err(io::Error::other(format!(
                    "a text of {} bytes is too long for Parquet; --csv writes it",
                    text.len()
                )));
            }
            self.text_bytes += column.add(cell);
        }
        self.rows += 1;
        if self.rows == GROUP_ROWS || self.text_bytes >= GROUP_TEXT_BYTES {
            self.write_group().map_err(failed)?;
        }
        Ok(())
    }

    fn write_group(&mut self) -> Result<(), ParquetError> {
        let mut group = self.writer.next_row_group()?;
        for column in &mut self.columns {
            if let Some(mut writer) = group.next_column()? {
                column.write(&mut writer)?;
                writer.close()?;
            }
        }
        group.close()?;
        self.rows = 0;
        self.text_bytes = 0;
        Ok(())
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        if self.rows > 0 {
            self.write_group().map_err(failed)?;
        }
        self.writer.close().map_err(failed)?;
        Ok(())
    }
}

impl Gathered {
    fn new(kind: Kind) -> Self {
        Self {
            levels: Vec::new(),
            values: match kind {
                Kind::Text => Values::Text(Vec::new()),
                Kind::Count | Kind::Signed => Values::Whole(Vec::new()),
                Kind::Real => Values::Real(Vec::new()),
                Kind::Flag => Values::Flag(Vec::new()),
            },
        }
    }

    /// Adds a cell and returns the bytes of its text.
    fn add(&mut self, cell: &Value<'_>) -> usize {
        self.levels.push(i16::from(*cell != Value::Null));
        match (&mut self.values, cell) {
            (Values::Text(values), Value::Text(text)) => {
                values.push(text.as_bytes().to_vec().into());
                return text.len();
            }
            // An unsigned column is stored with the same bits.
            (Values::Whole(values), Value::Count(count)) => values.push(count.cast_signed()),
            (Values::Whole(values), Value::Signed(number)) => values.push(*number),
            (Values::Real(values), Value::Real(real)) => values.push(*real),
            (Values::Flag(values), Value::Flag(flag)) => values.push(*flag),
            // Unknown: all others have the kind of their column.
            _ => {}
        }
        0
    }

    fn write(&mut self, writer: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        let levels = mem::take(&mut self.levels);
        match &mut self.values {
            Values::Text(values) => batch::<ByteArrayType>(writer, values, &levels),
            Values::Whole(values) => batch::<Int64Type>(writer, values, &levels),
            Values::Real(values) => batch::<DoubleType>(writer, values, &levels),
            Values::Flag(values) => batch::<BoolType>(writer, values, &levels),
        }
    }
}

fn batch<T: DataType>(
    writer: &mut SerializedColumnWriter<'_>,
    values: &mut Vec<T::T>,
    levels: &[i16],
) -> Result<(), ParquetError> {
    let values = mem::take(values);
    writer
        .typed::<T>()
        .write_batch(&values, Some(levels), None)?;
    Ok(())
}

/// All columns are nullable: a version that does not know a value must be able to say so.
fn schema(heads: &[Head]) -> Result<TypePtr, ParquetError> {
    let fields = heads.iter().map(|head| {
        let (physical, logical) = match head.kind {
            Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            Kind::Count => (Physical::INT64, Some(LogicalType::integer(64, false))),
            Kind::Signed => (Physical::INT64, Some(LogicalType::integer(64, true))),
            Kind::Real => (Physical::DOUBLE, None),
            Kind::Flag => (Physical::BOOLEAN, None),
        };
        Type::primitive_type_builder(&head.name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(logical)
            .build()
            .map(Arc::new)
    });
    let fields: Vec<TypePtr> = fields.collect::<Result<_, _>>()?;
    let root = Type::group_type_builder("row")
        .with_fields(fields)
        .build()?;
    Ok(Arc::new(root))
}

/// The cause, such as a full disk, without the library's words around it.
fn failed(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(cause) => match cause.downcast::<io::Error>() {
            Ok(cause) => *cause,
            Err(cause) => io::Error::other(cause),
        },
        other => io::Error::other(other),
    }
}
