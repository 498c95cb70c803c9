//===- BuildIdentity.cpp - What code this is ------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BuildIdentity.h"

#include "mlir/IR/Verifier.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/TargetParser/Host.h"

#include <link.h>

using namespace mlir;

namespace blockscale {

namespace {

/// The library or program in which an address is, and the identity that its
/// linker gave it.
struct Image {
  uintptr_t address;
  std::string build;
};

} // namespace

/// The content of the note that a linker writes of its output; empty where
/// there is none.
static StringRef findBuildNote(const dl_phdr_info &image,
                               const ElfW(Phdr) & segment) {
  // The loader says where it is by number.
  StringRef notes(reinterpret_cast<const char *>( // NOLINT
                      image.dlpi_addr + segment.p_vaddr),
                  segment.p_memsz);
  while (notes.size() >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) header;
    std::memcpy(&header, notes.data(), sizeof(header));
    notes = notes.drop_front(sizeof(header));
    size_t name = llvm::alignTo(header.n_namesz, 4);
    size_t content = llvm::alignTo(header.n_descsz, 4);
    if (name > notes.size() || content > notes.size() - name)
      break;
    if (header.n_type == NT_GNU_BUILD_ID &&
        notes.starts_with(StringRef("GNU\0", 4)))
      return notes.substr(name, header.n_descsz);
    notes = notes.drop_front(name + content);
  }
  return {};
}

static int visitImage(dl_phdr_info *image, size_t, void *user) {
  auto *wanted = static_cast<Image *>(user);
  ArrayRef<ElfW(Phdr)> segments(image->dlpi_phdr, image->dlpi_phnum);
  bool isWanted = llvm::any_of(segments, [&](const ElfW(Phdr) & segment) {
    uintptr_t begin = image->dlpi_addr + segment.p_vaddr;
    return segment.p_type == PT_LOAD && wanted->address >= begin &&
           wanted->address - begin < segment.p_memsz;
  });
  if (!isWanted)
    return 0;
  for (const ElfW(Phdr) &segment : segments)
    if (segment.p_type == PT_NOTE && wanted->build.empty())
      wanted->build = findBuildNote(*image, segment).str();
  return 1;
}

/// The identity of what has the code of a function; empty where its linker gave
/// it none.
template <typename Function>
static std::string findBuild(Function *function) {
  Image image{reinterpret_cast<uintptr_t>(function), ""};
  dl_iterate_phdr(visitImage, &image);
  return image.build;
}

const std::string &getBuildIdentity() {
  static const std::string build = [] {
    std::string own = findBuild(&getBuildIdentity);
    std::string llvm = findBuild(&llvm::sys::getHostCPUName);
    std::string mlir = findBuild(&mlir::verify);
    if (own.empty() || llvm.empty() || mlir.empty())
      return std::string();
    return own + llvm + mlir;
  }();
  return build;
}

} // namespace blockscale
