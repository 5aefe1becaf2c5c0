//! The examples at the end of each help text. A test runs those that need no model.

pub(super) const PROGRAM: &str = "\
Examples:
  tokenline demo
  tokenline parse response.txt
  curl -sN URL -d @request.json | tokenline parse --from openai-chat
  tokenline extract --provider ollama --model gemma3 --prompt 'List three rivers as JSON Lines.'
  tokenline parse --help";

pub(super) const PARSE: &str = "\
Examples:
  tokenline parse response.txt
  tokenline parse --from anthropic body.sse --emit events
  curl -sN URL -d @request.json | tokenline parse --from openai-chat --schema fact.schema.json
  tokenline parse response.txt --emit tool-calls --tools tools.json --deny
  tokenline parse response.json --items /definitions
  tokenline parse 'responses/*.sse.gz' --from openai-chat --reject-file rejected.jsonl
  tokenline parse --from lines rows.jsonl --text-pointer /output --id-pointer /id --emit events";

pub(super) const PARSE_LONG: &str = include_str!("parse.txt");

pub(super) const BATCH: &str = "\
Examples:
  tokenline batch results.jsonl --schema fact.schema.json --output records.jsonl \\
    --reject-file rejected.jsonl
  tokenline batch 'results/*.jsonl.gz' --emit events --output events.jsonl
  tokenline batch results.jsonl --emit tool-calls --tools tools.json --deny
  tokenline batch results.jsonl --emit text > texts.jsonl";

pub(super) const EXTRACT: &str = "\
Examples:
  tokenline extract --provider ollama --model gemma3 --prompt 'List three rivers as JSON Lines.'
  tokenline extract --provider anthropic --model claude-sonnet-4-5 --prompt - < prompt.txt
  tokenline extract --provider openai-chat --model gpt-5 --prompt Rivers --response-format schema \\
    --schema fact.schema.json
  tokenline extract --provider ollama --model gemma3 --prompt Rivers --max-records 10 --max-errors 3
  tokenline extract --provider ollama --model gemma3 --prompt Rivers --continue 20 > records.jsonl";

pub(super) const PROMPT_LIST: &str = "\
Examples:
  tokenline prompt list
  tokenline prompt list --config prompts.toml";

pub(super) const PROMPT_RENDER: &str = "\
Examples:
  tokenline prompt render --id extract-definitions --var text='DNA carries genes.'
  tokenline prompt render --config prompts.toml --id define --var text=@page.txt --json";

pub(super) const PROMPT_APPLY: &str = "\
Examples:
  tokenline prompt apply --id extract-definitions response.txt
  tokenline prompt apply --config prompts.toml --id define < response.txt";

pub(super) const PROMPT_RUN: &str = "\
Examples:
  tokenline prompt run --id extract-definitions --var text=@page.txt \\
    --provider ollama --model gemma3";

pub(super) const TOOLS_PROMPT: &str = "\
Examples:
  tokenline tools prompt --tools tools.json
  tokenline tools prompt --tools tools.json --call-format qwen3-coder
  tokenline tools prompt --results conversation.json --call-format qwen3-coder
  tokenline tools prompt --tools tools.json --call-format function_calling --provider anthropic";

pub(super) const TOOLS_PARSE: &str = "\
Examples:
  tokenline tools parse response.txt --tools tools.json
  tokenline tools parse response.json --call-format function_calling";

pub(super) const TOOLS_FORMATS: &str = "\
Examples:
  tokenline tools formats
  tokenline tools formats qwen3-coder
  tokenline tools formats kimi-k2 --json";

pub(super) const CHAT_SCHEMA: &str = "\
Examples:
  tokenline chat-analysis schema > response.schema.json
  tokenline chat-analysis schema --typescript > response.ts";

pub(super) const CHAT_REQUEST: &str = "\
Examples:
  tokenline chat-analysis request --model llama3.1 question.txt \\
    | curl -sN http://localhost:11434/api/chat -d @-";

pub(super) const CHAT_CHECK: &str = "\
Examples:
  tokenline chat-analysis check response.json
  tokenline chat-analysis check --from ollama body.jsonl";

pub(super) const CHAT_TO_XML: &str = "\
Examples:
  tokenline chat-analysis to-xml response.json > response.xml";

pub(super) const CHAT_FROM_XML: &str = "\
Examples:
  tokenline chat-analysis from-xml response.xml --compact";

pub(super) const CHAT_RUN: &str = "\
Examples:
  tokenline chat-analysis run --provider ollama --model llama3.1 question.txt
  tokenline chat-analysis run --provider ollama --model llama3.1 question.txt \\
    --store stored --topic t1 --message m7";

pub(super) const CONTINUATION_CONTEXTS: &str = "\
Examples:
  tokenline continuation contexts cut.json";

pub(super) const CONTINUATION_MERGE: &str = "\
Examples:
  tokenline continuation merge cut.json next.txt --requested-overlap 200";

pub(super) const CONTINUATION_RUN: &str = "\
Examples:
  tokenline continuation run --provider ollama --model llama3.1 question.txt > rows.json";

pub(super) const VALIDATE: &str = "\
Examples:
  tokenline validate --schema fact.schema.json records.jsonl
  tokenline validate --schema fact.schema.json 'export/*.jsonl.gz' --report-json report.json
  tokenline validate --schema fact.schema.json records.jsonl --format github
  tokenline validate --schema fact.schema.json log.jsonl --follow";

pub(super) const CONVERSATIONS_VALIDATE: &str = "\
Examples:
  tokenline conversations validate --input conversations.jsonl
  tokenline conversations validate --input 'export/*.jsonl.gz' --reject-file invalid.jsonl";

pub(super) const CONVERSATIONS_SNAPSHOT: &str = "\
Examples:
  tokenline conversations snapshot --input conversations.jsonl --output messages.jsonl";

pub(super) const CONVERSATIONS_IMPORT: &str = "\
Examples:
  tokenline conversations import messages.csv --conversation-id thread --user-id customer \\
    --timestamp sent_at --role author --content text --output conversations.jsonl
  tokenline conversations import 'export/*.jsonl.gz' --map mapping.toml \\
    --output conversations.jsonl --reject-file rejects.jsonl
  tokenline conversations import chats.json --kind sharegpt --default-user-id nobody \\
    --default-timestamp 2026-01-01T00:00:00Z > conversations.jsonl";

pub(super) const DEMO: &str = "\
Examples:
  tokenline demo
  tokenline demo --delay-ms 20 --chunk-size 500";

pub(super) const SERVE: &str = "\
Examples:
  tokenline serve
  tokenline serve --listen 127.0.0.1:0 --base-url ollama=http://127.0.0.1:11434

See `tokenline serve --help` for the API of the page.";

pub(super) const SERVE_LONG: &str = include_str!("serve.txt");

pub(super) const REPLAY: &str = "\
Examples:
  tokenline replay
  tokenline replay body.sse --delay-ms 20 --chunk-size 7
  tokenline extract --provider openai-chat --base-url http://127.0.0.1:8080 --model body --prompt Hi";

pub(super) const EXPLAIN: &str = "\
Examples:
  tokenline explain
  tokenline explain trailing_data
  tokenline explain call_end_missing";

pub(super) const COMPLETIONS: &str = "\
Examples:
  tokenline completions bash > ~/.local/share/bash-completion/completions/tokenline
  tokenline completions zsh > ~/.zfunc/_tokenline
  tokenline completions fish > ~/.config/fish/completions/tokenline.fish";

pub(super) const MAN: &str = "\
Examples:
  tokenline man | man -l -
  tokenline man > tokenline.1";
