# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gives blockscale-run each line of a batch when the run before it has ended, and prints what it
says to each.

Usage: converse.py LINE..
"""

import subprocess
import sys
import threading

process = subprocess.Popen(["blockscale-run", "--batch=-"], stdin=subprocess.PIPE,
                           stdout=subprocess.PIPE, text=True)
# One that waits for the last line would wait for ever.
watch = threading.Timer(300, process.kill)
watch.start()
for line in sys.argv[1:]:
    process.stdin.write(line + "\n")
    process.stdin.flush()
    print(process.stdout.readline(), end="")
process.stdin.close()
print("exit status", process.wait())
watch.cancel()
