//===- AsyncInstructions.h - Asynchronous copies ----------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_INSTRUCTIONS_ASYNCINSTRUCTIONS_H
#define BLOCKSCALE_LIB_EMULATOR_INSTRUCTIONS_ASYNCINSTRUCTIONS_H

#include "Emulator/Instructions/AsyncIssue.h"

namespace blockscale::emulator {

/// commit_group, wait_group and wait_all, of cp.async and cp.async.bulk.
bool isCopyGroup(const Instruction &instruction);
llvm::Error decodeCopyGroup(Op &op);
/// cp.async and cp.async.mbarrier.arrive.
llvm::Error decodeThreadCopy(Decoder &decoder, Op &op);
/// cp.async.bulk and cp.reduce.async.bulk of bytes.
llvm::Error decodeBulkCopy(Decoder &decoder, Op &op);
/// cp.async.bulk.tensor and cp.reduce.async.bulk.tensor.
llvm::Error decodeTensorCopy(Decoder &decoder, Op &op);
/// tensormap.replace and cp_fenceproxy.
llvm::Error decodeTensorMap(Decoder &decoder, Op &op);
/// clusterlaunchcontrol.
llvm::Error decodeClusterLaunch(Decoder &decoder, Op &op);
/// st.async, red.async, st.bulk.
llvm::Error decodeAsyncStore(Decoder &decoder, Op &op);

/// Shared memory and barrier of a CTA that a copy goes to.
struct CopyTarget {
  uint64_t to;
  uint64_t barrier;
};

/// The targets of a copy that completes on a barrier: one, or those of the
/// CTAs of `mask`. With .cta_group::2 a copy may signal the other CTA of its
/// target's pair: that which has the parity of the barrier's.
llvm::SmallVector<CopyTarget, 1> getTargets(const Issuer &issuer,
                                            CopyTarget target,
                                            std::optional<uint16_t> mask);

/// Faults for a target in shared::cta that is another CTA's.
bool checkOwnTarget(const Issuer &issuer, const CopyTarget &target);

/// Does `copy` later, then completes `bytes` of the target's barrier.
void pushLoad(const Issuer &issuer, AsyncWork work, CopyTarget target,
              uint32_t bytes, std::function<void(Faults &)> copy);

/// Does `copy` later, as a part of the thread's open bulk group.
void pushStore(const Issuer &issuer, AsyncWork work,
               std::function<void(Faults &)> copy);

/// Adds bytes to the profile. What a multicast brings to several CTAs
/// is read for one of them.
void countBytes(const Issuer &issuer, StateSpace from, StateSpace to,
                uint64_t bytes, bool isRead = true);

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_INSTRUCTIONS_ASYNCINSTRUCTIONS_H
