# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What scripts do with a folder that packing.py filled, on the machine with the GPU."""

import json
import sys

from log_head import make_head

FILL = 0xA5  # of what no kernel wrote


class Pack:
    """A folder that was packed, and the GPU of this machine. Prints the head of a log.

    `about` is what packing.describe() wrote.
    """

    def __init__(self, folder):
        # Only there, where the runtime's library is beside it.
        import blockscale_runtime
        self._folder, self._error = folder, blockscale_runtime.Error
        self.about = json.loads((folder / "pack.json").read_text())
        self._runtime = blockscale_runtime.Runtime(folder / "libBlockScaleRuntime.so")
        self._device = self._runtime.device()
        print(make_head(self.about["commit"],
                        f"{self._device.name}, driver {self._device.driver_version}",
                        " ".join(["python3", *sys.argv])))

    def load(self, bundle):
        return self._device.load(self._runtime.bundle(self._folder / bundle))

    def run(self, module, function, *arguments):
        """The results of a function of a module, or of a bundle that is loaded for the call,
        and the problem of the call."""
        try:
            if isinstance(module, str):
                module = self.load(module)
            return module.run(function, *arguments, fill=FILL), None
        except self._error as error:
            return None, f"{error.status}: {error}"
