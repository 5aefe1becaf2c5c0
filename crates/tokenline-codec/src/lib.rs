//! tokenline codec
