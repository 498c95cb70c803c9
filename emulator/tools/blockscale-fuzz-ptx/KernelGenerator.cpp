//===- KernelGenerator.cpp - PTX kernels from bytes -----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelGenerator.h"
#include "KernelWriter.h"

#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace blockscale::emulator;

namespace blockscale {

static constexpr unsigned kMaxInstructions = 48;

/// Registers: %b0 to %b7, %p0 to %p7, %h0 to %h15, %r0 to %r255, %d0 to %d31,
/// %q0 to %q3.
static constexpr StringRef kDeclarations = R"(
.version 8.8
.target sm_100a
.address_size 64
.global .align 128 .b8 gmem[4096];
.global .align 128 .b8 gmap[128];
.const .align 16 .b8 cmem[256] = {1, 2, 3};
.func (.param .b32 result) callee(.param .b32 value) {
  .reg .b32 %r<2>;
  ld.param.b32 %r0, [value];
  add.u32 %r1, %r0, 1;
  st.param.b32 [result], %r1;
  ret;
}
)";
static constexpr StringRef kKernel =
    R"(.entry kernel(.param .u64 pointer, .param .align 64 .b8 map[128]) DIRECTIVES
{
  .reg .pred %z, %p<8>;
  .reg .b8 %b<8>;
  .reg .b16 %h<16>;
  .reg .b32 %t, %r<256>;
  .reg .b64 %d<32>;
  .reg .b128 %q<4>;
  .shared .align 1024 .b8 smem[32768];
  .shared .align 16 .b64 mbar[4];
  .shared .align 16 .b32 slot[4];
  .local .align 16 .b8 lmem[256];
  .param .align 4 .b32 argument;
  .param .align 4 .b32 outcome;
  mov.u32 %t, %tid.x;
  setp.ne.u32 %z, %t, 0;
)";

/// Linked groups come together or not at all.
void KernelWriter::chooseModifiers(const InstructionForm &form) {
  modifiers.clear();
  types.clear();
  unsigned link = 0;
  bool takesLinked = false;
  for (const ModifierGroup &group : form.groups) {
    bool isTaken = !group.isOptional;
    if (group.link && group.link == link)
      isTaken = takesLinked;
    else if (group.isOptional)
      isTaken = bytes.flag();
    link = group.link;
    takesLinked = isTaken;
    if (!isTaken || group.choices.empty())
      continue;
    StringRef choice = group.choices[bytes.choose(group.choices.size())];
    modifiers.push_back(choice);
    if (std::optional<Type> type = findType(choice))
      types.push_back(*type);
  }
  if (any_of(form.operands, [](const OperandSpec &s) { return s.kind == 'x'; }))
    fitAccess();
}

/// No access is wider than 32 bytes, and only those of 32 stay in the L2.
void KernelWriter::fitAccess() {
  unsigned bits = types.empty() ? 32 : getInfo(types.front()).bits;
  for (StringRef &modifier : modifiers)
    if (modifier == "v8" && bits > 32)
      modifier = bits > 64 ? "v2" : "v4";
    else if (modifier == "v4" && bits > 64)
      modifier = "v2";
  OperandSpec access;
  access.kind = 'x';
  if (bits * getVectorCount(access) != 256)
    erase_if(modifiers, [](StringRef modifier) {
      return modifier == "L2::evict_normal" || modifier == "L2::evict_first" ||
             modifier == "L2::evict_last";
    });
}

/// One of these in a kernel, and none of it is executed.
bool KernelWriter::isNotModelled() const {
  return any_of(modifiers, [](StringRef modifier) {
    return modifier.starts_with("im2col::w") || modifier.starts_with("b8x16");
  });
}

const InstructionForm *KernelWriter::chooseForm() {
  ArrayRef<InstructionForm> forms = getInstructionForms();
  unsigned index = bytes.next() << 8;
  index |= bytes.next();
  const InstructionForm &form = forms[index % forms.size()];
  name = form.name;
  chooseModifiers(form);
  return &form;
}

void KernelWriter::writeInstruction() {
  const InstructionForm *chosen = chooseForm();
  for (unsigned tries = 0; tries < 4 && isNotModelled(); ++tries)
    chosen = chooseForm();
  const InstructionForm &form = *chosen;
  body += "  ";
  if (bytes.rarely(6))
    body += std::string("@") + (bytes.flag() ? "!" : "") +
            getRegister(Type::Pred) + " ";
  body += form.name;
  for (StringRef modifier : modifiers)
    body += ("." + modifier).str();
  SmallVector<std::string> operands;
  for (const OperandSpec &spec : form.operands) {
    if ((spec.kind == 'h' && !has("L2::cache_hint")) ||
        (spec.kind == 'M' && !has("multicast::cluster")) ||
        (spec.isOptional && bytes.flag()))
      continue;
    operands.push_back(writeOperand(spec));
  }
  if (!operands.empty())
    body += " " + join(operands, ", ");
  body += ";\n";
}

std::string KernelWriter::write() {
  std::string directives;
  unsigned cluster = bytes.pick<unsigned>({1, 1, 1, 2});
  unsigned threads = bytes.pick<unsigned>({64, 32, 128, 33});
  directives = ".reqntid " + utostr(threads) + ", 1, 1";
  if (cluster > 1)
    directives += " .reqnctapercluster 2, 1, 1";
  std::string text = kDeclarations.str();
  auto [head, tail] = kKernel.split("DIRECTIVES");
  text += head.str() + directives + tail.str();

  bool hasBarrier = !bytes.rarely(4), hasTensorMemory = !bytes.rarely(4);
  bool fillsShared = !bytes.rarely(4);
  for (unsigned label = 0; label < kLabels; ++label) {
    for (unsigned i = 1 + bytes.choose(kMaxInstructions / kLabels); i > 0; --i)
      writeInstruction();
    body += "L" + utostr(label) + ":\n";
  }
  text += "  @!%z st.shared.b32 [slot], 0;\n";
  if (hasBarrier)
    text += "  @!%z mbarrier.init.shared.b64 [mbar], 1;\n"
            "  @!%z mbarrier.init.shared.b64 [mbar+8], 32;\n"
            "  fence.mbarrier_init.release.cluster;\n";
  if (hasTensorMemory)
    text += "  setp.gt.u32 %z, %t, 31;\n"
            "  @%z bra ALLOCATED;\n"
            "  bar.warp.sync -1;\n"
            "  tcgen05.alloc.cta_group::" +
            utostr(cluster) +
            ".sync.aligned.shared::cta.b32 [slot], 128;\n"
            "ALLOCATED:\n";
  if (fillsShared)
    text += "  @!%z st.bulk.shared::cta [smem], 32768, 0;\n";
  text += "  tcgen05.fence::before_thread_sync;\n  bar.sync 0;\n"
          "  tcgen05.fence::after_thread_sync;\n  st.param.b32 [argument], 7;\n"
          "targets: .branchtargets L0, L1, L2, L3;\n";
  for (const auto &[name, value] : initial)
    text += value;
  return text + body + "  ret;\n}\n";
}

std::string generatePtx(StringRef input) { return KernelWriter(input).write(); }

} // namespace blockscale
