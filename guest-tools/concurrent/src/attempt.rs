//! Attempts at all that is not a file or a network.

use crate::{files, network};
use wasip3::{cli, clocks, random};

pub(crate) async fn attempt(
    operation: &str,
    path: String,
    value: String,
) -> Result<String, String> {
    match operation {
        "environment" => Ok(format!("{:?}", cli::environment::get_environment())),
        "arguments" => Ok(format!("{:?}", cli::environment::get_arguments())),
        "directory" => Ok(format!("{:?}", cli::environment::get_initial_cwd())),
        "input" => {
            let (stream, end) = cli::stdin::read_via_stream();
            let bytes = stream.collect().await;
            Ok(format!("{bytes:?} {:?}", end.await))
        }
        "output" | "errors" => {
            let (mut writer, reader) = wasip3::wit_stream::new();
            let written = if operation == "output" {
                cli::stdout::write_via_stream(reader)
            } else {
                cli::stderr::write_via_stream(reader)
            };
            writer.write_all(value.into_bytes()).await;
            drop(writer);
            Ok(format!("{:?}", written.await))
        }
        "terminals" => Ok(format!(
            "{} {} {}",
            cli::terminal_stdin::get_terminal_stdin().is_some(),
            cli::terminal_stdout::get_terminal_stdout().is_some(),
            cli::terminal_stderr::get_terminal_stderr().is_some(),
        )),
        "exit" => {
            cli::exit::exit_with_code(7);
            Ok("still here".to_owned())
        }
        "exit-failed" => {
            cli::exit::exit(Err(()));
            Ok("still here".to_owned())
        }
        "clocks" => {
            let mark = clocks::monotonic_clock::now();
            clocks::monotonic_clock::wait_until(mark + 1_000_000).await;
            let passed = clocks::monotonic_clock::now() - mark;
            let now = clocks::system_clock::now();
            let resolutions =
                clocks::monotonic_clock::get_resolution() + clocks::system_clock::get_resolution();
            let is_right = passed >= 1_000_000 && now.seconds > 1_700_000_000 && resolutions > 0;
            Ok(is_right.to_string())
        }
        "random" => {
            let wanted = value.parse().map_err(|_| "no number".to_owned())?;
            let bytes = random::random::get_random_bytes(wanted).len();
            let insecure = random::insecure::get_insecure_random_bytes(wanted).len();
            let numbers = [
                random::random::get_random_u64(),
                random::insecure::get_insecure_random_u64(),
                random::insecure_seed::get_insecure_seed().0,
            ];
            Ok(format!("{bytes} {insecure} {}", numbers.len()))
        }
        "get" | "post" | "head" => network::request(operation, &path, value).await,
        "tcp" | "udp" | "lookup" => network::socket(operation, &value).await,
        file => files::attempt(file, path, value).await,
    }
}
