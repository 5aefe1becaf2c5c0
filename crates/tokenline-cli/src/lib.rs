//! tokenline cli
