//! Words and sentences of the corpora.

use super::random::Random;

/// Names of entities.
#[rustfmt::skip]
pub const ENTITIES: &[&str] = &[
    "gradient descent", "DNA", "photosynthesis", "cell nucleus", "RNA polymerase", "Cornish pasty",
    "plate tectonics", "Byzantine fault", "quicksort", "binary search tree", "mitochondrion",
    "carbon cycle", "supply chain", "inflation", "compound interest", "habeas corpus", "due process",
    "Treaty of Westphalia", "Silk Road", "Hanseatic League", "ozone layer", "sourdough", "espresso",
    "Maillard reaction", "crème brûlée", "jalapeño", "feedback loop", "neural network", "attention head",
    "tokenizer", "hash function", "public key", "consensus", "load balancer", "message queue",
    "vector clock", "Bloom filter", "write-ahead log", "garbage collector", "type inference",
    "Schrödinger equation", "entropy", "black hole", "neutron star", "dark matter", "Higgs boson",
    "superconductor", "semiconductor", "lithium battery", "solar panel", "wind turbine", "heat pump",
    "desalination", "aquifer", "estuary", "mangrove", "coral reef", "monsoon", "jet stream", "permafrost",
    "glacier", "volcano", "earthquake", "Ada Lovelace", "Grace Hopper", "Alan Turing", "Marie Curie",
    "Karl Popper", "Simone de Beauvoir", "Kurt Gödel", "Johann Sebastian Bach", "fugue", "sonata form",
    "counterpoint", "haiku", "sonnet", "allegory", "metaphor", "vaccine", "antibody", "T cell", "insulin",
    "aspirin", "placebo", "double-blind trial", "blood pressure", "mortgage", "bond yield", "hedge fund",
    "audit trail", "invoice", "subscription", "data warehouse", "star schema",
];

/// Words that a definition starts with.
#[rustfmt::skip]
pub const KINDS: &[&str] = &[
    "method", "process", "structure", "principle", "molecule", "agreement", "instrument", "pattern",
    "device", "measure", "theory", "region", "protocol", "algorithm", "practice", "material", "condition",
    "mechanism", "body", "procedure", "relation", "collection",
];

#[rustfmt::skip]
const ADJECTIVES: &[&str] = &[
    "iterative", "stable", "large", "rapid", "ancient", "seasonal", "shared", "distributed", "reliable",
    "approximate", "local", "global", "biological", "chemical", "formal", "informal", "public", "private",
    "temporary", "persistent", "small", "complex", "simple", "financial", "legal", "regional", "measurable",
    "hidden", "visible", "common", "rare", "efficient", "warm", "cold", "dense",
];

#[rustfmt::skip]
const NOUNS: &[&str] = &[
    "error", "energy", "information", "signal", "market", "contract", "surface", "ocean", "city", "cell",
    "protein", "network", "message", "record", "customer", "order", "account", "invoice", "region",
    "pressure", "temperature", "light", "sound", "language", "sentence", "meaning", "value", "price",
    "risk", "policy", "court", "law", "state", "river", "forest", "crop", "recipe", "ingredient", "machine",
    "engine", "sensor", "database", "query", "index", "page", "memory", "processor", "thread", "lock",
    "schedule", "team", "project", "budget",
];

#[rustfmt::skip]
const VERBS: &[&str] = &[
    "reduces", "converts", "carries", "describes", "connects", "separates", "protects", "measures",
    "predicts", "stores", "moves", "regulates", "limits", "explains", "supports", "replaces", "transforms",
    "divides", "combines", "controls", "records", "produces", "orders", "shapes",
];

#[rustfmt::skip]
const JOINERS: &[&str] = &[
    "within", "across", "between", "under", "during", "without", "along", "against", "through", "before",
    "after",
];

#[rustfmt::skip]
const OPENERS: &[&str] = &[
    "In most cases", "As a rule", "Since last week", "For the moment", "If that does not help",
    "On the other hand", "To be precise", "After the update", "At the end of the month", "Once it is done",
];

/// Sentences in other scripts, with characters of two, three and four bytes.
pub const FOREIGN: &[&str] = &[
    "请问如何取消我的订阅?我已经在设置页面找了很久。",
    "谢谢您的帮助,问题已经解决了。",
    "发票上的地址写错了,能不能重新开一张?",
    "ログインしようとするとエラーが表示されます。",
    "Können Sie mir bitte die Rechnung für März noch einmal schicken?",
    "Où puis-je télécharger la dernière version, s'il vous plaît ?",
    "¿Cuánto tiempo tardará en llegar mi pedido a Málaga?",
    "Спасибо, теперь всё работает.",
    "Great, that did it 🎉👍",
    "Hmm, still the same here 😕 — I'll try again tomorrow.",
    "The price is €49.90 (naïve rounding gives €50).",
];

/// A noun phrase such as `the seasonal market`.
fn phrase(random: &mut Random, out: &mut String) {
    out.push_str(random.pick(&["the ", "any ", "each ", "every ", "its "]));
    if random.chance(55) {
        out.push_str(random.pick(ADJECTIVES));
        out.push(' ');
    }
    out.push_str(random.pick(NOUNS));
}

/// A definition of about 80 bytes, without a full stop.
pub fn definition(random: &mut Random) -> String {
    let mut out = String::new();
    out.push_str(random.pick(&["One ", "The ", "Any "]));
    out.push_str(random.pick(ADJECTIVES));
    out.push(' ');
    out.push_str(random.pick(KINDS));
    out.push_str(" that ");
    out.push_str(random.pick(VERBS));
    out.push(' ');
    phrase(random, &mut out);
    for _ in 0..random.below(4) {
        out.push(' ');
        out.push_str(random.pick(JOINERS));
        out.push(' ');
        phrase(random, &mut out);
    }
    if random.chance(4) {
        out.push_str(", also called \"");
        out.push_str(random.pick(NOUNS));
        out.push('"');
    }
    out
}

/// A sentence of about 70 bytes with its full stop.
pub fn sentence(random: &mut Random) -> String {
    let mut out = String::new();
    if random.chance(30) {
        out.push_str(random.pick(OPENERS));
        out.push_str(", ");
        phrase(random, &mut out);
    } else {
        out.push_str(random.pick(&["The ", "Your ", "This ", "Every ", "Our "]));
        out.push_str(random.pick(NOUNS));
    }
    out.push(' ');
    out.push_str(random.pick(VERBS));
    out.push(' ');
    phrase(random, &mut out);
    if random.chance(60) {
        out.push(' ');
        out.push_str(random.pick(JOINERS));
        out.push(' ');
        phrase(random, &mut out);
    }
    out.push('.');
    out
}

/// One noun.
pub fn noun(random: &mut Random) -> &'static str {
    random.pick(NOUNS)
}

/// One adjective.
pub fn adjective(random: &mut Random) -> &'static str {
    random.pick(ADJECTIVES)
}
