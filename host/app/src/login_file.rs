//! The file with the login of one MCP server: `oauth/DIGEST.json` in the state directory, by the
//! digest of the server's address, which only its owner may read.

use crate::trusted_file::{read_secret, replace};
use agent_host_mcp_client::LoginStore;
use agent_host_types::id::Digest;
use secrecy::{ExposeSecret as _, SecretString};
use std::{
    any::Any,
    fs::{self, DirBuilder, File},
    io,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

/// The maximum size of the file, in bytes: tokens of identity providers reach some KiB.
const MAX_BYTES: u64 = 256 * 1024;

#[derive(Clone, Debug)]
pub(crate) struct LoginFile(PathBuf);

impl LoginFile {
    pub(crate) fn new(state_dir: &Path, url: &str) -> Self {
        let name = format!("{}.json", Digest::of(url.as_bytes()));
        Self(state_dir.join("oauth").join(name))
    }

    fn create_directory(&self) -> io::Result<()> {
        let directory = self.0.parent().unwrap_or(&self.0);
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(directory)
    }
}

impl LoginStore for LoginFile {
    fn load(&self) -> io::Result<Option<SecretString>> {
        match read_secret(&self.0, MAX_BYTES) {
            Ok(text) => Ok(Some(text.into())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn save(&self, text: &SecretString) -> io::Result<()> {
        self.create_directory()?;
        replace(&self.0, text.expose_secret(), 0o600)
    }

    fn clear(&self) -> io::Result<()> {
        match fs::remove_file(&self.0) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    fn lock(&self) -> io::Result<Box<dyn Any + Send>> {
        self.create_directory()?;
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(self.0.with_extension("lock"))?;
        file.lock()?;
        Ok(Box::new(file))
    }
}

#[cfg(test)]
mod tests {
    use super::LoginFile;
    use agent_host_mcp_client::LoginStore as _;
    use pretty_assertions::assert_eq;
    use secrecy::ExposeSecret as _;
    use std::{fs, os::unix::fs::PermissionsExt as _};

    #[test]
    fn login_is_kept_in_a_file_of_its_owner_and_address() {
        let state = tempfile::tempdir().unwrap();
        let file = LoginFile::new(state.path(), "https://a.example/mcp");
        let other = LoginFile::new(state.path(), "https://b.example/mcp");
        let text = |file: &LoginFile| {
            let text = file.load().unwrap();
            text.map(|text| text.expose_secret().to_owned())
        };
        assert_eq!(text(&file), None);
        file.save(&"secret".into()).unwrap();
        file.save(&"secret 2".into()).unwrap();
        assert_eq!(text(&file).as_deref(), Some("secret 2"));
        assert_eq!(text(&other), None);
        let mode =
            |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&file.0), 0o600);
        assert_eq!(mode(&state.path().join("oauth")), 0o700);
        fs::set_permissions(&file.0, fs::Permissions::from_mode(0o644)).unwrap();
        let error = file.load().unwrap_err().to_string();
        assert!(
            error.contains("users other than its owner can read it"),
            "{error}"
        );
        file.clear().unwrap();
        file.clear().unwrap();
        assert_eq!(text(&file), None);
    }
}
