//! The schema of the events in parquet: one row an event, the same for all event types and years.
//!
//! Fields that a type or a year lacks are null. `docs/data-format.md` says what each means.

use std::sync::{Arc, LazyLock};

use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};

use crate::split::repository_hash;

/// Version of the schema, written into every file.
pub const EVENTS_SCHEMA_VERSION: u32 = 1;

/// Repositories are spread over so many values of `repo_hash`.
pub const REPO_HASHES: u16 = 4096;

/// The column `repo_hash` of a repository's key (its name in lower case).
pub(crate) fn repo_hash(key: &str) -> u16 {
    // Below REPO_HASHES, for the hash is below 1.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let hash = (repository_hash(key, 0) * f64::from(REPO_HASHES)) as u16;
    hash
}

/// Moments: milliseconds, because parquet has no seconds.
pub(crate) fn moment_type() -> DataType {
    DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into()))
}

static SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
    use DataType::{Boolean, UInt16, UInt64, Utf8};
    let given = |name: &str, kind: DataType| Field::new(name, kind, false);
    let maybe = |name: &str, kind: DataType| Field::new(name, kind, true);
    let item = Arc::new(Field::new("item", Utf8, false));
    Arc::new(Schema::new(vec![
        given("kind", Utf8),
        given("repo_hash", UInt16),
        given("repo_key", Utf8),
        given("repo", Utf8),
        given("number", UInt64),
        given("at", moment_type()),
        given("event_id", UInt64),
        given("source", Utf8),
        given("line", UInt64),
        given("action", Utf8),
        maybe("title", Utf8),
        maybe("body", Utf8),
        maybe("labels", DataType::List(item)),
        maybe("author", Utf8),
        maybe("author_type", Utf8),
        maybe("created_at", moment_type()),
        maybe("merged_at", moment_type()),
        maybe("merged", Boolean),
        maybe("merge_commit", Utf8),
        maybe("base", Utf8),
        maybe("head", Utf8),
        maybe("url", Utf8),
        given("on_pull_request", Boolean),
        maybe("comment_id", UInt64),
        maybe("comment_author", Utf8),
        maybe("comment_author_type", Utf8),
        maybe("comment_body", Utf8),
    ]))
});

/// The columns, in order.
#[must_use]
pub fn events_schema() -> SchemaRef {
    Arc::clone(&SCHEMA)
}
