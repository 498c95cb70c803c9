# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Jobs as bundles: compiled in one place, run on a GPU in another.

A bundle is named after the text of its job's module, so that one of another version
of the tests is not found rather than run.
"""

import hashlib
import os
import sys
import tempfile

from ir import ENTRY
from runner import RunError, call, checked

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FILL = 0xA5  # of what no kernel wrote


def bundle_name(job):
    return hashlib.sha256(job.function.module().encode()).hexdigest()[:20] + ".bundle"


def compile_bundle(tool, target, folder, job):
    """Writes the job's bundle for a chip, by blockscale-compile."""
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, bundle_name(job))
    with tempfile.TemporaryDirectory(prefix="conformance-") as temporary:
        module = os.path.join(temporary, "module.mlir")
        with open(module, "w") as file:
            file.write(job.function.module())
        call([tool, module, f"--target={target}", "--emit=bundle", "-o", path])


class BundleRunner:
    """Runs the bundles of a folder on a GPU, through libBlockScaleRuntime.so."""

    def __init__(self, folder, library=None):
        sys.path.insert(0, os.path.join(ROOT, "python"))
        import blockscale_runtime

        self._error = blockscale_runtime.Error
        self._folder = folder
        try:
            self._runtime = blockscale_runtime.Runtime(library)
            self._device = self._runtime.device()
        except (OSError, self._error) as error:
            raise RunError(str(error)) from None

    def describe(self):
        device = self._device
        major, minor = divmod(device.driver_version // 10, 100)
        return (f"{device.name}, compute capability {device.capability / 10}, driver of "
                f"CUDA {major}.{minor}")

    def execute(self, job):
        """The stored results of the job, in the order of its function's results."""
        path = os.path.join(self._folder, bundle_name(job))
        if not os.path.exists(path):
            raise RunError(f"no bundle {path}: expected --compile-to of these tests")
        try:
            module = self._device.load(self._runtime.bundle(path))
            results = module.run(ENTRY, *job.inputs, fill=FILL)
        except self._error as error:
            raise RunError(f"{error.status}: {error}") from None
        types = [value.type for value in job.function.results]
        return [checked(array, type) for array, type in zip(results, types)]
