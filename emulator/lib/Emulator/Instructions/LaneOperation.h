//===- LaneOperation.h - Handlers that work lane by lane --------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Handlers made of a function of one lane's values. Each function gets a
// handler of its own, into which it is inlined, so that a warp is one loop.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_INSTRUCTIONS_LANEOPERATION_H
#define BLOCKSCALE_LIB_EMULATOR_INSTRUCTIONS_LANEOPERATION_H

#include "Emulator/Instructions/Decoder.h"
#include "Emulator/Machine/Warp.h"
#include "blockscale/Emulator/InstructionSet.h"

#include <cstring>
#include <utility>

namespace blockscale::emulator {

/// Fills the results and sources of an op, in order, from its operands: those
/// of kind 'd' are results, both of a pair; of a vector, each element is a
/// source.
llvm::Error decodeOperands(Decoder &decoder, Op &op);

/// A value whose lowest `bits` bits are one.
inline uint64_t getLowBits(unsigned bits) {
  return bits >= 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
}

namespace detail {

template <typename Function>
struct LaneData : OpData {
  explicit LaneData(Function function) : function(function) {}
  Function function;
};

template <typename Function, size_t... indices>
Step executeLanes(Warp &warp, const Op &op, LaneMask active,
                  std::index_sequence<indices...>) {
  const Function function = op.get<LaneData<Function>>().function;
  LaneValues scratch[sizeof...(indices)];
  const uint64_t *sources[] = {
      warp.read(op.sources[indices], scratch[indices])...};
  LaneMask defined = (warp.getDefined(op.sources[indices]) & ...);
  uint64_t *values = warp.write(op.results[0]);
  if (active == kAllLanes) {
    // Apart from the sources, which may be the result's own slot.
    LaneValues results;
    for (unsigned lane = 0; lane < kWarpSize; ++lane)
      results[lane] = function(sources[indices][lane]...);
    std::memcpy(values, results, sizeof(results));
  } else {
    for (unsigned lane : lanesOf(active))
      values[lane] = function(sources[indices][lane]...);
  }
  warp.define(op.results[0], active, defined);
  return Step::Next;
}

template <typename Function, unsigned arity>
Step executeLanes(Warp &warp, const Op &op, LaneMask active) {
  return executeLanes<Function>(warp, op, active,
                                std::make_index_sequence<arity>());
}

template <typename Function>
constexpr unsigned getArity() {
  if constexpr (std::is_invocable_v<Function, uint64_t>)
    return 1;
  else if constexpr (std::is_invocable_v<Function, uint64_t, uint64_t>)
    return 2;
  else if constexpr (std::is_invocable_v<Function, uint64_t, uint64_t,
                                         uint64_t>)
    return 3;
  else
    return 4;
}

} // namespace detail

/// Makes `op` write to its result what `function`, of one to four values, gives
/// for those of its sources. It is defined where all sources are.
template <typename Function>
llvm::Error setLanes(Op &op, Function function) {
  op.data = std::make_unique<detail::LaneData<Function>>(function);
  op.handler = detail::executeLanes<Function, detail::getArity<Function>()>;
  return llvm::Error::success();
}

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_INSTRUCTIONS_LANEOPERATION_H
