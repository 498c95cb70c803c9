# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from collections.abc import Callable
from typing import Any

version: str
recipes: tuple[str, ...]
_Diagnostics = list[tuple[Any, ...]]
_Progress = Callable[[str, int, int], None] | None
_Array = tuple[int, int, list[int], list[int]]

def status_name(status: int) -> str: ...
def dtype_name(dtype: int) -> str: ...
def set_num_threads(threads: int) -> None: ...
def compile(source: bytes, source_name: str, targets: list[str], emission: int,
            ptxas: str | None, fuse: bool, tuned: str | None, remarks: bool,
            keep_stages: bool, progress: _Progress, bytecode_reader: str | None = None,
            policy: str | None = None
            ) -> tuple[int, str, _Diagnostics, tuple[bytes, list[tuple[str, str]]]]: ...
def create_executable(source: bytes, source_name: str, place: int, entry: str | None,
                      chip: str | None, device: int, fuse: bool, tuned: str | None,
                      progress: _Progress, bytecode_reader: str | None = None,
                      policy: str | None = None
                      ) -> tuple[int, str, _Diagnostics, Executable]: ...

class Executable:
    @property
    def entry(self) -> str: ...
    def slots(self, role: int) -> list[tuple[str, int, list[int], bool]]: ...
    def result_shapes(self, arguments: list[_Array]
                      ) -> tuple[int, str, _Diagnostics, list[list[int]]]: ...
    def call(self, arguments: list[_Array], results: list[_Array], stream: int,
             accept_nan_scales: bool, adversarial: bool, seed: int, progress: _Progress
             ) -> tuple[int, str, _Diagnostics, None]: ...
    def add_to_xla(self, constants: list[_Array]) -> int: ...

class Exchanged:
    address: int
    dtype: tuple[int, int]
    device: tuple[int, int]
    shape: list[int]
    strides: list[int]
    is_writable: bool

def xla_handler() -> Any: ...
def exchange(object: Any) -> Exchanged: ...
