//! The tools of a host for every client of the Model Context Protocol.
