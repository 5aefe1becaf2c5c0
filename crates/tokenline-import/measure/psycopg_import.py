"""The same conversations by a straightforward script: psycopg, itertools.groupby and json."""

import itertools
import json
import sys
from datetime import timezone
from operator import itemgetter

import psycopg

url, output = sys.argv[1:]
query = "SELECT thread, customer, sent_at, author, body, channel FROM messages ORDER BY thread, id"
roles = {"human": "user", "bot": "assistant"}

with psycopg.connect(url) as connection, open(output, "w", encoding="utf-8") as file:
    with connection.cursor(name="messages") as cursor:
        cursor.itersize = 10_000
        cursor.execute(query)
        for thread, rows in itertools.groupby(cursor, key=itemgetter(0)):
            rows = list(rows)
            first = min(row[2] for row in rows).astimezone(timezone.utc)
            channel = next((row[5] for row in rows if row[5] is not None), None)
            conversation = {
                "conversation_id": thread,
                "user_id": rows[0][1],
                "timestamp": first.isoformat().replace("+00:00", "Z"),
                "messages": [
                    {"role": roles[row[3]], "content": row[4]} for row in sorted(rows, key=itemgetter(2))
                ],
                "metadata": {} if channel is None else {"channel": channel},
            }
            file.write(json.dumps(conversation, ensure_ascii=False) + "\n")
