//===- BytecodeReader.cpp - The program that reads bytecode ---------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Driver/BytecodeReader.h"

#include "ChildProcess.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"

#include <dlfcn.h>
#include <link.h>

using blockscale::runtime::ErrorKind;
using blockscale::runtime::Result;
using blockscale::runtime::Status;
using llvm::StringRef;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

namespace blockscale {

static constexpr const char *kVariable = "BLOCKSCALE_BYTECODE_READER";

/// How much longer than a CPU takes an answer may take, where others have most
/// of the machine.
static constexpr int kMostLoad = 30;

/// The folder of the library or program that has this code; empty where it
/// cannot be told.
static std::string getOwnFolder() {
  Dl_info info;
  void *map = nullptr;
  auto *inside = reinterpret_cast<void *>(&getOwnFolder);
  if (!dladdr1(inside, &info, &map, RTLD_DL_LINKMAP) || !map)
    return "";
  // The link map of the program itself is the only one without a name.
  StringRef file = static_cast<const struct link_map *>(map)->l_name;
  llvm::SmallString<128> real;
  if (fs::real_path(file.empty() ? "/proc/self/exe" : file, real))
    return "";
  return path::parent_path(real).str();
}

std::vector<BytecodeReaderPlace> getBytecodeReaderPlaces() {
  std::vector<BytecodeReaderPlace> places;
  places.push_back({std::string("$") + kVariable,
                    llvm::sys::Process::GetEnv(kVariable).value_or("")});
  auto add = [&](StringRef folder) {
    llvm::SmallString<128> file(folder);
    path::append(file, kBytecodeReaderName);
    path::remove_dots(file, /*remove_dot_dot=*/true);
    // A program in bin sees one folder twice.
    if (llvm::none_of(places, [&](const auto &p) { return p.path == file; }))
      places.push_back({path::parent_path(file).str(), file.str().str()});
  };
  if (std::string own = getOwnFolder(); !own.empty())
    for (StringRef folder : llvm::split(BLOCKSCALE_READER_FOLDERS, ':'))
      add(own + "/" + folder.str());
  add(BLOCKSCALE_INSTALLED_READER_FOLDER);
  return places;
}

Result<std::string>
findBytecodeReader(const std::vector<BytecodeReaderPlace> &places) {
  std::string searched;
  for (const BytecodeReaderPlace &place : places) {
    if (place.path.empty()) {
      searched += "\n  " + place.name + ": not set";
      continue;
    }
    if (fs::can_execute(place.path))
      return place.path;
    searched += "\n  " + place.name + ": no program '" + place.path + "'";
  }
  return Status::failure(
      std::string("expected the program ") + kBytecodeReaderName +
          ", which reads bytecode, but found none; name it by the option for "
          "it or by $" +
          kVariable + ", or give MLIR text; searched:" + searched,
      ErrorKind::NotFound);
}

Result<BytecodeAnswer>
askBytecodeReader(const std::string &program, StringRef content,
                  std::optional<std::chrono::milliseconds> limit) {
  std::chrono::seconds usual(kMostLoad * getReadingSeconds(content.size()));
  std::optional<Result<BytecodeAnswer>> answer;
  Result<std::string> output =
      exchange(program, content, limit.value_or(usual), [&](StringRef bytes) {
        answer = parseAnswer(bytes, getReadingMemory(content.size()));
        return answer.has_value();
      });
  if (!output.ok())
    return output.status();
  if (!answer)
    return Status::failure("expected '" + program +
                           "' to answer, but it ended before it did; '" +
                           program + " --version' shows whether it can run");
  if (!answer->ok())
    return Status::failure("'" + program + "': " + answer->message());
  return **answer;
}

} // namespace blockscale
