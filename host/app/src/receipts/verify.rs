//! Verifies a file of receipts with the public key alone, in one pass and in the memory of one
//! line. The first fault is named: reading on after it tells a receipt that is missing from one that
//! is elsewhere.

use super::line::{
    END, Line, MAX_LINE_BYTES, ReceiptError, VERSION, chain_start, check_algorithm, commitment,
    is_salt, signed_text,
};
use agent_host_registry::PublicKey;
use agent_host_types::id::{Digest, SessionId};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::{
    collections::BTreeMap,
    io::{self, BufRead, Read as _},
};

/// The content of a verified file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VerifiedReceipts {
    /// The session; of a file without receipts, too.
    pub session: SessionId,
    /// The receipts of calls.
    pub calls: u64,
    /// The receipts of decisions.
    pub decisions: u64,
    /// The contents that are in the file, all of which match their commitments.
    pub contents: u64,
    /// The contents that were removed.
    pub redacted: u64,
    /// The digest of the last receipt.
    pub head: Digest,
    /// The fingerprint of the key.
    pub key: Digest,
}

/// The first fault of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReceiptFault {
    /// Its kind.
    pub kind: FaultKind,
    /// Its line, from 1.
    pub line: u64,
    /// A sentence about it, without text of the file.
    pub message: String,
}

/// The kind of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// A line is not what was signed.
    Changed,
    /// Receipts are missing.
    Dropped,
    /// A line is not where it was.
    Reordered,
    /// A line was added.
    Inserted,
    /// A line is signed by another key.
    WrongKey,
    /// The closing line is missing, and with it perhaps receipts before it.
    NoEnd,
    /// A content does not match its commitment.
    Contents,
    /// A line has a version that this program does not know.
    UnknownVersion,
}

/// The fields of a receipt that its place depends on.
#[derive(Deserialize)]
struct Place {
    kind: String,
    session: SessionId,
    previous: Digest,
    number: Option<u64>,
    count: Option<u64>,
    #[serde(default)]
    commitments: BTreeMap<String, Digest>,
}

/// A content in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    salt: String,
    text: String,
}

/// A line, whose signature [`Verifier::is_signed`] checks.
struct Found {
    number: u64,
    digest: Digest,
    signature: Vec<u8>,
    place: Place,
    contents: Map<String, Value>,
}

/// Why a line is not a valid one: the kind and a sentence.
type Invalid = (FaultKind, String);

/// Verifies a file of receipts.
///
/// # Errors
/// The file cannot be read, or the key is not one of Ed25519.
pub fn verify_receipts(
    file: impl BufRead,
    key: &PublicKey,
) -> Result<Result<VerifiedReceipts, ReceiptFault>, ReceiptError> {
    check_algorithm(key.is_ed25519())?;
    let mut verifier = Verifier {
        file,
        key,
        fingerprint: key.fingerprint(),
        line: 0,
        expected: 1,
        previous: None,
    };
    Ok(verifier.verify()?)
}

struct Verifier<'k, R> {
    file: R,
    key: &'k PublicKey,
    fingerprint: Digest,
    /// The lines that were read.
    line: u64,
    /// The number of the next receipt, and the digest of the one before it.
    expected: u64,
    previous: Option<Digest>,
}

impl<R: BufRead> Verifier<'_, R> {
    fn verify(&mut self) -> io::Result<Result<VerifiedReceipts, ReceiptFault>> {
        let (mut calls, mut decisions, mut contents, mut redacted) = (0, 0, 0, 0);
        loop {
            let Some(read) = self.next()? else {
                return Ok(Err(self.no_end()));
            };
            let signed = match read {
                Ok(signed) if self.fits(&signed) => signed,
                other => return self.name(other).map(Err),
            };
            let removed = match check_contents(&signed) {
                Ok(removed) => removed,
                Err(name) => return Ok(Err(self.wrong_content(&name))),
            };
            redacted += removed;
            contents += signed.place.commitments.len() as u64 - removed;
            self.advance(&signed);
            match signed.place.kind.as_str() {
                END => {
                    let verified = VerifiedReceipts {
                        session: signed.place.session,
                        calls,
                        decisions,
                        contents,
                        redacted,
                        head: signed.place.previous,
                        key: self.fingerprint,
                    };
                    return Ok(match self.next()? {
                        None => Ok(verified),
                        Some(_) => {
                            let why = "it follows the closing line, which ends the file";
                            Err(self.fault(FaultKind::Inserted, self.line, why))
                        }
                    });
                }
                "decision" => decisions += 1,
                _ => calls += 1,
            }
        }
    }

    /// Names the fault of the line that was just read, which is not the expected one.
    fn name(&mut self, found: Result<Found, Invalid>) -> io::Result<ReceiptFault> {
        let (line, expected) = (self.line, self.expected);
        let number = found.as_ref().ok().map(|signed| signed.number);
        if let Some(number) = number.filter(|number| *number < expected) {
            let why = format!("it repeats receipt {number}");
            return Ok(self.fault(FaultKind::Inserted, line, &why));
        }
        let Some(place) = self.seek()? else {
            return Ok(match (found, number) {
                (Err((kind, why)), _) => self.fault(kind, line, &why),
                (Ok(_), Some(number)) if number > expected => {
                    let last = number.saturating_sub(1);
                    let missing = match last == expected {
                        true => format!("receipt {expected} is missing before it"),
                        false => format!("receipts {expected} to {last} are missing before it"),
                    };
                    self.fault(FaultKind::Dropped, line, &missing)
                }
                (Ok(_), _) => self.fault(FaultKind::Changed, line, OTHER_FILE),
            });
        };
        let Some(number) = number.filter(|number| *number > expected) else {
            let why = format!("receipt {expected} follows on line {place}");
            return Ok(self.fault(FaultKind::Inserted, line, &why));
        };
        // A copy was inserted if the receipt is also where it belongs.
        loop {
            let at_its_place = self.expected == number;
            match self.next()? {
                Some(Ok(signed)) if self.fits(&signed) => self.advance(&signed),
                _ => {
                    let why =
                        format!("receipt {expected} belongs there, and it is on line {place}");
                    return Ok(self.fault(FaultKind::Reordered, line, &why));
                }
            }
            if at_its_place {
                let why = format!("it is a copy of receipt {number}");
                return Ok(self.fault(FaultKind::Inserted, line, &why));
            }
        }
    }

    /// Reads on behind the expected receipt, and returns its line; `None` if the file ends before.
    fn seek(&mut self) -> io::Result<Option<u64>> {
        while let Some(line) = self.read_line()? {
            // Most lines are others, whose signatures say nothing.
            if let Ok(found) = self.parse(&line)
                && self.fits(&found)
                && self.is_signed(&found)
            {
                self.advance(&found);
                return Ok(Some(self.line));
            }
        }
        Ok(None)
    }

    /// True for the expected receipt.
    fn fits(&self, signed: &Found) -> bool {
        let place = &signed.place;
        let previous = self.previous.unwrap_or_else(|| chain_start(place.session));
        signed.number == self.expected && place.previous == previous
    }

    fn advance(&mut self, signed: &Found) {
        self.expected = self.expected.saturating_add(1);
        self.previous = Some(signed.digest);
    }

    /// Reads a receipt and checks its signature; `None` at the end of the file.
    fn next(&mut self) -> io::Result<Option<Result<Found, Invalid>>> {
        let line = self.read_line()?;
        Ok(line.map(|line| match self.parse(&line)? {
            found if self.is_signed(&found) => Ok(found),
            _ => Err(changed("its signature is not one of its content")),
        }))
    }

    fn is_signed(&self, found: &Found) -> bool {
        let message = signed_text(found.digest);
        self.key.verifies(message.as_bytes(), &found.signature)
    }

    /// Reads a line without its end; `None` at the end of the file.
    fn read_line(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut bytes = Vec::new();
        let mut bounded = self.file.by_ref().take(MAX_LINE_BYTES as u64 + 1);
        if bounded.read_until(b'\n', &mut bytes)? == 0 {
            return Ok(None);
        }
        self.line = self.line.saturating_add(1);
        if bytes.len() > MAX_LINE_BYTES {
            return Err(io::Error::other(format!(
                "line {} has more than {MAX_LINE_BYTES} bytes",
                self.line
            )));
        }
        bytes.pop_if(|last| *last == b'\n');
        Ok(Some(bytes))
    }

    /// Parses a line, and checks its form and its key.
    fn parse(&self, line: &[u8]) -> Result<Found, Invalid> {
        let not_canonical = || changed("it is not a receipt in its canonical form");
        let value: Value = serde_json::from_slice(line).map_err(|_| not_canonical())?;
        if value.to_string().as_bytes() != line {
            return Err(not_canonical());
        }
        let fields = || changed("it has other fields than a receipt");
        let line: Line = serde_json::from_value(value).map_err(|_| fields())?;
        if !line.receipt.is_object() {
            return Err(fields());
        }
        if line.receipt.get("version").and_then(Value::as_u64) != Some(VERSION) {
            let why = "its version is not 1; verify it with a newer program";
            return Err((FaultKind::UnknownVersion, why.to_owned()));
        }
        let key = line.receipt.get("key").and_then(Value::as_str);
        if key != Some(&self.fingerprint.to_string()) {
            let found = key.and_then(|key| key.parse::<Digest>().ok());
            let found = found.map_or_else(|| "another key".to_owned(), |key| format!("key {key}"));
            let why = format!(
                "it names {found}, and the given key is {}",
                self.fingerprint
            );
            return Err((FaultKind::WrongKey, why));
        }
        let digest = Digest::of(line.receipt.to_string().as_bytes());
        let place: Place = serde_json::from_value(line.receipt).map_err(|_| fields())?;
        let number = match (place.kind == END, place.number, place.count) {
            (false, Some(number), None) => number,
            // The closing line has the place after the last receipt.
            (true, None, Some(count)) => count.saturating_add(1),
            _ => return Err(fields()),
        };
        Ok(Found {
            number,
            digest,
            signature: STANDARD.decode(&line.signature).unwrap_or_default(),
            place,
            contents: line.contents,
        })
    }

    fn no_end(&self) -> ReceiptFault {
        let why = format!(
            "the closing line is missing, so receipts from {} on may be missing too",
            self.expected
        );
        ReceiptFault {
            kind: FaultKind::NoEnd,
            line: self.line.saturating_add(1),
            message: why,
        }
    }

    fn wrong_content(&self, name: &str) -> ReceiptFault {
        let why = format!(
            "its {name} does not match the commitment of receipt {}",
            self.expected
        );
        self.fault(FaultKind::Contents, self.line, &why)
    }

    fn fault(&self, kind: FaultKind, line: u64, why: &str) -> ReceiptFault {
        let word = match kind {
            FaultKind::Changed => "was changed",
            FaultKind::Dropped => "comes too early",
            FaultKind::Reordered => "is out of order",
            FaultKind::Inserted => "was inserted",
            FaultKind::WrongKey => "is signed by another key",
            FaultKind::Contents => "has a content that was changed",
            FaultKind::NoEnd | FaultKind::UnknownVersion => "cannot be verified",
        };
        ReceiptFault {
            kind,
            line,
            message: format!("line {line} {word}: {why}"),
        }
    }
}

fn changed(why: &str) -> Invalid {
    (FaultKind::Changed, why.to_owned())
}

/// The reason for a receipt that is signed and numbered as expected, and names another one before
/// it.
const OTHER_FILE: &str = "it is a receipt of another file";

/// Checks the contents of a line, and returns how many were removed; an error is the name of one
/// that does not match its commitment.
fn check_contents(signed: &Found) -> Result<u64, String> {
    let commitments = &signed.place.commitments;
    for (name, content) in &signed.contents {
        let content = Content::deserialize(content);
        let content = content.ok().filter(|content| is_salt(&content.salt));
        let found = content.map(|content| commitment(&content.salt, &content.text));
        match (found, commitments.get(name)) {
            (Some(found), Some(committed)) if found == *committed => {}
            (_, Some(_)) => return Err(format!("`{name}`")),
            (_, None) => return Err("additional content".to_owned()),
        }
    }
    Ok((commitments.len() - signed.contents.len()) as u64)
}
