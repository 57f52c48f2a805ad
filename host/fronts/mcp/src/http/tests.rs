//! The server over HTTP, as a client sees it: raw requests with exact responses, and `rmcp`'s own
//! client. A double serves the tools, so that a test decides how long a call takes and how much it
//! reports.

mod bounds;
mod clients;
mod double;
mod ending;
mod guard;
mod raw;
mod sessions;
mod stateless;
mod token;
