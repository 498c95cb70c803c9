// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu | FileCheck %s

// A module without kernels stays as it is.
// CHECK: module {
// CHECK-NEXT: func.func private @f()
// CHECK-NOT: gpu.module
func.func private @f()
