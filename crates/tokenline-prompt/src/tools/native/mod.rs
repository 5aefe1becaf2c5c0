//! Function calling as the providers have it: tools in a request, calls in a response.

mod answer;
mod call;
mod read;
mod request;
mod shape;
mod shapes;

pub(super) use read::read;
pub use request::native_tools;
pub use shape::NativeShape;
