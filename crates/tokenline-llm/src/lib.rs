//! tokenline llm
