# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What test_resume.py ends early: quantizes SOURCE to TARGET, and waits a little after each task.

    quantize_slowly.py SOURCE TARGET SHARD_BYTES RESUME [EVENT]

Says "begun" when the first task is done. With EVENT, a number, it ends as by a kill at that one of
its calls that open, rename, remove or cut a file, once the result's folder is there.
"""

import os
import signal
import sys
import time

import blockscale.checkpoint as checkpoint

EVENTS = {"open", "os.rename", "os.remove", "os.rmdir", "os.truncate", "os.mkdir",
          "shutil.copyfile"}


def main():
    source, target, shard_bytes, resume, *event = sys.argv[1:]
    seen = 0

    def count(name, arguments):
        nonlocal seen
        if name in EVENTS and arguments and str(arguments[0]).startswith(target):
            seen += 1
            if seen == int(event[0]):
                os.kill(os.getpid(), signal.SIGKILL)

    if event:
        sys.addaudithook(count)

    def wait(*_):
        print("begun", flush=True)
        time.sleep(0.01)

    checkpoint.quantize(source, target, {"version": 1, "rules": [
        {"format": "nvfp4", "weight_only": True}]}, threads=1, resume=resume == "resume",
        shard_bytes=int(shard_bytes), progress=wait)
    print("ended", flush=True)


if __name__ == "__main__":
    main()
