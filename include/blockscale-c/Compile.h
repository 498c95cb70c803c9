//===- Compile.h - Compile modules, from C ------------------------*- C -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The functions of blockscale-compile, in process. The conventions are
// Runtime.h's: statuses, blockscale_last_error, objects that any thread may
// use. Functions here may be called by any threads at the same time; each call
// has an MLIR context of its own.
//
// Configurations begin with their size, so that programs that were compiled
// with older headers keep working; set them up with the functions that return
// defaults. A callback is called by the thread that called, but diagnostics may
// come from others, one at a time.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_C_COMPILE_H
#define BLOCKSCALE_C_COMPILE_H

#include "blockscale-c/Runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

// C names, and enumerations of the width that C gives them.
// NOLINTBEGIN(readability-identifier-naming,modernize-*)

//===-- Callbacks ---------------------------------------------------------===//

typedef enum blockscale_severity {
  BLOCKSCALE_ERROR = 0,
  BLOCKSCALE_WARNING = 1,
  BLOCKSCALE_NOTE = 2,
  /// Why kernels are as they are; only where they are asked for.
  BLOCKSCALE_REMARK = 3
} blockscale_severity;

/// All of it lives until the callback returns.
typedef struct blockscale_diagnostic {
  blockscale_severity severity;
  const char *message;
  /// The place in the source; "", 0 and 0 where none is known.
  const char *file;
  unsigned line;
  unsigned column;
  const struct blockscale_diagnostic *notes;
  size_t note_count;
} blockscale_diagnostic;

typedef void (*blockscale_diagnostic_callback)(
    const blockscale_diagnostic *diagnostic, void *user);

/// A function that is called before step `number` of `count`, which is 0 where
/// it is not known. A result other than 0 ends the work, whose status is then
/// BLOCKSCALE_CANCELLED.
typedef int (*blockscale_progress_callback)(const char *step, size_t number,
                                            size_t count, void *user);

//===-- Chips -------------------------------------------------------------===//

/// The chips to compile for, separated by ", ".
const char *blockscale_chips(void);
/// The one whose kernels suit a GPU best, by its compute capability: "sm_90a"
/// for 9 and 0. Null where it runs those of none.
const char *blockscale_chip_for_capability(int major, int minor);
/// Not 0: there are kernels of matrix products for the chip, of two operands
/// with scales, or with `weight_only` of one beside a plain one. A chip that
/// has the one kind has the other one, too; 0 for a name of no chip.
int blockscale_chip_has_products(const char *chip, int weight_only);

//===-- Compilation -------------------------------------------------------===//

typedef enum blockscale_emission {
  /// The module after the pipeline.
  BLOCKSCALE_EMIT_MLIR = 0,
  /// LLVM IR; target cpu only.
  BLOCKSCALE_EMIT_LLVM = 1,
  BLOCKSCALE_EMIT_PTX = 2,
  /// A launch plan, JSON.
  BLOCKSCALE_EMIT_PLAN = 3,
  /// What blockscale_bundle_open_memory takes.
  BLOCKSCALE_EMIT_BUNDLE = 4,
  /// Machine code of a GPU; needs ptxas.
  BLOCKSCALE_EMIT_CUBIN = 5,
  /// A relocatable object; target cpu only.
  BLOCKSCALE_EMIT_OBJECT = 6
} blockscale_emission;

typedef struct blockscale_compile_config {
  size_t struct_size;
  /// The targets: "cpu" or chips, as "sm_100a"; several for a bundle only.
  const char *const *targets;
  size_t target_count;
  blockscale_emission emission;
  /// What diagnostics call the source; null for "<source>".
  const char *source_name;
  /// The CPU of target cpu: "host", "x86-64-v3"; null for "x86-64", or
  /// "generic" on aarch64.
  const char *cpu;
  /// Features of that CPU to add and to leave out, as in "+f,-g".
  const char *features;
  /// The ptxas that makes machine code; null for a search.
  const char *ptxas;
  /// Not 0: a kernel of a GPU has one op.
  int no_fusion;
  /// Not 0: remarks go to the diagnostic callback.
  int remarks;
  /// Not 0: the output has the module before and after each stage.
  int keep_stages;
  /// Any may be null.
  blockscale_diagnostic_callback on_diagnostic;
  blockscale_progress_callback on_progress;
  void *user;
  /// The program that reads bytecode; null for a search.
  const char *bytecode_reader;
  /// A folder of measured choices of schedules, which go before the model's
  /// (docs/Tuning.md); null for none.
  const char *tuned;
  /// A file with the policy by which products of linalg are quantized first
  /// (docs/Policy.md); null for none.
  const char *policy;
  /// Not 0: a bundle has machine code of kernels beside their PTX, which spares
  /// a GPU's driver its compiler; where no ptxas is named or found, it has PTX
  /// alone.
  int machine_code;
  /// Not 0: what the compiler cannot prove of sizes and indices of plain ops,
  /// and of the sizes of results, is not checked at run time. For callers that
  /// have proved it: what does not fit reads and writes foreign memory.
  int no_checks;
  /// Not 0: launches of a call may begin before those before them have ended,
  /// on GPUs that can do that (docs/LaunchPlan.md).
  int overlap_launches;
} blockscale_compile_config;

blockscale_compile_config blockscale_compile_config_default(void);

typedef struct blockscale_output blockscale_output;

/// Compiles MLIR text or bytecode of `size` bytes. Where $BLOCKSCALE_CACHE_DIR
/// names a folder (docs/Cache.md), what is there is not compiled again, unless
/// remarks, stages, MLIR or a cubin is wanted; callbacks are not called then.
/// On failure blockscale_last_error is the message of the first error, with its
/// place. Both may be anything: as MLIR's reader of bytecode does not survive
/// all that is damaged, a program of its own reads it
/// (blockscale-read-bytecode).
blockscale_status blockscale_compile(const void *source, size_t size,
                                     const blockscale_compile_config *config,
                                     blockscale_output **output);
/// Compiles a file as blockscale_compile does its text. Diagnostics name the
/// file.
blockscale_status
blockscale_compile_file(const char *path,
                        const blockscale_compile_config *config,
                        blockscale_output **output);
/// Names users whose files a cache may have, beside the caller and root: names
/// or numbers, separated by commas. What belongs to anybody else, or others can
/// write to, is not used, nor is what lies below it (docs/Cache.md). Null
/// stands for $BLOCKSCALE_CACHE_OWNERS. It counts for the process.
blockscale_status blockscale_set_cache_owners(const char *users);
/// Reads and verifies a module of which nothing is compiled: the output is its
/// text. Targets and emission are not read.
blockscale_status blockscale_verify(const void *source, size_t size,
                                    const blockscale_compile_config *config,
                                    blockscale_output **output);
/// An error where MLIR text nests so deep that MLIR's parser may overflow the
/// stack of its thread, which the functions above look for by themselves. It is
/// for hosts that give text of others to an MLIR of their own. Of the
/// configuration, what diagnostics need is read.
blockscale_status
blockscale_check_nesting(const void *source, size_t size,
                         const blockscale_compile_config *config);
void blockscale_output_destroy(blockscale_output *output);

/// A NUL follows.
const void *blockscale_output_data(const blockscale_output *output);
size_t blockscale_output_size(const blockscale_output *output);

/// The module as input and after each stage, where keep_stages asks for it. The
/// first name is "input"; several targets come one after the other. Names and
/// texts are null for a number that is too large.
size_t blockscale_output_stage_count(const blockscale_output *output);
const char *blockscale_output_stage_name(const blockscale_output *output,
                                         size_t number);
const char *blockscale_output_stage_text(const blockscale_output *output,
                                         size_t number);

// NOLINTEND(readability-identifier-naming,modernize-*)

#ifdef __cplusplus
}
#endif

#endif // BLOCKSCALE_C_COMPILE_H
