/* Part of the BlockScale project, under the Apache License v2.0 with LLVM
 * Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * An embedder's runtime, which replaces the weak one of an object: ranges of 7
 * from the last to the first, and errors that are printed and survived.
 */
#include <stdint.h>
#include <stdio.h>

void blockscale_parallel_for(int64_t n,
                             void (*body)(void *ctx, int64_t begin, int64_t end),
                             void *ctx) {
  printf("parallel_for %lld\n", (long long)n);
  for (int64_t end = n; end > 0; end -= 7)
    body(ctx, end > 7 ? end - 7 : 0, end);
}

void blockscale_report_error(const char *message, int64_t found) {
  printf("report_error '%s' %lld\n", message, (long long)found);
}
