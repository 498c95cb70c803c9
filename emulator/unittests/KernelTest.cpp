//===- KernelTest.cpp - Tests that run kernels ----------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelTest.h"

using namespace blockscale::emulator;

std::string KernelRunner::load(const std::string &text) {
  llvm::Expected<std::unique_ptr<Program>> made = Program::load(
      ".version 8.8\n.target sm_100a\n.address_size 64\n" + text, device);
  if (!made)
    return llvm::toString(made.takeError());
  program = std::move(*made);
  return "";
}

std::string KernelRunner::launch(llvm::StringRef kernel,
                                 std::vector<std::vector<uint8_t>> arguments) {
  LaunchRequest request = shape;
  request.kernel = kernel;
  request.arguments = std::move(arguments);
  report = std::make_unique<Report>();
  llvm::Expected<Profile> result =
      runKernel(*program, device, request, options, *report);
  if (!result)
    return llvm::toString(result.takeError());
  profile = *result;
  return "";
}

std::string KernelRunner::getFindings() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  report->print(os);
  return text;
}

std::vector<uint64_t> KernelTest::runBody(const std::string &body,
                                          const std::vector<uint64_t> &a,
                                          bool wantsFindings) {
  std::string error = load(R"(
    .entry body(.param .b64 from, .param .b64 to) {
    .reg .b64 %a, %d, %from, %to, %q<16>;
    .reg .b32 %t, %r<16>;
    .reg .b16 %h<16>;
    .reg .pred %p<16>;
    mov.u32 %t, %tid.x;
    ld.param.b64 %from, [from];
    ld.param.b64 %to, [to];
    mad.wide.u32 %from, %t, 8, %from;
    mad.wide.u32 %to, %t, 8, %to;
    ld.global.b64 %a, [%from];
    {
)" + body + R"(
    }
    st.global.b64 [%to], %d;
    ret;
    })");
  EXPECT_EQ(error, "") << body;
  if (!error.empty())
    return {};
  std::string suffix = std::to_string(device.global.getBuffers().size());
  uint64_t from = add("from" + suffix, a);
  uint64_t to = addEmpty("to" + suffix, a.size() * 8);
  shape.block = {static_cast<uint32_t>(a.size()), 1, 1};
  EXPECT_EQ(run("body", from, to), "") << body;
  if (!wantsFindings)
    EXPECT_EQ(getFindings(), "") << body;
  return get<uint64_t>("to" + suffix);
}

void KernelTest::expectFinding(FaultKind kind, llvm::StringRef text) const {
  llvm::SmallVector<Finding> findings = report->getFindings();
  ASSERT_EQ(findings.size(), 1u) << text.str() << getFindings();
  EXPECT_EQ(findings[0].fault.kind, kind) << getFindings();
  EXPECT_NE(findings[0].fault.what.find(text.str()), std::string::npos)
      << getFindings();
}
