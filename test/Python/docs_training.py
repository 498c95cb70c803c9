# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tables of docs/TrainOnHopper.md, computed from logs (docs_pages.py).

  python3 test/Python/docs_training.py [--write]
"""

from docs_pages import ROOT, main, table
from log_tables import read_rows

PAGE = ROOT / "docs/TrainOnHopper.md"
SHOWN = ("0", "200", "700", "1250")


def make_losses(log):
    rows = read_rows(log)
    last = next(name for name in rows["bf16"] if name.startswith("last "))
    return table(["form", *(f"step {step}" for step in SHOWN), f"{last}", "of bf16's"],
                 [[form, *(row[step] for step in SHOWN), row[last], row["of bf16's"]]
                  for form, row in rows.items()])


def training_losses():
    return make_losses("train-curves-h200.txt")


def training_losses_last():
    return make_losses("train-curves-last-h200.txt")


def training_losses_64():
    return make_losses("train-curves-64-h200.txt")


def make_ranks(number):
    rows = read_rows("ranks-h200.txt", number)
    shown = ("step ms", "compute", "sent", "hidden")
    return table(["form", *shown], [[form, *(row[name] for name in shown)]
                                    for form, row in rows.items()])


def ranks_sharded():
    return make_ranks(0)


def ranks_parallel():
    return make_ranks(1)


if __name__ == "__main__":
    main(PAGE, globals())
