//! Asking a model until its answer is whole.

mod machine;
mod outcome;
mod request;

pub use machine::{Iteration, IterationOptions};
pub use outcome::{Decision, Finish, Finished, IterationError, Progress, StepFailure};
pub use request::{Request, continuation_prompt};
