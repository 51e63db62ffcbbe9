//! Tables in HTML.

use maud::{Markup, html};

use crate::table::{Table, Value};
use jitterlab_base::show;

/// A table with more rows is folded away at first.
const FOLDED_FROM: usize = 16;
/// A cell of more characters is given room for a sentence.
const LONG: usize = 60;

/// The table with its heading and the link to its CSV; a long one is folded where that is asked for.
pub fn table(table: &Table, fold: bool) -> Markup {
    html! {
        div.table {
            div.table-head {
                h3 { (table.title) }
                a href={ (table.id) ".csv" } { "CSV" }
            }
            @if let Some(note) = &table.note { p.meta { (note) } }
            @if fold && table.rows.len() >= FOLDED_FROM {
                details {
                    summary { "Show " (show::counted(table.rows.len(), "row")) }
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
                        tr { @for &i in &shown { (cell(&table.seen(row, i), table.is_numeric(i))) } }
                    }
                }
            }
        }
    }
}

fn cell(value: &Value, numeric: bool) -> Markup {
    if let Some((estimate, interval)) = value.estimated() {
        return html! {
            td.num {
                (estimate)
                @if let Some(interval) = interval { span.between { (interval) } }
            }
        };
    }
    let text = value.for_people();
    html! { td.num[numeric].long[text.chars().count() > LONG] { (text) } }
}
