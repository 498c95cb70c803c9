# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Losses of a small GPT in each form of training, from what benchmarks/gpu/train_curves.py wrote
with the log train-curves-h200.txt, drawn as that program draws it."""

import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "benchmarks/gpu"))

import chart


def draw():
    return chart.draw_curves(**json.loads((HERE / "loss_curves.json").read_text(encoding="utf-8")))
