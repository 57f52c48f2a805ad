use super::{PACKAGES, package};
use crate::{embedded, error::AuthorError, toolchain::Version};
use pretty_assertions::assert_eq;
use std::fs;
use tempfile::TempDir;

#[test]
fn package_is_found_in_dir_or_parent() {
    let dir = TempDir::new().unwrap();
    let project = dir.path().join("tools/markdown");
    fs::create_dir_all(&project).unwrap();
    let find = || {
        package(&project, "@scope/maker", Version(0, 23)).map_err(|error| {
            AuthorError::Usage(
                error
                    .to_string()
                    .replace(dir.path().to_str().unwrap(), "DIR"),
            )
        })
    };
    let refused = |why: &str| {
        Err(AuthorError::Usage(format!(
            "this build needs the package @scope/maker 0.23, but {why}. In the project, run `npm install --save-dev \
             @scope/maker@0.23`"
        )))
    };
    assert_eq!(find(), refused("it is not in node_modules"));

    // The parent's package counts until the project has one.
    for (place, version, expected) in [
        (dir.path(), "0.23.4", Ok("0.23.4".to_owned())),
        (
            project.as_path(),
            "0.24.0",
            refused("DIR/tools/markdown/node_modules/@scope/maker/package.json is 0.24.0"),
        ),
    ] {
        let directory = place.join("node_modules/@scope/maker");
        fs::create_dir_all(&directory).unwrap();
        let manifest = format!(r#"{{"name": "@scope/maker", "version": "{version}"}}"#);
        fs::write(directory.join("package.json"), manifest).unwrap();
        assert_eq!(find(), expected);
    }
}

#[test]
fn templates_pin_supported_versions() {
    for language in ["ts", "js"] {
        let manifest = embedded::file(&format!("guest-tools/templates/{language}/package.json"));
        let manifest: serde_json::Value = serde_json::from_slice(manifest.unwrap()).unwrap();
        for (name, needed) in PACKAGES {
            let pinned = manifest["devDependencies"][name].as_str().unwrap();
            let (version, _) = Version::first_in(pinned).unwrap();
            assert_eq!(version, needed, "{language}: {name}");
        }
    }
}
