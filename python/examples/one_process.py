"""Records of one response, while the model is still writing it.

    python one_process.py RESPONSE.txt SCHEMA.json > records.jsonl
"""

import json
import pathlib
import sys

from tokenline import records

response, schema = sys.argv[1:]

# In a program: `httpx.stream(...).iter_bytes()`, an SDK's stream of texts, any iterable of bytes or str.
with open(response, "rb") as chunks:
    stream = records(iter(lambda: chunks.read(64), b""), pathlib.Path(schema).read_text())
    for value in stream:
        print(json.dumps(value, ensure_ascii=False), flush=True)
for reject in stream.report.rejects:
    print(f"{reject.line}:{reject.column}: {reject.code}: {reject.message}", file=sys.stderr)
