//! Where the token comes from.

use crate::http::{TOKEN_VARIABLE, Token, TokenError};
use pretty_assertions::assert_eq;
use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt as _,
    path::Path,
};

/// A token that is just long enough, and one that is not.
const TEXT: &str = "0123456789abcdef";
const SHORT: &str = "0123456789abcde";

/// The error of a search.
fn error(file: Option<&Path>, variable: Option<&str>) -> String {
    let found: Result<_, TokenError> = Token::find(file, variable);
    found.unwrap_err().to_string()
}

#[test]
fn a_token_is_long_and_can_be_sent() {
    let token = Token::new(TEXT).unwrap();
    assert_eq!(Token::new(&format!(" {TEXT}\r\n")), Ok(token.clone()));
    assert_ne!(Token::new(&TEXT.to_uppercase()), Ok(token.clone()));
    assert_eq!(format!("{token:?}"), "Token");
    let short = "it is shorter than 16 bytes, which can be tried out";
    let line = "it is not one line of ASCII letters, digits and signs without spaces";
    for (text, expected) in [
        ("", short),
        (SHORT, short),
        (&format!("    {SHORT}    "), short),
        (&"x".repeat(4097), "it is longer than 4096 bytes"),
        ("two words, of which", line),
        ("0123456789abcdef\n0123456789abcdef", line),
        ("0123456789abcdéf", line),
    ] {
        assert_eq!(Token::new(text), Err(expected), "{text:?}");
    }
    assert!(Token::new(&"x".repeat(4096)).is_ok());
}

#[test]
fn the_file_goes_before_the_variable_and_that_before_a_new_one() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
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
        let found = Token::find(file, variable).unwrap();
        let expected = Token::new(&format!("{TEXT}{expected}")).unwrap();
        assert_eq!((found.token, found.made), (expected, None));
    }
    let made = [(); 2].map(|()| {
        let found = Token::find(None, None).unwrap();
        let text = found.made.unwrap();
        assert_eq!(text.len(), 43, "32 bytes in base64url");
        assert_eq!(found.token, Token::new(&text).unwrap());
        text
    });
    assert_ne!(made[0], made[1]);
}

#[test]
fn what_cannot_be_used_is_an_error_and_never_another_token() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    let shown = file.display();
    let right = Some("a right token in the variable");
    assert_eq!(
        error(Some(&file), right),
        format!(
            "cannot read the token from {shown}: No such file or directory (os error 2); check the path and its permissions"
        )
    );
    fs::write(&file, TEXT).unwrap();
    for mode in [0o640, 0o604, 0o620, 0o602] {
        fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
        assert_eq!(
            error(Some(&file), right),
            format!(
                "cannot read the token from {shown}: others than its owner may open it (mode {mode:04o}), so it may be known \
                 already; put a new secret into it after `chmod 600`"
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
    let unusable = "it is shorter than 16 bytes, which can be tried out; a good one is what `openssl rand -base64 32` prints";
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
