//! Comma-separated values, RFC 4180.

use std::io::{self, Write};

use super::table::Head;
use crate::fields::Value;

pub(super) struct CsvTable<W: Write> {
    writer: csv::Writer<W>,
}

impl<W: Write> CsvTable<W> {
    pub(super) fn new(output: W, heads: &[Head]) -> io::Result<Self> {
        let mut builder = csv::WriterBuilder::new();
        let mut writer = builder
            .terminator(csv::Terminator::CRLF)
            .from_writer(output);
        writer.write_record(heads.iter().map(|head| &head.name))?;
        Ok(Self { writer })
    }

    pub(super) fn row(&mut self, cells: &[Value<'_>]) -> io::Result<()> {
        for cell in cells {
            match cell {
                Value::Text(text) => self.writer.write_field(text.as_ref())?,
                Value::Count(count) => self.writer.write_field(count.to_string())?,
                Value::Signed(number) => self.writer.write_field(number.to_string())?,
                // The shortest digits that read back as the same number.
                Value::Real(real) => self.writer.write_field(format!("{real:?}"))?,
                Value::Flag(flag) => self.writer.write_field(flag.to_string())?,
                Value::Null => self.writer.write_field("")?,
            }
        }
        Ok(self.writer.write_record(None::<&[u8]>)?)
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        self.writer.flush()
    }
}
