/* Part of the BlockScale project, under the Apache License v2.0 with LLVM
 * Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A program in C11 that prints the module in a file, text or bytecode. */

#include "blockscale-c/Compile.h"

#include <stdio.h>

int main(int argc, char **argv) {
  blockscale_compile_config config = blockscale_compile_config_default();
  blockscale_output *output = NULL;
  FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
  static char content[1 << 16];
  size_t size = file ? fread(content, 1, sizeof(content), file) : 0;
  if (blockscale_verify(content, size, &config, &output) != BLOCKSCALE_OK) {
    fprintf(stderr, "%s\n", blockscale_last_error());
    return 1;
  }
  fputs(blockscale_output_data(output), stdout);
  blockscale_output_destroy(output);
  return 0;
}
