//===- BlockScaleOps.td - All ops of the dialect -----------*- tablegen -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_IR_BLOCKSCALEOPS_TD
#define BLOCKSCALE_IR_BLOCKSCALEOPS_TD

include "blockscale/IR/AmaxOps.td"
include "blockscale/IR/DataOps.td"
include "blockscale/IR/GroupOps.td"
include "blockscale/IR/KernelOps.td"
include "blockscale/IR/LaunchOps.td"
include "blockscale/IR/MatmulOps.td"
include "blockscale/IR/QuantizeOps.td"
include "blockscale/IR/ScaleOps.td"

#endif // BLOCKSCALE_IR_BLOCKSCALEOPS_TD
