"""The tool parsers of vLLM and SGLang over the texts of `call-syntaxes --write DIRECTORY`: ns per delta of four bytes.

    call_syntaxes.py DIRECTORY [--cache CACHE] [--rounds N]

CACHE (default: target/call-syntaxes) gets a virtual environment with the parsers' own dependencies, and the sources of
both packages from PyPI. Neither is installed: both want torch, which no tool parser uses. The parsers' modules run as
they are; every other module of the packages, and what it imports, is a stub.
"""

import argparse
import importlib
import importlib.abc
import importlib.machinery
import json
import logging
import math
import os
import statistics
import subprocess
import sys
import time
import types
import zipfile
from pathlib import Path

VLLM, SGLANG = "0.33.0", "0.5.23"
DEPENDENCIES = ["pydantic", "regex", "orjson", "partial-json-parser", "openai", "openai-harmony", "prometheus-client"]
SIZES = [1 << 10, 8 << 10, 64 << 10]
# A parser that takes longer for a call reads it once, and one that would take longer than `TOO_SLOW` does not: its time
# is that of the medium call with the exponent of the short and the medium one. In seconds.
SLOW, TOO_SLOW = 0.5, 20.0
TOOL = "write_file"
PARAMETERS = {"type": "object", "properties": {"path": {"type": "string"}, "text": {"type": "string"}}}

VLLM_PARSERS = {
    "hermes": ("hermes_tool_parser", "Hermes2ProToolParser"),
    "function_tag": ("qwen3_engine_tool_parser", "Qwen3EngineToolParser"),
    "deepseek-v3.1": ("deepseekv31_tool_parser", "DeepSeekV31ToolParser"),
    "deepseek-v3.2": ("deepseekv32_engine_tool_parser", "DeepSeekV32EngineToolParser"),
    "kimi-k2": ("kimi_k2_tool_parser", "KimiK2ToolParser"),
    "glm": ("glm47_moe_tool_parser", "Glm47MoeModelToolParser"),
}
SGLANG_PARSERS = {
    "hermes": ("hermes_detector", "HermesDetector"),
    "function_tag": ("qwen3_coder_detector", "Qwen3CoderDetector"),
    "deepseek-v3.1": ("deepseekv31_detector", "DeepSeekV31Detector"),
    "deepseek-v3.2": ("deepseekv32_detector", "DeepSeekV32Detector"),
    "kimi-k2": ("kimik2_detector", "KimiK2Detector"),
    "glm": ("glm4_moe_detector", "Glm4MoeDetector"),
    "harmony": ("gpt_oss_detector", "GptOssDetector"),
}
SYNTAXES = list(SGLANG_PARSERS)
# Markers that tokenizers write as one token, for parsers that do not find it in parts.
MARKERS = [
    "<tool_call>", "</tool_call>", "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", "<｜tool▁call▁begin｜>",
    "<｜tool▁call▁end｜>", "<｜tool▁sep｜>", "｜DSML｜", "<|tool_calls_section_begin|>", "<|tool_calls_section_end|>",
    "<|tool_call_begin|>", "<|tool_call_end|>", "<|tool_call_argument_begin|>", "<arg_key>", "</arg_key>",
    "<arg_value>", "</arg_value>", "<|channel|>", "<|constrain|>", "<|message|>", "<|call|>",
]  # fmt: skip
# Modules that run as they are: the parsers, and the models of their results.
REAL = ["vllm.tool_parsers.", "vllm.parser.", "vllm.entrypoints.generate.base.protocol", "sglang.srt.function_call."]
REAL += ["sglang.srt.parser.harmony_parser", "sglang.srt.environ"]
# Imported by the adapters of all parsers, with dependencies of its own.
NOT_REAL = ["vllm.parser.mistral"]


def install(cache):
    """Makes the environment and unpacks the sources; runs this script in it."""
    python = cache / "venv/bin/python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", cache / "venv"], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *DEPENDENCIES], check=True)
    download = [python, "-m", "pip", "download", "-q", "--no-deps", "--no-build-isolation", "--no-clean"]
    if not (cache / "sglang").exists():
        subprocess.run([*download, "--only-binary", ":all:", "-d", cache, f"sglang=={SGLANG}"], check=True)
        with zipfile.ZipFile(next(cache.glob("sglang-*.whl"))) as wheel:
            wheel.extractall(cache, [name for name in wheel.namelist() if name.startswith("sglang/srt/")])
    if not (cache / "vllm").exists():
        # pip cannot tell the dependencies of the source package without torch, but leaves what it unpacked.
        (cache / "tmp").mkdir(exist_ok=True)
        environment = {**os.environ, "TMPDIR": str(cache / "tmp")}
        command = [*download, "--no-binary", "vllm", "-d", cache, f"vllm=={VLLM}"]
        subprocess.run(command, env=environment, capture_output=True)
        source = next(cache.glob("tmp/pip-download-*/vllm_*/vllm"), None)
        assert source, "pip unpacked no vLLM"
        source.rename(cache / "vllm")
    if Path(sys.prefix).resolve() != (cache / "venv").resolve():
        os.execv(python, [python, *sys.argv])


class Anything(type):
    """The class of stubs: any attribute, index, call or operator gives a stub."""

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return stub(name)

    def __getitem__(cls, key):
        return cls

    def __or__(cls, other):
        return cls

    __ror__ = __or__


def stub(name):
    def new(cls, *arguments, **named):
        # As a decorator: what it decorates.
        return arguments[0] if len(arguments) == 1 and callable(arguments[0]) else object.__new__(cls)

    def core_schema(cls, source, handler):
        from pydantic_core import core_schema

        return core_schema.any_schema()

    methods = {"__new__": new, "__init__": lambda self, *arguments, **named: None}
    return Anything(name, (), {**methods, "__get_pydantic_core_schema__": classmethod(core_schema)})


class Stub(types.ModuleType):
    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        value = stub(name)
        setattr(self, name, value)
        return value


class Stubs(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Stubs of what is neither real nor installed."""

    def find_spec(self, name, path, target=None):
        package = name.partition(".")[0]
        if package not in ("vllm", "sglang", "torch", "transformers", "xgrammar"):
            return None
        if name not in NOT_REAL and any(name == real or (name + ".").startswith(real) for real in REAL):
            # A package's own `__init__` imports all its parsers, or the engine.
            if not any(name + "." == real for real in REAL) or name == "vllm.parser.engine":
                return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        module = Stub(spec.name)
        directory = CACHE / spec.name.replace(".", "/")
        module.__path__ = [str(directory)] if directory.is_dir() else []
        return module

    def exec_module(self, module):
        fill = FILLED.get(module.__name__)
        if fill:
            fill(module)


def openai_base_model(module):
    import pydantic

    module.OpenAIBaseModel = type(
        "OpenAIBaseModel", (pydantic.BaseModel,), {"model_config": pydantic.ConfigDict(extra="allow")}
    )


def sglang_protocol(module):
    import pydantic

    class Function(pydantic.BaseModel):
        name: str
        description: str | None = None
        parameters: object = None
        strict: bool | None = None

    class Tool(pydantic.BaseModel):
        type: str = "function"
        function: Function

    module.Function, module.Tool = Function, Tool


def vllm_protocol(module):
    import pydantic

    class FunctionDefinition(pydantic.BaseModel):
        name: str
        description: str | None = None
        parameters: dict | None = None

    class ChatCompletionToolsParam(pydantic.BaseModel):
        type: str = "function"
        function: FunctionDefinition

    class ChatCompletionRequest:
        tool_choice = "auto"
        skip_special_tokens = False
        include_reasoning = True

        def __init__(self, tools):
            self.tools = tools

    module.ChatCompletionToolsParam, module.FunctionDefinition = ChatCompletionToolsParam, FunctionDefinition
    module.ChatCompletionRequest = ChatCompletionRequest


def vllm_chat_utils(module):
    import uuid

    module.make_tool_call_id = lambda *_, **__: f"chatcmpl-tool-{uuid.uuid4().hex[:16]}"
    module.get_tool_call_id_type = lambda *_, **__: "random"


def vllm_logger(module):
    module.init_logger = logging.getLogger


def vllm_envs(module):
    module.VLLM_MAX_STOP_STRINGS = 16
    module.VLLM_ENFORCE_STRICT_TOOL_CALLING = False


def is_list_of(module):
    module.is_list_of = lambda value, kind, **_: isinstance(value, list) and all(isinstance(v, kind) for v in value)


def is_mistral_tokenizer(module):
    module.is_mistral_tokenizer = lambda _: False


FILLED = {
    "vllm.entrypoints.serve.engine.protocol": openai_base_model,
    "vllm.entrypoints.openai.chat_completion.protocol": vllm_protocol,
    "vllm.renderers.chat_utils": vllm_chat_utils,
    "vllm.logger": vllm_logger,
    "vllm.envs": vllm_envs,
    "vllm.utils.collection_utils": is_list_of,
    "vllm.utils.mistral": is_mistral_tokenizer,
    "sglang.srt.entrypoints.openai.protocol": sglang_protocol,
}


class Tokenizer:
    """A tokenizer of the markers; 0 is any other token."""

    def __init__(self):
        self.ids = {marker: at for at, marker in enumerate(MARKERS, 1)}
        self.texts = {at: marker for marker, at in self.ids.items()}

    def get_vocab(self):
        return self.ids

    def decode(self, ids, **_):
        return "".join(self.texts.get(at, "") for at in ids)

    def encode(self, text, **_):
        return [self.ids.get(text, 0)]

    def convert_tokens_to_ids(self, token):
        return self.ids.get(token)


class Vllm:
    """Joins the fragments of the calls, as a client does."""

    def __init__(self, syntax):
        module, name = VLLM_PARSERS[syntax]
        protocol = importlib.import_module("vllm.entrypoints.openai.chat_completion.protocol")
        function = protocol.FunctionDefinition(name=TOOL, parameters=PARAMETERS)
        tools = [protocol.ChatCompletionToolsParam(function=function)]
        parser = getattr(importlib.import_module(f"vllm.tool_parsers.{module}"), name)
        self.parser = parser(Tokenizer(), tools)
        if self.parser.engine_based_streaming:
            self.parser.skip_reasoning_parsing = True
        self.request = protocol.ChatCompletionRequest(tools)

    def read(self, deltas, ids):
        parse, request, calls = self.parser.extract_tool_calls_streaming, self.request, {}
        text, token_ids, engine = "", [], self.parser.engine_based_streaming
        for delta, own in zip(deltas, ids):
            # As the server's `StreamState`: only the parsers without an engine get the text so far.
            current, current_ids = (delta, own) if engine else (text + delta, token_ids + own)
            message = parse(text, current, delta, token_ids, current_ids, own, request)
            if not engine:
                text, token_ids = current, current_ids
            if message is not None:
                self.add(message, calls)
        if engine:
            message = self.parser.finish_streaming()
            if message is not None:
                self.add(message, calls)
        return [("".join(names), "".join(arguments)) for names, arguments in calls.values()]

    @staticmethod
    def add(message, calls):
        for call in message.tool_calls or ():
            names, arguments = calls.setdefault(call.index, ([], []))
            function = call.function
            name, part = (
                (function.get("name"), function.get("arguments"))
                if isinstance(function, dict)
                else (function.name, function.arguments)
            )
            if name:
                names.append(name)
            if part:
                arguments.append(part)


class Sglang:
    """The same with SGLang."""

    def __init__(self, syntax):
        module, name = SGLANG_PARSERS[syntax]
        protocol = importlib.import_module("sglang.srt.entrypoints.openai.protocol")
        self.tools = [protocol.Tool(function=protocol.Function(name=TOOL, parameters=PARAMETERS))]
        self.parser = getattr(importlib.import_module(f"sglang.srt.function_call.{module}"), name)()

    def read(self, deltas, ids):
        parse, tools, calls = self.parser.parse_streaming_increment, self.tools, {}
        for delta in deltas:
            for item in parse(delta, tools).calls:
                names, arguments = calls.setdefault(item.tool_index, ([], []))
                if item.name:
                    names.append(item.name)
                arguments.append(item.parameters)
        return [("".join(names), "".join(arguments)) for names, arguments in calls.values()]


PEERS = {"vLLM": (Vllm, VLLM_PARSERS), "SGLang": (Sglang, SGLANG_PARSERS)}


def split(text, has_whole_markers):
    """Deltas of at least four bytes, which end at the end of a character."""

    def marker(at):
        return next((m for m in MARKERS if has_whole_markers and text.startswith(m, at)), None)

    deltas, start = [], 0
    while start < len(text):
        whole = marker(start)
        end, size = start + len(whole or ""), 0
        while not whole and end < len(text) and size < 4 and (end == start or not marker(end)):
            size += len(text[end].encode())
            end += 1
        deltas.append(text[start:end])
        start = end
    ids = Tokenizer().ids
    return deltas, [[ids.get(delta, 0) if has_whole_markers else 0] for delta in deltas]


def is_call(calls, expected):
    try:
        return len(calls) == 1 and calls[0][0] == TOOL and json.loads(calls[0][1]) == expected
    except ValueError:
        return False


def seconds(peer, syntax, stream, expected):
    """The time to read the stream; the call is checked, not timed."""
    parser = peer(syntax)
    start = time.perf_counter()
    calls = parser.read(*stream)
    taken = time.perf_counter() - start
    return taken if is_call(calls, expected) else None


def median_seconds(peer, syntax, stream, expected, rounds):
    """The median over the rounds, after one of warming up; `None` if the call is not found."""
    first = seconds(peer, syntax, stream, expected)
    if first is None or first > SLOW:
        return first
    return statistics.median(seconds(peer, syntax, stream, expected) for _ in range(rounds))


def main():
    global CACHE
    arguments = argparse.ArgumentParser()
    arguments.add_argument("directory", type=Path)
    arguments.add_argument("--cache", type=Path, default=Path("target/call-syntaxes"))
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--syntax")
    arguments = arguments.parse_args()
    CACHE = arguments.cache.resolve()
    CACHE.mkdir(parents=True, exist_ok=True)
    install(CACHE)
    sys.meta_path.insert(0, Stubs())
    sys.path.insert(0, str(CACHE))
    logging.disable(logging.CRITICAL)
    print(f"vLLM {VLLM}, SGLang {SGLANG}, Python {sys.version.split()[0]}, ns per delta of 4 bytes\n")
    print("| | | 1 KB | 64 KB | exponent |\n|---|---|--:|--:|--:|")
    for syntax in [arguments.syntax] if arguments.syntax else SYNTAXES:
        texts = [(arguments.directory / f"{syntax}.{size}.txt").read_text() for size in SIZES]
        expected = [json.loads((arguments.directory / f"arguments.{size}.json").read_text()) for size in SIZES]
        for label, (peer, parsers) in PEERS.items():
            if syntax not in parsers:
                print(f"| {syntax} | {label} | none | | |", flush=True)
                continue
            for has_whole_markers in (False, True):
                streams = [split(text, has_whole_markers) for text in texts]
                counts = [len(deltas) for deltas, _ in streams]
                times = []
                for at, stream in enumerate(streams):
                    if at == 2 and times[1]:
                        growth = math.log(times[1] / times[0]) / math.log(counts[1] / counts[0])
                        estimate = times[1] * (counts[2] / counts[1]) ** growth
                        if estimate > TOO_SLOW:
                            break
                    times.append(median_seconds(peer, syntax, stream, expected[at], arguments.rounds))
                    if times[-1] is None:
                        break
                if None not in times:
                    break
            else:
                print(f"| {syntax} | {label} | does not find the call | | |", flush=True)
                continue
            exponent = math.log(times[-1] / times[0]) / math.log(counts[len(times) - 1] / counts[0])
            note = ", markers in one delta" if has_whole_markers else ""
            short = f"{times[0] * 1e9 / counts[0]:.0f}"
            long = f"{(times[2] if len(times) == 3 else estimate) * 1e9 / counts[2]:.0f}"
            if len(times) == 2:
                long = f"about {long}, estimated"
            print(f"| {syntax} | {label}{note} | {short} | {long} | {exponent:.2f} |", flush=True)


if __name__ == "__main__":
    main()
