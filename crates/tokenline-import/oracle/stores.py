"""Odd stores: small random sources in which few conversations collide, with mappings for them."""
import dataclasses
import datetime
import json

KINDS = ("jsonl", "json-array", "csv", "tsv", "search-pages")
PATTERNS = ("%d.%m.%Y %H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S%z", "%Y/%m/%d")


class Raw(str):
    """JSON as it is to be written, such as the number `1e3`."""


@dataclasses.dataclass
class Source:
    rows: list[str]
    head: str = ""
    between: str = ""
    tail: str = ""

    def text(self):
        return self.head + self.between.join(self.rows) + self.tail


@dataclasses.dataclass
class Case:
    mapping: dict
    grouped: bool
    kind: str | None
    sources: list[Source]

    def json(self):
        case = {"mapping": self.mapping, "grouped": self.grouped, "sources": [source.text() for source in self.sources]}
        return case | ({"kind": self.kind} if self.kind else {})

    def without_row(self):
        """The same case with a row less: all such cases, and those with an option less."""
        for at, source in enumerate(self.sources):
            for row in range(len(source.rows)):
                less = dataclasses.replace(source, rows=source.rows[:row] + source.rows[row + 1 :])
                yield dataclasses.replace(self, sources=[*self.sources[:at], less, *self.sources[at + 1 :]])
            if len(self.sources) > 1:
                yield dataclasses.replace(self, sources=self.sources[:at] + self.sources[at + 1 :])
        for name in self.mapping:
            mapping = {key: value for key, value in self.mapping.items() if key != name}
            yield dataclasses.replace(self, mapping=mapping)
        if self.grouped:
            yield dataclasses.replace(self, grouped=False)


class Generator:
    """Makes cases of a random number generator.

    Stores on which the library is known to differ are left out, unless they are asked for.
    """

    def __init__(self, random, with_known=False):
        self.random, self.with_known = random, with_known
        self.chance = lambda probability: random.random() < probability
        self.pick = random.choice

    def case(self):
        self.oddity = self.pick((0, 0.01, 0.03, 0.1, 0.3))
        self.kind = self.pick(KINDS)
        self.is_table = self.kind in ("csv", "tsv")
        self.is_whole = not self.is_table and self.chance(0.3)
        self.is_ascii = self.chance(0.3)
        self.zone = self.pick((None, None, "UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata"))
        self.time_format = self.pick((None, None, None, "auto", "seconds", "milliseconds", *PATTERNS))
        self.order_types = self.pick(("numbers", "numbers", "times", "texts", "ids", "mixed"))
        self.ids = self.random.sample(self.id_pool(), k=self.pick((1, 2, 3, 4)))
        mapping = self.mapping()
        kind = None if self.chance(0.5) else self.kind
        is_grouped = self.chance(0.4)
        sources = [self.source(mapping, is_grouped) for _ in range(self.pick((1, 1, 1, 2)))]
        if self.kind == "jsonl" and any(source.rows and source.rows[0][0] in "[nt5" for source in sources):
            # The first line is taken for the start of another kind.
            kind = self.kind
        return Case(mapping, is_grouped, kind, sources)

    # Mappings

    def mapping(self):
        column = self.pick
        mapping = {
            "conversation-id": column(["c", "thread id", "gespräch"] + ([] if self.is_table else ["/c/id", "_id"])),
            "user-id": column(["u", "customer"] + ([] if self.is_table else ["/author/id"])),
            "timestamp": column(["t", "sent_at"] + ([] if self.is_table else ["/meta/0/at"])),
            "role": column(["r", "author"] + ([] if self.is_table else ["/author/role", "/a~1b"])),
            "content": column(["x", ["x"], ["title", "x"], ["x", "y", "z"]]),
        }
        if self.chance(0.3):
            mapping["order"] = column(["o", "position", mapping["timestamp"]])
            if self.is_whole or not self.is_table and mapping["conversation-id"] != "_id" and self.chance(0.2):
                mapping["order"] = "_id"
        if self.is_whole:
            mapping["messages"] = column(["messages", "conversations", "/data/messages"])
            if self.chance(0.3):
                del mapping["conversation-id"]
        if self.chance(0.4):
            members = {"channel": "source_channel", "tags": "tags", "who": mapping["user-id"], "größe": "size"}
            if self.kind in ("jsonl", "json-array", "search-pages"):
                members["index"] = "_index"
            names = self.random.sample(sorted(members), k=self.pick((1, 2, 3)))
            mapping["metadata"] = {name: members[name] for name in names}
        if self.chance(0.4):
            mapping["default-user-id"] = self.pick(("nobody", "ü"))
            if self.chance(0.3):
                del mapping["user-id"]
        if self.chance(0.4):
            mapping["default-timestamp"] = self.pick(
                ("2026-01-01T00:00:00+01:00", "2020-02-29T23:59:59.25Z", "1970-01-01 00:00:00Z")
            )
            if self.chance(0.3):
                del mapping["timestamp"]
        if self.chance(0.3):
            mapping["roles"] = self.pick(
                ({"agent": "assistant"}, {"Agent": "assistant", "KUNDE": "user"}, {"7": "user"}, {"bot": "tool"})
            )
        for name, values in (
            ("unknown-roles", ("reject", "keep", "keep")),
            ("empty-messages", ("skip", "keep", "reject")),
            ("several-users", ("reject", "first", "first")),
            ("separator", (" ", "", "\n\n", " | ")),
        ):
            if self.chance(0.4):
                mapping[name] = self.pick(values)
        if self.time_format:
            mapping["time-format"] = self.time_format
        if self.zone:
            mapping["time-zone"] = self.zone
        if self.chance(0.01):
            del mapping[self.pick(sorted(mapping))]
        return mapping

    # Values

    def odd(self):
        return self.chance(self.oddity)

    def id_pool(self):
        return ["a", "b", "7", Raw("7"), "A", "é", "z", "10", Raw("10"), "日本", "a b", " a", "😀", Raw("1.5"), Raw("-3")]

    def extended_id(self, value):
        """The same id in Extended JSON, or as it is."""
        if self.is_table or not self.chance(0.15):
            return value
        if isinstance(value, Raw):
            return value if "." in value else {self.pick(("$numberLong", "$numberInt")): str(value)}
        return {self.pick(("$oid", "$symbol", "$uuid")): value}

    def no_value(self):
        return self.pick(("", None, None))

    def no_scalar(self):
        return self.pick((True, False, {}, [], {"a": 1}, ["a"], {"$oid": 5}, {"$date": "2026-01-01T00:00:00Z"}))

    def conversation(self):
        if self.odd():
            return self.no_value() if self.chance(0.5) else self.no_scalar()
        return self.extended_id(self.pick(self.ids))

    def user(self):
        if self.odd():
            return self.no_scalar()
        if self.chance(self.oddity + 0.05):
            return self.no_value()
        if self.odd():
            return self.pick(("u2", Raw("7"), "7", "ü"))
        return self.extended_id(self.pick((Raw("1"), "1"))) if self.chance(0.1) else "1"

    def role(self):
        if self.odd():
            return self.pick((self.no_value(), self.no_scalar(), " ", Raw("7"), "7", "narrator", "ÄRZTIN", " user"))
        role = self.pick(("user", "assistant", "human", "gpt", "bot", "model", "system", "tool", "Agent", "kunde", "ai"))
        if role in ("Agent", "kunde") and not self.chance(self.oddity + 0.1):
            role = "prompter"
        return self.pick((role, role, role.upper(), role.title()))

    def time(self):
        if self.odd():
            return self.pick((
                self.no_value(), self.no_value(), self.no_scalar(), "never", "2026-02-30T00:00:00Z", "2026-02-10",
                "2026-02-10T25:00:00Z", "2026-02-10T12:00:00+25:00", "99999-01-01T00:00:00Z", " ",
                "0000-01-01T00:00:00+01:00", "9999-12-31T23:59:59.999999999Z", Raw("-62167219201"), Raw("99999999999"),
                Raw("100000000000"), Raw("-5"), Raw("-1.5"), Raw("0"), "1.77E9", "2026-02-10T12:34Z", Raw("1.77e9") if self.with_known else "1.77e9",
            ))
        seconds = self.pick((1_770_726_896, 1_743_296_400, 1_761_440_400, 1_000_000_000, 2_500_000_000)) + self.pick(range(9))
        if not self.is_table and self.chance(0.1):
            return self.date(seconds)
        moment = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
        form = self.time_format or "auto"
        if self.chance(self.oddity / 2):
            form = self.pick(("auto", "seconds", "milliseconds", *PATTERNS))
        if form in PATTERNS:
            return moment.strftime(form)
        if form == "auto":
            form = self.pick(("seconds", "milliseconds", "rfc3339", "rfc3339", "rfc3339"))
        if form == "rfc3339":
            return self.rfc3339(moment)
        number = Raw(seconds * (1 if form == "seconds" else 1000) + self.pick((0, 0, 0, 3)))
        if self.chance(0.2):
            number = Raw(number + self.pick((".5", ".25", ".0", ".000001")))
        return str(number) if self.chance(0.2) else number

    def date(self, seconds):
        milliseconds = seconds * 1000 + self.pick((0, 0, 1, 250))
        text = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")
        return {"$date": self.pick((
            {"$numberLong": str(milliseconds)}, Raw(milliseconds), text + "Z", text + ".250Z", text + "+01:00"
        ))}

    def rfc3339(self, moment):
        offset = self.pick(("Z", "Z", "z", "+00:00", "-00:00", "+05:30", "-08:00"))
        if self.chance(0.8 if self.zone else self.oddity / 2):
            offset = ""
        fraction = self.pick(("", "", ".5", ".000001", ".123456789", ".120"))
        return moment.strftime(self.pick(("%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S"))) + fraction + offset

    def order(self):
        if self.odd():
            return self.pick((self.no_value(), self.no_scalar()))
        kind = self.order_types
        if kind == "mixed":
            kind = self.pick(("numbers", "times", "texts", "ids"))
        if kind == "times":
            return self.time()
        if kind == "texts":
            return self.pick(("a", "b", "B", "é", "10x", "9x", "first", "ab"))
        if kind == "ids":
            digits = self.pick(("65c7ab1c00000000000000", "651234567890123456789e", "6512345678901234567890"))
            return {"$oid": digits + self.pick(("01", "02", "0a", "10"))}
        number = self.pick(("0", "1", "2", "3", "9", "10", "11", "-1", "2.5", "1e1", "9007199254740993", "9007199254740992"))
        if number == "1e1" and not self.with_known:
            return number
        return self.pick((Raw(number), Raw(number), number))

    def sentence(self):
        return self.pick((
            "Hi.", "Hello!", "Two\nlines", 'a "quoted" word', "a, b; c\td", "日本語", "😀", "back\\slash", "é", "  padded ",
            "5", "null", "\u2028", "</script>", "a\r\nb", "[1]", "\x7f", "trailing\n",
        ))

    def content(self):
        if self.odd():
            return self.pick((
                "", "", " ", "\n\t", "\u00a0", None, True, Raw("5"), {}, [], {"a": 1}, [None], [Raw("1")], [[]], [""],
                {"$date": "2026-01-01T00:00:00Z"}, {"$symbol": "s"}, {"$numberLong": "5"}, ["a", ["b"]], {"parts": []},
                {"parts": "a"}, {"text": Raw("5")}, {"text": None}, {"text": ["a"]}, [{"type": "text"}], [True],
            ))
        if self.is_table or self.chance(0.7):
            return self.sentence()
        return self.parts()

    def parts(self):
        text = self.sentence
        images = [
            {"type": "image_url", "image_url": {"url": "x"}},
            {"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}},
        ]
        if self.with_known:
            images.append({"inlineData": {"mimeType": "image/png", "data": "AA=="}})
        image = self.pick(images)
        return self.pick((
            [{"type": "text", "text": text()}],
            [{"type": "text", "text": text()}, {"type": "text", "text": text()}],
            [{"type": "text", "text": text()}, image],
            [image],
            [{"type": "input_text", "text": text()}],
            [{"type": "text", "text": {"value": text(), "annotations": []}}],
            {"text": {"value": text()}},
            {"type": "text", "text": text()},
            {"role": "user", "parts": [{"text": text()}, {"text": text()}]},
            {"content_type": "text", "parts": [text(), text()]},
            {"content_type": "multimodal_text", "parts": [image, text()]},
            [text(), text()],
            [text(), {"type": "text", "text": text()}],
            [{"text": text()}, "", {"text": " "}],
        ))

    def metadatum(self):
        return self.pick((
            None, None, "", "web", True, Raw("5"), Raw("1.50"), Raw("-0.25"), [Raw("1"), None], {"a": {"b": [Raw("2")]}},
            {"$date": "2026-02-10T12:34:56Z"}, {"$oid": "65c7ab1c0000000000000001"}, {"$numberLong": "7"},
            [{"$date": {"$numberLong": "1707568496000"}}, {"x": {"$numberInt": "3"}}], {"$numberDouble": "2.5"},
            {"$numberDouble": "NaN"}, {"$numberDecimal": "1.10"}, {"a": 1, "$oid": "x"}, {"$regex": "x"}, "ü\n",
        ))

    # Rows

    def message(self, mapping, document):
        put(document, mapping.get("role"), self.role())
        columns = mapping.get("content", [])
        for at, column in enumerate([columns] if isinstance(columns, str) else columns):
            if at == 0 or self.chance(0.7):
                put(document, column, self.content())
        order = mapping.get("order")
        if order and order != mapping.get("timestamp") or self.is_whole:
            put(document, order, self.order())

    def facts(self, mapping, document, conversation):
        for column in mapping.get("metadata", {}).values():
            put(document, column, self.metadatum())
        put(document, mapping.get("conversation-id"), conversation)
        put(document, mapping.get("user-id"), self.user())
        put(document, mapping.get("timestamp"), self.time())

    def document(self, mapping, conversation):
        document = {}
        self.facts(mapping, document, conversation)
        if not self.is_whole:
            self.message(mapping, document)
            return document
        messages = []
        for _ in range(self.pick((0, 1, 2, 2, 3, 4))):
            message = {}
            self.message(mapping, message)
            if self.odd():
                message = self.pick((None, "text", Raw("5"), [], message))
            messages.append(message)
        if self.odd():
            messages = self.pick((None, {}, "text", [], "[]", {"0": {}}))
        put(document, mapping.get("messages"), messages)
        return document

    def source(self, mapping, is_grouped):
        conversations = [self.conversation() for _ in range(self.pick((0, 1, 2, 3, 5, 8, 12)))]
        if is_grouped and self.chance(0.8):
            conversations.sort(key=lambda name: str(name).casefold())
        documents = [self.document(mapping, conversation) for conversation in conversations]
        if self.is_table:
            return self.table(mapping, documents)
        rows = [self.dump(self.hit(document)) for document in documents]
        mark = "\ufeff" if (rows or self.with_known) and self.chance(0.1) else ""
        space = self.pick(("", "\n", "\n", "\r\n", " "))
        if self.kind == "jsonl":
            rows = [self.line(row) + self.pick(("\n", "\n", "\n", "\r\n", "\n\n")) for row in rows]
            if rows and self.chance(0.2):
                rows[-1] = rows[-1].rstrip("\r\n")
            return Source(rows, mark)
        if self.kind == "json-array":
            rows = [self.element(row) for row in rows]
            return Source(rows, f"{mark}[{space}", f",{space}", f"{space}]" + self.pick(("", "\n")))
        pages = []
        for row in rows:
            more = self.pick(("", "", f",{space}{row}"))
            total = self.pick(('"took":1,', '"_scroll_id":"s","took":1,"timed_out":false,', '"_shards":{"total":1},'))
            pages.append('{%s"hits":{"total":{"value":9},%s"hits":[%s%s%s]}}' % (total, space, space, row, more))
        if self.chance(0.3):
            pages.append('{"took":1,"hits":{"hits":[]}}')
        return Source(pages, mark, self.pick(("\n", "", "\n\n")), self.pick(("", "\n")))

    def line(self, row):
        if not self.odd():
            return row
        return self.pick((row[:-1], row + "}", "[1]", "null", "5", "text", '{"a":1,"a":2}', "{", row[: len(row) // 2], "  " + row))

    def element(self, row):
        odd = ["[1]", "null", "5", '"text"'] if self.with_known else ['{"a":1,"a":2}']
        return self.pick(odd) if self.odd() else row

    def hit(self, document):
        if not (self.kind == "search-pages" or self.chance(0.1)):
            return document
        hit = {"_index": "chats", "_score": Raw("1.0"), "_source": document}
        # The own id of a hit is beside its source.
        if "_id" in document and self.chance(0.5):
            hit["_id"] = document.pop("_id")
        return hit

    def dump(self, value):
        """JSON with the numbers as they are written."""
        comma, colon = self.pick(((",", ":"), (", ", ": ")))
        if isinstance(value, Raw):
            return str(value)
        if isinstance(value, dict):
            return "{" + comma.join(self.dump(name) + colon + self.dump(member) for name, member in value.items()) + "}"
        if isinstance(value, list):
            return "[" + comma.join(map(self.dump, value)) + "]"
        return json.dumps(value, ensure_ascii=self.is_ascii)

    def table(self, mapping, documents):
        separator = "," if self.kind == "csv" else "\t"
        header = list(dict.fromkeys(name for document in documents for name in document))
        for name, column in mapping.items():
            columns = column.values() if name == "metadata" else column if name == "content" else [column]
            if name in ("conversation-id", "user-id", "timestamp", "role", "content", "order", "metadata"):
                columns = [columns] if isinstance(columns, str) else columns
                header += [column for column in columns if column not in header]
        if self.chance(0.3):
            header.append("unused")
        self.random.shuffle(header)
        newline = self.pick(("\n", "\r\n", None)) if self.with_known else "\n"
        end = lambda: newline or self.pick(("\n", "\r\n"))
        rows = []
        for document in documents:
            fields = [self.field(document.get(name), separator) for name in header]
            if self.odd():
                fields = self.pick((fields[:-1], fields + ["more"], fields + [""]))
            blank = end() if self.with_known and self.chance(0.05) else ""
            rows.append(separator.join(fields) + end() + blank)
        if rows and self.chance(0.2):
            rows[-1] = rows[-1].rstrip("\r\n") if not rows[-1].rstrip("\r\n").endswith(separator) else rows[-1]
        head = separator.join(self.field(name, separator) for name in header) + end()
        return Source(rows, ("\ufeff" if self.chance(0.2) else "") + head)

    def field(self, value, separator):
        if value is None:
            text = ""
        elif isinstance(value, str):
            text = str(value)
        else:
            text = self.dump(value)
        if any(character in text for character in (separator, '"', "\r", "\n")) or self.chance(0.1):
            return '"' + text.replace('"', '""') + '"'
        return text


def put(document, column, value):
    """Sets the value to which a column of the mapping leads."""
    if column is None:
        return
    if not column.startswith("/"):
        document[column] = value
        return
    *path, last = (token.replace("~1", "/").replace("~0", "~") for token in column[1:].split("/"))
    for at, token in enumerate(path):
        if token == "0":
            continue
        following = path[at + 1] if at + 1 < len(path) else last
        inner = document.setdefault(token, [{}] if following == "0" else {})
        document = inner[0] if isinstance(inner, list) else inner
    document[last] = value
