//! Tables in HTML.

use maud::{Markup, html};

use crate::table::{Table, Value};
use crate::words;

/// A table with more rows is folded away at first.
const FOLDED_FROM: usize = 16;

/// The table with its heading and the link to its CSV.
pub fn table(table: &Table) -> Markup {
    html! {
        div.table {
            div.table-head {
                h3 { (table.title) }
                a href={ (table.id) ".csv" } { "CSV" }
            }
            @if table.rows.len() >= FOLDED_FROM {
                details {
                    summary { "Show " (words::counted(table.rows.len(), "row")) }
                    (grid(table))
                }
            } @else { (grid(table)) }
        }
    }
}

fn grid(table: &Table) -> Markup {
    let shown: Vec<usize> = table.shown().collect();
    html! {
        div.scroll {
            table {
                thead {
                    tr {
                        @for &i in &shown {
                            th.num[table.is_numeric(i)] scope="col" title=(table.headings[i].meaning) {
                                (table.headings[i].text)
                            }
                        }
                    }
                }
                tbody {
                    @for row in &table.rows {
                        tr { @for &i in &shown { (cell(&row[i], table.is_numeric(i))) } }
                    }
                }
            }
        }
    }
}

fn cell(value: &Value, numeric: bool) -> Markup {
    match value {
        Value::Estimate(estimate) => html! {
            td.num {
                (words::short(estimate.value))
                @if let Some((low, high)) = estimate.interval() {
                    span.between { (words::short(low)) " to " (words::short(high)) }
                }
            }
        },
        value => html! { td.num[numeric] { (value.for_people()) } },
    }
}
