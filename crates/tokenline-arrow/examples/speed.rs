//! The speed of the kernel on one thread: `cargo run --release --example speed [MIB] [ROUNDS]`.
//!
//! The corpus is generated: outputs of about eight lines, as models write them, some with prose, fences or a fault.

use std::time::Instant;

use arrow_array::{Array, StringArray, StructArray};
use tokenline_arrow::{Columns, ExtractOptions, Extractor};
use tokenline_schema::SchemaValidator;

const SCHEMA: &str = r#"{
    "type": "object",
    "properties": {
        "type": {"enum": ["definition", "relation", "example"]},
        "entity": {"type": "string", "minLength": 1},
        "text": {"type": "string"},
        "confidence": {"type": "number", "minimum": 0, "maximum": 1},
        "page": {"type": "integer"},
        "verified": {"type": "boolean"},
        "seen_at": {"type": "string", "format": "date-time"},
        "sources": {"type": "array", "items": {"type": "string"}}
    },
    "required": ["type", "entity", "text"],
    "additionalProperties": false
}"#;

fn main() {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse().expect("a number"));
    let mib: usize = arguments.next().unwrap_or(64);
    let rounds: usize = arguments.next().unwrap_or(5);
    let batches = corpus(mib << 20);
    let bytes: usize = batches.iter().map(|batch| batch.values().len()).sum();
    let rows: usize = batches.iter().map(Array::len).sum();
    println!(
        "{rows} outputs, {:.1} MB, batches of {} rows, best of {rounds}",
        bytes as f64 / 1e6,
        batches[0].len()
    );

    let schema: SchemaValidator = SCHEMA.parse().expect("a schema");
    let with_schema = ExtractOptions::new().schema(schema);
    for (name, options) in [
        ("without a schema", ExtractOptions::new()),
        ("with a schema", with_schema.clone()),
        ("typed columns", with_schema.columns(Columns::Typed)),
    ] {
        let kernel = Extractor::new(options).expect("the options are consistent");
        let (mut best, mut records, mut rejects) = (f64::MAX, 0, 0);
        for _ in 0..rounds {
            let start = Instant::now();
            (records, rejects) = (0, 0);
            for batch in &batches {
                let output = kernel.extract(batch).expect("a batch");
                records += entries(&output, "records");
                rejects += entries(&output, "rejects");
            }
            best = best.min(start.elapsed().as_secs_f64());
        }
        println!("{name:<18} {:6.0} MB/s   {records} records, {rejects} rejects", bytes as f64 / 1e6 / best);
    }
}

fn entries(output: &StructArray, name: &str) -> usize {
    use arrow_array::cast::AsArray;
    output.column_by_name(name).expect("a column").as_list::<i32>().values().len()
}

/// Batches of 8,192 outputs, the same at each run.
fn corpus(bytes: usize) -> Vec<StringArray> {
    let (mut batches, mut texts, mut total, mut seed) = (Vec::new(), Vec::new(), 0, 1_u64);
    let mut random = move |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    while total < bytes {
        let text = output(&mut random);
        total += text.len();
        texts.push(text);
        if texts.len() == 8192 {
            batches.push(StringArray::from(std::mem::take(&mut texts)));
        }
    }
    batches.push(StringArray::from(texts));
    batches.retain(|batch| !batch.is_empty());
    batches
}

fn output(random: &mut impl FnMut(u64) -> u64) -> String {
    let is_fenced = random(4) == 0;
    let mut text = String::new();
    if random(3) == 0 {
        text += "Here are the entities that I found in the document:\n\n";
    }
    if is_fenced {
        text += "```json\n";
    }
    for _ in 0..6 + random(5) {
        text += &line(random);
    }
    if is_fenced {
        text += "```\n";
    }
    text
}

fn line(random: &mut impl FnMut(u64) -> u64) -> String {
    let kind = ["definition", "relation", "example"][random(3) as usize];
    let words = [
        "acid",
        "carries",
        "instructions",
        "of the \\\"cell\\\"",
        "für",
        "growth",
        "which",
        "develops",
        "polymer",
    ];
    let mut sentence = String::new();
    for _ in 0..8 + random(16) {
        sentence += words[random(words.len() as u64) as usize];
        sentence.push(' ');
    }
    let (entity, page, percent) = (random(9999), random(400), random(100));
    // One line in fifty is malformed, one breaks the schema.
    let confidence = match random(100) {
        0 | 1 => "high".to_owned(),
        2 | 3 => "7".to_owned(),
        _ => format!("0.{percent:02}"),
    };
    let (day, verified) = (1 + page % 28, page % 2 == 0);
    format!(
        "{{\"type\":\"{kind}\",\"entity\":\"Entity {entity}\",\"text\":\"{sentence}\",\"confidence\":{confidence},\"page\":{page},\
         \"verified\":{verified},\"seen_at\":\"2025-03-{day:02}T08:30:00Z\",\"sources\":[\"p. {page}\",\"fig. {percent}\"]}}\n"
    )
}
