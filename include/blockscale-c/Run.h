//===- Run.h - Compile a function and call it, from C -------------*- C -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The functions of blockscale-run, in process, on arrays of the caller. Arrays
// are in storage form (docs/LaunchPlan.md): f4 data are uint8 with two codes a
// byte, f6, f8 and scales are uint8, bf16 is uint16, swizzled scales are their
// tiles.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_C_RUN_H
#define BLOCKSCALE_C_RUN_H

#include "blockscale-c/Compile.h"

#ifdef __cplusplus
extern "C" {
#endif

// C names, and enumerations of the width that C gives them.
// NOLINTBEGIN(readability-identifier-naming,modernize-*)

typedef enum blockscale_place {
  /// Compiled for this CPU, in this process.
  BLOCKSCALE_ON_CPU = 0,
  /// PTX, executed by the emulator; what it finds is an error.
  BLOCKSCALE_ON_EMULATOR = 1,
  /// A GPU of this machine. Arrays but scalars are in its memory.
  BLOCKSCALE_ON_CUDA = 2
} blockscale_place;

typedef struct blockscale_executable_config {
  size_t struct_size;
  blockscale_place place;
  /// The function to call; null for the only public one.
  const char *entry;
  /// The chip to compile for; null for sm_100a in the emulator, and for what
  /// suits the GPU best on one.
  const char *chip;
  /// Number of the GPU.
  int device;
  int no_fusion;
  int remarks;
  const char *source_name;
  blockscale_diagnostic_callback on_diagnostic;
  blockscale_progress_callback on_progress;
  void *user;
  /// The program that reads bytecode; null for a search.
  const char *bytecode_reader;
  /// A folder of measured choices of schedules (docs/Tuning.md) for a GPU; null
  /// for none.
  const char *tuned;
  /// A file with the policy by which products of linalg are quantized first
  /// (docs/Policy.md); null for none.
  const char *policy;
  /// The CPU to compile for, "x86-64-v3", whose instructions this machine must
  /// have; null for this one with all of its instructions.
  const char *cpu;
  /// Not 0: machine code of the CPU is kept for blockscale_executable_save.
  int keep_code;
  /// The ptxas that makes machine code of kernels for
  /// blockscale_executable_save, which then has it beside the PTX; for the
  /// emulator only. "" for one that a search finds, if it finds one; null for
  /// PTX alone.
  const char *ptxas;
  /// Not 0: what the compiler cannot prove of sizes and indices of plain ops,
  /// and of the sizes of results, is not checked at run time. For callers that
  /// have proved it: what does not fit reads and writes foreign memory.
  int no_checks;
  /// Not 0: launches of a call may begin before those before them have ended,
  /// on GPUs that can do that (docs/LaunchPlan.md).
  int overlap_launches;
} blockscale_executable_config;

blockscale_executable_config blockscale_executable_config_default(void);

typedef struct blockscale_executable blockscale_executable;

/// Makes an executable from MLIR text or bytecode. The callbacks are not called
/// after this function returned.
blockscale_status
blockscale_executable_create(const void *source, size_t size,
                             const blockscale_executable_config *config,
                             blockscale_executable **executable);
blockscale_status
blockscale_executable_create_file(const char *path,
                                  const blockscale_executable_config *config,
                                  blockscale_executable **executable);
void blockscale_executable_destroy(blockscale_executable *executable);

//===-- Functions without a compiler --------------------------------------===//
//
// docs/Cache.md describes saved functions and the cache. Where
// $BLOCKSCALE_CACHE_DIR names a folder, blockscale_executable_create takes what
// is there, and else puts there what it compiled, unless remarks are wanted:
// then callbacks are not called for a function that is there.

/// Writes all that a function needs to be called in another process, by the
/// same version of the library.
blockscale_status
blockscale_executable_save(const blockscale_executable *executable,
                           blockscale_output **output);

/// Makes an executable from bytes that blockscale_executable_save wrote.
/// Nothing is compiled, but what a GPU's driver makes of PTX where it has no
/// machine code. `place`,
/// which must be one for which the function was compiled, and `device` of the
/// configuration are read. The bytes have machine code, as programs do: take
/// them from whom you would take a program.
blockscale_status
blockscale_executable_load(const void *bytes, size_t size,
                           const blockscale_executable_config *config,
                           blockscale_executable **executable);

/// 1 where the executable was made without compilation: from the cache or from
/// bytes.
int blockscale_executable_is_loaded(const blockscale_executable *executable);
/// "cpu", or the chip that it was compiled for.
const char *
blockscale_executable_target(const blockscale_executable *executable);

//===-- Signature ---------------------------------------------------------===//

/// An argument or a result.
typedef struct blockscale_slot {
  /// The type that the module gives it: "tensor<?x64xf4E2M1FN>".
  const char *type;
  blockscale_dtype dtype;
  size_t rank;
  /// The sizes as stored; negative where any size is accepted.
  const int64_t *shape;
  /// 1 for an argument by value, whose rank is 0.
  int is_scalar;
} blockscale_slot;

const char *
blockscale_executable_entry(const blockscale_executable *executable);
/// BLOCKSCALE_ARGUMENT or BLOCKSCALE_RESULT; 0 for other roles.
size_t blockscale_executable_slot_count(const blockscale_executable *executable,
                                        blockscale_role role);
blockscale_status
blockscale_executable_slot(const blockscale_executable *executable,
                           blockscale_role role, size_t number,
                           blockscale_slot *slot);

/// 1 where the caller gives an argument away (`bufferization.writable`): a call
/// may write to its memory, which no other array of the call overlaps.
int blockscale_executable_is_writable(const blockscale_executable *executable,
                                      size_t argument);
/// The number of the argument whose memory a result may have, -1 for none. A
/// call that gets both in the same memory does not copy one to the other.
int64_t
blockscale_executable_result_argument(const blockscale_executable *executable,
                                      size_t result);

/// 1 where calls reduce over ranks, for which they need a function.
int blockscale_executable_reduces(const blockscale_executable *executable);

//===-- Calls -------------------------------------------------------------===//

typedef struct blockscale_array {
  /// The elements, in the memory of the place; those of a scalar are in the
  /// host's.
  void *data;
  blockscale_dtype dtype;
  size_t rank;
  const int64_t *shape;
  /// Distances of neighbours along each dimension, in elements. Null stands for
  /// a dense row-major array.
  const int64_t *strides;
} blockscale_array;

typedef struct blockscale_call_config {
  size_t struct_size;
  /// A CUstream; null is the default one.
  void *stream;
  /// Not 0: scales that are NaN are taken. They are looked at on the CPU and in
  /// the emulator only.
  int accept_nan_scales;
  /// Not 0: the emulator does asynchronous work as late as waits allow, in an
  /// order drawn from the seed.
  int adversarial;
  uint64_t seed;
  /// Called before each kernel that the emulator runs; may be null.
  blockscale_progress_callback on_progress;
  void *user;
  /// Not 0: a call on a GPU neither allocates memory nor waits, so that it can
  /// be captured into a CUDA graph: results are there when the work on the
  /// stream is done. It needs `workspace`. An error that a kernel finds is told
  /// by the next call on the GPU, as BLOCKSCALE_INVALID_DATA.
  int no_wait;
  /// The device address of `workspace_bytes`, at least those that
  /// blockscale_executable_workspace_bytes answers, at a multiple of 256. It is
  /// read with no_wait only, and used until the work on the stream is done.
  void *workspace;
  uint64_t workspace_bytes;
  /// The instructions of a cluster's warps after which the emulator gives up a
  /// kernel; 0 for 1000000000, and UINT64_MAX for no limit.
  uint64_t max_steps;
  /// What reduces over ranks, which is called with `reduce_user` by the thread
  /// of the call: blockscale_reduce_one_rank where there is one. It may be null
  /// for functions without amaxes over ranks (blockscale_executable_reduces).
  blockscale_reduce_callback reduce;
  void *reduce_user;
} blockscale_call_config;

blockscale_call_config blockscale_call_config_default(void);

/// Writes the sizes of a result for such arguments, `rank` numbers, which must
/// be the slot's rank.
blockscale_status blockscale_executable_result_shape(
    blockscale_executable *executable, const blockscale_array *arguments,
    size_t argument_count, size_t number, int64_t *shape, size_t rank);

/// Writes the bytes of the GPU's memory that a call for such arguments needs
/// besides its arrays; 0 for functions of the CPU and the emulator.
blockscale_status
blockscale_executable_workspace_bytes(blockscale_executable *executable,
                                      const blockscale_array *arguments,
                                      size_t argument_count, uint64_t *bytes);

/// Calls the function, and returns when the results are there. Arrays of
/// results overlap no other array, unless one has all of the memory of the
/// argument that blockscale_executable_result_argument names, and arguments
/// that are given away overlap no other argument: what these hold afterwards is
/// the result that is in them, and else anything. `config` may be null. After a
/// failure the results hold anything.
blockscale_status blockscale_executable_call(
    blockscale_executable *executable, const blockscale_array *arguments,
    size_t argument_count, const blockscale_array *results, size_t result_count,
    const blockscale_call_config *config);

/// Threads of calls on the CPU; 0 for $BLOCKSCALE_NUM_THREADS or one for each
/// hardware thread.
void blockscale_set_num_threads(int threads);

/// GOMP_parallel of an OpenMP runtime: calls `function(data)` on each thread of
/// a team.
typedef void (*blockscale_openmp_parallel)(void (*function)(void *data),
                                           void *data, unsigned threads,
                                           unsigned flags);

/// Has calls on the CPU run on the threads of an OpenMP runtime that the
/// process has, whose own threads would wait beside those of the library on the
/// same cores. They are as many as the runtime is set to, unless
/// blockscale_set_num_threads or $BLOCKSCALE_NUM_THREADS says otherwise.
/// Children of fork() have the library's threads. Null brings these back.
void blockscale_use_openmp(blockscale_openmp_parallel parallel);

// NOLINTEND(readability-identifier-naming,modernize-*)

#ifdef __cplusplus
}
#endif

#endif // BLOCKSCALE_C_RUN_H
