//===- Runtime.h - Run bundles on a GPU, from C -------------------*- C -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// libBlockScaleRuntime runs what `blockscale-compile --emit=bundle` writes. It
// needs libc and, from blockscale_device_open on, NVIDIA's driver.
// docs/LaunchPlan.md says what functions, buffers and targets are.
//
// A function that can fail returns a blockscale_status; where that is not
// BLOCKSCALE_OK, blockscale_last_error() says more, and what the function was
// to give is not written. Pointers that functions return belong to the object
// that they were asked of. Objects may be closed in any order and used by
// several threads; closing one that is null does nothing. A question about an
// object that is null, or with a number that is too large, is answered by null
// or 0, and by -1 where 0 is a number.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_C_RUNTIME_H
#define BLOCKSCALE_C_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// C names, and enumerations of the width that C gives them.
// NOLINTBEGIN(readability-identifier-naming,modernize-*)

typedef enum blockscale_status {
  BLOCKSCALE_OK = 0,
  /// What was given is not what is expected: a null, arguments of other number,
  /// dtype or shape, a constraint of the function that does not hold.
  BLOCKSCALE_INVALID_ARGUMENT = 1,
  /// The bytes are no bundle, of another version, or damaged.
  BLOCKSCALE_INVALID_BUNDLE = 2,
  /// No function has the name.
  BLOCKSCALE_NOT_FOUND = 3,
  /// A file cannot be read.
  BLOCKSCALE_FILE = 4,
  /// There is no libcuda, or it is none.
  BLOCKSCALE_NO_DRIVER = 5,
  /// The driver does not know the version of PTX, or lacks a function.
  BLOCKSCALE_DRIVER_TOO_OLD = 6,
  /// No GPU has the number.
  BLOCKSCALE_NO_DEVICE = 7,
  /// The bundle has no kernels that run on the GPU.
  BLOCKSCALE_WRONG_CHIP = 8,
  /// The address of a buffer is not a multiple of its alignment.
  BLOCKSCALE_MISALIGNED = 9,
  /// The GPU has too little free memory.
  BLOCKSCALE_OUT_OF_MEMORY = 10,
  /// Any other error of the driver, also of kernels that ran before.
  BLOCKSCALE_DRIVER_ERROR = 11,
  /// The module cannot be compiled; diagnostics say why (Compile.h).
  BLOCKSCALE_COMPILE_ERROR = 12,
  /// A progress callback ended the work.
  BLOCKSCALE_CANCELLED = 13,
  /// The bytes are no file of tensors, or contradict themselves (Checkpoint.h).
  BLOCKSCALE_INVALID_CHECKPOINT = 14,
  /// A kernel found a rule broken by values that only the GPU has, such as ends
  /// of groups, in a call that was launched before.
  BLOCKSCALE_INVALID_DATA = 15
} blockscale_status;

/// The name of a status, as "BLOCKSCALE_OK"; null for a number that is none.
const char *blockscale_status_name(blockscale_status status);
/// What the last failure on this thread was: the rule, the expected and the
/// found. The text lives until the next failure; it is "" before the first.
const char *blockscale_last_error(void);
/// The version of the library, as "0.1.0".
const char *blockscale_version(void);

//===-- Bundles -----------------------------------------------------------===//

typedef struct blockscale_bundle blockscale_bundle;

blockscale_status blockscale_bundle_open(const char *path,
                                         blockscale_bundle **bundle);
/// The bytes are copied.
blockscale_status blockscale_bundle_open_memory(const void *bytes, size_t size,
                                                blockscale_bundle **bundle);
void blockscale_bundle_close(blockscale_bundle *bundle);

/// Targets: a plan and the kernels for a chip, "sm_100a".
size_t blockscale_bundle_target_count(const blockscale_bundle *bundle);
const char *blockscale_bundle_chip(const blockscale_bundle *bundle,
                                   size_t target);

//===-- Functions of a target ---------------------------------------------===//

typedef struct blockscale_function blockscale_function;
typedef struct blockscale_buffer blockscale_buffer;

/// What a buffer is for, as plans name it.
typedef enum blockscale_role {
  BLOCKSCALE_ARGUMENT = 0,
  BLOCKSCALE_RESULT = 1,
  BLOCKSCALE_CONSTANT = 2,
  BLOCKSCALE_WORKSPACE = 3
} blockscale_role;

/// NumPy's types, in which buffers are stored.
typedef enum blockscale_dtype {
  BLOCKSCALE_BOOL = 0,
  BLOCKSCALE_UINT8 = 1,
  BLOCKSCALE_INT8 = 2,
  BLOCKSCALE_UINT16 = 3,
  BLOCKSCALE_INT16 = 4,
  BLOCKSCALE_UINT32 = 5,
  BLOCKSCALE_INT32 = 6,
  BLOCKSCALE_UINT64 = 7,
  BLOCKSCALE_INT64 = 8,
  BLOCKSCALE_FLOAT16 = 9,
  BLOCKSCALE_FLOAT32 = 10,
  BLOCKSCALE_FLOAT64 = 11
} blockscale_dtype;

/// The name of a type of elements, as "uint8", and its bytes.
const char *blockscale_dtype_name(blockscale_dtype dtype);
size_t blockscale_dtype_size(blockscale_dtype dtype);

size_t blockscale_function_count(const blockscale_bundle *bundle,
                                 size_t target);
const blockscale_function *
blockscale_function_get(const blockscale_bundle *bundle, size_t target,
                        size_t number);
/// Finds the function of that name; null stands for the only one.
blockscale_status
blockscale_function_find(const blockscale_bundle *bundle, size_t target,
                         const char *name,
                         const blockscale_function **function);

const char *blockscale_function_name(const blockscale_function *function);
/// The names that sizes are expressions of.
size_t blockscale_function_dim_count(const blockscale_function *function);
const char *blockscale_function_dim(const blockscale_function *function,
                                    size_t number);

/// 1 where launches of the function need a function that reduces over ranks
/// (blockscale_module_set_reduce).
int blockscale_function_reduces(const blockscale_function *function);

size_t blockscale_function_buffer_count(const blockscale_function *function,
                                        blockscale_role role);
const blockscale_buffer *
blockscale_function_buffer(const blockscale_function *function,
                           blockscale_role role, size_t number);

const char *blockscale_buffer_name(const blockscale_buffer *buffer);
/// The type that the module gives it: "tensor<?x64xf4E2M1FN>".
const char *blockscale_buffer_type(const blockscale_buffer *buffer);
/// What the bytes mean: "f4E2M1FN", "row_major". "" for a scalar.
const char *blockscale_buffer_element(const blockscale_buffer *buffer);
const char *blockscale_buffer_layout(const blockscale_buffer *buffer);
blockscale_dtype blockscale_buffer_dtype(const blockscale_buffer *buffer);
/// 1 for an argument by value, whose rank is 0.
int blockscale_buffer_is_scalar(const blockscale_buffer *buffer);
size_t blockscale_buffer_rank(const blockscale_buffer *buffer);
/// An expression: "64", "ceildiv(arg0_dim0, 128)".
const char *blockscale_buffer_size(const blockscale_buffer *buffer,
                                   size_t dimension);
/// That the device address must have.
uint64_t blockscale_buffer_alignment(const blockscale_buffer *buffer);
/// 1 for an argument that the caller gives away: steps may write to it.
int blockscale_buffer_is_writable(const blockscale_buffer *buffer);
/// For a result, the number of the argument whose memory it may have; -1 for
/// none. A launch that gets one address for both copies nothing from one to the
/// other.
int64_t blockscale_buffer_argument(const blockscale_buffer *buffer);

//===-- Reductions over ranks ---------------------------------------------===//

typedef enum blockscale_reduction_kind {
  /// The largest of the numbers, and NaN where one of them is.
  BLOCKSCALE_REDUCTION_MAX = 0
} blockscale_reduction_kind;

/// What a call has the host reduce over ranks: elements that each become what
/// they are over all ranks, in place.
typedef struct blockscale_reduction {
  /// In the memory of the GPU; of the host for functions of the CPU and the
  /// emulator (Run.h).
  uint64_t address;
  uint64_t count;
  blockscale_dtype dtype;
  blockscale_reduction_kind kind;
  /// The CUstream on which the elements are made and read; null is the default
  /// one.
  void *stream;
} blockscale_reduction;

/// A function of the host that reduces over ranks. On a GPU it puts the
/// reduction on the stream, behind what is there, and does not wait. The
/// elements are those of amaxes, which are not negative: their bits, taken as
/// integers, have the same largest one, NaN included. A result other than 0
/// ends the call, as BLOCKSCALE_INVALID_ARGUMENT. `reduction` lives until the
/// function returns.
typedef int (*blockscale_reduce_callback)(const blockscale_reduction *reduction,
                                          void *user);

/// The function of a rank that is alone: the elements stay as they are.
int blockscale_reduce_one_rank(const blockscale_reduction *reduction,
                               void *user);

//===-- Calls: a function with sizes and scalars --------------------------===//

typedef struct blockscale_call blockscale_call;

typedef struct blockscale_argument {
  blockscale_dtype dtype;
  size_t rank;
  const int64_t *shape;
  /// The value of a scalar, in the host's memory; else not read.
  const void *scalar;
} blockscale_argument;

/// Evaluates the plan for such arguments: sizes, launches, constraints. No
/// device is needed. A call can be launched any number of times.
blockscale_status blockscale_call_create(const blockscale_function *function,
                                         const blockscale_argument *arguments,
                                         size_t count, blockscale_call **call);
void blockscale_call_destroy(blockscale_call *call);

uint64_t blockscale_call_bytes(const blockscale_call *call,
                               blockscale_role role, size_t number);
/// The sizes of a buffer, as many numbers as its rank.
const int64_t *blockscale_call_shape(const blockscale_call *call,
                                     blockscale_role role, size_t number);
/// Bytes of the one piece of memory that holds all workspaces of a call. Its
/// address must be a multiple of 256.
uint64_t blockscale_call_workspace_bytes(const blockscale_call *call);

//===-- Devices -----------------------------------------------------------===//

typedef struct blockscale_device blockscale_device;

/// The primary context of a GPU, that the CUDA runtime uses, too. `driver` is
/// the file of libcuda; null stands for $BLOCKSCALE_LIBCUDA, and where there is
/// none, for libcuda.so.1 from where it usually is.
blockscale_status blockscale_device_open(int ordinal, const char *driver,
                                         blockscale_device **device);
void blockscale_device_close(blockscale_device *device);

/// The name of the GPU, as "NVIDIA H200".
const char *blockscale_device_name(const blockscale_device *device);
/// The compute capability, 90 for 9.0.
int blockscale_device_capability(const blockscale_device *device);
/// The version of CUDA that the driver supports, 13000 for CUDA 13.0.
int blockscale_device_driver_version(const blockscale_device *device);
int blockscale_device_multiprocessors(const blockscale_device *device);

/// Memory for those who have no allocator; addresses are multiples of 256, and
/// 0 for no bytes.
blockscale_status blockscale_device_allocate(const blockscale_device *device,
                                             uint64_t bytes, uint64_t *address);
void blockscale_device_free(const blockscale_device *device, uint64_t address);
blockscale_status blockscale_device_upload(const blockscale_device *device,
                                           uint64_t to, const void *from,
                                           uint64_t bytes);
/// Does not wait for work on streams but the default one.
blockscale_status blockscale_device_download(const blockscale_device *device,
                                             void *to, uint64_t from,
                                             uint64_t bytes);
/// Waits for the work on a CUstream; null is the default one. Then it fails as
/// blockscale_device_take_error does.
blockscale_status blockscale_device_synchronize(const blockscale_device *device,
                                                void *stream);
/// What kernels on the GPU found wrong, without a wait: BLOCKSCALE_INVALID_DATA
/// with the rule, the expected and the found that a kernel of this process met
/// first since an error was taken last, or BLOCKSCALE_OK. Taking an error
/// clears it. The results that the rule is about are zeros; the context goes
/// on, so that later calls work.
blockscale_status blockscale_device_take_error(const blockscale_device *device);

//===-- Modules: a bundle on a device -------------------------------------===//

typedef struct blockscale_module blockscale_module;

/// Compiles the kernels of the target that suits the device best, and puts the
/// constants into its memory.
blockscale_status blockscale_module_load(const blockscale_bundle *bundle,
                                         const blockscale_device *device,
                                         blockscale_module **module);
/// Work that was launched must have been done.
void blockscale_module_unload(blockscale_module *module);
/// The number of the target, whose functions can be launched.
size_t blockscale_module_target(const blockscale_module *module);

/// Says what reduces over ranks in launches from now on; null for nothing, so
/// that functions with such steps are refused. No other thread uses the module
/// meanwhile.
void blockscale_module_set_reduce(blockscale_module *module,
                                  blockscale_reduce_callback reduce,
                                  void *user);

/// Puts the steps of a call on a CUstream. `arguments` and `results` are device
/// addresses, one for each; those of scalars and of empty buffers are not used.
/// `workspace` is the address of `workspace_bytes`, at least those of
/// blockscale_call_workspace_bytes.
///
/// Nothing waits or allocates memory of the device, so that it can be captured
/// into a CUDA graph. A call without rows, say, launches nothing and succeeds.
/// Between two steps it calls what reduces over ranks: in a capture that is
/// once, and what it puts on the stream is in the graph, whose replays do not
/// call it. Addresses are checked before the first step: an argument that is
/// given away, and a result, overlap no other argument or result, unless the
/// result has all of the memory of its argument (blockscale_buffer_argument).
/// Where a kernel has found an error since one was taken last, the launch takes
/// it in place of its steps, as blockscale_device_take_error does.
blockscale_status
blockscale_launch(const blockscale_module *module, const blockscale_call *call,
                  const uint64_t *arguments, size_t argument_count,
                  const uint64_t *results, size_t result_count,
                  uint64_t workspace, uint64_t workspace_bytes, void *stream);

/// Runs a call once, captures it into a CUDA graph, and writes the microseconds
/// of each of `count` replays of that. Before each replay `flush_bytes` of
/// other memory are overwritten: with more of them than the L2 cache holds,
/// operands come from memory. Waits for the end; the rest is as for
/// blockscale_launch.
blockscale_status
blockscale_time(const blockscale_module *module, const blockscale_call *call,
                const uint64_t *arguments, size_t argument_count,
                const uint64_t *results, size_t result_count,
                uint64_t workspace, uint64_t workspace_bytes,
                uint64_t flush_bytes, size_t count, double *microseconds);

// NOLINTEND(readability-identifier-naming,modernize-*)

#ifdef __cplusplus
}
#endif

#endif // BLOCKSCALE_C_RUNTIME_H
