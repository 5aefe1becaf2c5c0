//! Responses that begin at any byte of the list: what is delivered is always the beginning of it. `LISTS` is how many lists
//! there are.

use super::*;

/// A record with parts like other records: trees, and rows within rows.
fn record(random: &mut Random, number: usize) -> String {
    fn tree(random: &mut Random, number: usize, depth: usize) -> String {
        let parts = if depth == 0 { 0 } else { random.below(4) };
        let parts: Vec<String> =
            (0..parts).map(|part| tree(random, 1000 * number + part, depth - 1)).collect();
        match random.below(3) {
            0 if parts.is_empty() => format!("{{\"n\":{number}}}"),
            0 => format!("{{\"n\":{number},\"c\":[{}]}}", parts.join(",")),
            1 => format!("{{\"c\":[{}],\"n\":{number}}}", parts.join(",")),
            _ => format!(
                "{{\"n\":{number},\"text\":\"{{\\\"n\\\":{number}}},\\n{{\",\"c\":[{}]}}",
                parts.join(",")
            ),
        }
    }
    match random.below(3) {
        0 => model::record(random, number),
        depth => tree(random, number + 1, depth),
    }
}

#[test]
fn what_is_delivered_is_the_beginning_of_the_list() {
    let count = std::env::var("LISTS").map_or(300, |lists| lists.parse().expect("a number"));
    let (mut complete, mut refused, mut wrong) = (0, 0, Vec::new());
    for number in 0..count {
        let mut random = Random::new(number as u64 + 90_000);
        let style = STYLES[number % STYLES.len()];
        let records: Vec<String> =
            (0..3 + random.below(12)).map(|number| record(&mut random, number)).collect();
        let model = Model::new(records, style);
        let settings = ContinuationOptions::new().max_requests(60).max_failures(8);
        let mut machine = RecordContinuation::new(settings.clone(), options(style));
        let (mut delivered, mut heard, mut log) = (Vec::new(), 0, Vec::new());
        while let ContinuationStep::Ask(messages) = machine.step() {
            let anywhere = random.below(model.text.len());
            let said = match &messages {
                // Before anything is delivered, nothing proves a place.
                _ if delivered.is_empty() => model.text.clone(),
                Some(_) if random.one_in(2) => {
                    model.text[attack::boundary(&model.text, anywhere)..].to_owned()
                }
                _ => model.does(&asked(&messages), delivered.len(), heard),
            };
            let at = if delivered.is_empty() {
                model.spans[0].1 + 2 + random.below(model.text.len() - model.spans[0].1)
            } else {
                1 + random.below(400)
            };
            let at = attack::boundary(&said, at.min(said.len()));
            log.push(format!(
                "{:?} ...{:?}",
                &said[..at],
                &model.text[heard.saturating_sub(0).min(model.text.len())..]
                    .chars()
                    .take(8)
                    .collect::<String>()
            ));
            let end = if at < said.len() { ResponseEnd::Cut } else { ResponseEnd::Clean };
            machine.begin();
            delivered.extend(feed(&mut machine, &said[..at], end, &mut random));
            let is_prefix = |(record, expected): (&String, &String)| *record == squeezed(expected);
            let is_right =
                delivered.len() <= model.records.len() && delivered.iter().zip(&model.records).all(is_prefix);
            let is_early = machine.step() == ContinuationStep::Done && delivered.len() < model.records.len();
            if !is_right || is_early {
                wrong.push(format!(
                    "{style:?} {number} early: {is_early}\n{}\n{}",
                    model.text,
                    log.join("\n")
                ));
                break;
            }
            let saved = serde_json::to_value(machine.checkpoint()).expect("it can be saved");
            heard = model.heard(delivered.len(), saved["open"].as_str().expect("a text"));
            if random.one_in(4) {
                let checkpoint: Checkpoint = serde_json::from_value(saved).expect("it was saved");
                if !checkpoint.is_done() {
                    let again = ContinuationOptions::resume(checkpoint).max_requests(60).max_failures(8);
                    machine = RecordContinuation::new(again, options(style));
                }
            }
        }
        match machine.step() {
            ContinuationStep::Done => complete += 1,
            _ => refused += 1,
        }
    }
    println!("{count} lists, {complete} complete, {refused} not, {} wrong", wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.iter().min_by_key(|log| log.len()).expect("one"));
    assert!(complete * 2 > count, "{complete} of {count}");
}
