# Typical jq code that validates conversations: `jq -n -f contract.jq FILE` prints the number of valid ones. A conversation
# is valid if it has the right format and a new id.
def is_message:
  type == "object" and keys == ["content", "role"] and (.role | type) == "string" and (.content | type) == "string";

def is_conversation:
  type == "object"
  and (.conversation_id | type) == "string"
  and (.user_id | type) == "string"
  and (.timestamp | type) == "string"
  and (.messages | type) == "array"
  and all(.messages[]; is_message)
  and ((has("metadata") | not) or (.metadata | type) == "object");

reduce (inputs | select(is_conversation).conversation_id) as $id ({}; .[$id] = true) | length
