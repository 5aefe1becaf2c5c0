//! Where an incomplete document stops.

use tokenline_core::json::{Cut, Expected, Kind, OpenToken, Parser, Step};

fn cut(document: &str) -> Cut {
    let mut parser = Parser::new();
    assert_eq!(parser.resume(document), Step::NeedMore, "{document}");
    let whole = parser.cut().unwrap();
    // Byte by byte, with calls in between: the same result.
    parser.reset();
    for end in (0..=document.len()).filter(|&end| document.is_char_boundary(end)) {
        let _ = parser.resume(&document[..end]);
        let _ = parser.snapshot(&document[..end]);
    }
    assert_eq!(parser.cut().unwrap(), whole, "{document}");
    whole
}

#[test]
fn the_open_token() {
    let cases = [
        (r#"{"a":1,"na"#, Some(OpenToken::Name { start: 7, whole: 10 }), 7),
        (r#"{"a":1,"n\u00"#, Some(OpenToken::Name { start: 7, whole: 9 }), 7),
        (r#"{"a":"tex"#, Some(OpenToken::String { start: 5, whole: 9 }), 1),
        (r#"["x\"#, Some(OpenToken::String { start: 1, whole: 3 }), 1),
        (r#"["x\ud83d\ude"#, Some(OpenToken::String { start: 1, whole: 3 }), 1),
        ("[1,12", Some(OpenToken::Number { start: 3, is_whole: true }), 3),
        (r#"{"a":1."#, Some(OpenToken::Number { start: 5, is_whole: false }), 1),
        ("[tru", Some(OpenToken::Literal { start: 1 }), 1),
        (r#"{"a" "#, None, 1),
        (r#"{"a": "#, None, 1),
        (r#"{"a":1 "#, None, 7),
        (r#"{"a":1, "#, None, 8),
        ("[", None, 1),
        ("", None, 0),
        ("-", Some(OpenToken::Number { start: 0, is_whole: false }), 0),
    ];
    for (document, token, member) in cases {
        let found = cut(document);
        assert_eq!((found.token, found.member), (token, member), "{document}");
    }
    assert_eq!(cut("[1").expected, Expected::CommaOrBracket);
    assert_eq!(cut(r#"{"a""#).expected, Expected::Colon);
}

#[test]
fn neither_complete_nor_malformed() {
    for document in ["[]", "[}"] {
        let mut parser = Parser::new();
        let _ = parser.resume(document);
        assert_eq!(parser.cut(), None);
    }
}

#[test]
fn open_containers_and_tokens_before() {
    let document = r#"{"a":[1,{}],"rows":[[],[{"b":"#;
    let mut parser = Parser::new();
    let _ = parser.resume(document);
    let open = |parser: &Parser| -> Vec<_> {
        parser
            .open_containers()
            .map(|open| (open.kind, open.start, open.name.map(|name| &document[name])))
            .collect()
    };
    let expected = [
        (Kind::Object, 24, None),
        (Kind::Array, 23, None),
        (Kind::Array, 19, Some("rows")),
        (Kind::Object, 0, None),
    ];
    assert_eq!(open(&parser), expected);
    let _ = parser.snapshot(document);
    assert_eq!(open(&parser), expected);

    let at: Vec<_> = [0, 1, 4, 5, 6, 7, 8, 12, 17, 100].map(|offset| parser.token_before(offset)).into();
    assert_eq!(at, [0, 1, 1, 5, 6, 6, 8, 12, 12, 25]);
    assert_eq!(Parser::new().token_before(7), 0);
}
