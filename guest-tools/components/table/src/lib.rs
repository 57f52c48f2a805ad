//! A component that reads CSV files and Excel workbooks as typed rows.
//!
//! No value changes silently: a number is a JSON number only where that is exact, a date is ISO
//! 8601, and what a cell does not tell by itself (merged, a formula without a value) is said.

mod cell;
mod delimited;
mod list;
mod metered;
mod read;
mod table;
mod xlsx;

agent_tool::export!(list::list_sheets, read::read_table);
