//! The tools of servers of the Model Context Protocol, for the loop.
