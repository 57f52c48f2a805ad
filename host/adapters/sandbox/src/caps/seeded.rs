//! The clocks and the random numbers of a program: equal in every run of it.

use agent_host_types::id::Digest;
use rand_core::TryRng;
use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use wasmtime_wasi::{HostMonotonicClock, HostWallClock, WasiCtxBuilder};

/// The time by which a clock advances at each reading, in nanoseconds.
const STEP_NS: u64 = 1_000;

/// The beginning of a program's clocks and random numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seed {
    pub(crate) seed: Digest,
    /// In milliseconds since 1970.
    pub(crate) started_ms: u64,
}

impl Seed {
    /// Replaces the clocks and the random numbers of the host.
    pub(crate) fn apply(self, wasi: &mut WasiCtxBuilder) {
        let clock = SteppedClock {
            started: Duration::from_millis(self.started_ms),
            readings: Arc::default(),
        };
        let random = |purpose| SeededRandom::new(self.seed, purpose);
        let mut insecure_seed = [0; 16];
        random("insecure seed").0.fill(&mut insecure_seed);
        wasi.wall_clock(clock.clone())
            .monotonic_clock(clock)
            .secure_random(random("secure"))
            .insecure_random(random("insecure"))
            .insecure_random_seed(u128::from_le_bytes(insecure_seed));
    }
}

/// A clock that advances when it is read.
#[derive(Clone)]
struct SteppedClock {
    started: Duration,
    readings: Arc<AtomicU64>,
}

impl SteppedClock {
    /// Returns the nanoseconds since the start.
    fn elapsed_ns(&self) -> u64 {
        self.readings
            .fetch_add(1, Ordering::Relaxed)
            .saturating_mul(STEP_NS)
    }
}

impl HostWallClock for SteppedClock {
    fn resolution(&self) -> Duration {
        Duration::from_nanos(STEP_NS)
    }

    fn now(&self) -> Duration {
        self.started
            .saturating_add(Duration::from_nanos(self.elapsed_ns()))
    }
}

impl HostMonotonicClock for SteppedClock {
    fn resolution(&self) -> u64 {
        STEP_NS
    }

    fn now(&self) -> u64 {
        self.elapsed_ns()
    }
}

/// Random numbers from BLAKE3, so that they do not depend on the version of a crate.
struct SeededRandom(blake3::OutputReader);

impl SeededRandom {
    fn new(seed: Digest, purpose: &str) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("agent-host program random numbers");
        hasher.update(&seed.into_bytes());
        hasher.update(purpose.as_bytes());
        Self(hasher.finalize_xof())
    }
}

impl TryRng for SeededRandom {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let mut bytes = [0; 4];
        self.0.fill(&mut bytes);
        Ok(u32::from_le_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut bytes = [0; 8];
        self.0.fill(&mut bytes);
        Ok(u64::from_le_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.0.fill(bytes);
        Ok(())
    }
}
