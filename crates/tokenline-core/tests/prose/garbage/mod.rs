//! Lines that are not records, before, between and after records in every layout.

mod cases;
mod check;
mod fences;
mod kinds;
mod layouts;
mod lines;
mod open;
mod tests;
