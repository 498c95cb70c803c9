# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gives policies to blockscale-quantize-products and to their schema.

  check_policies.py POLICIES.txt SCHEMA

A line of POLICIES.txt is a policy that both accept, or `POLICY => ERROR`: the pass refuses
it with that message after the file's name, and so does the schema, unless the line begins
with `~`. Prints how many policies were taken so, and what is wrong with the others.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import jsonschema


def pass_error(text, folder):
    """What the pass says of a policy, after the file's name; "" of one that it accepts."""
    path = Path(folder) / "policy.json"
    path.write_text(text)
    process = subprocess.run(
        ["blockscale-opt", "-", f"--blockscale-quantize-products=policy={path}"],
        input="module {}", capture_output=True, text=True)
    if process.returncode == 0:
        return process.stderr
    first = process.stderr.splitlines()[0]
    return first.partition(f"error: {path}")[2] or first


def main():
    schema = json.loads(Path(sys.argv[2]).read_text())
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)
    right = wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for line in Path(sys.argv[1]).read_text().splitlines():
            if not line or line.startswith("#"):
                continue
            text, _, message = line.removeprefix("~").partition(" => ")
            found = pass_error(text, folder)
            schema_accepts = line.startswith("~") or not message
            try:
                accepted = validator.is_valid(json.loads(text))
            except json.JSONDecodeError:
                accepted = False
            if found == message and accepted == schema_accepts:
                right += 1
                continue
            wrong += 1
            print(f"{text}\n  expected: {message}\n  found:    {found}\n  the schema "
                  f"{'accepts' if accepted else 'refuses'} it")
    print(f"{right} right, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
