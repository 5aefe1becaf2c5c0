//! Tool calls with nested parameters and escaped text, about 290 bytes per line.

use super::random::Random;
use super::words;
use super::write::{Object, Spacing, Unicode};

/// The JSON Schema of every line.
pub(super) const SCHEMA: &str = r#"{
  "type": "object",
  "properties": {
    "name": { "enum": ["search_documents", "send_message", "create_event", "update_record", "plan_route"] },
    "parameters": { "type": "object" },
    "call_id": { "type": "string" }
  },
  "required": ["name", "parameters", "call_id"],
  "additionalProperties": false
}"#;

#[rustfmt::skip]
const PLACES: &[&str] = &[
    "Zürich", "São Paulo", "北京", "Kraków", "Lyon", "Osaka", "Lagos", "Reykjavík",
];
#[rustfmt::skip]
const PEOPLE: &[&str] = &[
    "rené", "zoë", "maya", "omar", "ingrid", "josé", "li-wei", "anna",
];

/// Writes the parameters of a call into their open object.
type Parameters = fn(&mut Random, &mut Object<'_>);

/// Appends one object.
pub(super) fn write(random: &mut Random, out: &mut String) {
    let mut call = Object::open(out, Spacing::Compact, Unicode::Escaped);
    let (name, parameters) = tool(random);
    call.text("name", name);
    call.object("parameters", |object| parameters(random, object));
    let id = format!("call_{:012x}", random.below(1 << 48));
    call.text("call_id", &id);
    call.close();
}

/// The name of a tool, and parameters for it as JSON.
pub(super) fn name_and_parameters(random: &mut Random) -> (&'static str, String) {
    let (name, parameters) = tool(random);
    let mut out = String::new();
    let mut object = Object::open(&mut out, Spacing::Compact, Unicode::Escaped);
    parameters(random, &mut object);
    object.close();
    (name, out)
}

fn tool(random: &mut Random) -> (&'static str, Parameters) {
    match random.below(5) {
        0 => ("search_documents", search_documents),
        1 => ("send_message", send_message),
        2 => ("create_event", create_event),
        3 => ("update_record", update_record),
        _ => ("plan_route", plan_route),
    }
}

fn search_documents(random: &mut Random, object: &mut Object<'_>) {
    let query = format!("\"{}\" {}", random.pick(words::ENTITIES), words::noun(random));
    object.text("query", &query);
    object.object("filters", |filters| {
        filters.texts("languages", &["en", random.pick(&["de", "fr", "zh", "pt"])]);
        let (from, span) = (random.between(1990, 2015), random.below(10));
        filters.raw("years", &format!("[{from},{}]", from + span));
        filters.raw("peer_reviewed", random.pick(&["true", "false", "null"]));
        filters.object("author", |author| {
            author.text("name", random.pick(PEOPLE));
            author.text("city", random.pick(PLACES));
        });
    });
    object.raw("limit", &random.between(5, 100).to_string());
    object.raw("min_score", &format!("0.{}", random.between(1, 999)));
}

fn send_message(random: &mut Random, object: &mut Object<'_>) {
    let (to, copy) = (random.pick(PEOPLE), random.pick(PEOPLE));
    object.texts("to", &[to, copy]);
    object.text("subject", &format!("Re: {}", random.pick(words::ENTITIES)));
    let body =
        format!("Hi {to},\n\n{}\n\"{}\"\n\nBest,\n{copy}", words::sentence(random), words::sentence(random));
    object.text("body", &body);
    object.object("options", |options| {
        options.raw("urgent", random.pick(&["true", "false"]));
        options.raw("retries", &random.below(5).to_string());
    });
}

fn create_event(random: &mut Random, object: &mut Object<'_>) {
    let title = format!("{} {}", words::adjective(random), words::noun(random));
    object.text("title", &title);
    let (day, hour) = (random.between(1, 28), random.between(8, 17));
    object.text("start", &format!("2026-03-{day:02}T{hour:02}:30:00Z"));
    object.raw("duration_minutes", random.pick(&["15", "30", "45", "90"]));
    object.object("location", |location| {
        location.text("city", random.pick(PLACES));
        location.text("room", &format!("{}\\{}", random.between(1, 9), random.between(100, 499)));
        let (north, east) = (random.below(10_000), random.below(10_000));
        location.raw(
            "coordinates",
            &format!("[{}.{north:04},-{}.{east:04}]", random.below(60), random.below(90)),
        );
    });
    object.texts("attendees", &[random.pick(PEOPLE), random.pick(PEOPLE), random.pick(PEOPLE)]);
    object.raw("reminder", random.pick(&["null", "10", "60"]));
}

fn update_record(random: &mut Random, object: &mut Object<'_>) {
    object.text("table", words::noun(random));
    object.raw("id", &random.below(10_000_000).to_string());
    object.object("set", |set| {
        let note = format!("{}\n\t- {}", words::sentence(random), words::noun(random));
        set.text("note", &note);
        let price = format!("{}.{:02}", random.below(900), random.below(100));
        set.raw("price", &price);
        set.raw("change", &format!("-{}e-{}", random.between(1, 9), random.between(1, 6)));
        set.texts("tags", &[words::noun(random), words::adjective(random)]);
    });
    object.raw("where", "[{\"column\":\"active\",\"op\":\"=\",\"value\":true}]");
}

fn plan_route(random: &mut Random, object: &mut Object<'_>) {
    object.text("from", random.pick(PLACES));
    object.text("to", random.pick(PLACES));
    let mut stops = String::from("[");
    for index in 0..random.between(2, 4) {
        if index > 0 {
            stops.push(',');
        }
        let mut stop = Object::open(&mut stops, Spacing::Compact, Unicode::Escaped);
        stop.text("place", random.pick(PLACES));
        stop.raw("minutes", &random.between(5, 180).to_string());
        stop.close();
    }
    stops.push(']');
    object.raw("stops", &stops);
    object.object("avoid", |avoid| {
        avoid.raw("tolls", random.pick(&["true", "false"]));
        avoid.raw("ferries", random.pick(&["true", "false"]));
    });
    object.raw("max_detour_km", &format!("{}.5", random.below(40)));
}
