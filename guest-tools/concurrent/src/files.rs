//! Attempts at every function of wasi:filesystem 0.3.

use wasip3::filesystem::{
    preopens,
    types::{Advice, Descriptor, DescriptorFlags, ErrorCode, NewTimestamp, OpenFlags, PathFlags},
};

const FOLLOW: PathFlags = PathFlags::SYMLINK_FOLLOW;

pub(crate) async fn attempt(
    operation: &str,
    path: String,
    value: String,
) -> Result<String, String> {
    let Some((dir, rest)) = directory(&path) else {
        return Err("no directory is open there".to_owned());
    };
    let done = operate(&dir, operation, rest, value).await;
    done.map_err(|code| format!("{code:?}"))
}

/// Finds the open directory with the longest name in front of a path.
fn directory(path: &str) -> Option<(Descriptor, String)> {
    let open = preopens::get_directories().into_iter();
    let fitting = open.filter_map(|(dir, name)| {
        let rest = path.strip_prefix(&name)?.trim_start_matches('/');
        let rest = if rest.is_empty() { "." } else { rest };
        Some((name.len(), dir, rest.to_owned()))
    });
    let (_, dir, rest) = fitting.max_by_key(|(length, ..)| *length)?;
    Some((dir, rest))
}

async fn operate(
    dir: &Descriptor,
    operation: &str,
    path: String,
    value: String,
) -> Result<String, ErrorCode> {
    let (read, write) = (DescriptorFlags::READ, DescriptorFlags::WRITE);
    match operation {
        "read" => {
            let file = open(dir, path, OpenFlags::empty(), read).await?;
            read_all(&file, 0).await
        }
        "write" | "append" | "read-unopened" => {
            let create = OpenFlags::CREATE;
            let file = open(dir, path, create, write).await?;
            let (mut writer, reader) = wasip3::wit_stream::new();
            let written = match operation {
                "write" => file.write_via_stream(reader, 0),
                "append" => file.append_via_stream(reader),
                _ => return read_all(&file, 0).await,
            };
            writer.write_all(value.into_bytes()).await;
            drop(writer);
            written.await?;
            Ok("written".to_owned())
        }
        "create" => {
            let new = OpenFlags::CREATE | OpenFlags::EXCLUSIVE;
            open(dir, path, new, write).await?;
            Ok("created".to_owned())
        }
        "truncate" => {
            open(dir, path, OpenFlags::TRUNCATE, write).await?;
            Ok("emptied".to_owned())
        }
        "write-unopened" => {
            let file = open(dir, path, OpenFlags::empty(), read).await?;
            let (mut writer, reader) = wasip3::wit_stream::new();
            let written = file.write_via_stream(reader, 0);
            writer.write_all(value.into_bytes()).await;
            drop(writer);
            written.await?;
            Ok("written".to_owned())
        }
        "list" => {
            let dir = open(dir, path, OpenFlags::DIRECTORY, read).await?;
            let (entries, end) = dir.read_directory();
            let entries = entries.collect().await.into_iter();
            let mut names: Vec<String> = entries
                .map(|entry| format!("{} {:?}", entry.name, entry.type_))
                .collect();
            end.await?;
            names.sort();
            Ok(names.join("\n"))
        }
        "stat" | "lstat" => {
            let follow = if operation == "stat" {
                FOLLOW
            } else {
                PathFlags::empty()
            };
            let stat = dir.stat_at(follow, path).await?;
            Ok(format!("{:?} {}", stat.type_, stat.size))
        }
        "descriptor" => describe(&open(dir, path, OpenFlags::empty(), read).await?).await,
        "size" => {
            let size = value.parse().unwrap_or_default();
            let file = open(dir, path, OpenFlags::empty(), write).await?;
            file.set_size(size).await?;
            Ok(format!("{}", file.stat().await?.size))
        }
        "times" => {
            let at = |seconds| {
                NewTimestamp::Timestamp(wasip3::clocks::system_clock::Instant {
                    seconds,
                    nanoseconds: 5,
                })
            };
            let seconds = value.parse().unwrap_or_default();
            dir.set_times_at(FOLLOW, path.clone(), NewTimestamp::NoChange, at(seconds))
                .await?;
            let file = open(dir, path, OpenFlags::empty(), read).await?;
            file.set_times(NewTimestamp::Now, NewTimestamp::NoChange)
                .await?;
            let modified = file.stat().await?.data_modification_timestamp;
            Ok(format!("{:?}", modified.map(|time| time.seconds)))
        }
        "make-directory" => done(dir.create_directory_at(path).await),
        "remove" => done(dir.unlink_file_at(path).await),
        "remove-directory" => done(dir.remove_directory_at(path).await),
        "rename" => done(dir.rename_at(path, dir, value).await),
        "link" => done(dir.link_at(PathFlags::empty(), path, dir, value).await),
        "symlink" => done(dir.symlink_at(value, path).await),
        "readlink" => dir.readlink_at(path).await,
        "hash" => {
            let file = open(dir, path.clone(), OpenFlags::empty(), read).await?;
            let (one, other) = (
                file.metadata_hash().await?,
                dir.metadata_hash_at(FOLLOW, path).await?,
            );
            Ok((one.lower == other.lower && one.upper == other.upper).to_string())
        }
        other => Err(ErrorCode::Other(Some(other.to_owned()))),
    }
}

/// Calls what has no path.
async fn describe(file: &Descriptor) -> Result<String, ErrorCode> {
    file.advise(0, 10, Advice::Sequential).await?;
    file.sync_data().await?;
    file.sync().await?;
    let same = file.is_same_object(file).await;
    Ok(format!(
        "{:?} {:?} {same}",
        file.get_type().await?,
        file.get_flags().await?
    ))
}

async fn open(
    dir: &Descriptor,
    path: String,
    flags: OpenFlags,
    wanted: DescriptorFlags,
) -> Result<Descriptor, ErrorCode> {
    dir.open_at(FOLLOW, path, flags, wanted).await
}

async fn read_all(file: &Descriptor, from: u64) -> Result<String, ErrorCode> {
    let (stream, end) = file.read_via_stream(from);
    let bytes = stream.collect().await;
    end.await?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn done(result: Result<(), ErrorCode>) -> Result<String, ErrorCode> {
    result.map(|()| "done".to_owned())
}
