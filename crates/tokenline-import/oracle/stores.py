"""Odd stores: small random sources in which few conversations collide, with mappings for them."""
import dataclasses
import datetime
import json

KINDS = ("jsonl", "json-array", "csv", "tsv", "search-pages")
PATTERNS = ("%d.%m.%Y %H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S%z", "%Y/%m/%d")
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata")

# Known differences of the library. Stores contain them only on request.
KNOWN = {
    "strays": "values that are not objects, at the ends of an array or between pages, are one row where they end",
}


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

    def smaller(self):
        """The cases with a row, a source or an option less."""
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


ROLES = (
    "user", "user", "user", "assistant", "assistant", "human", "gpt", "bot", "model", "system", "tool", "ai", "prompter"
)
ODD_ROLES = (
    Raw("7"), "7", "narrator", "narrator ", "Agent", "kunde", "KUNDE", "\u212aunde", "ÄRZTIN", "ärztin", "Straße",
    "STRASSE", " user", "Bot\n", "İ", "ＵＳＥＲ",
)
OTHER_ROLES = (
    {"agent": "assistant"},
    {"Agent": "assistant", "KUNDE": "user"},
    {"7": "user"},
    {"bot": "tool"},
    {"Ärztin": "assistant"},
    {"narrator": "Narrator"},
    {" x ": "user"},
    {"USER": "assistant", "human": "system"},
    {"straße": "user"},
)
IDS = (
    "a", "b", "z", "A", "é", "A\u0308", "\u00c4", "日本", "😀", "a b", " a", "a\tb", "7", Raw("7"), "10", Raw("10"),
    Raw("1.5"), Raw("-3"),
)
BLANKS = ("", None, None, " ", "\t", "\u00a0")
NO_SCALARS = (
    True, False, {}, [], {"a": 1}, ["a"], {"$oid": 5}, {"$oid": "7", "x": 1}, {"$oid": ""}, {"$numberInt": 7},
    {"$numberLong": "x"}, {"$numberDouble": "x"}, {"$numberDecimal": "1.0"}, {"$date": "2026-01-01T00:00:00Z"},
)
ODD_TIMES = (
    # Dates and times of day that do not exist, or hardly.
    "2026-02-30T00:00:00Z", "2026-02-10T25:00:00Z", "2026-02-10T24:00:00Z", "2026-02-10T12:34:60Z",
    "2016-12-31T23:59:60Z", "2026-02-10T12:00:00+25:00", "99999-01-01T00:00:00Z", "-0001-01-01T00:00:00Z",
    "0000-01-01T00:00:00+01:00",
    "9999-12-31T23:59:59.999999999Z", "9999-12-30T22:00:00Z",
    # Spellings.
    "2026-02-10", "2026-02-10T12", "2026-02-10T12:34Z", "2026-02-10t12:34:56z", " 2026-02-10T12:34:56Z ",
    "2026-02-10T12:34:56.1234567890Z", "2026-02-10T12:34:56,5Z", "2026-02-10T12:34:56+01", "2026-02-10T12:34:56-00:00",
    "20260210T123456Z", "2026-2-10T12:34:56Z", "2026-02-10T12:34:56 Z", "2026-02-10  12:34:56Z", "2025-W07-2", "never",
    # Numbers.
    Raw("99999999999"), Raw("99999999999.5"), Raw("100000000000"), Raw("-99999999999"), Raw("-100000000001"),
    Raw("253402207199"), Raw("-62167219201"), Raw("0"), Raw("-5"), Raw("-1.5"), Raw("-1.1234567899"),
    Raw("1770726896.1234567899"), "-0", "007", "5.", ".5", "+1770726896", "1770726896,5", "1_000", "1.77e9", "1.77E9",
    "٣",
    # Extended JSON.
    {"$date": "x"}, {"$date": "2026-02-10T12:34:56"}, {"$date": {"$numberLong": "-1"}}, {"$date": {"$numberLong": "x"}},
    {"$date": {"$numberLong": "9" * 18}}, {"$date": Raw("1.5")}, {"$numberLong": "1770726896"},
    {"$numberDouble": "1770726896.5"}, {"$timestamp": {"t": 1770726896, "i": 1}},
)
# Near the ends of summer time, and elsewhere.
SECONDS = (1_770_726_896, 1_743_296_400, 1_761_440_400, 1_000_000_000, 2_500_000_000)
LATER = (0, 1, 2, 3, 4, 5, 1800, 3600, 5400, 7200, 9000, -3600, -1800)
NUMBERS = ("0", "1", "2", "3", "9", "10", "11", "-1", "2.5", "1e1", "9007199254740993", "9007199254740992")
ODD_ORDERS = ("-", " 5 ", "+5", "1.50", "007", "5.", Raw("-0"), "-0.0")
SENTENCES = (
    "Hi.", "Hello!", "Two\nlines", 'a "quoted" word', "a, b; c\td", "日本語", "😀", "back\\slash", "é", "  padded ", "5",
    "null", "\u2028", "</script>", "a\r\nb", "[1]", "\x7f", "trailing\n",
)
ODD_CONTENTS = (
    "", "", " ", "\n\t", "\u00a0", "\x1c", "\u200b", None, True, Raw("5"), {}, [], {"a": 1}, [None], [Raw("1")], [[]],
    [""], [True], ["a", ["b"]], [{"type": "text"}], {"text": Raw("5")}, {"text": None}, {"text": ["a"]}, {"parts": []},
    {"parts": "a"}, {"$date": "2026-01-01T00:00:00Z"}, {"$symbol": "s"}, {"$numberLong": "5"},
)
METADATA = (
    None, None, "", "web", "ü\n", True, Raw("5"), Raw("1.50"), Raw("-0.25"), [Raw("1"), None], {"a": {"b": [Raw("2")]}},
    {"$date": "2026-02-10T12:34:56Z"}, {"$oid": "65c7ab1c0000000000000001"}, {"$numberLong": "7"},
    [{"$date": {"$numberLong": "1707568496000"}}, {"x": {"$numberInt": "3"}}], {"$numberDouble": "2.5"},
    {"$numberDouble": "NaN"}, {"$numberDecimal": "1.10"}, {"a": 1, "$oid": "x"}, {"$regex": "x"},
)


class Generator:
    """Makes cases of a random number generator. `known` are keys of KNOWN."""

    def __init__(self, random, known=()):
        self.random, self.known = random, known
        self.chance = lambda probability: random.random() < probability
        self.pick = random.choice

    def case(self):
        self.oddity = self.pick((0, 0, 0.01, 0.02, 0.05, 0.2))
        self.kind = self.pick(KINDS)
        self.is_table = self.kind in ("csv", "tsv")
        self.is_whole = self.chance(0.02 if self.is_table else 0.3)
        self.is_ascii = self.chance(0.3)
        self.zone = self.pick((None, None, *ZONES))
        self.time_format = self.pick((None, None, None, "auto", "seconds", "milliseconds", *PATTERNS))
        self.order_types = self.pick(("numbers", "numbers", "times", "texts", "ids", "mixed"))
        self.ids = self.random.sample(IDS, k=self.pick((1, 2, 3, 4)))
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
            times = ("2026-01-01T00:00:00+01:00", "2020-02-29T23:59:59.25Z", "1970-01-01 00:00:00Z")
            if self.chance(0.05):
                times = ("never", "2026-01-01T00:00:00", "")
            mapping["default-timestamp"] = self.pick(times)
            if self.chance(0.3):
                del mapping["timestamp"]
        if self.chance(0.3):
            mapping["roles"] = self.pick(OTHER_ROLES)
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

    def extended_id(self, value):
        """The same id in Extended JSON, or as it is."""
        if self.is_table or not self.chance(0.15):
            return value
        if isinstance(value, Raw):
            return value if "." in value else {self.pick(("$numberLong", "$numberInt")): str(value)}
        return {self.pick(("$oid", "$symbol", "$uuid")): value}

    def no_value(self):
        return self.pick(BLANKS)

    def no_scalar(self):
        return self.pick(NO_SCALARS)

    def conversation(self):
        if self.chance(self.oddity / 2):
            return self.no_value() if self.chance(0.5) else self.no_scalar()
        if not self.is_table and self.chance(0.05):
            return {"$numberDouble": "7.5"}
        return self.extended_id(self.pick(self.ids))

    def user(self):
        if self.odd():
            return self.no_scalar()
        if self.chance(self.oddity + 0.05):
            return self.no_value()
        if self.odd():
            return self.pick(("u2", Raw("7"), "7", "ü", " 1", Raw("1.0"), Raw("1e0")))
        return self.extended_id(self.pick((Raw("1"), "1"))) if self.chance(0.1) else "1"

    def role(self):
        if self.odd():
            return self.pick((self.no_value(), self.no_scalar(), *ODD_ROLES))
        role = self.pick(ROLES)
        return self.pick((role, role, role.upper(), role.title()))

    def time(self):
        if self.odd():
            return self.pick((self.no_value(), self.no_value(), self.no_scalar(), *ODD_TIMES))
        if self.chance(0.05):
            return Raw("1.77e9")
        if self.chance(0.05):
            return "2026-02-10T12:34:56[Europe/Berlin]"
        seconds = self.pick(SECONDS) + self.pick(LATER)
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
        return moment.strftime(f"%Y-%m-%d{self.pick('TT ')}%H:%M:%S{fraction}{offset}")

    def order(self):
        if self.odd():
            return self.pick((self.no_value(), self.no_scalar(), *ODD_ORDERS))
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
        number = self.pick(NUMBERS)
        return self.pick((Raw(number), Raw(number), number))

    def sentence(self):
        return self.pick(SENTENCES)

    def content(self):
        if self.odd():
            return self.pick(ODD_CONTENTS)
        if self.is_table or self.chance(0.7):
            return self.sentence()
        return self.parts()

    def parts(self):
        text = self.sentence
        images = [
            {"type": "image_url", "image_url": {"url": "x"}},
            {"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}},
            {"inlineData": {"mimeType": "image/png", "data": "AA=="}},
        ]
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
            put(document, column, self.pick(METADATA))
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
        conversations = [self.conversation() for _ in range(self.pick((0, 1, 2, 3, 5, 8, 8, 12, 20)))]
        if is_grouped and self.chance(0.8):
            conversations.sort(key=lambda name: str(name).casefold())
        documents = [self.document(mapping, conversation) for conversation in conversations]
        if self.is_table:
            return self.table(mapping, documents)
        rows = [self.dump(self.hit(document)) for document in documents]
        mark = "\ufeff" if self.chance(0.1) else ""
        space = self.pick(("", "\n", "\n", "\r\n", " "))
        if self.kind == "jsonl":
            rows = [self.line(row) + self.pick(("\n", "\n", "\n", "\r\n", "\n\n")) for row in rows]
            if rows and self.chance(0.2):
                rows[-1] = rows[-1].rstrip("\r\n")
            return Source(rows, mark)
        if self.kind == "json-array":
            rows = [self.element(row, 0 < at < len(rows) - 1) for at, row in enumerate(rows)]
            return Source(rows, f"{mark}[{space}", f",{space}", f"{space}]" + self.pick(("", "\n")))
        starts = ['"took":1,', '"_scroll_id":"s","took":1,"timed_out":false,', '"_shards":{"total":1},']
        start = "" if self.chance(0.2) else self.pick(starts)
        pages = []
        for row in rows:
            more = self.pick(("", "", f",{space}{row}"))
            pages.append('{%s"hits":{"total":{"value":9},%s"hits":[%s%s%s]}}' % (start, space, space, row, more))
        if self.chance(0.3):
            pages.append('{"took":1,"hits":{"hits":[]}}')
        if pages and self.odd():
            odd = ['{"error":{"type":"x"},"status":400}', '{"hits":[]}', '{"hits":{"hits":{}}}']
            if "strays" in self.known:
                odd += ["{}", "null", "[]"]
            pages.insert(self.random.randint(1, len(pages)), self.pick(odd))
        return Source(pages, mark, self.pick(("\n", "", "\n\n")), self.pick(("", "\n")))

    def line(self, row):
        if not self.odd():
            return row
        members = ('{"a":1,"a":1}', '"\\ud800"', '"\t"', "01", "1e999", "NaN", "tru", ",")
        return self.pick((
            # No JSON, or more than that.
            row[:-1], row + "}", row[: len(row) // 2], row + row, row + " 1", "\ufeff" + row, row.replace('"', "'"),
            "{", "text", *(f'{row[:-1]},"more":{member}}}' for member in members),
            # No document, or one with repeated names.
            "[1]", "null", "5", '{"a":1,"a":2}', row[:-1] + ',"\\u0063":"b"}',
            # White space.
            " ", "\t" + row + " ", "  " + row,
        ))

    def element(self, row, is_within):
        strays = ["[1]", "null", "5", '"text"'] if is_within or "strays" in self.known else []
        return self.pick(['{"a":1,"a":2}', *strays]) if self.odd() else row

    def hit(self, document):
        if not (self.kind == "search-pages" or self.chance(0.1)):
            return document
        if self.odd():
            return self.pick(({"_source": None, **document}, {"_source": "x", **document}, {"_source": [document]}))
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
        text = json.dumps(value, ensure_ascii=self.is_ascii)
        if isinstance(value, str) and value[:1].isalpha() and text[1] != "\\" and self.chance(0.02):
            # The same text with its first letter escaped.
            text = f'"\\u{ord(text[1]):04x}{text[2:]}'
        return text

    def table(self, mapping, documents):
        separator = "," if self.kind == "csv" else "\t"
        header = list(dict.fromkeys(name for document in documents for name in document))
        for name, column in mapping.items():
            columns = column.values() if name == "metadata" else column if name == "content" else [column]
            if name in ("conversation-id", "user-id", "timestamp", "role", "content", "order", "metadata"):
                columns = [columns] if isinstance(columns, str) else columns
                header += [column for column in columns if column not in header]
        if self.chance(0.3):
            header.append(self.pick(("unused", "un,used", "un\tused", "x,y,z,,,", 'un"used')))
        if self.chance(0.02):
            header.append(self.pick(header + [""]))
        if self.chance(0.01):
            header.pop(0)
        self.random.shuffle(header)
        ends = self.pick((["\n"], ["\r\n"], ["\n", "\r\n"]))
        rows = []
        for document in documents:
            fields = [self.field(document.get(name), separator) for name in header]
            if self.odd():
                before, after = self.pick((" ", "\u2028", "", "x")), self.pick(("", "\x0b", ' "x"', '""'))
                moved = [field if "\n" in field else before + field + after for field in fields]
                fewer, more = fields[:-1], fields + [self.pick(("more", ""))]
                fields = self.pick((fewer, more, ["", ""], ['""'], ["{}"], moved, moved, moved))
            blank = self.pick(ends) if self.chance(0.05) else ""
            rows.append(separator.join(fields) + self.pick(ends) + blank)
        if rows and self.chance(0.2):
            rows[-1] = rows[-1].rstrip("\r\n") if not rows[-1].rstrip("\r\n").endswith(separator) else rows[-1]
        if rows and self.chance(0.1):
            rows[-1] = rows[-1].rpartition(separator)[0] + separator + '"open'
        head = separator.join(self.field(name, separator) for name in header) + self.pick(ends)
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
