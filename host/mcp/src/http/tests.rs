//! The server over HTTP, as a client sees it: raw requests with exact answers, and `rmcp`'s own client. The tools are a double's,
//! so that a test decides how long a call takes and how much it says.

mod bounds;
mod clients;
mod door;
mod double;
mod ending;
mod raw;
mod sessions;
mod stateless;
mod token;
