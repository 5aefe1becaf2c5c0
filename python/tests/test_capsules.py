"""The Arrow PyCapsule interface, with pyarrow, Polars and DuckDB, and with producers that do not keep to it."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable, Iterator
from typing import Any

import psutil  # type: ignore[import-untyped]
import pytest

pa = pytest.importorskip("pyarrow")

from tokenline import arrow  # noqa: E402

TEXTS = pa.array(['{"a":1}\n', None, 'Sure: {"a":2}\n{"a":3}\n{"a', "", "none"])
EXPECTED = pa.array(arrow.extract(TEXTS)).to_pylist()


class Producer:
    """An object whose methods return what they are told to."""

    def __init__(self, *, array: Any = None, stream: Any = None) -> None:
        if array is not None:
            self.__arrow_c_array__ = lambda *_: array
        if stream is not None:
            self.__arrow_c_stream__ = lambda *_: stream


NAME = b"arrow_array_stream"
RELEASE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
GET = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
LAST_ERROR = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)


class CStream(ctypes.Structure):
    _fields_ = [
        ("get_schema", GET),
        ("get_next", GET),
        ("get_last_error", LAST_ERROR),
        ("release", RELEASE),
        ("private_data", ctypes.c_void_p),
    ]


class Stream:
    """A stream of texts, whose callbacks are in Python: these arrays, the last of which may be an error instead."""

    def __init__(self, *arrays: Any, schema_error: int = 0) -> None:
        self.arrays = iter(arrays)
        self.schema_error = schema_error
        self.error: ctypes.Array[ctypes.c_char] | None = None
        self.released = 0
        self.struct = CStream(
            GET(self.get_schema), GET(self.get_next), LAST_ERROR(self.last_error), RELEASE(self.release)
        )
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        self.capsule = new(ctypes.addressof(self.struct), NAME, None)

    def __arrow_c_stream__(self) -> Any:
        return self.capsule

    def get_schema(self, _: int, out: int) -> int:
        if not self.schema_error:
            pa.field("", pa.string())._export_to_c(out)
        return self.schema_error

    def get_next(self, _: int, out: int) -> int:
        array = next(self.arrays, None)
        if isinstance(array, int):
            return array
        if isinstance(array, str):
            self.error = ctypes.create_string_buffer(array.encode())
            return 5
        if array is None:
            ctypes.memset(out, 0, 80)
        else:
            array._export_to_c(out)
        return 0

    def last_error(self, _: int) -> int | None:
        return ctypes.addressof(self.error) if self.error else None

    def release(self, address: int) -> None:
        CStream.from_address(address).release = RELEASE()
        self.released += 1


def test_a_capsule_is_consumed_once() -> None:
    array = Producer(array=TEXTS.__arrow_c_array__())
    assert len(arrow.extract(array)) == 5  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="the arrow_array was consumed already"):
        arrow.extract(array)

    stream = Producer(stream=pa.chunked_array([TEXTS]).__arrow_c_stream__())
    found = arrow.extract(stream)
    with pytest.raises(ValueError, match="the arrow_array_stream was consumed already"):
        arrow.extract(stream)
    assert pa.chunked_array(found).to_pylist() == EXPECTED

    capsules = TEXTS.__arrow_c_array__()
    assert pa.array(Producer(array=capsules)).equals(TEXTS)
    with pytest.raises(ValueError, match="the arrow_schema was consumed already"):
        arrow.extract(Producer(array=(capsules[0], TEXTS.__arrow_c_array__()[1])))


def test_what_is_exported_is_consumed_once_as_well() -> None:
    found = arrow.extract(TEXTS)
    assert isinstance(found, arrow.Extracted)
    again = Producer(array=found.__arrow_c_array__())
    assert pa.array(again).to_pylist() == EXPECTED
    with pytest.raises(Exception, match="released"):
        pa.array(again)
    assert pa.array(found).to_pylist() == EXPECTED


def others() -> Iterator[tuple[Producer, type[Exception], str]]:
    schema, array = TEXTS.__arrow_c_array__()
    not_two = r"`array`: its __arrow_c_array__\(\) must return two capsules"
    for returned in (5, [schema, array], (schema,), (schema, 5)):
        yield Producer(array=returned), TypeError, not_two
    yield Producer(array=(array, schema)), ValueError, "expected a capsule named `arrow_schema`"
    yield Producer(array=(schema, schema)), ValueError, "expected a capsule named `arrow_array`"
    yield Producer(stream=(schema, array)), TypeError, r"`array`: its __arrow_c_stream__\(\) must return a capsule"
    yield Producer(stream=array), ValueError, "expected a capsule named `arrow_array_stream`"


@pytest.mark.parametrize(("producer", "kind", "message"), list(others()))
def test_what_is_no_such_capsule(producer: Producer, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        arrow.extract(producer)


def test_an_error_of_the_producer_is_raised() -> None:
    class Failing:
        def __arrow_c_array__(self) -> Any:
            raise RuntimeError("no array today")

    with pytest.raises(RuntimeError, match="no array today"):
        arrow.extract(Failing())


def test_a_stream_is_read_to_its_end_and_released() -> None:
    stream = Stream(TEXTS, TEXTS.slice(5), TEXTS.slice(2))
    found = pa.chunked_array(arrow.extract(stream))
    assert [len(chunk) for chunk in found.chunks] == [5, 0, 3]
    assert found.to_pylist() == EXPECTED + EXPECTED[2:]
    gc.collect()
    assert stream.released == 1


@pytest.mark.parametrize(("error", "message"), [("the disk is full", "the disk is full"), (5, "error code 5")])
def test_a_stream_that_fails_in_the_middle(error: Any, message: str) -> None:
    stream = Stream(TEXTS, error)
    found = arrow.extract(stream)
    with pytest.raises(pa.ArrowInvalid, match=message):
        pa.chunked_array(found)
    gc.collect()
    assert stream.released == 1


def test_a_stream_ends_with_its_error() -> None:
    capsule = arrow.extract(Stream(TEXTS.slice(3), "the disk is full", TEXTS)).__arrow_c_stream__()  # type: ignore[union-attr]
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address = pointer(capsule, NAME)
    get_next, out = CStream.from_address(address).get_next, ctypes.create_string_buffer(80)
    assert [get_next(address, ctypes.addressof(out)) for _ in range(4)] == [0, 22, 0, 0]


def test_a_stream_that_fails_at_once() -> None:
    stream = Stream(schema_error=5)
    with pytest.raises(ValueError, match="the stream failed with error code 5"):
        arrow.extract(stream)
    assert stream.released == 1


def test_a_reader_of_batches_is_no_column() -> None:
    def batches() -> Iterator[Any]:
        yield pa.record_batch({"text": TEXTS})
        raise RuntimeError("not read so far")

    reader = pa.RecordBatchReader.from_batches(pa.schema([("text", pa.string())]), batches())
    with pytest.raises(TypeError, match="the input column is Struct"):
        arrow.extract(reader)


def test_what_nobody_consumes_is_released() -> None:
    stream = Stream(TEXTS)
    found = arrow.extract(stream)
    assert isinstance(found, arrow.ExtractedStream)
    capsule = found.__arrow_c_stream__()
    assert stream.released == 0
    del found, capsule
    assert stream.released == 1

    before = pa.total_allocated_bytes()
    texts = pa.array(["{}" * 1000])
    capsules = texts.__arrow_c_array__()
    del texts
    with pytest.raises(TypeError):
        arrow.extract(Producer(array=(*capsules[:1], 5)))
    arrow.extract(Producer(array=capsules))
    del capsules
    assert pa.total_allocated_bytes() == before


@pytest.mark.parametrize("kind", ["string", "large_string", "string_view", "binary_view"])
def test_slices_and_empty_arrays(kind: str) -> None:
    texts = pa.concat_arrays([TEXTS] * 4).cast(kind)
    for start, length in [(0, 0), (20, 0), (3, 9), (7, 1), (11, 9)]:
        part = texts.slice(start, length)
        assert pa.array(arrow.extract(part)).to_pylist() == (EXPECTED * 4)[start : start + length]
    assert len(pa.array(arrow.extract(pa.array([], kind)))) == 0


def test_a_stream_without_batches() -> None:
    for source in (pa.chunked_array([], pa.string()), Stream()):
        found = pa.chunked_array(arrow.extract(source))
        assert found.type == pa.field(arrow.output_type()).type
        assert (len(found), found.num_chunks) == (0, 0)


def both() -> Iterator[tuple[str, Callable[[], Any]]]:
    texts = TEXTS.drop_null()
    yield "array", lambda: arrow.extract(texts)
    yield "stream", lambda: arrow.extract(pa.chunked_array([texts.slice(0, 1), texts.slice(1)]))


@pytest.mark.parametrize("make", [make for _, make in both()], ids=[name for name, _ in both()])
def test_other_libraries_consume_it(make: Callable[[], Any]) -> None:
    expected = [row for row in EXPECTED if row]
    assert pa.table(make()).to_pylist() == expected
    pl = pytest.importorskip("polars")
    assert pl.Series(make()).to_list() == expected
    assert pl.DataFrame(make()).to_dicts() == expected
    duckdb = pytest.importorskip("duckdb")
    found = make()
    assert duckdb.sql("SELECT records FROM found WHERE len(records) = 2").fetchall() == [(expected[1]["records"],)]
    assert found is not None


def larger(kind: Any, text: Any = None) -> Any:
    """The type with other text types, and with large lists."""
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(larger(field.type, text)) for field in kind])
    if pa.types.is_list(kind):
        return pa.large_list(kind.value_field.with_name("element").with_type(larger(kind.value_type, text)))
    return (text or pa.large_string()) if pa.types.is_string(kind) else kind


def test_a_requested_layout() -> None:
    kind = pa.field(arrow.output_type()).type
    for text in (pa.large_string(), pa.string_view()):
        requested = larger(kind, text)
        found = arrow.extract(TEXTS.slice(1))
        assert isinstance(found, arrow.Extracted)
        array = pa.array(Producer(array=found.__arrow_c_array__(requested.__arrow_c_schema__())))
        assert array.type == requested
        assert array.to_pylist() == EXPECTED[1:]
        array.validate(full=True)
        stream = arrow.extract(pa.chunked_array([TEXTS, TEXTS.slice(2)]))
        assert isinstance(stream, arrow.ExtractedStream)
        chunks = pa.chunked_array(Producer(stream=stream.__arrow_c_stream__(requested.__arrow_c_schema__())))
        assert chunks.type == requested
        assert chunks.to_pylist() == EXPECTED + EXPECTED[2:]


def test_a_requested_layout_that_does_not_fit_is_declined() -> None:
    found = arrow.extract(TEXTS)
    assert isinstance(found, arrow.Extracted)
    kind = pa.field(arrow.output_type()).type
    renamed = pa.struct([field.with_name(f"{field.name}2") for field in kind])
    required = pa.struct([field.with_nullable(False) for field in kind])
    for requested in (pa.int64(), renamed, required, pa.struct(list(kind)[:1])):
        capsules = found.__arrow_c_array__(requested.__arrow_c_schema__())
        assert pa.array(Producer(array=capsules)).type == kind
    schema, array = found.__arrow_c_array__()
    with pytest.raises(ValueError, match="expected a capsule named `arrow_schema`"):
        found.__arrow_c_array__(array)
    with pytest.raises(TypeError, match="'int' object is not an instance of 'PyCapsule'"):
        found.__arrow_c_array__(5)
    # A requested schema remains the consumer's.
    assert found.__arrow_c_array__(schema) and found.__arrow_c_array__(schema)


def test_memory_is_flat() -> None:
    process = psutil.Process()
    chunks = pa.chunked_array([TEXTS] * 2)
    before = 0
    for turn in range(12_000):
        pa.array(arrow.extract(TEXTS))
        pa.chunked_array(arrow.extract(chunks))
        found = arrow.extract(TEXTS)
        found.__arrow_c_schema__()
        assert isinstance(found, arrow.Extracted)
        # Not consumed.
        found.__arrow_c_array__()
        stream = arrow.extract(chunks)
        if turn % 2:
            assert isinstance(stream, arrow.ExtractedStream)
            stream.__arrow_c_stream__()
        if turn == 2_000:
            gc.collect()
            before = process.memory_info().rss
    gc.collect()
    grown = process.memory_info().rss - before
    assert grown < 4 * 1024 * 1024, f"{grown / 1e6:.1f} MB in 10,000 rounds"


def test_an_array_of_another_shape_than_its_type_is_an_error() -> None:
    class Wrong:
        def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
            return pa.utf8().__arrow_c_schema__(), pa.nulls(3).__arrow_c_array__()[1]

    with pytest.raises(TypeError, match="`array` does not fit the schema"):
        arrow.extract(Wrong())
