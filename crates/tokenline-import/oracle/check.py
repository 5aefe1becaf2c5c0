#!/usr/bin/env python3
"""Imports random odd stores with the library and with the oracle, and compares what they write, reject and count.

    cargo build -p tokenline-import --example cases
    crates/tokenline-import/oracle/check.py --cases 2000 --program target/debug/examples/cases

Exits with 1 after it printed the first differences, each as a small case.
"""
import argparse
import collections
import contextlib
import itertools
import json
import random
import subprocess
import sys
import threading

import oracle
import stores

REJECT = ("source", "row", "line", "message_number", "code", "column")
COUNTS = ("row_count", "rejected_row_count", "rejected_conversation_count", "rejects_by_code", "summary")


def results(program, cases):
    """Yields each case with the result of the program."""
    process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")
    fed = collections.deque()

    def feed():
        # The pipe breaks if the program fails.
        with contextlib.suppress(BrokenPipeError), process.stdin:
            for case in cases:
                fed.append(case)
                process.stdin.write(json.dumps(case.json()) + "\n")

    feeder = threading.Thread(target=feed)
    feeder.start()
    with process.stdout:
        for line in process.stdout:
            yield fed.popleft(), reduced(json.loads(line))
    feeder.join()
    if process.wait() != 0:
        sys.exit(f"{program} failed" + (f" with {json.dumps(fed[0].json())}" if fed else ""))


def reduced(result):
    """The compared members of a result of the program."""
    if "error" in result:
        return {"error": True}
    rejects = [{name: reject.get(name) for name in REJECT} for reject in result["rejects"]]
    counts = {name: result["report"][name] for name in COUNTS}
    return {"conversations": result["conversations"], "rejects": rejects, **counts}


def normal(result):
    """A text that tells 1, 1.0 and true apart."""
    return json.dumps(result, sort_keys=True)


def differs(case, result):
    return normal(oracle.imported(case.json())) != normal(result)


def shrunk(program, case):
    """A smaller case that differs as well."""
    while True:
        smaller = [less for less, result in results(program, case.smaller()) if differs(less, result)]
        if not smaller:
            return case
        case = smaller[0]


def describe(program, case):
    """Prints a case, and where the results differ."""
    [(case, found)] = results(program, [shrunk(program, case)])
    expected = oracle.imported(case.json())
    print(json.dumps(case.json()))
    for name in dict.fromkeys((*expected, *found)):
        if normal(expected.get(name)) != normal(found.get(name)):
            print(f"  {name}\n    oracle:  {json.dumps(expected.get(name))}")
            print(f"    program: {json.dumps(found.get(name))}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--program", required=True, help="the example `cases`")
    parser.add_argument("--show", type=int, default=3, help="differences to print")
    parser.add_argument("--known", nargs="*", choices=stores.KNOWN, default=[], help="known differences to show, too")
    options = parser.parse_args()
    generator = stores.Generator(random.Random(options.seed), options.known)
    cases = (generator.case() for _ in range(options.cases))
    differences, conversations, codes = [], 0, set()
    for case, result in results(options.program, cases):
        conversations += len(result.get("conversations", ()))
        codes.update(result.get("rejects_by_code", ()))
        if differs(case, result):
            differences.append(case)
    for case in itertools.islice(differences, options.show):
        describe(options.program, case)
    print(f"{options.cases} cases, {conversations} conversations, {len(codes)} codes: {len(differences)} differences")
    sys.exit(bool(differences))


if __name__ == "__main__":
    main()
