//! `list_archive`.

use agent_tool::{Json, input, output, tool};
use agent_tool_bounded::{Budget, Failure, MAX_RESULT_BYTES};

use crate::archive::{Archive, Format};
use crate::extract::DUPLICATE;
use crate::member::{Kind, Member, Names};

/// The size of a member in JSON besides its texts, in bytes.
const MEMBER_OVERHEAD_BYTES: usize = 96;

/// The bytes of a listing besides its members.
const LISTING_OVERHEAD_BYTES: usize = 512;

#[input]
pub(crate) struct ListArchive {
    /// The archive, relative to the workspace or absolute.
    path: String,
    /// The number of members to pass over, for the next part of a long listing.
    #[serde(default)]
    offset: usize,
}

#[output]
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Listing {
    /// The requested path.
    path: String,
    format: Format,
    /// The members from the offset on, in the order of the archive.
    members: Vec<Listed>,
    /// The number of all members.
    total_members: usize,
    /// The size of all members whose size is known, in bytes.
    total_bytes: u64,
    /// A note on what was left out, and how to get it.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

#[output]
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    name: String,
    kind: Kind,
    /// The size of a file as the archive states it.
    #[serde(skip_serializing_if = "Option::is_none")]
    size_bytes: Option<u64>,
    /// The target of a link.
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    /// The reason why extract_archive would pass over it.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_extracted: Option<&'static str>,
}

/// Lists the members of a ZIP, tar, tar.gz or gzip file: name, kind and size in bytes, and for
/// those that cannot be extracted the reason. Nothing is unpacked.
#[tool(effect = "read-only", title = "List an archive", output = Listing)]
pub(crate) fn list_archive(input: ListArchive) -> Result<Json<Listing>, Failure> {
    let ListArchive { path, offset } = input;
    let mut archive = Archive::open(&path)?;
    let mut names = Names::default();
    let mut budget = Budget::new(MAX_RESULT_BYTES - LISTING_OVERHEAD_BYTES);
    let mut members = Vec::new();
    let (mut total_members, mut total_bytes, mut is_full) = (0, 0u64, false);
    archive.walk(&mut |member, _| {
        total_members += 1;
        total_bytes = total_bytes.saturating_add(member.size.unwrap_or(0));
        let listed = listed(member, &mut names)?;
        if member.index >= offset && !is_full {
            is_full = !(budget.take(&listed.name, MEMBER_OVERHEAD_BYTES)
                && budget.take(listed.target.as_deref().unwrap_or_default(), 0)
                && budget.take(listed.not_extracted.unwrap_or_default(), 0));
            if !is_full {
                members.push(listed);
            }
        }
        Ok(true)
    })?;
    let note = is_full.then(|| {
        let next = offset + members.len();
        format!(
            "{} of {total_members} members are shown; offset {next} continues",
            members.len()
        )
    });
    Ok(Json(Listing {
        path,
        format: archive.format(),
        members,
        total_members,
        total_bytes,
        note,
    }))
}

fn listed(member: &Member, names: &mut Names) -> Result<Listed, Failure> {
    let not_extracted = match member.safe_path() {
        Err(reason) => Some(reason),
        Ok(path) => (!names.add(&path)? && member.kind == Kind::File).then_some(DUPLICATE),
    };
    Ok(Listed {
        name: member.name.clone(),
        kind: member.kind,
        size_bytes: member.size.filter(|_| member.kind == Kind::File),
        target: member.target.clone(),
        not_extracted,
    })
}

#[cfg(test)]
mod tests;
