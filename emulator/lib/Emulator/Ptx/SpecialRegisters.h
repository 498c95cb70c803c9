//===- SpecialRegisters.h - Registers that PTX predefines -------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_PTX_SPECIALREGISTERS_H
#define BLOCKSCALE_LIB_EMULATOR_PTX_SPECIALREGISTERS_H

#include "blockscale/Emulator/Type.h"

#include "llvm/ADT/ArrayRef.h"

namespace blockscale::emulator {

/// PTX ISA, section "Special Registers". In the order of the table.
enum class SpecialRegister : uint32_t {
  Tid,
  NTid,
  CtaId,
  NCtaId,
  ClusterId,
  NClusterId,
  ClusterCtaId,
  ClusterNCtaId,
  ClusterCtaRank,
  ClusterNCtaRank,
  IsExplicitCluster,
  LaneId,
  WarpId,
  NWarpId,
  SmId,
  NSmId,
  GridId,
  LaneMaskEq,
  LaneMaskLe,
  LaneMaskLt,
  LaneMaskGe,
  LaneMaskGt,
  Clock,
  ClockHi,
  Clock64,
  GlobalTimer,
  GlobalTimerLo,
  GlobalTimerHi,
  TotalSmemSize,
  AggrSmemSize,
  DynamicSmemSize,
  ReservedSmemOffsetBegin,
  ReservedSmemOffsetEnd,
  ReservedSmemOffsetCap,
  ReservedSmemOffset0,
  ReservedSmemOffset1,
  CurrentGraphExec,
};

struct SpecialRegisterInfo {
  /// The name with its '%'.
  llvm::StringLiteral name;
  Type type;
  /// Whether it is read by component: `%tid.x`.
  bool isVector;
};

/// Indexed by SpecialRegister.
llvm::ArrayRef<SpecialRegisterInfo> getSpecialRegisters();

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_PTX_SPECIALREGISTERS_H
