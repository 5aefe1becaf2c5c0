//! Faults that models make: those that edits of the list undo, and others.

use crate::common::random::Random;
use crate::generate::Token;
use crate::generate::quoted;
use crate::generate::write;
use crate::generate::write_with;

/// A fault, which makes a malformed text of a record's tokens. `None` if the record has no place for it.
pub(crate) type Mutation = fn(&mut Random, &[Token]) -> Option<String>;

/// The faults that an edit of the list undoes, by the name of the edit or of the notation.
pub(crate) const LISTED: [(&str, Mutation); 15] = [
    ("trailing_comma", trailing_comma),
    ("surplus_closer", surplus_closer),
    ("comment", comment),
    ("control_character", control_character),
    ("curly_quotes", curly_quotes),
    ("python_literal", python_literal),
    ("bare_name", bare_name),
    ("single_quotes", single_quotes),
    ("python notation", python_notation),
    ("javascript notation", javascript_notation),
    ("mismatched_closer", mismatched_closer),
    ("closers swapped", closers_swapped),
    ("missing_comma", missing_comma),
    ("invalid_escape", invalid_escape),
    ("missing_closer", missing_closer),
];

/// Other faults.
pub(crate) const OTHERS: [(&str, Mutation); 18] = [
    ("character deleted", character_deleted),
    ("characters deleted", characters_deleted),
    ("character replaced", character_replaced),
    ("character inserted", character_inserted),
    ("characters swapped", characters_swapped),
    ("quote deleted", quote_deleted),
    ("closer deleted", closer_deleted),
    ("closer inserted", closer_inserted),
    ("token deleted", token_deleted),
    ("token repeated", token_repeated),
    (TRUNCATED, truncated),
    ("comma doubled", comma_doubled),
    ("colon deleted", colon_deleted),
    ("value deleted", value_deleted),
    ("quotes inside", quotes_inside),
    ("number form", number_form),
    ("two kinds", two_kinds),
    ("two faults", two_faults),
];

/// The fault whose end is never confirmed.
pub(crate) const TRUNCATED: &str = "truncated";

fn places(tokens: &[Token], is_place: impl Fn(&Token) -> bool) -> Vec<usize> {
    (0..tokens.len()).filter(|&index| is_place(&tokens[index])).collect()
}

/// One of the places, or all of them; in descending order.
fn some_of(random: &mut Random, mut places: Vec<usize>) -> Option<Vec<usize>> {
    if places.is_empty() {
        return None;
    }
    if random.once_in(2) {
        return Some(vec![*random.pick(&places)]);
    }
    places.reverse();
    Some(places)
}

fn one_of(random: &mut Random, places: &[usize]) -> Option<usize> {
    (!places.is_empty()).then(|| *random.pick(places))
}

/// The places in a record where a string is written in another way, one or all of them.
fn other_strings(
    random: &mut Random,
    tokens: &[Token],
    is_place: impl Fn(&str, bool) -> bool,
    other: impl Fn(&str) -> String,
) -> Option<Vec<Token>> {
    let chosen = places(tokens, |token| match token {
        Token::Name(content) => is_place(content, true),
        Token::Text(content) => is_place(content, false),
        _ => false,
    });
    let mut tokens = tokens.to_vec();
    for index in some_of(random, chosen)? {
        let (Token::Name(content) | Token::Text(content)) = &tokens[index] else { unreachable!() };
        tokens[index] = Token::Other(other(content));
    }
    Some(tokens)
}

fn trailing_comma_tokens(random: &mut Random, tokens: &[Token]) -> Option<Vec<Token>> {
    let is_value = |token: &Token| matches!(token, Token::Close(_) | Token::Text(_) | Token::Scalar(_));
    let last_values = (0..tokens.len()).filter(|&index| {
        let after = tokens[index + 1..].iter().find(|token| !matches!(token, Token::Other(_)));
        is_value(&tokens[index]) && matches!(after, Some(Token::Close(_)))
    });
    let last_values = last_values.collect();
    let mut tokens = tokens.to_vec();
    for index in some_of(random, last_values)? {
        tokens.insert(index + 1, Token::Comma);
    }
    Some(tokens)
}

fn trailing_comma(random: &mut Random, tokens: &[Token]) -> Option<String> {
    trailing_comma_tokens(random, tokens).map(|tokens| write(&tokens))
}

fn surplus_closer(random: &mut Random, tokens: &[Token]) -> Option<String> {
    let mut text = write(tokens);
    for _ in 0..=random.below(5) / 4 {
        let closer: &&str = random.pick(&["}", "}", "]", "\n}", " ]"]);
        text.push_str(closer);
    }
    Some(text)
}

fn comment(random: &mut Random, tokens: &[Token]) -> Option<String> {
    let mut tokens = tokens.to_vec();
    for _ in 0..=random.below(3) {
        let comment = random.pick(&[
            " /* one */",
            " // it's \"one\", {two}\n",
            "\t/* \"a\": 1,\n */",
            "\n//\n",
            " /**/",
        ]);
        tokens.insert(random.below(tokens.len() + 1), Token::Other((*comment).to_owned()));
    }
    Some(write(&tokens))
}

fn control_character(random: &mut Random, tokens: &[Token]) -> Option<String> {
    let raw = |content: &str| {
        let json = quoted(content).replace("\\\\", "\u{0}");
        let json =
            json.replace("\\n", "\n").replace("\\t", "\t").replace("\\r", "\r").replace("\\u0001", "\u{1}");
        json.replace('\u{0}', "\\\\")
    };
    let has_control = |content: &str, _| content.contains(['\n', '\t', '\r', '\u{1}']);
    other_strings(random, tokens, has_control, raw).map(|tokens| write(&tokens))
}

fn curly_quotes(_: &mut Random, tokens: &[Token]) -> Option<String> {
    let curly = |content: &str, _| {
        let json = quoted(content);
        format!("“{}”", &json[1..json.len() - 1])
    };
    Some(write_with(tokens, curly))
}

fn python_literal_tokens(random: &mut Random, tokens: &[Token]) -> Option<Vec<Token>> {
    let python = |raw: &str| match raw {
        "true" => Some("True"),
        "false" => Some("False"),
        "null" => Some("None"),
        _ => None,
    };
    let of = |token: &Token| match token {
        Token::Scalar(raw) => python(raw),
        _ => None,
    };
    let literals = places(tokens, |token| of(token).is_some());
    let mut tokens = tokens.to_vec();
    for index in some_of(random, literals)? {
        tokens[index] = Token::Other(of(&tokens[index])?.to_owned());
    }
    Some(tokens)
}

fn python_literal(random: &mut Random, tokens: &[Token]) -> Option<String> {
    python_literal_tokens(random, tokens).map(|tokens| write(&tokens))
}

fn is_identifier(name: &str) -> bool {
    name.chars().all(|character| character.is_ascii_alphanumeric() || matches!(character, '_' | '$'))
}

fn bare_name_tokens(random: &mut Random, tokens: &[Token]) -> Option<Vec<Token>> {
    other_strings(random, tokens, |content, is_name| is_name && is_identifier(content), str::to_owned)
}

fn bare_name(random: &mut Random, tokens: &[Token]) -> Option<String> {
    bare_name_tokens(random, tokens).map(|tokens| write(&tokens))
}

/// A string as Python writes it.
fn python_string(content: &str) -> String {
    let json = quoted(content);
    if content.contains('\'') && !content.contains('"') {
        return json;
    }
    let inner = json[1..json.len() - 1].replace("\\\"", "\"").replace('\'', "\\'");
    format!("'{inner}'")
}

fn single_quotes(random: &mut Random, tokens: &[Token]) -> Option<String> {
    // Once in four, the model does not escape apostrophes.
    let is_careless = random.once_in(4);
    let single = |content: &str| {
        let string = python_string(content);
        match is_careless {
            true if string.starts_with('"') => string.replace('"', "'"),
            true => string.replace("\\'", "'"),
            false => string,
        }
    };
    let is_changed = |content: &str, _| single(content) != quoted(content);
    other_strings(random, tokens, is_changed, single).map(|tokens| write(&tokens))
}

fn python_notation(random: &mut Random, tokens: &[Token]) -> Option<String> {
    let tokens = python_literal_tokens(random, tokens)?;
    Some(write_with(&tokens, |content, _| python_string(content)))
}

fn javascript_notation(_: &mut Random, tokens: &[Token]) -> Option<String> {
    let string = |content: &str, is_name| {
        if is_name && is_identifier(content) { content.to_owned() } else { python_string(content) }
    };
    Some(write_with(tokens, string))
}

fn mismatched_closer(random: &mut Random, tokens: &[Token]) -> Option<String> {
    let closers = places(tokens, |token| matches!(token, Token::Close(_)));
    let mut tokens = tokens.to_vec();
    let index = one_of(random, &closers)?;
    tokens[index] = if tokens[index] == Token::Close('}') { Token::Close(']') } else { Token::Close('}') };
    Some(write(&tokens))
}

fn closers_swapped(random: &mut Random, tokens: &[Token]) -> Option<String> {
    let pairs = (1..tokens.len()).filter(|&index| {
        let is_closer = |token: &Token| matches!(token, Token::Close(_));
        is_closer(&tokens[index]) && is_closer(&tokens[index - 1]) && tokens[index] != tokens[index - 1]
    });
    let index = one_of(random, &pairs.collect::<Vec<_>>())?;
    let mut tokens = tokens.to_vec();
    tokens.swap(index - 1, index);
    Some(write(&tokens))
}

fn missing_comma_tokens(random: &mut Random, tokens: &[Token]) -> Option<Vec<Token>> {
    let mut tokens = tokens.to_vec();
    let commas = places(&tokens, |token| *token == Token::Comma);
    for index in some_of(random, commas)? {
        tokens.remove(index);
    }
    Some(tokens)
}

fn missing_comma(random: &mut Random, tokens: &[Token]) -> Option<String> {
    missing_comma_tokens(random, tokens).map(|tokens| write(&tokens))
}

fn invalid_escape(random: &mut Random, tokens: &[Token]) -> Option<String> {
    let escaped = |content: &str| quoted(content).replace('\'', "\\'");
    other_strings(random, tokens, |content, _| content.contains('\''), escaped).map(|tokens| write(&tokens))
}

fn missing_closer(random: &mut Random, tokens: &[Token]) -> Option<String> {
    let is_end = |token: &&Token| matches!(token, Token::Close(_) | Token::Other(_));
    let closers =
        tokens.iter().rev().take_while(is_end).filter(|token| matches!(token, Token::Close(_))).count();
    let mut tokens = tokens.to_vec();
    for _ in 0..=random.below(closers) {
        while !matches!(tokens.pop()?, Token::Close(_)) {}
    }
    Some(write(&tokens))
}

/// The text in characters, with the index of one of them.
fn characters(random: &mut Random, tokens: &[Token]) -> (Vec<char>, usize) {
    let characters: Vec<char> = write(tokens).chars().collect();
    let index = random.below(characters.len());
    (characters, index)
}

fn character_deleted(random: &mut Random, tokens: &[Token]) -> Option<String> {
    let (mut characters, index) = characters(random, tokens);
    characters.remove(index);
    Some(characters.into_iter().collect())
}

fn characters_deleted(random: &mut Random, tokens: &[Token]) -> Option<String> {
    let (mut characters, index) = characters(random, tokens);
    let end = (index + 2 + random.below(10)).min(characters.len());
    characters.drain(index..end);
    Some(characters.into_iter().collect())
}

const PUNCTUATION: [char; 14] = ['{', '}', '[', ']', ',', ':', '"', '\'', '\\', '/', '\n', ' ', '0', 'T'];

fn character_replaced(random: &mut Random, tokens: &[Token]) -> Option<String> {
    let (mut characters, index) = characters(random, tokens);
    characters[index] = *random.pick(&PUNCTUATION);
    Some(characters.into_iter().collect())
}

fn character_inserted(random: &mut Random, tokens: &[Token]) -> Option<String> {
    let (mut characters, index) = characters(random, tokens);
    characters.insert(index, *random.pick(&PUNCTUATION));
    Some(characters.into_iter().collect())
}

fn characters_swapped(random: &mut Random, tokens: &[Token]) -> Option<String> {
    let (mut characters, index) = characters(random, tokens);
    let other = (index + 1 + random.below(3)).min(characters.len() - 1);
    characters.swap(index, other);
    Some(characters.into_iter().collect())
}

fn quote_deleted(random: &mut Random, tokens: &[Token]) -> Option<String> {
    let mut text = write(tokens);
    let quotes: Vec<usize> = text.match_indices('"').map(|(at, _)| at).collect();
    text.remove(one_of(random, &quotes)?);
    Some(text)
}

fn closer_deleted(random: &mut Random, tokens: &[Token]) -> Option<String> {
    let closers = places(tokens, |token| matches!(token, Token::Close(_)));
    let mut tokens = tokens.to_vec();
    tokens.remove(one_of(random, &closers)?);
    Some(write(&tokens))
}

fn closer_inserted(random: &mut Random, tokens: &[Token]) -> Option<String> {
    let mut tokens = tokens.to_vec();
    let closer = *random.pick(&['}', '}', ']']);
    tokens.insert(random.below(tokens.len() + 1), Token::Close(closer));
    Some(write(&tokens))
}

fn token_deleted(random: &mut Random, tokens: &[Token]) -> Option<String> {
    let mut tokens = tokens.to_vec();
    tokens.remove(random.below(tokens.len()));
    Some(write(&tokens))
}

fn token_repeated(random: &mut Random, tokens: &[Token]) -> Option<String> {
    let mut tokens = tokens.to_vec();
    let index = random.below(tokens.len());
    tokens.insert(index, tokens[index].clone());
    Some(write(&tokens))
}

fn truncated(random: &mut Random, tokens: &[Token]) -> Option<String> {
    let (mut characters, index) = characters(random, tokens);
    characters.truncate(index);
    Some(characters.into_iter().collect())
}

fn comma_doubled(random: &mut Random, tokens: &[Token]) -> Option<String> {
    let commas = places(tokens, |token| *token == Token::Comma);
    let mut tokens = tokens.to_vec();
    tokens.insert(one_of(random, &commas)?, Token::Comma);
    Some(write(&tokens))
}

fn colon_deleted(random: &mut Random, tokens: &[Token]) -> Option<String> {
    let colons = places(tokens, |token| *token == Token::Colon);
    let mut tokens = tokens.to_vec();
    tokens.remove(one_of(random, &colons)?);
    Some(write(&tokens))
}

fn value_deleted(random: &mut Random, tokens: &[Token]) -> Option<String> {
    let values = places(tokens, |token| matches!(token, Token::Text(_) | Token::Scalar(_)));
    let mut tokens = tokens.to_vec();
    tokens.remove(one_of(random, &values)?);
    Some(write(&tokens))
}

fn quotes_inside(random: &mut Random, tokens: &[Token]) -> Option<String> {
    let unescaped = |content: &str| {
        let json = quoted(content);
        format!("\"{}\"", json[1..json.len() - 1].replace("\\\"", "\""))
    };
    other_strings(random, tokens, |content, _| content.contains('"'), unescaped).map(|tokens| write(&tokens))
}

fn number_form(random: &mut Random, tokens: &[Token]) -> Option<String> {
    let scalars = places(tokens, |token| matches!(token, Token::Scalar(_)));
    let mut tokens = tokens.to_vec();
    let form =
        random.pick(&["NaN", "01", "+1", "1_000", "12,345", ".5", "1.", "Infinity", "undefined", "tru", "-"]);
    tokens[one_of(random, &scalars)?] = Token::Other((*form).to_owned());
    Some(write(&tokens))
}

fn two_kinds(random: &mut Random, tokens: &[Token]) -> Option<String> {
    let tokens = trailing_comma_tokens(random, tokens)?;
    let tokens = match random.below(3) {
        0 => python_literal_tokens(random, &tokens)?,
        1 => bare_name_tokens(random, &tokens)?,
        _ => missing_comma_tokens(random, &tokens)?,
    };
    Some(write(&tokens))
}

fn two_faults(random: &mut Random, tokens: &[Token]) -> Option<String> {
    let (mut characters, index) = characters(random, tokens);
    characters.remove(index);
    let index = random.below(characters.len());
    if random.once_in(2) {
        characters[index] = *random.pick(&PUNCTUATION);
    } else {
        characters.insert(index, *random.pick(&PUNCTUATION));
    }
    Some(characters.into_iter().collect())
}
