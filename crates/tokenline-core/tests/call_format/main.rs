//! Tool calls in a text that are no JSON objects: what each format reads, at every cut.

mod driver;
mod function_tag;
mod hermes;
mod hostile;
mod mistral;
mod own;
mod pythonic;
mod together;
