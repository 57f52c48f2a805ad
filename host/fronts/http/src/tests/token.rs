use crate::Token;
use pretty_assertions::assert_eq;

#[test]
fn token_text_is_trimmed_and_bounded() {
    const TEXT: &str = "0123456789abcdef";
    const SHORT: &str = "0123456789abcde";
    let token = Token::new(TEXT).unwrap();
    assert_eq!(Token::new(&format!(" {TEXT}\r\n")), Ok(token.clone()));
    assert_ne!(Token::new(&TEXT.to_uppercase()), Ok(token.clone()));
    assert_eq!(format!("{token:?}"), "Token");
    assert_eq!(Token::from_hash(&token.hash()), Some(token));
    assert_eq!(Token::from_hash("00"), None);
    let short = "it is shorter than 16 bytes, which can be guessed";
    let line = "it is not one line of ASCII letters, digits and punctuation without spaces";
    for (text, expected) in [
        ("", short),
        (SHORT, short),
        (&format!("    {SHORT}    "), short),
        (&"x".repeat(4097), "it is longer than 4096 bytes"),
        ("two words, of which", line),
        ("0123456789abcdef\n0123456789abcdef", line),
        ("0123456789abcdéf", line),
    ] {
        let error = Token::new(text).unwrap_err();
        assert_eq!(error.to_string(), expected, "{text:?}");
    }
    assert!(Token::new(&"x".repeat(4096)).is_ok());
}

#[test]
fn generated_token_is_random_and_valid() {
    let generated = [(); 2].map(|()| {
        let (token, text) = Token::generate().unwrap();
        assert_eq!(text.len(), 43, "32 bytes in base64url");
        assert_eq!(token, Token::new(&text).unwrap());
        text
    });
    assert_ne!(generated[0], generated[1]);
}
