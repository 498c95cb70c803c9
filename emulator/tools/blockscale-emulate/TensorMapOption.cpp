//===- TensorMapOption.cpp - Tensor maps on the command line --------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorMapOption.h"

#include "Fields.h"
#include "blockscale/Runtime/LaunchPlan.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace blockscale::emulator;
using namespace blockscale::runtime;

namespace blockscale::emulate {

namespace {
/// The fields by their keys, each read once.
class MapFields {
public:
  llvm::Error parse(llvm::StringRef text);

  llvm::Expected<std::vector<uint64_t>> getNumbers(llvm::StringRef key,
                                                   size_t count);
  llvm::Expected<uint32_t> getChoice(llvm::StringRef key,
                                     llvm::ArrayRef<std::string_view> names);
  bool has(llvm::StringRef key) const { return fields.contains(key); }

private:
  llvm::StringMap<llvm::StringRef> fields;
};
} // namespace

llvm::Error MapFields::parse(llvm::StringRef text) {
  constexpr llvm::StringLiteral kKeys[] = {
      "type", "dims",    "strides",    "box",   "element_strides",
      "fill", "swizzle", "interleave", "offset"};
  for (llvm::StringRef field : llvm::split(text, ',')) {
    auto [key, value] = field.split('=');
    if (!llvm::is_contained(kKeys, key))
      return unexpected("a field of a tensor map (" +
                            llvm::join(llvm::ArrayRef(kKeys), ", ") + ")",
                        key);
    if (!fields.try_emplace(key, value).second)
      return unexpected("each field of a tensor map once", key);
  }
  for (llvm::StringRef key : {"type", "dims", "box"})
    if (!has(key))
      return unexpected("a tensor map to have a field '" + key + "'", text);
  return llvm::Error::success();
}

llvm::Expected<std::vector<uint64_t>> MapFields::getNumbers(llvm::StringRef key,
                                                            size_t count) {
  llvm::StringRef text = fields.lookup(key);
  llvm::Expected<std::vector<uint64_t>> numbers = parseNumbers(text, key);
  if (numbers && numbers->size() != count)
    return unexpected(llvm::Twine(count) + " numbers in " + key, text);
  return numbers;
}

llvm::Expected<uint32_t>
MapFields::getChoice(llvm::StringRef key,
                     llvm::ArrayRef<std::string_view> names) {
  if (!has(key))
    return 0;
  llvm::Expected<size_t> choice = parseChoice(fields.lookup(key), names, key);
  if (!choice)
    return choice.takeError();
  return static_cast<uint32_t>(*choice);
}

/// The strides of a dense tensor in bytes, for dimension 1 and those above.
static std::vector<uint64_t> getDenseStrides(TensorElement element,
                                             llvm::ArrayRef<uint64_t> dims) {
  std::vector<uint64_t> strides;
  uint64_t bits = getBits(element);
  for (uint64_t size : dims.drop_back()) {
    bits *= size;
    strides.push_back(bits / 8);
  }
  return strides;
}

template <typename T>
static llvm::Error assign(T &target, llvm::Expected<std::decay_t<T>> &&source) {
  return std::move(source).moveInto(target);
}

/// Larger numbers are against the rules in any case.
static std::vector<uint32_t> narrow(llvm::ArrayRef<uint64_t> numbers) {
  std::vector<uint32_t> narrowed;
  for (uint64_t number : numbers)
    narrowed.push_back(std::min<uint64_t>(number, ~uint32_t(0)));
  return narrowed;
}

llvm::Expected<TensorMap> parseTensorMap(llvm::StringRef text,
                                         uint64_t address) {
  MapFields fields;
  if (llvm::Error error = fields.parse(text))
    return std::move(error);
  // The dimensions say how many of everything else.
  llvm::StringRef dimsText = text.split("dims=").second.split(',').first;
  std::vector<uint64_t> dims;
  if (llvm::Error error = assign(dims, parseNumbers(dimsText, "dims")))
    return std::move(error);
  size_t rank = dims.size();
  if (rank < 1 || rank > 5)
    return unexpected("1 to 5 dims", dimsText);
  uint32_t element = 0, swizzle = 0, interleave = 0, fill = 0;
  std::vector<uint64_t> offset = {0}, box, elementStrides(rank, 1);
  llvm::Error errors = llvm::joinErrors(
      llvm::joinErrors(
          assign(element, fields.getChoice("type", kTensorElementNames)),
          assign(swizzle, fields.getChoice("swizzle", kSwizzleNames))),
      llvm::joinErrors(
          assign(interleave, fields.getChoice("interleave", kInterleaveNames)),
          assign(fill, fields.getChoice("fill", kFillNames))));
  errors = llvm::joinErrors(std::move(errors),
                            assign(box, fields.getNumbers("box", rank)));
  if (fields.has("element_strides"))
    errors = llvm::joinErrors(
        std::move(errors),
        assign(elementStrides, fields.getNumbers("element_strides", rank)));
  if (fields.has("offset"))
    errors = llvm::joinErrors(std::move(errors),
                              assign(offset, fields.getNumbers("offset", 1)));
  TensorMap map;
  map.element = static_cast<TensorElement>(element);
  std::vector<uint64_t> strides = getDenseStrides(map.element, dims);
  if (fields.has("strides"))
    errors = llvm::joinErrors(
        std::move(errors),
        assign(strides, fields.getNumbers("strides", rank - 1)));
  if (errors)
    return std::move(errors);
  map.rank = rank;
  map.address = address + offset[0];
  llvm::copy(dims, map.dims.begin());
  llvm::copy(strides, map.strides.begin());
  llvm::copy(narrow(box), map.box.begin());
  llvm::copy(narrow(elementStrides), map.elementStrides.begin());
  map.interleave = static_cast<TensorInterleave>(interleave);
  map.swizzle = static_cast<Swizzle>(swizzle);
  map.fill = static_cast<TensorFill>(fill);
  if (llvm::Error error = checkTensorMap(map))
    return std::move(error);
  return map;
}

} // namespace blockscale::emulate
