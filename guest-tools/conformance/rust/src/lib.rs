//! The tools of the conformance suite in Rust. A component in any other language has the same ones,
//! and the cases in `conformance/cases.toml` hold for all of them.

#![expect(
    clippy::needless_pass_by_value,
    reason = "a tool owns its input, whether it takes it apart or not"
)]

mod ends;
mod host;
mod inputs;
mod results;
mod session;
mod web;

agent_tool::export!(
    results::give_text,
    results::give_json,
    results::give_content,
    results::give_image,
    results::give_file,
    results::give_error,
    results::give_error_json,
    results::deny,
    results::repeat,
    inputs::add,
    inputs::typed,
    inputs::who,
    host::report,
    host::report_unmeasured,
    host::give_pieces,
    host::ask_question,
    host::fill_form,
    host::read_context,
    host::remember,
    session::change_and_end,
    session::artifact,
    web::http,
    web::stream_http,
    host::print,
    ends::count,
    ends::spin,
    ends::crash,
    ends::grow,
    ends::recurse,
);
