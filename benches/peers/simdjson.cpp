// Parses JSON Lines with simdjson: `parse_many` into its DOM, in batches of 1 MB, on one thread. `scripts/measure` builds
// it, and the group `parse` runs it (benches/src/contenders/parse/simdjson.rs).
//
//     simdjson BYTES     BYTES bytes of lines on standard input, then a byte for each pass
//
// Prints the nanoseconds of each pass and its number of documents. The DOM checks UTF-8, unescapes every string and converts
// every number.
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include <simdjson.h>

constexpr size_t BATCH_BYTES = 1'000'000;

[[noreturn]] static void fail(const char *message) {
  std::fprintf(stderr, "simdjson: %s\n", message);
  std::exit(1);
}

static size_t parse(simdjson::dom::parser &parser, const simdjson::padded_string &lines) {
  simdjson::dom::document_stream documents;
  if (auto error = parser.parse_many(lines, BATCH_BYTES).get(documents)) fail(simdjson::error_message(error));
  size_t count = 0;
  for (auto document : documents) {
    if (document.error()) fail(simdjson::error_message(document.error()));
    ++count;
  }
  if (documents.truncated_bytes() > 0) fail("the last line is truncated");
  return count;
}

int main(int argc, char **argv) {
  if (argc != 2) fail("usage: simdjson BYTES");
  simdjson::padded_string lines(std::strtoull(argv[1], nullptr, 10));
  if (std::fread(lines.data(), 1, lines.size(), stdin) != lines.size()) fail("the input is too short");
  simdjson::dom::parser parser;
  parser.threaded = false;
  while (std::getchar() != EOF) {
    auto start = std::chrono::steady_clock::now();
    size_t count = parse(parser, lines);
    std::chrono::nanoseconds time = std::chrono::steady_clock::now() - start;
    std::printf("%lld %zu\n", static_cast<long long>(time.count()), count);
    std::fflush(stdout);
  }
}
