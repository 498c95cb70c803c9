//===- BundleTest.cpp - Bundles, and damage to them -----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Runtime/Bundle.h"

#include "TestFiles.h"

using namespace blockscale::runtime;

namespace {

class BundleTest : public FileTest {};

std::string makePlan(const std::string &chip, const std::string &kernels) {
  return R"({"version": 2, "chip": ")" + chip + R"(", "kernels": [)" + kernels +
         R"json(], "functions": [{"name": "f", "dims": [],
    "arguments": [], "results": [], "workspaces": [], "constraints": [],
    "steps": [], "constants": [{"name": "c", "type": "", "element": "i8",
    "layout": "row_major", "dtype": "uint8", "shape": [3], "bytes": 3,
    "alignment": 1, "blob": 1}]}]})json";
}

constexpr const char *kKernel = R"({"name": "k", "parameters": []})";

BundleContent makeContent() {
  return {{{makePlan("sm_90", kKernel),
            "// By hand\n.version 8.0\n.target sm_90, debug\n",
            {}},
           {makePlan("sm_100a", ""), "", {}}},
          {"", "abc"}};
}

std::string parseError(const BundleContent &content) {
  Result<std::shared_ptr<const Bundle>> bundle =
      Bundle::parse(writeBundle(content));
  EXPECT_FALSE(bundle.ok());
  EXPECT_EQ(bundle.status().kind(), ErrorKind::InvalidBundle);
  return bundle.message();
}

std::string parseError(std::string bytes) {
  Result<std::shared_ptr<const Bundle>> bundle =
      Bundle::parse(std::move(bytes));
  EXPECT_FALSE(bundle.ok());
  EXPECT_EQ(bundle.status().kind(), ErrorKind::InvalidBundle);
  return bundle.message();
}

TEST_F(BundleTest, RoundTrip) {
  Result<std::shared_ptr<const Bundle>> bundle =
      Bundle::read(create("b", writeBundle(makeContent())));
  ASSERT_TRUE(bundle.ok()) << bundle.message();
  EXPECT_EQ((*bundle)->getChips(),
            (std::vector<std::string_view>{"sm_90", "sm_100a"}));
  const Bundle::Target &target = (*bundle)->getTargets()[0];
  EXPECT_EQ(target.ptx, makeContent().targets[0].ptx);
  // What drivers take ends with a NUL.
  EXPECT_EQ(target.ptx.data()[target.ptx.size()], '\0');
  EXPECT_EQ(target.ptxVersion, "8.0");
  EXPECT_EQ(target.plan.functions[0].buffers[0].blob, "abc");
  EXPECT_EQ((*bundle)->getTargets()[1].ptx, "");
}

/// Sections begin at multiples of 64, and the CRC-32 is that of everybody.
TEST_F(BundleTest, Bytes) {
  std::string bytes = writeBundle({{}, {"123456789"}});
  ASSERT_EQ(bytes.size(), 128u);
  EXPECT_EQ(bytes.substr(0, 8), "\x89"
                                "BSB\r\n\x1A\n");
  EXPECT_EQ(bytes.substr(64, 9), "123456789");
  EXPECT_EQ(bytes.substr(36, 4), "\x26\x39\xF4\xCB");
  EXPECT_EQ(writeBundle({}).size(), 64u);
}

TEST_F(BundleTest, FilesThatCannotBeRead) {
  Result<std::shared_ptr<const Bundle>> bundle = Bundle::read(path("none"));
  EXPECT_EQ(bundle.message(),
            path("none") + ": cannot open: No such file or directory");
  EXPECT_EQ(bundle.status().kind(), ErrorKind::File);
  EXPECT_EQ(Bundle::read(create("text", "{}")).message(),
            path("text") + ": expected a bundle, which begins with the bytes "
                           "89 42 53 42 0D 0A 1A 0A, but got 7B 7D");
  EXPECT_EQ(Bundle::read(directory).message(),
            directory + ": cannot read: Is a directory");
}

TEST_F(BundleTest, Headers) {
  std::string bytes = writeBundle(makeContent());
  EXPECT_EQ(parseError(std::string()),
            "expected a bundle, which begins with the bytes 89 42 53 42 0D 0A "
            "1A 0A, but got an empty file");
  EXPECT_EQ(parseError(bytes.substr(0, 20)),
            "expected a bundle to have at least 32 bytes, but got 20");
  std::string size = std::to_string(bytes.size());
  EXPECT_EQ(parseError(bytes.substr(0, 100)),
            "expected a bundle of " + size +
                " bytes, as its header says, but got 100");
  EXPECT_EQ(parseError(bytes + "x"),
            "expected a bundle of " + size +
                " bytes, as its header says, but got " +
                std::to_string(bytes.size() + 1));
  std::string other = bytes;
  other[8] = 2;
  EXPECT_EQ(parseError(other), "expected version 1 of bundles, but got 2");
  other = bytes;
  other[28] = 3;
  EXPECT_EQ(parseError(other), "expected 0 at byte 28 of a bundle, but got 3");
  other = bytes;
  other[15] = 1;
  EXPECT_NE(parseError(other).find("expected the number of sections to be at "
                                   "most "),
            std::string::npos);
  other = bytes;
  other[32] = 2;
  EXPECT_NE(parseError(other).find("expected the header and table to have the "
                                   "CRC-32 0x"),
            std::string::npos);
}

TEST_F(BundleTest, Sections) {
  std::string bytes = writeBundle(makeContent());
  std::string other = bytes;
  other[other.find("abc")] = 'A';
  EXPECT_EQ(parseError(other), "expected section 4 (constant) to have the "
                               "CRC-32 0x352441C2, but got 0x0D690722");
  other = bytes;
  other.back() = 1;
  EXPECT_EQ(parseError(other), "expected zeros at the end, but got 0x01 at "
                               "byte " +
                                   std::to_string(bytes.size() - 1));
  other = bytes;
  other[bytes.find("// By hand") - 1] = 'z';
  EXPECT_NE(parseError(other).find("expected zeros before section 1, but got "
                                   "0x7A"),
            std::string::npos);
}

TEST_F(BundleTest, PlansAndPtxBelongTogether) {
  BundleContent content = makeContent();
  content.constants.pop_back();
  EXPECT_NE(parseError(content).find("section 0 (plan):"), std::string::npos);
  EXPECT_NE(parseError(content).find("expected the number of one of the 1 "
                                     "constants of a bundle, but got 1"),
            std::string::npos);
  content = makeContent();
  content.targets[1].plan = makePlan("sm_90", "");
  EXPECT_EQ(parseError(content),
            "expected plans for different chips, but got sm_90 twice");
  content = makeContent();
  content.targets[0].ptx = ".version 8.0 .target sm_90a";
  EXPECT_EQ(parseError(content), "section 1 (PTX): expected .target sm_90, as "
                                 "the plan says, but got sm_90a");
  content.targets[0].ptx = "/* .version */ .target sm_90";
  EXPECT_EQ(parseError(content), "section 1 (PTX): expected the directive "
                                 ".version, but got '.target'");
  content.targets[0].ptx = std::string(".version 8\0.0", 13);
  EXPECT_EQ(parseError(content),
            "section 1 (PTX): expected text, but got a zero at byte 10");
  content.targets[0].ptx = "";
  EXPECT_EQ(parseError(content),
            "expected PTX for the 1 kernels of sm_90, but got none");
}

/// Whatever bit flips, it is seen.
TEST_F(BundleTest, MachineCodeIsBesidePtx) {
  BundleContent content = makeContent();
  const std::string elf = "\x7F"
                          "ELF and code";
  content.targets[0].cubin = elf;
  Result<std::shared_ptr<const Bundle>> bundle =
      Bundle::parse(writeBundle(content));
  ASSERT_TRUE(bundle.ok()) << bundle.message();
  EXPECT_EQ((*bundle)->getTargets()[0].cubin, elf);
  EXPECT_EQ((*bundle)->getTargets()[0].ptx, content.targets[0].ptx);
  EXPECT_EQ((*bundle)->getTargets()[1].cubin, "");

  content.targets[0].cubin = "code";
  EXPECT_EQ(parseError(content),
            "section 2 (cubin): expected it to begin with the bytes 7F 45 4C "
            "46, but got 63 6F 64 65");
  content.targets[0].cubin = "";
  content.targets[1].cubin = elf;
  EXPECT_EQ(parseError(content), "section 3 (cubin): expected it to follow the "
                                 "PTX of its kernels");
}

TEST_F(BundleTest, Damage) {
  std::string bytes = writeBundle(makeContent());
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << bit));
      ASSERT_FALSE(Bundle::parse(damaged).ok()) << i << " bit " << bit;
    }
    ASSERT_FALSE(Bundle::parse(bytes.substr(0, i)).ok()) << i;
  }
}

// One that was never text: the plan as it is, and PTX for a driver, which wants
// a NUL after it.
TEST_F(BundleTest, IsMadeOfAPlan) {
  LaunchPlan plan;
  plan.chip = "sm_90";
  plan.kernels.push_back({"k", {}});
  const std::string ptx = ".version 8.0\n.target sm_90\n";
  Result<std::shared_ptr<const Bundle>> bundle = Bundle::create(plan, ptx);
  ASSERT_TRUE(bundle.ok()) << bundle.message();
  ASSERT_EQ((*bundle)->getTargets().size(), 1u);
  const Bundle::Target &target = (*bundle)->getTargets()[0];
  EXPECT_EQ(target.plan.kernels[0].name, "k");
  EXPECT_EQ(target.ptx, ptx);
  EXPECT_EQ(target.ptx.data()[ptx.size()], '\0');
  EXPECT_EQ(target.ptxVersion, "8.0");
  EXPECT_EQ((*bundle)->getChips(), (std::vector<std::string_view>{"sm_90"}));
  // Without kernels there is no PTX.
  bundle = Bundle::create(LaunchPlan(), "");
  ASSERT_TRUE(bundle.ok()) << bundle.message();
  EXPECT_TRUE((*bundle)->getTargets()[0].ptx.empty());
  EXPECT_FALSE(Bundle::create(LaunchPlan(), "no PTX").ok());
}

} // namespace
