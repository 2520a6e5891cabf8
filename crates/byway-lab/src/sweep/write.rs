//! Writes results files: Parquet, one row a run.
//!
//! The columns are described in `docs/sweep-format.md`. The file's metadata
//! hold the description of the sweep ([`About`]) and a checksum of the whole file, so
//! that damage is found before anything is decoded.

use super::results::{About, Results};
use crate::engine::{Axis, FORMAT, Plan, Row, Status};
use crate::metrics::{Kind, Metrics};
use crate::trouble::Trouble;
use crc_fast::{CrcAlgorithm, Digest};
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnPath, Type, TypePtr};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;

/// Key of [`About`] in the file's metadata.
pub(super) const ABOUT: &str = "byway.sweep";
/// Key of the checksum in the file's metadata, and what its value begins with.
const CHECK: &str = "byway.check";
const CHECK_MARK: &str = "crc32c of this file, these digits as zeros: ";
/// The digits while the checksum is computed.
pub(super) const NO_SUM: &[u8; 8] = b"00000000";
/// Rows that are kept together.
const GROUP: usize = 1 << 16;
/// Room for the distinct scenarios of a group.
const DICTIONARY: usize = 1 << 30;

pub(super) type Outcome<T> = Result<T, ParquetError>;

/// A column's name, its type, whether values may be absent, and what it is.
pub(super) type Column = (String, Physical, bool, String);

/// The columns of results like these.
pub(super) fn columns(about: &About) -> Vec<Column> {
    let column = |name: &str, physical, optional, what: &str| {
        (name.to_owned(), physical, optional, what.to_owned())
    };
    let mut all = vec![
        column("cell", Physical::INT64, false, "the cell's number, from 1"),
        column(
            "seed",
            Physical::INT64,
            false,
            "the seed of all chance in the run",
        ),
    ];
    for axis in &about.axes {
        all.push(column(
            &axis.name,
            Physical::BYTE_ARRAY,
            false,
            "the cell's value on this axis",
        ));
    }
    let statuses: Vec<&str> = Status::ALL.iter().map(|s| s.name()).collect();
    let how = format!("how the run ended: {}", statuses.join(", "));
    all.push(column("status", Physical::BYTE_ARRAY, false, &how));
    all.push(column(
        "reason",
        Physical::BYTE_ARRAY,
        true,
        "why it did not complete",
    ));
    for metric in &about.metrics {
        let physical = match metric.kind {
            Kind::Count => Physical::INT64,
            Kind::Real => Physical::DOUBLE,
        };
        all.push(column(&metric.name, physical, true, &metric.about));
    }
    all.push(column(
        "scenario",
        Physical::BYTE_ARRAY,
        false,
        "all that was run but the seed, as a scenario file of byway",
    ));
    all
}

/// The columns in words: those of a plan's results, or those of any.
#[must_use]
pub fn schema(plan: Option<&Plan>) -> String {
    let about = match plan {
        Some(plan) => Results::new(plan, Vec::new()).about,
        None => {
            let metrics = Metrics::standard();
            let mut any = Plan::of("", &[], Vec::new(), Vec::new(), &metrics);
            any.metrics = metrics.columns(1, 1);
            let mut about = Results::new(&any, Vec::new()).about;
            about.axes.push(Axis {
                name: "AXIS...".to_owned(),
                values: Vec::new(),
            });
            about
        }
    };
    let mut out = format!("Results of byway sweep: Parquet, one row a run ({FORMAT})\n\n");
    for (name, physical, optional, what) in columns(&about) {
        let kind = match (physical, optional) {
            (Physical::INT64, false) => "int64",
            (Physical::INT64, true) => "int64?",
            (Physical::DOUBLE, true) => "double?",
            (Physical::DOUBLE, false) => "double",
            (_, true) => "string?",
            (_, false) => "string",
        };
        out.push_str(&format!("{name:<28} {kind:<8} {what}\n"));
    }
    out.push_str("\n? may be null. One column for each axis; failureN_... for each scripted failure,\npathN_... for each path. Metadata \"byway.sweep\": the description of the sweep, as JSON.\n");
    out
}

impl Results {
    /// Writes a results file; it appears at once and whole, or not at all.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), Trouble> {
        write(self, path)
    }
}

/// Writes `results` to `path` by way of a file beside it.
fn write(results: &Results, path: &Path) -> Result<(), Trouble> {
    let beside = path.with_extension("parquet-new");
    let make = || -> Result<(), io::Error> {
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(true);
        let mut out = Checked {
            file: options.open(&beside)?,
            digest: Digest::new(CrcAlgorithm::Crc32Iscsi),
            failed: None,
        };
        if let Err(error) = write_to(results, &mut out) {
            // The library reports an error of the disk as another text.
            let code = out.failed.map(io::Error::from_raw_os_error);
            return Err(code.unwrap_or_else(|| io::Error::other(error)));
        }
        seal(&mut out.file, out.digest.finalize())?;
        out.file.sync_all()?;
        std::fs::rename(&beside, path)?;
        if let Some(folder) = path.parent().filter(|p| !p.as_os_str().is_empty()) {
            // The name is on the disk, too.
            File::open(folder)?.sync_all()?;
        }
        Ok(())
    };
    make().map_err(|error| {
        // A partial file is of no use and takes room.
        let _ = std::fs::remove_file(&beside);
        Trouble::file("write", path, error)
    })
}

fn write_to(results: &Results, out: &mut Checked<File>) -> Outcome<()> {
    let about = &results.about;
    let [scenario, reason] = ["scenario", "reason"].map(ColumnPath::from);
    let about_text =
        serde_json::to_string(about).map_err(|e| ParquetError::External(Box::new(e)))?;
    let no_sum = format!("{CHECK_MARK}{}", String::from_utf8_lossy(NO_SUM));
    let properties = WriterProperties::builder()
        .set_created_by(about.program.clone())
        .set_key_value_metadata(Some(vec![
            KeyValue::new(ABOUT.to_owned(), about_text),
            KeyValue::new(CHECK.to_owned(), no_sum),
        ]))
        .set_dictionary_page_size_limit(DICTIONARY)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_column_statistics_enabled(scenario, EnabledStatistics::None)
        .set_column_statistics_enabled(reason, EnabledStatistics::None)
        .set_offset_index_disabled(true)
        .build();
    let mut writer = SerializedFileWriter::new(out, message_type(about)?, Arc::new(properties))?;
    for rows in results.rows.chunks(GROUP) {
        let mut group = writer.next_row_group()?;
        write_group(results, rows, &mut group)?;
        group.close()?;
    }
    writer.close().map(drop)
}

fn message_type(about: &About) -> Outcome<TypePtr> {
    let mut fields = Vec::new();
    for (name, physical, optional, _) in columns(about) {
        let repetition = if optional {
            Repetition::OPTIONAL
        } else {
            Repetition::REQUIRED
        };
        let text = (physical == Physical::BYTE_ARRAY).then_some(LogicalType::String);
        let field = Type::primitive_type_builder(&name, physical)
            .with_repetition(repetition)
            .with_logical_type(text)
            .build()?;
        fields.push(Arc::new(field));
    }
    let root = Type::group_type_builder("sweep")
        .with_fields(fields)
        .build()?;
    Ok(Arc::new(root))
}

fn write_group<W: Write + Send>(
    results: &Results,
    rows: &[Row],
    group: &mut SerializedRowGroupWriter<'_, W>,
) -> Outcome<()> {
    let about = &results.about;
    let text = |s: &str| ByteArray::from(s.as_bytes().to_vec());
    let integers = rows.iter().map(|r| Some(r.cell as i64 + 1));
    put::<Int64Type, _>(group, false, integers)?;
    put::<Int64Type, _>(
        group,
        false,
        rows.iter().map(|r| i64::try_from(r.seed).ok()),
    )?;
    for axis in 0..about.axes.len() {
        let value = |r: &Row| results.cells[r.cell].values.get(axis).map(|v| text(v));
        put::<ByteArrayType, _>(group, false, rows.iter().map(value))?;
    }
    put::<ByteArrayType, _>(
        group,
        false,
        rows.iter().map(|r| Some(text(r.status.name()))),
    )?;
    let reason = |r: &Row| (!r.reason.is_empty()).then(|| text(&r.reason));
    put::<ByteArrayType, _>(group, true, rows.iter().map(reason))?;
    for (i, metric) in about.metrics.iter().enumerate() {
        match metric.kind {
            // Counts are whole and far below 2^53.
            Kind::Count => put::<Int64Type, _>(
                group,
                true,
                rows.iter().map(|r| r.value(i).map(|v| v as i64)),
            )?,
            Kind::Real => put::<DoubleType, _>(group, true, rows.iter().map(|r| r.value(i)))?,
        }
    }
    // Shared: a scenario may be some kilobytes, and is in every row.
    let scenarios: Vec<ByteArray> = results.cells.iter().map(|c| text(&c.scenario)).collect();
    put::<ByteArrayType, _>(
        group,
        false,
        rows.iter().map(|r| scenarios.get(r.cell).cloned()),
    )
}

/// Writes the next column; where values are required, all are there.
fn put<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    optional: bool,
    values: impl Iterator<Item = Option<T::T>>,
) -> Outcome<()> {
    let (mut there, mut levels) = (Vec::new(), Vec::new());
    for value in values {
        levels.push(i16::from(value.is_some()));
        there.extend(value);
    }
    let mut column = group
        .next_column()?
        .ok_or_else(|| ParquetError::General("more columns than the schema has".to_owned()))?;
    column
        .typed::<T>()
        .write_batch(&there, optional.then_some(&levels), None)?;
    column.close()
}

/// A file with the checksum of what was written to it.
struct Checked<W> {
    file: W,
    digest: Digest,
    /// The system's number of the error that a write ended with.
    failed: Option<i32>,
}

impl<W: Write> Write for Checked<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes);
        let n = written.inspect_err(|e| self.failed = e.raw_os_error())?;
        self.digest.update(&bytes[..n]);
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Puts the checksum where the footer has zeros for it.
fn seal(file: &mut File, crc: u64) -> io::Result<()> {
    let mut bytes = Vec::new();
    // The footer holds the description of the sweep: little beside the data.
    let length = file.seek(SeekFrom::End(-8))?;
    let mut footer = [0; 4];
    file.read_exact(&mut footer)?;
    let begin = length.saturating_sub(u32::from_le_bytes(footer).into());
    file.seek(SeekFrom::Start(begin))?;
    file.read_to_end(&mut bytes)?;
    let place = sum_place(&bytes).ok_or_else(|| io::Error::other("the footer has no checksum"))?;
    file.seek(SeekFrom::Start(begin + place as u64))?;
    file.write_all(format!("{crc:08x}").as_bytes())
}

/// The position of the checksum's digits in `bytes`, which end with a footer.
pub(super) fn sum_place(bytes: &[u8]) -> Option<usize> {
    let mark = CHECK_MARK.as_bytes();
    let place = bytes.windows(mark.len()).rposition(|w| w == mark)? + mark.len();
    bytes.get(place..place + NO_SUM.len()).map(|_| place)
}
