//===- Arguments.cpp - What a kernel is called with -----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"

#include "Fields.h"
#include "Scalar.h"
#include "TensorMapOption.h"
#include "blockscale/Emulator/TensorMap.h"
#include "blockscale/Runtime/FileOutput.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cstring>

using namespace blockscale::emulator;
using blockscale::runtime::NpyArray;
using blockscale::runtime::NpyType;

namespace blockscale::emulate {

/// What cuMemAlloc gives.
static constexpr uint64_t kBufferAlignment = 256;
static constexpr llvm::StringLiteral kBufferKinds[] = {"in", "inout", "out",
                                                       "zero", "uninit"};

bool Arguments::isBuffer(llvm::StringRef kind) {
  return llvm::is_contained(kBufferKinds, kind);
}

static llvm::ArrayRef<uint8_t> getBytes(const NpyArray &array) {
  return {array.data.data(), array.data.size()};
}

static std::vector<uint8_t> toBytes(uint64_t value) {
  std::vector<uint8_t> bytes(sizeof(value));
  std::memcpy(bytes.data(), &value, sizeof(value));
  return bytes;
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

llvm::Expected<uint64_t> Arguments::makeInput(llvm::StringRef name,
                                              llvm::StringRef path) {
  runtime::Result<NpyArray> array = runtime::readNpy(path.str());
  if (!array.ok())
    return toError(array.status());
  return device.global.allocate(name, getBytes(*array), kBufferAlignment,
                                /*readOnly=*/true);
}

llvm::Expected<uint64_t> Arguments::makeInOut(llvm::StringRef name,
                                              llvm::StringRef text) {
  auto [from, to] = text.split(':');
  if (to.empty())
    return unexpected("inout:FILE:FILE", "inout:" + text.str());
  runtime::Result<NpyArray> array = runtime::readNpy(from.str());
  if (!array.ok())
    return toError(array.status());
  uint64_t address =
      device.global.allocate(name, getBytes(*array), kBufferAlignment);
  outputs.push_back({to.str(), name.str(), std::move(*array)});
  return address;
}

llvm::Expected<uint64_t> Arguments::makeOutput(llvm::StringRef name,
                                               llvm::StringRef text) {
  auto [rest, shapeText] = text.rsplit(':');
  auto [path, dtype] = rest.rsplit(':');
  if (path.empty() || dtype.empty())
    return unexpected("out:FILE:DTYPE:SHAPE", "out:" + text.str());
  std::optional<NpyType> type = runtime::findNpyType(std::string_view(dtype));
  if (!type)
    return unexpected("the dtype to be one of NumPy's (uint8, float32, ...)",
                      dtype);
  std::vector<int64_t> shape;
  if (!shapeText.empty()) {
    llvm::Expected<std::vector<uint64_t>> sizes =
        parseNumbers(shapeText, "a size of the shape");
    if (!sizes)
      return sizes.takeError();
    shape.assign(sizes->begin(), sizes->end());
  }
  runtime::Result<NpyArray> array = NpyArray::allocate(*type, shape);
  if (!array.ok())
    return toError(array.status());
  uint64_t address =
      device.global.allocate(name, array->data.size(), kBufferAlignment);
  outputs.push_back({path.str(), name.str(), std::move(*array)});
  return address;
}

llvm::Expected<uint64_t> Arguments::makeBuffer(llvm::StringRef name,
                                               llvm::StringRef text) {
  if (device.global.find(name))
    return unexpected("buffers of different names", name);
  auto [kind, rest] = text.split(':');
  if (kind == "in")
    return makeInput(name, rest);
  if (kind == "inout")
    return makeInOut(name, rest);
  if (kind == "out")
    return makeOutput(name, rest);
  if (kind == "map") {
    llvm::Expected<std::vector<uint8_t>> map = makeMap(rest);
    if (!map)
      return map.takeError();
    return device.global.allocate(name, *map, kBufferAlignment);
  }
  if (kind != "zero" && kind != "uninit")
    return unexpected("a buffer to be " +
                          llvm::join(llvm::ArrayRef(kBufferKinds), ", ") +
                          " or map",
                      text);
  // No device has a larger buffer, which would only exhaust the host.
  constexpr uint64_t kLargest = uint64_t(1) << 36;
  llvm::Expected<uint64_t> bytes = parseNumber(rest, "the bytes of a buffer");
  if (!bytes)
    return bytes.takeError();
  if (*bytes > kLargest)
    return unexpected("the bytes of a buffer to be at most 2^36", rest);
  if (kind == "uninit")
    return device.global.allocate(name, *bytes, kBufferAlignment);
  return device.global.allocate(name, std::vector<uint8_t>(*bytes),
                                kBufferAlignment);
}

llvm::Error Arguments::addBuffer(llvm::StringRef option) {
  auto [name, text] = option.split('=');
  if (name.empty() || text.empty())
    return unexpected("--buffer to be NAME=BUFFER", option);
  return makeBuffer(name, text).takeError();
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

/// NAME or NAME+BYTES.
llvm::Expected<uint64_t> Arguments::findAddress(llvm::StringRef text) {
  auto [name, offsetText] = text.split('+');
  const Buffer *buffer = device.global.find(name);
  if (!buffer) {
    std::vector<llvm::StringRef> names;
    for (const Buffer &each : device.global.getBuffers())
      names.push_back(each.name);
    return unexpected("the name of a buffer (" + llvm::join(names, ", ") + ")",
                      name);
  }
  if (offsetText.empty())
    return buffer->base;
  llvm::Expected<uint64_t> offset = parseNumber(offsetText, "the offset");
  if (!offset)
    return offset.takeError();
  return buffer->base + *offset;
}

llvm::Expected<std::vector<uint8_t>> Arguments::makeMap(llvm::StringRef text) {
  auto [name, fields] = text.split(',');
  llvm::Expected<uint64_t> address = findAddress(name);
  if (!address)
    return address.takeError();
  llvm::Expected<TensorMap> map = parseTensorMap(fields, *address);
  if (!map)
    return map.takeError();
  std::array<uint8_t, kTensorMapBytes> bytes = encode(*map);
  return std::vector<uint8_t>(bytes.begin(), bytes.end());
}

llvm::Expected<std::vector<uint8_t>>
Arguments::makeParameter(llvm::StringRef option) {
  auto [kind, rest] = option.split(':');
  if (kind == "map")
    return makeMap(rest);
  if (kind == "bytes") {
    auto file = llvm::MemoryBuffer::getFile(rest, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
    if (!file)
      return llvm::createStringError("cannot read '" + rest +
                                     "': " + file.getError().message());
    llvm::StringRef bytes = (*file)->getBuffer();
    return std::vector<uint8_t>(bytes.bytes_begin(), bytes.bytes_end());
  }
  if (kind == "buffer" || isBuffer(kind)) {
    std::string name = "arg" + std::to_string(parameters.size());
    llvm::Expected<uint64_t> address =
        kind == "buffer" ? findAddress(rest) : makeBuffer(name, option);
    if (!address)
      return address.takeError();
    return toBytes(*address);
  }
  return parseScalar(kind, rest);
}

llvm::Error Arguments::addArgument(llvm::StringRef option) {
  llvm::Expected<std::vector<uint8_t>> parameter = makeParameter(option);
  if (!parameter)
    return llvm::createStringError(
        "--arg " + std::to_string(parameters.size()) + " ('" + option +
        "'): " + llvm::toString(parameter.takeError()));
  parameters.push_back(std::move(*parameter));
  return llvm::Error::success();
}

llvm::Error Arguments::writeOutputs() {
  std::vector<runtime::NpyOutput> files;
  for (Output &output : outputs) {
    const Buffer &buffer = *device.global.find(output.buffer);
    if (llvm::Error error = checkWritten(buffer))
      return error;
    llvm::copy(buffer.bytes, output.array.data.data());
    files.push_back({output.path, &output.array});
  }
  return toError(runtime::writeNpyFiles(files));
}

} // namespace blockscale::emulate
