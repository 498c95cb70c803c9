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

namespace {
/// The arguments that all functions have which make a tensor map.
struct MapArguments {
  void *map;
  int type;
  uint32_t rank;
  void *address;
  const uint64_t *dims, *strides;
  const uint32_t *elementStrides;
  int interleave, swizzle, promotion, fill;
};
} // namespace

/// The part of a map that they describe. None, and `why`, where it is refused.
static std::optional<TensorMap> makeMap(const MapArguments &from,
                                        unsigned leastRank, std::string &why) {
  auto isChoice = [](int value, int last) {
    return value >= 0 && value <= last;
  };
  if (!from.map || reinterpret_cast<uint64_t>(from.map) % 64 != 0) {
    why = "expected the map's address to be a multiple of 64";
    return std::nullopt;
  }
  if (from.rank < leastRank || from.rank > 5) {
    why = llvm::formatv("expected a rank of {0} to 5, but got {1}", leastRank,
                        from.rank);
    return std::nullopt;
  }
  if (!isChoice(from.type, static_cast<int>(TensorElement::U6Align16)) ||
      !isChoice(from.interleave, static_cast<int>(TensorInterleave::Bytes32)) ||
      !isChoice(from.swizzle, static_cast<int>(Swizzle::Span128Atom64)) ||
      !isChoice(from.promotion, 3) ||
      !isChoice(from.fill, static_cast<int>(TensorFill::Nan))) {
    why = llvm::formatv("expected numbers of the enumerations, but got type "
                        "{0}, interleave {1}, swizzle {2}, promotion {3}, fill "
                        "{4}",
                        from.type, from.interleave, from.swizzle,
                        from.promotion, from.fill);
    return std::nullopt;
  }
  // Of strides too where there are none, at rank 1.
  if (!from.dims || !from.strides || !from.elementStrides) {
    why = "expected pointers to dims, strides and element strides";
    return std::nullopt;
  }
  TensorMap map;
  map.element = static_cast<TensorElement>(from.type);
  map.rank = from.rank;
  map.address = reinterpret_cast<uint64_t>(from.address);
  std::copy_n(from.dims, from.rank, map.dims.begin());
  std::copy_n(from.strides, from.rank - 1, map.strides.begin());
  std::copy_n(from.elementStrides, from.rank, map.elementStrides.begin());
  map.interleave = static_cast<TensorInterleave>(from.interleave);
  map.swizzle = static_cast<Swizzle>(from.swizzle);
  map.fill = static_cast<TensorFill>(from.fill);
  return map;
}

/// Writes a map where the program wants it, if it is one that there may be.
static Error storeMap(const char *function, const TensorMap &tensor,
                      void *map) {
  llvm::SmallVector<Fault, 2> faults;
  if (!validate(tensor, faults))
    return fail(function, Error::InvalidValue, faults.front().what);
  std::array<uint8_t, kTensorMapBytes> bytes = encode(tensor);
  std::memcpy(map, bytes.data(), bytes.size());
  return Error::Success;
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
  std::string why;
  std::optional<TensorMap> tensor =
      makeMap({map, type, rank, address, dims, strides, elementStrides,
               interleave, swizzle, promotion, fill},
              /*leastRank=*/1, why);
  if (!tensor)
    return fail("cuTensorMapEncodeTiled", Error::InvalidValue, why);
  if (!box)
    return fail("cuTensorMapEncodeTiled", Error::InvalidValue,
                "expected a pointer to the box");
  std::copy_n(box, rank, tensor->box.begin());
  return storeMap("cuTensorMapEncodeTiled", *tensor, map);
}

/// A map for the im2col forms of copies.
Error cuTensorMapEncodeIm2col(void *map, int type, uint32_t rank, void *address,
                              const uint64_t *dims, const uint64_t *strides,
                              const int *lowerCorner, const int *upperCorner,
                              uint32_t channels, uint32_t pixels,
                              const uint32_t *elementStrides, int interleave,
                              int swizzle, int promotion, int fill) {
  Call call("cuTensorMapEncodeIm2col");
  if (call.error != Error::Success)
    return call.error;
  auto refuse = [](const llvm::Twine &why) {
    return fail("cuTensorMapEncodeIm2col", Error::InvalidValue, why);
  };
  std::string why;
  std::optional<TensorMap> tensor =
      makeMap({map, type, rank, address, dims, strides, elementStrides,
               interleave, swizzle, promotion, fill},
              /*leastRank=*/3, why);
  if (!tensor)
    return refuse(why);
  if (!lowerCorner || !upperCorner)
    return refuse("expected pointers to the corners of the bounding box");
  tensor->mode = TensorMode::Im2col;
  tensor->box = {channels, pixels};
  for (auto [to, from] : {std::pair(&tensor->lowerCorner, lowerCorner),
                          std::pair(&tensor->upperCorner, upperCorner)})
    for (unsigned i = 0; i + 2 < rank; ++i) {
      if (from[i] != int16_t(from[i]))
        return refuse("expected corners of the bounding box of 16 bits, but "
                      "got " +
                      llvm::Twine(from[i]));
      (*to)[i] = int16_t(from[i]);
    }
  return storeMap("cuTensorMapEncodeIm2col", *tensor, map);
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
