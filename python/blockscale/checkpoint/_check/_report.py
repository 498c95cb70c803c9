# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a check found, as text and as JSON."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from blockscale._text import escape
from blockscale.checkpoint._check._loaders import GGUF_ALONE, LOADERS, Form, explain_forms
from blockscale.checkpoint._check._rules import BY_NAME, SEVERITIES, Rule
from blockscale.checkpoint._families import NOT_KNOWN

#: So many findings of a rule are shown as text; JSON has all.
_SHOWN = 8


@dataclasses.dataclass(frozen=True)
class Finding:
    """What breaks a rule.

    Attributes:
      rule: that is broken.
      name: of the tensor, layer or file.
      message: what is expected and what is found.
    """

    rule: Rule
    name: str
    message: str

    def __str__(self) -> str:
        return escape(f"{self.rule.severity}: {self.rule.label}: '{self.name}': {self.message}")


def find(rule: str, name: str, message: str) -> Finding:
    """A finding of a rule by its name."""
    return Finding(BY_NAME[rule], name, message)


@dataclasses.dataclass(frozen=True)
class Report:
    """What a check found.

    Attributes:
      path: of the checkpoint.
      families: of its weights, with the count of them.
      forms: of its weights, each once.
      findings: in the order of rules.
      loaders: those that are asked for.
      is_gguf: whether it is a file of GGUF.
      has_ggml_names: whether tensors have names of llama.cpp's.
      unknown: formats that are not known here, with the count of their weights.
      names: which layers patterns of names alone tell what they are, "" for none.
    """

    path: str
    families: Mapping[str, int]
    forms: tuple[Form, ...]
    findings: tuple[Finding, ...]
    loaders: tuple[str, ...] = LOADERS
    is_gguf: bool = False
    has_ggml_names: bool = False
    unknown: Mapping[str, int] = dataclasses.field(default_factory=dict)
    names: str = ""

    def count(self, severity: str) -> int:
        return sum(finding.rule.severity == severity for finding in self.findings)

    @property
    def is_clean(self) -> bool:
        return not self.findings

    @property
    def has_faults(self) -> bool:
        """Whether there is more than warnings."""
        return any(finding.rule.severity != "warning" for finding in self.findings)

    def _group(self) -> Iterator[tuple[Rule, list[Finding]]]:
        by_rule: dict[int, list[Finding]] = {}
        for finding in self.findings:
            by_rule.setdefault(finding.rule.number, []).append(finding)
        for number in sorted(by_rule):
            yield by_rule[number][0].rule, by_rule[number]

    def explain(self, loader: str) -> str:
        """What a loader does with this checkpoint."""
        if self.unknown:
            return f"{' and '.join(self.unknown)}, {NOT_KNOWN}"
        if loader == "llama.cpp" and not self.is_gguf:
            return str(GGUF_ALONE)
        if self.is_gguf and loader != "llama.cpp":
            return f"{NOT_KNOWN}: GGUF"
        if not self.forms:
            return f"{NOT_KNOWN}: there are no weights"
        told = [explained] if (explained := explain_forms(loader, self.forms)) else []
        rules = [rule for rule, _ in self._group()]
        told += [f"{rule.label}: {rule.loaders[loader]}" for rule in rules
                 if loader in rule.loaders]
        unknown = [rule.label for rule in rules if loader not in rule.loaders]
        if unknown and not explained:
            told.append(f"{', '.join(unknown)}: {NOT_KNOWN}")
        if self.is_gguf and not self.has_ggml_names:
            told.insert(0, "does not find tensors by these names; its converter gives them others")
        # Whether the metadata and all names are those of an architecture is not known here.
        return "; ".join(told) or ("reads these types" if self.is_gguf else "reads it")

    def __str__(self) -> str:
        counted = (*self.families.items(), *self.unknown.items())
        weights = ", ".join(f"{count} {family}" for family, count in counted)
        lines = [escape(f"{self.path}: {weights or 'no weights'}")]
        lines += [escape(self.names)] if self.names else []
        for rule, found in self._group():
            lines.append(f"{rule.severity}: {rule.label}: {rule.text}"
                         + " (silent)" * rule.silent)
            lines += [escape(f"    {each.name}: {each.message}") for each in found[:_SHOWN]]
            if len(found) > _SHOWN:
                lines.append(f"    and {len(found) - _SHOWN} more")
        lines += [f"{loader}: {self.explain(loader)}" for loader in self.loaders]
        sums = [f"{count} {name}{'s' if count != 1 else ''}" for name in SEVERITIES
                if (count := self.count(name))]
        lines.append(", ".join(sums) if sums else "no faults found")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """What --json writes."""
        return {
            "path": self.path, "families": dict(self.families), "unknown": dict(self.unknown),
            "names": self.names,
            "findings": [{"rule": each.rule.label, "severity": each.rule.severity,
                          "name": each.name, "message": each.message, "text": each.rule.text,
                          "silent": each.rule.silent,
                          "loaders": {loader: each.rule.loaders[loader].to_dict()
                                      for loader in self.loaders if loader in each.rule.loaders}}
                         for each in self.findings],
            "loaders": {loader: self.explain(loader) for loader in self.loaders},
            **{f"{name}s": self.count(name) for name in SEVERITIES}}

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=1)


def make_report(path: str, families: Mapping[str, int], forms: Sequence[Form],
                findings: Sequence[Finding], loaders: Sequence[str], is_gguf: bool,
                has_ggml_names: bool, unknown: Mapping[str, int], names: str) -> Report:
    """A report with findings in the order of rules."""
    ordered = sorted(findings, key=lambda each: each.rule.number)
    return Report(path, families, tuple(dict.fromkeys(forms)), tuple(ordered),
                  tuple(loaders) or LOADERS, is_gguf, has_ggml_names, unknown, names)
