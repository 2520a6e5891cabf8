//! Reads results files; see `write`. What is damaged or of somebody else is
//! refused before it is decoded.

use super::results::{About, ResultCell, Results};
use super::write::{ABOUT, NO_SUM, Outcome, columns, sum_place};
use crate::engine::{FORMAT, Row, Status};
use crate::trouble::Trouble;
use crc_fast::{CrcAlgorithm, Digest};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use std::collections::BTreeMap;
use std::path::Path;

impl Results {
    /// Reads a results file.
    ///
    /// # Errors
    /// When it cannot be read, was cut off or damaged, or is no results file.
    pub fn read(path: &Path) -> Result<Results, Trouble> {
        read(path)
    }
}

/// Reads the results file at `path`.
fn read(path: &Path) -> Result<Results, Trouble> {
    let foreign = |problem: String| Trouble::foreign(path, problem);
    let failed = |e| Trouble::file("read", path, e);
    // A device may have no end, and a pipe no beginning.
    if !std::fs::metadata(path).map_err(failed)?.is_file() {
        return Err(foreign("this is no file".to_owned()));
    }
    let bytes = std::fs::read(path).map_err(failed)?;
    let bytes = bytes::Bytes::from(bytes);
    if !bytes.starts_with(b"PAR1") {
        return Err(foreign(
            "this is not a results file of byway sweep (Parquet)".to_owned(),
        ));
    }
    if !bytes.ends_with(b"PAR1") || bytes.len() < 12 {
        return Err(foreign(
            "it was cut off: its end is missing; run the sweep again".to_owned(),
        ));
    }
    match is_whole(&bytes) {
        Some(true) => {}
        Some(false) => return Err(foreign("it is damaged; run the sweep again".to_owned())),
        None => {
            return Err(foreign(
                "this Parquet file is not of byway sweep, or another program has rewritten it"
                    .to_owned(),
            ));
        }
    }
    let reader = SerializedFileReader::new(bytes)
        .map_err(|e| foreign(format!("it is damaged ({e}); run the sweep again")))?;
    let about = about(&reader).map_err(foreign)?;
    decode(&reader, about).map_err(|e| foreign(format!("it is damaged ({e}); run the sweep again")))
}

type Reader = SerializedFileReader<bytes::Bytes>;

/// The description of the sweep.
fn about(reader: &Reader) -> Result<About, String> {
    let metadata = reader.metadata().file_metadata();
    let pairs = metadata.key_value_metadata();
    let value = |key: &str| -> Option<&str> {
        let pair = pairs?.iter().find(|p| p.key == key)?;
        pair.value.as_deref()
    };
    let text = value(ABOUT).ok_or("this Parquet file is not of byway sweep")?;
    let form: serde_json::Value =
        serde_json::from_str(text).map_err(|e| format!("its metadata cannot be read: {e}"))?;
    match form.get("format").and_then(|f| f.as_str()) {
        Some(FORMAT) => {}
        other => {
            return Err(format!(
                "written in the format {}; this byway reads {FORMAT}",
                other.unwrap_or("(none)")
            ));
        }
    }
    serde_json::from_str(text).map_err(|e| format!("its metadata cannot be read: {e}"))
}

/// Whether the checksum in the footer is that of the file; none without one.
fn is_whole(bytes: &[u8]) -> Option<bool> {
    let place = sum_place(bytes)?;
    let (before, rest) = bytes.split_at_checked(place)?;
    let (sum, after) = rest.split_at_checked(NO_SUM.len())?;
    let mut digest = Digest::new(CrcAlgorithm::Crc32Iscsi);
    for part in [before, NO_SUM, after] {
        digest.update(part);
    }
    Some(sum == format!("{:08x}", digest.finalize()).as_bytes())
}

/// One column's values.
enum Values {
    Integers(Vec<Option<i64>>),
    Reals(Vec<Option<f64>>),
    Texts(Vec<Option<String>>),
}

fn decode(reader: &Reader, about: About) -> Result<Results, String> {
    let wanted = columns(&about);
    let schema = reader.metadata().file_metadata().schema_descr();
    let fits = schema.num_columns() == wanted.len()
        && wanted
            .iter()
            .zip(schema.columns())
            .all(|((name, physical, ..), c)| c.name() == name && c.physical_type() == *physical);
    if !fits {
        return Err("other columns than its metadata name".to_owned());
    }
    let mut cells: BTreeMap<usize, ResultCell> = BTreeMap::new();
    let mut rows: Vec<Row> = Vec::new();
    for group in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group).map_err(|e| e.to_string())?;
        let count = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
        let mut columns = Vec::new();
        for i in 0..wanted.len() {
            let column = group.get_column_reader(i).map_err(|e| e.to_string())?;
            columns.push(values(column, count).map_err(|e| e.to_string())?);
        }
        for i in 0..count {
            row(&about, &columns, i, &mut cells, &mut rows).ok_or("a row without its values")?;
        }
    }
    let dense = cells.keys().enumerate().all(|(i, cell)| i == *cell);
    if !dense || !rows.is_sorted_by_key(|r| r.cell) {
        return Err("its cells are not in order".to_owned());
    }
    Ok(Results {
        about,
        cells: cells.into_values().collect(),
        rows,
    })
}

/// Puts row `i` of some columns together.
fn row(
    about: &About,
    columns: &[Values],
    i: usize,
    cells: &mut BTreeMap<usize, ResultCell>,
    rows: &mut Vec<Row>,
) -> Option<()> {
    let integer = |c: usize| match columns.get(c)? {
        Values::Integers(v) => *v.get(i)?,
        _ => None,
    };
    let text = |c: usize| match columns.get(c)? {
        Values::Texts(v) => v.get(i)?.as_ref(),
        _ => None,
    };
    let axes = about.axes.len();
    let cell = usize::try_from(integer(0)?).ok()?.checked_sub(1)?;
    let seed = u64::try_from(integer(1)?).ok()?;
    let metrics = (0..about.metrics.len()).map(|m| match columns.get(4 + axes + m) {
        Some(Values::Integers(v)) => v.get(i).copied().flatten().map(|n| n as f64),
        Some(Values::Reals(v)) => v.get(i).copied().flatten(),
        _ => None,
    });
    rows.push(Row {
        cell,
        run: about.seeds.iter().position(|s| *s == seed)?,
        seed,
        status: Status::named(text(2 + axes)?)?,
        reason: text(3 + axes).cloned().unwrap_or_default(),
        values: metrics.map(|v| v.unwrap_or(f64::NAN)).collect(),
    });
    if let std::collections::btree_map::Entry::Vacant(slot) = cells.entry(cell) {
        slot.insert(ResultCell {
            values: (0..axes)
                .map(|a| text(2 + a).cloned())
                .collect::<Option<_>>()?,
            scenario: text(columns.len() - 1)?.clone(),
        });
    }
    Some(())
}

fn values(column: ColumnReader, count: usize) -> Outcome<Values> {
    match column {
        ColumnReader::Int64ColumnReader(c) => get(c, count, |v| v).map(Values::Integers),
        ColumnReader::DoubleColumnReader(c) => get(c, count, |v| v).map(Values::Reals),
        ColumnReader::ByteArrayColumnReader(c) => {
            let text = |v: ByteArray| String::from_utf8_lossy(v.data()).into_owned();
            get(c, count, text).map(Values::Texts)
        }
        _ => Err(ParquetError::General(
            "a column of an unknown type".to_owned(),
        )),
    }
}

fn get<T: DataType, V>(
    mut column: ColumnReaderImpl<T>,
    count: usize,
    convert: impl Fn(T::T) -> V,
) -> Outcome<Vec<Option<V>>> {
    let (mut levels, mut found) = (Vec::new(), Vec::new());
    while levels.len() < count {
        let (records, ..) =
            column.read_records(count - levels.len(), Some(&mut levels), None, &mut found)?;
        if records == 0 {
            break;
        }
        // Required values have no levels: all are there.
        levels.resize(levels.len().max(found.len()), 1);
    }
    let mut found = found.into_iter();
    Ok(levels
        .into_iter()
        .map(|level| {
            if level > 0 {
                found.next().map(&convert)
            } else {
                None
            }
        })
        .collect())
}
