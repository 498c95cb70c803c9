//===- DriverEntryPoints.cpp - Functions of the driver --------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Call.h"
#include "Status.h"
#include "blockscale/Emulator/TensorMap.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <cstring>
#include <dlfcn.h>

using namespace blockscale::emulator;

namespace blockscale::cuda {

static Error refuseMap(const llvm::Twine &why) {
  return fail("cuTensorMapEncodeTiled", Error::InvalidValue, why);
}

/// The function of this library that a name of the driver's means: as it is, or
/// with the ending of those whose types were once smaller. Null for none.
static void *findFunction(llvm::StringRef name) {
  static void *const library = [] {
    Dl_info info;
    dladdr(reinterpret_cast<void *>(&findFunction), &info);
    return dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  }();
  if (!isOfDriver(name))
    return nullptr;
  for (const char *ending : {"_v2", ""})
    if (void *function = dlsym(library, (name + ending).str().c_str()))
      return function;
  return nullptr;
}

extern "C" {

/// CUtensorMap is made of a description, or refused where NVIDIA's driver or
/// its documentation refuses it. The promotion to L2 says nothing of the bytes.
Error cuTensorMapEncodeTiled(void *map, int type, uint32_t rank, void *address,
                             const uint64_t *dims, const uint64_t *strides,
                             const uint32_t *box,
                             const uint32_t *elementStrides, int interleave,
                             int swizzle, int promotion, int fill) {
  Call call("cuTensorMapEncodeTiled");
  if (call.error != Error::Success)
    return call.error;
  auto isChoice = [](int value, int last) {
    return value >= 0 && value <= last;
  };
  if (!map || reinterpret_cast<uint64_t>(map) % 64 != 0)
    return refuseMap("expected the map's address to be a multiple of 64");
  if (rank < 1 || rank > 5)
    return refuseMap("expected a rank of 1 to 5, but got " + llvm::Twine(rank));
  if (!isChoice(type, static_cast<int>(TensorElement::U6Align16)) ||
      !isChoice(interleave, static_cast<int>(TensorInterleave::Bytes32)) ||
      !isChoice(swizzle, static_cast<int>(Swizzle::Span128Atom64)) ||
      !isChoice(promotion, 3) ||
      !isChoice(fill, static_cast<int>(TensorFill::Nan)))
    return refuseMap(llvm::formatv("expected numbers of the enumerations, but "
                                   "got type {0}, interleave {1}, swizzle {2}, "
                                   "promotion {3}, fill {4}",
                                   type, interleave, swizzle, promotion, fill)
                         .str());
  // Of strides too where there are none, at rank 1.
  if (!dims || !box || !elementStrides || !strides)
    return refuseMap("expected pointers to dims, strides, box and element "
                     "strides");
  TensorMap tensor;
  tensor.element = static_cast<TensorElement>(type);
  tensor.rank = rank;
  tensor.address = reinterpret_cast<uint64_t>(address);
  std::copy_n(dims, rank, tensor.dims.begin());
  std::copy_n(strides, rank - 1, tensor.strides.begin());
  std::copy_n(box, rank, tensor.box.begin());
  std::copy_n(elementStrides, rank, tensor.elementStrides.begin());
  tensor.interleave = static_cast<TensorInterleave>(interleave);
  tensor.swizzle = static_cast<Swizzle>(swizzle);
  tensor.fill = static_cast<TensorFill>(fill);
  llvm::SmallVector<Fault, 2> faults;
  if (!validate(tensor, faults))
    return refuseMap(faults.front().what);
  std::array<uint8_t, kTensorMapBytes> bytes = encode(tensor);
  std::memcpy(map, bytes.data(), bytes.size());
  return Error::Success;
}

Error cudaGetDriverEntryPointByVersion(const char *symbol, void **function,
                                       unsigned /*version*/,
                                       unsigned long long /*flags*/,
                                       int *result) {
  constexpr int kFound = 0, kNotFound = 1;
  *function = findFunction(symbol);
  if (result)
    *result = *function ? kFound : kNotFound;
  if (*function)
    return Error::Success;
  // A caller that asks for the result looks there.
  Error error = failNotModelled("cudaGetDriverEntryPointByVersion",
                                llvm::Twine("'") + symbol + "'");
  return result ? Error::Success : error;
}

} // extern "C"

} // namespace blockscale::cuda
