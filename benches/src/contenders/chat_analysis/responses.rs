//! Chat responses with an analysis.

use tokenline::chat_analysis::{
    ConfidenceScore, LlmAnalysis, LlmKeyword, LlmResponse, LlmSubject, RESPONSE_SCHEMA,
};

use crate::corpora::random::Random;
use crate::corpora::{Corpus, Wire, words};

/// A typical one, and the largest valid one.
pub(super) fn all() -> Vec<Corpus> {
    let corpus = |name, response: LlmResponse| {
        let (bytes, wire) = ((response.to_json_pretty() + "\n").into(), Wire::default());
        Corpus { name, bytes, records: 1, schema: RESPONSE_SCHEMA, wire }
    };
    let random = &mut Random::new(6);
    vec![
        corpus("usual", response(random, [300, 60, 150], 1, 4)),
        corpus("largest", response(random, [10_000, 200, 500], 3, 10)),
    ]
}

/// A response whose text, descriptions and summary have these numbers of characters.
fn response(random: &mut Random, characters: [usize; 3], subjects: usize, keywords: usize) -> LlmResponse {
    let [response, description, summary_update] = characters.map(|characters| text(random, characters));
    let confidence: ConfidenceScore = "0.90".parse().expect("a number from 0 to 1");
    let keyword = |at| LlmKeyword { term: format!("keyword-{at}"), confidence: confidence.clone() };
    let subject = |at| LlmSubject {
        name: format!("subject-{at}"),
        description: description.clone(),
        is_new: true,
        keywords: (0..keywords).map(keyword).collect(),
    };
    let subjects = (0..subjects).map(subject).collect();
    LlmResponse { response, analysis: LlmAnalysis { subjects, summary_update } }
}

/// Sentences with this number of characters in total.
fn text(random: &mut Random, characters: usize) -> String {
    let mut text = String::new();
    while text.len() < 4 * characters {
        text += &words::sentence(random);
        text.push(' ');
    }
    text.chars().take(characters).collect()
}
