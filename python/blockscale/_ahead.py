# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions compiled now, in a file, and called where nothing may compile.

zipfile takes longer to import than the rest of the package, so that only what needs it does so.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import io
import json
import os
from collections.abc import Sequence
from typing import Any, NoReturn, Union

from blockscale import _native
from blockscale._compile import PLACES, Compiled, Source, name_arguments, read_source
from blockscale._errors import ArgumentError, DeviceError, Error, FileError, check, fail, read_file
from blockscale._files import write
from blockscale._json import parse
from blockscale._progress import Progress, watch_steps
from blockscale._trace import Module

_VERSION = 1
_MANIFEST = "manifest.json"
_MEMBERS = {"version": int, "source": str, "arguments": list, "targets": list}

File = Union[bytes, str, "os.PathLike[str]"]


def compile_ahead(source: Source, path: str | os.PathLike[str] | None = None, *,
                  targets: Sequence[str] = ("cpu",), entry: str | None = None, fuse: bool = True,
                  tuned: str | os.PathLike[str] | None = None, cpu: str | None = None,
                  policy: str | os.PathLike[str] | None = None, ptxas: str | None = None,
                  progress: Progress | None = None, bytecode_reader: str | None = None,
                  checks: bool = True) -> bytes:
    """Compiles a function for several targets: the bytes of a file that load() takes, also on
    another machine and where nothing may be compiled. They are written to `path` if it is given.

    Args:
      source: as for compile().
      targets: "cpu" and chips, as "sm_90a".
      cpu: the oldest CPU that the function is to run on, "x86-64-v3"; None for one with all
        instructions of this machine.
      ptxas: the program that makes machine code of kernels, which spares a GPU's driver its
        compiler; None for a search. Where none is found, the file has PTX alone.
      entry, fuse, tuned, policy, progress, bytecode_reader, checks: as for compile(); `tuned` is
        for the chips.

    Raises: CompileError, ArgumentError, FileError.
    """
    if isinstance(targets, str) or not targets or len(set(targets)) != len(targets):
        raise ArgumentError("expected targets to be a list of different targets, but got "
                            f"{targets!r}")
    if cpu is not None and "cpu" not in targets:
        raise ArgumentError(f"expected cpu among the targets with a name of one, but got "
                            f"{', '.join(targets)}")
    content, name = read_source(source)

    def create(target: str, watch: Progress | None) -> Any:
        is_cpu = target == "cpu"
        folder = None if tuned is None or is_cpu else os.fspath(tuned)
        return _native.create_executable(
            content, name, PLACES["cpu" if is_cpu else "emulator"], entry,
            None if is_cpu else target, 0, fuse, folder, watch, bytecode_reader,
            None if policy is None else os.fspath(policy), cpu if is_cpu else None, True,
            None if is_cpu else ptxas or "", checks)

    parts = {}
    for target in targets:
        executable, _ = check(watch_steps(progress, functools.partial(create, target)))
        parts[target] = check(executable.save())[0]
    manifest = {"version": _VERSION, "source": hash_source(source),
                "arguments": name_arguments(source), "targets": list(targets)}
    data = _pack(manifest, parts)
    if path is not None:
        try:
            write(os.fspath(path), data)
        except OSError as error:
            fail("BLOCKSCALE_FILE", f"cannot write '{os.fspath(path)}': {error.strerror}")
    return data


def hash_source(source: Source) -> str:
    """A hash of a module. That of a traced one does not depend on where files of Python are."""
    if not isinstance(source, Module):
        return hashlib.sha256(read_source(source)[0]).hexdigest()
    found = hashlib.sha256(str(source).encode())
    for name, array in source.resources.items():
        found.update(name.encode())
        found.update(array.tobytes())
    return found.hexdigest()


def _pack(manifest: dict[str, Any], parts: dict[str, bytes]) -> bytes:
    """A ZIP, whose bytes are the same for the same content."""
    import zipfile
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(zipfile.ZipInfo(_MANIFEST), json.dumps(manifest, indent=1) + "\n")
        for target, part in parts.items():
            archive.writestr(zipfile.ZipInfo(f"{target}.bsf"), part)
    return packed.getvalue()


@dataclasses.dataclass(frozen=True)
class _Ahead:
    """What a file has."""

    name: str
    source: str
    arguments: list[str]
    parts: dict[str, bytes]


def _refuse(name: str, problem: str) -> NoReturn:
    fail("BLOCKSCALE_INVALID_BUNDLE", f"{name}: {problem}")


def _read_manifest(name: str, text: bytes) -> dict[str, Any]:
    try:
        manifest = parse(text, _MANIFEST)
    except ArgumentError as error:
        _refuse(name, str(error))
    version = manifest.get("version") if isinstance(manifest, dict) else None
    if version != _VERSION:
        _refuse(name, f"expected version {_VERSION} of files of compile_ahead, but got {version}")
    for key, kind in _MEMBERS.items():
        if not isinstance(manifest.get(key), kind):
            _refuse(name, f"expected '{key}' of {_MANIFEST} to be of type {kind.__name__}, but "
                          f"got {manifest.get(key)!r}")
    found: dict[str, Any] = manifest
    return found


def _read_member(archive: Any, member: str) -> bytes:
    """The bytes of a member. compile_ahead() packs none: a small file would be a large one."""
    info = archive.getinfo(member)
    if info.compress_type:
        raise ValueError(f"expected '{member}' as it is, but got it compressed")
    found: bytes = archive.read(info)
    return found


def read_ahead(file: File) -> _Ahead:
    import zipfile
    if isinstance(file, bytes):
        name, data = "<bytes>", file
    else:
        name, data = os.fspath(file), read_file(file)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            manifest = _read_manifest(name, _read_member(archive, _MANIFEST))
            parts = {target: _read_member(archive, f"{target}.bsf")
                     for target in manifest["targets"]}
    except Error:
        raise
    except Exception as error:  # A damaged archive raises many of them.
        _refuse(name, f"expected a file that compile_ahead wrote, but it is none or damaged: "
                      f"{error}")
    return _Ahead(name, manifest["source"], manifest["arguments"], parts)


class Loaded(Compiled):
    """A function that was compiled ahead. It has no module, and therefore no stages."""

    def __init__(self, ahead: _Ahead, target: str, on: str, device: int, executable: Any):
        self._ahead = ahead
        self.target = target
        self._on = on
        self._device = device
        self._names = ahead.arguments
        self._caller = self._wrap(executable)
        self._ptx = None

    def _compile(self, emission: int, progress: Progress | None, stages: bool = False) -> Any:
        raise ArgumentError(f"expected a module to compile, but {self._ahead.name} has a compiled "
                            "function alone; compile its module with blockscale.compile()")


def load(file: File, *, target: str | None = None, on: str | None = None,
         device: int = 0) -> Loaded:
    """A function of a file of compile_ahead(), by the same version of BlockScale. Nothing is
    compiled but what the driver of a GPU makes of PTX. The file has machine code, as a program
    does: take it from whom you would take a program.

    Args:
      file: its path or its bytes.
      target: one of the file's; None for the CPU's where the file has it and `on` allows, else
        the one that suits best.
      on: "cpu", "emulator" or "cuda"; None for "cpu", or for a chip "emulator".
      device: the number of the GPU.

    Raises: ArgumentError where the file lacks the target, FileError where it cannot be read, is
      damaged or of another version, DeviceError where this machine cannot run what it has.
    """
    return load_from(read_ahead(file), target, on, device)


def _choose(ahead: _Ahead, target: str | None, on: str | None) -> tuple[list[str], str]:
    """The targets to try in order, and the place."""
    if on is not None and on not in PLACES:
        raise ArgumentError(f"expected on to be cpu, emulator or cuda, but got {on!r}")
    known = ", ".join(ahead.parts)
    if target is not None:
        if target not in ahead.parts:
            raise ArgumentError(f"expected target to be one of {known}, which {ahead.name} has, "
                                f"but got {target}")
        return [target], on or ("cpu" if target == "cpu" else "emulator")
    if on is None:
        on = "cpu" if "cpu" in ahead.parts else "emulator"
    fitting = [each for each in ahead.parts if (each == "cpu") == (on == "cpu")]
    if not fitting:
        raise ArgumentError(f"expected a file with a target for {on}, but {ahead.name} has "
                            f"{known}")
    # Of the chips that a GPU can run, the newest suits it best.
    return sorted(fitting, key=lambda chip: int("0" + "".join(filter(str.isdigit, chip))),
                  reverse=True), on


def load_from(ahead: _Ahead, target: str | None, on: str | None, device: int) -> Loaded:
    targets, place = _choose(ahead, target, on)
    for number, each in enumerate(targets):
        try:
            executable, _ = check(_native.load_executable(ahead.parts[each], PLACES[place],
                                                          device))
            break
        except (DeviceError, FileError) as error:
            is_last = number + 1 == len(targets)
            if is_last or error.status != "BLOCKSCALE_WRONG_CHIP":
                error.args = (f"{ahead.name}: {each}: {error}",)
                raise
    return Loaded(ahead, each, place, device, executable)
