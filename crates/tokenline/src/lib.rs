//! tokenline facade
