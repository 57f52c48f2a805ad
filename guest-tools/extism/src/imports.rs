//! The imports of a plugin: `extism:host/env` (`env_`), `extism:host/user` of hyper-mcp (`user_`), and
//! WASI preview 1 without files (`wasi_`).
#![expect(unsafe_code, reason = "the host uses these functions by their names")]

use crate::{
    fail,
    kernel::{kernel, load, store},
};
use agent_tool::http::{Address, Method, Request, fields, send};
use serde::Deserialize;
use serde_json::json;
use std::{
    collections::BTreeMap,
    error::Error,
    io::Write as _,
    sync::LazyLock,
    time::{Instant, SystemTime},
};

/// The largest body of a response, in bytes, as in Extism.
const MAX_BODY_BYTES: usize = 50 * 1024 * 1024;

/// A request as plugins write it.
#[derive(Deserialize)]
struct HttpRequest {
    url: String,
    method: Option<String>,
    #[serde(default, alias = "header")]
    headers: BTreeMap<String, String>,
}

/// A level of lines to log.
const INFO: i32 = 2;

/// Error codes of WASI.
const SUCCESS: i32 = 0;
const BAD_FILE: i32 = 8;
const INVALID: i32 = 28;
const NOT_SUPPORTED: i32 = 52;

/// The beginning of the monotonic clock.
static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Exports functions by their names.
macro_rules! exports {
    ($(fn $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)? $body:block)*) => {
        $(#[unsafe(no_mangle)] extern "C" fn $name($($argument: $type),*) $(-> $result)? $body)*
    };
}

exports! {
    fn env_alloc(bytes: u64) -> u64 { kernel().allocate(bytes) }
    fn env_free(at: u64) { kernel().take(at); }
    fn env_length(at: u64) -> u64 { kernel().length(at) }
    fn env_length_unsafe(at: u64) -> u64 { kernel().length(at) }
    fn env_load_u8(at: u64) -> u8 { u8::from_le_bytes(kernel().load(at)) }
    fn env_load_u64(at: u64) -> u64 { u64::from_le_bytes(kernel().load(at)) }
    fn env_store_u8(at: u64, value: u8) { kernel().store(at, &[value]) }
    fn env_store_u64(at: u64, value: u64) { kernel().store(at, &value.to_le_bytes()) }
    fn env_input_offset() -> u64 { kernel().input }
    fn env_input_length() -> u64 { env_length(env_input_offset()) }
    fn env_input_load_u8(at: u64) -> u8 { env_load_u8(env_input_offset().saturating_add(at)) }
    fn env_input_load_u64(at: u64) -> u64 { env_load_u64(env_input_offset().saturating_add(at)) }
    fn env_output_set(at: u64, bytes: u64) { kernel().output = (at, bytes) }
    fn env_error_set(at: u64) { kernel().error = at }

    fn env_config_get(key: u64) -> u64 {
        let key = kernel().take(key);
        let value = std::env::vars().find(|(name, _)| name.as_bytes() == key);
        value.map_or(0, |(_, value)| kernel().put(value.as_bytes()))
    }
    fn env_var_get(key: u64) -> u64 {
        let mut kernel = kernel();
        let key = kernel.take(key);
        let value = kernel.variables.get(&key).cloned();
        value.map_or(0, |value| kernel.put(&value))
    }
    fn env_var_set(key: u64, value: u64) {
        let mut kernel = kernel();
        let key = kernel.take(key);
        match value {
            0 => kernel.variables.remove(&key),
            value => { let value = kernel.take(value); kernel.variables.insert(key, value) }
        };
    }

    fn env_http_request(request: u64, body: u64) -> u64 {
        let request = kernel().take(request);
        let body = (body != 0).then(|| kernel().take(body));
        request_http(&request, body).unwrap_or_else(|why| fail(&why.to_string()))
    }
    fn env_http_status_code() -> i32 { i32::from(kernel().status) }
    fn env_http_headers() -> u64 {
        let mut kernel = kernel();
        let headers = kernel.headers.clone();
        kernel.put(headers.as_bytes())
    }

    fn env_get_log_level() -> i32 { INFO }
    fn env_log_trace(line: u64) { env_free(line) }
    fn env_log_debug(line: u64) { env_free(line) }
    fn env_log_info(line: u64) { log(line) }
    fn env_log_warn(line: u64) { log(line) }
    fn env_log_error(line: u64) { log(line) }

    fn user_create_elicitation(_form: u64) -> u64 { kernel().put(br#"{"action":"decline"}"#) }
    fn user_list_roots() -> u64 { kernel().put(br#"{"roots":[]}"#) }
    fn user_create_message(_request: u64) -> u64 { missing("create_message") }
    fn user_get_access_token(_request: u64) -> u64 { missing("get_access_token") }
    fn user_get_keyring_secret(_request: u64) -> u64 { missing("get_keyring_secret") }
    fn user_notify_logging_message(_message: u64) {}
    fn user_notify_progress(_progress: u64) {}
    fn user_notify_resource_updated(_resource: u64) {}
    fn user_notify_url_elicitation_completed(_elicitation: u64) {}
    fn user_notify_prompt_list_changed() {}
    fn user_notify_resource_list_changed() {}
    fn user_notify_tool_list_changed() {}
}

#[expect(clippy::print_stderr, reason = "the host keeps it for the user")]
fn log(line: u64) {
    let line = kernel().take(line);
    eprintln!("{}", String::from_utf8_lossy(&line));
}

fn missing(function: &str) -> ! {
    fail(&format!("this host does not offer `{function}` to plugins"))
}

/// Sends a request, and returns the address of the body of the response.
fn request_http(request: &[u8], body: Option<Vec<u8>>) -> Result<u64, Box<dyn Error>> {
    let request: HttpRequest = serde_json::from_slice(request)?;
    let method = request.method.unwrap_or_else(|| "GET".to_owned());
    let method = match method.to_ascii_uppercase().as_str() {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        "POST" => Method::Post,
        "PUT" => Method::Put,
        "PATCH" => Method::Patch,
        "DELETE" => Method::Delete,
        "OPTIONS" => Method::Options,
        other => return Err(format!("the plugin requests with the method `{other}`").into()),
    };
    let mut sent = Request::new(method, Address::parse(&request.url)?);
    (sent.headers, sent.body) = (fields(request.headers)?, body);
    let response = send(sent, MAX_BODY_BYTES)?.response;
    if !response.whole {
        return Err(format!("the response has more than {MAX_BODY_BYTES} bytes").into());
    }
    let headers: BTreeMap<_, _> = response.headers.into_iter().collect();
    let mut kernel = kernel();
    kernel.status = response.status;
    kernel.headers = json!(headers).to_string();
    Ok(kernel.put(&response.body))
}

exports! {
    fn wasi_args_sizes_get(count: i32, bytes: i32) -> i32 { none(count, bytes) }
    fn wasi_args_get(_pointers: i32, _texts: i32) -> i32 { SUCCESS }
    fn wasi_environ_sizes_get(count: i32, bytes: i32) -> i32 { none(count, bytes) }
    fn wasi_environ_get(_pointers: i32, _texts: i32) -> i32 { SUCCESS }
    fn wasi_sched_yield() -> i32 { SUCCESS }
    fn wasi_clock_res_get(_clock: i32, _at: i32) -> i32 { NOT_SUPPORTED }
    fn wasi_poll_oneoff(_in: i32, _out: i32, _count: i32, _at: i32) -> i32 { NOT_SUPPORTED }
    fn wasi_proc_exit(code: i32) {
        fail(&format!("the plugin ended itself with exit code {code}"))
    }
    fn wasi_random_get(at: i32, bytes: i32) -> i32 {
        store(at, &wasip2::random::random::get_random_bytes(u64::from(bytes as u32)));
        SUCCESS
    }
    fn wasi_clock_time_get(clock: i32, _precision: i64, at: i32) -> i32 {
        let time = match clock {
            0 => SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default(),
            1 => START.elapsed(),
            _ => return INVALID,
        };
        store(at, &(time.as_nanos() as u64).to_le_bytes());
        SUCCESS
    }
    fn wasi_fd_write(file: i32, buffers: i32, count: i32, written: i32) -> i32 {
        let mut bytes = Vec::new();
        for index in 0..count {
            let buffer = load(buffers.wrapping_add(index * 8), 8);
            let buffer = u64::from_le_bytes(buffer.try_into().unwrap_or_default());
            bytes.extend(load(buffer as i32, (buffer >> 32) as i32));
        }
        // What the host does not keep is lost, as for every tool.
        let _ = match file {
            1 => std::io::stdout().write_all(&bytes),
            2 => std::io::stderr().write_all(&bytes),
            _ => return BAD_FILE,
        };
        store(written, &(bytes.len() as u32).to_le_bytes());
        SUCCESS
    }
}

/// Answers that there are no arguments or variables.
fn none(count: i32, bytes: i32) -> i32 {
    store(count, &[0; 4]);
    store(bytes, &[0; 4]);
    SUCCESS
}

/// Exports functions that find no file.
macro_rules! files {
    ($($name:ident($($type:ty),*))*) => {
        $(#[unsafe(no_mangle)] extern "C" fn $name($(_: $type),*) -> i32 { BAD_FILE })*
    };
}

files! {
    wasi_fd_advise(i32, i64, i64, i32) wasi_fd_allocate(i32, i64, i64) wasi_fd_close(i32)
    wasi_fd_datasync(i32) wasi_fd_fdstat_get(i32, i32) wasi_fd_fdstat_set_flags(i32, i32)
    wasi_fd_fdstat_set_rights(i32, i64, i64) wasi_fd_filestat_get(i32, i32) wasi_fd_sync(i32)
    wasi_fd_filestat_set_size(i32, i64) wasi_fd_filestat_set_times(i32, i64, i64, i32)
    wasi_fd_pread(i32, i32, i32, i64, i32) wasi_fd_prestat_get(i32, i32)
    wasi_fd_prestat_dir_name(i32, i32, i32) wasi_fd_pwrite(i32, i32, i32, i64, i32)
    wasi_fd_read(i32, i32, i32, i32) wasi_fd_readdir(i32, i32, i32, i64, i32)
    wasi_fd_renumber(i32, i32) wasi_fd_seek(i32, i64, i32, i32) wasi_fd_tell(i32, i32)
    wasi_path_create_directory(i32, i32, i32) wasi_path_filestat_get(i32, i32, i32, i32, i32)
    wasi_path_filestat_set_times(i32, i32, i32, i32, i64, i64, i32)
    wasi_path_link(i32, i32, i32, i32, i32, i32, i32) wasi_path_unlink_file(i32, i32, i32)
    wasi_path_open(i32, i32, i32, i32, i32, i64, i64, i32, i32)
    wasi_path_readlink(i32, i32, i32, i32, i32, i32) wasi_path_remove_directory(i32, i32, i32)
    wasi_path_rename(i32, i32, i32, i32, i32, i32) wasi_path_symlink(i32, i32, i32, i32, i32)
    wasi_sock_accept(i32, i32, i32) wasi_sock_recv(i32, i32, i32, i32, i32, i32)
    wasi_sock_send(i32, i32, i32, i32, i32) wasi_sock_shutdown(i32, i32)
}
