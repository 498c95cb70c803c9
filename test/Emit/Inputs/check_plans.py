# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks launch plans against their schema.

  check_plans.py SCHEMA PLAN.json|PLANS.txt...

A .txt holds several, each after a line "--- NAME". In one called refused.txt the
schema must refuse all but those that begin with "---!". Prints how many plans did as
they should, and what is wrong with the others.
"""

import json
import re
import sys
from pathlib import Path

import jsonschema


def plans_of(path):
    """(name, plan, whether the schema must accept it)"""
    if path.suffix != ".txt":
        yield path.name, json.loads(path.read_text()), True
        return
    text = re.sub(r"\A(#.*\n)*", "", path.read_text())
    for mark, name, plan in re.findall(r"^---(!?) (.*)\n((?:(?!---).*\n)*)", text, re.M):
        yield name, json.loads(plan), path.stem != "refused" or bool(mark)


def main():
    schema = json.loads(Path(sys.argv[1]).read_text())
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)
    right = wrong = 0
    for path in sys.argv[2:]:
        for name, plan, accepted in plans_of(Path(path)):
            errors = list(validator.iter_errors(plan))
            if (not errors) == accepted:
                right += 1
                continue
            wrong += 1
            print(f"{path}: {name}: expected to be {'accepted' if accepted else 'refused'}")
            for error in errors:
                print(f"  {'/'.join(map(str, error.absolute_path))}: {error.message}")
    print(f"{right} right, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
