//! The query over the events: plain DataFusion data frames, wherever they are executed.

use std::ops::Range;

use datafusion::error::Result;
use datafusion::functions_window::expr_fn::row_number;
use datafusion::logical_expr::{Expr, ExprFunctionExt, SortExpr, col, lit};
use datafusion::prelude::DataFrame;

use crate::ingest::events_schema;

const PLACE: &str = "place_of_view";

/// Rows of the repositories whose `repo_hash` is in `hashes`.
fn of_repositories(events: DataFrame, hashes: &Range<u16>) -> Result<DataFrame> {
    let hash = || col("repo_hash");
    events.filter(hash().gt_eq(lit(hashes.start)).and(hash().lt(lit(hashes.end))))
}

fn up(name: &str) -> SortExpr {
    col(name).sort(true, true)
}

fn down(by: Expr) -> SortExpr {
    by.sort(false, false)
}

fn schema_columns(frame: DataFrame) -> Result<DataFrame> {
    let names: Vec<Expr> = events_schema().fields().iter().map(|field| col(field.name())).collect();
    frame.select(names)
}

/// The most telling view of every pull request, by repository and number: merged before not, with
/// title before without, then the latest; of views that are alike in this, the first of the inputs.
pub(crate) fn pull_requests(events: DataFrame, hashes: &Range<u16>) -> Result<DataFrame> {
    let merged = col("merged")
        .is_true()
        .or(col("merged_at").is_not_null())
        .or(col("action").eq(lit("merged")));
    let place = row_number()
        .partition_by(vec![col("repo_key"), col("number")])
        .order_by(vec![
            down(merged),
            down(col("title").is_not_null()),
            down(col("at")),
            down(col("event_id")),
            up("source"),
            up("line"),
        ])
        .build()?
        .alias(PLACE);
    let views = of_repositories(events, hashes)?.filter(col("kind").eq(lit("pull_request")))?;
    let best = views.window(vec![place])?.filter(col(PLACE).eq(lit(1_u64)))?;
    schema_columns(best)?.sort(vec![up("repo_key"), up("number")])
}

/// All that events tell of issues and comments on them, by repository, number and time.
pub(crate) fn issues(events: DataFrame, hashes: &Range<u16>) -> Result<DataFrame> {
    let told = of_repositories(events, hashes)?
        .filter(col("kind").not_eq(lit("pull_request")).and(col("on_pull_request").is_false()))?;
    let order = ["repo_key", "number", "at", "event_id", "source", "line"].map(up);
    schema_columns(told)?.sort(order.to_vec())
}
