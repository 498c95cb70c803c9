# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The files of measured choices of schedules, which docs/Tuning.md describes.

    ROOT/HASH/manifest.json    an environment: where and how its choices were measured
    ROOT/HASH/NAME.json        a choice

HASH is the beginning of the SHA-256 of the manifest, so that another environment is another
folder. A file is written under another name and renamed: any number of writers and readers
may work at once, and what one sees is whole. What is not a choice is none: `read_choice`
answers None. The compiler reads the same files (lib/Conversion/TunedSchedules.cpp).
"""

import hashlib
import json
import os
import tempfile
from pathlib import Path

VERSION = 1
MANIFEST = "manifest.json"
TEXTS = ("chip", "compiler", "gpu", "driver", "policy", "unit")
PARAMETERS = ("rows", "cols", "stages", "band", "ctas", "multicast", "splits")


def _is_integer(value):
    return isinstance(value, int) and not isinstance(value, bool)


def _has(value, names):
    """Whether it is an object with these members and no others."""
    return isinstance(value, dict) and set(value) == set(names)


def _read(path):
    """A JSON document without repeated members, or None."""
    def make(pairs):
        if len(dict(pairs)) != len(pairs):
            raise ValueError("a member is there twice")
        return dict(pairs)

    try:
        return json.loads(path.read_text(), object_pairs_hook=make)
    except (OSError, ValueError, RecursionError):
        return None


def _write(path, text):
    """Writes a file at once."""
    with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=".", suffix=".tmp",
                                     delete=False) as file:
        file.write(text)
    # Those of a temporary file are for its owner alone.
    os.chmod(file.name, 0o644)
    os.replace(file.name, path)


def open_environment(root, manifest):
    """The folder of an environment, which is made where it is missing. `manifest` has the
    members of TEXTS and `multiprocessors`."""
    text = json.dumps({"version": VERSION} | manifest, indent=1, sort_keys=True) + "\n"
    folder = Path(root) / hashlib.sha256(text.encode()).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / MANIFEST).exists():
        _write(folder / MANIFEST, text)
    return folder


def read_manifest(folder):
    """The manifest of an environment, or None where there is none or it was changed."""
    path = Path(folder) / MANIFEST
    value = _read(path)
    if (not _has(value, ("version", "multiprocessors", *TEXTS)) or value["version"] != VERSION
            or not _is_integer(value["multiprocessors"])
            or not all(isinstance(value[name], str) for name in TEXTS)):
        return None
    name = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    return value if Path(folder).resolve().name == name else None


def find_environments(root):
    """Folders and manifests of the environments at or in `root`."""
    root = Path(root)
    folders = [root] if (root / MANIFEST).exists() else sorted(
        path.parent for path in root.glob(f"*/{MANIFEST}"))
    return [(folder, manifest) for folder in folders if (manifest := read_manifest(folder))]


def write_choice(folder, name, key, schedule, measured_at, candidates):
    """Writes a choice. Candidates have `schedule`, `predicted_ns` and `measured`, the model's
    best first."""
    value = {"version": VERSION, "key": key, "schedule": schedule, "measured_at": measured_at,
             "candidates": candidates}
    _write(Path(folder) / f"{name}.json", json.dumps(value, indent=1) + "\n")


def _is_schedule(value):
    return _has(value, PARAMETERS) and all(_is_integer(each) for each in value.values())


def _is_candidate(value):
    return (_has(value, ("schedule", "predicted_ns", "measured"))
            and _is_schedule(value["schedule"]) and _is_integer(value["predicted_ns"])
            and _is_integer(value["measured"]))


def read_choice(folder, name):
    """A choice, or None where there is none or the file is anything else."""
    value = _read(Path(folder) / f"{name}.json")
    is_choice = (
        _has(value, ("version", "key", "schedule", "measured_at", "candidates"))
        and value["version"] == VERSION and isinstance(value["key"], dict)
        and all(isinstance(each, str) for each in value["key"].values())
        and _is_schedule(value["schedule"]) and isinstance(value["measured_at"], str)
        and isinstance(value["candidates"], list)
        and all(_is_candidate(each) for each in value["candidates"]))
    return value if is_choice else None


def read_choices(folder):
    """All choices of an environment by name."""
    names = sorted(path.stem for path in Path(folder).glob("*.json") if path.name != MANIFEST)
    return {name: choice for name in names if (choice := read_choice(folder, name))}
