/* Part of the BlockScale project, under the Apache License v2.0 with LLVM
 * Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Calls a compiled function, as an embedder in C would:
 *
 *   call_object X.npy K Q.bin S.bin
 *
 * quantizes rows of K bf16 elements and writes the bytes of data and scales.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct memref1 {
  void *allocated, *aligned;
  int64_t offset, sizes[1], strides[1];
};
struct memref2 {
  void *allocated, *aligned;
  int64_t offset, sizes[2], strides[2];
};
struct memref5 {
  void *allocated, *aligned;
  int64_t offset, sizes[5], strides[5];
};

/* func.func @quantize(%x: tensor<?x?xbf16>, %g: f32)
 *     -> (tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN, #swizzled>) */
void _mlir_ciface_quantize__result_sizes(struct memref2 *x, float g,
                                         struct memref1 *sizes);
void _mlir_ciface_quantize(struct memref2 *x, float g, struct memref2 *q,
                           struct memref5 *s);

static void *allocate(size_t size) {
  void *memory = malloc(size ? size : 1);
  if (!memory)
    exit(2);
  return memset(memory, 0xEE, size);
}

static size_t read_npy(const char *path, uint8_t **data) {
  FILE *file = fopen(path, "rb");
  uint8_t preamble[10];
  if (!file || fread(preamble, 1, 10, file) != 10)
    exit(2);
  long begin = 10 + preamble[8] + 256 * preamble[9];
  fseek(file, 0, SEEK_END);
  size_t size = ftell(file) - begin;
  fseek(file, begin, SEEK_SET);
  *data = allocate(size);
  if (fread(*data, 1, size, file) != size)
    exit(2);
  fclose(file);
  return size;
}

static void write_bytes(const char *path, const void *data, size_t size) {
  FILE *file = fopen(path, "wb");
  if (!file || fwrite(data, 1, size, file) != size || fclose(file))
    exit(2);
}

int main(int argc, char **argv) {
  if (argc != 5)
    return 2;
  uint8_t *data;
  int64_t k = atoll(argv[2]);
  int64_t m = read_npy(argv[1], &data) / 2 / k;
  struct memref2 x = {data, data, 0, {m, k}, {k, 1}};

  /* Dynamic sizes of the results, in order: 2 of the data, 2 of the tiles. */
  int64_t n[4];
  struct memref1 sizes = {n, n, 0, {4}, {1}};
  _mlir_ciface_quantize__result_sizes(&x, 0.5f, &sizes);

  size_t q_size = n[0] * n[1], s_size = n[2] * n[3] * 512;
  void *q_data = allocate(q_size), *s_data = allocate(s_size);
  struct memref2 q = {q_data, q_data, 0, {n[0], n[1]}, {n[1], 1}};
  struct memref5 s = {s_data, s_data, 0, {n[2], n[3], 32, 4, 4},
                      {n[3] * 512, 512, 16, 4, 1}};
  _mlir_ciface_quantize(&x, 0.5f, &q, &s);

  write_bytes(argv[3], q_data, q_size);
  write_bytes(argv[4], s_data, s_size);
  return 0;
}
