//! Writing and reading parquet files of events.

use std::fs::File;
use std::io;
use std::path::Path;

use arrow::array::{RecordBatch, StringArray, UInt64Array};
use arrow::compute::and;
use arrow::compute::kernels::cmp::eq;
use parquet::arrow::arrow_reader::{ArrowPredicateFn, ParquetRecordBatchReaderBuilder, RowFilter};
use parquet::arrow::{ArrowWriter, ProjectionMask};
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::statistics::Statistics;
use parquet::schema::types::ColumnPath;

use super::columns::events_of;
use super::schema::events_schema;
use crate::error::DataError;
use crate::event::Event;

/// Key of the report in a file's footer.
const REPORT_KEY: &str = "swerl.report";

/// Rows of a page; pages that hold none of the repositories asked for are passed over.
const PAGE_ROWS: usize = 1_024;

/// Writes one file of events.
pub(crate) struct TableWriter<'a> {
    path: &'a Path,
    writer: ArrowWriter<File>,
}

impl<'a> TableWriter<'a> {
    pub(crate) fn create(path: &'a Path) -> Result<Self, DataError> {
        let error = |source| DataError::Write { path: path.to_path_buf(), source };
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_created_by(format!("swerl {}", env!("CARGO_PKG_VERSION")))
            .set_data_page_row_count_limit(PAGE_ROWS)
            .set_statistics_enabled(EnabledStatistics::None);
        for name in ["repo_hash", "repo_key", "number", "at", "kind"] {
            let path = ColumnPath::from(name);
            properties = properties.set_column_statistics_enabled(path, EnabledStatistics::Page);
        }
        let file = File::create(path).map_err(error)?;
        let writer = ArrowWriter::try_new(file, events_schema(), Some(properties.build()));
        Ok(Self { path, writer: writer.map_err(|cause| write_error(path, cause))? })
    }

    /// Adds rows.
    pub(crate) fn write(&mut self, batch: &RecordBatch) -> Result<(), DataError> {
        self.writer.write(batch).map_err(|cause| write_error(self.path, cause))
    }

    /// Ends a row group, and frees its memory.
    pub(crate) fn flush(&mut self) -> Result<(), DataError> {
        self.writer.flush().map_err(|cause| write_error(self.path, cause))
    }

    /// Ends the file with `report` in its footer, and syncs it.
    pub(crate) fn finish(mut self, report: String) -> Result<(), DataError> {
        let path = self.path;
        self.writer.append_key_value_metadata(KeyValue::new(REPORT_KEY.to_owned(), report));
        let file = self.writer.into_inner().map_err(|cause| write_error(path, cause))?;
        file.sync_all().map_err(|source| DataError::Write { path: path.to_path_buf(), source })
    }
}

/// The cause as the operating system gave it, where it did: "no space left on device".
fn write_error(path: &Path, cause: ParquetError) -> DataError {
    let path = path.to_path_buf();
    match cause {
        ParquetError::External(cause) => match cause.downcast::<io::Error>() {
            Ok(source) => DataError::Write { path, source: *source },
            Err(cause) => DataError::Write { path, source: io::Error::other(cause) },
        },
        cause => DataError::Write { path, source: io::Error::other(cause) },
    }
}

fn read_error(path: &Path, source: ParquetError) -> DataError {
    DataError::Table { path: path.to_path_buf(), source }
}

fn open(path: &Path) -> Result<File, DataError> {
    File::open(path).map_err(|source| DataError::Read { path: path.to_path_buf(), source })
}

/// The report in a file's footer; `None` where there is none.
pub(crate) fn read_report(path: &Path) -> Result<Option<String>, DataError> {
    let reader = SerializedFileReader::new(open(path)?).map_err(|cause| read_error(path, cause))?;
    let pairs = reader.metadata().file_metadata().key_value_metadata();
    let found = pairs.into_iter().flatten().find(|pair| pair.key == REPORT_KEY);
    Ok(found.and_then(|pair| pair.value.clone()))
}

/// Calls `each` for every event of a file, in order.
pub(crate) fn read_table(path: &Path, each: impl FnMut(Event)) -> Result<(), DataError> {
    read_rows(path, open_table(path)?, each)
}

/// Calls `each` for every event of one issue in a file sorted by `repo_key`, whose name is in lower case.
pub(crate) fn read_issue(
    path: &Path,
    repo_key: &str,
    number: u64,
    each: impl FnMut(Event),
) -> Result<(), DataError> {
    let builder = open_table(path)?;
    let columns = builder.parquet_schema();
    let place = |name: &str| columns.columns().iter().position(|column| column.name() == name);
    let wanted = [place("repo_key"), place("number")];
    let mask = ProjectionMask::leaves(columns, wanted.into_iter().flatten());
    // Groups whose least and greatest key rule the repository out are not read.
    let groups = builder.metadata().row_groups().iter().enumerate().filter(|(_, group)| {
        let statistics = wanted[0].and_then(|place| group.column(place).statistics());
        let least = statistics.and_then(Statistics::min_bytes_opt);
        let most = statistics.and_then(Statistics::max_bytes_opt);
        least.is_none_or(|least| least <= repo_key.as_bytes())
            && most.is_none_or(|most| repo_key.as_bytes() <= most)
    });
    let groups: Vec<usize> = groups.map(|(place, _)| place).collect();
    let key = repo_key.to_owned();
    let is_wanted = ArrowPredicateFn::new(mask, move |batch: RecordBatch| {
        let keys = eq(batch.column(0), &StringArray::new_scalar(&key))?;
        let numbers = eq(batch.column(1), &UInt64Array::new_scalar(number))?;
        and(&keys, &numbers)
    });
    let builder =
        builder.with_row_groups(groups).with_row_filter(RowFilter::new(vec![Box::new(is_wanted)]));
    read_rows(path, builder, each)
}

type Builder = ParquetRecordBatchReaderBuilder<File>;

fn open_table(path: &Path) -> Result<Builder, DataError> {
    let builder = Builder::try_new(open(path)?).map_err(|cause| read_error(path, cause))?;
    if builder.schema().fields() != events_schema().fields() {
        return Err(DataError::TableSchema { path: path.to_path_buf() });
    }
    Ok(builder)
}

fn read_rows(path: &Path, builder: Builder, mut each: impl FnMut(Event)) -> Result<(), DataError> {
    let error = |cause: ParquetError| read_error(path, cause);
    for batch in builder.build().map_err(error)? {
        let batch = batch.map_err(|cause| error(cause.into()))?;
        events_of(&batch, &mut each);
    }
    Ok(())
}
