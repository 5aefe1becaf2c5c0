#!/usr/bin/env python3
"""Short texts in Python: 100,000 texts of 200 bytes of prose around a record of 130 bytes, and batch result files of them.

    benches/python/short_texts.py install                 from PyPI, and tokenline from source; 250 MB on disk
    benches/python/short_texts.py [run [ROUNDS [TEXTS]]]  a Markdown table on standard output; 7 rounds, 100,000 texts

Every way delivers each record as an instance of the same pydantic model, unless its name says otherwise, and must deliver
all. By hand: `re` finds the braces, orjson parses, pydantic validates. The batch result files have, in each result, one of
the texts, or 20 records as JSON Lines.

Figures are CPU time, that of started programs included, and ratios are medians of those within the interleaved rounds.

The packages are in $TOKENLINE_SHORT_TEXTS_DIR, by default ~/.cache/tokenline/short-texts: delete that directory to remove
them. The `tokenline` program of the profile `dist` is built if it is missing. Needs Python 3.10 with `venv`, and Linux.
"""

import json
import os
import pathlib
import random
import re
import resource
import statistics
import subprocess
import sys
import tempfile

PACKAGES = ["maturin==1.16.0", "orjson==3.13.0", "pyarrow==26.0.1", "pydantic==2.14.4"]

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
HOME = pathlib.Path(os.environ.get("TOKENLINE_SHORT_TEXTS_DIR") or CACHE / "tokenline" / "short-texts").absolute()
PYTHON = HOME / "venv" / "bin" / "python"
REPOSITORY = pathlib.Path(__file__).resolve().parent.parent.parent
TOKENLINE = pathlib.Path(os.environ.get("CARGO_TARGET_DIR") or REPOSITORY / "target").absolute() / "dist" / "tokenline"
PROSE_BYTES, RECORD_BYTES, RECORDS_IN_RESULT = 200, 130, 20
WORDS = "light sugar cell gene water energy carries turns from into of the a with plants proteins".split()
BY_HAND = "by hand: `re`, orjson, `model_validate`"


def main():
    match sys.argv[1:]:
        case ["install"]:
            install()
        case []:
            run(7, 100_000)
        case ["run", *numbers] if len(numbers) <= 2 and all(number.isdecimal() and int(number) > 0 for number in numbers):
            run(*[int(number) for number in numbers] + [7, 100_000][len(numbers) :])
        case _:
            sys.exit(__doc__)


def install():
    HOME.mkdir(parents=True, exist_ok=True)
    subprocess.run([sys.executable, "-m", "venv", HOME / "venv"], check=True)
    pip = [PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, *PACKAGES], check=True)
    # maturin finds cargo's target folder, and is found in the environment.
    path = f"{PYTHON.parent}:{os.environ.get('PATH', os.defpath)}"
    source = ["--no-build-isolation", "--no-deps", "--force-reinstall", REPOSITORY / "python"]
    subprocess.run([*pip, *source], check=True, env={**os.environ, "PATH": path})


def sentence(pick, size):
    """Words of this number of bytes, with a full stop."""
    text = " ".join(pick.choice(WORDS) for _ in range(size))
    return text[: size - 1].capitalize() + "."


def record(pick):
    fields = {"entity": f"{pick.choice(WORDS)} {pick.choice(WORDS)}", "definition": "", "confidence": pick.randrange(100) / 100}
    fields["definition"] = sentence(pick, RECORD_BYTES - len(json.dumps(fields)))
    return json.dumps(fields)


def text(pick, of):
    before = PROSE_BYTES // 2
    return f"{sentence(pick, before - 2)}\n\n{of}\n\n{sentence(pick, PROSE_BYTES - before - 2)}"


def result(number, content):
    """A line of OpenAI's batch result files."""
    message = {"role": "assistant", "content": content, "refusal": None, "annotations": []}
    body = {
        "id": f"chatcmpl-{number:029}",
        "object": "chat.completion",
        "created": 1770933892,
        "model": "gpt-4.1-nano-2025-04-14",
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 120, "completion_tokens": 90, "total_tokens": 210},
        "system_fingerprint": "fp_de604bd877",
    }
    response = {"status_code": 200, "request_id": f"{number:032x}", "body": body}
    return json.dumps({"id": f"batch_req_{number:032x}", "custom_id": f"request-{number}", "response": response, "error": None})


def run(rounds, count):
    if not PYTHON.exists():
        sys.exit(f"run {sys.argv[0]} install first")
    if pathlib.Path(sys.prefix) != HOME / "venv":
        os.execv(PYTHON, [PYTHON, *sys.argv])
    if not TOKENLINE.exists():
        subprocess.run(["cargo", "build", "--profile", "dist", "-p", "tokenline-cli"], cwd=REPOSITORY, check=True)
    with tempfile.TemporaryDirectory() as folder:
        measure(pathlib.Path(folder), rounds, count)


def measure(folder, rounds, count):
    from importlib.metadata import version

    import orjson
    import pyarrow as pa
    import pydantic

    import tokenline
    import tokenline.arrow

    class Definition(pydantic.BaseModel):
        entity: str
        definition: str
        confidence: float

    schema = Definition.model_json_schema()
    schema_file = folder / "schema.json"
    schema_file.write_text(json.dumps(schema))
    braces = re.compile(r"\{.*\}", re.DOTALL)
    build = Definition.__pydantic_validator__.validate_json

    def hand_texts(texts):
        for text in texts:
            yield Definition.model_validate(orjson.loads(braces.search(text)[0]))

    def new_stream(texts):
        for text in texts:
            yield from tokenline.records(text, model=Definition)

    def same_parser(texts):
        parser = tokenline.JsonlParser(model=Definition)
        for text in texts:
            parser.push(text)
            parser.finish()
            for event in parser:
                if isinstance(event, tokenline.Record):
                    yield event.value
            parser.reset()

    def extracted(rows, options):
        structs = pa.array(tokenline.arrow.extract(rows, schema, **options))
        return structs.field("records").flatten()

    def column(options):
        def read(texts):
            return map(build, extracted(pa.array(texts), options).field("json").to_pylist())

        return read

    def typed(options):
        # To go through an Arrow array makes an object of each element.
        return lambda texts: range(len(extracted(pa.array(texts), {**options, "columns": "typed"})))

    def content(line):
        return orjson.loads(line)["response"]["body"]["choices"][0]["message"]["content"]

    def hand_result(path):
        with open(path, "rb") as lines:
            for line in lines:
                yield Definition.model_validate(orjson.loads(braces.search(content(line))[0]))

    def hand_results(path):
        with open(path, "rb") as lines:
            for line in lines:
                for record in content(line).splitlines():
                    yield Definition.model_validate(orjson.loads(record))

    def of_file(read):
        def lines(path):
            with open(path, "rb") as file:
                return read(file.readlines())

        return lines

    def program(path):
        command = [TOKENLINE, "--quiet", "batch", "--jobs", "1", "--schema", schema_file, path]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.splitlines()

    pick = random.Random(1)
    texts = [text(pick, record(pick)) for _ in range(count)]
    one, many = folder / "one.jsonl", folder / "many.jsonl"
    one.write_text("".join(result(number, text) + "\n" for number, text in enumerate(texts)))
    joined = ["\n".join(record(pick) for _ in range(RECORDS_IN_RESULT)) for _ in range(count // RECORDS_IN_RESULT)]
    many.write_text("".join(result(number, text) + "\n" for number, text in enumerate(joined)))

    batch = {"format": "openai-batch"}
    files = {
        "tokenline program, then `validate_json`": lambda path: map(build, program(path)),
        "tokenline program, records as JSON Lines": program,
        "`tokenline.arrow`, then `validate_json`": of_file(column(batch)),
        "`tokenline.arrow`, typed columns": of_file(typed(batch)),
    }
    measured = {
        "texts": (
            texts,
            count,
            {
                BY_HAND: hand_texts,
                "`tokenline.records(text, model)`": new_stream,
                "`tokenline.JsonlParser(model)`, reset for each text": same_parser,
                "`tokenline.arrow`, then `validate_json`": column({}),
                "`tokenline.arrow`, typed columns": typed({}),
            },
        ),
        "batch file, a text in each result": (one, count, {BY_HAND: hand_result, **files}),
        f"batch file, {RECORDS_IN_RESULT} records in each result": (
            many,
            len(joined) * RECORDS_IN_RESULT,
            {BY_HAND: hand_results, **files},
        ),
    }
    cells = {}
    for table, (source, expected, ways) in measured.items():
        times = {name: [] for name in ways}
        for number in range(rounds + 1):
            print(f"{table}: round {number} of {rounds}", file=sys.stderr)
            for name, read in ways.items():
                start = cpu_time()
                found = sum(1 for _ in read(source))
                spent = (cpu_time() - start) / expected
                if found != expected:
                    sys.exit(f"{name}: {found} records of {expected}")
                # The first round is for warming up.
                if number > 0:
                    times[name].append(spent)
        for name, own in times.items():
            ratio = statistics.median(hand / mine for hand, mine in zip(times[BY_HAND], own))
            cells[name, table] = f"{statistics.median(own) * 1e6:.2f} ({ratio:.2f})"

    print(f"{count} texts, {rounds} interleaved rounds.\n")
    print(f"| us per record (times as fast as the first row) | {' | '.join(measured)} |")
    print("|---|" + "--:|" * len(measured))
    for name in dict.fromkeys(name for name, _ in cells):
        print(f"| {name} | {' | '.join(cells.get((name, table), '') for table in measured)} |")
    packages = ["tokenline", "orjson", "pyarrow", "pydantic"]
    print(f"\nPython {sys.version.split()[0]}, {', '.join(f'{name} {version(name)}' for name in packages)}.")


def cpu_time():
    """Seconds of this process and of those that it started."""
    usages = (resource.getrusage(of) for of in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


if __name__ == "__main__":
    main()
