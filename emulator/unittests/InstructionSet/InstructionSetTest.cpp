//===- InstructionSetTest.cpp - Instructions that are known ---------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Emulator/InstructionSet.h"

#include "blockscale/Emulator/Parser.h"
#include "blockscale/Emulator/Validation.h"

#include <gtest/gtest.h>

using namespace blockscale::emulator;

/// Verifies a body in line 3; the error, or nothing.
static std::string verify(const std::string &body) {
  llvm::Expected<Module> module =
      parseModule(".version 9.0 .target sm_100a .global .b32 g;\n"
                  ".func (.param .b32 r) f(.param .b64 a) {}\n"
                  ".entry k() { .reg .pred %p<9>; .reg .b8 %c<9>; .reg .b16 "
                  "%h<9>; .reg .b32 %r<130>; .reg .b64 %d<9>; .reg .b128 %q; "
                  ".reg .f32 %f<9>; .reg .f64 %e<9>; .reg .u32 %u; .param .b32 "
                  "x; .param .b64 y;\n" +
                  body + "\n}");
  if (!module)
    return llvm::toString(module.takeError());
  if (llvm::Error error = resolveNames(*module))
    return llvm::toString(std::move(error));
  if (llvm::Error error = verifyInstructions(*module))
    return llvm::toString(std::move(error));
  for (const Function &function : module->functions)
    for (const Instruction &instruction : function.instructions)
      if (!instruction.form)
        return "no form";
  return "";
}

/// Registers of a vector operand.
static std::string vector(unsigned count) {
  std::string text = "{%r0";
  for (unsigned i = 1; i < count; ++i)
    text += ", %r" + std::to_string(i);
  return text + "}";
}

// Each set that an entry names exists, each operand has a known kind and each
// type a name.
TEST(InstructionSet, NotationIsWhole) {
  ASSERT_FALSE(getInstructionForms().empty());
  for (const InstructionForm &form : getInstructionForms()) {
    for (const ModifierGroup &group : form.groups) {
      EXPECT_FALSE(group.choices.empty()) << form.name.str();
      for (llvm::StringRef choice : group.choices)
        EXPECT_FALSE(choice.empty() || choice.contains('$')) << form.name.str();
    }
    for (const OperandSpec &spec : form.operands) {
      EXPECT_TRUE(llvm::StringRef("dosSrbiatvxkmzglnhMc").contains(spec.kind))
          << form.name.str();
      EXPECT_EQ(spec.pair != OperandSpec::NoPair, spec.pairType.has_value())
          << form.name.str();
    }
  }
}

// One or more of each family, as compilers print them.
TEST(InstructionSet, Known) {
  // NOLINTBEGIN(bugprone-suspicious-missing-comma): long instructions.
  for (const std::string &text : std::vector<std::string>{
           "add.u32 %r1, %r2, 0x10U;",
           "add.rn.f32 %r1, %r2, 0f3F800000;",
           "fma.rn.f32x2 %d1, %d2, %d3, %d4;",
           "mul.wide.s32 %d1, %r1, -4;",
           "mad.wide.u32 %d1, %r1, %r2, %d2;",
           "max.NaN.f32 %f1, %f2, %f3, %f4;",
           "max.xorsign.abs.bf16x2 %r1, %r2, %r3;",
           "lop3.b32 %r1, %r2, %r3, %r4, 0x96;",
           "lop3.or.b32 %r1|%p1, %r2, %r3, %r4, 0x96, !%p2;",
           "setp.lt.and.f32 %p1|%p2, %f1, %f2, !%p3;",
           "selp.b32 %r1, 1, 0, %p1;",
           "mov.b32 %r1, {%h1, %h2};",
           "mov.b64 {%r1, _}, %d1;",
           "mov.b32 %r1, {%c0, %c1, %c2, %c3};",
           "mov.b128 %q, {%d1, %d2};",
           "mov.u32 %r1, %tid.x;",
           "mov.b64 %d1, g+4;",
           "mov.pred %p1, 0;",
           "cvt.u16.u8 %h1, %c1;",
           "cvt.rn.satfinite.e2m1x2.f32 %c1, %f1, %f2;",
           "cvt.rs.satfinite.e2m1x4.f32 %h1, {%f1, %f2, %f3, %f4}, %r1;",
           "cvt.rn.f16x2.e4m3x2 %r1, %h1;",
           "cvt.u64.u32 %d1, %tid.x;",
           "cvta.to.global.u64 %d1, %d2;",
           "ld.global.nc.L1::no_allocate.L2::256B.v2.b32 {%r1, %r2}, [%d1+16];",
           "ld.global.v8.b32 " + vector(8) + ", [%d1];",
           "ld.acquire.gpu.global.b32 %r1, [%d1];",
           "ld.global.acquire.gpu.b32 %r1, [%d1];",
           "ld.global.L2::cache_hint.b32 %r1, [%d1], %d2;",
           "ld.u8 %d1, [%d1];",
           "ld.param.b64 %d1, [y];",
           "st.shared.v2.f32 [g], {%f1, 0f00000000};",
           "atom.global.gpu.acq_rel.add.f32 %f1, [%d1], %f2;",
           "atom.relaxed.cas.b32 %r1, [%d1], %r2, %r3;",
           "red.global.add.noftz.v2.bf16x2 [%d1], {%r1, %r2};",
           "shfl.sync.bfly.b32 %r1|%p1, %r2, 1, 31, -1;",
           "elect.sync _|%p1, -1;",
           "vote.sync.ballot.b32 %r1, !%p1, -1;",
           "redux.sync.max.abs.NaN.f32 %f1, %f2, %r1;",
           "bar.sync 1, 128;",
           "barrier.cluster.arrive.relaxed.aligned;",
           "fence.proxy.async.shared::cta;",
           "fence.proxy.tensormap::generic.acquire.gpu [%d1], 128;",
           "fence.mbarrier_init.release.cluster;",
           "mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [g], 64;",
           "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r1];",
           "mbarrier.try_wait.parity.shared.b64 %p1, [g], %r1, 1000;",
           "mbarrier.try_wait.shared.b64 %p1, [g], %d1;",
           "cp.async.cg.shared.global [g], [%d1], 16, %r1;",
           "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::"
           "complete_tx::bytes.multicast::cluster.cta_group::2.L2::cache_hint "
           "[%r1], [%d1, {%r1, 0}], [%r2], %h1, %d2;",
           "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%d1, "
           "{%r1, %r2, %r3}], [%r4];",
           "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
           "[g], [%d1], 64, [g];",
           "cp.async.bulk.wait_group.read 0;",
           "tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [g], 1, "
           "%r1;",
           "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic."
           "release.gpu.sync.aligned [%d1], [g], 128;",
           "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p1, %q;",
           "clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %r1, "
           "%q;",
           "clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 "
           "{%r1, %r2, %r3, _}, %q;",
           "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 " + vector(4) +
               ", [g];",
           "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 " + vector(2) +
               ", [g];",
           "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 " + vector(4) +
               ", " + vector(4) + ", " + vector(2) + ", " + vector(4) + ";",
           "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 " + vector(8) +
               ", %d1, %d2, %p1, 1, 1, 0, 1;",
           "wgmma.mma_async.sync.aligned.m64n16k16.f16.f16.f16 " + vector(4) +
               ", " + vector(4) + ", %d2, %p1, 1, 1, 0;",
           "tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.block16."
           "collector::a::discard [%r1+128], %d1, %d2, %r2, [%r3], [%r4], %p1;",
           "tcgen05.mma.cta_group::2.kind::f16 [%r1], [%r2], %d2, %r2, " +
               vector(8) + ", %p1, 3;",
           "tcgen05.ld.sync.aligned.32x32b.x32.b32 " + vector(32) + ", [%r1];",
           "tcgen05.ld.sync.aligned.16x256b.x2.b32 " + vector(8) + ", [%r1];",
           "tcgen05.st.sync.aligned.16x32bx2.x2.unpack::16b.b32 [%r1], 4, " +
               vector(2) + ";",
           "tcgen05.cp.cta_group::1.32x128b.warpx4 [%r1], %d1;",
           "tcgen05.cp.cta_group::1.warpx4.32x128b [%r1], %d1;",
           "tcgen05.wait::ld.sync.aligned;",
           "tcgen05.fence::after_thread_sync;",
           "setmaxnreg.dec.sync.aligned.u32 40;",
           "call.uni (x), f, (y);",
           "p: .callprototype (.param .b32 _) _ (.param .b64 _);\n"
           "call (x), %d1, (y), p;",
           "L: t: .branchtargets L;\nbrx.idx %r1, t;"})
    EXPECT_EQ(verify(text), "") << text;
  // NOLINTEND(bugprone-suspicious-missing-comma)
}

TEST(InstructionSet, UnknownNames) {
  std::string error = verify("frobnicate.u32 %r1;");
  EXPECT_TRUE(llvm::StringRef(error).starts_with(
      "4:1: error: unknown instruction 'frobnicate'; known are abs, "))
      << error;
  EXPECT_TRUE(llvm::StringRef(error).ends_with(", xor")) << error;
  EXPECT_EQ(verify("brev.u32 %r1, %r2;"),
            "4:5: error: unknown modifier '.u32' of 'brev'; known are .b32, "
            ".b64");
  EXPECT_EQ(verify("mbarrier.wait.b64 %r1;"),
            "4:9: error: unknown modifier '.wait' of 'mbarrier'; known are "
            ".arrive, .arrive_drop, .complete_tx, .expect_tx, .init, .inval, "
            ".pending_count, .test_wait, .try_wait");
  EXPECT_EQ(verify("mbarrier.init.shared.b64.b64 [g], 1;"),
            "4:25: error: unknown modifier '.b64' of "
            "'mbarrier.init.shared.b64', which takes no more of them");
  EXPECT_EQ(verify("brev %r1, %r2;"),
            "4:1: error: missing modifier of 'brev'; known are .b32, .b64");
  EXPECT_EQ(verify("ex2.approx.bf16 %h1, %h2;"),
            "4:1: error: missing modifier of 'ex2.approx.bf16'; known are "
            ".ftz");
  // Types keep their order, the rest does not.
  EXPECT_EQ(verify("cvt.rzi.f32.s32 %f1, %r1;"),
            "4:12: error: unknown modifier '.s32' of 'cvt.rzi.f32'; known are "
            ".f32, .ftz, .sat");
  EXPECT_EQ(verify("cvt.s32.rzi.f32 %r1, %f1;"), "");
  // `{.a.b}` is both or none.
  EXPECT_EQ(verify("mbarrier.arrive.release.shared.b64 _, [g];"),
            "4:1: error: missing modifier of 'mbarrier.arrive.release.shared."
            "b64'; known are .cluster, .cta");
  EXPECT_EQ(verify("cvt.f32.s32 %f1, %r1;"),
            "4:1: error: missing modifier of 'cvt.f32.s32'; known are .rm, "
            ".rn, .rp, .rz");
  // A word of the name has its place.
  EXPECT_EQ(verify("mbarrier.b64.init [g], 1;"),
            "4:9: error: unknown modifier '.b64' of 'mbarrier'; known are "
            ".arrive, .arrive_drop, .complete_tx, .expect_tx, .init, .inval, "
            ".pending_count, .test_wait, .try_wait");
}

TEST(InstructionSet, OperandCounts) {
  EXPECT_EQ(verify("add.u32 %r1, %r2;"),
            "4:1: error: expected 3 operands of 'add.u32' (a register, a "
            "value, a value), but got 2");
  EXPECT_EQ(verify("bar.sync 0, 1, 2;"),
            "4:1: error: expected 1 to 2 operands of 'bar.sync' (a value, a "
            "value), but got 3");
  EXPECT_EQ(verify("exit 1;"),
            "4:1: error: expected 0 operands of 'exit', but got 1");
  EXPECT_EQ(verify("ld.b32 %r1, [%d1], %d2;"),
            "4:1: error: expected 2 operands of 'ld.b32' (a register or a "
            "vector, an address), but got 3");
  EXPECT_EQ(verify("ld.L2::cache_hint.b32 %r1, [%d1];"),
            "4:1: error: expected 3 operands of 'ld.L2::cache_hint.b32' (a "
            "register or a vector, an address, a value), but got 2");
}

TEST(InstructionSet, OperandKinds) {
  EXPECT_EQ(verify("add.u32 1, %r1, %r2;"),
            "4:9: error: expected operand 1 of 'add.u32' to be a register, but "
            "got an integer");
  EXPECT_EQ(verify("add.u32 %r1, %tid.x, %r2;"),
            "4:14: error: expected operand 2 of 'add.u32' to be a value, but "
            "got a special register");
  EXPECT_EQ(verify("ld.global.b32 %r1, %d1;"),
            "4:20: error: expected operand 2 of 'ld.global.b32' to be an "
            "address, but got a register");
  EXPECT_EQ(verify("ld.global.v2.b32 {%r1, %r2, %r3}, [%d1];"),
            "4:18: error: expected operand 1 of 'ld.global.v2.b32' to have 2 "
            "elements, but got 3");
  EXPECT_EQ(verify("ld.global.b32 %r1, [%f1];"),
            "4:20: error: expected operand 2 of 'ld.global.b32' to have an "
            "address of 32 or 64 bits, but got '%f1' of type '.f32'");
  EXPECT_EQ(verify("ld.v8.b64 {%d1, %d1, %d1, %d1, %d1, %d1, %d1, %d1}, "
                   "[%d1];"),
            "4:11: error: expected operand 1 of 'ld.v8.b64' to have at most "
            "256 bits, but got 512");
  EXPECT_EQ(verify("st.L2::evict_first.b32 [%d1], %r1;"),
            "4:31: error: expected operand 2 of 'st.L2::evict_first.b32' to "
            "have 256 bits with '.L2::evict_first', but got 32");
  EXPECT_EQ(verify("mbarrier.arrive.shared::cluster.b64 %d1, [%r1];"),
            "4:37: error: expected operand 1 of 'mbarrier.arrive.shared::"
            "cluster.b64' to be '_', but got a register");
  EXPECT_EQ(verify("bra f;"), "4:5: error: expected operand 1 of 'bra' to be a "
                              "label, but got a name");
  EXPECT_EQ(verify("elect.sync %r1, -1;"),
            "4:12: error: expected operand 1 of 'elect.sync' to be a pair of "
            "registers, but got a register");
  EXPECT_EQ(verify("selp.b32 %r1, 1, 0, !%p1;"),
            "4:21: error: expected operand 4 of 'selp.b32' to have no '!'");
  EXPECT_EQ(verify("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group "
                   "[%d1, {%r1}], [g];"),
            "4:61: error: expected operand 1 of 'cp.async.bulk.tensor.2d."
            "global.shared::cta.bulk_group' to have 2 elements, but got 1");
  EXPECT_EQ(verify("tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r1}, [%r1];"),
            "4:39: error: expected operand 1 of 'tcgen05.ld.sync.aligned."
            "32x32b.x2.b32' to have 2 elements, but got 1");
  EXPECT_EQ(verify("mov.b32 %r1, {%h1, %h2, %h3};"),
            "4:14: error: expected operand 2 of 'mov.b32' to have 2, 4 or 8 "
            "elements, but got 3");
  EXPECT_EQ(verify("mov.b32 %r1, {%r2, %r3};"),
            "4:15: error: expected operand 2 of 'mov.b32' to have elements of "
            "16 bits, but got '%r2' of type '.b32'");
}

// Sizes are equal and floats apart from integers; bits go with both; loads,
// stores and conversions take wider registers.
TEST(InstructionSet, OperandTypes) {
  EXPECT_EQ(verify("add.u32 %d1, %r1, %r2;"),
            "4:9: error: expected operand 1 of 'add.u32' to have type '.u32', "
            "but got '%d1' of type '.b64'");
  EXPECT_EQ(verify("add.u32 %r1, %f1, %r2;"),
            "4:14: error: expected operand 2 of 'add.u32' to have type '.u32', "
            "but got '%f1' of type '.f32'");
  EXPECT_EQ(verify("add.f32 %f1, %u, %f2;"),
            "4:14: error: expected operand 2 of 'add.f32' to have type '.f32', "
            "but got '%u' of type '.u32'");
  EXPECT_EQ(verify("add.f32 %f1, %f2, 1;"),
            "4:19: error: expected operand 3 of 'add.f32' to have type '.f32', "
            "but got an integer");
  EXPECT_EQ(verify("mov.u32 %r1, 1.0;"),
            "4:14: error: expected operand 2 of 'mov.u32' to have type '.u32', "
            "but got a float");
  EXPECT_EQ(verify("add.s32 %r1, %u, 1;"), "");
  EXPECT_EQ(verify("ld.u8 %d1, [%d1];"), "");
  EXPECT_EQ(verify("ld.b64 %r1, [%d1];"),
            "4:8: error: expected operand 1 of 'ld.b64' to have type '.b64', "
            "but got '%r1' of type '.b32'");
  EXPECT_EQ(verify("st.u8 [%d1], %f1;"),
            "4:14: error: expected operand 2 of 'st.u8' to have type '.u8', "
            "but got '%f1' of type '.f32'");
  EXPECT_EQ(verify("setp.eq.b32 %r1, %r1, %r2;"),
            "4:13: error: expected operand 1 of 'setp.eq.b32' to have type "
            "'.pred', but got '%r1' of type '.b32'");
}

TEST(InstructionSet, Calls) {
  EXPECT_EQ(verify("call f, (y);"),
            "4:1: error: expected 1 results of 'f', but got 0");
  EXPECT_EQ(verify("call (x), f;"),
            "4:1: error: expected 1 arguments of 'f', but got 0");
  EXPECT_EQ(verify("call k;"), "4:6: error: expected 'k' to be a device "
                               "function, but it is a kernel");
  EXPECT_EQ(verify("call (x), %d1, (y);"),
            "4:11: error: expected a prototype or a list of targets behind "
            "the call of '%d1'");
  EXPECT_EQ(verify("call (x), g, (y);"),
            "4:11: error: expected 'g' to be a function or a register of 64 "
            "bits");
  EXPECT_EQ(verify("call (x);"),
            "4:1: error: expected a call to have the form '(results), "
            "function, (arguments), prototype'");
}

// Each prefix of a module, and each with a byte replaced, gets through all
// stages or is refused by one.
TEST(InstructionSet, SurvivesDamage) {
  const std::string text =
      "L: @%p1 tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r1, %r2}, [%r1+4];\n"
      "ld.global.v2.b32 {%r1, _}, [%d1]; elect.sync _|%p1, -1;\n"
      "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%d1, {%r1, 1}], "
      "[g];\n"
      "call.uni (x), f, (y); t: .branchtargets L; brx.idx %r1, t;\n"
      "mov.b64 {%r1, %r2}, %d1; mov.u32 %r1, %tid.x;";
  EXPECT_EQ(verify(text), "");
  for (size_t i = 0; i < text.size(); ++i) {
    (void)verify(text.substr(0, i));
    for (char c : {'{', '}', '.', '%', ',', '9', ';', '_', '|'}) {
      std::string damaged = text;
      damaged[i] = c;
      (void)verify(damaged);
    }
  }
}
