/* Part of the BlockScale project, under the Apache License v2.0 with LLVM
 * Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Runs a function of a bundle, as an embedder in C would:
 *
 *   launch_bundle BUNDLE N G
 *
 * calls @scale of test/Data/cuda on N numbers 0, 1, 2, ... and prints the sum
 * of the results, which is G times that of the numbers.
 */
#include "blockscale-c/Runtime.h"

#include <stdio.h>
#include <stdlib.h>

static void check(blockscale_status status) {
  if (status == BLOCKSCALE_OK)
    return;
  fprintf(stderr, "%s: %s\n", blockscale_status_name(status),
          blockscale_last_error());
  exit(1);
}

int main(int argc, char **argv) {
  if (argc != 4)
    return 2;
  const int64_t n = atoll(argv[2]);
  const float g = (float)atof(argv[3]);

  /* Once: the bundle, a GPU, and the kernels there. */
  blockscale_bundle *bundle;
  blockscale_device *device;
  blockscale_module *module;
  check(blockscale_bundle_open(argv[1], &bundle));
  check(blockscale_device_open(0, NULL, &device));
  check(blockscale_module_load(bundle, device, &module));
  const blockscale_function *function;
  check(blockscale_function_find(bundle, blockscale_module_target(module),
                                 "scale", &function));

  /* For each size: what the plan says for it. */
  const blockscale_argument arguments[] = {
      {BLOCKSCALE_FLOAT32, 1, &n, NULL}, {BLOCKSCALE_FLOAT32, 0, NULL, &g}};
  blockscale_call *call;
  check(blockscale_call_create(function, arguments, 2, &call));
  const uint64_t bytes = blockscale_call_bytes(call, BLOCKSCALE_RESULT, 0);
  const uint64_t workspace_bytes = blockscale_call_workspace_bytes(call);
  uint64_t x, y, workspace;
  check(blockscale_device_allocate(device, bytes, &x));
  check(blockscale_device_allocate(device, bytes, &y));
  check(blockscale_device_allocate(device, workspace_bytes, &workspace));

  float *numbers = calloc((size_t)n + 1, sizeof(float));
  for (int64_t i = 0; i < n; ++i)
    numbers[i] = (float)i;
  check(blockscale_device_upload(device, x, numbers, bytes));

  /* Each time. */
  const uint64_t given[] = {x, 0};
  check(blockscale_launch(module, call, given, 2, &y, 1, workspace,
                          workspace_bytes, NULL));
  check(blockscale_device_synchronize(device, NULL));

  check(blockscale_device_download(device, numbers, y, bytes));
  double sum = 0;
  for (int64_t i = 0; i < n; ++i)
    sum += numbers[i];
  printf("%s on %s: sum %.1f\n", blockscale_function_name(function),
         blockscale_device_name(device), sum);

  free(numbers);
  blockscale_device_free(device, x);
  blockscale_device_free(device, y);
  blockscale_device_free(device, workspace);
  blockscale_call_destroy(call);
  blockscale_module_unload(module);
  blockscale_device_close(device);
  blockscale_bundle_close(bundle);
  return 0;
}
