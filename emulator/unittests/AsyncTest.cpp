//===- AsyncTest.cpp - Kernels with asynchronous work ---------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AsyncTest.h"

#include "llvm/ADT/STLExtras.h"

using namespace blockscale::emulator;

std::string AsyncTest::makeKernel(const std::string &shared,
                                  const std::string &body,
                                  const std::string &name) {
  return ".visible .entry " + name + R"((.param .b64 from, .param .b64 to) {
    .reg .b64 %from, %to, %q<16>;
    .reg .b32 %t, %r<160>;
    .reg .b16 %h<8>;
    .reg .b128 %w<2>;
    .reg .pred %p<16>;
)" + shared +
         R"(
    mov.u32 %t, %tid.x;
    ld.param.b64 %from, [from];
    ld.param.b64 %to, [to];
)" + body +
         R"(
    ret;
  }
)";
}

void AsyncTest::runSchedules(const std::string &shared, const std::string &body,
                             unsigned threads,
                             const std::vector<uint32_t> &from,
                             llvm::function_ref<void()> check) {
  for (unsigned seed = 0; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    device = Device();
    options.schedule = seed == 0            ? Schedule::Prompt
                       : seed <= kSeeds / 2 ? Schedule::Adversarial
                                            : Schedule::Random;
    options.seed = seed;
    options.jobs = 1;
    options.maxSteps = 1000000;
    ASSERT_EQ(load(makeKernel(shared, body)), "");
    uint64_t source = add("from", from);
    uint64_t target = addEmpty("to", from.size() * 4);
    shape.block = {threads, 1, 1};
    ASSERT_EQ(run("kernel", source, target), "");
    check();
    if (HasFailure())
      return;
  }
}

void AsyncTest::expectResult(const std::string &shared, const std::string &body,
                             unsigned threads,
                             const std::vector<uint32_t> &from,
                             const std::vector<uint32_t> &to) {
  runSchedules(shared, body, threads, from, [&] {
    EXPECT_EQ(getFindings(), "");
    std::vector<uint32_t> result = get<uint32_t>("to");
    result.resize(to.size());
    EXPECT_EQ(result, to);
  });
}

void AsyncTest::expectFault(FaultKind kind, llvm::StringRef text,
                            const std::string &shared, const std::string &body,
                            unsigned threads,
                            const std::vector<uint32_t> &from) {
  // Where a thread is overtaken, its work can be done before it goes on.
  unsigned found = 0;
  std::string findings;
  runSchedules(shared, body, threads, from, [&] {
    bool isFound = hasFinding(kind, text);
    EXPECT_TRUE(isFound || options.schedule != Schedule::Prompt)
        << text.str() << "\n"
        << getFindings();
    found += isFound;
    if (!isFound)
      findings += getFindings() + "\n";
  });
  EXPECT_GE(found, kSeeds) << text.str() << "\n" << findings;
}

bool AsyncTest::hasFinding(FaultKind kind, llvm::StringRef text) const {
  return llvm::any_of(report->getFindings(), [&](const Finding &finding) {
    return finding.fault.kind == kind &&
           llvm::StringRef(finding.fault.what).contains(text);
  });
}

std::string blockscale::emulator::without(std::string text,
                                          llvm::StringRef line) {
  size_t at = text.find(line.str());
  EXPECT_NE(at, std::string::npos) << line.str();
  EXPECT_EQ(text.find(line.str(), at + 1), std::string::npos) << line.str();
  return at == std::string::npos ? text : text.erase(at, line.size());
}

std::string blockscale::emulator::replace(std::string text,
                                          const std::string &from,
                                          const std::string &to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

std::vector<uint32_t> blockscale::emulator::count(unsigned size, uint32_t first,
                                                  uint32_t step) {
  std::vector<uint32_t> values(size);
  for (unsigned i = 0; i < size; ++i)
    values[i] = first + i * step;
  return values;
}
