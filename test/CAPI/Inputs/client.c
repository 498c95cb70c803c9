/* Part of the BlockScale project, under the Apache License v2.0 with LLVM
 * Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A program in C11: builds IR, writes and reads a file of tensors, compiles a
 * module, and runs it on the CPU and in the emulator on its own arrays. */

#include "blockscale-c/Checkpoint.h"
#include "blockscale-c/Compile.h"
#include "blockscale-c/Dialect.h"
#include "blockscale-c/Numerics.h"
#include "blockscale-c/Passes.h"
#include "blockscale-c/Policy.h"
#include "blockscale-c/Run.h"
#include "blockscale-c/Xla.h"

#include "mlir-c/BuiltinTypes.h"
#include "mlir-c/Pass.h"
#include "mlir-c/Transforms.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(blockscale_status status) {
  if (status == BLOCKSCALE_OK)
    return;
  fprintf(stderr, "%s: %s\n", blockscale_status_name(status),
          blockscale_last_error());
  exit(1);
}

static void print(MlirStringRef text, void *user) {
  (void)user;
  fwrite(text.data, 1, text.length, stdout);
}

/* A type with a layout, and the project's pipeline by name. */
static void buildIR(const char *source) {
  MlirContext context = mlirContextCreate();
  MlirDialectRegistry registry = mlirDialectRegistryCreate();
  mlirBlockScaleRegisterAllDialects(registry);
  mlirContextAppendDialectRegistry(context, registry);
  mlirDialectRegistryDestroy(registry);
  mlirDialectHandleLoadDialect(mlirGetDialectHandle__blockscale__(), context);

  MlirAttribute layout = mlirBlockScaleLayoutAttrGet(context, 0, 0);
  int64_t shape[] = {200, 5};
  MlirType scales =
      mlirRankedTensorTypeGet(2, shape, mlirFloat8E4M3FNTypeGet(context), layout);
  mlirTypePrint(scales, print, NULL);
  printf(" is stored as ");
  mlirTypePrint(mlirBlockScaleTypeGetStorage(scales), print, NULL);
  printf("\n");

  mlirRegisterBlockScalePasses();
  mlirRegisterTransformsPasses();
  MlirModule module =
      mlirModuleCreateParse(context, mlirStringRefCreateFromCString(source));
  MlirPassManager passes = mlirPassManagerCreate(context);
  MlirLogicalResult added = mlirOpPassManagerAddPipeline(
      mlirPassManagerGetAsOpPassManager(passes),
      mlirStringRefCreateFromCString(
          "canonicalize,blockscale-to-cpu{to=form-kernels}"),
      print, NULL);
  if (mlirLogicalResultIsSuccess(added) &&
      mlirLogicalResultIsSuccess(
          mlirPassManagerRunOnOp(passes, mlirModuleGetOperation(module))))
    mlirOperationPrint(mlirModuleGetOperation(module), print, NULL);
  mlirPassManagerDestroy(passes);
  mlirModuleDestroy(module);
  mlirContextDestroy(context);
}

static int showProgress(const char *step, size_t number, size_t count,
                        void *user) {
  (void)user;
  printf("step %zu of %zu: %s\n", number + 1, count, step);
  return 0;
}

static void compileTo(const char *source, const char *target,
                      blockscale_emission emission) {
  blockscale_compile_config config = blockscale_compile_config_default();
  config.targets = &target;
  config.target_count = 1;
  config.emission = emission;
  config.keep_stages = 1;
  if (emission == BLOCKSCALE_EMIT_PTX)
    config.on_progress = showProgress;
  blockscale_output *output = NULL;
  check(blockscale_compile(source, strlen(source), &config, &output));
  const char *first = blockscale_output_data(output);
  printf("%s: %zu stages, begins with '%.2s'\n", target,
         blockscale_output_stage_count(output), first);
  if (emission == BLOCKSCALE_EMIT_BUNDLE) {
    blockscale_bundle *bundle = NULL;
    check(blockscale_bundle_open_memory(first, blockscale_output_size(output),
                                        &bundle));
    printf("bundle for %s\n", blockscale_bundle_chip(bundle, 0));
    blockscale_bundle_close(bundle);
  }
  blockscale_output_destroy(output);
}

/* A file of one tensor, laid out, written and read. */
static void writeAndRead(const char *path) {
  const int64_t shape[] = {2, 3};
  const blockscale_new_tensor described = {"w", "BF16", 2, shape};
  const blockscale_metadata entry = {
      "format", BLOCKSCALE_METADATA_STRING, BLOCKSCALE_METADATA_U8, 0, "pt", 2};
  blockscale_file_layout *layout = NULL;
  check(blockscale_file_layout_create(BLOCKSCALE_FORMAT_SAFETENSORS, &described,
                                      1, &entry, 1, &layout));
  FILE *file = fopen(path, "wb");
  if (!file)
    exit(1);
  fwrite(blockscale_file_layout_header(layout), 1,
         blockscale_file_layout_header_bytes(layout), file);
  fwrite("twelve bytes", 1, 12, file);
  fclose(file);
  blockscale_file_layout_destroy(layout);

  blockscale_tensor_file *opened = NULL;
  check(blockscale_tensor_file_open(path, &opened));
  blockscale_tensor tensor;
  check(blockscale_tensor_file_tensor(opened, 0, &tensor));
  const char *data = blockscale_tensor_file_data(opened);
  printf("tensor %s of %s: %.*s\n", tensor.name, tensor.type->name,
         (int)tensor.bytes, data + tensor.offset);
  blockscale_tensor_file_close(opened);
}

enum { Rows = 32, Cols = 64 };

static void run(const char *source, blockscale_place place, const float *x,
                uint8_t *data, uint8_t *scales) {
  blockscale_executable_config config = blockscale_executable_config_default();
  config.place = place;
  blockscale_executable *executable = NULL;
  check(blockscale_executable_create(source, strlen(source), &config,
                                     &executable));
  blockscale_slot slot;
  check(blockscale_executable_slot(executable, BLOCKSCALE_RESULT, 0, &slot));
  printf("@%s gives %s as %s\n", blockscale_executable_entry(executable),
         slot.type, blockscale_dtype_name(slot.dtype));

  int64_t shape[] = {Rows, Cols}, strides[] = {Cols, 1};
  blockscale_array argument = {(void *)x, BLOCKSCALE_FLOAT32, 2, shape, strides};
  int64_t shapes[2][2];
  for (size_t i = 0; i < 2; ++i)
    check(blockscale_executable_result_shape(executable, &argument, 1, i,
                                             shapes[i], 2));
  blockscale_array results[] = {{data, BLOCKSCALE_UINT8, 2, shapes[0], NULL},
                                {scales, BLOCKSCALE_UINT8, 2, shapes[1], NULL}};
  check(blockscale_executable_call(executable, &argument, 1, results, 2, NULL));
  blockscale_executable_destroy(executable);
}

/* What a policy makes of two layers of a model. */
static void decide(void) {
  static const char text[] =
      "{\"version\": 1, \"rules\": [{\"format\": \"nvfp4\"}]}";
  blockscale_policy *policy = NULL;
  check(blockscale_policy_parse(text, strlen(text), "text", &policy));
  for (int64_t k = 32; k <= 40; k += 8) {
    blockscale_layer layer = {sizeof(layer), "up", NULL, 64, k, 0, "bf16", 0};
    const blockscale_policy_decision *decision = NULL;
    check(blockscale_policy_decide(policy, &layer, &decision));
    if (decision->is_quantized)
      printf("K of %d: %s by %s\n", (int)k, decision->form.weight.format,
             decision->rule);
    else
      printf("K of %d: %s: expected %s\n", (int)k, decision->clause,
             decision->expected);
    blockscale_policy_decision_destroy(decision);
  }
  blockscale_policy_destroy(policy);
}

int main(int argc, char **argv) {
  if (argc != 3 || !blockscale_xla_handler())
    return 2;
  FILE *file = fopen(argv[1], "rb");
  char source[4096];
  size_t size = file ? fread(source, 1, sizeof(source) - 1, file) : 0;
  source[size] = 0;
  buildIR(source);
  writeAndRead(argv[2]);
  decide();

  compileTo(source, "cpu", BLOCKSCALE_EMIT_OBJECT);
  compileTo(source, "sm_100a", BLOCKSCALE_EMIT_PTX);
  compileTo(source, "sm_90a", BLOCKSCALE_EMIT_BUNDLE);

  static float x[Rows * Cols];
  for (int i = 0; i < Rows * Cols; ++i)
    x[i] = (float)((i * 37) % 101 - 50) / 7.0f;
  blockscale_quantize_config config = blockscale_quantize_config_default();
  config.rows = Rows;
  config.cols = Cols;
  config.block_rows = 1;
  config.block_cols = 16;
  size_t dataBytes, scaleBytes;
  check(blockscale_quantize_sizes(&config, &dataBytes, &scaleBytes));
  static uint8_t data[3][Rows * Cols / 2], scales[3][Rows * Cols / 16];
  if (dataBytes != sizeof(data[0]) || scaleBytes != sizeof(scales[0]))
    return 1;
  check(blockscale_quantize(&config, x, data[0], dataBytes, scales[0],
                            scaleBytes));
  run(source, BLOCKSCALE_ON_CPU, x, data[1], scales[1]);
  run(source, BLOCKSCALE_ON_EMULATOR, x, data[2], scales[2]);
  for (int i = 1; i < 3; ++i)
    printf("bytes that differ from the reference: %s\n",
           memcmp(data[0], data[i], dataBytes) ||
                   memcmp(scales[0], scales[i], scaleBytes)
               ? "some"
               : "none");
  return 0;
}
