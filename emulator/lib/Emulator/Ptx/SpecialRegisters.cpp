//===- SpecialRegisters.cpp - Registers that PTX predefines ---------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Ptx/SpecialRegisters.h"

namespace blockscale::emulator {

static constexpr SpecialRegisterInfo kRegisters[] = {
    {"%tid", Type::U32, true},
    {"%ntid", Type::U32, true},
    {"%ctaid", Type::U32, true},
    {"%nctaid", Type::U32, true},
    {"%clusterid", Type::U32, true},
    {"%nclusterid", Type::U32, true},
    {"%cluster_ctaid", Type::U32, true},
    {"%cluster_nctaid", Type::U32, true},
    {"%cluster_ctarank", Type::U32, false},
    {"%cluster_nctarank", Type::U32, false},
    {"%is_explicit_cluster", Type::Pred, false},
    {"%laneid", Type::U32, false},
    {"%warpid", Type::U32, false},
    {"%nwarpid", Type::U32, false},
    {"%smid", Type::U32, false},
    {"%nsmid", Type::U32, false},
    {"%gridid", Type::U64, false},
    {"%lanemask_eq", Type::U32, false},
    {"%lanemask_le", Type::U32, false},
    {"%lanemask_lt", Type::U32, false},
    {"%lanemask_ge", Type::U32, false},
    {"%lanemask_gt", Type::U32, false},
    {"%clock", Type::U32, false},
    {"%clock_hi", Type::U32, false},
    {"%clock64", Type::U64, false},
    {"%globaltimer", Type::U64, false},
    {"%globaltimer_lo", Type::U32, false},
    {"%globaltimer_hi", Type::U32, false},
    {"%total_smem_size", Type::U32, false},
    {"%aggr_smem_size", Type::U32, false},
    {"%dynamic_smem_size", Type::U32, false},
    {"%reserved_smem_offset_begin", Type::U32, false},
    {"%reserved_smem_offset_end", Type::U32, false},
    {"%reserved_smem_offset_cap", Type::U32, false},
    {"%reserved_smem_offset_0", Type::U32, false},
    {"%reserved_smem_offset_1", Type::U32, false},
    {"%current_graph_exec", Type::U64, false},
};

llvm::ArrayRef<SpecialRegisterInfo> getSpecialRegisters() { return kRegisters; }

} // namespace blockscale::emulator
