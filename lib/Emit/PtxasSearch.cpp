//===- PtxasSearch.cpp - Find NVIDIA's assembler --------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Process.h"
#include "blockscale/Emit/Ptxas.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"

namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;
using llvm::StringRef;

namespace blockscale {

static std::string getVariable(StringRef name) {
  return llvm::sys::Process::GetEnv(name).value_or("");
}

static std::string join(StringRef folder, const llvm::Twine &a,
                        const llvm::Twine &b = "", const llvm::Twine &c = "") {
  llvm::SmallString<128> result(folder);
  path::append(result, a, b, c);
  return std::string(result);
}

/// Folders of `folder` whose names start with `prefix`, sorted.
static std::vector<std::string> listFolders(StringRef folder,
                                            StringRef prefix) {
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error))
    if (path::filename(it->path()).starts_with(prefix))
      found.push_back(it->path());
  llvm::sort(found);
  return found;
}

std::vector<PtxasPlace> getPtxasPlaces(StringRef projectDir) {
  std::vector<PtxasPlace> places;
  places.push_back({"$BLOCKSCALE_PTXAS", getVariable("BLOCKSCALE_PTXAS")});
  auto onPath = llvm::sys::findProgramByName("ptxas");
  places.push_back({"PATH", onPath ? *onPath : ""});
  for (StringRef name : {"CUDA_ROOT", "CUDA_HOME", "CUDA_PATH"}) {
    std::string root = getVariable(name);
    places.push_back({"$" + name.str() + "/bin",
                      root.empty() ? "" : join(root, "bin", "ptxas")});
  }
  // PyPI's nvidia-cuda-nvcc, where the project's set-up puts it.
  std::string libraries = join(projectDir, ".venv", "lib");
  std::vector<PtxasPlace> packages;
  for (const std::string &python : listFolders(libraries, "python3"))
    for (const std::string &cuda :
         listFolders(join(python, "site-packages", "nvidia"), "cu"))
      packages.push_back({cuda, join(cuda, "bin", "ptxas")});
  if (packages.empty())
    packages.push_back(
        {join(libraries, "python3*", "site-packages", "nvidia/cu*"), ""});
  llvm::append_range(places, packages);
  places.push_back({"/usr/local/cuda/bin", "/usr/local/cuda/bin/ptxas"});
  return places;
}

/// The version in "release 13.0", or why there is none.
static llvm::Expected<std::pair<unsigned, unsigned>>
getRelease(StringRef ptxas) {
  if (!fs::can_execute(ptxas))
    return llvm::createStringError("no such program");
  auto output = runProgram(ptxas, {"--version"});
  if (!output)
    return output.takeError();
  StringRef text = output->text;
  text = text.split("release ").second;
  unsigned major = 0, minor = 0;
  if (output->status != 0 || text.consumeInteger(10, major) ||
      !text.consume_front(".") || text.consumeInteger(10, minor))
    return llvm::createStringError("tells no version");
  return std::make_pair(major, minor);
}

llvm::Expected<std::string> findPtxas(llvm::ArrayRef<PtxasPlace> places) {
  std::string searched;
  for (const PtxasPlace &place : places) {
    searched += "\n  " + place.name + ": ";
    if (place.path.empty()) {
      searched += place.name.front() == '$' ? "not set" : "none";
      continue;
    }
    auto release = getRelease(place.path);
    if (!release) {
      searched += place.path + ": " + llvm::toString(release.takeError());
      continue;
    }
    auto [major, minor] = *release;
    if (major >= kMinPtxasRelease)
      return place.path;
    searched += place.path + ": release " + std::to_string(major) + "." +
                std::to_string(minor);
  }
  return llvm::createStringError(
      llvm::Twine("expected a ptxas of CUDA ") + llvm::Twine(kMinPtxasRelease) +
      " or later, but found none; searched:" + searched);
}

llvm::Expected<std::string> findPtxas() {
  return findPtxas(getPtxasPlaces(BLOCKSCALE_SOURCE_DIR));
}

} // namespace blockscale
