# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares what a quantizer gave with a recipe, and says which rules it broke."""

from dataclasses import dataclass

import numpy as np

from blockscale_reference import global_scale

from . import changes, given, inputs, rounding
from .explain import Explanation, Finding, Stage, explain
from .forms import Form, KitError, form
from .setting import Setting

# The least part of codes that stochastic rounding changes.
_LEAST_RANDOM = 0.02

@dataclass(frozen=True)
class Report:
    """What was compared, and which rules were broken."""

    form: Form
    findings: tuple[Finding, ...]
    explanations: dict[str, Explanation]  # of "scales" and "codes"
    examples: tuple[str, ...]  # a byte that differs, for each stage that has one

    @property
    def conforms(self):
        return not self.findings and not any(e.differing for e in self.explanations.values())

    @property
    def rules(self):
        """The rules that were broken, in the order of the findings."""
        return tuple(finding.change.rule for finding in self.findings)

    @property
    def unseen(self):
        """Changes of rules that the input does not tell from the recipe, by their rules."""
        seen = {str(change) for explanation in self.explanations.values()
                for change in explanation.seen}
        made = {}
        for explanation in self.explanations.values():
            for change in explanation.unseen:
                if str(change) not in seen:
                    made.setdefault(change.rule, {})[change.found] = None
        return {rule: tuple(found) for rule, found in made.items()}

    def __str__(self):
        lines = [f"{self.form}: {'conforms' if self.conforms else 'differs'}"]
        for name, explanation in self.explanations.items():
            lines.append(f"{name}: {explanation.differing} of {explanation.compared} differ")
        lines += [f"  {finding}" for finding in self.findings]
        lines += [f"{name}: {explanation.unexplained} differ by no rule that the kit knows"
                  for name, explanation in self.explanations.items() if explanation.unexplained]
        lines += [f"first: {example}" for example in self.examples]
        if self.unseen:
            lines.append("This input does not tell:")
            lines += [f"  {rule}: {'; '.join(found)}" for rule, found in self.unseen.items()]
        return "\n".join(lines)


@dataclass(frozen=True)
class _Statement:
    """What a finding says where no change of a setting says it."""

    rule: str
    expected: str
    found: str

    def __str__(self):
        return f"{self.rule}: {self.found} instead of {self.expected}"


@dataclass(frozen=True)
class _Blocks:
    """The blocks of one call, with what was given for them."""

    setting: Setting
    scales: np.ndarray  # [N]
    codes: np.ndarray  # [N, bm, bk]
    exists: np.ndarray  # no padding behind the ends of x
    places: list  # a name for each block


def check_file(path, recipe, element=None):
    """The Report of a file .npz (docs/Conformance.md)."""
    of = form(recipe, element)
    return report(of, [("", given.read(path, of))])


def check(quantizer, recipe, element=None, *, global_amax=True, x_type="bf16", block=None,
          layout="linear", tails=True):
    """The Report of a quantizer, which is called on inputs that tell the rules apart.

    It is called as quantizer(x, global_amax), with f32 [M, K] whose values are those of x_type,
    and the tensor's largest magnitude: None for formats and recipes without a global scale, and
    with `global_amax` False. With `tails`, K is no multiple of the block in one of the inputs where
    the recipe takes such. It returns data and scales as the files have them, and maybe the
    global scale by which values are decoded.
    """
    of = form(recipe, element)
    two_levels = of.is_nvfp4 and global_amax
    calls = []
    tensors = inputs.tensors(of, x_type, block)
    if not tails:
        tensors.pop(inputs.TAIL, None)
    for name, x in tensors.items():
        amax = np.abs(x).max() if two_levels else None
        data, scales, *rest = quantizer(x.copy(), amax)
        calls.append((name, given.take(of, x, data, scales, *rest, global_amax=amax, block=block,
                                       layout=layout, x_type=x_type)))
    return report(of, calls)


def report(of, calls):
    """The Report of named calls."""
    findings, parts = [], []
    for name, call in calls:
        found, part = _take_blocks(of, name, call)
        parts.append(part)
        findings += [each for each in found
                     if str(each.change) not in {str(other.change) for other in findings}]
    blocks = _join(parts)
    stages = {"scales": _stage_of_scales(blocks), "codes": _stage_of_codes(blocks)}
    explanations, examples = {}, []
    for name, stage in stages.items():
        explanation = explain(stage)
        explanations[name] = explanation
        findings += explanation.findings
        if explanation.differing:
            examples.append(_example(blocks, stage))
    codes = explanations["codes"]
    if codes.unexplained > _LEAST_RANDOM * codes.compared and _is_between(blocks):
        findings = [each for each in findings
                    if (each.stage, each.change.rule) != ("codes", "rounding of elements")]
        findings.append(Finding("codes", _Statement(
            "rounding of elements", rounding.NEAREST_EVEN,
            "to one of the two neighbours, as stochastic rounding does"),
            codes.unexplained))
    return Report(of, tuple(findings), explanations, tuple(examples))


def _take_blocks(of, name, call):
    """The blocks of a call, and what is wrong with their order in memory."""
    findings = []
    amax = call.global_amax
    if amax is not None and call.global_scale is not None:
        findings += _check_global_scale(of, call)
    values = {"global_amax": amax} if amax is not None else {"global_scale": call.global_scale}
    block, layout, scales, is_clean = _find_layout(of, call, values)
    if block != call.block:
        findings.append(_order("blocks", _shape(call.block), _shape(block)))
    if layout != call.layout:
        findings.append(_order("layout of scales", call.layout, layout))
    if not is_clean:
        findings.append(_order("padding of scales", "zeros", "other bytes"))
    setting = _setting(of, call, block, values)
    scales = scales.reshape(-1)
    codes = call.codes
    if call.is_packed:
        swapped = given.swap_nibbles(codes)
        own, other = (int((given.blocks_of(each, block) != setting.codes(scales)).sum())
                      for each in (codes, swapped))
        if 2 * other < own:
            codes = swapped
            findings.append(_order("order of codes in a byte", "the even element in the low bits",
                                   "the even element in the high bits"))
    exists = given.blocks_of(np.ones(codes.shape, bool), block)
    columns = -(-codes.shape[1] // block[1])
    places = [f"{name + ', ' if name else ''}block ({i // columns}, {i % columns})"
              for i in range(len(scales))]
    return findings, _Blocks(setting, scales, given.blocks_of(codes, block), exists, places)


def _order(rule, expected, found):
    return Finding("memory", _Statement(rule, expected, found), 0)


def _shape(block):
    return f"{block[0]}x{block[1]}"


def _setting(of, call, block, values):
    x = given.blocks_of(call.x, block)
    spread = {name: np.full(len(x), value, np.float32)
              for name, value in values.items() if value is not None}
    return Setting.of(of, x, call.x_type, **spread)


def _check_global_scale(of, call):
    """A global scale beside the amax that it was made of."""
    got, amax = call.global_scale, call.global_amax
    own = changes.FACTORS[of.recipe]

    def equal(value):
        return np.array_equal(np.float32(value), got, equal_nan=True)

    with np.errstate(all="ignore"):
        expected = global_scale(amax, of.recipe, call.x_type)
        if equal(expected):
            return []
        others = {text: global_scale(amax, name, call.x_type)
                  for name, text in changes.FACTORS.items()}
        others |= {"the reciprocal (the encode scale)": np.float32(1) / expected,
                   "the reciprocal, 2688 / amax": np.float32(2688) / amax,
                   "amax": amax, "amax / 448": amax / np.float32(448),
                   "amax / 6": amax / np.float32(6)}
    found = next((text for text, value in others.items() if text != own and equal(value)),
                 f"{got:g}")
    return [Finding("global scale", _Statement("global scale", f"{own} ({expected:g})", found), 1)]


def _find_layout(of, call, values):
    """(block, layout, scales [R, C], whether padding is zero) that fit best: what was promised,
    unless something else has less than half of its differences."""
    other_block = call.block[::-1]
    blocks = [call.block]
    if other_block != call.block and call.x.shape[0] % other_block[0] == 0:
        blocks.append(other_block)
    tried, sizes = [], []
    for block in blocks:
        rows, cols = (-(-size // step) for size, step in zip(call.x.shape, block))
        expected = None
        for layout in sorted(given.LAYOUTS, key=lambda name: name != call.layout):
            made = given.scales_in(layout, call.scales, rows, cols)
            if made is None:
                sizes.append(layout)
                continue
            if expected is None:
                expected = _setting(of, call, block, values).scales().reshape(rows, cols)
            differ = int(_scales_differ(of, expected, made[0]).sum())
            tried.append((differ, block, layout, *made))
    if not tried:
        rows, cols = (-(-size // step) for size, step in zip(call.x.shape, call.block))
        raise KitError(f"expected {rows} x {cols} scales in one of the layouts "
                       f"{', '.join(given.LAYOUTS)}, but got {call.scales.size} bytes")
    promised = [each for each in tried if each[1:3] == (call.block, call.layout)]
    best = min(tried, key=lambda each: each[0])
    if promised and 2 * best[0] >= promised[0][0]:
        best = promised[0]
    return best[1:]


def _join(parts):
    first = parts[0].setting
    together = {name: np.concatenate([part.setting.globals[name] for part in parts])
                for name in first.globals}
    if len({part.setting.x.shape[1:] for part in parts}) > 1:
        raise KitError("expected the same blocks in all calls, but got rows and columns")
    if len({part.setting.x_type for part in parts}) > 1:
        raise KitError("expected inputs of one type in all calls, but got several")
    setting = Setting(first.form, np.concatenate([part.setting.x for part in parts]),
                      first.rules, together, first.x_type)
    return _Blocks(setting, *(np.concatenate([getattr(part, name) for part in parts])
                              for name in ("scales", "codes", "exists")),
                   [place for part in parts for place in part.places])


def _is_nan_scale(of, scales):
    return (scales & 0x7F) == 0x7F if of.is_nvfp4 else scales == 255


def _scales_differ(of, expected, got):
    """A NaN is as good as any other."""
    both = _is_nan_scale(of, expected) & _is_nan_scale(of, got)
    return (expected != got) & ~both


def _stage_of_scales(blocks):
    setting = blocks.setting
    return Stage("scales", setting, tuple(changes.changes_of_scales(setting)),
                 lambda changed, places: changed.scales(),
                 lambda got, places: _scales_differ(setting.form, got, blocks.scales[places]))


def _stage_of_codes(blocks):
    """Codes under the quantizer's own scales. Codes of NaN are left open (docs/Numerics.md): those
    under a scale that is NaN, and those that a product of zero and infinity gives."""
    setting = blocks.setting
    of = setting.form
    is_open = np.isnan(setting.scaled(blocks.scales)) & ~np.isnan(setting.x)
    is_open |= _is_nan_scale(of, blocks.scales)[:, None, None] | ~blocks.exists

    def differ(expected, places):
        got = blocks.codes[places]
        both = np.zeros(got.shape, bool)
        if of.element_name in ("e4m3", "e5m2"):
            both = np.isnan(of.element.decode(expected)) & np.isnan(of.element.decode(got))
        return (expected != got) & ~is_open[places] & ~both

    def compute(changed, places):
        # Bytes that are open are 0, so that changes of them alone are not seen.
        return np.where(is_open[places], 0, changed.codes(blocks.scales[places]))

    made = changes.changes_of_codes(setting)
    if not (np.isnan(setting.x) & ~is_open).any():
        made = [change for change in made if change.rule != changes.NAN_ELEMENTS]
    return Stage("codes", setting, tuple(made), compute, differ)


def _is_between(blocks):
    """Whether each code is one of the two neighbours of its element, where that is not 0."""
    stage = _stage_of_codes(blocks)
    scaled = blocks.setting.scaled(blocks.scales)
    everything = np.arange(len(scaled))
    both = [stage.differ(codes, everything)
            for codes in rounding.neighbours(blocks.setting.form.element, scaled)]
    return not (both[0] & both[1] & (scaled != 0)).any()


def _example(blocks, stage):
    everything = np.arange(len(blocks.scales))
    expected = stage.compute(stage.setting, everything)
    place = tuple(np.argwhere(stage.differ(expected, everything))[0])
    x = stage.setting.x[place[0]]
    got = blocks.scales if stage.name == "scales" else blocks.codes
    if stage.name == "scales":
        of_what = f"amax {np.abs(x).max():g}"
    else:
        of_what = f"element ({place[1]}, {place[2]}), x = {x[place[1:]]:g}"
    return (f"{stage.name}, {blocks.places[place[0]]}, {of_what}: expected "
            f"0x{int(expected[place]):02X}, but got 0x{int(got[place]):02X}")
