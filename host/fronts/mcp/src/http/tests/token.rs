//! Where the token comes from.

use crate::http::{TOKEN_VARIABLE, configured_token};
use agent_host_http::Token;
use pretty_assertions::assert_eq;
use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt as _,
    path::Path,
};

/// The shortest token.
const TEXT: &str = "0123456789abcdef";

fn error(file: Option<&Path>, variable: Option<&str>) -> String {
    configured_token(file, TOKEN_VARIABLE, variable)
        .unwrap_err()
        .to_string()
}

#[test]
fn token_is_from_file_else_variable_else_generated() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("token");
    fs::write(&file, format!("{TEXT}-of-the-file\n")).unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    let variable = format!("{TEXT}-of-the-variable");
    for (file, variable, expected) in [
        (
            Some(file.as_path()),
            Some(variable.as_str()),
            "-of-the-file",
        ),
        (Some(file.as_path()), None, "-of-the-file"),
        (None, Some(variable.as_str()), "-of-the-variable"),
    ] {
        let found = configured_token(file, TOKEN_VARIABLE, variable).unwrap();
        let expected = Token::new(&format!("{TEXT}{expected}")).unwrap();
        assert_eq!((found.token, found.generated), (expected, None));
    }
    let made = [(); 2].map(|()| {
        let found = configured_token(None, TOKEN_VARIABLE, None).unwrap();
        let text = found.generated.unwrap();
        assert_eq!(text.len(), 43, "32 bytes in base64url");
        assert_eq!(found.token, Token::new(&text).unwrap());
        text
    });
    assert_ne!(made[0], made[1]);
}

#[test]
fn unusable_token_source_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("token");
    let shown = file.display();
    let right = Some("a right token in the variable");
    assert_eq!(
        error(Some(&file), right),
        format!(
            "cannot read the token from {shown}: No such file or directory (os error 2); check the path and its \
             permissions"
        )
    );
    fs::write(&file, TEXT).unwrap();
    for mode in [0o640, 0o604, 0o620, 0o602] {
        fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
        assert_eq!(
            error(Some(&file), right),
            format!(
                "cannot read the token from {shown}: users other than its owner can read it (mode {mode:04o}), so \
                 the secret may already be known; run `chmod 600` on it, then put a new secret into it"
            )
        );
    }
    fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    fs::write(&file, "x".repeat(5000)).unwrap();
    assert_eq!(
        error(Some(&file), right),
        format!(
            "cannot read the token from {shown}: it is longer than 4096 bytes; is it the right file?"
        )
    );
    let unusable = "it is shorter than 16 bytes, which can be guessed; create one with `openssl rand -base64 32`";
    fs::write(&file, "short").unwrap();
    assert_eq!(
        error(Some(&file), right),
        format!("the file {shown} has no usable token: {unusable}")
    );
    assert_eq!(
        error(None, Some("")),
        format!("the variable {TOKEN_VARIABLE} has no usable token: {unusable}")
    );
}
