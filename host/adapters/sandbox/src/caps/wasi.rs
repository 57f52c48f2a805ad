//! The WASI interfaces that are granted as a whole: environment, standard streams, clocks and
//! random numbers.

use crate::{
    caps::{pipe::GuestPipes, seeded::Seed, stdio::StdioStream, telemetry::Telemetry},
    gate::Gate,
};
use std::sync::Arc;
use wasmtime_wasi::{WasiCtx, WasiCtxBuilder};

/// The name of a program, as it is told.
const PROGRAM_NAME: &str = "server";

/// The WASI context of one call, built on first use: seeding its random numbers takes a tenth of
/// the time of a short call, and many tools need nothing but their arguments.
pub(crate) struct LazyWasiCtx {
    gate: Arc<Gate>,
    telemetry: Arc<Telemetry>,
    /// The most random bytes of one request.
    random_bytes: u64,
    /// Replaces the clocks and the random numbers of the host.
    seed: Option<Seed>,
    /// The input and output of a program; a call has no input, and its output is kept.
    pipes: Option<GuestPipes>,
    made: Option<WasiCtx>,
}

impl LazyWasiCtx {
    pub(crate) fn new(
        gate: Arc<Gate>,
        telemetry: Arc<Telemetry>,
        random_bytes: u64,
        seed: Option<Seed>,
    ) -> Self {
        Self {
            gate,
            telemetry,
            random_bytes,
            seed,
            pipes: None,
            made: None,
        }
    }

    /// Connects the standard streams of a program, before it runs.
    pub(crate) fn connect(&mut self, pipes: GuestPipes) {
        self.pipes = Some(pipes);
    }

    pub(crate) fn get(&mut self) -> &mut WasiCtx {
        self.made.get_or_insert_with(|| {
            let mut wasi = builder(&self.gate, &self.telemetry, self.random_bytes, self.seed);
            if let Some(GuestPipes { stdin, stdout }) = self.pipes.take() {
                // Programs take the first argument to be their own name.
                wasi.stdin(stdin).stdout(stdout).arg(PROGRAM_NAME);
            }
            wasi.build()
        })
    }
}

/// Prepares a context without arguments, stdin or preopens, and with the granted environment only:
/// nothing of the host is visible. Clocks and random numbers are the host's, unless there is a
/// seed.
fn builder(
    gate: &Gate,
    telemetry: &Arc<Telemetry>,
    random_bytes: u64,
    seed: Option<Seed>,
) -> WasiCtxBuilder {
    let mut wasi = WasiCtx::builder();
    if let Some(seed) = seed {
        seed.apply(&mut wasi);
    }
    let grants = &gate.grants;
    for variable in &grants.env {
        wasi.env(&variable.name, &variable.value);
    }
    // Relative paths resolve in the first granted directory.
    if let Some(first) = grants.dirs.first() {
        wasi.initial_cwd(&first.guest);
    }
    wasi.stdout(StdioStream::new(telemetry, |telemetry| &telemetry.stdout))
        .stderr(StdioStream::new(telemetry, |telemetry| &telemetry.stderr))
        .max_random_size(random_bytes)
        .allow_tcp(false)
        .allow_udp(false)
        .allow_ip_name_lookup(false);
    wasi
}
