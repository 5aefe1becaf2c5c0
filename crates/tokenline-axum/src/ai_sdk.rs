//! The protocols of the AI SDK's front ends.
