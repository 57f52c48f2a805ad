//! A plain component of WASI 0.3. `wit/world.wit` says what its functions do.

#![cfg(target_family = "wasm")]
#![expect(
    unsafe_code,
    reason = "generated bindings export functions by their names"
)]

mod attempt;
mod files;
mod network;

use futures_util::future::join_all;
use wasip3::{
    clocks::monotonic_clock,
    wit_bindgen::{FutureReader, StreamReader, StreamResult, spawn_local},
};

mod generated {
    wasip3::wit_bindgen::generate!({
        world: "concurrent",
        runtime_path: "wasip3::wit_bindgen::rt",
    });
}

use generated::{Guest, export, wit_future, wit_stream};

struct Concurrent;

/// The most bytes that one read or write moves.
const CHUNK_BYTES: usize = 16 * 1024;

impl Guest for Concurrent {
    async fn count(to: u32) -> StreamReader<u32> {
        let (mut writer, reader) = wit_stream::new();
        spawn_local(async move {
            for number in 0..to {
                if writer.write_one(number).await.is_some() {
                    return;
                }
            }
        });
        reader
    }

    async fn upper(mut bytes: StreamReader<u8>) -> StreamReader<u8> {
        let (mut writer, reader) = wit_stream::new();
        spawn_local(async move {
            loop {
                let (result, mut chunk) = bytes.read(Vec::with_capacity(CHUNK_BYTES)).await;
                chunk.make_ascii_uppercase();
                let rest = writer.write_all(chunk).await;
                if !rest.is_empty() || !matches!(result, StreamResult::Complete(_)) {
                    return;
                }
            }
        });
        reader
    }

    async fn lines(lines: u32) -> StreamReader<String> {
        let (mut writer, reader) = wit_stream::new();
        spawn_local(async move {
            for line in 1..=lines {
                monotonic_clock::wait_for(1_000_000).await;
                if writer.write_one(format!("line {line}")).await.is_some() {
                    return;
                }
            }
        });
        reader
    }

    async fn later(text: String) -> FutureReader<String> {
        let (writer, reader) = wit_future::new(String::new);
        spawn_local(async move {
            monotonic_clock::wait_for(1_000_000).await;
            let _ = writer.write(text).await;
        });
        reader
    }

    async fn crossed(size: u32) -> (u32, StreamReader<u8>, StreamReader<u32>) {
        let (mut bytes, byte_reader) = wit_stream::new();
        let (mut numbers, number_reader) = wit_stream::new();
        spawn_local(async move {
            for number in 0..size {
                numbers.write_one(number).await;
                bytes.write_one(b'x').await;
            }
        });
        (size, byte_reader, number_reader)
    }

    async fn binary(fails: bool) -> Result<StreamReader<u8>, String> {
        if fails {
            return Err("asked to fail".to_owned());
        }
        let (mut writer, reader) = wit_stream::new();
        spawn_local(async move {
            writer.write_all(vec![0xff, 0x00, 0xfe]).await;
        });
        Ok(reader)
    }

    async fn endless() -> StreamReader<u8> {
        let (mut writer, reader) = wit_stream::new();
        spawn_local(
            async move { while writer.write_all(vec![b'.'; CHUNK_BYTES]).await.is_empty() {} },
        );
        reader
    }

    async fn nap(times: u32, ms: u64) -> u64 {
        let started = monotonic_clock::now();
        join_all((0..times).map(|_| monotonic_clock::wait_for(ms * 1_000_000))).await;
        (monotonic_clock::now() - started) / 1_000_000
    }

    async fn stuck() {
        let (writer, reader) = wit_stream::new::<u8>();
        reader.collect().await;
        drop(writer);
    }

    async fn spin() {
        loop {
            std::hint::spin_loop();
        }
    }

    async fn hoard(streams: u32) -> u32 {
        let kept: Vec<_> = (0..streams).map(|_| wit_stream::new::<u8>()).collect();
        u32::try_from(kept.len()).unwrap_or(u32::MAX)
    }

    async fn put(_: Vec<StreamReader<u8>>) {}

    async fn records() -> StreamReader<(u32, u32)> {
        wit_stream::new().1
    }

    async fn attempt(operation: String, path: String, value: String) -> Result<String, String> {
        attempt::attempt(&operation, path, value).await
    }
}

export!(Concurrent with_types_in generated);
