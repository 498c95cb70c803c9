//===- Expected.cpp - Expected arrays from files --------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Expected.h"

#include <cstdlib>
#include <fstream>
#include <iterator>

using namespace blockscale::numerics;

static std::string getPath(const std::string &archive,
                           const std::string &array) {
  return std::string(BLOCKSCALE_NUMERICS_ARRAYS) + "/" + archive + "/" + array +
         ".npy";
}

bool blockscale::numerics::hasExpected(const std::string &archive,
                                       const std::string &array) {
  return std::ifstream(getPath(archive, array)).good();
}

/// The text after `key` in the header of a .npy file, a Python dictionary.
static std::string findValue(const std::string &header,
                             const std::string &key) {
  size_t at = header.find("'" + key + "': ");
  return at == std::string::npos ? "" : header.substr(at + key.size() + 4);
}

ExpectedArray blockscale::numerics::readExpected(const std::string &archive,
                                                 const std::string &array) {
  ExpectedArray result;
  result.name = archive + "." + array;
  std::ifstream file(getPath(archive, array), std::ios::binary);
  std::vector<char> content((std::istreambuf_iterator<char>(file)),
                            std::istreambuf_iterator<char>());
  // Version 1.0: magic, version, 16-bit header length, header, data.
  constexpr size_t kPrefix = 10;
  if (content.size() < kPrefix || content[6] != 1) {
    ADD_FAILURE() << "no array of .npy version 1 at "
                  << getPath(archive, array);
    return result;
  }
  size_t headerSize = static_cast<unsigned char>(content[8]) +
                      256 * static_cast<unsigned char>(content[9]);
  size_t dataStart = kPrefix + headerSize;
  if (content.size() < dataStart) {
    ADD_FAILURE() << result.name << ": truncated header";
    return result;
  }
  std::string header(content.data() + kPrefix, headerSize);
  std::string type = findValue(header, "descr");
  std::string order = findValue(header, "fortran_order");
  std::string shape = findValue(header, "shape");
  if (type.size() < 4 || order.rfind("False", 0) != 0 || shape.empty()) {
    ADD_FAILURE() << result.name << ": expected C order, but got " << header;
    return result;
  }
  result.itemSize = static_cast<size_t>(type[3] - '0');
  size_t count = 1;
  for (const char *at = shape.c_str() + 1; *at && *at != ')';) {
    char *end = nullptr;
    int64_t size = std::strtoll(at, &end, 10);
    if (end == at)
      break;
    result.shape.push_back(size);
    count *= static_cast<size_t>(size);
    at = end + std::strspn(end, ", ");
  }
  result.bytes.assign(content.begin() + static_cast<ptrdiff_t>(dataStart),
                      content.end());
  EXPECT_EQ(result.bytes.size(), count * result.itemSize) << result.name;
  return result;
}
