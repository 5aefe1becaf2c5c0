"""A second implementation of the documented rules of tokenline-import: plain, in memory, slow.

It only reads sources such as `stores` makes: arrays and pages of a search are not cut off, for example.
"""
import collections
import datetime
import decimal
import functools
import json
import re
import zoneinfo

DEFAULT_ROLES = {
    **{role: role for role in ("assistant", "developer", "function", "system", "tool", "user")},
    **dict.fromkeys(("ai", "bot", "chatbot", "chatgpt", "gpt", "model"), "assistant"),
    **dict.fromkeys(("human", "prompter"), "user"),
}
# Python counts the separators U+001C to U+001F as white space, Unicode does not.
WHITE_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
SECOND = 1_000_000_000
# The years 0 to 9999, less the last 26 hours.
FIRST_TIME, LAST_TIME = -62_167_219_200 * SECOND, 253_402_207_200 * SECOND


class MappingError(Exception):
    """The mapping is not valid, or does not fit a source."""


class Rejected(Exception):
    """A row, or a message of a document, is rejected."""

    def __init__(self, code, column=None):
        super().__init__(code)
        self.code, self.column = code, column


class Number(str):
    """A number, as it is written."""


class Time(int):
    """Nanoseconds since 1970."""


# JSON


class Repeated(dict):
    """An object with a duplicate member, of which the last one counts."""


def members(pairs):
    document = dict(pairs)
    return document if len(document) == len(pairs) else Repeated(document)


def has_repeated(value):
    if isinstance(value, dict):
        return isinstance(value, Repeated) or any(has_repeated(member) for member in value.values())
    return isinstance(value, list) and any(has_repeated(element) for element in value)


def no_constant(name):
    raise ValueError(name)


DECODER = json.JSONDecoder(
    object_pairs_hook=members, parse_int=Number, parse_float=Number, parse_constant=no_constant
)
# Finds the end of a value, whatever is in it.
SCANNER = json.JSONDecoder()


def read_json(text):
    """The value of a JSON text; None if it is invalid or null."""
    try:
        value = DECODER.decode(text)
        # A surrogate without its other half is no character.
        json.dumps(value, ensure_ascii=False).encode()
    except ValueError:
        return None
    return value


def resolved(value):
    """A value of Extended JSON as what it means, any other value as it is."""
    if not isinstance(value, dict) or len(value) != 1:
        return value
    (name, member), = value.items()
    is_text = type(member) is str
    if name in ("$oid", "$symbol", "$uuid", "$numberDecimal") and is_text:
        return member
    if name in ("$numberInt", "$numberLong") and is_text and re.fullmatch(r"[+-]?\d+", member):
        return Number(int(member))
    if name == "$numberDouble" and is_text:
        return Number(float(member)) if re.fullmatch(r"-?\d+(\.\d+)?", member) else member
    if name == "$date":
        if is_text:
            time = rfc3339(member, None)
            return value if time is None else Time(time)
        milliseconds = resolved(member)
        if isinstance(milliseconds, Number) and re.fullmatch(r"-?\d+", milliseconds):
            return Time(int(milliseconds) * 1_000_000)
    return value


def plain(value):
    """A value as Python's JSON module reads what the library writes."""
    value = resolved(value)
    if isinstance(value, Number):
        return json.loads(value)
    if isinstance(value, Time):
        return written_time(value)
    if isinstance(value, list):
        return [plain(element) for element in value]
    if isinstance(value, dict):
        return {name: plain(member) for name, member in value.items()}
    return value


# Times


def day_number(year, month, day):
    """Days since 1970 in the Gregorian calendar, which Python only has from year 1 on."""
    cycles, year = divmod(year, 400)
    date = datetime.date(year + 400, month, day)
    return date.toordinal() - 719_163 + (cycles - 1) * 146_097


@functools.cache
def time_zone(name):
    return zoneinfo.ZoneInfo(name)


def local(year, month, day, hour, minute, second, nanoseconds, offset, zone):
    """Nanoseconds since 1970 of a time in parts. None if it does not exist, or has neither an offset nor a zone."""
    try:
        days = day_number(year, month, day)
    except ValueError:
        return None
    if hour > 23 or minute > 59 or second > 59:
        return None
    if offset is None:
        if zone is None:
            return None
        naive = datetime.datetime(year, month, day, hour, minute, second)
        # In a gap and in an overlap of local times, the offset before it applies.
        offset = naive.replace(tzinfo=time_zone(zone)).utcoffset().total_seconds()
    seconds = days * 86_400 + hour * 3600 + minute * 60 + second - int(offset)
    return seconds * SECOND + nanoseconds


OFFSET = r"[Zz]|[+-]\d\d(?::?\d\d(?::\d\d)?)?"


def offset_seconds(text, most):
    """The seconds of an offset with at most that many hours."""
    if text is None or text in "Zz":
        return None if text is None else 0
    digits = text[1:].replace(":", "").ljust(6, "0")
    hours, minutes, seconds = int(digits[:2]), int(digits[2:4]), int(digits[4:])
    if hours > most or minutes > 59 or seconds > 59:
        raise ValueError(text)
    return (hours * 3600 + minutes * 60 + seconds) * (-1 if text[0] == "-" else 1)


# Also with a space for the T, a comma in the fraction, and without the smaller parts of the time.
RFC3339 = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[Tt ](\d\d)(?::(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?)?(" + OFFSET + ")?)?", re.ASCII
)


def rfc3339(text, zone):
    text = text.strip(WHITE_SPACE)
    if named := re.fullmatch(r"(.*)\[([A-Za-z/_]+)\]", text):
        text, zone = named.groups()
    match = RFC3339.fullmatch(text)
    if not match:
        return None
    *parts, fraction, offset = match.groups()
    try:
        offset = offset_seconds(offset, 25)
    except ValueError:
        return None
    year, month, day, hour, minute, second = (int(part or 0) for part in parts)
    # A leap second is the second before it.
    second = 59 if second == 60 else second
    return local(year, month, day, hour, minute, second, int((fraction or "").ljust(9, "0")), offset, zone)


def written_time(time):
    """A time in RFC 3339, in UTC."""
    seconds, fraction = divmod(time, SECOND)
    days, seconds = divmod(seconds, 86_400)
    cycles, days = divmod(days + 719_162, 146_097)
    date = datetime.date.fromordinal(days + 1)
    text = f"{date.year + cycles * 400:04}-{date.month:02}-{date.day:02}T"
    text += f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return text + (f".{fraction:09}".rstrip("0") if fraction else "") + "Z"


# A text with an exponent or more digits is not a number: it is more likely an id.
TEXT_NUMBER = re.compile(r"-?\d{1,20}(\.\d+)?", re.ASCII)


def number(value):
    """The number that a value is, or that a text names."""
    if isinstance(value, Number):
        return decimal.Decimal(value)
    if type(value) is str and TEXT_NUMBER.fullmatch(value.strip(WHITE_SPACE)):
        return decimal.Decimal(value.strip(WHITE_SPACE))
    return None


DIRECTIVES = {
    "%Y": r"(?P<year>\d{4})",
    "%m": r"(?P<month>\d{1,2})",
    "%d": r"(?P<day>\d{1,2})",
    "%H": r"(?P<hour>\d{1,2})",
    "%M": r"(?P<minute>\d{1,2})",
    "%S": r"(?P<second>\d{1,2})",
    "%z": r"(?P<offset>[+-]\d{4})",
}


@functools.cache
def pattern(text):
    parts = re.split("(%.)", text)
    return re.compile("".join(DIRECTIVES.get(part) or re.escape(part) for part in parts), re.ASCII)


def by_pattern(text, time_format, zone):
    match = pattern(time_format).fullmatch(text.strip(WHITE_SPACE))
    if not match:
        return None
    parts = match.groupdict()
    try:
        offset = offset_seconds(parts.pop("offset", None), 23)
    except ValueError:
        return None
    names = ("year", "month", "day", "hour", "minute", "second")
    return local(*(int(parts.get(name) or 0) for name in names), 0, offset, zone)


def is_blank(value):
    return value is None or isinstance(value, str) and not value.strip(WHITE_SPACE)


def read_time(value, time_format, zone):
    """Nanoseconds since 1970; None if the value is not a time of this format."""
    if isinstance(value, Time):
        time = value
    elif not isinstance(value, str):
        return None
    elif time_format in ("auto", "seconds", "milliseconds"):
        count = number(value)
        if count is not None:
            in_seconds = time_format == "seconds" or (time_format == "auto" and abs(count) < 100_000_000_000)
            time = int((count * (SECOND if in_seconds else 1_000_000)).to_integral_value(decimal.ROUND_DOWN))
        elif time_format == "auto":
            time = rfc3339(value, zone)
        else:
            return None
    else:
        time = by_pattern(value, time_format, zone)
    return time if time is not None and FIRST_TIME <= time < LAST_TIME else None


# Sources


class Row:
    """A row and its place. Without a document it cannot be read."""

    def __init__(self, source, count, line, document, hit=None):
        self.source, self.count, self.line = source, count, line
        self.document, self.hit = document, hit
        self.is_malformed = document is None or has_repeated(hit or document)

    def cell(self, column):
        value = member(self.document, column)
        if value is ABSENT and self.hit is not None:
            value = member(self.hit, column)
        return None if value is ABSENT else resolved(value)


class TableRow(Row):
    """A row of a table. Its empty fields have no value."""

    def cell(self, column):
        return self.document[column] or None


ABSENT = object()


def member(document, column):
    """The member with this name, or that to which the JSON Pointer leads."""
    if not column.startswith("/"):
        return document.get(column, ABSENT)
    for token in column[1:].split("/"):
        token = token.replace("~1", "/").replace("~0", "~")
        if isinstance(document, dict):
            document = document.get(token, ABSENT)
        elif isinstance(document, list) and re.fullmatch("0|[1-9][0-9]*", token) and int(token) < len(document):
            document = document[int(token)]
        else:
            return ABSENT
    return document


def document_row(source, count, line, value):
    if not isinstance(value, dict):
        return Row(source, count, line, None)
    if isinstance(value.get("_source"), dict):
        return Row(source, count, line, value["_source"], value)
    return Row(source, count, line, value)


def detected_kind(text):
    text = text.removeprefix("\ufeff").lstrip("\t\n\f\r ")
    if not text:
        return "jsonl"
    if text[0] == "[":
        return "json-array"
    if text[0] == "{":
        try:
            value, _ = SCANNER.raw_decode(text)
        except ValueError:
            return "jsonl"
        hits = value.get("hits")
        return "search-pages" if isinstance(hits, dict) and "hits" in hits else "jsonl"
    header = re.split("[\r\n]", text)[0]
    if "," not in header and "\t" not in header:
        raise MappingError("neither JSON nor CSV")
    return "tsv" if header.count("\t") > header.count(",") else "csv"


def rows(source, kind, text, columns):
    text = text.removeprefix("\ufeff")
    if kind in ("csv", "tsv"):
        yield from table_rows(source, "," if kind == "csv" else "\t", text, columns)
    elif kind == "jsonl":
        count = 0
        for line, record in enumerate(text.split("\n"), 1):
            if record.strip("\t\r "):
                count += 1
                yield document_row(source, count, line, read_json(record.strip("\t\r ")))
    else:
        count = 0
        for at, value in elements(text) if kind == "json-array" else hits(text):
            count += 1
            yield document_row(source, count, text.count("\n", 0, at) + 1, value)


SPACE = re.compile(r"[\t\n\r ,]*")


def elements(text):
    """The elements of an array, and where they begin."""
    at = SPACE.match(text, text.index("[") + 1).end()
    while text[at] != "]":
        _, end = SCANNER.raw_decode(text, at)
        yield at, read_json(text[at:end])
        at = SPACE.match(text, end).end()


HITS = re.compile(r'"hits":\{.*?"hits":\[', re.DOTALL)


def hits(text):
    """The hits on the pages of a search, and where they begin. None is a page without an array of them."""
    at = SPACE.match(text).end()
    while at < len(text):
        _, end = SCANNER.raw_decode(text, at)
        array = HITS.search(text, at, end)
        if array is None:
            yield at, None
        else:
            for begin, value in elements(text[array.end() - 1 : end]):
                yield array.end() - 1 + begin, value
        at = SPACE.match(text, end).end()


def table_rows(source, separator, text, columns):
    records = csv_records(separator, text)
    _, header = next(records, (1, []))
    for column in columns:
        if column not in header:
            raise MappingError(f"no column {column}")
    for count, (line, fields) in enumerate(records, 1):
        # Of columns with the same name, the first one counts.
        is_whole = len(fields) == len(header)
        document = dict(zip(reversed(header), reversed(fields))) if is_whole else None
        yield TableRow(source, count, line, document)


def csv_records(separator, text):
    """The records and the lines on which they begin. Empty lines are not records."""
    quoted, bare = re.compile(r'"((?:[^"]|"")*)("?)'), re.compile(rf"[^{separator}\r\n]*")
    end_of_line = re.compile(r"\r\n|\r|\n|$")
    at = 0
    while at < len(text):
        line, begin, fields, is_open = text.count("\n", 0, at) + 1, at, [], False
        while True:
            field = ""
            if match := quoted.match(text, at):
                field, at = match[1].replace('""', '"'), match.end()
                is_open = not match[2]
            # Text after the closing quote belongs to the field.
            match = bare.match(text, at)
            fields.append(field + match[0])
            at = match.end()
            if not text.startswith(separator, at):
                break
            at += 1
        is_empty = at == begin
        at = end_of_line.match(text, at).end()
        if not is_empty:
            if is_open:
                raise MappingError("a quote that is not closed")
            yield line, fields


# Messages


class Message:
    """A message, and what its row says about the conversation."""

    def __init__(self, row):
        self.row = row
        self.user = self.time = self.role = self.text = self.order = None
        self.metadata = {}


def text_id(value):
    """The text of an id or a role: None without one, False if it is neither a text nor a number."""
    if value is None or value == "":
        return None
    if isinstance(value, Number) and re.fullmatch(r"-?\d+\.0+", value):
        # 7 and 7.0 are the same number.
        return value.split(".")[0]
    return str(value) if isinstance(value, str) else False


def trimmed(value):
    return value.strip(WHITE_SPACE) if type(value) is str else value


def texts(value, is_part=False):
    """The texts of a content. Numbers are their texts."""
    value = resolved(value)
    if value is None:
        return []
    if isinstance(value, str):
        return [str(value)]
    if isinstance(value, list):
        return [text for part in value for text in texts(part, True)]
    if isinstance(value, dict):
        if "text" in value:
            text = value["text"]
            text = text.get("value") if isinstance(text, dict) else text
            if text is None or type(text) is str:
                return [text] if text else []
        elif "parts" in value:
            return texts(value["parts"])
        elif is_part or "type" in value:
            return []
    raise ValueError


class Import:
    """An import with a mapping."""

    def __init__(self, mapping, is_grouped):
        content = mapping.get("content", [])
        self.content = [content] if isinstance(content, str) else content
        self.map = mapping.get
        self.is_grouped = is_grouped
        self.zone = mapping.get("time-zone")
        self.time_format = mapping.get("time-format", "auto")
        self.roles = DEFAULT_ROLES | {name.lower(): role for name, role in mapping.get("roles", {}).items()}
        self.default_time = None
        if "default-timestamp" in mapping:
            self.default_time = rfc3339(mapping["default-timestamp"], None)
            if self.default_time is None:
                raise MappingError("the default time")
        if not (mapping.get("conversation-id") or mapping.get("messages")):
            raise MappingError("no conversation id")
        if not (mapping.get("user-id") or mapping.get("default-user-id")):
            raise MappingError("no user id")
        if not (mapping.get("timestamp") or self.default_time is not None):
            raise MappingError("no timestamp")
        if not self.content:
            raise MappingError("no content")
        if not mapping.get("role"):
            raise MappingError("no role")
        self.conversations, self.rejects, self.names = [], [], set()
        self.row_count = self.rejected_rows = self.rejected_conversations = self.skipped = 0

    def columns(self):
        """The columns that a table needs."""
        names = [self.map(name) for name in ("conversation-id", "user-id", "timestamp", "messages")]
        if not self.map("messages"):
            names += [self.map("role"), self.map("order"), *self.content]
        return [name for name in (*names, *self.map("metadata", {}).values()) if name]

    def reject(self, row, code, column=None, message_number=None):
        self.rejects.append({
            "source": row.source, "row": row.count, "line": row.line,
            "message_number": message_number, "code": code, "column": column,
        })

    def reject_row(self, row, rejected, message_number=None):
        self.rejected_rows += 1
        self.reject(row, rejected.code, rejected.column, message_number)

    def reject_conversation(self, row, code):
        self.rejected_conversations += 1
        self.reject(row, code)

    # The parts of a row

    def conversation_id(self, row):
        column = self.map("conversation-id")
        name = text_id(row.cell(column)) if column else None
        if name is None and self.map("messages"):
            return f"{row.source}:{row.count}"
        if not name:
            raise Rejected("missing_conversation_id" if name is None else "invalid_conversation_id", column)
        return name

    def has_name(self, row):
        column = self.map("conversation-id")
        return bool(column and text_id(row.cell(column)))

    def read_facts(self, message, row):
        """Reads the user and the time of a row."""
        if column := self.map("user-id"):
            message.user = text_id(row.cell(column))
            if message.user is False:
                raise Rejected("invalid_user_id", column)
        if column := self.map("timestamp"):
            value = row.cell(column)
            if not is_blank(value):
                message.time = read_time(value, self.time_format, self.zone)
                if message.time is None:
                    raise Rejected("invalid_timestamp", column)
        for name, column in self.map("metadata", {}).items():
            message.metadata[name] = row.cell(column)

    def read_role(self, message, row):
        column = self.map("role")
        name = text_id(trimmed(row.cell(column)))
        if name is None:
            raise Rejected("missing_role", column)
        message.role = self.roles.get(name.lower()) if name else None
        if message.role is None:
            if not name or self.map("unknown-roles") != "keep":
                raise Rejected("unknown_role", column)
            message.role = name

    def read_text(self, message, row):
        found = []
        for column in self.content:
            try:
                found += texts(row.cell(column))
            except ValueError:
                raise Rejected("invalid_content", column) from None
        message.text = self.map("separator", "\n").join(filter(None, found))
        if is_blank(message.text) and self.map("empty-messages") == "reject":
            raise Rejected("empty_content", self.content[0])

    def read_order(self, message, row):
        """Numbers come before times, and times before texts."""
        column = self.map("order")
        if column is None:
            if self.map("messages") or not self.map("timestamp"):
                message.order = (0,)
            elif message.time is None:
                raise Rejected("missing_order", self.map("timestamp"))
            else:
                message.order = (message.time,)
            return
        value = row.cell(column)
        if is_blank(value):
            raise Rejected("missing_order", column)
        if isinstance(value, Time):
            message.order = (1, value)
        elif not isinstance(value, str):
            raise Rejected("invalid_order", column)
        elif (count := number(value)) is not None:
            message.order = (0, count)
        elif (time := read_time(value, self.time_format, self.zone)) is not None:
            message.order = (1, time)
        else:
            message.order = (2, value.strip(WHITE_SPACE))

    # Conversations

    def assemble(self, name, messages, document=None):
        """Writes a conversation, or rejects it. None is a message that is rejected."""
        is_repeated = name in self.names
        self.names.add(name)
        if None in messages:
            self.rejected_conversations += 1
            return
        messages = sorted(messages, key=lambda message: message.order)
        facts = [document] if document else messages
        users = [fact.user for fact in facts if fact.user] or [self.map("default-user-id")]
        times = [fact.time for fact in facts if fact.time is not None]
        time = min(times) if times else self.default_time
        keeps_empty = self.map("empty-messages") == "keep"
        written = [message for message in messages if keeps_empty or not is_blank(message.text)]
        code = None
        if is_repeated:
            code = "repeated_conversation"
        elif users == [None]:
            code = "missing_user_id"
        elif len(set(users)) > 1 and self.map("several-users") != "first":
            code = "several_users"
        elif time is None:
            code = "missing_timestamp"
        elif not written:
            code = "no_messages"
        if code:
            self.reject_conversation(facts[0].row, code)
            return
        self.skipped += len(messages) - len(written)
        metadata = {}
        for fact in facts:
            for member_name, value in fact.metadata.items():
                if value is not None and member_name not in metadata:
                    metadata[member_name] = plain(value)
        self.conversations.append({
            "conversation_id": name,
            "user_id": users[0],
            "timestamp": written_time(time),
            "messages": [{"role": message.role, "content": message.text} for message in written],
            "metadata": metadata,
        })

    def all_rows(self, sources, kind):
        for at, text in enumerate(sources):
            for row in rows(f"source{at}", kind or detected_kind(text), text, self.columns()):
                self.row_count += 1
                if row.document is None:
                    self.reject_row(row, Rejected("malformed_row"))
                    continue
                try:
                    name = self.conversation_id(row)
                except Rejected as rejected:
                    if row.is_malformed:
                        self.reject_row(row, Rejected("malformed_row"))
                        continue
                    self.reject_row(row, rejected)
                    self.rejected_conversations += bool(self.map("messages"))
                    continue
                yield name, row

    def import_rows(self, sources, kind):
        """Rows that are messages."""
        groups = {}
        current = None
        for name, row in self.all_rows(sources, kind):
            if self.is_grouped and name != current:
                self.end_groups(groups)
                current, groups = name, {}
            group = groups.setdefault(name, [])
            try:
                if row.is_malformed:
                    raise Rejected("malformed_row")
                message = Message(row)
                self.read_facts(message, row)
                self.read_order(message, row)
                self.read_role(message, row)
                self.read_text(message, row)
                group.append(message)
            except Rejected as rejected:
                self.reject_row(row, rejected)
                group.append(None)
        self.end_groups(groups)

    def end_groups(self, groups):
        for name, messages in sorted(groups.items()):
            self.assemble(name, messages)

    def import_documents(self, sources, kind):
        """Documents that are whole conversations."""
        for name, row in self.all_rows(sources, kind):
            facts = Message(row)
            messages = []
            if row.is_malformed:
                self.reject_row(row, Rejected("malformed_row"))
                if self.has_name(row):
                    self.assemble(name, [None])
                continue
            try:
                self.read_facts(facts, row)
                array = row.cell(self.map("messages"))
                if not isinstance(array, list):
                    raise Rejected("missing_messages", self.map("messages"))
            except Rejected as rejected:
                self.reject_row(row, rejected)
                self.assemble(name, [None])
                continue
            for count, element in enumerate(array, 1):
                try:
                    part = Row(row.source, row.count, row.line, element if isinstance(element, dict) else {})
                    message = Message(row)
                    self.read_order(message, part)
                    self.read_role(message, part)
                    self.read_text(message, part)
                    messages.append(message)
                except Rejected as rejected:
                    self.reject_row(row, rejected, count)
                    messages.append(None)
            self.assemble(name, messages, facts)

    def result(self):
        turns = [len(conversation["messages"]) for conversation in self.conversations]
        return {
            "conversations": self.conversations,
            "rejects": self.rejects,
            "row_count": self.row_count,
            "rejected_row_count": self.rejected_rows,
            "rejected_conversation_count": self.rejected_conversations,
            "rejects_by_code": dict(collections.Counter(reject["code"] for reject in self.rejects)),
            "summary": {
                "conversation_count": len(turns),
                "message_count": sum(turns),
                "skipped_message_count": self.skipped,
                "avg_turn_count": sum(turns) / len(turns) if turns else 0.0,
                "min_turn_count": min(turns, default=0),
                "max_turn_count": max(turns, default=0),
            },
        }


def imported(case):
    """The result of a case, reduced to what is compared."""
    try:
        run = Import(case["mapping"], case["grouped"])
        if run.map("messages"):
            run.import_documents(case["sources"], case.get("kind"))
        else:
            run.import_rows(case["sources"], case.get("kind"))
    except MappingError:
        return {"error": True}
    return run.result()
