//! The program from outside, with what this repository holds: one module per suite, and
//! `cargo test --release --test it SUITE` runs one of them.
//!
//! The tests run the `agent-host` program with home, state and working directories of its own, and
//! check its stdout, stderr, exit code and journal.

#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    clippy::too_many_lines,
    clippy::unwrap_used,
    reason = "a test that finds something else than it expects is to end there"
)]

mod acp;
mod agents;
mod answers;
mod approval_prompts;
mod approval_view;
mod approvals;
mod ask_user;
mod audience;
mod author;
mod author_test;
mod bad_input;
mod budgets;
mod builtins;
mod cache;
mod call;
mod call_summaries;
mod code_mode;
mod compile;
mod component_notes;
mod compose;
mod configuration;
mod context;
mod conversation;
mod conversation_commands;
mod conversation_faults;
mod counts;
mod decide;
mod deploy;
mod dev;
mod dist;
mod docs;
mod eval;
mod explain;
mod external;
mod first_minutes;
mod flow;
mod forms;
mod hook_example;
mod hooks;
mod hosts;
mod idempotency;
mod images;
mod inspect;
mod large_results;
mod layers;
mod links;
mod lock;
mod main_job;
mod manual;
mod mcp;
mod mcp_client;
mod mcp_components;
mod mcp_home;
mod mcp_http;
mod mcp_login;
mod mcp_notes;
mod mcp_resources;
mod memory;
mod metrics;
mod model;
mod network;
mod openai;
mod owners;
mod pasted_images;
mod permissions;
mod pictures;
mod postgres;
mod receipts;
mod record;
mod replay;
mod reserved_names;
mod resume;
mod roles;
mod rule_flags;
mod rules;
mod running_calls;
mod schema;
mod screens;
mod sealed;
mod select;
mod serve;
mod serve_logs;
mod serve_sockets;
mod session_changes;
mod sessions;
mod settings;
mod setup;
mod shown;
mod skills;
mod stats;
mod statuses;
mod stdout;
mod store;
mod telemetry;
mod terminal_output;
mod threads;
mod todo_list;
mod toolchains;
mod triggers;
mod undo;
mod wild;
mod workflow_commands;
mod workflow_examples;
mod workflows;
