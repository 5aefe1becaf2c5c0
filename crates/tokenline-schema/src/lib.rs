//! tokenline schema
