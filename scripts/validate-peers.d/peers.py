"""Typical Python code that validates conversations: `peers.py NAME FILE` prints the number of valid ones.

A conversation is valid if it has the right format and a new id. Invalid lines are skipped; the two table engines stop with
an error instead.
"""
import json
import pathlib
import sys


def jsonschema(file):
    from jsonschema import Draft202012Validator

    schema = json.loads(pathlib.Path(__file__).with_name("contract.json").read_text())
    # It asserts only formats whose package is installed: date-time needs rfc3339-validator.
    validator = Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)
    ids = set()
    for line in file:
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if validator.is_valid(value):
            ids.add(value["conversation_id"])
    return len(ids)


def msgspec(file):
    import datetime
    from typing import Annotated, Any

    import msgspec

    class Message(msgspec.Struct, forbid_unknown_fields=True):
        role: str
        content: str

    class Conversation(msgspec.Struct):
        conversation_id: str
        user_id: str
        timestamp: Annotated[datetime.datetime, msgspec.Meta(tz=True)]
        messages: list[Message]
        metadata: dict[str, Any] = {}

    decoder = msgspec.json.Decoder(Conversation)
    ids = set()
    for line in file:
        try:
            ids.add(decoder.decode(line).conversation_id)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue
    return len(ids)


def pydantic(file):
    from typing import Any

    from pydantic import AwareDatetime, BaseModel, ConfigDict, ValidationError

    class Message(BaseModel):
        model_config = ConfigDict(strict=True, extra="forbid")
        role: str
        content: str

    class Conversation(BaseModel):
        model_config = ConfigDict(strict=True, extra="ignore")
        conversation_id: str
        user_id: str
        timestamp: AwareDatetime
        messages: list[Message]
        metadata: dict[str, Any] = {}

    ids = set()
    for line in file:
        try:
            ids.add(Conversation.model_validate_json(line).conversation_id)
        except ValidationError:
            continue
    return len(ids)


def duckdb(file):
    import duckdb

    query = """
        select count(distinct conversation_id)
        from read_ndjson(?, columns = {
            conversation_id: 'VARCHAR', user_id: 'VARCHAR', timestamp: 'TIMESTAMPTZ',
            messages: 'STRUCT(role VARCHAR, content VARCHAR)[]', metadata: 'JSON'})
        where user_id is not null and timestamp is not null and messages is not null"""
    return duckdb.connect(config={"threads": 2}).execute(query, [file.name]).fetchone()[0]


def polars(file):
    import os

    os.environ["POLARS_MAX_THREADS"] = "2"
    import polars

    message = polars.Struct({"role": polars.String, "content": polars.String})
    schema = {
        "conversation_id": polars.String,
        "user_id": polars.String,
        "timestamp": polars.Datetime(time_zone="UTC"),
        "messages": polars.List(message),
    }
    required = [polars.col(name).is_not_null() for name in schema]
    rows = polars.scan_ndjson(file.name, schema=schema).filter(required)
    return rows.select(polars.col("conversation_id").n_unique()).collect(engine="streaming").item()


if __name__ == "__main__":
    peers = {peer.__name__: peer for peer in (jsonschema, msgspec, pydantic, duckdb, polars)}
    with open(sys.argv[2], "rb") as file:
        print(peers[sys.argv[1]](file))
