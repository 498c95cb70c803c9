# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantizers that break one rule, for the conformance kit to name."""

import numpy as np

from blockscale_reference import quantize_mx, quantize_nvfp4
from blockscale_vectors import changes, check, inputs
from blockscale_vectors.given import blocks_of
from blockscale_vectors.setting import Setting


def quantizer_of(form, x_type="bf16", scales=None, codes=None):
    """The reference as a quantizer, with a change of its scales, or of its codes."""
    def quantize(x, amax):
        blocks = blocks_of(x, (1, form.block))
        amaxes = None if amax is None else np.full(len(blocks), amax, np.float32)
        setting = Setting.of(form, blocks, x_type, global_amax=amaxes)
        with np.errstate(all="ignore"):
            made = (scales.apply(setting) if scales else setting).scales()
            data = (codes.apply(setting) if codes else setting).codes(made)
        return data.reshape(len(x), -1)[:, : x.shape[1]], made.reshape(len(x), -1)
    return quantize


def reference_of(form, x_type="bf16"):
    def quantize(x, amax):
        if form.is_nvfp4:
            return quantize_nvfp4(x, form.recipe, global_amax=amax, x_type=x_type)
        return quantize_mx(x, form.element, form.recipe)
    return quantize


def named(report, change, stage):
    """Whether the findings of a stage are one, and name a change."""
    findings = [each for each in report.findings if each.stage == stage]
    return len(findings) == 1 and str(change) in map(
        str, (findings[0].change, *findings[0].alternatives))


def wrongly_named(form, **options):
    """(changes that were tried, those that the kit does not name) for each change of a form that
    its inputs tell."""
    tensors = inputs.tensors(form, "bf16")
    x = np.concatenate([blocks_of(each, (1, form.block)) for each in tensors.values()])
    setting = Setting.of(form, x, "bf16")
    unseen = check(reference_of(form), form.name, form.element_name, **options).unseen
    tried, wrong = 0, []
    for stage, made in (("scales", changes.changes_of_scales), ("codes", changes.changes_of_codes)):
        for change in made(setting):
            if change.found in unseen.get(change.rule, ()) or change.rule == changes.NAN_ELEMENTS:
                continue
            report = check(quantizer_of(form, **{stage: change}), form.name, form.element_name,
                           **options)
            if report.explanations[stage].differing == 0:
                continue  # Told by the other stage alone.
            tried += 1
            if not named(report, change, stage):
                wrong.append(f"{form}, {stage}: {change}\n{report}")
    return tried, wrong
