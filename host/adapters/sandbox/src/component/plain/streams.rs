//! The streams and futures of plain functions. An argument becomes a stream when the function is
//! called; those in a result are read until they end, or until they hold as much as a result may.

use super::{
    value::{MAX_VALUES, untyped},
    wit_type::{Signature, WitType},
};
use crate::{
    bindings::types as wit,
    caps::result_size::most_bytes,
    component::collect::{Collected, StreamedItem, collect},
    instance::store::CallState,
};
use std::{
    borrow::Cow,
    marker::PhantomData,
    mem,
    pin::Pin,
    task::{Context, Poll},
};
use tokio::sync::oneshot;
use wasmtime::{
    Store, StoreContextMut,
    component::{
        ComponentType, FutureAny, FutureConsumer, Lower, Source, StreamAny, StreamReader, Val,
    },
    format_err,
};

/// The bytes that an item counts for beside its text.
const ITEM_BYTES: usize = 8;

/// A type of items, in Rust.
trait StreamItem: ComponentType + Lower + StreamedItem {
    fn into_val(self) -> Val;

    fn from_val(val: &Val) -> Option<Self>;

    fn into_content(items: Vec<Self>) -> Content {
        Content::Val(Val::List(items.into_iter().map(Self::into_val).collect()))
    }
}

macro_rules! scalar_items {
    ($($type:ty => $case:ident),*) => {$(
        impl StreamItem for $type {
            fn into_val(self) -> Val {
                Val::$case(self)
            }

            fn from_val(val: &Val) -> Option<Self> {
                match val {
                    Val::$case(value) => Some(*value),
                    _ => None,
                }
            }
        }

        impl StreamedItem for $type {
            fn weight(&self) -> usize {
                ITEM_BYTES
            }

            fn lines(items: &[Self]) -> Vec<u8> {
                items.iter().fold(Vec::new(), |mut lines, item| {
                    lines.extend(format!("{item}\n").into_bytes());
                    lines
                })
            }
        }
    )*};
}

scalar_items!(
    bool => Bool, i8 => S8, i16 => S16, u16 => U16, i32 => S32, u32 => U32, i64 => S64, u64 => U64,
    f32 => Float32, f64 => Float64, char => Char
);

impl StreamItem for u8 {
    fn into_val(self) -> Val {
        Val::U8(self)
    }

    fn from_val(val: &Val) -> Option<Self> {
        match val {
            Val::U8(value) => Some(*value),
            _ => None,
        }
    }

    fn into_content(items: Vec<Self>) -> Content {
        Content::Bytes(items)
    }
}

impl StreamedItem for u8 {
    fn weight(&self) -> usize {
        1
    }

    fn lines(items: &[Self]) -> Vec<u8> {
        items.to_vec()
    }
}

impl StreamItem for String {
    fn into_val(self) -> Val {
        Val::String(self)
    }

    fn from_val(val: &Val) -> Option<Self> {
        match val {
            Val::String(value) => Some(value.clone()),
            _ => None,
        }
    }
}

impl StreamedItem for String {
    fn weight(&self) -> usize {
        ITEM_BYTES + self.len()
    }

    fn lines(items: &[Self]) -> Vec<u8> {
        items.iter().fold(Vec::new(), |mut lines, item| {
            lines.extend(item.as_bytes());
            lines.push(b'\n');
            lines
        })
    }
}

impl StreamItem for Vec<u8> {
    fn into_val(self) -> Val {
        Val::List(self.into_iter().map(Val::U8).collect())
    }

    fn from_val(val: &Val) -> Option<Self> {
        match val {
            Val::List(items) => items.iter().map(u8::from_val).collect(),
            _ => None,
        }
    }
}

impl StreamedItem for Vec<u8> {
    fn weight(&self) -> usize {
        ITEM_BYTES + self.len()
    }

    /// None: bytes are seldom text.
    fn lines(_: &[Self]) -> Vec<u8> {
        Vec::new()
    }
}

/// Calls a function with the Rust type of an item.
macro_rules! with_item {
    ($item:expr, $function:ident($($argument:expr),*)) => {
        match $item {
            WitType::Bool => $function::<bool>($($argument),*),
            WitType::Int(int) => match int.kind() {
                (true, 8) => $function::<i8>($($argument),*),
                (false, 8) => $function::<u8>($($argument),*),
                (true, 16) => $function::<i16>($($argument),*),
                (false, 16) => $function::<u16>($($argument),*),
                (true, 32) => $function::<i32>($($argument),*),
                (false, 32) => $function::<u32>($($argument),*),
                (true, _) => $function::<i64>($($argument),*),
                (false, _) => $function::<u64>($($argument),*),
            },
            WitType::Float32 => $function::<f32>($($argument),*),
            WitType::Float64 => $function::<f64>($($argument),*),
            WitType::Char => $function::<char>($($argument),*),
            WitType::String => $function::<String>($($argument),*),
            WitType::Bytes => $function::<Vec<u8>>($($argument),*),
            _ => Err(untyped()),
        }
    };
}

/// Makes the streams among the arguments of a call.
pub(super) fn arguments<'a>(
    store: &mut Store<CallState>,
    signature: &Signature,
    arguments: &'a [Val],
) -> wasmtime::Result<Cow<'a, [Val]>> {
    let is_stream = |(_, ty): &(String, WitType)| matches!(ty, WitType::Stream(_));
    if !signature.params.iter().any(is_stream) {
        return Ok(arguments.into());
    }
    let arguments = signature.params.iter().zip(arguments);
    let arguments = arguments.map(|((_, ty), val)| match (ty, val) {
        (WitType::Stream(item), Val::List(items)) => with_item!(&**item, stream(store, items)),
        (_, val) => Ok(val.clone()),
    });
    arguments.collect()
}

fn stream<T: StreamItem>(store: &mut Store<CallState>, items: &[Val]) -> wasmtime::Result<Val> {
    let items: Option<Vec<T>> = items.iter().map(T::from_val).collect();
    let items = items.ok_or_else(|| format_err!("an item of a stream has another type"))?;
    let reader = StreamReader::new(&mut *store, items)?;
    Ok(Val::Stream(reader.try_into_stream_any(store)?))
}

/// The form of what was read.
enum Content {
    /// Of a stream of `u8`: each as a value would take 40 bytes.
    Bytes(Vec<u8>),
    Val(Val),
}

/// The content of one stream or future.
struct Read {
    content: Content,
    /// Whether the stream had more than fits.
    is_cut: bool,
}

/// Ends with what was read, or with nothing if the guest dropped a future.
type Reading = Pin<Box<dyn Future<Output = Option<Read>> + Send>>;

/// The content of the streams of a result.
#[derive(Default)]
pub(super) struct Streamed {
    /// The result, if that is a stream of bytes.
    pub(super) bytes: Option<Vec<u8>>,
    /// Whether a stream had more than fits.
    pub(super) is_cut: bool,
}

/// Reads all streams and futures of a result, and puts their content in their places.
pub(super) async fn read(
    store: &mut Store<CallState>,
    signature: &Signature,
    result: Option<&mut Val>,
) -> wasmtime::Result<Streamed> {
    let mut found = Vec::new();
    if let (Some(ty), Some(result)) = (&signature.result, result) {
        find(ty, result, &mut found);
    }
    if found.is_empty() {
        return Ok(Streamed::default());
    }
    let is_bytes = signature.is_byte_stream();
    let most = most_bytes(&store.data().limits);
    let left = if is_bytes {
        most
    } else {
        most.min(MAX_VALUES * ITEM_BYTES) / found.len()
    };
    // All are read at once: a guest may write to one only when it could write to another.
    let mut places = Vec::with_capacity(found.len());
    let mut reading = Vec::with_capacity(found.len());
    for (item, place) in found {
        // A byte inside a value is a value, too.
        let left = match item {
            &WitType::BYTE if !is_bytes => left / ITEM_BYTES,
            _ => left,
        };
        let receiver = match mem::replace(place, Val::Bool(false)) {
            Val::Stream(stream) => with_item!(item, read_stream(store, stream, left)),
            Val::Future(future) => with_item!(item, read_future(store, future)),
            _ => Err(untyped()),
        };
        reading.push(receiver?);
        places.push(place);
    }
    let reads = store
        .run_concurrent(async move |_| {
            let mut reads = Vec::with_capacity(reading.len());
            for receiver in reading {
                reads.push(receiver.await);
            }
            reads
        })
        .await?;
    let mut streamed = Streamed::default();
    for (place, read) in places.into_iter().zip(reads) {
        let Read { content, is_cut } =
            read.ok_or_else(|| format_err!("a future in the result has no value"))?;
        streamed.is_cut |= is_cut;
        match content {
            Content::Bytes(bytes) if is_bytes => streamed.bytes = Some(bytes),
            Content::Bytes(bytes) => *place = bytes.into_val(),
            Content::Val(val) => *place = val,
        }
    }
    Ok(streamed)
}

/// Returns the bytes of a stream as a result: text if they are UTF-8, and otherwise a file.
pub(super) fn output(bytes: Vec<u8>) -> wit::ToolResultOutput {
    match String::from_utf8(bytes) {
        Ok(text) => wit::ToolResultOutput::Text(text),
        Err(error) => {
            let file = wit::FilePart {
                media_type: "application/octet-stream".to_owned(),
                data: wit::FileData::Bytes(error.into_bytes()),
                filename: None,
            };
            wit::ToolResultOutput::Content(vec![wit::ContentPart::File(file)])
        }
    }
}

/// Finds the streams and futures in a value.
fn find<'a>(ty: &'a WitType, val: &'a mut Val, found: &mut Vec<(&'a WitType, &'a mut Val)>) {
    match (ty, val) {
        (WitType::Stream(item) | WitType::Future(item), val) => found.push((&**item, val)),
        (WitType::List(ty), Val::List(items)) => {
            items.iter_mut().for_each(|val| find(ty, val, found));
        }
        (WitType::Tuple(types), Val::Tuple(items)) => {
            let items = types.iter().zip(items);
            items.for_each(|(ty, val)| find(ty, val, found));
        }
        (WitType::Record(types), Val::Record(fields)) => {
            let fields = types.iter().zip(fields);
            fields.for_each(|((_, ty), (_, val))| find(ty, val, found));
        }
        (WitType::Option(ty), Val::Option(Some(val))) => find(ty, val, found),
        (WitType::Cases(_, cases), val) => {
            let (tag, val) = match val {
                Val::Variant(tag, Some(val)) => (tag.as_str(), val),
                Val::Result(Ok(Some(val))) => ("ok", val),
                Val::Result(Err(Some(val))) => ("err", val),
                Val::Option(Some(val)) => ("some", val),
                _ => return,
            };
            if let Some(Some(ty)) = cases.get(tag) {
                find(ty, val, found);
            }
        }
        _ => {}
    }
}

fn read_stream<T: StreamItem>(
    store: &mut Store<CallState>,
    stream: StreamAny,
    left: usize,
) -> wasmtime::Result<Reading> {
    let stream = stream.try_into_stream_reader::<T>()?;
    let collected = collect(store, stream, left)?;
    Ok(Box::pin(async move {
        let Collected { items, is_cut } = collected.await.ok()?;
        Some(Read {
            content: T::into_content(items),
            is_cut,
        })
    }))
}

fn read_future<T: StreamItem>(
    store: &mut Store<CallState>,
    future: FutureAny,
) -> wasmtime::Result<Reading> {
    let (sender, receiver) = oneshot::channel();
    let receives = Receives::<T> {
        sender: Some(sender),
        of: PhantomData,
    };
    future
        .try_into_future_reader::<T>()?
        .pipe(store, receives)?;
    Ok(Box::pin(async move { receiver.await.ok() }))
}

/// Receives the value of a future.
struct Receives<T> {
    sender: Option<oneshot::Sender<Read>>,
    of: PhantomData<fn(T)>,
}

impl<T: StreamItem> FutureConsumer<CallState> for Receives<T> {
    type Item = T;

    fn poll_consume(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        mut store: StoreContextMut<'_, CallState>,
        mut source: Source<'_, T>,
        _finish: bool,
    ) -> Poll<wasmtime::Result<()>> {
        let mut value = None;
        source.read(&mut store, &mut value)?;
        if let (Some(value), Some(sender)) = (value, self.sender.take()) {
            let read = Read {
                content: Content::Val(value.into_val()),
                is_cut: false,
            };
            let _ = sender.send(read);
        }
        Poll::Ready(Ok(()))
    }
}
