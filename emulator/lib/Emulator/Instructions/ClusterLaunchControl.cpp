//===- ClusterLaunchControl.cpp - Cancelling of cluster launches ----------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Instructions/AsyncInstructions.h"

#include "blockscale/Emulator/InstructionSet.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Endian.h"

namespace blockscale::emulator {

static constexpr unsigned kResponseBytes = 16;

using Response = std::array<uint8_t, kResponseBytes>;

/// The answer to try_cancel, in a form of our own (opaque in PTX): 1 where a
/// cluster was cancelled, then its first CTA.
static Response cancelNext(LaunchContext &context) {
  Response response = {};
  const LaunchRequest &request = context.request;
  uint64_t count = 1;
  for (unsigned i = 0; i < 3; ++i)
    count *= request.grid[i] / request.cluster[i];
  uint64_t next = context.nextCluster++;
  if (next >= count)
    return response;
  response[0] = 1;
  Dim3 first = context.getFirstCta(next);
  for (unsigned i = 0; i < 3; ++i)
    llvm::support::endian::write32le(&response[size_t(4) * (i + 1)], first[i]);
  return response;
}

static Step runTryCancel(Warp &warp, const Op &op, LaneMask active) {
  Cluster &cluster = warp.getCluster();
  LaneValues to, barriers;
  LaneMask known = warp.readAddresses(op, op.addresses[0], active, to);
  known = warp.readAddresses(op, op.addresses[1], known, barriers);
  bool isMulticast = op.instruction->has("multicast::cluster::all");
  bool isPlain = isGeneric(*op.instruction);
  std::optional<uint16_t> mask;
  if (isMulticast)
    mask = (1u << cluster.getCtas().size()) - 1;
  for (unsigned lane : lanesOf(known)) {
    Issuer issuer{warp, op, lane};
    std::optional<uint64_t> address = issuer.toShared(to[lane], isPlain);
    std::optional<uint64_t> barrier = issuer.toShared(barriers[lane], isPlain);
    if (!address || !barrier)
      continue;
    Response response = cancelNext(cluster.getContext());
    for (const CopyTarget &target :
         getTargets(issuer, {*address, *barrier}, mask)) {
      Cta *cta = issuer.findCta(target.to);
      if (!cta)
        continue;
      AsyncWork work;
      work.writes = {{target.to, kResponseBytes}};
      pushLoad(issuer, std::move(work), target, kResponseBytes,
               [=](Faults &faults) {
                 llvm::MutableArrayRef<uint8_t> bytes = cta->getShared().write(
                     target.to, kResponseBytes, kResponseBytes, faults);
                 if (!bytes.empty())
                   llvm::copy(response, bytes.begin());
               });
    }
  }
  return Step::Next;
}

/// query_cancel: the results are those that the form has.
static Step runQuery(Warp &warp, const Op &op, LaneMask active) {
  bool isFlag = op.instruction->has("pred");
  unsigned first = op.instruction->has("get_first_ctaid::y")   ? 1
                   : op.instruction->has("get_first_ctaid::z") ? 2
                                                               : 0;
  LaneValues scratch;
  LaneMask known = warp.require(op, op.sources[0], active, "the response");
  const uint64_t *low = warp.read(op.sources[0], scratch);
  const uint64_t *high = warp.read(op.sources[1], scratch);
  for (unsigned lane : lanesOf(known)) {
    bool isCancelled = low[lane] & 1;
    if (!isFlag && !isCancelled)
      warp.report(op, lane,
                  Fault{FaultKind::Barrier,
                        "expected a response that cancelled a cluster, but "
                        "this one did not",
                        "ask query_cancel.is_canceled before"});
    uint64_t ids[] = {low[lane] >> 32, high[lane] & 0xFFFFFFFF,
                      high[lane] >> 32, 0};
    for (auto [i, result] : llvm::enumerate(op.results))
      if (!result.isSink)
        warp.write(result)[lane] = isFlag ? isCancelled : ids[first + i];
  }
  for (const Result &result : op.results)
    warp.define(result, active, known);
  return Step::Next;
}

llvm::Error decodeClusterLaunch(Decoder &decoder, Op &op) {
  const Instruction &instruction = *op.instruction;
  if (instruction.form->name == "clusterlaunchcontrol.try_cancel.async") {
    op.handler = runTryCancel;
    return addOperands(decoder, op, 0, Type::B32);
  }
  for (const Operand &element : decoder.getElements(instruction.operands[0]))
    if (llvm::Error error = addResult(decoder, op, element))
      return error;
  llvm::Expected<Source> response =
      decoder.getSource(instruction.operands[1], Type::B128);
  if (!response)
    return response.takeError();
  op.sources.push_back(*response);
  op.sources.push_back(decoder.getHigh(*response));
  op.handler = runQuery;
  return llvm::Error::success();
}

} // namespace blockscale::emulator
