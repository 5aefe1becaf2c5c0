//! Server-sent events
