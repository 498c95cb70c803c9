# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""benchmarks/report.py holds a CPU to the bars of the vectors that it has."""

import importlib.util
import unittest
from pathlib import Path

# By its path: the example has a module of the same name.
SPEC = importlib.util.spec_from_file_location(
    "bench_report", Path(__file__).resolve().parents[2] / "benchmarks/report.py")
report = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(report)

AVX2 = "flags\t\t: fpu sse2 avx avx2\n"
AVX512 = "flags\t\t: fpu sse2 avx avx2 avx512f avx512dq avx512cd avx512bw avx512vl\n"


def verdicts(cpuinfo, of_memcpy):
    """{figure: (asked, verdict)} where every case has this share of memcpy."""
    figures = {(case, cpu, 1): {"ms": 1.0, "of_memcpy": of_memcpy}
               for case in (report.MX, report.NV) for cpu in ("host", "x86-64-v3", "x86-64")}
    bars = report.check_bars(figures, None, report.get_vectors(cpuinfo))
    return {what: (asked, verdict) for what, asked, _, verdict in bars}


class BenchReportTest(unittest.TestCase):
    # A share that is good for AVX2 misses the bar of a host with AVX-512 ...
    def test_a_host_with_avx512(self):
        found = verdicts("model name\t: A\n" + AVX512, 0.25)
        self.assertEqual((">= 0.4", "MISSED"), found[f"{report.MX}, host (AVX-512), of memcpy"])
        self.assertEqual((">= 0.3", "MISSED"), found[f"{report.NV}, host (AVX-512), of memcpy"])
        self.assertEqual((">= 0.2", "met"), found[f"{report.MX}, x86-64-v3 (AVX2), of memcpy"])

    # ... and meets that of a host without, which the row names.
    def test_a_host_without_avx512(self):
        found = verdicts(AVX2, 0.25)
        self.assertEqual((">= 0.2", "met"), found[f"{report.MX}, host (AVX2), of memcpy"])
        self.assertEqual((">= 0.2", "met"), found[f"{report.NV}, host (AVX2), of memcpy"])
        self.assertEqual((">= 0.1", "met"), found[f"{report.MX}, x86-64 (SSE2), of memcpy"])

    # AVX-512 without instructions on bytes and words is not what the bars were set with.
    def test_parts_of_avx512_are_not_enough(self):
        self.assertEqual("AVX2", report.get_vectors(AVX512.replace("avx512bw ", "")))

    # A CPU that says nothing is held to the least.
    def test_no_flags(self):
        self.assertEqual("SSE2", report.get_vectors("Features\t: fp asimd\n"))


if __name__ == "__main__":
    unittest.main()
