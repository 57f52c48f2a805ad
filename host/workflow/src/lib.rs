//! Workflows as values. Runs nothing.
